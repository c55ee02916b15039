"""Tables: numbers stand at the right, below each other, and the names of exercises lead to them."""

import re

from docutils import nodes
from sphinx.util.nodes import make_refnode

NUMBER = re.compile(r"(about )?[−-]?\d[\d,.]*(e[+−-]?\d+)?( ?[%×])?")


def align(table: nodes.table) -> None:
    """Put at the right each column that has numbers and nothing else."""
    rows = (row.findall(nodes.entry) for row in table.findall(nodes.row))
    for title, *cells in zip(*rows, strict=False):
        if all(NUMBER.fullmatch(cell.astext()) for cell in cells):
            for cell in (title, *cells):
                cell["classes"].append("text-right")


def improve(app, doctree, docname):
    """Align every table of a page, and link the exercises that a chapter's names."""
    page = docname.replace("chapters/", "exercises/")
    known = app.env.metadata[page].get("exercises", {}) if page != docname else {}
    for table in doctree.findall(nodes.table):
        align(table)
        for name in list(table.findall(nodes.literal)):
            if name.astext() in known:
                table["classes"].append("exercise-list")
                way = make_refnode(app.builder, docname, page, name.astext(), name.deepcopy())
                name.replace_self(way)


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", improve)
