"""Exercise equivariance_gap: how far a layer is from not knowing the order of its tokens."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

exercise = Exercise.read(
    __name__,
    differentiable=False,
    generic_hints={"loops": "you loop over the tokens: an index can permute all of them at once"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(out, permuted_out, order):
    *batch, n, d = out.shape
    gaps = []
    for matrix, permuted in zip(out.reshape(-1, n, d), permuted_out.reshape(-1, n, d), strict=True):
        distance = sum((permuted[i] - matrix[order[i]]).square().sum() for i in range(n))
        gaps.append((distance / matrix.square().sum()).sqrt())
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
    norms = torch.arange(1, n + 1, dtype=torch.float64)[:, None]
    out, permuted_out = draw.normal(2, n, d) * norms, 3 * draw.normal(2, n, d)
    longer_inputs = (
        draw.normal(2, 16 * n, d),
        draw.normal(2, 16 * n, d),
        no_involution(draw, 16 * n),
    )
    yield Case(
        f"two outputs that differ, n={n}, d={d}", (out, permuted_out, order), longer=longer_inputs
    )
    yield Case(f"no batch, n={n}, d={d}", (out[0], permuted_out[0], order))
    heads = draw.normal(2, 3, n, d), draw.normal(2, 3, n, d), order
    yield Case(f"two leading axes, n={n}, d={d}", heads)
    yield Case("a layer that does not know the order", (out, out[:, order], order))
    yield Case("a layer whose outputs never move", (out, out, order))
    yield Case("a layer that is off by a hundredth", (out, 1.01 * out[:, order], order))
    nearly_permuted = (1 + 1e-7) * out[:, order]
    yield Case("a layer that is off by a ten millionth", (out, nearly_permuted, order))
    copies, noise = out[:1].repeat(64, 1, 1), 1e-8 * draw.normal(64, n, d)
    near_copies = copies, copies[:, order] + noise, order
    yield Case("64 layers that are off by a hundred millionth", near_copies)
    yield Case("outputs that are ten times as large", (out, 10 * permuted_out, order))
    yield Case("outputs a million times smaller", (1e-6 * out, 1e-6 * permuted_out, order))
    yield Case("outputs around 1e-12", (1e-12 * out, 1e-12 * permuted_out, order))
    # a square of these is too large for float32
    yield Case("outputs around 1e25", (1e25 * out, 1e25 * permuted_out, order))
    yield Case("tokens that stay in their places", (out, permuted_out, torch.arange(n)))
    single = out[:, :1, :1], permuted_out[:, :1, :1], torch.zeros_like(order[:1])
    yield Case("one token of width 1", single)


variants.right(exercise,
    "distance = difference.square().sum((-2, -1)).sqrt()\nsize = out.square().sum((-2, -1)).sqrt()",
    "distance = difference.flatten(-2).norm(dim=-1)\nsize = out.flatten(-2).norm(dim=-1)",
    # put back, instead of permuting both
    "back = torch.empty_like(out)\nback[..., order, :] = permuted_out\ndifference = back - out",
    "difference = permuted_out[..., order.argsort(), :] - out",
    "expected = torch.eye(len(order), dtype=out.dtype, device=out.device)[order] @ out",
    "distance = difference.square().mean((-2, -1)) ** 0.5\n"
    "size = out.square().mean((-2, -1)) ** 0.5",
    "return distance / (size + 1e-20)",
)  # fmt: skip
variants.wrong(exercise, {
    "you apply the inverse permutation: row i of permuted_out belongs to token order[i]": [
        "expected = out[..., order.argsort(), :]",
        "difference = permuted_out[..., order, :] - out"],
    "you permute neither f(x) nor f(x[order]), or both: permute only f(x), and compare f(x[order]) "
    "with f(x)[order]": [
        "expected = out", "difference = permuted_out[..., order, :] - expected"],
    "you permute the columns: permute the tokens, along the last axis but one": [
        "expected = out[..., order]",
        "expected = torch.cat([out[..., order], out[..., len(order) :]], dim=-1)"],
    "you permute the first axis: permute the last axis but one, where the tokens are":
        "expected = out[order]",
    messages.BATCH: [
        "expected = out[:, order]",
        "distance = torch.linalg.matrix_norm(difference, dim=(1, 2))\n"
        "size = torch.linalg.matrix_norm(out, dim=(1, 2))"],
    "the gap is not relative: divide by the norm of f(x)": "return distance",
    "you divide by the norm of f(x[order]): divide by the norm of f(x)":
        "size = torch.linalg.matrix_norm(permuted_out)",
    "you divide by the sum of both norms: divide by the norm of f(x) alone":
        "size = torch.linalg.matrix_norm(out) + torch.linalg.matrix_norm(permuted_out)",
    "the square root is missing: a norm is the square root of the sum of the squares":
        "return (distance / size) ** 2",
    "you subtract one norm from the other: take the norm of the difference instead":
        "distance = (torch.linalg.matrix_norm(permuted_out) - torch.linalg.matrix_norm(out)).abs()",
    "you sum the absolute differences without squaring them: take the Frobenius norm":
        "distance = difference.abs().sum((-2, -1))\nsize = out.abs().sum((-2, -1))",
    "only the largest difference counts: use all of them, as the Frobenius norm does":
        "distance = difference.abs().amax((-2, -1))\nsize = out.abs().amax((-2, -1))",
    "you take the spectral norm, which is the largest singular value: take the Frobenius norm, "
    "ord='fro'":
        "distance = torch.linalg.matrix_norm(difference, 2)\n"
        "size = torch.linalg.matrix_norm(out, 2)",
    "you return a gap for each token: return one number for each sequence": [
        "distance = difference.norm(dim=-1)\nsize = out.norm(dim=-1)",
        "distance = difference.norm(dim=-1)\nsize = expected.norm(dim=-1)"],
    "you average the gaps of the tokens: sum all squares of a sequence, then take one ratio":
        "distance = difference.norm(dim=-1)\nsize = expected.norm(dim=-1)\n"
        "return (distance / size).mean(-1)",
    "you add up the norms of the tokens: sum all squares of a sequence, then take one square root":
        "distance = difference.norm(dim=-1).sum(-1)\nsize = out.norm(dim=-1).sum(-1)",
    "you average the squares of the difference, but sum those of f(x): treat both alike":
        "distance = difference.square().mean((-2, -1)).sqrt()",
    "you return one number for the whole batch: give each sequence a gap of its own":
        "distance = difference.norm()\nsize = out.norm()",
    "you average the gap over the batch: give each sequence a gap of its own":
        "return (distance / size).mean()",
    "the result keeps axes of size 1: return just one number for each sequence":
        "return (distance / size)[..., None, None]",
    "you add a small number to the norm or give it a lower limit, which changes the gap of small "
    "outputs: use the norm as it is": [
        "return distance / (size + 1e-8)", "return distance / (size + 1e-6)",
        "return distance / size.clamp(min=1e-6)", "return distance / size.clamp(min=1e-10)",
        "return distance / size.clamp(min=1)"],
    "an epsilon under the square root gives a gap even where there is none: leave it out": [
        "distance = (difference.square().sum((-2, -1)) + 1e-12).sqrt()",
        "distance = (difference.square().sum((-2, -1)) + 1e-8).sqrt()\n"
        "size = (out.square().sum((-2, -1)) + 1e-8).sqrt()"],
    "you expand |a - b|², which loses digits where the gap is small: subtract first, then square":
        "squares = permuted_out.square().sum((-2, -1)) + expected.square().sum((-2, -1))\n"
        "products = (permuted_out * expected).sum((-2, -1))\n"
        "distance = (squares - 2 * products).clamp(min=0).sqrt()",
    "you set small gaps to 0: return them as they are":
        "gap = distance / size\nreturn torch.where(gap < 1e-6, 0, gap)",
    "you cap the gap: return it as it is, however large": [
        "return (distance / size).clamp(max=1)", "return (distance / size).clamp(max=2)"],
    "you return whether there is a gap: return how large it is": "return distance / size > 1e-6",
    "you return plain Python numbers: return a tensor, with one number for each sequence":
        "return (distance / size).tolist()",
    "you change an input: subtract into a new tensor":
        "permuted_out -= expected\ndifference = permuted_out",
})  # fmt: skip
