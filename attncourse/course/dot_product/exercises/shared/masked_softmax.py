"""The softmax over the keys that a mask allows, right and wrong, for exercises that end in one."""

from collections.abc import Callable

import torch

from judge.variants import edited, every

# the hint for each way to compute it, None for a right one
WAYS: dict[Callable, str | None] = {}


def softmax(scores, mask=None, *, axis=-1):
    if mask is None:
        return scores.softmax(axis)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(axis)
    return weights.masked_fill(~mask, 0.0)


def row_by_row(scores, mask=None, sinks=0):
    """The weights, for a reference: so many sinks are keys with score 0, without a weight."""
    rows = scores.reshape(-1, scores.shape[-1])
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    weights = torch.zeros_like(rows)
    for i, row_allowed in enumerate(allowed.expand(scores.shape).reshape(rows.shape)):
        keys = torch.cat([rows[i, row_allowed], rows.new_zeros(sinks)])
        weights[i, row_allowed] = (rows[i, row_allowed] - keys.logsumexp(0)).exp()
    return weights.reshape(scores.shape)


def way(hint: str | None, *edits: str) -> Callable:
    """The softmax with these edits, kept among the ways."""
    variant = edited(softmax, *edits)
    WAYS[variant] = hint
    return variant


FILL, ZEROS = "-torch.inf", ".masked_fill(~mask, 0.0)"
MASKED = "scores.masked_fill(~mask, -torch.inf)"
WEIGHTS = f"{MASKED}.softmax(axis)"
# what a poor fill leaves on masked keys stays
EMPTY_ROWS = (ZEROS, ".masked_fill(~mask.any(-1, keepdim=True), 0.0)")
# every score goes the same way, masked or not
ALWAYS = ("return scores.softmax(axis)", "mask = torch.ones_like(scores, dtype=torch.bool)")
FIRST, TOP = "    weights =", "scores.detach().amax(-1, keepdim=True)"
NORMED = "\n    weights = weights / weights.sum(-1, keepdim=True)"

by_a_module = way(None, WEIGHTS, f"torch.nn.Softmax(dim=-1)({MASKED})", ZEROS, ".nan_to_num(0.0)")
times_the_rows_with_a_key = way(
    None, MASKED, "torch.where(mask, scores, -1e30)", ZEROS, " * mask.any(dim=-1, keepdim=True)"
)
masked_before_and_after = way(
    None, FILL, "torch.finfo(scores.dtype).min", ZEROS, "",
    "(axis)\n    return", f"(axis) * mask{NORMED}.clamp(min=1e-9)\n    return")  # fmt: skip
in_log_space = way(
    None, *ALWAYS,
    FIRST, f"    scores = scores + torch.zeros_like(scores).masked_fill(~mask, -1e30)\n{FIRST}",
    WEIGHTS, "(scores - scores.logsumexp(-1, keepdim=True)).exp()")  # fmt: skip
by_its_formula = way(
    None, *ALWAYS, FIRST, f"    scores = {MASKED}\n    top = {TOP}\n{FIRST}",
    f"= {WEIGHTS}", "= (scores - top.where(top.isfinite(), 0.0)).exp()", ZEROS,
    " / weights.sum(-1, keepdim=True).where(mask.any(-1, keepdim=True), 1.0)")  # fmt: skip
with_an_early_way_out = way(
    None, "mask is None", "mask is None or mask.all()", FIRST,
    f"    scores = scores.clone()\n    scores[~mask.expand_as(scores)] = -torch.inf\n{FIRST}",
    ZEROS, ".where(mask, 0.0)")  # fmt: skip

scores_only = way(
    "the softmax over the keys is missing: the weights of each row should sum to 1",
    every(".softmax(axis)"), "")  # fmt: skip
logarithms = way(
    "log_softmax gives the logarithms of the weights: use softmax instead",
    every(".softmax"), ".log_softmax", ZEROS, "")  # fmt: skip
