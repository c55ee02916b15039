"""First weights."""

import math

from torch_over_numpy import random
from torch_over_numpy.graph import switched
from torch_over_numpy.indexing import fill_
from torch_over_numpy.public import public

HERE = "torch.nn.init"


def filling(function):
    """The function, which writes into a tensor although that wants a gradient."""

    def fill(tensor, *args, **kwargs):
        with switched(False):
            return function(tensor, *args, **kwargs)

    return fill


normal_ = filling(random.normal_)
uniform_ = filling(random.uniform_)
fill = filling(fill_)


def zeros_(tensor):
    return fill(tensor, 0.0)


def ones_(tensor):
    return fill(tensor, 1.0)


def fans(tensor):
    return tensor.shape[1], tensor.shape[0]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator=generator)


for word, function in {
    "normal_": normal_, "uniform_": uniform_, "zeros_": zeros_,
    "ones_": ones_, "xavier_uniform_": xavier_uniform_,
}.items():  # fmt: skip
    public(HERE, name=word)(function)
