"""Exercise test_multi_head: the learner's test meets right and wrong functions, unnamed."""

import torch

from attncourse.course.dot_product.exercises.shared import tests_of_attention as known
from attncourse.course.dot_product.exercises.shared.attentions import (
    close,
    close_to_row_means,
    some_keys,
)
from attncourse.course.multi_head.exercises.shared import multi_heads
from attncourse.course.multi_head.exercises.shared.multi_heads import in_heads, inputs
from judge import variants
from judge.exercise import Exercise
from judge.implementations import implementations

exercise = Exercise.read(__name__, differentiable=False)


@exercise.cases
def cases(draw):
    return implementations(draw, "multi_head", "a function", multi_heads.RIGHT, multi_heads.WRONG)


# leading axes and none, each dtype, more than one number of heads
BATCHES, DTYPES, HEADS = ((), (2, 2)), (torch.float64, torch.float32), (3, 2)


@exercise.reference
def row_by_row(multi_head):
    for batch, dtype, heads in zip(BATCHES, DTYPES, HEADS, strict=True):
        q, k, v = inputs(*batch, heads=heads, dtype=dtype)
        for mask in (None, some_keys(*batch, 4, 5)):
            allowed = torch.ones(*batch, 4, 5, dtype=torch.bool) if mask is None else mask
            before = [x.clone() for x in (q, k, v, allowed)]
            got = multi_head(q, k, v, heads) if mask is None else multi_head(q, k, v, heads, mask)
            assert (got.shape, got.dtype) == ((*batch, 4, 2 * heads), dtype)
            assert all(map(torch.equal, (q, k, v, allowed), before))
            for head in zip(*(x.chunk(heads, dim=-1) for x in (got, q, k, v)), strict=True):
                close_to_row_means(*head, allowed)


@exercise.valid
def plain(multi_head):
    for batch, dtype, heads in zip(BATCHES, DTYPES, HEADS, strict=True):
        for masked in (None, some_keys):
            q, k, v = inputs(*batch, heads=heads, dtype=dtype)
            mask = masked and masked(*batch, q.shape[-2], k.shape[-2])
            before = [x if x is None else x.clone() for x in (q, k, v, mask)]
            got, want = multi_head(q, k, v, heads, mask), in_heads(*before, heads=heads)
            close(got, want)
            for now, then in zip((q, k, v, mask), before, strict=True):
                assert now is None or now.equal(then)


