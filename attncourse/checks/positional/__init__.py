"""The exercises of the chapter positional, one file each."""

CARRYING = ("equivariance_gap", "shift_matrix", "stretch_table")
ORDER = (
    *CARRYING,
    "encode_chunk",
    "padded_positions",
    "sinusoids_at",
    "PositionNetwork",
    "tree_mask",
    "test_encoding",
)
