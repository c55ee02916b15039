"""The exercises of the chapter relative, one file each."""

ORDER = (
    "relative_rows",
    "relative_scores",
    "relative_values",
    "sum_by_offset",
    "causal_scores",
    "rope_halves",
    "share_within",
    "RelativeBias",
    "test_relative_index",
)
