"""Questions to answer on paper: each knows the right answer, and what the usual mistakes come to.

Those of a chapter are in the module `questions` of its folder. What a page shows of them
is drawn once and kept in `chapters/questions`, so that the page is the same on every machine.
"""

import json
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from functools import cache
from importlib import import_module
from itertools import combinations, permutations
from typing import Any, ClassVar, Self

import torch

from attncourse.course import COURSE, exercise
from attncourse.course.aims import AIMS
from judge import variants
from judge.watch import Stopped, Watch

DOZEN, DRAWS, STEPS, MOST_LINES, MOST_SENTENCES = 12, 1000, 10_000, 5, 6


@dataclass(frozen=True)
class Variant:
    """A question with its numbers filled in; all texts are Markdown.

    An answer is a list of numbers or, where one chooses, the place of an option. `mistakes` has one
    for each sentence of `Question.says`. Of lines to be put in order, `right` is a program; they
    are judged by the question's `table`, and `lines` has the place of each in that program.
    """

    asks: str
    way: list[str]
    right: Any = None
    mistakes: list[Any] = field(default_factory=list)
    options: list[Any] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    @property
    def example(self) -> str:
        """What is asked, in whatever order the options stand."""
        return json.dumps([self.asks, sorted(map(json.dumps, self.options))])


@dataclass(kw_only=True)
class Question:
    """What all kinds of question have; `right` and the mistakes take what `draw` gives, by name.

    In `asks`, `<name>` stands for what is drawn under that name; `way` gives the steps with these
    numbers. `check` is what to try where the answer is neither right nor a mistake that is known.
    With `placement`, it helps to find the chapter to start with.
    """

    kind: ClassVar[str]
    asks: str
    aim: str
    section: str
    way: Callable[..., Sequence[str]]
    check: str
    draw: Callable[[random.Random], dict[str, Any]] = lambda chance: {}
    minutes: int = 2
    tolerance: float = 0.005
    placement: bool = False
    right: Callable[..., Any] = field(init=False)
    mistakes: list[tuple[str, Callable[..., Any]]] = field(init=False, default_factory=list)
    id: str = field(init=False)

    def __call__(self, right: Callable[..., Any]) -> Self:
        """Decorate the function that gives the right answer; its name is the question's."""
        self.right = right
        self.id = f"{right.__module__.split('.')[2]}.{right.__name__}"
        return self

    def mistake(self, says: str) -> Callable:
        """Decorate a function that makes a mistake; the sentence helps, and gives no answer."""

        def known(does: Callable) -> Callable:
            self.mistakes.append((says, does))
            return does

        return known

    @property
    def chapter(self) -> str:
        return self.id.partition(".")[0]

    @property
    def says(self) -> list[str]:
        """The sentences, one for each mistake."""
        return [says for says, _ in self.mistakes]

    @property
    def does(self) -> list[Callable[..., Any]]:
        """What gives the answer of each mistake."""
        return [does for _, does in self.mistakes]

    def answers(self, given: Mapping[str, Any]) -> list[Any]:
        """The right answer and that of each mistake, as plain numbers or texts."""
        return [plain(does(**given)) for does in (self.right, *self.does)]

    def variant(self, chance: random.Random) -> Variant:
        """The question with new numbers: drawn again while two of its answers look alike."""
        alike: tuple[Any, Any] | None = None
        for _ in range(DRAWS):
            given = self.draw(chance)
            answers = self.answers(given)
            alike = next(filter(self.look_alike, combinations(answers, 2)), None)
            if alike is None:
                return self.filled(filled_in(self.asks, given), given, answers, chance)
        raise ValueError(f"{self.id}: in each of {DRAWS} draws, two answers look alike: {alike}")

    def variants(self) -> list[Variant]:
        """A dozen variants that differ, or as many as there are: those of another example first."""
        drawn = (self.variant(random.Random(f"{self.id} {i}")) for i in range(10 * DOZEN))
        found = {json.dumps([one.asks, one.options]): one for one in drawn}.values()
        first: dict[str, Variant] = {}
        for one in found:
            first.setdefault(one.example, one)
        again = (one for one in found if one is not first[one.example])
        return [*first.values(), *again][:DOZEN]

    def look_alike(self, two: tuple[Any, Any]) -> bool:
        """Whether a reader's answer could be taken for either."""
        return same(*two, 2 * self.tolerance)

    def filled(self, asks: str, given: Mapping, answers: list, chance: random.Random) -> Variant:
        right, *wrong = [one if isinstance(one, list) else [one] for one in answers]
        return Variant(asks, [*self.way(**given)], right, wrong)


@dataclass(kw_only=True)
class Number(Question):
    """The answer is a number."""

    kind: ClassVar = "number"


