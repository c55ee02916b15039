"""Gradients: of leaves, of any tensors, and switched off."""

from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from copy import copy
from typing import Any

import numpy as np

from torch_over_numpy.absent import refuse_unless
from torch_over_numpy.graph import UNUSED, Leaf, Node, Switch, flow, switched
from torch_over_numpy.joining import stack
from torch_over_numpy.making import new
from torch_over_numpy.public import public
from torch_over_numpy.tensor import Tensor
from torch_over_numpy.views import unbind

NO_GRAPH = "element {} of tensors does not require grad and does not have a grad_fn"


class no_grad(ContextDecorator):
    """Within it, or in a function that it decorates, no graph is kept."""

    on = False

    def __new__(cls, function: Callable | None = None) -> Any:
        made = super().__new__(cls)
        return made(function) if callable(function) else made

    def __enter__(self) -> None:
        self.before, Switch.on = Switch.on, self.on

    def __exit__(self, *error: Any) -> None:
        Switch.on = self.before

    def _recreate_cm(self) -> "no_grad":
        # a function that calls itself enters it again
        return copy(self)


class enable_grad(no_grad):
    """Within it, graphs are kept."""

    on = True


class inference_mode(no_grad):
    """Within it, no graph is kept."""

    def __init__(self, mode: Any = True):
        self.on = mode is False


class set_grad_enabled(no_grad):
    """From now on, or in a block, graphs are kept or not."""

    def __init__(self, mode: bool):
        self.on = bool(mode)
        self.before, Switch.on = Switch.on, self.on

    def __enter__(self) -> None:
        Switch.on = self.on


@public("torch")
def is_grad_enabled():
    return Switch.on


def seeds(outputs: Sequence[Tensor], along: Any) -> list[tuple[Node, np.ndarray]]:
    """Where the backward pass begins, and with which gradients."""
    some = along if isinstance(along, (list, tuple)) else [along] * len(outputs)
    found = []
    for i, (x, g) in enumerate(zip(outputs, some, strict=True)):
        if (edge := x._edge()) is None:
            raise RuntimeError(NO_GRAPH.format(i))
        if g is None:
            if x._array.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            found.append((edge, np.ones(x.shape, x.dtype.storage)))
            continue
        if g.shape != x.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has "
                f"a shape of {x.shape}."
            )
        found.append((edge, x.dtype.stored(g._array)))
    return found


@public("torch.Tensor")
def backward(self, gradient=None, retain_graph=None):
    for leaf, g in flow(seeds([self], gradient), bool(retain_graph)).items():
        assert isinstance(leaf, Leaf)
        tensor = leaf.tensor
        gradient_tensor = Tensor._of(g, tensor.dtype, tensor.device)
        with switched(False):
            tensor.grad = gradient_tensor if tensor.grad is None else tensor.grad + gradient_tensor
        for hook in leaf.hooks:
            hook(tensor)


@public("torch.Tensor")
def register_post_accumulate_grad_hook(self, hook):
    self._leaf.hooks.append(hook)


@public("torch.autograd")
def grad(
    outputs,
    inputs,
    grad_outputs: Any = None,
    retain_graph=None,
    *,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    if is_grads_batched:
        return gradients_of_batch(outputs, inputs, grad_outputs, allow_unused)
    some, wanted = (list(x) if isinstance(x, (list, tuple)) else [x] for x in (outputs, inputs))
    begin = seeds(some, grad_outputs)
    nodes = [x._edge() for x in wanted]
    if None in nodes:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    found = flow(begin, bool(retain_graph), [node for node in nodes if node])
    results = []
    for place, (x, node) in enumerate(zip(wanted, nodes, strict=True)):
        if node in found:
            results.append(Tensor._of(found[node].copy(), x.dtype, x.device))
        elif materialize_grads:
            results.append(new(np.zeros(x.shape), x.dtype, x.device))
        elif allow_unused:
            results.append(None)
        else:
            raise RuntimeError(UNUSED.format(place))
    return tuple(results)


def gradients_of_batch(outputs: Tensor, inputs: Any, along: Tensor, allow_unused: Any) -> tuple:
    """The gradients along each of a batch."""
    every = [
        grad(outputs, inputs, one, retain_graph=True, allow_unused=allow_unused)
        for one in unbind(along)
    ]
    return tuple(stack(some) for some in zip(*every, strict=True))


# derivatives of functions


def rows_of_jacobian(out: Tensor, x: Tensor) -> Tensor:
    """The gradient of each number of a result."""
    shape = (*out.shape, *x.shape)
    array = np.zeros((out._array.size, x._array.size), x._array.dtype)
    if out.requires_grad:
        for i in range(out._array.size):
            along = np.zeros(out._array.size, out._array.dtype)
            along[i] = 1
            g = Tensor._of(along.reshape(out.shape), out.dtype, out.device)
            (found,) = grad(out, x, g, retain_graph=True, materialize_grads=True)
            array[i] = found._array.ravel()
    return Tensor._of(array.reshape(shape), x.dtype, x.device)


def marked(x: Tensor) -> Tensor:
    """A leaf with the same numbers."""
    return x.detach().clone().requires_grad_()


@public("torch.autograd.functional")
def jacobian(func, inputs, *, vectorize=False):
    several = isinstance(inputs, tuple)
    leaves = tuple(marked(x) for x in (inputs if several else (inputs,)))
    with switched(True):
        out = func(*leaves)
    refuse_unless(isinstance(out, Tensor), "torch.autograd.functional.jacobian of several results")
    found = tuple(rows_of_jacobian(out, x) for x in leaves)
    return found if several else found[0]


@public("torch.autograd.functional")
def jvp(func, inputs, v):
    refuse_unless(isinstance(inputs, Tensor), "torch.autograd.functional.jvp of several inputs")
    rows = jacobian(func, inputs)._array
    count = inputs.ndim
    along = np.tensordot(rows, v._array, count)
    return func(inputs), Tensor._of(np.asarray(along), inputs.dtype, inputs.device)


def with_leaf(func, args, place):
    """What a function gives, and the leaf that took the place of that argument."""
    leaf = marked(args[place])
    with switched(True):
        return func(*args[:place], leaf, *args[place + 1 :]), leaf


@public("torch.func")
def jacrev(func, argnums=0):
    refuse_unless(isinstance(argnums, int), "torch.func.jacrev(argnums=) of several")

    def derivative(*args):
        return rows_of_jacobian(*with_leaf(func, args, argnums))

    return derivative


public("torch.func", name="jacfwd")(jacrev)


@public("torch.func", name="grad")
def grad_of_function(func, argnums=0):
    refuse_unless(isinstance(argnums, int), "torch.func.grad(argnums=) of several")

    def derivative(*args):
        return grad(*with_leaf(func, args, argnums))[0]

    return derivative
