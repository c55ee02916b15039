"""The exercises of the chapter linear, one file each."""

ORDER = (
    "linear_weights",
    "reordered_attention",
    "causal_by_cumsum",
    "decode_token",
    "chunked_attention",
    "prompt_state",
    "decayed_attention",
    "break_even_length",
    "test_linear_attention",
)