softmax_over_queries = way(
    "the softmax runs over the queries: run it over the keys, so that each row sums to 1",
    every("(axis)"), "(-2)")  # fmt: skip
softmax_over_everything = way(
    "the softmax runs over the whole matrix: run it over the keys alone, so that each row sums to "
    "1",
    *ALWAYS, "softmax(axis)", "flatten(-2).softmax(-1).view(scores.shape)", ZEROS, "")  # fmt: skip
UNSTABLE = "exp of the scores overflows or underflows: first subtract the largest score of each row"
unstable = way(UNSTABLE, *ALWAYS, WEIGHTS, f"scores.exp() * mask{NORMED}")
unstable_with_a_floor = way(
    UNSTABLE, *ALWAYS, WEIGHTS, f"scores.exp() * mask{NORMED}.clamp(min=1e-30)", ZEROS, ""
)
unstable_with_zeros = way(
    UNSTABLE, *ALWAYS, WEIGHTS, f"scores.exp(){ZEROS}", f"weights{ZEROS}",
    "weights / (total := weights.sum(-1, keepdim=True)).where(total != 0, 1.0)")  # fmt: skip
one_top_for_all = way(
    "you subtract the largest score of the whole tensor: subtract each row's own largest score",
    *ALWAYS, f"{FIRST} {WEIGHTS}", f"    scores = {MASKED}\n"
    f"    weights = (scores - scores.detach().max()).exp(){NORMED}.clamp(min=1e-30)")  # fmt: skip
top_not_below_zero = way(
    "if all scores of a row are far below 0, exp turns them all into 0: subtract the largest one, "
    "even if it is negative",
    *ALWAYS, f"{FIRST} {WEIGHTS}", f"    scores = {MASKED}\n"
    f"    weights = (scores - {TOP}.clamp(min=0)).exp(){NORMED}.clamp(min=1e-30)")  # fmt: skip
cut_off = way(
    "you cut off large scores: to avoid overflow, subtract the same number from all scores of a "
    "row",
    "    if", "    scores = scores.clamp(-1e6, 1e6)\n    if")  # fmt: skip
LATE = "a masked key with a far larger score leaves no weight for the others: mask the scores first"
masked_late = way(LATE, WEIGHTS, f"scores.softmax(-1) * mask{NORMED}.clamp(min=1e-9)", ZEROS, "")
masked_late_without_a_floor = way(LATE, WEIGHTS, f"scores.softmax(-1) * mask{NORMED}", *EMPTY_ROWS)
top_of_the_masked_too = way(
    LATE, *ALWAYS, WEIGHTS, f"(scores - {TOP}).exp() * mask{NORMED}.clamp(min=1e-30)", ZEROS, ""
)
masked_after_exp = way(
    "exp of a masked score overflows, and its gradient is NaN: mask the scores before you take exp",
    FIRST, f"    top = scores.masked_fill(~mask, -1e30).amax(-1, keepdim=True)\n{FIRST}",
    WEIGHTS, f"(scores - top).exp(){ZEROS}{NORMED}.clamp(min=1e-30)",
    f"weights{ZEROS}", "weights")  # fmt: skip
mask_after_the_softmax = way(
    "the mask comes after the softmax, so the rows no longer sum to 1: mask the scores before it",
    MASKED, "scores")  # fmt: skip
mask_ignored = way(
    "you ignore the mask: a key should get no weight where the mask is False",
    MASKED, "scores", ZEROS, "")  # fmt: skip
mask_inverted = way(
    "the mask is upside down: True means that the query may attend to the key",
    every("~mask"), "mask")  # fmt: skip
mask_is_not_optional = way(
    "your code fails without a mask: mask=None means that every key is allowed",
    "mask is None", "False")  # fmt: skip
zero_fill = way(
    "a masked score of 0 still gets weight, since exp(0) = 1: set masked scores to -inf",
    *EMPTY_ROWS, FILL, "0.0")  # fmt: skip
