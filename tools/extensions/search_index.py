"""What the search looks through: each section, term and function of the pages, with its prose.

It is written as a script, because a page that is opened from a folder may read nothing else.
"""

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

from .details import folded
from .formulas import mathml

CALL = "showFound("
# code, and what is found by itself or not meant to be read
LEFT_OUT = (
    *(nodes.literal_block, nodes.raw, nodes.Invisible, nodes.section),
    *(addnodes.glossary, addnodes.desc),
)
FORMULAS = (nodes.math, nodes.math_block)
# by page, what this build has written
written: dict[str, list] = {}


def parts(doctree: nodes.document) -> Iterator[tuple[nodes.Element, list[nodes.Node], list]]:
    """What a page is found by: what has the anchor, the names, and the content of each part."""
    for section in doctree.findall(nodes.section):
        yield section, section[:1], section[1:]
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            names = list(item.findall(nodes.term))
            yield names[0], names, [item.next_node(nodes.definition)]
    for entry in doctree.findall(addnodes.desc):
        signature = entry.next_node(addnodes.desc_signature)
        yield signature, [nodes.Text(signature["fullname"])], entry[1:]


def prose(node: nodes.Node, page: str) -> str:
    """The words of a node, with formulas as they are drawn; nothing gives away an exercise."""
    hidden = page.startswith("exercises/") and isinstance(node, folded)
    if hidden or isinstance(node, LEFT_OUT) or "unsought" in getattr(node, "attributes", ()):
        return ""
    if isinstance(node, FORMULAS):
        tex, display = node.astext(), isinstance(node, nodes.math_block)
        return unescape(re.sub("<.*?>", "", mathml(tex, display).get("html", tex), flags=re.DOTALL))
    if isinstance(node, nodes.Text):
        return node.astext()
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(prose(one, page) for one in node.children)


def look(app, doctree, page):
    """Take down the parts of a page; its first section is found at its top."""
    written[page] = [
        [
            at["ids"][0] if number else "",
            [prose(name, page) for name in names],
            " ".join(" ".join(prose(one, page) for one in content).split()),
        ]
        for number, (at, names, content) in enumerate(parts(doctree))
    ]


def write(app, exception):
    """Write the script, in which pages that this build has not written stay as they were."""
    path = Path(app.outdir, "sections.js")
    before = path.read_text("utf-8") if path.is_file() else f"{CALL}{{}})"
    pages = json.loads(before[len(CALL) : -1]) | written
    there = {page: pages[page] for page in sorted({*pages} & app.env.found_docs)}
    path.write_text(f"{CALL}{json.dumps(there, ensure_ascii=False)})", "utf-8")


def setup(app):
    """Register with Sphinx, whose own search stays out."""
    app.connect("builder-inited", lambda app: setattr(app.builder, "search", False))
    app.connect("html-collect-pages", lambda app: [("search", {}, "search.html")])
    # before links to what teaches are added
    app.connect("doctree-resolved", look, priority=400)
    app.connect("build-finished", write)
