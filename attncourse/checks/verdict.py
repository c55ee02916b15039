"""The verdict on an answer: what it does, beside what the reference does, on the same fresh inputs.

An answer is reached only through a `Caller`: a request goes in, what happened comes out, both plain
data. In a notebook the caller runs the learner's function at once; when grading, it runs it in the
learner's kernel, and everything in this file stays outside. A wrong answer is known by what it
does: the hint is that of the known mistake which does the same on every input.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attncourse.checks import driver
from attncourse.checks.exercise import Case, Draw, Exercise

Caller = Callable[[dict], dict]
MOST_STEPS = 200_000
# a longer input may cost a few lines more (a power of two, a check of its own), not some a position
STEPS_ALLOWED = 1.5
# what torch says when a value is asked of a tensor that has none: no fault of the answer
NO_VALUE = re.compile(r"item\(\)|no data|_local_scalar_dense|nonzero|data-dependent|to numpy")


class Verdict(NamedTuple):
    """How an answer was judged. Status: passed, wrong, error, too slow or not attempted."""

    status: str
    hint: str = ""
    evidence: str = ""


class Probe(NamedTuple):
    """One call to make, and which parts of what happens are compared."""

    case: Case
    way: str  # values, float32, meta or longer
    cotangent: Tensor | None = None


@dataclass(frozen=True)
class Observation:
    """What an answer did on one probe."""

    outcome: str
    value: Any = None
    device: str | None = None
    changed: tuple[int, ...] = ()
    gradients: tuple | None = None
    error: dict | None = None
    called: str | None = None
    steps: int = 0
    loops: bool = False
    tells: bool = False  # a learner's test: that it raised is its answer, however it says so


def judge(
    exercise: Exercise,
    caller: Caller,
    seed: int,
    device: str = "cpu",
    forbidden: tuple[str, ...] | None = None,
) -> Verdict:
    """Compare an answer with the exercise's reference on inputs drawn from the seed.

    `forbidden` names what the answer may not call; by default all that the exercise forbids.
    """
    forbidden = exercise.forbidden if forbidden is None else forbidden
    trial = Trial.of(exercise, seed, device)
    seen = []
    for probe, want in zip(trial.probes, trial.expected, strict=True):
        got = observe(exercise, caller, probe, device, forbidden)
        seen.append(got)
        if got.outcome == "missing":
            return Verdict("error", f"nothing is called `{exercise.name}`: its cell defines it")
        if len(seen) == 1 and (got.error or {}).get("type") == "NotImplementedError":
            return Verdict("not attempted", f"write `{exercise.name}` in its answer cell")
        if got.outcome == "steps":
            # one call that runs away is enough: the others would, too
            break
        if not same(got, want, trial.length) and probe.way != "values":
            break
    first = trial.first_difference(seen, trial.expected)
    if first is None:
        return Verdict("passed")
    given = exercise.given and trial.observations(exercise.given)
    if given and trial.first_difference(seen, given) is None:
        return Verdict("not attempted", "this still does what the given code does")
    status, why, evidence = explain(trial.probes[first], seen[first], trial.expected[first], trial)
    return Verdict(status, trial.known_mistake(seen, first) or why, evidence)


def local(function: Callable) -> Caller:
    """A caller for a function of this process."""

    def call(request: dict) -> dict:
        return driver.drive({request["name"]: function}, request)

    return call


class Trial:
    """The probes of one seed, and what the reference and the known mistakes do on them."""

    def __init__(self, exercise: Exercise, seed: int, device: str):
        self.exercise, self.device = exercise, device
        self.seen: dict[tuple[Callable, int], Observation] = {}
        self.probes = list(probes(exercise, Draw(seed)))
        self.length = max(
            (n for p in self.probes for x in p.case.args if isinstance(x, Tensor) for n in x.shape),
            default=1,
        )

    # a seed's inputs serve every known mistake, and every answer judged on them
    of = lru_cache(maxsize=8)(lambda exercise, seed, device: Trial(exercise, seed, device))

    @cached_property
    def expected(self) -> list[Observation]:
        """The reference is the specification: it may loop, and is not asked about devices."""
        seen = []
        for probe in self.probes:
            if probe.way == "meta":
                real = Probe(probe.case, "values")
                made = observe(self.exercise, local(self.exercise.make), real, "cpu", ())
                seen.append(replace(made, value=made.value.to("meta"), device="meta"))
            elif probe.way == "longer":
                seen.append(Observation("returned"))
            else:
                caller = local(self.exercise.make)
                seen.append(observe(self.exercise, caller, probe, self.device, ()))
        return seen

    def observe_own(self, function: Callable, place: int) -> Observation:
        """What one of our own functions does on the probe at that place, looked at once."""
        if (function, place) not in self.seen:
            self.seen[function, place] = observe(
                self.exercise, local(function), self.probes[place], self.device, ()
            )
        return self.seen[function, place]

    def observations(self, function: Callable) -> list[Observation]:
        return [self.observe_own(function, place) for place in range(len(self.probes))]

    def first_difference(self, some: list[Observation], others: list[Observation]) -> int | None:
        pairs = enumerate(zip(some, others, strict=False))
        return next((i for i, (a, b) in pairs if not same(a, b, self.length)), None)

    def known_mistake(self, seen: list[Observation], first: int) -> str | None:
        """The hint of the mutant that does what was seen: on every probe, or at the first fault."""
        best, most = None, 0
        for mutant in self.exercise.mutants:
            if not same(seen[first], self.observe_own(mutant.function, first), self.length):
                continue
            does = self.observations(mutant.function)
            alike = sum(same(a, b, self.length) for a, b in zip(seen, does, strict=False))
            if alike > most:
                best, most = mutant.hint, alike
        return best


def probes(exercise: Exercise, draw: Draw) -> Iterator[Probe]:
    """Every case as drawn; then the first in float32, on the meta device, and longer."""
    cases = list(exercise.inputs(draw))
    for case in cases:
        yield Probe(case, "values", cotangent(exercise, case))
    first = cases[0]
    if exercise.floating and any(is_floating(x) for x in first.args):
        args = tuple(x.float() if is_floating(x) else x for x in first.args)
        about = f"{first.about}, float32"
        yield Probe(replace(first, args=args, about=about, gradient=False), "float32")
    # the case with the most tensors has a mask, if there is one: it may be made on a wrong device
    for case in {id(c): c for c in (first, max(cases, key=tensors))}.values():
        if tensors(case):
            about = f"{case.about}, on the meta device"
            yield Probe(replace(case, about=about, gradient=False), "meta")
    for case in cases:
        if case.longer:
            yield Probe(replace(case, gradient=False), "longer")


def observe(
    exercise: Exercise, caller: Caller, probe: Probe, device: str, forbidden: tuple[str, ...]
) -> Observation:
    """Make one call (two for `longer`) and note what happened."""
    case = probe.case
    request = {
        "name": exercise.name,
        "args": [driver.encode(x) for x in case.args],
        "kwargs": {name: driver.encode(x) for name, x in case.kwargs.items()},
        "device": "meta" if probe.way == "meta" else device,
        "cotangent": None if probe.cotangent is None else driver.encode(probe.cotangent),
        # our own functions are only looked at for loops: being watched is slow
        "watched": bool(forbidden) or probe.way == "longer",
        "forbidden": list(forbidden),
        "most_steps": MOST_STEPS,
    }
    answer: dict[str, Any] = caller(request) | {"on_meta": probe.way == "meta"}
    if probe.way == "longer":
        more = caller(request | {"args": [driver.encode(x) for x in case.longer or ()]})
        allowed = STEPS_ALLOWED * answer["steps"] + 10
        worst = more if more["outcome"] != "returned" else answer
        loops = more["outcome"] == "steps" or more["steps"] > allowed
        outcome = "returned" if worst["outcome"] == "steps" else worst["outcome"]
        return Observation(outcome, loops=loops, error=worst["error"], called=worst["called"])
    try:
        return read(exercise, case, answer)
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, RecursionError) as error:
        unreadable = {
            "type": type(error).__name__,
            "text": "the result cannot be read",
            "line": None,
        }
        return Observation("raised", error=unreadable)


def read(exercise: Exercise, case: Case, answer: dict[str, Any]) -> Observation:
    """An answer's plain data as an observation; the data may be anything at all."""
    error, outcome = answer["error"], answer["outcome"]
    if outcome == "raised" and answer["on_meta"] and NO_VALUE.search(error["text"]):
        outcome = "inconclusive"
    # a test tells by raising: what it returns says nothing
    value, tells = answer["value"], exercise.kind == "test"
    return Observation(
        outcome=outcome,
        value=None if tells else driver.decode(value),
        device=value["tensor"]["device"] if "tensor" in value and not tells else None,
        changed=tuple(changes(case, answer["after"])),
        gradients=answer["gradients"] and tuple(driver.decode(x) for x in answer["gradients"]),
        error=error,
        called=answer["called"],
        steps=int(answer["steps"]),
        tells=tells,
    )