zero_fill_and_zeros = way(WAYS[zero_fill], FILL, "0.0")
zero_fill_alone = way(WAYS[zero_fill], ZEROS, "", FILL, "0.0")
SMALL = "an allowed score may be lower than your fill value: fill with -inf instead"
fill_with_minus_ten = way(SMALL, *EMPTY_ROWS, FILL, "-10.0")
fill_with_minus_thousand = way(SMALL, *EMPTY_ROWS, FILL, "-1e3")
fill_with_minus_ten_thousand = way(SMALL, *EMPTY_ROWS, FILL, "-1e4")
fill_with_minus_billion = way(SMALL, *EMPTY_ROWS, FILL, "-1e9")
small_fill_and_zeros = way(SMALL, FILL, "-1e4")
large_fill_and_zeros = way(SMALL, FILL, "-1e9")
smallest_float64 = way(
    "your fill value doesn't fit into float32, so float32 scores raise an error: fill with -inf "
    "instead",
    *EMPTY_ROWS, FILL, "torch.finfo(torch.float64).min")  # fmt: skip
mask_as_float64 = way(
    "a float64 mask turns float32 weights into float64: multiply by the boolean mask itself",
    ZEROS, f"{ZEROS} * mask.double()")  # fmt: skip
TIMES = "0 times -inf is NaN: replace the masked scores instead of multiplying the mask by -inf"
times_minus_infinity = way(TIMES, MASKED, "(scores + ~mask * -torch.inf)")
times_minus_infinity_by_rows = way(TIMES, *EMPTY_ROWS, MASKED, "(scores + ~mask * -torch.inf)")
AS_INDEX = (
    "a mask doesn't broadcast when it is used as an index: use masked_fill, which broadcasts it"
)
mask_as_index = way(
    AS_INDEX, FIRST, f"    scores = scores.clone()\n    scores[~mask] = -torch.inf\n{FIRST}",
    MASKED, "scores")  # fmt: skip
nan_for_an_empty_row = way(
    "a query that may attend nowhere gets NaN: it should get zeros",
    ZEROS, "")  # fmt: skip
uniform_for_an_empty_row = way(
    "a query that may attend nowhere attends everywhere: it should get zeros",
    FILL, "-1e30", ZEROS, "")  # fmt: skip
EMPTY = f"{SMALL}, and give zeros to a query that may attend nowhere"
large_fill_alone = way(EMPTY, FILL, "-1e9", ZEROS, "")
large_number_added = way(EMPTY, MASKED, "(scores + (~mask) * -1e9)", ZEROS, "")
ten_alone = way(EMPTY, FILL, "-10.0", ZEROS, "")
nan_gradient_for_an_empty_row = way(
    "a row with no allowed key gets a NaN gradient: replace masked scores instead of adding -inf "
    "to them",
    MASKED, "(scores + torch.where(mask, 0.0, -torch.inf))", ZEROS, ".nan_to_num(0.0)")  # fmt: skip
mask_of_three_axes = way(
    "with a mask, your code needs a batch axis: any leading axes, or none, should work",
    FIRST, f"    b, n, m = scores.shape\n    mask = mask.expand(b, n, m)\n{FIRST}")  # fmt: skip
mask_reshaped = way(
    "you reshape the mask: leave its axes as they are, so that an axis of size 1 can broadcast",
    FIRST, f"    rows = -1, *scores.shape[-2:]\n    mask = mask.reshape(rows)\n{FIRST}",
    "= scores", "= scores.reshape(rows)", ZEROS, f"{ZEROS}.reshape(scores.shape)")  # fmt: skip
loop_over_empty_rows = way(
    "you look for empty rows one by one: mask.any(dim=-1) checks all rows at once",
    FILL, "-1e30", "    return weights" + ZEROS, """
    empty = ~mask.expand_as(scores).any(-1).flatten()
    for i, row in enumerate(weights.flatten(0, -2)):
        if empty[i]:
            row.zero_()
    return weights""")  # fmt: skip
