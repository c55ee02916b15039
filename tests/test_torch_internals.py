"""The functions that use torch's private parts do what they say, on next year's torch, too."""

import subprocess
import sys
from collections import namedtuple

import pytest
import torch

from judge.call.torch_internals import (
    TorchDispatchMode,
    in_place,
    is_view,
    leaves,
    mapped,
    on_wrappers,
    shown_plainly,
    wrapping,
)


class RecordingMode(TorchDispatchMode):
    """A dispatch mode that records operations."""

    def __init__(self):
        super().__init__()
        self.operations = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.operations.append(operation)
        return operation(*args, **(kwargs or {}))


def operation_of(call):
    x = torch.ones(2, 3)
    with RecordingMode() as mode:
        call(x)
    (operation,) = mode.operations
    return operation


def test_a_mode_sees_each_operation():
    with RecordingMode() as mode:
        torch.ones(2, 3).softmax(-1).sum()
    names = [operation.overloadpacket.__name__ for operation in mode.operations]
    assert names == ["ones", "_softmax", "sum"]


@pytest.mark.parametrize(
    "call, view, writes",
    [
        (torch.exp, False, False),
        (lambda x: x.permute(1, 0), True, False),
        (lambda x: x[0], True, False),
        (torch.Tensor.exp_, True, True),
    ],
)
def test_an_operation_says_whether_it_makes_a_tensor_and_whether_it_writes(call, view, writes):
    operation = operation_of(call)
    assert (is_view(operation), in_place(operation)) == (view, writes)


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, tensor):
        return wrapping(cls, tensor, "meta")

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        raise NotImplementedError


def test_a_tensor_that_wraps_another_has_its_sizes_on_the_other_device():
    tensor = torch.ones(4, 6, dtype=torch.float64)[1:, ::2].mT
    wrapper = Wrapper(tensor)
    assert (wrapper.shape, wrapper.stride(), wrapper.storage_offset()) == ((3, 3), (2, 6), 6)
    assert (wrapper.dtype, wrapper.device.type) == (torch.float64, "meta")


def test_a_wrapper_takes_the_sizes_that_an_operation_leaves():
    wrapper = Wrapper(torch.ones(4, 1, 6))
    on_wrappers(torch.ops.aten.squeeze_.dim, (wrapper, 1), {})
    assert wrapper.shape == (4, 6)


def test_the_compiler_is_loaded_once_something_is_compiled():
    code = (
        "import torch; from judge.call.torch_internals import compiler_is_loaded as loaded; "
        "before = loaded(); torch.compile(torch.exp); print(before, loaded())"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == ["False", "True"]


def test_small_numbers_are_shown_plainly_and_afterwards_as_before():
    x = torch.tensor([0.0001, 1000.0])
    text_before = repr(x)
    with shown_plainly():
        assert repr(x) == "tensor([   0.0001, 1000.0000])"
    assert repr(x) == text_before


def test_leaves_and_what_is_made_of_them_keep_their_places():
    Pair = namedtuple("Pair", "one other")
    top_values = torch.tensor([[3.0, 1.0]]).topk(1)
    value = (
        1,
        [torch.zeros(2), {"a": None, "b": (2.5, "x")}],
        Pair(3, 4),
        top_values,
        torch.Size([5]),
    )
    assert [x for x in leaves(value) if not isinstance(x, torch.Tensor)] == [
        1, None, 2.5, "x", 3, 4, 5,
    ]  # fmt: skip
    doubled_value = mapped(lambda x: x * 2, value, int)
    assert doubled_value[0] == 2 and doubled_value[1][1] == {"a": None, "b": (2.5, "x")}
    assert doubled_value[2] == Pair(6, 8) and type(doubled_value[2]) is Pair
    assert (
        type(doubled_value[3]) is type(top_values) and doubled_value[3].values is top_values.values
    )
    assert mapped(torch.neg, [torch.ones(1)], torch.Tensor)[0].item() == -1
