"""The exercises of the chapter recurrence, one file each."""

CARRYING = ("lstm_steps", "gradient_by_lag", "linear_recurrence")
ORDER = (
    *CARRYING,
    "rnn_states",
    "last_states",
    "GatedCell",
    "reverse_within",
    "path_lengths",
    "test_rnn",
)
