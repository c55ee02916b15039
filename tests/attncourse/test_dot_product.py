"""The mechanisms of the chapter dot_product: against torch's own, by property, with bad input."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attncourse import device
from attncourse.dot_product import (
    additive_weights,
    attention,
    attention_weights,
    causal_mask,
    masked_softmax,
    padding_mask,
)
from tests.attncourse.gradients import assert_equal_with_gradients

LEADING_AXES = [(), (2,), (2, 3), (2, 1, 3)]
# n, m, d_k, d_v: alone, all different, one query, one key, no value coordinate in common
SIZES = [(1, 1, 1, 1), (7, 5, 4, 3), (1, 8, 4, 2), (8, 1, 3, 6), (7, 7, 5, 5)]


def random_mask(g, *shape):
    """A random mask; each row allows its first key, so that torch's attention has no NaN."""
    mask = torch.rand(shape, generator=g) < 0.5
    mask[..., 0] = True
    return mask.to(device())


def random_qkv(normal, leading, n, m, d_k, d_v, dtype=torch.float64):
    shapes = ((n, d_k), (m, d_k), (m, d_v))
    return [normal(*leading, *shape, dtype=dtype).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("masked", [False, True], ids=["open", "masked"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_attention_equals_torch_with_its_gradients(normal, g, dtype, leading, sizes, masked):
    q, k, v = random_qkv(normal, leading, *sizes, dtype=dtype)
    mask = random_mask(g, *leading, sizes[0], sizes[1]) if masked else None
    ours = attention(q, k, v, mask)
    theirs = F.scaled_dot_product_attention(q, k, v, mask)
    grad_output = normal(*ours.shape, dtype=dtype)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(ours, (q, k, v), grad_output),
        torch.autograd.grad(theirs, (q, k, v), grad_output),
    )


def test_causal_attention_equals_torch(normal):
    q, k, v = random_qkv(normal, (2, 3), 7, 7, 4, 5)
    ours = attention(q, k, v, causal_mask(7, device()))
    torch.testing.assert_close(ours, F.scaled_dot_product_attention(q, k, v, is_causal=True))


def test_additive_weights_equal_the_score_written_as_loops_with_its_gradients(normal):
    shapes = (3, 4), (5, 2), (4, 6), (2, 6), (6,)
    q, k, w_q, w_k, w_v = inputs = [normal(*shape).requires_grad_() for shape in shapes]
    scores = []
    for i in range(3):
        for j in range(5):
            hidden = [q[i] @ w_q[:, h] + k[j] @ w_k[:, h] for h in range(6)]
            scores.append(sum(w_v[h] * hidden[h].tanh() for h in range(6)))
    expected = torch.stack(scores).view(3, 5).softmax(dim=-1)
    assert_equal_with_gradients(additive_weights(*inputs), expected, inputs)


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_additive_weights_take_leading_axes_and_masks(normal, g, leading):
    q, k, w_q, w_k, w_v = (
        normal(*leading, 3, 4),
        normal(*leading, 5, 2),
        normal(4, 6),
        normal(2, 6),
        normal(6),
    )
    mask = random_mask(g, 3, 5)
    weights = additive_weights(q, k, w_q, w_k, w_v, mask)
    assert weights.shape == (*leading, 3, 5)
    assert (weights[..., ~mask] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_a_query_that_may_attend_nowhere_gets_zeros_and_no_gradient(normal, leading):
    q, k, v = random_qkv(normal, leading, 3, 5, 4, 2)
    mask = torch.ones(3, 5, dtype=torch.bool, device=device())
    mask[1] = False
    out = attention(q, k, v, mask)
    assert (out[..., 1, :] == 0).all()
    grads = torch.autograd.grad(out.sum(), (q, k, v))
    assert all(grad.isfinite().all() for grad in grads)
    assert (grads[0][..., 1, :] == 0).all()
    torch.testing.assert_close(
        out[..., [0, 2], :], F.scaled_dot_product_attention(q[..., [0, 2], :], k, v)
    )


def test_without_any_key_the_output_is_zeros(normal):
    out = attention(normal(3, 4), normal(0, 4), normal(0, 2))
    torch.testing.assert_close(out, torch.zeros_like(out))
    assert out.shape == (3, 2)


@pytest.mark.parametrize("scale", [1, 60, 1e4])
def test_rows_sum_to_one_however_large_the_scores(normal, scale):
    weights = attention_weights(scale * normal(7, 4), scale * normal(5, 4))
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[:, 0]))
    assert (weights >= 0).all()


@pytest.mark.parametrize(
    "shape", [(3, 5), (1, 5), (3, 1), (1, 3, 5), (2, 3, 5), (2, 1, 5)], ids=str
)
def test_a_mask_broadcasts_over_leading_axes_queries_and_keys(normal, g, shape):
    q, k, v = random_qkv(normal, (2,), 3, 5, 4, 2)
    mask = random_mask(g, *shape)
    torch.testing.assert_close(attention(q, k, v, mask), attention(q, k, v, mask.expand(2, 3, 5)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_output_has_the_dtype_of_the_input(normal, dtype):
    q, k, v = (x.detach() for x in random_qkv(normal, (2,), 3, 5, 4, 2, dtype=dtype))
    out = attention(q, k, v, causal_mask(5, device())[:3])
    assert out.dtype == dtype
    expected = attention(q.double(), k.double(), v.double(), causal_mask(5, device())[:3])
    torch.testing.assert_close(out.double(), expected, atol=8 * torch.finfo(dtype).eps, rtol=0)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 6), m=st.integers(1, 6), seed=st.integers(0, 2**31))
def test_reordering_keys_with_values_changes_nothing_and_queries_reorder_the_rows(n, m, seed):
    g = torch.Generator().manual_seed(seed)
    shapes = ((n, 3), (m, 3), (m, 2))
    q, k, v = (torch.randn(s, generator=g, dtype=torch.float64) for s in shapes)
    mask = torch.rand(n, m, generator=g) < 0.7
    rows, keys = torch.randperm(n, generator=g), torch.randperm(m, generator=g)
    reordered = attention(q[rows], k[keys], v[keys], mask[rows][:, keys])
    torch.testing.assert_close(reordered, attention(q, k, v, mask)[rows])


@settings(max_examples=30, deadline=None)
@given(shift=st.floats(-1e4, 1e4), seed=st.integers(0, 2**31))
def test_only_differences_of_scores_count(shift, seed):
    g = torch.Generator().manual_seed(seed)
    scores = torch.randn(3, 5, generator=g, dtype=torch.float64)
    mask = torch.rand(3, 5, generator=g) < 0.7
    torch.testing.assert_close(masked_softmax(scores + shift, mask), masked_softmax(scores, mask))


def test_the_future_has_no_gradient(normal):
    x = normal(7, 4).requires_grad_()
    out = attention(x, x, x, causal_mask(7, device()))
    for i in range(7):
        (grad,) = torch.autograd.grad(out[i].sum(), x, retain_graph=True)
        assert (grad[i + 1 :] == 0).all()
        assert (grad[: i + 1] != 0).any(-1).all()


@pytest.mark.parametrize("n", [0, 1, 7])
def test_the_causal_mask_allows_the_past_and_oneself(n):
    expected = [[j <= i for j in range(n)] for i in range(n)]
    assert causal_mask(n).tolist() == expected


@pytest.mark.parametrize("lengths", [3, [0, 4, 2], [[1], [4]]], ids=str)
def test_the_padding_mask_allows_each_sequence_its_first_words(lengths):
    lengths = torch.tensor(lengths)
    mask = padding_mask(lengths, 4)
    assert mask.shape == (*lengths.shape, 1, 4)
    assert torch.equal(mask.sum(-1).squeeze(-1), lengths)
    assert not (mask[..., 1:] & ~mask[..., :-1]).any()


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (lambda: padding_mask(torch.tensor([5, 2]), 4), r"lengths=\[5, 2\] .* n=4"),
        (lambda: padding_mask(torch.tensor([-1, 2]), 4), r"lengths=\[-1, 2\] .* n=4"),
        (lambda: causal_mask(-1), "n=-1"),
    ],
)
def test_what_cannot_be_is_refused_with_the_numbers(call, numbers):
    with pytest.raises(ValueError, match=numbers):
        call()
