"""What a call costs: operations, memory and relative time (used by every chapter)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from time import process_time

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode

aten = torch.ops.aten


@dataclass(frozen=True)
class Cost:
    """Operations in matrix products alone; elements of the largest new tensor, not the peak."""

    flops: int
    largest: int


def count(f: Callable, *args, **kwargs) -> Cost:
    """The operations of f's matrix products, and its largest tensor.

    Inputs on the meta device have shapes but no numbers: the cost is counted without computing.
    """
    largest = Largest()
    # torch's table of operations lacks these
    missing = {
        aten.mv: matrix_vector_flops,
        aten.addmm_: added_product_flops,
        aten.baddbmm_: added_product_flops,
    }
    counter = FlopCounterMode(display=False, custom_mapping=missing)
    with largest, counter:
        f(*args, **kwargs)
    return Cost(counter.get_total_flops(), largest.elements)


def matrix_vector_flops(matrix, vector, *args, **kwargs) -> int:
    """One multiplication and one addition for each entry of the matrix."""
    rows, columns = matrix
    return 2 * rows * columns


def added_product_flops(total, first, second, *args, **kwargs) -> int:
    """One multiplication and one addition for each term of each entry of the total."""
    return 2 * prod(total) * first[-1]


class Largest(TorchDispatchMode):
    """Remembers the number of elements of the largest tensor that was made while it was on."""

    elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        # a view, such as a transpose, is no new tensor
        if not any(returned.alias_info for returned in function._schema.returns):
            made = [x.numel() for x in tree_leaves(out) if isinstance(x, Tensor)]
            self.elements = max(self.elements, *made, 0)
        return out


def time_ratio(slow: Callable[[], object], fast: Callable[[], object]) -> float:
    """How many times longer the processor works for one call of `slow` than for one of `fast`.

    Both run on the CPU, on one thread, in turn. The minimum over 5 repeats counts: what other
    programs do is not timed, but it can only add to a time.
    """
    timers = [Timer("f()", globals={"f": f}, timer=process_time) for f in (slow, fast)]
    counts = [max(1, round(0.01 / timer.timeit(2).mean)) for timer in timers]
    rounds = [
        [timer.timeit(count).mean for timer, count in zip(timers, counts, strict=True)]
        for _ in range(5)
    ]
    first, second = (min(each) for each in zip(*rounds, strict=True))
    return first / second
