"""Exercise residual_block: a feed-forward part in a residual, normalised before or after."""

import torch
from torch.nn.functional import layer_norm, linear, relu

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

BIASED = "the variance is divided by d - 1: divide by d, as LayerNorm does, with correction=0"
INSIDE = "1e-5 is added to the root: add it to the variance, under the root"
exercise = Exercise.read(
    __name__,
    generic_hints={"loops": "it loops over the tokens: let each line work on all of them at once"},
)
exercise.valid(variants.worked(exercise))


def norm_by_hand(y, scale, shift):
    """LayerNorm of one token."""
    mean = sum(y) / len(y)
    variance = sum((number - mean) ** 2 for number in y) / len(y)
    return (y - mean) / (variance + 1e-5) ** 0.5 * scale + shift


@exercise.reference
def token_by_token(x, scale, shift, w_up, w_down, pre=True):
    rows = []
    for y in x.reshape(-1, x.shape[-1]):
        inner = norm_by_hand(y, scale, shift) if pre else y
        out = y + w_down @ (w_up @ inner).relu()
        rows.append(out if pre else norm_by_hand(out, scale, shift))
    return torch.stack(rows).reshape(x.shape)


def parameters(draw, d, d_ff):
    """scale, shift, w_up and w_down."""
    return 1 + draw.normal(d) / 4, draw.normal(d), draw.normal(d_ff, d), draw.normal(d, d_ff)


@exercise.cases
def cases(draw):
    n, d, d_ff = draw.sizes(3, 4, 8)
    x, weights = draw.normal(2, n, d), parameters(draw, d, d_ff)
    longer = draw.normal(2, 32 + n, d), *weights
    sizes = f"n={n}, d={d}, d_ff={d_ff}"
    yield Case(f"pre-norm, a batch of 2, {sizes}", (x, *weights), longer=longer)
    yield Case(f"post-norm, a batch of 2, {sizes}", (x, *weights, False), longer=(*longer, False))
    yield Case(f"pre-norm, no batch, {sizes}", (x[0], *weights))
    yield Case(f"post-norm, no batch, {sizes}", (x[0], *weights, False))
    yield Case("two leading axes", (draw.normal(2, 3, n, d), *weights))
    yield Case("as many tokens as numbers", (draw.normal(2, d, d), *weights))
    yield Case("post-norm by name, two leading axes", (draw.normal(2, 3, n, d), *weights),
               {"pre": False})  # fmt: skip
    yield Case("numbers a thousand times smaller", (x / 1e3, *weights))
    yield Case("numbers around 1000", (1000 + x, *weights))
    yield Case("tokens whose numbers are all alike", (0 * x + 0.5, *weights))
    yield Case("one token", (x[:, :1], *weights))
    yield Case("post-norm, one token", (x[:, :1], *weights, False))
    yield Case("width 1", (x[..., :1], *parameters(draw, 1, 3)))


@exercise.valid
def written_in_one_line_each(x, scale, shift, w_up, w_down, pre=True):
    read = layer_norm(x, scale.shape, scale, shift) if pre else x
    total = x + linear(relu(linear(read, w_up)), w_down)
    return total if pre else layer_norm(total, scale.shape, scale, shift)


