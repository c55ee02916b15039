"""Exercise local_weights: attention weights within a window, and no n x n scores."""

import torch

from attncourse.checks.convolution.shared.windows import FILL, KEYS, band, inside, keys, windows
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="local_weights",
    chapter="convolution",
    title="The weights of a window, and no others",
    kind="extend",
    difficulty=3,
    minutes=30,
    points=20,
    hints=(
        "Give every query the keys of its own window, as in the exercise before: then there are n "
        "times `width` scores to compute. Places beyond the ends need care: a key of zeros has the "
        "score 0, and a softmax gives weight to a score of 0, too.",
        "The windows are (..., n, width, d), and each of them meets one query: einsum, or a matrix "
        "product with the query as a column. The place c of window i holds key i - width // 2 + c; "
        "where that is below 0 or not below n, the score becomes -inf, before the softmax.",
        'torch.einsum("...id,...icd->...ic", q, windows) / q.shape[-1] ** 0.5 are the scores, and '
        ".masked_fill((key < 0) | (key >= n), -torch.inf) comes before .softmax(dim=-1)",
    ),
)


@exercise.reference
def by_hand(q, k, width):
    n, d = q.shape[-2:]
    side = width // 2
    rows = []
    for i in range(n):
        seen = range(max(0, i - side), min(n, i + side + 1))
        scores = [(q[..., i, :] * k[..., j, :]).sum(-1) / d**0.5 for j in seen]
        top = torch.stack(scores).detach().amax(0)
        parts = {j: (s - top).exp() for j, s in zip(seen, scores, strict=True)}
        total = sum(parts.values())
        window = range(i - side, i + side + 1)
        rows.append(
            torch.stack([parts[j] / total if j in parts else 0 * total for j in window], -1)
        )
    return torch.stack(rows, dim=-2)


@exercise.cases
def cases(draw):
    n = draw.integer(7, 8)
    # a width for which no wrong scale of those below is the right one
    d = draw.integer(9, 11)
    q, k = draw.normal(2, n, d), draw.normal(2, n, d)
    long = draw.normal(2, 40, d), draw.normal(2, 40, d), 5
    yield Case(f"a batch of 2, n={n}, d={d}, width=5", (q, k, 5), longer=long)
    yield Case(f"two matrices without a batch, n={n}, d={d}, width=3", (q[0], k[0], 3))
    heads = draw.normal(2, 3, 4, 5), draw.normal(2, 3, 4, 5), 3
    yield Case("two leading axes (batch, heads), width=3", heads)
    yield Case(f"a width of 7, n={n}", (q, k, 7))
    yield Case("a width of 9, n=4", (q[:, :4], k[:, :4], 9))
    yield Case("a width of 1", (q, k, 1))
    yield Case("one query and one key, width=3", (q[:, :1], k[:, :1], 3))
    yield Case("queries and keys 60 times larger, width=5", (60 * q, 60 * k, 5))
    # a fill that is not small enough outweighs the keys, and so does a key of zeros
    opposite = 1e3 * (1 + q.abs()), -1e3 * (1 + k.abs()), 5
    yield Case("scores below -1000000, width=5", opposite)
    # its score is 0 as well, and it is no place beyond an end
    zero = torch.cat([0 * k[:, :2], k[:, 2:]], dim=1)
    yield Case("the first two keys are zeros, width=5", (q, zero, 5), gradient=False)
    wide = draw.normal(20, 2), draw.normal(20, 2), 3
    yield Case("no batch, n=20, d=2, width=3", wide, max_elements=20 * 20 - 1)


def weighted(q, k, width, *, found=None, at=None, before=None, scale=None, fill=-torch.inf):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    found = windows(k, width, before) if found is None else found
    at = inside(q.shape[-2], width, q.device, before) if at is None else at
    scores = (found @ q[..., None])[..., 0] / (q.shape[-1] ** 0.5 if scale is None else scale)
    return scores.masked_fill(~at, fill).softmax(-1)


def scored(q, k, width, value=0.0):
    """The scores of every window; beyond the ends, keys of that value."""
    return (windows(k, width, value=value) @ q[..., None])[..., 0] / q.shape[-1] ** 0.5


@exercise.valid
def of_windows(q, k, width):
    return weighted(q, k, width)


@exercise.valid
def by_einsum_and_index(q, k, width):
    n = q.size(-2)
    key = keys(n, width, q.device)
    scores = torch.einsum("...id,...icd->...ic", q, k[..., key.clamp(0, n - 1), :])
    beyond = torch.full_like(scores, -1e30)
    allowed = (key >= 0).logical_and(key < n)
    return torch.softmax(torch.where(allowed, scores / q.size(-1) ** 0.5, beyond), dim=-1)


@exercise.valid
def place_by_place(q, k, width):
    # a loop over a window is none over the positions
    n, side = q.shape[-2], width // 2
    padded = torch.nn.functional.pad(k, (0, 0, side, side))
    products = [(q * padded[..., t : t + n, :]).sum(-1) for t in range(width)]
    scores = torch.stack(products, dim=-1) * q.shape[-1] ** -0.5
    return scores.masked_fill(~inside(n, width, q.device), -torch.inf).softmax(-1)


@exercise.valid
def masked_and_divided_by_the_rest(q, k, width):
    at = inside(q.shape[-2], width, q.device)
    scores = scored(q, k, width).masked_fill(~at, torch.finfo(q.dtype).min)
    parts = (scores - scores.detach().amax(-1, keepdim=True)).exp() * at
    return parts / parts.sum(-1, keepdim=True)


