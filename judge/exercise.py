"""What an exercise is: its text, reference and cases, and right and wrong answers."""

import inspect
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import torch
from torch import Tensor

from judge.call.driver import module_call
from judge.call.values import encode, implementation
from judge.exercise_text import Task

# what may stand where a text says "whatever it is", and where it says "any finite numbers"
WHATEVER = (torch.nan, torch.inf, -torch.inf, 1e30, -1e30)
FINITE = (3e38, -3e38)
# how many lines of Python one call of an answer may run; a test compares number by number, and may
# do so for many inputs
MAX_STEPS = 200_000
TEST_FACTOR = 10


class Kind(StrEnum):
    """What an exercise asks for."""

    WARM_UP = "warm-up"
    BUILD = "build"
    EXTEND = "extend"
    MEASURE = "measure"
    DEBUG = "debug"
    TEST = "test"
    CAPSTONE = "capstone"


@dataclass(frozen=True)
class Case:
    """One call that a check makes. `longer` holds its arguments at a greater length, or a case.

    `before` holds those of a call of the same module before, where not the longer ones.

    Where the answer is the class of a module, `build` holds the arguments that make one, and
    `weights` all its parameters by name. No tensor made on the way may have more than
    `max_elements`.
    """

    name: str
    args: tuple
    kwargs: dict[str, Any] = field(default_factory=dict)
    longer: "tuple | Case | None" = None
    gradient: bool = True
    build: tuple | None = None
    weights: dict[str, Tensor] = field(default_factory=dict)
    max_elements: int | None = None
    before: tuple = ()

    def __post_init__(self) -> None:
        for name, given in (("args", self.args), ("longer", self.longer)):
            if not isinstance(given, (tuple, Case)) and given is not None:
                kind = type(given).__name__
                raise ValueError(f"case {self.name!r}: {name} is a tuple, and not a {kind}")

    @cached_property
    def sent(self) -> dict[str, Any]:
        """The part of a request to the driver that is the case's own: plain data, made once."""
        return {
            "args": [encode(x) for x in self.args],
            "kwargs": {name: encode(x) for name, x in self.kwargs.items()},
            "build": None if self.build is None else encode(self.build),
            "weights": {name: encode(x) for name, x in self.weights.items()},
        }

    @property
    def lengthened(self) -> "Case":
        """The case at its greater length, which it must have."""
        longer = self.longer
        return longer if isinstance(longer, Case) else replace(self, args=longer or ())

    def result(self, answer: Callable) -> Any:
        """What an answer of ours makes of this case, which stays as it is."""
        if self.build is not None:
            answer = module_call(answer, self.build, self.weights)
        # known mistakes write into their tensors, or empty their lists
        args, kwargs = deepcopy((self.args, self.kwargs))
        return answer(*args, **kwargs)

    def float(self) -> "Case":
        """The same numbers in float32."""

        def single(x: Any) -> Any:
            return x.float() if is_floating(x) else x

        return replace(
            self,
            args=tuple(map(single, self.args)),
            kwargs={name: single(x) for name, x in self.kwargs.items()},
            weights={name: weight.float() for name, weight in self.weights.items()},
            name=f"{self.name}, in float32",
        )


def is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


class Source:
    """A function as its text, under another name: what a check hands to a learner."""

    def __init__(self, text: str, name: str):
        self.name = name
        # its own name would name the mistake
        self.source = f"import torch\n\n\ndef {name}{text[text.index('(') :]}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return implementation(self.name, self.source)(*args, **kwargs)


@dataclass(frozen=True)
class Mutant:
    """A plausible wrong answer and the hint that whoever gives it must get."""

    function: Callable
    hint: str

    @property
    def name(self) -> str:
        return self.function.__name__


