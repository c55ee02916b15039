"""What the notebooks in the tree do not show: forms that no chapter has yet, and named faults.

`test_release.py` compares those notebooks with their texts.
"""

import re
import shutil
from base64 import b64decode
from pathlib import Path

import nbformat
import pytest

from tests import ROOT
from tools.book import Book
from tools.notebooks import chapter_notebook, deeper_notebook, exercise_notebook
from tools.release import MAKERS

REPOSITORY = "https://github.com/someone/course"
FIRST = "https://someone.github.io/course/chapters/first.html"
SECOND = "https://someone.github.io/course/chapters/second.html"
OUTER = "```{literalinclude} ../package/code.py\n:pyobject: outer\n```"


def convert(course: Path, text: str) -> str:
    """The notebook text of the second chapter when this is its source."""
    (course / "chapters/second.md").write_text(f"# Second\n\n{text}")
    copy = chapter_notebook("second", Book(REPOSITORY, course)).cells[2:]
    return "\n\n".join(cell.source for cell in copy).removeprefix("# 2. Second\n\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "{cite:t}`one,\none` {doc}`first`",
            "[Noether (1918)](https://example.org) and [Noether (1918)](https://example.org) "
            f"[The first]({FIRST})",
        ),
        ("$$\nQ % why\n\\keys$$ (eq-two)\n{eq}`eq-two`", "$$Q \\keys \\tag{2.1}$$\n\n(2.1)"),
        ("[{eq}`eq-one`](first.md#one)", f"[[(1.1)]({FIRST}#equation-eq-one)]({FIRST}#one)"),
        ("[c](../package/code.py)", f"[c]({REPOSITORY}/blob/main/package/code.py)"),
        ("[d](#b)\n\n(old)=\n## B", f"[d]({SECOND}#b)\n\n## 2.1. B"),
        ("$a_{i}`b`$ \\$1 {term}`a <b>` $5\n\n{term}`a\n<b>` $x$", "$a_{i}`b`$ \\$1 a $5\n\na $x$"),
        (
            OUTER,
            "\nimport math as m\nfrom package.code import LIMIT\n\n\n"
            "def outer():\n    return outer(LIMIT, m)",
        ),
    ],
)
def test_each_thing_of_myst_becomes_plain_markdown(course, text, expected):
    assert convert(course, text).endswith(expected)


def test_a_drawing_is_a_picture_within_a_cell_of_its_own_with_its_words_and_caption(course):
    (course / "drawings/png").mkdir(parents=True)
    shutil.copy(ROOT / "drawings/png/masks.png", course / "drawings/png")
    source = "```{drawing} masks\n:name: fig-masks\nFour *masks*.\n```"
    (course / "chapters/second.md").write_text(f"# Second\n\nBefore.\n\n{source}\n\nAfter.\n")
    _, picture, after = chapter_notebook("second", Book(REPOSITORY, course)).cells[2:]
    image, caption = picture.source.split("\n\n")
    assert caption == "**Fig. 2.1.** Four *masks*." and after.source == "After."
    match = re.fullmatch(r'<img width="352" alt="(.*)" src="data:image/png;base64,(.*)">', image)
    assert match and match[1].startswith("Four tables of weights")
    assert b64decode(match[2]) == (ROOT / "drawings/png/masks.png").read_bytes()


def test_a_chapter_ends_with_the_ways_on_and_its_sections_are_counted_on_where_it_goes_deeper(
    course,
):
    end = "```{chapter-end}\nWhy a second?\n```"
    (course / "chapters/first.md").write_text(f"# The first\n\n## One\n\n## Summary\n\n{end}\n")
    (course / "deeper/first.md").write_text("# The first: deeper\n\n## Two\n\n### Part\n")
    book = Book(REPOSITORY, course)
    *_, one, summary = (cell.source for cell in chapter_notebook("first", book).cells)
    assert one == "## 1.1. One"
    site = "https://someone.github.io/course"
    assert summary == "\n\n".join(
        [
            "## Summary",
            "**That is the chapter.**",
            "Why a second?",
            f"- [The second]({site}/chapters/second.html)\n"
            f"- [Exercises]({site}/exercises/first.html)\n"
            f"- [The first: deeper]({site}/deeper/first.html)",
        ]
    )
    about, _, title, two, part = (cell.source for cell in deeper_notebook("first", book).cells)
    assert f"[The first]({site}/chapters/first.html), a chapter of" in about
    assert (title, two, part) == ("# The first: deeper", "## 1.2. Two", "### 1.2.1. Part")


def test_no_notebook_shows_a_picture_that_lies_elsewhere():
    for path in [path for folder in MAKERS for path in ROOT.glob(f"{folder}/*.ipynb")]:
        texts = [
            cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"
        ]
        assert not re.search(r"!\[|<img(?![^>]* src=\"data:)", "\n".join(texts)), path


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("Text\n\n```{mermaid}\nx\n```", 5, "'table', 'aims'], not mermaid"),
        ("````{admonition} A\n:class: x\n\n{plot}`x`\n````", 6, "'numref', 'term'], not plot"),
        ("- a list\n\n  ```{note}\n  x\n  ```", 5, "a notebook cannot show ```{note}"),
        ("{eq}`nowhere`", 3, "no page has the label nowhere"),
        ("{cite:p}`one, nobody`", 3, "references.bib lacks nobody"),
        ("{claim}`linear.nothing`", 3, "no claim is called linear.nothing"),
        ("{doc}`nowhere`", 3, "_toc.yml lacks chapters/nowhere"),
        ("[a](nowhere.md)", 3, "No such file or directory"),
        ("a[^note]", 3, "a notebook cannot show [^"),
        ("![c](../package/code.py)", 3, "a notebook cannot show !["),
        ("a\n\n+++\nb", 5, "a notebook cannot show +++"),
        (OUTER.replace("outer", "inner"), 3, "'inner' not found"),
        ("```{include} ../package/code.py\n:start-after: none\n```", 3, "not found: none"),
    ],
)
def test_what_cannot_be_converted_is_refused_with_file_and_line(course, text, line, words):
    with pytest.raises(ValueError) as error:
        convert(course, text)
    assert f"chapters/second.md:{line}: " in str(error.value) and words in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("[answer]", "a: b"), "twice.md: code-cell cell 0 at line 9 could not be read"),
        (("Twice", "{eq}`nowhere`"), "twice.md:7: no page has the label nowhere"),
    ],
)
def test_a_slip_in_a_text_is_named_with_its_file(course, change, words):
    path = course / "attncourse/course/first/exercises/twice.md"
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(ValueError, match=re.escape(words)):
        exercise_notebook("first", Book(REPOSITORY, course))


def test_what_several_texts_share_is_included(course):
    cells = exercise_notebook("first", Book(REPOSITORY, course)).cells
    assert "said once" in "".join(cell.source for cell in cells)
