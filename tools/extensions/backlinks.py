"""From a function, a term or a claim to the section that teaches it, and from the section back.

A function or term is taught on the first page, in the order of the table of contents, that includes
the function by `literalinclude` or links to the term: at the emphasised link, or else the first.
"""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.directives.code import LiteralInclude
from sphinx.util.nodes import make_refnode

from .claims import claim_boxes, last_paragraph
from .details import fold


class Listing(LiteralInclude):
    """A `literalinclude` that links the function it shows to its entry in the reference.

    The class `dropdown` folds it.
    """

    def run(self):
        content = super().run()
        path = Path(self.env.relfn2path(self.arguments[0])[0])
        if name := self.options.get("pyobject"):
            # a chapter's module may be a folder, whose functions belong to the folder
            target = f"{'.'.join(path.with_suffix('').parts[:2])}.{name}"
            link = f"In the reference: {{py:obj}}`{name} <{target}>`"
            # MyST counts lines from 0 here
            text, _ = self.state.inline_text(link, self.lineno - 1)
            content.append(nodes.paragraph("", "", *text, classes=["in-the-reference"]))
            if "dropdown" in self.options.get("class", []):
                content = [fold(f"The code of {name}", *content, classes=["taught"])]
        return content


def find_first_sections(app, env) -> list[str]:
    """Store in `env` the section that teaches each function, term and claim, by lower-case name."""
    taught = env.attncourse_taught = {}
    # the order of the table of contents, which may name an index as well
    for page in filter(env.found_docs.__contains__, env.collect_relations()):
        doctree = env.get_doctree(page)
        # a glossary teaches nothing of its own
        if doctree.next_node(addnodes.glossary):
            continue
        for link in sorted(doctree.findall(addnodes.pending_xref), key=is_mention):
            kind, classes = link["reftype"], link.parent.get("classes", [])
            if kind in ("term", "claim") or "in-the-reference" in classes:
                taught.setdefault(link["reftarget"].lower(), section_of(env, link, page))
    return []


def is_mention(link: nodes.Element) -> bool:
    """Whether a link is neither an emphasised one to a term nor that in a claim's box."""
    return not (isinstance(link.parent, nodes.emphasis) or link.get("box"))


def section_of(env, node: nodes.Node, page: str) -> tuple[str, str, str, str]:
    """The section around a node: page, anchor, and the prefix and text of a link to it."""
    while not isinstance(node, nodes.section):
        node = node.parent
    anchor, numbers = node["ids"][0], env.toc_secnumbers.get(page, {})
    number = ".".join(map(str, numbers.get(f"#{anchor}", numbers.get("", ()))))
    title = node.next_node(nodes.title).astext()
    if number:
        return page, anchor, "Taught in ", f"section {number}, {title}"
    return page, anchor, "See ", title


def add_backlinks(app, doctree, page):
    """Append to each function, term and claim of the reference a link to its section."""

    def append_link(name: str, entry: nodes.Element, opening: str = "") -> None:
        if name.lower() in app.env.attncourse_taught:
            target, anchor, prefix, title = app.env.attncourse_taught[name.lower()]
            link = make_refnode(app.builder, page, target, anchor, nodes.Text(title))
            words = [nodes.Text(opening or prefix), link, nodes.Text(".")]
            entry.extend(words if opening else [nodes.paragraph("", "", *words)])

    for entry in doctree.findall(addnodes.desc):
        signature = entry.next_node(addnodes.desc_signature)
        name = f"{signature.get('module')}.{signature.get('fullname')}"
        append_link(name, entry.next_node(addnodes.desc_content))
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            # synonyms share their definition
            names = (term.astext() for term in item.findall(nodes.term))
            taught = (term for term in names if term.lower() in app.env.attncourse_taught)
            append_link(next(taught, ""), item.next_node(nodes.definition))
    for name, content in claim_boxes(doctree, "listed-claim"):
        append_link(name, last_paragraph(content), " In ")


def setup(app):
    app.add_directive("literalinclude", Listing, override=True)
    # after Sphinx has numbered the sections
    app.connect("env-get-updated", find_first_sections, priority=900)
    app.connect("doctree-resolved", add_backlinks)
