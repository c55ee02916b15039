"""The chapter's mechanisms as layers that stand where a GPT's attention stands.

Each takes x and gives as much, causally. Called with a cache, it goes on by steps:
`step(state, x)` takes one token and gives the new state and the output. The state, a tuple of
tensors, is all that a process needs to go on writing a text.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import normalize, silu

from attncourse.dot_product import attention, attention_weights, causal_mask, masked_softmax
from attncourse.multi_head import join_heads, require_divisible, split_heads
from attncourse.relative import rope
from attncourse.shapes import shaped
from attncourse.today.delta import delta_attention_chunkwise, delta_attention_step
from attncourse.today.gated import gated_output, sink_weights
from attncourse.today.latent import latent_attention, latent_attention_step
from attncourse.today.pooled import (
    mask_with_blocks,
    pool_rows,
    pool_step,
    pooled_attention,
    pooled_mask,
)
from attncourse.today.selected import (
    choose_keys,
    index_scores,
    indexer_loss,
    selected_attention_step,
    selected_mask,
)
from attncourse.today.state import append_row
from attncourse.transformer import LanguageModel, LayerState

# of tensors, as many as the layer needs
State = tuple


class CausalLayer(nn.Module):
    """A causal layer with heads; `whole` reads a text at once, `step` token by token."""

    cache = LayerState
    # what the layer's own parts learn from, beside the loss of the model
    auxiliary_loss: Tensor | None = None

    def __init__(self, d_model: int, heads: int):
        super().__init__()
        require_divisible("d_model", d_model, heads)
        self.d_model, self.heads, self.d_h = d_model, heads, d_model // heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    @shaped
    def forward(
        self,
        x: Float[Tensor, "*batch n {self.d_model}"],
        mask: Bool[Tensor, "*#batch 1 n"] | None = None,
        cache: LayerState | None = None,
    ) -> Float[Tensor, "*batch n {self.d_model}"]:
        """The layer's output; the mask leaves padding out."""
        if cache is None:
            return self.whole(x, mask)
        if mask is not None:
            raise ValueError(f"mask={tuple(mask.shape)}: what joined the state cannot be masked")
        return cache.extend(self, x)

    def whole(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Read all tokens at once."""
        raise NotImplementedError

    def empty_state(self, x: Tensor) -> State:
        """The state before the first token, for tokens like x, of width d_model."""
        raise NotImplementedError

    def step(self, state: State, x: Tensor) -> tuple[State, Tensor]:
        """Go on by one token: the new state, and the token's output."""
        raise NotImplementedError

    def rows(self, x: Tensor, *widths: int) -> State:
        """For tokens like x, no rows of these widths for each head."""
        return tuple(x.new_zeros(*x.shape[:-1], self.heads, 0, width) for width in widths)

    def projected(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, in heads."""
        q, k, v = (split_heads(w(x), self.heads) for w in (self.w_q, self.w_k, self.w_v))
        return q, k, v


class GatedAttention(CausalLayer):
    """Attention with rotary positions whose output passes through a gate, and, if asked, sinks.

    Source: Qiu et al. (2025), eq. 5; sinks: OpenAI (2025).
    """

    def __init__(self, d_model: int, heads: int, gates: str = "element", sinks: bool = False):
        super().__init__(d_model, heads)
        widths = {"element": d_model, "head": heads}
        if gates not in widths:
            raise ValueError(f"gates={gates!r}: it is one of {', '.join(widths)}")
        self.w_gate = nn.Linear(d_model, widths[gates])
        self.sink = nn.Parameter(torch.zeros(heads)) if sinks else None

    def whole(self, x: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = self.projected(x)
        return self.gated(rotated(q), rotated(k), v, x, causal(x, mask).unsqueeze(-3))

    def gated(self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, mask: Tensor | None) -> Tensor:
        """Attention in all heads, through their gates, which are made from x."""
        scores = q @ k.mT / self.d_h**0.5
        sink = self.sink
        weights = masked_softmax(scores, mask) if sink is None else sink_weights(scores, sink, mask)
        gate = split_heads(self.w_gate(x), self.heads)
        return self.w_o(join_heads(gated_output(weights @ v, gate)))

    def empty_state(self, x: Tensor) -> State:
        return self.rows(x, self.d_h, self.d_h)

    def step(self, state: State, x: Tensor) -> tuple[State, Tensor]:
        x = x[..., None, :]
        q, k, v = self.projected(x)
        start = state[0].shape[-2]
        keys = append_row(state[0], rotated(k, start).squeeze(-2))
        values = append_row(state[1], v.squeeze(-2))
        output = self.gated(rotated(q, start), keys, values, x, None)
        return (keys, values), output.squeeze(-2)


class LatentAttention(CausalLayer):
    """Latent attention: its state is d_latent + d_rotary numbers a token.

    Queries are made without a latent of their own.
    Source: DeepSeek-AI (2024), DeepSeek-V2, section 2.1.
    """

    def __init__(self, d_model: int, heads: int, d_latent: int = 32, d_rotary: int = 16):
        super().__init__(d_model, heads)
        self.d_latent, self.d_rotary = d_latent, d_rotary
        self.w_q = nn.Linear(d_model, heads * (self.d_h + d_rotary))
        self.w_latent = nn.Linear(d_model, d_latent + d_rotary)
        self.norm = nn.RMSNorm(d_latent)
        # of all heads, from the latents
        self.w_k, self.w_v = (matrices(heads, d_latent, self.d_h) for _ in range(2))

    def whole(self, x: Tensor, mask: Tensor | None) -> Tensor:
        q, q_rotary, latents, k_rotary = self.parts(x)
        rotary, seen = (rotated(q_rotary), rotated(k_rotary)), causal(x, mask).unsqueeze(-3)
        z = latent_attention(q, latents, self.w_k, self.w_v, rotary, seen)
        return self.w_o(join_heads(z))

    def parts(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries in heads, in two parts, the latents, and the keys that are to be rotated."""
        q = split_heads(self.w_q(x), self.heads).split((self.d_h, self.d_rotary), dim=-1)
        latents, k_rotary = self.w_latent(x).split((self.d_latent, self.d_rotary), dim=-1)
        return *q, self.norm(latents), k_rotary

    def empty_state(self, x: Tensor) -> State:
        widths = self.d_latent, self.d_rotary
        return tuple(x.new_zeros(*x.shape[:-1], 0, width) for width in widths)

    def step(self, state: State, x: Tensor) -> tuple[State, Tensor]:
        q, q_rotary, latent, k_rotary = self.parts(x[..., None, :])
        start = state[0].shape[-2]
        rotary = rotated(q_rotary, start).squeeze(-2), rotated(k_rotary, start).squeeze(-2)
        q, latent = q.squeeze(-2), latent.squeeze(-2)
        state, z = latent_attention_step(state, q, latent, self.w_k, self.w_v, rotary)
        return state, self.w_o(z.flatten(-2))


class Indexer(nn.Module):
    """Few and narrow heads that score keys; what they read passes no gradient back.

    Source: DeepSeek-AI (2025), section 2.1.
    """

    def __init__(self, d_model: int, heads: int, d: int):
        super().__init__()
        self.heads = heads
        self.w_q, self.w_k = nn.Linear(d_model, heads * d), nn.Linear(d_model, d)
        self.w_weight = nn.Linear(d_model, heads)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The queries in heads, the keys, and the heads' weights."""
        x = x.detach()
        return split_heads(self.w_q(x), self.heads), self.w_k(x), self.w_weight(x).mT


class SelectedAttention(CausalLayer):
    """Attention with rotary positions to the `count` keys that an indexer chooses.

    In training, `auxiliary_loss` teaches the indexer from the weights that the heads give to all
    earlier keys, as in the warm-up of its source. Source: DeepSeek-AI (2025), section 2.1.
    """

    def __init__(
        self, d_model: int, heads: int, count: int = 16, index_heads: int = 2, d_index: int = 16
    ):
        super().__init__(d_model, heads)
        self.count, self.indexer = count, Indexer(d_model, index_heads, d_index)

    def whole(self, x: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = self.projected(x)
        q, k, seen = rotated(q), rotated(k), causal(x, mask)
        index_q, index_k, index_w = self.indexer(x)
        scores = index_scores(rotated(index_q), rotated(index_k), index_w)
        if self.training:
            weights = attention_weights(q.detach(), k.detach(), seen.unsqueeze(-3))
            self.auxiliary_loss = indexer_loss(scores, weights, seen).mean()
        chosen = selected_mask(choose_keys(scores, self.count, seen), x.shape[-2])
        return self.w_o(join_heads(attention(q, k, v, chosen.unsqueeze(-3))))

    def empty_state(self, x: Tensor) -> State:
        index_keys = x.new_zeros(*x.shape[:-1], 0, self.indexer.w_k.out_features)
        return *self.rows(x, self.d_h, self.d_h), index_keys

    def step(self, state: State, x: Tensor) -> tuple[State, Tensor]:
        x, start = x[..., None, :], state[0].shape[-2]
        q, k, v = self.projected(x)
        index_q, index_k, index_w = self.indexer(x)
        token = rotated(q, start), rotated(k, start), v
        index = rotated(index_q, start), rotated(index_k, start)
        rows = (y.squeeze(-2) for y in (*token, *index))
        state, z = selected_attention_step(
            state, *rows, index_w=index_w.squeeze(-1), count=self.count
        )
        return state, self.w_o(z.flatten(-2))


class PooledAttention(CausalLayer):
    """Attention to the last `width` tokens and to a row for each block of `size` tokens.

    Blocks are rotated by the position of their first token. Each head has keys and values of its
    own; the source has one row for all heads, key and value at once.
    Source: DeepSeek-AI (2026), section 2.3.
    """

    def __init__(self, d_model: int, heads: int, size: int = 4, width: int = 16):
        super().__init__(d_model, heads)
        self.size, self.width = size, width
        self.w_score = nn.Linear(d_model, 2 * d_model)
        self.bias = nn.Parameter(torch.zeros(size, 2 * self.d_h))

    def whole(self, x: Tensor, mask: Tensor | None) -> Tensor:
        mask = None if mask is None else mask.unsqueeze(-3)
        q, rows, scores = self.parts(x)
        pooled = pool_rows(rows, scores, self.bias, mask)
        (k, v), (pooled_k, pooled_v) = rows.chunk(2, dim=-1), pooled.chunk(2, dim=-1)
        q, k, pooled_k = rotated(q), rotated(k), rotated(pooled_k, by=self.size)
        seen = self.seen(x, q, torch.cat([k, pooled_k], dim=-2), mask)
        z = pooled_attention(q, k, v, pooled_k, pooled_v, self.size, self.width, seen)
        return self.w_o(join_heads(z))

    def parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, rows that are a key and a value, and the rows' scores, all in heads."""
        q, k, v = self.projected(x)
        return q, torch.cat([k, v], dim=-1), split_heads(self.w_score(x), self.heads)

    def seen(self, x: Tensor, q: Tensor, keys: Tensor, mask: Tensor | None) -> Tensor | None:
        """The mask of tokens and blocks: of those without padding."""
        return None if mask is None else mask_with_blocks(mask, self.size)

    def empty_state(self, x: Tensor) -> State:
        return self.rows(x, *4 * [2 * self.d_h])

    def step(self, state: State, x: Tensor) -> tuple[State, Tensor]:
        q, row, score = (y.squeeze(-2) for y in self.parts(x[..., None, :]))
        recent = append_row(state[0], row)[..., -self.width :, :]
        opened, scores, pooled = pool_step(state[1:4], row, score, self.bias)
        n = self.size * pooled.shape[-2] + opened.shape[-2]
        (k, v), (pooled_k, pooled_v) = recent.chunk(2, dim=-1), pooled.chunk(2, dim=-1)
        k, pooled_k = rotated(k, n - k.shape[-2]), rotated(pooled_k, by=self.size)
        index_state, chosen = self.chosen_step(state[4:], x, n)
        keys, values = torch.cat([k, pooled_k], dim=-2), torch.cat([v, pooled_v], dim=-2)
        if chosen is not None:
            chosen = nn.functional.pad(chosen, (k.shape[-2], 0), value=True).unsqueeze(-3)
        z = attention(rotated(q[..., None, :], n - 1), keys, values, chosen)
        return (recent, opened, scores, pooled, *index_state), self.w_o(join_heads(z)).squeeze(-2)

    def chosen_step(self, state: State, x: Tensor, n: int) -> tuple[State, Tensor | None]:
        """The state of the choice, and the blocks that token n - 1 may see: all of them."""
        return state, None


class ChosenPooledAttention(PooledAttention):
    """Pooled attention in which an indexer chooses `count` blocks for each query.

    The indexer's keys are pooled too. It learns as that of `SelectedAttention`.
    Source: DeepSeek-AI (2026), section 2.3, eq. 9-17, without the overlap of blocks.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        size: int = 4,
        width: int = 16,
        count: int = 8,
        index_heads: int = 2,
        d_index: int = 16,
    ):
        super().__init__(d_model, heads, size, width)
        self.count, self.indexer = count, Indexer(d_model, index_heads, d_index)
        self.w_index_score = nn.Linear(d_model, d_index)
        self.index_bias = nn.Parameter(torch.zeros(size, d_index))

    def seen(self, x: Tensor, q: Tensor, keys: Tensor, mask: Tensor | None) -> Tensor:
        """The mask of tokens and chosen blocks."""
        n = x.shape[-2]
        seen = pooled_mask(n, self.size, self.width, x.device)
        if mask is not None:
            seen = seen & mask_with_blocks(mask.squeeze(-3), self.size)
        index_q, index_k, index_w = self.indexer(x)
        of_tokens = None if mask is None else mask.squeeze(-3)
        index_k = pool_rows(index_k, self.w_index_score(x.detach()), self.index_bias, of_tokens)
        scores = index_scores(rotated(index_q), rotated(index_k, by=self.size), index_w)
        if self.training:
            weights = attention_weights(q.detach(), keys.detach(), seen.unsqueeze(-3))
            self.auxiliary_loss = indexer_loss(scores, weights[..., n:], seen[..., n:]).mean()
        index = choose_keys(scores, self.count, seen[..., n:])
        chosen = selected_mask(index, index_k.shape[-2])
        seen = torch.cat([seen[..., :n].expand(*chosen.shape[:-1], n), chosen], dim=-1)
        return seen.unsqueeze(-3)

    def empty_state(self, x: Tensor) -> State:
        index_rows = 3 * (x.new_zeros(*x.shape[:-1], 0, self.index_bias.shape[-1]),)
        return *super().empty_state(x), *index_rows

    def chosen_step(self, state: State, x: Tensor, n: int) -> tuple[State, Tensor]:
        """The index keys of blocks, with token n - 1 among them, and the blocks it chooses."""
        index_q, index_k, index_w = self.indexer(x[..., None, :])
        score = self.w_index_score(x.detach())
        state = pool_step(state, index_k.squeeze(-2), score, self.index_bias)
        keys = rotated(state[-1], by=self.size)
        scores = index_scores(rotated(index_q, n - 1), keys, index_w)
        return state, selected_mask(choose_keys(scores, self.count), keys.shape[-2])


class DeltaAttention(CausalLayer):
    """The delta rule with no gates, with one for each head, or with one for each key channel.

    Each query, key and value is first mixed with those of the `taps` - 1 tokens before it. Queries
    and keys then have norm 1; the outputs of the heads are normed, and those of the sources gated.
    Source: Yang, Kautz and Hatamizadeh (2025), section 3.4; Kimi Team (2025), Kimi Linear,
    section 4.
    """

    def __init__(self, d_model: int, heads: int, gates: str = "channel", taps: int = 4):
        super().__init__(d_model, heads)
        widths = {"none": 0, "one": heads, "channel": d_model}
        if gates not in widths:
            raise ValueError(f"gates={gates!r}: it is one of {', '.join(widths)}")
        if taps < 1:
            raise ValueError(f"taps={taps}: a token is mixed with itself at least")
        self.taps = nn.Parameter(torch.empty(taps, 3 * d_model).uniform_(-(taps**-0.5), taps**-0.5))
        self.w_beta, self.norm = nn.Linear(d_model, heads), nn.RMSNorm(self.d_h)
        self.w_gate = nn.Linear(d_model, widths[gates]) if widths[gates] else None
        if self.w_gate is not None:
            # at first, half of what is written is left after 5 to 760 tokens
            nn.init.uniform_(self.w_gate.bias, 2, 7)

    def whole(self, x: Tensor, mask: Tensor | None) -> Tensor:
        rows = self.unmixed(x)
        rows = rows if mask is None else rows.masked_fill(~mask.mT, 0.0)
        before = nn.functional.pad(rows, (0, 0, len(self.taps) - 1, 0))
        mask = None if mask is None else mask.unsqueeze(-3)
        z = delta_attention_chunkwise(*self.parts(x, before), mask=mask)
        return self.w_o(join_heads(self.norm(z)))

    def unmixed(self, x: Tensor) -> Tensor:
        """Queries, keys and values side by side."""
        return torch.cat([w(x) for w in (self.w_q, self.w_k, self.w_v)], dim=-1)

    def parts(self, x: Tensor, rows: Tensor) -> State:
        """Queries, keys, values, gates and betas in heads; `rows` begins with `taps` - 1 more."""
        n = x.shape[-2]
        shifted = [tap * rows[..., i : i + n, :] for i, tap in enumerate(self.taps)]
        mixed = silu(torch.stack(shifted).sum(0))
        q, k, v = (split_heads(y, self.heads) for y in mixed.chunk(3, dim=-1))
        q, k, beta = normalize(q, dim=-1), normalize(k, dim=-1), self.w_beta(x).sigmoid().mT
        if self.w_gate is None:
            return q, k, v, torch.ones_like(beta)[..., None], beta
        return q, k, v, split_heads(self.w_gate(x).sigmoid(), self.heads), beta

    def empty_state(self, x: Tensor) -> State:
        wide = torch.promote_types(x.dtype, torch.float32)
        S = x.new_zeros(*x.shape[:-1], self.heads, self.d_h, self.d_h, dtype=wide)
        return S, x.new_zeros(*x.shape[:-1], len(self.taps) - 1, 3 * self.d_model)

    def step(self, state: State, x: Tensor) -> tuple[State, Tensor]:
        x = x[..., None, :]
        rows = torch.cat([state[1], self.unmixed(x)], dim=-2)
        *token, beta = self.parts(x, rows)
        token = (y.squeeze(-2) for y in token)
        S, z = delta_attention_step(state[0], *token, beta=beta.squeeze(-1))
        return (S, rows[..., 1:, :]), self.w_o(self.norm(z).flatten(-2))


def replace_attention(model: LanguageModel, make: Callable[[int], nn.Module]) -> LanguageModel:
    """The model, with the layer `make(i)` in place of the attention of each block i."""
    for i, block in enumerate(model.stack.blocks):
        block.attention.part = make(i)
    return model


def auxiliary_loss(model: nn.Module) -> Tensor | float:
    """The sum of what the layers of a model learn from, beside its own loss, in the last call."""
    losses = (getattr(layer, "auxiliary_loss", None) for layer in model.modules())
    return sum((loss for loss in losses if loss is not None), 0.0)


def causal(x: Tensor, mask: Tensor | None) -> Tensor:
    """The causal mask of the tokens in x, without padding."""
    earlier = causal_mask(x.shape[-2], x.device)
    return earlier if mask is None else earlier & mask


def rotated(x: Tensor, start: int = 0, by: int = 1) -> Tensor:
    """Rows rotated by their positions, `by` apart from `start` on."""
    return rope(x, start + by * torch.arange(x.shape[-2], device=x.device))


def matrices(heads: int, d_in: int, d_out: int) -> nn.Parameter:
    """A matrix for each head, with the spread of nn.Linear."""
    bound = d_in**-0.5
    return nn.Parameter(torch.empty(heads, d_in, d_out).uniform_(-bound, bound))
