"""The exercises of the chapter linear, one file each."""

CARRYING = ("linear_weights", "reordered_attention", "decayed_attention")
ORDER = (
    *CARRYING,
    "decode_token",
    "causal_by_cumsum",
    "break_even_length",
    "chunked_attention",
    "prompt_state",
    "test_linear_attention",
)
