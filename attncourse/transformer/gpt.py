"""A minimal GPT in one file.

Source: Radford et al. (2019), section 2.3; the names of GPT-2's parts are in `weights`.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import gelu

from attncourse.dot_product import attention, causal_mask
from attncourse.multi_head import join_heads, split_heads


class Block(nn.Module):
    """A pre-norm block: causal self-attention, then a feed-forward network, both residual."""

    def __init__(self, d_model: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.up = nn.Linear(d_model, 4 * d_model)
        self.down = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        """x plus attention of its norm, then plus the feed-forward network of that sum's norm."""
        x = x + self.self_attention(self.norm_1(x))
        x = x + self.feed_forward(self.norm_2(x))
        return x

    def self_attention(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        """Causal self-attention in all heads."""
        q, k, v = (split_heads(w(x), self.heads) for w in (self.w_q, self.w_k, self.w_v))
        z = attention(q, k, v, mask=causal_mask(x.shape[-2], device=x.device))
        return self.w_o(join_heads(z))

    def feed_forward(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        """Two linear layers with GELU between them, for each token alone."""
        return self.down(gelu(self.up(x), approximate="tanh"))


class GPT(nn.Module):
    """A GPT: for each token, the scores of the next one.

    A text has at most `max_n` tokens. Source: Radford et al. (2019), section 2.3.
    """

    def __init__(self, vocabulary: int, d_model: int, heads: int, depth: int, max_n: int):
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, d_model)
        self.position_embedding = nn.Embedding(max_n, d_model)
        for table in (self.token_embedding, self.position_embedding):
            nn.init.normal_(table.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(d_model, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, tokens: Int[Tensor, "*batch n"]) -> Float[Tensor, "*batch n vocabulary"]:
        """Row t has the scores of token t + 1, given the tokens up to t."""
        n, max_n = tokens.shape[-1], self.position_embedding.num_embeddings
        if n > max_n:
            raise ValueError(f"{n} tokens, and only {max_n} positions")
        positions = torch.arange(n, device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.token_embedding.weight.mT

    @torch.no_grad()
    def write(self, tokens: Int[Tensor, "batch n"], steps: int) -> Int[Tensor, "batch n_and_steps"]:
        """The tokens, followed by `steps` greedily decoded ones."""
        for _ in range(steps):
            tokens = torch.cat([tokens, self(tokens)[:, -1:].argmax(-1)], dim=1)
        return tokens
