"""Exercise distance_attention: attention whose score is a negative squared distance."""

import math

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="distance_attention",
    chapter="dot_product",
    title="Attend to what is near",
    kind="build",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "Only the score is new. Write the squared distance of every query to every key as one "
        "(n, m) matrix; all that follows is the chapter's attention.",
        "|q - k|^2 = |q|^2 - 2 q.k + |k|^2: a column, a matrix product and a row. Divide minus "
        "that by 2 sqrt(d_k), fill what is masked with -inf, take the softmax over the keys, and "
        "set to zero what the mask forbids.",
        "distances = ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1), and then "
        "scores = -distances / (2 * q.shape[-1] ** 0.5)",
    ),
)


@exercise.reference
def by_hand(q, k, v, mask=None):
    *batch, n, d_k = q.shape
    m, d_v = v.shape[-2:]
    q, k, v = q.reshape(-1, n, d_k), k.reshape(-1, m, d_k), v.reshape(-1, m, d_v)
    allowed = torch.ones(n, m, dtype=torch.bool) if mask is None else mask
    allowed = allowed.broadcast_to(*batch, n, m).reshape(-1, n, m)
    out = []
    for b in range(len(q)):
        for i in range(n):
            keys = [j for j in range(m) if allowed[b, i, j]]
            scores = [-sum((q[b, i] - k[b, j]) ** 2) / (2 * math.sqrt(d_k)) for j in keys]
            top = max((s.detach() for s in scores), default=0)
            parts = [(s - top).exp() for s in scores]
            means = [p / sum(parts) * v[b, j] for p, j in zip(parts, keys, strict=True)]
            out.append(sum(means, start=0 * (q[b, i].sum() + v[b].sum(0))))
    return torch.stack(out).reshape(*batch, n, d_v)


@exercise.cases
def cases(draw):
    n, m, d_k, d_v = draw.sizes(4, 2, 7)
    q, k, v = draw.normal(2, n, d_k), draw.normal(2, m, d_k), draw.normal(2, m, d_v)
    long = tuple(x.repeat(1, 8, 1) for x in (q, k, v))
    sizes = f"n={n}, m={m}, d_k={d_k}, d_v={d_v}"
    yield Case(f"a batch of 2, {sizes}", (q, k, v), longer=long)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], v[0]))
    yield Case(
        "two leading axes (batch, heads)",
        (draw.normal(2, 3, 4, 5), draw.normal(2, 3, 6, 5), draw.normal(2, 3, 6, 2)),
    )
    mask = draw.mask(2, n, m)
    yield Case(f"a mask, {sizes}", (q, k, v, mask))
    yield Case(
        f"a mask and distances 60 times larger, {sizes}",
        (60**0.5 * 3 * q, 60**0.5 * 3 * k, v, mask),
    )
    nowhere = mask.clone()
    nowhere[1, 0] = False
    yield Case("a query that may attend nowhere", (q, k, v, nowhere))
    yield Case("one mask for the whole batch", (q, k, v, mask[0]))
    yield Case("a mask by name", (q, k, v), {"mask": mask})
    yield Case("one query and one key", (q[:, :1], k[:, :1], v[:, :1]))


def distances(q, k):
    return (q[..., :, None, :] - k[..., None, :, :]).square().sum(-1)


def attend(q, k, v, mask=None, *, scale=None, axis=-1, score=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    scores = -distances(q, k) / (2 * q.shape[-1] ** 0.5 if scale is None else scale)
    scores = scores if score is None else score
    if mask is None:
        return scores.softmax(axis) @ v
    return scores.masked_fill(~mask, -torch.inf).softmax(axis).masked_fill(~mask, 0.0) @ v


@exercise.valid
def expanded_square(q, k, v, mask=None):
    squares = q.square().sum(-1)[..., :, None] + k.square().sum(-1)[..., None, :]
    return attend(q, k, v, mask, score=-(squares - 2 * q @ k.mT) / (2 * q.shape[-1] ** 0.5))


@exercise.valid
def without_the_query_norm(q, k, v, mask=None):
    score = (q @ k.mT - k.square().sum(-1)[..., None, :] / 2) / q.shape[-1] ** 0.5
    return attend(q, k, v, mask, score=score)


@exercise.valid
def masked_after_the_softmax_with_renormalisation(q, k, v, mask=None):
    weights = distances(q, k).div(-2 * q.shape[-1] ** 0.5)
    if mask is None:
        return weights.softmax(-1) @ v
    weights = weights.masked_fill(~mask, torch.finfo(q.dtype).min).softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9) @ v


@exercise.valid
def by_einsum(q, k, v, mask=None):
    difference = q.unsqueeze(-2) - k.unsqueeze(-3)
    scores = -torch.einsum("...ijd,...ijd->...ij", difference, difference) / (
        2 * math.sqrt(q.size(-1))
    )
    if mask is not None:
        scores = torch.where(mask, scores, -1e30)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask.any(-1, keepdim=True)
    return torch.einsum("...ij,...jd->...id", weights, v)


@exercise.mutant("the scores are not scaled: divide by 2 sqrt(d_k)")
def unscaled(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=1)


@exercise.mutant("the scores are divided by d_k, not by its square root")
def scaled_by_d_k(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=2 * q.shape[-1])


@exercise.mutant("the scale is taken from the width of the values: it is that of the keys, d_k")
def scaled_by_d_v(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=2 * v.shape[-1] ** 0.5)


@exercise.mutant("the scale is a fixed number: it follows the width of the keys")
def hard_coded_scale(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=2 * 64**0.5)


