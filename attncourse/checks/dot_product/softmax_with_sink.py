"""Exercise softmax_with_sink: a softmax that may also attend to nothing."""

import torch
import torch.nn.functional as F

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="softmax_with_sink",
    chapter="dot_product",
    title="Attend to nothing",
    kind="build",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "Think of one more key, whose score is always 0. It takes part in the softmax of every "
        "row, and the weight that it gets is thrown away.",
        "Give the masked scores -inf, and append a column of zeros to the scores. Take the softmax "
        "over the last axis, and drop the column that you appended.",
        "torch.zeros_like(scores[..., :1]) is such a column, and torch.cat(..., dim=-1) appends it "
        "once the masked scores are -inf.",
    ),
)


@exercise.reference
def by_hand(scores, mask=None):
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    allowed = allowed.broadcast_to(scores.shape).reshape(-1, scores.shape[-1])
    rows = scores.reshape(-1, scores.shape[-1])
    out = torch.zeros_like(rows)
    for i, row in enumerate(rows):
        keys = [j for j in range(len(row)) if allowed[i, j]]
        top = max([row[j].detach() for j in keys] + [row.new_zeros(())])
        total = (-top).exp() + sum((row[j] - top).exp() for j in keys)
        for j in keys:
            out[i, j] = (row[j] - top).exp() / total
    return out.reshape(scores.shape)


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 3, 7)
    scores, mask = draw.normal(2, n, m), draw.mask(2, n, m)
    sizes, long = f"n={n}, m={m}", (8, 64 + n, 64 + m)
    yield Case(f"a batch of 2, {sizes}", (scores,), longer=(draw.normal(*long),))
    yield Case(f"one matrix without a batch, {sizes}", (scores[0],))
    heads = draw.normal(2, 3, 4, 6)
    yield Case("two leading axes (batch, heads)", (heads,))
    first = torch.arange(m) == 0
    large = scores + torch.where(first, -1000.0, 1000.0)
    yield Case("scores near 1000, the first near -1000", (large,))
    yield Case("all scores near -1000", (scores - 1000,))
    one_row = scores + torch.where(torch.arange(n) == 0, 1000.0, 0.0)[:, None]
    yield Case("one query with scores near 1000, the others near 0", (one_row,))
    yield Case(f"a mask, {sizes}", (scores, mask))
    yield Case(f"a mask without a batch, {sizes}", (scores[0], mask[0]))
    yield Case("one mask for the whole batch", (scores, mask[0]))
    yield Case("a mask of shape (2, 1, n, m) for all heads", (heads, draw.mask(2, 1, 4, 6)))
    others = (~first).expand(n, m)
    yield Case("the only allowed score near -1000, the others near 1000", (large, ~others))
    hidden = scores + torch.where(first, 1000.0, 0.0)
    yield Case("a masked score near 1000, the others near 0", (hidden, others))
    nowhere = mask.clone()
    nowhere[1, 0] = False
    longer = draw.normal(*long), draw.mask(*long)
    yield Case("a query that may attend nowhere", (scores, nowhere), longer=longer)
    yield Case("a mask by name", (scores,), {"mask": mask})
    yield Case("one query and one key", (scores[:, :1, :1],))


def filled(scores, mask, fill=-torch.inf):
    return scores if mask is None else scores.masked_fill(~mask, fill)


def with_sink(scores, mask=None, *, sink=0.0, fill=-torch.inf, axis=-1, allow_sink=True):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    scores = filled(scores, mask, fill)
    sink = sink if allow_sink or mask is None else -torch.inf
    extra = torch.full_like(scores.narrow(axis, 0, 1), sink)
    weights = torch.cat([scores, extra], axis).softmax(axis)
    return weights.narrow(axis, 0, scores.shape[axis])


def parts(scores, mask, top):
    """Each key's part and the sink's, once `top` is taken away from all."""
    return (filled(scores, mask) - top).exp(), (-top).exp()


@exercise.valid
def one_more_column(scores, mask=None):
    if mask is not None:
        scores, mask = F.pad(scores, (0, 1)), F.pad(mask, (0, 1), value=True)
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)[..., :-1]
    return F.pad(scores, (1, 0)).softmax(-1)[..., 1:]


@exercise.valid
def largest_score_or_zero_taken_away(scores, mask=None):
    scores = filled(scores, mask)
    top = scores.amax(-1, keepdim=True).clamp(min=0)
    part = (scores - top).exp()
    return part / ((-top).exp() + part.sum(-1, keepdim=True))


@exercise.valid
def in_log_space(scores, mask=None):
    scores = filled(scores, mask, -1e30)
    total = scores.logsumexp(-1, keepdim=True)
    return (scores - torch.logaddexp(total, torch.zeros_like(total))).exp()


@exercise.valid
def softmax_times_a_gate(scores, mask=None):
    scores = filled(scores, mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1) * scores.logsumexp(-1, keepdim=True).sigmoid()


