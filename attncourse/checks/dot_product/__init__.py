"""The exercises of the chapter dot_product, one file each."""

CARRYING = ("bilinear_weights", "distance_attention", "effective_keys")
ORDER = (
    *CARRYING,
    "softmax_with_sink",
    "prefix_mask",
    "decoder_mask",
    "attention_pool",
    "cached_attention",
    "test_attention",
)
