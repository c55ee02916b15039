"""Exercise linear_weights: the weights that linear attention never builds."""

import torch
from torch.nn.functional import elu

from attncourse.course.linear.exercises.shared.sums import EPSILON, LEAST
from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the queries: one product gives all rows"
exercise = Exercise.read(__name__, usual_hints={"loops": LOOP})


@exercise.reference
def by_hand(q, k, causal=False):
    phi_q, phi_k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (q, k))
    rows = []
    for i in range(q.shape[-2]):
        parts = (phi_q[..., i, None, :] * phi_k).sum(-1)
        if causal:
            parts = torch.cat([parts[..., : i + 1], 0 * parts[..., i + 1 :]], dim=-1)
        rows.append(parts / parts.sum(-1, keepdim=True))
    return torch.stack(rows, dim=-2)


@exercise.cases
def cases(draw):
    (n, m), d = draw.sizes(2, 4, 6), draw.integer(2, 3)
    q, k, own = draw.normal(2, n, d), draw.normal(2, m, d), draw.normal(2, n, d)
    long, other = draw.normal(2, 48, d), draw.normal(2, 56, d)
    causal = (q, own, True), (long, draw.normal(2, 48, d), True)
    # the causal form has a tensor more to make: it is also tried on other devices
    yield Case(f"a batch of 2, causal, n={n}, d={d}", causal[0], longer=causal[1])
    yield Case(f"a batch of 2, n={n}, m={m}, d={d}", (q, k), longer=(long, other))
    yield Case(f"two matrices without a batch, n={n}, m={m}", (q[0], k[0]))
    yield Case(f"two matrices without a batch, causal, n={n}", (q[0], own[0], True))
    heads = draw.normal(2, 3, 4, 5), draw.normal(2, 3, 6, 5)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case("as many queries as keys, not causal", (q, own))
    yield Case("causal, by name", (q, own), {"causal": True})
    yield Case("numbers around -12, so that all features are small", (q - 12, k - 12))
    yield Case("numbers around 1000, beyond the range of exp", (q + 1000, k + 1000))
    few = q[..., :1], k[:, :2, :1]
    small = few[0] / 4 - 12.5, few[1] / 4 - 12.5
    yield Case("products of features around 1e-11, m=2, d=1", small)
    least = -16.5 + few[0].tanh() / 2, -16.5 + few[1].tanh() / 2
    yield Case("numbers between -17 and -16, m=2, d=1", least, gradient=False)
    yield Case("one query and one key", (q[:, :1], k[:, :1]))
    yield Case("one query and one key, causal", (q[:, :1], k[:, :1], True))


@exercise.valid
def plain(q, k, causal=False):
    phi_q, phi_k = elu(q) + 1, elu(k) + 1
    weights = phi_q @ phi_k.mT
    if causal:
        weights = weights.tril()
    return weights / weights.sum(-1, keepdim=True)


