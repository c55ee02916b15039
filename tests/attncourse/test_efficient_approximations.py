"""The approximations: exact where the paper says so, and closer with a larger budget."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.functional import normalize

from attncourse import device
from attncourse.cost import count
from attncourse.dot_product import attention, attention_weights
from attncourse.efficient import (
    iterative_pinv,
    linformer_attention,
    log_positive_features,
    lsh_attention,
    lsh_buckets,
    nystrom_attention,
    orthogonal_random_matrix,
    performer_attention,
    segment_means,
)
from tests.attncourse.gradients import assert_equal_with_gradients

LEADING_AXES = [(), (2,), (2, 1, 3)]


def relative_error(x, y):
    """The relative error of x against y, in the Frobenius norm."""
    return ((x - y).norm() / y.norm()).item()


def new_generator():
    return torch.Generator().manual_seed(5)


# Linformer


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_linformer_is_attention_to_mixtures_of_keys_with_its_gradients(normal, leading):
    shapes = (*leading, 5, 4), (*leading, 7, 4), (*leading, 7, 2), (3, 7), (3, 7)
    q, k, v, e, f = inputs = [normal(*shape).requires_grad_() for shape in shapes]
    keys, values = (torch.einsum("rm,...md->...rd", x, y) for x, y in ((e, k), (f, v)))
    theirs = F.scaled_dot_product_attention(q, keys, values)
    assert_equal_with_gradients(linformer_attention(*inputs), theirs, inputs)


def test_linformer_with_as_many_mixtures_as_keys_loses_nothing(normal):
    q, k, v = normal(5, 4), normal(7, 4), normal(7, 2)
    order = torch.eye(7, dtype=k.dtype, device=device()).flip(0)
    torch.testing.assert_close(linformer_attention(q, k, v, order, order), attention(q, k, v))


@pytest.mark.parametrize("n", [512, 2048])
def test_linformer_makes_r_scores_for_each_query(n):
    x, e = torch.empty(n, 16, device="meta"), torch.empty(64, n, device="meta")
    cost = count(linformer_attention, x, x, x, e, e)
    assert (cost.largest, cost.flops) == (n * 64, 2 * 4 * n * 64 * 16)


# Performer


def test_the_directions_are_orthogonal_in_blocks_and_as_long_as_normal_ones(g):
    w = orthogonal_random_matrix(4000, 8, g).double()
    first = w[:8] @ w[:8].mT
    torch.testing.assert_close(first, first.diagonal().diag(), atol=1e-4, rtol=0)
    # squared lengths of normal vectors have mean d and variance 2 d
    squares = w.square().sum(-1)
    assert abs(squares.mean() - 8) < 0.3 and abs(squares.var() - 16) < 2
    torch.testing.assert_close(w.mT @ w / 4000, torch.eye(8).double(), atol=0.1, rtol=0)
    assert w.mean(0).abs().max() < 0.06


def test_the_features_have_the_exponential_as_their_mean_product(normal, g):
    q, k = normal(3, 8) / 2, normal(4, 8) / 2
    w = orthogonal_random_matrix(80_000, 8, g).double().to(device())
    estimate = log_positive_features(q, w).exp() @ log_positive_features(k, w).exp().mT
    torch.testing.assert_close(estimate, (q @ k.mT / 8**0.5).exp(), rtol=0.03, atol=0)


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_performer_is_the_ratio_of_the_two_sums_of_the_paper_with_its_gradients(normal, leading):
    shapes = (*leading, 5, 4), (*leading, 7, 4), (*leading, 7, 2), (6, 4)
    q, k, v, w = inputs = [normal(*shape).requires_grad_() for shape in shapes]
    # of tokens divided by the fourth root of their width, 4
    phi_q, phi_k = (
        (x @ w.mT / 2**0.5).exp() * (-x.square().sum(-1, keepdim=True) / 4).exp() / 6**0.5
        for x in (q, k)
    )
    torch.testing.assert_close(log_positive_features(q, w).exp(), phi_q)
    theirs = phi_q @ (phi_k.mT @ v) / (phi_q @ phi_k.sum(-2)[..., None])
    assert_equal_with_gradients(performer_attention(*inputs), theirs, inputs)


def test_performer_comes_closer_with_more_features(normal, g):
    q, k, v = normal(40, 8) / 2, normal(50, 8) / 2, normal(50, 4)
    exact = attention(q, k, v)
    error_of_32, error_of_512 = (
        sum(
            relative_error(
                performer_attention(q, k, v, orthogonal_random_matrix(r, 8, g).to(q)), exact
            )
            ** 2
            for _ in range(20)
        )
        for r in (32, 512)
    )
    # the mean square shrinks as 1/r
    assert 8 < error_of_32 / error_of_512 < 32


@pytest.mark.parametrize("constant, low, high", [(0, 1, 1), (1e-6, 0.5, 0.9), (1e-4, 0, 0.05)])
def test_a_number_added_to_each_feature_draws_the_outputs_to_the_mean(g, constant, low, high):
    q, k, v = (torch.randn(512, 64, generator=g).double().to(device()) for _ in "qkv")
    w = orthogonal_random_matrix(256, 64, g).to(q)
    # as in the authors' code: the exponents without the largest product, and the number added
    (by_q, half_q), (by_k, half_k) = (
        (x @ w.mT / 64**0.25, x.square().sum(-1, keepdim=True) / 16) for x in (q, k)
    )
    phi_q = (by_q - half_q - by_q.amax(-1, keepdim=True)).exp() + constant
    phi_k = (by_k - half_k - by_k.amax()).exp() + constant
    theirs = phi_q @ (phi_k.mT @ v) / (phi_q @ phi_k.sum(0)[:, None])
    ours, mean = performer_attention(q, k, v, w), v.mean(0)
    ratio = ((theirs - mean).norm() / (ours - mean).norm()).item()
    assert low - 1e-9 <= ratio <= high + 1e-9


@pytest.mark.parametrize("scale", [1, 100, 1e4])
def test_performer_stays_a_mean_where_exponentials_overflow(normal, scale):
    q, k, v = (scale * normal(9, 4, dtype=torch.float32) for _ in range(3))
    out = performer_attention(q, k, v, normal(6, 4, dtype=torch.float32))
    assert out.isfinite().all()
    assert (out <= v.amax(0) * (1 + 1e-5) + 1e-5).all()


@pytest.mark.parametrize("n", [512, 2048])
def test_performer_makes_r_numbers_for_each_token(n):
    x, w = torch.empty(n, 16, device="meta"), torch.empty(64, 16, device="meta")
    assert count(performer_attention, x, x, x, w).largest == n * 64


# LSH


def lsh_pairs(q, buckets, rounds, seed):
    """The mask of LSH attention by loops: pairs in one bucket, in one chunk or neighbours."""
    n, d = q.shape
    g = torch.Generator().manual_seed(seed)
    bucket_rows = lsh_buckets(q, torch.randn(rounds, d, buckets // 2, generator=g).to(q)).tolist()
    size, allowed = -(-2 * n // buckets), torch.zeros(n, n, dtype=torch.bool)
    for bucket in bucket_rows:
        order = sorted(range(n), key=lambda i: (bucket[i], i))
        for a, i in enumerate(order):
            for b, j in enumerate(order):
                if bucket[i] == bucket[j] and a // size - b // size in (0, 1):
                    allowed[i, j] = True
    # a token attends to itself only where no other is allowed
    allowed &= ~torch.eye(n, dtype=torch.bool)
    return allowed | (torch.eye(n, dtype=torch.bool) & ~allowed.any(-1, keepdim=True))


@pytest.mark.parametrize("n, buckets", [(1, 2), (7, 2), (13, 4), (16, 8), (30, 6), (5, 20)])
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_lsh_is_attention_to_all_that_a_token_meets_in_any_round(normal, n, buckets, rounds):
    q, v = normal(n, 4).requires_grad_(), normal(n, 3).requires_grad_()
    met = lsh_pairs(q, buckets, rounds, 5).to(device())
    ours = lsh_attention(q, v, buckets, rounds, new_generator())
    theirs = attention(q, normalize(q, dim=-1), v, met)
    torch.testing.assert_close(ours, theirs)
    grad_output = normal(n, 3)
    grads = (torch.autograd.grad(z, (q, v), grad_output) for z in (ours, theirs))
    torch.testing.assert_close(*grads)


def test_more_rounds_let_a_token_meet_more(normal):
    q, v = normal(64, 4), normal(64, 4)
    alone = torch.eye(64, dtype=torch.bool, device=device())
    exact = attention(q, normalize(q, dim=-1), v, ~alone)
    errors = [
        relative_error(lsh_attention(q, v, 8, rounds, new_generator()), exact)
        for rounds in (1, 4, 16)
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_the_bucket_is_the_column_or_its_opposite_with_the_largest_product(normal):
    x, rotations = normal(2, 9, 4), normal(3, 4, 5)
    buckets = lsh_buckets(x, rotations)
    assert buckets.shape == (2, 3, 9)
    axes = torch.cat([rotations, -rotations], dim=-1)
    for b, r, i in [(0, 0, 0), (1, 2, 8), (0, 1, 4)]:
        products = [(x[b, i] * axes[r, :, c]).sum().item() for c in range(10)]
        assert products.index(max(products)) == buckets[b, r, i]
    # only the direction counts, and the opposite is half the buckets away
    assert torch.equal(lsh_buckets(3 * x, rotations), buckets)
    assert torch.equal(lsh_buckets(-x, rotations), (buckets + 5) % 10)


def test_the_batch_changes_nothing_in_lsh(normal):
    q, v = normal(2, 3, 9, 4), normal(2, 3, 9, 2)
    full = lsh_attention(q, v, 4, 2, new_generator())
    torch.testing.assert_close(full[1, 2], lsh_attention(q[1, 2], v[1, 2], 4, 2, new_generator()))


def test_lsh_makes_two_chunks_of_scores_for_each_query():
    x = torch.empty(4096, 16, device="meta")
    # chunks of 2 * 4096 / 64 = 128
    assert count(lsh_attention, x, x, 64, 1, new_generator()).largest == 4096 * 2 * 128


# Nystroem


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_the_iteration_becomes_the_pseudo_inverse_with_its_gradients(normal, leading):
    a = (normal(*leading, 6, 6).softmax(-1) + torch.eye(6, device=device())).requires_grad_()
    assert_equal_with_gradients(iterative_pinv(a, 12), torch.linalg.pinv(a), [a])
    a = normal(*leading, 6, 6).softmax(-1)
    torch.testing.assert_close(iterative_pinv(a, 40), torch.linalg.pinv(a), rtol=1e-6, atol=1e-6)
    # of rank 2, it has no inverse; many more steps would invert its rounding
    flat = normal(*leading, 6, 2) @ normal(*leading, 2, 6)
    torch.testing.assert_close(
        iterative_pinv(flat, 12), torch.linalg.pinv(flat), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_nystrom_with_every_token_a_landmark_is_attention(normal, leading):
    q, k, v = normal(*leading, 7, 8), normal(*leading, 7, 8), normal(*leading, 7, 2)
    torch.testing.assert_close(
        nystrom_attention(q, k, v, 7, steps=40), F.scaled_dot_product_attention(q, k, v)
    )


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_nystrom_is_three_attentions_and_torch_s_pseudo_inverse_with_its_gradients(normal, leading):
    shapes = (*leading, 6, 8), (*leading, 9, 8), (*leading, 9, 2)
    q, k, v = inputs = [3 * normal(*shape) for shape in shapes]
    for x in inputs:
        x.requires_grad_()
    few_q, few_k = (x.unflatten(-2, (3, -1)).mean(-2) for x in (q, k))
    by_q, middle, by_k = (
        (x @ y.mT / 8**0.5).softmax(-1) for x, y in ((q, few_k), (few_q, few_k), (few_q, k))
    )
    theirs = by_q @ torch.linalg.pinv(middle) @ (by_k @ v)
    assert_equal_with_gradients(nystrom_attention(q, k, v, 3, steps=20), theirs, inputs)


def test_nystrom_is_exact_where_segments_hold_equal_tokens(normal):
    q, k = (normal(4, 8).repeat_interleave(3, dim=0) for _ in "qk")
    v = normal(12, 3)
    torch.testing.assert_close(nystrom_attention(q, k, v, 4, steps=40), attention(q, k, v))


def test_a_start_over_all_heads_lets_one_head_hold_up_another(g):
    # slowly changing tokens with the score 2, and a head in which all look at one segment
    position = torch.arange(512)
    window = torch.exp(-((position - position[:, None]) ** 2) / 128)
    x, v = (normalize(window @ torch.randn(512, 16, generator=g), dim=-1) * 8**0.5 for _ in "xv")
    one_key = torch.zeros(512, 16).masked_fill(position[:, None] < 16, 1.0)
    q, k = torch.stack([x, torch.full((512, 16), 4.0)]), torch.stack([x, one_key])
    q, k, v = (y.double().to(device()) for y in (q, k, torch.stack([v, v])))
    q_landmarks, k_landmarks = segment_means(q, 32), segment_means(k, 32)
    a, identity = attention_weights(q_landmarks, k_landmarks), torch.eye(32).to(q)
    # as in the authors' code: by the largest sum of all columns of all heads; a row's is 1
    y = a.mT / a.sum(-2).max()
    for _ in range(6):
        y = y @ (13 * identity - a @ y @ (15 * identity - a @ y @ (7 * identity - a @ y))) / 4
    theirs = attention_weights(q, k_landmarks) @ (y @ attention(q_landmarks, k, v))
    ours, exact = nystrom_attention(q, k, v, 32), attention(q, k, v)[0]
    torch.testing.assert_close(ours[0], nystrom_attention(q[0], k[0], v[0], 32))
    error_of_mean = (v[0].mean(0) - exact).norm()
    assert (ours[0] - exact).norm() / error_of_mean < 0.11
    assert (theirs[0] - exact).norm() / error_of_mean > 0.3


@pytest.mark.parametrize("n, segments", [(1, 1), (7, 7), (8, 2), (7, 3)])
def test_segments_differ_in_length_by_at_most_one(n, segments):
    x = torch.eye(n, dtype=torch.float64)
    means = segment_means(x, segments)
    lengths = (means > 0).sum(-1)
    assert lengths.sum() == n and lengths.max() - lengths.min() <= 1
    torch.testing.assert_close(means.sum(-1), torch.ones(segments, dtype=torch.float64))


@pytest.mark.parametrize("n", [512, 2048])
def test_nystrom_makes_as_many_weights_as_landmarks_for_each_token(n):
    x = torch.empty(n, 16, device="meta")
    assert count(nystrom_attention, x, x, x, 64).largest == n * 64


# what the page's table says


@pytest.mark.parametrize("n, d, r, c", [(512, 16, 128, 64), (256, 8, 32, 16)])
def test_each_takes_the_operations_that_the_table_says(n, d, r, c):
    x, e, w = (torch.empty(*size, device="meta") for size in ((n, d), (r, n), (r, d)))
    lsh_flops = count(lsh_attention, x, x, 2 * n // c, 3, new_generator()).flops
    assert count(attention, x, x, x).flops == 4 * n**2 * d
    assert lsh_flops == 3 * (8 * n * c * d + 2 * n**2 * d // c)
    assert count(linformer_attention, x, x, x, e, e).flops == 8 * n * r * d
    nystrom_flops = count(nystrom_attention, x, x, x, r).flops
    assert nystrom_flops == 8 * n * r * d + 4 * r**2 * d + 48 * r**3
    assert count(performer_attention, x, x, x, w).flops == 8 * n * r * d


# all of them


def test_one_token_gets_its_own_value(normal, g):
    q, k, v = normal(2, 1, 4), normal(2, 1, 4), normal(2, 1, 3)
    for out in (
        linformer_attention(q, k, v, *v.new_ones(2, 1, 1)),
        performer_attention(q, k, v, orthogonal_random_matrix(5, 4, g).to(q)),
        lsh_attention(q, v, 2, 3, new_generator()),
        nystrom_attention(q, k, v, 1),
    ):
        torch.testing.assert_close(out, v)


X = torch.zeros(2, 5, 4)


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (
            lambda g: linformer_attention(X[:, :0], X, X, *torch.ones(2, 3, 5)),
            "0 queries and 5 keys",
        ),
        (lambda g: performer_attention(X, X, X, torch.ones(0, 4)), r"w=\(0, 4\)"),
        (lambda g: performer_attention(X, X[:, :0], X[:, :0], torch.ones(6, 4)), "0 keys"),
        (lambda g: orthogonal_random_matrix(0, 4, g), "rows=0"),
        (lambda g: orthogonal_random_matrix(4, 0, g), "d=0"),
        (lambda g: lsh_attention(X, X, 3, 1, g), "num_buckets=3"),
        (lambda g: lsh_attention(X, X, 0, 1, g), "num_buckets=0"),
        (lambda g: lsh_attention(X, X, 4, 0, g), "rounds=0"),
        (lambda g: lsh_attention(X[:, :0], X[:, :0], 4, 1, g), "0 queries"),
        (lambda g: nystrom_attention(X, X, X, 0), "landmarks=0"),
        (lambda g: nystrom_attention(X, X[:, :3], X[:, :3], 4), "landmarks=4 .* 5 .* 3 keys"),
        (lambda g: nystrom_attention(X[:, :0], X, X, 1), "0 queries"),
    ],
)
def test_bad_input_is_named_with_its_numbers(call, numbers, g):
    with pytest.raises(ValueError, match=numbers):
        call(g)