class Draw:
    """Random inputs from one seed; float64, unit variance."""

    def __init__(self, seed: int):
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def integer(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """A tensor of numbers from low to high, both included."""
        return torch.randint(low, high + 1, shape, generator=self.generator)

    def sizes(self, count: int, low: int, high: int) -> list[int]:
        """That many sizes from low to high, no two alike, so that a swapped axis shows."""
        return (torch.randperm(high - low + 1, generator=self.generator)[:count] + low).tolist()

    def mask(self, *shape: int) -> Tensor:
        """A boolean mask, about half True, every row with both at least one True and one False."""
        order = torch.rand(shape, generator=self.generator).argsort(dim=-1)
        return order < max(1, shape[-1] // 2)


@dataclass(eq=False)
class Exercise:
    """An exercise. The decorators `reference`, `cases`, `valid` and `mutant` fill it.

    `without` holds the names of the generic mistakes that cannot be made here, and of what cannot
    be tried at the edge (`probes.EDGES`), each with the reason; `generic_hints` the hint for a
    generic mistake whose own is too general here. `shares` holds what a group of probes earns by
    itself, where that is not the usual share (`credit.py`). `unread_places` are those where the
    text allows any of `unread_numbers`. `describe_difference` puts a difference into the words of
    the task. `aims` are the course's names for what it practises.
    """

    name: str
    chapter: str
    title: str
    kind: str
    difficulty: int
    minutes: int
    points: int
    hints: tuple[str, ...]
    aims: tuple[str, ...] = ()
    task: Task | None = field(default=None, repr=False)
    module: str = ""
    differentiable: bool = True
    floating: bool = True
    # a longer input may cost some lines more (a check of its own, a few powers of two), but not
    # some a position
    steps_allowed: float = 1.5
    # functions that would be the whole answer, beside those of the course
    forbidden: tuple[str, ...] = ()
    without: dict[str, str] = field(default_factory=dict)
    generic_hints: dict[str, str] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    unread_places: Callable[..., dict[str, Tensor]] | None = None
    unread_numbers: tuple[float, ...] = ()
    reference_answer: Callable = field(init=False)
    draw_cases: Callable[[Draw], Iterator[Case]] = field(init=False)
    stub_answer: Callable | None = None
    describe_difference: Callable[..., str] | None = None
    valid_answers: list[Callable] = field(default_factory=list)
    own_mutants: list[Mutant] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.kind not in [*Kind]:
            raise ValueError(f"{self.name}: kind {self.kind!r} is not one of {', '.join(Kind)}")
        if self.difficulty not in (1, 2, 3):
            raise ValueError(f"{self.name}: difficulty {self.difficulty} is not 1, 2 or 3")
        if len(self.hints) != 3:
            raise ValueError(f"{self.name} has {len(self.hints)} hints: there are three")
        for field_name in ("forbidden", "aims"):
            if isinstance(said := getattr(self, field_name), str):
                raise ValueError(f"{self.name}: {field_name}={said!r} is no tuple: add a comma")
        for one in self.forbidden:
            if not isinstance(one, str):
                raise ValueError(f'{self.name}: forbidden holds names, as "softmax", and not {one}')

    @classmethod
    def read(cls, module: str, **more: Any) -> Self:
        """The exercise whose text lies beside this module, with what is not in the text."""
        file = Path(str(sys.modules[module].__file__))
        task = Task.read(file.with_suffix(".md"))
        said = task.settings
        return cls(
            name=task.name,
            # <chapter>/exercises/<name>.py
            chapter=file.parents[1].name,
            title=task.title,
            kind=said["kind"],
            difficulty=int(said["difficulty"]),
            minutes=task.minutes,
            points=int(said["points"]),
            hints=task.hints,
            aims=tuple(said.get("aims", "").replace(",", " ").split()),
            task=task,
            module=module,
            **more,
        )

    @cached_property
    def signature(self) -> dict[str, inspect.Parameter]:
        """What an answer is called with, by name: the text and the reference have the same."""
        answer = self.reference_answer
        function = answer.forward if isinstance(answer, type) else answer
        parameters = dict(inspect.signature(function).parameters)
        parameters.pop("self", None)
        return parameters

    @property
    def parameters(self) -> list[str]:
        """The names of what an answer is called with."""
        return [*self.signature]

    @property
    def is_test(self) -> bool:
        """Whether the answer is a test, which is given implementations and raises for the wrong."""
        return self.kind == Kind.TEST

    @property
    def max_steps(self) -> int:
        """How many lines of Python one call of an answer may run."""
        return MAX_STEPS * (TEST_FACTOR if self.is_test else 1)

    @property
    def cell_metadata(self) -> dict[str, Any]:
        """Metadata of the answer cell, so that a notebook can be listed without its exercises."""
        return {"exercise": self.name, "title": self.title, "points": self.points}

    def reference(self, function: Callable) -> Callable:
        self.reference_answer = function
        return function

    def cases(self, function: Callable) -> Callable:
        self.draw_cases = function
        return function

    def unread(self, *numbers: float) -> Callable[[Callable], Callable]:
        """Declare where such numbers may stand, since nothing there counts: padding, mostly.

        The function gets the arguments of a call, and returns boolean masks by their names.
        """

        def keep(function: Callable) -> Callable:
            self.unread_places, self.unread_numbers = function, numbers
            return function

        return keep

    def stub(self, function: Callable) -> Callable:
        """The code that a debug exercise starts from, bug and all."""
        self.stub_answer = function
        return function

    def differs(self, function: Callable[..., str]) -> Callable[..., str]:
        """Say in words what differs, where no known mistake does what was seen.

        The function gets what was wanted, what came, whatever that is, and the arguments of the
        call; it returns one line, or an empty one where it has no words.
        """
        self.describe_difference = function
        return function

    def valid(self, function: Callable) -> Callable:
        self.valid_answers.append(function)
        return function

    def mutant(self, hint: str) -> Callable[[Callable], Callable]:
        def keep(function: Callable) -> Callable:
            self.own_mutants.append(Mutant(function, hint))
            return function

        return keep


@runtime_checkable
class JudgesItself(Protocol):
    """An exercise that is not judged by a reference."""

    def judge(
        self, caller: Callable[[dict], dict], seed: int, forbidden: tuple[str, ...]
    ) -> Any:  # a Verdict
        ...
