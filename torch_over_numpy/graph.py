"""The graph that a backward pass goes through: each tensor's node, and the gradients' flow."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from torch_over_numpy.dtypes import COMPLEX, dtype

Gradient = Callable[[np.ndarray], np.ndarray | None]

MODIFIED = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [torch.{}Tensor {}]{} is at version {}; expected version {} instead."
)
FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)
UNUSED = (
    "The differentiated Tensor at index {} appears to not have been used in the graph. Set "
    "allow_unused=True if this is the desired behavior."
)


class Switch:
    """Whether what is computed keeps a graph."""

    on = True


@contextmanager
def switched(on: bool) -> Iterator[None]:
    """Within it, graphs are kept or not."""
    before, Switch.on = Switch.on, on
    try:
        yield
    finally:
        Switch.on = before


class Version:
    """How often the memory that some tensors share has been written into."""

    def __init__(self) -> None:
        self.count = 0


class Node:
    """One operation of the graph: where its gradient goes, and what it needs for that."""

    def __init__(self, name: str, shape: tuple, dtype: dtype):
        self.name, self.shape, self.dtype = name, shape, dtype
        self.edges: list[tuple[Node, Gradient]] = []
        # tensors whose numbers it needs, each with its version then
        self.saved: list[tuple[Any, int]] = []
        self.is_freed = False

    def gradients(self, g: np.ndarray) -> Iterator[tuple["Node", np.ndarray]]:
        """The gradients that flow on, given the one that arrives."""
        if self.is_freed:
            raise RuntimeError(FREED)
        for tensor, version in self.saved:
            if tensor._version.count != version:
                raise RuntimeError(modified(tensor, version))
        for node, gradient in self.edges:
            with np.errstate(all="ignore"):
                passed = gradient(g)
                passed = passed if passed is None else fitted(passed, node)
            if passed is not None:
                yield node, passed

    def free(self) -> None:
        """Forget what it needs; of what needs nothing, as a sum, the pass can be repeated."""
        if self.saved:
            self.edges, self.saved, self.is_freed = [], [], True


class Leaf(Node):
    """Where a graph begins: a tensor whose gradient is wanted."""

    def __init__(self, tensor: Any):
        super().__init__("AccumulateGrad", tensor.shape, tensor.dtype)
        self.tensor, self.hooks = tensor, []


def modified(tensor: Any, version: int) -> str:
    """What is said of a tensor that was written into after an operation had saved it."""
    node = tensor._current_node()
    made_by = f", which is output 0 of {node.name}," if node else ""
    return MODIFIED.format(
        tensor.dtype.title, list(tensor.shape), made_by, tensor._version.count, version
    )


def saved_by(gradients: Iterable[Gradient], tensors: Iterable[Any]) -> list[tuple[Any, int]]:
    """The tensors whose numbers some gradients need: those whose arrays they close over."""
    held = {id(x) for gradient in gradients for x in closed_over(gradient)}
    return [(x, x._version.count) for x in tensors if id(x._array) in held]


def closed_over(function: Callable) -> Iterator[Any]:
    """What a function, and those in it, hold on to."""
    for cell in getattr(function, "__closure__", None) or ():
        content = cell.cell_contents
        if callable(content):
            yield from closed_over(content)
        # an index may be of several arrays
        yield from content if isinstance(content, tuple) else (content,)


def fitted(g: np.ndarray, node: Node) -> np.ndarray:
    """A gradient in the shape and the dtype of what it is for: summed where that was expanded."""
    if g.shape != node.shape:
        g = summed_to(g, node.shape)
    if g.dtype.kind == "c" and node.dtype.kind != COMPLEX:
        g = np.real(g)
    return node.dtype.stored(g)


def summed_to(g: np.ndarray, shape: tuple) -> np.ndarray:
    """The sum over all places that one number was expanded to."""
    extra = g.ndim - len(shape)
    axes = [*range(extra)]
    axes += [i + extra for i, size in enumerate(shape) if size == 1 and g.shape[i + extra] != 1]
    return g.sum(axis=tuple(axes), keepdims=True).reshape(shape)


def in_order(ends: Iterable[Node]) -> list[Node]:
    """The nodes that lead to some, each before those that its gradient goes to."""
    order, begun, waiting = [], set(), [(node, False) for node in ends]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            order.append(node)
        elif id(node) not in begun:
            begun.add(id(node))
            waiting.append((node, True))
            waiting += [(each, False) for each, _ in node.edges]
    return order[::-1]


def flow(
    seeds: list[tuple[Node, np.ndarray]], keep: bool, wanted: Iterable[Node] = ()
) -> dict[Node, np.ndarray]:
    """The gradients of the leaves, or of the nodes that are wanted."""
    gradients: dict[Node, np.ndarray] = {}
    found: dict[Node, np.ndarray] = {}
    targets = set(wanted)
    for node, g in seeds:
        gradients[node] = gradients[node] + g if node in gradients else g
    for node in in_order(gradients):
        if (g := gradients.pop(node, None)) is None:
            continue
        if node in targets or (not targets and isinstance(node, Leaf)):
            found[node] = g
        for other, passed in node.gradients(g):
            if other in gradients:
                with np.errstate(all="ignore"):
                    passed = other.dtype.stored(gradients[other] + passed)
            gradients[other] = passed
        if not keep:
            node.free()
    return found
