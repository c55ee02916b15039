"""What a call costs: operations and memory, counted (used by every chapter)."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from judge.call.torch_internals import TorchDispatchMode, is_view, leaves

aten = torch.ops.aten
# a view, although its schema does not declare one
UNSAFE_VIEW = aten._unsafe_view.default
# the names of autograd's nodes for matrix products
MATMUL_NODE = re.compile(r"[Mm]mBackward|MvBackward|ConvolutionBackward")


@dataclass(frozen=True)
class Cost:
    """FLOPs of matrix products, and the number of elements of the largest new tensor."""

    flops: int
    largest: int


def count(f: Callable, *args, **kwargs) -> Cost:
    """FLOPs of the matrix products in `f(*args, **kwargs)`, and its largest new tensor.

    With inputs on the meta device, nothing is computed.
    """
    recorder = NewTensors()
    # torch's FLOP counter lacks these
    extra_flops = {
        aten.mv: matrix_vector_flops,
        aten.addmm_: added_product_flops,
        aten.baddbmm_: added_product_flops,
        aten.linalg_solve_triangular: substitution_flops,
    }
    counter = FlopCounterMode(display=False, custom_mapping=extra_flops)
    with recorder, counter:
        f(*args, **kwargs)
    return Cost(counter.get_total_flops(), max((size for _, size in recorder.records), default=0))


def elements_by_operation(f: Callable, *args, **kwargs) -> Counter[str]:
    """Number of elements of all new tensors in a call, by the torch operation that makes them."""
    with NewTensors() as new:
        f(*args, **kwargs)
    total: Counter[str] = Counter()
    for operation, size in new.records:
        total[operation] += size
    return total


def matrix_vector_flops(matrix_shape, vector_shape, *args, **kwargs) -> int:
    """FLOPs of matrix @ vector: a multiplication and an addition for each entry of the matrix."""
    rows, columns = matrix_shape
    return 2 * rows * columns


def added_product_flops(total_shape, first_shape, second_shape, *args, **kwargs) -> int:
    """FLOPs of total + first @ second: a multiplication and an addition for each term."""
    return 2 * prod(total_shape) * first_shape[-1]


def substitution_flops(system_shape, columns_shape, *args, **kwargs) -> int:
    """FLOPs of solving a triangular system: two for each entry beside the diagonal and column."""
    return prod(columns_shape) * (system_shape[-1] - 1)


class NewTensors(TorchDispatchMode):
    """Records the operation and the number of elements of each tensor made while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[str, int]] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        # a view, such as a transpose, is no new tensor
        if not is_view(function) and function is not UNSAFE_VIEW:
            name = function.overloadpacket.__name__
            self.records += [(name, x.numel()) for x in leaves(out) if isinstance(x, Tensor)]
        return out


def longest_chain(out: Tensor) -> int:
    """Largest number of matrix products on one path of the autograd graph that leads to `out`."""
    depths: dict = {}
    todo: list = [out.grad_fn]
    while todo:
        node = todo[-1]
        inputs = [parent for parent, _ in node.next_functions if parent is not None]
        pending = [parent for parent in inputs if parent not in depths]
        if not pending:
            longest = max((depths[parent] for parent in inputs), default=0)
            depths[node] = longest + bool(MATMUL_NODE.search(node.name()))
            todo.pop()
        todo += pending
    return depths[out.grad_fn]


def saved_elements(layer: Callable[[Tensor], Tensor], x: Tensor, weights: Iterable[Tensor]) -> int:
    """Number of elements that autograd saves for backward, without those of x and the weights."""
    inputs = [tensor.requires_grad_() for tensor in (x, *weights)]
    input_storages = {tensor.untyped_storage().data_ptr() for tensor in inputs}
    saved = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
        return tensor

    # keep the output alive while counting, or an address could be reused
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = layer(x)
    total = sum(size for address, size in saved.items() if address not in input_storages)
    del out
    return total
