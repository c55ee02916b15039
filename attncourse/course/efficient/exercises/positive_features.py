"""Exercise positive_features: random features whose products are exponentials (Performer)."""

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the features: one product with w.mT makes all of them"
exercise = Exercise.read(__name__, usual_hints={"loops": LOOP})


@exercise.reference
def by_hand(x, w):
    features = []
    for row in w:
        along = sum(x[..., c] * row[c] for c in range(len(row))) / len(row) ** 0.25
        squares = sum(x[..., c] ** 2 for c in range(len(row))) / len(row) ** 0.5
        features.append((along - squares / 2).exp() / len(w) ** 0.5)
    return torch.stack(features, dim=-1)


@exercise.cases
def cases(draw):
    n, r = draw.sizes(2, 6, 9)
    d = 5
    x, w = draw.normal(2, n, d), draw.normal(r, d)
    long = draw.normal(2, 64 + n, d), draw.normal(64 + r, d)
    said = f"n={n}, d={d}, r={r}"
    yield Case(f"a batch of 2, {said}", (x, w), longer=long)
    yield Case(f"no batch, {said}", (x[0], w))
    yield Case("two leading axes (batch, heads)", (draw.normal(2, 3, 4, 6), draw.normal(3, 6)))
    yield Case("as many features as numbers in a row", (draw.normal(3, 7, 4), draw.normal(4, 4)))
    yield Case("a width of 1", (x[..., :1], w[:, :1]))
    yield Case("one feature", (x, w[:1]))
    yield Case("one token", (x[:, :1], w))
    yield Case("a token of zeros", (torch.cat([x, 0 * x[:, :1]], dim=1), w))
    # exponents from -85 to 85: those of float32 go that far
    ends = torch.tensor([[1.0], [-1.0]]).to(x)
    high = torch.tensor([[65.5], [85.0]]).to(x)
    yield Case("exponents of 65 to 85, and their opposites", (ends, high))
    # both exponents are near 800, where exp overflows, and their difference is near 0
    far = 40 * torch.nn.functional.normalize(x[:1], dim=-1)
    near = far[0] / 2 + 0.02 * draw.normal(n, d)
    yield Case("long vectors, w close to them", (far * d**0.25, near))


@exercise.valid
def plain(x, w):
    scaled = x / x.shape[-1] ** 0.25
    half = scaled.square().sum(-1, keepdim=True) / 2
    features = (scaled @ w.mT - half).exp()
    return features / w.shape[0] ** 0.5


