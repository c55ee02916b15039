"""Which axes a call means: counted from either end, one or several."""

from typing import Any

import numpy as np

from torch_over_numpy.tensor import Tensor


def axis(dim: int, count: int) -> int:
    """The axis, counted from the front; IndexError where there are not so many."""
    if not isinstance(dim, int):
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}")
    # a single number is treated as if it had one axis
    most = max(count, 1)
    if not -most <= dim < most:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], "
            f"but got {dim})"
        )
    return dim % most


def axes(dim: Any, count: int) -> tuple[int, ...]:
    """The axes, counted from the front; all of them where none is given."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(count))
    found: list[int] = []
    for one in dim if isinstance(dim, (tuple, list)) else [dim]:
        if (place := axis(one, count)) in found:
            raise RuntimeError(f"dim {place} appears multiple times in the list of dims")
        found.append(place)
    return tuple(found) if count else ()


def index_along(axis: int, part: Any) -> tuple:
    """The index that takes this part of one axis, and all of those before it."""
    return (*(slice(None),) * axis, part)


def sizes_in(given: tuple) -> tuple[int, ...]:
    """The sizes of a call, given one by one or as one tuple; single numbers may be tensors."""
    sizes = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    return tuple(int(one._array) if isinstance(one, Tensor) else one for one in sizes)


def require_broadcast(shapes: list) -> tuple:
    """The shape that these broadcast to; RuntimeError where they do not."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        pass
    first, second = next(
        (a, b)
        for i, a in enumerate(shapes)
        for b in shapes[i + 1 :]
        if any(m != n and 1 not in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))
    )
    pairs = [*zip(first[::-1], second[::-1], strict=False)]
    place = next(i for i, (m, n) in enumerate(pairs) if m != n and 1 not in (m, n))
    dim = max(len(first), len(second)) - 1 - place
    raise RuntimeError(
        f"The size of tensor a ({pairs[place][0]}) must match the size of tensor b "
        f"({pairs[place][1]}) at non-singleton dimension {dim}"
    )
