"""The build, on a book of two pages: what fails, what it says, and what is not done twice."""

import os
import shutil
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests import ROOT
from tools import suite, system
from tools.output import alone

# a make inside `make test` would otherwise take part in the outer one
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

TOC = """\
format: jb-book
root: index
chapters:
  - file: chapters/one
"""
CHAPTER = """\
---
jupytext:
  text_representation:
    format_name: myst
kernelspec:
  name: python3
  display_name: Python 3
---
# One

```{code-cell} python
fine = 1
```

Some text.

```{code-cell} python
CELL
```
"""
COUNT = "open('runs', 'a').write('x')"


@pytest.fixture
def book(tmp_path):
    """Writes a book with the course's own settings, whose second cell is the given one."""

    def write(cell: str, text: str = "") -> Path:
        for name in ("chapters", "reference"):
            (tmp_path / name).mkdir(exist_ok=True)
        shutil.copy(ROOT / "_config.yml", tmp_path)
        shutil.copytree(ROOT / "tools" / "theme", tmp_path / "tools" / "theme", dirs_exist_ok=True)
        (tmp_path / "reference" / "references.bib").touch()
        (tmp_path / "_toc.yml").write_text(TOC)
        (tmp_path / "index.md").write_text("# Book\n\nA book.\n")
        (tmp_path / "chapters" / "one.md").write_text(CHAPTER.replace("CELL", cell) + text)
        (tmp_path / "chapters" / "one.ipynb").touch()
        return tmp_path

    return write


def build(folder: Path, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "tools.site", str(folder)]
    return subprocess.run(
        command, env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=120
    )


def make(*words: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    command = [shutil.which("make") or "make", *words]
    return subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("cell", "why"),
    {
        "1 / 0  # wrong": "ZeroDivisionError: division by zero",
        "import sys; print('oh', file=sys.stderr)": "it wrote to stderr: oh",
        "import os; os._exit(1)": "Kernel died",
    }.items(),
)
def test_a_failing_cell_stops_the_build_and_is_named(book, cell, why):
    done = build(book(cell))
    assert done.returncode == 1
    assert (
        f"the site was not built: chapters/one.md, cell 2 (line 18) failed: {cell}" in done.stderr
    )
    assert why in done.stderr
    assert not (book(cell) / "_build").exists()


def test_an_edit_reaches_every_page_that_shows_it(book):
    folder = book("fine", "\n(here)=\n## Here\n\nBy {cite:t}`known`.\n")
    papers, chapter = folder / "reference" / "references.bib", folder / "chapters" / "one.md"
    paper = "@misc{known, title={T}, author={A. Author}, year={YEAR}}"
    papers.write_text(paper.replace("YEAR", "2001"))
    (folder / "index.md").write_text(
        "# Book\n\nSee {ref}`here`.\n\n```{bibliography}\n:filter: True\n```\n"
    )
    site = folder / "_build" / "html"
    assert build(folder).returncode == 0
    assert "2001" in (site / "chapters" / "one.html").read_text()

    papers.write_text(paper.replace("YEAR", "2002"))
    text = chapter.read_text().replace("## Here", "## There").replace("Some text", "Moved")
    chapter.write_text(text)
    # moved into place, with the date that it had
    os.utime(chapter, (1, 1))
    done = build(folder)
    assert done.returncode == 0, done.stderr
    page = (site / "chapters" / "one.html").read_text()
    assert "2002" in page and "Moved" in page and "There" in (site / "index.html").read_text()

    chapter.write_text(text.replace("(here)=\n", ""))
    done = build(folder)
    assert done.returncode == 1 and "index.md:3: WARNING: undefined label: 'here'" in done.stderr


def test_the_address_reaches_the_buttons_and_nothing_is_done_twice(book):
    folder = book(COUNT)
    done = build(folder, GITHUB_REPOSITORY="someone/fork", GITHUB_SERVER_URL="https://github.com")
    assert done.returncode == 0, done.stderr
    page = (folder / "_build" / "html" / "chapters" / "one.html").read_text()
    colab = "https://colab.research.google.com/github/someone/fork/blob/main/chapters/one.ipynb"
    assert f'href="{colab}"' in page
    assert 'href="https://github.com/someone/fork/edit/main/chapters/one.md"' in page
    assert "github.com/attncourse" not in page
    assert "site.css" in page
    # Sphinx has taken the outputs from the cache that the first step filled
    assert (folder / "chapters" / "runs").read_text() == "x"

    again = {"GITHUB_REPOSITORY": "someone/fork", "GITHUB_SERVER_URL": "https://github.com"}
    (folder / "chapters" / "runs").unlink()
    # what an editor and a system leave beside the texts: the first is a link that leads nowhere
    (folder / "chapters" / ".#one.md").symlink_to("someone@nowhere")
    (folder / ".DS_Store").touch()
    assert "up to date" in build(folder, **again).stdout
    moved = build(folder, GITHUB_REPOSITORY="other/fork", GITHUB_SERVER_URL="https://github.com")
    assert "up to date" not in moved.stdout
    assert "other/fork" in (folder / "_build" / "html" / "chapters" / "one.html").read_text()
    assert not (folder / "chapters" / "runs").exists()
    with zipfile.ZipFile(folder / "_build" / "html" / "attncourse.zip") as archive:
        assert "attncourse/chapters/one.html" in archive.namelist()
        assert not [name for name in archive.namelist() if "doctree" in name or "cache" in name]


