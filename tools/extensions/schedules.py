"""A schedule: the readings, questions and exercises of each week, with their times.

The directive `{schedule}` holds a YAML list of weeks: `title`, chapters to `read`, or to read
`whole`, with what goes deeper, and exercises to `solve`. The times are those on their pages.
Below each week stand the questions of its readings, for `attncourse quiz`, the line that tells the
grader which exercises are set, and the aims that no exercise tests.
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
from .page_head import ROLE, chapter_facts, render_template, role_text
from .questions import page_of

KEYS = {"title", "read", "whole", "solve"}
logger = logging.getLogger(__name__)


class schedule(nodes.General, nodes.Element):
    """A placeholder for a schedule, which is rendered when all pages have been read."""


class Schedule(SphinxDirective):
    """The directive `{schedule}`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """A placeholder with the weeks; an error for an unknown key."""
        weeks = yaml.safe_load("\n".join(self.content))
        for week in weeks:
            if unknown := week.keys() - KEYS:
                raise self.error(f"a week has no {', '.join(sorted(unknown))}: {sorted(KEYS)}")
        placeholder = schedule("", weeks=weeks)
        self.set_source_info(placeholder)
        return [placeholder]


class WeekFacts:
    """The facts that the template shows of a week; ValueError for an unknown name."""

    def __init__(self, app, docname: str):
        self.app, self.docname = app, docname
        self.chapter = cache(self.chapter)

    def week(self, week: dict) -> dict:
        """The title of a week, its readings, exercises and aims without an exercise."""
        kinds = ("whole", "read")
        reads = [self.reading(slug, kind) for kind in kinds for slug in week.get(kind, [])]
        names = week.get("solve", [])
        solves = [self.exercise_facts(name) for name in names]
        untested_aims = [*self.untested_aims(reads, names)]
        return {"title": week["title"], "reads": reads, "solves": solves, "untested": untested_aims}

    def chapter(self, slug: str) -> dict:
        """The facts of a chapter."""
        if f"chapters/{slug}" not in self.app.env.found_docs:
            raise ValueError(f"{slug} is no chapter")
        return chapter_facts(self.app, slug, self.docname)

    def reading(self, slug: str, kind: str) -> dict:
        """Minutes and questions of a chapter, and of what goes deeper where it is `whole`."""
        chapter = self.chapter(slug)
        deeper = chapter["deeper"] if kind == "whole" else None
        pages = [chapter, deeper] if deeper else [chapter]
        return {
            "chapter": chapter,
            "deeper": deeper,
            "whole": kind == "whole",
            "minutes": sum(page["minutes"] for page in pages),
            "questions": [name for page in pages for name in page["questions"]],
        }

    def exercise_facts(self, name: str) -> dict:
        """Name, link, kind, minutes and points of an exercise."""
        for page in sorted(self.app.env.found_docs):
            if card := self.app.env.metadata.get(page, {}).get("exercises", {}).get(name):
                link = f"{self.app.builder.get_relative_uri(self.docname, page)}#{name}"
                return {"name": name, "link": link, "kind": exercise(name).kind, **card}
        raise ValueError(f"{name} is no exercise")

    def untested_aims(self, reads: list[dict], names: list[str]) -> Iterator[str]:
        """The aims of the readings that no exercise of the week tests, as HTML."""
        tested = {aim for name in names for aim in aims_of(exercise(name))}
        for chapter_read in reads:
            slug = chapter_read["chapter"]["slug"]
            page = page_of(slug)
            questioned = {page.questions[name]["aim"] for name in chapter_read["questions"]}
            for aim, text in AIMS[slug].items():
                # without what goes deeper, only the aims of the chapter's questions
                if f"{slug}.{aim}" not in tested and (aim in questioned or chapter_read["whole"]):
                    yield page.line(ROLE.sub(role_text, text))


def show_schedules(app, doctree, docname):
    """Replace the placeholders by the rendered schedules."""
    weeks = WeekFacts(app, docname)
    for placeholder in list(doctree.findall(schedule)):
        try:
            week_facts = [weeks.week(week) for week in placeholder["weeks"]]
        except ValueError as fault:
            logger.warning("a schedule: %s", fault, location=placeholder)
            week_facts = []
        placeholder.replace_self(render_template(app, "schedule.html", weeks=week_facts))


def setup(app):
    """Register with Sphinx."""
    app.add_node(schedule)
    app.add_directive("schedule", Schedule)
    app.connect("doctree-resolved", show_schedules)
