"""Exercise decayed_attention: a state that forgets, written as a product with a matrix."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = (
    "it loops over positions, heads or sentences: take all of them at once, with one table of "
    "powers"
)
exercise = Exercise.read(
    __name__,
    steps_allowed=3.0,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
    without={"ties": "rounded to halves, a decay may be 0 or 1"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(q, k, v, decay):
    state, out = 0, []
    for i in range(q.shape[-2]):
        update = k[..., i, :, None] * v[..., i, None, :]
        state = decay[:, None, None] * state + update
        out.append((q[..., i, :, None] * state).sum(-2))
    return torch.stack(out, dim=-2)


@exercise.cases
def cases(draw):
    n, d, e = draw.sizes(3, 3, 7)
    decay = draw.normal(8).sigmoid()
    q, k, v = draw.normal(2, 8, n, d), draw.normal(2, 8, n, d), draw.normal(2, 8, n, e)
    longer_inputs = draw.normal(1, 8, 40, d), draw.normal(1, 8, 40, d), draw.normal(1, 8, 40, e)
    sizes = f"n={n}, d={d}, e={e}"
    yield Case(f"a batch of 2, 8 heads, {sizes}", (q, k, v, decay), longer=(*longer_inputs, decay))
    yield Case(f"8 heads without a batch, {sizes}", (q[0], k[0], v[0], decay))
    two_axes = draw.normal(2, 2, 3, 4, 5), draw.normal(2, 2, 3, 4, 5), draw.normal(2, 2, 3, 4, 6)
    many_heads = *(draw.normal(48, 4, width) for width in (5, 5, 6)), draw.normal(48).sigmoid()
    yield Case("two axes before 3 heads", (*two_axes, decay[:3]), longer=many_heads)
    square = draw.normal(3, 3, 3, 3), draw.normal(3, 3, 3, 3), draw.normal(3, 3, 3, 3)
    yield Case("all sizes 3", (*square, decay[:3]))
    yield Case("decays of 0.999", (*square, torch.full_like(decay[:3], 0.999)))
    # 0.01 to the power of -170 is more than float64 holds
    long_text = draw.normal(2, 170, 2), draw.normal(2, 170, 2), draw.normal(2, 170, 3)
    yield Case("decays of 0.01 and 0.9, n=170", (*long_text, torch.tensor([0.01, 0.9]).to(decay)))
    yield Case("one token", (q[..., :1, :], k[..., :1, :], v[..., :1, :], decay))


@exercise.valid
def steps_doubled(q, k, v, decay):
    # after a round, twice as many of the last tokens are in each sum
    sums, apart = k[..., :, None] * v[..., None, :], 1
    while apart < q.shape[-2]:
        first = torch.arange(apart, device=q.device)
        earlier = sums.roll(apart, dims=-3).index_fill(-3, first, 0.0)
        sums = sums + decay[:, None, None, None] ** apart * earlier
        apart = 2 * apart
    return (q[..., None, :] @ sums)[..., 0, :]


variants.right(exercise,
    "powers = (decay[:, None, None].log() * apart).masked_fill(apart < 0, -torch.inf).exp()\n"
    "table = powers\n"
    'return (torch.einsum("...id,...jd->...ij", q, k) * table) @ v',
    # of a later key the place in the row of powers is beyond them, where zeros are
    "row = torch.cat([decay[:, None] ** i, decay[:, None] * 0 * i], dim=-1)\n"
    "powers = row[:, apart % (2 * len(i))]\n"
    "table = powers",
    "powers = torch.where(apart > 0, decay[:, None, None].log(), 0.0).cumsum(dim=-2).exp()",
    "powers = torch.pow(decay.reshape(-1, 1, 1), torch.where(apart < 0, 0, apart))\n"
    "table = powers\n"
    "return ((q @ k.transpose(-1, -2)).masked_fill(apart < 0, 0.0) * table) @ v",
)  # fmt: skip
variants.wrong(exercise, {
    "the decay changes nothing: raise it to the power i - j, positive where the key lies before "
    "the query":
        "return (q @ k.mT).tril() @ v",
    "a token's own term is weakened already: the power should be i - j, 0 for itself":
        "table = powers.tril() * decay[:, None, None]",
    "the power is one too small: it should be i - j, so that the token before is weakened once": [
        "steps = (apart - 1).clamp(min=0)", "steps = apart.clamp(min=0) - 1"],
    "later keys count as well: hide what lies above the diagonal": [
        "steps = apart.abs()\ntable = powers", "table = powers", "steps = apart\ntable = powers"],
    "a token does not see itself: keep the diagonal, where the power is 0 and the factor 1":
        "table = powers.tril(-1)",
    "the earlier keys are hidden: a query should see the keys before it":
        "table = powers.tril().mT",
    "every earlier key is weakened once: weaken it once for each step between the two":
        "steps = apart.clamp(0, 1)",
    "the decay is multiplied by the steps: raise it to that power":
        "powers = (1 - decay[:, None, None] * apart).clamp(min=0)",
    "exp(-decay) is another decay: raise the number itself to the power of the steps":
        "powers = (-decay[:, None, None] * steps).exp()",
    "near tokens are weakened and far ones kept: the power should be i - j, not n - 1 - (i - j)":
        "powers = decay[:, None, None] ** (len(i) - 1 - steps)",
    "far tokens grow instead of fading: the power should be i - j, positive where the key lies "
    "before":
        "steps = -apart",
    "the state keeps 1 - decay of itself at each step: it should keep `decay`":
        "powers = (1 - decay)[:, None, None] ** steps",
    "all heads share one decay: give each head its own": "powers = decay[0] ** steps",
    "the decays are laid along the positions: one number a head needs two axes of size 1 "
    "after it": [
        "powers = decay ** steps", "powers = decay[:, None] ** steps"],
    "decay ** -j is infinite for a far key: take the power of i - j, which is never negative, and "
    "not of i and of j apart":
        "powers = (decay[:, None] ** i)[..., None]\n"
        "return ((q * powers) @ (k / powers).mT).tril() @ v",
    "the power of a later key is infinite, and times a mask of 0 it is NaN: set the negative steps "
    "to 0 before the power is taken": "steps = apart\ntable = powers * (apart >= 0)",
    "a negative power is infinite, and hidden too late, so the decay's gradient is NaN: set the "
    "negative steps i - j to 0 before you take powers": "steps = apart",
    "the rows are divided by their sum: normalise nothing here":
        "weights = q @ k.mT * table\nreturn weights / weights.sum(-1, keepdim=True) @ v",
    "the powers of a row are divided by their sum: normalise nothing here":
        "table = powers.tril() / powers.tril().sum(-1, keepdim=True)",
    "keys far back are cut off: count each, however far, with decay ** (i - j)":
        "table = powers.tril().triu(-64)",
    "far back the power grows no more, and keys count too much: let it be i - j, however far": [
        f"steps = apart.clamp(0, {largest})" for largest in (50, 64, 100, 128)],
    "small powers are cut off from below: let them go to 0": [
        "powers = (decay[:, None, None].log() * steps).clamp(min=-10).exp()",
        "powers = (decay[:, None, None] ** steps).clamp(min=1e-6)"],
    messages.FLOAT32_INSIDE: "powers = decay.float().to(q.dtype)[:, None, None] ** steps",
    "a softmax is taken: use the decayed products as the weights, as they are": [
        "return (q @ k.mT * table).masked_fill(apart < 0, -torch.inf).softmax(-1) @ v",
        "return ((q @ k.mT).masked_fill(apart < 0, -torch.inf).softmax(-1) * table) @ v"],
    "the products are divided by sqrt(d): scale nothing here": (
        "* table", "* table / q.shape[-1] ** 0.5"),
    "q and k go through a feature map: take them as they are here":
        "return ((elu(q) + 1) @ (elu(k) + 1).mT * table) @ v",
    LOOP: [
        "rows = range(len(i))\n"
        "return torch.cat([(q[..., [j], :] @ k.mT * table[:, [j]]) @ v for j in rows], dim=-2)",
        "return torch.stack([(q[..., h, :, :] @ k[..., h, :, :].mT * one) @ v[..., h, :, :] "
        "for h, one in enumerate(table)], dim=-3)",
        "powers = torch.stack([one ** steps for one in decay])"],
    "the powers have a batch axis of their own: leave it out, because there may be no batch":
        "table = powers.tril()[None]",
    "no gradient reaches the decay: don't detach anything":
        "powers = decay.detach()[:, None, None] ** steps",
})  # fmt: skip