def test_an_edit_touches_its_page_alone_and_a_warning_leaves_the_site_as_it_was(book):
    folder = book("2")
    made, site = folder / "_build" / "sphinx" / "html", folder / "_build" / "html"
    assert build(folder).returncode == 0
    first = {name: (made / name).stat().st_mtime_ns for name in ("index.html", "chapters/one.html")}

    book("2", "\nOne sentence more.\n")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    assert "running the cells" not in done.stdout
    assert (made / "chapters/one.html").stat().st_mtime_ns > first["chapters/one.html"]
    good = (site / "chapters/one.html").read_bytes()
    assert b"One sentence more." in good

    book("2", "\nSee {term}`nowhere`.\n")
    done = build(folder)
    assert done.returncode == 1
    assert "one.md" in done.stderr
    assert "nowhere" in done.stderr
    assert "the site was not built: Sphinx warned" in done.stderr
    # and the next build, of another page, does not take the failed one for a good one
    (folder / "index.md").write_text("# Another title\n\nA book.\n")
    assert "nowhere" in build(folder).stderr
    assert (site / "chapters/one.html").read_bytes() == good


def test_a_second_build_says_that_it_waits_for_the_first(book):
    folder = book("2")
    (folder / "index.md").unlink()
    command = [sys.executable, "-m", "tools.site", str(folder)]
    with alone(folder / ".cache" / "building", print):
        second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert (
            second.stdout.readline() == b"==> another build is at work here: waiting for its end\n"
        )
    said, why = second.communicate(timeout=60)
    assert said == b""
    assert b"do not exist: index.md" in why


APT_GET = """\
#!/bin/sh
echo "$*" >> "$0.log"
case "$*" in *UNKNOWN) exit 100;; esac
"""


@pytest.mark.parametrize(
    ("unknown", "wanted"),
    {
        "nothing": ["chromium-headless-shell", "bubblewrap"],
        "-shell": ["chromium-headless-shell", "chromium", "bubblewrap"],
        "bubblewrap": ["chromium-headless-shell", "bubblewrap"],
    }.items(),
)
def test_a_package_that_cannot_be_installed_gives_way_to_the_next(
    unknown, wanted, tmp_path, monkeypatch, capsys
):
    apt_get = tmp_path / "apt-get"
    apt_get.write_text(APT_GET.replace("UNKNOWN", unknown))
    apt_get.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    system.install(["chromium", "bubblewrap"])
    update, *installed = (tmp_path / "apt-get.log").read_text().splitlines()
    assert update.startswith("update")
    assert [line.split()[-1] for line in installed] == wanted
    failed = [one for one in wanted if one.endswith(unknown)]
    said = [f"==> apt-get install -q -y {one} failed" for one in failed]
    assert capsys.readouterr().err.splitlines() == said


def test_a_taken_port_is_said_before_anything_is_built():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = make("book", f"PORT={port}", f"PYTHON={sys.executable}")
    assert done.returncode != 0
    assert f"port {port} is taken" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


OLD = "case $1 in --version) echo Python 3.9.2;; *) exit 1;; esac"
BARE = 'case "$2" in *ensurepip*) exit 1;; esac; [ $1 = --version ] && echo Python 3.12.1; exit 0'


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (OLD, "Python 3.11 or newer is needed, and {} is Python 3.9.2"),
        (BARE, "Python 3.12.1 lacks its venv module"),
    ],
)
def test_a_python_that_will_not_do_is_said_plainly(tmp_path, python, message):
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    path = tmp_path / "python3"
    path.write_text(f"#!/bin/sh\n{python}\n")
    path.chmod(0o755)
    done = make("site", f"PYTHON={path}", cwd=tmp_path)
    assert done.returncode != 0
    assert message.format(path) in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_no_python_is_said_plainly(tmp_path):
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for tool in ("sh", "cat", "cksum", "tr"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    done = make("site", cwd=tmp_path, PATH=str(tmp_path), PYTHON="")
    assert done.returncode != 0
    assert "Python 3.11 or newer is needed, and none was found" in done.stderr


def test_an_old_make_is_said_plainly():
    done = make("help", "MAKE_VERSION=3.80")
    assert done.returncode != 0
    assert "make 3.80 is too old: this Makefile needs 3.81 or newer" in done.stderr


REPORT = """\
<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_fine"/>
<testcase classname="tests.test_a" name="test_gpu"><skipped message="needs a GPU"/></testcase>
<testcase classname="tests.test_b" name="test_bad"><error message="no x&#10;y"/></testcase>
</testsuite></testsuites>
"""


def test_one_summary_says_what_failed_and_what_was_skipped_and_why(tmp_path):
    report = tmp_path / "tests.xml"
    report.write_text(REPORT)
    needs = {"bad": ["no_such_module"], "after": ["this"]}
    results = suite.run_beside([needs, {"good": ["this"], "last": ["http.server", "--help"]}])
    passed = {name: one.passed for name, one in results.items()}
    assert passed == {"bad": False, "after": False, "good": True, "last": True}
    text = suite.summary(results, [report], 1)
    assert "No module named no_such_module\n" in text
    assert "not run, since this failed: bad\n" in text
    assert "skipped  tests.test_a::test_gpu: needs a GPU" in text
    assert "ERROR    tests.test_b::test_bad: no x\n" in text
    assert text.splitlines()[-1].startswith("==> failed: bad, after, 1 tests skipped")
