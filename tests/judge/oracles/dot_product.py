"""What the exercises of dot_product ask, by torch's own functions."""

import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right
from torch.nn.utils.rnn import pad_sequence


def torch_masked_softmax(scores, mask=None):
    """torch's own attention on scores that are given: on values that are the unit vectors."""
    n, m = scores.shape[-2:]
    batch = scores.shape[:-2]
    bias = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    q, k = scores.new_zeros(*batch, n, 1), scores.new_zeros(*batch, m, 1)
    eye = torch.eye(m, dtype=scores.dtype).expand(*batch, m, m)
    weights = F.scaled_dot_product_attention(q, k, eye, attn_mask=bias)
    return weights if mask is None else weights.where(mask.any(-1, keepdim=True), 0.0)


def torch_softmax_with_sink(scores, mask=None):
    zeros = torch.zeros_like(scores[..., :1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch_masked_softmax(torch.cat([zeros, scores], dim=-1))[..., 1:]


def torch_distance_attention(q, k, v, mask=None):
    return torch_masked_softmax(-torch.cdist(q, k).square() / (2 * q.shape[-1] ** 0.5), mask) @ v


def torch_bilinear_weights(q, k, w, mask=None):
    n, m = q.shape[-2], k.shape[-2]
    pairs = (
        q.unsqueeze(-2).expand(*q.shape[:-1], m, -1),
        k.unsqueeze(-3).expand(*k.shape[:-2], n, m, -1),
    )
    return torch_masked_softmax(F.bilinear(*(x.contiguous() for x in pairs), w[None])[..., 0], mask)


def torch_causal(n, device=None):
    return torch.nn.Transformer.generate_square_subsequent_mask(n).to(device) == 0


def torch_prefix_mask(n, prefix, device=None):
    mask = torch_causal(n, device)
    mask[:, :prefix] = True
    return mask


def torch_decoder_mask(lengths, n):
    words = [torch.ones(length, dtype=torch.bool) for length in (*lengths.tolist(), n)]
    return torch_causal(n) & pad_sequence(words, batch_first=True)[:-1, None, :]


def torch_attention_pool(x, query, lengths):
    pooled = [
        F.scaled_dot_product_attention(query[None], sequence[:length], sequence[:length])[0]
        if length
        else 0 * sequence.sum(0)
        for sequence, length in zip(x, lengths.tolist(), strict=True)
    ]
    return torch.stack(pooled)


def torch_effective_keys(weights):
    return torch.special.entr(weights).sum(-1).exp() * (weights.sum(-1) > 0)


def torch_cached_attention(q, k, v):
    corner = causal_lower_right(q.shape[-2], k.shape[-2])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=corner)


ORACLES = {
    "softmax_with_sink": torch_softmax_with_sink,
    "distance_attention": torch_distance_attention,
    "bilinear_weights": torch_bilinear_weights,
    "prefix_mask": torch_prefix_mask,
    "decoder_mask": torch_decoder_mask,
    "attention_pool": torch_attention_pool,
    "effective_keys": torch_effective_keys,
    "cached_attention": torch_cached_attention,
}
