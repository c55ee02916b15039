"""The exact methods: sparse masks, grouped keys, and blockwise attention."""

import pytest
import torch
import torch.nn.functional as F

from attncourse import device
from attncourse.cost import count
from attncourse.dot_product import attention, causal_mask
from attncourse.efficient import (
    bigbird_mask,
    cache_bytes,
    flash_attention,
    grouped_query_attention,
    longformer_mask,
    online_softmax_update,
)
from tests.attncourse.gradients import assert_equal_with_gradients

LEADING_AXES = [(), (2,), (2, 1, 3)]


@pytest.fixture
def normal(g):
    """Draws standard normal tensors that require gradients, from a fixed seed."""

    def draw(*shape, dtype=torch.float64):
        x = torch.randn(shape, generator=g, dtype=torch.float64)
        return x.to(device(), dtype).requires_grad_()

    return draw


def random_mask(g, *shape):
    """A random mask; the second query, if any, may attend nowhere."""
    mask = torch.rand(shape, generator=g) < 0.5
    mask[..., 1:2, :] = False
    return mask.to(device())


# masks


@pytest.mark.parametrize(
    "n, width, global_tokens",
    [(1, 1, []), (7, 3, []), (8, 3, [0]), (9, 5, [2, 8]), (5, 9, []), (6, 1, [5])],
)
def test_a_longformer_query_sees_its_window_and_the_global_tokens_which_see_all(
    n, width, global_tokens
):
    mask = longformer_mask(n, width, global_tokens, device())
    for i in range(n):
        for j in range(n):
            window = -(width // 2) <= j - i <= width // 2
            assert mask[i, j].item() == (window or i in global_tokens or j in global_tokens)


def test_the_pairs_of_a_window_grow_with_the_length_and_not_with_its_square():
    pairs = [longformer_mask(n, 5, [0]).sum().item() for n in (100, 200, 300)]
    assert pairs[2] - pairs[1] == pairs[1] - pairs[0] == 100 * (5 + 2)


@pytest.mark.parametrize(
    "n, width, global_tokens, random", [(1, 1, [], 1), (9, 3, [0], 2), (8, 1, [], 3)]
)
def test_a_bigbird_query_sees_as_many_more_keys_as_there_are_random_ones(
    n, width, global_tokens, random, g
):
    longformer = longformer_mask(n, width, global_tokens)
    mask = bigbird_mask(n, width, global_tokens, random, g)
    assert (mask | ~longformer).all()
    extra_keys = (mask & ~longformer).sum(-1)
    assert torch.equal(extra_keys, (~longformer).sum(-1).clamp(max=random))


def test_without_random_keys_bigbird_is_longformer_and_with_all_it_is_full(g):
    assert torch.equal(bigbird_mask(9, 3, [1], 0, g), longformer_mask(9, 3, [1]))
    assert bigbird_mask(9, 3, [1], 9, g).all()


def test_the_random_keys_follow_the_generator_and_each_is_as_likely(g):
    first, second = (bigbird_mask(20, 1, [], 3, torch.Generator().manual_seed(s)) for s in (1, 2))
    assert torch.equal(first, bigbird_mask(20, 1, [], 3, torch.Generator().manual_seed(1)))
    assert not torch.equal(first, second)
    share = torch.stack([bigbird_mask(5, 1, [], 1, g) for _ in range(2000)]).double().mean(0)
    others = share[~torch.eye(5, dtype=torch.bool)]
    assert (others - 1 / 4).abs().max() < 0.06


# shared heads


@pytest.mark.parametrize("heads, groups", [(1, 1), (4, 1), (4, 2), (6, 3), (4, 4)])
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_grouped_queries_are_attention_with_repeated_keys(normal, g, leading, heads, groups):
    q = normal(*leading, heads, 5, 4)
    k, v = normal(*leading, groups, 7, 4), normal(*leading, groups, 7, 3)
    for shape in (None, (5, 7), (heads, 5, 7), (*leading, 1, 1, 7), (*leading, heads, 5, 7)):
        mask = None if shape is None else random_mask(g, *shape)
        keys, values = (x.repeat_interleave(heads // groups, dim=-3) for x in (k, v))
        theirs = F.scaled_dot_product_attention(q, keys, values, mask).nan_to_num()
        assert_equal_with_gradients(grouped_query_attention(q, k, v, mask), theirs, (q, k, v))


def test_sharing_makes_no_copy_of_the_keys():
    q = torch.empty(8, 1, 64, device="meta")
    k, v = torch.empty(2, 2, 1000, 64, device="meta")
    assert count(grouped_query_attention, q, k, v).largest == 8 * 1000


def test_the_cache_holds_a_key_and_a_value_for_each_group_and_layer():
    keys = torch.empty(12, 2, 4, 100, 64, dtype=torch.float16)
    assert cache_bytes(100, 12, 4, 64, torch.float16) == keys.numel() * keys.element_size()


# block by block

SIZES = [(1, 1), (7, 7), (8, 8), (3, 8), (1, 9), (10, 10)]


@pytest.mark.parametrize("block", [1, 3, 4, 128])
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_flash_is_torch_s_attention_with_its_gradients(normal, g, leading, block):
    for n, m in SIZES:
        q, k, v = normal(*leading, n, 4), normal(*leading, m, 4), normal(*leading, m, 3)
        for mask in (None, random_mask(g, n, m), random_mask(g, *leading, 1, m)):
            theirs = F.scaled_dot_product_attention(q, k, v, mask).nan_to_num()
            assert_equal_with_gradients(
                flash_attention(q, k, v, mask, block=block), theirs, (q, k, v)
            )


@pytest.mark.parametrize("block", [1, 3, 4, 128])
@pytest.mark.parametrize("masked", [False, True], ids=["open", "masked"])
def test_causal_flash_is_attention_under_the_causal_mask(normal, g, masked, block):
    for n, m in SIZES:
        q, k, v = normal(2, n, 4), normal(2, m, 4), normal(2, m, 3)
        allowed = causal_mask(m, device())[m - n :]
        mask = random_mask(g, n, m) if masked else None
        both_masks = allowed if mask is None else allowed & mask
        theirs = attention(q, k, v, both_masks)
        assert_equal_with_gradients(
            flash_attention(q, k, v, mask, causal=True, block=block), theirs, (q, k, v)
        )


def test_blocks_of_later_keys_are_left_out():
    x = torch.empty(1024, 64, device="meta")
    full, causal = (count(flash_attention, x, x, x, causal=c) for c in (False, True))
    # 8 blocks of 128: 36 of 64 pairs of blocks hold the diagonal or lie below it
    assert causal.flops * 64 == full.flops * 36
    assert full.flops == count(attention, x, x, x).flops


@pytest.mark.parametrize("n", [256, 512, 1024])
def test_flash_makes_nothing_that_grows_with_both_lengths(n):
    x = torch.empty(n, 64, device="meta")
    assert count(flash_attention, x, x, x, causal=True).largest == n * 64


@pytest.mark.parametrize("scale", [60, 1e4])
def test_scores_may_be_large(normal, scale):
    q, k, v = normal(7, 4), normal(9, 4), normal(9, 3)
    torch.testing.assert_close(
        flash_attention(scale * q, k, v, block=2), attention(scale * q, k, v)
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_the_output_has_the_dtype_of_the_input(normal, dtype):
    q, k, v = (normal(4, 7, 4, dtype=dtype).detach() for _ in range(3))
    for out in (
        flash_attention(q, k, v, causal=True, block=2),
        grouped_query_attention(q, k[:2], v[:2]),
    ):
        assert out.dtype == dtype
    exact = attention(q.double(), k.double(), v.double(), causal_mask(7, device()))
    ours = flash_attention(q, k, v, causal=True, block=2)
    torch.testing.assert_close(ours.double(), exact, atol=16 * torch.finfo(dtype).eps, rtol=0)


def test_a_query_that_may_attend_nowhere_gets_zeros_and_no_gradient(normal):
    q, k, v = normal(4, 3, 4), normal(2, 5, 4), normal(2, 5, 3)
    mask = torch.ones(3, 5, dtype=torch.bool, device=device())
    mask[1] = False
    for out, of in (
        (grouped_query_attention(q, k, v, mask), q),
        (flash_attention(q[:2], k, v, mask, block=2), q),
    ):
        assert (out[..., 1, :] == 0).all()
        (grad,) = torch.autograd.grad(out.sum(), of)
        assert grad.isfinite().all() and (grad[..., 1, :] == 0).all()


def test_each_block_leaves_the_softmax_of_all_keys_so_far(normal):
    scores, v = normal(2, 3, 10), normal(2, 10, 4)
    top, total, z = (
        scores.new_full((2, 3, 1), -1e9),
        scores.new_zeros(2, 3, 1),
        v.new_zeros(2, 3, 4),
    )
    for end in (4, 8, 10):
        block_slice = slice((end - 1) // 4 * 4, end)
        top, total, z = online_softmax_update(
            top, total, z, scores[..., block_slice], v[..., block_slice, :]
        )
        torch.testing.assert_close(top, scores[..., :end].amax(-1, keepdim=True))
        torch.testing.assert_close(top + total.log(), scores[..., :end].logsumexp(-1, keepdim=True))
        torch.testing.assert_close(z / total, scores[..., :end].softmax(-1) @ v[..., :end, :])


X = torch.zeros(4, 5, 3)


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (lambda g: longformer_mask(8, 4), "n=8 .* width=4"),
        (lambda g: longformer_mask(8, 0), "n=8 .* width=0"),
        (lambda g: longformer_mask(0, 3), "n=0"),
        (lambda g: longformer_mask(8, 3, [8]), r"global_tokens=\[8\] .* n-1=7"),
        (lambda g: longformer_mask(8, 3, [-1]), r"global_tokens=\[-1\]"),
        (lambda g: bigbird_mask(8, 2, [], 1, g), "width=2"),
        (lambda g: bigbird_mask(8, 3, [], 9, g), "random=9 .* n=8"),
        (lambda g: bigbird_mask(8, 3, [], -1, g), "random=-1"),
        (lambda g: grouped_query_attention(X, X[:3], X[:3]), "heads=4 .* groups=3"),
        (lambda g: grouped_query_attention(X, X[:0], X[:0]), "heads=4 .* groups=0"),
        (lambda g: grouped_query_attention(X, X[:2, :0], X[:2, :0]), "5 queries and 0 keys"),
        (lambda g: flash_attention(X[:, :0], X, X), "0 queries and 5 keys"),
        (lambda g: flash_attention(X, X[:, :0], X[:, :0]), "5 queries and 0 keys"),
        (lambda g: flash_attention(X, X, X, block=0), "block=0"),
        (lambda g: flash_attention(X, X[:, :4], X[:, :4], causal=True), "n=5 .* m=4"),
    ],
)
def test_bad_input_is_named_with_its_numbers(call, numbers, g):
    with pytest.raises(ValueError, match=numbers):
        call(g)
