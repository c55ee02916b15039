"""Exercise causal_by_cumsum: the causal form by running sums, with no n x n matrix."""

import torch

from attncourse.course.linear.exercises.shared.sums import (
    EPSILON,
    LEAST,
    causal_by_hand,
    draw_inputs,
)
from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the positions: let cumsum add up one after another"
exercise = Exercise.read(__name__, steps_allowed=3.0, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


exercise.reference(causal_by_hand)


@exercise.cases
def cases(draw):
    n, d, e = draw.sizes(3, 3, 6)
    q, k, v = draw_inputs(draw, 2, n=n, d=d, e=e)
    sizes = f"n={n}, d={d}, e={e}"
    yield Case(f"a batch of 2, {sizes}", (q, k, v), longer=draw_inputs(draw, 2, n=48, d=d, e=e))
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], v[0]))
    yield Case("two leading axes (batch, heads)", draw_inputs(draw, 2, 3, n=4, d=2, e=5))
    yield Case("all sizes 4", draw_inputs(draw, 4, 4, n=4, d=4, e=4))
    yield Case("features 100000 times smaller", (q / 1e5, k / 1e5, v))
    small_features = q[:, :2, :1] / 2e6, k[:, :2, :1] / 2e6, v[:, :2]
    yield Case("products of features around 1e-11, n=2, d=1", small_features, gradient=False)
    yield Case("one token", (q[:, :1], k[:, :1], v[:, :1]))
    long_inputs = draw_inputs(draw, n=20, d=2, e=3)
    yield Case("n=20, d=2, e=3", long_inputs, gradient=False, max_elements=20 * 20 - 1)


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


variants.right(exercise,
    # feature by feature: a loop over the width is none over positions
    "pairs = [(phi_q[..., [c]], phi_k[..., [c]]) for c in range(phi_k.shape[-1])]\n"
    "sums = sum(q * (k * v).cumsum(dim=-2) for q, k in pairs)\n"
    "total = sum(q * k.cumsum(dim=-2) for q, k in pairs)",
    # a column of ones
    "values = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)\n"
    "outer = phi_k[..., :, None] * values[..., None, :]\n"
    'sums = torch.einsum("...nd,...nde->...ne", phi_q, states)\n'
    "return sums[..., :-1] / sums[..., -1:]",
    # all but the later ones
    "states = outer.sum(-3, keepdim=True) - outer.flip(-3).cumsum(-3).flip(-3) + outer\n"
    "z = phi_k.sum(-2, keepdim=True) - phi_k.flip(-2).cumsum(-2).flip(-2) + phi_k",
    "states = outer.flatten(-2).cumsum(-2).unflatten(-1, (phi_k.shape[-1], v.shape[-1]))\n"
    "sums = (phi_q.unsqueeze(-1) * states).sum(dim=-2)\n"
    'total = torch.einsum("...nd,...nd->...n", phi_q, z).unsqueeze(-1)',
)  # fmt: skip
variants.wrong(exercise, {
    "nothing is causal: every token sees the sum of all keys. Take a running sum":
        "states = outer.sum(-3, keepdim=True)\nz = phi_k.sum(-2, keepdim=True)",
    "the normaliser counts the later keys too: take a running sum for it as well":
        "z = phi_k.sum(-2, keepdim=True)",
    "the state holds the later keys too: take a running sum for it as well":
        "states = outer.sum(-3, keepdim=True)",
    "a token does not see itself: put its own key into the sum that it reads": [
        "states = outer.cumsum(-3) - outer\nz = phi_k.cumsum(-2) - phi_k",
        "states = outer.cumsum(-3) - outer\nz = phi_k.cumsum(-2) - phi_k\n"
        "return torch.where(total > 0, sums / total.clamp(min=1e-12), 0.0)",
        # but for the first
        "states = torch.cat([outer[..., :1, :, :], outer[..., :-1, :, :].cumsum(-3)], dim=-3)\n"
        "z = torch.cat([phi_k[..., :1, :], phi_k[..., :-1, :].cumsum(-2)], dim=-2)"],
    "the state leaves the token itself out, the normaliser does not: put it into both":
        "states = outer.cumsum(-3) - outer",
    "the normaliser leaves the token itself out, the state does not: put it into both":
        "z = phi_k.cumsum(-2) - phi_k",
    "the sums run from the end: let a token see the earlier keys, not the later ones":
        "states = outer.flip(-3).cumsum(-3).flip(-3)\nz = phi_k.flip(-2).cumsum(-2).flip(-2)",
    "each token gets its own value only: sum the products of key and value up to it":
        "states = outer\nz = phi_k",
    "the normaliser is missing: divide by the sum of the weights so far": "return sums",
    "the sums are multiplied by the normaliser: divide by it": "return sums * total",
    "the normaliser is not summed: take a running sum of the keys for it, too": "z = phi_k",
    "a query is multiplied by its own key before the sum: multiply it by the sum of the keys up to "
    "it": [
        "total = (phi_q * phi_k).sum(-1, keepdim=True).cumsum(-2)",
        "products = (phi_q * phi_k).sum(-1, keepdim=True)\n"
        "sums = (products * v).cumsum(-2)\ntotal = products.cumsum(-2)"],
    "it is divided by the number of keys so far: divide by the sum of the weights":
        "total = torch.ones_like(v[..., :1]).cumsum(-2)",
    "keys and values are summed apart: a key must meet its own value before anything is added up":
        "states = phi_k.cumsum(-2)[..., :, None] * v.cumsum(-2)[..., None, :]",
    "the queries are summed too: put only keys and values into the sums":
        "queries = phi_q.cumsum(-2)\nsums = (queries[..., None, :] @ states)[..., 0, :]\n"
        "total = (queries * z).sum(-1, keepdim=True)",
    "the sum runs over a width: let it run over the positions, the third axis from the end": [
        "states = outer.cumsum(-2)", "states = outer.cumsum(-1)"],
    messages.FRONT: [
        "states = outer.cumsum(1)\nz = phi_k.cumsum(1)",
        "states = outer.cumsum(0)\nz = phi_k.cumsum(0)"],
    "an n x n matrix is built: take a running sum over the positions, which needs none":
        "sums = (phi_q @ phi_k.mT).tril() @ v",
    messages.FLOAT32_INSIDE: "states = outer.float().cumsum(-3).to(v.dtype)",
    EPSILON: [f"return sums / (total + {epsilon})" for epsilon in ("1e-6", "1e-9")],
    LEAST: [f"return sums / total.clamp(min={least})" for least in ("1e-6", "1e-8", "1e-10")],
    LOOP: "sums = torch.stack([phi_q[..., i, :, None].mul(states[..., i, :, :]).sum(-2) "
        "for i in range(v.shape[-2])], dim=-2)",
    "no gradient reaches the keys through the normaliser: don't detach anything":
        "z = phi_k.cumsum(-2).detach()",
    "no gradient reaches the earlier tokens through the sums: don't detach anything":
        "states = (outer.cumsum(-3) - outer).detach() + outer\n"
        "z = (phi_k.cumsum(-2) - phi_k).detach() + phi_k",
})  # fmt: skip
