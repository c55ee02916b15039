"""Questions to answer on paper: each knows the right answer, and what the usual mistakes come to.

Those of a chapter are in the module `questions` of its folder.
"""

import ast
import json
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from functools import cache
from importlib import import_module
from itertools import combinations, permutations, zip_longest
from typing import Any, ClassVar

import torch

from attncourse.course import COURSE, exercise
from attncourse.course.aims import AIMS
from judge import variants
from judge.call.outcome import Stopped
from judge.call.watch import Watch

DOZEN, DRAWS, STEPS, MOST_LINES, MOST_SENTENCES = 12, 1000, 10_000, 5, 6
# more than a page shows or a tolerance needs, and fewer than those in which machines differ;
# after the point, since of 1e-17 each digit is what rounding has left of a zero
DECIMALS = 6


@dataclass(frozen=True)
class Variant:
    """A question with its numbers filled in; all texts are Markdown.

    An answer is a list of numbers or, where one chooses, the place of an option. `mistakes` has one
    for each sentence of `Question.says`. Of lines to be put in order, `right` is a program; they
    are judged by the question's `table`, and `lines` has the place of each in that program.
    """

    asks: str
    steps: list[str]
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
    """The fields that all kinds of question have.

    `mistakes` has a row for each usual mistake: a sentence, which helps and gives no answer, and
    the answer of whoever makes it. Answers and `steps`, which lead to the right one, are functions
    of what `draw` gives, by name, or the same for all numbers. In `asks`, `<name>` stands for what
    is drawn under that name. `check` is what to try where the answer is neither right nor a known
    mistake. With `placement`, the question helps to find the chapter to start with.
    """

    asks: str
    aim: str
    steps: Callable[..., Sequence[str]] | Sequence[str]
    check: str
    mistakes: Mapping[str, Any]
    right: Any = None
    draw: Callable[[random.Random], dict[str, Any]] = lambda rng: {}
    minutes: int = 2
    tolerance: float = 0.005
    placement: bool = False
    id: str = field(init=False)

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()

    @property
    def chapter(self) -> str:
        return self.id.partition(".")[0]

    @property
    def says(self) -> list[str]:
        """The sentences, one for each mistake."""
        return [*self.mistakes]

    def answers(self, numbers: Mapping[str, Any]) -> list[Any]:
        """The right answer and that of each mistake, as plain numbers or texts."""
        return [plain(value(answer, numbers)) for answer in (self.right, *self.mistakes.values())]

    def solution(self, numbers: Mapping[str, Any]) -> list[str]:
        """The steps to the right answer, with the numbers."""
        return [*value(self.steps, numbers)]

    def variant(self, rng: random.Random) -> Variant:
        """A variant with new numbers: drawn again while two of its answers look alike."""
        similar_pair: tuple[Any, Any] | None = None
        for _ in range(DRAWS):
            numbers = self.draw(rng)
            answers = self.answers(numbers)
            pairs = combinations(answers, 2)
            # a reader's answer could be taken for either
            similar_pair = next((pair for pair in pairs if agree(*pair, 2 * self.tolerance)), None)
            if similar_pair is None:
                asks, steps = fill_in(self.asks, numbers), self.solution(numbers)
                return Variant(asks, steps, *self.choose(answers, numbers, rng))
        raise ValueError(
            f"{self.id}: in each of {DRAWS} draws, two answers look alike: {similar_pair}"
        )

    def variants(self) -> list[Variant]:
        """A dozen variants that differ, or as many as there are: those of another example first."""
        examples: dict[str, Variant] = {}
        repeated: dict[str, Variant] = {}
        for i in range(10 * DOZEN):
            variant = self.variant(random.Random(f"{self.id} {i}"))
            if examples.setdefault(variant.example, variant).options != variant.options:
                repeated.setdefault(json.dumps([variant.asks, variant.options]), variant)
            if len(examples) == DOZEN:
                break
        return [*examples.values(), *repeated.values()][:DOZEN]

    def table(self) -> str:
        """The verdict on each order of lines, for the kind of question that has them."""
        return ""

    def choose(self, answers: list, numbers: Mapping, rng: random.Random) -> tuple:
        """The last fields of a variant: the right answer, those of mistakes, and options."""
        right, *mistakes = [answer if isinstance(answer, list) else [answer] for answer in answers]
        return right, mistakes


@dataclass(kw_only=True)
class Number(Question):
    """The answer is a number."""


@dataclass(kw_only=True)
class Row(Question):
    """The answer is several numbers, in order."""


@dataclass(kw_only=True)
class Choice(Question):
    """The answer is one of at least four: what is right, and what each mistake gives, as texts."""

    def choose(self, answers: list, numbers: Mapping, rng: random.Random) -> tuple:
        if len(answers) < 4:
            raise ValueError(f"{self.id} has {len(answers)} answers to choose from: give four")
        order = rng.sample(range(len(answers)), len(answers))
        right, *mistakes = map(order.index, range(len(answers)))
        return right, mistakes, [answers[i] for i in order]


