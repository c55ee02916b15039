"""Exercise equivariance_gap: how far a layer is from not knowing the order of its tokens."""

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    differentiable=False,
    usual_hints={"loops": "it loops over the tokens: an index permutes all of them at once"},
)


@exercise.reference
def by_hand(out, permuted_out, order):
    *batch, n, d = out.shape
    gaps = []
    for one, other in zip(out.reshape(-1, n, d), permuted_out.reshape(-1, n, d), strict=True):
        apart = sum((other[i] - one[order[i]]).square().sum() for i in range(n))
        gaps.append((apart / one.square().sum()).sqrt())
    return torch.stack(gaps).reshape(batch)


def no_involution(draw, n):
    """A permutation that is not its own inverse."""
    order = torch.randperm(n, generator=draw.generator)
    while order.equal(order.argsort()):
        order = torch.randperm(n, generator=draw.generator)
    return order


@exercise.cases
def cases(draw):
    n = draw.integer(5, 6)
    d = n + draw.integer(1, 2)
    order = no_involution(draw, n)
    # norms that differ by more than chance, between outputs and from token to token
    sizes = torch.arange(1, n + 1, dtype=torch.float64)[:, None]
    out, other = draw.normal(2, n, d) * sizes, 3 * draw.normal(2, n, d)
    long = draw.normal(2, 16 * n, d), draw.normal(2, 16 * n, d), no_involution(draw, 16 * n)
    yield Case(f"two outputs that differ, n={n}, d={d}", (out, other, order), longer=long)
    yield Case(f"no batch, n={n}, d={d}", (out[0], other[0], order))
    heads = draw.normal(2, 3, n, d), draw.normal(2, 3, n, d), order
    yield Case(f"two leading axes, n={n}, d={d}", heads)
    yield Case("a layer that does not know the order", (out, out[:, order], order))
    yield Case("a layer whose outputs never move", (out, out, order))
    yield Case("a layer that is off by a hundredth", (out, 1.01 * out[:, order], order))
    almost = (1 + 1e-7) * out[:, order]
    yield Case("a layer that is off by a ten millionth", (out, almost, order))
    many, noise = out[:1].repeat(64, 1, 1), 1e-8 * draw.normal(64, n, d)
    nearly = many, many[:, order] + noise, order
    yield Case("64 layers that are off by a hundred millionth", nearly)
    yield Case("outputs that are ten times as large", (out, 10 * other, order))
    yield Case("outputs a million times smaller", (1e-6 * out, 1e-6 * other, order))
    yield Case("outputs around 1e-12", (1e-12 * out, 1e-12 * other, order))
    # a square of these is too large for float32
    yield Case("outputs around 1e25", (1e25 * out, 1e25 * other, order))
    yield Case("tokens that stay in their places", (out, other, torch.arange(n)))
    single = out[:, :1, :1], other[:, :1, :1], torch.zeros_like(order[:1])
    yield Case("one token of width 1", single)


@exercise.valid
def plain(out, permuted_out, order):
    want = out[..., order, :]
    apart = permuted_out - want
    far = apart.square().sum((-2, -1)).sqrt()
    size = out.square().sum((-2, -1)).sqrt()
    gap = far / size
    return gap


WANT, APART = "out[..., order, :]", "permuted_out - want"
SUM, NORM = "sum((-2, -1))", ".square().sum((-2, -1)).sqrt()"
FROBENIUS = (
    *(f"apart{NORM}", "torch.linalg.matrix_norm(apart)"),
    *(f"out{NORM}", "torch.linalg.matrix_norm(out)"),
)
EYE = "torch.eye(len(order), dtype=out.dtype, device=out.device)"
variants.right(exercise,
    FROBENIUS, (every(NORM), ".flatten(-2).norm(dim=-1)"),
    # put back, instead of permuting both
    (APART, "torch.empty_like(out)\n    apart[..., order, :] = permuted_out\n    apart -= out"),
    (APART, "permuted_out[..., order.argsort(), :] - out"), (WANT, f"{EYE}[order] @ out"),
    (every(NORM), ".square().mean((-2, -1)) ** 0.5"), ("/ size", "/ (size + 1e-20)"),
)  # fmt: skip

