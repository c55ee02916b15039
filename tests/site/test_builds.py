"""What a build makes of a small book: a fork's addresses and formulas, and each fault named."""

import zipfile
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from tests.books import NOTEBOOK, build, write
from tools.extensions.lint_a11y import unnamed
from tools.extensions.no_external import external

DESCRIPTION = "A page that says in its own words what it is about."
ONE = r"""# One

In a sentence ($n$, $d_k$), and $m$ words.

```{math}
:label: scores
S = q \cdot k
```

$$
a &= b \\
c &= d
$$

See {eq}`scores` and

\begin{align}
w &= \mathrm{softmax}(S)
\end{align}

```{code-cell}
print(open("runs", "a").write("x"))
```
"""
SQUARE = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="4" height="4"/></svg>'
# each block of the page, with what the build says of it; nothing is said of the others
PAGE = {
    "# One": "",
    "Text with a {term}`known term`.": "",
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
    "```{figure} square.svg\nA caption.\n```": "the image chapters/square.svg has no alt text",
    "```{literalinclude} ../attncourse/one.py\n:pyobject: shown\n```": "target not found: "
    "attncourse.one.shown",
    f"```{{code-cell}}\nfrom IPython.display import HTML\nHTML('{SQUARE}')\n```": "<svg> has no "
    "name",
    r"A formula that nobody can read: $\nosuchcommand$.": r"wrong TeX: Unsupported function name",
    r"$$\frac{1}{$$": "wrong TeX: Unexpected end of input",
    '<img alt="A picture" src="https://elsewhere.example/a.png">': "https://elsewhere.example/a.png",
    "<details><summary>Twice</summary>one</details>": "",
    "<details><summary>Twice</summary>two</details>": "",
}
TEXT = NOTEBOOK + "\n\n".join(PAGE) + "\n"
FAULTS = [block for block in PAGE if PAGE[block]]
INDEX = """\
# Book

A book, as <a href="attncourse.zip">one file</a>.

:::{glossary}
known term
  Known.

idle term
  Not.
:::
"""
HOME = "https://someone.github.io/fork/"
CI = {"GITHUB_REPOSITORY": "Someone/fork", "GITHUB_SERVER_URL": "https://github.com"}


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    """A small book, built as the CI of somebody's fork would build it."""
    head = NOTEBOOK.replace("---", f"---\ndescription: {DESCRIPTION}", 1)
    used = INDEX.partition(":::")[0]
    book = write(tmp_path_factory.mktemp("fork"), one=head + ONE, index=used)
    done = build(book, **CI)
    assert done.returncode == 0, done.stderr
    return book


@pytest.fixture(scope="module")
def fork(book) -> dict[str, BeautifulSoup]:
    """The pages of that book's site."""
    site = book / "_build" / "html"
    return {
        path.relative_to(site).as_posix(): BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for path in site.rglob("*.html")
    }


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> str:
    """What the build of a faulty book says."""
    others = {"chapters/square.svg": SQUARE, "attncourse/one.py": "def shown(): ...\n"}
    done = build(write(tmp_path_factory.mktemp("bad"), one=TEXT, index=INDEX, **others))
    assert done.returncode == 1, done.stdout
    return done.stderr


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
    done = build(book, **CI)
    assert "the site is in" in done.stdout and "running" not in done.stdout, done.stderr


def test_the_zip_has_the_whole_site_and_its_link_to_itself_leads_to_the_host(book):
    site = book / "_build" / "html"
    assert 'href="attncourse.zip"' in (site / "index.html").read_text()
    with zipfile.ZipFile(site / "attncourse.zip") as archive:
        assert f'href="{HOME}attncourse.zip"' in archive.read("attncourse/index.html").decode()
        files = {path.relative_to(site) for path in site.rglob("*") if path.is_file()}
        names = {Path(name).relative_to("attncourse") for name in archive.namelist()}
        assert names == files - {Path("attncourse.zip")}


def test_every_address_of_a_fork_is_the_fork_s(book, fork):
    sitemap = ElementTree.parse(book / "_build" / "html" / "sitemap.xml").findall("{*}url/{*}loc")
    assert {one.text for one in sitemap} == {HOME, f"{HOME}chapters/one.html"}
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
    assert words == DESCRIPTION and words not in page.article.text


def test_the_404_page_works_at_any_depth_below_the_project(book, fork):
    for tag in fork["404.html"].select("[href], [src]"):
        address = tag.get("href") or tag.get("src")
        if not address.startswith(("https:", "#", "data:")):
            assert address.startswith("/fork/"), tag
            path = unquote(urlsplit(address).path).removeprefix("/fork/")
            assert (book / "_build" / "html" / path).exists(), tag


def test_formulas_are_mathml_with_numbers_and_no_program(fork):
    page = fork["chapters/one.html"]
    assert len(page.select("span.math math")) == 3
    boxes = page.select("div.math > .formula:has(> math)")
    assert [box["aria-label"] for box in boxes] == ["Equation 1", "Formula", "Equation 2"]
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


@pytest.mark.parametrize("block", FAULTS)
def test_a_fault_stops_the_build_at_its_line(block, said):
    first = TEXT[: TEXT.index(block)].count("\n") + 1
    lines = range(first, first + len(block.splitlines()))
    named = [one for one in said.splitlines() if PAGE[block] in one]
    places = {f"chapters/one.md:{line}: WARNING" for line in lines}
    assert any(place in one for place in places for one in named), named or said


def test_nothing_is_said_of_what_is_right(said):
    # these have no line
    assert "index.md: WARNING: no other page links to the term 'idle term'" in said
    assert "chapters/one.md: WARNING: 2 folded boxes are called 'Twice'" in said
    assert said.count("WARNING") == len(FAULTS) + 2, said


@pytest.mark.parametrize(
    ("html", "found"),
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
def test_a_picture_needs_a_name(html, found):
    assert unnamed(html) == found


@pytest.mark.parametrize(
    ("text", "loads"),
    {
        '<img alt="" src="https://x.org/a.png">': True,
        '<img alt="" src="a.png" srcset="b.png 1x,https://x.org/b.png 2x">': True,
        '<img alt="" src="a.png" srcset="b//c.png 1x, d.png 2x">': False,
        "<script async src=//x.org/a.js></script>": True,
        '<link href="https://x.org/a.css" rel="stylesheet">': True,
        '<link rel="shortcut icon" href="https://x.org/a.ico">': True,
        "<link href=https://x.org rel=dns-prefetch>": True,
        "a { background: url(https://x.org/a.png) }": True,
        '<script type="module">import a from "https://x.org/a.js"</script>': True,
        '<script>new Worker(new URL("https://x.org/a.js"))</script>': True,
        '<script>new Image().src = "https://x.org/a.png"</script>': True,
        '<script>location.href = "https://x.org"</script>': False,
        '<link rel="alternate noopener" href="https://x.org/">': False,
        '<a href="https://x.org">': False,
        '<pre>fetch("https://x.org")</pre>': False,
        '<svg xmlns="http://www.w3.org/2000/svg">': False,
    }.items(),
)
def test_what_would_load_from_another_host_is_told_from_what_only_leads_there(text, loads):
    assert bool(external(text)) == loads
