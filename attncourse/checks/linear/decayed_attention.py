"""Exercise decayed_attention: a state that forgets, written as a product with a matrix."""

import torch

from attncourse.checks.around import USUAL, add_to, batch_and_heads_assumed
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="decayed_attention",
    chapter="linear",
    title="A state that forgets",
    kind="extend",
    difficulty=3,
    minutes=30,
    points=20,
    hints=(
        "What j wrote into the state has been multiplied with the decay once for every step since, "
        "so i - j times. That is a number for each pair and head: a mask with numbers in it.",
        "Make the (n, n) table of i - j, set what is negative in it to 0 before the power is "
        "taken, raise each head's decay to it, and put zeros above the diagonal. The result, "
        "(heads, n, n), multiplies q k^T.",
        "decay[:, None, None] ** (i - j).clamp(min=0), then tril(): a negative power of a small "
        "number is infinite, and zero times infinity is NaN",
    ),
    steps_allowed=3.0,
)


@exercise.reference
def by_hand(q, k, v, decay):
    state, out = 0, []
    for i in range(q.shape[-2]):
        own = k[..., i, :, None] * v[..., i, None, :]
        state = decay[:, None, None] * state + own
        out.append((q[..., i, :, None] * state).sum(-2))
    return torch.stack(out, dim=-2)


@exercise.cases
def cases(draw):
    n, d, e = draw.sizes(3, 3, 7)
    heads = 8
    decay = draw.normal(heads).sigmoid()
    q, k, v = draw.normal(2, heads, n, d), draw.normal(2, heads, n, d), draw.normal(2, heads, n, e)
    long = draw.normal(1, 8, 40, d), draw.normal(1, 8, 40, d), draw.normal(1, 8, 40, e)
    sizes = f"n={n}, d={d}, e={e}"
    yield Case(f"a batch of 2, 8 heads, {sizes}", (q, k, v, decay), longer=(*long, decay))
    yield Case(f"8 heads without a batch, {sizes}", (q[0], k[0], v[0], decay))
    more = draw.normal(2, 2, 3, 4, 5), draw.normal(2, 2, 3, 4, 5), draw.normal(2, 2, 3, 4, 6)
    yield Case("two axes before 3 heads", (*more, decay[:3]))
    square = draw.normal(3, 3, 3, 3), draw.normal(3, 3, 3, 3), draw.normal(3, 3, 3, 3)
    yield Case("all sizes 3", (*square, decay[:3]))
    yield Case("decays of 0.999", (*square, torch.full_like(decay[:3], 0.999)))
    # 0.01 to the power of -170 is more than float64 holds
    far = draw.normal(2, 170, 2), draw.normal(2, 170, 2), draw.normal(2, 170, 3)
    yield Case("decays of 0.01 and 0.9, n=170", (*far, torch.tensor([0.01, 0.9]).to(decay)))
    yield Case("one token", (q[..., :1, :], k[..., :1, :], v[..., :1, :], decay))


def steps(n, device):
    """How many steps the query lies after the key; negative where it lies before."""
    i = torch.arange(n, device=device)
    return i[:, None] - i


def powers(decay, n):
    """The decay to the power of the steps between query and key; 0 at later keys."""
    return (decay[:, None, None] ** steps(n, decay.device).clamp(min=0)).tril()


def attend(q, k, v, decay, *, table=powers):
    """The right answer, with the place where a wrong one departs from it as an argument."""
    return (q @ k.mT * table(decay, q.shape[-2])) @ v


@exercise.valid
def table_of_powers(q, k, v, decay):
    return attend(q, k, v, decay)


@exercise.valid
def by_the_logarithm(q, k, v, decay):
    apart = steps(q.shape[-2], q.device)
    logs = torch.log(decay)[:, None, None] * apart
    weights = logs.masked_fill(apart < 0, -torch.inf).exp()
    scores = torch.einsum("...id,...jd->...ij", q, k)
    return torch.einsum("...ij,...je->...ie", scores * weights, v)


@exercise.valid
def looked_up_in_a_row_of_powers(q, k, v, decay):
    n = q.shape[-2]
    j = torch.arange(n, device=decay.device)
    row = decay[:, None] ** j
    row = torch.cat([row, torch.zeros_like(row)], dim=-1)
    # of a later key the place is beyond the powers, where zeros are
    return attend(q, k, v, decay, table=lambda *_: row[:, (j[:, None] - j) % (2 * n)])


