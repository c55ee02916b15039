"""Questions on a sheet to print, with a key; and the mistakes of a class, by aim.

A sheet has new numbers, drawn from a seed: the same seed gives the same sheet.
"""

import csv
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from markdown_it import MarkdownIt

from attncourse.course.aims import AIMS

if TYPE_CHECKING:
    from attncourse.course.question import Question, Variant

COLUMNS = ("chapter", "aim", "question", "mistake", "students")
COURSE = "attncourse"
# no text of ours has that character
FORMULA, PLACE = re.compile(r"\$([^$]+)\$"), "\ue000"
STYLE = """
body { font: 11pt/1.5 serif; max-width: 42em; margin: 2em auto; }
li { margin: 1em 0; break-inside: avoid; } ul li, ol ol li { margin: 0.2em 0; }
pre { white-space: pre-wrap; } .space { height: 6em; }
"""


def bank():
    """The module of the questions: it needs torch, which the command can grade without."""
    from attncourse.course import question

    return question


def sheet(
    seed: Annotated[int | None, typer.Option(help="another seed draws other numbers")] = None,
    aims: Annotated[
        list[str] | None,
        typer.Option(help="a chapter, or an aim of one, as dot_product.scale; again for more"),
    ] = None,
    questions: Annotated[
        list[str] | None,
        typer.Option(help="one question, as dot_product.weight_of_a_key; again for more"),
    ] = None,
    out: Annotated[Path, typer.Option(help="where sheet.html and key.html are written")] = Path(),
) -> None:
    """Write a quiz to print, and its key with what each usual mistake comes to."""
    selected = chosen_questions(aims or [], questions or [])
    if seed is None:
        refuse("with which numbers? Say --seed, as --seed 7: the same seed draws the same again")
    pairs = [
        (question, question.variant(random.Random(f"{seed} {question.id}")))
        for question in selected
    ]
    out.mkdir(parents=True, exist_ok=True)
    for name, item in (("sheet", question_html), ("key", solution_html)):
        items = "".join(f"<li>{item(question, variant)}</li>" for question, variant in pairs)
        title = {"sheet": "Questions on attention", "key": f"The key, seed {seed}"}[name]
        line = "<p>Name:</p>" if name == "sheet" else ""
        path = out / f"{name}.html"
        path.write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
            f"<style>{STYLE}</style><h1>{title}</h1>{line}<ol>{items}</ol></html>\n",
            "utf-8",
        )
        typer.echo(f"written: {path}")


def chosen_questions(aims: list[str], names: list[str]) -> list["Question"]:
    """The questions with these aims, and those of these names, in the order of the course."""
    if not aims and not names:
        refuse("which questions? Say --aims or --questions")
    for selector in aims:
        chapter, _, aim = selector.partition(".")
        if chapter not in bank().chapters():
            chapters = ", ".join(bank().chapters())
            refuse(f"{chapter!r} has no questions; these chapters have: {chapters}")
        if aim and aim not in AIMS[chapter]:
            refuse(f"{aim!r} is no aim of {chapter}; its aims are: {', '.join(AIMS[chapter])}")
    by_id = {question.id: question for question in bank().all_questions()}
    if unknown := [name for name in names if name not in by_id]:
        matches = get_close_matches(unknown[0], by_id, n=1)
        suggestion = f": is it {matches[0]!r}?" if matches else ""
        refuse(f"no question is called {unknown[0]!r}{suggestion}")
    return [
        question
        for question in by_id.values()
        if question.id in names
        or {question.chapter, f"{question.chapter}.{question.aim}"} & {*aims}
    ]


def refuse(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(2)


def html(text: str) -> str:
    """Markdown with formulas, as HTML that needs no other file."""
    from attncourse.figures.drawing import formula

    formulas = FORMULA.findall(text)
    rendered = MarkdownIt("commonmark").renderInline(FORMULA.sub(PLACE, text))
    for tex in formulas:
        rendered = rendered.replace(PLACE, formula(tex), 1)
    return rendered


def question_html(question: "Question", variant: "Variant") -> str:
    return f'{html(variant.asks)}{options(question, variant)}<div class="space"></div>'


def options(question: "Question", variant: "Variant") -> str:
    """What there is to choose from."""
    if question.kind == "choice":
        items = "".join(f"<li>{html(text)}</li>" for text in variant.options)
        return f"<ol type=a>{items}</ol>"
    if question.kind == "maps":
        rows = (
            "\n".join("  ".join(f"{x:.2f}" for x in row) for row in weights)
            for weights in variant.options
        )
        return "".join(f"<p>{'abcd'[i]}</p><pre>{text}</pre>" for i, text in enumerate(rows))
    return f"<pre>{escape(chr(10).join(variant.options))}</pre>" if variant.options else ""


def solution_html(question: "Question", variant: "Variant") -> str:
    """The way, the answer, and each mistake with what it comes to and its sentence."""
    steps = "".join(f"<li>{html(step)}</li>" for step in variant.steps)
    mistakes = "".join(
        f"<li>{answer_of(question, variant, answer)}: {html(sentence)}</li>"
        for answer, sentence in zip(variant.mistakes, question.says, strict=False)
    )
    if question.kind == "order":
        mistakes = "".join(f"<li>{html(sentence)}</li>" for sentence in question.says)
    answer = answer_of(question, variant, variant.right)
    asks = f"{html(variant.asks)}{options(question, variant)}"
    return f"{asks}<p>Answer: {answer}</p><ol>{steps}</ol><p>Mistakes:</p><ul>{mistakes}</ul>"


def answer_of(question: "Question", variant: "Variant", answer: Any) -> str:
    """An answer as a reader writes it."""
    match question.kind:
        case "order":
            return f"<pre>{escape(answer)}</pre>"
        case "number" | "row":
            return ", ".join(map(bank().show, answer))
        case "line":
            return f"<code>{escape(variant.options[answer].strip())}</code>"
    return "abcdefgh"[answer]


def class_marks(
    files: Annotated[list[Path], typer.Argument(help="files that students have saved")],
    out: Annotated[Path, typer.Option(help="the table to write")] = Path("questions.csv"),
) -> None:
    """Count by aim how many students of a class made each mistake in the pages' questions."""
    counts: Counter = Counter()
    for path in files:
        counts.update({*mistakes_in(path)})
    with out.open("w", newline="", encoding="utf-8-sig") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for question in bank().all_questions():
            for index, sentence in enumerate(question.says):
                if students := counts[question.id, index]:
                    table.writerow(
                        [question.chapter, question.aim, question.id, sentence, students]
                    )
    typer.echo(f"written: {out}, from {len(files)} files")


def mistakes_in(path: Path) -> Iterator[tuple[str, int]]:
    """The mistakes that a student's file of marks has; those of an older course are left out."""
    try:
        marks = json.loads(path.read_text("utf-8"))
        if marks["course"] != COURSE:
            raise ValueError(f"it is of {marks['course']!r}")
        mistakes = {id: [*map(int, indices)] for id, indices in marks.get("mistakes", {}).items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        refuse(f"{path} holds no marks of this course: {error}")
    for id, indices in mistakes.items():
        chapter, _, name = id.partition(".")
        if chapter in bank().chapters() and name in bank().questions(chapter):
            yield from ((id, index) for index in indices)
