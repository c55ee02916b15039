"""For each claim of the chapter relative, a wrong function that it must notice."""

import torch

from attncourse.dot_product import attention
from attncourse.relative import (
    alibi_bias,
    relative_attention,
    relative_attention_dense,
    relative_attention_gather,
    rope,
)


def reversed_offsets(q, k, v, a_k, a_v, mask=None):
    """The offset is i - j."""
    a_k, a_v = (None if a is None else a.flip(0) for a in (a_k, a_v))
    return relative_attention(q, k, v, a_k, a_v, mask)


def attention_without_value_table(q, k, v, a_k, a_v, mask=None):
    return relative_attention(q, k, v, a_k, None, mask)


def absolute_attention(q, k, v, a_k, a_v, mask=None):
    positions = torch.arange(k.shape[-2]).to(k)[:, None]
    return attention(q, k + positions.sin(), v, mask)


def late_clipped_index(n, max_distance, device=None):
    position = torch.arange(n, device=device)
    return (position - position[:, None] + max_distance).clamp(0, 2 * max_distance - 1)


def add_in_band_only(x, band, by_row):
    """Keys beyond the band of a block get nothing."""
    x[..., band.first_key : band.end_key] += by_row.gather(-1, band.rows)
    return x


def index_by_key(n, *settings, device=None):
    """The row is that of the key's position, wherever the query is."""
    target_device = device or settings[-1]
    return torch.arange(n, device=target_device).clamp(max=4).expand(n, n)


def share_of_one_query(scores):
    """The share that the offset explains for a single query: all of it."""
    return scores[..., :1, :].square().mean((-2, -1)) / scores[..., :1, :].square().mean((-2, -1))


FALSE_OF = {
    "heads_differ_in_what_the_offset_explains": ("explained_share", share_of_one_query),
    "all_forms_are_one": [
        ("relative_attention_gather", reversed_offsets),
        ("attncourse.kernels.relative.add_by_row", add_in_band_only),
    ],
    "the_end_rows_serve_most_pairs": ("relative_index", late_clipped_index),
    "order_beyond_max_distance_is_lost": ("relative_attention", absolute_attention),
    "a_keys_table_can_point_to_the_token_before": ("relative_attention", reversed_offsets),
    "only_differences_of_rows_count": ("relative_attention", attention_without_value_table),
    "only_two_forms_hold_a_vector_per_pair": (
        "relative_attention_gather",
        relative_attention_dense,
    ),
    "blocks_hold_no_scores": ("relative_attention", relative_attention_gather),
    "the_tables_cost_few_operations": ("relative_attention_gather", relative_attention_dense),
    "the_skew_looks_up_without_an_index": ("causal_skew", lambda x: x.roll(1, -1)),
    "the_family_sees_offsets_alone": [
        ("relative_index", index_by_key),
        ("t5_buckets", index_by_key),
        ("skew", lambda x: x[..., : x.shape[-2]]),
        ("rope", lambda x, positions: rope(x, positions**2)),
        (
            "alibi_bias",
            lambda heads, n, device, dtype: (
                alibi_bias(heads, n, device, dtype=dtype) * torch.arange(n, device=device)
            ),
        ),
    ],
    "rope_turns_and_keeps_lengths": [
        ("rope", lambda x, positions: rope(x, positions**2)),
        ("rope", lambda x, positions: rope(x, positions) * (1 + positions[:, None])),
    ],
    "rope_fades_for_keys_like_the_query": [
        ("rope", lambda x, positions, base: x),
        ("rope", lambda x, positions, base: rope(x, positions)),
    ],
    "interpolation_misses_the_token_before": [
        ("rope", lambda x, positions, base=1e4, scale=1: rope(x, positions, base)),
        ("rope", lambda x, positions, base=1e4, scale=1: rope(x, positions, 1e4, scale)),
    ],
    "a_score_beyond_training_comes_back": [
        ("rope", lambda x, positions, base=1e4, scale=1: rope(x, positions, base)),
        ("rope", lambda x, positions, **options: rope(x, positions.clamp(max=255), **options)),
    ],
}
