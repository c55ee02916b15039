"""A device that is not the CPU: it lets pass and refuses what a GPU does, and holds numbers."""

import subprocess
import sys

import numpy
import pytest
import torch
from torch.nn import functional

from attncourse.course import exercise
from judge import messages
from judge.call.caller import local
from judge.call.fake_device import FakeDeviceTensor, computing
from judge.verdict import Verdict, judge
from tests import ROOT
from tests.judge.test_generic_mistakes import argmax_of_rows, inputs, make_exercise

X, I3 = torch.linspace(-1, 1, 12).reshape(3, 4), torch.tensor([0, 2, 1])


def fill_with_ones(module):
    for weight in module.parameters():
        torch.nn.init.ones_(weight)
    return module


# x, of 3 x 4 numbers, and the indices i are elsewhere
STAYING_OPERATIONS = [
    lambda x, i: x @ x.mT,
    lambda x, i: x * torch.tensor(2.0),
    lambda x, i: x[torch.tensor([0, 1])],
    lambda x, i: x[[0, 1]],
    lambda x, i: x[..., [2, 0]],
    lambda x, i: x[x > 0],
    lambda x, i: x[i],
    lambda x, i: torch.arange(3, device=x.device) + i,
    lambda x, i: torch.arange(3).to(x.device) + i,
    lambda x, i: torch.tensor([1.0, 2, 3, 4], device=x.device) * x,
    lambda x, i: x.new_tensor([1.0, 2, 3, 4]) * x,
    lambda x, i: x.new_zeros(4) + x,
    lambda x, i: torch.zeros_like(x).index_add_(0, i, x),
    lambda x, i: x.clone().masked_fill_(x > 0, -torch.inf),
    lambda x, i: torch.add(x, 1, out=torch.empty_like(x)),
    lambda x, i: functional.one_hot(i, 4),
    lambda x, i: torch.vmap(lambda row: row.softmax(-1))(x),
    lambda x, i: torch.vmap(lambda row, all: row @ all)(x, x.expand(3, 3, 4).mT),
    lambda x, i: x[:, None].clone().squeeze_(1).t_(),
    lambda x, i: torch.func.jacrev(torch.sin)(x),
    lambda x, i: torch.func.jacfwd(torch.sin)(x),
    lambda x, i: torch.autograd.functional.jacobian(torch.sin, x),
    lambda x, i: torch.stack(list(x)),
    lambda x, i: x * int(i.max()) if bool((i > 1).any()) else None,
    lambda x, i: torch.tensor(i.tolist(), device=i.device),
    lambda x, i: torch.tensor([i.max(), i[1]], device=i.device),
    lambda x, i: x.new_tensor([x[0, 1], x.max()]),
    lambda x, i: torch.from_numpy(x.cpu().numpy()).to(x),
    lambda x, i: torch.einsum("ij,kj->ik", x, x).logsumexp(-1),
    lambda x, i: torch.linalg.svdvals(x),
    lambda x, i: fill_with_ones(torch.nn.Linear(4, 2)).to(x)(x),
]
RETURNING_OPERATIONS = [
    lambda x, i: x.cpu(),
    lambda x, i: torch.zeros(3, 4).copy_(x),
    lambda x, i: torch.tensor([[i.max()], [i[1]]]),
]
REFUSED_OPERATIONS = [
    lambda x, i: x @ torch.ones(4, 2),
    lambda x, i: x + torch.ones(4),
    lambda x, i: torch.einsum("ij,jk->ik", x, torch.ones(4, 2)),
    lambda x, i: torch.where(torch.ones(3, 4) > 0, x, 0.0),
    lambda x, i: x.gather(0, torch.zeros(1, 4).long()),
    lambda x, i: x.index_select(0, torch.tensor([0])),
    lambda x, i: functional.embedding(torch.tensor([0]), x),
    lambda x, i: torch.zeros(3, 4).index_add_(0, i, x),
    lambda x, i: torch.ones(3, 4)[i],
    lambda x, i: torch.nn.Linear(4, 2)(x),
    lambda x, i: x.numpy(),
    lambda x, i: numpy.asarray(x),
]


