"""The capstone: what may lie beside a notebook, and that only trained weights earn its points."""

import json
import re
import struct
from zipfile import ZipFile

import nbformat
import pytest
import torch
from safetensors.torch import save_file

from attncourse.course import exercise
from attncourse.course.capstone import (
    KNOWN,
    MAX_BYTES,
    MOST_LOST,
    changed,
    noisy,
    read_weights_file,
    shuffled,
)
from attncourse.course.tasks.exercises import NumberTranslator as bank
from attncourse.data.numbers import numbers
from attncourse.train import seeded
from judge.grading.grade import grade, prepare
from judge.grading.notebook.graft import graft
from judge.grading.notebook.pristine import answer_cells, exercise_files
from judge.grading.report.results import Report
from judge.grading.submissions.files import Submission, handed_in
from judge.notebook import report
from judge.verdict import judge, local
from tests import ROOT, WEIGHTS
from tools.notebooks import solved_notebook

CAPSTONE = exercise("NumberTranslator")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A notebook's folder, without weights."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def own_weights():
    """The weights of somebody who has trained a model."""
    return read_weights_file(WEIGHTS / "tasks" / CAPSTONE.file)


def judge_capstone(model_class=bank.Relative):
    # ours live in attncourse.course, which a learner's may not call
    return judge(CAPSTONE, local(model_class), seed=0, forbidden=())


def test_without_a_file_it_is_not_attempted(folder):
    verdict = judge_capstone()
    assert verdict.status == "not attempted"
    assert verdict.hint.startswith("NumberTranslator.safetensors isn't beside the notebook")


def test_weights_beside_the_notebook_are_read(folder):
    save_file(
        {name: tensor.half() for name, tensor in own_weights().items()}, folder / CAPSTONE.file
    )
    verdict = judge_capstone()
    assert verdict.status == "passed"
    assert re.fullmatch(r"0\.[789]\d of 300 names are right .*", verdict.evidence)
    assert report(CAPSTONE.name, verdict, seed=0) == f"{CAPSTONE.name}: ok: {verdict.evidence}"


WEIGHT_CHANGES = {
    "as they are": lambda x, g: x,
    "in half precision": lambda x, g: x.half(),
    "three times as large": lambda x, g: 3 * x,
    "with noise of a tenth": lambda x, g: x + x.std(correction=0) * torch.randn_like(x) / 10,
    "in another order": shuffled,
}


@pytest.mark.parametrize("weights", range(2), ids=["the package's", "the page's"])
@pytest.mark.parametrize("change", WEIGHT_CHANGES)
def test_the_course_s_own_weights_are_refused_under_other_names_too(change, weights, folder):
    g, known_weights = torch.Generator().manual_seed(0), CAPSTONE.known()[weights]
    with seeded(0):
        changed_weights = {
            f"a{i}": WEIGHT_CHANGES[change](x, g) for i, x in enumerate(known_weights.values())
        }
    # with a tensor that nothing uses
    save_file(changed_weights | {"more": torch.randn(20_000, generator=g)}, folder / CAPSTONE.file)
    verdict = judge_capstone()
    assert (verdict.status, verdict.hint) == ("wrong", KNOWN)


def test_weights_of_another_training_are_not_the_course_s():
    assert not CAPSTONE.is_known(own_weights()) and not CAPSTONE.is_known(
        bank.Untrained.trained_weights()
    )


def safetensors_bytes(entries: dict, data: bytes = b"") -> bytes:
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not hold plain tensors"),
        (b"\x80\x04\x95 a pickle", "does not hold plain tensors"),
        (
            safetensors_bytes({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}),
            "plain tensors",
        ),
        (
            safetensors_bytes(
                {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, bytes(4)
            ),
            "plain",
        ),
        (
            safetensors_bytes(
                {"a": {"dtype": "O", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)
            ),
            "plain",
        ),
        (
            safetensors_bytes({"a": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]}}, b"1"),
            "dtype",
        ),
        (
            safetensors_bytes(
                {"a": {"dtype": "F8_E8M0", "shape": [1], "data_offsets": [0, 1]}}, b"1"
            ),
            "dtype",
        ),
        (bytes(MAX_BYTES + 1), "has 4,194,305 bytes, more than 4,194,304"),
    ],
    ids=["empty", "pickle", "cut", "negative", "objects", "four bits", "no sign", "large"],
)
def test_a_file_that_holds_no_plain_tensors_is_refused_with_the_reason(content, message, folder):
    (folder / CAPSTONE.file).write_bytes(content)
    verdict = judge_capstone()
    assert verdict.status == "error" and message in verdict.hint


