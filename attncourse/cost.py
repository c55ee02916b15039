"""What a call costs: operations and memory, counted (used by every chapter)."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from judge.torch_internals import TorchDispatchMode, is_view, leaves

aten = torch.ops.aten
# its schema does not say so, and yet its result is a view
VIEW = aten._unsafe_view.default
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
    new = NewTensors()
    # torch's table of operations lacks these
    missing = {
        aten.mv: matrix_vector_flops,
        aten.addmm_: added_product_flops,
        aten.baddbmm_: added_product_flops,
    }
    counter = FlopCounterMode(display=False, custom_mapping=missing)
    with new, counter:
        f(*args, **kwargs)
    return Cost(counter.get_total_flops(), max((size for _, size in new.made), default=0))


def elements_made(f: Callable, *args, **kwargs) -> Counter[str]:
    """The elements of all new tensors on the way, by the operation of torch that makes them."""
    with NewTensors() as new:
        f(*args, **kwargs)
    total: Counter[str] = Counter()
    for operation, size in new.made:
        total[operation] += size
    return total


def matrix_vector_flops(matrix_shape, vector_shape, *args, **kwargs) -> int:
    """One multiplication and one addition for each entry of the matrix."""
    rows, columns = matrix_shape
    return 2 * rows * columns


def added_product_flops(total_shape, first_shape, second_shape, *args, **kwargs) -> int:
    """One multiplication and one addition for each term of each entry of the total."""
    return 2 * prod(total_shape) * first_shape[-1]


class NewTensors(TorchDispatchMode):
    """Remembers each new tensor that is made while it is on: the operation, and its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[str, int]] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        # a view, such as a transpose, is no new tensor
        if not is_view(function) and function is not VIEW:
            name = function.overloadpacket.__name__
            self.made += [(name, x.numel()) for x in leaves(out) if isinstance(x, Tensor)]
        return out


def longest_chain(out: Tensor) -> int:
    """The most matrix products on a path to `out` of which each waits for the one before."""
    done: dict = {}
    todo: list = [out.grad_fn]
    while todo:
        node = todo[-1]
        before = [one for one, _ in node.next_functions if one is not None]
        waiting = [one for one in before if one not in done]
        if not waiting:
            longest = max((done[one] for one in before), default=0)
            done[node] = longest + bool(PRODUCT.search(node.name()))
            todo.pop()
        todo += waiting
    return done[out.grad_fn]


def kept(layer: Callable[[Tensor], Tensor], x: Tensor, weights: Iterable[Tensor]) -> int:
    """How many numbers autograd keeps for the backward pass, besides tokens and weights."""
    inputs = [one.requires_grad_() for one in (x, *weights)]
    given = {one.untyped_storage().data_ptr() for one in inputs}
    held = {}

    def pack(one: Tensor) -> Tensor:
        storage = one.untyped_storage()
        held[storage.data_ptr()] = storage.nbytes() // one.element_size()
        return one

    # the output must live while they are counted, or a place in memory may be used twice
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one):
        out = layer(x)
    total = sum(numbers for place, numbers in held.items() if place not in given)
    del out
    return total
