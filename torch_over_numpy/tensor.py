"""The tensor: an array of NumPy's, its dtype and device, and where it stands in a graph."""

from collections.abc import Callable
from math import prod
from typing import Any, Self

import numpy as np

from torch_over_numpy.absent import NotInPageError
from torch_over_numpy.dtypes import OF_NUMPY, dtype
from torch_over_numpy.graph import Leaf, Node, Version
from torch_over_numpy.torch_names import missing


class Size(tuple):
    """The sizes of a tensor's axes."""

    def numel(self) -> int:
        return prod(self)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> "Size":
        return Size(tuple(self) + tuple(other))

    def __radd__(self, other: Any) -> "Size":
        return Size(tuple(other) + tuple(self))

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__


class device:
    """Where a tensor is: the CPU, or the device meta, which computes here as if it were another."""

    def __init__(self, type: Any, index: int | None = None):
        if isinstance(type, device):
            type, index = type.type, type.index
        name, _, number = str(type).partition(":")
        if name not in ("cpu", "meta", "cuda", "mps"):
            raise RuntimeError(
                "Expected one of cpu, cuda, mps, meta device type at start of device string: "
                f"{name}"
            )
        self.type, self.index = name, int(number) if number else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r})"


CPU, META = device("cpu"), device("meta")


class DefaultDevice:
    """Where new tensors are made, if nobody says where."""

    device = CPU


def known_device(given: Any = None) -> device:
    """The device of that name, which must be one that there is."""
    if given is None:
        return DefaultDevice.device
    found = given if isinstance(given, device) else device(given)
    if found.type == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    if found.type == "mps":
        raise RuntimeError("PyTorch is not linked with support for mps devices")
    return META if found.type == "meta" else CPU


class Methods(type):
    """Says of a method that is not here where it works."""

    def __getattr__(cls, name: str) -> Any:
        raise missing("torch.Tensor", name, "'Tensor' object")


class Tensor(metaclass=Methods):
    """Numbers of one dtype on one device, in an array that other tensors may share.

    A view knows its base, and how its array is taken from the base's.
    """

    # of other libraries: an array on the left leaves the operation to the tensor
    __array_priority__ = 1000

    def __new__(cls, *sizes: Any) -> "Tensor":
        if sizes and isinstance(sizes[0], (list, tuple, np.ndarray)):
            raise NotInPageError(f"torch.Tensor({type(sizes[0]).__name__})")
        raise NotInPageError("torch.Tensor(...)")

    @classmethod
    def _of(cls, array: np.ndarray, dtype: dtype, device: device) -> Self:
        """A tensor that holds this array itself, whose numbers are those of the dtype."""
        made = object.__new__(cls)
        made._hold(array, dtype, device)
        return made

    def _hold(self, array: np.ndarray, dtype: dtype, device: device) -> None:
        self._array, self.dtype, self.device = array, dtype, device
        self._version = Version()
        self._node: Node | None = None
        self._leaf: Leaf | None = None
        self.grad: Tensor | None = None
        # of a view: its base, how its array is taken from the base's, if places coincide there
        self._base: Tensor | None = None
        self._path: Callable = whole
        self._overlaps = False
        # of a base: how often its graph was changed by a write; of a view, what it has seen of it
        self._writes = 0
        # what made it, if that made several views at once
        self._made_with_others = ""

    @property
    def shape(self) -> Size:
        return Size(self._array.shape)

    @property
    def requires_grad(self) -> bool:
        return self._leaf is not None or self._current_node() is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        if requires_grad and not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self._current_node() is None:
            self._leaf = (self._leaf or Leaf(self)) if requires_grad else None
            if requires_grad:
                # a graph begins here, whatever memory it shares
                self._base, self._path, self._overlaps = None, whole, False
        elif not requires_grad:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        return self

    @property
    def is_leaf(self) -> bool:
        return self._current_node() is None

    @property
    def grad_fn(self) -> Node | None:
        return self._current_node()

    def _current_node(self) -> Node | None:
        """The node that made it: of a view, from its base, if that was written into since."""
        if self._base is not None and self._writes != self._base._writes:
            self._writes = self._base._writes
            self._node = node_of_view(self._base, self._path, self._overlaps, self)
        return self._node

    def _edge(self) -> Node | None:
        """Where its gradient goes, if any is wanted."""
        return self._current_node() or self._leaf

    @property
    def data(self) -> "Tensor":
        return self.detach()

    @data.setter
    def data(self, new: "Tensor") -> None:
        self._array, self.dtype, self.device = new._array, new.dtype, new.device

    @property
    def is_meta(self) -> bool:
        return self.device is META

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __getattr__(self, name: str) -> Any:
        raise missing("torch.Tensor", name, "'Tensor' object")


def whole(array: np.ndarray) -> np.ndarray:
    return array


def dtype_of(array: np.ndarray) -> dtype:
    """The dtype of the tensor that holds an array of NumPy's."""
    if array.dtype not in OF_NUMPY:
        raise TypeError(f"can't convert np.ndarray of type numpy.{array.dtype}.")
    return OF_NUMPY[array.dtype]


def node_of_view(x: Tensor, take: Callable, overlaps: bool, view: Tensor) -> Node | None:
    """The node of a view: its gradient is put where its numbers come from."""
    if (edge := x._edge()) is None:
        return None
    shape, size = x.shape, x._array.size

    def gradient(g: np.ndarray) -> np.ndarray:
        out = np.zeros(shape, g.dtype)
        if overlaps:
            places = take(np.arange(size).reshape(shape))
            np.add.at(out.reshape(-1), places.ravel(), g.ravel())
        else:
            take(out)[...] = g
        return out

    node = Node("ViewBackward0", view.shape, view.dtype)
    node.edges = [(edge, gradient)]
    return node
