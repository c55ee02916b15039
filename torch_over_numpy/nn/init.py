"""First weights."""

import functools
import math
from collections.abc import Callable

from torch_over_numpy import random
from torch_over_numpy.absent import refuse_unless
from torch_over_numpy.graph import switched
from torch_over_numpy.indexing import fill_, zero_
from torch_over_numpy.public import public

HERE = "torch.nn.init"


def without_graph(function: Callable) -> Callable:
    """The function, which writes into a tensor although that wants a gradient."""

    @functools.wraps(function)
    def write(*args, **kwargs):
        with switched(False):
            return function(*args, **kwargs)

    return public(HERE)(write)


normal_ = without_graph(random.normal_)
uniform_ = without_graph(random.uniform_)


@without_graph
def zeros_(tensor):
    return zero_(tensor)


@without_graph
def ones_(tensor):
    return fill_(tensor, 1)


@without_graph
def xavier_uniform_(tensor, gain=1.0, generator=None):
    refuse_unless(tensor.ndim == 2, f"torch.nn.init.xavier_uniform_ of {tensor.ndim} axes")
    bound = gain * math.sqrt(6 / sum(tensor.shape))
    return random.uniform_(tensor, -bound, bound, generator=generator)
