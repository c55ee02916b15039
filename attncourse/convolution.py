r"""Convolution, and attention within a window (chapter: convolution).

$$y_i = \sum_{t} W_t \, x_{i + \delta_t}, \qquad
w^t_{ij} = \mathrm{softmax}_j\big({-\alpha}\,|j - i - \delta_t|^2\big), \qquad
y_i = \lim_{\alpha \to \infty} \sum_{t} W_t \sum_j w^t_{ij} \, x_j$$

The limit holds where no tap lies outside: there the convolution finds zeros, and a head the end.

Source: Cordonnier et al. (2020), section 3. Windows over heads: Yang et al. (2019).
Dynamic convolution: Wu et al. (2019).
"""

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from attncourse.dot_product import attention
from attncourse.multi_head import require_divisible
from attncourse.shapes import shaped

# queries in a block, at least: smaller matrix products are slow
LEAST = 32


def window_mask(
    n: int, width: int, causal: bool = False, device: torch.device | str | None = None
) -> Bool[Tensor, "n n"]:
    """True where key j is in the window of query i: the `width` positions around i.

    A causal window holds i itself and the `width` - 1 positions before it.
    """
    if n < 0:
        raise ValueError(f"n={n}: a sequence has at least 0 tokens")
    before, after = sides(width, causal)
    position = torch.arange(n, device=device)
    offset = position - position[:, None]
    return (-before <= offset) & (offset <= after)


@shaped
def windowed_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n e"],
    width: int,
    causal: bool = False,
) -> Float[Tensor, "*batch n e"]:
    """Attention under `window_mask`, in blocks: time and memory grow with n, not n x n.

    A block has half as many queries as the window has positions, and at least 32.
    Its queries share the keys that any of them reaches.
    """
    n, (before, after) = q.shape[-2], sides(width, causal)
    q, k, v = blocks_of(q, k, v, before, after)
    z = attention(q, k, v, mask_of_blocks(q, n, before, after))
    return z.flatten(-3, -2)[..., :n, :]


@shaped
def convolutional_self_attention(
    q: Float[Tensor, "*batch heads n d"],
    k: Float[Tensor, "*batch heads n d"],
    v: Float[Tensor, "*batch heads n e"],
    width: int,
    heads_width: int,
) -> Float[Tensor, "*batch heads n e"]:
    """Attention in a window of `width` positions in each of `heads_width` heads nearby.

    One softmax runs over the whole window; the outermost heads have fewer neighbours.
    Source: Yang et al. (2019), section 3.
    """
    (before, after), (reach, _) = sides(width), sides(heads_width)
    heads, n, _ = q.shape[-3:]
    q, k, v = blocks_of(q, k, v, before, after)
    # the keys of the neighbouring heads stand beside one's own, like those of further positions
    k, v = (pad(x, (0,) * 6 + (reach, reach)).unfold(-4, heads_width, 1) for x in (k, v))
    k, v = (x.movedim(-1, -3).flatten(-3, -2) for x in (k, v))
    exists = torch.ones(heads, dtype=torch.bool, device=q.device)
    has_head = pad(exists, (reach, reach)).unfold(0, heads_width, 1)
    mask = mask_of_blocks(q, n, before, after)[:, :, None] & has_head[:, None, None, :, None]
    return attention(q, k, v, mask.flatten(-2)).flatten(-3, -2)[..., :n, :]


