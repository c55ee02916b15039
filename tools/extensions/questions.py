"""`{question}`: a question of the chapter, which knows the usual mistakes, inside the page."""

from collections.abc import Container
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from attncourse.course.question import chapters
from tools.execute import PACKAGE
from tools.questions import Page, load

from .formulas import mathml


def formula(tex: str) -> str:
    answer = mathml(tex, display=False)
    if "error" in answer:
        raise ValueError(f"wrong TeX in a question, {tex}: {answer['error']}")
    return f'<span class="math notranslate">{answer["html"]}</span>'


# all its formulas are drawn for the name of its script
@cache
def page_of(chapter: str) -> Page:
    """The questions of a chapter."""
    return Page(chapter, load(chapter), formula)


class QuestionBox(SphinxDirective):
    """A question, whose argument is its name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        chapter, name = self.env.docname.rpartition("/")[2], self.arguments[0]
        page, module = page_of(chapter), PACKAGE / "course" / chapter / "questions.py"
        if name not in page.questions:
            known = ", ".join(page.questions) or "none"
            raise self.error(f"{name} is no question of {module.name}: there are {known}")
        self.env.note_dependency(str(module))
        minutes = page.questions[name]["minutes"]
        return [nodes.raw("", page.box(name), format="html", question=name, minutes=minutes)]


def chapters_of(docnames: Container[str]) -> list[str]:
    """The chapters among these pages that have questions."""
    return [chapter for chapter in chapters() if f"chapters/{chapter}" in docnames]


def draw(app, env, docnames):
    """Draw the questions before the pages are read, so that no two processes draw the same."""
    for chapter in chapters_of(docnames):
        load(chapter)


def write_scripts(app, exception):
    """Write the script that the pages of each chapter load when a question is touched."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir, "_static", "questions")
    for chapter in chapters_of(app.env.found_docs):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{chapter}.js").write_text(page_of(chapter).script, "utf-8")


def setup(app):
    app.add_directive("question", QuestionBox)
    app.connect("env-before-read-docs", draw)
    # before minify deletes what no page names
    app.connect("build-finished", write_scripts, priority=800)
