"""What of torch is not here says so: an absent feature is better than a wrong answer."""

# keywords that torch's functions have, and these here may not
KEYWORDS = {
    "align_corners", "check_stride", "chunk_size", "correction", "create_graph", "descending",
    "dilation", "dtype", "exact", "generator", "groups", "ignore_index", "inplace", "inputs",
    "label_smoothing", "largest", "layout", "left", "max_norm", "memory_format", "mode",
    "non_blocking", "out", "out_int32", "output_size", "padding_side", "pin_memory", "randomness",
    "reduction", "requires_grad", "return_counts", "return_inverse", "rounding_mode",
    "scale_grad_by_freq", "side", "sorted", "sparse", "sparse_grad", "stable", "strict", "unbiased",
    "weight", "wrap",
}  # fmt: skip


NOT_IN_PAGE = "`{}` works in the notebook, not in the page"


class NotInPageError(AttributeError):
    """Raised for what torch has and this package has not; an AttributeError, as `hasattr` asks."""

    def __init__(self, name: str):
        super().__init__(NOT_IN_PAGE.format(name))


class NotInPageImportError(ImportError):
    """Raised by an import of what torch has and this package has not."""

    def __init__(self, name: str):
        super().__init__(NOT_IN_PAGE.format(name), name=name)


def refuse_unless(allowed: bool, name: str) -> None:
    """Raise NotInPageError for the feature of that name unless it is one that is here."""
    if not allowed:
        raise NotInPageError(name)
