"""What a workbench hands in is judged from outside the process that its code runs in."""

import csv
import json
from dataclasses import replace
from zipfile import ZipFile

import pytest
import torch

from attncourse.data.addresses import addresses, excerpts
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import Windower
from attncourse.train import seeded
from attncourse.workbench import grade, protocol
from attncourse.workbench.grader import Grader
from attncourse.workbench.hand_in import CODE, MOST_BYTES, WEIGHTS, pack, packable, unpack
from attncourse.workbench.layers import UnfitError, load_method
from attncourse.workbench.protocol import bits_of_texts
from judge.grading.sandbox import tiers
from tests.attncourse.workbench_methods import FALSE_STATE, NOT_CAUSAL, OUTPUT, RIGHT

TEXTS = excerpts()[:1]


@pytest.fixture
def handed_in(tmp_path):
    """Hands in a method with a new model's weights: the path of the zip file, and the model."""

    def made(code, name="mine"):
        path = tmp_path / f"{name}.py"
        path.write_text(code, "utf-8")
        with seeded(0):
            model = load_method(path).model(Windower(stored_pairs()).vocabulary).eval()
        return pack(path, model.state_dict()), model

    return made


def with_code(path, code):
    """The same hand-in with other code."""
    with ZipFile(path) as file:
        weights = file.read(WEIGHTS)
    with ZipFile(path, "w") as file:
        file.writestr(CODE, code)
        file.writestr(WEIGHTS, weights)
    return unpack(path)


def grader(test=TEXTS, **texts) -> Grader:
    return Grader(tiers.select_tier()[0], 1, test, **texts)


@pytest.mark.slow
def test_a_right_method_has_the_bits_and_the_counts_that_it_has_here(handed_in, grading):
    path, model = handed_in(RIGHT)
    with torch.no_grad():
        bits, characters = bits_of_texts(model, Windower(stored_pairs()), TEXTS)
    found = grader().grade(unpack(path))
    assert (found.failed, found.cache_failed, found.ours) == ("", "", None)
    assert (found.state, found.operations) == (768, 49_152)
    assert found.bits == pytest.approx((bits / characters).item(), abs=1e-5)


@pytest.mark.slow
def test_a_false_state_costs_what_depends_on_it(handed_in, grading):
    found = grader(()).grade(with_code(handed_in(RIGHT)[0], FALSE_STATE))
    assert not found.failed and found.state is None
    assert "in a fresh process: the step of token" in found.cache_failed


WRONG = {
    "new layer 0: causal: when token 1 changes, so does the output of token 0": NOT_CAUSAL,
    "new layer 0: texts: the text has the dtype": RIGHT.replace(OUTPUT, OUTPUT + ".double()"),
    "new layer 0: texts: it raises ValueError: “no”": RIGHT.replace(
        OUTPUT, "raise ValueError('no')"
    ),
    "new layer 0: texts: this code ends or breaks the Python process": RIGHT.replace(
        OUTPUT, "import os; os._exit(0)"
    ),
    "new layer 0: texts: it raises": RIGHT.replace(
        OUTPUT, "import urllib.request as u; u.urlopen('http://127.0.0.1')"
    ),
    "new layer 0: texts: this code never ends": RIGHT.replace(OUTPUT, "while True: pass"),
    "new layer 0: texts: it raises RuntimeError": RIGHT.replace(
        OUTPUT, OUTPUT + " + torch.zeros(1 << 36)[0]"
    ),
    "this code never ends": RIGHT + "\nwhile True: pass",
    "its code cannot be run": RIGHT.replace("import torch", "raise SystemExit"),
}  # fmt: skip


@pytest.mark.parametrize("sentence", WRONG)
def test_what_is_wrong_is_one_sentence(sentence, handed_in, grading, monkeypatch):
    hand_in = with_code(handed_in(RIGHT)[0], WRONG[sentence])
    limit = "SECONDS" if sentence.startswith("new layer") else "START"
    if "never ends" in sentence:
        monkeypatch.setattr(f"attncourse.workbench.remote.{limit}", 5)
    said = grader().grade(hand_in).failed
    assert said.startswith(sentence) and "\n" not in said and "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sentence", "edit"),
    [
        ("causal: in training: when token", " + (x.roll(-1, -2) if self.training else 0)"),
        ("causal: the output of token", " + x.roll(-1, -2) - x.roll(-1, -2).detach()"),
        ("padding: token", ""),
    ],
)
def test_training_gradients_and_padding_are_checked_in_the_sandbox_too(
    sentence, edit, handed_in, grading
):
    code = RIGHT.replace(OUTPUT, OUTPUT + edit) if edit else RIGHT.replace("~mask.mT", "mask.mT")
    said = grader().grade(with_code(handed_in(RIGHT)[0], code)).failed
    assert said.startswith(f"new layer 0: {sentence}")


