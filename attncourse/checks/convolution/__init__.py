"""The exercises of the chapter convolution, one file each."""

ORDER = (
    "band_mask",
    "windows_of",
    "local_weights",
    "causal_local_attention",
    "heads_as_kernel",
    "footprint",
    "grid_window_mask",
    "test_windowed_attention",
)
