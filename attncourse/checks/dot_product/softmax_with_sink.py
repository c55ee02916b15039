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
        "Take max(0, largest allowed score) away from every score, the extra one too: its part is "
        "then exp(-top) and no longer 1. Divide each part by that plus the sum of the row's parts.",
        "torch.cat([scores, torch.zeros_like(scores[..., :1])], -1).softmax(-1)[..., :-1], where "
        "the masked scores are -inf",
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
    sizes = f"n={n}, m={m}"
    yield Case(f"a batch of 2, {sizes}", (scores,), longer=(scores.repeat(1, 8, 8),))
    yield Case(f"one matrix without a batch, {sizes}", (scores[0],))
    yield Case("two leading axes (batch, heads)", (draw.normal(2, 3, 4, 6),))
    first = torch.arange(m) == 0
    large = scores + torch.where(first, -1000.0, 1000.0)
    yield Case("scores near 1000, the first near -1000", (large,))
    yield Case("all scores near -1000", (scores - 1000,))
    yield Case(f"a mask, {sizes}", (scores, mask))
    first_key_only = mask.clone()
    first_key_only[0, 0] = first
    yield Case("scores near 1000, masked for one query", (large, first_key_only))
    nowhere = mask.clone()
    nowhere[1, 0] = False
    yield Case("a query that may attend nowhere", (scores, nowhere))
    yield Case("one mask for the whole batch", (scores, mask[0]))
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


@exercise.mutant(
    "the largest score is taken away from all but the extra one: the 1 changes as well"
)
def one_not_shifted(scores, mask=None):
    scores = filled(scores, mask, -1e30)
    part = (scores - scores.amax(-1, keepdim=True)).exp()
    return filled(part / (1 + part.sum(-1, keepdim=True)), mask, 0.0)


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


@exercise.mutant("a row far below 0 fails: the top score to take away is never less than 0")
def top_score_below_zero(scores, mask=None):
    part, sink = parts(scores, mask, filled(scores, mask, -1e30).amax(-1, keepdim=True))
    return part / (sink + part.sum(-1, keepdim=True))


@exercise.mutant("a row with no key gives NaN: its largest score is -inf, so compare it with 0")
def nan_for_an_empty_row(scores, mask=None):
    part, sink = parts(scores, mask, filled(scores, mask).amax(-1, keepdim=True).detach())
    return part / (sink + part.sum(-1, keepdim=True))


@exercise.mutant("the largest score may be that of a masked key: mask first, then look for it")
def top_of_the_masked_too(scores, mask=None):
    part, sink = parts(scores, mask, scores.amax(-1, keepdim=True).clamp(min=0).detach())
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


@exercise.mutant("it loops over positions: treat all rows and keys at once")
def loop_over_queries(scores, mask=None):
    rows = []
    for row in filled(scores, mask).unbind(-2):
        rows.append(with_sink(row))
    return torch.stack(rows, dim=-2)


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


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def tensor_on_the_cpu(scores, mask=None):
    sink = torch.zeros(*scores.shape[:-1], 1, dtype=scores.dtype, device="cpu")
    return torch.cat([filled(scores, mask), sink], dim=-1).softmax(-1)[..., :-1]
