"""The head of a chapter, of what goes deeper and of its exercises: times, and how to run it.

It stands below the box of the class `admonition-in-this-chapter`, or else below the title. The
front page lists the chapters with the same facts.
"""

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from attncourse.course.aims import AIMS
from attncourse.course.claim import CLAIM_BOX
from drawings import cards
from tools.book import FOLDERS
from tools.colab import last_run
from tools.numbers import UNNUMBERED
from tools.questions import curl_quotes
from tools.urls import colab_url, kaggle_url, molab_url, repository_url

from .details import folded
from .editors import python_megabytes
from .questions import page_of

# of what a page shows before anything on it is opened; a question says its own minutes
WORDS_A_MINUTE, MINUTES_A_FIGURE = 190, 2.5
# a still figure counts where it has a caption
SECONDS_A_CELL, SECONDS_A_LINE, SECONDS_AN_EQUATION, SECONDS_A_STILL_FIGURE = 25, 3, 45, 45
LIVE_FIGURE = '<div class="attncourse-figure"'
# the box of a claim or of a question
BOX_ID = re.compile(rf'(?:{CLAIM_BOX}|<div class="question") id="([^"]+)"')
# a MyST role; the group is its visible text
ROLE = re.compile(r"\{[\w:]+\}`([^`<]*?)(?: <[^`]*>)?`")


def role_text(role: re.Match) -> str:
    """The visible text of a role; none for a citation."""
    return "" if role[0].startswith("{cite") else role[1]


class ChaptersDirective(SphinxDirective):
    """A directive that renders the template of its name with the facts of all chapters."""

    def run(self) -> list[nodes.Node]:
        """A placeholder, which `show_chapters` replaces when all pages have been read."""
        return [nodes.pending(None, {"template": f"{self.name}.html"})]


def is_skipped(node: nodes.Node) -> bool:
    """Whether a reader skips a part of a page: an output, or what is folded."""
    classes = node["classes"] if isinstance(node, nodes.container) else []
    hidden = "cell_input" in classes and node.parent.get("hide_mode") == "input"
    return isinstance(node, folded) or "cell_output" in classes or hidden


def claim_statements(part: nodes.Element) -> Iterator[nodes.paragraph]:
    """What the claims of a part of a page say, each in the output of a cell."""
    for block in part.findall(nodes.raw):
        if block.astext().startswith(CLAIM_BOX):
            yield from islice(block.findall(nodes.paragraph, descend=False, siblings=True), 1)


def live_figures(part: nodes.Element) -> int:
    """How many figures to move a part of a page has."""
    return sum(LIVE_FIGURE in block.astext() for block in part.findall(nodes.raw))


def reading_minutes(part: nodes.Element) -> float:
    """Estimated minutes for a page or a section.

    Counted are its prose and its claims, its code, which takes longer from nine lines on, its
    displayed equations, its figures, of which live ones take longer, and its questions.
    """
    skipped = {node for box in part.findall(is_skipped) for node in box.findall(nodes.Element)}

    def read(kind: type) -> list:
        return [node for node in part.findall(kind) if node not in skipped]

    prose = [*read(nodes.paragraph), *claim_statements(part)]
    words = sum(len(node.astext().split()) for node in prose)
    lines = [len(node.astext().splitlines()) for node in read(nodes.literal_block)]
    code = sum(max(SECONDS_A_CELL, SECONDS_A_LINE * count) for count in lines)
    equations = SECONDS_AN_EQUATION * len(read(nodes.math_block))
    still = SECONDS_A_STILL_FIGURE * sum(
        not live_figures(box) for box in part.findall(nodes.figure)
    )
    questions = sum(block.get("minutes", 0) for block in part.findall(nodes.raw))
    seconds = code + equations + still
    return words / WORDS_A_MINUTE + seconds / 60 + live_figures(part) * MINUTES_A_FIGURE + questions


def question_names(doctree: nodes.document) -> list[str]:
    """The names of the questions on a page, in order."""
    return [node["question"] for node in doctree.findall(nodes.raw) if "question" in node]


def anchors_in(part: nodes.Element) -> list[str]:
    """The ids that a reader may have kept of a part of a page: of its sections, boxes and so on."""
    ids = [name for element in part.findall(nodes.Element) for name in element.get("ids", [])]
    boxes = (BOX_ID.findall(block.astext()) for block in part.findall(nodes.raw))
    # those with a number alone are docutils' own
    return [name for name in [*ids, *chain(*boxes)] if not re.fullmatch(r"id\d+", name)]


def duration(minutes: float) -> str:
    """A duration in words, rounded to five minutes, such as 1 h 20 min."""
    hours, minutes_left = divmod(5 * max(1, round(minutes / 5)), 60)
    if not hours:
        return f"{minutes_left} minutes"
    return f"{hours} h {minutes_left} min" if minutes_left else f"{hours} h"


