"""The counter of operations and memory."""

import pytest
import torch
import torch.nn.functional as F

from attncourse.cost import Cost, count, elements_by_operation
from attncourse.dot_product import additive_weights, attention

DEVICES = ["cpu", "meta"]


def blanks(device, *shapes):
    return [torch.zeros(shape, device=device) for shape in shapes]


@pytest.mark.parametrize("device", DEVICES)
def test_a_matrix_product_counts_two_operations_a_term(device):
    a, b = blanks(device, (3, 4), (4, 5))
    assert count(torch.matmul, a, b) == Cost(flops=2 * 3 * 4 * 5, largest=3 * 5)


@pytest.mark.parametrize("device", DEVICES)
def test_a_product_with_a_vector_is_counted_too(device):
    a, b = blanks(device, (3, 7, 4), (4,))
    assert count(torch.matmul, a, b) == Cost(flops=2 * 3 * 7 * 4, largest=3 * 7)


@pytest.mark.parametrize("device", DEVICES)
def test_a_product_added_in_place_is_counted_too(device):
    total, a, b = blanks(device, (3, 5), (3, 4), (4, 5))
    assert count(total.addmm_, a, b).flops == 2 * 3 * 4 * 5
    batch = (x.expand(7, *x.shape) for x in (a, b))
    assert count(total.repeat(7, 1, 1).baddbmm_, *batch).flops == 7 * 2 * 3 * 4 * 5


@pytest.mark.parametrize("device", DEVICES)
def test_a_triangular_system_counts_half_a_product(device):
    system, columns = blanks(device, (3, 5, 5), (3, 5, 4))
    solve = torch.linalg.solve_triangular
    # each row is made of the rows before it: 0 + 1 + 2 + 3 + 4
    cost = count(solve, system, columns, upper=False, unitriangular=True)
    assert cost.flops == 3 * 2 * 10 * 4


@pytest.mark.parametrize("device", DEVICES)
def test_attention_counts_what_the_formula_says(device):
    q, k, v = blanks(device, (2, 9, 4), (2, 11, 4), (2, 11, 3))
    assert count(attention, q, k, v) == Cost(2 * 2 * 9 * 11 * (4 + 3), largest=2 * 9 * 11)


@pytest.mark.parametrize("device", DEVICES)
def test_additive_weights_hold_a_hidden_vector_for_each_pair(device):
    q, k, w_q, w_k, w_v = blanks(device, (9, 4), (11, 3), (4, 6), (3, 6), (6,))
    flops = 2 * (9 * 4 * 6 + 11 * 3 * 6 + 9 * 11 * 6)
    assert count(additive_weights, q, k, w_q, w_k, w_v) == Cost(flops, largest=9 * 11 * 6)


def test_views_inputs_and_changes_in_place_are_no_new_tensors():
    (x,) = blanks("cpu", (30, 30))
    assert count(lambda: x.mT[None].expand(8, 30, 30)[..., :2]) == Cost(flops=0, largest=0)
    assert count(lambda: x.add_(1)) == Cost(flops=0, largest=0)


def test_several_outputs_and_keyword_arguments_are_counted():
    (x,) = blanks("cpu", (4, 6))
    assert count(torch.sort, x, dim=0).largest == 24
    assert count(F.softmax, x, dim=-1).largest == 24


def test_the_function_is_called_once_with_its_arguments():
    calls = []
    assert count(lambda *args, **kwargs: calls.append((args, kwargs)), 1, b=2) == Cost(0, 0)
    assert calls == [((1,), {"b": 2})]


@pytest.mark.parametrize("device", DEVICES)
def test_the_numbers_made_are_counted_by_operation_and_views_make_none(device):
    x, w = blanks(device, (3, 4), (4, 5))
    elements = elements_by_operation(lambda: torch.tanh(x @ w).mT.tanh() + 1)
    assert elements == {"mm": 15, "tanh": 30, "add": 15}
