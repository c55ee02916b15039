"""The cost of grading a submission grows only with its size, and its size has bounds."""

import sys
import zipfile
from collections.abc import Callable

import nbformat
import pytest

from judge.cell_syntax import LONGEST
from judge.grading.grade import grade
from judge.grading.judging.answers import GradedNotebook, Judgement
from judge.grading.kernel.budget import OverworkedError, at_most
from judge.grading.notebook.names import others_matter
from judge.grading.notebook.repair import definitions, with_helpers
from judge.grading.notebook.submitted_cells import MAX_OBJECTS
from judge.grading.report.results import Report, Result
from judge.grading.submissions.files import LeftOut, Submission, handed_in
from judge.status import Status
from judge.verdict import Verdict
from tests.grading.classes import write_zip
from tests.grading.commands import call, reports
from tests.grading.submissions import (
    NAMES,
    SOLVED,
    make_notebook,
    result_of,
    statuses,
    write_notebook,
)

pytestmark = pytest.mark.usefixtures("grading")


def numbered_text(size: int, text: str, between: str = "\n") -> str:
    return between.join(text.format(n=n, before=n - 1) for n in range(1, size))


def use_all_names(cell: str, size: int) -> None:
    """Make an answer that uses all names that another cell makes."""
    with_helpers(f"x = [{numbered_text(size, 'a{n}', ', ')}]", definitions([cell]), set())


def look_for_needs(text: str) -> None:
    """Look whether an answer, `f`, needs the cell of another answer."""
    others_matter([text], ["other = 1"], "f")


# functions that read a text of that many names
READERS = {
    "a chain of names": lambda size: look_for_needs(
        f"{numbered_text(size, 'a{n} = a{before}')}\ndef f(x): return a{size - 1}"
    ),
    "one assignment of many names to many": lambda size: look_for_needs(
        f"{numbered_text(size, 'b{n}', ' = ')} = [{numbered_text(size, 'a{n}', ', ')}]\n"
        f"f = [{numbered_text(size, 'b{n}', ', ')}]"
    ),
    "a tuple of names": lambda size: use_all_names(
        f"{numbered_text(size, 'a{n}', ', ')} = range({size})", size
    ),
    "a line of assignments": lambda size: use_all_names(
        numbered_text(size, "a{n} = 0", "; "), size
    ),
    "a chain of helpers": lambda size: use_all_names(numbered_text(size, "a{n} = a{before}"), size),
}


