"""From a function, a term or a claim to the section that teaches it, and from the section back.

A page teaches a function that it shows by `literalinclude`, and a term that it links to the
glossary: the first page in the order of the table of contents, where it emphasises the link or else
where it links first.
"""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.directives.code import LiteralInclude
from sphinx.util.nodes import make_refnode

from .claims import shown as shown_claims
from .details import fold


class Listing(LiteralInclude):
    """A `literalinclude` that links the function it shows to its entry in the reference.

    The class `dropdown` folds it.
    """

    def run(self):
        shown = super().run()
        path = Path(self.env.relfn2path(self.arguments[0])[0])
        if name := self.options.get("pyobject"):
            # a chapter's module may be a folder, whose functions belong to the folder
            target = f"{'.'.join(path.with_suffix('').parts[:2])}.{name}"
            link = f"In the reference: {{py:obj}}`{name} <{target}>`"
            # MyST counts lines from 0 here
            words, _ = self.state.inline_text(link, self.lineno - 1)
            shown.append(nodes.paragraph("", "", *words, classes=["in-the-reference"]))
            if "dropdown" in self.options.get("class", []):
                shown = [fold(f"The code of {name}", *shown, classes=["taught"])]
        return shown


def find(app, env) -> list[str]:
    """Find where each function and term is taught first."""
    taught = env.attncourse_taught = {}
    # the order of the table of contents, which may name an index as well
    for page in filter(env.found_docs.__contains__, env.collect_relations()):
        doctree = env.get_doctree(page)
        # a glossary teaches nothing of its own
        if doctree.next_node(addnodes.glossary):
            continue
        for link in sorted(doctree.findall(addnodes.pending_xref), key=mentions):
            kind, around = link["reftype"], link.parent.get("classes", [])
            if kind in ("term", "claim") or "in-the-reference" in around:
                taught.setdefault(link["reftarget"].lower(), place(env, link, page))
    return []


def mentions(link: nodes.Element) -> bool:
    """Not so of the emphasised link to a term, which defines it, and of a claim's in its box."""
    return not (isinstance(link.parent, nodes.emphasis) or link.get("box"))


def place(env, node: nodes.Node, page: str) -> tuple[str, str, str, str]:
    """The section around a node: its page, its anchor, and how it is spoken of and called."""
    while not isinstance(node, nodes.section):
        node = node.parent
    anchor, numbers = node["ids"][0], env.toc_secnumbers.get(page, {})
    number = ".".join(map(str, numbers.get(f"#{anchor}", numbers.get("", ()))))
    title = node.next_node(nodes.title).astext()
    if number:
        return page, anchor, "Taught in ", f"section {number}, {title}"
    return page, anchor, "See ", title


def point(app, doctree, page):
    """Say below each function of the reference, each term and each claim where it is taught."""

    def say(name: str, entry: nodes.Element, opening: str = "") -> None:
        if name.lower() in app.env.attncourse_taught:
            there, anchor, usual, title = app.env.attncourse_taught[name.lower()]
            link = make_refnode(app.builder, page, there, anchor, nodes.Text(title))
            words = [nodes.Text(opening or usual), link, nodes.Text(".")]
            entry.extend(words if opening else [nodes.paragraph("", "", *words)])

    for entry in doctree.findall(addnodes.desc):
        signature = entry.next_node(addnodes.desc_signature)
        name = f"{signature.get('module')}.{signature.get('fullname')}"
        say(name, entry.next_node(addnodes.desc_content))
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            # synonyms share their definition
            names = (one.astext() for one in item.findall(nodes.term))
            taught = (one for one in names if one.lower() in app.env.attncourse_taught)
            say(next(taught, ""), item.next_node(nodes.definition))
    for name, paragraph in shown_claims(doctree, "listed-claim"):
        say(name, paragraph, " In ")


def setup(app):
    app.add_directive("literalinclude", Listing, override=True)
    # after Sphinx has numbered the sections
    app.connect("env-get-updated", find, priority=900)
    app.connect("doctree-resolved", point)
