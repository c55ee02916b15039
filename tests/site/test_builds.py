"""What a build makes of a small book: a fork's addresses and formulas, and each fault named."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from tests import ROOT

ONE = r"""---
description: A page that says in its own words what it is about.
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---

# One

In a sentence ($n$, $d_k$), and $m$ words.

```{math}
:label: scores
S = q \cdot k
```

$$
\begin{aligned} a &= b \\ c &= d \end{aligned}
$$

See {eq}`scores`.
"""
# each line of the page, with what the build says of it; nothing is said of the others
PAGE = {
    "---": "",
    "file_format: mystnb": "",
    "kernelspec: {name: python3, display_name: Python 3}": "",
    "--- ": "",
    "# One": "",
    "Text with a {term}`known term`.": "",
    "{cite:t}`nobody`": 'could not find bibtex key "nobody"',
    "{ref}`no-section`": "undefined label: 'no-section'",
    "{numref}`no-figure`": "undefined label: 'no-figure'",
    "{eq}`no-equation`": "equation not found: no-equation",
    "{term}`no term`": "term not in glossary: 'no term'",
    "{doc}`no-page`": "unknown document: 'no-page'",
    "[a page](no-file.md)": "'no-file.md'",
    "[a section](#no-anchor)": "'no-anchor'",
    "[a sibling](no-anchor-either)": "'no-anchor-either'",
    "```{literalinclude} ../attncourse/one.py": "target not found: attncourse.one.shown",
    ":pyobject: shown": "",
    "```": "",
    r"A formula that nobody can read: $\nosuchcommand$.": r"wrong TeX: Unsupported function name",
    r"$$\frac{1}{$$": "wrong TeX: Unexpected end of input",
}
SOLUTIONS = {
    "---": "",
    "kernelspec: {name: python3}": "",
    "--- ": "",
    "# Exercises: what is wrong": "",
    "## Nobody knows it": "",
    "```{code-cell} python3": "exercise nobody is not one of",
    ":tags: [answer]": "",
    "# exercise: nobody": "",
    "```": "",
    "## Nothing to take out": "",
    "```{code-cell} python3 ": "this answer makes no stub",
    ":tags: [answer] ": "",
    "# exercise: softmax_with_sink": "",
    "``` ": "",
    "## Nothing to mend": "",
    "```{code-cell} python3  ": "is to be fixed: a cell tagged stub, with its code, is missing",
    ":tags: [answer]  ": "",
    "# exercise: cached_attention": "",
    "```  ": "",
    "## Two at once": "",
    "```{code-cell} python3   ": "",
    ":tags: [answer]   ": "",
    "# exercise: prefix_mask": "",
    "def prefix_mask(): ...": "",
    "```   ": "",
    "```{code-cell} python3    ": "an exercise needs a heading of its own",
    ":tags: [answer]    ": "",
    "# exercise: decoder_mask": "",
    "def decoder_mask(): ...": "",
    "```    ": "",
}
FAULTY = {"chapters/one.md": PAGE, "solutions/dot_product.md": SOLUTIONS}
FAULTS = [(name, line) for name, lines in FAULTY.items() for line in lines if lines[line]]
FRAME = {
    "_toc.yml": "format: jb-book\nroot: index\nchapters: [{file: chapters/one}]\n",
    "chapters/one.ipynb": "",
    "reference/references.bib": "",
}
GOOD = FRAME | {"index.md": "# Book\n\nA book.\n", "chapters/one.md": ONE}
BAD = FRAME | {
    "_toc.yml": FRAME["_toc.yml"].replace("one}", "one}, {file: exercises/dot_product}"),
    "exercises/dot_product.md": "```{include} ../solutions/dot_product.md\n```\n",
    "index.md": "# Book\n\nA book.\n\n:::{glossary}\nknown term\n  Known.\n:::\n",
    "attncourse/one.py": "def shown(): ...\n",
}


def paragraphs(lines: list[str]) -> tuple[str, dict[str, int]]:
    """The page, an empty line after each that is not in a fence, and where each line is."""
    text, at, fenced = "", {}, False
    for line in lines:
        at[line] = text.count("\n") + 1
        fenced ^= line.startswith(("```", "---"))
        text += line.rstrip() + ("\n" if fenced else "\n\n")
    return text, at


def build(book: Path, files: dict[str, str], **environment: str) -> subprocess.CompletedProcess:
    """Build a book of these files, with the course's settings and theme."""
    for name, content in files.items():
        (book / name).parent.mkdir(exist_ok=True)
        (book / name).write_text(content, "utf-8")
    shutil.copy(ROOT / "_config.yml", book)
    shutil.copytree(ROOT / "tools" / "theme", book / "tools" / "theme")
    command = [sys.executable, "-m", "tools.site", str(book)]
    env = os.environ | environment
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def fork(tmp_path_factory) -> dict[str, BeautifulSoup]:
    """The pages of a small book, built as the CI of somebody's fork would build it."""
    book = tmp_path_factory.mktemp("fork")
    ci = {"GITHUB_REPOSITORY": "Someone/fork", "GITHUB_SERVER_URL": "https://github.com"}
    done = build(book, GOOD, **ci)
    assert done.returncode == 0, done.stderr
    site = book / "_build" / "html"
    made = ElementTree.parse(site / "sitemap.xml").findall("{*}url/{*}loc")
    assert {one.text for one in made} == {HOME, f"{HOME}chapters/one.html"}
    yield {
        path.relative_to(site).as_posix(): BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for path in site.rglob("*.html")
    } | {"": site}


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> str:
    """What the build of the faulty book says."""
    texts = {name: paragraphs(list(lines))[0] for name, lines in FAULTY.items()}
    done = build(tmp_path_factory.mktemp("bad"), BAD | texts)
    assert done.returncode == 1, done.stdout
    return done.stderr


