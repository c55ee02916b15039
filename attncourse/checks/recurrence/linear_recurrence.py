"""Exercise linear_recurrence: all states of a linear recurrence in a few parallel steps."""

import torch
from torch.nn.functional import pad

from attncourse.checks.around import (
    add_to,
    always_float32,
    batch_axis_assumed,
    float32_inside,
    made_on_the_cpu,
)
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="linear_recurrence",
    chapter="recurrence",
    title="A recurrence without waiting",
    kind="extend",
    difficulty=3,
    minutes=40,
    points=20,
    hints=(
        "Two steps in one are again such a step: a_t (a_s h + b_s) + b_t is (a_t a_s) h + (a_t b_s "
        "+ b_t). Let every position join its step with the one before it, all at once. Then each "
        "holds two steps, and can join with the pair that ends two before it.",
        "For reach 1, 2, 4, ... below n: b becomes b + a times the b of the position `reach` "
        "before, and a becomes a times the a of that position. Where there is none before, that b "
        "is 0 and that a is 1. Both are read before either is changed.",
        "earlier = pad(b, (0, 0, reach, 0))[..., :n, :] is b moved by reach, with zeros in front; "
        "for a, the same with value=1. Then b = b + a * earlier, and only then a",
    ),
    # it takes one turn more whenever the length doubles
    steps_allowed=3.0,
)


@exercise.reference
def by_hand(a, b):
    states = [b[..., 0, :]]
    for t in range(1, b.shape[-2]):
        states.append(a[..., t, :] * states[-1] + b[..., t, :])
    return torch.stack(states, dim=-2)


