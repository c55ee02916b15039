r"""Attention with fewer pairs, keys or heads, or with less memory (chapter: efficient).

Tay et al. (2020) survey most of these families. Here each is a small function: a mask that
leaves pairs out (Longformer, BigBird), buckets of similar tokens (Reformer), fewer keys
(Linformer, Nystroem), random features (Performer), heads that share keys and values, and exact
attention block by block (FlashAttention):

$$\mu' = \max(\mu, \max_j s_j), \qquad
\ell' = e^{\mu - \mu'} \ell + \sum_j e^{s_j - \mu'}, \qquad
z' = e^{\mu - \mu'} z + \sum_j e^{s_j - \mu'} v_j$$

Source: the papers named at each function; above, the maximum and the sum are from Milakov &
Gimelshein (2018), the sum of values from Rabe & Staats (2021).
"""

from attncourse.efficient.flash import block_scores, flash_attention, online_softmax_update, slices
from attncourse.efficient.grouped import cache_bytes, grouped_query_attention, mask_of_groups
from attncourse.efficient.hashing import (
    attend_in_chunks,
    batched_gather,
    collisions,
    lsh_attention,
    lsh_buckets,
    sorted_chunks,
)
from attncourse.efficient.low_rank import (
    iterative_pinv,
    linformer_attention,
    nystrom_attention,
    segment_means,
)
from attncourse.efficient.patterns import bigbird_mask, longformer_mask
from attncourse.efficient.random_features import (
    log_positive_features,
    orthogonal_random_matrix,
    performer_attention,
)

__all__ = [
    "attend_in_chunks",
    "batched_gather",
    "bigbird_mask",
    "block_scores",
    "cache_bytes",
    "collisions",
    "flash_attention",
    "grouped_query_attention",
    "iterative_pinv",
    "linformer_attention",
    "log_positive_features",
    "longformer_mask",
    "lsh_attention",
    "lsh_buckets",
    "mask_of_groups",
    "nystrom_attention",
    "online_softmax_update",
    "orthogonal_random_matrix",
    "performer_attention",
    "segment_means",
    "slices",
    "sorted_chunks",
]
