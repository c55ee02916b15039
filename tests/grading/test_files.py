"""Nothing that a file holds stops the others: each gets a line that says what it is."""

import json
import os
import subprocess
import sys
import zipfile

import nbformat
import pytest

from judge.grading.grade import grade
from judge.grading.notebook.graft import graft
from judge.grading.submissions import files
from tests import ROOT
from tests.grading.commands import call, reports
from tests.grading.submissions import NAMES, SOLVED, make_notebook, statuses, write_notebook

HALF = '"# exercise: prefix_mask\\n# \\ud83d half an emoji\\n"'


def notebook_data(notebook) -> dict:
    return json.loads(nbformat.writes(notebook))


def notebook_with_surrogate() -> bytes:
    data = notebook_data(make_notebook(SOLVED))
    cell = next(c for c in data["cells"] if c["id"] == "answer-prefix_mask")
    cell["source"].insert(1, "# MARK\n")
    return json.dumps(data).replace("MARK", "\\ud83d").encode()


def notebook_without_cell_type() -> bytes:
    data = notebook_data(make_notebook(SOLVED))
    for cell in data["cells"]:
        if cell["id"] == "answer-prefix_mask":
            del cell["cell_type"]
    return json.dumps(data).encode()


def notebook_with_bad_cells() -> bytes:
    data = notebook_data(make_notebook(SOLVED))
    data["cells"] += [None, [], "cell", {}, {"source": 3}, {"source": ["a", 1]}]
    return json.dumps(data).encode()


def bare_notebook() -> bytes:
    cells = [{"cell_type": "code", "source": text} for text in SOLVED.values()]
    return json.dumps({"cells": cells}).encode()


ODD_NOTEBOOKS = {
    "a lone surrogate": (notebook_with_surrogate, "an incomplete character"),
    "a cell without a cell_type": (notebook_without_cell_type, "doesn't say what kind"),
    "cells that are none": (notebook_with_bad_cells, ""),
    "neither version nor metadata": (bare_notebook, ""),
    "UTF-16": (lambda: nbformat.writes(make_notebook(SOLVED)).encode("utf-16"), ""),
    "Latin-1": (lambda: notebook_with_surrogate().replace(b"\\ud83d", b"\xe4"), ""),
}


@pytest.mark.parametrize("case", ODD_NOTEBOOKS)
def test_an_odd_notebook_is_graded_as_far_as_it_goes(case, tmp_path, all_pass):
    data, note = ODD_NOTEBOOKS[case]
    # known by what it holds, whatever it is called
    (tmp_path / "odd.txt").write_bytes(data())
    (submission,) = files.handed_in([tmp_path])
    assert isinstance(submission, files.Submission)
    report = grade(submission, seed=1)
    assert statuses(report) == dict.fromkeys(NAMES, "passed"), report.problem
    assert note in {result.name: result.note for result in report.exercises}["prefix_mask"]
    report.write(tmp_path / "report.json")


def test_every_file_of_a_folder_gets_a_line(tmp_path, all_pass):
    folder = tmp_path / "class"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/HEAD").write_text("ref")
    write_notebook(folder, make_notebook(SOLVED), "good.ipynb")
    write_notebook(folder, make_notebook(SOLVED), "UPPER.IPYNB")
    (folder / "broken.ipynb").write_text("{")
    (folder / "notes.md").write_text("# Notes")
    (folder / "answers.py").write_text("# exercise: prefix_mask\ndef prefix_mask(): ...")
    (folder / "what.xyz").write_bytes(b"\x00\xff")
    (folder / "link.ipynb").symlink_to(folder / "good.ipynb")
    os.mkfifo(folder / "pipe.ipynb")
    out = tmp_path / "out.json"
    result = call("grade", folder, "--json", out)
    assert result.exit_code == 2, result.output
    rows = reports(out)
    assert set(rows) == {path.name for path in folder.iterdir() if path.name != ".git"}
    for name, message in {
        "broken.ipynb": "JSON isn't complete",
        "notes.md": "a Markdown text: only notebooks are graded",
        "answers.py": "a Python file with answers in it",
        "what.xyz": "no notebook",
        "link.ipynb": "a link or a device",
        "pipe.ipynb": "a link or a device",
    }.items():
        assert message in rows[name]["problem"], rows[name]
        assert name in result.output
    for name in ("good.ipynb", "UPPER.IPYNB"):
        assert rows[name]["points"] == rows[name]["max_points"] > 0


def test_weights_lie_beside_a_notebook_whatever_was_added_to_its_name(tmp_path):
    for name in ("a.ipynb", "b.ipynb.json", "c.IPYNB (1)", "d"):
        (tmp_path / name).write_bytes(bare_notebook())
        (tmp_path / f"{name[0]}.safetensors").write_text(name)
    by_name = {submission.name: submission for submission in files.handed_in([tmp_path])}
    graded_submissions = [
        submission for submission in by_name.values() if isinstance(submission, files.Submission)
    ]
    assert [submission.handed_in()[1].decode() for submission in graded_submissions] == [
        submission.name for submission in graded_submissions
    ]
    assert len(graded_submissions) == 4


NO_NOTEBOOKS = {
    "an essay.txt": b"# My answer\nIt has cells.",
    "data.json": b'{"cells": [1, 2], "type": "grid"}',
    "page.html": b'<pre>{"cells": [{"cell_type": "code"}]}</pre>',
    "nothing": b"",
}


