"""Formulas are drawn by the build: what a page holds, and what wrong TeX does."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]
PAGE = r"""# Page

In a sentence, $d_k$.

```{math}
:label: scores
S = q \cdot k
```

$$
a &= b \\
c &= d
$$

See {eq}`scores`, $\nosuchcommand$ and

\begin{align}
w &= \mathrm{softmax}(S)
\end{align}

$$
\frac{1}{
$$
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """The build of a page with six formulas, two of which are wrong."""
    book = tmp_path_factory.mktemp("book")
    shutil.copy(ROOT / "_config.yml", book)
    shutil.copytree(ROOT / "theme", book / "theme")
    (book / "reference").mkdir()
    (book / "reference" / "references.bib").touch()
    (book / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters: [{file: plain}]\n")
    (book / "index.md").write_text(PAGE)
    (book / "plain.md").write_text("# Plain\n\nNo formula.\n")
    command = [sys.executable, "-m", "attncourse.publish.site", str(book)]
    return book, subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_wrong_tex_stops_the_build_and_is_named(build):
    _, done = build
    assert done.returncode == 1
    faults = [line for line in done.stderr.splitlines() if "KaTeX parse error" in line]
    assert ["index.md:15" in faults[0], r"\nosuchcommand" in faults[0]] == [True, True]
    assert "index.md:21" in faults[1]
    assert len(faults) == 2


def test_formulas_are_html_with_mathml_and_numbers(build):
    book, _ = build
    page = BeautifulSoup((book / "_build/html/index.html").read_text("utf-8"), "html.parser")
    assert len(page.select("span.math math")) == 1
    boxes = page.select("div.math > .formula")
    assert [box["aria-label"] for box in boxes] == [
        "Equation 1",
        "Formula",
        "Equation 2",
        "Formula",
    ]
    assert all(box["tabindex"] == "0" for box in boxes)
    assert page.select_one(".eqno").text.startswith("(1)")
    assert page.select_one('a.reference[href="#equation-scores"]').text == "(1)"
    # KaTeX's own counters stay out
    assert not page.select(".eqn-num")
    assert not page.select(".katex-error")


def test_only_a_page_with_formulas_has_their_styles(build):
    book, _ = build
    built = book / "_build" / "html"
    assert "katex.min.css" in (built / "index.html").read_text("utf-8")
    assert "katex" not in (built / "plain.html").read_text("utf-8").replace("/theme/", "")
    for page in built.glob("*.html"):
        assert "MathJax" not in page.read_text("utf-8")


def test_styles_and_program_are_of_one_version():
    katex = ROOT / "theme" / "katex"
    styles = (katex / "static" / "katex.min.css").read_text("utf-8")
    version = styles.split('.katex-version:after{content:"')[1].split('"')[0]
    assert f'version:"{version}"' in (katex / "katex.min.js").read_text("utf-8")
    linked = set(re.findall(r"fonts/([\w-]+\.woff2)", styles))
    assert linked == {font.name for font in (katex / "static" / "fonts").iterdir()}
