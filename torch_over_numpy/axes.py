"""Which axes a call means: counted from either end, one or several."""

from typing import Any

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
    found = [axis(one, count) for one in (dim if isinstance(dim, (tuple, list)) else [dim])]
    for one in found:
        if found.count(one) > 1:
            raise RuntimeError(f"dim {one} appears multiple times in the list of dims")
    return tuple(found) if count else ()


def sizes_in(given: tuple) -> tuple[int, ...]:
    """The sizes of a call, given one by one or as one tuple; single numbers may be tensors."""
    sizes = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    return tuple(int(one) if isinstance(one, Tensor) else one for one in sizes)
