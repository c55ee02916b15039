"""The exercises of the chapter dot_product, one file each."""

ORDER = ("distance_attention",)
