"""The page of a chapter's exercises: what the learner's notebook asks, hints and answers folded.

`exercises/<slug>.md` is written here, and includes the texts, so that a fault is named by the file
and the line that people edit. No cell of it is run.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from tools.exercise_texts import chapters, files, shown
from tools.notebooks import SAID, about_group, card_facts
from tools.urls import colab_url

from .details import fold

PAGES = "exercises/"
HINTS = ("the idea", "the shape of the solution", "nearly the line")
SOLVED = (
    '<p class="learner"><button type="button" aria-pressed="false" data-solved="{name}">'
    "I have solved <code>{name}</code></button></p>\n"
)
# of a hint: its code has quotes and primes of its own
APOSTROPHE = re.compile(r"(?<=[a-z])'(?=[a-z])|(?<=s)'(?= [a-z])")


class exercise(nodes.admonition):
    """The box of an exercise: its number and name, its card, and what it asks."""


class group(nodes.section):
    """What stands before a group of exercises; it is read with the first of them."""


class ExerciseCell(SphinxDirective):
    """A code cell, shown; that of an answer as box, stub, hints and worked solution."""

    has_content = True
    # its language, and the exercise
    optional_arguments = 2
    option_spec = {"tags": str}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """The code, and what an exercise has around it."""
        if not self.env.docname.startswith(PAGES):
            raise self.error("this cell is not run: it is inside of something, or in no notebook")
        source, tags = "\n".join(self.content), self.options.get("tags", "")
        if "answer" not in tags and "stub" not in tags:
            return [code(source)]
        card = self.card(self.arguments[1])
        source = f"# exercise: {card.name}\n{source}"
        known = self.env.metadata[self.env.docname].setdefault("exercises", {})
        begun = card.name in known
        known[card.name] = {"minutes": card.minutes, "points": card.points}
        opening = [] if begun else [*self.group(card), self.box(card)]
        if "stub" in tags:
            return [*opening, code(source)]
        if card.kind == "debug" and not begun:
            raise self.error(
                f"{card.name} is to be fixed: a cell tagged stub, with its code, is missing"
            )
        if not begun:
            try:
                opening.append(code(card.task.start))
            except (SyntaxError, ValueError) as error:
                raise self.error(f"this answer makes no stub: {error}") from error
        # the search quotes neither hints nor solutions
        hints = (
            fold(f"Hint {level} for {card.name}: {about}", plain(hint), unsought=True)
            for level, (about, hint) in enumerate(zip(HINTS, card.hints, strict=True), start=1)
        )
        solution = fold(f"Worked solution of {card.name}", code(source), unsought=True)
        button = nodes.raw("", SOLVED.format(name=card.name), format="html")
        return [*opening, *hints, solution, button]

    def card(self, name: str):
        """The exercise of that name, from the page's chapter."""
        # imported here: the checks need torch, and most builds read no exercise page
        from attncourse.course import exercises

        return exercises(self.env.docname.removeprefix(PAGES))[name]

    def group(self, card) -> Iterator[group]:
        """The heading and the words of the group that an exercise is the first of, if any."""
        from attncourse.course import groups

        for name, members in groups(card.chapter).items():
            if name in SAID and members[0] is card:
                title, label = nodes.title("", name), nodes.make_id(name)
                opening = group("", title, ids=[label], names=[label])
                words = StringList(about_group(name, members).splitlines())
                self.state.nested_parse(words, self.content_offset, opening)
                yield opening

    def box(self, card) -> exercise:
        """The box, which gets its number and its text when all have been read."""
        title = nodes.title("", "", nodes.Text(" ("), nodes.literal("", card.name), nodes.Text(")"))
        said = nodes.paragraph("", " · ".join(card_facts(card)), classes=["exercise-card"])
        box = exercise("", title, said, ids=[card.name], classes=["exercise"])
        self.set_source_info(box)
        return box


