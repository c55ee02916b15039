"""The page of a chapter's exercises: what the learner's notebook asks, hints and answers folded.

`exercises/<slug>` is read from `solutions/<slug>.md`, each line in its place, so that a fault is
named by the file and the line that people edit. No cell of it is run.
"""

import re
from itertools import pairwise
from pathlib import Path

from docutils import nodes
from sphinx.project import Project
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.directive import ExerciseDirective

from attncourse.cells import exercise_of
from tools.blocks import Cell, read_cells
from tools.notebooks import LEVELS
from tools.stubs import stub_of
from tools.urls import colab_url

from .details import fold

PAGES = "exercises/"
logger = logging.getLogger(__name__)
HINTS = ("the idea", "the shape of the solution", "nearly the line")
# more colons than a statement nests
WALL = ":" * 12


class SolutionsProject(Project):
    """Finds the text of an exercise page where it is written, among the solutions."""

    def doc2path(self, docname, absolute):
        """The file of a page."""
        path = Path(super().doc2path(docname, absolute))
        if docname.startswith(PAGES):
            path = path.parents[1] / "solutions" / path.name
        return str(path)


def look_among_solutions(app):
    """Give Sphinx a project that knows where exercise pages are written."""
    project = SolutionsProject(app.srcdir, app.config.source_suffix)
    project.restore(app.project)
    app.project = app.env.project = project


def read_solutions(app, docname, source):
    """Make a solutions notebook into its page."""
    if docname.startswith(PAGES):
        source[0] = page_text(Path(app.env.doc2path(docname)))


def page_text(path: Path) -> str:
    """The text of an exercise page: a statement is boxed, a cell is shown and never run."""
    lines = path.read_text("utf-8").split("\n")
    cells = read_cells(path)
    # without what it opens with, the text is no notebook
    end = lines.index("---", 1) if lines[0] == "---" else -1
    lines[: end + 1] = [""] * (end + 1)
    for before, cell in pairwise(cells):
        if cell.kind == "code" and before.kind == "markdown" and {"answer", "stub"} & {*cell.tags}:
            box(lines, before, cell, path)
    return "\n".join(re.sub(r"^(`{3,})\{code-cell\}", r"\1{exercise-cell}", one) for one in lines)


def box(lines: list[str], text: Cell, cell: Cell, path: Path) -> None:
    """Put what stands between the last heading and the cell into the box of its exercise."""
    headings = [block.line for block in text.blocks if block.kind == "heading"]
    if not headings:
        raise ValueError(f"{path}:{cell.line}: no heading above the exercise")
    first = headings[-1]
    last = max(at for at in range(cell.line) if lines[at].startswith("```{code-cell}")) - 1
    for at in (first, last):
        if lines[at].strip():
            raise ValueError(f"{path}:{at + 1}: this line, beside a statement, is not empty")
    lines[first] = f"{WALL}{{exercise-statement}} {exercise_of(cell.source)}"
    lines[last] = WALL


class Course(SphinxDirective):
    """What both directives of an exercise page know."""

    def card(self, name: str | None):
        """The exercise of that name, from the page's chapter."""
        # imported here: the checks need torch, and most builds read no exercise page
        from attncourse.checks import exercises

        known = exercises(self.env.docname.removeprefix(PAGES))
        if name not in known:
            raise self.error(f"exercise {name} is not one of {', '.join(known)}")
        return known[name]


class Statement(Course, ExerciseDirective):
    """A numbered exercise: its card, then what it asks."""

    # how sphinx-exercise calls the class of the box
    name = "exercise"
    required_arguments, optional_arguments = 1, 0

    def run(self) -> list[nodes.Node]:
        """The box."""
        card = self.card(self.arguments[0])
        self.name = Statement.name
        self.options["label"] = card.name
        self.arguments[0] = f"`{card.name}`"
        boxes = super().run()
        for one in boxes:
            # sphinx-exercise makes a section of it, with the same id in every exercise
            opening = nodes.paragraph("", said(card), classes=["exercise-card"])
            one[1:] = [opening, *one[1].children]
        return boxes


