"""What a reader who does not see a page would miss is a warning, and so fails the build."""

from collections import Counter
from html.parser import HTMLParser

from docutils import nodes
from sphinx.util.logging import getLogger

logger = getLogger(__name__)

VOID = {"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Unnamed(HTMLParser):
    """Finds the pictures without a name in a piece of HTML, and the names of its folded boxes."""

    def __init__(self, html: str):
        super().__init__()
        self.pictures: list[str] = []
        self.boxes: list[str] = []
        # the open elements, each with whether it says what is in it
        self.open: list[tuple[str, bool]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        named = bool(given.get("aria-label") or given.get("aria-labelledby"))
        spoken = given.get("aria-hidden") == "true" or (given.get("role") == "img" and named)
        covered = any(says for _, says in self.open)
        if tag == "img" and not (given.get("alt") or spoken or covered):
            self.pictures.append(f"<img src={(given.get('src') or '')[:40]!r}>")
        if not covered and not spoken and (tag == "svg" or given.get("role") == "img"):
            self.pictures.append(f"<{tag}>")
        if tag == "summary":
            self.boxes.append("")
        if tag not in VOID:
            # what is drawn inside a picture that was named already, or reported, is part of it
            self.open.append((tag, spoken or tag == "svg"))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if any(tag == "summary" for tag, _ in self.open):
            self.boxes[-1] += data


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
        if "html" in node.get("format", ""):
            for picture in Unnamed(node.astext()).pictures:
                logger.warning(
                    "%s has no name: give it alt, or role=img with aria-label",
                    picture,
                    location=line_of(node),
                )


def find_twins(app, pagename, templatename, context, doctree):
    """Warn of folded boxes that have the same name: heard alone, it does not say what is in one."""
    if doctree is None:
        return
    names = Counter(" ".join(name.split()) for name in Unnamed(context["body"]).boxes)
    for name, count in names.items():
        if count > 1 or not name:
            logger.warning("%d folded boxes are called %r", count, name, location=pagename)


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", find_unnamed)
    # after the mends
    app.connect("html-page-context", find_twins, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
