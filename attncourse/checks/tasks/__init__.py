"""The exercises of the chapter tasks, one file each."""

ORDER = (
    "max_and_mean",
    "lookup_labels",
    "token_accuracy",
    "most_confused",
    "exact_by_length",
)