@exercise.valid
def summed_logarithms(q, k, v, decay):
    n = q.shape[-2]
    below = torch.ones(n, n, dtype=torch.bool, device=q.device).tril(-1)
    logs = torch.where(below, decay.log()[:, None, None], 0.0).cumsum(dim=-2)
    return attend(q, k, v, decay, table=lambda *_: logs.exp().tril())


@exercise.valid
def masked_before_and_after(q, k, v, decay):
    apart = steps(q.shape[-2], q.device)
    table = torch.pow(decay.view(-1, 1, 1), torch.where(apart < 0, 0, apart))
    scores = (q @ k.transpose(-1, -2)).masked_fill(apart < 0, 0.0)
    return (scores * table) @ v


@exercise.valid
def steps_doubled(q, k, v, decay):
    # after a round, twice as many of the last tokens are in each sum
    sums, apart = k[..., :, None] * v[..., None, :], 1
    while apart < q.shape[-2]:
        earlier = sums.roll(apart, dims=-3).index_fill(
            -3, torch.arange(apart, device=q.device), 0.0
        )
        sums = sums + decay[:, None, None, None] ** apart * earlier
        apart = 2 * apart
    return (q[..., None, :] @ sums)[..., 0, :]


def with_steps(change):
    """A table of powers whose exponents and mask come from other numbers of steps."""

    def table(decay, n):
        return decay[:, None, None] ** change(steps(n, decay.device))

    return table


@exercise.mutant(
    "the decay changes nothing: its power is i - j, positive where the key lies before the query"
)
def decay_ignored(q, k, v, decay):
    return (q @ k.mT).tril() @ v


@exercise.mutant("a token's own term is weakened already: the power is i - j, 0 for itself")
def one_step_too_many(q, k, v, decay):
    return attend(q, k, v, decay, table=lambda g, n: powers(g, n) * g[:, None, None])


LATER = "later keys count as well: hide what lies above the diagonal"


@exercise.mutant(LATER)
def distance_both_ways(q, k, v, decay):
    return attend(q, k, v, decay, table=with_steps(torch.abs))


@exercise.mutant(LATER)
def later_keys_not_weakened(q, k, v, decay):
    return attend(q, k, v, decay, table=with_steps(lambda x: x.clamp(min=0)))


@exercise.mutant(LATER)
def later_keys_grow(q, k, v, decay):
    return attend(q, k, v, decay, table=with_steps(lambda x: x))


@exercise.mutant("a token does not see itself: its own power is 0, so its decay is 1")
def diagonal_left_out(q, k, v, decay):
    return attend(q, k, v, decay, table=lambda g, n: powers(g, n).tril(-1))


@exercise.mutant("the earlier keys are hidden: the query comes after the keys that it sees")
def wrong_triangle(q, k, v, decay):
    return attend(q, k, v, decay, table=lambda g, n: powers(g, n).mT)


@exercise.mutant("every earlier key is weakened once: it is once for each step between the two")
def one_decay_for_all(q, k, v, decay):
    table = with_steps(lambda x: x.clamp(0, 1))
    return attend(q, k, v, decay, table=lambda g, n: table(g, n).tril())


@exercise.mutant("the decay is multiplied with the steps: it is raised to that power")
def steps_times_decay(q, k, v, decay):
    def table(g, n):
        return (1 - g[:, None, None] * steps(n, g.device)).clamp(min=0).tril()

    return attend(q, k, v, decay, table=table)


@exercise.mutant("exp(-decay) is another decay: raise the number itself to the power of the steps")
def exponential_of_the_decay(q, k, v, decay):
    def table(g, n):
        return (-g[:, None, None] * steps(n, g.device).clamp(min=0)).exp().tril()

    return attend(q, k, v, decay, table=table)


@exercise.mutant(
    "near tokens are weakened and far ones kept: the power is i - j, not n - 1 - (i - j)"
)
def near_ones_weakened(q, k, v, decay):
    def table(g, n):
        return (g[:, None, None] ** (n - 1 - steps(n, g.device).clamp(min=0))).tril()

    return attend(q, k, v, decay, table=table)


