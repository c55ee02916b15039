"""A module called with other weights than its own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch_over_numpy.nn.modules import Module
from torch_over_numpy.public import public
from torch_over_numpy.tensor import Tensor


@contextmanager
def with_weights(module: Module, weights: Mapping[str, Tensor]) -> Iterator[None]:
    """Within it, the module has these weights in place of its own."""
    places, own = dict(module.named_modules()), []
    for name, weight in weights.items():
        above, _, last = name.rpartition(".")
        kept = places[above]._parameters if last in places[above]._parameters else None
        kept = places[above]._buffers if kept is None else kept
        own.append((kept, last, kept[last]))
        kept[last] = weight
    try:
        yield
    finally:
        for kept, last, weight in own:
            kept[last] = weight


@public("torch.func")
def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None):
    passed: Any = () if args is None else args if isinstance(args, tuple) else (args,)
    with with_weights(module, parameter_and_buffer_dicts):
        return module(*passed, **(kwargs or {}))