def test_weights_of_another_model_are_named(handed_in, grading):
    path, model = handed_in(RIGHT)
    state = {name: x for name, x in model.state_dict().items() if not name.endswith("rate")}
    said = grader().grade(unpack(pack(path.with_suffix(".py"), state))).failed
    assert said.startswith("the file has no weights rate of the shape ()")


def test_what_is_too_large_to_be_handed_in_is_said_before_it_is_trained(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(RIGHT)
    with pytest.raises(UnfitError, match=r"weights\.safetensors has .* bytes, more than 4,194,304"):
        packable(path, {"w": torch.zeros(2 << 20)})


def test_what_is_no_hand_in_is_named(handed_in, tmp_path):
    path, _ = handed_in(RIGHT)
    other = tmp_path / "other.zip"
    other.write_bytes(b"no zip file")
    with pytest.raises(UnfitError, match=r"this is not what the workbench writes"):
        unpack(other)
    with ZipFile(other, "w") as file:
        file.writestr(CODE, "#" * (MOST_BYTES[CODE] + 1))
    with pytest.raises(UnfitError, match=r"method\.py has 100,001 bytes, more than 100,000"):
        unpack(other)
    with ZipFile(other, "w") as file:
        file.writestr(CODE, RIGHT)
        file.writestr(WEIGHTS, json.dumps({"w": 1}))
    with pytest.raises(UnfitError, match="is not what the workbench writes"):
        unpack(other)
    for expected in (
        "{'state': 'small'}",
        "{'bytes': 1}",
        "5",
        "f()",
        "(" * 1000,
        "{'bits': 1e999}",
    ):
        with ZipFile(other, "w") as file:
            file.writestr(CODE, f"EXPECTED = {expected}")
        with pytest.raises(UnfitError):
            unpack(other)
    assert unpack(path).expected == {"state": 768}


def test_a_training_anew_in_the_sandbox_gives_other_bits(handed_in, grading):
    path, _ = handed_in(RIGHT)
    train = addresses(offline=True).train
    said = grader(train=train).train_anew(unpack(path), 3.0, protocol.PARTS)
    assert said.startswith("trained anew for 20 steps, it has ")


@pytest.mark.slow
def test_a_class_goes_on_where_it_was_stopped_and_trains_some_anew(
    handed_in, grading, tmp_path, monkeypatch, capsys
):
    corpus = replace(addresses(offline=True), sample=False)
    corpus = replace(corpus, test=TEXTS)
    monkeypatch.setattr(grade, "addresses", lambda: corpus)
    files = [handed_in(code, name)[0] for name, code in (("a", RIGHT), ("b", RIGHT + "# b"))]
    wrong = tmp_path / "c.zip"
    wrong.write_bytes(b"no zip file")
    out = tmp_path / "grades"
    steps = str(protocol.PARTS)
    options = [*map(str, files), str(wrong), "--out", str(out), "--retrain", "1", "--steps", steps]
    monkeypatch.setattr("sys.argv", ["grade", *options, "--seed", "3"])
    assert grade.main() == 1
    first = capsys.readouterr().out
    assert f"trained anew for {steps} steps, it has" in first and "c: 0 of 20 points" in first
    with (out / "methods.csv").open(encoding="utf-8") as file:
        rows = {row["file"]: row for row in csv.DictReader(file)}
    assert rows["a"]["state"] == "768" and rows["c"]["checks"] == "no"
    # what was found is not found again
    monkeypatch.setattr(Grader, "grade", None)
    monkeypatch.setattr(Grader, "train_anew", None)
    assert grade.main() == 1
    again = capsys.readouterr().out
    assert again.count(f"trained anew for {steps} steps, it has") == 1
    assert all(line.strip() in again for line in first.splitlines() if "trained" not in line)
