"""The exercises of the chapter language_model, one file each."""

ORDER = (
    # as on their page
    "likeliest_pair",
    "decode_stream",
    "strided_windows",
    "split_by_text",
    "test_next_tokens",
    "bits_per_character",
    "padded_perplexity",
    "witten_bell",
    "nucleus",
    "induction_weight",
    "mean_ablated",
)
