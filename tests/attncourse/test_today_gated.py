"""A gate on the output, sinks, and how much the first token gets."""

import pytest
import torch
import torch.nn.functional as F

from attncourse.dot_product import attention, attention_weights, causal_mask
from attncourse.today import first_token_weight, gated_output, sink_attention, sink_weights
from tests.attncourse.gradients import assert_equal_with_gradients

HEADS = 2
LEADING_AXES = [(), (2,), (2, 1, 3)]


@pytest.mark.parametrize("gates", [1, 4])
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
@pytest.mark.parametrize("n", [0, 1, 7, 8])
def test_a_gated_output_equals_loops_with_their_gradients(n, leading, gates, normal):
    z, gate = normal(*leading, n, 4).requires_grad_(), normal(*leading, n, gates).requires_grad_()
    ours = gated_output(z, gate)
    assert ours.shape == z.shape
    if n:
        rows = [
            torch.stack(
                [z[..., i, j] / (1 + (-gate[..., i, j % gates]).exp()) for j in range(4)], -1
            )
            for i in range(n)
        ]
        assert_equal_with_gradients(ours, torch.stack(rows, -2), (z, gate))


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
@pytest.mark.parametrize("n", [1, 7, 8])
def test_a_sink_equals_loops_with_their_gradients(n, leading, normal):
    scores = normal(*leading, HEADS, n, n).requires_grad_()
    sink = normal(HEADS).requires_grad_()
    mask = causal_mask(n, scores.device)
    mask[2:3] = False
    rows = []
    for h in range(HEADS):
        for i in range(n):
            e = [scores[..., h, i, j].exp() * float(mask[i, j]) for j in range(n)]
            total = sum(e) + sink[h].exp()
            rows.append(torch.stack([x / total for x in e], -1))
    expected = torch.stack(rows, -2).unflatten(-2, (HEADS, n))
    assert_equal_with_gradients(sink_weights(scores, sink, mask), expected, (scores, sink))


def test_attention_with_sinks_is_attention_with_one_more_key_of_value_zero(normal):
    q, k, v = (normal(2, HEADS, 7, d).requires_grad_() for d in (4, 4, 3))
    sink = normal(HEADS).requires_grad_()
    scores = F.pad(q @ k.mT / 2, (0, 1)) + F.pad(torch.zeros_like(k[..., 0]), (0, 1))[..., None, :]
    scores = torch.cat([scores[..., :-1], sink[:, None, None].expand(2, HEADS, 7, 1)], -1)
    expected = scores.softmax(-1) @ F.pad(v, (0, 0, 0, 1))
    assert_equal_with_gradients(sink_attention(q, k, v, sink), expected, (q, k, v, sink))


def test_a_sink_of_minus_infinity_takes_nothing_and_a_large_one_all(normal):
    q, k, v = (normal(HEADS, 7, d) for d in (4, 4, 3))
    none, all_of_it = q.new_full((HEADS,), -torch.inf), q.new_full((HEADS,), 1e4)
    torch.testing.assert_close(sink_attention(q, k, v, none), attention(q, k, v))
    assert (sink_attention(q, k, v, all_of_it) == 0).all()


def test_large_scores_do_not_overflow(normal):
    scores = 1e4 * normal(HEADS, 3, 5)
    weights = sink_weights(scores, scores.new_zeros(HEADS))
    top = scores.amax(-1) > 0
    assert weights.isfinite().all()
    torch.testing.assert_close(weights.sum(-1), top.to(weights))


def test_a_query_that_may_attend_nowhere_gets_zeros_and_no_gradient(normal):
    scores, sink = normal(HEADS, 3, 5).requires_grad_(), normal(HEADS).requires_grad_()
    mask = torch.ones(3, 5, dtype=torch.bool, device=scores.device)
    mask[1] = False
    for b in (sink, torch.full_like(sink, 3.0)):
        weights = sink_weights(scores, b, mask)
        assert (weights[:, 1] == 0).all()
        (grad,) = torch.autograd.grad(weights.square().sum(), scores)
        assert grad.isfinite().all() and (grad[:, 1] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_the_output_has_the_dtype_of_the_input(dtype, normal):
    q, k, v = (normal(HEADS, 7, 4, dtype=dtype) for _ in range(3))
    sink = normal(HEADS, dtype=dtype)
    ours = sink_attention(q, k, v, sink)
    assert ours.dtype == gated_output(ours, v).dtype == dtype
    exact = sink_attention(*(x.double() for x in (q, k, v, sink)))
    torch.testing.assert_close(ours.double(), exact, atol=32 * torch.finfo(dtype).eps, rtol=0)


@pytest.mark.parametrize("n, m", [(2, 1), (7, 7), (8, 9)])
def test_the_first_token_s_weight_is_a_mean_over_later_queries(n, m, normal):
    weights = normal(3, n, m).softmax(-1)
    by_hand = [sum(w[i, 0] for i in range(1, n)) / (n - 1) for w in weights]
    torch.testing.assert_close(first_token_weight(weights), torch.stack(by_hand))


def test_a_sink_takes_weight_from_the_first_token(normal):
    q, k = normal(HEADS, 8, 4), normal(HEADS, 8, 4)
    mask = causal_mask(8, q.device)
    plain = first_token_weight(attention_weights(q, k, mask))
    with_sink = first_token_weight(sink_weights(q @ k.mT / 2, q.new_zeros(HEADS), mask))
    assert (with_sink < plain).all()


def test_bad_input_is_named_with_its_numbers(unchecked):
    X = torch.zeros(3, 5)
    with pytest.raises(ValueError, match="1 queries and 5 keys"):
        first_token_weight(X[:1])
    with pytest.raises(ValueError, match="sink has heads=3, but q has heads=2"):
        sink_attention(*3 * [torch.zeros(2, 4, 3)], torch.zeros(3))
    with pytest.raises(ValueError, match=r"gate has n=2, but z has n=3"):
        gated_output(X, X[:2])
