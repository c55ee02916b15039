"""Exercise bilinear_weights: attention weights whose score goes through a learned matrix."""

import torch

from attncourse.checks.dot_product.shared import masked_softmax
from attncourse.checks.dot_product.shared.masked_softmax import softmax
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="bilinear_weights",
    chapter="dot_product",
    title="A matrix between query and key",
    kind="extend",
    difficulty=1,
    minutes=5,
    points=10,
    hints=(
        "Queries and keys have different widths, so a dot product cannot compare them. The matrix "
        "w carries a query over to the width of the keys.",
        "First q times w, of shape (..., n, d_k). Then its dot products with the keys, of shape "
        "(..., n, m), not divided by anything. The chapter's masked softmax comes after.",
        "q @ w is the query carried over, and k.mT has the keys as columns, whatever the leading "
        "axes.",
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
    n, m, d_q, d_k = draw.sizes(4, 3, 7)
    q, k, w = draw.normal(2, n, d_q), draw.normal(2, m, d_k), draw.normal(d_q, d_k)
    sizes = f"n={n}, m={m}, d_q={d_q}, d_k={d_k}"
    long = draw.normal(8, 64 + n, d_q), draw.normal(8, 64 + m, d_k), w
    yield Case(f"a batch of 2, {sizes}", (q, k, w), longer=long)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], w))
    heads = draw.normal(2, 3, 4, 5), draw.normal(2, 3, 6, 2), draw.normal(5, 2)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case("scores 10000 times larger", (q, k, 1e4 * w))
    mask = draw.mask(2, n, m)
    yield Case(f"a mask, {sizes}", (q, k, w, mask))
    yield Case(f"a mask without a batch, {sizes}", (q[0], k[0], w, mask[0]))
    yield Case("one mask for the whole batch", (q, k, w, mask[0]))
    yield Case("a mask of shape (2, 1, n, m) for all heads", (*heads, draw.mask(2, 1, 4, 6)))
    first = torch.arange(m) == 0
    others = (~first).expand(n, m)
    # one component makes the scores: the masked key's is far above the others
    far_q, far_k, far_w = q.clone(), k.clone(), w.clone()
    far_q[..., 0], far_k[..., 0], far_w[0, 0] = 1, first.double(), 1e3
    yield Case("a masked score near 1000, the others near 0", (far_q, far_k, far_w, others))
    low_k, low_w = far_k.clone(), 100 * far_w
    low_k[..., 0] = first.double() - 1
    yield Case(
        "a masked score near 0, the others near -100000",
        (far_q, low_k, low_w, others),
        # a gradient would be a difference of numbers 100000 times larger
        gradient=False,
    )
    nowhere = mask.clone()
    nowhere[1, 0] = False
    longer = (*long, draw.mask(8, 64 + n, 64 + m))
    yield Case("a query that may attend nowhere", (q, k, w, nowhere), longer=longer)
    yield Case("a mask by name", (q, k, w), {"mask": mask})
    yield Case("one query and one key", (q[:, :1], k[:, :1], w))


@exercise.valid
def the_keys_carried_over(q, k, w, mask=None):
    return softmax(q @ (k @ w.T).mT, mask)


@exercise.valid
def by_einsum(q, k, w, mask=None):
    return softmax(torch.einsum("...id,de,...je->...ij", q, w, k), mask)


@exercise.valid
def by_linear(q, k, w, mask=None):
    return softmax(torch.nn.functional.linear(q, w.mT) @ k.transpose(-1, -2), mask)


@exercise.valid
def by_a_sum_of_all_products(q, k, w, mask=None):
    return softmax((q[..., :, None, :, None] * w * k[..., None, :, None, :]).sum((-1, -2)), mask)


def with_softmax(way, q, k, w, mask=None):
    return way(q @ w @ k.mT, mask)


masked_softmax.add_to(exercise, with_softmax)


@exercise.mutant("the scores are scaled: here w can learn the scale, so nothing is divided")
def scaled_by_sqrt_d_k(q, k, w, mask=None):
    return softmax(q @ w @ k.mT / k.shape[-1] ** 0.5, mask)


