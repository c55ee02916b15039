"""The exercises of the chapter tasks, one file each."""

ORDER = (
    "head_offset",
    "attachment_score",
    "write_texts",
    "paired_bootstrap",
    "test_folds",
)
