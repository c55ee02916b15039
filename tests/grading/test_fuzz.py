"""Whatever is done to a notebook, its file gets a status for each exercise or one clear line."""

import json
import zipfile
from pathlib import Path

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from judge.grading.cli import app
from judge.grading.grade import grade
from judge.grading.submissions import Submission
from tests.grading.submissions import NAMES, SECONDS, SOLVED, notebook_with

WHOLE = json.loads(nbformat.writes(notebook_with(SOLVED)))
ODD_TEXT = st.text(
    st.one_of(st.characters(), st.sampled_from("\ud83d\0\u00a0\u200b\r\n\t#:\"'\\%!(")), max_size=60
)
SCRAPS = st.one_of(
    ODD_TEXT,
    st.sampled_from([*SOLVED.values(), *(f"# exercise: {name}\n" for name in NAMES)]),
    st.sampled_from(
        ["def prefix_mask(:", "from google.colab import drive\n", "\u00a0x", "[[" * 500]
    ),
)
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), SCRAPS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(ODD_TEXT, inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value, path=()):
    """Every place in JSON data."""
    yield path
    parts = value.items() if isinstance(value, dict) else ()
    parts = enumerate(value) if isinstance(value, list) else parts
    for key, inner in parts:
        yield from places(inner, (*path, key))


@st.composite
def mutated(draw) -> bytes:
    """The bytes of a solved notebook after some changes to its JSON, and perhaps to its bytes."""
    content = json.loads(json.dumps(WHOLE))
    for _ in range(draw(st.integers(1, 4))):
        *above, last = draw(st.sampled_from([p for p in places(content) if p] or [("cells",)]))
        inner = content
        for key in above:
            inner = inner[key]
        match draw(st.sampled_from(["put", "put", "drop", "double", "join"])):
            case "put":
                inner[last] = draw(ANYTHING)
            case "drop":
                inner.pop(last, None) if isinstance(inner, dict) else inner.pop(last)
            case "double" if isinstance(inner, list):
                inner.insert(last, inner[last])
            case "join" if isinstance(inner.get("source") if isinstance(inner, dict) else 0, list):
                inner["source"] = [*inner["source"], "\n", draw(SCRAPS)]
    data = json.dumps(content).encode(*draw(st.sampled_from([("utf-8",), ("utf-16",)])))
    cut = draw(st.integers(0, 400))
    if cut < 8:
        at = draw(st.integers(0, len(data)))
        data = data[:at] if cut < 4 else data[:at] + draw(st.binary(max_size=9)) + data[at + 3 :]
    return data


def try_out(data: bytes, folder: Path) -> None:
    """Grade what was mutated beside a good notebook, and look at all that is written."""
    (folder / "mutated.ipynb").write_bytes(data)
    report = grade(Submission("mutated.ipynb", folder / "mutated.ipynb"), seed=1)
    assert "the grader failed" not in report.problem, report.problem
    assert bool(report.problem) != bool(report.exercises)
    out = folder.parent / "out.json"
    done = CliRunner().invoke(app, ["grade", str(folder), "--json", str(out)])
    assert done.exit_code in (0, 1, 2) and "Traceback" not in done.output, done.output
    rows = {report["file"]: report for report in json.loads(out.read_text("utf-8"))}
    assert rows["good.ipynb"]["points"] == rows["good.ipynb"]["max_points"] > 0
    odd = rows["mutated.ipynb"]
    assert odd["problem"] or all(exercise["status"] for exercise in odd["exercises"])


@pytest.fixture
def folder(tmp_path, grading) -> Path:
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "good.ipynb").write_text(nbformat.writes(notebook_with(SOLVED)), "utf-8")
    return folder


def fuzzed(count: int):
    """The test body, for that many mutated notebooks."""
    free = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=count, deadline=None, suppress_health_check=free, database=None)


@pytest.mark.parametrize(
    "count", [50, pytest.param(1000, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_a_mutated_notebook_gets_a_status_and_stops_no_other(count, folder, all_pass):
    fuzzed(count)(given(mutated())(lambda data: try_out(data, folder)))()


@pytest.mark.slow
def test_mutated_notebooks_are_graded_end_to_end(folder):
    @fuzzed(6)
    @given(mutated())
    def graded(data):
        (folder / "mutated.ipynb").write_bytes(data)
        report = grade(folder / "mutated.ipynb", seed=1, timeout=SECONDS)
        assert "the grader failed" not in report.problem, report.problem
        assert all(result.status != "not graded" for result in report.exercises)

    graded()


@pytest.mark.parametrize(
    "count", [50, pytest.param(1000, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_a_mutated_zip_stops_no_other(count, folder, all_pass):
    whole = folder.parent / "whole.zip"
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.ipynb", nbformat.writes(notebook_with({})))
        archive.writestr("ümlaut/other.ipynb", b"{")
    data = whole.read_bytes()

    @fuzzed(count)
    @given(st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)), max_size=12))
    def opened(changes):
        changed = bytearray(data)
        for at, byte in changes:
            # the tables of a zip are at its end
            changed[-1 - at % 400 if at % 2 else at] = byte
        (folder / "changed.zip").write_bytes(changed)
        done = CliRunner().invoke(app, ["grade", str(folder)])
        # it may now be a zip of fewer files
        assert done.exit_code in (0, 1, 2) and "Traceback" not in done.output, done.output
        assert "good.ipynb" in done.output and "changed.zip" in done.output

    opened()
