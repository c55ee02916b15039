"""The exercises of the chapter efficient, one file each."""

ORDER = (
    "window_and_global",
    "rank_for_share",
    "projected_attention",
    "positive_features",
    "lsh_buckets",
    "newton_inverse",
    "shared_heads_attention",
    "running_max_and_sum",
    "merge_parts",
    "test_grouped_query",
)
