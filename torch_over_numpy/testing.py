"""torch.testing: whether two tensors are close."""

from typing import Any

from torch_over_numpy.making import as_tensor
from torch_over_numpy.operations import cast
from torch_over_numpy.public import public
from torch_over_numpy.search import isclose
from torch_over_numpy.tensor import Tensor

# by dtype, the relative and the absolute difference that is allowed
TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


def tolerances(dtypes: list[Any]) -> tuple[float, float]:
    """The largest of those of some dtypes; whole numbers are to be equal."""
    some = [TOLERANCES.get(each.name, (0.0, 0.0)) for each in dtypes]
    return max(relative for relative, _ in some), max(absolute for _, absolute in some)


@public("torch.testing")
def assert_close(
    actual, expected, *, rtol=None, atol=None, equal_nan=False, check_device=True,
    check_dtype=True, msg=None,
):  # fmt: skip
    if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
        if len(actual) != len(expected):
            raise AssertionError(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            )
        for one, other in zip(actual, expected, strict=True):
            assert_close(
                one, other, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device,
                check_dtype=check_dtype, msg=msg,
            )  # fmt: skip
        return
    if isinstance(actual, Tensor) != isinstance(expected, Tensor):
        raise TypeError(
            "No comparison pair was able to handle inputs of type "
            f"{type(actual)} and {type(expected)}."
        )
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    one, other = as_tensor(actual), as_tensor(expected)
    if problem := mismatch(one, other, rtol, atol, equal_nan, check_device, check_dtype):
        raise AssertionError(msg or problem)


def mismatch(
    one: Tensor, other: Tensor, rtol: Any, atol: Any, equal_nan: bool, device: bool, dtype: bool
) -> str | None:
    """How two tensors differ by more than is allowed, if they do."""
    if one.shape != other.shape:
        return f"The values for attribute 'shape' do not match: {one.shape} != {other.shape}."
    if device and one.device != other.device:
        return f"The values for attribute 'device' do not match: {one.device} != {other.device}."
    if dtype and one.dtype is not other.dtype:
        return f"The values for attribute 'dtype' do not match: {one.dtype} != {other.dtype}."
    if rtol is None:
        rtol, atol = tolerances([one.dtype, other.dtype])
    common = one.dtype if one.dtype.kind >= other.dtype.kind else other.dtype
    wrong = ~isclose(cast(one, common), cast(other, common), rtol, atol, equal_nan)
    count = int(wrong.sum())
    if not count:
        return None
    close = "close" if rtol or atol else "equal"
    return (
        f"Tensor-likes are not {close}!\n\nMismatched elements: {count} / {wrong.numel()} "
        f"({100 * count / wrong.numel():.1f}%)"
    )
