"""The search finds sections and terms: each is indexed by itself, with its prose and not its code.

It is called `page#anchor`, which search.js takes apart.
"""

from collections.abc import Iterable
from html import escape

import sphinx.search
from docutils import nodes
from sphinx import addnodes

LEFT_OUT = (nodes.literal_block, nodes.raw, nodes.section, addnodes.glossary)


class SectionIndex(sphinx.search.IndexBuilder):
    """Sphinx's index, to which each section is a document, and each term of a glossary."""

    def feed(self, docname: str, filename: str, title: str, doctree: nodes.document) -> None:
        """Index a page, part by part; its first section is the page's own."""
        parts = [*doctree.findall(nodes.section), *terms(doctree)]
        for part in parts:
            name = docname if part is parts[0] else f"{docname}#{part['ids'][0]}"
            heading = title if part is parts[0] else escape(part.next_node(nodes.title).astext())
            super().feed(name, filename, heading, prose(part))

    def prune(self, docnames: Iterable[str]) -> None:
        """Forget the parts of pages that are gone or will be fed again."""
        pages = {*docnames}
        super().prune([name for name in self._titles if name.partition("#")[0] in pages])
        for name in self._index_entries.keys() - self._titles.keys():
            del self._index_entries[name]


def terms(doctree: nodes.document) -> Iterable[nodes.section]:
    """Each entry of a glossary as a section, with its term and the term's synonyms as titles."""
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            names = list(item.findall(nodes.term))
            titles = (nodes.title("", one.astext()) for one in names)
            text = item.next_node(nodes.definition).deepcopy()
            yield nodes.section("", *titles, text, ids=names[0]["ids"])


def prose(section: nodes.section) -> nodes.section:
    """A section without those below it and without its code."""
    copy = section.deepcopy()
    for part in list(copy.findall(lambda one: isinstance(one, LEFT_OUT))):
        if part is not copy and part.parent is not None:
            part.parent.remove(part)
    return copy


def setup(app):
    """Register with Sphinx."""
    sphinx.search.IndexBuilder = SectionIndex
