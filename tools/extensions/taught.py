"""From a function or a term to the section that teaches it, and from the section back.

A chapter teaches a function that it shows by `literalinclude`: a function of its module, or one
that it imports, it may also only name in its text. It teaches a term that it links to the glossary:
where the link is emphasised, or else where it first uses the words. The first place counts, and one
that shows or defines before one that names or uses.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.directives.code import LiteralInclude
from sphinx.util.logging import getLogger
from sphinx.util.nodes import make_refnode

logger = getLogger(__name__)
IMPORTED = re.compile(r"^from (attncourse[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


class Place(NamedTuple):
    """A section of a page."""

    page: str
    anchor: str
    title: str
    # shown or defined, and not only named or used
    main: bool


class Listing(LiteralInclude):
    """A `literalinclude` that links the function it shows to its entry in the reference."""

    def run(self):
        shown = super().run()
        path = Path(self.env.relfn2path(self.arguments[0])[0])
        if name := self.options.get("pyobject"):
            words = nodes.paragraph("", "In the reference: ", classes=["in-the-reference"])
            # a chapter's module may be a folder, whose functions belong to the folder
            words += link(f"{'.'.join(path.with_suffix('').parts[:2])}.{name}", name)
            self.set_source_info(words)
            self.set_source_info(words[-1])
            shown.append(words)
        return shown


def link(target: str, words: str) -> addnodes.pending_xref:
    """A reference to an object of the package, to be resolved when all pages are read."""
    made = addnodes.pending_xref(
        "", refdomain="py", reftype="obj", reftarget=target, refexplicit=True, refwarn=True
    )
    made += nodes.literal("", words, classes=["xref", "py", "py-obj"])
    return made


def functions(app, module: str) -> dict[str, int]:
    """The public functions and classes that a module makes, in full, each with its line."""
    path = Path(app.srcdir, *module.split("."))
    files = [path.with_suffix(".py")]
    if Path(app.srcdir, "chapters", f"{path.name}.md").is_file() and path.is_dir():
        files = sorted(path.glob("*.py"))
    made = (ast.FunctionDef, ast.ClassDef)
    trees = [ast.parse(file.read_text("utf-8")) for file in files if file.is_file()]
    body = [node for tree in trees for node in tree.body if isinstance(node, made)]
    names = {node.name: node.lineno for node in body if not node.name.startswith("_")}
    return {f"{module}.{name}": line for name, line in names.items()}


def module(page: str) -> str:
    """The module of a chapter, which has its name; nothing for another page."""
    return page.replace("/", ".").replace("chapters", "attncourse") if is_chapter(page) else ""


def is_chapter(page: str) -> bool:
    return page.startswith("chapters/")


def names_known(app, doctree, page: str) -> dict[str, str]:
    """The functions that a page may teach, in full by their names: its module's, and imported."""
    known = [*functions(app, module(page))]
    for block in doctree.findall(nodes.literal_block):
        for source, names in IMPORTED.findall(block.astext()):
            imported = {f"{source}.{name}" for name in re.findall(r"\w+", names)}
            known += imported & functions(app, source).keys()
    return {name.rpartition(".")[2]: name for name in known}


def collect(app, doctree):
    """Note what a page teaches, and link the functions that only its text names."""
    page = app.env.docname
    found: dict[str, Place] = {}
    terms: dict[str, list[nodes.Node]] = defaultdict(list)
    for node in doctree.findall(addnodes.pending_xref):
        if node["reftype"] == "term":
            terms[node["reftarget"].lower()].append(node)
        elif "in-the-reference" in node.parent.get("classes", []):
            found.setdefault(node["reftarget"], place(node, page, main=True))
    for term, links in terms.items():
        defined = [one for one in links if isinstance(one.parent, nodes.emphasis)]
        words = {term, *(one.astext().lower() for one in links)}
        node = defined[0] if defined else first_use(doctree, words) or links[0]
        found[f"term {term}"] = place(node, page, main=bool(defined))
    names = names_known(app, doctree, page) if is_chapter(page) else {}
    for node in list(doctree.findall(nodes.literal)):
        name = names.get(node.astext())
        if name and name not in found and isinstance(node.parent, nodes.paragraph):
            found[name] = place(node, page, main=False)
            node.replace_self(link(name, node.astext()))
    app.env.attncourse_taught[page] = found


