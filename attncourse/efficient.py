r"""Attention for less: fewer pairs, dimensions or heads, or less memory (chapter: efficient).

Most of these families are in the survey of Tay et al. (2020), each here a small function: a mask
that leaves pairs out (Longformer, BigBird), buckets of similar tokens (Reformer), fewer keys
(Linformer, Nystroem), random features (Performer), heads that share keys and values, and exact
attention block by block (FlashAttention):

$$\mu' = \max(\mu, \max_j s_j), \qquad
\ell' = e^{\mu - \mu'} \ell + \sum_j e^{s_j - \mu'}, \qquad
z' = e^{\mu - \mu'} z + \sum_j e^{s_j - \mu'} v_j$$

Source: the papers named at each function; above, the maximum and the sum are from Milakov &
Gimelshein (2018), the sum of values from Rabe & Staats (2021).
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import normalize, pad

from attncourse.dot_product import attention, attention_weights, masked_softmax, require_fit


def longformer_mask(
    n: int,
    width: int,
    global_tokens: Sequence[int] = (),
    device: torch.device | str | None = None,
) -> Bool[Tensor, "n n"]:
    """True in a window of `width` keys around the query, and in each global token's row and column.

    The paper gives global tokens projections of their own, and dilates some windows; not here.
    Source: Beltagy et al. (2020), section 3.1.
    """
    if n < 1 or width < 1 or width % 2 == 0:
        raise ValueError(f"n={n} must be at least 1, and width={width} odd: as far on both sides")
    if not all(0 <= token < n for token in global_tokens):
        raise ValueError(f"global_tokens={list(global_tokens)} must lie between 0 and n-1={n - 1}")
    position = torch.arange(n, device=device)
    near = (position - position[:, None]).abs() <= width // 2
    everywhere = torch.zeros(n, dtype=torch.bool, device=device)
    everywhere[list(global_tokens)] = True
    return near | everywhere | everywhere[:, None]


def bigbird_mask(
    n: int,
    width: int,
    global_tokens: Sequence[int],
    random: int,
    generator: torch.Generator,
) -> Bool[Tensor, "n n"]:
    """The same, with `random` keys more for each query, drawn from those still left out.

    The paper draws whole blocks of keys; here a block is one key.
    Source: Zaheer et al. (2020), section 2.
    """
    if not 0 <= random <= n:
        raise ValueError(f"random={random} keys must lie between 0 and n={n}")
    mask = longformer_mask(n, width, global_tokens, generator.device)
    lots = torch.rand(n, n, generator=generator, device=generator.device)
    drawn = lots.masked_fill(mask, -1).topk(random).indices
    return mask.scatter(-1, drawn, True)


def linformer_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m d_v"],
    e: Float[Tensor, "r m"],
    f: Float[Tensor, "r m"],
) -> Float[Tensor, "*batch n d_v"]:
    """Attention to r mixtures of the m keys, with as many mixtures of the values.

    The mixtures are learned for one length m. Source: Wang et al. (2020), eq. 7.
    """
    require_tokens(q, k, v)
    if e.shape != f.shape or e.shape[-1] != k.shape[-2]:
        raise ValueError(
            f"e={tuple(e.shape)} and f={tuple(f.shape)} must both be (r, {k.shape[-2]}): "
            f"they mix {k.shape[-2]} keys and values"
        )
    return attention(q, e @ k, f @ v)


def random_directions(rows: int, d: int, generator: torch.Generator) -> Float[Tensor, "rows d"]:
    """Vectors, each normal with variance 1, of which every d in a row are orthogonal.

    Source: Choromanski et al. (2021), section 2.4.
    """
    if rows < 1 or d < 1:
        raise ValueError(f"rows={rows} and d={d}: both must be at least 1")
    shape = (2, -(-rows // d), d, d)
    square, other = torch.randn(shape, generator=generator, device=generator.device)
    turned, triangle = torch.linalg.qr(square)
    # with these signs, every rotation is as likely as every other
    turned = turned * triangle.diagonal(dim1=-2, dim2=-1).sign()[..., None, :]
    return (turned * other.norm(dim=-1, keepdim=True)).flatten(0, 1)[:rows]


def log_features(
    x: Float[Tensor, "*batch n d"], w: Float[Tensor, "r d"]
) -> Float[Tensor, "*batch n r"]:
    r"""Logarithms of positive features, whose dot product is $e^{q \cdot k / \sqrt d}$ on average.

    Source: Choromanski et al. (2021), lemma 1.
    """
    r, d = w.shape
    x = x / d**0.25
    return x @ w.mT - x.square().sum(-1, keepdim=True) / 2 - math.log(r) / 2


def performer_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m d_v"],
    w: Float[Tensor, "r d"],
) -> Float[Tensor, "*batch n d_v"]:
    """Each feature takes its mean of the values, and each query takes a mean of the features.

    The ratio of the paper's two sums, as two softmaxes, in which no exponential is too large.
    Source: Choromanski et al. (2021), eq. 4 and lemma 1.
    """
    require_tokens(q, k, v)
    if w.dim() != 2 or w.shape[-1] != q.shape[-1] or len(w) < 1:
        raise ValueError(f"w={tuple(w.shape)} must be (r, {q.shape[-1]}), as wide as the queries")
    of_q, of_k = log_features(q, w), log_features(k, w)
    means = of_k.softmax(dim=-2).mT @ v
    return (of_q + of_k.logsumexp(dim=-2, keepdim=True)).softmax(dim=-1) @ means


def lsh_buckets(
    x: Float[Tensor, "*batch n d"], rotations: Float[Tensor, "rounds d half"]
) -> Int[Tensor, "*batch rounds n"]:
    """The bucket of each token in each round: which entry of x R, or its opposite, is largest.

    Source: Kitaev et al. (2020), section 2.
    """
    turned = x[..., None, :, :] @ rotations
    return torch.cat([turned, -turned], dim=-1).argmax(dim=-1)


def lsh_attention(
    q: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n d_v"],
    buckets: int,
    rounds: int,
    generator: torch.Generator,
) -> Float[Tensor, "*batch n d_v"]:
    """Attention of each token to those in its bucket, in any round; keys are queries of length 1.

    Sorted by bucket, tokens see their chunk and the one before. A token attends to itself only
    where it sees no other. Source: Kitaev et al. (2020), section 2 and appendix A.
    """
    require_tokens(q, q, v)
    n, d = q.shape[-2:]
    if buckets < 2 or buckets % 2 or rounds < 1:
        raise ValueError(f"buckets={buckets} must be even, rounds={rounds} at least 1")
    rotations = torch.randn(
        rounds, d, buckets // 2, generator=generator, device=generator.device
    ).to(q)
    bucket = lsh_buckets(q, rotations)
    order = bucket.argsort(dim=-1, stable=True)
    place, size = order.argsort(dim=-1), -(-2 * n // buckets)
    # -1 stands for no token: in the chunk before the first, and at the end of the last
    filled = pad(order, (size, -n % size), value=-1)
    asking, seen = filled[..., size:].unflatten(-1, (-1, size)), filled.unfold(-1, 2 * size, size)
    x = q[..., None, :, :]
    scores = rows_at(x, asking) @ rows_at(normalize(x, dim=-1), seen).mT / d**0.5
    allowed, times = meetings(bucket, place // size, asking, seen)
    # what a query sees in several rounds shall count once
    scores = scores - times.to(scores).log()
    scores = scores.masked_fill(asking[..., None] == seen[..., None, :], -1e5)
    total = scores.masked_fill(~allowed, -torch.inf).logsumexp(dim=-1, keepdim=True)
    z = masked_softmax(scores, allowed) @ rows_at(v[..., None, :, :], seen)
    total, z = (y.flatten(-3, -2).take_along_dim(place[..., None], dim=-2) for y in (total, z))
    return (total.softmax(dim=-3) * z).sum(dim=-3)


def meetings(bucket: Tensor, chunk: Tensor, asking: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """For each query and key of a chunk: whether they meet in this round, and in how many."""
    b_q, b_k = (rows_at(bucket[..., None], index).squeeze(-1) for index in (asking, seen))
    allowed = (b_q[..., None] == b_k[..., None, :]) & (seen >= 0)[..., None, :]
    times = torch.zeros_like(allowed, dtype=torch.int64)
    for one in torch.stack([bucket, chunk], dim=-1).split(1, dim=-3):
        (b_q, c_q), (b_k, c_k) = (rows_at(one, index).unbind(-1) for index in (asking, seen))
        back = c_q[..., None] - c_k[..., None, :]
        times += (b_q[..., None] == b_k[..., None, :]) & (back >= 0) & (back <= 1)
    return allowed, times.clamp(min=1)


def rows_at(x: Tensor, index: Tensor) -> Tensor:
    """The rows of x with these numbers, in each round; where there is no token, the first row."""
    rows = x.take_along_dim(index.clamp(min=0).flatten(-2)[..., None], dim=-2)
    return rows.unflatten(-2, index.shape[-2:])


def iterative_inverse(
    a: Float[Tensor, "*batch r r"], steps: int = 6
) -> Float[Tensor, "*batch r r"]:
    """The pseudo-inverse, by matrix products alone; each step cubes what is missing.

    Many more steps than it takes bring back rounding, enlarged. Source: Xiong et al. (2021).
    """
    columns, rows = (a.abs().sum(dim).amax(-1)[..., None, None] for dim in (-2, -1))
    y, one = a.mT / (columns * rows), torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    for _ in range(steps):
        ay = a @ y
        y = y @ (13 * one - ay @ (15 * one - ay @ (7 * one - ay))) / 4
    return y


def nystrom_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m d_v"],
    landmarks: int,
    steps: int = 6,
) -> Float[Tensor, "*batch n d_v"]:
    """Weights from those between the tokens and a few landmarks, the means of segments.

    The paper adds a convolution of the values to the output; not here.
    Source: Xiong et al. (2021).
    """
    require_tokens(q, k, v)
    if not 1 <= landmarks <= min(q.shape[-2], k.shape[-2]):
        raise ValueError(
            f"landmarks={landmarks} must be at least 1, and no more than the "
            f"{q.shape[-2]} queries or the {k.shape[-2]} keys"
        )
    few_q, few_k = (segment_means(x, landmarks) for x in (q, k))
    middle = iterative_inverse(attention_weights(few_q, few_k), steps)
    return attention_weights(q, few_k) @ (middle @ attention(few_q, k, v))


def segment_means(
    x: Float[Tensor, "*batch n d"], segments: int
) -> Float[Tensor, "*batch segments d"]:
    """The mean of each of so many stretches of tokens, whose lengths differ by at most 1."""
    return torch.stack([part.mean(-2) for part in x.tensor_split(segments, dim=-2)], dim=-2)


def grouped_query_attention(
    q: Float[Tensor, "*batch heads n d"],
    k: Float[Tensor, "*batch groups m d"],
    v: Float[Tensor, "*batch groups m d_v"],
    mask: Bool[Tensor, "*#batch_heads #n #m"] | None = None,
) -> Float[Tensor, "*batch heads n d_v"]:
    """Attention in which neighbouring heads share their keys and values; in one group, all do.

    Source: Ainslie et al. (2023), section 2.2; one group: Shazeer (2019), section 3.
    """
    if min(x.dim() for x in (q, k, v)) < 3:
        shapes = ", ".join(f"{tuple(x.shape)}" for x in (q, k, v))
        raise ValueError(f"each of q, k, v needs three axes, (heads, length, width): {shapes}")
    heads, groups, n, m = q.shape[-3], k.shape[-3], q.shape[-2], k.shape[-2]
    if not groups or heads % groups:
        raise ValueError(f"heads={heads} is not a multiple of groups={groups}")
    require_tokens(q, k[..., :1, :, :], v[..., :1, :, :], mask)
    # to keys that they share, the queries of another head are only more queries
    asking = q.unflatten(-3, (groups, -1)).flatten(-3, -2)
    if mask is not None:
        mask = mask.expand(torch.broadcast_shapes(mask.shape, (heads, n, m)))
        mask = mask.unflatten(-3, (groups, -1)).flatten(-3, -2)
    return attention(asking, k, v, mask).unflatten(-2, (-1, n)).flatten(-4, -3)


def cache_bytes(n: int, layers: int, groups: int, d: int, dtype: torch.dtype) -> int:
    """What the keys and values of n tokens take in all layers: a key and a value for each group.

    Source: Shazeer (2019), section 3.
    """
    return 2 * n * layers * groups * d * dtype.itemsize


def fold_in(
    top: Float[Tensor, "*batch n 1"],
    total: Float[Tensor, "*batch n 1"],
    z: Float[Tensor, "*batch n d_v"],
    scores: Float[Tensor, "*batch n block"],
    v: Float[Tensor, "*#batch block d_v"],
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest score, the sum of exponentials, and that of values, with one more block of keys.

    Source: Milakov & Gimelshein (2018), algorithm 3, for the first two; Rabe & Staats (2021).
    """
    # the maximum cancels in the end, so it needs no gradient
    highest = torch.maximum(top, scores.detach().amax(dim=-1, keepdim=True))
    fade, parts = (top - highest).exp(), (scores - highest).exp()
    return highest, fade * total + parts.sum(-1, keepdim=True), fade * z + parts @ v


