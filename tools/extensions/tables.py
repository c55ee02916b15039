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


def link(app, table: nodes.table, docname: str) -> None:
    """Lead each name of an exercise in a chapter's table to what it asks."""
    page = docname.replace("chapters/", "exercises/")
    known = app.env.metadata.get(page, {}).get("exercises", {})
    for name in list(table.findall(nodes.literal)):
        if page != docname and name.astext() in known:
            table["classes"].append("exercise-list")
            way = make_refnode(app.builder, docname, page, name.astext(), name.deepcopy())
            name.replace_self(way)


def improve(app, doctree, docname):
    """Do both for every table of a page."""
    for table in doctree.findall(nodes.table):
        align(table)
        link(app, table, docname)


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", improve)
