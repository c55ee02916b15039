"""The dtypes, what each holds exactly, and the dtype of a result: the rules of promotion."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

BOOL, INTEGER, FLOATING, COMPLEX = range(4)


def rounded_to_bits(exponent_bits: int, fraction_bits: int, largest: float) -> Callable:
    """Rounds float32 numbers to those that so few bits hold, ties to even."""
    least_exponent = 2 - 2 ** (exponent_bits - 1)

    def rounded(x: np.ndarray) -> np.ndarray:
        _, exponent = np.frexp(x)
        # the distance of two numbers of this size; of the smallest it is the same
        step = np.ldexp(np.float64(1), np.maximum(exponent - 1, least_exponent) - fraction_bits)
        near = np.rint(x / step) * step
        out = np.where(np.abs(near) > largest, np.copysign(np.inf, x), near)
        return np.where(np.isfinite(x), out, x).astype(np.float32)

    return rounded


def unrounded(x: np.ndarray) -> np.ndarray:
    return x


class dtype:
    """The kind of number that a tensor holds, in arrays of one of NumPy's dtypes.

    What NumPy does not have is held in float32, and rounded after each operation.
    """

    def __init__(
        self, name: str, kind: int, storage: Any, bits: int, rounded: Callable = unrounded
    ):
        self.name, self.kind, self.storage, self.bits = name, kind, np.dtype(storage), bits
        self.rounded = rounded

    @property
    def title(self) -> str:
        """As names of classes have it, and errors of kernels."""
        return TITLES[self.name]

    @property
    def c_name(self) -> str:
        """As errors of C++ name it."""
        return C_NAMES.get(self.name, self.name)

    @property
    def is_floating_point(self) -> bool:
        return self.kind == FLOATING

    @property
    def is_complex(self) -> bool:
        return self.kind == COMPLEX

    @property
    def itemsize(self) -> int:
        return max(1, self.bits // 8)

    def stored(self, array: Any) -> np.ndarray:
        """The numbers as a tensor of this dtype holds them."""
        if self.rounded is unrounded and getattr(array, "dtype", None) is self.storage:
            return np.asarray(array)
        with np.errstate(all="ignore"):
            return self.rounded(np.asarray(array, dtype=self.storage))

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


TITLES = {
    "float64": "Double", "float32": "Float", "float16": "Half", "bfloat16": "BFloat16",
    "float8_e5m2": "Float8_e5m2", "float8_e4m3fn": "Float8_e4m3fn", "int64": "Long",
    "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip
C_NAMES = {
    "float64": "double", "float32": "float", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "int64": "long long", "int32": "int", "int16": "short", "int8": "signed char",
    "uint8": "unsigned char", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip

bool_ = dtype("bool", BOOL, np.bool_, 1)
uint8 = dtype("uint8", INTEGER, np.uint8, 8)
int8 = dtype("int8", INTEGER, np.int8, 8)
int16 = dtype("int16", INTEGER, np.int16, 16)
int32 = dtype("int32", INTEGER, np.int32, 32)
int64 = dtype("int64", INTEGER, np.int64, 64)
float8_e5m2 = dtype("float8_e5m2", FLOATING, np.float32, 8, rounded_to_bits(5, 2, 57344))
float8_e4m3fn = dtype("float8_e4m3fn", FLOATING, np.float32, 8, rounded_to_bits(4, 3, 448))
float16 = dtype("float16", FLOATING, np.float32, 16, rounded_to_bits(5, 10, 65504))
bfloat16 = dtype("bfloat16", FLOATING, np.float32, 16, rounded_to_bits(8, 7, 3.3895313892515355e38))
float32 = dtype("float32", FLOATING, np.float32, 32)
float64 = dtype("float64", FLOATING, np.float64, 64)
complex64 = dtype("complex64", COMPLEX, np.complex64, 64)
complex128 = dtype("complex128", COMPLEX, np.complex128, 128)

DTYPES = {
    one.name: one
    for one in (
        bool_, uint8, int8, int16, int32, int64, float8_e5m2, float8_e4m3fn, float16, bfloat16,
        float32, float64, complex64, complex128,
    )
}  # fmt: skip
OTHER_NAMES = {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32,
    "long": int64,
}  # fmt: skip
# the numbers that each kind of number in Python is taken for
OF_NUMPY = {one.storage: one for one in DTYPES.values() if one.rounded is unrounded}
OF_NUMPY[np.dtype(np.float16)] = float16


class Default:
    """The dtype of floating numbers that nobody has given another."""

    dtype = float32


def get_default_dtype() -> dtype:
    return Default.dtype


def set_default_dtype(d: dtype) -> None:
    Default.dtype = d


def of_number(number: Any) -> dtype:
    """The dtype of a number of Python's."""
    if isinstance(number, bool):
        return bool_
    if isinstance(number, int):
        return int64
    if isinstance(number, complex):
        return complex_of(Default.dtype)
    return Default.dtype