@exercise.mutant("the 2 is missing: divide by 2 sqrt(d_k)")
def without_the_two(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=q.shape[-1] ** 0.5)


@exercise.mutant("the sign is wrong: near keys must weigh more than far ones")
def far_ones_first(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=-2 * q.shape[-1] ** 0.5)


@exercise.mutant("the distance is not squared")
def distance_without_square(q, k, v, mask=None):
    return attend(q, k, v, mask, score=-torch.cdist(q, k) / (2 * q.shape[-1] ** 0.5))


@exercise.mutant("these are dot products: the score is minus the squared distance")
def plain_dot_product(q, k, v, mask=None):
    return attend(q, k, v, mask, score=q @ k.mT / q.shape[-1] ** 0.5)


@exercise.mutant("the softmax runs over the queries: each row, over the keys, must sum to one")
def softmax_over_queries(q, k, v, mask=None):
    return attend(q, k, v, mask, axis=-2)


@exercise.mutant("the softmax runs over the whole matrix: each row must sum to one by itself")
def softmax_over_everything(q, k, v, mask=None):
    scores = -distances(q, k) / (2 * q.shape[-1] ** 0.5)
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return scores.flatten(-2).softmax(-1).view_as(scores) @ v


@exercise.mutant(
    "the softmax overflows or divides 0 by 0: take the largest score of a row away first"
)
def unstable_softmax(q, k, v, mask=None):
    parts = (-distances(q, k) / (2 * q.shape[-1] ** 0.5)).exp()
    parts = parts if mask is None else parts * mask
    total = parts.sum(-1, keepdim=True)
    weights = parts / total
    return (weights if mask is None else weights.masked_fill(~mask.any(-1, keepdim=True), 0)) @ v


@exercise.mutant("the mask comes after the softmax, so the rows no longer sum to one")
def mask_after_the_softmax(q, k, v, mask=None):
    weights = (-distances(q, k) / (2 * q.shape[-1] ** 0.5)).softmax(-1)
    return (weights if mask is None else weights * mask) @ v


@exercise.mutant("the mask is upside down: True means may attend")
def mask_inverted(q, k, v, mask=None):
    return attend(q, k, v, None if mask is None else ~mask)


def filled(q, k, v, mask, fill):
    scores = -distances(q, k) / (2 * q.shape[-1] ** 0.5)
    if mask is None:
        return scores.softmax(-1) @ v
    weights = scores.masked_fill(~mask, fill).softmax(-1)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0) @ v


@exercise.mutant("a masked score of 0 still gets weight, since exp(0) = 1: fill with -inf")
def zero_fill(q, k, v, mask=None):
    return filled(q, k, v, mask, 0.0)


@exercise.mutant("-10 is not small enough to mask a score: fill with -inf")
def fill_with_minus_ten(q, k, v, mask=None):
    return filled(q, k, v, mask, -10.0)


@exercise.mutant("a query that may attend nowhere gets NaN: it should get zeros")
def nan_for_an_empty_row(q, k, v, mask=None):
    scores = -distances(q, k) / (2 * q.shape[-1] ** 0.5)
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1) @ v


@exercise.mutant("a query that may attend nowhere attends everywhere: it should get zeros")
def uniform_for_an_empty_row(q, k, v, mask=None):
    scores = -distances(q, k) / (2 * q.shape[-1] ** 0.5)
    return (scores if mask is None else scores.masked_fill(~mask, -1e30)).softmax(-1) @ v


@exercise.mutant("without a mask it fails: mask=None means that every key may be attended")
def mask_is_not_optional(q, k, v, mask=None):
    return attend(q, k, v, ~~mask)


@exercise.mutant("the mask is ignored")
def mask_ignored(q, k, v, mask=None):
    return attend(q, k, v)


@exercise.mutant("the roles are mixed up: queries meet keys, and the mean is of the values")
def keys_for_values(q, k, v, mask=None):
    return attend(q, k, k, mask)


@exercise.mutant("the queries are compared with themselves: compare them with the keys")
def queries_for_keys(q, k, v, mask=None):
    return attend(q, q, v, mask)


@exercise.mutant("it returns the weights: multiply them with the values")
def weights_only(q, k, v, mask=None):
    return attend(q, k, torch.eye(k.shape[-2], dtype=q.dtype, device=q.device), mask)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(q, k, v, mask=None):
    _, _, d_k = q.shape
    return attend(q, k, v, mask, scale=2 * d_k**0.5)


@exercise.mutant("it loops over the queries: compute all distances at once")
def loop_over_queries(q, k, v, mask=None):
    rows = []
    for i in range(q.shape[-2]):
        row = None if mask is None else mask[..., i : i + 1, :]
        rows.append(attend(q[..., i : i + 1, :], k, v, row))
    return torch.cat(rows, dim=-2)


@exercise.mutant("no gradient reaches the scores: nothing may be detached")
def weights_detached(q, k, v, mask=None):
    return attend(q.detach(), k.detach(), v, mask)


@exercise.mutant("the input changes: scale a copy, not q itself")
def scaled_in_place(q, k, v, mask=None):
    q /= 1 + 1e-9
    return attend(q, k, v, mask)


@exercise.mutant("the result is always float32: keep the dtype of the inputs")
def always_float32(q, k, v, mask=None):
    return attend(q.float(), k.float(), v.float(), mask)


@exercise.mutant("the result is always float64: keep the dtype of the inputs")
def always_float64(q, k, v, mask=None):
    return attend(q.double(), k.double(), v.double(), mask)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def tensor_on_the_cpu(q, k, v, mask=None):
    return attend(q, k, v, mask) + torch.zeros(v.shape[-1], dtype=q.dtype, device="cpu")
