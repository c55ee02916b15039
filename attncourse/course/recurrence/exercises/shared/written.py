"""What exercises share that write a recurrence: what they may not call, a case, a reference."""

import torch

# torch's own recurrent layers, cells and functions, which would be the answer
TORCH_RECURRENCE = (
    "torch.nn.modules.rnn", "rnn_tanh", "rnn_relu", "gru", "lstm",
    "rnn_tanh_cell", "rnn_relu_cell", "gru_cell", "lstm_cell",
)  # fmt: skip
FAR = "100000 added to the first number of every token"


def far_tokens(x, w, b):
    """Tokens far from 0, and a bias that takes away what they share: float32 cannot hold both.

    Gradients are not asked for: that of w is 100000 times a rounding error.
    """
    return torch.cat([x[..., :1] + 1e5, x[..., 1:]], dim=-1), b - 1e5 * w[:, 0]


def states_by_hand(x, w_x, w_h, b, first=None):
    """All states of a recurrent network, one sum for each number."""
    state = x.new_zeros(*x.shape[:-2], len(b)) if first is None else first
    weights, states = torch.cat([w_x, w_h], dim=1), []
    for t in range(x.shape[-2]):
        inputs = torch.cat([x[..., t, :], state], dim=-1)
        state = ((weights * inputs[..., None, :]).sum(-1) + b).tanh()
        states.append(state)
    return torch.stack(states, dim=-2)
