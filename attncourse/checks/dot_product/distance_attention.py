"""Exercise distance_attention: attention whose score is a negative squared distance."""

import math

import torch

from attncourse.checks.dot_product.shared import masked_softmax
from attncourse.checks.dot_product.shared.masked_softmax import softmax
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
        "With shapes (..., n, 1, d_k) and (..., 1, m, d_k), the difference of queries and keys is "
        "(..., n, m, d_k). Square it, and sum over the last axis. Minus that, divided by "
        "2 sqrt(d_k), is the score; the masked softmax and the values come after.",
        "q[..., :, None, :] - k[..., None, :, :] is the difference, and 2 * q.shape[-1] ** 0.5 the "
        "number to divide by, in brackets: a / 2 * b multiplies by b.",
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
            scores = [-(q[b, i] - k[b, j]).square().sum() / (2 * d_k**0.5) for j in keys]
            top = max((s.detach() for s in scores), default=0)
            parts = [(s - top).exp() for s in scores]
            means = [p / sum(parts) * v[b, j] for p, j in zip(parts, keys, strict=True)]
            out.append(sum(means, start=0 * (q[b, i].sum() + v[b].sum(0))))
    return torch.stack(out).reshape(*batch, n, d_v)


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 4, 6)
    # widths for which no wrong scale of those below is another wrong one, or the right one
    d_k, d_v = 7 + 2 * draw.integer(0, 1), 3
    q, k, v = draw.normal(2, n, d_k), draw.normal(2, m, d_k), draw.normal(2, m, d_v)
    long = draw.normal(2, 64 + n, d_k), draw.normal(2, 64 + m, d_k), draw.normal(2, 64 + m, d_v)
    sizes = f"n={n}, m={m}, d_k={d_k}, d_v={d_v}"
    yield Case(f"a batch of 2, {sizes}", (q, k, v), longer=long)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], v[0]))
    heads = draw.normal(2, 3, 4, 5), draw.normal(2, 3, 6, 5), draw.normal(2, 3, 6, 2)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case("each query equal to a key", (torch.cat([k, q], dim=1), k, v))
    yield Case("distances 60 times larger", (60 * q, 60 * k, v))
    mask = draw.mask(2, n, m)
    yield Case(f"a mask, {sizes}", (q, k, v, mask))
    yield Case(f"a mask without a batch, {sizes}", (q[0], k[0], v[0], mask[0]))
    yield Case("one mask for the whole batch", (q, k, v, mask[0]))
    yield Case("a mask of shape (2, 1, n, m) for all heads", (*heads, draw.mask(2, 1, 4, 6)))
    first = torch.arange(m) == 0
    far = torch.where(first[:, None], k, 200 + k / 200)
    yield Case("a masked key near, the others far away", (q, far, v, (~first).expand(n, m)))
    nowhere = mask.clone()
    nowhere[1, 0] = False
    longer = (*(x.repeat(4, 1, 1) for x in long), draw.mask(8, 64 + n, 64 + m))
    yield Case("a query that may attend nowhere", (q, k, v, nowhere), longer=longer)
    yield Case("a mask by name", (q, k, v), {"mask": mask})
    yield Case("one query and one key", (q[:, :1], k[:, :1], v[:, :1]))


def difference(q, k):
    return q[..., :, None, :] - k[..., None, :, :]


