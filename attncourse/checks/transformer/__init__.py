"""The exercises of the chapter transformer, one file each."""

CARRYING = ("residual_block", "text_loss", "cached_step")
ORDER = (
    *CARRYING,
    "top_k_probabilities",
    "translation_masks",
    "shift_targets",
    "EncoderBlock",
    "beam_step",
    "test_cache",
)
