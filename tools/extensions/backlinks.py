"""From a function or a term to the section that teaches it, and from the section back.

A page teaches a function that it shows by `literalinclude`, and a term that it links to the
glossary: the first page in the order of the table of contents, where it emphasises the link or else
where it links first.
"""

from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.directives.code import LiteralInclude
from sphinx.util.logging import getLogger
from sphinx.util.nodes import make_refnode

logger = getLogger(__name__)


class Place(NamedTuple):
    """A section of a page."""

    page: str
    anchor: str
    title: str
    number: str


class Listing(LiteralInclude):
    """A `literalinclude` that links the function it shows to its entry in the reference."""

    def run(self):
        shown = super().run()
        path = Path(self.env.relfn2path(self.arguments[0])[0])
        if name := self.options.get("pyobject"):
            # a chapter's module may be a folder, whose functions belong to the folder
            target = f"{'.'.join(path.with_suffix('').parts[:2])}.{name}"
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=target, refexplicit=True, refwarn=True
            )
            link += nodes.literal("", name, classes=["xref", "py", "py-obj"])
            words = nodes.paragraph("", "In the reference: ", link, classes=["in-the-reference"])
            self.set_source_info(words)
            self.set_source_info(link)
            shown.append(words)
        return shown


def pages_in_order(env) -> list[str]:
    """The pages as the table of contents has them."""
    order: list[str] = []
    ahead = [env.config.root_doc]
    while ahead:
        order.append(ahead.pop(0))
        ahead[:0] = env.toctree_includes.get(order[-1], [])
    return order


def places(env) -> dict[str, Place]:
    """Where each function and term is taught first."""
    glossaries = terms_of(env)
    taught: dict[str, Place] = {}
    for page in pages_in_order(env):
        links = list(env.get_doctree(page).findall(addnodes.pending_xref))
        # of the links to a term the emphasised one defines it
        links.sort(key=lambda link: not isinstance(link.parent, nodes.emphasis))
        for link in links:
            name = link["reftarget"]
            if link["reftype"] == "term" and glossaries.get(name.lower()) != page:
                taught.setdefault(f"term {name.lower()}", place(env, link, page))
            elif "in-the-reference" in link.parent.get("classes", []):
                taught.setdefault(name, place(env, link, page))
    return taught


def terms_of(env) -> dict[str, str]:
    """Each term of the glossary in lower case, with its page."""
    objects = env.get_domain("std").get_objects()
    return {name.lower(): page for name, _, kind, page, *_ in objects if kind == "term"}


def place(env, node: nodes.Node, page: str) -> Place:
    """The section around a node."""
    while not isinstance(node, nodes.section):
        node = node.parent
    numbers = env.toc_secnumbers.get(page, {})
    number = numbers.get(f"#{node['ids'][0]}", numbers.get("", ()))
    title = node.next_node(nodes.title).astext()
    return Place(page, node["ids"][0], title, ".".join(map(str, number)))


def find(app, env) -> list[str]:
    """Find what is taught where; the pages to write again when that has changed."""
    before, env.attncourse_taught = getattr(env, "attncourse_taught", None), places(env)
    if before == env.attncourse_taught:
        return []
    entries = {page for _, _, _, page, *_ in env.get_domain("py").get_objects()}
    return sorted(entries | {*terms_of(env).values()})


def check(app, env):
    """Warn of a term that no page uses."""
    for term, page in terms_of(env).items():
        if f"term {term}" not in env.attncourse_taught:
            logger.warning("no other page links to the term %r", term, location=page)


def point(app, doctree, page):
    """Say below each function of the reference, and each term, where it is taught."""
    for entry in doctree.findall(addnodes.desc):
        signature = entry.next_node(addnodes.desc_signature)
        name = f"{signature.get('module')}.{signature.get('fullname')}"
        say(app, page, name, entry.next_node(addnodes.desc_content))
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            term = item.next_node(nodes.term).astext().lower()
            say(app, page, f"term {term}", item.next_node(nodes.definition))


def say(app, page: str, name: str, entry: nodes.Element) -> None:
    """Add to an entry the words that lead to where it is taught."""
    if where := app.env.attncourse_taught.get(name):
        title = f"section {where.number}, {where.title}" if where.number else where.title
        link = make_refnode(app.builder, page, where.page, where.anchor, nodes.Text(title))
        words = nodes.Text("Taught in " if where.number else "See ")
        entry.append(nodes.paragraph("", "", words, link, nodes.Text(".")))


def setup(app):
    """Register with Sphinx."""
    app.add_directive("literalinclude", Listing, override=True)
    # after Sphinx has numbered the sections
    app.connect("env-get-updated", find, priority=900)
    app.connect("env-check-consistency", check)
    app.connect("doctree-resolved", point)
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
