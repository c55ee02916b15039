"""The exercises of the chapter linear, one file each."""

CARRYING = ("linear_weights", "reordered_attention", "decayed_attention")
ORDER = (
    *CARRYING,
    "decode_token",
    "causal_by_cumsum",
    "chunked_attention",
    "break_even_length",
    "prompt_state",
    "test_linear_attention",
)
