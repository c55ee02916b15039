"""For each claim of the chapter efficient, a wrong function that it must notice."""

import torch

from attncourse.course.efficient.claims.approximate import smooth
from attncourse.course.efficient.claims.exact import rounded
from attncourse.dot_product import attention, attention_weights
from attncourse.efficient import (
    longformer_mask,
    lsh_attention,
    nystrom_attention,
    online_softmax_update,
)


def update_without_factor(top, total, z, scores, v):
    """The sum so far is not rescaled when the maximum rises."""
    highest, *_ = online_softmax_update(top, total, z, scores, v)
    exponentials = (scores - highest).exp()
    return highest, total + exponentials.sum(-1, keepdim=True), z + exponentials @ v


def last_block_alone(q, k, v, mask=None, causal=False, block=128):
    """The softmax of the last block alone."""
    last = -((k.shape[-2] - 1) % block + 1)
    last_mask = None if mask is None else mask[..., last:]
    return attention(q, k[..., last:, :], v[..., last:, :], last_mask)


def interleaved_groups(q, k, v):
    """Head i uses group i % g."""
    repeat = (len(q) // len(k), 1, 1)
    return attention(q, k.repeat(repeat), v.repeat(repeat))


def double_width_mask(n, width, tokens, device=None):
    return longformer_mask(n, 2 * width + 1, tokens, device)


def mask_without_global(n, width, tokens, device=None):
    return longformer_mask(n, width, [], device)


def orthogonal_without_signs(rows, d, g):
    """Orthogonal, but not every rotation is as likely: the products are off by about 0.01."""
    square, gaussian = torch.randn(2, -(-rows // d), d, d, generator=g, device=g.device)
    orthogonal = torch.linalg.qr(square).Q
    return (orthogonal * gaussian.norm(dim=-1, keepdim=True)).flatten(0, 1)[:rows]


def independent_rows(rows, d, g):
    return torch.randn(rows, d, generator=g, device=g.device)


def features_without_norm(x, w):
    """The features lack the factor that makes them right on average."""
    return x / x.shape[-1] ** 0.25 @ w.mT


def newton_pinv(a, steps=6):
    """Newton's own iteration, which only squares the residual I - A Z."""
    z = a.mT / (a.abs().sum(-2).amax() * a.abs().sum(-1).amax())
    for _ in range(steps):
        z = z @ (2 * torch.eye(len(a)).to(a) - a @ z)
    return z


def unscaled_attention(q, k, v):
    return (q @ k.mT).softmax(dim=-1) @ v


EXACT = "attncourse.course.efficient.claims.exact."
APPROXIMATE = "attncourse.course.efficient.claims.approximate."


def uniform_weights(device=None, n=128):
    """Each query gives all tokens so far the same weight."""
    rows = torch.ones(16, n, n, device=device).tril()
    return rows / rows.sum(-1, keepdim=True)


FALSE_OF = {
    "trained_heads_are_sparse_and_not_of_low_rank": (
        APPROXIMATE + "trained_weights", uniform_weights,
    ),
    "blocks_are_exact": (EXACT + "flash_attention", last_block_alone),
    "blocks_come_in_any_order": (EXACT + "online_softmax_update", update_without_factor),
    "blocks_save_memory_not_operations": (
        EXACT + "flash_attention", lambda q, k, v, causal=False: attention(q, k, v),
    ),
    # repeated keys are read as often as keys of their own
    "decoding_moves_a_byte_for_each_operation": (
        EXACT + "grouped_query_attention", interleaved_groups,
    ),
    "sharing_saves_bytes_not_operations": (EXACT + "grouped_query_attention", interleaved_groups),
    "a_latent_serves_all_heads": (EXACT + "grouped_query_attention", unscaled_attention),
    "four_bits_want_a_scale_per_channel": (
        EXACT + "rounded", lambda x, bits, dim: rounded(x, bits, -1),
    ),
    "pairs_grow_with_the_length": (APPROXIMATE + "longformer_mask", double_width_mask),
    "few_layers_reach_everything": (APPROXIMATE + "longformer_mask", mask_without_global),
    "more_rounds_come_closer": (
        APPROXIMATE + "lsh_attention",
        lambda q, v, buckets, rounds, g: lsh_attention(q, v, buckets, 1, g),
    ),
    "low_rank_is_a_matter_of_scores": (
        APPROXIMATE + "attention_weights", lambda q, k: attention_weights(q / 8, k),
    ),
    "mixtures_and_landmarks_come_closer": (
        APPROXIMATE + "nystrom_attention",
        lambda q, k, v, r, steps: nystrom_attention(q, k, v, 8, steps),
    ),
    "low_rank_is_not_enough": [
        (APPROXIMATE + "linformer_attention", lambda q, k, v, e, f: attention(q, k, v)),
        (APPROXIMATE + "nystrom_attention", lambda q, k, v, r: attention(q, k, v)),
    ],
    "each_step_cubes_what_is_missing": (APPROXIMATE + "iterative_pinv", newton_pinv),
    "features_are_right_on_average": [
        (APPROXIMATE + "orthogonal_random_matrix", orthogonal_without_signs),
        (APPROXIMATE + "orthogonal_random_matrix", independent_rows),
        (APPROXIMATE + "log_positive_features", features_without_norm),
    ],
    # nothing draws such features well: what makes the claim false is small scores
    "large_scores_need_more_features": (
        APPROXIMATE + "smooth", lambda g, n, d, strength: smooth(g, n, d, 1),
    ),
    "none_is_best_for_all": (
        APPROXIMATE + "longformer_mask",
        lambda n, width, tokens, device: torch.ones(n, n, device=device) > 0,
    ),
}  # fmt: skip
