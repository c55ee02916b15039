"""Smaller caches by sharing: a row that is key and value, and layers that read others' keys."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncourse.dot_product import attention
from attncourse.relative import rope
from attncourse.shapes import shaped


@shaped
def key_value_attention(
    q: Float[Tensor, "*batch n d"],
    x: Float[Tensor, "*batch n d"],
    mask: Bool[Tensor, "*#batch #n #n"] | None = None,
) -> Float[Tensor, "*batch n d"]:
    """Attention with rotary positions in which a row is key and value at once.

    As values, the rows are rotated too. The output is turned back by the position of its query, and
    so depends on offsets alone. Source: DeepSeek-AI (2026), section 2.3.3.
    """
    positions = torch.arange(q.shape[-2], device=q.device)
    rows = rope(x, positions)
    return rope(attention(rope(q, positions), rows, rows, mask), -positions)


def layers_with_keys(kinds: Sequence[str], shared: int) -> list[int]:
    """For each layer, the one whose keys and values it reads: itself, but for the last `shared`.

    These read those of the last layer of their kind that has its own.
    Source: Google DeepMind (2026), gemma3n.
    """
    own = len(kinds) - shared
    if not 0 <= shared < max(len(kinds), 1):
        raise ValueError(f"shared={shared} of {len(kinds)} layers: the first has keys of its own")
    if without := sorted(set(kinds[own:]) - set(kinds[:own])):
        raise ValueError(f"no layer of kind {without[0]!r} among the first {own} has keys to share")
    last = {kind: i for i, kind in enumerate(kinds[:own])}
    return [i if i < own else last[kind] for i, kind in enumerate(kinds)]
