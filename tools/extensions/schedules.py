"""A schedule: for each week what is read, asked and solved, and how long that takes.

`{schedule}` holds a list in YAML, a week each: its `title`, the chapters that are read as a `whole`
or as far as their `path` goes, and the exercises to `solve`. The times are those that the chapters'
pages and the cards of the exercises say. Below each week stand the questions of what is read, for
`attncourse quiz`, the line that tells the grader which exercises are set, and the aims that none of
them tests.
"""

from collections.abc import Iterator
from functools import cache

import yaml
from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from attncourse.course import exercise
from attncourse.course.aims import AIMS

from .aims import aims_of
from .page_head import ROLE, facts, rendered, shown_by
from .questions import page_of

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


class Weeks:
    """What is shown of a week of a schedule on that page; ValueError where the course lacks it."""

    def __init__(self, app, docname: str):
        self.app, self.docname = app, docname
        self.chapter = cache(self.chapter)

    def week(self, week: dict) -> dict:
        """What is read, what is solved, and which aims of what is read no exercise tests."""
        kinds = ("whole", "path")
        reads = [self.read(slug, kind) for kind in kinds for slug in week.get(kind, [])]
        names = week.get("solve", [])
        solves = [self.solve(name) for name in names]
        untested = [*self.untested(reads, names)]
        return {"title": week["title"], "reads": reads, "solves": solves, "untested": untested}

    def chapter(self, slug: str) -> dict:
        if f"chapters/{slug}" not in self.app.env.found_docs:
            raise ValueError(f"{slug} is no chapter")
        return facts(self.app, slug, self.docname)

    def read(self, slug: str, kind: str) -> dict:
        known = self.chapter(slug)
        part = known if kind == "whole" else known["path"]
        if part is None:
            raise ValueError(f"{slug} has no path: read the whole")
        own = {key: part[key] for key in ("minutes", "questions")}
        return {"chapter": known, "end": kind == "path" and part, **own}

    def solve(self, name: str) -> dict:
        for page in sorted(self.app.env.found_docs):
            if card := self.app.env.metadata.get(page, {}).get("exercises", {}).get(name):
                link = f"{self.app.builder.get_relative_uri(self.docname, page)}#{name}"
                return {"name": name, "link": link, "kind": exercise(name).kind, **card}
        raise ValueError(f"{name} is no exercise")

    def untested(self, reads: list[dict], names: list[str]) -> Iterator[str]:
        tested = {aim for name in names for aim in aims_of(exercise(name))}
        for one in reads:
            slug = one["chapter"]["slug"]
            page = page_of(slug)
            asked = {page.known[name]["aim"] for name in one["questions"]}
            for aim, text in AIMS[slug].items():
                # as far as a path goes, what its questions ask for
                if f"{slug}.{aim}" not in tested and (aim in asked or not one["end"]):
                    yield page.line(ROLE.sub(shown_by, text))


def show(app, doctree, docname):
    """Put the schedules in their places."""
    weeks = Weeks(app, docname)
    for place in list(doctree.findall(schedule)):
        try:
            shown = [weeks.week(one) for one in place["weeks"]]
        except ValueError as fault:
            logger.warning("a schedule: %s", fault, location=place)
            shown = []
        place.replace_self(rendered(app, "schedule.html", weeks=shown))


def setup(app):
    """Register with Sphinx."""
    app.add_node(schedule)
    app.add_directive("schedule", Schedule)
    app.connect("doctree-resolved", show)
