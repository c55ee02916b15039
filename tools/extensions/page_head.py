"""The head of a chapter and of its exercises: how long they take, and how to run them.

The front page lists the chapters with the same facts.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tools.urls import colab_url, repository_url

# with the formulas among them; a line of code is read like a sentence
WORDS_A_MINUTE, LINES_A_MINUTE = 100, 20


class chapters(nodes.General, nodes.Element):
    """Stands where the chapters are to be listed, until every page has been read."""


class Chapters(SphinxDirective):
    """Lists the chapters."""

    def run(self) -> list[nodes.Node]:
        """The place of the list."""
        return [chapters()]


def reading_minutes(doctree: nodes.document) -> float:
    """How long a page takes to read: its prose and its code."""
    words = sum(len(one.astext().split()) for one in doctree.findall(nodes.paragraph))
    lines = sum(len(one.astext().splitlines()) for one in doctree.findall(nodes.literal_block))
    return words / WORDS_A_MINUTE + lines / LINES_A_MINUTE


def clock(minutes: float) -> str:
    """About how long that is, to five minutes, as people say it."""
    hours, rest = divmod(5 * max(1, round(minutes / 5)), 60)
    if not hours:
        return f"{rest} minutes"
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def facts(app, slug: str, page: str) -> dict:
    """What is known of a chapter and its exercises, with links from that page."""
    metadata = app.env.metadata
    exercises = metadata.get(f"exercises/{slug}", {}).get("exercises", {})
    link = app.builder.get_relative_uri
    return {
        "slug": slug,
        "title": app.env.titles[f"chapters/{slug}"].astext(),
        "link": link(page, f"chapters/{slug}"),
        "time": clock(reading_minutes(app.env.get_doctree(f"chapters/{slug}"))),
        "names": list(exercises),
        "exercises_link": link(page, f"exercises/{slug}"),
        "exercises_time": clock(sum(one["minutes"] for one in exercises.values())),
        "points": sum(one["points"] for one in exercises.values()),
    }


def rendered(app, template: str, **values) -> nodes.raw:
    """A template of ours, filled in."""
    return nodes.raw("", app.builder.templates.render(template, values), format="html")


def add_head(app, doctree, docname):
    """Put the head below the title, and below a chapter the button that says it is read."""
    folder, _, slug = docname.partition("/")
    if folder not in ("chapters", "exercises"):
        return
    repository, notebook = repository_url(), f"{docname}.ipynb"
    head = rendered(
        app,
        "page_head.html",
        **facts(app, slug, docname),
        kind=folder,
        notebook=notebook,
        colab=colab_url(notebook),
        repository=repository,
        checkout=repository.rpartition("/")[2],
    )
    title = next(doctree.findall(nodes.title))
    page = title.parent
    page.insert(page.index(title) + 1, head)
    if folder == "chapters":
        page.append(rendered(app, "mark_read.html", slug=slug))


def list_chapters(app, doctree, docname):
    """Put the chapters in their place, in the order of the table of contents."""
    for place in list(doctree.findall(chapters)):
        pages = app.env.toctree_includes.get(docname, [])
        slugs = [page.removeprefix("chapters/") for page in pages if page.startswith("chapters/")]
        listed = [facts(app, slug, docname) for slug in slugs]
        place.replace_self(rendered(app, "chapters.html", chapters=listed))


def setup(app):
    """Register with Sphinx."""
    app.add_directive("course-chapters", Chapters)
    app.connect("doctree-resolved", list_chapters)
    app.connect("doctree-resolved", add_head)
