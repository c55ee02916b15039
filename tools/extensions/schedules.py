"""A schedule: for each week what is read and what is solved, and how long that takes.

`{schedule}` holds a list in YAML, a week each: its `title`, the chapters that are read as a `whole`
or as far as their `path` goes, and the exercises to `solve`. The times are those that the chapters'
pages and the cards of the exercises say.
"""

from functools import cache

import yaml
from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .page_head import facts, rendered

KEYS = {"title", "whole", "path", "solve"}
logger = logging.getLogger(__name__)


class schedule(nodes.General, nodes.Element):
    """The place of a schedule, which is shown when all chapters have been read."""


class Schedule(SphinxDirective):
    """Takes the weeks of a schedule."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The place of what is shown; an error where a week has a key that no week has."""
        weeks = yaml.safe_load("\n".join(self.content))
        for week in weeks:
            if unknown := week.keys() - KEYS:
                raise self.error(f"a week has no {', '.join(sorted(unknown))}: {sorted(KEYS)}")
        place = schedule("", weeks=weeks)
        self.set_source_info(place)
        return [place]


def show(app, doctree, docname):
    """Put the schedules in their places."""

    @cache
    def chapter(slug: str) -> dict:
        if f"chapters/{slug}" not in app.env.found_docs:
            raise ValueError(f"{slug} is no chapter")
        return facts(app, slug, docname)

    def read(slug: str, kind: str) -> dict:
        known = chapter(slug)
        part = known if kind == "whole" else known["path"]
        if part is None:
            raise ValueError(f"{slug} has no path: read the whole")
        return {"chapter": known, "end": kind == "path" and part, "minutes": part["minutes"]}

    def solve(name: str) -> dict:
        for page in sorted(app.env.found_docs):
            if card := app.env.metadata.get(page, {}).get("exercises", {}).get(name):
                link = f"{app.builder.get_relative_uri(docname, page)}#{name}"
                return {"name": name, "link": link, "minutes": card["minutes"]}
        raise ValueError(f"{name} is no exercise")

    for place in list(doctree.findall(schedule)):
        weeks = []
        try:
            for week in place["weeks"]:
                reads = [read(it, kind) for kind in ("whole", "path") for it in week.get(kind, [])]
                solves = [solve(name) for name in week.get("solve", [])]
                weeks.append({"title": week["title"], "reads": reads, "solves": solves})
        except ValueError as fault:
            logger.warning("a schedule: %s", fault, location=place)
        place.replace_self(rendered(app, "schedule.html", weeks=weeks))


def setup(app):
    """Register with Sphinx."""
    app.add_node(schedule)
    app.add_directive("schedule", Schedule)
    app.connect("doctree-resolved", show)
