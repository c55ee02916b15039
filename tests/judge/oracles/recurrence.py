"""What the exercises of recurrence ask, by torch's own layers and numpy."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call
from torch.nn.utils.rnn import pack_padded_sequence, unpad_sequence

NAMES = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def torch_states(kind, x, w_ih, w_hh, b, first=None):
    """All states of one of torch's layers, with the only bias as that of the input."""
    layer = kind(x.shape[-1], w_hh.shape[-1], batch_first=True, dtype=x.dtype)
    weights: dict[str, torch.Tensor] = dict(zip(NAMES, (w_ih, w_hh, b, 0 * b), strict=True))
    args = [x.reshape(-1, *x.shape[-2:])]
    args += [] if first is None else [first.reshape(1, -1, len(b))]
    states, _ = functional_call(layer, weights, tuple(args))
    return states.reshape(*x.shape[:-1], -1)


def torch_rnn_states(x, w_x, w_h, b, first=None):
    return torch_states(nn.RNN, x, w_x, w_h, b, first)


def torch_lstm_steps(x, w_ih, w_hh, b):
    """An input gate of 1 - sigmoid(f) is that of -f."""
    h = w_hh.shape[-1]
    return torch_states(nn.LSTM, x, *(torch.cat([-w[:h], w]) for w in (w_ih, w_hh, b)))


class TorchCell(nn.GRUCell):
    def forward(self, input, hx=None):
        rows = (x.reshape(-1, x.shape[-1]) for x in (input, hx) if x is not None)
        return super().forward(*rows).reshape(*input.shape[:-1], -1)


def numpy_reverse_within(x, lengths):
    """The whole turned round, then rolled so that its padding is back at the end."""
    reversed_ = np.empty(x.shape)
    for index in np.ndindex(*x.shape[:-2]):
        sequence, length = x[index].numpy(), int(lengths[index])
        reversed_[index] = np.roll(sequence[::-1], length - len(sequence), axis=0)
        reversed_[index][length:] = sequence[length:]
    return torch.from_numpy(reversed_)


def torch_last_states(states, lengths):
    """The end of each packed sequence, with a state of zeros in front of the first."""
    longer = F.pad(states.reshape(-1, *states.shape[-2:]), (0, 0, 1, 0))
    ends = lengths.flatten() + 1
    packed_states = pack_padded_sequence(longer, ends, batch_first=True, enforce_sorted=False)
    padded, _ = nn.utils.rnn.pad_packed_sequence(packed_states, batch_first=True)
    last = [states[-1] for states in unpad_sequence(padded, ends, batch_first=True)]
    return torch.stack(last).reshape(*states.shape[:-2], -1)


def torch_gradient_by_lag(layer, x):
    jacobian = torch.func.jacfwd(layer)(x)[-1]
    return torch.linalg.matrix_norm(jacobian.transpose(0, 1)).flip(0)


def numpy_path_lengths(adjacency, layers):
    """The first power of the matrix of reads in which an entry is not zero."""
    reachable = [
        np.linalg.matrix_power(adjacency.numpy().astype(float), k) > 0 for k in range(layers + 1)
    ]
    is_reached = np.any(reachable, axis=0)
    return torch.from_numpy(np.where(is_reached, np.argmax(reachable, axis=0), -1))


def torch_linear_recurrence(a, b):
    """Each state less its factor times the one before is b: a system of equations."""
    n = b.shape[-2]
    subdiagonal = torch.diag_embed(a[..., 1:, :].mT, offset=-1)
    states = torch.linalg.solve_triangular(torch.eye(n) - subdiagonal, b.mT[..., None], upper=False)
    return states[..., 0].mT


ORACLES = {
    "rnn_states": torch_rnn_states,
    "GatedCell": TorchCell,
    "reverse_within": numpy_reverse_within,
    "last_states": torch_last_states,
    "lstm_steps": torch_lstm_steps,
    "gradient_by_lag": torch_gradient_by_lag,
    "path_lengths": numpy_path_lengths,
    "linear_recurrence": torch_linear_recurrence,
}
