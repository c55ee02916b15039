"""Exercise causal_by_cumsum: the causal form by running sums, with no n x n matrix."""

import torch

from attncourse.course.linear.exercises.shared.sums import EPSILON, LEAST, causal_by_hand, drawn
from judge import hints, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the positions: cumsum adds up one after another by itself"
exercise = Exercise.read(__name__, steps_allowed=3.0, usual_hints={"loops": LOOP})


exercise.reference(causal_by_hand)


@exercise.cases
def cases(draw):
    n, d, e = draw.sizes(3, 3, 6)
    q, k, v = drawn(draw, 2, n=n, d=d, e=e)
    sizes = f"n={n}, d={d}, e={e}"
    yield Case(f"a batch of 2, {sizes}", (q, k, v), longer=drawn(draw, 2, n=48, d=d, e=e))
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], v[0]))
    yield Case("two leading axes (batch, heads)", drawn(draw, 2, 3, n=4, d=2, e=5))
    yield Case("all sizes 4", drawn(draw, 4, 4, n=4, d=4, e=4))
    yield Case("features 100000 times smaller", (q / 1e5, k / 1e5, v))
    few = q[:, :2, :1] / 2e6, k[:, :2, :1] / 2e6, v[:, :2]
    yield Case("products of features around 1e-11, n=2, d=1", few, gradient=False)
    yield Case("one token", (q[:, :1], k[:, :1], v[:, :1]))
    many = drawn(draw, n=20, d=2, e=3)
    yield Case("n=20, d=2, e=3", many, gradient=False, max_elements=20 * 20 - 1)


@exercise.valid
def plain(phi_q, phi_k, v):
    outer = phi_k[..., :, None] * v[..., None, :]
    states = outer.cumsum(-3)
    keys = phi_k.cumsum(-2)
    total = (phi_q * keys).sum(-1, keepdim=True)
    sums = (phi_q[..., None, :] @ states)[..., 0, :]
    return sums / total


@exercise.valid
def reach_doubled(phi_q, phi_k, v):
    # after a round, twice as many of the last tokens are in each sum
    ones = torch.ones_like(v[..., :1])
    sums, reach = phi_k[..., None] * torch.cat([v, ones], dim=-1)[..., None, :], 1
    while reach < v.shape[-2]:
        before = torch.zeros_like(sums[..., :reach, :, :])
        sums = sums + torch.cat([before, sums[..., :-reach, :, :]], dim=-3)
        reach *= 2
    out = (phi_q[..., None] * sums).sum(-2)
    return out[..., :-1] / out[..., -1:]


