"""The head of a chapter and of its exercises: how long they take, and how to run them.

It stands below the box of the class `admonition-in-this-chapter`, or else below the title. The
front page lists the chapters with the same facts.
"""

import re
from functools import partial

from docutils import nodes
from docutils.utils import new_document
from sphinx.util.docutils import SphinxDirective

from attncourse.course.aims import AIMS
from drawings import cards
from tools.questions import quoted
from tools.urls import colab_url, repository_url

from .claims import shown as shown_claims
from .questions import page_of

# as readers who followed every step have told us; a word may be a formula in a sentence
WORDS_A_MINUTE, LINES_A_MINUTE = 90, 8
# a formula on a line of its own, a figure, the box of a claim
MINUTES_A_DISPLAY = 1
# a role, for what it shows
ROLE = re.compile(r"\{[\w:]+\}`([^`<]*?)(?: <[^`]*>)?`")


def shown_by(role: re.Match) -> str:
    """The words of a role; a citation has none."""
    return "" if role[0].startswith("{cite") else role[1]


class OfChapters(SphinxDirective):
    """Shows the chapters in the template of the directive's name, when all have been read."""

    def run(self) -> list[nodes.Node]:
        """The place of what is shown."""
        return [nodes.pending(None, {"template": f"{self.name}.html"})]


def reading_minutes(doctree: nodes.document) -> float:
    """How long a page takes to read: its prose, its code, and what is displayed."""
    outputs = [one for one in doctree.findall(nodes.container) if "cell_output" in one["classes"]]
    shown = {one for output in outputs for one in output.findall(nodes.Element)}

    def read(kind: type) -> list:
        return [one for one in doctree.findall(kind) if one not in shown]

    words = sum(len(one.astext().split()) for one in read(nodes.paragraph))
    lines = sum(len(one.astext().split("\n")) for one in read(nodes.literal_block))
    displays = read(nodes.math_block) + read(nodes.figure) + list(shown_claims(doctree, "claim"))
    return words / WORDS_A_MINUTE + lines / LINES_A_MINUTE + len(displays) * MINUTES_A_DISPLAY


def last_of_the_path(page: nodes.Element) -> nodes.section | None:
    """The section that ends with the paragraph on what goes deeper; what follows can wait."""
    for part in page.children:
        if isinstance(part, nodes.section):
            last = ([""] + [one.astext() for one in part.findall(nodes.paragraph)])[-1]
            if last.startswith(("You now know", "You can now")) and "goes deeper" in last:
                return part
    return None


def path_of(doctree: nodes.document) -> dict | None:
    """The section with which a page's path ends, its minutes, and the questions on it."""
    page = next(doctree.findall(nodes.title)).parent
    last = last_of_the_path(page)
    if last is None:
        return None
    path = new_document("path")
    path.children = page.children[: page.index(last) + 1]
    return {
        "title": next(last.findall(nodes.title)).astext(),
        "anchor": last["ids"][0],
        "minutes": reading_minutes(path),
        "questions": questions_of(path),
    }


def questions_of(doctree: nodes.document) -> list[str]:
    """The names of the questions that a page asks, in their order."""
    return [one["question"] for one in doctree.findall(nodes.raw) if "question" in one]


def clock(minutes: float) -> str:
    """About how long that is, to five minutes, as people say it."""
    hours, rest = divmod(5 * max(1, round(minutes / 5)), 60)
    if not hours:
        return f"{rest} minutes"
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def facts(app, slug: str, page: str) -> dict:
    """What is known of a chapter and its exercises, with links from that page."""
    exercises = app.env.metadata.get(f"exercises/{slug}", {}).get("exercises", {})
    doctree, link = app.env.get_doctree(f"chapters/{slug}"), app.builder.get_relative_uri
    drawings = (one["drawing"] for one in doctree.findall(nodes.figure) if "drawing" in one)
    return {
        "slug": slug,
        "title": app.env.titles[f"chapters/{slug}"].astext(),
        "about": quoted(app.env.metadata[f"chapters/{slug}"].get("description", "")),
        "drawing": cards.svg(slug) or next(drawings, ""),
        "link": link(page, f"chapters/{slug}"),
        "chapter_colab": colab_url(f"chapters/{slug}.ipynb"),
        "minutes": reading_minutes(doctree),
        "path": path_of(doctree),
        "questions": questions_of(doctree),
        "exercises": exercises,
        "exercises_link": link(page, f"exercises/{slug}"),
        "exercises_minutes": sum(one["minutes"] for one in exercises.values()),
    }


def rendered(app, template: str, **values) -> nodes.raw:
    """A template of ours, filled in; nothing where no site is made."""
    if app.builder.format != "html":
        return nodes.raw()
    html = app.builder.templates.render(template, {"clock": clock, **values})
    return nodes.raw("", html, format="html")


def add_head(app, doctree, docname):
    """Put the head in its place, and below a chapter the button that says it is read."""
    folder, _, slug = docname.partition("/")
    if folder not in ("chapters", "exercises"):
        return
    head = rendered(
        app,
        "page_head.html",
        **facts(app, slug, docname),
        kind=folder,
        colab=colab_url(f"{docname}.ipynb"),
        repository=repository_url(),
    )
    title = next(doctree.findall(nodes.title))
    page = title.parent
    boxes = (one for one in page.children if "admonition-in-this-chapter" in one.get("classes", []))
    page.insert(page.index(next(boxes, title)) + 1, head)
    if folder == "chapters":
        page.append(rendered(app, "mark_read.html", slug=slug))


def practice(chapters: list[dict]) -> list[dict]:
    """What is asked of each chapter on a page of its own, and what it does not ask about."""
    asked = []
    for one in chapters:
        page = page_of(one["slug"])
        if page.known:
            names = [name for name, it in page.known.items() if it["placement"]]
            aims = {page.known[name]["aim"] for name in names}
            unasked = [
                page.line(ROLE.sub(shown_by, text))
                for aim, text in AIMS[one["slug"]].items()
                if aim not in aims
            ]
            kept = {key: one[key] for key in ("slug", "title", "link")}
            asked.append(kept | {"file": page.file, "placement": names, "unasked": unasked})
    return asked


def show_chapters(app, doctree, docname):
    """Put the chapters in their places, in the order of the table of contents."""
    for place in list(doctree.findall(nodes.pending)):
        pages = app.env.toctree_includes.get(app.config.root_doc, [])
        slugs = [page.removeprefix("chapters/") for page in pages if page.startswith("chapters/")]
        listed = [facts(app, slug, docname) for slug in slugs]
        asked = partial(practice, listed)
        template = place.details["template"]
        place.replace_self(rendered(app, template, chapters=listed, practice=asked))


def setup(app):
    for name in ("course-start", "course-chapters", "once-more", "where-to-begin"):
        app.add_directive(name, OfChapters)
    app.connect("doctree-resolved", show_chapters)
    app.connect("doctree-resolved", add_head)
