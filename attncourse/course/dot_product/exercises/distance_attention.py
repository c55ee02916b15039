"""Exercise distance_attention: attention whose score is a negative squared distance."""

import torch

from attncourse.course.dot_product.exercises.shared import masked_softmax as masked
from attncourse.course.dot_product.exercises.shared.masked_softmax import row_by_row, softmax
from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "you loop over the queries: compute all distances at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(q, k, v, mask=None):
    scores = torch.stack([-(row[..., None, :] - k).square().sum(-1) for row in q.unbind(-2)], -2)
    return row_by_row(scores / (2 * q.shape[-1] ** 0.5), mask) @ v


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 4, 6)
    # widths for which no wrong scale of those below is another wrong one, or the right one
    d_k, d_v = 7 + 2 * draw.integer(0, 1), 3
    q, k, v = draw.normal(2, n, d_k), draw.normal(2, m, d_k), draw.normal(2, m, d_v)
    longer_inputs = (
        draw.normal(2, 64 + n, d_k),
        draw.normal(2, 64 + m, d_k),
        draw.normal(2, 64 + m, d_v),
    )
    sizes = f"n={n}, m={m}, d_k={d_k}, d_v={d_v}"
    yield Case(f"a batch of 2, {sizes}", (q, k, v), longer=longer_inputs)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], v[0]))
    heads = draw.normal(2, 3, 4, 5), draw.normal(2, 3, 6, 5), draw.normal(2, 3, 6, 2)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case("4 queries and 4 keys", (q[:, :4], k[:, :4], v[:, :4]))
    yield Case("each query equal to a key", (torch.cat([k, q], dim=1), k, v))
    yield Case("distances 10^12 times larger", (1e12 * q, 1e12 * k, v), gradient=False)
    mask = draw.mask(2, n, m)
    yield Case(f"a mask, {sizes}", (q, k, v, mask))
    yield Case(f"a mask without a batch, {sizes}", (q[0], k[0], v[0], mask[0]))
    yield Case("one mask for the whole batch", (q, k, v, mask[0]))
    yield Case("a mask of shape (2, 1, n, m) for all heads", (*heads, draw.mask(2, 1, 4, 6)))
    is_first = torch.arange(m) == 0
    far_keys = torch.where(is_first[:, None], k, 60 + k / 60)
    not_first = (~is_first).expand(n, m)
    yield Case("a masked key near, the others far away", (q, far_keys, v, not_first))
    far_keys = torch.where(is_first[:, None], k, 1e12 + 1e11 * k)
    yield Case(
        "a masked key near, the others 10^12 times as far away",
        (q, far_keys, v, not_first),
        gradient=False,
    )
    mask_with_empty_row = mask.clone()
    mask_with_empty_row[1, 0] = False
    longer_masked = (*(x.repeat(4, 1, 1) for x in longer_inputs), draw.mask(8, 64 + n, 64 + m))
    yield Case(
        "a query that may attend nowhere", (q, k, v, mask_with_empty_row), longer=longer_masked
    )
    yield Case("no query may attend anywhere", (q, k, v, mask & False))
    yield Case("a mask by name", (q, k, v), {"mask": mask})
    yield Case("one query and one key", (q[:, :1], k[:, :1], v[:, :1]))


@exercise.valid
def expanded(q, k, v, mask=None):
    squares = q.square().sum(-1)[..., :, None] + k.square().sum(-1)[..., None, :]
    distances = squares - 2 * q @ k.mT
    return softmax(-distances / (2 * q.shape[-1] ** 0.5), mask) @ v


