"""The exercises of the chapter tasks, one file each."""

ORDER = (
    "max_and_mean",
    "lookup_labels",
    "token_accuracy",
    "most_confused",
    "exact_by_length",
    "head_offset",
    "attachment_score",
    "write_texts",
    "paired_bootstrap",
    "test_folds",
    "NumberTranslator",
)
