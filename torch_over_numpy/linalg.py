"""Products of matrices, and what can be said of a matrix."""

import re
import string
from collections import namedtuple
from typing import Any

import numpy as np

from torch_over_numpy.absent import refuse_unless
from torch_over_numpy.axes import require_broadcast
from torch_over_numpy.dtypes import complex_of, int64
from torch_over_numpy.elementwise import BOTH, mul, sub
from torch_over_numpy.operations import computed
from torch_over_numpy.public import public
from torch_over_numpy.reductions import amax, sum, vector_norm
from torch_over_numpy.tensor import Tensor
from torch_over_numpy.views import in_shape, transposed, unsqueeze

LINALG = "torch.linalg"
# of so few numbers, to plan a product takes longer than the product
SMALL = 1000


def require_same_dtype(x: Tensor, y: Tensor) -> None:
    if x.dtype is not y.dtype:
        one, other = (each.dtype.c_name for each in (x, y))
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {one} != {other}")


def require_products(x: Tensor) -> None:
    if x.dtype.name == "bool":
        raise RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Bool'")


def product(x, y):
    """The product of two stacks of matrices."""

    def of_first(g):
        return g @ y.conj().swapaxes(-1, -2)

    def of_second(g):
        return x.conj().swapaxes(-1, -2) @ g

    return x @ y, of_first, of_second


@public(*BOTH)
def matmul(input, other):
    if not isinstance(other, Tensor):
        raise TypeError(
            f"matmul(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}"
        )
    x, y = input, other
    if not (x.ndim and y.ndim):
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {x.ndim}D and {y.ndim}D"
        )
    if x.ndim == y.ndim == 1:
        return dot(x, y)
    require_same_dtype(x, y)
    require_products(x)
    first = unsqueeze(x, 0) if x.ndim == 1 else x
    second = unsqueeze(y, 1) if y.ndim == 1 else y
    require_product_sizes(x, y, first, second)
    require_broadcast([first.shape[:-2], second.shape[:-2]])
    out = computed(product, first, second)
    if x.ndim == 1:
        out = out.squeeze(-2)
    return out.squeeze(-1) if y.ndim == 1 else out


def require_product_sizes(x: Tensor, y: Tensor, first: Tensor, second: Tensor) -> None:
    """Raise RuntimeError, in torch's words, where the first has not as many columns."""
    rows, inner, its, columns = *first.shape[-2:], *second.shape[-2:]
    if inner == its:
        return
    if first.ndim == 2 and y.ndim == 1:
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{inner}), vec ({its})")
    if second.ndim == 2 or (x.ndim == 1 and second.ndim == 2):
        count = first._array[..., 0].size if inner else rows
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({count}x{inner} and {its}x{columns})"
        )
    batch = int(np.prod(require_broadcast([first.shape[:-2], second.shape[:-2]])))
    raise RuntimeError(
        f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {inner}] but "
        f"got: [{batch}, {its}]."
    )


@public(*BOTH)
def mm(input, mat2):
    for name, one in (("self", input), ("mat2", mat2)):
        if one.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    return matmul(input, mat2)


@public(*BOTH)
def bmm(input, mat2):
    for name, one in (("batch1", input), ("batch2", mat2)):
        if one.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    require_same_dtype(input, mat2)
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{input.shape[0]}, {input.shape[2]}] but got: [{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    return matmul(input, mat2)


@public(*BOTH)
def mv(input, vec):
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {vec.ndim}")
    return matmul(input, vec)


@public(*BOTH)
def dot(input, tensor):
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.dtype is not tensor.dtype:
        one, other = (x.dtype.title for x in (input, tensor))
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {one} and {other}"
        )
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.shape[0]}] and src "
            f"[{tensor.shape[0]}] to have the same number of elements, but got {input.shape[0]} "
            f"and {tensor.shape[0]} elements respectively"
        )
    return sum(mul(input, tensor), dtype=input.dtype)


