"""A claim is said once: in its box, or in a sentence that links to its entry in the list.

`{claim}` with an id, or with words and an id, is that link; the box of a claim has it too. A cell
that measures one claim shows its box and not its code.
"""

import re
from collections.abc import Iterator
from itertools import takewhile

from docutils import nodes
from sphinx import addnodes
from sphinx.roles import XRefRole

BOX = re.compile(r'<div class="(claim|listed-claim)" id="([\w.]+)">')
MEASURES = re.compile(r"[\w.]+\.measure\(\)")


class Claimed(XRefRole):
    """A link to the entry of a claim, which says `measured` where it has no words of its own."""

    def process_link(self, env, refnode, has_explicit_title, title, target):
        return (title if has_explicit_title else "measured"), target


def shown(doctree: nodes.document, kind: str) -> Iterator[tuple[str, nodes.paragraph]]:
    """The claims that a page shows in that kind of box, each with its last paragraph."""
    for opening in list(doctree.findall(nodes.raw)):
        found = BOX.match(opening.astext())
        if found and found[1] == kind:
            after = opening.parent[opening.parent.index(opening) + 1 :]
            inside = takewhile(lambda one: one.astext().strip() != "</div>", after)
            yield found[2], [one for one in inside if isinstance(one, nodes.paragraph)][-1]


def connect(app, doctree):
    """Note where the entries are, and link each box to its entry."""
    for name, measured in shown(doctree, "listed-claim"):
        # the search would quote numbers
        measured["unsought"] = True
        app.env.get_domain("std").note_object("claim", name, name)
    for name, words in shown(doctree, "claim"):
        link = addnodes.pending_xref("", reftype="claim", refdomain="std", reftarget=name, box=True)
        link += nodes.literal("", name)
        words.extend([nodes.Text(" In the list of claims: "), link, nodes.Text(".")])
        for code in words.parent.findall(nodes.literal_block):
            # colours would make up a quarter of the page, and it is folded
            code["language"] = "text"
    for code in list(doctree.findall(nodes.container)):
        if "cell_input" in code["classes"] and MEASURES.fullmatch(code.astext()):
            code.parent.remove(code)


def setup(app):
    app.add_crossref_type("claim", "claim")
    app.add_role_to_domain(
        "std", "claim", Claimed(innernodeclass=nodes.inline, warn_dangling=True), override=True
    )
    app.connect("doctree-read", connect)
