"""Random numbers: of the same seed, those that torch draws on a CPU."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from secrets import randbits
from typing import Any

import numpy as np

from torch_over_numpy.axes import sizes_in
from torch_over_numpy.dtypes import (
    bfloat16,
    dtype,
    float16,
    float64,
    get_default_dtype,
    int64,
    uint8,
)
from torch_over_numpy.making import new
from torch_over_numpy.operations import written
from torch_over_numpy.public import public
from torch_over_numpy.tensor import CPU, Tensor, known_device


class Generator:
    """A source of random numbers: of the same seed, the numbers that torch's draws on a CPU."""

    def __init__(self, device: Any = "cpu"):
        self.device = known_device(device)
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> "Generator":
        self.source = np.random.MT19937()
        self.source._legacy_seeding(seed % 2**32)
        # normal numbers are made two at a time
        self.second_normal: float | None = None
        return self

    def seed(self) -> int:
        number = randbits(63)
        self.manual_seed(number)
        return number

    def get_state(self) -> Tensor:
        state = self.source.state["state"]
        second = np.nan if self.second_normal is None else self.second_normal
        parts = np.array([state["pos"], second]), state["key"]
        raw = b"".join(part.tobytes() for part in parts)
        return Tensor._of(np.frombuffer(raw, np.uint8).copy(), uint8, CPU)

    def set_state(self, new_state: Tensor) -> "Generator":
        raw = new_state._array.tobytes()
        (position, second), key = np.frombuffer(raw[:16]), np.frombuffer(raw[16:], KEY)
        self.second_normal = None if np.isnan(second) else float(second)
        self.source.state = {
            "bit_generator": "MT19937",
            "state": {"key": key, "pos": int(position)},
        }
        return self

    def bits(self, count: int) -> np.ndarray:
        """So many numbers of 32 bits."""
        return self.source.random_raw(count)

    def uniform(self, count: int, dtype: dtype) -> np.ndarray:
        """So many numbers between 0 and 1, of as many bits as the dtype holds."""
        if dtype is float64:
            high, low = self.bits(2 * count).reshape(count, 2).T
            return ((high << 32 | low) & (2**53 - 1)) / 2**53
        kept = {float16: 11, bfloat16: 8}.get(dtype, 24)
        return (self.bits(count) & (2**kept - 1)) / 2**kept

    def normal(self, count: int, dtype: dtype) -> np.ndarray:
        """So many numbers of the standard normal distribution."""
        if count < GROUP:
            return np.array([self.one_normal() for _ in range(count)])
        numbers = self.uniform(count, dtype)
        whole = count - count % GROUP
        numbers[:whole] = normal_of(numbers[:whole])
        if whole < count:
            numbers[-GROUP:] = normal_of(self.uniform(GROUP, dtype))
        return numbers

    def one_normal(self) -> float:
        if self.second_normal is not None:
            found, self.second_normal = self.second_normal, None
            return found
        angle, level = self.uniform(2, float64)
        radius = np.sqrt(-2 * np.log1p(-level))
        self.second_normal = float(radius * np.sin(2 * np.pi * angle))
        return float(radius * np.cos(2 * np.pi * angle))

    def below(self, most: int, count: int) -> np.ndarray:
        """So many whole numbers below a number."""
        if most < 2**32:
            return (self.bits(count) % most).astype(np.int64)
        high, low = self.bits(2 * count).reshape(count, 2).T
        return ((high << 32 | low) % most).astype(np.int64)

    def permutation(self, n: int) -> np.ndarray:
        """The numbers below n in any order."""
        order = np.arange(n)
        for i, number in enumerate(self.bits(max(n - 1, 0)).tolist()):
            other = i + number % (n - i)
            order[[i, other]] = order[[other, i]]
        return order


KEY = np.random.MT19937().state["state"]["key"].dtype
# so many normal numbers are made of uniform ones at a time
GROUP = 16


def normal_of(uniform: np.ndarray) -> np.ndarray:
    """Normal numbers, group by group: a half of each is made of cosines, the other of sines."""
    levels, angles = uniform.reshape(-1, 2, GROUP // 2).swapaxes(0, 1)
    radius, angle = np.sqrt(-2 * np.log(1 - levels)), 2 * np.pi * angles
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)


GLOBAL = Generator()
GLOBAL.seed()


@public("torch")
def manual_seed(seed):
    return GLOBAL.manual_seed(int(seed))


@public("torch")
def get_rng_state():
    return GLOBAL.get_state()


@public("torch")
def set_rng_state(new_state):
    GLOBAL.set_state(new_state)


@public("torch.random")
@contextmanager
def fork_rng(devices: Any = ()) -> Iterator[None]:
    state = GLOBAL.get_state()
    try:
        yield
    finally:
        GLOBAL.set_state(state)


def drawn(name: str, draw: Callable) -> None:
    """`randn` and `rand`, and their likes."""

    @public("torch", name=name)
    def function(*size, generator=None, dtype=None, device=None, requires_grad=False):
        wanted = dtype or get_default_dtype()
        shape = sizes_in(size)
        array = draw(generator or GLOBAL, prod(shape), wanted).reshape(shape)
        return new(array, wanted, device, requires_grad)

    @public("torch", name=f"{name}_like")
    def like(input, *, generator=None, dtype=None, device=None, requires_grad=False):
        wanted = dtype or input.dtype
        array = draw(generator or GLOBAL, input._array.size, wanted).reshape(input.shape)
        return new(array, wanted, device or input.device, requires_grad)


drawn("randn", Generator.normal)
drawn("rand", Generator.uniform)


def between(low: int, high: int, shape: Any, generator: Generator | None) -> np.ndarray:
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    count = prod(shape)
    return low + (generator or GLOBAL).below(high - low, count).reshape(tuple(shape))


@public("torch")
def randint(low, high=None, size=None, *, generator=None, dtype=None, device=None):
    if not isinstance(high, int):
        low, high, size = 0, low, high if size is None else size
    return new(between(low, high, size, generator), dtype or int64, device)


@public("torch")
def randperm(n, *, generator=None, dtype=None, device=None):
    return new((generator or GLOBAL).permutation(n), dtype or int64, device)


def drawn_into(x: Tensor, array: np.ndarray) -> Tensor:
    """The tensor itself, with these numbers."""
    return written(x, Tensor._of(x.dtype.stored(array.reshape(x.shape)), x.dtype, x.device))


@public("torch.Tensor")
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    return drawn_into(self, (generator or GLOBAL).normal(self._array.size, self.dtype) * std + mean)


def uniform_(self, a=0.0, b=1.0, *, generator=None):
    numbers = (generator or GLOBAL).uniform(self._array.size, self.dtype)
    return drawn_into(self, numbers * (b - a) + a)
