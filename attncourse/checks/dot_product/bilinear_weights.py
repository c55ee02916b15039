"""Exercise bilinear_weights: attention weights whose score goes through a learned matrix."""

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="bilinear_weights",
    chapter="dot_product",
    title="A matrix between query and key",
    kind="extend",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "Queries and keys have different widths, so a dot product cannot compare them. The matrix "
        "w carries a query over to the width of the keys.",
        "First q times w, of shape (..., n, d_k); then its dot products with the keys, undivided; "
        "then the chapter's masked softmax over the keys, zeros where the mask forbids.",
        "scores = q @ w @ k.mT",
    ),
)


@exercise.reference
def by_hand(q, k, w, mask=None):
    *batch, n, d_q = q.shape
    m, d_k = k.shape[-2:]
    q, k = q.reshape(-1, n, d_q), k.reshape(-1, m, d_k)
    allowed = torch.ones(n, m, dtype=torch.bool) if mask is None else mask
    allowed = allowed.broadcast_to(*batch, n, m).reshape(-1, n, m)
    out = q.new_zeros(len(q), n, m)
    for b in range(len(q)):
        for i in range(n):
            keys = [j for j in range(m) if allowed[b, i, j]]
            scores = [q[b, i] @ w @ k[b, j] for j in keys]
            parts = [(s - max(scores).detach()).exp() for s in scores]
            for j, part in zip(keys, parts, strict=True):
                out[b, i, j] = part / sum(parts)
    return out.reshape(*batch, n, m)


@exercise.cases
def cases(draw):
    n, m, d_q, d_k = draw.sizes(4, 2, 7)
    q, k, w = draw.normal(2, n, d_q), draw.normal(2, m, d_k), draw.normal(d_q, d_k)
    sizes = f"n={n}, m={m}, d_q={d_q}, d_k={d_k}"
    long = (q.repeat(1, 8, 1), k.repeat(1, 8, 1), w)
    yield Case(f"a batch of 2, {sizes}", (q, k, w), longer=long)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], w))
    yield Case(
        "two leading axes (batch, heads)",
        (draw.normal(2, 3, 4, 5), draw.normal(2, 3, 6, 2), draw.normal(5, 2)),
    )
    mask = draw.mask(2, n, m)
    yield Case("scores 10000 times larger", (q, k, 1e4 * w))
    yield Case(f"a mask, {sizes}", (q, k, w, mask))
    nowhere = mask.clone()
    nowhere[1, 0] = False
    yield Case("a query that may attend nowhere", (q, k, w, nowhere))
    yield Case("one mask for the whole batch", (q, k, w, mask[0]))
    yield Case("a mask by name", (q, k, w), {"mask": mask})
    yield Case("one query and one key", (q[:, :1], k[:, :1], w))


def weigh(scores, mask=None, *, fill=-torch.inf, axis=-1):
    """The masked softmax, with the places where a wrong one departs from it as arguments."""
    if mask is None:
        return scores.softmax(axis)
    weights = scores.masked_fill(~mask, fill).softmax(axis)
    # what a poor fill leaves on masked keys stays, but for rows that have no key at all
    return weights.masked_fill(~(mask if fill == -torch.inf else mask.any(-1, keepdim=True)), 0.0)


@exercise.valid
def the_keys_carried_over(q, k, w, mask=None):
    return weigh(q @ (k @ w.T).mT, mask)


@exercise.valid
def by_einsum(q, k, w, mask=None):
    scores = torch.einsum("...id,de,...je->...ij", q, w, k)
    if mask is None:
        return torch.softmax(scores, dim=-1)
    weights = torch.softmax(torch.where(mask, scores, -1e30), dim=-1)
    return weights * mask.any(dim=-1, keepdim=True)


@exercise.valid
def masked_after_the_softmax_with_renormalisation(q, k, w, mask=None):
    weights = (q @ w @ k.transpose(-1, -2)).softmax(-1)
    if mask is None:
        return weights
    return weights * mask / (weights * mask).sum(-1, keepdim=True).clamp(min=1e-30)


@exercise.valid
def in_log_space(q, k, w, mask=None):
    scores = torch.nn.functional.linear(q, w.mT) @ k.mT
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -1e30)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


@exercise.mutant("the scores are scaled: here w can learn the scale, so nothing is divided")
def scaled_by_sqrt_d_k(q, k, w, mask=None):
    return weigh(q @ w @ k.mT / k.shape[-1] ** 0.5, mask)


@exercise.mutant("the scores are scaled: here w can learn the scale, so nothing is divided")
def scaled_by_sqrt_d_q(q, k, w, mask=None):
    return weigh(q @ w @ k.mT / q.shape[-1] ** 0.5, mask)


@exercise.mutant("the scores are scaled: here w can learn the scale, so nothing is divided")
def scaled_by_d_k(q, k, w, mask=None):
    return weigh(q @ w @ k.mT / k.shape[-1], mask)


@exercise.mutant("w is left out: it stands between the query and the key")
def without_the_matrix(q, k, w, mask=None):
    return weigh(q @ k.mT, mask)