@exercise.valid
def by_a_module_with_an_early_way_out(scores, mask=None):
    if mask is not None and not mask.all():
        scores = scores.clone()
        scores[~mask.expand_as(scores)] = -torch.inf
    return torch.nn.ConstantPad1d((0, 1), 0.0)(scores).softmax(-1)[..., :-1]


@exercise.valid
def masked_parts_left_out_of_the_sum(scores, mask=None):
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    scores = torch.where(mask, scores, -1e9)
    top = F.relu(scores.max(dim=-1, keepdim=True).values).detach()
    part = torch.exp(scores - top) * mask
    return part / (torch.exp(-top) + torch.einsum("...j->...", part)[..., None])


@exercise.mutant(
    "this is the plain softmax: the extra score adds exp(0) = 1 to the sum of each row"
)
def plain_softmax(scores, mask=None):
    return filled(scores, mask).softmax(-1).nan_to_num(0.0)


@exercise.mutant("this halves the plain softmax: the 1 joins the sum of exp(s), not of the weights")
def one_beside_the_weights(scores, mask=None):
    weights = filled(scores, mask, -1e30).softmax(-1)
    return filled(weights / (1 + weights.sum(-1, keepdim=True)), mask, 0.0)


@exercise.mutant("there are as many extra scores as keys: one is added to each row")
def sink_for_each_key(scores, mask=None):
    extra = torch.zeros_like(scores)
    return torch.cat([filled(scores, mask), extra], dim=-1).softmax(-1)[..., : scores.shape[-1]]


SHIFTED = "the largest score is taken away from all but the extra one: the 1 changes as well"


@exercise.mutant(SHIFTED)
def one_not_shifted(scores, mask=None):
    scores = filled(scores, mask, -1e30)
    part = (scores - scores.amax(-1, keepdim=True)).exp()
    return filled(part / (1 + part.sum(-1, keepdim=True)), mask, 0.0)


@exercise.mutant(SHIFTED)
def one_not_shifted_nor_an_empty_row(scores, mask=None):
    scores = filled(scores, mask)
    part = (scores - scores.amax(-1, keepdim=True)).exp()
    return part / (1 + part.sum(-1, keepdim=True))


@exercise.mutant(
    "exp of a large score overflows: take the larger of 0 and the top score away first"
)
def unstable(scores, mask=None):
    part = filled(scores, mask).exp()
    return part / (1 + part.sum(-1, keepdim=True))


@exercise.mutant("large scores are cut off: shift all scores of a row by the same number instead")
def clamped_scores(scores, mask=None):
    part = filled(scores.clamp(-50, 50), mask).exp()
    return part / (1 + part.sum(-1, keepdim=True))


LOW = "exp(-top) overflows when all scores are very negative: take away max(0, top)"


@exercise.mutant(LOW)
def top_score_below_zero(scores, mask=None):
    part, sink = parts(scores, mask, filled(scores, mask, -1e30).amax(-1, keepdim=True))
    return part / (sink + part.sum(-1, keepdim=True))


@exercise.mutant(LOW)
def top_score_of_minus_infinity(scores, mask=None):
    part, sink = parts(scores, mask, filled(scores, mask).amax(-1, keepdim=True))
    return part / (sink + part.sum(-1, keepdim=True))


@exercise.mutant("a row with no key gives NaN: its largest score is -inf, so take away max(0, top)")
def nan_for_an_empty_row(scores, mask=None):
    part, sink = parts(scores, mask, filled(scores, mask).amax(-1, keepdim=True).detach())
    return part / (sink + part.sum(-1, keepdim=True))


@exercise.mutant("the largest score may be that of a masked key: mask first, then look for it")
def top_of_the_masked_too(scores, mask=None):
    part, sink = parts(scores, mask, scores.amax(-1, keepdim=True).clamp(min=0).detach())
    return part / (sink + part.sum(-1, keepdim=True))


@exercise.mutant("the largest score taken away is that of the whole tensor: each row has its own")
def one_top_for_all(scores, mask=None):
    part, sink = parts(scores, mask, filled(scores, mask).amax().clamp(min=0))
    return part / (sink + part.sum(-1, keepdim=True))


@exercise.mutant("exp of a masked score overflows, and its gradient is NaN: mask before exp")
def masked_after_exp(scores, mask=None):
    part, sink = parts(scores, None, filled(scores, mask).amax(-1, keepdim=True).clamp(min=0))
    part = filled(part, mask, 0.0)
    return part / (sink + part.sum(-1, keepdim=True))


@exercise.mutant("there is one weight too many: throw away that of the extra score")
def sink_returned(scores, mask=None):
    return F.pad(filled(scores, mask), (0, 1)).softmax(-1)


@exercise.mutant("the wrong weight is thrown away: it is that of the extra score that must go")
def wrong_end_dropped(scores, mask=None):
    return F.pad(filled(scores, mask), (1, 0)).softmax(-1)[..., :-1]


@exercise.mutant("the extra score is 1: a score of 0 adds exp(0) = 1 to the sum")
def sink_of_one(scores, mask=None):
    return with_sink(scores, mask, sink=1.0)


@exercise.mutant("each score meets the extra one alone: the sum runs over all keys of the row")
def sigmoid_of_each(scores, mask=None):
    return filled(scores, mask).sigmoid()


