"""The exercises of the chapter dot_product, one file each."""

ORDER = (
    "softmax_with_sink",
    "distance_attention",
    "bilinear_weights",
    "prefix_mask",
    "decoder_mask",
    "attention_pool",
    "effective_keys",
    "cached_attention",
    "test_attention",
)
