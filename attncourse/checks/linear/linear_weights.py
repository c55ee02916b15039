"""Exercise linear_weights: the weights that linear attention never builds."""

import torch
from torch.nn.functional import elu, relu

from attncourse.checks.around import USUAL, add_to, batch_axis_assumed
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="linear_weights",
    chapter="linear",
    title="The weights behind linear attention",
    kind="build",
    difficulty=1,
    minutes=15,
    points=10,
    hints=(
        "It is attention with another score: a product of features, which is positive, so nothing "
        "has to be exponentiated. What a softmax does last is left to you: each row sums to 1.",
        "Take the features of q and of k, multiply every query's with every key's, and divide each "
        "row by its sum. In the causal form the later keys get weight 0, and they may not count in "
        "the sum either.",
        "phi(q) @ phi(k).mT is the matrix to start from, and torch.tril keeps what lies on and "
        "below the diagonal: before the sum is taken",
    ),
)


@exercise.reference
def by_hand(q, k, causal=False):
    def phi(x):
        return torch.where(x > 0, x + 1, x.clamp(max=0).exp())

    rows = []
    for i in range(q.shape[-2]):
        seen = range(i + 1 if causal else k.shape[-2])
        parts = {j: (phi(q[..., i, :]) * phi(k[..., j, :])).sum(-1) for j in seen}
        total = sum(parts.values())
        row = [parts.get(j, 0 * total) / total for j in range(k.shape[-2])]
        rows.append(torch.stack(row, dim=-1))
    return torch.stack(rows, dim=-2)


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 4, 6)
    d = draw.integer(2, 3)
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
    yield Case("one query and one key", (q[:, :1], k[:, :1]))
    yield Case("one query and one key, causal", (q[:, :1], k[:, :1], True))


def features(x):
    return elu(x) + 1


def same(x):
    return x


def weigh(q, k, causal=False, *, of_q=features, of_k=features, keep=torch.tril, axis=-1):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    weights = of_q(q) @ of_k(k).mT
    weights = keep(weights) if causal else weights
    return weights / weights.sum(axis, keepdim=True)


@exercise.valid
def lower_triangle(q, k, causal=False):
    return weigh(q, k, causal)


@exercise.valid
def scaled_products(q, k, causal=False):
    # what is the same for a whole row cancels
    weights = torch.einsum("...id,...jd->...ij", features(q), features(k)) / q.shape[-1] ** 0.5
    if causal:
        j = torch.arange(k.shape[-2], device=k.device)
        weights = weights.masked_fill(j > j[:, None], 0.0)
    return weights / torch.einsum("...ij->...i", weights)[..., None]


@exercise.valid
def softmax_of_the_logarithm(q, k, causal=False):
    scores = (features(q) @ features(k).mT).log()
    if causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    return scores.softmax(dim=-1)


@exercise.valid
def normaliser_from_the_sum_of_keys(q, k, causal=False):
    phi_q, phi_k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (q, k))
    z = phi_k.cumsum(-2) if causal else phi_k.sum(-2, keepdim=True)
    weights = phi_q @ phi_k.transpose(-2, -1) / (phi_q * z).sum(-1, keepdim=True)
    return weights.tril() if causal else weights


@exercise.valid
def divided_by_a_norm(q, k, causal=False):
    weights = weigh(q, k, causal, axis=-1) * 3
    return torch.nn.functional.normalize(weights, p=1, dim=-1)


def softmax(scores, causal):
    if causal:
        scores = scores + torch.full_like(scores, -torch.inf).triu(1)
    return scores.softmax(-1)


SOFTMAX = "this is the softmax: linear attention takes products of features as they are"


@exercise.mutant(SOFTMAX)
def softmax_of_scores(q, k, causal=False):
    return softmax(q @ k.mT / q.shape[-1] ** 0.5, causal)


@exercise.mutant(SOFTMAX)
def softmax_of_scores_not_scaled(q, k, causal=False):
    return softmax(q @ k.mT, causal)


SOFTMAX_OF_PRODUCTS = "this is a softmax of the products: divide each row by its sum, and no more"


@exercise.mutant(SOFTMAX_OF_PRODUCTS)
def softmax_of_products(q, k, causal=False):
    return softmax(features(q) @ features(k).mT, causal)


@exercise.mutant(SOFTMAX_OF_PRODUCTS)
def softmax_of_scaled_products(q, k, causal=False):
    return softmax(features(q) @ features(k).mT / q.shape[-1] ** 0.5, causal)


NOT_NORMALISED = "the rows do not sum to 1: divide each by its sum"


@exercise.mutant(NOT_NORMALISED)
def not_normalised(q, k, causal=False):
    weights = features(q) @ features(k).mT
    return weights.tril() if causal else weights


@exercise.mutant(NOT_NORMALISED)
def rows_of_length_1(q, k, causal=False):
    return torch.nn.functional.normalize(weigh(q, k, causal), dim=-1)


@exercise.mutant("the columns sum to 1: the sum runs over the keys, the last axis")
def normalised_over_queries(q, k, causal=False):
    return weigh(q, k, causal, axis=-2)


