"""Exercise footprint: which inputs reach which outputs of a layer, seen by its gradient."""

import torch

from attncourse.course.convolution.exercises.shared.layers import LAYERS
from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    differentiable=False,
    without={"loops": "a derivative for each output may be taken in a loop"},
)
exercise.valid(variants.worked(exercise))


def point(n, d, seed=0):
    """A random input, of which no number is special."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=generator, dtype=torch.float64)


@exercise.reference
def number_by_number(layer, n, d):
    x = point(n, d).requires_grad_()
    out = layer(x)
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for c in range(d):
            (gradient,) = torch.autograd.grad(out[i, c], x, retain_graph=True)
            mask[i] |= (gradient != 0).any(dim=-1)
    return mask


@exercise.cases
def cases(draw):
    *layers, (last_about, last_layer) = LAYERS.items()
    for about, layer in layers:
        n = draw.integer(4, 5)
        yield Case(f"{about}, n={n}, d=2", (layer, n, 2))
    yield Case("one position, d=1", (LAYERS["a convolution of 3 taps"], 1, 1))
    yield Case(f"{last_about}, n=3, d=4", (last_layer, 3, 4))


@exercise.valid
def output_by_output(layer, n, d):
    rows = []
    for i in range(n):
        x = point(n, d, seed=1).requires_grad_()
        # weights of their own: then the columns do not cancel
        (layer(x)[i] * torch.arange(1.0, d + 1)).sum().backward()
        rows.append(x.grad.abs().sum(dim=-1) > 0)
    return torch.stack(rows)


# what one position after the other moves along
MOVES = "moves = [one * point(1, d, seed=2) for one in torch.eye(n, dtype=x.dtype)[..., None]]"
variants.right(
    exercise,
    "x = point(n, d, seed=5).float()\nreaches = jacobian.abs() > 0",
    f"x = point(n, d)\n{MOVES}\n"
    "jacobian = torch.stack([torch.autograd.functional.jvp(layer, x, one)[1] for one in moves])\n"
    "return reaches.any(dim=-1).T",
)  # fmt: skip
variants.wrong(exercise, {
    "derivatives are added up, and may cancel: ask whether any of a position's is not 0": [
        "reaches = jacobian.sum(1) != 0\nreturn reaches.any(dim=-1)",
        "reaches = jacobian.sum(3) != 0\nreturn reaches.any(dim=1)",
        "return jacobian.sum((1, 3)) != 0",
        ("(layer, x)", "(lambda x: layer(x).square().sum(-1), x)",
         ".any(dim=3).any(dim=1)", ".any(dim=-1)")],
    "here every derivative has to differ from 0: one of the d x d should be enough": (
        every("any"), "all"),
    "negative derivatives are left out: ask only whether each is 0":
        "reaches = jacobian > 0",
    "a derivative of 1e-30 goes unseen: look at each one, in float32 or float64, and without a "
    "threshold, a square, or a difference of outputs": [
        "reaches = jacobian.abs() > 1e-4", "reaches = jacobian.square() > 0",
        "x = point(n, d).half()",
        f"x = point(n, d)\n{MOVES}\n"
        "jacobian = torch.stack([layer(x + one) - layer(x) for one in moves])\n"
        "return reaches.any(dim=-1).T"],
    "each column is compared with the same column alone: any of the d x d derivatives should count":
        "reaches = jacobian.diagonal(dim1=1, dim2=3) != 0\nreturn reaches.any(dim=-1)",
    "row and column are exchanged: entry [i, j] should be for output i and input j":
        "return reaches.any(dim=3).any(dim=1).T",
    "positions and columns are mixed up: of (n, d, n, d), the second and last are columns":
        "return reaches.any(dim=2).any(dim=0)",
    "the point is all zeros, where a square or product has no slope: draw it at random":
        "x = torch.zeros(n, d)",
    "all positions hold the same, where differences have no slope: draw them at random":
        "x = torch.ones(n, d)",
    "the columns hold the same, so their difference has no slope: draw n * d numbers":
        "x = point(n, 1).repeat(1, d)",
    "the point is always of the same width: it should hold n vectors of d numbers":
        "x = point(n, 2)",
    "only the first column of the outputs is looked at: any of them should count":
        "reaches = jacobian[:, :1] != 0",
    "only the first column of the inputs is looked at: any of them should count":
        "reaches = jacobian[..., :1] != 0",
    "all outputs are taken at once, so every row is the same: ask one output at a time": (
        "(layer, x)", "(lambda x: layer(x).square().sum(), x)",
        ".any(dim=3).any(dim=1)", ".any(dim=-1).expand(n, n)"),
    "the global random numbers change: draw from a generator of your own": "x = torch.randn(n, d)",
    "these are magnitudes of derivatives: return True or False": [
        "return jacobian.abs().sum((1, 3))",
        "x = point(n, d)\nreturn jacobian.abs().sum((1, 3))"],
})  # fmt: skip
variants.wrong(exercise, {
    "gradients accumulate in x.grad, so an output finds what the last one left: start each anew": (
        "        x = point(n, d, seed=1).requires_grad_()\n", "",
        "    rows = []", "    rows, x = [], point(n, d).requires_grad_()"),
}, of=output_by_output)  # fmt: skip