VARIANCE, ROOT = "rest.square().mean(dim=-1, keepdim=True)", "(variance + 1e-5).sqrt()"
PRE, POST, PART = "x + part(norm(x))", "norm(x + part(x))", "(y @ w_up.T).relu() @ w_down.T"
variants.right(exercise,
    (VARIANCE, "y.var(-1, keepdim=True, correction=0)", ROOT, "(variance + 1e-5) ** 0.5",
     PART, 'torch.einsum("...f,df->...d", torch.einsum("...d,fd->...f", y, w_up).relu(), w_down)'),
    (f"rest / {ROOT}", "rest * torch.rsqrt(variance + 1e-5)",
     ".relu()", ".clamp(min=0)"),
)  # fmt: skip
variants.wrong(exercise, {
    "pre and post are exchanged: pre-norm should normalise what the part reads, and add to "
    "x itself": (
        "if pre", "if not pre"),
    "pre makes no difference: where it is False, normalise the sum": ("if pre", "if True"),
    "pre makes no difference: where it is True, normalise only what the part reads": (
        "if pre", "if False"),
    "pre-norm leaves x out: add the part's result to x": (PRE, "part(norm(x))"),
    "post-norm leaves x out of the sum: it should be norm(x + part(x))": (POST, "norm(part(x))"),
    "pre-norm adds to the normalised x: let the residual stream go on as it came": (
        PRE, "norm(x) + part(norm(x))"),
    "pre-norm normalises what the part gives: normalise what the part reads": (
        PRE, "x + norm(part(x))"),
    "in pre-norm the part reads x itself: let it read norm(x)": (
        PRE, "x + part(x)"),
    "post-norm normalises only what the part gives: take the norm of the sum": (
        POST, "x + norm(part(x))"),
    "post-norm normalises twice: let the part read x as it came": (POST, "norm(x + part(norm(x)))"),
    "post-norm has no norm: put the sum x + part(x) through it": (POST, "x + part(x)"),
    "pre-norm normalises the sum as well: leave the sum of x and the part's result as it is": (
        PRE, "norm(x + part(norm(x)))"),
    "the norm runs over the tokens: give each token a mean and a variance of its own": (
        every("dim=-1"), "dim=-2"),
    "the norm runs over all tokens at once: give each a mean and a variance of its own": [
        (every("dim=-1"), "dim=(-2, -1)"), (every("dim=-1, keepdim=True"), "")],
    BIASED: (VARIANCE, "y.var(-1, keepdim=True)"),
    "the mean is not taken away: take it away first": ("rest = y -", "rest = y - 0 *"),
    "it divides by the variance: divide by its root": (".sqrt()", ""),
    "1e-5 is missing: add it, or a token whose numbers are alike is divided by 0": (" + 1e-5", ""),
    INSIDE: (ROOT, "(variance.sqrt() + 1e-5)"),
    "the variance is divided by d - 1, and the epsilon is added to its root: divide by d, and add "
    "1e-5 under the root": [
        (VARIANCE, "y.var(-1, keepdim=True)", ROOT, f"(variance.sqrt() + {small})")
        for small in ("1e-6", "1e-5")],
    "the epsilon has another size: it should be 1e-5": [
        ("1e-5", size) for size in ("1e-6", "1e-8", "1e-3")],
    "scale is not used: the norm should multiply by it": (" * scale", ""),
    "shift is not used: the norm should add it": (" + shift", ""),
    "shift is added before scale multiplies: multiply by scale first, then add shift": (
        f"rest / {ROOT} * scale + shift", f"(rest / {ROOT} + shift) * scale"),
    "scale multiplies as 1 + scale: it should be the whole factor": ("* scale", "* (1 + scale)"),
    "the relu is missing: between the two matrices, negative numbers should become 0":
        (".relu()", ""),
    "the relu comes last: put it between the two matrices": (
        PART, "(y @ w_up.T @ w_down.T).relu()"),
    "another activation stands between the two matrices: take a relu": (
        "(y @ w_up.T).relu()", "torch.nn.functional.gelu(y @ w_up.T)"),
    "no gradient reaches the norm's mean: don't detach anything": ("y - y.m", "y - y.detach().m"),
    "no gradient reaches the norm's mean and variance: don't detach anything": (
        "y - y.m", "y - y.detach().m", "(variance +", "(variance.detach() +"),
    "the variance is detached: let gradients flow through it, too": (
        "(variance +", "(variance.detach() +"),
    "a matrix is not transposed: a weight is stored as (out, in), so take x @ w.T":
        [("w_up.T", "w_up"), ("w_down.T", "w_down")],
    messages.BATCH: (
        PART, 'torch.einsum("bnf,df->bnd", torch.einsum("bnd,fd->bnf", y, w_up).relu(), '
                        "w_down)"),
})  # fmt: skip
