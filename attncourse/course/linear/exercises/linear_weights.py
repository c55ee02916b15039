"""Exercise linear_weights: the weights that linear attention never builds."""

import torch

from attncourse.course.linear.exercises.shared.sums import EPSILON, LEAST
from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the queries: get all rows from one product"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


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
    q, k, own_keys = draw.normal(2, n, d), draw.normal(2, m, d), draw.normal(2, n, d)
    long_q, long_k = draw.normal(2, 48, d), draw.normal(2, 56, d)
    causal = (q, own_keys, True), (long_q, draw.normal(2, 48, d), True)
    # the causal form has a tensor more to make: it is also tried on other devices
    yield Case(f"a batch of 2, causal, n={n}, d={d}", causal[0], longer=causal[1])
    yield Case(f"a batch of 2, n={n}, m={m}, d={d}", (q, k), longer=(long_q, long_k))
    yield Case(f"two matrices without a batch, n={n}, m={m}", (q[0], k[0]))
    yield Case(f"two matrices without a batch, causal, n={n}", (q[0], own_keys[0], True))
    heads = draw.normal(2, 3, 4, 5), draw.normal(2, 3, 6, 5)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case("as many queries as keys, not causal", (q, own_keys))
    yield Case("causal, by name", (q, own_keys), {"causal": True})
    yield Case("numbers around -12, so that all features are small", (q - 12, k - 12))
    yield Case("numbers around 1000, beyond the range of exp", (q + 1000, k + 1000))
    one_feature = q[..., :1], k[:, :2, :1]
    small = one_feature[0] / 4 - 12.5, one_feature[1] / 4 - 12.5
    yield Case("products of features around 1e-11, m=2, d=1", small)
    smallest = -16.5 + one_feature[0].tanh() / 2, -16.5 + one_feature[1].tanh() / 2
    yield Case("numbers between -17 and -16, m=2, d=1", smallest, gradient=False)
    yield Case("one query and one key", (q[:, :1], k[:, :1]))
    yield Case("one query and one key, causal", (q[:, :1], k[:, :1], True))


