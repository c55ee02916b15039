"""A function of one tensor made one of many: called for each, as if it were called once."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch_over_numpy.absent import refuse_unless
from torch_over_numpy.joining import stack
from torch_over_numpy.modes import TorchDispatchMode, TorchFunctionMode
from torch_over_numpy.operators import Asked
from torch_over_numpy.public import public
from torch_over_numpy.tensor import Tensor
from torch_over_numpy.views import select


@contextmanager
def unseen() -> Iterator[None]:
    """Within it, neither a mode nor Python's tracing sees what is called."""
    trace, modes = sys.gettrace(), (TorchDispatchMode.entered, TorchFunctionMode.entered)
    kept = [[*some] for some in modes]
    sys.settrace(None)
    for some in modes:
        some.clear()
    try:
        yield
    finally:
        for some, before in zip(modes, kept, strict=True):
            some[:] = before
        sys.settrace(trace)


@public("torch", "torch.func")
def vmap(func, in_dims=0, out_dims=0):
    refuse_unless(isinstance(out_dims, int), "torch.vmap(out_dims=) of several")

    def batched(*args: Any) -> Any:
        dims = in_dims if isinstance(in_dims, (tuple, list)) else [in_dims] * len(args)
        pairs = [*zip(args, dims, strict=True)]
        sizes = {x.shape[dim] for x, dim in pairs if isinstance(x, Tensor) and dim is not None}
        if not sizes:
            raise ValueError(
                f"vmap({getattr(func, '__name__', func)}, ...)(<inputs>): got no mapped inputs"
            )
        if len(sizes) > 1:
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {sorted(sizes)} for the mapped dimension"
            )

        def call(place: int) -> Any:
            return func(
                *(
                    select(x, dim, place) if isinstance(x, Tensor) and dim is not None else x
                    for x, dim in pairs
                )
            )

        with Asked.of_no_single_number():
            first = call(0)
            with unseen():
                others = [call(place) for place in range(1, sizes.pop())]
        return together([first, *others], out_dims)

    return batched


def together(results: list[Any], dim: int) -> Any:
    """The results of all calls in one; of several results, each."""
    if isinstance(results[0], (tuple, list)):
        return type(results[0])(together([*some], dim) for some in zip(*results, strict=True))
    return stack(results, dim)
