"""The exercises of the chapter language_model, one file each."""

CARRYING = ("split_by_text", "mean_ablated", "witten_bell")
ORDER = (
    *CARRYING,
    "likeliest_pair",
    "decode_stream",
    "bits_per_character",
    "padded_perplexity",
    "strided_windows",
    "nucleus",
    "induction_weight",
    "test_next_tokens",
)
