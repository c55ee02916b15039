"""The chapters on the front page, with their minutes and what the reader has done of them."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .page_head import facts, rendered


class chapters(nodes.General, nodes.Element):
    """Stands where the chapters are to be listed, until every page has been read."""


class Chapters(SphinxDirective):
    """Lists the chapters."""

    def run(self) -> list[nodes.Node]:
        """The place of the list."""
        return [chapters()]


def list_chapters(app, doctree, docname):
    """Put the chapters in their place, in the order of the table of contents."""
    for place in list(doctree.findall(chapters)):
        pages = app.env.toctree_includes.get(docname, [])
        slugs = [page.removeprefix("chapters/") for page in pages if page.startswith("chapters/")]
        listed = [facts(app, slug, docname) for slug in slugs]
        place.replace_self(rendered(app, "chapters.html", chapters=listed))


def setup(app):
    """Register with Sphinx."""
    app.add_node(chapters)
    app.add_directive("course-chapters", Chapters)
    app.connect("doctree-resolved", list_chapters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
