"""The exercises of the chapter multi_head, one file each."""

CARRYING = ("collapse", "CrossAttention", "head_matrices")
ORDER = (
    *CARRYING,
    "attend_in_heads",
    "self_attention_of_batch",
    "talking_heads",
    "prune_heads",
    "test_multi_head",
)
