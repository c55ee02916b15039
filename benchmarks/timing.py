"""Time and memory of several implementations, measured in turn in one run."""

import csv
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from judge.call.torch_internals import TorchDispatchMode, leaves

RESULTS = Path(__file__).parent / "results"
THREADS = 2
HEADINGS = ("n", "form", "forward, ms", "with gradients, ms", "to plain", "processor, ms",
            "to plain", "peak, MiB", "to plain")  # fmt: skip


class PeakMemory(TorchDispatchMode):
    """Counts the peak of bytes in storages that are created while the mode is active."""

    def __init__(self):
        super().__init__()
        self.live: dict[StorageWeakRef, int] = {}
        self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        inputs = {StorageWeakRef(x.untyped_storage()) for x in tensor_leaves((args, kwargs))}
        out = function(*args, **(kwargs or {}))
        outputs = {
            StorageWeakRef(x.untyped_storage()): x.untyped_storage() for x in tensor_leaves(out)
        }
        self.live = {ref: size for ref, size in self.live.items() if not ref.expired()}
        # a view, or the result of an in-place operation, has the storage of an input
        new = {ref: storage.nbytes() for ref, storage in outputs.items() if ref not in inputs}
        self.live |= new
        self.bytes = max(self.bytes, sum(self.live.values()))
        return out


class Cost(NamedTuple):
    """Wall seconds forward and in total with gradients, total CPU seconds, and peak bytes."""

    forward: float
    total: float
    cpu: float
    peak: int


def tensor_leaves(tree) -> list[Tensor]:
    """The tensors in nested arguments or results."""
    return [x for x in leaves(tree) if isinstance(x, Tensor)]


def time_call(
    call: Callable[[], Tensor], inputs: list[Tensor], clock: Callable[[], float]
) -> tuple:
    """Seconds of a call, and of the call with its backward pass, if it has one."""
    start = clock()
    out = call()
    middle = clock()
    if out.requires_grad:
        out.backward(torch.ones_like(out))
    end = clock()
    for x in inputs:
        x.grad = None
    return middle - start, end - start


def time_interleaved(calls: dict, inputs: list[Tensor], seconds: float, clock) -> dict[str, tuple]:
    """Median seconds of each call, interleaved in rounds; a very slow one runs in one round."""
    times = {name: [] for name in calls}
    start, rounds = time.monotonic(), 0
    while time.monotonic() - start < seconds or rounds < 3:
        rounds += 1
        for name, call in calls.items():
            if not times[name] or times[name][-1][1] < seconds / 4:
                # the first of two calls warms up after another implementation
                times[name].append([time_call(call, inputs, clock) for _ in range(2)][1])
    return {
        name: tuple(statistics.median(column) for column in zip(*columns, strict=True))
        for name, columns in times.items()
    }


def measure(calls: dict, inputs: list[Tensor], seconds: float) -> dict[str, Cost]:
    """The cost of each call, measured for `seconds` of wall time and as many of CPU time."""
    peaks = {}
    torch.set_num_threads(THREADS)
    for name, call in calls.items():
        with PeakMemory() as peak:
            time_call(call, inputs, time.monotonic)
        peaks[name] = peak.bytes
    wall_times = time_interleaved(calls, inputs, seconds, time.monotonic)
    torch.set_num_threads(1)
    cpu_times = time_interleaved(calls, inputs, seconds, time.thread_time)
    return {name: Cost(*wall_times[name], cpu_times[name][1], peaks[name]) for name in calls}


def cost_rows(costs: dict[str, Cost], baseline: str) -> list[tuple]:
    """A row for each implementation, with its ratios to the baseline."""
    base = costs[baseline]
    return [
        (
            name, f"{1e3 * cost.forward:.1f}",
            f"{1e3 * cost.total:.1f}", f"{cost.total / base.total:.2f}",
            f"{1e3 * cost.cpu:.1f}", f"{cost.cpu / base.cpu:.2f}",
            f"{cost.peak / 2**20:.1f}", f"{cost.peak / base.peak:.2f}",
        )
        for name, cost in costs.items()
    ]  # fmt: skip


def markdown_table(headings: Iterable, rows: list[tuple]) -> str:
    """A table in Markdown."""
    lines = [tuple(headings), tuple("---" for _ in headings), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def machine_info(*packages: str) -> str:
    """Cores, load, date and versions, for the head of a page of results."""
    made_with = ", ".join(f"{name} {version(name)}" for name in ("torch", *packages))
    load = f"{os.getloadavg()[0]:.1f} processes at work when it ended, {date.today():%d %B %Y}"
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, {load}; "
        f"Python {platform.python_version()}, {made_with}, float32."
    )


def write_csv(name: str, rows: list[tuple], headings: Iterable = HEADINGS) -> None:
    """Write results/NAME.csv."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([tuple(headings), *rows])
