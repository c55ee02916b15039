"""What is decided of a call, outside the learner's process: the other half of what is compared.

The first half, of the same name in `judge.seen`, tells its parts of the driver's reply. Here stands
which forms these may have, what is kept of them, when two calls agree in it, what a disagreement
costs, and what is said of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from judge import hints, quotation, reply, wording
from judge.compare import close, close_gradient, close_gradients
from judge.driver import UnfitError
from judge.elsewhere import DEVICE
from judge.exercise import SECONDS, Case, Exercise
from judge.probes import Probe
from judge.seen import DRAWN, KEPT, MARKED, MAX_PRINTED, MAX_SAID
from judge.values import Unsendable, decode

# what a disagreement costs where points are given in parts: all of them, or those of its group
ALL, VALUES, GRADIENTS, EFFECTS = "all", "values", "gradients", "side effects"
# what calls of other things than functions give back
UNFINISHED = ({"other": "generator"}, {"other": "coroutine"})


@dataclass(frozen=True)
class Observation:
    """What an answer did on one probe."""

    outcome: str
    value: Any = None
    device: str | None = None
    changed: tuple[int, ...] = ()  # the arguments that hold something else afterwards
    marked: tuple[int, ...] = ()  # those that now want a gradient
    gradients: tuple | None = None
    error: dict | None = None
    called: str | None = None
    steps: int = 0
    scales_with_length: bool = False
    too_many_elements: int = 0  # of the largest tensor made on the way, where there are too many
    settings: tuple[str, ...] = ()
    is_test: bool = False  # a learner's: that it raised is its answer, however it says so
    printed: str = ""
    returned_value: bool = False  # a test that returns something, as if that were its answer


class Difference(NamedTuple):
    """A call on which an answer did not do what it should."""

    exercise: Exercise
    probe: Probe
    got: Observation
    want: Observation
    length: int

    @property
    def on(self) -> str:
        return f"On {self.probe.case.name}"


# status, hint and evidence
Said = tuple[str, str, str]


class Decided:
    """One thing that is compared, and by itself one that is only told."""

    # of a reply, and the form that each has
    parts: tuple[tuple[str, reply.Fits], ...]
    costs = ALL

    @property
    def name(self) -> str:
        """That of the half which is seen."""
        return type(self).__name__.lower()

    def read(self, exercise: Exercise, case: Case, told: dict[str, Any]) -> dict[str, Any]:
        """What is kept of a reply, by the field of an observation."""
        return {}

    def same(self, a: Observation, b: Observation, length: int) -> bool:
        return True

    def said(self, one: Difference) -> Said:
        """What is said where this is the first disagreement."""
        raise NotImplementedError


class Called(Decided):
    parts = (("called", reply.optional(reply.text(1_000))),)

    def read(self, exercise, case, told):
        return {"called": told["called"]}

    def same(self, a, b, length):
        return (a.outcome == "forbidden") == (b.outcome == "forbidden")

    def said(self, one):
        module, imported, _ = str(one.got.called).partition(".<module>")
        what = f"{quotation.named(module)} may not be {'imported' if imported else 'called'}"
        return "wrong", f"{what} here: write the steps yourself", ""


class Steps(Decided):
    parts = (("steps", reply.count),)
    stopped = ("steps", "time")

    def read(self, exercise, case, told):
        return {"steps": told["steps"]}

    def same(self, a, b, length):
        ended = [one.outcome if one.outcome in self.stopped else None for one in (a, b)]
        return ended[0] == ended[1] and a.scales_with_length == b.scales_with_length

    def said(self, one):
        on, outcome = one.on, one.got.outcome
        if outcome == "steps":
            on += f": it was stopped after {one.exercise.max_steps:,} lines of Python"
        if outcome == "time":
            on += f": it was stopped after {SECONDS} seconds of work"
        if outcome in self.stopped and one.got.is_test:
            return "too slow", "your test runs too long: fewer inputs, or smaller ones, will do", on
        if outcome == "time":
            return "too slow", "it takes very long, or comes to no end", on
        return "too slow", hints.STEPS if "loops" in one.exercise.without else hints.LOOPS, on


class Outcome(Decided):
    parts = (
        ("outcome", reply.one_of("returned", "raised", "missing", "steps", "time", "forbidden")),
        ("error", reply.optional(reply.error)),
    )
    costs = VALUES

    def read(self, exercise, case, told):
        return {"outcome": told["outcome"], "error": told["error"]}

    def same(self, a, b, length):
        if a.outcome != b.outcome or a.outcome != "raised":
            return a.outcome == b.outcome
        return a.is_test or fault(a) == fault(b)

    def said(self, one):
        got = one.got
        if wording.uncalled(got.error):
            return "error", wording.misfit(one.exercise, one.probe.case, got.error or {}), ""
        if hint := wording.unfinished(one.exercise, got.value):
            return *hint, ""
        if got.outcome == "raised":
            return raised(one)
        if got.returned_value:
            return "wrong", "what a test returns is not looked at: raise AssertionError", ""
        if got.is_test:
            return "wrong", f"your test lets a wrong answer pass: {one.probe.case.name}", ""
        return "wrong", "it should have raised an error here", one.on


def raised(one: Difference) -> Said:
    """What is said of a call that ends in an error, and should not, or in another."""
    error = one.got.error or {}
    if error["type"] == UnfitError.__name__:
        return "wrong", wording.unfit(error["text"]), one.on
    place = [str(error["line"][0]), quotation.quoted(error["line"][1])] if error["line"] else []
    where = f" (line {': '.join(filter(None, place))})" if place else ""
    says = quotation.exception(error["type"], error["text"]) + where
    elsewhere = one.probe.way == "elsewhere"
    if elsewhere and re.search("device|meta", error["text"]):
        return "wrong", hints.DEVICE, f"{one.on}: {says}"
    if one.got.is_test:
        return "wrong", f"your test refuses a right answer, {one.probe.case.name}", says
    if "view size is not compatible" in error["text"]:
        return "wrong", hints.VIEW, f"{one.on}{where}"
    if hint := cause(one.probe.case, error):
        return "error", hint, f"{one.on}: {says}"
    return "error", f"it raises {says}{', on another device alone' * elsewhere}", one.on


def cause(case: Case, error: dict) -> str | None:
    """What an error of torch's or Python's mostly comes from, where the error says that much."""
    found = (hint for said, hint in hints.TORCH_SAYS.items() if re.search(said, error["text"]))
    hint = next(found, None)
    turned = bool(error["line"]) and re.search(r"\.T\b", error["line"][1])
    batched = any(isinstance(x, Tensor) and x.dim() > 2 for x in case.args)
    if hint in (hints.NO_PRODUCT, hints.NO_BROADCAST) and turned and batched:
        return hints.TURNED
    return hint


class Settings(Decided):
    parts = (("settings", reply.listed(reply.one_of(*KEPT), len(KEPT))),)
    costs = EFFECTS

    def read(self, exercise, case, told):
        # the driver puts the random numbers back, and a test may use them as it likes
        free = exercise.kind == "test"
        return {"settings": tuple(x for x in told["settings"] if not (free and x == DRAWN))}

    def same(self, a, b, length):
        return a.settings == b.settings

    def said(self, one):
        settings = one.got.settings
        if settings == (DRAWN,):
            hint = "it draws random numbers: the same input must give the same result"
            return "wrong", hint, one.on
        what = " and ".join(settings)
        several = len(settings) > 1 or DRAWN in settings
        them = "them as they were" if several else "it as it was"
        return "wrong", f"it changes {what} for all that follows: leave {them}", one.on


class Inputs(Decided):
    parts = (
        ("after", reply.listed(reply.value)),
        ("written", reply.listed(reply.count, 1_000)),
    )
    costs = EFFECTS

    def read(self, exercise, case, told):
        changed = {*changes(case, told["after"]), *told["written"]}
        marked = tuple(place for place, new in enumerate(told["after"]) if new == MARKED)
        return {"changed": tuple(sorted(changed)), "marked": marked}

    def same(self, a, b, length):
        return (a.changed, a.marked) == (b.changed, b.marked)

    def said(self, one):
        names = wording.arguments(one.exercise, one.probe.case)
        if one.got.changed:
            return "wrong", hints.CHANGES, f"{one.on}: {names[one.got.changed[0]]}"
        return "wrong", hints.MARKS, f"{one.on}: {names[one.got.marked[0]]}"


def changes(case: Case, after: list) -> Iterator[int]:
    """The places of the arguments that a call has written into."""
    before = [*case.sent["args"], *case.sent["kwargs"].values()]
    for place, (old, new) in enumerate(zip(before, after, strict=True)):
        writable = "tensor" in old or "list" in old
        same = device_of(new) == DEVICE or new == MARKED or anywhere(new) == anywhere(old)
        if writable and not same:
            yield place


def anywhere(value: dict[str, Any]) -> dict[str, Any]:
    """An encoded value without the device that it was on."""
    return {"tensor": value["tensor"] | {"device": None}} if "tensor" in value else value


def device_of(value: dict[str, Any]) -> str | None:
    """Where a tensor is, or the first of several; None where there is none."""
    for kind, content in value.items():
        if kind == "tensor":
            return content["device"]
        if kind in ("list", "tuple"):
            return next(filter(None, map(device_of, content)), None)
    return None


class Largest(Decided):
    parts = (("largest", reply.count),)

    def read(self, exercise, case, told):
        most, found = case.max_elements, told["largest"]
        return {"too_many_elements": 0 if most is None or found <= most else found}

    def same(self, a, b, length):
        return (a.too_many_elements > 0) == (b.too_many_elements > 0)

    def said(self, one):
        enough = f"where {one.probe.case.max_elements} are enough"
        sizes = f"one has {one.got.too_many_elements} numbers, {enough}"
        return "wrong", hints.TOO_LARGE, f"{one.on}: {sizes}"


class Value(Decided):
    parts = (("value", reply.value),)
    costs = VALUES

    def read(self, exercise, case, told):
        value = told["value"]
        # a test tells by raising: what it returns says nothing, and what could not be called is no
        # test yet
        if exercise.kind == "test" and not wording.uncalled(told["error"]):
            if value not in UNFINISHED:
                return {"is_test": True, "returned_value": value != {"plain": None}}
        return {"value": decode(value), "device": device_of(value)}

    def same(self, a, b, length):
        return a.device == b.device and close(a.value, b.value, length)

    def said(self, one):
        got, want = one.got, one.want
        if hint := wording.unfinished(one.exercise, got.value):
            return *hint, ""
        if got.device != want.device and got.device and want.device:
            return "wrong", hints.DEVICE, f"{one.on}: the result is on the {got.device}"
        return "wrong", *wording.of_value(got.value, want.value, one.on, one.length)


class Gradients(Decided):
    parts = (("gradients", reply.optional(reply.listed(reply.value))),)
    costs = GRADIENTS

    def read(self, exercise, case, told):
        found = told["gradients"]
        return {"gradients": found and tuple(map(decode, found))}

    def same(self, a, b, length):
        return close_gradients(a.gradients, b.gradients, length)

    def said(self, one):
        names = wording.differentiated(one.exercise, one.probe.case)
        found = [*zip(names, one.got.gradients or (), one.want.gradients or (), strict=False)]
        flows = any(isinstance(want, Tensor) and want.any() for _, _, want in found)
        for name, got, want in found:
            where = f"{one.on}: {name}"
            if isinstance(got, Unsendable):
                hint = "the numbers are right, but autograd cannot go back"
                return "wrong", hint, f"{where}: {quotation.quoted(got, MAX_SAID)}"
            if want is not None and got is None:
                return "wrong", hints.DETACHED if flows else hints.CUT_OFF, where
            if isinstance(got, Tensor) and got.isnan().any():
                return "wrong", hints.NAN_GRADIENT, where
        wrong = [each for each in found if not close_gradient(*each[1:], one.length)]
        evidence = one.on
        for name, got, want in wrong[:1]:
            where = f"{one.on}: the gradient of {name}"
            _, evidence = wording.of_value(got, want, where, one.length)
        return "wrong", "the numbers are right, their gradients are not", evidence


class Printed(Decided):
    parts = (("printed", reply.text(MAX_PRINTED)),)

    def read(self, exercise, case, told):
        return {"printed": told["printed"]}


class Blinded(Decided):
    """It is for the grader alone: an answer that blinds what counts has nothing wrong by that."""

    parts = (("blinded", reply.boolean),)


# In this order hints win: of several disagreements the first is told.
DECIDED: tuple[Decided, ...] = (
    # who breaks a rule has not written the answer: whether it is right does not matter
    Called(),
    # what was stopped has no result
    Steps(),
    # nor has what ended in an error
    Outcome(),
    # what a call leaves changed may be why its numbers, and those of later calls, are wrong
    Settings(),
    Inputs(),
    # a rule of the exercise that does not show in the numbers
    Largest(),
    Value(),
    # of wrong values the gradients are wrong, too
    Gradients(),
    Printed(),
    Blinded(),
)
PARTS = {part: fits for one in DECIDED for part, fits in one.parts}


def checked(answer: Any) -> dict[str, Any]:
    """The reply itself, read strictly; whatever else it is made of, it costs the answer.

    Raises ReplyError unless each of its parts is what it must be.
    """
    if not isinstance(answer, dict) or answer.keys() != PARTS.keys():
        raise reply.ReplyError("its fields are not those of a reply")
    for part, fits in PARTS.items():
        if not fits(answer[part]):
            raise reply.ReplyError(f"no reply has this {part}")
    return answer


def read(exercise: Exercise, case: Case, told: dict[str, Any]) -> Observation:
    """A reply as an observation."""
    fields: dict[str, Any] = {}
    for one in DECIDED:
        fields |= one.read(exercise, case, told)
    return Observation(**fields)


def same(a: Observation, b: Observation, length: int, costs: tuple[str, ...] = ()) -> bool:
    """Whether two answers did the same, but for rounding; if so asked, in what costs these."""
    some = (one for one in DECIDED if not costs or one.costs in costs)
    return all(one.same(a, b, length) for one in some)


def explained(one: Difference) -> Said:
    """Status, hint and evidence for the first disagreement."""
    got, want, length = one.got, one.want, one.length
    return next(it for it in DECIDED if not it.same(got, want, length)).said(one)


def fault(seen: Observation) -> tuple[str, str]:
    """The exception, but for the names in its text: on the same input the numbers tell."""
    error = seen.error or {"type": "", "text": ""}
    return error["type"], re.sub(r"'[^']*'", "", error["text"])[:80]