@exercise.mutant("the scores are divided once more: they come ready for the softmax")
def scaled(scores, mask=None):
    return with_sink(scores / scores.shape[-1] ** 0.5, mask)


@exercise.mutant("the softmax runs over the queries: the sum of a row is over its keys")
def softmax_over_queries(scores, mask=None):
    return with_sink(scores, mask, axis=-2)


@exercise.mutant(
    "the softmax runs over the whole matrix: every row has a sum, and a sink, of its own"
)
def softmax_over_everything(scores, mask=None):
    return with_sink(filled(scores, mask).flatten(-2)).view_as(scores)


@exercise.mutant("the mask is ignored")
def mask_ignored(scores, mask=None):
    return with_sink(scores)


@exercise.mutant("the mask is upside down: True means may attend")
def mask_inverted(scores, mask=None):
    return with_sink(scores, None if mask is None else ~mask)


@exercise.mutant("a masked score of 0 still gets weight, since exp(0) = 1: fill with -inf")
def zero_fill(scores, mask=None):
    return with_sink(scores, mask, fill=0.0)


@exercise.mutant("-10 is not small enough to mask a score: fill with -inf")
def fill_with_minus_ten(scores, mask=None):
    return with_sink(scores, mask, fill=-10.0)


@exercise.mutant("the mask comes after the softmax: masked keys must be left out of the sum too")
def mask_after_the_softmax(scores, mask=None):
    return filled(with_sink(scores), mask, 0.0)


@exercise.mutant("the extra score is masked as well: attending to nothing is always allowed")
def sink_masked(scores, mask=None):
    return with_sink(scores, mask, allow_sink=False)


@exercise.mutant("without a mask it fails: mask=None means that every key may be attended")
def mask_is_not_optional(scores, mask=None):
    return with_sink(scores, ~~mask)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(scores, mask=None):
    batch, n, _ = scores.shape
    scores = filled(scores, mask)
    return torch.cat([scores, scores.new_zeros(batch, n, 1)], dim=-1).softmax(-1)[..., :-1]


@exercise.mutant("with a mask it needs a batch axis: any leading axes, or none, should work")
def mask_of_three_axes(scores, mask=None):
    if mask is not None:
        batch, n, m = scores.shape
        mask = mask.expand(batch, n, m)
    return with_sink(scores, mask)


@exercise.mutant("the mask is reshaped: leave its axes alone, then one of size 1 broadcasts")
def mask_reshaped(scores, mask=None):
    n, m = scores.shape[-2:]
    mask = mask if mask is None else mask.reshape(-1, n, m)
    return with_sink(scores.reshape(-1, n, m), mask).reshape(scores.shape)


LOOP = "it loops over positions: treat all rows and keys at once"


@exercise.mutant(LOOP)
def loop_over_queries(scores, mask=None):
    rows = []
    for row in filled(scores, mask).unbind(-2):
        rows.append(with_sink(row))
    return torch.stack(rows, dim=-2)


@exercise.mutant(LOOP)
def loop_in_a_map(scores, mask=None):
    return torch.stack(list(map(with_sink, filled(scores, mask).unbind(-2))), dim=-2)


@exercise.mutant(LOOP)
def loop_where_there_is_a_mask(scores, mask=None):
    if mask is None:
        return with_sink(scores)
    pairs = zip(scores.unbind(-2), mask.unbind(-2), strict=True)
    return torch.stack([with_sink(row, allowed) for row, allowed in pairs], dim=-2)


@exercise.mutant("no gradient reaches the scores: only the number taken away may be detached")
def detached(scores, mask=None):
    return with_sink(scores.detach(), mask)


@exercise.mutant("the input changes: shift and mask a copy, not scores itself")
def shifted_in_place(scores, mask=None):
    top = filled(scores, mask).amax(-1, keepdim=True).clamp(min=0).detach()
    scores -= top
    part = filled(scores, mask).exp()
    return part / ((-top).exp() + part.sum(-1, keepdim=True))


@exercise.mutant("the result is always float32: keep the dtype of the scores")
def always_float32(scores, mask=None):
    return with_sink(scores.float(), mask)


@exercise.mutant("the result is always float64: keep the dtype of the scores")
def always_float64(scores, mask=None):
    return with_sink(scores.double(), mask)


@exercise.mutant("no float32 is as small as this fill, so float32 scores fail: fill with -inf")
def smallest_float64(scores, mask=None):
    return with_sink(scores, mask, fill=torch.finfo(torch.float64).min)


@exercise.mutant(
    "the mask as float64 makes float32 weights float64: multiply with the boolean mask itself"
)
def mask_as_float64(scores, mask=None):
    return with_sink(scores, mask) * (1 if mask is None else mask.double())


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def tensor_on_the_cpu(scores, mask=None):
    sink = torch.zeros(*scores.shape[:-1], 1, dtype=scores.dtype, device="cpu")
    return torch.cat([filled(scores, mask), sink], dim=-1).softmax(-1)[..., :-1]