def chapter_facts(app, slug: str, page: str) -> dict:
    """Title, times, questions and exercises of a chapter, with links relative to `page`."""
    metadata = app.env.metadata.get(f"exercises/{slug}", {})
    exercises = metadata.get("exercises", {})
    deeper = f"deeper/{slug}" in app.env.found_docs
    doctree, link = app.env.get_doctree(f"chapters/{slug}"), app.builder.get_relative_uri
    drawings = (
        element["drawing"] for element in doctree.findall(nodes.figure) if "drawing" in element
    )
    return {
        "slug": slug,
        "title": app.env.titles[f"chapters/{slug}"].astext(),
        "about": curl_quotes(app.env.metadata[f"chapters/{slug}"].get("description", "")),
        "drawing": cards.svg(slug) or next(drawings, ""),
        "link": link(page, f"chapters/{slug}"),
        "chapter_colab": colab_url(f"chapters/{slug}.ipynb"),
        "minutes": reading_minutes(doctree),
        "questions": question_names(doctree),
        "deeper": deeper_facts(app, slug, page) if deeper else None,
        "exercises": exercises,
        "exercises_topic": metadata.get("topic", ""),
        "exercises_link": link(page, f"exercises/{slug}"),
        "exercises_minutes": sum(exercise["minutes"] for exercise in exercises.values()),
    }


def deeper_facts(app, slug: str, page: str) -> dict:
    """Time, questions and sections of what goes deeper than a chapter, with relative links."""
    name = f"deeper/{slug}"
    doctree, link = app.env.get_doctree(name), app.builder.get_relative_uri(page, name)
    numbers, title = app.env.toc_secnumbers.get(name, {}), next(doctree.findall(nodes.title))
    sections = [
        {
            "number": ".".join(map(str, numbers.get(f"#{section['ids'][0]}", ()))),
            "title": section.next_node(nodes.title).astext(),
            "link": f"{link}#{section['ids'][0]}",
            "minutes": reading_minutes(section),
            "anchors": anchors_in(section),
        }
        for section in title.parent.children
        if isinstance(section, nodes.section)
        and section.next_node(nodes.title).astext() not in UNNUMBERED
    ]
    return {
        "link": link,
        "minutes": reading_minutes(doctree),
        "questions": question_names(doctree),
        "sections": sections,
    }


def render_template(app, template: str, **values) -> nodes.raw:
    """Render a template of the theme; an empty node in builds other than HTML."""
    if app.builder.format != "html":
        return nodes.raw()
    html = app.builder.templates.render(template, {"duration": duration, **values})
    return nodes.raw("", html, format="html")


def insert_page_header(app, doctree, docname):
    """Insert the head."""
    folder, _, slug = docname.partition("/")
    if folder not in (*FOLDERS, "exercises"):
        return
    header = render_template(
        app,
        "page_head.html",
        **chapter_facts(app, slug, docname),
        kind=folder,
        colab=colab_url(f"{docname}.ipynb"),
        colab_run=last_run(app.srcdir),
        kaggle=kaggle_url(f"{docname}.ipynb"),
        molab=molab_url(f"{docname}.ipynb"),
        repository=repository_url(),
        python_megabytes=python_megabytes(),
    )
    title = next(doctree.findall(nodes.title))
    page = title.parent
    boxes = (
        node for node in page.children if "admonition-in-this-chapter" in node.get("classes", [])
    )
    page.insert(page.index(next(boxes, title)) + 1, header)


def practice_questions(chapters: list[dict]) -> list[dict]:
    """By chapter, the questions of the practice pages, and the aims that no placement tests."""
    practice = []
    for chapter in chapters:
        page = page_of(chapter["slug"])
        if page.questions:
            names = [name for name, question in page.questions.items() if question["placement"]]
            aims = {page.questions[name]["aim"] for name in names}
            unasked = [
                page.line(ROLE.sub(role_text, text))
                for aim, text in AIMS[chapter["slug"]].items()
                if aim not in aims
            ]
            identity = {key: chapter[key] for key in ("slug", "title", "link")}
            practice.append(identity | {"file": page.file, "placement": names, "unasked": unasked})
    return practice


def chapter_slugs(app) -> list[str]:
    """The chapters, in the order of the table of contents."""
    pages = app.env.toctree_includes.get(app.config.root_doc, [])
    return [page.removeprefix("chapters/") for page in pages if page.startswith("chapters/")]


def show_chapters(app, doctree, docname):
    """Replace the placeholders by the chapters, in the order of the table of contents."""
    for placeholder in list(doctree.findall(nodes.pending)):
        chapters = [chapter_facts(app, slug, docname) for slug in chapter_slugs(app)]
        practice = partial(practice_questions, chapters)
        template = placeholder.details["template"]
        placeholder.replace_self(
            render_template(app, template, chapters=chapters, practice=practice)
        )


def setup(app):
    for name in (
        "course-start", "course-path", "course-chapters", "once-more", "marks", "where-to-begin"
    ):  # fmt: skip
        app.add_directive(name, ChaptersDirective)
    app.connect("doctree-resolved", show_chapters)
    app.connect("doctree-resolved", insert_page_header)
