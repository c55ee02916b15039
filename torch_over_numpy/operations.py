"""What every function comes down to: a tensor computed, a view taken, or a tensor written into."""

from collections.abc import Callable
from typing import Any

import numpy as np

from torch_over_numpy.absent import refuse_unless
from torch_over_numpy.axes import require_broadcast
from torch_over_numpy.dtypes import (
    DIMENSIONED,
    FLOATING,
    INTEGER,
    NUMBER,
    ZERO_DIM,
    Operand,
    dtype,
    get_default_dtype,
    of_number,
    result_type_of,
)
from torch_over_numpy.graph import Node, Switch, saved_by
from torch_over_numpy.modes import NEW, VIEW, WRITE, dispatched
from torch_over_numpy.tensor import CPU, META, Tensor, device, node_of_view

LEAF_WRITTEN = "a leaf Variable that requires grad is being used in an in-place operation."
ONE_OF_SEVERAL = (
    "Output 0 of {} is a view and is being modified inplace. This view is the output of a "
    "function that returns multiple views. Such functions do not allow the output views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one."
)
COINCIDE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)


def computed(rule: Callable, *tensors: Tensor, dtype: dtype | None = None) -> Tensor:
    """The tensor that a rule makes of others, with its node.

    The rule gets their arrays, and returns an array, which is no other's, and after it the gradient
    of each tensor in turn, as a function of the result's gradient, or None where none flows. What
    such a function closes over is what it needs, and must not be written into before it is called.
    The first tensor's dtype is the result's.
    """
    wanted, place = dtype or tensors[0].dtype, device_of(tensors)

    def make() -> Tensor:
        with np.errstate(all="ignore"):
            array, *gradients = rule(*(x._array for x in tensors))
        made = Tensor._of(wanted.stored(array), wanted, place)
        pairs = zip((x._edge() for x in tensors), gradients, strict=False) if Switch.on else ()
        if edges := [(edge, gradient) for edge, gradient in pairs if edge and gradient]:
            name = f"{rule.__name__.title().replace('_', '')}Backward0"
            node = Node(name, made.shape, wanted)
            node.edges = edges
            # the result's array itself, where that needed no conversion
            node.saved = saved_by((gradient for _, gradient in edges), (*tensors, made))
            if wanted.is_floating_point or wanted.is_complex:
                made._node = node
        return made

    return dispatched(NEW, make)


def device_of(tensors: Any) -> device:
    """The device of the result: tensors on another must be single numbers on the CPU."""
    if all(x.device is CPU for x in tensors):
        return CPU
    places = {x.device for x in tensors if x._array.ndim}
    if len(places) > 1 or (places == {CPU} and any(x.device is META for x in tensors)):
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            "meta and cpu!"
        )
    return META if any(x.device is META for x in tensors) else CPU


def viewed(
    x: Tensor,
    take: Callable[[np.ndarray], np.ndarray],
    overlaps: bool = False,
    made_with_others: str = "",
) -> Tensor:
    """The view of a tensor whose array is taken from the tensor's, and shares its memory.

    `overlaps` says that a number may stand at several places of it, and `made_with_others` names
    what makes several views at once.
    """

    def make() -> Tensor:
        made = Tensor._of(take(x._array), x.dtype, x.device)
        made._version, made._made_with_others = x._version, made_with_others
        if not (x.requires_grad and not Switch.on):
            base, path = x if x._base is None else x._base, x._path
            made._base, made._overlaps = base, overlaps or x._overlaps
            made._path = take if x._base is None else lambda array: take(path(array))
            made._writes = base._writes
            made._node = node_of_view(x, take, overlaps, made)
        return made

    return dispatched(VIEW, make)


def written(x: Tensor, new: Tensor) -> Tensor:
    """The tensor itself, whose numbers are now those of another, and so is its graph."""

    def make() -> Tensor:
        require_writable(x)
        if (shape := require_broadcast([x.shape, new.shape])) != x.shape:
            raise RuntimeError(
                f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(shape)}"
            )
        x._array[...] = x.dtype.stored(new._array)
        x._version.count += 1
        if Switch.on and (x.requires_grad or new.requires_grad):
            graft(x, new)
        return x

    return dispatched(WRITE, make)


