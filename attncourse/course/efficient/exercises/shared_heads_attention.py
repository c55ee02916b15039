"""Exercise shared_heads_attention: several heads of queries share one head of keys and values."""

import torch

from attncourse.course.dot_product.exercises.shared import masked_softmax
from attncourse.course.dot_product.exercises.shared.attentions import formula
from attncourse.course.dot_product.exercises.shared.masked_softmax import softmax
from attncourse.dot_product import attention
from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

FRONT = "the heads are counted from the front: take the axis third from the end"
LOOP = "it loops over heads or groups: they are an axis, so take one product for all of them"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "axes_from_the_front": FRONT})
exercise.valid(variants.worked(exercise))


@exercise.reference
def head_by_head(q, k, v, mask=None):
    h, g = q.shape[-3], k.shape[-3]
    allowed = torch.tensor(True) if mask is None else mask
    allowed = allowed.broadcast_to(*q.shape[:-1], k.shape[-2])
    heads = ((x[..., i // (h // g), :, :] for x in (k, v)) for i in range(h))
    out = [formula(q[..., i, :, :], *kv, allowed[..., i, :, :]) for i, kv in enumerate(heads)]
    return torch.stack(out, dim=-3)


def draw_heads(draw, *batch, h, g, n, m, d_k, d_v):
    q = draw.normal(*batch, h, n, d_k)
    return q, draw.normal(*batch, g, m, d_k), draw.normal(*batch, g, m, d_v)


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 4, 6)
    # six heads in two groups or in three: i // 3 is not i % 2
    g = draw.integer(2, 3)
    # a width for which no wrong scale of those below is another wrong one, or the right one
    sizes = {"h": 6, "g": g, "n": n, "m": m, "d_k": 7, "d_v": 2}
    q, k, v = draw_heads(draw, 2, **sizes)
    size_text = f"6 heads in {g} groups, n={n}, m={m}"
    longer_inputs = draw_heads(draw, 2, **sizes | {"h": 48, "g": 8 * g, "n": n + 16, "m": m + 16})
    yield Case(f"a batch of 2, {size_text}", (q, k, v), longer=longer_inputs)
    yield Case(f"no batch, {size_text}", (q[0], k[0], v[0]))
    # the other number of groups: with groups of two heads alone, others need not be right
    axes = draw_heads(draw, 2, 3, h=6, g=5 - g, n=4, m=5, d_k=3, d_v=6)
    yield Case(f"two leading axes, 6 heads in {5 - g} groups", axes)
    yield Case("one group for all six heads", (q, k[:, :1], v[:, :1]))
    yield Case("a group for each head", draw_heads(draw, 2, **sizes | {"g": 6}))
    yield Case("one head", (q[:, :1], k[:, :1], v[:, :1]))
    yield Case("scores 10^25 times larger", (1e12 * q, 1e13 * k, v), gradient=False)
    low_q, low_k = q.clone(), k.clone()
    low_q[..., 0], low_k[..., 0] = 1.0, -3000.0
    yield Case("all scores near -1000", (low_q, low_k, v))
    mask = draw.mask(2, 6, n, m)
    yield Case(f"a mask for each head, {size_text}", (q, k, v, mask))
    # masked scores are the largest of a row, and all others far below zero
    yield Case("a mask, scores 10^25 times larger", (1e12 * q, 1e13 * k, v, mask), gradient=False)
    yield Case("a mask of shape (6, n, m)", (q, k, v, mask[0]))
    yield Case("a mask of shape (n, m)", (q, k, v, mask[0, 0]))
    yield Case("a mask of shape (2, 1, n, m)", (q, k, v, mask[:, :1]))
    # the masked key's scores are far above the others, and far below them
    large_key, all_but_first = k.clone(), (torch.arange(m) > 0).expand(n, m)
    large_key[..., 0, :] *= 1000
    yield Case(
        "masked scores near 1000 and -1000, the others near 0", (q, large_key, v, all_but_first)
    )
    nowhere = mask.clone()
    nowhere[1, 4, 0] = False
    many_heads = draw_heads(draw, 24, **sizes | {"h": 24, "g": 4 * g, "n": n + 16, "m": m + 16})
    longer = *many_heads, draw.mask(24, 24, n + 16, m + 16)
    yield Case("a query that may attend nowhere", (q, k, v, nowhere), longer=longer)
    yield Case("no query may attend anywhere", (q, k, v, mask & False))
    yield Case("one query and one key", (q[..., :1, :], k[..., :1, :], v[..., :1, :]))


@exercise.valid
def by_attention(q, k, v, mask=None):
    shared = q.shape[-3] // k.shape[-3]
    k, v = (x.repeat_interleave(shared, dim=-3) for x in (k, v))
    return attention(q, k, v, mask)


@exercise.valid
def groups_with_an_axis_of_their_own(q, k, v, mask=None):
    g = k.shape[-3]
    scores = q.unflatten(-3, (g, -1)) @ k.unsqueeze(-3).mT / q.shape[-1] ** 0.5
    if mask is not None:
        mask = mask.expand(*q.shape[:-1], k.shape[-2]).unflatten(-3, (g, -1))
    return (softmax(scores, mask) @ v.unsqueeze(-3)).flatten(-4, -3)


@exercise.valid
def queries_of_a_group_one_after_the_other(q, k, v, mask=None):
    # all queries of a group meet the same keys, as if they were one longer sequence
    *batch, h, n, d = q.shape
    g, m = k.shape[-3:-1]
    if mask is not None:
        mask = mask.broadcast_to(*batch, h, n, m).reshape(*batch, g, -1, m)
    out = attention(q.reshape(*batch, g, -1, d), k, v, mask)
    return out.reshape(*batch, h, n, v.shape[-1])


@exercise.valid
def by_einsum(q, k, v, mask=None):
    *batch, h, n, d = q.shape
    g, m = k.shape[-3:-1]
    q = q.reshape(*batch, g, h // g, n, d) * d**-0.5
    scores = torch.einsum("...grid,...gjd->...grij", q, k).reshape(*batch, h, n, m)
    weights = softmax(scores, mask).unflatten(-3, (g, h // g))
    return torch.einsum("...grij,...gjc->...gric", weights, v).flatten(-4, -3)


SPREAD = "x.repeat_interleave(shared, dim=-3)"
EACH = "torch.arange(q.shape[-3], device=q.device)"
variants.right(exercise, (SPREAD, f"x.index_select(-3, {EACH} * x.shape[-3] // q.shape[-3])"))
AXES = "a mask may lack the axis of heads, or have size 1 there: expand it to h heads, then split"
variants.wrong(exercise, {
    "the groups take turns: let the first h / g heads share the first group, the next ones the "
    "second":
        (SPREAD, "torch.cat([x] * shared, dim=-3)"),
    "the values' groups take turns, the keys' do not: let the heads of a group lie side by side in "
    "both":
        "k, v = k.repeat_interleave(shared, dim=-3), torch.cat([v] * shared, dim=-3)",
    "the groups are averaged: let each head meet the keys of its own group only": (
        SPREAD, "x.mean(-3, keepdim=True)"),
    "all heads meet the first group: let each meet its own": (SPREAD, "x[..., :1, :, :]"),
    "the number of the head is divided by g: divide it by h / g, the number of heads that share a "
    "group": [
        (SPREAD, f"x[..., {EACH} // x.shape[-3], :, :]"),
        (SPREAD, f"x[..., {EACH} // x.shape[-3] % x.shape[-3], :, :]"),
        (SPREAD, f"x[..., ({EACH} // x.shape[-3]).clamp(max=x.shape[-3] - 1), :, :]")],
    "a group is taken to have two heads: it should have h / g": [
        (SPREAD, f"x[..., ({EACH} // 2).clamp(max=x.shape[-3] - 1), :, :]"),
        (SPREAD, f"x[..., ({EACH} // min(2, shared)).clamp(max=x.shape[-3] - 1), :, :]"),
        (SPREAD, f"x[..., ({EACH} // 2).clamp(max=x.shape[-3] - 1), :, :] "
         "if 1 < x.shape[-3] < q.shape[-3] else x.expand(*x.shape[:-3], *q.shape[-3:-2], -1, -1)"),
        "shared = 2", variants.made(by_attention, "shared = 2")],
    "the queries of a group are averaged: share only keys and values, and let each head keep its "
    "own query": (
        "q @ k.mT", "q.unflatten(-3, (-1, shared)).mean(-3).repeat_interleave(shared, -3) @ k.mT"),
    # where the numbers of heads do not agree, torch and our attention say so in their own words
    "the numbers of heads differ: bring each group to all of its heads, both its keys and its "
    "values": [
        (SPREAD, "x"), variants.made(by_attention, (SPREAD, "x")),
        "k, v = k.repeat_interleave(shared, dim=-3), v",
        "k, v = k, v.repeat_interleave(shared, dim=-3)"],
    FRONT: variants.made(by_attention, ("dim=-3", "dim=1")),
    "each group comes g times: let it come once for each of its h / g heads": [
        "shared = k.shape[-3]", variants.made(by_attention, "shared = k.shape[-3]")],
    "the groups are still an axis: join them with their heads to h heads again":
        "return (weights @ v).unflatten(-3, (-1, shared))",
    "the scores are not scaled: divide by sqrt(d_k)": "scores = q @ k.mT",
    "the scores are divided by d_k: divide once, by its square root":
        "scores = q @ k.mT / q.shape[-1]",
    "the scale is that of the values: take it from the width of the keys, d_k":
        "scores = q @ k.mT / v.shape[-1] ** 0.5",
    masked_softmax.UNSTABLE:
        "parts = scores.exp() * mask\n"
        "sums = parts.sum(-1, keepdim=True)\n"
        "weights = parts / sums.masked_fill(sums == 0, 1)",
    AXES: variants.made(by_attention, (
        SPREAD, "x.unsqueeze(-3)",
        "return attention(q, k, v, mask)", "split = (k.shape[-4], -1)\n"
        "    q, mask = (x if x is None else x.unflatten(-3, split) for x in (q, mask))\n"
        "    return attention(q, k, v, mask).flatten(-4, -3)")),
    "all heads of a group get one mask: let each of the h heads have its own": (
        "    weights =", "    first = mask.expand(scores.shape)[..., ::shared, :, :]\n"
        "    mask = first.repeat_interleave(shared, dim=-3)\n    weights ="),
    "it loops over sentences: use the mask of all of them at once": (
        "    if mask", "    if mask is not None and mask.dim() > 3:\n"
        "        mask = torch.stack([one & True for one in mask])\n    if mask"),
    LOOP: (SPREAD, "torch.cat([one for one in x.split(1, dim=-3) for _ in range(shared)], dim=-3)"),
    "no gradient reaches the keys: don't detach anything": ("k.mT", "k.detach().mT"),
    messages.CUT_OFF: (
        "    scores =", "    if mask is not None and not mask.any():\n"
        "        return v.new_zeros(*q.shape[:-1], v.shape[-1])\n    scores ="),
    messages.CHANGES: ("q @ k.mT", "q.mul_(2) @ k.mT / 2"),
})  # fmt: skip
variants.calling(
    exercise, "softmax", masked_softmax.WAYS,
    instead="if mask is None: pass\nweights = softmax(scores, mask)",
)  # fmt: skip
GROUPED = "mask = mask.expand(*q.shape[:-1], k.shape[-2]).unflatten(-3, (g, -1))"
variants.wrong(exercise, {
    "the queries have an axis for the groups, the mask has none: unflatten its heads, too": [
        (GROUPED, "pass"), (GROUPED, "mask = mask.unsqueeze(-3)"),
        (GROUPED, "mask = mask.unsqueeze(-4)")],
    AXES: [
        (GROUPED, "mask = mask.unflatten(-3, (g, -1))"),
        (GROUPED, "mask = mask.unflatten(-3, (g, q.shape[-3] // g))")],
}, of=groups_with_an_axis_of_their_own)  # fmt: skip


@exercise.mutant(LOOP)
def head_after_head(q, k, v, mask=None):
    h, g = q.shape[-3], k.shape[-3]
    mask = mask if mask is None else mask.expand(*q.shape[:-1], k.shape[-2])
    out = []
    for i in range(h):
        key, value = k[..., i * g // h, :, :], v[..., i * g // h, :, :]
        scores = q[..., i, :, :] @ key.mT / q.shape[-1] ** 0.5
        out.append(softmax(scores, mask if mask is None else mask[..., i, :, :]) @ value)
    return torch.stack(out, dim=-3)


variants.wrong(exercise, {
    "the number of the head is divided by g: divide it by h / g, the number of heads that share a "
    "group": (
        every("i * g // h"), "i // g"),
    LOOP: (".expand(*q.shape[:-1], k.shape[-2])", ""),
    "you ignore the mask: a key should get no weight where the mask is False": (
        "mask if mask is None else mask[..., i, :, :]", "None"),
}, of=head_after_head)  # fmt: skip