# divided by their sum, these are a softmax
EXP = "scores = {}\nproducts = (scores - scores.amax(-1, keepdim=True)).exp()"
HIDDEN = (
    "later = torch.ones_like(products, dtype=torch.bool).triu(1)\n"
    "weights = products.masked_fill(later, {}) if causal else products"
)
variants.right(exercise,
    # what is the same for a whole row cancels
    'products = torch.einsum("...id,...jd->...ij", phi_q, phi_k) / q.shape[-1] ** 0.5\n'
    + HIDDEN.format("0.0"),
    "return torch.nn.functional.normalize(weights, p=1, dim=-1, eps=0.0)",
    # the softmax of the logarithm
    f"products = (phi_q @ phi_k.mT).log()\n{HIDDEN.format('-torch.inf')}\n"
    "return weights.softmax(dim=-1)",
    # the normaliser from the sum of the keys
    "phi_q = torch.where(q > 0, q + 1, q.clamp(max=0).exp())\n"
    "phi_k = torch.where(k > 0, k + 1, k.clamp(max=0).exp())\n"
    "z = phi_k.cumsum(-2) if causal else phi_k.sum(-2, keepdim=True)\n"
    "return weights / (phi_q * z).sum(-1, keepdim=True)",
)  # fmt: skip
variants.wrong(exercise, {
    "this is the softmax: take the products of features as they are": [
        EXP.format("q @ k.mT / q.shape[-1] ** 0.5"), EXP.format("q @ k.mT")],
    "this is a softmax of the products: divide each row by its sum, and no more": [
        EXP.format("phi_q @ phi_k.mT"), EXP.format("phi_q @ phi_k.mT / q.shape[-1] ** 0.5"),
        "return weights.softmax(-1)"],
    "the rows do not sum to 1: divide each by its sum": [
        "return weights", "return weights / weights.norm(dim=-1, keepdim=True)"],
    "each row is multiplied by its sum: divide, so that it sums to 1": ("/ weights", "* weights"),
    "the columns sum to 1: take the sum over the keys, the last axis": ("dim=-1", "dim=-2"),
    "the whole matrix sums to 1: divide each row by its own sum": ("dim=-1", "dim=(-2, -1)"),
    "q and k have no features yet, and their products may be negative: take phi first":
        "phi_q = q\nphi_k = k",
    "relu has features of exactly 0, and a row of them has no sum: take elu(x) + 1":
        "phi_q = q.relu()\nphi_k = k.relu()",
    "relu is flat below 0: take elu(x) + 1": [
        f"phi_q = q.relu() + {shift}\nphi_k = k.relu() + {shift}" for shift in ("1", "1e-6")],
    "one of the two feature maps is relu(x) + 1: take elu(x) + 1 for both, it differs below 0": [
        "phi_k = k.relu() + 1", "phi_q = q.relu() + 1"],
    "1 is added too early: phi(x) is elu(x) + 1": "phi_q = elu(q + 1)\nphi_k = elu(k + 1)",
    "elu goes down to -1, so a feature may be negative: add 1": "phi_q = elu(q)\nphi_k = elu(k)",
    "exp overflows where it is not even used, and the gradient is NaN: clamp x at 0 before exp":
        "phi_q = torch.where(q > 0, q + 1, q.exp())\nphi_k = torch.where(k > 0, k + 1, k.exp())",
    "the feature map is exp: take elu(x) + 1": "phi_q = q.exp()\nphi_k = k.exp()",
    "phi is taken of the products: take it of q and of k, then multiply":
        "products = elu(q @ k.mT) + 1",
    "the keys have no features: take phi of queries and of keys": "phi_k = k",
    "the queries have no features: take phi of queries and of keys": [
        "phi_q = q", "phi_q = q.relu()"],
    "phi is taken of what is scaled, which changes the features: leave sqrt(d) out": [
        "phi_q = elu(q / q.shape[-1] ** 0.5) + 1",
        "phi_q = elu(q / q.shape[-1] ** 0.25) + 1\nphi_k = elu(k / q.shape[-1] ** 0.25) + 1"],
    "causal rows do not sum to 1: hide the later keys first, then divide":
        "weights = products / products.sum(-1, keepdim=True)\n"
        "return weights.tril() if causal else weights",
    "`causal` changes nothing: give later keys the weight 0 when it is True": "weights = products",
    "later keys are always hidden: hide them only when `causal` is True":
        "weights = products.tril()",
    "a token does not see itself: keep the diagonal": [
        ("tril()", "tril(-1)"),
        # but for the first
        ("products.tril()",
         "torch.cat([products[..., :1, :].tril(), products[..., 1:, :].tril()], dim=-2)")],
    "a token sees one key ahead: its own should be the last that it sees": ("tril()", "tril(1)"),
    "the earlier keys are hidden: hide the later ones, right of the diagonal": ("tril", "triu"),
    "-inf, or nearly, is for a softmax: here give a hidden key the weight 0": [
        HIDDEN.format("-torch.inf"), HIDDEN.format("-1e9")],
    EPSILON: [f"return weights / (weights.sum(-1, keepdim=True) + {epsilon})"
              for epsilon in ("1e-6", "1e-9", "1e-12")],
    LEAST: [
        *(f"return weights / weights.sum(-1, keepdim=True).clamp(min={least})"
          for least in ("1e-6", "1e-8", "1e-10", "1e-12")),
        "return torch.nn.functional.normalize(weights, p=1, dim=-1)"],
    "query and key are exchanged: row i should be the query, column j the key":
        "products = phi_k @ phi_q.mT",
    LOOP: "return torch.stack([row / row.sum(-1, True) for row in weights.unbind(-2)], dim=-2)",
    "no gradient reaches the keys through the sum: don't detach anything":
        "return weights / weights.sum(-1, keepdim=True).detach()",
})  # fmt: skip