@exercise.mutant("the scores are scaled: here w can learn the scale, so nothing is divided")
def scaled_by_sqrt_d_q(q, k, w, mask=None):
    return softmax(q @ w @ k.mT / q.shape[-1] ** 0.5, mask)


@exercise.mutant("the scores are scaled: here w can learn the scale, so nothing is divided")
def scaled_by_d_k(q, k, w, mask=None):
    return softmax(q @ w @ k.mT / k.shape[-1], mask)


@exercise.mutant("the scores are scaled: here w can learn the scale, so nothing is divided")
def scaled_by_both_widths(q, k, w, mask=None):
    return softmax(q @ w @ k.mT / (q.shape[-1] * k.shape[-1]) ** 0.5, mask)


@exercise.mutant("the scores are scaled: here w can learn the scale, so nothing is divided")
def scaled_by_a_fixed_number(q, k, w, mask=None):
    return softmax(q @ w @ k.mT / 8, mask)


@exercise.mutant("w is left out: it stands between the query and the key")
def without_the_matrix(q, k, w, mask=None):
    return softmax(q @ k.mT, mask)


@exercise.mutant("w is the wrong way round: its rows belong to the query, its columns to the key")
def matrix_transposed(q, k, w, mask=None):
    return softmax(q @ w.T @ k.mT, mask)


@exercise.mutant("queries and keys have changed places: rows are queries, columns are keys")
def roles_swapped(q, k, w, mask=None):
    return softmax(k @ w.T @ q.mT, mask)


@exercise.mutant("there is a tanh too many: this score is a plain product of query, w and key")
def additive_tanh(q, k, w, mask=None):
    return softmax(torch.tanh(q @ w) @ k.mT, mask)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(q, k, w, mask=None):
    return softmax(torch.bmm(q @ w, k.transpose(1, 2)), mask)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_in_einsum(q, k, w, mask=None):
    return softmax(torch.einsum("bid,de,bje->bij", q, w, k), mask)


@exercise.mutant("k.T turns round all axes of k: k.mT exchanges the last two")
def all_axes_turned_round(q, k, w, mask=None):
    # what k.T does, without torch's warning
    return softmax(q @ w @ k.permute(*reversed(range(k.dim()))), mask)


@exercise.mutant("this is a mean of the keys: the weights themselves are asked for")
def weighted_keys(q, k, w, mask=None):
    return softmax(q @ w @ k.mT, mask) @ k


LOOP = "it loops over positions: compute the scores of all pairs at once"


@exercise.mutant(LOOP)
def loop_over_queries(q, k, w, mask=None):
    rows = []
    for one in q.unbind(-2):
        rows.append((one @ w)[..., None, :] @ k.mT)
    return softmax(torch.cat(rows, dim=-2), mask)


@exercise.mutant(LOOP)
def loop_in_a_list(q, k, w, mask=None):
    scores = [(one[..., None, :] * k).sum(-1) for one in (q @ w).unbind(-2)]
    return softmax(torch.stack(scores, dim=-2), mask)


@exercise.mutant("no gradient reaches w: it is learned, so nothing may be detached")
def matrix_detached(q, k, w, mask=None):
    return softmax(q @ w.detach() @ k.mT, mask)


@exercise.mutant("no gradient flows back: nothing may be detached")
def weights_detached(q, k, w, mask=None):
    return softmax(q @ w @ k.mT, mask).detach()


@exercise.mutant("the input changes: work on a new tensor, not on q itself")
def changed_in_place(q, k, w, mask=None):
    q *= 1 + 1e-9
    return softmax(q @ w @ k.mT, mask)


@exercise.mutant("the result is always float32: keep the dtype of the inputs")
def always_float32(q, k, w, mask=None):
    return softmax(q.float() @ w.float() @ k.float().mT, mask)


@exercise.mutant("the result is always float64: keep the dtype of the inputs")
def always_float64(q, k, w, mask=None):
    return softmax(q.double() @ w.double() @ k.double().mT, mask)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def tensor_on_the_cpu(q, k, w, mask=None):
    scores = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype, device="cpu")
    return softmax(scores + q @ w @ k.mT, mask)
