"""The exercises of the chapter language_model, one file each."""

ORDER = (
    # as on their page
    "bits_per_character",
    "padded_perplexity",
    "witten_bell",
    "nucleus",
    "induction_weight",
    "mean_ablated",
)
