"""The questions of the chapters as pages, scripts and notebooks show them."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache, cached_property, partial
from hashlib import sha256
from html import escape
from math import isclose
from os import getpid
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from attncourse.course.question import chapters, page_data
from tools.blocks import parse
from tools.book import chapter_texts
from tools.execute import package_digest
from tools.extensions.formulas import with_commas
from tools.urls import ROOT

CACHE = ROOT / ".cache" / "questions"
# of so many parts at most is a fraction that is shown, or that beside an exact decimal says more
MAX_DENOMINATOR, MAX_DENOMINATOR_BESIDE_EXACT = 64, 16
LOG = re.compile(r"(?:(?<=\d) )?\bln (?=\d)")
ROW = re.compile(r"\((?:(?:[−-]?[\d./]*\s?ln\s)?[−-]?[\d./]+(?:, )?){2,6}\)")
SIGNED = re.compile(r"-(&\w+;|\S)")
# what differs by no more was rounded
is_near = partial(isclose, rel_tol=0, abs_tol=1e-6)
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


@cache
def load(chapter: str) -> dict[str, dict[str, Any]]:
    """What the pages show of a chapter's questions, drawn once for each state of our code."""
    if chapter not in chapters():
        return {}
    path = CACHE / f"{chapter}.json"
    stored = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if stored.get("state") != (state := package_digest()):
        stored = {"state": state, "questions": page_data(chapter)}
        path.parent.mkdir(parents=True, exist_ok=True)
        # another process that builds or tests reads the whole file, or none
        temporary_path = path.with_suffix(f".{getpid()}")
        temporary_path.write_text(json.dumps(stored, ensure_ascii=False), "utf-8")
        temporary_path.replace(path)
    return stored["questions"]


def question_places(root: Path, chapter: str) -> dict[str, tuple[str, str]]:
    """For each question in the texts of a chapter, its page, and the heading above it."""
    places = {}
    for path in chapter_texts(root, chapter):
        page, heading = f"{path.parent.name}/{chapter}", ""
        for block in parse(path.read_text("utf-8")):
            if block.kind == "heading":
                heading = block.text
            elif block.kind == "question":
                places[block.argument] = page, heading
    return places