def test_weights_of_another_model_are_refused_by_name_and_shape(folder):
    save_file(own_weights(), folder / CAPSTONE.file)
    verdict = judge_capstone(bank.Given)
    assert verdict.status == "error"
    assert "only the class has none, only the file has model.decoder.blocks.0" in verdict.hint


@pytest.mark.parametrize("seed", range(3))
def test_noise_costs_trained_weights_little_and_disorder_everything(seed):
    write = CAPSTONE.writer(local(bank.Relative), ())
    examples = numbers(99, 60, seed)[1][CAPSTONE.length]
    g = torch.Generator().manual_seed(seed)
    share_right, _ = write(examples, bank.trained())
    assert share_right > CAPSTONE.least
    assert write(examples, changed(bank.trained(), noisy, g))[0] > share_right - MOST_LOST / 2
    assert write(examples, changed(bank.trained(), shuffled, g))[0] == 0


def test_what_is_asked_is_more_than_the_given_model_has_and_less_than_the_worked_one():
    table = (ROOT / "benchmarks" / "results" / "capstone.md").read_text("utf-8")
    cells = [line.split("|")[3].split("±") for line in table.splitlines() if "±" in line]
    reported, *recomputed = [(float(mean), float(spread)) for mean, spread in cells]
    assert (
        reported[0] + 2 * reported[1] < CAPSTONE.least < max(mean for mean, _ in recomputed) - 0.05
    )


def test_a_wrong_name_is_shown(folder):
    save_file(own_weights(), folder / CAPSTONE.file)
    verdict = judge_capstone(bank.WithoutItsStop)
    assert verdict.status == "wrong" and "your model writes '" in verdict.evidence


def test_weights_are_found_beside_a_notebook_in_a_folder_and_in_a_zip(tmp_path):
    with ZipFile(tmp_path / "class.zip", "w") as archive:
        for name in ("anna/a.ipynb", "anna/NumberTranslator.safetensors", "bert/b.ipynb"):
            archive.writestr(name, name)
    (tmp_path / "carl.ipynb").write_text("{}")
    (tmp_path / "carl.safetensors").write_text("own")
    (tmp_path / "dora.ipynb").write_text("{}")
    verdicts = {
        submission.name: weights and weights.read()
        for submission in handed_in([tmp_path])
        if isinstance(submission, Submission)
        for weights in [submission.weights()]
    }
    assert verdicts == {
        "carl.ipynb": b"own",
        "class.zip/anna/a.ipynb": b"anna/NumberTranslator.safetensors",
        "class.zip/bert/b.ipynb": None,
        "dora.ipynb": None,
    }


@pytest.mark.parametrize(("weights", "status"), [(b"", "not attempted"), (b"x", "not graded")])
def test_the_model_as_it_was_given_is_an_attempt_if_it_comes_trained(weights, status):
    grafted = graft(exercise_files()["tasks"].read_bytes())
    grafted.weights = weights
    prepare(report := Report("tasks.ipynb"), grafted)
    statuses = {result.name: result.status for result in report.exercises}
    assert statuses.pop(CAPSTONE.name) == status
    assert set(statuses.values()) == {"not attempted"}


def test_other_weights_are_another_submission(tmp_path):
    (tmp_path / "carl.ipynb").write_text("{}")
    content_before = Submission("carl.ipynb", tmp_path / "carl.ipynb").handed_in()
    (tmp_path / "carl.safetensors").write_text("own")
    assert Submission("carl.ipynb", tmp_path / "carl.ipynb").handed_in() != content_before


def test_weights_are_graded_with_the_notebook_that_has_their_name(tmp_path, grading):
    solved = solved_notebook("tasks")
    for name, cell in answer_cells(solved).items():
        cell.source = cell.source if name == CAPSTONE.name else ""
    for name in ("anna", "bert"):
        nbformat.write(solved, tmp_path / f"{name}.ipynb")
    save_file(own_weights(), tmp_path / "anna.safetensors")
    for name, expected in {"anna": "passed", "bert": "not attempted"}.items():
        report = grade(tmp_path / f"{name}.ipynb", seed=1)
        (result,) = (result for result in report.exercises if result.name == CAPSTONE.name)
        assert result.status == expected
        assert ("of 300 names are right" in result.evidence) == (expected == "passed")