@dataclass(kw_only=True)
class Row(Question):
    """The answer is several numbers, in order."""

    kind: ClassVar = "row"


@dataclass(kw_only=True)
class Choice(Question):
    """The answer is one of at least four: what is right, and what each mistake gives, as texts."""

    kind: ClassVar = "choice"

    def filled(self, asks: str, given: Mapping, answers: list, chance: random.Random) -> Variant:
        if len(answers) < 4:
            raise ValueError(f"{self.id} has {len(answers)} answers to choose from: give four")
        order = chance.sample(range(len(answers)), len(answers))
        right, *wrong = map(order.index, range(len(answers)))
        return Variant(asks, [*self.way(**given)], right, wrong, [answers[i] for i in order])


@dataclass(kw_only=True)
class Maps(Choice):
    """The answer is one of four maps of weights: matrices whose entries lie between 0 and 1."""

    kind: ClassVar = "maps"
    tolerance: float = 0.05


@dataclass(kw_only=True)
class Line(Question):
    """The answer is the line that is wrong, of a known wrong answer to an exercise.

    `text_of` gives for each of the `faults` a text with it, `mutant`, and a right one, `plain`; the
    wrong line is where they differ, and what `faults` says of it is the last step of the way.
    `mistakes` are of other lines: each function gives a piece of the line that its sentence is for.
    """

    kind: ClassVar = "line"
    faults: Mapping[str, str]
    text_of: Callable[[str], dict[str, str]]

    def __post_init__(self):
        self.draw = lambda chance: self.text_of(chance.choice([*self.faults]))

    def right_line(self, piece: str, says: str) -> None:
        """What is said of the line with this piece, which is right in every text."""
        self.mistake(says)(lambda mutant, plain: piece)

    def answers(self, given: Mapping[str, Any]) -> list[Any]:
        lines, right = code_lines(given["mutant"]), code_lines(given["plain"])
        ways = SequenceMatcher(None, right, lines, autojunk=False).get_opcodes()
        changed = {j for tag, _, _, low, high in ways if tag != "equal" for j in range(low, high)}
        if len(changed) != 1:
            raise ValueError(f"{self.id}: {len(changed)} lines of it differ from the right text")
        places = [self.place(lines, does(**given)) for does in self.does]
        return [*changed, *places]

    def place(self, lines: list[str], piece: str) -> int:
        found = [i for i, line in enumerate(lines) if piece in line]
        if len(found) != 1:
            raise ValueError(f"{self.id}: {len(found)} lines have {piece!r}")
        return found[0]

    def filled(self, asks: str, given: Mapping, answers: list, chance: random.Random) -> Variant:
        right, *wrong = answers
        whys = (why for fault, why in self.faults.items() if self.text_of(fault) == given)
        way = [*self.way(**given), next(whys)]
        return Variant(asks, way, right, wrong, code_lines(given["mutant"]))


@dataclass(kw_only=True)
class Order(Question):
    """The answer is an order of lines that make up the body of `head`; `spare` is one too many.

    Every order of as many lines as are right is run on the cases: what gives what `right` gives is
    right, and what gives what a mistake gives hears its sentence.
    """

    kind: ClassVar = "order"
    head: str
    lines: Sequence[str]
    spare: str
    cases: Callable[[], Sequence[tuple]]
    UNDEFINED: ClassVar = "One of your lines uses a name that no line above it has made."

    @property
    def says(self) -> list[str]:
        return [*super().says, self.UNDEFINED]

    def variant(self, chance: random.Random) -> Variant:
        options = [*self.lines, self.spare]
        order = chance.sample(range(len(options)), len(options))
        shuffled = [self.head, *(options[i] for i in order)]
        right = program(self.head, self.lines)
        return Variant(self.asks, [*self.way()], right, options=shuffled, lines=order)

    def table(self) -> str:
        """A sign for each order, the last place moving fastest: `=` if it is right, the place of
        its sentence, or `?` if nothing is known of it."""
        if len(self.lines) > MOST_LINES or len(self.says) > MOST_SENTENCES:
            raise ValueError(
                f"{self.id} has {len(self.lines)} lines and {len(self.says)} sentences: at most "
                f"{MOST_LINES} and {MOST_SENTENCES}"
            )
        cases = self.cases()
        ends = [[plain(does(*one)) for one in cases] for does in (self.right, *self.does)]
        orders = permutations([*self.lines, self.spare], len(self.lines))
        table = "".join(
            self.sign([run(self.head, order, case) for case in cases], ends) for order in orders
        )
        if table[0] != "=":
            raise ValueError(
                f"{self.id}: its lines, in the order in which they are given, are wrong"
            )
        return table

    def sign(self, got: list[Any], ends: list[list[Any]]) -> str:
        for place, end in enumerate(ends):
            if all(same(one, other, self.tolerance) for one, other in zip(got, end, strict=True)):
                return str(place - 1) if place else "="
        return str(len(self.mistakes)) if "undefined" in got else "?"


