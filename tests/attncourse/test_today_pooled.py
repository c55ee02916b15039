"""Pooled keys: the pooling, who sees which block, and the cache step."""

import math

import pytest
import torch

from attncourse.dot_product import attention, causal_mask
from attncourse.today import (
    choose_keys,
    index_scores,
    mask_with_blocks,
    pool_rows,
    pool_step,
    pooled_attention,
    pooled_attention_step,
    pooled_mask,
    selected_mask,
    state_bytes,
)
from tests.attncourse.gradients import assert_equal_with_gradients

HEADS, D, E = 2, 4, 3
LEADING_AXES = [(), (2,), (2, 1, 3)]
LENGTHS = [0, 1, 7, 8]


def pooled_by_hand(x, scores, bias, kept=None):
    """Number by number, for one sequence."""
    size, rows = len(bias), []
    for b in range(len(x) // size):
        tokens = [b * size + p for p in range(size) if kept is None or kept[b * size + p]]
        row = []
        for c in range(x.shape[-1]):
            e = [(scores[j, c] + bias[j % size, c]).exp() for j in tokens]
            row.append(
                sum((w / sum(e) * x[j, c] for w, j in zip(e, tokens, strict=True)), 0 * x[0, c])
            )
        rows.append(torch.stack(row))
    return torch.stack(rows) if rows else x[:0]


@pytest.mark.parametrize("size", [1, 3, 4])
@pytest.mark.parametrize("n", LENGTHS)
def test_pooling_equals_loops_with_their_gradients(n, size, normal):
    x, scores, bias = (normal(*shape).requires_grad_() for shape in ((n, D), (n, D), (size, D)))
    kept = torch.tensor([j not in (1, 4, 5) for j in range(n)], dtype=torch.bool)
    for mask in (None, kept.to(x.device)):
        ours = pool_rows(x, scores, bias, None if mask is None else mask[None])
        expected = pooled_by_hand(x, scores, bias, mask)
        assert ours.shape == (n // size, D)
        if n >= size:
            assert_equal_with_gradients(ours, expected, (x, scores, bias))


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_equal_scores_pool_the_mean_and_a_high_one_its_token(leading, normal):
    x = normal(*leading, 8, D)
    zeros = torch.zeros_like(x)
    bias = x.new_zeros(4, D)
    torch.testing.assert_close(pool_rows(x, zeros, bias), x.unflatten(-2, (2, 4)).mean(-2))
    bias[2] = 1e4
    torch.testing.assert_close(pool_rows(x, zeros, bias), x[..., 2::4, :])


def test_a_block_of_padding_alone_is_zeros_without_gradient(normal):
    x, scores = normal(8, D).requires_grad_(), normal(8, D).requires_grad_()
    mask = torch.arange(8, device=x.device)[None] < 3
    rows = pool_rows(x, scores, x.new_zeros(4, D), mask)
    assert (rows[1] == 0).all() and (rows[0] != 0).all()
    for grad in torch.autograd.grad(rows.square().sum(), (x, scores)):
        assert grad.isfinite().all() and (grad[3:] == 0).all()


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("size, width", [(1, 1), (3, 2), (4, 7), (9, 20)])
def test_a_token_sees_the_last_ones_and_the_blocks_that_end_at_it_or_before(n, size, width):
    mask = pooled_mask(n, size, width)
    assert mask.shape == (n, n + n // size)
    for t in range(n):
        for j in range(n):
            assert mask[t, j].item() == (t - width < j <= t)
        for b in range(n // size):
            assert mask[t, n + b].item() == ((b + 1) * size - 1 <= t)


def test_the_mask_of_a_block_is_that_of_any_of_its_tokens(g):
    mask = torch.rand(3, 1, 11, generator=g) < 0.3
    ours = mask_with_blocks(mask, 4)
    assert torch.equal(ours[..., :11], mask)
    for b in range(2):
        assert torch.equal(ours[..., 11 + b], mask[..., 4 * b : 4 * b + 4].any(-1))


def loops(q, k, v, pooled_k, pooled_v, size, width, mask=None):
    """One head and query at a time, for one sequence."""
    heads, n = len(q), q.shape[1]
    rows, zero = [], 0 * sum(x.sum() for x in (q, k, v, pooled_k, pooled_v))
    for h in range(heads):
        for t in range(n):
            seen = [(k[h, j], v[h, j], j) for j in range(max(0, t - width + 1), t + 1)]
            complete = (t + 1) // size
            seen += [(pooled_k[h, b], pooled_v[h, b], n + b) for b in range(complete)]
            seen = [(key, value) for key, value, i in seen if mask is None or mask[0, i]]
            e = [((q[h, t] * key).sum() / q.shape[-1] ** 0.5).exp() for key, _ in seen]
            parts = (w / sum(e) * value for w, (_, value) in zip(e, seen, strict=True))
            rows.append(sum(parts, zero + 0 * v[h, 0]))
    return torch.stack(rows).unflatten(0, (heads, n))


@pytest.mark.parametrize("size, width", [(1, 1), (3, 2), (4, 7)])
@pytest.mark.parametrize("n", LENGTHS)
def test_it_equals_loops_with_their_gradients(n, size, width, normal):
    shapes = [(HEADS, m, d) for m, d in ((n, D), (n, D), (n, E), (n // size, D), (n // size, E))]
    inputs = [normal(*shape).requires_grad_() for shape in shapes]
    tokens = torch.tensor([[j > 3 for j in range(n)]], dtype=torch.bool).view(1, n)
    for mask in (None, mask_with_blocks(tokens.to(inputs[0].device), size)):
        ours = pooled_attention(*inputs, size, width, mask)
        assert ours.shape == (HEADS, n, E)
        if n:
            expected = loops(*inputs, size, width, mask)
            assert_equal_with_gradients(ours, expected, inputs)


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_a_window_of_the_whole_text_and_no_block_is_causal_attention(leading, normal):
    q, k, v = (normal(*leading, HEADS, 7, d) for d in (D, D, E))
    ours = pooled_attention(q, k, v, k[..., :0, :], v[..., :0, :], size=8, width=7)
    torch.testing.assert_close(ours, attention(q, k, v, causal_mask(7, q.device)))


@pytest.mark.parametrize("size, width", [(1, 1), (3, 2), (4, 7)])
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
@pytest.mark.parametrize("n", [1, 7, 8])
def test_step_by_step_is_the_whole(n, leading, size, width, normal):
    shapes = (*leading, HEADS, n, D), (*leading, n, D), (*leading, n, D), (size, D)
    q, x, scores, bias = inputs = [normal(*shape).requires_grad_() for shape in shapes]
    pooled = pool_rows(x, scores, bias)
    rows, few = x.unsqueeze(-3), pooled.unsqueeze(-3)
    whole = pooled_attention(q, rows, rows, few, few, size, width)
    none = x[..., :0, :]
    state, outputs = (none, none, none, none), []
    for t in range(n):
        token = (y[..., t, :] for y in (q, x, scores))
        state, output = pooled_attention_step(state, *token, bias, width)
        outputs.append(output)
    ours = torch.stack(outputs, -2)
    some = inputs if n >= size else inputs[:2]
    assert_equal_with_gradients(ours, whole, some)
    torch.testing.assert_close(state[-1], pooled)
    kept = min(n, width) + 2 * (n % size) + n // size
    assert state_bytes(state) == 8 * math.prod(leading) * kept * D


def test_the_state_of_a_long_text_grows_by_a_row_for_each_block(normal):
    x, bias = normal(100, D), normal(4, D)
    state = x[:0], x[:0], x[:0]
    for row in x:
        state = pool_step(state, row, row, bias)
    assert [len(rows) for rows in state] == [0, 0, 25]
    torch.testing.assert_close(state[2], pool_rows(x, x, bias))


def test_chosen_blocks_are_attended_to_and_others_not(normal):
    q, k, v = (normal(HEADS, 12, d) for d in (D, D, E))
    pooled_k, pooled_v = normal(HEADS, 4, D), normal(HEADS, 4, E).requires_grad_()
    blocks = pooled_mask(12, 3, 2, q.device)[:, 12:]
    scores = index_scores(normal(2, 12, 2), normal(4, 2), normal(2, 12))
    index = choose_keys(scores, 2, blocks)
    tokens = torch.ones(12, 12, dtype=torch.bool, device=q.device)
    mask = torch.cat([tokens, selected_mask(index, 4)], -1)
    out = pooled_attention(q, k, v, pooled_k, pooled_v, 3, 2, mask)
    for t in range(12):
        (grad,) = torch.autograd.grad(out[:, t].sum(), pooled_v, retain_graph=True)
        read = (grad != 0).any(-1).any(0).nonzero().flatten().tolist()
        assert read == sorted(set(index[t].tolist()) - {-1})


def test_the_future_has_no_gradient(normal):
    q, x, scores = normal(HEADS, 8, D), normal(8, D).requires_grad_(), normal(8, D).requires_grad_()
    few = pool_rows(x, scores, x.new_zeros(3, D))[None]
    out = pooled_attention(q, x[None], x[None], few, few, 3, 2)
    for t in range(8):
        for grad in torch.autograd.grad(out[:, t].sum(), (x, scores), retain_graph=True):
            assert (grad[t + 1 :] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_the_output_has_the_dtype_of_the_input(dtype, normal):
    q, x, scores, bias = (normal(*s, dtype=dtype) for s in ((HEADS, 8, D), (8, D), (8, D), (3, D)))
    outputs = []
    for a, b, c, e in (
        (q, x, scores, bias),
        (q.double(), x.double(), scores.double(), bias.double()),
    ):
        few = pool_rows(b, c, e)[None]
        outputs.append(pooled_attention(a, b[None], b[None], few, few, 3, 2))
    assert outputs[0].dtype == dtype
    bound = 32 * torch.finfo(dtype).eps
    torch.testing.assert_close(outputs[0].double(), outputs[1], atol=bound, rtol=0)


def test_bad_input_is_named_with_its_numbers(unchecked):
    X = torch.zeros(2, 8, 3)
    with pytest.raises(ValueError, match="2 pooled keys, but 8 tokens have 4 blocks of 2"):
        pooled_attention(X, X, X, X[:, :2], X[:, :2], 2, 3)
    with pytest.raises(ValueError, match="size=0"):
        pool_rows(X, X, X[0, :0])
    with pytest.raises(ValueError, match="n=8, size=2, width=0"):
        pooled_mask(8, 2, 0)
    with pytest.raises(ValueError, match="scores has n=7, but x has n=8"):
        pool_rows(X, X[:, :7], X[0, :2])
