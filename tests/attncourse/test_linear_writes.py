"""How a token writes to the state of linear attention, with gates and by the delta rule."""

import pytest
import torch

from attncourse.linear import delta_write, gated_write

LEADING_AXES = [(), (2,), (2, 1, 3)]


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