def cotangent(exercise: Exercise, case: Case) -> Tensor | None:
    """What the gradient is taken along: all different, so that no direction hides."""
    if not (exercise.differentiable and case.gradient):
        return None
    value = exercise.make(*case.args, **case.kwargs)
    return torch.linspace(-1, 2, value.numel(), dtype=torch.float64).cos().reshape(value.shape)


def changes(case: Case, after: list | None) -> Iterator[int]:
    before = [*case.args, *case.kwargs.values()]
    for place, (old, new) in enumerate(zip(before, after or [], strict=True)):
        if isinstance(old, Tensor) and not old.is_meta:
            value = driver.decode(new)
            unchanged = isinstance(value, Tensor) and value.is_meta
            if not (unchanged or identical(value, old)):
                yield place


def identical(a: Any, b: Tensor) -> bool:
    return isinstance(a, Tensor) and (a.shape, a.dtype) == (b.shape, b.dtype) and a.equal(b)


def same(a: Observation, b: Observation, length: int) -> bool:
    """Whether two answers did the same, but for rounding."""
    if "inconclusive" in (a.outcome, b.outcome):
        return True
    if (a.outcome, a.changed, a.loops, a.device) != (b.outcome, b.changed, b.loops, b.device):
        return False
    if a.outcome == "raised":
        return a.tells or fault(a) == fault(b)
    return close(a.value, b.value, length) and close_gradients(a.gradients, b.gradients, length)


