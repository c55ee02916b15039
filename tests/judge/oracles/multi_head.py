"""What the exercises of multi_head ask, by torch's own functions and numpy."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.judge.oracles.dot_product import torch_masked_softmax


def torch_attend_in_heads(q, k, v, heads, mask=None):
    q, k, v = (torch.stack(x.tensor_split(heads, dim=-1), dim=-3) for x in (q, k, v))
    if mask is None:
        return torch.cat(F.scaled_dot_product_attention(q, k, v).unbind(-3), dim=-1)
    mask = mask.unsqueeze(-3)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return torch.cat(out.where(mask.any(-1, keepdim=True), 0.0).unbind(-3), dim=-1)


def torch_layer(x, context, weights, w_o, heads, mask=None, padding=None):
    """torch's own layer; sentences come first, and without biases."""
    x, context = x.transpose(0, 1), context.transpose(0, 1)
    w_q, w_k, w_v = weights
    out, _ = F.multi_head_attention_forward(
        query=x,
        key=context,
        value=context,
        embed_dim_to_check=x.shape[-1],
        num_heads=heads,
        in_proj_weight=None,
        in_proj_bias=None,
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=w_o,
        out_proj_bias=None,
        training=False,
        key_padding_mask=padding,
        need_weights=False,
        attn_mask=mask,
        use_separate_proj_weight=True,
        q_proj_weight=w_q,
        k_proj_weight=w_k,
        v_proj_weight=w_v,
    )
    return out.transpose(0, 1)


class TorchCross(nn.Module):
    def __init__(self, d_model, d_context, heads):
        super().__init__()
        self.heads = heads
        self.w_q, self.w_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
        self.w_k, self.w_v = (nn.Linear(d_context, d_model, bias=False) for _ in range(2))

    def forward(self, x, context, mask=None):
        *batch, n, _ = x.shape
        flat, flat_context = (
            sequence.reshape(-1, *sequence.shape[-2:]) for sequence in (x, context)
        )
        if mask is not None:
            mask = mask.expand(*batch, *mask.shape[-2:]).reshape(-1, *mask.shape[-2:])
        weights = [layer.weight for layer in (self.w_q, self.w_k, self.w_v)]
        # torch asks for a mask for each head of each sentence, True where it may not attend
        hidden = mask if mask is None else ~mask.repeat_interleave(self.heads, dim=0)
        out = torch_layer(flat, flat_context, weights, self.w_o.weight, self.heads, hidden)
        if mask is not None:
            out = out.where(mask.any(-1, keepdim=True), 0.0)
        return out.reshape(*batch, n, -1)


def torch_head_matrices(w_v, w_o, heads):
    values = F.linear(torch.eye(w_v.shape[1], dtype=w_v.dtype), w_v)
    selectors = torch.eye(heads, dtype=w_v.dtype).repeat_interleave(len(w_v) // heads, dim=1)
    return torch.stack([F.linear(values * selector, w_o) for selector in selectors])


def torch_collapse(x):
    ones = torch.ones_like(x[..., :1])
    nearest = ones @ torch.linalg.lstsq(ones, x).solution
    norm = torch.linalg.matrix_norm(x)
    return (torch.linalg.matrix_norm(x - nearest) / norm).where(norm > 0, 0.0)


def torch_self_attention_of_batch(x, w_q, w_k, w_v, lengths, heads):
    padding = torch.arange(x.shape[1]) >= lengths[:, None]
    w_o = torch.eye(x.shape[-1], dtype=x.dtype)
    out = torch_layer(x, x, (w_q, w_k, w_v), w_o, heads, padding=padding)
    return out.where(lengths[:, None, None] > 0, 0.0)


def torch_talking_heads(q, k, v, w_mix, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    # to mix the heads at each pair of query and key is a convolution with a kernel of 1 x 1
    flat = F.conv2d(scores.reshape(-1, *scores.shape[-3:]), w_mix.mT[..., None, None])
    return torch_masked_softmax(flat.reshape(*scores.shape[:-3], *flat.shape[-3:]), mask) @ v


def numpy_prune_heads(w_q, w_k, w_v, w_o, heads, keep):
    matrices = []
    for w, axis in ((w_q, 0), (w_k, 0), (w_v, 0), (w_o, 1)):
        head_matrices = np.split(w.numpy(), heads, axis=axis)
        matrices.append(
            torch.from_numpy(np.concatenate([head_matrices[h] for h in keep], axis=axis))
        )
    return tuple(matrices)


ORACLES = {
    "attend_in_heads": torch_attend_in_heads,
    "CrossAttention": TorchCross,
    "head_matrices": torch_head_matrices,
    "collapse": torch_collapse,
    "self_attention_of_batch": torch_self_attention_of_batch,
    "talking_heads": torch_talking_heads,
    "prune_heads": numpy_prune_heads,
}