@public(*BOTH)
def outer(input, vec2):
    for one in (input, vec2):
        if one.ndim != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {'self' if one is input else 'vec2'}, but got "
                f"{one.ndim}-D"
            )
    return mul(unsqueeze(input, 1), vec2)


@public(LINALG)
def vecdot(x, y, *, dim=-1):
    return sum(mul(x, y), dim)


@public(*BOTH)
def kron(input, other):
    axes = max(input.ndim, other.ndim)
    one, two = ((1,) * (axes - x.ndim) + tuple(x.shape) for x in (input, other))
    left = in_shape(input, tuple(n for size in one for n in (size, 1)))
    right = in_shape(other, tuple(n for size in two for n in (1, size)))
    return in_shape(mul(left, right), tuple(a * b for a, b in zip(one, two, strict=True)))


@public("torch")
def tensordot(a, b, dims=2):
    if isinstance(dims, int):
        left, right = [*range(a.ndim - dims, a.ndim)], [*range(dims)]
    else:
        left, right = ([i % x.ndim for i in some] for x, some in zip((a, b), dims, strict=True))
    letters = iter(string.ascii_letters)
    one, other = [next(letters) for _ in range(a.ndim)], [next(letters) for _ in range(b.ndim)]
    for i, j in zip(left, right, strict=True):
        other[j] = one[i]
    kept = [x for i, x in enumerate(one) if i not in left]
    kept += [x for i, x in enumerate(other) if i not in right]
    return einsum(f"{''.join(one)},{''.join(other)}->{''.join(kept)}", a, b)


@public("torch")
def einsum(equation, *operands):
    some = (
        operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    )
    terms, out = written_out(equation, [x.ndim for x in some])
    require_letters(terms, out, some)
    for one in some[1:]:
        require_same_dtype(some[0], one)
    refuse_unless(
        all(len({*term}) == len(term) for term in terms) or not any(x.requires_grad for x in some),
        "a gradient of torch.einsum with a letter twice in one operand",
    )

    def einsum(*arrays):
        def of_operand(i):
            others = [a for j, a in enumerate(arrays) if j != i]
            theirs = [term for j, term in enumerate(terms) if j != i]
            shape, there = arrays[i].shape, {*out, *"".join(theirs)}
            reached = "".join(x for x in terms[i] if x in there)

            def gradient(g):
                part = sum_of_products([out, *theirs], reached, [g, *others])
                # along an axis that was summed by itself, all numbers have the same gradient
                index = tuple(slice(None) if x in there else None for x in terms[i])
                part = part[index]
                return np.broadcast_to(part, np.broadcast_shapes(part.shape, shape))

            return gradient

        return sum_of_products(terms, out, arrays), *map(of_operand, range(len(arrays)))

    return computed(einsum, *some)


def sum_of_products(terms: list[str], out: str, arrays: Any) -> np.ndarray:
    """NumPy's own einsum, of two factors at a time from left to right, as torch multiplies."""
    (term, *later), (array, *others) = terms, arrays
    if not others:
        return np.array(np.einsum(f"{term}->{out}", array))
    for place, (other, factor) in enumerate(zip(later, others, strict=True), 1):
        needed = {*out, *"".join(later[place:])}
        kept = "".join(x for x in dict.fromkeys(term + other) if x in needed)
        kept = out if place == len(later) else kept
        array = np.einsum(f"{term},{other}->{kept}", array, factor, optimize=array.size > SMALL)
        term = kept
    return np.array(array)