def blocks_of(q: Tensor, k: Tensor, v: Tensor, before: int, after: int) -> tuple[Tensor, ...]:
    """The queries in blocks, and for each block the keys and values that it reaches."""
    n, size = q.shape[-2], max((before + 1 + after) // 2, LEAST)
    # a sequence without tokens is one block of padding
    blocks = max(1, math.ceil(n / size))
    missing = blocks * size - n
    q = pad(q, (0, 0, 0, missing)).unflatten(-2, (blocks, size))
    k, v = (
        pad(x, (0, 0, before, missing + after)).unfold(-2, before + size + after, size).mT
        for x in (k, v)
    )
    return q, k, v


def mask_of_blocks(
    q: Float[Tensor, "*batch blocks size d"], n: int, before: int, after: int
) -> Bool[Tensor, "blocks size keys"]:
    """Where a block's queries may attend; only the first n positions are tokens."""
    blocks, size = q.shape[-3:-1]
    first = size * torch.arange(blocks, device=q.device)[:, None, None]
    query = first + torch.arange(size, device=q.device)[:, None]
    key = first + torch.arange(-before, size + after, device=q.device)
    offset = key - query
    return (-before <= offset) & (offset <= after) & (key >= 0) & (key < n)


def convolution_as_attention(
    weight: Float[Tensor, "c_out c_in *taps"], alpha: float
) -> Callable[[Tensor], Tensor]:
    """A head for each tap of a kernel: the larger alpha, the closer to a convolution.

    The layer takes (..., n, c_in), or (..., rows, columns, c_in) for two axes of taps.
    Where a tap lies outside, its head attends to the nearest position inside.
    Source: Cordonnier et al. (2020), section 3, theorem 1.
    """
    if weight.dim() < 3 or 0 in weight.shape[2:]:
        raise ValueError(f"weight={tuple(weight.shape)} must be (c_out, c_in, taps, ...)")
    if not 0 <= alpha < math.inf:
        raise ValueError(f"alpha={alpha} must be at least 0, and finite")
    axes, offsets = weight.dim() - 2, tap_offsets(weight.shape[2:], weight.device).to(weight)

    def layer(x: Tensor) -> Tensor:
        if x.dim() <= axes or x.shape[-1] != weight.shape[1]:
            raise ValueError(
                f"x={tuple(x.shape)} needs {axes} axes of positions and then {weight.shape[1]} "
                f"channels for weight={tuple(weight.shape)}"
            )
        size = x.shape[-1 - axes : -1]
        by_tap = tap_weights(offsets, size, alpha) @ x.flatten(-1 - axes, -2)[..., None, :, :]
        return torch.einsum("...tnc,oct->...no", by_tap, weight.flatten(2)).unflatten(-2, size)

    return layer


@shaped
def dynamic_convolution(
    x: Float[Tensor, "*batch n d"], w: Float[Tensor, "d heads width"], causal: bool = False
) -> Float[Tensor, "*batch n d"]:
    """A mean of each token's neighbours, under weights that the token itself makes.

    A head is d / heads channels with the same weights. Beyond the ends are zeros.
    Source: Wu et al. (2019), section 4.
    """
    n, (d, heads, width) = x.shape[-2], w.shape
    require_divisible("d", d, heads)
    weights = torch.einsum("...nd,dht->...nht", x, w).softmax(-1)
    padded = pad(x.unflatten(-1, (heads, -1)), (0,) * 4 + sides(width, causal))
    taps = [weights[..., t, None] * padded[..., t : t + n, :, :] for t in range(width)]
    return torch.stack(taps).sum(0).flatten(-2)


def tap_weights(
    offsets: Float[Tensor, "taps axes"], size: Sequence[int], alpha: float
) -> Float[Tensor, "taps n n"]:
    """For each tap a head's weights: the closer a key to the tap's place, the higher.

    A score is -alpha times the squared distance from that place, whatever the token.
    Source: Cordonnier et al. (2020), eq. 9.
    """
    place = grid(torch.arange(length, device=offsets.device) for length in size)
    missed_by = place - place[:, None] - offsets[:, None, None]
    return (-alpha * missed_by.square().sum(-1)).softmax(-1)


def tap_offsets(
    taps: Sequence[int], device: torch.device | str | None = None
) -> Int[Tensor, "heads axes"]:
    """How far from the query each tap lies; an even number has one more after it."""
    return grid(torch.arange(length, device=device) - (length - 1) // 2 for length in taps)


def grid(axes: Iterable[Int[Tensor, " length"]]) -> Int[Tensor, "places axes"]:
    """All coordinates of a grid, a row for each point; the last axis runs fastest."""
    return torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).flatten(0, -2)


def sides(width: int, causal: bool = False) -> tuple[int, int]:
    """Number of positions before and after the query in a window."""
    if width < 1:
        raise ValueError(f"width={width}: a window holds at least the position of its query")
    if causal:
        return width - 1, 0
    if width % 2 == 0:
        raise ValueError(f"width={width} is even: without `causal`, a window needs a middle")
    return width // 2, width // 2
