"""What Python's operators and built-in functions do with tensors, and methods that write."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from torch_over_numpy import elementwise as of
from torch_over_numpy import indexing, joining
from torch_over_numpy.absent import NotInPageError
from torch_over_numpy.dtypes import INTEGER
from torch_over_numpy.linalg import matmul
from torch_over_numpy.operations import in_place
from torch_over_numpy.public import called_as, public
from torch_over_numpy.tensor import Tensor
from torch_over_numpy.views import unbind


def is_operand(other: Any) -> bool:
    numbers = bool, int, float, complex, np.number, np.bool_
    return isinstance(other, (Tensor, *numbers))


def operator(name: str, function: Callable, reflected: bool = True, writes: bool = True) -> None:
    """An operator of two operands: with the tensor on the left, on the right, and in place."""

    def left(self, other):
        return function(self, other) if is_operand(other) else NotImplemented

    def right(self, other):
        return function(tensor_number(other), self) if is_operand(other) else NotImplemented

    write = in_place(function)

    def written(self, other):
        return write(self, other) if is_operand(other) else NotImplemented

    setattr(Tensor, f"__{name}__", seen(left, name))
    if reflected:
        setattr(Tensor, f"__r{name}__", seen(right, f"r{name}"))
    if writes:
        setattr(Tensor, f"__i{name}__", seen(written, f"i{name}"))


def tensor_number(other: Any) -> Any:
    return other.item() if isinstance(other, np.generic) else other


def seen(function: Callable, name: str) -> Callable:
    """The operator as a function of torch's, which modes see."""
    return called_as(function, "torch.Tensor", f"__{name}__")


def absent_operator(name: str) -> Callable:
    """The function of an operator that is not here, which says where it works."""

    def refuse(*operands):
        raise NotInPageError(f"torch.Tensor.__{name}__")

    return refuse


for word, function in {
    "add": of.add, "sub": of.sub, "mul": of.mul, "truediv": of.div, "floordiv": of.floor_divide,
    "mod": of.remainder, "pow": of.pow,
}.items():  # fmt: skip
    operator(word, function)
for word in ("and", "or", "xor"):
    operator(word, getattr(of, f"bitwise_{word}"))
for word in ("lshift", "rshift"):
    operator(word, absent_operator(word))
operator("matmul", matmul, writes=False)
for word in ("eq", "ne", "lt", "le", "gt", "ge"):
    operator(word, getattr(of, word), reflected=False, writes=False)


def invert(self):
    if self.dtype.kind > INTEGER:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return of.bitwise_not(self)


for word, function in {
    "neg": of.neg, "pos": of.positive, "abs": of.absolute, "invert": invert,
}.items():  # fmt: skip
    setattr(Tensor, f"__{word}__", seen(function, word))


class Asked:
    """Whether a program may ask for the number that a tensor holds: not where it is one of many."""

    allowed = True

    @classmethod
    @contextmanager
    def of_no_single_number(cls) -> Iterator[None]:
        before, cls.allowed = cls.allowed, False
        try:
            yield
        finally:
            cls.allowed = before


def require_single() -> None:
    if not Asked.allowed:
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
            "flow. We don't support that yet, please shout over at "
            "https://github.com/pytorch/functorch/issues/257 ."
        )


@public("torch.Tensor")
def item(self):
    """The number of a tensor that has one."""
    require_single()
    if self._array.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
        )
    return self._array.item()


def truth(self):
    require_single()
    if self._array.size == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if self._array.size > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(self._array.item())


def index(self):
    require_single()
    if self._array.size != 1 or self.dtype.kind > 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self._array.item())


def iterate(self):
    if not self.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self, 0))


def contains(self, element):
    return bool(of.eq(self, element)._array.any())


def as_array(self, dtype=None, copy=None):
    return self.numpy() if dtype is None else self.numpy().astype(dtype)


def format_of(self, spec):
    return (
        format(self.item(), spec)
        if not self.ndim and not self.is_meta
        else object.__format__(self, spec)
    )


def deep_copy(self, memo):
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment."
        )
    copy = type(self)._of(self._array.copy(), self.dtype, self.device)
    if self._leaf is not None:
        copy.requires_grad_()
    memo[id(self)] = copy
    return copy


METHODS = {
    "__getitem__": indexing.getitem,
    "__setitem__": indexing.setitem,
    "__bool__": truth,
    "__int__": lambda self: int(item(self)),
    "__float__": lambda self: float(item(self)),
    "__index__": index,
    "__iter__": iterate,
    "__contains__": contains,
    "__array__": as_array,
    "__format__": format_of,
    "__deepcopy__": deep_copy,
    "__round__": lambda self, digits=0: of.rounded(self, decimals=digits),
    "__reversed__": lambda self: self.flip(0) if self.ndim else self,
}
for name, method in METHODS.items():
    setattr(Tensor, name, method)

# of these functions there is a method, too, that writes the result into its tensor
WRITTEN = {
    of: "add clamp clamp_min cos div exp log logical_and logical_not logical_or masked_fill mul "
        "nan_to_num neg pow relu sigmoid sin sqrt square sub tanh",
    indexing: "index_add index_fill index_put masked_scatter scatter scatter_add",
    joining: "tril triu",
}  # fmt: skip
for module, words in WRITTEN.items():
    for word in words.split():
        public("torch.Tensor", name=f"{word}_")(in_place(getattr(module, word)))
