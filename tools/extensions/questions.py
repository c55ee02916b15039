"""`{question}`: a question of the chapter, which knows the usual mistakes, inside the page."""

import json
from functools import lru_cache
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tools.questions import FOLDER, Page, kept

from .formulas import mathml


def formula(tex: str) -> str:
    answer = mathml(tex, display=False)
    if "error" in answer:
        raise ValueError(f"wrong TeX in a question, {tex}: {answer['error']}")
    return f'<span class="math notranslate">{answer["html"]}</span>'


def page_of(chapter: str, root: Path) -> Page:
    """The questions of a chapter of the course in that folder."""
    return drawn_page(chapter, json.dumps(kept(chapter, root)))


# all its formulas are drawn for the name of its script
@lru_cache(maxsize=32)
def drawn_page(chapter: str, known: str) -> Page:
    return Page(chapter, json.loads(known), formula)


class QuestionBox(SphinxDirective):
    """A question, whose argument is its name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        chapter, name = self.env.docname.rpartition("/")[2], self.arguments[0]
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(root / FOLDER / f"{chapter}.json"))
        page = page_of(chapter, root)
        if name not in page.known:
            known = ", ".join(page.known) or "none"
            raise self.error(
                f"{name} is no question of attncourse/questions/{chapter}.py that `make release` "
                f"has drawn: there are {known}"
            )
        return [nodes.raw("", page.box(name), format="html", question=name)]


def write_scripts(app, exception):
    """Write the script that the pages of each chapter load when a question is touched."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir, "_static", "questions")
    for path in Path(app.srcdir, FOLDER).glob("*.json"):
        folder.mkdir(parents=True, exist_ok=True)
        script = page_of(path.stem, Path(app.srcdir)).script
        (folder / f"{path.stem}.js").write_text(script, "utf-8")


def setup(app):
    app.add_directive("question", QuestionBox)
    # before minify deletes what no page names
    app.connect("build-finished", write_scripts, priority=800)