HOME = "https://someone.github.io/fork/"


def test_every_address_of_a_fork_is_the_fork_s(fork):
    page = fork["chapters/one.html"]
    links = {link["href"] for link in page.select("a[href^=https]")}
    repository = "https://github.com/Someone/fork"
    colab = "https://colab.research.google.com/github/Someone/fork/blob/main/chapters/one.ipynb"
    assert {repository, f"{repository}/edit/main/chapters/one.md", colab} <= links
    assert any(link.startswith(f"{repository}/issues/new?") for link in links)
    assert page.select_one("link[rel=canonical]")["href"] == f"{HOME}chapters/one.html"
    assert page.select_one("meta[property='og:url']")["content"] == f"{HOME}chapters/one.html"
    assert fork["index.html"].select_one("link[rel=canonical]")["href"] == HOME
    for name, text in fork.items():
        assert "attncourse.github.io" not in str(text), name
        assert "github.com/attncourse" not in str(text), name


def test_a_page_may_give_its_description(fork):
    page = fork["chapters/one.html"]
    words = page.select_one("meta[name=description]")["content"]
    assert words == "A page that says in its own words what it is about."
    assert words not in page.article.text


def test_the_404_page_works_at_any_depth_below_the_project(fork):
    for tag in fork["404.html"].select("[href], [src]"):
        address = tag.get("href") or tag.get("src")
        if not address.startswith(("https:", "#", "data:")):
            assert address.startswith("/fork/"), tag
            path = unquote(urlsplit(address).path).removeprefix("/fork/")
            assert (fork[""] / path).exists(), tag


def test_formulas_are_mathml_with_numbers_and_no_program(fork):
    page = fork["chapters/one.html"]
    assert len(page.select("span.math math")) == 3
    boxes = page.select("div.math > .formula:has(> math)")
    assert [box["aria-label"] for box in boxes] == ["Equation 1", "Formula"]
    assert all(box["tabindex"] == "0" for box in boxes)
    assert page.select_one(".eqno").text.startswith("(1)")
    assert page.select_one('a.reference[href="#equation-scores"]').text == "(1)"
    # Temml's own numbers stay out
    assert not page.select(".tml-eqn")
    assert not [name for name, text in fork.items() if "MathJax" in str(text)]


def test_brackets_and_commas_stay_with_their_formula(fork):
    page = fork["chapters/one.html"]
    assert [one.text for one in page.select(".joined")] == ["(n,", "dk),"]
    paragraph = page.find("span", class_="joined").parent
    assert paragraph.text == "In a sentence (n, dk), and m words."


@pytest.mark.parametrize(("name", "line"), FAULTS)
def test_a_fault_stops_the_build_at_its_line(name, line, said):
    _, at = paragraphs(list(FAULTY[name]))
    named = [one for one in said.splitlines() if FAULTY[name][line] in one]
    assert any(re.search(rf"{name}:{at[line]}: (WARNING|ERROR)", one) for one in named), (
        named or said
    )


def test_nothing_is_said_of_what_is_right(said):
    assert len(re.findall("WARNING|ERROR", said)) == len(FAULTS), said
