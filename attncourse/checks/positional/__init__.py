"""The exercises of the chapter positional, one file each."""

ORDER = (
    "sinusoids_at",
    "shift_matrix",
    "encode_chunk",
    "padded_positions",
    "stretch_table",
    "PositionNetwork",
    "equivariance_gap",
    "tree_mask",
    "test_encoding",
)
