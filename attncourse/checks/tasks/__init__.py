"""The exercises of the chapter tasks, one file each."""

CARRYING = ("paired_bootstrap", "write_texts", "attachment_score")
ORDER = (
    *CARRYING,
    "token_accuracy",
    "max_and_mean",
    "lookup_labels",
    "most_confused",
    "exact_by_length",
    "head_offset",
    "test_folds",
    "NumberTranslator",
)