@pytest.mark.parametrize("name", NO_NOTEBOOKS)
def test_what_holds_no_notebook_stays_what_it_is(name, tmp_path):
    (tmp_path / name).write_bytes(NO_NOTEBOOKS[name])
    (submission,) = files.handed_in([tmp_path])
    assert isinstance(submission, files.LeftOut) and not submission.fault


def test_a_note_beside_solved_notebooks_is_no_fault(tmp_path, all_pass):
    write_notebook(tmp_path, make_notebook(SOLVED))
    (tmp_path / "README.md").write_text("# Mine")
    result = call("grade", tmp_path)
    assert result.exit_code == 0 and "README.md: a Markdown text" in result.output


def test_a_zip_of_notebooks_is_opened_and_nothing_is_written_where_it_says(tmp_path, all_pass):
    folder = tmp_path / "class"
    folder.mkdir()
    notebook = nbformat.writes(make_notebook(SOLVED))
    with zipfile.ZipFile(folder / "mine.zip", "w") as archive:
        for name in (
            "a/one.ipynb",
            "../../escaped.ipynb",
            "/absolute.ipynb",
            "__MACOSX/._one.ipynb",
        ):
            archive.writestr(name, notebook)
        archive.writestr("readme.md", "# Mine")
        archive.writestr("inner.zip", b"PK")
    with zipfile.ZipFile(folder / "named wrongly.ipynb", "w") as archive:
        archive.writestr("two.ipynb", notebook)
    paths_before = sorted(tmp_path.rglob("*"))
    result = call("grade", folder, "--json", tmp_path / "o.json")
    rows = reports(tmp_path / "o.json")
    graded_names = {name for name, row in rows.items() if row.get("points")}
    assert graded_names == {
        "mine.zip/a/one.ipynb",
        "mine.zip/../../escaped.ipynb",
        "mine.zip//absolute.ipynb",
        "named wrongly.ipynb/two.ipynb",
    }, result.output
    assert "a zip within a zip" in rows["mine.zip/inner.zip"]["problem"]
    assert sorted(tmp_path.rglob("*")) == sorted([*paths_before, tmp_path / "o.json"])


def write_hostile_zip(folder, *members: tuple[str, bytes]):
    with zipfile.ZipFile(folder / "hostile.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return folder / "hostile.zip"


def test_a_hostile_zip_costs_itself_only(tmp_path, all_pass, monkeypatch):
    def problem_of(path) -> str:
        (submission,) = files.handed_in([path])
        return (
            submission.why
            if isinstance(submission, files.LeftOut)
            else grade(submission, seed=1).problem
        )

    bomb = write_hostile_zip(tmp_path, ("bomb.ipynb", b" " * 30_000_000))
    assert bomb.stat().st_size < 50_000
    assert "more than 20,000,000 bytes" in problem_of(bomb)
    # a zip that says that its file is small
    data = bytearray(bomb.read_bytes())
    size = (30_000_000).to_bytes(4, "little")
    bomb.write_bytes(bytes(data).replace(size, (100).to_bytes(4, "little")))
    assert "zip" in problem_of(bomb) or "bytes" in problem_of(bomb) or "empty" in problem_of(bomb)
    bomb.write_bytes(bytes(data[:5000]))
    assert "broken zip" in problem_of(bomb)
    assert "without a notebook" in problem_of(write_hostile_zip(tmp_path, ("a.md", b"#")))
    monkeypatch.setattr(files, "MAX_ZIP_FILES", 2)
    assert "3 files" in problem_of(
        write_hostile_zip(tmp_path, *((f"{i}.ipynb", b"{}") for i in range(3)))
    )
    monkeypatch.setattr(files, "MAX_ZIP_BYTES", 5)
    assert "unpacks to more" in problem_of(write_hostile_zip(tmp_path, ("a.ipynb", b"{     }")))


def test_a_name_that_is_not_utf8_is_spelt_out_on_a_strict_terminal(tmp_path):
    name = os.fsdecode(b"m\xfcller.ipynb")
    (tmp_path / name).write_text("{")
    (tmp_path / "two.ipynb").write_text("{")
    for encoding in ("utf-8:strict", "ascii:strict"):
        process = subprocess.run(
            [sys.executable, "-c", "from attncourse.__main__ import main; main()", "grade",
             str(tmp_path), "--json", str(tmp_path / "out.json"), "--no-sandbox"],
            env=os.environ | {"PYTHONIOENCODING": encoding}, capture_output=True, cwd=ROOT,
        )  # fmt: skip
        assert process.returncode == 2 and b"Traceback" not in process.stderr, process.stderr
        assert b"m\\xfcller.ipynb" in process.stdout and b"two.ipynb" in process.stdout
    names = [report["file"] for report in json.loads((tmp_path / "out.json").read_text())]
    assert "m\\xfcller.ipynb" in names


def test_a_fault_of_ours_costs_one_file(tmp_path, monkeypatch, all_pass):
    def failing_graft(data):
        if b"mine" in data:
            raise RecursionError("too deep")
        return graft(data)

    monkeypatch.setattr("judge.grading.grade.graft", failing_graft)
    write_notebook(tmp_path, make_notebook(SOLVED | {"prefix_mask": "# mine"}), "a.ipynb")
    write_notebook(tmp_path, make_notebook(SOLVED), "b.ipynb")
    result = call("grade", tmp_path)
    assert result.exit_code == 2 and "RecursionError: “too deep”" in result.output
    assert "b.ipynb" in result.output and result.output.count("passed") >= len(NAMES)