def program(head: str, body: Sequence[str]) -> str:
    return "\n    ".join([head, *body])


def run(head: str, body: Sequence[str], case: tuple) -> Any:
    """What a function of these lines returns, as plain numbers, or a word for how it ends."""
    space: dict[str, Any] = {"torch": torch, "math": math}
    try:
        exec(program(head, body), space)
        function = space[re.findall(r"def (\w+)", head)[0]]
        with Watch((), STEPS, everything=False):
            return plain(function(*(x.clone() if isinstance(x, torch.Tensor) else x for x in case)))
    except NameError:
        return "undefined"
    except (Exception, Stopped):
        return "fails"


def same(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two plain results agree, in shape too."""
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return one == other
    first, second = (torch.tensor(x, dtype=torch.float64) for x in (one, other))
    return first.shape == second.shape and torch.allclose(
        first, second, rtol=0, atol=tolerance, equal_nan=True
    )


def double(*rows: Any) -> torch.Tensor:
    """These numbers, or rows of numbers, as a tensor in which they are not rounded to float32."""
    return torch.tensor(rows, dtype=torch.float64)


def plain(value: Any) -> Any:
    """A tensor as a number or as lists of numbers; a tuple as a list."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [*map(plain, value)] if isinstance(value, tuple) else value


class Ln(float):
    """The logarithm of a whole number, shown as people write it: its exponential is that number."""

    def __new__(cls, number: int):
        made = super().__new__(cls, math.log(number))
        made.number = number
        return made

    def __str__(self) -> str:
        return f"ln {self.number}" if self.number > 1 else "0"

    number: int


def filled_in(text: str, given: Mapping[str, Any]) -> str:
    """A text with what is drawn in place of its `<name>`s."""
    return re.sub(r"<(\w+)>", lambda name: show(given[name[1]]), text)


def show(value: Any) -> str:
    """A drawn value as the question says it: (1, 0), 0.25, −2, ln 3."""
    if isinstance(value, list | tuple):
        return f"({', '.join(map(show, value))})"
    if isinstance(value, float) and not isinstance(value, Ln):
        value = f"{value:.4g}"
    return re.sub(r"^-", "−", str(value))


def mutant(exercise_name: str, hint: str) -> Callable:
    """The known wrong answer to an exercise whose hint begins so."""
    known = exercise(exercise_name).own_mutants
    found = [one.function for one in known if one.hint.startswith(hint)]
    if not found:
        raise LookupError(f"{exercise_name} has no mutant whose hint begins with {hint!r}")
    return found[0]


def texts(exercise_name: str, hint: str) -> dict[str, str]:
    """The text of such a mutant, and that of the right answer that it was made of."""
    made_of = mutant(exercise_name, hint).made_by  # pyright: ignore
    return {
        "mutant": made_of.source,
        "plain": variants.source_of(made_of.answer),
    }


# of the first line of a function, as a mistake in a wrong line
NAMES_ONLY = "That line only names the function and what it is given. Look at what is done with it."


def code_lines(text: str) -> list[str]:
    """The lines of a function that are not empty."""
    return [line for line in text.split("\n") if line.strip()]


def chapters() -> list[str]:
    """The chapters that have questions, in the order of the course."""
    written = COURSE.chapters()
    return [chapter for chapter in AIMS if chapter in written]


@cache
def questions(chapter: str) -> dict[str, Question]:
    """The questions of a chapter by name, in the order in which they are written."""
    found = vars(import_module(f"{COURSE.content}.{chapter}.questions")).items()
    return {name: one for name, one in found if isinstance(one, Question)}


def drawn(chapter: str) -> dict[str, dict[str, Any]]:
    """What the pages show of a chapter's questions, as plain data."""
    return {
        name: {
            "kind": one.kind,
            "minutes": one.minutes,
            "placement": one.placement,
            "aim": one.aim,
            "section": one.section,
            "tolerance": one.tolerance,
            "check": one.check,
            "says": one.says,
            "table": one.table() if isinstance(one, Order) else "",
            "examples": len({variant.example for variant in variants}),
            "variants": [*map(asdict, variants)],
        }
        for name, one in questions(chapter).items()
        for variants in [one.variants()]
    }


def every() -> Iterator[Question]:
    """Each question of the course, in its order."""
    return (one for chapter in chapters() for one in questions(chapter).values())
