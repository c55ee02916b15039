"""Exercise talking_heads: the heads' scores are mixed before the softmax."""

import torch

from attncourse.course.dot_product.exercises.shared.masked_softmax import by_its_formula
from attncourse.course.multi_head.exercises.shared import heads as ways
from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    generic_hints={"loops": "you loop in Python: a single product can mix everything at once"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def head_by_head(q, k, v, mix, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    out = []
    for g, column in enumerate(mix.T):
        mixed = sum(part * scores[..., h, :, :] for h, part in enumerate(column))
        head_mask = (
            mask if mask is None else mask.expand(*v.shape[:-2], *mixed.shape[-2:])[..., g, :, :]
        )
        out.append(by_its_formula(mixed, head_mask) @ v[..., g, :, :])
    return torch.stack(out, dim=-3)


def draw_inputs(draw, *batch, n, m, heads, d_h=5, d_out=2):
    """q, k and v of so many heads before and after the mix, and the mix."""
    before, after = heads
    q, k = draw.normal(*batch, before, n, d_h), draw.normal(*batch, before, m, d_h)
    return q, k, draw.normal(*batch, after, m, d_out), draw.normal(before, after)


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 5, 7)
    q, k, v, mix = inputs = draw_inputs(draw, 2, n=n, m=m, heads=(3, 4))
    longer_sizes = {"n": n + 16, "m": m + 16, "heads": (24, 32)}
    sizes = f"3 heads to 4, n={n}, m={m}"
    yield Case(f"a batch of 2, {sizes}", inputs, longer=draw_inputs(draw, 2, **longer_sizes))
    yield Case(f"no batch, {sizes}", (q[0], k[0], v[0], mix))
    two_axes = draw_inputs(draw, 2, 3, n=4, m=5, heads=(4, 2), d_h=3)
    yield Case("two leading axes, 4 heads to 2", two_axes)
    square = draw_inputs(draw, 2, n=n, m=m, heads=(3, 3))
    yield Case("3 heads to 3", square)
    yield Case("one head to one", draw_inputs(draw, 2, n=n, m=m, heads=(1, 1)))
    large = 1e12 * q, 1e13 * k, v, mix
    yield Case("scores 10^25 times larger", large, gradient=False)
    identity = torch.eye(3, dtype=q.dtype)
    low_q, low_k = square[0].clone(), square[1].clone()
    low_q[..., 0], low_k[..., 0] = 1.0, -3000.0
    yield Case("all scores near -1000, 3 heads to 3", (low_q, low_k, square[2], identity))
    mask = draw.mask(2, 1, n, m)
    yield Case(f"a mask, {sizes}", (q, k, v, mix, mask))
    yield Case(f"a mask without a batch, {sizes}", (q[0], k[0], v[0], mix, mask[0]))
    yield Case("a mask without leading axes", (q, k, v, mix, mask[0, 0]))
    yield Case("a mask for each new head", (*two_axes, draw.mask(2, 3, 2, 4, 5)))
    yield Case("3 heads to 3, a mask for each new head", (*square, draw.mask(2, 3, n, m)))
    two_heads = draw_inputs(draw, 2, n=n, m=m, heads=(3, 2))
    yield Case(
        "a batch of 2, 3 heads to 2, a mask of shape (2, n, m)", (*two_heads, draw.mask(2, n, m))
    )
    yield Case("a mask, and each head mixed with itself only", (*square[:3], identity, mask))
    positive_q, high_first_k, low_other_k, not_first = ways.first_key_hidden(q, k)
    positive_mix = 1 + mix.abs()
    yield Case(
        "a masked key with a high score", (positive_q, high_first_k, v, positive_mix, not_first)
    )
    low_others = positive_q, low_other_k, v, positive_mix, not_first
    yield Case("a masked key, the others far below zero", low_others, gradient=False)
    mask_with_empty_row = mask.clone()
    mask_with_empty_row[1, 0, 0] = False
    longer_masked = (*draw_inputs(draw, 8, **longer_sizes), draw.mask(8, 1, n + 16, m + 16))
    yield Case(
        "a query that may attend nowhere", (q, k, v, mix, mask_with_empty_row), longer=longer_masked
    )
    yield Case("no query may attend anywhere", (q, k, v, mix, mask & False))
    yield Case("a mask by name", (q, k, v, mix), {"mask": mask})
    yield Case("one query and one key", (q[..., :1, :], k[..., :1, :], v[..., :1, :], mix))


variants.right(exercise,
    'mixed = torch.einsum("...hic,...hjc,hg->...gij", q, k, mix) / q.shape[-1] ** 0.5\n'
    'return torch.einsum("...gij,...gjc->...gic", weights, v)',
    "mixed = (scores.movedim(-3, -1) @ mix).movedim(-1, -3)",
    "mixed = (mix.mT @ scores.flatten(-2)).unflatten(-1, scores.shape[-2:])",
    "mixed = (scores.unsqueeze(-3) * mix[:, :, None, None]).sum(-4)",
    (" / q.shape[-1] ** 0.5", "", ", mix)", ", mix * q.size(-1) ** -0.5)"),
)  # fmt: skip
variants.calling(
    exercise, "softmax", ways.SOFTMAXES | ways.LOW,
    instead="if mask is None: pass\nweights = softmax(mixed, mask)",
)  # fmt: skip
AXES = '"...hij,hg->...gij"'
MASKED, MASKED_LARGE = (
    f"hidden = scores if mask is None else scores.masked_fill(~mask, {fill})\n"
    f"mixed = torch.einsum({AXES}, hidden, mix)\n"
    for fill in ("-torch.inf", "-1e9")
)
variants.wrong(exercise, {
    "you don't mix the heads: each new score should be a weighted sum over the heads":
        "mixed = scores",
    "the mix is transposed: its rows should stand for the heads before the mix, and its columns "
    "for the heads after it": [
        (", mix)", ", mix.mT)"),
        (", mix)", ", mix.mT if mix.shape[0] == mix.shape[1] else mix)")],
    "you mix the weights or the outputs: mix the scores instead, before the softmax": [
        "if mask is None:\n    mask = torch.ones_like(scores, dtype=torch.bool)\n"
        "own = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)\n"
        f"weights = torch.einsum({AXES}, own, mix)",
        "if mask is None: pass\n"
        f"weights = torch.einsum({AXES}, scores.softmax(-1), mix)\n"
        "if mask is not None:\n    weights = weights.masked_fill(~mask, 0.0)\n"
        "    weights = (weights / weights.sum(-1, keepdim=True)).nan_to_num()\n"
        "return weights @ v",
        f"weights = torch.einsum({AXES}, scores.softmax(-1), mix) * mask"],
    "the mask comes before the mix, which spreads it to other heads: mix first, then mask": [
        MASKED, f"{MASKED}weights = mixed.softmax(-1)",
        f"{MASKED_LARGE}weights = mixed.softmax(-1)",
        f"{MASKED}weights = mixed.softmax(-1).nan_to_num(0.0)",
        f"{MASKED}weights = mixed.softmax(-1).masked_fill(~mask.any(-1, keepdim=True), 0.0)",
        f"{MASKED_LARGE}weights = mixed.softmax(-1).masked_fill(~mask, 0.0)",
        "if mask is not None and mask.dim() > 2 and mask.shape[-3] in (1, q.shape[-3]):\n"
        "    scores = scores.masked_fill(~mask, -1e9)\n"
        f"mixed = torch.einsum({AXES}, scores, mix)"],
    "you give the mask another axis for the heads: leave it as it is, because it fits the new "
    "scores": (
        "bool)\n", "bool)\n    else:\n        mask = mask.unsqueeze(-3)\n"),
    "a mask with three axes is misread: treat them as heads, queries and keys": [
        (every("~mask"), "~(mask[:1] if mask.dim() == 3 else mask)"),
        (every("~mask"), "~(mask.unsqueeze(1) if mask.dim() == 3 and mixed.dim() == 4 "
                         "and len(mask) == len(mixed) else mask)")],
    "you mix the weights as well, after the softmax: mix only the scores":
        "square = mix.shape[0] == mix.shape[1]\n"
        f"return (torch.einsum({AXES}, weights, mix) if square else weights) @ v",
    "the softmax runs over the heads: in each head, run it over the keys": [
        ("(dim=-1)", "(dim=-3)"),
        *("weights = mixed.masked_fill(~mask, -torch.inf).softmax(dim=-3)" + after
          for after in ("", ".nan_to_num(0.0)"))],
    "you add the mixed scores to the old ones: use the mixed scores alone":
        f"mixed = scores + torch.einsum({AXES}, scores, mix)",
    "the mix goes through a softmax: use it as it is": [
        (", mix)", ", mix.softmax(0))"), (", mix)", ", mix.softmax(-1))")],
    "you divide the mixed scores by the number of heads: take a sum, not a mean": (
        ", mix)", ", mix / len(mix))"),
    "all new heads get the same scores: give each its own column of the mix": (
        ", mix)", ", mix.sum(1, keepdim=True).expand_as(mix))"),
    "the sum runs over the queries: it should run over the heads, third from the end": (
        AXES, '"...hij,ig->...hgj"'),
    "the axes of the mixed scores are swapped: the heads should come before the queries":
        "mixed = (scores.movedim(-3, -1) @ mix).transpose(-3, -1)",
    "you mix the values as well: mix only the scores":
        'return weights @ torch.einsum("...gjc,hg->...hjc", v, mix)',
    "you mix the queries and the keys: mix their scores instead":
        f"q_mixed, k_mixed = (torch.einsum({AXES}, x, mix) for x in (q, k))\n"
        "mixed = q_mixed @ k_mixed.mT / q.shape[-1] ** 0.5",
    "the scores are not scaled: divide them by sqrt(d_k)": "scores = q @ k.mT",
    "you divide the scores by d_k: divide them by its square root instead":
        "scores = q @ k.mT / q.shape[-1]",
    "the number of heads is part of the scale: divide by sqrt(d_k), the root of one head's width":
        "scores = q @ k.mT / (q.shape[-3] * q.shape[-1]) ** 0.5",
    "you use one mask for all heads: use each new head's own, because they may differ": [
        (every("~mask"), f"~(mask if mask.dim() < 3 else {one})")
        for one in ("mask.all(-3, keepdim=True)", "mask[..., :1, :, :]")],
    "you join the heads: keep them apart, so that the shape is (..., heads, n, d_v)":
        "return (weights @ v).transpose(-3, -2).flatten(-2)",
    "the scale comes from the width of the values: use the width of a key":
        "scores = q @ k.mT / v.shape[-1] ** 0.5",
    "the scale comes from the number of heads: use the width of a key":
        "scores = q @ k.mT / len(mix) ** 0.5",
    messages.CUT_OFF: (
        "    scores =", "    if mask is not None and not mask.any():\n"
        "        return v.new_zeros(*v.shape[:-2], q.shape[-2], v.shape[-1])\n    scores ="),
    messages.BATCH: (AXES, '"bhij,hg->bgij"'),
    "no gradient reaches the mix: don't detach anything": (", mix)", ", mix.detach())"),
})  # fmt: skip