def complex_of(one: dtype) -> dtype:
    """The complex dtype whose parts are of this one."""
    return complex128 if one is float64 else complex64


def real_of(one: dtype) -> dtype:
    """The dtype of the parts of a complex number."""
    return {complex64: float32, complex128: float64}.get(one, one)


def promote_types(one: dtype, other: dtype) -> dtype:
    """The smallest dtype of the higher kind that holds what both do."""
    if one is other:
        return one
    low, high = sorted((one, other), key=lambda each: (each.kind, each.bits))
    if COMPLEX == high.kind and low.kind == FLOATING:
        return complex_of(float64 if float64 in (low, real_of(high)) else float32)
    if high.kind != low.kind:
        return high
    if high.kind == INTEGER and uint8 in (low, high):
        # one bit more, for the sign
        return int16 if {low, high} == {uint8, int8} else high
    # of two with 16 bits each holds what the other does not
    return float32 if low.bits == high.bits else high


class Operand(NamedTuple):
    """What promotion asks of an operand: its dtype, and whether it is as weighty as a tensor.

    A number of Python's weighs less than a tensor without axes, and that less than one with axes.
    """

    dtype: dtype
    weight: int


NUMBER, ZERO_DIM, DIMENSIONED = range(3)


def result_type_of(operands: list[Operand]) -> dtype:
    """The dtype of a result: what weighs less only counts where its kind is higher."""
    found: dtype | None = None
    for weight in (DIMENSIONED, ZERO_DIM, NUMBER):
        some = [one.dtype for one in operands if one.weight == weight]
        if not some:
            continue
        lighter = some[0]
        for each in some[1:]:
            lighter = promote_types(lighter, each)
        if found is None:
            found = lighter
        elif lighter.kind > found.kind:
            is_wider = lighter.kind == COMPLEX and found.kind == FLOATING
            found = complex_of(found) if is_wider else promote_types(found, lighter)
    assert found is not None
    return found


class finfo:
    """The limits of a floating dtype."""

    def __init__(self, type: dtype | None = None):
        self.dtype = type or Default.dtype
        if self.dtype.rounded is unrounded:
            limits = np.finfo(real_of(self.dtype).storage)
            found = limits.eps, limits.tiny, limits.max
        else:
            found = SMALL_LIMITS[self.dtype]
        self.eps, self.tiny, self.max = map(float, found)
        self.smallest_normal, self.min, self.bits = self.tiny, -self.max, self.dtype.bits


SMALL_LIMITS = {
    float16: (2**-10, 2**-14, 65504),
    bfloat16: (2**-7, 2**-126, 3.3895313892515355e38),
    float8_e5m2: (2**-2, 2**-14, 57344),
    float8_e4m3fn: (2**-3, 2**-6, 448),
}


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, type: dtype):
        limits = np.iinfo(type.storage)
        self.min, self.max, self.bits, self.dtype = limits.min, limits.max, limits.bits, type.name