class Page:
    """The questions of a chapter as HTML, with formulas drawn by a function of their TeX."""

    def __init__(
        self, chapter: str, questions: dict[str, dict], render_formula: Callable[[str], str]
    ):
        self.chapter, self.questions = chapter, questions
        self.markdown = MarkdownIt("commonmark").use(
            dollarmath_plugin, renderer=lambda tex, options: render_formula(tex)
        )

    def line(self, text: str) -> str:
        return with_commas(self.markdown.renderInline(join_lines(curl_quotes(text))))

    def box(self, name: str) -> str:
        """A question with its first numbers, as it stands in the page."""
        question = self.questions[name]
        return (
            f'<div class="question" id="{box_id(name)}" data-question="{self.chapter}.{name}" '
            f'data-script="{self.file}" role="group" aria-label="Question">'
            f"{self.body(question, question['variants'][0])}</div>"
        )

    def body(self, question: dict, variant: dict) -> str:
        """What changes with the numbers of a question."""
        minutes = f"{question['minutes']} minute{'s' * (question['minutes'] != 1)}"
        steps = "".join(f"<li>{self.line(step)}</li>" for step in variant["steps"])
        return (
            f'<p class="question-card"><b>Question</b> · {minutes}, on paper</p>'
            f"<p>{self.line(variant['asks'])}</p>"
            f"<form hidden>{self.controls(question, variant)}"
            '<button class="judge">Check</button><output></output></form>'
            f"<details><summary>The answer, step by step</summary><ol>{steps}</ol>"
            f"{self.solution(question, variant)}</details>"
        )

    def controls(self, question: dict, variant: dict) -> str:
        """What the reader answers with."""
        match question["kind"]:
            case "number":
                rights = (
                    right
                    for other_variant in question["variants"]
                    for right in other_variant["right"]
                )
                return field_html("Your answer", f"such as {example_number(rights)}")
            case "row":
                names = ORDINALS[: len(variant["right"])]
                return "".join(field_html(f"The {name} number", name) for name in names)
            case "order":
                head, *lines = variant["options"]
                buttons = "".join(
                    f'<button type="button" data-line="{line_index}">{code_html(line)}</button>'
                    for line, line_index in zip(lines, variant["lines"], strict=True)
                )
                return (
                    "<p>Click a line to add it; click it again to remove it.</p>"
                    f'<div class="program" role="group" aria-label="Your program">'
                    f"{code_html(head)}</div>"
                    f'<div class="lines" role="group" aria-label="Lines">{buttons}</div>'
                )
        return self.choices(question["kind"], variant["options"])

    def choices(self, kind: str, options: list) -> str:
        labels = (
            f'<label><input type="radio" name="answer" value="{i}"> {self.option(kind, option, i)}'
            "</label>"
            for i, option in enumerate(options)
        )
        return f'<fieldset class="{kind}">{"".join(labels)}</fieldset>'

    def option(self, kind: str, option: Any, index: int) -> str:
        if kind == "maps":
            return f"{index + 1} {weight_map(option, f'Map {index + 1}')}"
        return code_html(option) if kind == "line" else self.line(option)

    def solution(self, question: dict, variant: dict) -> str:
        """The right answer, after the steps."""
        answer = variant["right"]
        match question["kind"]:
            case "number" | "row":
                if question["tolerance"] > 0.005 and any(x % 1 for x in answer):
                    # nobody derives the digits of what is asked for roughly
                    return f"<p>So the answer is about {', '.join(f'{x:.2g}' for x in answer)}.</p>"
                return f"<p>So the answer is {in_full(answer)}.</p>"
            case "maps":
                return f"<p>So it is map {answer + 1}.</p>"
            case "line":
                line = escape(variant["options"][answer].strip())
                return f"<p>So this line is wrong:</p><pre>{line}</pre>"
            case "order":
                return f"<pre>{escape(answer)}</pre>"
        return f"<p>So the answer is: {self.line(variant['options'][answer])}.</p>"

    @cached_property
    def file(self) -> str:
        """The name of the script, which changes with what is in it."""
        return f"{self.chapter}.js?v={sha256(self.script.encode()).hexdigest()[:8]}"

    @cached_property
    def script(self) -> str:
        """The script that a page loads when a question is touched."""
        data = {name: self.data(question) for name, question in self.questions.items()}
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        return f'attncourseQuestions("{self.chapter}",{text});\n'

    def data(self, question: dict) -> dict:
        """What the page needs of a question: bodies, answers, and what to say of each."""
        variants = [
            {key: variant[key] for key in ("right", "mistakes")}
            | {"body": self.body(question, variant)}
            for variant in question["variants"]
        ]
        says = [self.line(text) for text in question["says"]]
        copied = {key: question[key] for key in ("kind", "tolerance", "table", "examples")}
        return copied | {
            "says": says,
            "check": self.line(question["check"]),
            "variants": variants,
        }


def curl_quotes(text: str) -> str:
    """A text with curly quotation marks."""
    pieces = text.replace("'", "’").split('"')
    return "".join(
        piece + ("“" if i % 2 == 0 else "”") * (i + 1 < len(pieces))
        for i, piece in enumerate(pieces)
    )


def join_lines(text: str) -> str:
    """A text whose logarithms and rows of numbers stay on one line, but for code and formulas."""
    pieces = re.split(r"(`[^`]*`|\$[^$]*\$)", text)
    for pattern in (LOG, ROW):
        pieces[::2] = [
            pattern.sub(lambda match: match[0].replace(" ", "\N{NO-BREAK SPACE}"), piece)
            for piece in pieces[::2]
        ]
    return "".join(pieces)


def box_id(name: str) -> str:
    """The anchor of a question in its page."""
    return f"question-{name.replace('_', '-')}"


def code_html(line: str) -> str:
    text = line.lstrip()
    # no row ends with a minus
    html = SIGNED.sub(r'<span class="joined">\g<0></span>', escape(text))
    return f'<code style="--indent: {len(line) - len(text)}">{html}</code>'


