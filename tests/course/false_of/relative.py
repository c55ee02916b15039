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


def turned_round(q, k, v, a_k, a_v, mask=None):
    """The offset is i - j."""
    a_k, a_v = (None if a is None else a.flip(0) for a in (a_k, a_v))
    return relative_attention(q, k, v, a_k, a_v, mask)


def without_values(q, k, v, a_k, a_v, mask=None):
    return relative_attention(q, k, v, a_k, None, mask)


def absolute(q, k, v, a_k, a_v, mask=None):
    places = torch.arange(k.shape[-2]).to(k)[:, None]
    return attention(q, k + places.sin(), v, mask)


def clipped_too_late(n, max_distance, device=None):
    position = torch.arange(n, device=device)
    return (position - position[:, None] + max_distance).clamp(0, 2 * max_distance - 1)


def in_the_band_alone(x, band, by_row):
    """Keys beyond the band of a block get nothing."""
    x[..., band.left : band.right] += by_row.gather(-1, band.rows)
    return x


def by_place(n, *settings, device=None):
    """The row is that of the key's position, wherever the query is."""
    placed_on = device or settings[-1]
    return torch.arange(n, device=placed_on).clamp(max=4).expand(n, n)


def of_one_query(scores):
    """What the offset explains if a single query is looked at: all."""
    return scores[..., :1, :].square().mean((-2, -1)) / scores[..., :1, :].square().mean((-2, -1))


FALSE_OF = {
    "heads_differ_in_what_the_offset_explains": ("explained_share", of_one_query),
    "all_forms_are_one": [
        ("relative_attention_gather", turned_round),
        ("attncourse.kernels.relative.add_by_row", in_the_band_alone),
    ],
    "the_end_rows_serve_most_pairs": ("relative_index", clipped_too_late),
    "order_beyond_max_distance_is_lost": ("relative_attention", absolute),
    "a_keys_table_can_point_to_the_token_before": ("relative_attention", turned_round),
    "only_differences_of_rows_count": ("relative_attention", without_values),
    "only_two_forms_hold_a_vector_per_pair": (
        "relative_attention_gather",
        relative_attention_dense,
    ),
    "blocks_hold_no_scores": ("relative_attention", relative_attention_gather),
    "the_tables_cost_few_operations": ("relative_attention_gather", relative_attention_dense),
    "the_skew_looks_up_without_an_index": ("causal_skew", lambda x: x.roll(1, -1)),
    "the_family_sees_offsets_alone": [
        ("relative_index", by_place),
        ("t5_buckets", by_place),
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
        ("rope", lambda x, positions, **how: rope(x, positions.clamp(max=255), **how)),
    ],
}
