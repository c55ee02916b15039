"""Patterns that leave pairs out by position: a window, global tokens, and keys at random."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor


def longformer_mask(
    n: int,
    width: int,
    global_tokens: Sequence[int] = (),
    device: torch.device | str | None = None,
) -> Bool[Tensor, "n n"]:
    """True in a window of `width` keys, and in the rows and columns of global tokens.

    In the paper, global tokens also have projections of their own, and some windows
    have gaps.
    Source: Beltagy et al. (2020), section 3.1.
    """
    if n < 1 or width < 1 or width % 2 == 0:
        raise ValueError(f"n={n} must be at least 1, and width={width} odd: as many on each side")
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
    """A Longformer mask with `random` more keys for each query, drawn from the rest.

    The paper draws whole blocks of keys; here they are drawn one by one.
    Source: Zaheer et al. (2020), section 2.
    """
    if not 0 <= random <= n:
        raise ValueError(f"random={random} keys must lie between 0 and n={n}")
    mask = longformer_mask(n, width, global_tokens, generator.device)
    priority = torch.rand(n, n, generator=generator, device=generator.device)
    drawn = priority.masked_fill(mask, -1).topk(random).indices
    return mask.scatter(-1, drawn, True)
