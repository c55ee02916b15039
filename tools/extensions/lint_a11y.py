"""What a reader who does not see a page would miss is a warning, and so fails the build."""

from collections import Counter

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.util.logging import getLogger

logger = getLogger(__name__)
# where one of these says what is in it, or hides it, what is drawn inside needs no name
NAMED = (
    "[role=img][aria-label], [role=img][aria-labelledby], img[alt]:not([alt='']), "
    "[aria-hidden=true]"
)


def unnamed(html: str) -> list[str]:
    """The pictures of a piece of HTML that have no name; of one inside another, the outer."""
    soup = BeautifulSoup(html, "html.parser")
    found = [one for one in soup.select("img, svg, [role=img]") if not one.css.closest(NAMED)]
    outer = [one for one in found if not any(other in one.parents for other in found)]
    return [
        f"<img src={one.get('src', '')[:40]!r}>" if one.name == "img" else f"<{one.name}>"
        for one in outer
    ]


def box_names(html: str) -> list[str]:
    """What each folded box is called."""
    return [" ".join(one.text.split()) for one in BeautifulSoup(html, "html.parser")("summary")]


def line_of(node: nodes.Node) -> nodes.Node:
    """The node itself or the closest one around it of which the line is known."""
    while not node.line and node.parent is not None:
        node = node.parent
    return node


def find_unnamed(app, doctree, docname):
    """Warn of each picture without words that stand for it, static or made by a cell."""
    for node in doctree.findall(nodes.image):
        if not node.get("alt", "").strip():
            logger.warning("the image %s has no alt text", node["uri"], location=line_of(node))
    for node in doctree.findall(nodes.raw):
        for picture in unnamed(node.astext()) if "html" in node.get("format", "") else []:
            advice = "%s has no name: give it alt, or role=img with aria-label"
            logger.warning(advice, picture, location=line_of(node))


def find_twins(app, pagename, templatename, context, doctree):
    """Warn of folded boxes that have the same name: heard alone, it does not say what is in one."""
    names = box_names(context["body"]) if doctree is not None else []
    for name, count in Counter(names).items():
        if count > 1 or not name:
            logger.warning("%d folded boxes are called %r", count, name, location=pagename)


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", find_unnamed)
    # after the fixes
    app.connect("html-page-context", find_twins, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
