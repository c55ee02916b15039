"""The exercises of the chapter transformer, one file each."""

ORDER = (
    "residual_block",
    "EncoderBlock",
    "translation_masks",
    "shift_targets",
    "cached_step",
    "top_k_probabilities",
    "beam_step",
    "text_loss",
    "test_cache",
)