def first_use(doctree, words: set[str]) -> nodes.Node | None:
    """The first paragraph that has one of these words or phrases, where there is one."""
    any_of = re.compile(rf"\b({'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
    apart = (nodes.literal, nodes.math)
    for paragraph in doctree.findall(nodes.paragraph):
        texts = (one for one in paragraph.findall(nodes.Text) if not isinstance(one.parent, apart))
        if any_of.search(" ".join("".join(texts).split())):
            return paragraph
    return None


def place(node: nodes.Node, page: str, main: bool) -> Place:
    """The section around a node."""
    while not isinstance(node, nodes.section):
        node = node.parent
    return Place(page, node["ids"][0], node.next_node(nodes.title).astext(), main)


def forget(app, env, page):
    """Drop what a page taught before it is read again."""
    app.env.attncourse_taught.pop(page, None)


def begin(app):
    """Keep what each page teaches with what else Sphinx knows of the pages."""
    if not hasattr(app.env, "attncourse_taught"):
        app.env.attncourse_taught = {}


def merge(app, env, pages, other):
    """Take over what another process has read."""
    env.attncourse_taught |= {page: other.attncourse_taught[page] for page in pages}


def terms_of(env) -> dict[str, str]:
    """Each term of the glossary in lower case, with its page."""
    objects = env.get_domain("std").get_objects()
    return {name.lower(): page for name, _, kind, page, *_ in objects if kind == "term"}


def places(env) -> dict[str, Place]:
    """Where each function and term is taught first: the chapters, in order, before other pages."""
    order: list[str] = []
    ahead = [env.config.root_doc]
    while ahead:
        order.append(ahead.pop(0))
        ahead[:0] = env.toctree_includes.get(order[-1], [])
    found = [one for page in order for one in env.attncourse_taught.get(page, {}).items()]
    found.sort(key=lambda one: (not is_chapter(one[1].page), not one[1].main))
    terms = terms_of(env)
    taught: dict[str, Place] = {}
    for name, where in found:
        # the glossary's own links teach nothing
        if terms.get(name.removeprefix("term ")) != where.page:
            taught.setdefault(name, where)
    return taught


def rewrite(app, env):
    """Name the pages to write again when something is now taught elsewhere."""
    taught = places(env)
    numbers = {where: section_number(env, where) for where in taught.values()}
    state = (taught, numbers)
    if getattr(env, "attncourse_places", None) == state:
        return []
    env.attncourse_places = state
    entries = {page for _, _, _, page, *_ in env.get_domain("py").get_objects()}
    return sorted(entries | {*terms_of(env).values()})


def check(app, env):
    """Warn of a function that no chapter teaches, and of a term that no page uses."""
    taught = places(env)
    for page in env.found_docs:
        for name, line in functions(app, module(page)).items():
            if name not in taught:
                where = f"{Path(*name.split('.')[:-1]).with_suffix('.py')}:{line}"
                logger.warning("no chapter teaches %s", name, location=where)
    for term, page in terms_of(env).items():
        if f"term {term}" not in taught:
            logger.warning("no other page links to the term %r", term, location=page)


def section_number(env, where: Place) -> str:
    """The number of a section, or nothing where it has none."""
    numbers = env.toc_secnumbers.get(where.page, {})
    return ".".join(map(str, numbers.get(f"#{where.anchor}", numbers.get("", ()))))


def point(app, doctree, page):
    """Say below each function of the reference, and each term, where it is taught."""
    taught, numbers = app.env.attncourse_places
    for entry in doctree.findall(addnodes.desc):
        signature = entry.next_node(addnodes.desc_signature)
        name = f"{signature.get('module')}.{signature.get('fullname')}"
        if name in taught:
            entry.next_node(addnodes.desc_content).append(
                nodes.paragraph("", "", *sentence(app, page, taught[name], numbers))
            )
    for entry in doctree.findall(addnodes.glossary):
        for item in entry.findall(nodes.definition_list_item):
            name = f"term {item.next_node(nodes.term).astext().lower()}"
            if name in taught:
                item.next_node(nodes.definition).append(
                    nodes.paragraph("", "", *sentence(app, page, taught[name], numbers))
                )


def sentence(app, page: str, where: Place, numbers: dict[Place, str]) -> list[nodes.Node]:
    """The words that lead to a place."""
    number = numbers[where]
    title = f"section {number}, {where.title}" if number else where.title
    words = nodes.Text(title)
    target = make_refnode(app.builder, page, where.page, where.anchor, words)
    return [nodes.Text("Taught in " if number else "See "), target, nodes.Text(".")]


def setup(app):
    """Register with Sphinx."""
    app.add_directive("literalinclude", Listing, override=True)
    app.connect("builder-inited", begin)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("doctree-read", collect)
    app.connect("env-check-consistency", check)
    # after Sphinx has numbered the sections
    app.connect("env-get-updated", rewrite, priority=900)
    app.connect("doctree-resolved", point)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