def count_calls(work: Callable[[], object]) -> int:
    """The number of function calls, in Python and C, and of generator resumptions."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    old_profile = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(old_profile)
    return count


@pytest.mark.parametrize("text", READERS)
def test_a_text_of_twice_the_size_takes_twice_the_work(text):
    reader = READERS[text]
    # the first call loads and builds what all calls share
    reader(10)
    work = [count_calls(lambda size=size: reader(size)) for size in (150, 300)]
    assert work[1] < 2.5 * work[0], work


def test_a_file_of_blank_lines_is_read_once(tmp_path):
    # from each line to the last it would be read for hours
    for ending in ("txt", "py", "md"):
        (tmp_path / f"lines.{ending}").write_bytes(b"\n" * 3_000_000 + b" \t" * 1_000_000 + b"x")
    with at_most(60):
        entries = list(handed_in([tmp_path]))
    assert len(entries) == 3 and not any(
        isinstance(submission, Submission) or submission.fault for submission in entries
    )


def test_a_zip_is_opened_once_to_see_what_is_in_it(tmp_path, monkeypatch):
    notebook = nbformat.writes(make_notebook({})).encode()
    files = {f"{n}/work.ipynb": notebook for n in range(5)}
    files |= {f"{n}/note.txt": b"a note" for n in range(50)}
    path = tmp_path / "many.zip"
    write_zip(path, files | {"1/work.safetensors": b"weights"})
    opened_zips = []

    class CountedZip(zipfile.ZipFile):
        def __init__(self, *args, **kwargs):
            opened_zips.append(args)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr("judge.grading.submissions.files.zipfile.ZipFile", CountedZip)
    notebooks = [
        submission for submission in handed_in([path]) if isinstance(submission, Submission)
    ]
    assert len(notebooks) == 5 and len(opened_zips) == 1
    # where there are weights, they are a second file
    assert [notebook.handed_in()[1] for notebook in notebooks] == [b"", b"weights", b"", b"", b""]
    assert len(opened_zips) == 1 + 5 + 1


def test_a_name_in_a_zip_has_the_length_of_a_name(tmp_path):
    path = tmp_path / "long.zip"
    write_zip(path, {f"a{'.zip' * 4000}!.ipynb": b"{}"})
    (submission,) = handed_in([path])
    assert (
        isinstance(submission, LeftOut)
        and submission.fault
        and "16,008 characters" in submission.why
    )


@pytest.mark.parametrize("of_a_class", [False, True])
def test_whoever_hands_in_many_notebooks_waits_with_them_for_the_others(
    tmp_path, monkeypatch, of_a_class
):
    graded_names = []

    def record_grade(file, **settings):
        graded_names.append(file.name)
        return Report(file.name, "dot_product", exercises=[Result(NAMES[0], "One", 3, "passed")])

    monkeypatch.setattr("judge.grading.cli.grade", record_grade)
    monkeypatch.setattr("judge.grading.submissions.files.MAX_NOTEBOOKS", 3)
    folder = tmp_path / "class"
    (folder / "zoe").mkdir(parents=True)
    write_zip(folder / "adam.zip", {f"{n}.ipynb": b"{}" for n in range(5)})
    for n in (1, 2):
        write_notebook(folder / "zoe", make_notebook({}), f"{n}.ipynb")
    out_options = ["--out", str(tmp_path / "grades")] * of_a_class
    result = call("grade", folder, "--json", tmp_path / "out.json", *out_options)
    order = ["adam.zip/0", "zoe/1", "adam.zip/1", "zoe/2", "adam.zip/2"]
    assert graded_names == [f"{name}.ipynb" for name in order], result.output
    rows = reports(tmp_path / "out.json")
    assert result.exit_code == 2 and len(rows) == 7
    for name in ("adam.zip/3.ipynb", "adam.zip/4.ipynb"):
        assert "the first 3 notebooks of a student" in rows[name]["problem"]


def test_a_notebook_of_countless_objects_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "objects.ipynb"
    path.write_bytes(b'{"cells": [' + b'{"source":""},' * MAX_OBJECTS + b"{}]}")
    monkeypatch.setattr("judge.grading.notebook.submitted_cells.json.loads", None)
    report = grade(path, seed=1, sandboxed=False)
    assert "100,003 objects and lists, over 100,000" in report.problem


def test_an_answer_of_the_length_of_a_book_costs_itself_only(tmp_path, all_pass):
    name = NAMES[0]
    long_answers = SOLVED | {name: f"{SOLVED[name]}\n# {'x' * LONGEST}"}
    report = grade(write_notebook(tmp_path, make_notebook(long_answers)), seed=1)
    assert statuses(report) == dict.fromkeys(NAMES, "passed") | {name: "error"}
    long_result = result_of(report, name)
    assert "characters, more than 100,000" in long_result.hint and report.graded
    assert len(report.as_text()) < LONGEST


def test_what_takes_the_judge_itself_too_long_to_judge_costs_itself_only(monkeypatch):
    graded_notebook = object.__new__(GradedNotebook)
    graded_notebook.results = {name: Result(name, name, 1) for name in ("busy", "quick")}
    graded_notebook.judgements, graded_notebook.wall_seconds = {}, {}
    graded_notebook.judging_seconds, restarts = {}, []

    def judge_endlessly(name):
        while name == "busy":
            pass
        return Judgement(Verdict(Status.WRONG))

    monkeypatch.setattr("judge.grading.judging.answers.JUDGING", 0.2)
    monkeypatch.setattr(graded_notebook, "restart_server", lambda: restarts.append(True))
    monkeypatch.setattr(graded_notebook, "write", lambda name, verdict: None)
    for name in graded_notebook.results:
        graded_notebook.judge(name, judge_endlessly)
    (busy,), (quick,) = (graded_notebook.judgements[name] for name in ("busy", "quick"))
    assert busy.verdict.status == "error" and "more than 0.2 processor" in busy.verdict.hint
    assert quick.verdict.status == "wrong" and len(restarts) == 1


def test_nothing_stops_the_end_of_what_works_for_too_long():
    with pytest.raises(OverworkedError), at_most(0.1):
        while True:
            try:
                sum(range(1000))
            except Exception:
                pass