@exercise.cases
def cases(draw):
    # one length that is no power of two, one that is, and one that needs another turn
    n, d = draw.integer(6, 7), draw.integer(3, 4)
    a, b, sizes = draw.normal(2, n, d), draw.normal(2, n, d), f"n={n}, d={d}"
    yield Case(f"a batch of 2, {sizes}", (a, b))
    yield Case(f"no batch, {sizes}", (a[0], b[0]))
    yield Case(f"two leading axes, n=9, d={d}", (draw.normal(2, 3, 9, d), draw.normal(2, 3, 9, d)))
    # four turns, and nine
    long = draw.normal(2, 512, 3) / 2, draw.normal(2, 512, 3)
    yield Case("n=16", (draw.normal(2, 16, 3), draw.normal(2, 16, 3)), longer=long)
    forgets = a.clone()
    forgets[:, n // 2] = 0
    yield Case("one factor of 0", (forgets, b))
    yield Case("factors of 0 only", (0 * a, b))
    small = draw.normal(200, 2)
    yield Case("n=200, factors around 0.01", (0.01 * small, draw.normal(200, 2)), gradient=False)
    # the first step still counts in the last state
    near = draw.normal(1100, 1).sign() * (1 - 0.002 * draw.normal(1100, 1).sigmoid())
    yield Case("n=1100, factors near 1 and -1", (near, draw.normal(1100, 1)), gradient=False)
    yield Case("numbers around 1000000", (a, 1e6 * b))
    yield Case("one step", (a[:, :1], b[:, :1]))
    yield Case("one step of width 1 without a batch", (a[0, :1, :1], b[0, :1, :1]))
    wide = draw.normal(2, 40, 3) / 2, draw.normal(2, 40, 3)
    yield Case("a batch of 2, n=40, d=3", wide, max_elements=40 * 40 - 1)


def moved(x, reach, fill):
    """Each position sees the one `reach` before it; where there is none, the fill."""
    return pad(x, (0, 0, reach, 0), value=fill)[..., : x.shape[-2], :]


def join(a, b, reach, move=moved):
    return a * move(a, reach, 1.0), b + a * move(b, reach, 0.0)


def scan(a, b, *, join=join, stop=None, reach=1):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    while reach < (b.shape[-2] if stop is None else stop):
        a, b = join(a, b, reach)
        reach *= 2
    return b


@exercise.valid
def reach_doubled(a, b):
    return scan(a, b)


@exercise.valid
def zeros_for_both_in_front(a, b):
    # what has read all there is before it needs its factor no more
    def both(a, b, reach):
        return a * moved(a, reach, 0.0), b + a * moved(b, reach, 0.0)

    return scan(a, b, join=both)


@exercise.valid
def put_together_from_two_parts(a, b):
    reach = 1
    while reach < b.size(-2):
        late = a[..., reach:, :]
        b = torch.cat([b[..., :reach, :], b[..., reach:, :] + late * b[..., :-reach, :]], dim=-2)
        a = torch.cat([a[..., :reach, :], late * a[..., :-reach, :]], dim=-2)
        reach = 2 * reach
    return b


@exercise.valid
def pairs_joined_and_taken_apart(a, b):
    n = b.shape[-2]
    if n == 1:
        return b
    odd_a, odd_b = a[..., 1::2, :], b[..., 1::2, :]
    even = slice(0, n - 1 if n % 2 else n, 2)
    pairs = pairs_joined_and_taken_apart(odd_a * a[..., even, :], odd_a * b[..., even, :] + odd_b)
    before = pad(pairs, (0, 0, 1, 0))[..., : (n + 1) // 2, :]
    evens = a[..., ::2, :] * before + b[..., ::2, :]
    out = torch.stack([evens[..., : n // 2, :], pairs], dim=-2).flatten(-3, -2)
    return torch.cat([out, evens[..., n // 2 :, :]], dim=-2)


DIVIDES = "it divides by a product of factors, which may be 0 or too small to hold: only multiply"


@exercise.mutant(DIVIDES)
def divided_by_the_product(a, b):
    product = a.cumprod(-2)
    return product * (b / product).cumsum(-2)


@exercise.mutant(DIVIDES)
def divided_by_a_little_more(a, b):
    product = a.cumprod(-2)
    return product * (b / (product + 1e-12)).cumsum(-2)


@exercise.mutant("by logarithms the signs get lost, and 0 has none: a may be 0 or negative")
def by_logarithms(a, b):
    logs = a.abs().log().cumsum(-2)
    return logs.exp() * (b * (-logs).exp()).cumsum(-2)


@exercise.mutant("it loops over the positions: let the reach double, and take all of them at once")
def loop_over_positions(a, b):
    state, states = 0, []
    for one, other in zip(a.unbind(-2), b.unbind(-2), strict=True):
        state = one * state + other
        states.append(state)
    return torch.stack(states, dim=-2)


@exercise.mutant("it holds a number for every pair of positions: n numbers are enough in each turn")
def product_for_every_pair(a, b):
    n = a.shape[-2]
    t = torch.arange(n, device=a.device)
    # between s and t: the factors after s
    factors = torch.where((t[:, None] > t)[..., None], a[..., :, None, :], 1.0)
    products = factors.cumprod(dim=-3) * (t[:, None] >= t)[..., None]
    return (products * b[..., None, :, :]).sum(-2)


@exercise.mutant("a changes before b has read it: b needs the factors of this turn, not the next")
def factor_changed_first(a, b):
    def both(a, b, reach):
        a = a * moved(a, reach, 1.0)
        return a, b + a * moved(b, reach, 0.0)

    return scan(a, b, join=both)


@exercise.mutant("a stays as it was: with each turn it spans twice as many steps")
def factor_unchanged(a, b):
    return scan(a, b, join=lambda a, b, reach: (a, join(a, b, reach)[1]))


@exercise.mutant("the last turn is missing: go on until the reach is n")
def one_turn_short(a, b):
    return scan(a, b, stop=b.shape[-2] // 2)


@exercise.mutant("the number of turns is fixed: go on until the reach is n")
def ten_turns(a, b):
    return scan(a, b, stop=min(b.shape[-2], 2**10))


@exercise.mutant("the end comes round to the front: before the first position there is nothing")
def rolled(a, b):
    return scan(a, b, join=lambda a, b, r: join(a, b, r, lambda x, r, _: x.roll(r, -2)))


@exercise.mutant("it runs along the width: positions are the last axis but one")
def along_the_width(a, b):
    return scan(a.mT, b.mT).mT


@exercise.mutant("a_t multiplies b_t, too: it multiplies the state before only")
def factor_on_the_input(a, b):
    return scan(a, a * b)


@exercise.mutant("the factor of the step before is used: a_t multiplies h_{t-1}")
def factor_of_the_step_before(a, b):
    return scan(moved(a, 1, 1.0), b)


@exercise.mutant("it counts the axes from the front: any leading axes, or none, should work")
def positions_on_the_second_axis(a, b):
    reach = 1
    while reach < b.shape[1]:
        late = a[:, reach:]
        b = torch.cat([b[:, :reach], b[:, reach:] + late * b[:, :-reach]], dim=1)
        a = torch.cat([a[:, :reach], late * a[:, :-reach]], dim=1)
        reach *= 2
    return b


@exercise.mutant("the input changes: make new tensors in each turn")
def written_into_the_inputs(a, b):
    reach = 1
    while reach < b.shape[-2]:
        b[..., reach:, :] += a[..., reach:, :] * b[..., :-reach, :].clone()
        a[..., reach:, :] *= a[..., :-reach, :].clone()
        reach *= 2
    return b


WRITTEN_OVER = "it writes over numbers that autograd still needs: make new tensors in each turn"


@exercise.mutant(WRITTEN_OVER)
def written_over(a, b):
    reach, a, b = 1, a.clone(), b.clone()
    while reach < b.shape[-2]:
        b[..., reach:, :] += a[..., reach:, :] * b[..., :-reach, :]
        a[..., reach:, :] *= a[..., :-reach, :].clone()
        reach *= 2
    return b


@exercise.mutant(WRITTEN_OVER)
def assigned_over(a, b):
    reach, a, b = 1, a.clone(), b.clone()
    while reach < b.shape[-2]:
        b[..., reach:, :] = b[..., reach:, :] + a[..., reach:, :] * b[..., :-reach, :]
        a[..., reach:, :] = a[..., reach:, :] * a[..., :-reach, :]
        reach *= 2
    return b


@exercise.mutant("it reads what it has just written over: make new tensors in each turn")
def read_while_written(a, b):
    reach, a, b = 1, a.clone(), b.clone()
    while reach < b.shape[-2]:
        b[..., reach:, :] += a[..., reach:, :] * b[..., :-reach, :]
        a[..., reach:, :] *= a[..., :-reach, :]
        reach *= 2
    return b


add_to(exercise, scan, batch_axis_assumed, always_float32, float32_inside, made_on_the_cpu)