SCALED, HALF = "x / x.shape[-1] ** 0.25", "scaled.square().sum(-1, keepdim=True) / 2"
EXPONENT, ROOT = "scaled @ w.mT - half", "w.shape[0] ** 0.5"
variants.right(
    exercise,
    (HALF, "torch.linalg.vecdot(scaled, scaled).unsqueeze(-1) / 2",
     "scaled @ w.mT", "torch.nn.functional.linear(scaled, w)"),
    # one exponent
    ("scaled @ w.mT", 'torch.einsum("...d,rd->...r", scaled, w)',
     "- half", "- half - w.new_ones(len(w)).sum().log() / 2", ROOT, "1"),
    # by a completed square: w x - x x / 2 = w w / 2 - (w - x) (w - x) / 2
    (EXPONENT, "w.square().sum(-1) / 2 - (scaled[..., None, :] - w).square().sum(-1) / 2"),
)  # fmt: skip
PRECEDENCE = "a power comes before a division: give the exponent brackets"
variants.wrong(exercise, {
    "x is not scaled: divide it by the fourth root of d, then take all the rest": (SCALED, "x / 1"),
    "x is divided by the square root of d: it stands in queries and in keys, so each has half": (
        "0.25", "0.5"),
    "the scale comes from the number of features: it is the fourth root of the width d": (
        SCALED, "x / w.shape[0] ** 0.25"),
    PRECEDENCE: [(SCALED, "x / (4 * x.shape[-1])"), (ROOT, "w.shape[0] * 2")],
    "the squared length is that of x before the scale: take that of the scaled x": (
        "scaled.square()", "x.square()"),
    "only the squared length is scaled: w meets the scaled x as well": ("scaled @", "x @"),
    "w is divided as well: only x is, by the fourth root of d": (
        "w.mT", "w.mT / x.shape[-1] ** 0.25"),
    "the rows of w are divided by their lengths: use them as they are, long ones and short": (
        "w.mT", "(w / w.norm(dim=-1, keepdim=True)).mT"),
    "the squared length of w is taken away: it is that of the scaled x": [
        (EXPONENT, "scaled @ w.mT - w.square().sum(-1) / 2"),
        (EXPONENT, f"{EXPONENT} - w.square().sum(-1) / 2")],
    "half the squared length has no axis for the features: keep the last one, with size 1": (
        "sum(-1, keepdim=True)", "sum(-1)"),
    "the squared length is not halved": (" / 2", ""),
    "the sign is wrong: long vectors need a smaller factor, so the length is taken away": (
        "- half", "+ half"),
    "the length is not squared": (HALF, "scaled.norm(dim=-1, keepdim=True) / 2"),
    "the sum is squared: square each number, then add up": (
        HALF, "scaled.sum(-1, keepdim=True) ** 2 / 2"),
    "nothing is taken away: half the squared length of x belongs into the exponent": (
        " - half", ""),
    "the squares are averaged over the width: add them up": (".sum(", ".mean("),
    "the squared length is summed over the positions as well: each vector has its own": (
        ".sum(-1,", ".sum((-2, -1),"),
    "the result is not divided by the square root of r": (ROOT, "1"),
    "it is divided by r: the root of r stands in queries and in keys": (ROOT, "w.shape[0]"),
    "it is divided by the root of d: the sum runs over r features": (ROOT, "x.shape[-1] ** 0.5"),
    "it is divided by the root of the length: the sum runs over r features": (
        ROOT, "x.shape[-2] ** 0.5"),
    "the largest exponent is taken away, which changes the product: leave it in": [
        (EXPONENT, f"(sum := {EXPONENT}) - sum.amax(-1, keepdim=True)"),
        (EXPONENT, f"(sum := {EXPONENT}) - sum.amax()"),
        (EXPONENT, f"{EXPONENT} - (scaled @ w.mT).amax(-1, keepdim=True)")],
    "an epsilon is added: the features are positive without": [
        (".exp()", f".exp() + {small}") for small in ("1e-3", "1e-4", "1e-6")],
    "the exponent is cut off: leave it as it is": [
        (EXPONENT, f"({EXPONENT}).clamp({ends})")
        for ends in ("-10, 10", "max=0", "max=10", "max=30", "max=60", "min=-20")],
    "two exponentials overflow or vanish, each by itself: subtract first, then one exp": (
        f"({EXPONENT}).exp()", "(scaled @ w.mT).exp() * (-half).exp()"),
    "these are waves, which may be negative: the exponential is asked for": (
        f"({EXPONENT}).exp()", "half.exp() * (scaled @ w.mT).cos() * 2**0.5"),
    "a softmax is taken over the features: they need not sum to one": (
        f"({EXPONENT}).exp()", "(scaled @ w.mT).softmax(-1)", ROOT, "1"),
    "these are exponents: exp is missing": (".exp()", "", ROOT, "1"),
    hints.BATCH: ("w.mT", "w.mT.expand(len(x), -1, -1)"),
    LOOP: ("scaled @ w.mT", "torch.stack([scaled @ row for row in w], dim=-1)"),
    "no gradient flows through the length: nothing may be detached": ("- half", "- half.detach()"),
    hints.CHANGES: (SCALED, "x.div_(x.shape[-1] ** 0.25)"),
})  # fmt: skip
