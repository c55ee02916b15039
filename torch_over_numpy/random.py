"""Random numbers: a generator gives the same ones for the same seed, which are not torch's."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import randbits
from typing import Any

import numpy as np

from torch_over_numpy.axes import sizes_in
from torch_over_numpy.dtypes import get_default_dtype, int64, uint8
from torch_over_numpy.making import new
from torch_over_numpy.operations import written
from torch_over_numpy.public import public
from torch_over_numpy.tensor import CPU, Tensor, known_device


class Generator:
    """A source of random numbers, with a state of its own."""

    def __init__(self, device: Any = "cpu"):
        self.device = known_device(device)
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> "Generator":
        self.seed_given = seed
        self.source = np.random.Generator(np.random.PCG64(seed % 2**64))
        return self

    def seed(self) -> int:
        self.manual_seed(randbits(63))
        return self.seed_given

    def initial_seed(self) -> int:
        return self.seed_given

    def get_state(self) -> Tensor:
        state = json.dumps(self.source.bit_generator.state).encode()
        return Tensor._of(np.frombuffer(state, np.uint8).copy(), uint8, CPU)

    def set_state(self, new_state: Tensor) -> "Generator":
        self.source.bit_generator.state = json.loads(new_state._array.tobytes())
        return self


GLOBAL = Generator()
GLOBAL.seed()


def source_of(generator: Generator | None) -> np.random.Generator:
    return (generator or GLOBAL).source


@public("torch", "torch.random")
def manual_seed(seed):
    return GLOBAL.manual_seed(int(seed))


@public("torch", "torch.random")
def seed():
    return GLOBAL.seed()


@public("torch", "torch.random")
def initial_seed():
    return GLOBAL.initial_seed()


@public("torch", "torch.random")
def get_rng_state():
    return GLOBAL.get_state()


@public("torch", "torch.random")
def set_rng_state(new_state):
    GLOBAL.set_state(new_state)


@public("torch.random")
@contextmanager
def fork_rng(devices: Any = (), enabled: bool = True) -> Iterator[None]:
    state = GLOBAL.get_state()
    try:
        yield
    finally:
        GLOBAL.set_state(state)


def drawn(name: str, draw: Any) -> None:
    """`randn` and `rand`, and their likes."""

    @public("torch", name=name)
    def function(*size, generator=None, dtype=None, device=None, requires_grad=False):
        wanted = dtype or get_default_dtype()
        array = draw(source_of(generator), sizes_in(size))
        return new(array, wanted, device, requires_grad)

    @public("torch", name=f"{name}_like")
    def like(input, *, generator=None, dtype=None, device=None, requires_grad=False):
        array = draw(source_of(generator), input.shape)
        return new(array, dtype or input.dtype, device or input.device, requires_grad)


drawn("randn", lambda source, shape: source.standard_normal(shape))
drawn("rand", lambda source, shape: source.random(shape))


@public("torch")
def randint(low, high=None, size=None, *, generator=None, dtype=None, device=None):
    if not isinstance(high, int):
        low, high, size = 0, low, high if size is None else size
    array = source_of(generator).integers(low, high, tuple(size))
    return new(array, dtype or int64, device)


@public("torch")
def randint_like(input, low, high=None, *, dtype=None, device=None):
    array = source_of(None).integers(*((0, low) if high is None else (low, high)), input.shape)
    return new(array, dtype or input.dtype, device or input.device)


@public("torch")
def randperm(n, *, generator=None, dtype=None, device=None):
    return new(source_of(generator).permutation(n), dtype or int64, device)


@public("torch")
def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None, device=None):
    array = source_of(generator).normal(mean, std, tuple(size))
    return new(array, dtype or get_default_dtype(), device)


@public("torch", "torch.Tensor")
def bernoulli(input, *, generator=None):
    array = source_of(generator).random(input.shape) < input._array
    return new(array, input.dtype, input.device)


@public("torch", "torch.Tensor")
def multinomial(input, num_samples, replacement=False, *, generator=None):
    source = source_of(generator)
    shares = input._array / input._array.sum(-1, keepdims=True)
    rows = shares.reshape(-1, shares.shape[-1])
    count = shares.shape[-1]
    found = [source.choice(count, num_samples, replacement, row) for row in rows]
    return new(np.array(found).reshape(*shares.shape[:-1], num_samples), int64, input.device)


def drawn_into(x: Tensor, array: np.ndarray) -> Tensor:
    return written(x, Tensor._of(x.dtype.stored(array), x.dtype, x.device))


@public("torch.Tensor")
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    return drawn_into(self, source_of(generator).normal(mean, std, self.shape))


@public("torch.Tensor")
def uniform_(self, a=0.0, b=1.0, *, generator=None):
    return drawn_into(self, source_of(generator).uniform(a, b, self.shape))


@public("torch.Tensor")
def random_(self, low=0, high=2**24, *, generator=None):
    return drawn_into(self, source_of(generator).integers(low, high, self.shape))


@public("torch.Tensor")
def bernoulli_(self, p=0.5, *, generator=None):
    return drawn_into(self, source_of(generator).random(self.shape) < p)
