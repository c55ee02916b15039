"""A chapter's copy says what its text says, numbered as the site numbers it."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tools.book import Book
from tools.markdown import python_object
from tools.notebooks import chapter_notebook
from tools.setup_cell import setup_cell

HERE = "https://github.com/someone/course"
SITE = "https://someone.github.io/course"
HEADER = "---\nkernelspec:\n  display_name: Python 3\n  name: python3\n---\n"


def converted(course: Path, text: str) -> str:
    """What the second chapter's copy says when this is its text."""
    (course / "chapters/second.md").write_text(f"{HEADER}{text}")
    notebook = chapter_notebook("second", Book(HERE, course))
    return "\n\n".join(cell.source for cell in notebook.cells[2:])


def test_numbers_are_those_of_the_site(course):
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", course, course / "built"]
    subprocess.run(command, check=True, capture_output=True)
    notebooks = {slug: chapter_notebook(slug, Book(HERE, course)) for slug in ("first", "second")}
    for slug, notebook in notebooks.items():
        page = (course / f"built/chapters/{slug}.html").read_text()
        copy = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        shown = re.findall(r'class="eqno">\(([\d.]+)\)', page)
        assert shown == re.findall(r"\\tag\{([\d.]+)\}", copy)
        captions = re.findall(r'class="caption-number">(.+?) </span>', page)
        assert Counter(captions) == Counter(re.findall(r"\*\*((?:Fig\.|Table) [\d.]+)\.\*\*", copy))
        sections = re.findall(r'<h\d><span class="section-number">([\d.]+) </span>', page)
        assert sections == re.findall(r"^#+ ([\d.]+) ", copy, re.MULTILINE)
        references = re.findall(r'class="(?:std std-numref|std std-ref)">(.+?)</span>', page)
        for words in references:
            assert words in copy
        for document, anchor in re.findall(rf"{SITE}/([\w/]+)\.html#([\w-]+)", copy):
            assert f'id="{anchor}"' in (course / f"built/{document}.html").read_text()
        assert shown


def test_the_chapter_reads_well_without_the_site(course):
    notebook = chapter_notebook("first", Book(HERE, course))
    text = {cell.id: cell.source for cell in notebook.cells}
    badge = "https://colab.research.google.com/github/someone/course/blob/main/chapters/first.ipynb"
    assert badge in text["about"] and f"{SITE}/chapters/first.html" in text["about"]
    assert text["setup"] == setup_cell(HERE, course)
    assert (
        "[Vaswani et al. (2017)](https://arxiv.org/abs/1706.03762) and keys$x_1$"
        in (text["the-first-chapter"])
    )
    assert r"$$\begin{split}a = b \\ c = d\end{split} \tag{1.1}$$" in text["the-first-chapter"]
    assert "$$unnumbered$$" in text["the-first-chapter"]
    assert (
        "> **Note.**\n>\n> It opens here\n> with (1.2) inside.\n>\n> $$e = m c^2 \\tag{1.2}$$"
        in (text["a-section"])
    )
    assert f"![a grey square]({HERE}/raw/main/chapters/picture.png)" in text["a-section"]
    assert "**Fig. 1.1.** The *caption*." in text["a-section"]
    assert text["a-section-3"] == "**Fig. 1.2.** What the cell draws."
    assert (
        "| left | right |\n| --- | --- |\n| $\\vert q\\vert $ | a longer entry |" in text["deeper"]
    )
    assert text["last"] == "## 1.2. Last\n\nFig. 1.1, Fig. 1.2, Table 1.1, Part 1.1."


def test_a_cell_hidden_on_the_site_is_hidden_in_the_copy(course):
    notebook = chapter_notebook("first", Book(HERE, course))
    (cell,) = [cell for cell in notebook.cells if "hide-input" in cell.metadata.get("tags", [])]
    assert cell.metadata["cellView"] == "form" and cell.metadata["jupyter"]["source_hidden"]
    assert "mystnb" not in cell.metadata