class ExerciseCell(Course):
    """A code cell, shown; that of an answer as stub, hints and worked solution."""

    has_content = True
    optional_arguments = 1
    option_spec = {"tags": str}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """The code, and for an answer what is folded below it."""
        source, tags = "\n".join(self.content), self.options.get("tags", "")
        name = exercise_of(source)
        given = self.env.temp_data.setdefault("given_stubs", set())
        if "stub" in tags:
            given.add(name)
        if "answer" not in tags:
            return [code(source)]
        card = self.card(name)
        if card.kind == "debug" and name not in given:
            raise self.error(
                f"{name} is to be fixed: a cell tagged stub, with its code, is missing"
            )
        self.env.metadata[self.env.docname].setdefault("exercises", []).append(
            {"name": card.name, "minutes": card.minutes, "points": card.points}
        )
        hints = [
            fold(f"Hint {level} for {name}: {about}", plain(hint))
            for level, (about, hint) in enumerate(zip(HINTS, card.hints, strict=True), start=1)
        ]
        return [
            *([] if name in given else [code(self.stub(source))]),
            *hints,
            fold(f"Worked solution of {name}", code(source)),
            nodes.raw("", SOLVED.format(name=name), format="html"),
        ]

    def stub(self, source: str) -> str:
        """What a learner starts from."""
        try:
            return stub_of(source)
        except (SyntaxError, ValueError) as error:
            raise self.error(f"this answer makes no stub: {error}") from error


SOLVED = (
    '<p class="learner"><button type="button" aria-pressed="false" data-solved="{name}">'
    "I have solved <code>{name}</code></button></p>\n"
)


def said(card) -> str:
    """An exercise's card, in a line."""
    points = f"{card.points} point{'s' * (card.points != 1)}"
    return (
        f"{card.kind.capitalize()} · {LEVELS[card.difficulty]} · "
        f"about {card.minutes} minutes · {points}"
    )


def plain(text: str) -> nodes.paragraph:
    """A paragraph in which the dots of a slice stay three."""
    return nodes.paragraph("", text, support_smartquotes=False)


def code(source: str) -> nodes.literal_block:
    return nodes.literal_block(source, source, language="python")


def describe(app, doctree):
    """Say in the page's description what the exercises are about, and what comes with them."""
    metadata = app.env.metadata[app.env.docname]
    if app.env.docname.startswith(PAGES):
        from attncourse.checks import exercises

        there = [one["name"] for one in metadata.get("exercises", [])]
        for name in exercises(app.env.docname.removeprefix(PAGES)):
            if name not in there:
                logger.warning(
                    "exercise %s has a check, and no answer here", name, location=doctree
                )
        about = doctree.next_node(nodes.title).astext().partition(": ")[2]
        metadata["description"] = (
            f"{len(metadata.get('exercises', []))} exercises in code on {about}, each with hints "
            "and a worked solution, folded away until you want them."
        )


def take_numbers(app, env):
    """Leave the sections of an exercise page unnumbered: by now its exercises have theirs."""
    for page in env.found_docs:
        if page.startswith(PAGES):
            env.toc_secnumbers.pop(page, None)
            for numbered in (env.titles[page], *env.tocs[page].findall(nodes.reference)):
                numbered.attributes.pop("secnumber", None)


def point_to_sources(app, pagename, templatename, context, doctree):
    """Lead the edit button to the solutions, and the launch button to the learner's notebook."""
    if not pagename.startswith(PAGES):
        return
    slug = pagename.removeprefix(PAGES)
    for group in context["header_buttons"]:
        for button in group.get("buttons", []):
            if button.get("label") == "source-edit-button":
                button["url"] = button["url"].replace(f"/{PAGES}{slug}.", f"/solutions/{slug}.")
    colab = {
        "type": "link",
        "text": "Colab",
        "tooltip": "Launch on Colab",
        "icon": "_static/images/logo_colab.png",
        "url": colab_url(f"{pagename}.ipynb"),
    }
    launch = {
        "type": "group",
        "tooltip": "Launch interactive content",
        "icon": "fas fa-rocket",
        "buttons": [colab],
        "label": "launch-buttons",
    }
    context["header_buttons"].insert(0, launch)


def setup(app):
    """Register with Sphinx."""
    app.setup_extension("sphinx_exercise")
    app.add_directive("exercise-statement", Statement)
    app.add_directive("exercise-cell", ExerciseCell)
    app.connect("builder-inited", look_among_solutions)
    app.connect("source-read", read_solutions)
    app.connect("doctree-read", describe)
    app.connect("env-check-consistency", take_numbers)
    # after the theme has made its buttons
    app.connect("html-page-context", point_to_sources, priority=502)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