@exercise.mutant(
    "far tokens grow instead of fading: the power is i - j, positive where the key lies before"
)
def steps_with_the_wrong_sign(q, k, v, decay):
    return attend(q, k, v, decay, table=lambda g, n: with_steps(torch.neg)(g, n).tril())


@exercise.mutant("the state keeps `decay` of itself at each step, not 1 - decay")
def loses_the_decay(q, k, v, decay):
    return attend(q, k, v, 1 - decay)


@exercise.mutant("all heads share one decay: each head has its own")
def one_decay_for_all_heads(q, k, v, decay):
    return attend(q, k, v, decay[:1])


AXES = "the decay falls along the positions: one number a head needs two axes of size 1 after it"


@exercise.mutant(AXES)
def decay_along_the_keys(q, k, v, decay):
    return attend(q, k, v, decay, table=lambda g, n: (g ** steps(n, g.device).clamp(min=0)).tril())


@exercise.mutant(AXES)
def decay_along_the_queries(q, k, v, decay):
    def table(g, n):
        return (g[:, None] ** steps(n, g.device).clamp(min=0)).tril()

    return attend(q, k, v, decay, table=table)


@exercise.mutant(
    "decay ** -j is infinite for a far key: take the power of i - j, which is never negative, and "
    "not of i and of j apart"
)
def powers_apart(q, k, v, decay):
    j = torch.arange(q.shape[-2], device=q.device)
    rise = (decay[:, None] ** j)[..., None]
    return ((q * rise) @ (k / rise).mT).tril() @ v


@exercise.mutant(
    "the power of a later key is infinite, and times a mask of 0 it is NaN: set the negative steps "
    "to 0 before the power is taken"
)
def infinite_times_the_mask(q, k, v, decay):
    def table(g, n):
        apart = steps(n, g.device)
        return g[:, None, None] ** apart * (apart >= 0)

    return attend(q, k, v, decay, table=table)


@exercise.mutant(
    "a negative power is infinite, and hidden too late: the decay's gradient is NaN. Take powers "
    "of i - j, with its negative steps set to 0 before"
)
def infinite_and_hidden(q, k, v, decay):
    return attend(q, k, v, decay, table=lambda g, n: with_steps(lambda x: x)(g, n).tril())


@exercise.mutant("the rows are divided by their sum: here nothing is normalised")
def normalised(q, k, v, decay):
    weights = q @ k.mT * powers(decay, q.shape[-2])
    return weights / weights.sum(-1, keepdim=True) @ v


@exercise.mutant("a softmax is taken: the decayed products are the weights as they are")
def softmax(q, k, v, decay):
    scores = q @ k.mT * powers(decay, q.shape[-2])
    return (scores + torch.full_like(scores, -torch.inf).triu(1)).softmax(-1) @ v


@exercise.mutant("the products are divided by sqrt(d): here nothing is scaled")
def scaled(q, k, v, decay):
    return attend(q / q.shape[-1] ** 0.5, k, v, decay)


@exercise.mutant("q and k go through a feature map: here they are taken as they are")
def with_features(q, k, v, decay):
    q, k = (torch.nn.functional.elu(x) + 1 for x in (q, k))
    return attend(q, k, v, decay)


@exercise.mutant("it loops over the positions: one table of powers serves all of them")
def loop_over_positions(q, k, v, decay):
    state, out = 0, []
    for query, key, value in zip(q.unbind(-2), k.unbind(-2), v.unbind(-2), strict=True):
        state = decay[:, None, None] * state + key[..., :, None] * value[..., None, :]
        out.append((query[..., None, :] @ state)[..., 0, :])
    return torch.stack(out, dim=-2)


@exercise.mutant("the powers have a batch axis of their own: without a batch there is none")
def powers_with_a_batch_axis(q, k, v, decay):
    return attend(q, k, v, decay, table=lambda g, n: powers(g, n)[None])


@exercise.mutant("no gradient reaches the decay: nothing may be detached")
def decay_detached(q, k, v, decay):
    return attend(q, k, v, decay.detach())


add_to(exercise, attend, *USUAL, batch_and_heads_assumed)
