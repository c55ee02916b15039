"""What the exercises of linear ask, by torch's own functions and its counter of operations."""

from bisect import bisect_left
from functools import partial

import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.flop_counter import FlopCounterMode

from tests.judge.oracles.dot_product import torch_masked_softmax


def torch_linear(phi_q, phi_k, v, allowed=None):
    """Softmax takes a logarithm back, and divides each row by its sum."""
    return torch_masked_softmax((phi_q @ phi_k.mT).log(), allowed) @ v


def causal_mask(n):
    return torch.nn.Transformer.generate_square_subsequent_mask(n) == 0


def torch_linear_weights(q, k, causal=False):
    phi_q, phi_k = (F.threshold(x, 0, 0) + x.clamp(max=0).exp() for x in (q, k))
    scores = (phi_q @ phi_k.mT).log()
    return torch_masked_softmax(
        scores, causal_mask(q.shape[-2]).expand(scores.shape) if causal else None
    )


def torch_reordered_attention(phi_q, phi_k, v, padding=None):
    if padding is not None:
        padding = padding[..., None, :].expand(*phi_q.shape[:-1], phi_k.shape[-2])
    return torch_linear(phi_q, phi_k, v, padding)


def torch_causal_linear_attention(phi_q, phi_k, v, chunk=None):
    n = phi_q.shape[-2]
    return torch_linear(phi_q, phi_k, v, causal_mask(n).expand(*phi_q.shape[:-1], n))


def torch_decode_token(s, z, phi_q, phi_k, v):
    """A step adds a matrix of rank one, which is what baddbmm does."""
    *batch, d, e = s.shape
    columns = phi_k.reshape(-1, d, 1)
    s = torch.baddbmm(s.reshape(-1, d, e), columns, v.reshape(-1, 1, e))
    z = torch.baddbmm(z.reshape(-1, d, 1), columns, torch.ones_like(columns[:, :1]))
    row = phi_q.reshape(-1, 1, d)
    out = torch.bmm(row, s) / torch.bmm(row, z)
    return s.reshape(*batch, d, e), z.reshape(*batch, d), out.reshape(*batch, e)


def torch_prompt_state(phi_k, v, lengths):
    """The prompts by themselves, without what fills them up."""
    *batch, n, d = phi_k.shape
    lengths = lengths.expand(batch).reshape(-1)
    has_words = lengths > 0
    s = phi_k.new_zeros(len(lengths), d, v.shape[-1] + 1)
    summands = torch.cat([phi_k, v, torch.ones_like(v[..., :1])], dim=-1).reshape(
        -1, n, s.shape[2] + d
    )
    if has_words.any():
        packed_summands = pack_padded_sequence(
            summands[has_words], lengths[has_words], True, enforce_sorted=False
        )
        padded_summands, _ = pad_packed_sequence(packed_summands, batch_first=True)
        s[has_words] = torch.bmm(padded_summands[..., :d].mT, padded_summands[..., d:])
    s = s.reshape(*batch, d, -1)
    return s[..., :-1], s[..., -1]


def torch_decayed_attention(q, k, v, decay):
    """The state by its own products: a convolution of what is written with the powers."""
    n = q.shape[-2]
    count_products = (k[..., :, None] * v[..., None, :]).flatten(-2)
    *batch, heads, _, width = count_products.shape
    signal = count_products.reshape(-1, heads, n, width).permute(0, 3, 1, 2).reshape(-1, heads, n)
    kernel = torch.pow(decay[:, None], torch.arange(n - 1, -1, -1))
    states = F.conv1d(F.pad(signal, (n - 1, 0)), kernel[:, None], groups=heads)
    states = (
        states.reshape(-1, width, heads, n).permute(0, 2, 3, 1).reshape(*batch, heads, n, width)
    )
    return torch.linalg.vecdot(q[..., None], states.unflatten(-1, (q.shape[-1], -1)), dim=-2)


def count_products(call):
    """A product and an addition count as two operations."""
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops() // 2


def torch_break_even_length(d, e, features):
    def normal(*shape):
        return torch.empty(*shape, device="meta")

    def step():
        normal(features, 1) @ normal(1, e)
        normal(1, features) @ normal(features, e)
        normal(1, features) @ normal(features, 1)

    def all_pairs(n):
        normal(n, d) @ normal(d, n) @ normal(n, e)

    token = count_products(step)
    # once cheaper, cheaper for good
    lengths = range(100_000)
    return bisect_left(
        lengths, True, key=lambda n: n * token < count_products(partial(all_pairs, n))
    )


ORACLES = {
    "linear_weights": torch_linear_weights,
    "reordered_attention": torch_reordered_attention,
    "causal_by_cumsum": torch_causal_linear_attention,
    "decode_token": torch_decode_token,
    "chunked_attention": torch_causal_linear_attention,
    "prompt_state": torch_prompt_state,
    "decayed_attention": torch_decayed_attention,
    "break_even_length": torch_break_even_length,
}