def attend(q, k, v, mask=None, *, scale=None, distances=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    distances = difference(q, k).square().sum(-1) if distances is None else distances
    return softmax(-distances / (2 * q.shape[-1] ** 0.5 if scale is None else scale), mask) @ v


@exercise.valid
def expanded_square(q, k, v, mask=None):
    squares = q.square().sum(-1)[..., :, None] + k.square().sum(-1)[..., None, :]
    return attend(q, k, v, mask, distances=squares - 2 * q @ k.mT)


@exercise.valid
def without_the_query_norm(q, k, v, mask=None):
    # what is the same for a whole row cancels
    return attend(q, k, v, mask, distances=k.square().sum(-1)[..., None, :] - 2 * q @ k.mT)


@exercise.valid
def norm_with_a_gradient_at_zero(q, k, v, mask=None):
    return attend(q, k, v, mask, distances=difference(q, k).norm(dim=-1) ** 2)


@exercise.valid
def by_cdist(q, k, v, mask=None):
    return attend(q, k, v, mask, distances=torch.cdist(q, k) ** 2)


@exercise.valid
def by_einsum(q, k, v, mask=None):
    apart = q.unsqueeze(-2) - k.unsqueeze(-3)
    squares = torch.einsum("...ijd,...ijd->...ij", apart, apart)
    weights = softmax(squares / (-2 * math.sqrt(q.size(-1))), mask)
    return torch.einsum("...ij,...jd->...id", weights, v)


@exercise.valid
def sum_over_the_width_in_python(q, k, v, mask=None):
    squares = sum((q[..., :, None, c] - k[..., None, :, c]) ** 2 for c in range(q.shape[-1]))
    return attend(q, k, v, mask, distances=squares)


def with_softmax(way, q, k, v, mask=None):
    return way(-difference(q, k).square().sum(-1) / (2 * q.shape[-1] ** 0.5), mask) @ v


masked_softmax.add_to(exercise, with_softmax)


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


@exercise.mutant("the scale is a fixed number: it follows the width of the keys")
def scale_of_the_example(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=4)


@exercise.mutant("the 2 is missing: divide by 2 sqrt(d_k)")
def without_the_two(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=q.shape[-1] ** 0.5)


@exercise.mutant("the square root of d_k is missing: divide by 2 sqrt(d_k)")
def without_the_root(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=2)


@exercise.mutant("the 2 has slipped under the root: divide by 2 sqrt(d_k), not by sqrt(2 d_k)")
def two_under_the_root(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=(2 * q.shape[-1]) ** 0.5)


@exercise.mutant("a / 2 * b multiplies by b: put 2 * sqrt(d_k) in brackets")
def without_brackets(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=2 / q.shape[-1] ** 0.5)


@exercise.mutant("the mean over the width divides by d_k once more: take the sum")
def mean_over_the_width(q, k, v, mask=None):
    return attend(q, k, v, mask, distances=difference(q, k).square().mean(-1))


@exercise.mutant("the sign is wrong: near keys must weigh more than far ones")
def far_ones_first(q, k, v, mask=None):
    return attend(q, k, v, mask, scale=-2 * q.shape[-1] ** 0.5)


@exercise.mutant("the distance is not squared")
def distance_without_square(q, k, v, mask=None):
    return attend(q, k, v, mask, distances=torch.cdist(q, k))


@exercise.mutant("the distance is not squared")
def norm_without_square(q, k, v, mask=None):
    return attend(q, k, v, mask, distances=difference(q, k).square().sum(-1).sqrt())


@exercise.mutant(
    "the root has no gradient where a query equals a key: the score is the square, so take no root"
)
def squared_root(q, k, v, mask=None):
    return attend(q, k, v, mask, distances=difference(q, k).square().sum(-1).sqrt() ** 2)


@exercise.mutant("this sums the differences without their signs: square them, then sum")
def absolute_differences(q, k, v, mask=None):
    return attend(q, k, v, mask, distances=difference(q, k).abs().sum(-1))


@exercise.mutant("the sum comes before the square: square each difference, then sum")
def square_of_the_sum(q, k, v, mask=None):
    return attend(q, k, v, mask, distances=difference(q, k).sum(-1).square())


@exercise.mutant("the sum runs over the keys: it runs over the width, the last axis")
def sum_over_the_keys(q, k, v, mask=None):
    return attend(q, k, v, mask, distances=difference(q, k).square().sum(-2))


@exercise.mutant("these are dot products: the score is minus the squared distance")
def plain_dot_product(q, k, v, mask=None):
    return attend(q, k, v, mask, distances=-q @ k.mT, scale=q.shape[-1] ** 0.5)


def expanded(q, k, v, mask, factor):
    squares = q.square().sum(-1, keepdim=True) + k.square().sum(-1).unsqueeze(-2)
    return attend(q, k, v, mask, distances=squares + factor * q @ k.mT)


@exercise.mutant("the cross term has the wrong sign: |q - k|^2 = |q|^2 - 2 q.k + |k|^2")
def plus_the_cross_term(q, k, v, mask=None):
    return expanded(q, k, v, mask, 2)


@exercise.mutant("the 2 of the cross term is missing: |q - k|^2 = |q|^2 - 2 q.k + |k|^2")
def half_the_cross_term(q, k, v, mask=None):
    return expanded(q, k, v, mask, -1)


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


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def axes_counted_from_the_front(q, k, v, mask=None):
    return attend(q, k, v, mask, distances=(q.unsqueeze(2) - k.unsqueeze(1)).square().sum(-1))


LOOP = "it loops over the queries: compute all distances at once"


@exercise.mutant(LOOP)
def loop_over_queries(q, k, v, mask=None):
    rows = []
    for i in range(q.shape[-2]):
        row = None if mask is None else mask[..., i : i + 1, :]
        rows.append(attend(q[..., i : i + 1, :], k, v, row))
    return torch.cat(rows, dim=-2)


@exercise.mutant(LOOP)
def loop_in_a_list(q, k, v, mask=None):
    squares = [(row.unsqueeze(-2) - k).square().sum(-1) for row in q.unbind(-2)]
    return attend(q, k, v, mask, distances=torch.stack(squares, dim=-2))


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