STATES, KEYS = "outer.cumsum(-3)", "phi_k.cumsum(-2)"
TOTAL, SUMS = "(phi_q * keys).sum(-1, keepdim=True)", "(phi_q[..., None, :] @ states)[..., 0, :]"
LATER_STATES = "outer.flip(-3).cumsum(-3).flip(-3)"
LATER_KEYS = "phi_k.flip(-2).cumsum(-2).flip(-2)"
OF_C, EACH = "phi_k[..., c, None]", "for c in range(phi_k.shape[-1]))"
variants.right(exercise,
    # feature by feature: a loop over the width is none over positions
    (SUMS, f"sum(phi_q[..., c, None] * torch.cumsum({OF_C} * v, dim=-2) {EACH}",
     TOTAL, f"sum(phi_q[..., c, None] * torch.cumsum({OF_C}, dim=-2) {EACH}"),
    # a column of ones
    ("* v[", "* torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)[",
     SUMS, 'torch.einsum("...nd,...nde->...ne", phi_q, states)',
     "sums / total", "sums[..., :-1] / sums[..., -1:]"),
    # all but the later ones
    (STATES, f"outer.sum(-3, keepdim=True) - {LATER_STATES} + outer",
     KEYS, f"phi_k.sum(-2, keepdim=True) - {LATER_KEYS} + phi_k"),
    (STATES, "outer.flatten(-2).cumsum(-2).unflatten(-1, (phi_k.shape[-1], v.shape[-1]))",
     SUMS, "(phi_q.unsqueeze(-1) * states).sum(dim=-2)",
     TOTAL, 'torch.einsum("...nd,...nd->...n", phi_q, keys).unsqueeze(-1)'),
)  # fmt: skip
variants.wrong(exercise, {
    "nothing is causal: every token sees the sum of all keys. Take a running sum": (
        STATES, "outer.sum(-3, keepdim=True)", KEYS, "phi_k.sum(-2, keepdim=True)"),
    "the normaliser counts the later keys too: it takes a running sum as well": (
        KEYS, "phi_k.sum(-2, keepdim=True)"),
    "the state holds the later keys too: it takes a running sum as well": (
        STATES, "outer.sum(-3, keepdim=True)"),
    "a token does not see itself: its own key belongs in the sum that it reads": [
        (STATES, f"{STATES} - outer", KEYS, f"{KEYS} - phi_k"),
        (STATES, f"{STATES} - outer", KEYS, f"{KEYS} - phi_k",
         "sums / total", "torch.where(total > 0, sums / total.clamp(min=1e-12), 0.0)"),
        # but for the first
        (STATES, "torch.cat([outer[..., :1, :, :], outer[..., :-1, :, :].cumsum(-3)], dim=-3)",
         KEYS, "torch.cat([phi_k[..., :1, :], phi_k[..., :-1, :].cumsum(-2)], dim=-2)")],
    "the state leaves the token itself out, the normaliser does not: both hold it": (
        STATES, f"{STATES} - outer"),
    "the normaliser leaves the token itself out, the state does not: both hold it": (
        KEYS, f"{KEYS} - phi_k"),
    "the sums run from the end: a token sees the earlier keys, not the later ones": (
        STATES, LATER_STATES, KEYS, LATER_KEYS),
    "each token gets its own value only: the products of key and value are summed up to it": (
        STATES, "outer", KEYS, "phi_k"),
    "the normaliser is missing: divide by the sum of the weights so far": (" / total", ""),
    "the sums are multiplied by the normaliser: divide by it": ("/ total", "* total"),
    "the normaliser is not summed: it takes a running sum of the keys, too": (KEYS, "phi_k"),
    "a query meets its own key before the sum: it meets the sum of the keys up to it": [
        (TOTAL, "(phi_q * phi_k).sum(-1, keepdim=True).cumsum(-2)"),
        (TOTAL, "(phi_q * phi_k).sum(-1, keepdim=True).cumsum(-2)",
         SUMS, "((phi_q * phi_k).sum(-1, keepdim=True) * v).cumsum(-2)")],
    "it is divided by the number of keys so far: the weights have a sum of their own": (
        TOTAL, "torch.ones_like(v[..., :1]).cumsum(-2)"),
    "keys and values are summed apart: a key must meet its own value before anything is added up": (
        "phi_k[", f"{KEYS}[", "* v[", "* v.cumsum(-2)[", STATES, "outer"),
    "the queries are summed too: only keys and values go into the sums": (
        "(phi_q *", "(phi_q.cumsum(-2) *", "(phi_q[", "(phi_q.cumsum(-2)["),
    "the sum runs over a width: it runs over the positions, the third axis from the end": [
        (STATES, "outer.cumsum(-2)"), (STATES, "outer.cumsum(-1)")],
    hints.FRONT: [("cumsum(-3)", "cumsum(1)", "cumsum(-2)", "cumsum(1)"),
                  ("cumsum(-3)", "cumsum(0)", "cumsum(-2)", "cumsum(0)")],
    "an n x n matrix is built: a running sum over the positions needs none": (
        SUMS, "(phi_q @ phi_k.mT).tril() @ v"),
    hints.FLOAT32_INSIDE: (STATES, "outer.float().cumsum(-3).to(v.dtype)"),
    EPSILON: [("/ total", f"/ (total + {some})") for some in ("1e-6", "1e-9")],
    LEAST: [("/ total", f"/ total.clamp(min={some})") for some in ("1e-6", "1e-8", "1e-10")],
    LOOP: (SUMS, "torch.stack([phi_q[..., i, :, None].mul(states[..., i, :, :]).sum(-2) "
           "for i in range(v.shape[-2])], dim=-2)"),
    "no gradient reaches the keys through the normaliser: nothing may be detached": (
        KEYS, f"{KEYS}.detach()"),
    "no gradient reaches the earlier tokens through the sums: detach nothing": (
        STATES, f"({STATES} - outer).detach() + outer",
        KEYS, f"({KEYS} - phi_k).detach() + phi_k"),
})  # fmt: skip