def call_elsewhere(answer):
    with computing():
        return answer(FakeDeviceTensor(X), FakeDeviceTensor(I3))


def call_on_gpu(answer):
    return answer(X.cuda(), I3.cuda())


@pytest.mark.parametrize("answer", STAYING_OPERATIONS)
def test_what_a_gpu_computes_stays_there_and_has_its_numbers(answer):
    result = call_elsewhere(answer)
    assert isinstance(result, FakeDeviceTensor) and result.device.type == "meta"
    torch.testing.assert_close(result.held, answer(X, I3))


@pytest.mark.parametrize("answer", RETURNING_OPERATIONS)
def test_what_is_copied_to_the_cpu_is_there(answer):
    assert type(call_elsewhere(answer)) is torch.Tensor


@pytest.mark.parametrize("answer", REFUSED_OPERATIONS)
def test_what_a_gpu_refuses_is_refused(answer):
    with pytest.raises((RuntimeError, TypeError)):
        call_elsewhere(answer)


@pytest.mark.gpu
@pytest.mark.parametrize("answer", STAYING_OPERATIONS)
def test_a_gpu_computes_it_and_has_its_numbers(answer):
    result = call_on_gpu(answer)
    assert result.is_cuda
    torch.testing.assert_close(result.cpu(), answer(X, I3))


@pytest.mark.gpu
@pytest.mark.parametrize("answer", RETURNING_OPERATIONS)
def test_it_is_copied_from_a_gpu_to_the_cpu(answer):
    assert call_on_gpu(answer).device.type == "cpu"


@pytest.mark.gpu
@pytest.mark.parametrize("answer", REFUSED_OPERATIONS)
def test_a_gpu_refuses_it(answer):
    with pytest.raises((RuntimeError, TypeError)):
        call_on_gpu(answer)


@pytest.mark.parametrize(("index", "right"), [("i", True), ("i.cpu()", False)])
def test_an_index_on_the_cpu_is_seen(index, right):
    source = f"""
import torch


def stretch_table(table, n):
    place = torch.linspace(0, len(table) - 1, n, dtype=table.dtype, device=table.device)
    i = place.floor().long().clamp(max=max(len(table) - 2, 0))
    part = (place - i)[:, None]
    above = (i + 1).clamp(max=len(table) - 1)
    low, high = table.index_select(0, {index}), table.index_select(0, above)
    return low + part * (high - low)
"""
    namespace = {}
    exec(source, namespace)
    verdict = judge(exercise("stretch_table"), local(namespace["stretch_table"]), 0)
    assert (verdict == Verdict("passed")) == right, verdict
    assert right or "on the CPU" in verdict.hint


def test_what_uses_numpy_there_is_told_so():
    task = make_exercise(inputs, argmax_of_rows, differentiable=False)
    verdict = judge(task, local(lambda x: torch.from_numpy(x.numpy().argmax(-1))), 0)
    assert (verdict.status, verdict.hint) == ("error", messages.NUMPY_ON_CPU), verdict


JUDGE_SCRIPT = """
import sys, torch
from attncourse.course import chapters, exercise, exercises
from attncourse.course import COURSE
from judge.say.bank import mutants
from judge.verdict import judge, local

for chapter in chapters():
    task = next(task for task in exercises(chapter).values() if task.kind == "build")
    for answer in (task.valid_answers[0], mutants(task)[0].function):
        judge(task, local(answer), 0)
# its result is made on another device, and some functions are forbidden
task = exercise("prefix_mask")
judge(task, local(task.valid_answers[0]), 0, COURSE.forbidden(task))
large = "torch._dynamo", "torch.distributed.tensor", "sympy"
print([name for name in large if name in sys.modules])
"""


def test_a_check_loads_no_part_of_torch_that_takes_longer_than_it():
    process = subprocess.run(
        [sys.executable, "-c", JUDGE_SCRIPT], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert process.stdout == "[]\n"
