"""What a call costs: operations, memory and relative time (used by every chapter)."""

import re
from collections.abc import Callable, Iterable
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
# what autograd calls the matrix products
PRODUCT = re.compile(r"[Mm]mBackward|MvBackward|ConvolutionBackward")


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


def longest_chain(out: Tensor) -> int:
    """The most matrix products on a path to `out` of which each waits for the one before."""
    done: dict = {}
    todo: list = [out.grad_fn]
    while todo:
        node = todo[-1]
        before = [one for one, _ in node.next_functions if one is not None]
        waiting = [one for one in before if one not in done]
        if not waiting:
            ends = max((done[one] for one in before), default=0)
            done[todo.pop()] = ends + bool(PRODUCT.search(node.name()))
        todo += waiting
    return done[out.grad_fn]


def kept(layer: Callable[[Tensor], Tensor], x: Tensor, weights: Iterable[Tensor]) -> int:
    """How many numbers autograd keeps for the backward pass, besides tokens and weights."""
    given = {one.requires_grad_().untyped_storage().data_ptr() for one in (x, *weights)}
    held = {}

    def pack(one: Tensor) -> Tensor:
        storage = one.untyped_storage()
        held[storage.data_ptr()] = storage.nbytes() // one.element_size()
        return one

    # the output must live while they are counted, or a place in memory may be used twice
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one):
        out = layer(x)
    numbers = sum(numbers for place, numbers in held.items() if place not in given)
    del out
    return numbers
