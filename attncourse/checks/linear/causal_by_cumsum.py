"""Exercise causal_by_cumsum: the causal form by running sums, with no n x n matrix."""

import torch

from attncourse.checks.around import USUAL, add_to, batch_axis_assumed
from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.linear.reordered_attention import features

exercise = Exercise(
    name="causal_by_cumsum",
    chapter="linear",
    title="A running sum for a mask",
    kind="extend",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "A mask hides the later keys from a sum over all. If you add the keys up one after "
        "another, there is nothing to hide: after token i, the sum holds the keys up to i.",
        "Each token brings an outer product of its key's features and its value, (..., n, d, e) "
        "in all. Their cumulative sum over the positions holds the state after every token; each "
        "query meets its own. The normaliser is made in the same way of the features alone.",
        "(phi_k[..., :, None] * v[..., None, :]).cumsum(dim=-3) holds the states, and "
        "phi_k.cumsum(dim=-2) what the queries meet in the normaliser",
    ),
)


@exercise.reference
def by_hand(phi_q, phi_k, v):
    state = total = 0
    rows = []
    for i in range(phi_q.shape[-2]):
        state = state + phi_k[..., i, :, None] * v[..., i, None, :]
        total = total + phi_k[..., i, :]
        sums = (phi_q[..., i, :, None] * state).sum(-2)
        rows.append(sums / (phi_q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(rows, dim=-2)


@exercise.cases
def cases(draw):
    n, d, e = draw.sizes(3, 3, 6)
    q, k, v = features(draw, 2, n, d), features(draw, 2, n, d), draw.normal(2, n, e)
    long = features(draw, 2, 48, d), features(draw, 2, 48, d), draw.normal(2, 48, e)
    sizes = f"n={n}, d={d}, e={e}"
    yield Case(f"a batch of 2, {sizes}", (q, k, v), longer=long)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], v[0]))
    heads = features(draw, 2, 3, 4, 2), features(draw, 2, 3, 4, 2), draw.normal(2, 3, 4, 5)
    yield Case("two leading axes (batch, heads)", heads)
    cube = features(draw, 4, 4, 4, 4), features(draw, 4, 4, 4, 4), draw.normal(4, 4, 4, 4)
    yield Case("all sizes 4", cube)
    yield Case("features 100000 times smaller", (q / 1e5, k / 1e5, v))
    yield Case("one token", (q[:, :1], k[:, :1], v[:, :1]))
    many = features(draw, 20, 2), features(draw, 20, 2), draw.normal(20, 3)
    yield Case("n=20, d=2, e=3", many, gradient=False, max_elements=20 * 20 - 1)


def read(phi_q, states):
    """Each query with the state at its own place."""
    return (phi_q[..., None, :] @ states)[..., 0, :]


def outer(phi_k, v):
    return phi_k[..., :, None] * v[..., None, :]


def running(x, axis):
    return x.cumsum(axis)


def summed(phi_q, phi_k, v, *, state=running, total=running):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    out = read(phi_q, state(outer(phi_k, v), -3))
    return out / (phi_q * total(phi_k, -2)).sum(-1, keepdim=True)


@exercise.valid
def two_running_sums(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v)


@exercise.valid
def a_column_of_ones(phi_q, phi_k, v):
    v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    out = torch.einsum("...nd,...nde->...ne", phi_q, outer(phi_k, v).cumsum(-3))
    return out[..., :-1] / out[..., -1:]


@exercise.valid
def feature_by_feature(phi_q, phi_k, v):
    # never more than (..., n, e) numbers at once; a loop over the width is none over positions
    out = total = 0
    for c in range(phi_q.shape[-1]):
        of_q, of_k = phi_q[..., c : c + 1], phi_k[..., c : c + 1]
        out = out + of_q * torch.cumsum(of_k * v, dim=-2)
        total = total + of_q * torch.cumsum(of_k, dim=-2)
    return out / total


@exercise.valid
def all_but_the_later_ones(phi_q, phi_k, v):
    def without_later(x, axis):
        later = x.flip(axis).cumsum(axis).flip(axis) - x
        return x.sum(axis, keepdim=True) - later

    return summed(phi_q, phi_k, v, state=without_later, total=without_later)


@exercise.valid
def flattened_states(phi_q, phi_k, v):
    d, e = phi_k.shape[-1], v.shape[-1]
    states = torch.einsum("...nd,...ne->...nde", phi_k, v).flatten(-2).cumsum(dim=-2)
    out = (phi_q.unsqueeze(-1) * states.unflatten(-1, (d, e))).sum(dim=-2)
    return out / torch.einsum("...nd,...nd->...n", phi_q, phi_k.cumsum(-2)).unsqueeze(-1)


def whole(x, axis):
    return x.sum(axis, keepdim=True).expand(x.shape)


def earlier(x, axis):
    return x.cumsum(axis) - x


def later(x, axis):
    return x.flip(axis).cumsum(axis).flip(axis)


def alone(x, axis):
    return x


@exercise.mutant("nothing is causal: every token sees the sum of all keys. Take a running sum")
def sums_of_all_keys(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v, state=whole, total=whole)


