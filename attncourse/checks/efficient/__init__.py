"""The exercises of the chapter efficient, one file each."""

CARRYING = ("rank_for_share", "merge_parts")
ORDER = (
    *CARRYING,
    "window_and_global",
    "projected_attention",
    "lsh_buckets",
    "positive_features",
    "shared_heads_attention",
    "newton_inverse",
    "running_max_and_sum",
    "test_grouped_query",
)