@dataclass(kw_only=True)
class Maps(Choice):
    """The answer is one of four maps of weights: matrices whose entries lie between 0 and 1."""

    tolerance: float = 0.05


@dataclass(kw_only=True)
class Line(Question):
    """The answer is the line that is wrong, of a known wrong answer to an exercise.

    `text_of` gives for each of the `faults` a text with it, `mutant`, and a right one, `plain`; the
    wrong line is where they differ, and what `faults` says of it is the last step. `mistakes` are
    of other lines: each has a piece of the line that its sentence is for.
    """

    faults: Mapping[str, str]
    text_of: Callable[[str], dict[str, str]]

    def __post_init__(self):
        def draw(rng: random.Random) -> dict[str, Any]:
            fault = rng.choice([*self.faults])
            return {"fault": fault, **self.text_of(fault)}

        self.draw = draw

    def answers(self, numbers: Mapping[str, Any]) -> list[Any]:
        lines, right_lines = code_lines(numbers["mutant"]), code_lines(numbers["plain"])
        opcodes = SequenceMatcher(None, right_lines, lines, autojunk=False).get_opcodes()
        changed_lines = {
            j for tag, _, _, low, high in opcodes if tag != "equal" for j in range(low, high)
        }
        if len(changed_lines) != 1:
            raise ValueError(
                f"{self.id}: {len(changed_lines)} lines of it differ from the right text"
            )
        positions = [*changed_lines]
        for piece in (value(mistake, numbers) for mistake in self.mistakes.values()):
            matching = [i for i, line in enumerate(lines) if piece in line]
            if len(matching) != 1:
                raise ValueError(f"{self.id}: {len(matching)} lines have {piece!r}")
            positions += matching
        return positions

    def solution(self, numbers: Mapping[str, Any]) -> list[str]:
        return [*super().solution(numbers), self.faults[numbers["fault"]]]

    def choose(self, answers: list, numbers: Mapping, rng: random.Random) -> tuple:
        right, *mistakes = answers
        return right, mistakes, code_lines(numbers["mutant"])


@dataclass(kw_only=True)
class Order(Question):
    """The answer is an order of lines that make up the body of `head`; `spare` is one too many.

    Every order of as many lines as are right is run on the cases: what gives what `right` gives is
    right, and what gives what a mistake gives hears its sentence.
    """

    head: str
    lines: Sequence[str]
    spare: str
    cases: Callable[[], Sequence[tuple]]
    UNDEFINED: ClassVar = "One of your lines uses a name that no line above it defines."

    @property
    def says(self) -> list[str]:
        return [*super().says, self.UNDEFINED]

    def variant(self, rng: random.Random) -> Variant:
        options = [*self.lines, self.spare]
        order = rng.sample(range(len(options)), len(options))
        shuffled = [self.head, *(options[i] for i in order)]
        right_program = program(self.head, self.lines)
        return Variant(self.asks, self.solution({}), right_program, options=shuffled, lines=order)

    def table(self) -> str:
        """A sign for each order, the last place moving fastest: `=` if it is right, the place of
        its sentence, or `?` if nothing is known of it."""
        if len(self.lines) > MOST_LINES or len(self.says) > MOST_SENTENCES:
            raise ValueError(
                f"{self.id} has {len(self.lines)} lines and {len(self.says)} sentences: at most "
                f"{MOST_LINES} and {MOST_SENTENCES}"
            )
        cases = self.cases()
        ends = [
            [plain(answer(*case)) for case in cases]
            for answer in (self.right, *self.mistakes.values())
        ]
        orders = permutations([*self.lines, self.spare], len(self.lines))
        table = "".join(
            self.sign([run(self.head, order, case) for case in cases], ends) for order in orders
        )
        if table[0] != "=":
            raise ValueError(f"{self.id}: its lines are wrong in the order in which they are given")
        return table

    def sign(self, results: list[Any], ends: list[list[Any]]) -> str:
        for index, end in enumerate(ends):
            if all(
                agree(result, expected, self.tolerance)
                for result, expected in zip(results, end, strict=True)
            ):
                return str(index - 1) if index else "="
        return str(len(self.mistakes)) if "undefined" in results else "?"


def value(function_or_value: Any, numbers: Mapping[str, Any]) -> Any:
    """The value of a function of the numbers; anything else is the value itself."""
    return function_or_value(**numbers) if callable(function_or_value) else function_or_value


def program(head: str, body: Sequence[str]) -> str:
    """The source of a function with these lines."""
    return "\n    ".join([head, *body])


def run(head: str, body: Sequence[str], case: tuple) -> Any:
    """The result of a function with these lines as plain numbers, or a word for its failure."""
    space: dict[str, Any] = {"torch": torch, "math": math}
    try:
        exec(program(head, body), space)
        function = space[re.findall(r"def (\w+)", head)[0]]
        with Watch(space, max_steps=STEPS):
            return plain(function(*(x.clone() if isinstance(x, torch.Tensor) else x for x in case)))
    except NameError:
        return "undefined"
    except (Exception, Stopped):
        return "fails"


