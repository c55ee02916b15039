"""`{aims}`, the aims of the page's chapter, and `{aims-table}`: of all, with what tests each."""

from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from attncourse.course import COURSE
from attncourse.course.aims import AIMS, bullets
from judge.exercise import Exercise
from tools.questions import box_id, sections

from .questions import page_of

HEAD = "| You can | Sections | Questions | Exercises |\n| --- | --- | --- | --- |"


def tested_by() -> dict[str, dict[str, list[tuple[str, str]]]]:
    """For each aim, `chapter.aim`, what tests it: chapter and name of exercises and questions."""
    found: dict = {f"{slug}.{aim}": {} for slug in AIMS for aim in AIMS[slug]}
    for slug in AIMS:
        for name, one in page_of(slug).known.items():
            found[f"{slug}.{one['aim']}"].setdefault("questions", []).append((slug, name))
        for name, one in COURSE.exercises(slug).items():
            for aim in aims_of(one):
                found[aim].setdefault("exercises", []).append((slug, name))
    return found


def aims_of(exercise: Exercise) -> list[str]:
    """The aims that an exercise tests, each as `chapter.aim`."""
    return [aim if "." in aim else f"{exercise.chapter}.{aim}" for aim in exercise.aims]


class Aims(SphinxDirective):
    """The list of what the chapter promises."""

    def run(self) -> list[nodes.Node]:
        slug = self.env.docname.removeprefix("chapters/")
        return self.parse_text_to_nodes(bullets(AIMS[slug].values()))


class AimsTable(SphinxDirective):
    """A table for each chapter."""

    def run(self) -> list[nodes.Node]:
        tested, parts = tested_by(), []
        for slug, aims in AIMS.items():
            names = {f"{slug}.{aim}": text for aim, text in aims.items()}
            page = Path(self.env.srcdir, "chapters", f"{slug}.md").read_text("utf-8")
            place = sections(page)
            rows = [
                self.row(place, tested[name], f"{text}<br>`{name}`") for name, text in names.items()
            ]
            title = next(line for line in page.split("\n") if line.startswith("# "))
            parts.append("\n".join([f"#{title}\n", HEAD, *rows]))
        slug = self.env.docname.removeprefix("chapters/")
        return self.parse_text_to_nodes("\n\n".join(parts), allow_section_headings=True)

    def row(self, place: dict[str, str], tests: dict, text: str) -> str:
        questions, exercises = tests.get("questions", []), tests.get("exercises", [])
        cells = (
            text,
            "; ".join(dict.fromkeys(place[name] for _, name in questions)),
            ", ".join(link(f"chapters/{slug}", box_id(name), name) for slug, name in questions),
            ", ".join(link(f"exercises/{slug}", name, name) for slug, name in exercises),
        )
        return f"| {' | '.join(cells)} |"


def link(page: str, anchor: str, name: str) -> str:
    # a long name goes on in the next line after one of its words
    words = name.replace("_", "_<wbr>")
    return f'<a href="../{page}.html#{anchor}"><code>{words}</code></a>'


def setup(app):
    app.add_directive("aims", Aims)
    app.add_directive("aims-table", AimsTable)
