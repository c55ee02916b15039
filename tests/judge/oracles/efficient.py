"""What the exercises of efficient ask, by functions of torch and numpy."""

import numpy as np
import torch
import torch.nn.functional as F
from torch.distributions import MultivariateNormal


def numpy_window_and_global(n, width, global_tokens, device=None):
    """numpy writes the bands of a matrix one by one."""
    bands = [np.eye(n, k=k, dtype=bool) for k in range(-(width // 2), width // 2 + 1)]
    mask = np.logical_or.reduce(bands)
    mask[np.array(global_tokens, dtype=int), :] = mask[:, np.array(global_tokens, dtype=int)] = True
    return torch.from_numpy(mask).to(device)


def numpy_rank_for_share(weights, share):
    """By what is left: without the first r directions, and for each r anew."""
    u, s, vh = np.linalg.svd(weights.numpy(), full_matrices=False)
    total = np.square(weights.numpy()).sum((-2, -1))
    suffices = []
    for r in range(s.shape[-1] + 1):
        low_rank = (u[..., :r] * s[..., None, :r]) @ vh[..., :r, :]
        suffices.append(np.square(low_rank).sum((-2, -1)) >= share * total * (1 - 1e-13))
    return torch.from_numpy(np.asarray(np.argmax(np.stack(suffices), axis=0)))


def torch_projected_attention(q, k, v, e, f):
    """A projection along the length is a convolution of width 1: the tokens are its channels."""
    batch = k.shape[:-2]
    keys, values = (
        F.conv1d(x.reshape(-1, *x.shape[-2:]), kernel[..., None]) for x, kernel in ((k, e), (v, f))
    )
    flat = F.scaled_dot_product_attention(q.reshape(-1, *q.shape[-2:]), keys, values)
    return flat.reshape(*batch, *flat.shape[-2:])


def torch_positive_features(x, w):
    """The ratio of two normal densities at w: the one around x, and the one around 0."""
    r, d = w.shape
    center = (x / d**0.25)[..., None, :]
    identity = torch.eye(d, dtype=x.dtype)
    around_x = MultivariateNormal(center, identity).log_prob(w)
    around_0 = MultivariateNormal(torch.zeros_like(center), identity).log_prob(w)
    return (around_x - around_0).exp() / r**0.5


def torch_lsh_buckets(x, rotations):
    """The nearest of the directions, by distance."""
    directions = torch.cat([rotations, -rotations], dim=1).mT
    # between vectors of one length the nearest is the one with the largest product
    lengths = directions.norm(dim=-1)
    padding = (lengths.max() ** 2 - lengths**2).clamp(min=0).sqrt()
    directions = torch.cat([directions, padding[:, None]], dim=-1)
    tokens = F.pad(F.normalize(x, dim=-1), (0, 1))
    return torch.cdist(tokens, directions).argmin(-1)


def numpy_newton_inverse(a, steps):
    """By singular values: a step is a polynomial of degree two in each."""
    u, s, vh = np.linalg.svd(a.numpy(), full_matrices=False)
    z = s / np.square(s).sum(-1, keepdims=True)
    for _ in range(steps):
        z = z * (2 - s * z)
    return torch.from_numpy(np.swapaxes(vh, -2, -1) * z[..., None, :] @ np.swapaxes(u, -2, -1))


def torch_shared_heads_attention(q, k, v, mask=None):
    """torch wants one leading axis, and every axis of the mask."""
    batch, n, m = q.shape[:-2], q.shape[-2], k.shape[-2]
    q, k, v = (x.reshape(-1, *x.shape[-3:]) for x in (q, k, v))
    if mask is not None:
        mask = mask.expand(*batch, n, m).reshape(len(q), -1, n, m)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    out = out if mask is None else out.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    return out.reshape(*batch, n, v.shape[-1])


def torch_running_max_and_sum(scores, block):
    """From the softmax of all keys so far: its largest weight is one over the sum."""
    tops, sums = [], []
    ends = range(block, scores.shape[-1] + block, block)
    for visible in (scores[..., :end] for end in ends):
        largest = visible.softmax(-1).max(-1)
        tops.append(visible.gather(-1, largest.indices[..., None])[..., 0])
        sums.append(1 / largest.values)
    return torch.stack(tops, dim=-1), torch.stack(sums, dim=-1)


def torch_merge_parts(out_a, log_sum_a, out_b, log_sum_b):
    """Attention to two keys: a part is a key, its logarithm the score, its output the value."""
    scores = torch.stack([log_sum_a, log_sum_b], dim=-1)
    values = torch.stack([out_a, out_b], dim=-2)
    zeros = values.new_zeros(*values.shape[:-1], 1)
    attended = F.scaled_dot_product_attention(
        zeros[..., :1, :], zeros, values, attn_mask=scores[..., None, :]
    )
    out = attended[..., 0, :].masked_fill((scores == -torch.inf).all(-1, keepdim=True), 0.0)
    return out, torch.from_numpy(np.logaddexp(log_sum_a.numpy(), log_sum_b.numpy()))


ORACLES = {
    "window_and_global": numpy_window_and_global,
    "rank_for_share": numpy_rank_for_share,
    "projected_attention": torch_projected_attention,
    "positive_features": torch_positive_features,
    "lsh_buckets": torch_lsh_buckets,
    "newton_inverse": numpy_newton_inverse,
    "shared_heads_attention": torch_shared_heads_attention,
    "running_max_and_sum": torch_running_max_and_sum,
    "merge_parts": torch_merge_parts,
}
