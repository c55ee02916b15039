"""`{aims}` lists a chapter's aims, `{aims-table}` all aims with their questions and exercises."""

from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from attncourse.course import COURSE
from attncourse.course.aims import AIMS, bullets
from judge.exercise import Exercise
from tools.questions import box_id, question_places

from .questions import page_of

TABLE_HEAD = "| You can | Sections | Questions | Exercises |\n| --- | --- | --- | --- |"


def tests_by_aim() -> dict[str, dict[str, list[tuple[str, str]]]]:
    """By aim (`chapter.aim`), the `questions` and `exercises` on it: pairs of chapter and name."""
    tests: dict = {f"{slug}.{aim}": {} for slug in AIMS for aim in AIMS[slug]}
    for slug in AIMS:
        for name, question in page_of(slug).questions.items():
            tests[f"{slug}.{question['aim']}"].setdefault("questions", []).append((slug, name))
        for name, exercise in COURSE.exercises(slug).items():
            for aim in aims_of(exercise):
                tests[aim].setdefault("exercises", []).append((slug, name))
    return tests


def aims_of(exercise: Exercise) -> list[str]:
    """The aims that an exercise tests, each as `chapter.aim`."""
    return [aim if "." in aim else f"{exercise.chapter}.{aim}" for aim in exercise.aims]


class Aims(SphinxDirective):
    """The directive `{aims}`: the aims of the page's chapter, as a list."""

    def run(self) -> list[nodes.Node]:
        slug = self.env.docname.removeprefix("chapters/")
        return self.parse_text_to_nodes(bullets(AIMS[slug].values()))


class AimsTable(SphinxDirective):
    """The directive `{aims-table}`: a table of aims for each chapter."""

    def run(self) -> list[nodes.Node]:
        tests, root = tests_by_aim(), Path(self.env.srcdir)
        tables = []
        for slug, aims in AIMS.items():
            names = {f"{slug}.{aim}": text for aim, text in aims.items()}
            places = question_places(root, slug)
            rows = [
                self.row(places, tests[name], f"{text}<br>`{name}`") for name, text in names.items()
            ]
            page = (root / "chapters" / f"{slug}.md").read_text("utf-8")
            title = next(line for line in page.split("\n") if line.startswith("# "))
            tables.append("\n".join([f"#{title}\n", TABLE_HEAD, *rows]))
        return self.parse_text_to_nodes("\n\n".join(tables), allow_section_headings=True)

    def row(self, places: dict[str, tuple[str, str]], tests: dict, text: str) -> str:
        """A row of the table, in Markdown: aim, sections, questions, exercises."""
        questions = {name: places[name] for _, name in tests.get("questions", [])}
        cells = (
            text,
            "; ".join(dict.fromkeys(heading for _, heading in questions.values())),
            ", ".join(
                anchor_link(page, box_id(name), name) for name, (page, _) in questions.items()
            ),
            ", ".join(
                anchor_link(f"exercises/{slug}", name, name)
                for slug, name in tests.get("exercises", [])
            ),
        )
        return f"| {' | '.join(cells)} |"


def anchor_link(page: str, anchor: str, name: str) -> str:
    """A link, in HTML, to an anchor of a page, whose text may break after an underscore."""
    words = name.replace("_", "_<wbr>")
    return f'<a href="../{page}.html#{anchor}"><code>{words}</code></a>'


def setup(app):
    app.add_directive("aims", Aims)
    app.add_directive("aims-table", AimsTable)
