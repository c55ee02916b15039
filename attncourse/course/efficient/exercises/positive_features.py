"""Exercise positive_features: random features whose products are exponentials (Performer)."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the features: make all of them in one product with w.mT"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(x, w):
    features = []
    for row in w:
        projection = sum(x[..., c] * row[c] for c in range(len(row))) / len(row) ** 0.25
        squares = sum(x[..., c] ** 2 for c in range(len(row))) / len(row) ** 0.5
        features.append((projection - squares / 2).exp() / len(w) ** 0.5)
    return torch.stack(features, dim=-1)


@exercise.cases
def cases(draw):
    n, r = draw.sizes(2, 6, 9)
    d = 5
    x, w = draw.normal(2, n, d), draw.normal(r, d)
    longer_inputs = draw.normal(2, 64 + n, d), draw.normal(64 + r, d)
    sizes = f"n={n}, d={d}, r={r}"
    yield Case(f"a batch of 2, {sizes}", (x, w), longer=longer_inputs)
    yield Case(f"no batch, {sizes}", (x[0], w))
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
    long_vectors = 40 * torch.nn.functional.normalize(x[:1], dim=-1)
    close_rows = long_vectors[0] / 2 + 0.02 * draw.normal(n, d)
    yield Case("long vectors, w close to them", (long_vectors * d**0.25, close_rows))


variants.right(exercise,
    "half = torch.linalg.vecdot(scaled, scaled).unsqueeze(-1) / 2\n"
    "exponents = torch.nn.functional.linear(scaled, w) - half",
    # one exponent
    'along = torch.einsum("...d,rd->...r", scaled, w)\n'
    "exponents = along - half - w.new_ones(r).sum().log() / 2\n"
    "return exponents.exp()",
    # by a completed square: w x - x x / 2 = w w / 2 - (w - x) (w - x) / 2
    "apart = scaled[..., None, :] - w\n"
    "exponents = w.square().sum(-1) / 2 - apart.square().sum(-1) / 2",
)  # fmt: skip
variants.wrong(exercise, {
    "x is not scaled: divide it by the fourth root of d, then take all the rest": "scaled = x",
    "x is divided by the square root of d: take the fourth root, since queries and keys are both "
    "divided":
        "scaled = x / d**0.5",
    "the scale comes from the number of features: take the fourth root of the width d":
        "scaled = x / r**0.25",
    "a power comes before a division: give the exponent brackets": [
        "scaled = x / d**1 / 4", "return exponents.exp() / (r**1 / 2)"],
    "the squared length is that of x before the scale: take that of the scaled x":
        "half = x.square().sum(dim=-1, keepdim=True) / 2",
    "only the squared length is scaled: multiply w by the scaled x as well":
        "exponents = x @ w.mT - half",
    "w is divided as well: divide only x, by the fourth root of d":
        "exponents = scaled @ (w / d**0.25).mT - half",
    "the rows of w are divided by their lengths: use them as they are, long ones and short":
        "exponents = scaled @ (w / w.norm(dim=-1, keepdim=True)).mT - half",
    "the squared length of w is taken away: take away only that of the scaled x": [
        "exponents = scaled @ w.mT - w.square().sum(-1) / 2",
        "exponents = scaled @ w.mT - half - w.square().sum(-1) / 2"],
    "half the squared length has no axis for the features: keep the last one, with size 1":
        "half = scaled.square().sum(dim=-1) / 2",
    "the squared length is not halved": "half = scaled.square().sum(dim=-1, keepdim=True)",
    "the sign is wrong: long vectors need a smaller factor, so take the length away":
        "exponents = scaled @ w.mT + half",
    "the length is not squared": "half = scaled.norm(dim=-1, keepdim=True) / 2",
    "the sum is squared: square each number, then add up":
        "half = scaled.sum(dim=-1, keepdim=True) ** 2 / 2",
    "nothing is taken away: take half the squared length of x away in the exponent":
        "exponents = scaled @ w.mT",
    "the squares are averaged over the width: add them up": (".sum(", ".mean("),
    "the squared length is summed over the positions as well: give each vector its own":
        "half = scaled.square().sum(dim=(-2, -1), keepdim=True) / 2",
    "the result is not divided by the square root of r": "return exponents.exp()",
    "it is divided by r: take its root, since queries and keys are both divided":
        "return exponents.exp() / r",
    "it is divided by the root of d: take that of r, because the sum runs over r features":
        "return exponents.exp() / d**0.5",
    "it is divided by the root of the length: take that of r, because the sum runs over r features":
        "return exponents.exp() / x.shape[-2] ** 0.5",
    "the largest exponent is taken away, which changes the product: leave it in": [
        "return (exponents - exponents.amax(-1, keepdim=True)).exp() / r**0.5",
        "return (exponents - exponents.amax()).exp() / r**0.5",
        "along = scaled @ w.mT\nexponents = along - half - along.amax(-1, keepdim=True)"],
    "an epsilon is added: leave it out, as the features are positive without": [
        f"return (exponents.exp() + {small}) / r**0.5" for small in ("1e-3", "1e-4", "1e-6")],
    "the exponent is cut off: leave it as it is": [
        f"return exponents.clamp({ends}).exp() / r**0.5"
        for ends in ("-10, 10", "max=0", "max=10", "max=30", "max=60", "min=-20")],
    "two exponentials overflow or vanish, each by itself: subtract first, then one exp":
        "return (scaled @ w.mT).exp() * (-half).exp() / r**0.5",
    "these are waves, which may be negative: take the exponential":
        "return half.exp() * (scaled @ w.mT).cos() * 2**0.5 / r**0.5",
    "a softmax is taken over the features: take exp alone, because they need not sum to one":
        "return (scaled @ w.mT).softmax(-1)",
    "these are the exponents: take exp of them": "return exponents",
    messages.BATCH: ("w.mT", "w.mT.expand(len(x), -1, -1)"),
    LOOP: "exponents = torch.stack([scaled @ row for row in w], dim=-1) - half",
    "no gradient flows through the length: don't detach anything":
        "exponents = scaled @ w.mT - half.detach()",
    messages.CHANGES: "scaled = x.div_(d**0.25)",
})  # fmt: skip
