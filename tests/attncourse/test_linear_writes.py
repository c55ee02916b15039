"""How a token writes to the state of linear attention, with gates and by the delta rule."""

import pytest
import torch

from attncourse.linear import delta_write, gated_write
from tests.attncourse.gradients import assert_equal_with_gradients

LEADING_AXES = [(), (2,), (2, 1, 3)]


def entries(entry, rows=3, columns=4):
    """A matrix of numbers that are computed one by one."""
    return torch.stack(
        [torch.stack([entry(i, j) for j in range(columns)], dim=-1) for i in range(rows)], dim=-2
    )


@pytest.mark.parametrize("gates", [1, 3])
@pytest.mark.parametrize("leading", LEADING_AXES)
def test_a_gated_write_equals_loops_with_their_gradients(leading, gates, normal):
    shapes = (3, 4), (3,), (4,), (gates,)
    S, k, v, gate = inputs = [normal(*leading, *shape).requires_grad_() for shape in shapes]
    expected = entries(lambda i, j: gate[..., i % gates] * S[..., i, j] + k[..., i] * v[..., j])
    assert_equal_with_gradients(gated_write(*inputs), expected, inputs)


@pytest.mark.parametrize("leading", LEADING_AXES)
def test_a_delta_write_equals_loops_with_their_gradients(leading, normal):
    shapes = (3, 4), (3,), (4,), ()
    S, k, v, beta = inputs = [normal(*leading, *shape).requires_grad_() for shape in shapes]

    def entry(i, j):
        recalled = sum(k[..., row] * S[..., row, j] for row in range(3))
        return S[..., i, j] + beta * k[..., i] * (v[..., j] - recalled)

    assert_equal_with_gradients(delta_write(*inputs), entries(entry), inputs)


@pytest.mark.parametrize("leading", LEADING_AXES)
def test_gates_of_one_write_the_plain_sum(leading, normal):
    k, v = normal(*leading, 5, 3), normal(*leading, 5, 4)
    S = normal(*leading, 3, 4)
    expected = S + k.mT @ v
    for token in zip(k.unbind(-2), v.unbind(-2), strict=True):
        S = gated_write(S, *token, gate=k.new_ones(1))
    torch.testing.assert_close(S, expected)


@pytest.mark.parametrize("leading", LEADING_AXES)
def test_the_delta_rule_is_a_step_of_gradient_descent(leading, normal):
    S, k, v = normal(*leading, 3, 4).requires_grad_(), normal(*leading, 3), normal(*leading, 4)
    beta = normal(*leading).sigmoid()
    loss = (((S.mT @ k[..., None]).squeeze(-1) - v) ** 2).sum() / 2
    (slope,) = torch.autograd.grad(loss, S)
    torch.testing.assert_close(delta_write(S, k, v, beta), S - beta[..., None, None] * slope)


def test_the_delta_rule_leaves_what_orthogonal_keys_recall(normal):
    k, v = torch.linalg.qr(normal(4, 4)).Q, normal(4, 3)
    S = v.new_zeros(4, 3)
    for token in zip(k, v, strict=True):
        S = delta_write(S, *token, beta=k.new_ones(()))
    torch.testing.assert_close(k @ S, v)