FEATURES, PRODUCTS, LOWER = "elu(q) + 1, elu(k) + 1", "phi_q @ phi_k.mT", "weights.tril()"
SUM = "weights.sum(-1, keepdim=True)"
RESULT = f"weights / {SUM}"
HIDDEN = "weights.masked_fill(torch.ones_like(weights).triu(1).bool(), {})"
# divided by their sum, these are a softmax
EXP = "({0} - ({0}).amax(-1, keepdim=True)).exp()"
variants.right(exercise,
    # what is the same for a whole row cancels
    (PRODUCTS, 'torch.einsum("...id,...jd->...ij", phi_q, phi_k) / q.shape[-1] ** 0.5',
     LOWER, HIDDEN.format("0.0")),
    (RESULT, "torch.nn.functional.normalize(weights, p=1, dim=-1, eps=0.0)"),
    # the softmax of the logarithm
    (PRODUCTS, f"({PRODUCTS}).log()", LOWER, HIDDEN.format("-torch.inf"),
     RESULT, "weights.softmax(dim=-1)"),
    # the normaliser from the sum of the keys
    (FEATURES, "(torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (q, k))",
     "    if", "    z = phi_k.cumsum(-2) if causal else phi_k.sum(-2, keepdim=True)\n    if",
     SUM, "(phi_q * z).sum(-1, keepdim=True)"),
)  # fmt: skip
variants.wrong(exercise, {
    "this is the softmax: linear attention takes products of features as they are": [
        (PRODUCTS, EXP.format("q @ k.mT / q.shape[-1] ** 0.5")),
        (PRODUCTS, EXP.format("q @ k.mT"))],
    "this is a softmax of the products: divide each row by its sum, and no more": [
        (PRODUCTS, EXP.format(PRODUCTS)),
        (PRODUCTS, EXP.format(f"{PRODUCTS} / q.shape[-1] ** 0.5")),
        (RESULT, "weights.softmax(-1)")],
    "the rows do not sum to 1: divide each by its sum": [
        (RESULT, "weights"), (RESULT, "weights / weights.norm(dim=-1, keepdim=True)")],
    "each row is multiplied by its sum: divide, so that it sums to 1": (RESULT, f"weights * {SUM}"),
    "the columns sum to 1: the sum runs over the keys, the last axis": ("sum(-1", "sum(-2"),
    "the whole matrix sums to 1: each row has a sum of its own": ("sum(-1", "sum((-2, -1)"),
    "q and k have no features yet, and their products may be negative: take phi first": (
        FEATURES, "q, k"),
    "relu has features of exactly 0, and a row of them has no sum: take elu(x) + 1": (
        FEATURES, "q.relu(), k.relu()"),
    "relu is flat below 0: take elu(x) + 1": [
        (FEATURES, f"q.relu() + {some}, k.relu() + {some}") for some in ("1", "1e-6")],
    "one of the two feature maps is relu(x) + 1: take elu(x) + 1 for both, it differs below 0": [
        ("elu(k)", "k.relu()"), ("elu(q)", "q.relu()")],
    "1 is added too early: phi(x) is elu(x) + 1": (FEATURES, "elu(q + 1), elu(k + 1)"),
    "elu goes down to -1, so a feature may be negative: add 1": (FEATURES, "elu(q), elu(k)"),
    "exp overflows where it is not even used, and the gradient is NaN: clamp x at 0 before exp": (
        FEATURES, "(torch.where(x > 0, x + 1, x.exp()) for x in (q, k))"),
    "exp is another feature map: here it is elu(x) + 1": (FEATURES, "q.exp(), k.exp()"),
    "phi is taken of the products: take it of q and of k, then multiply": (
        PRODUCTS, "elu(q @ k.mT) + 1"),
    "the keys have no features: phi is taken of queries and of keys": ("elu(k) + 1", "k"),
    "the queries have no features: phi is taken of queries and of keys": [
        ("elu(q) + 1", "q"), ("elu(q) + 1", "q.relu()")],
    "phi is taken of what is scaled, which changes the features: no sqrt(d) is needed here": [
        ("elu(q)", "elu(q / q.shape[-1] ** 0.5)"),
        ("elu(q)", "elu(q / q.shape[-1] ** 0.25)", "elu(k)", "elu(k / q.shape[-1] ** 0.25)")],
    "causal rows do not sum to 1: hide the later keys first, then divide": (
        RESULT, "weights", "    if", f"    weights = {RESULT}\n    if"),
    "`causal` changes nothing: later keys get weight 0 when it is True": ("if causal", "if False"),
    "later keys are hidden unasked: only when `causal` is True": ("if causal", "if True"),
    "a token does not see itself: keep the diagonal": [
        ("tril()", "tril(-1)"),
        # but for the first
        (LOWER, "torch.cat([weights[..., :1, :].tril(), weights[..., 1:, :].tril()], dim=-2)")],
    "a token sees one key ahead: its own is the last that it sees": ("tril()", "tril(1)"),
    "the earlier keys are hidden: it is the later ones, right of the diagonal": ("tril", "triu"),
    "-inf, or nearly, is for a softmax: here give a hidden key the weight 0": [
        (LOWER, HIDDEN.format("-torch.inf")), (LOWER, HIDDEN.format("-1e9"))],
    EPSILON: [(SUM, f"({SUM} + {some})") for some in ("1e-6", "1e-9", "1e-12")],
    LEAST: [
        *((SUM, f"{SUM}.clamp(min={some})") for some in ("1e-6", "1e-8", "1e-10", "1e-12")),
        (RESULT, "torch.nn.functional.normalize(weights, p=1, dim=-1)")],
    "query and key are exchanged: row i is the query, column j the key": (
        PRODUCTS, "phi_k @ phi_q.mT"),
    LOOP: (RESULT, "torch.stack([row / row.sum(-1, True) for row in weights.unbind(-2)], -2)"),
    "no gradient reaches the keys through the sum: nothing may be detached": (
        SUM, f"{SUM}.detach()"),
})  # fmt: skip