def plain(text: str) -> nodes.paragraph:
    """A paragraph with code between backticks, in which the dots of a slice stay three."""
    parts = [
        nodes.literal("", part) if i % 2 else nodes.Text(APOSTROPHE.sub("’", part))
        for i, part in enumerate(text.split("`"))
    ]
    return nodes.paragraph("", "", *parts, support_smartquotes=False)


def code(source: str) -> nodes.literal_block:
    return nodes.literal_block(source, source, language="python")


def write_pages(app, config):
    """Write each page: what it includes."""
    root = Path(app.srcdir)
    for chapter in chapters(root):
        places = (path.relative_to(root).as_posix() for path in files(root, chapter))
        text = "\n".join(f"```{{include}} ../{place}\n```" for place in places) + "\n"
        page = root / PAGES / f"{chapter}.md"
        page.parent.mkdir(exist_ok=True)
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")


def show_text(app, path, parent, text):
    """Of a text, include what is to be seen."""
    if path.parent.name == "exercises":
        # MyST counts from 2 what it includes
        text[0] = shown(path, text[0]).removeprefix("\n")


def fill_boxes(app, doctree):
    """Put what stands between a heading and an answer into its box, and groups before boxes.

    It also describes the page.
    """
    if not app.env.docname.startswith(PAGES):
        return
    for opening in list(doctree.findall(group)):
        first = opening.parent
        first.remove(opening)
        first.parent.insert(first.parent.index(first), opening)
    boxes = list(doctree.findall(exercise))
    for box in boxes:
        around = box.parent
        asked = around[1 : around.index(box)]
        box.extend(asked)
        del around[1 : around.index(box)]
    about = doctree.next_node(nodes.title).astext().partition(": ")[2]
    app.env.metadata[app.env.docname]["description"] = (
        f"{len(boxes)} exercises in code on {about}, each with hints and a worked solution, folded "
        "away until you want them."
    )


def take_numbers(app, env):
    """Leave the sections of an exercise page unnumbered: its exercises have numbers."""
    for page in env.found_docs:
        if page.startswith(PAGES):
            env.toc_secnumbers.pop(page, None)
            for numbered in (env.titles[page], *env.tocs[page].findall(nodes.reference)):
                numbered.attributes.pop("secnumber", None)
    return []


def number_boxes(app, doctree, docname):
    """Number the exercises of a chapter."""
    chapter = app.env.toc_secnumbers.get(docname.replace(PAGES, "chapters/"), {}).get("", ())
    for at, box in enumerate(doctree.findall(exercise), start=1):
        number = ".".join(map(str, (*chapter, at)))
        box[0].insert(0, nodes.Text(f"Exercise {number}"))


def point_to_sources(app, pagename, templatename, context, doctree):
    """Lead the launch button to the learner's notebook, and the edit button to the texts."""
    if not pagename.startswith(("chapters/", PAGES)):
        return
    notebook = {
        "type": "link",
        "url": colab_url(f"{pagename}.ipynb"),
        "tooltip": "Launch on Colab",
        "icon": "fas fa-rocket",
        "label": "launch-button",
    }
    context["header_buttons"].insert(0, notebook)
    for group in context["header_buttons"]:
        for button in group.get("buttons", []):
            if button.get("label") == "source-edit-button":
                page = re.compile(rf"/{PAGES}(\w+)\.md$")
                button["url"] = page.sub(r"/attncourse/course/\1/exercises/index.md", button["url"])


def setup(app):
    # a page that is a notebook has no such directive: its cells are run
    app.add_directive("code-cell", ExerciseCell, override=True)
    app.connect("config-inited", write_pages)
    app.connect("include-read", show_text)
    # before Sphinx lists the headings of the page
    app.connect("doctree-read", fill_boxes, priority=400)
    app.connect("env-check-consistency", take_numbers)
    app.connect("doctree-resolved", number_boxes)
    # after the theme has made its buttons
    app.connect("html-page-context", point_to_sources, priority=502)
