"""Exercise reordered_attention: keys meet values first, and no n x m matrix is built."""

import torch

from attncourse.checks.around import BATCH, USUAL, add_to, batch_axis_assumed
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="reordered_attention",
    chapter="linear",
    title="Multiply in the other order",
    kind="build",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "Without a softmax, the output is a product of three matrices and a division. A product "
        "of three can be taken from the right: what do keys and values make, when they meet first?",
        "The keys' features, transposed, times the values give a (d, e) matrix; the sum of the "
        "keys' features is a vector of width d. A query meets both: a row of e numbers, and the "
        "one number to divide it by. A padded key is missing from both sums.",
        "phi_k.mT @ v and phi_k.sum(-2), once the features of padding are 0. Where the number to "
        "divide by is 0, divide by 1: torch.where before the division",
    ),
)


@exercise.reference
def by_hand(phi_q, phi_k, v, padding=None):
    m = phi_k.shape[-2]
    real = torch.ones(m) if padding is None else padding
    rows = []
    for i in range(phi_q.shape[-2]):
        parts = [real[..., j] * (phi_q[..., i, :] * phi_k[..., j, :]).sum(-1) for j in range(m)]
        total = sum(parts)
        shares = [part / total.masked_fill(total == 0, 1.0) for part in parts]
        rows.append(sum(share[..., None] * v[..., j, :] for j, share in enumerate(shares)))
    return torch.stack(rows, dim=-2)


def features(draw, *shape):
    """Positive numbers, none of them near 0: small ones have a case of their own."""
    return 4 * (draw.normal(*shape).exp() + 1)


@exercise.cases
def cases(draw):
    n, m, d, e = draw.sizes(4, 2, 7)
    q, k, v = features(draw, 2, n, d), features(draw, 2, m, d), draw.normal(2, m, e)
    long = features(draw, 2, 56, d), features(draw, 2, 48, d), draw.normal(2, 48, e)
    sizes = f"n={n}, m={m}, d={d}, e={e}"
    yield Case(f"a batch of 2, {sizes}", (q, k, v), longer=long)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], v[0]))
    heads = features(draw, 2, 3, 4, 2), features(draw, 2, 3, 6, 2), draw.normal(2, 3, 6, 5)
    yield Case("two leading axes (batch, heads)", heads)
    padding = draw.mask(2, m)
    longer = (*long, draw.mask(2, 48))
    yield Case(f"padding, {sizes}", (q, k, v, padding), longer=longer)
    yield Case(f"padding without a batch, {sizes}", (q[0], k[0], v[0], padding[0]))
    yield Case("padding of shape (2, 1, m) for all heads", (*heads, draw.mask(2, 1, 6)))
    nothing = padding.clone()
    nothing[1] = False
    yield Case("a sentence of nothing but padding", (q, k, v, nothing))
    yield Case("padding by name", (q, k, v), {"padding": padding})
    yield Case("padding of shape (3, m) for all sentences", (*heads, draw.mask(3, 6)))
    yield Case("features 100000 times smaller", (q / 1e5, k / 1e5, v))
    yield Case("one query and one key", (q[:, :1], k[:, :1], v[:, :1]))
    many = features(draw, 16, 2), features(draw, 18, 2), draw.normal(18, 3)
    yield Case("n=16, m=18, d=2, e=3", many, gradient=False, max_elements=16 * 18 - 1)


def without_padding(x, padding):
    return x if padding is None else x * padding[..., None]


def or_one(total):
    """What a row without keys is divided by: anything but 0."""
    return torch.where(total > 0, total, 1.0)


def reorder(phi_q, phi_k, v, padding=None, *, state=None, total=None, divisor=or_one):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    keys = without_padding(phi_k, padding)
    state = keys.mT @ v if state is None else state
    total = phi_q @ keys.sum(-2)[..., None] if total is None else total
    return phi_q @ state / divisor(total)


@exercise.valid
def keys_meet_values_first(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, v, padding)


@exercise.valid
def a_column_of_ones(phi_q, phi_k, v, padding=None):
    v = without_padding(torch.cat([v, torch.ones_like(v[..., :1])], dim=-1), padding)
    out = phi_q @ (phi_k.mT @ v)
    return out[..., :-1] / or_one(out[..., -1:])


