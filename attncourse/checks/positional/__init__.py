"""The exercises of the chapter positional, one file each."""

CARRYING = ("equivariance_gap", "shift_matrix", "stretch_table")
ORDER = (
    *CARRYING,
    "encode_chunk",
    "padded_positions",
    "tree_mask",
    "sinusoids_at",
    "PositionNetwork",
    "test_encoding",
)
