"""Attention to chosen keys: the indexer, its choice, its loss, and the cache step."""

import math

import pytest
import torch
import torch.nn.functional as F

from attncourse.cost import count
from attncourse.dot_product import attention, attention_weights, causal_mask
from attncourse.today import (
    choose_keys,
    index_scores,
    indexer_loss,
    selected_attention,
    selected_attention_step,
    selected_mask,
    state_bytes,
)
from tests.attncourse.gradients import assert_equal_with_gradients

HEADS, D, E, INDEX_HEADS, D_I = 2, 4, 3, 3, 2
LEADING_AXES = [(), (2,), (2, 1, 3)]


@pytest.fixture
def draw(normal):
    """Draws queries, keys and values, and the indexer's queries, keys and weights."""

    def inputs(n, m, leading=(), heads_k=HEADS):
        shapes = (
            *((HEADS, n, D), (heads_k, m, D), (heads_k, m, E)),
            *((INDEX_HEADS, n, D_I), (m, D_I), (INDEX_HEADS, n)),
        )
        return [normal(*leading, *shape).requires_grad_() for shape in shapes]

    return inputs


@pytest.mark.parametrize("n", [1, 7, 8])
def test_index_scores_equal_loops_with_their_gradients(n, draw):
    *_, q, k, w = draw(n, n + 1, (2,))
    rows = [
        torch.stack(
            [
                sum(
                    w[:, j, t] * (q[:, j, t] * k[:, s]).sum(-1).clamp(min=0)
                    for j in range(INDEX_HEADS)
                )
                for s in range(n + 1)
            ],
            -1,
        )
        for t in range(n)
    ]
    assert_equal_with_gradients(index_scores(q, k, w), torch.stack(rows, -2), (q, k, w))


def chosen_by_hand(scores, count, mask):
    """The best keys one at a time, the earliest of equal ones; -1 where no key is left."""
    m, result = len(scores), []
    for _ in range(min(count, m)):
        left = [j for j in range(m) if mask[j] and j not in result]
        result.append(max(left, key=lambda j: (scores[j].item(), -j)) if left else -1)
    return result


@pytest.mark.parametrize("count", [1, 3, 20])
@pytest.mark.parametrize("n", [0, 1, 7, 8])
def test_the_best_keys_are_chosen_and_of_equal_ones_the_earliest(n, count, normal, g):
    # rounded, so that many are equal
    scores = normal(2, n, n).round()
    for mask in (causal_mask(n), torch.rand(n, n, generator=g) < 0.5):
        index = choose_keys(scores, count, mask.to(scores.device))
        assert index.shape == (2, n, min(count, n))
        expected = [
            [chosen_by_hand(row, count, mask[i]) for i, row in enumerate(x)] for x in scores
        ]
        assert index.tolist() == expected
        rows = [[[j in row for j in range(n)] for row in x] for x in expected]
        assert selected_mask(index, n).tolist() == rows


@pytest.mark.parametrize("heads_k", [1, HEADS])
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_it_is_attention_under_the_mask_of_the_chosen_keys(leading, heads_k, draw):
    for n in (0, 1, 7, 8):
        q, k, v, *indexer = draw(n, n, leading, heads_k)
        mask = causal_mask(n, q.device)
        mask[3:4] = False
        index = choose_keys(index_scores(*indexer), 3, mask)
        chosen = selected_mask(index, n).unsqueeze(-3)
        keys, values = (x.expand(*leading, HEADS, n, -1) for x in (k, v))
        ours, expected = selected_attention(q, k, v, index), attention(q, keys, values, chosen)
        assert_equal_with_gradients(ours, expected, (q, k, v))


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_with_as_many_as_there_are_it_is_all_of_attention(leading, draw):
    q, k, v, *indexer = draw(7, 7, leading)
    mask = causal_mask(7, q.device)
    index = choose_keys(index_scores(*indexer), 7, mask)
    torch.testing.assert_close(selected_attention(q, k, v, index), attention(q, k, v, mask))


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
@pytest.mark.parametrize("n", [1, 7, 8])
def test_step_by_step_is_the_whole_under_the_causal_mask(n, leading, draw):
    q, k, v, index_q, index_k, index_w = draw(n, n, leading)
    state, outputs = (k[..., :0, :], v[..., :0, :], index_k[..., :0, :]), []
    for i in range(n):
        token = (x[..., i, :] for x in (q, k, v, index_q, index_k))
        state, output = selected_attention_step(state, *token, index_w[..., i], count=3)
        outputs.append(output)
    mask = causal_mask(n, q.device)
    index = choose_keys(index_scores(index_q, index_k, index_w), 3, mask)
    whole = selected_attention(q, k, v, index)
    assert_equal_with_gradients(torch.stack(outputs, -2), whole, (q, k, v))
    batch = math.prod(leading)
    assert state_bytes(state) == 8 * batch * n * (HEADS * (D + E) + D_I)


