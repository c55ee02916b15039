"""What the exercises of relative ask, by functions of torch and numpy."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def numpy_relative_rows(n, m, max_distance, device=None):
    """numpy repeats the first and the last row where a table has no more of them."""
    line = np.pad(np.arange(2 * max_distance + 1), (m, m), mode="edge")
    # entry `reach + m` of the line is offset 0; each query sees m entries of it
    first = max_distance + m - torch.arange(m - n, m)
    return torch.from_numpy(line).unfold(0, m, 1)[first].to(device)


def torch_relative_scores(q, k, a_k):
    n = q.shape[-2]
    keys = k.unsqueeze(-3) + F.embedding(numpy_relative_rows(n, n, len(a_k) // 2), a_k)
    return torch.linalg.vecdot(q.unsqueeze(-2), keys) / q.shape[-1] ** 0.5


def torch_relative_values(weights, a_v):
    n = weights.shape[-1]
    rows = numpy_relative_rows(n, n, len(a_v) // 2).expand(weights.shape).reshape(-1, n)
    sums = F.embedding_bag(rows, a_v, per_sample_weights=weights.reshape(-1, n), mode="sum")
    return sums.reshape(*weights.shape[:-1], -1)


def torch_sum_by_offset(x):
    """What autograd gives a bias that is added to every pair."""
    n = x.shape[-1]
    bias = x.new_zeros(*x.shape[:-2], 2 * n - 1, requires_grad=True)
    return torch.autograd.grad(bias[..., numpy_relative_rows(n, n, n - 1)], bias, x)[0]


def torch_causal_scores(q, r):
    n = q.shape[-2]
    offsets = range(n)
    diagonals = [torch.linalg.vecdot(q[..., o:, :], r[..., n - 1 - o, None, :]) for o in offsets]
    return sum(
        torch.diag_embed(diagonal, -o) for o, diagonal in zip(offsets, diagonals, strict=True)
    )


def torch_rope_halves(x, positions):
    """A rotation is the exponential of a matrix that is its own transpose but for the sign."""
    half = x.shape[-1] // 2
    angles = positions[..., None] * torch.logspace(0, -4, half + 1, dtype=x.dtype)[:half]
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=x.dtype)
    matrices = torch.linalg.matrix_exp(angles[..., None, None] * turn)
    pairs = torch.stack([x[..., :half], x[..., half:]], dim=-1)
    return (matrices @ pairs[..., None])[..., 0].mT.flatten(-2)


def torch_share_within(weights, max_distance):
    share = weights.triu(-max_distance).tril(max_distance).sum(-1)
    attends = weights.count_nonzero(-1) > 0
    return torch.where(attends, share, torch.nan).nanmean(-1).nan_to_num()


class TorchBias(nn.Module):
    def __init__(self, heads, reach):
        super().__init__()
        self.reach = reach
        self.table = nn.Parameter(torch.empty(2 * reach + 1, heads))

    def forward(self, scores):
        n, m = scores.shape[-2:]
        rows = numpy_relative_rows(n, m, self.reach)
        return torch.stack(
            [
                head_scores + F.embedding(rows, column[:, None])[..., 0]
                for head_scores, column in zip(
                    scores.unbind(-3), self.table.unbind(-1), strict=True
                )
            ],
            dim=-3,
        )


ORACLES = {
    "relative_rows": numpy_relative_rows,
    "relative_scores": torch_relative_scores,
    "relative_values": torch_relative_values,
    "sum_by_offset": torch_sum_by_offset,
    "causal_scores": torch_causal_scores,
    "rope_halves": torch_rope_halves,
    "share_within": torch_share_within,
    "RelativeBias": TorchBias,
}
