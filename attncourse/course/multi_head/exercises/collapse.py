"""Exercise collapse: how far the rows of a matrix are from all being alike."""

import torch

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "you loop over the matrices: a norm over the last two axes handles all of them at once"

exercise = Exercise.read(
    __name__,
    differentiable=False,
    generic_hints={
        "loops": LOOP,
        "loops_over_a_batch": LOOP,
        "axes_from_the_front": "the axis of the mean is counted from the front: count it from the "
        "end, where the tokens are the last axis but one",
    },
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def matrix_by_matrix(x):
    shares = []
    for matrix in x.reshape(-1, *x.shape[-2:]):
        mean = sum(matrix) / len(matrix)
        spread, total = (sum(row @ row for row in rows) for rows in (matrix - mean, matrix))
        shares.append((spread / total) ** 0.5 if total > 0 else total)
    return torch.stack(shares).reshape(x.shape[:-2])


@exercise.cases
def cases(draw):
    n, d = draw.sizes(2, 3, 7)
    x = draw.normal(2, n, d) + draw.normal(2, 1, d)
    yield Case(f"a batch of 2, n={n}, d={d}", (x,), longer=(draw.normal(32, 8 * n, d),))
    yield Case(f"one matrix without a batch, n={n}, d={d}", (x[0],))
    yield Case("four leading axes", (draw.normal(4, 5, 4, 5, 4, 3),))
    # of 7 rows no mean is exact, so a difference of squares is now above and now below 0
    alike = draw.normal(64, 1, d).expand(-1, 7, -1).contiguous()
    yield Case("64 matrices of 7 rows that are all alike", (alike,))
    yield Case("rows whose mean is zero", (x - x.mean(-2, keepdim=True),))
    yield Case("rows that nearly agree", (1 + x / 1000,))
    yield Case("rows that agree but for a ten-millionth", (1 + x / 1e7,))
    yield Case("numbers of 10^-25", (x / 1e25,))
    # no float32 holds the squares
    yield Case("numbers 10^30 times larger", (1e30 * x,))
    yield Case("one matrix of zeros among others", (torch.cat([0 * x[:1], x]),))
    yield Case("one row", (x[:, :1],))
    yield Case("rows of one number", (x[..., :1],))


SHARE = "distance / norm.masked_fill(norm == 0, 1.0)"
variants.right(exercise,
    "distance = x.var(dim=-2, correction=0).sum(-1)\n"
    "norm = x.square().mean(-2).sum(-1)\n"
    f"return ({SHARE}).sqrt()",
    "return (distance / norm).nan_to_num(0.0)",
    "distance = rest.pow(2).sum((-2, -1)).sqrt()\nreturn distance / norm.clamp(min=1e-30)",
    "n = x.shape[-2]\nrest = (torch.eye(n, dtype=x.dtype, device=x.device) - 1 / n) @ x",
    "pairs = (x.unsqueeze(-2) - x.unsqueeze(-3)).square().sum((-3, -2, -1))\n"
    "distance = (pairs / (2 * x.shape[-2])).sqrt()",
)  # fmt: skip
variants.wrong(exercise, {
    "the root is missing: divide the norms, not their squares": f"return ({SHARE}).square()",
    "you don't divide by the norm of x: rows twice as large should be just as alike":
        "return distance",
    "you subtract nothing from x: subtract the mean row": "rest = x",
    "this is the part that all rows share: measure what's left once you subtract it":
        "rest = x.mean(dim=-2, keepdim=True).expand_as(x)",
    "the result is 1 minus what it should be: equal rows should give 0":
        f"return torch.where(norm > 0, 1 - {SHARE}, 0.0)",
    "you subtract each row's own mean: subtract the mean over the rows instead": (
        "dim=-2", "dim=-1"),
    "you subtract the mean of all numbers: subtract each column's own mean": (
        "dim=-2", "dim=(-2, -1)"),
    "the mean runs over the first axis: take it over the tokens, the last axis but one": (
        "dim=-2", "dim=0"),
    "the standard deviation is the root of a mean of squares: take the root of their sum":
        "rest = x.std(-2, keepdim=True)",
    "you subtract the first row: subtract the mean of the rows, which is nearer to all of them":
        "rest = x - x[..., :1, :]",
    "you subtract the median: subtract the mean, around which the sum of squares is smallest":
        "rest = x - x.median(-2, keepdim=True).values",
    "you divide what's left by the norm of the mean rows: divide it by the norm of x":
        "shared = torch.linalg.matrix_norm(x.mean(dim=-2, keepdim=True).expand_as(x))\n"
        "return distance / shared.masked_fill(norm == 0, 1.0)",
    "you return one number for the whole batch: return one for each matrix":
        "distance = rest.norm()\nreturn distance / x.norm()",
    "you average one ratio per row: take both norms over the whole matrix":
        f"distance = rest.norm(dim=-1)\nnorm = x.norm(dim=-1)\nreturn ({SHARE}).mean(-1)",
    "the norms are taken row by row: take them over the last two axes":
        "distance = rest.norm(dim=-1)\nnorm = x.norm(dim=-1)",
    "this is not the Frobenius norm: take the root of the sum of all squares": [
        ("norm(rest)", "norm(rest, 2)", "norm(x)", "norm(x, 2)"),
        ("norm(rest)", "norm(rest, 'nuc')", "norm(x)", "norm(x, 'nuc')"),
        "distance = rest.abs().sum((-2, -1))\nnorm = x.abs().sum((-2, -1))",
        "distance = rest.abs().amax((-2, -1))\nnorm = x.abs().amax((-2, -1))"],
    "the variance divides by n - 1: take the sum of squares, or divide by n":
        f"n = x.shape[-2]\nreturn {SHARE} * (n / max(1, n - 1)) ** 0.5",
    "a matrix of zeros gives NaN: it should give 0": "return distance / norm",
    "you set a small result to 0: return it as it is":
        f"share = {SHARE}\nreturn share.masked_fill(share < 1e-6, 0.0)",
    "a matrix of zeros gives 1: it should give 0, because its rows are all alike":
        f"return torch.where(norm > 0, {SHARE}, 1.0)",
    "the epsilon is large enough to change the result: make it far smaller, or treat a norm of 0 "
    "separately": [
        f"return distance / {guarded}" for guarded in (
            "(norm + 1e-6)", "(norm + 1e-20)", "norm.clamp(min=1e-3)", "norm.clamp(min=1e-12)",
            "(norm**2 + 1e-12).sqrt()", "(norm**2 + 1e-8).sqrt()")],
    "a difference of squares may round to less than 0, and its root is NaN: subtract the mean row "
    "first, then take the norm":
        "shared = x.mean(-2).square().sum(-1) * x.shape[-2]\n"
        "distance = (x.square().sum((-2, -1)) - shared).sqrt()",
    "the last two axes are kept: return one number for each matrix":
        f"return ({SHARE})[..., None, None]",
    "you return a plain number or a list: return a tensor": f"return ({SHARE}).tolist()",
})  # fmt: skip
