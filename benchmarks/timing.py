"""Time and memory of several forms of one thing, side by side in one run."""

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

from judge.torch_internals import TorchDispatchMode, leaves

RESULTS = Path(__file__).parent / "results"
THREADS = 2
HEADINGS = ("n", "form", "forward, ms", "with gradients, ms", "to plain", "processor, ms",
            "to plain", "peak, MiB", "to plain")  # fmt: skip


class Peak(TorchDispatchMode):
    """The most bytes that the tensors made while it is on hold at once."""

    def __init__(self):
        super().__init__()
        self.live: dict[StorageWeakRef, int] = {}
        self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        before = {StorageWeakRef(x.untyped_storage()) for x in tensors((args, kwargs))}
        out = function(*args, **(kwargs or {}))
        made = {StorageWeakRef(x.untyped_storage()): x.untyped_storage() for x in tensors(out)}
        self.live = {ref: size for ref, size in self.live.items() if not ref.expired()}
        # a view, or the result of an operation in place, holds what was there before
        new = {ref: storage.nbytes() for ref, storage in made.items() if ref not in before}
        self.live |= new
        self.bytes = max(self.bytes, sum(self.live.values()))
        return out


class Cost(NamedTuple):
    """Seconds forward and with gradients, seconds of the processor with gradients, peak bytes."""

    forward: float
    both: float
    processor: float
    peak: int


def tensors(tree) -> list[Tensor]:
    return [x for x in leaves(tree) if isinstance(x, Tensor)]


def run(call: Callable[[], Tensor], inputs: list[Tensor], clock: Callable[[], float]) -> tuple:
    """Seconds for the output, and for the output with all gradients, if there are any."""
    start = clock()
    out = call()
    middle = clock()
    if out.requires_grad:
        out.backward(torch.ones_like(out))
    end = clock()
    for x in inputs:
        x.grad = None
    return middle - start, end - start


def in_turn(calls: dict, inputs: list[Tensor], seconds: float, clock) -> dict[str, tuple]:
    """Median seconds of each call, all run in turn, twice each; a very slow one in one turn."""
    took = {name: [] for name in calls}
    begin, rounds = time.monotonic(), 0
    while time.monotonic() - begin < seconds or rounds < 3:
        rounds += 1
        for name, call in calls.items():
            if not took[name] or took[name][-1][1] < seconds / 4:
                # the first of two finds the caches and the heap as another form left them
                took[name].append([run(call, inputs, clock) for _ in range(2)][1])
    return {
        name: tuple(statistics.median(column) for column in zip(*each, strict=True))
        for name, each in took.items()
    }


def measure(calls: dict, inputs: list[Tensor], seconds: float) -> dict[str, Cost]:
    """What each form costs; `seconds` go to the clock and as many to the processor."""
    peaks = {}
    torch.set_num_threads(THREADS)
    for name, call in calls.items():
        with Peak() as peak:
            run(call, inputs, time.monotonic)
        peaks[name] = peak.bytes
    clock = in_turn(calls, inputs, seconds, time.monotonic)
    torch.set_num_threads(1)
    processor = in_turn(calls, inputs, seconds, time.thread_time)
    return {name: Cost(*clock[name], processor[name][1], peaks[name]) for name in calls}


def rows_of(found: dict[str, Cost], plain: str) -> list[tuple]:
    """A line for each form, with its ratios to one of them."""
    to = found[plain]
    return [
        (
            name, f"{1e3 * one.forward:.1f}", f"{1e3 * one.both:.1f}", f"{one.both / to.both:.2f}",
            f"{1e3 * one.processor:.1f}", f"{one.processor / to.processor:.2f}",
            f"{one.peak / 2**20:.1f}", f"{one.peak / to.peak:.2f}",
        )
        for name, one in found.items()
    ]  # fmt: skip


def markdown(headings: Iterable, rows: list[tuple]) -> str:
    lines = [tuple(headings), tuple("---" for _ in headings), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def where(*packages: str) -> str:
    """The machine, the date, and the versions of what ran on it."""
    made_with = ", ".join(f"{name} {version(name)}" for name in ("torch", *packages))
    load = f"{os.getloadavg()[0]:.1f} processes at work when it ended, {date.today():%d %B %Y}"
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, {load}; "
        f"Python {platform.python_version()}, {made_with}, float32."
    )


def write_csv(name: str, rows: list[tuple], headings: Iterable = HEADINGS) -> None:
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([tuple(headings), *rows])