def fault(seen: Observation) -> tuple[str, str]:
    """The exception, but for the numbers and names in its text."""
    error = seen.error or {"type": "", "text": ""}
    return error["type"], re.sub(r"\d+|'[^']*'", "", error["text"])[:60]


def close_gradients(some: tuple | None, others: tuple | None, length: int) -> bool:
    """Gradients agree; where none flows, autograd may say None or zeros."""
    if some is None or others is None:
        return some is others
    return len(some) == len(others) and all(
        close(a if a is not None else torch.zeros_like(b), b, length)
        if b is not None
        else a is None or not a.any()
        for a, b in zip(some, others, strict=True)
    )


def close(a: Any, b: Any, length: int) -> bool:
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(close(x, y, length) for x, y in zip(a, b, strict=True))
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if (a.shape, a.dtype, a.device) != (b.shape, b.dtype, b.device):
            return False
        if a.is_meta or not a.is_floating_point():
            return a.is_meta or a.equal(b)
        bound = tolerance(a.dtype, length)
        return torch.allclose(a, b, rtol=bound, atol=bound, equal_nan=True)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return type(a) is type(b) and abs(a - b) <= tolerance(torch.float64, length) * (1 + abs(b))
    return type(a) is type(b) and a == b


def tolerance(dtype: torch.dtype, length: int) -> float:
    """The difference that is rounding: it grows with the length of the sum.

    Never under 1e-7, so that a small epsilon kept in a denominator is no mistake.
    """
    return max(1e-7, 256 * torch.finfo(dtype).eps * length)


