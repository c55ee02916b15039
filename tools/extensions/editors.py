"""Code of a page that a reader changes and checks: an editor, and the Python that checks it.

Without scripts it is the code alone. With them, nothing is loaded before an editor is used.
"""

import json
import zlib
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tools import pyodide
from tools.page_python import course_zip
from tools.site import SERVED
from tools.urls import ROOT

from .conf import THEME

SCRIPTS = ("python.js", "notebook.js", "editor.js")
# in _static
SCRIPT = "editor/editor.js"
OPENING = (
    '<div class="answer" data-answer="{name}" data-kept="{kept}" data-chapter="{chapter}" '
    'data-script="{script}">\n'
)
CLOSING = """<p class="learner"><button type="button" data-do="check">Check</button>
{hint}<button type="button" data-do="restart" hidden>Start again</button>
<button type="button" data-do="bring" hidden>Bring my answer back</button>
<button type="button" data-do="stop" hidden>Stop</button>
<small>Tab indents. To leave the editor, press Escape, then Tab. Ctrl+Enter checks.</small></p>
<p data-wait hidden></p>
<div role="status">{said}</div>
</div>
"""
HINT = '<button type="button" data-do="hint">Hint</button>\n'


class editor(nodes.General, nodes.Element):
    """Code that a reader may change, as the answer to an exercise."""


class TryAnswer(SphinxDirective):
    """An answer to an exercise, and below it what its check says at a seed."""

    has_content = True
    required_arguments = 1
    option_spec = {"seed": int}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        # imported here: the checks need torch, and most builds read no answer
        from attncourse.course import COURSE
        from judge.page_worker import Page

        name, source = self.arguments[0], "\n".join(self.content)
        exercise = COURSE.exercise(name)
        result = json.loads(Page(COURSE).check(name, source, self.options.get("seed")))
        kept = f"{self.env.docname}/{name}"
        return [edited(exercise, source, kept=kept, said=in_paragraphs(result["said"]))]


def in_paragraphs(said: str) -> str:
    """What a check says, as HTML: first the sentence, then where it shows."""
    sentence, *others = map(str.strip, said.splitlines())
    return f"<p><strong>{escape(sentence)}</strong></p><p>{'<br>'.join(map(escape, others))}</p>"


def runs_in_page(exercise) -> bool:
    """Whether an exercise can be checked in a page."""
    return exercise.kind != "capstone"


def edited(exercise, source: str, kept: str = "", said: str = "") -> editor:
    """An editor with a first text, and what is said of it.

    What is typed there is kept under the name of the exercise, or another.
    """
    code = nodes.literal_block(source, source, language="python")
    about = {"name": exercise.name, "chapter": exercise.chapter}
    return editor("", code, **about, kept=kept or exercise.name, said=said)


def visit_editor(translator, node):
    script = f"{SCRIPT}?v={version(editor_script(chapters_of(translator.builder.env)))}"
    translator.body.append(OPENING.format(**node.attributes, script=script))


def depart_editor(translator, node):
    has_hints = node["kept"] == node["name"]
    translator.body.append(CLOSING.format(hint=HINT if has_hints else "", said=node["said"]))


def skip_wrapper(translator, node):
    """Write only the code, in formats without scripts."""


def chapters_of(env) -> tuple[str, ...]:
    """The chapters whose exercises are on a page of the book."""
    from attncourse.course import COURSE

    return tuple(one for one in COURSE.chapters() if f"exercises/{one}" in env.found_docs)


def version(content: bytes) -> str:
    """What tells this content from an earlier one of the same name."""
    return sha256(content).hexdigest()[:8]


@cache
def pyodide_files() -> dict[str, bytes]:
    """Pyodide's files, packed, by name; none where they were not fetched."""
    if not pyodide.is_fetched():
        return {}
    return {
        f"{name}.zlib": zlib.compress((pyodide.FOLDER / name).read_bytes(), 9)
        for name in pyodide.FILES
    }


@cache
def course_files(chapters: tuple[str, ...]) -> dict[str, bytes]:
    """What the editors of these chapters load from the site, by name."""
    from attncourse.course import COURSE

    files = {"worker.js": (THEME / "editor" / "worker.js").read_bytes()}
    for chapter in chapters:
        names = [one.name for one in COURSE.exercises(chapter).values() if runs_in_page(one)]
        files[f"{chapter}.zip"] = course_zip(chapter, names)
        files[f"{chapter}.ipynb"] = (ROOT / "exercises" / f"{chapter}.ipynb").read_bytes()
    return files


def addresses(chapters: tuple[str, ...]) -> dict:
    """Where each file is, seen from the editors' script; of what runs, size and digest, too."""
    packed, course = pyodide_files(), course_files(chapters)

    def url(name: str, content: bytes) -> str:
        return f"../{SERVED.name}/{name}?v={version(content)}"

    def about_pyodide(name: str, expected: pyodide.Digest) -> dict:
        content = packed.get(f"{name}.zlib")
        return {
            "role": "numpy" if name == pyodide.NUMPY else name,
            "url": url(f"{name}.zlib", content) if content else pyodide.CDN + name,
            "size": len(content) if content else expected.size,
            "sha256": expected.sha256,
            "packed": bool(content),
        }

    def about_course(content: bytes, name: str) -> dict:
        size, sha256 = pyodide.Digest.of(content)
        return {"role": "course", "url": url(name, content), "size": size, "sha256": sha256}

    return {
        "version": pyodide.VERSION,
        "worker": url("worker.js", course["worker.js"]),
        "python": [about_pyodide(*one) for one in pyodide.FILES.items()],
        "chapters": {one: about_course(course[f"{one}.zip"], f"{one}.zip") for one in chapters},
        "notebooks": {one: url(f"{one}.ipynb", course[f"{one}.ipynb"]) for one in chapters},
    }


def python_megabytes() -> int:
    """How much is loaded before the first check."""
    return round(sum(one["size"] for one in addresses(())["python"]) / 1e6)


@cache
def editor_script(chapters: tuple[str, ...]) -> bytes:
    """The script of the editors, which knows all that it may load."""
    texts = [(THEME / "editor" / name).read_text("utf-8") for name in SCRIPTS]
    files = json.dumps(addresses(chapters))
    return "\n".join([f"globalThis.attncourseFiles = {files};", *texts]).encode()


def make_script(app, env, docnames):
    """Make the script before the processes that write pages begin."""
    if app.builder.format == "html":
        editor_script(chapters_of(env))


def write_files(app, exception):
    """Write the script of the editors, and what it loads."""
    if exception or app.builder.format != "html" or not (chapters := chapters_of(app.env)):
        return
    served = {**pyodide_files(), **course_files(chapters)}
    files = {SERVED / name: content for name, content in served.items()}
    for name, content in {f"_static/{SCRIPT}": editor_script(chapters), **files}.items():
        path = Path(app.outdir, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


def setup(app):
    app.add_node(editor, html=(visit_editor, depart_editor), text=(skip_wrapper, skip_wrapper))
    app.add_directive("try-answer", TryAnswer)
    app.connect("env-before-read-docs", make_script)
    # after minify, which deletes what no page names
    app.connect("build-finished", write_files, priority=950)
