"""Whatever is done to a notebook, its file gets a status for each exercise or one clear line."""

import json
import zipfile
from pathlib import Path

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge.grading.grade import grade
from judge.grading.submissions.files import Submission
from tests.grading.commands import call, reports
from tests.grading.submissions import NAMES, SOLVED, make_notebook

SOLVED_DATA = json.loads(nbformat.writes(make_notebook(SOLVED)))
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


def paths_in(value, path=()):
    """Every path in JSON data."""
    yield path
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, inner in items:
        yield from paths_in(inner, (*path, key))


@st.composite
def mutated_notebooks(draw) -> bytes:
    """The bytes of a solved notebook after some changes to its JSON, and perhaps to its bytes."""
    content = json.loads(json.dumps(SOLVED_DATA))
    for _ in range(draw(st.integers(1, 4))):
        *parents, last_key = draw(
            st.sampled_from([p for p in paths_in(content) if p] or [("cells",)])
        )
        container = content
        for key in parents:
            container = container[key]
        match draw(st.sampled_from(["put", "put", "drop", "double", "join"])):
            case "put":
                container[last_key] = draw(ANYTHING)
            case "drop":
                container.pop(last_key, None) if isinstance(container, dict) else container.pop(
                    last_key
                )
            case "double" if isinstance(container, list):
                container.insert(last_key, container[last_key])
            case "join" if isinstance(
                container.get("source") if isinstance(container, dict) else 0, list
            ):
                container["source"] = [*container["source"], "\n", draw(SCRAPS)]
    data = json.dumps(content).encode(*draw(st.sampled_from([("utf-8",), ("utf-16",)])))
    byte_change = draw(st.integers(0, 400))
    if byte_change < 8:
        index = draw(st.integers(0, len(data)))
        data = (
            data[:index]
            if byte_change < 4
            else data[:index] + draw(st.binary(max_size=9)) + data[index + 3 :]
        )
    return data


def try_out(data: bytes, folder: Path) -> None:
    """Grade a mutated notebook beside a good one, and test all reports."""
    (folder / "mutated.ipynb").write_bytes(data)
    report = grade(Submission("mutated.ipynb", folder / "mutated.ipynb"), seed=1)
    assert "the grader failed" not in report.problem, report.problem
    assert bool(report.problem) != bool(report.exercises)
    out = folder.parent / "out.json"
    result = call("grade", folder, "--json", out)
    assert result.exit_code in (0, 1, 2) and "Traceback" not in result.output, result.output
    rows = reports(out)
    assert rows["good.ipynb"]["points"] == rows["good.ipynb"]["max_points"] > 0
    mutated_row = rows["mutated.ipynb"]
    assert mutated_row["problem"] or all(
        exercise["status"] for exercise in mutated_row["exercises"]
    )


@pytest.fixture
def folder(tmp_path, grading) -> Path:
    class_folder = tmp_path / "class"
    class_folder.mkdir()
    (class_folder / "good.ipynb").write_text(nbformat.writes(make_notebook(SOLVED)), "utf-8")
    return class_folder


def fuzz_settings(count: int):
    """The settings of a test with that many mutated notebooks."""
    suppressed_checks = [
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ]
    return settings(
        max_examples=count, deadline=None, suppress_health_check=suppressed_checks, database=None
    )


@pytest.mark.parametrize(
    "count", [50, pytest.param(1000, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_a_mutated_notebook_gets_a_status_and_stops_no_other(count, folder, all_pass):
    fuzz_settings(count)(given(mutated_notebooks())(lambda data: try_out(data, folder)))()


@pytest.mark.parametrize(
    "count", [50, pytest.param(1000, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_a_mutated_zip_stops_no_other(count, folder, all_pass):
    zip_path = folder.parent / "whole.zip"
    with zipfile.ZipFile(zip_path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.ipynb", nbformat.writes(make_notebook({})))
        archive.writestr("ümlaut/other.ipynb", b"{")
    data = zip_path.read_bytes()

    @fuzz_settings(count)
    @given(st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)), max_size=12))
    def open_changed(changes):
        changed_data = bytearray(data)
        for position, byte in changes:
            # the tables of a zip are at its end
            changed_data[-1 - position % 400 if position % 2 else position] = byte
        (folder / "changed.zip").write_bytes(changed_data)
        result = call("grade", folder)
        # it may now be a zip of fewer files
        assert result.exit_code in (0, 1, 2) and "Traceback" not in result.output, result.output
        assert "good.ipynb" in result.output and "changed.zip" in result.output

    open_changed()