def explain(
    probe: Probe, got: Observation, want: Observation, trial: Trial
) -> tuple[str, str, str]:
    """Status, hint and evidence for a difference that no known mistake accounts for."""
    on = f"On {probe.case.about}"
    name = trial.exercise.name
    if got.outcome == "forbidden":
        return "wrong", f"{got.called} may not be called here: write the steps yourself", ""
    if got.outcome == "steps" or got.loops:
        return (
            "too slow",
            "the work grows with the length in Python: use whole tensors, no loop",
            on,
        )
    if got.outcome == "raised" and want.outcome != "raised":
        error = got.error or {}
        if probe.way == "meta":
            return "wrong", DEVICE_HINT, f"{on}: {error['type']}: {error['text']}"
        where = f" (line {error['line'][0]}: {error['line'][1]})" if error.get("line") else ""
        return "error", f"it raises {error['type']}: {error['text']}{where}", on
    if want.outcome == "raised" and got.outcome == "returned":
        return "wrong", f"{name} should have raised an error here", on
    if got.changed:
        return (
            "wrong",
            "it changes its input: work on a new tensor",
            f"{on}: argument {got.changed[0] + 1}",
        )
    if not close(got.value, want.value, trial.length):
        return "wrong", *explain_value(got.value, want.value, probe, trial.length)
    return "wrong", *explain_gradient(got.gradients, want.gradients, on)


DEVICE_HINT = "a new tensor is made on the CPU: give it the device of an input"


def explain_value(got: Any, want: Any, probe: Probe, length: int) -> tuple[str, str]:
    on = f"On {probe.case.about}"
    if got is None:
        return "it returns None: is the return missing?", on
    if isinstance(want, Tensor) and isinstance(got, Tensor):
        if got.shape != want.shape:
            return (
                "the shape is not right",
                f"{on}: expected {tuple(want.shape)}, got {tuple(got.shape)}",
            )
        if got.device != want.device:
            return DEVICE_HINT, f"{on}: expected {want.device.type}, got {got.device.type}"
        if got.dtype != want.dtype:
            return "the dtype is not right", f"{on}: expected {want.dtype}, got {got.dtype}"
        if got.is_floating_point() and not got.isfinite().all():
            return (
                "it gives numbers that are not finite",
                f"{on}: {int((~got.isfinite()).sum())} of them",
            )
        differ = (got != want) if not got.is_floating_point() else (
            (got - want).abs() > tolerance(got.dtype, length) * (1 + want.abs())
        )  # fmt: skip
        at = tuple(differ.nonzero()[0].tolist()) if differ.any() else ()
        place = f"at {list(at)} " if at else ""
        return "the shape is right, the numbers are not", (
            f"{on}: {place}expected {shown(want[at])}, got {shown(got[at])}"
        )
    if type(got) is not type(want):
        return "it returns the wrong type", f"{on}: expected {kind(want)}, got {kind(got)}"
    return "the value is not right", f"{on}: expected {shown(want)}, got {shown(got)}"


def explain_gradient(got: Iterable | None, want: Iterable | None, on: str) -> tuple[str, str]:
    for place, (a, b) in enumerate(zip(got or (), want or (), strict=False)):
        if b is not None and a is None:
            return "no gradient flows back: is a tensor detached?", f"{on}: argument {place + 1}"
    return "the numbers are right, their gradients are not", on


def shown(value: Any) -> str:
    value = value.item() if isinstance(value, Tensor) else value
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def kind(value: Any) -> str:
    if isinstance(value, driver.Unsendable):
        return str(value)
    return "a tensor" if isinstance(value, Tensor) else type(value).__name__


def tensors(case: Case) -> int:
    return sum(isinstance(x, Tensor) for x in (*case.args, *case.kwargs.values()))


def is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()
