"""Long answers that are alike are flagged, where the worked solution does not explain it.

So are trained weights.
"""

import nbformat
import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from attncourse.course import COURSE, exercise
from attncourse.course.capstone import changed, noisy
from judge.grading.cli import app
from judge.grading.similar import Alike, alike
from tests import WEIGHTS
from tests.grading.submissions import SOLVED
from tools.notebooks import solved_notebook

LONG = '''# exercise: attention_pool
def attention_pool(query, keys, values, mask=None):
    """An answer with an unusual way through."""
    collected = []
    for position in range(keys.shape[-2]):
        row = keys[..., position, :]
        product = (query * row).sum(-1)
        collected.append(product / keys.shape[-1] ** 0.5)
    stacked = torch.stack(collected, dim=-1)
    if mask is not None:
        stacked = torch.where(mask, stacked, torch.full_like(stacked, -1e30))
    largest = stacked.amax(-1, keepdim=True)
    raised = torch.exp(stacked - largest)
    total = raised.sum(-1, keepdim=True)
    portions = raised / total
    return torch.einsum("...m,...md->...d", portions, values)
'''
RENAMED = (
    LONG.replace("collected", "xs")
    .replace("position", "i")
    .replace("portions", "weights")
    .replace("stacked", "z")
    .replace('"""An answer with an unusual way through."""', "# mine")
)
OTHER = """# exercise: attention_pool
def attention_pool(query, keys, values, mask=None):
    d = query.shape[-1]
    logits = torch.einsum("...d,...md->...m", query, keys)
    logits *= d ** -0.5
    allowed = torch.ones_like(logits, dtype=torch.bool)
    if mask is not None:
        allowed &= mask
    logits[~allowed] = float("-inf")
    probabilities = torch.softmax(logits, -1)
    weighted = probabilities.unsqueeze(-1) * values
    pooled = weighted.sum(dim=-2)
    assert pooled.shape[-1] == values.shape[-1]
    return pooled
"""


def found(**answers: str) -> list[Alike]:
    return list(
        alike((("attention_pool", who, text) for who, text in answers.items()), COURSE.solutions)
    )


def test_a_long_answer_under_other_names_is_flagged():
    (pair,) = found(a=LONG, b=RENAMED, c=OTHER)
    assert (pair.first, pair.second) == ("a", "b") and pair.share > 0.9


def test_of_answers_that_are_not_alike_nothing_is_said():
    assert found(a=LONG, c=OTHER) == []


def test_an_answer_of_few_lines_is_never_flagged():
    short = "def attention_pool(query, keys, values):\n    {}\n    return query"
    line = "query = " + " + ".join(f"torch.tanh(keys[..., {i}] * query)" for i in range(9))
    assert found(a=short.format(line), b=short.format(line)) == []


def test_what_a_sixth_of_the_class_has_is_from_a_lecture():
    assert found(**{f"s{i}": LONG for i in range(4)}) == []


@pytest.mark.parametrize("name", ["test_attention", "attention_pool", "distance_attention"])
def test_the_worked_solution_explains_itself(name):
    again = SOLVED[name].replace("scores", "s")
    assert list(alike([(name, "a", SOLVED[name]), (name, "b", again)], COURSE.solutions)) == []


@pytest.mark.parametrize("text", ["", "def f(:\n  '''", "\t\n x\n\ty", "#" * 9, "\0", "(" * 5000])
def test_no_text_stops_the_comparison(text):
    assert found(a=text, b=text) == []


@pytest.mark.usefixtures("all_pass")
def test_a_class_s_weights_are_compared_and_nobody_loses_points(tmp_path):
    one = exercise("NumberTranslator")
    own = load_file(WEIGHTS / "tasks" / one.file)
    nearly = changed(own, noisy, torch.Generator().manual_seed(0))
    files = {"anna": own, "bert": nearly, "carl": one.known()[0], "dora": None, "eve": {}}
    (tmp_path / "class").mkdir()
    for name, weights in files.items():
        nbformat.write(solved_notebook("tasks"), tmp_path / "class" / f"{name}.ipynb")
        path = tmp_path / "class" / f"{name}.safetensors"
        if weights:
            save_file(weights, path)
        elif weights is not None:
            path.write_bytes(b"no weights")
    command = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out")]
    said = CliRunner().invoke(app, command, catch_exceptions=False).output
    table = (tmp_path / "out/weights.csv").read_text().splitlines()
    assert table == ["exercise,one student,another", f"{one.name},anna,bert"]
    assert "1 pairs of trained weights are alike: see weights.csv" in said
