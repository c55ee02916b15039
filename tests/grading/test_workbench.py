"""What a workbench hands in is judged from outside the process that its code runs in."""

import json
from zipfile import ZipFile

import pytest
import torch

from attncourse.data.addresses import excerpts
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import Windower
from attncourse.train import seeded
from attncourse.workbench.grade import grade
from attncourse.workbench.hand_in import CODE, MOST_BYTES, WEIGHTS, pack, unpack
from attncourse.workbench.layers import UnfitError, load_method
from attncourse.workbench.protocol import bits_of_texts
from judge.grading.sandbox import tiers
from tests.attncourse.test_workbench import FALSE_STATE, NOT_CAUSAL, RIGHT

TEXTS = excerpts()[:1]


@pytest.fixture
def handed_in(tmp_path):
    """Hands in a method with a new model's weights: the path of the zip file, and the model."""

    def made(code):
        path = tmp_path / "mine.py"
        path.write_text(code, "utf-8")
        with seeded(0):
            model = load_method(path).model(Windower(stored_pairs()).vocabulary).eval()
        return pack(path, model.state_dict()), model

    return made


def lines(path) -> list[str]:
    return list(grade(unpack(path), TEXTS, tiers.select_tier()[0]))


def test_a_right_method_has_the_bits_and_the_state_that_it_has_here(handed_in, grading):
    path, model = handed_in(RIGHT)
    with torch.no_grad():
        bits, characters = bits_of_texts(model, Windower(stored_pairs()), TEXTS)
    assert lines(path) == [
        "causal: ok",
        "cache step: ok",
        "bytes of state after 128 tokens: 768, expected 768",
        f"bits a character of 1 texts: {(bits / characters).item():.3f}",
    ]


@pytest.mark.parametrize(
    "code, sentence",
    [
        (NOT_CAUSAL, "layer 0: when token 1 changes, so does the output of token 0 before it"),
        (FALSE_STATE, "layer 0: it raises AttributeError"),
        (RIGHT + "\nwhile True: pass", "its code cannot be run"),
        (RIGHT.replace("import torch", "raise SystemExit"), "its code cannot be run"),
    ],
    ids=["not causal", "false state", "endless", "ends"],
)
def test_what_is_wrong_is_one_sentence(code, sentence, handed_in, grading, monkeypatch):
    path, _ = handed_in(RIGHT)
    with ZipFile(path) as file:
        weights = file.read(WEIGHTS)
    with ZipFile(path, "w") as file:
        file.writestr(CODE, code)
        file.writestr(WEIGHTS, weights)
    monkeypatch.setattr("attncourse.workbench.grade.START", 3)
    with pytest.raises(UnfitError, match=sentence) as caught:
        lines(path)
    assert "\n" not in str(caught.value)


def test_weights_of_another_model_are_named(handed_in, grading):
    path, model = handed_in(RIGHT)
    state = {name: x for name, x in model.state_dict().items() if name != "stack.norm.bias"}
    with pytest.raises(UnfitError, match="the weights are not those of the protocol's model"):
        lines(pack(path.with_suffix(".py"), state))


def test_what_is_no_hand_in_is_named(handed_in, tmp_path):
    path, _ = handed_in(RIGHT)
    other = tmp_path / "other.zip"
    other.write_bytes(b"no zip file")
    with pytest.raises(UnfitError, match=r"other\.zip is not what the workbench writes"):
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
    for expected in ("{'state': 'small'}", "{'bytes': 1}", "5", "f()", "(" * 1000):
        with ZipFile(other, "w") as file:
            file.writestr(CODE, f"EXPECTED = {expected}")
        with pytest.raises(UnfitError):
            unpack(other)
    assert unpack(path).expected == {"state": 768}
