"""What must stop the build: one book that has each fault, and what the build says of it."""

import shutil
import subprocess
import sys

import pytest

from tests import ROOT
from tools.extensions.lint_a11y import Unnamed

SQUARE = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="4" height="4"/></svg>'
# each line of the page, with what the build says of it; nothing is said of the others
PAGE = {
    "---": "",
    "file_format: mystnb": "",
    "kernelspec: {name: python3, display_name: Python 3}": "",
    "--- ": "",
    "# One": "",
    "Text with a {term}`known term`, and `mentioned`.": "",
    "![](square.svg)": "the image chapters/square.svg has no alt text",
    "![a square](square.svg)": "",
    "{cite:t}`nobody`": 'could not find bibtex key "nobody"',
    "{ref}`no-section`": "undefined label: 'no-section'",
    "{numref}`no-figure`": "undefined label: 'no-figure'",
    "{eq}`no-equation`": "equation not found: no-equation",
    "{term}`no term`": "term not in glossary: 'no term'",
    "{doc}`no-page`": "unknown document: 'no-page'",
    "[a page](no-file.md)": "'no-file.md'",
    "[a section](#no-anchor)": "'no-anchor'",
    "[a sibling](no-anchor-either)": "'no-anchor-either'",
    "```{figure} square.svg": "the image chapters/square.svg has no alt text",
    "A caption.": "",
    "```": "",
    "```{literalinclude} ../attncourse/one.py": "target not found: attncourse.one.shown",
    ":pyobject: shown": "",
    "``` ": "",
    "```{code-cell} python3": "",
    "from IPython.display import HTML": "",
    f"HTML('{SQUARE}')": "<svg> has no name",
    "```  ": "",
    "<details><summary>Twice</summary>one</details>": "",
    "<details><summary>Twice</summary>two</details>": "",
}
FILES = {
    "_toc.yml": "format: jb-book\nroot: index\nchapters: [{file: chapters/one}]\n",
    "index.md": "# Book\n\nA book.\n\n"
    ":::{glossary}\nknown term\n  Known.\n\nidle term\n  Not.\n:::\n",
    "chapters/one.ipynb": "",
    "chapters/square.svg": SQUARE,
    "attncourse/one.py": "def shown(): ...\n\n\ndef mentioned(): ...\n\n\ndef forgotten(): ...\n",
    "reference/references.bib": "",
}


def paragraphs(lines: list[str]) -> tuple[str, dict[str, int]]:
    """The page, an empty line after each that is not in a fence, and where each line is."""
    text, at, fenced = "", {}, False
    for line in lines:
        at[line] = text.count("\n") + 1
        fenced ^= line.startswith(("```", "---"))
        text += line.rstrip() + ("\n" if fenced else "\n\n")
    return text, at


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> str:
    """What the build of the faulty book says."""
    book = tmp_path_factory.mktemp("book")
    text, _ = paragraphs(list(PAGE))
    for name, content in (FILES | {"chapters/one.md": text}).items():
        (book / name).parent.mkdir(exist_ok=True)
        (book / name).write_text(content, "utf-8")
    shutil.copy(ROOT / "_config.yml", book)
    shutil.copytree(ROOT / "tools" / "theme", book / "tools" / "theme")
    command = [sys.executable, "-m", "tools.site", str(book)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stdout
    return done.stderr


@pytest.mark.parametrize("line", [line for line in PAGE if PAGE[line]])
def test_a_fault_stops_the_build_at_its_line(line, said):
    _, at = paragraphs(list(PAGE))
    named = [one for one in said.splitlines() if PAGE[line] in one]
    assert any(f"chapters/one.md:{at[line]}: WARNING" in one for one in named), named or said


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("attncourse/one.py:7", "no chapter teaches attncourse.one.forgotten"),
        ("index.md", "no other page links to the term 'idle term'"),
        ("chapters/one.md", "2 folded boxes are called 'Twice'"),
    ],
)
def test_a_fault_of_the_whole_stops_the_build_and_is_placed(where, what, said):
    assert any(where in line and what in line for line in said.splitlines()), said


def test_nothing_is_said_of_what_is_right(said):
    wrong = len([line for line in PAGE if PAGE[line]]) + 3
    # the listing's function is not in the reference, nor is the one that the text names
    assert said.count("WARNING") == wrong + 1, said


@pytest.mark.parametrize(
    ("html", "unnamed"),
    [
        ("<img src='a.png'>", ["<img src='a.png'>"]),
        ("<img src='a.png' alt=''>", ["<img src='a.png'>"]),
        ("<img src='a.png' alt='a'>", []),
        ("<svg><text>1</text></svg>", ["<svg>"]),
        ("<svg role='img' aria-label='a'></svg>", []),
        ("<svg aria-hidden='true'></svg>", []),
        ("<svg role='img'></svg>", ["<svg>"]),
        ("<div role='img' aria-label='a'><br><svg></svg></div>", []),
        ("<div role='img' aria-label='a'></div><svg></svg>", ["<svg>"]),
        ("<div role='img'></div>", ["<div>"]),
    ],
)
def test_a_picture_needs_a_name(html, unnamed):
    assert Unnamed(html).pictures == unnamed


def test_a_box_is_called_what_its_summary_says():
    html = "<details><summary>Hint <b>1</b></summary>Not this.</details>"
    assert Unnamed(html).boxes == ["Hint 1"]
