"""The exercises of the chapter relative, one file each."""

CARRYING = ("causal_scores", "relative_values", "rope_halves")
ORDER = (
    *CARRYING,
    "relative_rows",
    "share_within",
    "relative_scores",
    "sum_by_offset",
    "RelativeBias",
    "test_relative_index",
)
