"""What the exercises of today ask, by functions of torch and numpy."""

from bisect import bisect_left

import numpy as np
import torch
import torch.nn.functional as F


def torch_absorbed_attention(q, latents, w_k, w_v, q_rotary, k_rotary):
    """With keys and values, by torch's attention: as many of them as heads."""
    h = q.shape[-2]
    k, v = ((latents @ w).unflatten(-1, (h, -1)).transpose(-2, -3) for w in (w_k, w_v))
    k = torch.cat([k, k_rotary.unsqueeze(-3).expand(*k.shape[:-1], -1)], dim=-1)
    queries = torch.cat([q, q_rotary], dim=-1)[..., None, :]
    return F.scaled_dot_product_attention(queries, k, v)[..., 0, :]


def numpy_selected_keys(scores, count):
    """numpy sorts by two keys: the score, and then the position."""
    n = scores.shape[-1]
    position = np.broadcast_to(np.arange(n), scores.shape)
    later = position > np.arange(n)[:, None]
    order = np.lexsort((position, -scores.numpy(), later), axis=-1)
    mask = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(mask, order[..., :count], True, axis=-1)
    return torch.from_numpy(mask & ~later)


def torch_gated_heads(z, x, w_gate, w_o):
    """A gated linear unit multiplies one half of its input by the sigmoid of the other."""
    h, _, d = z.shape[-3:]
    gates = F.linear(x, w_gate.mT).repeat_interleave(h * d // w_gate.shape[-1], dim=-1)
    return F.linear(F.glu(torch.cat([z.transpose(-2, -3).flatten(-2), gates], dim=-1)), w_o.mT)


def torch_delta_by_channel(s, q, k, v, a, b):
    """With the matrix that erases, as the paper writes it."""
    query, key = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    alpha, beta = F.sigmoid(a), F.sigmoid(b)[..., None, None]
    erase = torch.eye(s.shape[-2], dtype=s.dtype) - beta * torch.einsum("...i,...j", key, key)
    s = erase @ torch.diag_embed(alpha) @ s + beta * torch.einsum("...i,...j", key, v)
    return s, torch.linalg.vecdot(query[..., None], s, dim=-2)


def torch_pooled_past(q, x, z, size):
    """Windows of the text that do not overlap, and torch's attention with a mask."""
    n = x.shape[-2]
    rows = x
    mask = torch.block_diag(*torch.ones(-(-n // size), size, size)).bool()[:n, :n].tril()
    if n >= size:
        windows, weights = x.unfold(-2, size, size), F.softmax(z.unfold(-2, size, size), dim=-1)
        rows = torch.cat([x, torch.linalg.vecdot(windows, weights)], dim=-2)
        blocks = torch.ones(n, n // size).tril(-1).bool()
        blocks = blocks[torch.arange(n) // size]
        mask = torch.cat([mask, blocks], dim=-1)
    return F.scaled_dot_product_attention(q, rows, rows, attn_mask=mask)


def torch_hybrid_cache(kinds, n, window, kv_heads, d, heads, width):
    """The bytes of tensors that are never filled."""
    dtype = {1: torch.int8, 2: torch.bfloat16, 4: torch.float32}[width]

    def rows(m):
        return torch.empty(2, m, kv_heads, d, dtype=dtype, device="meta").nbytes

    state = torch.empty(heads, d, d, device="meta").nbytes
    return sum({"full": rows(n), "window": rows(min(n, window)), "delta": state}[k] for k in kinds)


def bisected_memory_bound(batch, parameters, row_bytes, row_flops, bandwidth, speed):
    """The first length of a range at which it is so; both times are straight lines."""

    def waits(n):
        loaded = 2 * parameters + batch * n * row_bytes
        computed = batch * (2 * parameters + n * row_flops)
        return loaded * speed > computed * bandwidth

    if waits(0):
        return 0
    lengths = range(10**6)
    return bisect_left(lengths, True, key=waits) if waits(lengths[-1]) else None


ORACLES = {
    "absorbed_attention": torch_absorbed_attention,
    "selected_keys": numpy_selected_keys,
    "gated_heads": torch_gated_heads,
    "delta_by_channel": torch_delta_by_channel,
    "pooled_past": torch_pooled_past,
    "hybrid_cache": torch_hybrid_cache,
    "memory_bound": bisected_memory_bound,
}
