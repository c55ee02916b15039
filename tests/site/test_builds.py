"""What a build makes of a small book: a fork's addresses and formulas, and each fault named."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests import ROOT
from tests.books import FILES, NOTEBOOK, build, write
from tools.colab import RECORD
from tools.execute import BuildError
from tools.newest import write_config
from tools.site import require_all_pages

CHAPTER = r"""# One

In a sentence ($n$, $d_k$), and $m$ words.

```{math}
:label: scores
S = q \cdot k
```

$$
\begin{aligned} a &= b \\ c &= d \end{aligned}
$$

See {eq}`scores`.

```{code-cell}
print(open("runs", "a").write("x"))
```
"""
# each block of the page, with what the build says of it; nothing is said of the others
CHAPTER_BLOCKS = {
    "# One": "",
    "{cite:t}`nobody`": 'could not find bibtex key "nobody"',
    "{ref}`no-section`": "undefined label: 'no-section'",
    "{claim}`one.is_two`": "'claim' reference target not found: one.is_two",
    "[a page](no-file.md)": "'no-file.md'",
    "[a section](#no-anchor)": "'no-anchor'",
    "[a sibling](no-anchor-either)": "'no-anchor-either'",
    "```{literalinclude} ../attncourse/one.py\n:pyobject: shown\n```": "target not found: "
    "attncourse.one.shown",
    "```{schedule}\n- {title: One, whole: [nobody]}\n```": "a schedule: nobody is no chapter",
    "```{schedule}\n- {title: One, path: [one]}\n```": "a week has no path",
    "```{schedule}\n- {title: One, solve: [nobody]}\n```": "a schedule: nobody is no exercise",
    "```{evening}\nchapters/nobody#one\n```": "the evening: chapters/nobody#one: there is no",
    "```{evening}\nchapters/one#nobody\n```": "chapters/one#nobody: chapters/one has no section",
    r"A formula that nobody can read: $\nosuchcommand$.": r"wrong TeX: Unsupported function name",
    r"$$\frac{1}{$$": "wrong TeX: Unexpected end of input",
}
# the settings, the title, and what else Task wants
TASK = "---\nkind: debug\n---\n\n# Attend with a cache\n\n{}\n\n## Hints\n"
EXERCISE_BLOCKS = {
    "Source: {cite:t}`nobody-else`.": 'could not find bibtex key "nobody-else"',
    "```{code-cell} python3\n:tags: [answer]\ndef cached_attention(): ...\n```": "is to be fixed: "
    "a cell tagged stub, with its code, is missing",
}
EXERCISES = "attncourse/course/dot_product/exercises"
MESSAGE_BY_BLOCK = {
    "chapters/one.md": CHAPTER_BLOCKS,
    f"{EXERCISES}/cached_attention.md": EXERCISE_BLOCKS,
}
TEXTS = {
    "chapters/one.md": NOTEBOOK + "\n\n".join(CHAPTER_BLOCKS) + "\n",
    f"{EXERCISES}/cached_attention.md": TASK.format("\n\n".join(EXERCISE_BLOCKS)),
    f"{EXERCISES}/index.md": "# Exercises: what is wrong\n\n- cached_attention\n",
}
FAULTS = [
    (name, block) for name, blocks in MESSAGE_BY_BLOCK.items() for block in blocks if blocks[block]
]
INDEX = '# Book\n\nA book, as <a href="attncourse.zip">one file</a>.\n'
HOME = "https://someone.github.io/fork/"
COLAB_RUN = '{"date": "2026-09-07", "versions": {"torch": "2.11.0", "ipython": "7.34.0"}}'
CI = {"GITHUB_REPOSITORY": "Someone/fork", "GITHUB_SERVER_URL": "https://github.com"}


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    """A small book, built with the environment of a fork's CI."""
    texts = {"chapters/one.md": NOTEBOOK + CHAPTER, "index.md": INDEX, str(RECORD): COLAB_RUN}
    book = write(tmp_path_factory.mktemp("fork"), texts)
    result = build(book, **CI)
    assert result.returncode == 0, result.stderr
    return book


@pytest.fixture(scope="module")
def fork_pages(book) -> dict[str, BeautifulSoup]:
    """The pages of the site of `book`, parsed, by path."""
    site = book / "_build" / "html"
    return {
        path.relative_to(site).as_posix(): BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for path in site.rglob("*.html")
    }


@pytest.fixture(scope="module")
def build_errors(tmp_path_factory) -> str:
    """The error output of the build of a faulty book."""
    toc = FILES["_toc.yml"].replace("one}", "one}, {file: exercises/dot_product}")
    other_files = {
        "_toc.yml": toc,
        "attncourse/one.py": "def shown(): ...\n",
    }
    result = build(write(tmp_path_factory.mktemp("bad"), other_files | TEXTS))
    assert result.returncode == 1, result.stdout
    return result.stderr