def agree(first: Any, second: Any, tolerance: float) -> bool:
    """Whether two plain results agree, in shape too."""
    if isinstance(first, list) and isinstance(second, list):
        return all(agree(*pair, tolerance) for pair in zip_longest(first, second))
    if isinstance(first, int | float) and isinstance(second, int | float):
        is_near = math.isclose(first, second, rel_tol=0, abs_tol=tolerance)
        return is_near or (math.isnan(first) and math.isnan(second))
    return first == second


def double(*rows: Any) -> torch.Tensor:
    """These numbers, or rows of numbers, as a tensor in which they are not rounded to float32."""
    return torch.tensor(rows, dtype=torch.float64)


def plain(value: Any) -> Any:
    """A tensor or a tuple as a list, and numbers as they are rounded on every machine."""
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [*map(plain, value)]
    if isinstance(value, float):
        # first where no noise reaches: 0.0078125 and a little more is rounded as itself;
        # a zero is added because of -0.0
        return round(round(value, DECIMALS + 3), DECIMALS) + 0.0
    return value


class Ln(float):
    """The logarithm of a whole number, shown as people write it: its exponential is that number."""

    def __new__(cls, number: int):
        log = super().__new__(cls, math.log(number))
        log.number = number
        return log

    def __str__(self) -> str:
        return f"ln {self.number}" if self.number > 1 else "0"

    number: int


def fill_in(text: str, numbers: Mapping[str, Any]) -> str:
    """A text with the numbers in place of its `<name>`s."""
    return re.sub(r"<(\w+)>", lambda name: show(numbers[name[1]]), text)


def show(value: Any) -> str:
    """A drawn value as the question says it: (1, 0), 0.25, −2, ln 3."""
    if isinstance(value, list | tuple):
        return f"({', '.join(map(show, value))})"
    if isinstance(value, float) and not isinstance(value, Ln):
        value = f"{value:.4g}"
    return re.sub(r"^-", "−", str(value))


@cache
def mutant(exercise_name: str, hint: str) -> Callable:
    """The known wrong answer to an exercise whose hint begins so."""
    mutants = exercise(exercise_name).own_mutants
    functions = [
        wrong_answer.function for wrong_answer in mutants if wrong_answer.hint.startswith(hint)
    ]
    if not functions:
        raise LookupError(f"{exercise_name} has no mutant whose hint begins with {hint!r}")
    return functions[0]


def texts(exercise_name: str, hint: str) -> dict[str, str]:
    """The text of a mutant, and that of the right answer that it was made of."""
    made_of = mutant(exercise_name, hint).made_by  # pyright: ignore
    right = variants.source_of(made_of.answer)
    return {"mutant": bare(made_of.source, exercise_name), "plain": bare(right, exercise_name)}


def bare(source: str, name: str) -> str:
    """The text of a function under a name, without types, docstring and comments."""
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    for argument in ast.walk(function.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    first = function.body[ast.get_docstring(function) is not None]
    lines = source.splitlines()[first.lineno - 1 :]
    body = [line for line in lines if not line.strip().startswith("#")]
    return "\n".join([f"def {name}({ast.unparse(function.args)}):", *body])


# of the first line of a function, as a mistake in a wrong line
NAMES_ONLY = "That line only names the function and its arguments. Look at what is done with them."


def code_lines(text: str) -> list[str]:
    """The lines of a function that are not empty."""
    return [line for line in text.split("\n") if line.strip()]


def chapters() -> list[str]:
    """The chapters that have questions, in the order of the course."""
    with_folder = COURSE.chapters()
    return [chapter for chapter in AIMS if chapter in with_folder]


@cache
def questions(chapter: str) -> dict[str, Question]:
    """The questions of a chapter by name, that of the variable, in the order of the module."""
    module = vars(import_module(f"{COURSE.content}.{chapter}.questions"))
    by_name = {
        name: question for name, question in module.items() if isinstance(question, Question)
    }
    for name, question in by_name.items():
        question.id = f"{chapter}.{name}"
    return by_name


def page_data(chapter: str) -> dict[str, dict[str, Any]]:
    """The data of a chapter's questions that the pages show."""
    fields = "kind", "minutes", "placement", "aim", "tolerance", "check", "says"
    return {
        name: {key: getattr(question, key) for key in fields}
        | {
            "table": question.table(),
            "examples": len({variant.example for variant in variants}),
            "variants": [*map(asdict, variants)],
        }
        for name, question in questions(chapter).items()
        for variants in [question.variants()]
    }


def all_questions() -> Iterator[Question]:
    """Each question of the course, in its order."""
    return (question for chapter in chapters() for question in questions(chapter).values())