def field_html(name: str, example: str) -> str:
    return f'<input type="text" autocomplete="off" aria-label="{name}" placeholder="{example}">'


def decimal(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def in_full(numbers: list[float]) -> str:
    """Numbers as decimals, and as fractions where those say more."""
    fractions = [Fraction(number).limit_denominator(MAX_DENOMINATOR) for number in numbers]
    decimals = ", ".join(map(decimal, numbers))
    exact = all_near([float(f"{number:.4g}") for number in numbers], numbers)
    denominator = max(fraction.denominator for fraction in fractions)
    if (
        denominator == 1
        or not all_near(fractions, numbers)
        or (exact and denominator > MAX_DENOMINATOR_BESIDE_EXACT)
    ):
        return decimals
    texts = ", ".join(str(fraction).replace("-", "−") for fraction in fractions)
    sentence = f"{'or' if exact else 'about'} {decimals}"
    return f"{texts}, {sentence}" if len(numbers) == 1 else f"{texts} ({sentence})"


def all_near(first: Iterable, second: Iterable) -> bool:
    """Whether these numbers are those, in the same order."""
    return all(is_near(*pair) for pair in zip(first, second, strict=True))


def example_number(answers: Iterable[float]) -> str:
    """A number of the kind of these, and none of them."""
    numbers = [*answers]
    all_whole = all_near(map(round, numbers), numbers)
    fractions = (
        Fraction(fraction)
        for fraction in (("12", "14", "22", "26") if all_whole else ("1/4", "3/7", "5/9"))
    )
    return next(
        str(fraction)
        for fraction in fractions
        if not any(is_near(fraction, number) for number in numbers)
    )


def weight_map(weights: list[list[float]], name: str) -> str:
    """A map of weights as one path: a square for each, whose area is the weight."""
    n, m = len(weights), len(weights[0])

    def squares() -> Iterator[str]:
        for i, row in enumerate(weights):
            for j, weight in enumerate(row):
                if side := round(9 * weight**0.5, 1):
                    x, y = (round(10 * index + 5 - side / 2, 1) for index in (j, i))
                    yield f"M{x:g} {y:g}h{side:g}v{side:g}h-{side:g}z"

    rows = "; ".join(" ".join(f"{weight:.2g}" for weight in row) for row in weights)
    return (
        f'<svg viewBox="0 0 {10 * m} {10 * n}" role="img" aria-label="{name}, row by row: {rows}">'
        f'<path d="{"".join(squares())}"/></svg>'
    )


def for_notebook(chapter: str, name: str) -> str:
    """A question as plain Markdown, with its answer folded away."""
    question = load(chapter)[name]
    variant = question["variants"][0]
    steps = "\n".join(f"{i}. {step}" for i, step in enumerate(variant["steps"], start=1))
    answer = {
        "number": lambda: in_full(variant["right"]),
        "row": lambda: in_full(variant["right"]),
        "maps": lambda: f"map {variant['right'] + 1}",
        "order": lambda: f"\n\n```python\n{variant['right']}\n```",
        "line": lambda: f"`{variant['options'][variant['right']].strip()}`",
        "choice": lambda: variant["options"][variant["right"]],
    }[question["kind"]]()
    paragraphs = [
        f"**Question.** {variant['asks']}",
        *options_for_notebook(question["kind"], variant),
    ]
    folded = f"<summary><b>The answer, step by step</b></summary>\n\n{steps}\n\nAnswer: {answer}"
    return "\n\n".join([*paragraphs, f"<details>\n{folded}\n\n</details>"])


def options_for_notebook(kind: str, variant: dict) -> Iterator[str]:
    """The options of a question, where it has any."""
    options = variant["options"]
    if kind == "choice":
        yield "\n".join(f"- {option}" for option in options)
    elif kind == "maps":
        for i, option in enumerate(options, start=1):
            rows = "\n".join("  ".join(f"{x:.2f}" for x in row) for row in option)
            yield f"Map {i}:\n\n```\n{rows}\n```"
    elif options:
        yield "```python\n{}\n```".format("\n".join(options))
