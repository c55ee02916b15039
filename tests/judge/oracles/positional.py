"""What the exercises of positional ask, by torch's own functions."""

import math
from itertools import accumulate

import torch
import torch.nn.functional as F
from torch import nn


def complex_powers(t, d):
    """The waves as powers of the imaginary unit: i^x = cos(x pi / 2) + i sin(x pi / 2)."""
    evens = torch.arange(0, d, 2, dtype=t.dtype)
    turns = t[..., None] * torch.pow(10000.0, -evens / d) / (math.pi / 2)
    return torch.pow(torch.tensor(1j, dtype=torch.complex128), turns.to(torch.complex128))


def torch_sinusoids_at(positions, d):
    waves = complex_powers(positions, d)
    return torch.view_as_real(1j * waves.conj()).flatten(-2)[..., :d]


def torch_shift_matrix(offset, d):
    """To turn a pair is to multiply a complex number: its matrix is that of the number."""
    waves = complex_powers(offset, d)
    blocks = torch.view_as_real(torch.stack([waves, 1j * waves], dim=-1))
    matrices = [torch.block_diag(*pairs) for pairs in blocks.reshape(-1, d // 2, 2, 2)]
    return torch.stack(matrices).reshape(*offset.shape, d, d)


def torch_encode_chunk(x, start):
    n, d = x.shape[-2:]
    return torch_sinusoids_at(torch.arange(start + n, dtype=x.dtype), d)[start:] + x


def torch_padded_positions(mask):
    """Each row by the standard library's running sum."""
    rows = mask.reshape(-1, mask.shape[-1]).tolist()
    counts_before = [[0, *accumulate(row)][:-1] for row in rows]
    return torch.where(mask, torch.tensor(counts_before).reshape(mask.shape), 0)


def torch_stretch_table(table, n):
    stretched = F.interpolate(table.T[None], size=n, mode="linear", align_corners=True)
    return stretched[0].T


class TorchNetwork(nn.Module):
    """The hidden layer is a step of a recurrent network that remembers nothing."""

    def __init__(self, d, hidden, length):
        super().__init__()
        self.hidden, self.out, self.length = nn.Linear(1, hidden), nn.Linear(hidden, d), length

    def forward(self, x):
        t = torch.linspace(0, x.shape[-2] - 1, x.shape[-2], dtype=x.dtype)[:, None] / self.length
        size = len(self.hidden.bias)
        zeros = x.new_zeros(len(t), size), x.new_zeros(size, size), x.new_zeros(size)
        state, state_weights, state_bias = zeros
        weights = self.hidden.weight, state_weights, self.hidden.bias, state_bias
        return torch.rnn_tanh_cell(t, state, *weights) @ self.out.weight.T + self.out.bias + x


def torch_equivariance_gap(out, permuted_out, order):
    expected = torch.gather(out, -2, order[:, None].expand_as(out))
    size = torch.linalg.vector_norm(out, dim=(-2, -1))
    return torch.linalg.vector_norm(permuted_out - expected, dim=(-2, -1)) / size


def torch_tree_mask(heads):
    """Where the powers of the matrix of heads, all added up, are not zero."""
    n = heads.shape[-1]
    steps = F.one_hot(heads + 1, n + 1)[..., 1:].double()
    return torch.linalg.inv(torch.eye(n) - steps).round() != 0


ORACLES = {
    "sinusoids_at": torch_sinusoids_at,
    "shift_matrix": torch_shift_matrix,
    "encode_chunk": torch_encode_chunk,
    "padded_positions": torch_padded_positions,
    "stretch_table": torch_stretch_table,
    "PositionNetwork": TorchNetwork,
    "equivariance_gap": torch_equivariance_gap,
    "tree_mask": torch_tree_mask,
}
