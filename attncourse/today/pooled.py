r"""One key for several: blocks of tokens, each pooled into a row by learned weights.

$$c_b = \sum_{j \in b} \mathrm{softmax}_{j \in b}(Z_j + B)_j \odot x_j$$

A query sees the rows of all complete blocks, or the ones that an indexer chooses, and the last
`width` tokens one by one. Rows stand for tokens as Nyström's landmarks (`nystrom_attention`) do,
but they are learned and causal; a choice among them does what Reformer's buckets did.
Source: DeepSeek-AI (2026), section 2.3: eq. 20-23, of which eq. 9-12 are the form with blocks that
overlap. There the window has projections of its own.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncourse.dot_product import masked_softmax
from attncourse.shapes import shaped
from attncourse.today.state import append_row


@shaped
def pool_rows(
    x: Float[Tensor, "*batch n d"],
    scores: Float[Tensor, "*batch n d"],
    bias: Float[Tensor, "size d"],
    mask: Bool[Tensor, "*#batch 1 n"] | None = None,
) -> Float[Tensor, "*batch blocks d"]:
    """A row for each complete block of tokens: in each column, their mean with learned weights.

    A token has a score for each column, and each place in a block a bias. Masked tokens weigh
    nothing; a block of nothing else is zeros. Source: DeepSeek-AI (2026), eq. 22 and 23.
    """
    size = len(bias)
    x, scores = (in_blocks(rows.mT, size) for rows in (x, scores))
    allowed = None if mask is None else in_blocks(mask, size)
    weights = masked_softmax(scores + bias.mT[:, None], allowed)
    return (weights * x).sum(-1).mT


def in_blocks(x: Tensor, size: int) -> Tensor:
    """The last axis in blocks of this size, without those left over at its end."""
    if size < 1:
        raise ValueError(f"size={size}: a block has at least 1 token")
    blocks = x.shape[-1] // size
    return x[..., : blocks * size].unflatten(-1, (blocks, size))


def pooled_mask(
    n: int, size: int, width: int, device: torch.device | str | None = None
) -> Bool[Tensor, "{n} keys"]:
    """True where token t may attend: to the last `width` of the n tokens, then to complete blocks.

    A block is complete once t is its last token, or later. In the report, its last token does not
    see it yet; in the code of transformers it does, as here.
    Source: DeepSeek-AI (2026), section 2.3.
    """
    if n < 0 or size < 1 or width < 1:
        raise ValueError(
            f"n={n}, size={size}, width={width}: blocks and windows have 1 token or more"
        )
    t = torch.arange(n, device=device)[:, None]
    offset = t - torch.arange(n, device=device)
    complete = torch.arange(n // size, device=device) < (t + 1) // size
    return torch.cat([(offset >= 0) & (offset < width), complete], dim=-1)


def mask_with_blocks(mask: Bool[Tensor, "*batch n m"], size: int) -> Bool[Tensor, "*batch n keys"]:
    """A mask of m tokens, followed by that of their complete blocks: those with any of them."""
    return torch.cat([mask, in_blocks(mask, size).any(-1)], dim=-1)


@shaped
def pooled_attention(
    q: Float[Tensor, "*batch heads n d"],
    k: Float[Tensor, "*batch #heads n d"],
    v: Float[Tensor, "*batch #heads n e"],
    pooled_k: Float[Tensor, "*batch #heads blocks d"],
    pooled_v: Float[Tensor, "*batch #heads blocks e"],
    size: int,
    width: int,
    mask: Bool[Tensor, "*#batch_heads #n all_keys"] | None = None,
) -> Float[Tensor, "*batch heads n e"]:
    """Causal attention to the last tokens and to the rows of complete blocks, in one softmax.

    The mask is that of the n tokens followed by the blocks: of padding (`mask_with_blocks`), or of
    the chosen blocks (`selected_mask`). Source: DeepSeek-AI (2026), section 2.3.
    """
    n, blocks = q.shape[-2], pooled_k.shape[-2]
    seen = pooled_mask(n, size, width, q.device)
    if blocks != n // size:
        raise ValueError(f"{blocks} pooled keys, but {n} tokens have {n // size} blocks of {size}")
    keys, values = torch.cat([k, pooled_k], dim=-2), torch.cat([v, pooled_v], dim=-2)
    scores = q @ keys.mT / q.shape[-1] ** 0.5
    return masked_softmax(scores, seen if mask is None else seen & mask) @ values


@shaped
def pool_step(
    state: tuple[
        Float[Tensor, "*batch open d"],
        Float[Tensor, "*batch open d"],
        Float[Tensor, "*batch blocks d"],
    ],
    x: Float[Tensor, "*batch d"],
    score: Float[Tensor, "*batch d"],
    bias: Float[Tensor, "size d"],
) -> tuple[Tensor, Tensor, Tensor]:
    """A token joins the open block, which is pooled once it is complete.

    The state: the open block's rows and scores, and the pooled rows.
    Source: DeepSeek-AI (2026), eq. 22 and 23.
    """
    rows, scores = append_row(state[0], x), append_row(state[1], score)
    if rows.shape[-2] < len(bias):
        return rows, scores, state[2]
    pooled = torch.cat([state[2], pool_rows(rows, scores, bias)], dim=-2)
    return rows[..., :0, :], scores[..., :0, :], pooled


@shaped
def pooled_attention_step(
    state: tuple[
        Float[Tensor, "*batch recent d"],
        Float[Tensor, "*batch open d"],
        Float[Tensor, "*batch open d"],
        Float[Tensor, "*batch blocks d"],
    ],
    q: Float[Tensor, "*batch heads d"],
    x: Float[Tensor, "*batch d"],
    score: Float[Tensor, "*batch d"],
    bias: Float[Tensor, "size d"],
    width: int,
) -> tuple[tuple[Tensor, Tensor, Tensor, Tensor], Float[Tensor, "*batch heads d"]]:
    """One token joins the state and attends to it; a row is key and value at once, for all heads.

    The state: the last `width` rows, and that of `pool_step`. Of a long text, it keeps one row for
    each block. Source: DeepSeek-AI (2026), section 2.3, without sinks and rotations.
    """
    recent = append_row(state[0], x)[..., -width:, :]
    state = recent, *pool_step(state[1:], x, score, bias)
    rows = torch.cat([recent, state[-1]], dim=-2)
    weights = masked_softmax(q @ rows.mT / q.shape[-1] ** 0.5)
    return state, weights @ rows