def flash_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m d_v"],
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
    causal: bool = False,
    block: int = 128,
) -> Float[Tensor, "*batch n d_v"]:
    """Attention, exactly, from the scores of one block of queries and keys at a time.

    If causal, the queries are the last of the positions, and blocks of later keys are left out.
    Source: Dao et al. (2022); in this order, and with one division at the end: Dao (2023).
    """
    require_tokens(q, k, v, mask)
    n, m = q.shape[-2], k.shape[-2]
    if block < 1 or (causal and n > m):
        raise ValueError(f"block={block} must be at least 1, and if causal, n={n} at most m={m}")
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    mask = None if mask is None else mask.expand(*mask.shape[:-2], n, m)
    begin, outputs = ((1, torch.finfo(q.dtype).min), (1, 0.0), (v.shape[-1], 0.0)), []
    for here in slices(n, block):
        rows = here.stop - here.start
        top, total, z = (q.new_full((*batch, rows, width), value) for width, value in begin)
        for there in slices(m - n + here.stop if causal else m, block):
            scores = q[..., here, :] @ k[..., there, :].mT / q.shape[-1] ** 0.5
            if causal:
                # the first query of the block stands so far after the first key
                ahead = m - n + here.start - there.start
                later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device)
                scores = scores.masked_fill(later.triu(ahead + 1), -torch.inf)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., here, there], -torch.inf)
            top, total, z = fold_in(top, total, z, scores, v[..., there, :])
        # the largest score adds 1 to the sum: it is 0 only where a query may attend nowhere
        outputs.append(z / total.clamp(min=1))
    return torch.cat(outputs, dim=-2)


def slices(length: int, block: int) -> list[slice]:
    """A sequence cut into blocks; the last may be shorter."""
    return [slice(start, min(start + block, length)) for start in range(0, length, block)]


def require_tokens(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> None:
    """Raise ValueError, with the sizes, where there is no query or no key, or they do not fit."""
    require_fit(q, k, v, mask)
    n, m = q.shape[-2], k.shape[-2]
    if not (n and m):
        raise ValueError(f"{n} queries and {m} keys: an empty sequence has nothing to attend to")
