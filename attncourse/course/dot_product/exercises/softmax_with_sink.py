"""Exercise softmax_with_sink: a softmax that may also attend to nothing."""

import torch

from attncourse.course.dot_product.exercises.shared.masked_softmax import AS_INDEX, row_by_row
from judge import messages, variants
from judge.exercise import FINITE, Case, Exercise

LOOP = "you loop over positions: compute all rows and keys at once"
exercise = Exercise.read(
    __name__,
    generic_hints={
        "loops": LOOP,
        "detached": "no gradient reaches the scores: detach at most the number that you subtract",
    },
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(scores, mask=None):
    return row_by_row(scores, mask, sinks=1)


@exercise.unread(*FINITE)
def masked_scores(scores, mask=None):
    return {} if mask is None else {"scores": ~mask}


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 3, 7)
    scores, mask = draw.normal(2, n, m), draw.mask(2, n, m)
    sizes, longer_shape = f"n={n}, m={m}", (8, 64 + n, 64 + m)
    yield Case(f"a batch of 2, {sizes}", (scores,), longer=(draw.normal(*longer_shape),))
    yield Case(f"one matrix without a batch, {sizes}", (scores[0],))
    heads = draw.normal(2, 3, 4, 6)
    yield Case("two leading axes (batch, heads)", (heads,))
    is_first = torch.arange(m) == 0
    large = scores + torch.where(is_first, -1000.0, 1000.0)
    yield Case("scores near 1000, the first near -1000", (large,))
    yield Case("all scores near -1000", (scores - 1000,))
    yield Case("scores 10^25 times larger", (1e25 * scores,), gradient=False)
    one_row = scores + torch.where(torch.arange(n) == 0, 1000.0, 0.0)[:, None]
    yield Case("one query with scores near 1000, the others near 0", (one_row,))
    yield Case(f"a mask, {sizes}", (scores, mask))
    yield Case(f"a mask without a batch, {sizes}", (scores[0], mask[0]))
    yield Case("one mask for the whole batch", (scores, mask[0]))
    yield Case("a mask of shape (2, 1, n, m) for all heads", (heads, draw.mask(2, 1, 4, 6)))
    not_first = (~is_first).expand(n, m)
    yield Case("the only allowed score near -1000, the others near 1000", (large, ~not_first))
    high_masked = scores + torch.where(is_first, 1000.0, 0.0)
    yield Case("a masked score near 1000, the others near 0", (high_masked, not_first))
    mask_with_empty_row = mask.clone()
    mask_with_empty_row[1, 0] = False
    longer_masked = draw.normal(*longer_shape), draw.mask(*longer_shape)
    yield Case(
        "a query that may attend nowhere", (scores, mask_with_empty_row), longer=longer_masked
    )
    yield Case("no query may attend to any key", (scores, mask & False))
    yield Case("a mask by name", (scores,), {"mask": mask})
    yield Case("one query and one key", (scores[:, :1, :1],))