def test_a_query_without_a_key_gets_zeros_and_no_gradient(draw):
    q, k, v, *_ = draw(2, 5)
    index = torch.tensor([[3, 1], [-1, -1]], device=q.device)
    out = selected_attention(q, k, v, index)
    assert (out[:, 1] == 0).all() and (out[:, 0] != 0).all()
    (grad,) = torch.autograd.grad(out.sum(), q)
    assert grad.isfinite().all() and (grad[:, 1] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_the_output_has_the_dtype_of_the_input(dtype, draw):
    q, k, v, *indexer = (x.detach().to(dtype) for x in draw(7, 7))
    index = choose_keys(index_scores(*indexer), 3)
    ours = selected_attention(q, k, v, index)
    assert ours.dtype == dtype
    exact = selected_attention(q.double(), k.double(), v.double(), index)
    torch.testing.assert_close(ours.double(), exact, atol=32 * torch.finfo(dtype).eps, rtol=0)


# how the indexer learns


@pytest.mark.parametrize("n", [1, 7, 8])
def test_the_loss_is_torch_s_divergence_with_its_gradients(n, draw):
    q, k, _, *indexer = draw(n, n, (2,))
    scores, mask = index_scores(*indexer), causal_mask(n, q.device)
    for allowed in (mask, selected_mask(choose_keys(scores, 3, mask), n)):
        weights = attention_weights(q, k, mask)
        rows = []
        for i in range(n):
            seen = [j for j in range(n) if allowed.expand(2, n, n)[0, i, j]]
            theirs = [j for j in range(n) if allowed.expand(2, n, n)[1, i, j]]
            both = []
            for b, keys in enumerate((seen, theirs)):
                target = weights[b, :, i][:, keys].sum(0).detach()
                target = target / target.sum()
                log_share = scores[b, i, keys].log_softmax(-1)
                both.append(F.kl_div(log_share, target, reduction="sum"))
            rows.append(torch.stack(both))
        expected = torch.stack(rows, -1)
        assert_equal_with_gradients(indexer_loss(scores, weights, allowed), expected, indexer)


def test_the_heads_learn_nothing_from_the_loss_and_the_indexer_nothing_from_the_output(draw):
    q, k, v, *indexer = draw(7, 7)
    mask = causal_mask(7, q.device)
    scores = index_scores(*indexer)
    loss = indexer_loss(scores, attention_weights(q, k, mask), mask).sum()
    assert torch.autograd.grad(loss, (q, k), allow_unused=True) == (None, None)
    out = selected_attention(q, k, v, choose_keys(scores, 3, mask)).sum()
    assert torch.autograd.grad(out, indexer, allow_unused=True) == (None, None, None)


def test_the_loss_is_zero_where_the_indexer_gives_the_weights_and_where_nothing_is_seen(normal):
    scores = normal(5, 5).requires_grad_()
    mask = causal_mask(5, scores.device)
    mask[2] = False
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    loss = indexer_loss(scores, weights[None].expand(3, 5, 5), mask)
    torch.testing.assert_close(loss, torch.zeros_like(loss))
    (grad,) = torch.autograd.grad(
        indexer_loss(scores + normal(5, 5), weights[None], mask).sum(), scores
    )
    assert grad.isfinite().all() and (grad[2] == 0).all()
    assert (indexer_loss(normal(5, 5), weights[None]) > 0).any()


def test_an_indexer_that_learns_from_the_loss_finds_the_keys_that_the_heads_read(normal):
    q, k = normal(HEADS, 8, D), normal(HEADS, 8, D)
    mask = causal_mask(8, q.device)
    weights = attention_weights(4 * q, k, mask)
    indexer = [normal(INDEX_HEADS, 8, 8), normal(8, 8), normal(INDEX_HEADS, 8)]
    indexer = [x.requires_grad_() for x in indexer]
    optimizer = torch.optim.Adam(indexer, lr=0.05)

    def mass():
        chosen = selected_mask(choose_keys(index_scores(*indexer), 2, mask), 8)
        return (weights * chosen).sum(-1).mean()

    before = mass()
    for _ in range(200):
        optimizer.zero_grad()
        indexer_loss(index_scores(*indexer), weights, mask).mean().backward()
        optimizer.step()
    best = weights.sum(0).topk(2).values.sum(-1).mean() / HEADS
    assert before + 0.05 < mass() <= best + 1e-9
    assert mass() > 0.9 * best


# cost


def test_the_heads_read_as_many_keys_in_a_text_of_any_length():
    costs = []
    for m in (1000, 2000):
        q, k, v = (torch.empty(16, size, 64, device="meta") for size in (1, m, m))
        index = torch.empty(1, 128, dtype=torch.int64, device="meta")
        costs.append(count(selected_attention, q, k, v, index))
    assert costs[0] == costs[1]
    assert costs[0].flops == 2 * 16 * 128 * 64 * 2


def test_bad_input_is_named_with_its_numbers(unchecked):
    X = torch.zeros(2, 5, 3)
    with pytest.raises(ValueError, match="count=0"):
        choose_keys(X, 0)
    with pytest.raises(ValueError, match=r"w has index_heads=3, but q has index_heads=2"):
        index_scores(X, X[0], torch.zeros(3, 5))
    with pytest.raises(ValueError, match=r"index has n=4, but q has n=5"):
        selected_attention(X, X, X, torch.zeros(4, 1, dtype=torch.int64))