CLOSE, UNCHANGED, MASKS = known.CLOSE, known.UNCHANGED, known.MASKS
DRAWN, AFTER, LIKE, APART = known.DRAWN, known.AFTER, known.LIKE, known.APART
START, FORMULA = "    for batch", "in_heads(*before, heads=heads)"
OWN = "multi_heads.plain(*before[:3], heads, before[3])"
ONE_MASK = (MASKS, "(None, lambda *n: some_keys(*n[-2:]).expand(n))")
variants.right(exercise,
    (FORMULA, OWN),
    (DRAWN, f"{DRAWN}, sizes=(3, 6, 5, 7), large=9000.0, seed=5", "HEADS", "(4, 3)"),
    (CLOSE, f"if not ({LIKE[7:]}):\n                raise TypeError(got.shape)\n"
     f"            if not {APART} < (1e-6 if dtype.itemsize > 4 else 1e-2):\n"
     "                raise ValueError(got)"),
    # what is asked of a head is what the same function makes of its numbers alone
    (CLOSE, "parts = zip(*(x.clone().chunk(heads, -1) for x in before[:3]), strict=True)\n"
     "            alone = torch.cat([multi_head(*one, 1, before[3]) for one in parts], dim=-1)\n"
     "            close(alone, want)\n            close(got, alone)"),
)  # fmt: skip
variants.wrong(exercise, known.WRONG_TESTS | {
    # the first query has large scores
    "only the first query is compared, so a wrong row below it passes: compare all rows": (
        CLOSE, f"{LIKE}\n            close(got[..., 0, :], want[..., 0, :])"),
    "your test refuses nothing: call multi_head, assert what should hold, and don't catch any "
    "errors": (
        START, f"    return\n{START}"),
    "your test compares the numbers but asserts nothing: assert that they agree": (
        CLOSE, "torch.allclose(got, want)", UNCHANGED, "pass"),
    "your test sorts each row first, so right numbers in the wrong heads pass: compare them "
    "unsorted": (
        CLOSE, "close(got.sort(-1).values, want.sort(-1).values)"),
    "the expected output comes from the function that you test: compute it independently": (
        FORMULA, OWN.replace("multi_heads.plain", "multi_head")),
    "your test always uses one head, so a wrong split goes unnoticed: try more heads": (
        "HEADS", "(1, 1)"),
    "your test always uses two heads: try another number as well": ("HEADS", "(2, 2)"),
    "each head is one number wide, and dividing by 1 changes nothing: make it wider": (
        DRAWN, f"{DRAWN}, sizes=(4, 5, 1, 1)"),
    "all widths are equal, so a scale from the wrong one goes unnoticed: give the values another "
    "width": (
        DRAWN, f"{DRAWN}, sizes=(4, 5, 6, 6)"),
    "there is only one query, so mixed-up rows go unnoticed: try several queries": (
        DRAWN, f"{DRAWN}, sizes=(1, 5, 6, 2)",
        MASKS, "(None, *(lambda *n, i=i: some_keys(*n, empty=i) for i in (0, 9)))"),
    "no two sentences have different masks, so a mask on the wrong axis goes unnoticed: give each "
    "sentence its own": [
        ("masked(*batch, ", "masked("), (MASKS, f"{MASKS}[: 1 + (not batch)]"), ONE_MASK,
        (*ONE_MASK, "HEADS", "(2, 3)")],
    "your test tries only one input without a mask: try masks, leading axes, large scores and two "
    "dtypes as well": (
        START, "    q, k, v = inputs(heads=3, large=1.0, dtype=torch.float32)\n"
        f"    return close(multi_head(q, k, v, 3), in_heads(q, k, v, heads=3))\n{START}"),
    "changes to q and k go unnoticed: compare them after the call as well, since no input may "
    "change": (
        AFTER, "zip((v, mask), before[2:]"),
    "your test asks for equal bits or too small a tolerance, but summing in another order is right "
    "as well: allow for rounding": [
        (FORMULA, OWN, CLOSE, "assert got.dtype == want.dtype and got.equal(want)"),
        (FORMULA, OWN, CLOSE, f"{LIKE} and torch.allclose(got, want, rtol=1e-12, atol=1e-12)")],
    "your test's own formula scales by the whole width, so the test refuses right functions": (
        "heads=heads)\n", "heads=heads, scale=q.shape[-1] ** 0.5)\n"),
    "your test's own formula splits the sequence instead of the width, so the test refuses right "
    "functions": (
        "heads=heads)\n", "heads=heads, cut=lambda x, h: "
        "x.reshape(*x.shape[:-2], h, x.shape[-2], -1))\n"),
    "in your test's own formula, a head takes numbers from all over a row, so the test refuses "
    "right functions": (
        "heads=heads)\n", "heads=heads, cut=lambda x, h: x.unflatten(-1, (-1, h)).movedim(-1, -3), "
        "merge=lambda x: x.movedim(-3, -1).flatten(-2))\n"),
    "your test takes True for forbidden, so it refuses right functions: True means that a query "
    "may attend": (
        FORMULA, "in_heads(*before[:3], mask if mask is None else ~before[3], heads=heads)"),
    "your test refuses right functions as well: run it on a function that you trust. Its formula "
    "may be wrong, for example where a query may attend nowhere, or its tolerance may be too "
    "small": [
        (CLOSE, "close(got.mT, want)"),
        (START, "    q, k, v = inputs(heads=3)\n"
         f"    assert multi_head(q, k, v, 3).shape == q.shape\n    return\n{START}")],
})  # fmt: skip
