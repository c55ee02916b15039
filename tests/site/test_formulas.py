"""Formulas are drawn by the build: what a page holds, and what wrong TeX does."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests import ROOT

GOOD = r"""# Page

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
"""
WRONG = r"""# Page

A sentence that opens the page, with a formula that nobody can read: $\nosuchcommand$.

$$
\frac{1}{
$$

<img alt="A picture" src="https://elsewhere.example/picture.png">
"""


def build(book: Path, page: str) -> subprocess.CompletedProcess:
    """Build a book of this page and one without formulas."""
    shutil.copy(ROOT / "_config.yml", book)
    shutil.copytree(ROOT / "tools" / "theme", book / "tools" / "theme")
    (book / ".cache").mkdir()
    (book / "reference").mkdir()
    (book / "reference" / "references.bib").touch()
    (book / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters: [{file: plain}]\n")
    (book / "index.md").write_text(page)
    (book / "plain.md").write_text("# Plain\n\nNo formula.\n")
    command = [sys.executable, "-m", "tools.site", str(book)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    """The built pages of a book with some formulas."""
    book = tmp_path_factory.mktemp("good")
    done = build(book, GOOD)
    assert done.returncode == 0, done.stderr
    return book / "_build" / "html"


def test_wrong_tex_and_other_hosts_stop_the_build_and_are_named(tmp_path):
    done = build(tmp_path, WRONG)
    assert done.returncode == 1
    first, second = (line for line in done.stderr.splitlines() if "KaTeX parse error" in line)
    assert "index.md:3:" in first
    assert r"\nosuchcommand" in first
    assert "index.md:5:" in second
    (outside,) = (line for line in done.stderr.splitlines() if "from another host" in line)
    assert "index.md:9:" in outside
    assert "https://elsewhere.example/picture.png" in outside


def test_formulas_are_html_with_mathml_and_numbers(good):
    page = BeautifulSoup((good / "index.html").read_text("utf-8"), "html.parser")
    assert len(page.select("span.math math")) == 3
    boxes = page.select("div.math > .formula")
    assert [box["aria-label"] for box in boxes] == ["Equation 1", "Formula", "Equation 2"]
    assert all(box["tabindex"] == "0" for box in boxes)
    assert page.select_one(".eqno").text.startswith("(1)")
    assert page.select_one('a.reference[href="#equation-scores"]').text == "(1)"
    # KaTeX's own counters stay out
    assert not page.select(".eqn-num")


def test_brackets_and_commas_stay_with_their_formula(good):
    page = BeautifulSoup((good / "index.html").read_text("utf-8"), "html.parser")
    for one in page.select(".katex"):
        one.replace_with("x")
    assert [one.text for one in page.select(".joined")] == ["(x,", "x),"]
    assert page.select_one("section > p").text == "In a sentence (x, x), and x words."


def test_only_a_page_with_formulas_has_their_styles(good):
    assert "katex.min.css" in (good / "index.html").read_text("utf-8")
    assert "katex" not in (good / "plain.html").read_text("utf-8")
    assert not [page for page in good.rglob("*.html") if "MathJax" in page.read_text("utf-8")]


def test_styles_and_program_are_of_one_version():
    katex = ROOT / "tools" / "theme" / "katex"
    styles = (katex / "static" / "katex.min.css").read_text("utf-8")
    version = styles.split('.katex-version:after{content:"')[1].split('"')[0]
    assert f'version:"{version}"' in (katex / "katex.min.js").read_text("utf-8")
    linked = set(re.findall(r"fonts/([\w-]+\.woff2)", styles))
    assert linked == {font.name for font in (katex / "static" / "fonts").iterdir()}


@pytest.mark.parametrize(
    ("text", "loads"),
    {
        '<img alt="" src="https://x.org/a.png">': True,
        '<img alt="" src="a.png" srcset="https://x.org/b.png 2x">': True,
        '<img alt="" src="a.png" srcset="b.png 1x,https://x.org/b.png 2x">': True,
        '<img alt="" src="a.png" srcset="b//c.png 1x, d.png 2x">': False,
        "<script async src=//x.org/a.js></script>": True,
        '<link href="https://x.org/a.css" rel="stylesheet">': True,
        '<link rel="shortcut icon" href="https://x.org/a.ico">': True,
        "<link href=https://x.org rel=dns-prefetch>": True,
        "<iframe title='a' src='http://x.org'></iframe>": True,
        "a { background: url(https://x.org/a.png) }": True,
        '<script type="module">import a from "https://x.org/a.js"</script>': True,
        '<script>new Worker("https://x.org/a.js")</script>': True,
        '<script>new Worker(new URL("https://x.org/a.js"))</script>': True,
        '<script>new Image().src = "https://x.org/a.png"</script>': True,
        '<script>location.href = "https://x.org"</script>': False,
        '<link rel="alternate noopener" href="https://x.org/">': False,
        '<a href="https://x.org">': False,
        '<link rel="canonical" href="https://x.org/">': False,
        '<pre>fetch("https://x.org")</pre>': False,
        '<svg xmlns="http://www.w3.org/2000/svg">': False,
    }.items(),
)
def test_what_would_load_from_another_host_is_told_from_what_only_leads_there(
    text, loads, monkeypatch
):
    from tools.extensions.outside import outside

    assert bool(outside(text)) == loads
