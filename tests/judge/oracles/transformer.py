"""What the exercises of transformer ask, by torch's own layers and functions."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call
from torch.nn.attention.bias import causal_lower_right
from torch.nn.utils.rnn import pad_sequence


def torch_residual_block(x, scale, shift, w_up, w_down, pre=True):
    norm = nn.LayerNorm(x.shape[-1], dtype=x.dtype)
    normed = {"weight": scale, "bias": shift}
    normalised = functional_call(norm, normed, x) if pre else x
    out = x + F.linear(F.relu(F.linear(normalised, w_up)), w_down)
    return out if pre else functional_call(norm, normed, out)


class TorchBlock(nn.Module):
    """torch's own layer, given the weights under the names of the exercise."""

    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.w_q, self.w_k = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
        self.w_v, self.w_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.sizes = d_model, heads, d_ff

    def forward(self, x, words=None):
        # no module of this one: it has no weights of its own
        layer = nn.TransformerEncoderLayer(
            *self.sizes, dropout=0.0, batch_first=True, norm_first=True, dtype=x.dtype
        )
        projections = [self.w_q.weight, self.w_k.weight, self.w_v.weight]
        weights = {
            "self_attn.in_proj_weight": torch.cat(projections),
            "self_attn.in_proj_bias": x.new_zeros(3 * x.shape[-1]),
            "self_attn.out_proj.weight": self.w_o.weight,
            "self_attn.out_proj.bias": x.new_zeros(x.shape[-1]),
        }
        names = {"norm_1": "norm1", "norm_2": "norm2", "up": "linear1", "down": "linear2"}
        for name, theirs in names.items():
            layer_name = getattr(self, name)
            weights |= {f"{theirs}.weight": layer_name.weight, f"{theirs}.bias": layer_name.bias}
        flat = x.reshape(-1, *x.shape[-2:])
        if words is None:
            return functional_call(layer, weights, flat).reshape(x.shape)
        words = words.reshape(flat.shape[:2])
        has_words = words.any(-1, keepdim=True)
        hidden = {"src_key_padding_mask": (~words & has_words)}
        out = functional_call(layer, weights, flat, hidden)
        # torch gives NaN where there is no word: there, attention adds nothing
        weights["self_attn.out_proj.weight"] = 0 * self.w_o.weight
        zeros = functional_call(layer, weights, flat)
        return out.where(has_words[..., None], zeros).reshape(x.shape)


def torch_shift_targets(tokens, start, end, pad):
    texts = [row[row != pad] for row in tokens.reshape(-1, tokens.shape[-1])]
    # a row of the full length keeps the others from being shorter
    whole = tokens.new_zeros(tokens.shape[-1] + 1)
    labels = pad_sequence(
        [whole, *(F.pad(text, (0, 1), value=end) for text in texts)],
        batch_first=True,
        padding_value=-100,
    )[1:]
    inputs = F.pad(tokens, (1, 0), value=start)
    return inputs, labels.reshape(inputs.shape)


def torch_cached_step(x, keys, values, positions, w_q, w_k, w_v):
    x = x + positions[keys.shape[-2] :][: x.shape[-2]]
    keys = torch.cat([keys, F.linear(x, w_k)], dim=-2)
    values = torch.cat([values, F.linear(x, w_v)], dim=-2)
    mask = causal_lower_right(x.shape[-2], keys.shape[-2])
    out = F.scaled_dot_product_attention(F.linear(x, w_q), keys, values, attn_mask=mask)
    return out, keys, values


def torch_text_loss(tokens, table, w_q, w_k, w_v):
    x = F.embedding(tokens[..., :-1], table)
    q, k, v = (F.linear(x, w) for w in (w_q, w_k, w_v))
    x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True)
    scores = F.linear(x, table).movedim(-1, 0).flatten(1).T
    losses = F.cross_entropy(scores, tokens[..., 1:].flatten(), reduction="none")
    return losses.reshape(*tokens.shape[:-1], -1).mean(-1)


ORACLES = {
    "residual_block": torch_residual_block,
    "EncoderBlock": TorchBlock,
    "shift_targets": torch_shift_targets,
    "cached_step": torch_cached_step,
    "text_loss": torch_text_loss,
}
