"""What the search looks through: each section, term and function of the pages, with its prose.

It is written as a script, because a page that is opened from a folder may read nothing else.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

from tools.plain_formulas import plain

from .formulas import mathml

# code, and what is found by itself
CODE = (nodes.literal_block, nodes.raw, nodes.Invisible)
PARTS = (nodes.section, addnodes.glossary, addnodes.desc)
# by page
written: dict[str, list] = {}


def words(node: nodes.Node) -> str:
    """The words of a node, with the formulas of its sentences as text."""
    if isinstance(node, (*CODE, *PARTS)) or "unsought" in getattr(node, "attributes", ()):
        return ""
    if isinstance(node, nodes.math_block):
        return "…"
    if isinstance(node, nodes.math):
        answer = mathml(node.astext(), display=False)
        return plain(answer["html"]) if "html" in answer else ""
    if isinstance(node, nodes.Text):
        return node.astext()
    return ("" if isinstance(node, nodes.TextElement) else " ").join(map(words, node.children))


def prose(*content: nodes.Node) -> str:
    return " ".join(" ".join(map(words, content)).split())


def parts(doctree: nodes.document) -> Iterator[tuple[str, list[str], str]]:
    """The anchor, the names and the prose of each part of a page, which is found at its top."""
    for section in doctree.findall(nodes.section):
        anchor = "" if section.parent is doctree else section["ids"][0]
        # a heading may stand right above another: what is below that is quoted
        texts = (prose(*one[1:]) for one in section.findall(nodes.section))
        yield anchor, [prose(section[0])], next(filter(None, texts), "")
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            terms = list(item.findall(nodes.term))
            text = prose(item.next_node(nodes.definition))
            yield terms[0]["ids"][0], [prose(term) for term in terms], text
    for entry in doctree.findall(addnodes.desc):
        signature = entry.next_node(addnodes.desc_signature)
        yield signature["ids"][0], [signature["fullname"]], prose(*entry[1:])


def look(app, doctree, page):
    """Take down the parts of a page."""
    written[page] = list(parts(doctree))


def write(app, exception):
    """Write the script."""
    text = json.dumps(dict(sorted(written.items())), ensure_ascii=False)
    Path(app.outdir, "sections.js").write_text(f"showFound({text})", "utf-8")


def setup(app):
    # Sphinx's own search stays out
    app.connect("builder-inited", lambda app: setattr(app.builder, "search", False))
    app.connect("html-collect-pages", lambda app: [("search", {}, "search.html")])
    # before links to what teaches are added
    app.connect("doctree-resolved", look, priority=400)
    app.connect("build-finished", write)