variants.right(exercise,
    "distances = difference.norm(dim=-1) ** 2", "distances = torch.cdist(q, k) ** 2",
    "distances = sum((q[..., :, None, c] - k[..., None, :, c]) ** 2 for c in range(q.shape[-1]))",
    'distances = torch.einsum("...ijd,...ijd->...ij", difference, difference)\n'
    "scores = distances / (-2 * q.size(-1) ** 0.5)\n"
    'return torch.einsum("...ij,...jd->...id", weights, v)',
)  # fmt: skip
# what is the same for a whole row cancels
variants.right(exercise, "squares = k.square().sum(-1)[..., None, :]", of=expanded)
variants.wrong(exercise, {
    "the cross term has the wrong sign: |q - k|^2 = |q|^2 - 2 q.k + |k|^2": ("- 2 *", "+ 2 *"),
    "the 2 of the cross term is missing: |q - k|^2 = |q|^2 - 2 q.k + |k|^2": ("- 2 *", "-"),
    "the squared length of a key counts twice: it should be |k|^2 in the squared distance, or "
    "|k|^2 / 2 in half of it": (
        "k.square()", "2 * k.square()"),
    "the squared lengths of queries and keys are on the wrong axes: each row needs the squared "
    "length of its query":
        "squares = q.square().sum(-1)[..., None, :] + k.square().sum(-1)[..., :, None]",
    "a masked score of 0 still gets weight, since exp(0) = 1: set masked scores to -inf": (
        "q.square().sum(-1)[..., :, None] + ", "",
        "softmax(", "torch.softmax(", ", mask)", " * (1 if mask is None else mask), dim=-1)"),
}, of=expanded)  # fmt: skip
variants.wrong(exercise, {
    "the scores are not scaled: divide them by 2 sqrt(d_k)": "scale = 1",
    "you divide the scores by 2 d_k: divide them by 2 sqrt(d_k) instead":
        "scale = 2 * q.shape[-1]",
    "the scale comes from the width of the values: use the width of the keys, d_k":
        "scale = 2 * v.shape[-1] ** 0.5",
    "the scale is a fixed number: compute it from the width of the keys": [
        "scale = 2 * 64**0.5", "scale = 4"],
    "the 2 is missing from the scale: divide the scores by 2 sqrt(d_k)":
        "scale = q.shape[-1] ** 0.5",
    "the square root of d_k is missing from the scale: divide the scores by 2 sqrt(d_k)":
        "scale = 2",
    "the 2 has slipped under the root: divide by 2 sqrt(d_k), not by sqrt(2 d_k)":
        "scale = (2 * q.shape[-1]) ** 0.5",
    "a / 2 * b multiplies by b: put 2 * sqrt(d_k) in brackets":
        "scores = -distances / 2 * q.shape[-1] ** 0.5",
    "you average the squares over the width, which also divides by d_k: sum them instead": (
        ".sum(", ".mean("),
    "the sign is wrong: near keys must weigh more than far ones": "scores = distances / scale",
    "the distance is not squared: use its square in the score": [
        "distances = torch.cdist(q, k)", "distances = difference.square().sum(dim=-1).sqrt()"],
    "the root of 0 has no gradient, and a query may equal a key: the score needs the square, so "
    "don't take a root":
        "distances = difference.square().sum(dim=-1).sqrt() ** 2",
    "you sum absolute differences: square each difference instead, then sum": ("square()", "abs()"),
    "you sum the differences before you square: square each one first, then sum":
        "distances = difference.sum(dim=-1).square()",
    "the sum runs over the keys: it should run over the width, the last axis":
        "distances = difference.square().sum(dim=-2)",
    "your scores are dot products: they should be minus the squared distances":
        "scores = q @ k.mT / q.shape[-1] ** 0.5",
    "you average the keys: average the values instead": ("@ v", "@ k"),
    "you compare the queries with themselves: compare them with the keys":
        "difference = q[..., :, None, :] - q[..., None, :, :]",
    "queries and keys are swapped: the rows should be queries, and the columns keys":
        "difference = q[..., None, :, :] - k[..., :, None, :]",
    "you return the weights: use them to average the values": "return weights",
    messages.FRONT: ("sum(dim=-1)", "sum(dim=2)"),
    messages.BATCH: "difference = q.unsqueeze(2) - k.unsqueeze(1)",
    LOOP: [
        "rows = [(x[..., None, :] - k).square().sum(-1) for x in q.unbind(-2)]\n"
        "distances = torch.stack(rows, dim=-2)",
        ("    difference", "    if q.shape[-2] > 1:\n        rows = range(q.shape[-2])\n"
         "        some = (mask if mask is None else mask[..., i : i + 1, :] for i in rows)\n"
         "        parts = (distance_attention(q[..., i : i + 1, :], k, v, next(some))\n"
         "                 for i in rows)\n"
         "        return torch.cat([*parts], dim=-2)\n    difference")],
    "no gradient reaches the scores: don't detach anything":
        "scores = -distances.detach() / scale",
    messages.CUT_OFF: (
        "    weights =", "    if not mask.any():\n"
        "        return v.new_zeros(*q.shape[:-1], v.shape[-1])\n    weights ="),
    "a query that may attend nowhere gets a NaN gradient: replace NaN by 0 in the weights, before "
    "you multiply them by v":
        "return (weights / weights.sum(-1, True) @ v).nan_to_num(0.0)",
})  # fmt: skip
# no score is above 0 here, so that nothing is taken away at all
variants.calling(
    exercise, "softmax", masked.WAYS | {masked.top_not_below_zero: masked.UNSTABLE},
    instead="if mask is None: pass\nweights = softmax(scores, mask)",
)  # fmt: skip
