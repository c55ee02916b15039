"""Exercise positive_features: random features whose products are exponentials (Performer)."""

import torch

from attncourse.checks.around import FLOATING, add_to
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="positive_features",
    chapter="efficient",
    title="Features that are never negative",
    kind="build",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "Work with x' = x / d^(1/4) from the start: it stands in both places. Then one product "
        "with all rows of w, one number for each token to take away, exp, and a root of r.",
        "x' @ w.T is (..., n, r). Half the squared length of x' is one number for each token: keep "
        "its axis, so that it broadcasts over the r features. Subtract before you take exp; two "
        "exponentials overflow one by one.",
        "x = x / x.shape[-1] ** 0.25, and x.square().sum(-1, keepdim=True) / 2 is the number to "
        "take away; r is w.shape[0]",
    ),
)


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
    # both exponents are near 800, where exp overflows, and their difference is near 0
    far = 40 * torch.nn.functional.normalize(x[:1], dim=-1)
    near = far[0] / 2 + 0.02 * draw.normal(n, d)
    yield Case("long vectors, w close to them", (far * d**0.25, near))


def featured(x, w, *, power=0.25, product=None, taken=None, scale=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    x = x / x.shape[-1] ** power
    product = x @ w.mT if product is None else product
    taken = x.square().sum(-1, keepdim=True) / 2 if taken is None else taken
    return (product - taken).exp() / (len(w) ** 0.5 if scale is None else scale)


@exercise.valid
def as_the_equation_says(x, w):
    return featured(x, w)


@exercise.valid
def one_exponent(x, w):
    d, r = x.size(-1), torch.tensor(float(w.size(0)), dtype=x.dtype, device=x.device)
    squares = torch.einsum("...d,...d->...", x, x)[..., None] / (2 * d**0.5)
    return torch.exp(torch.einsum("...d,rd->...r", x, w) * d**-0.25 - squares - r.log() / 2)


@exercise.valid
def by_a_completed_square(x, w):
    # w x - x x / 2 = w w / 2 - (w - x) (w - x) / 2
    x = x * x.shape[-1] ** -0.25
    apart = x[..., None, :] - w
    return featured(x, w, power=0, product=w.square().sum(-1) / 2, taken=(apart**2).sum(-1) / 2)


@exercise.valid
def by_a_linear_map(x, w):
    x = x / x.shape[-1] ** 0.25
    half = torch.linalg.vecdot(x, x).unsqueeze(-1) / 2
    return torch.nn.functional.linear(x, w, None).sub(half).exp().mul(w.shape[0] ** -0.5)


@exercise.mutant("x is not scaled: divide it by the fourth root of d, then take all the rest")
def unscaled(x, w):
    return featured(x, w, power=0)


@exercise.mutant(
    "x is divided by the square root of d: it stands in queries and in keys, so each has half"
)
def scaled_by_the_square_root(x, w):
    return featured(x, w, power=0.5)


PRECEDENCE = "a power comes before a division: give the exponent brackets"


@exercise.mutant(PRECEDENCE)
def scaled_by_four_d(x, w):
    return featured(x / (4 * x.shape[-1]), w, power=0)


@exercise.mutant(PRECEDENCE)
def divided_by_half_of_r(x, w):
    return featured(x, w, scale=len(w) / 2)


@exercise.mutant("the squared length is that of x before the scale: take that of the scaled x")
def length_unscaled(x, w):
    return featured(x, w, taken=x.square().sum(-1, keepdim=True) / 2)


@exercise.mutant("only the squared length is scaled: w meets the scaled x as well")
def product_unscaled(x, w):
    return featured(x, w, product=x @ w.mT)


def with_length(x, w, change):
    x = x / x.shape[-1] ** 0.25
    return featured(x, w, power=0, taken=change(x.square().sum(-1, keepdim=True) / 2))


@exercise.mutant("the squared length is not halved")
def length_not_halved(x, w):
    return with_length(x, w, lambda half: 2 * half)


@exercise.mutant(
    "the sign is wrong: long vectors need a smaller factor, so the length is taken away"
)
def length_added(x, w):
    return with_length(x, w, torch.neg)


@exercise.mutant("the length is not squared")
def length_without_square(x, w):
    length = x.norm(dim=-1, keepdim=True) / x.shape[-1] ** 0.25
    return featured(x, w, taken=length.where(length > 0, 0.0) / 2)


@exercise.mutant("the sum is squared: square each number, then add up")
def square_of_the_sum(x, w):
    return featured(x, w, taken=x.sum(-1, keepdim=True) ** 2 / x.shape[-1] ** 0.5 / 2)


@exercise.mutant("nothing is taken away: half the squared length of x belongs into the exponent")
def length_forgotten(x, w):
    return with_length(x, w, lambda half: 0 * half)


@exercise.mutant("the squares are averaged over the width: add them up")
def mean_of_the_squares(x, w):
    return with_length(x, w, lambda half: half / x.shape[-1])


@exercise.mutant("the result is not divided by the square root of r")
def not_divided(x, w):
    return featured(x, w, scale=1)


@exercise.mutant("it is divided by r: the root of r stands in queries and in keys")
def divided_by_r(x, w):
    return featured(x, w, scale=len(w))


@exercise.mutant("it is divided by the root of d: the sum runs over r features")
def divided_by_the_root_of_d(x, w):
    return featured(x, w, scale=x.shape[-1] ** 0.5)


LARGEST = "the largest exponent is taken away, which changes the product: leave it in"


def less_the_largest(x, w, axes):
    x = x / x.shape[-1] ** 0.25
    exponent = x @ w.mT - x.square().sum(-1, keepdim=True) / 2
    return featured(x, w, product=exponent, taken=exponent.amax(axes, keepdim=True))


@exercise.mutant(LARGEST)
def less_the_largest_of_a_row(x, w):
    return less_the_largest(x, w, -1)


@exercise.mutant(LARGEST)
def less_the_largest_of_all(x, w):
    return less_the_largest(x, w, None)


@exercise.mutant(
    "two exponentials overflow or vanish, each by itself: subtract first, then one exp"
)
def two_exponentials(x, w):
    x = x / x.shape[-1] ** 0.25
    half = x.square().sum(-1, keepdim=True) / 2
    return (x @ w.mT).exp() * (-half).exp() / len(w) ** 0.5


@exercise.mutant("these are waves, which may be negative: the exponential is asked for")
def waves(x, w):
    x = x / x.shape[-1] ** 0.25
    half = x.square().sum(-1, keepdim=True) / 2
    return half.exp() * (x @ w.mT).cos() * (2 / len(w)) ** 0.5


@exercise.mutant("a softmax is taken over the features: they need not sum to one")
def softmax_over_features(x, w):
    return (x @ w.mT / x.shape[-1] ** 0.25).softmax(-1)


@exercise.mutant("these are exponents: exp is missing")
def exponents(x, w):
    return with_length(x, w, lambda half: half).mul(len(w) ** 0.5).log()


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(x, w):
    batch, _, _ = x.shape
    return featured(x, w.expand(batch, -1, -1), scale=len(w) ** 0.5)


@exercise.mutant("it loops over the features: one product with w.mT makes all of them")
def loop_over_features(x, w):
    columns = [featured(x, row[None], scale=len(w) ** 0.5) for row in w]
    return torch.cat(columns, dim=-1)


@exercise.mutant("no gradient flows through the length: nothing may be detached")
def length_detached(x, w):
    return with_length(x, w, torch.Tensor.detach)


@exercise.mutant("the input changes: scale a copy, not x itself")
def scaled_in_place(x, w):
    x /= x.shape[-1] ** 0.25
    return featured(x, w, power=0)


add_to(exercise, featured, *FLOATING)