@exercise.valid
def masked_by_windows_of_ones(q, k, width):
    ones = windows(torch.ones_like(k[..., :1]), width)[..., 0]
    return (scored(q, k, width) - 1e30 * (1 - ones)).softmax(-1)


@exercise.mutant("the scores are not scaled: divide by sqrt(d)")
def unscaled(q, k, width):
    return weighted(q, k, width, scale=1)


@exercise.mutant("the scores are divided by d, not by its square root")
def scaled_by_d(q, k, width):
    return weighted(q, k, width, scale=q.shape[-1])


@exercise.mutant("keys of zeros beyond the ends get weight, since exp(0) = 1: mask their scores")
def zeros_attended(q, k, width):
    return weighted(q, k, width, fill=0.0)


@exercise.mutant(
    "zeros do not put a key beyond an end: it may be zero itself. Ask for its position"
)
def scores_of_zero_masked(q, k, width):
    scores = scored(q, k, width)
    return scores.masked_fill(scores == 0, -torch.inf).softmax(-1)


@exercise.mutant("the places beyond one end still get weight: mask those below 0 and from n on")
def one_end_masked(q, k, width):
    return weighted(q, k, width, at=keys(q.shape[-2], width, q.device) >= 0)


OFF_BY_ONE = "the mask is off by one place: the keys are 0 to n - 1"


@exercise.mutant(OFF_BY_ONE)
def key_n_kept(q, k, width):
    key = keys(q.shape[-2], width, q.device)
    return weighted(q, k, width, at=(key >= 0) & (key <= q.shape[-2]))


@exercise.mutant(OFF_BY_ONE)
def key_0_masked(q, k, width):
    key = keys(q.shape[-2], width, q.device)
    return weighted(q, k, width, at=(key > 0) & (key < q.shape[-2]))


@exercise.mutant("0 times -inf is NaN: use masked_fill or torch.where")
def zero_times_infinity(q, k, width):
    at = inside(q.shape[-2], width, q.device).to(q.dtype)
    return (scored(q, k, width) + (1 - at) * -torch.inf).softmax(-1)


@exercise.mutant(FILL)
def fill_with_minus_a_hundred(q, k, width):
    return weighted(q, k, width, fill=-100.0)


@exercise.mutant(FILL)
def fill_with_minus_ten_thousand(q, k, width):
    return weighted(q, k, width, fill=-1e4)


@exercise.mutant(KEYS)
def keys_of_minus_infinity(q, k, width):
    return scored(q, k, width, -torch.inf).softmax(-1)


@exercise.mutant(KEYS)
def keys_of_minus_a_billion(q, k, width):
    return scored(q, k, width, -1e9).softmax(-1)


@exercise.mutant("the mask comes after the softmax, so the rows at the ends no longer sum to one")
def masked_after_the_softmax(q, k, width):
    return scored(q, k, width).softmax(-1) * inside(q.shape[-2], width, q.device)


@exercise.mutant("the zeros take all the weight where scores are low: mask before the softmax")
def renormalised_after_the_softmax(q, k, width):
    weights = masked_after_the_softmax(q, k, width)
    return weights / weights.sum(-1, keepdim=True)


@exercise.mutant("the two ends are joined: beyond an end there is no key")
def ends_joined(q, k, width):
    at = keys(q.shape[-2], width, q.device) % q.shape[-2]
    return weighted(q, k, width, found=k[..., at, :], at=at >= 0)


@exercise.mutant("the window lies before its query: half of it lies after")
def causal(q, k, width):
    return weighted(q, k, width, before=width - 1)


@exercise.mutant("these are scores: the softmax over the window is missing")
def scores_only(q, k, width):
    return scored(q, k, width).masked_fill(~inside(q.shape[-2], width, q.device), -torch.inf)


@exercise.mutant("the softmax runs over the queries: the weights of each window sum to one")
def softmax_over_the_queries(q, k, width):
    at = inside(q.shape[-2], width, q.device)
    return scored(q, k, width).masked_fill(~at, -torch.inf).softmax(-2)


@exercise.mutant(
    "it makes all n x n scores: only `width` of a row are needed, so pick the keys first"
)
def whole_matrix(q, k, width):
    n = q.shape[-2]
    key = keys(n, width, q.device)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    near = band(n, n, width // 2, width // 2, q.device)
    weights = scores.masked_fill(~near, -torch.inf).softmax(-1)
    picked = weights.gather(-1, key.clamp(0, n - 1).expand(*q.shape[:-1], width))
    return picked * inside(n, width, q.device)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(q, k, width):
    _, _, d = q.shape
    return weighted(q, k, width, scale=d**0.5)


@exercise.mutant("it loops over the queries: compute the scores of all windows at once")
def loop_over_queries(q, k, width):
    found, at = windows(k, width), inside(q.shape[-2], width, q.device)
    rows = []
    for i in range(q.shape[-2]):
        rows.append(weighted(q[..., i, :], k, width, found=found[..., i, :, :], at=at[i]))
    return torch.stack(rows, dim=-2)


@exercise.mutant("the input changes: scale a copy, not q itself")
def scaled_in_place(q, k, width):
    q /= q.shape[-1] ** 0.5
    return weighted(q, k, width, scale=1)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def mask_on_the_cpu(q, k, width):
    return weighted(q, k, width, at=inside(q.shape[-2], width))
