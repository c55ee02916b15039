"""The exercises of the chapter convolution, one file each."""

CARRYING = ("causal_local_attention", "footprint", "heads_as_kernel")
ORDER = (
    *CARRYING,
    "band_mask",
    "windows_of",
    "grid_window_mask",
    "local_weights",
    "test_windowed_attention",
)
