"""What an answer that writes a recurrence may not call."""

# torch's own recurrent layers, cells and functions, which would be the answer
TORCH_RECURRENCE = (
    "torch.nn.modules.rnn",
    "rnn_tanh",
    "rnn_relu",
    "gru",
    "lstm",
    "rnn_tanh_cell",
    "rnn_relu_cell",
    "gru_cell",
    "lstm_cell",
)
