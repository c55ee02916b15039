"""Checks of modules, and of the size of the tensors that an answer makes on the way."""

import json

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout

from judge import messages
from judge.call import driver
from judge.exercise import Case, Exercise
from judge.verdict import judge, local

WEIGHTS = {"w.weight": (4, 3), "w.bias": (4,)}

exercise = Exercise(
    name="LinearMap",
    chapter="dot_product",
    title="A linear map",
    kind="build",
    difficulty=1,
    minutes=1,
    points=1,
    hints=("idea", "shape", "line"),
)


@exercise.reference
class LinearMap(nn.Module):
    def __init__(self, d, width):
        super().__init__()
        self.w = nn.Linear(d, width)

    def forward(self, x):
        return self.w(x)


@exercise.cases
def cases(draw):
    weights = {name: draw.normal(*shape) for name, shape in WEIGHTS.items()}
    x = draw.normal(2, 5, 3)
    longer = (x.repeat(1, 8, 1),)
    yield Case("a batch", (x,), build=(3, 4), weights=weights, longer=longer, max_elements=40)
    yield Case("one vector", (x[0, 0],), build=(3, 4), weights=weights)


@exercise.mutant("the bias is missing")
class WithoutBias(LinearMap):
    def forward(self, x):
        return x @ self.w.weight.mT


@exercise.mutant("each product is kept: add them up as you go")
class AllProducts(LinearMap):
    def forward(self, x):
        return (x[..., None, :] * self.w.weight).sum(-1) + self.w.bias


class Renamed(nn.Module):
    def __init__(self, d, width):
        super().__init__()
        self.map = nn.Linear(d, width)


class Transposed(LinearMap):
    def __init__(self, d, width):
        super().__init__(width, d)


class Detached(LinearMap):
    def forward(self, x):
        return x @ self.w.weight.mT + self.w.bias.detach()


class PlainTensors(nn.Module):
    def __init__(self, d, width):
        super().__init__()
        self.w = nn.Module()
        self.w.weight, self.w.bias = torch.zeros(width, d), torch.zeros(width)


class DropoutInTraining(LinearMap):
    def forward(self, x):
        return dropout(self.w(x), 0.5, self.training)


class DropoutLeftOn(LinearMap):
    def forward(self, x):
        return dropout(self.w(x), 0.5)


class OnTheCpu(LinearMap):
    def forward(self, x):
        return self.w(x) + torch.zeros(4, device="cpu")


class Frozen(LinearMap):
    def __init__(self, d, width):
        super().__init__(d, width)
        self.requires_grad_(False)


class CachedResult(LinearMap):
    cached = None

    def forward(self, x):
        if self.cached is None:
            self.cached = self.w(x)
        return self.cached


class CachedWeight(LinearMap):
    """Gradients flow, but the numbers are those of the weights at its first call."""

    first_weight = None

    def forward(self, x):
        weight = self.w.weight
        if self.first_weight is None:
            self.first_weight = weight.detach()
        return x @ (weight - weight.detach() + self.first_weight).mT + self.w.bias


class Unwritten(LinearMap):
    def forward(self, x):
        raise NotImplementedError("write forward here")


class Looping(LinearMap):
    def forward(self, x):
        return torch.stack([self.w(row) for row in x.unbind(-2)], -2) if x.dim() > 1 else self.w(x)


def map_of_a_vector(d, width):
    return torch.zeros(width)


def test_a_right_module_passes():
    assert judge(exercise, local(LinearMap), seed=1).status == "passed"


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (WithoutBias, "wrong", "the bias is missing"),
        (AllProducts, "wrong", "each product is kept: add them up as you go"),
        (
            Renamed,
            "wrong",
            "the module has the wrong parameters. Not asked for: map.bias (4,), map.weight (4, 3), "
            "missing: w.bias (4,), w.weight (4, 3)",
        ),
        (
            PlainTensors,
            "wrong",
            "plain tensors aren't trained: make each of these an nn.Parameter: w.bias, w.weight",
        ),
        (Transposed, "wrong", "Not asked for: w.bias (3,), w.weight (3, 4), missing"),
        (Detached, "wrong", messages.DETACHED),
        (DropoutLeftOn, "wrong", "your code draws random numbers"),
        (DropoutInTraining, "wrong", "your code draws random numbers"),
        (
            OnTheCpu,
            "wrong",
            "your code makes a tensor on the CPU: make it on the device of an input",
        ),
        (Unwritten, "not attempted", "`raise NotImplementedError` is still there"),
        (Looping, "too slow", "your code loops in Python"),
        (
            map_of_a_vector,
            "wrong",
            "your answer should be a class that derives from torch.nn.Module",
        ),
        (
            LinearMap(3, 4),
            "wrong",
            "your answer should be the class itself, not a module made from it",
        ),
        (Frozen, "wrong", "w.weight, w.bias can't be trained: requires_grad is False"),
        (CachedResult, "wrong", "the shape isn't right"),
        (CachedWeight, "wrong", "the shape is right, but the numbers aren't"),
    ],
)
def test_a_wrong_module_is_told_what_is_wrong(answer, status, message):
    verdict = judge(exercise, local(answer), seed=1)
    assert verdict.status == status, verdict
    assert message in verdict.hint


def test_a_gradient_that_is_missing_is_named_by_its_parameter():
    assert (
        judge(exercise, local(Detached), seed=1).evidence
        == "On a batch: no gradient reaches w.bias"
    )


def test_a_tensor_that_is_too_large_is_told_with_its_size(monkeypatch):
    monkeypatch.setattr(exercise, "own_mutants", [])
    verdict = judge(exercise, local(AllProducts), seed=1)
    assert verdict.hint == "your code makes an intermediate tensor that is too large"
    assert (
        verdict.evidence == "On a batch: one tensor has 120 numbers, but none may have more than 40"
    )


def test_a_module_is_asked_for_in_plain_data():
    """The judge sends JSON to the learner's kernel, weights included."""
    messages = []

    def call_over_json(request):
        messages.append(json.dumps(request))
        return json.loads(driver.respond({"LinearMap": LinearMap}, json.loads(messages[-1])))

    assert judge(exercise, call_over_json, seed=1).status == "passed"
    assert '"w.bias"' in messages[0]
