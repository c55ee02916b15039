"""Exercise bilinear_weights: attention weights whose score goes through a learned matrix."""

import torch

from attncourse.course.dot_product.exercises.shared.masked_softmax import WAYS, row_by_row
from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "you loop over positions: compute the scores of all pairs at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(q, k, w, mask=None):
    scores = [((row @ w)[..., None, :] * k).sum(-1) for row in q.unbind(-2)]
    return row_by_row(torch.stack(scores, dim=-2), mask)


@exercise.cases
def cases(draw):
    n, m, d_q, d_k = draw.sizes(4, 3, 7)
    q, k, w = draw.normal(2, n, d_q), draw.normal(2, m, d_k), draw.normal(d_q, d_k)
    sizes = f"n={n}, m={m}, d_q={d_q}, d_k={d_k}"
    longer_inputs = draw.normal(8, 64 + n, d_q), draw.normal(8, 64 + m, d_k), w
    yield Case(f"a batch of 2, {sizes}", (q, k, w), longer=longer_inputs)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], w))
    heads = draw.normal(2, 3, 4, 5), draw.normal(2, 3, 6, 2), draw.normal(5, 2)
    yield Case("two leading axes (batch, heads)", heads)
    square = draw.normal(2, n, 5), draw.normal(2, m, 5), draw.normal(5, 5)
    yield Case(f"queries and keys of one width, n={n}, m={m}, d_q=d_k=5", square)
    yield Case("scores 10^25 times larger", (q, k, 1e25 * w), gradient=False)
    # one component more takes the same from every score
    padded_q, padded_k = (torch.nn.functional.pad(x, (0, 1), value=1.0) for x in (q, k))
    padded_w = torch.nn.functional.pad(w, (0, 1, 0, 1))
    padded_w[-1, -1] = -1000
    yield Case("all scores near -1000", (padded_q, padded_k, padded_w))
    mask = draw.mask(2, n, m)
    yield Case(f"a mask, {sizes}", (q, k, w, mask))
    yield Case(f"a mask without a batch, {sizes}", (q[0], k[0], w, mask[0]))
    yield Case("one mask for the whole batch", (q, k, w, mask[0]))
    yield Case("a mask of shape (2, 1, n, m) for all heads", (*heads, draw.mask(2, 1, 4, 6)))
    is_first = torch.arange(m) == 0
    not_first = (~is_first).expand(n, m)
    # one component makes the scores: the masked key's is far above the others
    high_q, high_k, high_w = q.clone(), k.clone(), w.clone()
    high_q[..., 0], high_k[..., 0], high_w[0, 0] = 1, is_first.double(), 1e3
    yield Case("a masked score near 1000, the others near 0", (high_q, high_k, high_w, not_first))
    low_k, low_w = high_k.clone(), 1e22 * high_w
    # far enough from each other that float32 tells which is the largest
    low_k[..., 0] = -torch.arange(m).double()
    low_scores = high_q, low_k, low_w, not_first
    # a gradient would be a difference of numbers 10^25 times larger
    yield Case("a masked score near 0, the others -10^25 and below", low_scores, gradient=False)
    mask_with_empty_row = mask.clone()
    mask_with_empty_row[1, 0] = False
    longer_masked = (*longer_inputs, draw.mask(8, 64 + n, 64 + m))
    yield Case(
        "a query that may attend nowhere", (q, k, w, mask_with_empty_row), longer=longer_masked
    )
    yield Case("no query may attend anywhere", (q, k, w, mask & False))
    yield Case("a mask by name", (q, k, w), {"mask": mask})
    yield Case("one query and one key", (q[:, :1], k[:, :1], w))


variants.right(exercise,
    "scores = q @ (k @ w.T).mT", 'scores = torch.einsum("...id,de,...je->...ij", q, w, k)',
    "scores = torch.nn.functional.linear(q, w.mT) @ k.transpose(-1, -2)",
    "scores = (q[..., :, None, :, None] * w * k[..., None, :, None, :]).sum((-1, -2))",
)  # fmt: skip
variants.calling(
    exercise, "softmax", WAYS, instead="if mask is None: pass\nreturn softmax(scores, mask)"
)
variants.wrong(exercise, {
    "you scale the scores: don't divide them, because w can learn the scale": [
        f"scores = q @ w @ k.mT / {scale}" for scale in (
            "k.shape[-1] ** 0.5", "q.shape[-1] ** 0.5", "k.shape[-1]",
            "(q.shape[-1] * k.shape[-1]) ** 0.5", "8",
            "(k.shape[-1] ** 0.5 if q.shape[-1] == k.shape[-1] else 1)")],
    "w is left out: put it between the query and the key": "scores = q @ k.mT",
    "w is the wrong way round: its rows should meet the query, and its columns the key": [
        "scores = q @ w.T @ k.mT",
        "scores = q @ (w.T if w.shape[0] == w.shape[1] else w) @ k.mT"],
    "you make a square w symmetric: use it as it is, because queries and keys play different roles":
        "scores = q @ ((w + w.mT) / 2 if w.shape[0] == w.shape[1] else w) @ k.mT",
    "queries and keys are swapped: the rows should be queries, and the columns keys":
        "scores = k @ w.T @ q.mT",
    "you apply a tanh: leave it out, because the score is a plain product of query, w and key":
        "scores = torch.tanh(q @ w) @ k.mT",
    messages.BATCH: [
        "scores = torch.bmm(q @ w, k.transpose(1, 2))",
        'scores = torch.einsum("bid,de,bje->bij", q, w, k)'],
    # what k.T does, without torch's warning
    "k.T reverses all axes of k: use k.mT, which swaps only the last two":
        "scores = q @ w @ k.permute(*reversed(range(k.dim())))",
    "this is a mean of the keys: return the weights themselves": (
        "dim=-1)\n", "dim=-1) @ k\n", "0.0)", "0.0) @ k"),
    "a query gets zeros because it may attend nowhere in another sentence: treat each sentence "
    "separately":
        "if mask is not None and mask.dim() > 2:\n    mask = mask & mask.any(-1, True).all(0)\n"
        "scores = q @ w @ k.mT",
    "nn.Linear has a parameter of its own, so no gradient reaches w: use w itself":
        "linear = torch.nn.Linear(*w.shape, bias=False, device=w.device)\n"
        "linear.weight = torch.nn.Parameter(w.detach().mT)\nscores = linear(q) @ k.mT",
    messages.CUT_OFF:
        "if mask is not None and not mask.any():\n"
        "    return q.new_zeros(*q.shape[:-1], k.shape[-2])\nscores = q @ w @ k.mT",
    messages.CHANGES: "scores = q.mul_(1 + 1e-9) @ w @ k.mT",
    LOOP: [
        "scores = torch.cat([(one @ w)[..., None, :] @ k.mT for one in q.unbind(-2)], dim=-2)",
        "rows = [((one @ w)[..., None, :] * k).sum(-1) for one in q.unbind(-2)]\n"
        "scores = torch.stack(rows, dim=-2)"],
    "no gradient reaches w, which has to be learned: don't detach anything":
        "scores = q @ w.detach() @ k.mT",
})  # fmt: skip