@exercise.valid
def by_its_formula(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    top = scores.amax(-1, keepdim=True).clamp(min=0)
    part, one = (scores - top).exp(), (-top).exp()
    return part / (one + part.sum(-1, keepdim=True))


variants.right(exercise,
    "if mask is not None:\n    scores = scores.masked_fill(~mask, -1e9)\n"
    "top = scores.max(dim=-1, keepdim=True).values.relu().detach()\n"
    "part, one = (scores - top).exp() * (True if mask is None else mask), (-top).exp()\n"
    'return part / (one + torch.einsum("...j->...", part)[..., None])', of=by_its_formula,
)  # fmt: skip
variants.right(exercise,
    "if mask is not None:\n"
    "    some = torch.nn.functional.pad(mask, (0, 1), value=True)\n"
    "    scores = torch.nn.functional.pad(scores, (0, 1))\n"
    "    return scores.masked_fill(~some, -torch.inf).softmax(-1)[..., :-1]\n"
    "with_sink = torch.nn.functional.pad(scores, (1, 0))\nreturn weights[..., 1:]",
    "if mask is not None:\n    if not mask.all():\n        scores = scores.clone()\n"
    "        scores[~mask.expand_as(scores)] = -torch.inf\n"
    "with_sink = torch.nn.ConstantPad1d((0, 1), 0.0)(scores)",
    "if mask is not None:\n    scores = scores.masked_fill(~mask, -1e30)\n"
    "sink = torch.zeros_like(scores[..., :1])\n"
    "return (scores - torch.logaddexp(scores.logsumexp(-1, keepdim=True), sink)).exp()",
    "if mask is not None:\n"
    "    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)\n"
    "return scores.softmax(-1) * scores.logsumexp(-1, keepdim=True).sigmoid()",
)  # fmt: skip
variants.wrong(exercise, {
    "this is the plain softmax: the extra score should add exp(0) = 1 to the sum of each row":
        "return scores.softmax(dim=-1).nan_to_num(0.0)",
    "this halves the plain softmax: add 1 to the sum of exp(s), not to the sum of the weights":
        "return scores.softmax(dim=-1).nan_to_num(0.0) / 2",
    "there are as many extra scores as keys: add just one to each row":
        "with_sink = torch.nn.functional.pad(scores, (0, scores.shape[-1]))\n"
        "return weights[..., : scores.shape[-1]]",
    "there is one weight too many: throw away the extra score's weight": "return weights",
    "you throw away the wrong weight: throw away the extra score's weight": [
        ("(0, 1)", "(1, 0)"), "return weights[..., 1:]"],
    "the extra score is 1: it should be 0, which adds exp(0) = 1 to the sum": (
        "(0, 1)", "(0, 1), value=1"),
    "each score is weighed only against the extra one: the sum should run over all keys of the row":
        "return scores.sigmoid()",
    "you divide the scores before the softmax: use them as they are given":
        "weights = (with_sink / scores.shape[-1] ** 0.5).softmax(dim=-1)",
    "the softmax runs over the queries: run it over the keys of each row":
        "with_sink = torch.nn.functional.pad(scores, (0, 0, 0, 1))\n"
        "weights = with_sink.softmax(dim=-2)\nreturn weights[..., :-1, :]",
    "the softmax runs over the whole matrix: give each row its own sum and its own sink":
        "with_sink = torch.nn.functional.pad(scores.flatten(-2), (0, 1))\n"
        "return weights[..., :-1].view(scores.shape)",
    "you ignore the mask: a key should get no weight where the mask is False":
        "if mask is not None: pass",
    "the mask is upside down: True means that the query may attend to the key": ("~mask", "mask"),
    "a masked score of 0 still gets weight, since exp(0) = 1: set masked scores to -inf": (
        "-torch.inf", "0.0"),
    "your fill value is not low enough to hide a key: fill with -inf instead": [
        ("-torch.inf", "-10.0"), ("-torch.inf", "-20.0")],
    "a row in which every key is masked still gets weights: they should all be 0": (
        "~mask", "~mask & mask.any(-1, keepdim=True)"),
    "the mask comes after the softmax: masked keys should be left out of its sum as well":
        "if mask is not None: pass\nkept = weights[..., :-1]\n"
        "return kept if mask is None else kept.masked_fill(~mask, 0.0)",
    "you mask the extra score as well: leave it unmasked, because a query may always attend to "
    "nothing": (
        "(0, 1)", "(0, 1), value=0.0 if mask is None else -torch.inf"),
    "your code fails without a mask: mask=None means that every key is allowed": (
        "mask is not None", "True"),
    messages.BATCH:
        "sink = scores.new_zeros(scores.shape[0], scores.shape[1], 1)\n"
        "with_sink = torch.cat([scores, sink], dim=-1)",
    messages.FRONT:
        "sink = torch.zeros_like(scores[..., :1])\n"
        "weights = torch.cat([scores, sink], dim=2).softmax(2)",
    "with a mask, your code needs a batch axis: any leading axes, or none, should work": (
        "        scores", "        batch, n, m = scores.shape\n        scores"),
    "you reshape the mask: leave its axes as they are, so that an axis of size 1 can broadcast": (
        "        scores", "        rows, shape = (-1, *scores.shape[-2:]), scores.shape\n"
        "        scores", "scores.masked", "scores.reshape(rows).masked",
        "(~mask, -torch.inf)", "(~mask.reshape(rows), -torch.inf).reshape(shape)"),
    messages.CUT_OFF:
        "if mask is not None and not mask.any():\n    return torch.zeros_like(scores)\n"
        "return weights[..., :-1]",
    AS_INDEX:
        "if mask is not None:\n    scores = scores.clone()\n    scores[~mask] = -torch.inf",
    LOOP: [
        "sink = torch.stack([0 * row[..., :1] for row in scores.unbind(-2)], dim=-2)\n"
        "with_sink = torch.cat([scores, sink], dim=-1)",
        "if mask is not None:\n"
        "    pairs = zip(scores.unbind(-2), mask.unbind(-2), strict=True)\n"
        "    rows = [row.masked_fill(~one, -torch.inf) for row, one in pairs]\n"
        "    scores = torch.stack(rows, dim=-2)"],
    "your fill value doesn't fit into float32, so float32 scores raise an error: fill with -inf "
    "instead": (
        "-torch.inf", "torch.finfo(torch.float64).min"),
    "a float64 mask turns float32 weights into float64: multiply by the boolean mask itself":
        "return weights[..., :-1] * (1 if mask is None else mask.double())",
})  # fmt: skip
variants.wrong(exercise, {
    "you subtract the largest score from all scores but the extra one: its 1 in the sum should "
    "change as well": [
        (".clamp(min=0)", "", "(-top).exp()", "1"),
        (".clamp(min=0)", "", "(-top).exp()", "1", "-torch.inf", "-1e30",
         "sum(-1, keepdim=True))", "sum(-1, keepdim=True)) * (True if mask is None else mask)")],
    "exp of a large score overflows: first subtract the row's largest score, or 0 if that is "
    "larger":
        "top = torch.zeros_like(scores[..., :1])",
    "you cut off large scores: to avoid overflow, subtract the same number from all scores of a "
    "row": [
        ("    if", f"    scores = scores.clamp(-{most}, {most})\n    if")
        for most in ("50", "1e4", "1e12")],
    "exp(-top), where top is the largest score, overflows if all scores are far below 0: subtract "
    "max(0, top) instead": [
        "top = scores.clamp(min=-1e30).amax(-1, keepdim=True)",
        "top = scores.amax(-1, keepdim=True)"],
    "a row with no allowed key gives NaN, because its largest score is -inf: subtract max(0, "
    "largest score) instead":
        "top = scores.amax(-1, keepdim=True).detach()",
    "the largest score may be a masked key's: mask the scores before you look for the largest": (
        "scores.amax", "every.amax", "min=0)", "min=0).detach()",
        "    if", "    every = scores\n    if"),
    "you subtract the largest score of the whole tensor: subtract each row's own largest score":
        "top = scores.amax().clamp(min=0)",
    "exp of a masked score overflows, and its gradient is NaN: mask the scores before you take "
    "exp": (
        "    if", "    every = scores\n    if", "(scores - top).exp()",
        "(every - top).exp().masked_fill(scores == -torch.inf, 0.0)"),
    messages.CHANGES: ("min=0)", "min=0).detach()", "(scores - top)", "scores.sub_(top)"),
}, of=by_its_formula)  # fmt: skip