def require_writable(x: Tensor) -> None:
    """Raise RuntimeError for a tensor that autograd, or its own memory, lets nobody write into."""
    steps = zip(x.shape, x._array.strides, strict=True)
    if x._array.size and any(size > 1 and not step for size, step in steps):
        raise RuntimeError(COINCIDE)
    if not Switch.on:
        return
    if x._leaf is not None:
        raise RuntimeError(LEAF_WRITTEN)
    if x._base is not None and x._base._leaf is not None:
        raise RuntimeError(f"a view of {LEAF_WRITTEN}")
    if x._made_with_others and x.requires_grad:
        raise RuntimeError(ONE_OF_SEVERAL.format(x._made_with_others))


def graft(x: Tensor, new: Tensor) -> None:
    """Give what was written into the graph of what was written; of a view, within its base's."""
    base, path = x if x._base is None else x._base, x._path
    node = Node("CopyBackwards" if base is x else "CopySlices", base.shape, base.dtype)

    def of_the_rest(g: np.ndarray) -> np.ndarray:
        left = g.copy()
        path(left)[...] = 0
        return left

    if edge := new._edge():
        node.edges.append((edge, lambda g: path(g).copy()))
    if edge := base._edge():
        node.edges.append((edge, of_the_rest))
    base._node = node if node.edges else None
    base._writes += 1


def snapshot(x: Tensor) -> Tensor:
    """A tensor with the same numbers and graph, which no write into the first one changes."""
    require_writable(x)
    copy = Tensor._of(x._array.copy(), x.dtype, x.device)
    copy._node = x._current_node()
    return copy


def in_place(function: Callable) -> Callable:
    """The function that writes its result into its first argument."""

    def write(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        new = function(snapshot(x), *args, **kwargs)
        if new.dtype.kind > x.dtype.kind:
            raise RuntimeError(
                f"result type {new.dtype} can't be cast to the desired output type {x.dtype}"
            )
        is_answer = new.dtype.kind < FLOATING and x.requires_grad
        refuse_unless(not is_answer, "a gradient of what answers with True or False, in place")
        written(x, new)
        if made := new._node:
            # what it has saved of its result is the tensor's own from now on
            made.saved = [(x, x._version.count) if y is new else (y, v) for y, v in made.saved]
        return x

    return write


def tensor_of(value: Any, wanted: dtype | None = None) -> Tensor:
    """An operand as a tensor, of that dtype: a number of Python's is a single one on the CPU."""
    if isinstance(value, Tensor):
        return cast(value, wanted or value.dtype)
    if isinstance(value, (np.number, np.bool_)):
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"unsupported operand type(s): 'Tensor' and '{type(value).__name__}'")
    wanted = wanted or of_number(value)
    return Tensor._of(wanted.stored(value), wanted, CPU)


def result_type(*operands: Any) -> dtype:
    """The dtype of a result of these tensors and numbers."""
    return result_type_of([weighed(one) for one in operands])


def weighed(one: Any) -> Operand:
    """An operand as promotion weighs it."""
    if isinstance(one, Tensor):
        return Operand(one.dtype, DIMENSIONED if one._array.ndim else ZERO_DIM)
    return Operand(of_number(one), NUMBER)


def promoted(*operands: Any, floating: bool = False) -> list[Tensor]:
    """The operands as tensors of the dtype of their result, which may have to be a floating one."""
    first, *others = operands
    if isinstance(first, Tensor) and all(is_plain(one, first.dtype) for one in others):
        wanted = first.dtype
    else:
        wanted = result_type(*operands)
    if floating and not (wanted.is_floating_point or wanted.is_complex):
        wanted = get_default_dtype()
    return [tensor_of(one, wanted) for one in operands]


def is_plain(one: Any, dtype: dtype) -> bool:
    """Whether an operand leaves a result its dtype, which spares the rules of promotion."""
    if isinstance(one, Tensor):
        return one.dtype is dtype
    return (type(one) is int and dtype.kind >= INTEGER) or (
        type(one) is float and dtype.kind == FLOATING
    )


def cast(x: Tensor, wanted: dtype) -> Tensor:
    """The tensor in that dtype; itself where it is."""
    if x.dtype is wanted:
        return x

    def to(a: np.ndarray) -> tuple:
        is_complex = a.dtype.kind == "c" and not wanted.is_complex
        return (np.real(a) if is_complex else a).astype(wanted.storage), lambda g: g

    return computed(to, x, dtype=wanted)
