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
    """Tokens look at those before them, then each is worked on by itself; both only add."""

    def __init__(self, d_model: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.up, self.down = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        x = x + self.attend(self.norm_1(x))
        return x + self.down(gelu(self.up(self.norm_2(x)), approximate="tanh"))

    def attend(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        q, k, v = (split_heads(w(x), self.heads) for w in (self.w_q, self.w_k, self.w_v))
        heads = attention(q, k, v, mask=causal_mask(x.shape[-2], device=x.device))
        return self.w_o(join_heads(heads))


class GPT(nn.Module):
    """Tokens in, and for each the scores of the token that comes next.

    A text may be `max_n` tokens long. Source: Radford et al. (2019), section 2.3.
    """

    def __init__(self, vocabulary: int, d_model: int, heads: int, blocks: int, max_n: int):
        super().__init__()
        self.tokens, self.positions = (
            nn.Embedding(vocabulary, d_model),
            nn.Embedding(max_n, d_model),
        )
        self.blocks = nn.ModuleList(Block(d_model, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, tokens: Int[Tensor, "*batch n"]) -> Float[Tensor, "*batch n vocabulary"]:
        """Row t has the scores of token t + 1, given the tokens up to t."""
        n, max_n = tokens.shape[-1], self.positions.num_embeddings
        if n > max_n:
            raise ValueError(f"{n} tokens are more than the {max_n} positions of this model")
        x = self.tokens(tokens) + self.positions.weight[:n]
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.mT

    @torch.no_grad()
    def write(self, tokens: Int[Tensor, "batch n"], steps: int) -> Int[Tensor, "batch n_and_steps"]:
        """The text, and after it the likeliest next token, again and again."""
        for _ in range(steps):
            tokens = torch.cat([tokens, self(tokens)[:, -1:].argmax(-1)], dim=1)
        return tokens
