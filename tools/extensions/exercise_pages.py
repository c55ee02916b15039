"""The page of a chapter's exercises: the tasks of the notebook, with folded hints and solutions.

`exercises/<slug>.md` is written here and includes the texts, so that an error names the file and
line that people edit. No cell of it is run.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from judge.course import FIRST
from judge.exercise_text import with_first_line
from tools.book import FOLDERS
from tools.exercise_texts import chapters, text_files, visible_text
from tools.notebooks import GROUP_SENTENCES, card_facts, group_sentence
from tools.urls import colab_url

from .details import fold
from .editors import edited, runs_in_page

PAGES = "exercises/"
# what the heading of a group was called before: people have kept links to it
OLD_ANCHORS = {FIRST: ["these-carry-the-chapter"]}
HINT_NAMES = ("the idea", "the shape of the solution", "almost the code")
SOLVED_BUTTON = (
    '<p class="learner"><button type="button" aria-pressed="false" data-solved="{name}">'
    "I have solved <code>{name}</code></button></p>\n"
)
# an apostrophe in the prose of a hint, not a quote or prime in its code
HINT_APOSTROPHE = re.compile(r"(?<=[a-z])'(?=[a-z])|(?<=s)'(?= [a-z])")


class exercise_box(nodes.admonition):
    """The box of an exercise: its number and name, its facts, and the task."""


class exercise_group(nodes.section):
    """The heading and introduction of a group of exercises, parsed with the first of them."""


class ExerciseCell(SphinxDirective):
    """A code cell that is not run; one tagged `answer` becomes box, stub, hints and solution."""

    has_content = True
    # the language, and the name of the exercise
    optional_arguments = 2
    option_spec = {"tags": str}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """The code block, and the parts of the exercise around it."""
        if not self.env.docname.startswith(PAGES):
            raise self.error("this cell is not run: it is inside of something, or in no notebook")
        source, tags = "\n".join(self.content), self.options.get("tags", "")
        if "answer" not in tags and "stub" not in tags:
            return [code_block(source)]
        exercise = self.exercise(self.arguments[1])
        source = with_first_line(exercise.name, source)
        exercises = self.env.metadata[self.env.docname].setdefault("exercises", {})
        started = exercise.name in exercises
        exercises[exercise.name] = {"minutes": exercise.minutes, "points": exercise.points}
        content = [] if started else [*self.group_opening(exercise), self.box(exercise)]
        if "stub" in tags:
            return [*content, *self.start(exercise, source)]
        if exercise.kind == "debug" and not started:
            raise self.error(
                f"{exercise.name} is to be fixed: a cell tagged stub, with its code, is missing"
            )
        if not started:
            try:
                content += self.start(exercise, exercise.task.start)
            except (SyntaxError, ValueError) as error:
                raise self.error(f"this answer makes no stub: {error}") from error
        # the search index leaves out hints and solutions
        hints = (
            fold(f"Hint {level} for {exercise.name}: {name}", hint_paragraph(hint), unsought=True)
            for level, (name, hint) in enumerate(
                zip(HINT_NAMES, exercise.hints, strict=True), start=1
            )
        )
        solution = fold(f"Worked solution of {exercise.name}", code_block(source), unsought=True)
        button = nodes.raw("", SOLVED_BUTTON.format(name=exercise.name), format="html")
        return [*content, *hints, solution, button]

    def start(self, exercise, source: str) -> list[nodes.Node]:
        """What an answer starts from: in an editor, where the page can check it."""
        if runs_in_page(exercise):
            return [edited(exercise, source)]
        link = nodes.reference("", "in Colab", refuri=colab_url(f"{self.env.docname}.ipynb"))
        words = nodes.Text("This exercise can be checked only in its notebook: open it "), link
        return [code_block(source), nodes.paragraph("", "", *words, nodes.Text("."))]

    def exercise(self, name: str):
        """The exercise of a name in the chapter of the page."""
        # imported here: the checks need torch, and most builds read no exercise page
        from attncourse.course import exercises

        return exercises(self.env.docname.removeprefix(PAGES))[name]

    def group_opening(self, exercise) -> Iterator[exercise_group]:
        """Heading and introduction of a group, if the exercise is the first in it."""
        from attncourse.course import groups

        for name, members in groups(exercise.chapter).items():
            if name in GROUP_SENTENCES and members[0] is exercise:
                title, label = nodes.title("", name), nodes.make_id(name)
                ids = [label, *OLD_ANCHORS.get(name, [])]
                opening = exercise_group("", title, ids=ids, names=[label])
                words = StringList(group_sentence(name, members).splitlines())
                self.state.nested_parse(words, self.content_offset, opening)
                yield opening

    def box(self, exercise) -> exercise_box:
        """The box of an exercise; its number and task are added when all pages have been read."""
        title = nodes.title(
            "", "", nodes.Text(" ("), nodes.literal("", exercise.name), nodes.Text(")")
        )
        facts = nodes.paragraph("", " · ".join(card_facts(exercise)), classes=["exercise-card"])
        box = exercise_box("", title, facts, ids=[exercise.name], classes=["exercise"])
        self.set_source_info(box)
        return box


def hint_paragraph(text: str) -> nodes.paragraph:
    """A paragraph with inline code in backticks; three dots stay three dots."""
    parts = [
        nodes.literal("", part) if i % 2 else nodes.Text(HINT_APOSTROPHE.sub("’", part))
        for i, part in enumerate(text.split("`"))
    ]
    return nodes.paragraph("", "", *parts, support_smartquotes=False)


def code_block(source: str) -> nodes.literal_block:
    return nodes.literal_block(source, source, language="python")


def write_pages(app, config):
    """Write `exercises/<slug>.md` for each chapter: the includes of its texts."""
    root = Path(app.srcdir)
    for chapter in chapters(root):
        places = (path.relative_to(root).as_posix() for path in text_files(root, chapter))
        text = "\n".join(f"```{{include}} ../{place}\n```" for place in places) + "\n"
        page = root / PAGES / f"{chapter}.md"
        page.parent.mkdir(exist_ok=True)
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")


def filter_include(app, path, parent, text):
    """Reduce an included text of an exercise to its visible part."""
    if path.parent.name == "exercises":
        # MyST counts from 2 what it includes
        text[0] = visible_text(path, text[0]).removeprefix("\n")


def fill_boxes(app, doctree):
    """Move each task into its box, and each group's opening before the first exercise.

    Also set the topic of the page, as its title says it, and its description.
    """
    if not app.env.docname.startswith(PAGES):
        return
    for opening in list(doctree.findall(exercise_group)):
        section = opening.parent
        section.remove(opening)
        section.parent.insert(section.parent.index(section), opening)
    boxes = list(doctree.findall(exercise_box))
    for box in boxes:
        section = box.parent
        task = section[1 : section.index(box)]
        box.extend(task)
        del section[1 : section.index(box)]
    metadata = app.env.metadata[app.env.docname]
    topic = metadata["topic"] = doctree.next_node(nodes.title).astext().partition(": ")[2]
    metadata["description"] = (
        f"{len(boxes)} exercises in code on {topic}, each with hints and a worked solution, folded "
        "away until you want them."
    )


def number_boxes(app, doctree, docname):
    """Write the number of each exercise into the title of its box."""
    chapter = app.env.toc_secnumbers.get(docname.replace(PAGES, "chapters/"), {}).get("", ())
    for index, box in enumerate(doctree.findall(exercise_box), start=1):
        number = ".".join(map(str, (*chapter, index)))
        box[0].insert(0, nodes.Text(f"Exercise {number}"))


def point_buttons_to_sources(app, pagename, templatename, context, doctree):
    """Point the launch button to the Colab notebook, and the edit button to the exercise texts."""
    if pagename.partition("/")[0] not in (*FOLDERS, "exercises"):
        return
    notebook = {
        "type": "link",
        "url": colab_url(f"{pagename}.ipynb"),
        "tooltip": "Launch on Colab",
        "icon": "fas fa-rocket",
        "label": "launch-button",
    }
    context["header_buttons"].insert(0, notebook)
    for buttons in context["header_buttons"]:
        for button in buttons.get("buttons", []):
            if button.get("label") == "source-edit-button":
                page = re.compile(rf"/{PAGES}(\w+)\.md$")
                button["url"] = page.sub(r"/attncourse/course/\1/exercises/index.md", button["url"])


def setup(app):
    # a page that is a notebook has no such directive: its cells are run
    app.add_directive("code-cell", ExerciseCell, override=True)
    app.connect("config-inited", write_pages)
    app.connect("include-read", filter_include)
    # before Sphinx lists the headings of the page
    app.connect("doctree-read", fill_boxes, priority=400)
    app.connect("doctree-resolved", number_boxes)
    # after the theme has made its buttons
    app.connect("html-page-context", point_buttons_to_sources, priority=502)
