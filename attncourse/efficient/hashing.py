"""Attention within buckets of similar tokens, found by hashing (Reformer).

Source: Kitaev et al. (2020).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize, pad

from attncourse.dot_product import masked_softmax
from attncourse.shapes import require_tokens, shaped


@shaped
def lsh_buckets(
    x: Float[Tensor, "*batch n d"], rotations: Float[Tensor, "rounds d half"]
) -> Int[Tensor, "*batch rounds n"]:
    """The bucket of each token in each round: the largest entry of x R and -x R.

    Source: Kitaev et al. (2020), section 2.
    """
    turned = x[..., None, :, :] @ rotations
    return torch.cat([turned, -turned], dim=-1).argmax(dim=-1)


@shaped
def lsh_attention(
    q: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n d_v"],
    num_buckets: int,
    rounds: int,
    generator: torch.Generator,
) -> Float[Tensor, "*batch n d_v"]:
    """Attention to those that share a bucket in any round; keys are queries of norm 1.

    Sorted by bucket, tokens see their chunk and the one before. A token attends to
    itself only where it sees no other.
    Source: Kitaev et al. (2020), section 2 and appendix A.
    """
    require_tokens(q, q)
    n, d = q.shape[-2:]
    if num_buckets < 2 or num_buckets % 2 or rounds < 1:
        raise ValueError(f"num_buckets={num_buckets} must be even, rounds={rounds} at least 1")
    shape = rounds, d, num_buckets // 2
    rotations = torch.randn(shape, generator=generator, device=generator.device).to(q)
    # a chunk is twice as long as a bucket on average, so that most buckets fit into two
    bucket, size = lsh_buckets(q, rotations), -(-2 * n // num_buckets)
    order = bucket.argsort(dim=-1, stable=True)
    rank = order.argsort(dim=-1)
    query_at, key_at = sorted_chunks(order, size)
    allowed, times = collisions(bucket, rank // size, query_at, key_at)
    z, log_total = attend_in_chunks(q, v, query_at, key_at, allowed, times)
    # the rounds are combined in the order of the tokens
    place = rank[..., None]
    z, log_total = (y.flatten(-3, -2).take_along_dim(place, dim=-2) for y in (z, log_total))
    return (log_total.softmax(dim=-3) * z).sum(dim=-3)


def sorted_chunks(order: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The queries of each chunk of sorted tokens, and its keys: its own and the chunk before.

    -1 stands for no token: in the chunk before the first, and at the end of the last.
    """
    filled = pad(order, (size, -order.shape[-1] % size), value=-1)
    return filled[..., size:].unflatten(-1, (-1, size)), filled.unfold(-1, 2 * size, size)


def collisions(
    bucket: Tensor, chunk: Tensor, query_at: Tensor, key_at: Tensor
) -> tuple[Tensor, Tensor]:
    """Which queries and keys of a chunk collide in this round, and in how many rounds they do."""
    query_buckets, key_buckets = (
        batched_gather(bucket[..., None], index).squeeze(-1) for index in (query_at, key_at)
    )
    allowed = (query_buckets[..., None] == key_buckets[..., None, :]) & (key_at >= 0)[..., None, :]
    times = torch.zeros_like(allowed, dtype=torch.int64)
    for round_ in torch.stack([bucket, chunk], dim=-1).split(1, dim=-3):
        (b_q, c_q), (b_k, c_k) = (
            batched_gather(round_, index).unbind(-1) for index in (query_at, key_at)
        )
        chunks_back = c_q[..., None] - c_k[..., None, :]
        in_reach = (chunks_back >= 0) & (chunks_back <= 1)
        times += (b_q[..., None] == b_k[..., None, :]) & in_reach
    return allowed, times.clamp(min=1)


def attend_in_chunks(
    q: Tensor, v: Tensor, query_at: Tensor, key_at: Tensor, allowed: Tensor, times: Tensor
) -> tuple[Tensor, Tensor]:
    """For each query of each chunk, its output and the logarithm of its sum of exponentials."""
    x = q[..., None, :, :]
    scores = batched_gather(x, query_at) @ batched_gather(normalize(x, dim=-1), key_at).mT
    # a key that a query sees in several rounds counts once
    scores = scores / q.shape[-1] ** 0.5 - times.to(scores).log()
    scores = scores.masked_fill(query_at[..., None] == key_at[..., None, :], -1e5)
    log_total = scores.masked_fill(~allowed, -torch.inf).logsumexp(dim=-1, keepdim=True)
    return masked_softmax(scores, allowed) @ batched_gather(v[..., None, :, :], key_at), log_total


def batched_gather(x: Tensor, index: Tensor) -> Tensor:
    """The rows of x at these indices, in each round; index -1, no token, gives row 0."""
    rows = x.take_along_dim(index.clamp(min=0).flatten(-2)[..., None], dim=-2)
    return rows.unflatten(-2, index.shape[-2:])
