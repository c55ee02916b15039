"""A whole GPT: the least that reads a text and says what comes next.

Source: Radford et al. (2019), section 2.3; the names of GPT-2's parts are in `weights`.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import gelu

from attncourse.dot_product import attention, causal_mask
from attncourse.multi_head import join_heads, split_heads


class Block(nn.Module):
    """Tokens look back, then each is worked on by itself; both parts only add."""

    def __init__(self, d_model: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.up = nn.Linear(d_model, 4 * d_model)
        self.down = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        """Each part reads the tokens normalised, and adds to them what it has found."""
        x = x + self.self_attention(self.norm_1(x))
        x = x + self.feed_forward(self.norm_2(x))
        return x

    def self_attention(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        """What each token takes in from itself and those before it, in all heads."""
        q, k, v = (split_heads(w(x), self.heads) for w in (self.w_q, self.w_k, self.w_v))
        z = attention(q, k, v, mask=causal_mask(x.shape[-2], device=x.device))
        return self.w_o(join_heads(z))

    def feed_forward(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        """Each token alone: wider, through GELU, and back."""
        return self.down(gelu(self.up(x), approximate="tanh"))


class GPT(nn.Module):
    """Tokens in, and for each the scores of the token that comes next.

    A text may be `max_n` tokens long. Source: Radford et al. (2019), section 2.3.
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
        """The text, and after it the likeliest next token, again and again."""
        for _ in range(steps):
            tokens = torch.cat([tokens, self(tokens)[:, -1:].argmax(-1)], dim=1)
        return tokens
