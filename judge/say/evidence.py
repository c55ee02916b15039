"""Words for what an answer did: how it was called, what it gave, and what it should have."""

import inspect
import re
from typing import Any

from torch import Tensor

from judge import messages
from judge.call import driver
from judge.call.record import MAX_TEXT
from judge.call.values import Unsendable
from judge.compare import tolerance
from judge.compare.tolerance import close
from judge.exercise import Case, Exercise, is_floating
from judge.quotation import MOST_QUOTED, named, quoted
from judge.say import numbers
from judge.status import Status

# sizes, or the names of parameters, some with their sizes
PARTS = r"(?:\([\d, ]*\)|[\w.]+(?: \([\d, ]*\))?(?:, [\w.]+(?: \([\d, ]*\))?)*)"
UNFIT = [
    re.compile(re.escape(form).replace(r"\{\}", PARTS))
    for form in (
        driver.LARGE, driver.MADE, driver.OTHER, driver.FROZEN, driver.NO_PARAMETER,
        driver.PARAMETERS, driver.PARAMETERS.partition(", ")[0],
    )
]  # fmt: skip


def unfinished(exercise: Exercise, value: Any) -> tuple[Status, str] | None:
    """Status and message for what is no result yet, as a generator; None for any other value."""
    if not isinstance(value, Unsendable):
        return None
    if value in messages.RETURNED:
        return Status.WRONG, messages.RETURNED[value]
    # an object of that class
    is_class = f"`{exercise.name}` should be a function, but is a class"
    return (Status.ERROR, is_class) if value == exercise.name else None


def unfit(text: str) -> str:
    """Why a module is not what was asked for: quoted where the driver does not speak so."""
    # of a long one the end is cut off
    whole = text if len(text) < MAX_TEXT else text.rpartition(", ")[0]
    if any(form.fullmatch(whole) for form in UNFIT):
        return text
    return f"your class doesn't make the module that the exercise asks for: {quoted(text)}"


def misfit(exercise: Exercise, case: Case, error: dict[str, Any]) -> str:
    """What is said of an answer that cannot be called as the exercise calls it."""
    passed = arguments(exercise, case)[: len(case.args)] + [f"{name}=..." for name in case.kwargs]
    called = f"is called with ({', '.join(passed)})"
    making = re.search(r"__init__\(\)|^\w+\(\) takes no arguments", error["text"])
    if found := re.fullmatch(r"'(\w+)' object is not callable", error["text"]):
        return f"`{exercise.name}` should be a function that {called}, but is {article(found[1])}"
    if making and case.build is None:
        return f"`{exercise.name}` should be a function that {called}, but is a class"
    if making:
        names = inspect.signature(exercise.reference_answer).parameters
        called = f"is made with ({', '.join(names)})"
    return f"`{exercise.name}` {called}: {quoted(error['text'])}"


def arguments(exercise: Exercise, case: Case) -> list[str]:
    """The names of a case's arguments, in the order in which it passes them."""
    names = exercise.parameters[: len(case.args)]
    names += [f"argument {place}" for place in range(len(names) + 1, len(case.args) + 1)]
    return [*names, *case.kwargs]


def left_out(exercise: Exercise, case: Case) -> list[str]:
    """The names of the arguments that are None in a case's call, by default mostly."""
    values = {name: parameter.default for name, parameter in exercise.signature.items()}
    passed = zip(arguments(exercise, case), (*case.args, *case.kwargs.values()), strict=True)
    return [name for name, value in (values | dict(passed)).items() if value is None]


def article(kind: str) -> str:
    return {"NoneType": "None", "int": "an int"}.get(kind, f"a {kind}")


def of_value(got: Any, want: Any, on: str, length: int, depth: int = 0) -> tuple[str, str]:
    """Message and evidence for the first of the results that is not what was wanted.

    A result has a number from 1 on; what lies within one is named as Python does.
    """
    if got is None:
        is_plain = not isinstance(want, (Tensor, tuple, list))
        evidence = f"{on}: {expected_got(want, got)}" if is_plain else on
        return "your code returns None: is the return missing, or inside an if?", evidence
    if isinstance(want, (tuple, list)) and isinstance(got, (tuple, list)):
        if len(got) != len(want):
            sizes = expected_got(len(want), len(got))
            return "the number of results isn't right", f"{on}: {sizes}"
        if is_short(want) and is_short(got):
            return "the value isn't right", f"{on}: {expected_got(want, got)}"
        pairs = enumerate(zip(got, want, strict=True))
        at, pair = next((at, pair) for at, pair in pairs if not close(*pair, length))
        where = (f": result {at + 1}", f", at [{at}]", f"[{at}]")[min(depth, 2)]
        return of_value(*pair, on + where, length, depth + 1)
    if not (isinstance(want, Tensor) and isinstance(got, Tensor)):
        if want is not None and type(got) is not type(want):
            types = f"{on}: expected {kind(want)}, got {kind(got)}"
            return "your code returns the wrong type", types
        return "the value isn't right", f"{on}: {expected_got(want, got)}"
    if got.shape != want.shape:
        sizes = f"expected {tuple(want.shape)}, got {tuple(got.shape)}"
        return "the shape isn't right", f"{on}: {sizes}"
    if got.dtype != want.dtype:
        return numbers.DTYPE, f"{on}: expected {want.dtype}, got {got.dtype}"
    if got.is_floating_point() and (count := int((~got.isfinite() & (got != want)).sum())):
        infinite = f"{on}: {count} of {got.numel()} numbers aren't finite"
        return "the result has numbers that aren't finite", infinite
    at = numbers.place_to_show(got, want, length)
    place = f"at {list(at)} " * bool(at)
    where = numbers.where(tolerance.differ(got, want, length))
    found = [f"{place}{expected_got(want[at], got[at])}", where]
    return numbers.NUMBERS, f"{on}: {'; '.join(filter(None, found))}"


def is_short(value: Any) -> bool:
    """Whether it is two or three whole numbers, which are read as one."""
    return len(value) <= 3 and all(type(one) is int for one in value)


def differentiated(exercise: Exercise, case: Case) -> list[str]:
    """What a gradient is taken for, in the driver's order."""
    given = zip(arguments(exercise, case), (*case.args, *case.kwargs.values()), strict=True)
    return [name for name, x in (*given, *case.weights.items()) if is_floating(x)]


def expected_got(want: Any, got: Any) -> str:
    """Both values, with as many digits as it takes to tell them apart."""
    want, got = (x.item() if isinstance(x, Tensor) else x for x in (want, got))
    pair = ["", ""]
    for digits in (4, 8, 16):
        pair = [formatted(x, digits) for x in (want, got)]
        if pair[0] != pair[1]:
            break
    return f"expected {pair[0]}, got {pair[1]}"


def formatted(value: Any, digits: int) -> str:
    """A value; a text in quotes, so that an empty one and the end of a line are seen."""
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return repr(value[:MOST_QUOTED]) if isinstance(value, str) else str(value)


def kind(value: Any) -> str:
    if isinstance(value, Unsendable):
        return named(value)
    return "a tensor" if isinstance(value, Tensor) else type(value).__name__
