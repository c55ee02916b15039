"""The deeper page: blocks by their mean, three branches, sharing, and several residual streams."""

import pytest
import torch

from attncourse.dot_product import attention, causal_mask
from attncourse.today import (
    block_attention,
    block_mask,
    doubly_stochastic,
    hyper_connection,
    key_value_attention,
    layers_with_keys,
    pool_rows,
    three_branches,
)
from tests.attncourse.gradients import assert_equal_with_gradients

HEADS, D, E = 2, 4, 3
LEADING_AXES = [(), (2,), (2, 1, 3)]
LENGTHS = [0, 1, 7, 8]


# blocks by their mean


def blocks_by_hand(q, k, t, size, count, kept):
    """The blocks that query t chooses: its own, and the best of those before it."""
    own, scores = t // size, {}
    for b in range(own):
        tokens = [j for j in range(b * size, (b + 1) * size) if kept[j]]
        mean = sum(k[j] for j in tokens) / len(tokens) if tokens else 0 * k[0]
        scores[b] = (q[t] * mean).sum().item()
    return [own, *sorted(scores, key=lambda b: -scores[b])[: count - 1]]


@pytest.mark.parametrize("size, count", [(1, 1), (1, 3), (2, 2), (3, 1), (3, 2), (20, 2)])
@pytest.mark.parametrize("n", LENGTHS)
def test_a_query_sees_its_own_block_and_the_best_earlier_ones(n, size, count, normal):
    q, k, v = (normal(n, d).requires_grad_() for d in (D, D, E))
    some = torch.tensor([[j not in (1, 4) for j in range(n)]], dtype=torch.bool).view(1, n)
    for kept in (torch.ones_like(some), some):
        mask = kept.to(q.device)
        ours = block_mask(q, k, size, count, mask)
        expected = torch.zeros(n, n, dtype=torch.bool)
        for t in range(n):
            blocks = blocks_by_hand(q, k, t, size, count, kept[0])
            for j in range(t + 1):
                expected[t, j] = j // size in blocks and bool(kept[0, j])
        assert torch.equal(ours.cpu(), expected)
        if n:
            out = block_attention(q, k, v, size, count, mask)
            theirs = attention(q, k, v, expected.to(q.device))
            assert_equal_with_gradients(out, theirs, (q, k, v))


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_with_all_blocks_it_is_causal_attention_and_with_one_it_is_local(leading, normal):
    q, k, v = (normal(*leading, 8, d) for d in (D, D, E))
    full = attention(q, k, v, causal_mask(8, q.device))
    torch.testing.assert_close(block_attention(q, k, v, 3, 3), full)
    t = torch.arange(8, device=q.device)
    local = causal_mask(8, q.device) & (t[:, None] // 3 == t // 3)
    torch.testing.assert_close(block_attention(q, k, v, 3, 1), attention(q, k, v, local))


# three branches


def branches_by_hand(q, k, v, pooled_k, pooled_v, gates, size, width, count):
    """One query at a time, for one sequence."""
    heads, n, e = *q.shape[:2], v.shape[-1]
    out, zero = (
        q.new_zeros(heads, n, e),
        0 * sum(x.sum() for x in (q, k, v, pooled_k, pooled_v, gates)),
    )
    rows = [[None] * n for _ in range(heads)]
    for t in range(n):
        complete = (t + 1) // size
        weights = [
            (pooled_k[h, :complete] @ q[h, t] / D**0.5).softmax(0) if complete else q.new_zeros(0)
            for h in range(heads)
        ]
        importance = sum(w.detach() for w in weights).tolist()
        best = sorted(range(complete), key=lambda b: -importance[b])[:count]
        chosen = [j for j in range(t + 1) if j // size in best]
        recent = [j for j in range(t + 1) if j > t - width]
        for h in range(heads):
            parts = [weights[h] @ pooled_v[h, :complete]]
            for tokens in (chosen, recent):
                w = (k[h, tokens] @ q[h, t] / D**0.5).softmax(0)
                parts.append(w @ v[h, tokens])
            rows[h][t] = zero + sum(
                part / (1 + (-gates[h, t, c]).exp()) for c, part in enumerate(parts)
            )
    return torch.stack([torch.stack(row) for row in rows]) if n else out


@pytest.mark.parametrize("size, width, count", [(1, 1, 1), (2, 3, 2), (3, 2, 1), (9, 2, 2)])
@pytest.mark.parametrize("n", LENGTHS)
def test_three_branches_equal_loops_with_their_gradients(n, size, width, count, normal):
    lengths = ((n, D), (n, D), (n, E), (n // size, D), (n // size, E), (n, 3))
    inputs = [normal(HEADS, *shape).requires_grad_() for shape in lengths]
    ours = three_branches(*inputs, size, width, count)
    assert ours.shape == (HEADS, n, E)
    if n:
        expected = branches_by_hand(*inputs, size, width, count)
        assert_equal_with_gradients(ours, expected, inputs)


def test_the_branches_see_no_later_token(normal):
    q, gates = normal(HEADS, 8, D), normal(HEADS, 8, 3)
    x = normal(HEADS, 8, D).requires_grad_()
    few = pool_rows(x, torch.zeros_like(x), x.new_zeros(3, D))
    out = three_branches(q, x, x, few, few, gates, 3, 2, 1)
    for t in range(8):
        (grad,) = torch.autograd.grad(out[:, t].sum(), x, retain_graph=True)
        assert (grad[:, t + 1 :] == 0).all()


# sharing


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_a_row_that_is_key_and_value_equals_loops(n, leading, normal):
    q, x = (normal(*leading, n, D).requires_grad_() for _ in range(2))
    mask = causal_mask(n, q.device)
    ours = key_value_attention(q, x, mask)
    assert ours.shape == (*leading, n, D)
    if not n:
        return

    def turned(row, angle):
        pairs = []
        for p in range(D // 2):
            a = angle * 10000.0 ** (-2 * p / D)
            cos, sin = (
                torch.tensor([a], dtype=row.dtype).cos(),
                torch.tensor([a], dtype=row.dtype).sin(),
            )
            even, odd = row[..., 2 * p], row[..., 2 * p + 1]
            pairs += [even * cos.item() - odd * sin.item(), even * sin.item() + odd * cos.item()]
        return torch.stack(pairs, -1)

    rows = []
    for t in range(n):
        # offsets alone: key j is turned back by t - j
        near = [turned(x[..., j, :], j - t) for j in range(t + 1)]
        e = [((q[..., t, :] * key).sum(-1, keepdim=True) / D**0.5).exp() for key in near]
        rows.append(sum(w / sum(e) * value for w, value in zip(e, near, strict=True)))
    assert_equal_with_gradients(ours, torch.stack(rows, -2), (q, x))


def test_the_last_layers_read_keys_of_the_last_of_their_kind():
    kinds = ["near", "near", "far", "near", "near", "far", "near"]
    assert layers_with_keys(kinds, 0) == [0, 1, 2, 3, 4, 5, 6]
    assert layers_with_keys(kinds, 3) == [0, 1, 2, 3, 3, 2, 3]
    assert len(set(layers_with_keys(kinds, 4))) == 3


# several residual streams


@pytest.mark.parametrize("streams", [1, 2, 4])
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_a_hyper_connection_equals_loops_with_their_gradients(leading, streams, normal):
    shapes = (streams, D), (streams,), (streams,), (streams, streams)
    x, read, write, mix = inputs = [normal(*leading, *shape).requires_grad_() for shape in shapes]
    mixed = sum(read[..., i, None] * x[..., i, :] for i in range(streams)).tanh()
    rows = [
        sum(mix[..., i, j, None] * x[..., j, :] for j in range(streams))
        + write[..., i, None] * mixed
        for i in range(streams)
    ]
    ours = hyper_connection(x, torch.tanh, read, write, mix)
    assert_equal_with_gradients(ours, torch.stack(rows, -2), inputs)


def test_one_stream_with_weights_of_one_is_the_residual_sum(normal):
    x = normal(7, D)
    one = x.new_ones(1)
    ours = hyper_connection(x[:, None], torch.tanh, one, one, one[None])
    torch.testing.assert_close(ours[:, 0], x + x.tanh())


@pytest.mark.parametrize("size", [1, 10, 100])
def test_doubly_stochastic_weights_sum_to_one_both_ways(size, normal):
    scores = (size * normal(3, 4, 4)).requires_grad_()
    ours = doubly_stochastic(scores, steps=200 if size > 1 else 20)
    assert (ours >= 0).all()
    torch.testing.assert_close(ours.sum(-1), torch.ones_like(ours[..., 0]))
    torch.testing.assert_close(ours.sum(-2), torch.ones_like(ours[..., 0]), atol=2e-2, rtol=0)
    # of a doubly stochastic matrix, no singular value is above 1
    assert torch.linalg.matrix_norm(ours, 2).max() < 1.02
    (grad,) = torch.autograd.grad(ours.square().sum(), scores)
    assert grad.isfinite().all()


def test_bad_input_is_named_with_its_numbers(unchecked):
    X = torch.zeros(2, 8, 3)
    with pytest.raises(ValueError, match="size=0"):
        block_mask(X, X, 0, 1)
    with pytest.raises(ValueError, match="count=0"):
        block_attention(X, X, X, 2, 0)
    with pytest.raises(ValueError, match="2 pooled keys, but 8 tokens have 4 blocks of 2"):
        three_branches(X, X, X, X[:, :2], X[:, :2], X, 2, 3, 1)
    with pytest.raises(ValueError, match="shared=3 of 3 layers"):
        layers_with_keys(["near"] * 3, 3)
    with pytest.raises(ValueError, match="no layer of kind 'far' among the first 1"):
        layers_with_keys(["near", "far"], 1)
