"""The search index: each section, term and function of the pages, with its prose.

It is a script, because a page that is opened as a local file can load nothing else.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

from tools.plain_formulas import formula_text

from .formulas import mathml

# nodes that are not searched, and those that are entries of their own
CODE = (nodes.literal_block, nodes.raw, nodes.Invisible)
PARTS = (nodes.section, addnodes.glossary, addnodes.desc)
parts_by_page: dict[str, list] = {}


def node_text(node: nodes.Node) -> str:
    """The prose of a node as text, with its inline formulas; empty for code and other entries."""
    if isinstance(node, (*CODE, *PARTS)) or "unsought" in getattr(node, "attributes", ()):
        return ""
    if isinstance(node, nodes.math_block):
        return "…"
    if isinstance(node, nodes.math):
        answer = mathml(node.astext(), display=False)
        return formula_text(answer["html"]) if "html" in answer else ""
    if isinstance(node, nodes.Text):
        return node.astext()
    return ("" if isinstance(node, nodes.TextElement) else " ").join(map(node_text, node.children))


def prose(*content: nodes.Node) -> str:
    """The prose of nodes, with single spaces."""
    return " ".join(" ".join(map(node_text, content)).split())


def page_parts(doctree: nodes.document) -> Iterator[tuple[str, list[str], str]]:
    """Anchor (empty for the page itself), names and prose of each section, term and function."""
    for section in doctree.findall(nodes.section):
        anchor = "" if section.parent is doctree else section["ids"][0]
        # a heading right above another takes the prose below that
        texts = (prose(*element[1:]) for element in section.findall(nodes.section))
        yield anchor, [prose(section[0])], next(filter(None, texts), "")
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            terms = list(item.findall(nodes.term))
            text = prose(item.next_node(nodes.definition))
            yield terms[0]["ids"][0], [prose(term) for term in terms], text
    for entry in doctree.findall(addnodes.desc):
        signature = entry.next_node(addnodes.desc_signature)
        yield signature["ids"][0], [signature["fullname"]], prose(*entry[1:])


def collect_parts(app, doctree, page):
    """Store the parts of a page."""
    parts_by_page[page] = list(page_parts(doctree))


def write_index(app, exception):
    """Write the index as the script sections.js."""
    text = json.dumps(dict(sorted(parts_by_page.items())), ensure_ascii=False)
    Path(app.outdir, "sections.js").write_text(f"showFound({text})", "utf-8")


def setup(app):
    # Sphinx's own search stays out
    app.connect("builder-inited", lambda app: setattr(app.builder, "search", False))
    app.connect("html-collect-pages", lambda app: [("search", {}, "search.html")])
    # before backlinks are added
    app.connect("doctree-resolved", collect_parts, priority=400)
    app.connect("build-finished", write_index)