@exercise.mutant("w is the wrong way round: its rows belong to the query, its columns to the key")
def matrix_transposed(q, k, w, mask=None):
    return weigh(q @ w.T @ k.mT, mask)


@exercise.mutant("queries and keys have changed places: rows are queries, columns are keys")
def roles_swapped(q, k, w, mask=None):
    return weigh(k @ w.T @ q.mT, mask)


@exercise.mutant("there is a tanh too many: this score is a plain product of query, w and key")
def additive_tanh(q, k, w, mask=None):
    return weigh(torch.tanh(q @ w) @ k.mT, mask)


@exercise.mutant("these are the scores: the softmax over the keys is missing")
def scores_only(q, k, w, mask=None):
    scores = q @ w @ k.mT
    return scores if mask is None else scores.masked_fill(~mask, 0.0)


@exercise.mutant("the softmax runs over the queries: each row, over the keys, must sum to one")
def softmax_over_queries(q, k, w, mask=None):
    return weigh(q @ w @ k.mT, mask, axis=-2)


@exercise.mutant("the softmax runs over the whole matrix: each row must sum to one by itself")
def softmax_over_everything(q, k, w, mask=None):
    scores = q @ w @ k.mT
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return scores.flatten(-2).softmax(-1).view_as(scores)


@exercise.mutant(
    "the softmax overflows or divides 0 by 0: take the largest score of a row away first"
)
def unstable_softmax(q, k, w, mask=None):
    parts = (q @ w @ k.mT).exp()
    parts = parts if mask is None else parts * mask
    weights = parts / parts.sum(-1, keepdim=True)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


@exercise.mutant("the mask comes after the softmax, so the rows no longer sum to one")
def mask_after_the_softmax(q, k, w, mask=None):
    weights = (q @ w @ k.mT).softmax(-1)
    return weights if mask is None else weights * mask


@exercise.mutant("the mask is ignored")
def mask_ignored(q, k, w, mask=None):
    return weigh(q @ w @ k.mT)


@exercise.mutant("the mask is upside down: True means may attend")
def mask_inverted(q, k, w, mask=None):
    return weigh(q @ w @ k.mT, None if mask is None else ~mask)


@exercise.mutant("a masked score of 0 still gets weight, since exp(0) = 1: fill with -inf")
def zero_fill(q, k, w, mask=None):
    return weigh(q @ w @ k.mT, mask, fill=0.0)


@exercise.mutant("-10 is not small enough to mask a score: fill with -inf")
def fill_with_minus_ten(q, k, w, mask=None):
    return weigh(q @ w @ k.mT, mask, fill=-10.0)


@exercise.mutant("a query that may attend nowhere gets NaN: it should get zeros")
def nan_for_an_empty_row(q, k, w, mask=None):
    scores = q @ w @ k.mT
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)


@exercise.mutant("a query that may attend nowhere attends everywhere: it should get zeros")
def uniform_for_an_empty_row(q, k, w, mask=None):
    scores = q @ w @ k.mT
    return (scores if mask is None else scores.masked_fill(~mask, -1e30)).softmax(-1)


@exercise.mutant("an empty row has a NaN gradient: replace a masked score, do not add -inf to it")
def nan_gradient_for_an_empty_row(q, k, w, mask=None):
    scores = q @ w @ k.mT
    if mask is None:
        return scores.softmax(-1)
    return (scores + torch.where(mask, 0.0, -torch.inf)).softmax(-1).nan_to_num(0.0)


@exercise.mutant("without a mask it fails: mask=None means that every key may be attended")
def mask_is_not_optional(q, k, w, mask=None):
    return weigh(q @ w @ k.mT, ~~mask)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(q, k, w, mask=None):
    return weigh(torch.bmm(q @ w, k.transpose(1, 2)), mask)


@exercise.mutant("it loops over positions: compute the scores of all pairs at once")
def loop_over_queries(q, k, w, mask=None):
    rows = []
    for one in q.unbind(-2):
        rows.append((one @ w)[..., None, :] @ k.mT)
    return weigh(torch.cat(rows, dim=-2), mask)


@exercise.mutant("no gradient reaches w: it is learned, so nothing may be detached")
def matrix_detached(q, k, w, mask=None):
    return weigh(q @ w.detach() @ k.mT, mask)


@exercise.mutant("no gradient flows back: nothing may be detached")
def weights_detached(q, k, w, mask=None):
    return weigh(q @ w @ k.mT, mask).detach()


@exercise.mutant("the input changes: work on a new tensor, not on q itself")
def changed_in_place(q, k, w, mask=None):
    q *= 1 + 1e-9
    return weigh(q @ w @ k.mT, mask)


@exercise.mutant("the result is always float32: keep the dtype of the inputs")
def always_float32(q, k, w, mask=None):
    return weigh(q.float() @ w.float() @ k.float().mT, mask)


@exercise.mutant("the result is always float64: keep the dtype of the inputs")
def always_float64(q, k, w, mask=None):
    return weigh(q.double() @ w.double() @ k.double().mT, mask)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def tensor_on_the_cpu(q, k, w, mask=None):
    scores = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype, device="cpu")
    return weigh(scores + q @ w @ k.mT, mask)