@exercise.mutant("the normaliser counts the later keys too: it takes a running sum as well")
def normaliser_of_all_keys(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v, total=whole)


@exercise.mutant("the state holds the later keys too: it takes a running sum as well")
def state_of_all_keys(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v, state=whole)


@exercise.mutant("a token does not see itself: its own key belongs in the sum that it reads")
def read_before_the_update(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v, state=earlier, total=earlier)


@exercise.mutant("the state leaves the token itself out, the normaliser does not: both hold it")
def state_read_before_the_update(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v, state=earlier)


@exercise.mutant("the normaliser leaves the token itself out, the state does not: both hold it")
def normaliser_read_before_the_update(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v, total=earlier)


@exercise.mutant("the sums run from the end: a token sees the earlier keys, not the later ones")
def sums_from_the_end(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v, state=later, total=later)


@exercise.mutant(
    "each token gets its own value only: the products of key and value are summed up to it"
)
def no_sum(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v, state=alone, total=alone)


@exercise.mutant("the normaliser is missing: divide by the sum of the weights so far")
def not_normalised(phi_q, phi_k, v):
    return read(phi_q, outer(phi_k, v).cumsum(-3))


@exercise.mutant("the normaliser is not summed: it takes a running sum of the keys, too")
def normaliser_not_summed(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v, total=alone)


@exercise.mutant("a query meets its own key before the sum: it meets the sum of the keys up to it")
def own_products_summed(phi_q, phi_k, v):
    total = (phi_q * phi_k).sum(-1, keepdim=True).cumsum(-2)
    return read(phi_q, outer(phi_k, v).cumsum(-3)) / total


@exercise.mutant("it is divided by the number of keys so far: the weights have a sum of their own")
def running_mean(phi_q, phi_k, v):
    count = torch.arange(1, v.shape[-2] + 1, dtype=v.dtype, device=v.device)
    return read(phi_q, outer(phi_k, v).cumsum(-3)) / count[:, None]


@exercise.mutant(
    "keys and values are summed apart: a key must meet its own value before anything is added up"
)
def summed_apart(phi_q, phi_k, v):
    return read(phi_q, outer(phi_k.cumsum(-2), v.cumsum(-2))) / (phi_q * phi_k.cumsum(-2)).sum(
        -1, keepdim=True
    )


@exercise.mutant("the queries are summed too: only keys and values go into the sums")
def queries_summed(phi_q, phi_k, v):
    return summed(phi_q.cumsum(-2), phi_k, v)


@exercise.mutant("the sum runs over the features: it runs over the positions")
def summed_over_the_features(phi_q, phi_k, v):
    return read(phi_q, outer(phi_k, v).cumsum(-2)) / (phi_q * phi_k.cumsum(-2)).sum(
        -1, keepdim=True
    )


FRONT = "the axis of the sum is counted from the front: count it from the end"


@exercise.mutant(FRONT)
def second_axis_from_the_front(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v, state=lambda x, _: x.cumsum(1), total=lambda x, _: x.cumsum(1))


@exercise.mutant(FRONT)
def first_axis_from_the_front(phi_q, phi_k, v):
    return summed(phi_q, phi_k, v, state=lambda x, _: x.cumsum(0), total=lambda x, _: x.cumsum(0))


@exercise.mutant("an n x n matrix is built: a running sum over the positions needs none")
def masked_matrix(phi_q, phi_k, v):
    weights = (phi_q @ phi_k.mT).tril()
    return weights @ v / weights.sum(-1, keepdim=True)


@exercise.mutant("an epsilon in the denominator shows where features are small: leave it out")
def epsilon_in_the_denominator(phi_q, phi_k, v):
    out = read(phi_q, outer(phi_k, v).cumsum(-3))
    return out / ((phi_q * phi_k.cumsum(-2)).sum(-1, keepdim=True) + 1e-6)


@exercise.mutant("a least value for the denominator shows where features are small: leave it out")
def at_least_a_millionth(phi_q, phi_k, v):
    out = read(phi_q, outer(phi_k, v).cumsum(-3))
    return out / (phi_q * phi_k.cumsum(-2)).sum(-1, keepdim=True).clamp(min=1e-6)


@exercise.mutant("it loops over the positions: cumsum adds up one after another by itself")
def loop_over_positions(phi_q, phi_k, v):
    state = total = 0
    rows = []
    for q, k, x in zip(phi_q.unbind(-2), phi_k.unbind(-2), v.unbind(-2), strict=True):
        state = state + outer(k, x)
        total = total + k
        rows.append(read(q, state) / (q * total).sum(-1, keepdim=True))
    return torch.stack(rows, dim=-2)


@exercise.mutant("no gradient reaches the earlier tokens through the sums: detach nothing")
def states_detached(phi_q, phi_k, v):
    def own_gradient(x, axis):
        return earlier(x, axis).detach() + x

    return summed(phi_q, phi_k, v, state=own_gradient, total=own_gradient)


add_to(exercise, summed, *USUAL, batch_axis_assumed)