def test_what_another_page_holds_is_linked(course):
    page = f"{SITE}/chapters/first.html"
    last = chapter_notebook("second", Book(HERE, course)).cells[-1].source
    assert f"[(1.1)]({page}#equation-eq-one), [A section]({page}#sec-two)" in last
    assert f"[The first `chapter`]({page}), [Fig. 1.1]({page}#fig-one) and (2.1)" in last


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (":::{warning}\nMind *it*.\n:::", "> **Warning.**\n>\n> Mind *it*."),
        ("```{admonition} A $q$\nBody\n```", "> **A $q$**\n>\n> Body"),
        (
            "::::{tip}\nOut\n\n:::{note}\nIn\n:::\n::::",
            "> **Tip.**\n>\n> Out\n>\n> > **Note.**\n> >\n> > In",
        ),
        (
            ":::{admonition} More\n:class: dropdown tip\nBody\n:::",
            "<details>\n<summary><b>More</b></summary>\n\nBody\n\n</details>",
        ),
        (
            ":::{dropdown} More\nBody\n:::",
            "<details>\n<summary><b>More</b></summary>\n\nBody\n\n</details>",
        ),
        (
            "```{literalinclude} ../package/code.py\n:pyobject: A.b\n:language: python\n```",
            f"From [`package/code.py`]({HERE}/blob/main/package/code.py):\n\n"
            "```python\n@property\ndef b(self):\n    return 1\n```",
        ),
        (
            '```{include} ../package/code.py\n:start-after: "@property"\n:end-before: "(self"\n```',
            "def b",
        ),
        (
            "```{code-block} python\n:caption: How\nx\n```",
            "```python\nx\n```\n\n**Listing 2.1.** How",
        ),
        (
            ":::{table} Sizes\n:name: tab\n| a |\n|---|\n| 1 |\n:::",
            "**Table 2.1.** Sizes\n\n| a |\n|---|\n| 1 |",
        ),
        (
            "```{image} picture.png\n:alt: grey\n```",
            f"![grey]({HERE}/raw/main/chapters/picture.png)",
        ),
        (
            "```{math} x\n```\n\n{cite:p}`two, one`",
            "$$x$$\n\n([de la Cruz and Müller, 2001](https://doi.org/10.1/x); "
            "[Noether, 1918](https://example.org))",
        ),
        (
            "[](first.md) [a](#sec-two) [b](https://example.org/a_(b)) [](#sec-two)",
            f"[]({SITE}/chapters/first.html) [a]({SITE}/chapters/first.html#sec-two) "
            f"[b](https://example.org/a_(b)) [A section]({SITE}/chapters/first.html#sec-two)",
        ),
        ("% a remark\ntext `{eq}`x` and $a_{i}`b`$", "text `{eq}`x` and $a_{i}`b`$"),
        ("```python\n# no heading\n{eq}`x`\n```", "```python\n# no heading\n{eq}`x`\n```"),
    ],
)
def test_each_thing_of_myst_becomes_plain_markdown(course, text, wanted):
    assert converted(course, text) == wanted


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("Text\n\n```{mermaid}\nx\n```", 8, "{mermaid} is not one of"),
        (":::{note}\n\n```{plot}\n```\n:::", 8, "{plot} is not one of"),
        ("One line\nand {kbd}`x`", 7, "{kbd} is not one of"),
        (":::{note} first\nthen\nlast {kbd}`x`\n:::", 8, "{kbd} is not one of"),
        ("- a list\n\n  ```{note}\n  x\n  ```", 8, "not within a list"),
        ("{eq}`nowhere`", 6, "no page has the label nowhere"),
        ("{cite:p}`nobody`", 6, "references.bib has no nobody"),
        ("{doc}`nowhere`", 6, "the table of contents has no chapters/nowhere"),
        ("[a](nowhere.md)", 6, "nowhere.md is not a file of the course"),
        ("[a](../../etc/passwd)", 6, "is not a file of the course"),
        ("[a](#nowhere)", 6, "no page has the label nowhere"),
        ("a[^note]", 6, "cannot show [^note]"),
        ("{{ name }}", 6, "cannot show {{"),
        ("\\begin{align}\nx\n\\end{align}", 6, "between $$ and $$"),
        ("$$\nx", 6, "$$ is never closed"),
        (":::{note}\nx", 6, ":::{note} is never closed"),
        ("```{literalinclude} ../package/code.py\n:pyobject: C\n```", 6, "code.py has no C"),
        ("```{literalinclude} ../package/code.py\n:lines: 1\n```", 6, "not ['lines']"),
        ("```{include} ../package/code.py\n:start-after: nowhere\n```", 6, "no 'nowhere'"),
        ("```{include} ../package/code.py\n:lines: 1\n```", 6, "include takes no lines"),
        ("```{list-table}\n* - a\n  - b\n* - c\n```", 6, "rows of the list-table differ"),
        ("text\n\n(label)=\n", 8, "nothing follows the label label"),
    ],
)
def test_what_cannot_be_converted_is_refused_with_file_and_line(course, text, line, words):
    with pytest.raises(ValueError) as error:
        converted(course, text)
    assert f"chapters/second.md:{line}: " in str(error.value) and words in str(error.value)


@pytest.mark.parametrize("name", ["A", "A.b"])
def test_an_included_object_is_valid_python_with_its_decorators(course, name):
    code = python_object((course / "package/code.py").read_text(), name)
    compile(code, name, "exec")
    assert "@property" in code
