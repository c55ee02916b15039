"""Exercise linear_recurrence: all states of a linear recurrence in a few parallel steps."""

import torch
from torch.nn.functional import pad

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the positions: let the reach double, and take all of them at once"
DIVIDES = "it divides by a product of factors, which may be 0 or too small to hold: only multiply"
exercise = Exercise.read(__name__, steps_allowed=3.0, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


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
    longer_inputs = draw.normal(2, 512, 3) / 2, draw.normal(2, 512, 3)
    yield Case("n=16", (draw.normal(2, 16, 3), draw.normal(2, 16, 3)), longer=longer_inputs)
    yield Case("one factor of 0", (a * (torch.arange(n) != n // 2)[:, None], b))
    yield Case("factors of 0 only", (0 * a, b))
    small = draw.normal(200, 2)
    yield Case("n=200, factors around 0.01", (0.01 * small, draw.normal(200, 2)), gradient=False)
    # the first step still counts in the last state
    near_one = draw.normal(1100, 1).sign() * (1 - 0.002 * draw.normal(1100, 1).sigmoid())
    yield Case("n=1100, factors near 1 and -1", (near_one, draw.normal(1100, 1)), gradient=False)
    yield Case("numbers around 1000000", (a, 1e6 * b))
    yield Case("one step", (a[:, :1], b[:, :1]))
    yield Case("one step of width 1 without a batch", (a[0, :1, :1], b[0, :1, :1]))
    wide = draw.normal(2, 40, 3) / 2, draw.normal(2, 40, 3)
    yield Case("a batch of 2, n=40, d=3", wide, max_elements=40 * 40 - 1)


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


# what has read all there is before it needs its factor no more
variants.right(exercise, ("value=1.0", "value=0.0"))
JOIN = "a, b = a * earlier_a, b + a * earlier_b"
PADDED_A = "torch.nn.functional.pad(a, (0, 0, reach, 0), value=1.0)"
PADDED_B = "torch.nn.functional.pad(b, (0, 0, reach, 0))"
variants.wrong(exercise, {
    "a changes before b has read it: b needs the factors of this turn, not the next": (
        JOIN, "a = a * earlier_a\n        b = b + a * earlier_b"),
    "a stays as it was: let it span twice as many steps with each turn": (
        JOIN, "b = b + a * earlier_b"),
    "a is not used: multiply the state before by it": "a = a * 0 + 1\nn, reach = b.shape[-2], 1",
    "the last turn is missing: go on until the reach is n": [
        ("reach < n", "reach < n // 2"), ("reach < n", "2 * reach <= n"),
        ("reach < n", "2**0.5 * reach < n")],
    "the number of turns is fixed: go on until the reach is n": [
        ("reach < n", f"reach < min(n, 2**{turns})") for turns in (5, 6, 8, 10)],
    "the reach grows by one: it has to double in each turn": ("reach *= 2", "reach += 1"),
    "the earlier b is multiplied by its own factor: multiply it by a of the later step": (
        "a * earlier_b", "earlier_a * earlier_b"),
    "the end comes round to the front: let nothing come before the first position": (
        PADDED_A, "a.roll(reach, -2)", PADDED_B, "b.roll(reach, -2)"),
    "it runs along the width: run along the positions, the last axis but one":
        "a, b = a.mT, b.mT\nn, reach = b.shape[-2], 1\nreturn b.mT",
    "a_t multiplies b_t, too: let it multiply only the state before":
        "b = a * b\nn, reach = b.shape[-2], 1",
    "the factor of the step before is used: multiply h_{t-1} by a_t":
        "a = pad(a, (0, 0, 1, 0), value=1.0)[..., :-1, :]\nn, reach = b.shape[-2], 1",
    "it holds a number for every pair of positions: n numbers are enough in each turn": (
        f"{PADDED_B}[..., :n, :]", "torch.ones(n, n).to(b).tril(-reach).triu(-reach) @ b"),
})  # fmt: skip
COUNTED = (
    "size(-2)", "size(1)", every("[..., "), "[:, ", every(", :]"), "]", every("dim=-2"), "dim=1",
)  # fmt: skip
variants.wrong(exercise, {
    # the second differs where the axis is shorter than the reach
    messages.FRONT: [
        COUNTED, ("size(-2)", "size(-2)", *COUNTED[2:], every(":-reach"), ": b.size(1) - reach")],
    "no gradient flows through the joined factors: don't detach anything": (
        "dim=-2)\n        reach", "dim=-2).detach()\n        reach"),
}, of=put_together_from_two_parts)  # fmt: skip


@exercise.mutant(DIVIDES)
def divided_by_the_product(a, b):
    product = a.cumprod(-2)
    return product * (b / product).cumsum(-2)


@exercise.mutant("it reads what it has just written over: make new tensors in each turn")
def read_while_written(a, b):
    reach, a, b = 1, a.clone(), b.clone()
    while reach < b.shape[-2]:
        b[..., reach:, :] += a[..., reach:, :] * b[..., :-reach, :]
        a[..., reach:, :] *= a[..., :-reach, :]
        reach *= 2
    return b


variants.wrong(exercise, {
    DIVIDES: [
        ("b / product", "b / (product + 1e-12)"), ("b / product", "b / product.clamp(min=1e-12)")],
    "by logarithms the signs get lost, and 0 has none: allow for an a that is 0 or negative": (
        "product = a.cumprod(-2)", "logs = a.abs().log().cumsum(-2)",
        "product * (b / product)", "logs.exp() * (b * (-logs).exp())"),
    "a factor of 0 or below has no logarithm: multiply the factors themselves": (
        "product = a.cumprod(-2)", "logs = a.log().cumsum(-2)",
        "product * (b / product)", "logs.exp() * (b * (-logs).exp())"),
}, of=divided_by_the_product)  # fmt: skip
variants.wrong(exercise, {
    "the input changes: make new tensors in each turn": (
        "1, a.clone(), b.clone()", "1, a, b", every(":-reach, :]"), ":-reach, :].clone()"),
    "it writes over numbers that autograd still needs: make new tensors in each turn": [
        ("*= a[..., :-reach, :]", "*= a[..., :-reach, :].clone()"),
        ("+= a[", "= b[..., reach:, :] + a[", "*= a", "= a[..., reach:, :] * a")],
}, of=read_while_written)  # fmt: skip
