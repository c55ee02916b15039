"""A claim is stated once: in its box, or in a sentence that links to its entry in the list.

The role `{claim}` with an id, or with words and an id, is that link; the box of a claim has it
too. A cell that only calls a claim's `measure` shows the box without the code.
"""

import re
from collections.abc import Iterator
from itertools import takewhile

from docutils import nodes
from sphinx import addnodes
from sphinx.roles import XRefRole

from .details import fold

BOX = re.compile(r'<div class="(claim|listed-claim)" id="([\w.]+)">')
MEASURE_CALL = re.compile(r"[\w.]+\.measure\(\)")


class ClaimRole(XRefRole):
    """The role `{claim}`: a link to a claim's entry, with the text `measured` by default."""

    def process_link(self, env, refnode, has_explicit_title, title, target):
        return (title if has_explicit_title else "measured"), target


def claim_boxes(doctree: nodes.document, kind: str) -> Iterator[tuple[str, list[nodes.Node]]]:
    """Id and content of each box of the kind `claim` or `listed-claim` on a page."""
    for opening in list(doctree.findall(nodes.raw)):
        match = BOX.match(opening.astext())
        if match and match[1] == kind:
            after = opening.parent[opening.parent.index(opening) + 1 :]
            yield match[2], [*takewhile(lambda node: node.astext().strip() != "</div>", after)]


def last_paragraph(content: list[nodes.Node]) -> nodes.paragraph:
    """The paragraph in which a box says whether its claim holds, and names the source."""
    return [node for node in content if isinstance(node, nodes.paragraph)][-1]


def link_boxes(app, doctree):
    """Register the entries of claims as link targets; link and shorten each claim's box."""
    for name, content in claim_boxes(doctree, "listed-claim"):
        # the search index leaves the numbers out
        last_paragraph(content)["unsought"] = True
        app.env.get_domain("std").note_object("claim", name, name)
    for name, content in claim_boxes(doctree, "claim"):
        link = addnodes.pending_xref("", reftype="claim", refdomain="std", reftarget=name, box=True)
        link += nodes.literal("", name)
        words = nodes.Text(" In the list of claims: "), link, nodes.Text(".")
        last_paragraph(content).extend(words)
        shorten(content)
    for code in list(doctree.findall(nodes.container)):
        if "cell_input" in code["classes"] and MEASURE_CALL.fullmatch(code.astext()):
            code.parent.remove(code)


def shorten(content: list[nodes.Node]) -> None:
    """Leave the statement in a claim's box, with its first number and its sign; fold the rest."""
    statement, table, verdict, _, code, _ = content
    for node in content[1:]:
        node.parent.remove(node)
    quantity, measured, _ = table.next_node(nodes.tbody).next_node(nodes.row)
    sign = verdict.astext()[0]
    # highlighting folded code would add a quarter to the size of the page
    code["language"] = "text"
    statement += nodes.Text(" Measured: ")
    statement.extend(part.deepcopy() for part in quantity[0])
    statement += [nodes.Text(": "), nodes.strong("", measured.astext()), nodes.Text(f" {sign}")]
    box = statement.parent
    rest = fold("All the numbers, and how they were measured", table, verdict, code)
    box.insert(box.index(statement) + 1, rest)


def setup(app):
    app.add_crossref_type("claim", "claim")
    app.add_role_to_domain(
        "std", "claim", ClaimRole(innernodeclass=nodes.inline, warn_dangling=True), override=True
    )
    app.connect("doctree-read", link_boxes)
