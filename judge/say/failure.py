"""The call that an answer failed on, for its author to repeat: what went in, and what came out."""

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from torch import Tensor

from judge.call.outcome import Outcome
from judge.call.torch_internals import shown_plainly
from judge.call.values import by_columns, implementation, to_device
from judge.compare.criteria import Difference, Record
from judge.compare.probes import Purpose
from judge.compare.tolerance import close, close_gradient, cut_off
from judge.exercise import Source
from judge.say.evidence import arguments, differentiated


@dataclass(frozen=True, repr=False)
class Failure:
    """One call of an answer: its arguments by name, what was expected of it, and what came.

    `args` and `kwargs` repeat it: `answer(*args, **kwargs)`. A module was made with the arguments
    `build`, and has these `weights`. `gradients` has what was expected and what came for each
    argument whose gradient is wrong, where the values are right. An exception is put in words.
    """

    case: str
    args: tuple
    kwargs: dict[str, Any]
    expected: Any
    got: Any
    names: tuple[str, ...]
    gradients: dict[str, tuple[Any, Any]]
    build: tuple | None
    weights: dict[str, Tensor]

    def __repr__(self) -> str:
        with shown_plainly():
            return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        yield f"on {self.case}"
        yield from starmap(formatted, self.rows())

    def rows(self) -> Iterator[tuple[str, Any]]:
        """What went in, what was expected and what came, each with its name."""
        if self.build is not None:
            yield "build", self.build
            yield from self.weights.items()
        yield from zip(self.names, (*self.args, *self.kwargs.values()), strict=True)
        yield "expected", self.expected
        yield "got", self.got
        for name, (expected, got) in self.gradients.items():
            yield f"expected gradient of {name}", expected
            yield f"got gradient of {name}", got


class Words(str):
    """Words for a call that has no value; shown without quotes."""

    __repr__ = str.__str__


SHORTER = Words("about as many steps as on a shorter input")


def formatted(name: str, value: Any) -> str:
    """A line, or several that stand below each other."""
    begin = f"{name} = "
    return begin + re.sub(r"\n(?=.)", "\n" + " " * len(begin), repr(value))


def failure(failing: Difference) -> Failure:
    """The failing call, with its tensors as they were passed."""
    exercise, probe, got, want, length = failing
    case = probe.case.lengthened if probe.purpose == Purpose.STEPS else probe.case
    place = probe.device

    def passed(value: Any) -> Any:
        if isinstance(value, Source):
            return implementation(value.name, value.source)
        if not isinstance(value, Tensor):
            return deepcopy(value)
        value = to_device(value.clone(), place)
        return by_columns(value) if probe.by_columns else value

    names = differentiated(exercise, case)
    found = zip(names, want.gradients or (), got.gradients or (), strict=False)
    # of wrong values the gradients do not count
    compared = found if close(got.value, want.value, length) else ()
    cut = cut_off(got.gradients, want.gradients)
    return Failure(
        case.name,
        args=tuple(map(passed, case.args)),
        kwargs={name: passed(value) for name, value in case.kwargs.items()},
        expected=SHORTER if probe.purpose == Purpose.STEPS else returned(want),
        got=returned(got),
        names=tuple(arguments(exercise, case)),
        gradients={n: (a, b) for n, a, b in compared if cut or not close_gradient(b, a, length)},
        build=case.build,
        weights={name: to_device(weight.clone(), place) for name, weight in case.weights.items()},
    )


def returned(record: Record) -> Any:
    """What came back, or in words how the call ended."""
    if record.scales_with_length or record.outcome == Outcome.STEPS:
        return Words("many more steps")
    if record.outcome == Outcome.RAISED and record.error:
        return Words(f"{record.error['type']}: {record.error['text']}".rstrip(": "))
    if record.outcome == Outcome.TIME:
        return Words("no result in time")
    if record.is_test:
        return Words("no exception")
    return record.value if record.outcome == Outcome.RETURNED else Words(record.outcome)
