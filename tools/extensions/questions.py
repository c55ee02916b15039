"""`{question}`: a question of the chapter, which knows the usual mistakes, inside the page."""

from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

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
        chapter, name = chapter_of(self.env.docname), self.arguments[0]
        module = PACKAGE / "course" / chapter / "questions.py"
        page = page_of(chapter)
        if name not in page.known:
            known = ", ".join(page.known) or "none"
            raise self.error(f"{name} is no question of {module.name}: there are {known}")
        self.env.note_dependency(str(module))
        return [nodes.raw("", page.box(name), format="html", question=name)]


def chapter_of(docname: str) -> str:
    """The chapter that a page belongs to."""
    return docname.rpartition("/")[2]


def draw(app, env, docnames):
    """Draw the questions before the pages are read, so that no two processes draw the same."""
    for docname in docnames:
        load(chapter_of(docname))


def write_scripts(app, exception):
    """Write the script that the pages of each chapter load when a question is touched."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir, "_static", "questions")
    folder.mkdir(parents=True, exist_ok=True)
    for docname in app.env.found_docs:
        if (page := page_of(chapter_of(docname))).known:
            (folder / f"{page.chapter}.js").write_text(page.script, "utf-8")


def setup(app):
    app.add_directive("question", QuestionBox)
    app.connect("env-before-read-docs", draw)
    # before minify deletes what no page names
    app.connect("build-finished", write_scripts, priority=800)
