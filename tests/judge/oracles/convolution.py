"""What the exercises of convolution ask, by functions of torch and numpy."""

import numpy as np
import torch
import torch.nn.functional as F


def numpy_band_mask(n, m, width, causal=False, device=None):
    keys_after = m - n + (0 if causal else width // 2)
    mask = np.tri(n, m, keys_after, dtype=bool) & ~np.tri(n, m, keys_after - width, dtype=bool)
    return torch.from_numpy(mask).to(device)


def torch_windows_of(x, width):
    """An image of one channel, cut into pieces that are as wide as it is."""
    n, d = x.shape[-2:]
    pieces = F.unfold(x.reshape(-1, 1, n, d), (width, d), padding=(width // 2, 0))
    return pieces.mT.reshape(*x.shape[:-1], width, d)


def torch_local_weights(q, k, width):
    """torch's own attention on values that are the unit vectors; its diagonals are the places."""
    n = q.shape[-2]
    eye = torch.eye(n, dtype=q.dtype).expand(*q.shape[:-1], n)
    weights = F.scaled_dot_product_attention(q, k, eye, attn_mask=numpy_band_mask(n, n, width))
    padded = F.pad(weights, (width // 2, width // 2))
    return torch.stack([padded.diagonal(c, -2, -1) for c in range(width)], dim=-1)


def torch_causal_local_attention(q, k, v, width):
    mask = numpy_band_mask(q.shape[-2], q.shape[-2], width, causal=True)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def torch_heads_as_kernel(x, weight):
    out = F.conv1d(x.reshape(-1, *x.shape[-2:]).mT, weight, padding=weight.shape[-1] // 2)
    return out.mT.reshape(*x.shape[:-1], -1)


def torch_footprint(layer, n, d):
    """The derivatives forward, from each input on."""
    generator = torch.Generator().manual_seed(7)
    x = torch.rand(n, d, generator=generator, dtype=torch.float64)
    derivatives = torch.func.jacfwd(layer)(x)
    return torch.linalg.matrix_norm(derivatives, dim=(1, 3)) > 0


def torch_grid_window_mask(height, width, max_offset, device=None):
    pixels = torch.cartesian_prod(torch.arange(height), torch.arange(width)).double()
    return (torch.cdist(pixels, pixels, p=torch.inf) < max_offset + 0.5).to(device)


ORACLES = {
    "band_mask": numpy_band_mask,
    "windows_of": torch_windows_of,
    "local_weights": torch_local_weights,
    "causal_local_attention": torch_causal_local_attention,
    "heads_as_kernel": torch_heads_as_kernel,
    "footprint": torch_footprint,
    "grid_window_mask": torch_grid_window_mask,
}
