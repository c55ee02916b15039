"""The exercises of the chapter recurrence, one file each."""

ORDER = (
    "rnn_states",
    "GatedCell",
    "reverse_within",
    "last_states",
    "lstm_steps",
    "gradient_by_lag",
    "path_lengths",
    "linear_recurrence",
    "test_rnn",
)