@exercise.valid
def by_einsum(phi_q, phi_k, v, padding=None):
    if padding is not None:
        phi_k = phi_k.masked_fill(~padding.unsqueeze(-1), 0.0)
    state = torch.einsum("...jd,...je->...de", phi_k, v)
    total = torch.einsum("...id,...jd->...i", phi_q, phi_k).unsqueeze(-1)
    return torch.einsum("...id,...de->...ie", phi_q, state) / total.clamp(min=1e-12)


@exercise.valid
def outer_products_summed(phi_q, phi_k, v, padding=None):
    # (..., m, d, e) numbers
    phi_k = phi_k if padding is None else torch.where(padding[..., None], phi_k, 0.0)
    state = (phi_k[..., :, None] * v[..., None, :]).sum(-3)
    total = (phi_q * phi_k.sum(-2, keepdim=True)).sum(-1, keepdim=True)
    return phi_q @ state / (total + (total == 0))


@exercise.valid
def feature_by_feature(phi_q, phi_k, v, padding=None):
    # a loop over the width is none over the positions
    phi_k = without_padding(phi_k, padding)
    out = total = 0
    for of_q, of_k in zip(phi_q.split(1, dim=-1), phi_k.split(1, dim=-1), strict=True):
        out = out + of_q * (of_k * v).sum(-2, keepdim=True)
        total = total + of_q * of_k.sum(-2, keepdim=True)
    return out / or_one(total)


@exercise.mutant("the n x m matrix is built: multiply keys with values first, then the queries")
def weights_built(phi_q, phi_k, v, padding=None):
    weights = phi_q @ without_padding(phi_k, padding).mT
    return weights @ v / or_one(weights.sum(-1, keepdim=True))


@exercise.mutant("the normaliser is missing: divide by the sum of the weights")
def not_normalised(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, v, padding, divisor=torch.ones_like)


@exercise.mutant("it is divided by the number of keys: the weights of a row have a sum of its own")
def divided_by_the_number_of_keys(phi_q, phi_k, v, padding=None):
    ones = torch.ones_like(phi_k[..., :1])
    count = without_padding(ones, padding).sum(-2, keepdim=True)
    return reorder(phi_q, phi_k, v, padding, total=count)


@exercise.mutant("the queries are left out of the normaliser: they meet the sum of the keys")
def sum_of_the_keys_alone(phi_q, phi_k, v, padding=None):
    keys = without_padding(phi_k, padding)
    return reorder(phi_q, phi_k, v, padding, total=keys.sum((-2, -1))[..., None, None])


@exercise.mutant(
    "both widths are summed before they meet: the normaliser is a dot product, feature by feature"
)
def product_of_sums(phi_q, phi_k, v, padding=None):
    keys = without_padding(phi_k, padding)
    total = phi_q.sum(-1, keepdim=True) * keys.sum((-2, -1))[..., None, None]
    return reorder(phi_q, phi_k, v, padding, total=total)


@exercise.mutant("the state is divided by z: the query meets each of the two, and then you divide")
def state_divided_by_z(phi_q, phi_k, v, padding=None):
    keys = without_padding(phi_k, padding)
    return phi_q @ (keys.mT @ v / or_one(keys.sum(-2)[..., None]))


@exercise.mutant("the normaliser sums over the queries: each query has its own, a sum over keys")
def normaliser_of_all_queries(phi_q, phi_k, v, padding=None):
    total = phi_q @ without_padding(phi_k, padding).sum(-2)[..., None]
    return reorder(phi_q, phi_k, v, padding, total=total.sum(-2, keepdim=True))


@exercise.mutant("padding counts in the normaliser: the padded keys are missing from both sums")
def padding_of_values_only(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, without_padding(v, padding))


@exercise.mutant("padding counts in the state: the padded keys are missing from both sums")
def padding_of_the_normaliser_only(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, v, padding, state=phi_k.mT @ v)


@exercise.mutant("the padding is the wrong way round: True is a real token")
def padding_inverted(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, v, None if padding is None else ~padding)


@exercise.mutant("the padding changes nothing: a padded key may not count")
def padding_ignored(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, v)


