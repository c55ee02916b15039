"""The exercises of the chapter multi_head, one file each."""

ORDER = (
    "attend_in_heads",
    "CrossAttention",
    "head_matrices",
    "collapse",
    "self_attention_of_batch",
    "talking_heads",
    "prune_heads",
    "test_multi_head",
)
