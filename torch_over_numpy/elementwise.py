"""Functions of each number by itself, or of the numbers at one place of several tensors."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from torch_over_numpy.absent import refuse_unless
from torch_over_numpy.axes import require_broadcast
from torch_over_numpy.dtypes import (
    BOOL,
    FLOATING,
    INTEGER,
    bool_,
    complex_of,
    dtype,
    iinfo,
    real_of,
)
from torch_over_numpy.operations import (
    computed,
    promoted,
    result_type,
    tensor_of,
)
from torch_over_numpy.public import public
from torch_over_numpy.tensor import Tensor

BOTH = "torch", "torch.Tensor"


def require_tensor(x: Any, name: str, argument: str = "input' (position 1)") -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}(): argument '{argument} must be Tensor, not {type(x).__name__}")


def unary(*homes: str, floating: bool = False) -> Callable[[Callable], Callable]:
    """A function of one number out of its rule; whole numbers become floating ones if so asked."""

    def make(rule: Callable) -> Callable:
        name = rule.__name__
        takes_bool = floating or name in ("neg", "bitwise_not")

        def function(input):
            require_tensor(input, name)
            refuse_unless(takes_bool or input.dtype.kind != BOOL, f"torch.{name} of booleans")
            x = promoted(input, floating=True)[0] if floating else input
            return computed(rule, x)

        return public(*(homes or BOTH), name=name)(function)

    return make


def binary(
    *homes: str, floating: bool = False, takes_numbers: bool = True
) -> Callable[[Callable], Callable]:
    """A function of two numbers out of its rule, in the dtype that both have in common."""

    def make(rule: Callable) -> Callable:
        name = rule.__name__

        def function(input, other):
            if not takes_numbers:
                require_tensor(other, name, "other' (position 2)")
            return paired(rule, input, other, floating=floating)

        return public(*(homes or BOTH), name=name)(function)

    return make


def paired(
    rule: Callable, *operands: Any, floating: bool = False, to: dtype | None = None
) -> Tensor:
    """The tensor that a rule makes of operands that broadcast."""
    tensors = promoted(*operands, floating=floating)
    require_broadcast([x.shape for x in tensors])
    return computed(rule, *tensors, dtype=to)


# of one number


@unary(floating=True)
def exp(x):
    y = np.exp(x)
    return y, lambda g: g * y.conj()


@unary(floating=True)
def log(x):
    return np.log(x), lambda g: g / x.conj()


@unary(floating=True)
def log2(x):
    return np.log2(x), lambda g: g / (x * math.log(2))


@unary(floating=True)
def log10(x):
    return np.log10(x), lambda g: g / (x * math.log(10))


@unary(floating=True)
def log1p(x):
    return np.log1p(x), lambda g: g / (x + 1)


@unary(floating=True)
def sqrt(x):
    y = np.sqrt(x)
    return y, lambda g: g / (2 * y)


@unary(floating=True)
def rsqrt(x):
    y = 1 / np.sqrt(x)
    return y, lambda g: -g * y**3 / 2


@unary(floating=True)
def reciprocal(x):
    y = 1 / x
    return y, lambda g: -g * (y * y).conj()


@unary(floating=True)
def sin(x):
    return np.sin(x), lambda g: g * np.cos(x)


@unary(floating=True)
def cos(x):
    return np.cos(x), lambda g: -g * np.sin(x)


@unary("torch", "torch.Tensor", "torch.nn.functional", floating=True)
def tanh(x):
    y = np.tanh(x)
    return y, lambda g: g * (1 - y * y)


@unary("torch", "torch.Tensor", "torch.nn.functional", floating=True)
def sigmoid(x):
    # exp of a negative number alone, which does not overflow
    part = np.exp(-np.abs(x))
    y = np.where(x >= 0, 1, part) / (1 + part)
    y = y.astype(x.dtype)
    return y, lambda g: g * (1 - y) * y


def error_function(x: np.ndarray) -> np.ndarray:
    return np.array([*map(math.erf, x.ravel().tolist())], x.dtype).reshape(x.shape)


@unary(floating=True)
def erf(x):
    return error_function(x), lambda g: g * 2 / math.sqrt(math.pi) * np.exp(-x * x)


@unary()
def neg(x):
    if x.dtype == np.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return -x, lambda g: -g


@public(*BOTH)
def square(input):
    return pow(input, 2)


def stepwise(name: str, step: Callable) -> None:
    """A function that is level between its steps, so that its gradient is 0."""

    def rule(x):
        zeros = np.zeros(x.shape, x.dtype)
        return step(x), lambda g: zeros

    rule.__name__ = name
    unary()(rule)


stepwise("sign", lambda x: (x > 0).astype(x.dtype) - (x < 0))
stepwise("trunc", np.trunc)
stepwise("floor", np.floor)
stepwise("ceil", np.ceil)


def positive(input):
    if input.dtype.kind == BOOL:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@unary("torch", "torch.Tensor", "torch.nn.functional")
def relu(x):
    y = np.maximum(x, 0)
    return y, lambda g: np.where(y <= 0, 0, g)


@unary()
def bitwise_not(x):
    if x.dtype.kind not in "biu":
        kind = "Double" if x.dtype == np.float64 else "Float"
        raise NotImplementedError(f"\"bitwise_not_cpu\" not implemented for '{kind}'")
    return (~x,)


def question(name: str, test: Callable) -> Callable:
    """A question to each number, answered by True or False."""

    def function(input):
        return computed(lambda x: (test(x),), input, dtype=bool_)

    return public(*BOTH, name=name)(function)


isnan = question("isnan", np.isnan)
isinf = question("isinf", np.isinf)
isfinite = question("isfinite", np.isfinite)
logical_not = question("logical_not", np.logical_not)


@public(*BOTH, name="abs")
def absolute(input):
    refuse_unless(input.dtype.kind != BOOL, "torch.abs of booleans")

    def abs(x):
        def direction(g):
            if x.dtype.kind == "c":
                return g * np.where(x == 0, 0, x / np.abs(x))
            return g * ((x > 0).astype(g.dtype) - (x < 0))

        return np.abs(x), direction

    return computed(abs, input, dtype=real_of(input.dtype))


public(*BOTH, name="absolute")(absolute)


@public(*BOTH, name="round")
def rounded(input, *, decimals=0):
    refuse_unless(input.dtype.kind != BOOL, "torch.round of booleans")
    zeros = np.zeros(input.shape)
    return computed(lambda x: (np.round(x, decimals), lambda g: zeros), input)


@public(*BOTH)
def clamp(input, min=None, max=None):
    bounds = [one for one in (min, max) if one is not None]
    if not bounds:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    x, *others = promoted(input, *bounds)
    require_broadcast([x.shape, *(one.shape for one in others)])

    def clamp(x, *bounds):
        low = bounds[0] if min is not None else None
        high = bounds[-1] if max is not None else None
        y = x if low is None else np.maximum(x, low)
        y = y if high is None else np.minimum(y, high)
        # of a number at a bound the gradient is the number's, as within
        inside = (low is None or x >= low) & (high is None or x <= high)
        gradients = [lambda g: np.where(inside, g, 0)]
        if low is not None:
            below = (x < low) & (high is None or low < high)
            gradients.append(lambda g: np.where(below, g, 0))
        if high is not None:
            above = (x > high) | (low is not None and low >= high)
            gradients.append(lambda g: np.where(above, g, 0))
        return y, *gradients

    return computed(clamp, x, *others)


public(*BOTH, name="clip")(clamp)


@public(*BOTH)
def clamp_min(input, min):
    return clamp(input, min=min)


@public(*BOTH)
def clamp_max(input, max):
    return clamp(input, max=max)


@public(*BOTH)
def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    def rule(x):
        finite = np.isfinite(x)
        y = np.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf)
        return y, lambda g: np.where(finite, g, 0)

    # what bfloat16 holds is in float32, whose largest number it does not have
    refuse_unless(input.dtype.bits >= 32 or input.dtype.kind < FLOATING, "nan_to_num of 16 bits")
    return computed(rule, input)


# of two numbers


@public(*BOTH)
def add(input, other, *, alpha=1):
    def add(x, y):
        return x + y, lambda g: g, lambda g: g

    return paired(add, input, other if alpha == 1 else mul(other, alpha))


@public(*BOTH)
def sub(input, other, *, alpha=1):
    def sub(x, y):
        return x - y, lambda g: g, lambda g: -g

    if result_type(input, other).kind == BOOL:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if any(result_type(x).kind == BOOL for x in (input, other)):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return paired(sub, input, other if alpha == 1 else mul(other, alpha))


public(*BOTH, name="subtract")(sub)


@binary()
def mul(x, y):
    return x * y, lambda g: g * y.conj(), lambda g: g * x.conj()


public(*BOTH, name="multiply")(mul)


def quotient(x, y):
    return x / y, lambda g: g / y.conj(), lambda g: -g * (x / y / y).conj()


def floored(x, y):
    require_no_zero(y)
    return (np.floor_divide(x, y),)


def truncated(x, y):
    require_no_zero(y)
    whole = x.dtype.kind in "iu"
    out = np.abs(x) // np.abs(y) * np.sign(x) * np.sign(y) if whole else np.trunc(x / y)
    return (out,)


def without_slope(rule):
    """The rule, with a gradient of 0."""

    def flat(x, y):
        zeros = np.zeros(x.shape), np.zeros(y.shape)
        return *rule(x, y), lambda g: zeros[0], lambda g: zeros[1]

    return flat


def require_no_zero(x):
    if x.dtype.kind in "biu" and not np.all(x):
        raise RuntimeError("ZeroDivisionError")


@public(*BOTH)
def div(input, other, *, rounding_mode=None):
    if rounding_mode is None:
        return paired(quotient, input, other, floating=True)
    return paired(without_slope(ROUNDING[rounding_mode]), input, other)


ROUNDING = {"floor": floored, "trunc": truncated}
public(*BOTH, name="divide")(div)


@public(*BOTH)
def floor_divide(input, other):
    return paired(floored, input, other)


@binary()
def remainder(x, y):
    require_no_zero(y)
    quotient = np.floor_divide(x, y)
    return np.remainder(x, y), lambda g: g, lambda g: -g * quotient


def power(x, y):
    whole = x.dtype.kind in "iu"
    if whole and np.any(y < 0):
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    out = x**y

    def of_base(g):
        return g * np.where(y == 0, 0, y * x ** np.where(y == 0, 1, y - 1)).conj()

    def of_exponent(g):
        return g * np.where((x == 0) & (y >= 0), 0, out * np.log(x))

    return out, of_base, of_exponent


@public(*BOTH)
def pow(input, exponent):
    return paired(power, input, exponent)


@binary(takes_numbers=False)
def maximum(x, y):
    # of two equal numbers each gets half
    share, largest = np.where(x == y, 0.5, 1), np.maximum(x, y)
    return largest, lambda g: g * share * ~(x < y), lambda g: g * share * ~(x > y)


@binary(takes_numbers=False)
def minimum(x, y):
    share, least = np.where(x == y, 0.5, 1), np.minimum(x, y)
    return least, lambda g: g * share * ~(x > y), lambda g: g * share * ~(x < y)


@binary(takes_numbers=False)
def logaddexp(x, y):
    out = np.logaddexp(x, y)
    # of -inf twice, no share is a number
    return out, lambda g: g * np.exp(x - out), lambda g: g * np.exp(y - out)


@binary("torch", "torch.Tensor", "torch.special", floating=True)
def xlogy(x, y):
    zero = (x == 0) & ~np.isnan(y)
    out = np.where(zero, 0, x * np.log(y))
    return out, lambda g: g * np.where(zero & (y <= 0), 0, np.log(y)), lambda g: g * x / y


@binary()
def heaviside(x, y):
    return np.where(x == 0, y, x > 0).astype(x.dtype), None, None


@public("torch.special")
def entr(input):
    def entr(x):
        out = np.where(x == 0, 0, np.where(x < 0, -np.inf, -x * np.log(x)))
        return out, lambda g: g * (-np.log(x) - 1)

    return computed(entr, *promoted(input, floating=True))


def whole_numbers(name: str, rule: Callable) -> Callable:
    """A function of the bits of whole numbers, or of booleans."""

    def function(input, other):
        if result_type(input, other).kind > INTEGER:
            kind = result_type(input, other).title
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{kind}'")
        return paired(lambda x, y: (rule(x, y),), input, other)

    return public(*BOTH, name=name)(function)


bitwise_and = whole_numbers("bitwise_and", np.bitwise_and)
bitwise_or = whole_numbers("bitwise_or", np.bitwise_or)
bitwise_xor = whole_numbers("bitwise_xor", np.bitwise_xor)


def comparison(compare: Callable, *names: str, takes_numbers: bool = True) -> Callable:
    """A question to two numbers, answered by True or False."""

    def function(input, other):
        if not takes_numbers:
            require_tensor(other, names[0], "other' (position 2)")
        return paired(lambda x, y: (compare(x, y),), input, other, to=bool_)

    for name in names:
        public(*BOTH, name=name)(function)
    return function


eq = comparison(np.equal, "eq")
ne = comparison(np.not_equal, "ne", "not_equal")
lt = comparison(np.less, "lt", "less")
le = comparison(np.less_equal, "le", "less_equal")
gt = comparison(np.greater, "gt", "greater")
ge = comparison(np.greater_equal, "ge", "greater_equal")
logical_and = comparison(np.logical_and, "logical_and", takes_numbers=False)
logical_or = comparison(np.logical_or, "logical_or", takes_numbers=False)


# of three


@public(*BOTH)
def lerp(input, end, weight):
    def lerp(x, y, w):
        return (
            np.where(np.abs(w) < 0.5, x + w * (y - x), y - (y - x) * (1 - w)),
            lambda g: g * (1 - w),
            lambda g: g * w,
            lambda g: g * (y - x),
        )

    if isinstance(weight, Tensor) and weight.dtype is not input.dtype:
        raise RuntimeError(
            f"expected dtype {input.dtype.c_name} for `weight` but got dtype {weight.dtype.c_name}"
        )
    if end.dtype is not input.dtype:
        raise RuntimeError(
            f"expected dtype {input.dtype.c_name} for `end` but got dtype {end.dtype.c_name}"
        )
    return paired(lerp, input, end, weight)


@public(*BOTH)
def addcmul(input, tensor1, tensor2, *, value=1):
    return add(input, mul(mul(tensor1, tensor2), value))


def choice(condition, x, y):
    out = np.where(condition, x, y)
    return out, None, lambda g: np.where(condition, g, 0), lambda g: np.where(condition, 0, g)


def chosen(condition: Tensor, input: Any, other: Any) -> Tensor:
    x, y = promoted(input, other)
    require_broadcast([condition.shape, x.shape, y.shape])
    return computed(choice, condition, x, y, dtype=x.dtype)


@public(*BOTH)
def masked_fill(input, mask, value):
    if mask.dtype is not bool_:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.c_name}"
        )
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)."
        )
    if overflows(value, input.dtype):
        raise RuntimeError(
            f"value cannot be converted to type {input.dtype.c_name} without overflow"
        )
    require_broadcast([input.shape, mask.shape])
    filling = tensor_of(value, input.dtype)
    return computed(choice, mask, filling, input, dtype=input.dtype)


def overflows(value: Any, wanted: dtype) -> bool:
    """Whether a number does not fit into a dtype."""
    number = value.item() if isinstance(value, Tensor) else value
    if wanted.kind >= FLOATING:
        return bool(np.isfinite(number) and not np.isfinite(wanted.stored(number)))
    if wanted.kind == BOOL:
        return False
    limits = iinfo(wanted)
    return not limits.min <= number <= limits.max


@public(*BOTH)
def conj(input):
    return computed(lambda x: (x.conj(), lambda g: g.conj()), input)


@public(*BOTH)
def resolve_conj(input):
    return input


@public("torch")
def complex(real, imag):
    def rule(x, y):
        return x + 1j * y, lambda g: g.real, lambda g: g.imag

    return computed(rule, real, imag, dtype=complex_of(real.dtype))


@public("torch")
def polar(abs, angle):
    return complex(mul(abs, cos(angle)), mul(abs, sin(angle)))


@public("torch")
def real(input):
    return parts_of(input, "real") if input.dtype.is_complex else input


@public("torch")
def imag(input):
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return parts_of(input, "imag")


def parts_of(x: Tensor, part: str) -> Tensor:
    """The real or the imaginary parts."""

    def rule(a):
        factor = 1 if part == "real" else 1j
        return getattr(a, part).copy(), lambda g: g * factor

    return computed(rule, x, dtype=real_of(x.dtype))


for word, function in {"real": real, "imag": imag}.items():
    setattr(Tensor, word, property(function))


@public(*BOTH)
def is_floating_point(input):
    return input.dtype.is_floating_point


@public(*BOTH)
def is_complex(input):
    return input.dtype.is_complex
