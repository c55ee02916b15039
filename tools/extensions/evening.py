"""An evening with the course: sections in the order to read them, named once, on the front page.

The directive `{evening}` holds their labels, such as `chapters/dot_product#masks`, and lists them
with their minutes. Each of these sections ends with a link to the next, and the last with
what the evening has taught.
"""

from itertools import groupby, pairwise

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .page_head import reading_minutes, render_template

logger = logging.getLogger(__name__)


class evening(nodes.General, nodes.Element):
    """A placeholder for the list, which is rendered when all pages have been read."""


class Evening(SphinxDirective):
    """The directive `{evening}`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        placeholder = evening("", labels="\n".join(self.content).split())
        self.set_source_info(placeholder)
        return [placeholder]


def find_section(env, label: str) -> nodes.section:
    """The section of a label; ValueError where there is none."""
    docname, _, anchor = label.partition("#")
    if docname not in env.found_docs:
        raise ValueError(f"{label}: there is no page {docname}")
    for section in env.get_doctree(docname).findall(nodes.section):
        if anchor in section["ids"]:
            return section
    raise ValueError(f"{label}: {docname} has no section {anchor}")


def section_facts(app, label: str, page: str) -> dict:
    """Chapter, number, title and minutes of a section, with its address as seen from a page."""
    section = find_section(app.env, label)
    docname, _, anchor = label.partition("#")
    number = app.env.toc_secnumbers.get(docname, {}).get(f"#{anchor}", ())
    return {
        "chapter": app.env.titles[docname].astext(),
        "number": ".".join(map(str, number)),
        "title": next(section.findall(nodes.title)).astext(),
        "link": f"{app.builder.get_relative_uri(page, docname)}#{anchor}",
        "minutes": reading_minutes(section),
    }


def list_sections(app, doctree, docname):
    """Replace the placeholder by the sections, by chapter."""
    for placeholder in list(doctree.findall(evening)):
        try:
            sections = [section_facts(app, label, docname) for label in placeholder["labels"]]
        except ValueError as fault:
            logger.warning("the evening: %s", fault, location=placeholder)
            sections = []
        chapters = [(name, [*own]) for name, own in groupby(sections, lambda one: one["chapter"])]
        html = render_template(app, "evening.html", chapters=chapters, sections=sections)
        placeholder.replace_self(html)


def link_next(app, doctree, docname):
    """End each section of the evening on a page with a link to the next."""
    home = app.config.root_doc
    if docname == home:
        return
    labels = [
        label
        for placeholder in app.env.get_doctree(home).findall(evening)
        for label in placeholder["labels"]
    ]
    for label, following in pairwise([*labels, None]):
        page, _, anchor = label.partition("#")
        for section in doctree.findall(nodes.section) if page == docname else ():
            if anchor in section["ids"]:
                section += render_template(
                    app,
                    "evening_next.html",
                    home=app.builder.get_relative_uri(docname, home),
                    next=following and section_facts(app, following, docname),
                )


def setup(app):
    app.add_node(evening)
    app.add_directive("evening", Evening)
    app.connect("doctree-resolved", list_sections)
    app.connect("doctree-resolved", link_next)