def test_nothing_is_done_twice(book):
    # Sphinx has taken the outputs from the cache that the first step filled
    assert (book / "chapters" / "runs").read_text() == "x"
    (book / "chapters" / "runs").unlink()
    # what an editor and a system leave beside the texts: the first is a link that leads nowhere
    (book / "chapters" / ".#one.md").symlink_to("someone@nowhere")
    (book / ".DS_Store").touch()
    assert "up to date" in build(book, **CI).stdout
    # of which no page is made
    (book / "notes.txt").touch()
    result = build(book, **CI)
    assert "the site is in" in result.stdout and "running" not in result.stdout, result.stderr


def test_the_zip_has_the_whole_site_and_its_link_to_itself_leads_to_the_host(book):
    site = book / "_build" / "html"
    assert 'href="attncourse.zip"' in (site / "index.html").read_text()
    with zipfile.ZipFile(site / "attncourse.zip") as archive:
        assert f'href="{HOME}attncourse.zip"' in archive.read("attncourse/index.html").decode()
        paths = {path.relative_to(site) for path in (site, *site.rglob("*"))}
        names = {Path(name).relative_to("attncourse") for name in archive.namelist()}
        assert names == paths - {Path("attncourse.zip")}


def test_a_site_that_lacks_a_page_is_not_deployed(book, tmp_path):
    site = Path(shutil.copytree(book / "_build" / "html", tmp_path / "site"))
    require_all_pages(book, site)
    (site / "chapters" / "one.html").unlink()
    with pytest.raises(BuildError, match=r"lacks 1 of 4 pages: \['chapters/one.html'\]"):
        require_all_pages(book, site)


def test_every_address_of_a_fork_is_the_fork_s(book, fork_pages):
    page = fork_pages["chapters/one.html"]
    links = {link["href"] for link in page.select("a[href^=https]")}
    repository = "https://github.com/Someone/fork"
    notebook = "Someone/fork/blob/main/chapters/one.ipynb"
    raw = "https://raw.githubusercontent.com/Someone/fork/main/chapters/one.ipynb"
    assert {
        repository,
        f"{repository}/edit/main/chapters/one.md",
        f"https://colab.research.google.com/github/{notebook}",
        f"https://molab.marimo.io/github/{notebook}",
        f"https://kaggle.com/kernels/welcome?src={raw}",
    } <= links
    assert any(link.startswith(f"{repository}/issues/new?") for link in links)
    assert page.select_one("link[rel=canonical]")["href"] == f"{HOME}chapters/one.html"
    for name, text in fork_pages.items():
        assert "attncourse.github.io" not in str(text), name
        assert "github.com/attncourse" not in str(text), name
    llms = (book / "_build" / "html" / "llms.txt").read_text("utf-8")
    assert f"[One]({HOME}chapters/one.html)" in llms and f"{repository}/blob/main/exer" in llms


def test_a_page_says_when_the_notebooks_ran_with_colab_s_packages(fork_pages):
    box = " ".join(fork_pages["chapters/one.html"].select_one(".to-run").text.split())
    assert "We last ran the code of all chapters on 7 September 2026" in box
    assert "torch 2.11.0 and IPython 7.34.0." in box


def test_displayed_formulas_have_names_the_focus_and_one_number(fork_pages):
    page = fork_pages["chapters/one.html"]
    boxes = page.select("div.math > .formula:has(> math)")
    assert [box["aria-label"] for box in boxes] == ["Equation 1", "Formula"]
    assert all(box["tabindex"] == "0" for box in boxes)
    # Temml's own numbers stay out
    assert not page.select(".tml-eqn")


def test_brackets_and_commas_stay_with_their_formula(fork_pages):
    page = fork_pages["chapters/one.html"]
    assert [element.text for element in page.select(".joined")] == ["(n,", "dk),"]
    paragraph = page.find("span", class_="joined").parent
    assert paragraph.text == "In a sentence (n, dk), and m words."


@pytest.mark.parametrize(("name", "block"), FAULTS)
def test_a_fault_stops_the_build_at_its_line(name, block, build_errors):
    line = TEXTS[name][: TEXTS[name].index(block)].count("\n") + 1
    messages = [line for line in build_errors.splitlines() if MESSAGE_BY_BLOCK[name][block] in line]
    assert any(re.search(rf"{name}:{line}: (WARNING|ERROR)", message) for message in messages), (
        messages or build_errors
    )


def test_nothing_is_said_of_what_is_right(build_errors):
    assert len(re.findall("WARNING|ERROR", build_errors)) == len(FAULTS), build_errors


@pytest.mark.slow
@pytest.mark.parametrize("builder", ["dummy", "linkcheck", "text"])
def test_sphinx_makes_other_things_than_a_site_of_it(builder, tmp_path):
    box = (
        "# One\n\nThe width is $n$.\n\n```{admonition} More\n:class: dropdown\nIt is folded.\n```\n"
    )
    book, out = write(tmp_path / "book", {"chapters/one.md": box}), tmp_path / "out"
    write_config(book, tmp_path)
    command = [sys.executable, "-m", "sphinx", "-q", "-b", builder, "-c", tmp_path, book, out]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    if builder == "text":
        text = (out / "chapters" / "one.txt").read_text("utf-8")
        assert "The width is n." in text and "It is folded." in text
