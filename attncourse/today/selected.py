r"""Attention to the keys that a small indexer chooses, the top k for each query.

$$I_{ts} = \sum_j w_{tj}\, \mathrm{ReLU}(q^I_{tj} \cdot k^I_s), \qquad
\mathcal{L}_t = D_{KL}\bigl(p_t \,\|\, \mathrm{softmax}(I_t)\bigr)$$

All keys are scored, but by few and narrow heads with one key for all of them; only the chosen ones
are attended to. A choice passes no gradient, so the indexer learns from $\mathcal{L}$: it is to
give the weights $p$ that the heads give, all heads summed. Reformer (`lsh_attention`) chooses by
hashing, and learns nothing.
Source: DeepSeek-AI (2025), eq. 1-4.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attncourse.dot_product import masked_softmax
from attncourse.efficient import batched_gather
from attncourse.linear import safe_divide
from attncourse.shapes import shaped
from attncourse.today.state import append_row


@shaped
def index_scores(
    q: Float[Tensor, "*batch index_heads n d_i"],
    k: Float[Tensor, "*batch m d_i"],
    w: Float[Tensor, "*batch index_heads n"],
) -> Float[Tensor, "*batch n m"]:
    """The indexer's score of each key for each query; its heads share the keys.

    Source: DeepSeek-AI (2025), eq. 1.
    """
    return (w[..., None] * (q @ k.unsqueeze(-3).mT).relu()).sum(-3)


@shaped
def choose_keys(
    scores: Float[Tensor, "*batch n m"],
    count: int,
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Int[Tensor, "*batch n chosen"]:
    """The `count` keys with the highest scores of those that the mask allows, for each query.

    Of equal scores, as the zeros of ReLU are, the earliest comes first. Where there are fewer keys,
    -1 stands for none. Source: DeepSeek-AI (2025), eq. 2.
    """
    if count < 1:
        raise ValueError(f"count={count}: a query needs at least 1 key")
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    best, index = scores.sort(dim=-1, descending=True, stable=True)
    return index.masked_fill(best == -torch.inf, -1)[..., :count]


@shaped
def selected_mask(index: Int[Tensor, "*batch n chosen"], m: int) -> Bool[Tensor, "*batch n {m}"]:
    """True at the chosen ones of m keys."""
    # the last column takes the -1
    mask = torch.zeros(*index.shape[:-1], m + 1, dtype=torch.bool, device=index.device)
    return mask.scatter(-1, index % (m + 1), True)[..., :m]


@shaped
def selected_attention(
    q: Float[Tensor, "*batch heads n d"],
    k: Float[Tensor, "*batch #heads m d"],
    v: Float[Tensor, "*batch #heads m e"],
    index: Int[Tensor, "*batch n chosen"],
) -> Float[Tensor, "*batch heads n e"]:
    """Attention of each query to its chosen keys; all heads of a token read the same ones.

    Source: DeepSeek-AI (2025), eq. 2.
    """
    index = index.unsqueeze(-3)
    keys, values = batched_gather(k, index), batched_gather(v, index)
    scores = q[..., None, :] @ keys.mT / q.shape[-1] ** 0.5
    return (masked_softmax(scores, (index >= 0)[..., None, :]) @ values).squeeze(-2)


@shaped
def indexer_loss(
    scores: Float[Tensor, "*batch n m"],
    weights: Float[Tensor, "*batch heads n m"],
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
) -> Float[Tensor, "*batch n"]:
    """For each query, how far the indexer's softmax is from what the heads attend to.

    The heads learn nothing from it. With a mask of the chosen keys, it is the loss of the second
    stage of training; with that of all earlier ones, of the first.
    Source: DeepSeek-AI (2025), eq. 3 and 4.
    """
    total = weights.detach().sum(-3)
    if mask is None:
        mask = torch.ones_like(total, dtype=torch.bool)
    total = total.masked_fill(~mask, 0.0)
    target = safe_divide(total, total.sum(-1, keepdim=True))
    # where the target is 0, minus infinity would give NaN
    log_share = scores.masked_fill(~mask, -torch.inf).log_softmax(-1).masked_fill(~mask, 0.0)
    return (torch.xlogy(target, target) - target * log_share).sum(-1)


@shaped
def selected_attention_step(
    state: tuple[
        Float[Tensor, "*batch #heads m d"],
        Float[Tensor, "*batch #heads m e"],
        Float[Tensor, "*batch m d_i"],
    ],
    q: Float[Tensor, "*batch heads d"],
    k: Float[Tensor, "*batch #heads d"],
    v: Float[Tensor, "*batch #heads e"],
    index_q: Float[Tensor, "*batch index_heads d_i"],
    index_k: Float[Tensor, "*batch d_i"],
    index_w: Float[Tensor, "*batch index_heads"],
    count: int,
) -> tuple[tuple[Tensor, Tensor, Tensor], Float[Tensor, "*batch heads e"]]:
    """One token joins the state, the keys, the values and the indexer's keys, and attends to a few.

    The state is larger than a cache of keys and values: what shrinks is what is read of it.
    """
    keys, values, index_keys = map(append_row, state, (k, v, index_k))
    scores = index_scores(index_q[..., None, :], index_keys, index_w[..., None])
    index = choose_keys(scores, count)
    output = selected_attention(q[..., None, :], keys, values, index).squeeze(-2)
    return (keys, values, index_keys), output
