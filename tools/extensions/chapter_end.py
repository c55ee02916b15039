"""The end of a chapter: a card with what comes next, the exercises, and what goes deeper.

The directive `{chapter-end}` says in a sentence or two why to go on; a page without it has its card
at its end. What goes deeper is listed section by section. Each line holds the anchors that its
section has, so that an address from when the section stood in the chapter leads to the line, and
from there, by a script, to the section.
"""

from itertools import pairwise

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tools.markdown import CHAPTER_END

from .page_head import anchors_in, chapter_facts, chapter_slugs, render_template

CARD = "chapter-end"


class ChapterEnd(SphinxDirective):
    """The directive `{chapter-end}`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The card, which `complete_card` completes when all pages have been read."""
        card = nodes.container("", classes=[CARD], ids=["what-comes-next"])
        self.state.nested_parse(self.content, self.content_offset, card)
        return [card]


def complete_card(app, doctree, docname):
    """Put the ways on from a chapter into its card."""
    folder, _, slug = docname.partition("/")
    if folder != "chapters":
        return
    page = doctree.next_node(nodes.section)
    cards = (node for node in page.findall(nodes.container) if CARD in node["classes"])
    if (card := next(cards, None)) is None:
        card = nodes.container("", classes=[CARD])
        page += card
    facts, own_anchors = chapter_facts(app, slug, docname), {*anchors_in(page)}
    for section in facts["deeper"]["sections"] if facts["deeper"] else ():
        section["anchors"] = [name for name in section["anchors"] if name not in own_anchors]
    following = dict(pairwise(chapter_slugs(app))).get(slug)
    if following:
        name = f"chapters/{following}"
        link = app.builder.get_relative_uri(docname, name)
        facts["next"] = {"title": app.env.titles[name].astext(), "link": link}
    card.insert(0, nodes.paragraph("", "", nodes.strong("", CHAPTER_END)))
    card += render_template(app, "chapter_end.html", **facts)


def setup(app):
    app.add_directive(CARD, ChapterEnd)
    app.connect("doctree-resolved", complete_card)
