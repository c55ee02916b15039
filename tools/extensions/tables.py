"""Tables: numbers stand at the right, below each other, and the names of exercises lead to them."""

import re

from docutils import nodes
from sphinx.util.nodes import make_refnode

NUMBER = re.compile(r"(about )?[−-]?\d[\d,.]*(e[+−-]?\d+)?( ?[%×])?")


def align(table: nodes.table) -> None:
    """Put at the right each column that has numbers and nothing else."""
    heads, bodies = (list(table.findall(kind)) for kind in (nodes.thead, nodes.tbody))
    columns = zip(*(row.findall(nodes.entry) for body in bodies for row in body), strict=False)
    for at, cells in enumerate(columns):
        if all(NUMBER.fullmatch(cell.astext()) for cell in cells):
            titles = (list(row.findall(nodes.entry))[at] for head in heads for row in head)
            for cell in (*cells, *titles):
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