RETURN = "return gap"
variants.wrong(exercise, {
    "the permutation is the inverse one: row i of the permuted output belongs to order[i]": [
        (WANT, "out[..., order.argsort(), :]"), (APART, "permuted_out[..., order, :] - out")],
    "permute only f(x): compare f(x[order]), as it is given, with f(x)[order]": [
        (WANT, "out"), (APART, "permuted_out[..., order, :] - want")],
    "the width is permuted: the tokens lie on the last axis but one": [(WANT, "out[..., order]"),
            (WANT, "torch.cat([out[..., order], out[..., len(order) :]], dim=-1)")],
    "the first axis is permuted: the tokens lie on the last axis but one": (WANT, "out[order]"),
    hints.BATCH: [(WANT, "out[:, order]"), (every("(-2, -1)"), "(1, 2)")],
    "the gap is not relative: divide by the norm of f(x)": (" / size", ""),
    "it is divided by the norm of f(x[order]): divide by that of f(x)": (
        "size = out", "size = permuted_out"),
    "it is divided by the sum of both norms: divide by that of f(x)": (
        "/ size", f"/ (size + permuted_out{NORM})"),
    "the root is missing: a norm is the root of the sum of squares": (RETURN, "return gap**2"),
    "the norms are subtracted: take the norm of the difference": (
        "far / size", f"(permuted_out{NORM} - size).abs() / size"),
    "the differences are summed without squares: take the Frobenius norm": (
        every(NORM), ".abs().sum((-2, -1))"),
    "only the largest difference counts: in the Frobenius norm all of them do": (
        every(NORM), ".abs().amax((-2, -1))"),
    "this is the spectral norm, the largest singular value: ord='fro' takes all": (
        *FROBENIUS, "norm(apart)", "norm(apart, 2)", "norm(out)", "norm(out, 2)"),
    "each token has its own gap: return one number for each sequence": [
        (every("(-2, -1)"), "-1"), (every("(-2, -1)"), "-1", "size = out", "size = want")],
    "the gaps of the tokens are averaged: sum all squares, then take one ratio": (
        every("(-2, -1)"), "-1", "size = out", "size = want", RETURN, "return gap.mean(-1)"),
    "the norms of the tokens are added up: sum all squares, then take one root": (
        every(NORM), ".square().sum(-1).sqrt().sum(-1)"),
    "the difference is averaged and the norm of f(x) is not: treat both equally": (
        "apart.square().sum", "apart.square().mean"),
    "the whole batch makes one number: each sequence has a gap of its own": (every(SUM), "sum()"),
    "it is averaged over the batch: each sequence has a gap of its own": (
        RETURN, "return gap.mean()"),
    "axes of size 1 are left over: return one number for each sequence": (
        RETURN, "return gap[..., None, None]"),
    "the epsilon, or the floor, is large enough to show where the outputs are small": [
        ("/ size", "/ (size + 1e-8)"), ("/ size", "/ (size + 1e-6)"),
        ("/ size", "/ size.clamp(min=1e-6)"), ("/ size", "/ size.clamp(min=1e-10)"),
        ("/ size", "/ size.clamp(min=1)")],
    "an epsilon under the root makes a gap where there is none: leave it out": [
        (f"apart.square().{SUM}", f"apart.square().{SUM}.add(1e-12)"),
        (every(SUM), f"{SUM}.add(1e-8)")],
    "|a - b|² is expanded, and digits are lost where the gap is small: subtract, then square": (
        f"apart{NORM}", f"(permuted_out.square().{SUM} + want.square().{SUM}"
        f" - 2 * (permuted_out * want).{SUM}).clamp(min=0).sqrt()"),
    "a small gap is set to 0: return it as it is": (
        RETURN, "return torch.where(gap < 1e-6, 0, gap)"),
    "the gap is cut off at the top: return it as it is": [
        (RETURN, "return gap.clamp(max=1)"), (RETURN, "return gap.clamp(max=2)")],
    "it says whether there is a gap: say how large it is": (RETURN, "return gap > 1e-6"),
    "it gives a plain number: return a tensor, one number for each sequence": (
        RETURN, "return gap.tolist()"),
    "an input changes: subtract into a new tensor": (APART, "permuted_out\n    apart -= want"),
})  # fmt: skip