@exercise.mutant("the whole matrix sums to 1: each row has a sum of its own")
def normalised_over_all(q, k, causal=False):
    return weigh(q, k, causal, axis=(-2, -1))


@exercise.mutant("q and k have no features yet, and their products may be negative: take phi first")
def without_features(q, k, causal=False):
    return weigh(q, k, causal, of_q=same, of_k=same)


@exercise.mutant("relu has features of exactly 0, and a row of them has no sum: take elu(x) + 1")
def relu_features(q, k, causal=False):
    return weigh(q, k, causal, of_q=relu, of_k=relu)


@exercise.mutant("elu goes down to -1, so a feature may be negative: add 1")
def elu_alone(q, k, causal=False):
    return weigh(q, k, causal, of_q=elu, of_k=elu)


@exercise.mutant("exp is another feature map: here it is elu(x) + 1")
def exp_features(q, k, causal=False):
    return weigh(q, k, causal, of_q=torch.exp, of_k=torch.exp)


@exercise.mutant("phi is taken of the products: take it of q and of k, then multiply")
def features_of_the_products(q, k, causal=False):
    weights = features(q @ k.mT)
    weights = weights.tril() if causal else weights
    return weights / weights.sum(-1, keepdim=True)


@exercise.mutant("the keys have no features: phi is taken of queries and of keys")
def features_of_queries_only(q, k, causal=False):
    return weigh(q, k, causal, of_k=same)


@exercise.mutant("the queries have no features: phi is taken of queries and of keys")
def features_of_keys_only(q, k, causal=False):
    return weigh(q, k, causal, of_q=same)


@exercise.mutant("q is scaled before phi, which changes its features: no sqrt(d) is needed here")
def scaled_before_the_features(q, k, causal=False):
    return weigh(q / q.shape[-1] ** 0.5, k, causal)


@exercise.mutant("causal rows do not sum to 1: hide the later keys first, then divide")
def hidden_after_the_division(q, k, causal=False):
    weights = weigh(q, k)
    return weights.tril() if causal else weights


@exercise.mutant("`causal` changes nothing: later keys get weight 0 when it is True")
def causal_ignored(q, k, causal=False):
    return weigh(q, k)


@exercise.mutant("later keys are hidden unasked: only when `causal` is True")
def always_causal(q, k, causal=False):
    return weigh(q, k, True)


@exercise.mutant("a token does not see itself, and the first sees nothing: keep the diagonal")
def strictly_causal(q, k, causal=False):
    return weigh(q, k, causal, keep=lambda x: x.tril(-1))


@exercise.mutant("a token sees one key ahead: its own is the last that it sees")
def one_key_ahead(q, k, causal=False):
    return weigh(q, k, causal, keep=lambda x: x.tril(1))


@exercise.mutant("the earlier keys are hidden: it is the later ones, right of the diagonal")
def wrong_triangle(q, k, causal=False):
    return weigh(q, k, causal, keep=torch.triu)


MINUS_INFINITY = "-inf, or nearly, is for a softmax: here give a hidden key the weight 0"


@exercise.mutant(MINUS_INFINITY)
def filled_with_minus_infinity(q, k, causal=False):
    def keep(x):
        return x.masked_fill(torch.ones_like(x).triu(1).bool(), -torch.inf)

    return weigh(q, k, causal, keep=keep)


@exercise.mutant(MINUS_INFINITY)
def filled_with_a_large_negative_number(q, k, causal=False):
    def keep(x):
        return x.masked_fill(torch.ones_like(x).triu(1).bool(), -1e9)

    return weigh(q, k, causal, keep=keep)


@exercise.mutant("an epsilon in the denominator shows where features are small: leave it out")
def epsilon_in_the_denominator(q, k, causal=False):
    weights = features(q) @ features(k).mT
    weights = weights.tril() if causal else weights
    return weights / (weights.sum(-1, keepdim=True) + 1e-6)


@exercise.mutant("a least value for the denominator shows where features are small: leave it out")
def at_least_a_millionth(q, k, causal=False):
    weights = features(q) @ features(k).mT
    weights = weights.tril() if causal else weights
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-6)


@exercise.mutant("query and key are exchanged: row i is the query, column j the key")
def queries_for_keys(q, k, causal=False):
    return weigh(k, q, causal)


@exercise.mutant("it loops over the queries: one product gives all rows")
def loop_over_queries(q, k, causal=False):
    rows = []
    for i in range(q.shape[-2]):
        row = features(q[..., i : i + 1, :]) @ features(k).mT
        if causal:
            row = torch.cat([row[..., : i + 1], torch.zeros_like(row[..., i + 1 :])], dim=-1)
        rows.append(row / row.sum(-1, keepdim=True))
    return torch.cat(rows, dim=-2)


@exercise.mutant("no gradient reaches the keys through the sum: nothing may be detached")
def sum_detached(q, k, causal=False):
    weights = features(q) @ features(k).mT
    weights = weights.tril() if causal else weights
    return weights / weights.sum(-1, keepdim=True).detach()


add_to(exercise, weigh, *USUAL, batch_axis_assumed)