@exercise.mutant("it fails without padding: None means that every token is real")
def padding_is_not_optional(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k * padding[..., None], v)


MINUS_INFINITY = "-inf, or nearly, is for a softmax: here the features of padding must be 0"


@exercise.mutant(MINUS_INFINITY)
def padding_of_minus_infinity(phi_q, phi_k, v, padding=None):
    keys = phi_k if padding is None else phi_k.masked_fill(~padding[..., None], -torch.inf)
    return reorder(phi_q, keys, v)


@exercise.mutant(MINUS_INFINITY)
def padding_of_a_large_negative_number(phi_q, phi_k, v, padding=None):
    keys = phi_k if padding is None else phi_k.masked_fill(~padding[..., None], -1e9)
    return reorder(phi_q, keys, v, divisor=lambda total: total.masked_fill(total == 0, 1.0))


@exercise.mutant("a sentence of nothing but padding gives NaN: it should give zeros")
def nan_without_a_key(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, v, padding, divisor=lambda total: total)


@exercise.mutant(
    "rows without a key are mended after the division by 0, whose gradient stays NaN: divide by "
    "something else there"
)
def nan_replaced_at_the_end(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, v, padding, divisor=lambda total: total).nan_to_num(0.0)


@exercise.mutant(
    "an epsilon in the denominator shows where features are small: ask where the sum is 0"
)
def epsilon_of_a_millionth(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, v, padding, divisor=lambda total: total + 1e-6)


@exercise.mutant(
    "a least value for the denominator shows where features are small: ask where the sum is 0"
)
def at_least_a_millionth(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, v, padding, divisor=lambda total: total.clamp(min=1e-6))


@exercise.mutant(
    "a divisor as small as can be makes a gradient NaN: where the sum is 0, divide by 1"
)
def at_least_the_smallest_number(phi_q, phi_k, v, padding=None):
    def divisor(total):
        return total.clamp(min=torch.finfo(total.dtype).tiny)

    return reorder(phi_q, phi_k, v, padding, divisor=divisor)


@exercise.mutant("the feature map is applied once more: phi_q and phi_k are features already")
def features_of_features(phi_q, phi_k, v, padding=None):
    # of positive numbers, elu(x) + 1 is x + 1
    return reorder(phi_q + 1, phi_k + 1, v, padding)


@exercise.mutant("this is the softmax: take the products of the features as they are")
def softmax(phi_q, phi_k, v, padding=None):
    scores = phi_q @ phi_k.mT / phi_q.shape[-1] ** 0.5
    if padding is None:
        return scores.softmax(-1) @ v
    hidden = ~padding[..., None, :]
    return scores.masked_fill(hidden, -torch.inf).softmax(-1).masked_fill(hidden, 0.0) @ v


@exercise.mutant("the state is transposed: its rows belong to the features, its columns to v")
def state_transposed(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, v, padding, state=v.mT @ without_padding(phi_k, padding))


@exercise.mutant("it loops over the keys: one product of matrices sums over all of them")
def loop_over_keys(phi_q, phi_k, v, padding=None):
    phi_k = without_padding(phi_k, padding)
    state = total = 0
    for j in range(phi_k.shape[-2]):
        state = state + phi_k[..., j, :, None] * v[..., j, None, :]
        total = total + phi_k[..., j, :, None]
    return phi_q @ state / or_one(phi_q @ total)


@exercise.mutant("no gradient passes through the normaliser: nothing may be detached")
def normaliser_detached(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k, v, padding, divisor=lambda total: or_one(total).detach())


@exercise.mutant(BATCH)
def padding_of_two_axes(phi_q, phi_k, v, padding=None):
    return reorder(phi_q, phi_k if padding is None else phi_k * padding[:, :, None], v)


@exercise.mutant("the axes of padding are aligned from the left: they broadcast from the right")
def padding_aligned_from_the_left(phi_q, phi_k, v, padding=None):
    while padding is not None and padding.dim() < phi_k.dim() - 1:
        padding = padding.unsqueeze(1)
    return reorder(phi_q, phi_k, v, padding)


add_to(exercise, reorder, *USUAL, batch_axis_assumed)
