"""Tables: right-align the columns of numbers, and link the names of exercises."""

import re

from docutils import nodes
from sphinx.util.nodes import make_refnode

from tools.book import FOLDERS

NUMBER = re.compile(r"(about )?[−-]?\d[\d,.]*(e[+−-]?\d+)?( ?[%×])?")


def align_numbers(table: nodes.table) -> None:
    """Right-align each column that has numbers alone."""
    rows = (row.findall(nodes.entry) for row in table.findall(nodes.row))
    for title, *cells in zip(*rows, strict=False):
        if all(NUMBER.fullmatch(cell.astext()) for cell in cells):
            for cell in (title, *cells):
                cell["classes"].append("text-right")


def improve_tables(app, doctree, docname):
    """Align the tables of a page, and link the exercises that a chapter's tables name."""
    folder, _, slug = docname.partition("/")
    page = f"exercises/{slug}"
    known = app.env.metadata[page].get("exercises", {}) if folder in FOLDERS else {}
    for table in doctree.findall(nodes.table):
        align_numbers(table)
        for name in list(table.findall(nodes.literal)):
            if name.astext() in known:
                table["classes"].append("exercise-list")
                link = make_refnode(app.builder, docname, page, name.astext(), name.deepcopy())
                name.replace_self(link)


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", improve_tables)