def written_out(equation: str, counts: list[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with some for the axes behind dots."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(counts):
        raise RuntimeError(
            "einsum(): fewer operands were provided than specified in the equation"
            if len(terms) > len(counts)
            else "einsum(): more operands were provided than specified in the equation"
        )
    free = [letter for letter in string.ascii_letters if letter not in equation]
    behind = 0
    found = []
    for i, (term, count) in enumerate(zip(terms, counts, strict=True)):
        own = len(term.replace("...", ""))
        if own > count or (own < count and "..." not in term):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({own}) "
                + ("is more than" if "..." in term else "does not match")
                + f" the number of dimensions ({count}) for operand {i}"
                + ("" if "..." in term else " and no ellipsis was given")
            )
        extra = count - own
        behind = max(behind, extra)
        found.append(term.replace("...", "".join(free[-extra:] if extra else [])))
    dots = "".join(free[-behind:] if behind else [])
    if not arrow:
        letters = sorted({*re.sub(r"[.,]", "", left)})
        right = "..." + "".join(x for x in letters if left.count(x) == 1)
    return found, right.replace("...", dots)


def require_letters(terms: list[str], out: str, operands: Any) -> None:
    sizes: dict[str, int] = {}
    for i, (term, x) in enumerate(zip(terms, operands, strict=True)):
        for letter, size in zip(term, x.shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known == 1:
                sizes[letter] = size
            elif size not in (1, known):
                raise RuntimeError(
                    f"einsum(): subscript {letter} has size {size} for operand {i} which does not "
                    f"broadcast with previously seen size {known}"
                )
    for letter in out:
        if letter not in sizes:
            raise RuntimeError(
                f"einsum(): output subscript {letter} does not appear in the equation for any "
                "input operand"
            )


# matrices


def require_square(x: Tensor, name: str) -> None:
    if x.ndim < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, but they are "
            f"{x.shape[-2]} by {x.shape[-1]} matrices"
        )


@public(LINALG)
def inv(A):
    require_square(A, "inv")

    def linalg_inv(a):
        try:
            y = np.linalg.inv(a)
        except np.linalg.LinAlgError:
            raise RuntimeError(
                "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed "
                "because the input matrix is singular."
            ) from None
        turned = y.swapaxes(-1, -2)
        return y, lambda g: -turned @ g @ turned

    return computed(linalg_inv, A)


public(*BOTH, name="inverse")(inv)


@public(LINALG)
def solve(A, B):
    require_square(A, "solve")
    if B.ndim == 1 or B.shape == A.shape[:-1]:
        return matmul(inv(A), unsqueeze(B, -1)).squeeze(-1)
    return matmul(inv(A), B)


@public(LINALG)
def matrix_power(A, n):
    require_square(A, "matrix_power")
    if n < 0:
        return matrix_power(inv(A), -n)
    if n == 0:
        eye = np.broadcast_to(np.eye(A.shape[-1], dtype=A._array.dtype), A.shape)
        return computed(lambda a: (eye.copy(), lambda g: np.zeros_like(a)), A)
    half = matrix_power(A, n // 2)
    return A if n == 1 else matmul(matmul(half, half), A) if n % 2 else matmul(half, half)


public(*BOTH, name="matrix_power")(matrix_power)


def exponential(a: np.ndarray) -> np.ndarray:
    """The sum of a square matrix's powers, each divided by its factorial."""
    # of a matrix so small, a few powers are enough; its square has the double for exponent
    halvings = max(0, int(np.ceil(np.log2(max(np.abs(a).sum(-1).max(initial=0), 1e-9)))) + 2)
    small, eye = a / 2**halvings, np.eye(a.shape[-1], dtype=a.dtype)
    out = term = np.broadcast_to(eye, a.shape)
    for i in range(1, 19):
        term = term @ small / i
        out = out + term
    for _ in range(halvings):
        out = out @ out
    return out


@public(LINALG, "torch", "torch.Tensor")
def matrix_exp(A):
    require_square(A, "matrix_exp")

    def linalg_matrix_exp(a):
        def gradient(g):
            # the exponential of this block matrix has the gradient for its upper right block
            turned, n = a.swapaxes(-1, -2), a.shape[-1]
            blocks = np.block([[turned, g], [np.zeros_like(a), turned]])
            return exponential(blocks)[..., :n, n:]

        return exponential(a), gradient

    return computed(linalg_matrix_exp, A)


@public(LINALG)
def svdvals(A):
    def svdvals(a):
        y = np.linalg.svd(a, compute_uv=False)

        def gradient(g):
            u, _, vh = np.linalg.svd(a, full_matrices=False)
            return (u * g[..., None, :]) @ vh

        return y, gradient

    return computed(svdvals, A)


def without_gradients(name: str, *tensors: Tensor) -> None:
    refuse_unless(not any(x.requires_grad for x in tensors), f"a gradient of torch.{name}")


@public(LINALG)
def svd(A, full_matrices=True):
    without_gradients("linalg.svd", A)
    found = np.linalg.svd(A._array, full_matrices=full_matrices)
    return Svd(*(Tensor._of(one, A.dtype, A.device) for one in found))


@public(*BOTH, name="svd")
def svd_of_old(input, some=True):
    u, s, vh = svd(input, full_matrices=not some)
    return OldSvd(u, s, transposed(vh))


Svd = namedtuple("linalg_svd", ["U", "S", "Vh"])
OldSvd = namedtuple("svd", ["U", "S", "V"])
Eig = namedtuple("linalg_eig", ["eigenvalues", "eigenvectors"])
Eigh = namedtuple("linalg_eigh", ["eigenvalues", "eigenvectors"])
Qr = namedtuple("linalg_qr", ["Q", "R"])


@public(LINALG)
def eigvalsh(A):
    def eigvalsh(a):
        values, vectors = np.linalg.eigh(a)
        return values, lambda g: (vectors * g[..., None, :]) @ vectors.swapaxes(-1, -2)

    return computed(eigvalsh, A)


@public(LINALG)
def eigh(A):
    without_gradients("linalg.eigh", A)
    return Eigh(*(Tensor._of(one, A.dtype, A.device) for one in np.linalg.eigh(A._array)))


@public(LINALG)
def eig(A):
    require_square(A, "eig")
    without_gradients("linalg.eig", A)
    wanted = complex_of(A.dtype)
    found = np.linalg.eig(A._array)
    return Eig(*(Tensor._of(wanted.stored(one), wanted, A.device) for one in found))


@public(LINALG)
def qr(A):
    without_gradients("linalg.qr", A)
    return Qr(*(Tensor._of(one, A.dtype, A.device) for one in np.linalg.qr(A._array)))


@public(LINALG)
def pinv(A):
    without_gradients("linalg.pinv", A)
    return computed(lambda a: (np.linalg.pinv(a),), A)


@public(LINALG)
def matrix_rank(A):
    return computed(lambda a: (np.linalg.matrix_rank(a),), A, dtype=int64)


@public(LINALG)
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False):
    if ord == "fro":
        return vector_norm(A, 2, dim, keepdim)
    refuse_unless(tuple(dim) == (-2, -1), "torch.linalg.matrix_norm(dim=) of this order")
    if ord in (1, float("inf")):
        sums = sum(A.abs(), -2 if ord == 1 else -1, keepdim)
        return amax(sums, -1, keepdim)
    values = svdvals(A)
    found = sum(values, -1, keepdim) if ord == "nuc" else amax(values, -1, keepdim)
    refuse_unless(ord in (2, "nuc"), f"torch.linalg.matrix_norm(ord={ord!r})")
    return unsqueeze(found, -1) if keepdim else found


@public(LINALG, name="norm")
def linalg_norm(A, ord=None, dim=None, keepdim=False):
    refuse_unless(dim is not None or ord is None or A.ndim < 3, "torch.linalg.norm of a batch")
    if ord is None or (isinstance(dim, int) or A.ndim == 1):
        return vector_norm(A, 2 if ord is None else ord, dim, keepdim)
    return matrix_norm(A, ord, dim or (-2, -1), keepdim)


@public("torch")
def cdist(x1, x2, p=2.0):
    apart = sub(unsqueeze(x1, -2), unsqueeze(x2, -3))
    return vector_norm(apart, p, -1)
