"""Exercise test_grouped_query: the learner's test meets right and wrong functions, unnamed."""

import torch

from attncourse.course.dot_product.exercises.shared.attentions import (
    close,
    formula,
    inputs,
    some_keys,
)
from attncourse.course.efficient.exercises.shared.grouped_queries import RIGHT, WRONG
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations

exercise = Exercise.read(__name__, differentiable=False)


@exercise.cases
def cases(draw):
    return implementations(draw, "grouped_query_attention", "a function", RIGHT, WRONG)


# what a test needs at least: leading axes and none, each dtype, more than one head a group
BATCHES, DTYPES, HEADS = ((), (2, 2)), (torch.float64, torch.float32), ((6, 2), (6, 3))


def grouped_inputs(*batch, heads, sizes=(4, 5, 6, 2), **changes):
    """q, k and v for so many heads and groups."""
    h, g = heads
    q, k, v = inputs(*batch, h, sizes=sizes, **changes)
    return q, k[..., :g, :, :], v[..., :g, :, :]


def in_groups(q, k, v, mask=None):
    """Grouped attention once more."""
    h, g = q.shape[-3], k.shape[-3]
    group = [i // (h // g) for i in range(h)]
    return formula(q, k[..., group, :, :], v[..., group, :, :], mask)


@exercise.reference
def row_by_row(grouped_query_attention):
    for batch, dtype, (h, g) in zip(BATCHES, DTYPES, HEADS, strict=True):
        q, k, v = grouped_inputs(*batch, heads=(h, g), dtype=dtype)
        for mask in (None, some_keys(*batch, h, 4, 5)):
            allowed = torch.ones(*batch, h, 4, 5, dtype=torch.bool) if mask is None else mask
            before = [x.clone() for x in (q, k, v, allowed)]
            given = (q, k, v) if mask is None else (q, k, v, mask)
            got = grouped_query_attention(*given)
            assert (got.shape, got.dtype) == ((*batch, h, 4, 2), dtype)
            assert all(map(torch.equal, (q, k, v, allowed), before))
            parts = (x.reshape(-1, *x.shape[-3:]) for x in (got, q, k, v, allowed))
            for out, query, keys, values, seen in zip(*parts, strict=True):
                for i in range(h):
                    key, value = keys[i // (h // g)], values[i // (h // g)]
                    for row, one, some in zip(out[i], query[i], seen[i], strict=True):
                        close(row, (key[some] @ one / 6**0.5).softmax(0) @ value[some])


@exercise.valid
def against_the_formula(grouped):
    for batch, dtype, heads in zip(BATCHES, DTYPES, HEADS, strict=True):
        for masked in (None, some_keys):
            q, k, v = grouped_inputs(*batch, heads=heads, dtype=dtype)
            mask = masked and masked(*batch, heads[0], q.shape[-2], k.shape[-2])
            before = [x if x is None else x.clone() for x in (q, k, v, mask)]
            got, want = grouped(q, k, v, mask), in_groups(*before)
            close(got, want)
            for now, then in zip((q, k, v, mask), before, strict=True):
                assert now is None or now.equal(then)


CLOSE, WANT, MASKS = "close(got, want)", "in_groups(*before)", "(None, some_keys)"
UNCHANGED, DRAWN = "assert now is None or now.equal(then)", "dtype=dtype"
OWN = 'RIGHT["a right function"](*before)'
REPEATED = "(x.repeat_interleave(heads[0] // heads[1], dim=-3) for x in before[1:3])"
IN_TURN = "(torch.cat([x] * (heads[0] // heads[1]), dim=-3) for x in before[1:3])"
variants.right(
    exercise,
    (DRAWN, f"{DRAWN}, sizes=(4, 7, 5, 3), large=9000.0, seed=5", "HEADS", "((9, 3), (8, 2))"),
    (WANT, OWN),
    (CLOSE, "if got.shape != want.shape or got.dtype != want.dtype:\n"
            "                raise TypeError(got.shape, got.dtype)\n"
            "            bound = 1e-6 if dtype == torch.float64 else 1e-2\n"
            "            if not (got - want).abs().max() < bound:\n"
            "                raise ValueError(got, want)"),
    # what is asked of shared keys is what the same function makes of a copy for each head
    (WANT, f"grouped(before[0], *{REPEATED}, before[3])",
     CLOSE, f"{CLOSE}\n            close(want, in_groups(*before))"),
)  # fmt: skip
NOTHING_REFUSED = (
    "it refuses nothing: call the function, assert what must hold, and catch none of the errors"
)
variants.wrong(exercise, {
    NOTHING_REFUSED: [
        ("zip(BATCHES, DTYPES, HEADS, strict=True)", "()"), errors_caught(against_the_formula)],
    "it compares, but nothing comes of it: assert that the numbers agree": (
        CLOSE, "torch.allclose(got, want)", UNCHANGED, "pass"),
    "it looks at the shape only: compare the numbers, too": (
        CLOSE, "assert got.shape == want.shape", UNCHANGED, "pass"),
    "only the first query is compared: a wrong row below it passes": (
        CLOSE, "assert got.dtype == want.dtype\n"
               "            close(got[..., 0, :], want[..., 0, :])"),
    "NaN passes: no comparison with it is True, so ask if all are near, not if one is far": (
        CLOSE, "assert got.shape == want.shape and got.dtype == want.dtype\n"
               "            bound = 1e-6 if dtype == torch.float64 else 1e-3\n"
               "            assert not (got - want).abs().max() > bound"),
    "what it expects comes from the function itself: work it out without it": (
        WANT, "grouped(*before)"),
    "there is always one group, so all heads share it: try more groups": (
        "HEADS", "((6, 1), (4, 1))"),
    "there is always a group for each head, so nothing is shared: try fewer groups": (
        "HEADS", "((6, 6), (3, 3))"),
    "there is one group, or a group for each head: only the numbers in between tell the rules "
    "apart": ("HEADS", "((6, 1), (6, 6))"),
    "a group always has two heads: try groups of another size, too": [
        ("HEADS", "((6, 3), (4, 2))"), ("HEADS", "((4, 2), (4, 2))")],
    "all sizes are equal, so a scale from the wrong one fits: make them all different": (
        DRAWN, f"{DRAWN}, sizes=(4, 4, 4, 4)"),
    "all widths are equal, so a scale from the wrong one fits: give v its own": (
        DRAWN, f"{DRAWN}, sizes=(4, 5, 6, 6)"),
    "there are always as many queries as keys: try fewer queries than keys": (
        DRAWN, f"{DRAWN}, sizes=(5, 5, 6, 2)"),
    "no mask is ever tried": (MASKS, "(None,)"),
    "a mask is always there: try it without one, too": (MASKS, "(some_keys,)"),
    "all heads and sentences have the same mask: give each its own": (
        MASKS, "(None, lambda *shape: some_keys(*shape[-2:]))"),
    "all heads have the same mask: give each head its own": ("heads[0], q.shape", "1, q.shape"),
    "no two sentences of a batch have masks of their own: give each another one": [
        (MASKS, "(None, lambda *shape: some_keys(*shape[-3:]))"),
        (MASKS, f"{MASKS}[: 1 + (not batch)]")],
    "no query is without a key: try a row of the mask that is all False": (
        MASKS, "(None, lambda *shape: some_keys(*shape, empty=9))"),
    "all scores are small: try some of a thousand, where exp overflows": (
        DRAWN, f"{DRAWN}, large=1.0"),
    "every input has one batch axis: try none, and more than one": ("BATCHES", "((2,), (3,))"),
    "a change of the inputs goes unnoticed: compare them after the call with copies from before": (
        UNCHANGED, "pass"),
    "only float64 is tried: float32 should give float32": ("DTYPES", "DTYPES[:1] * 2"),
    "only float32 is tried: float64 should give float64": ("DTYPES", "DTYPES[1:] * 2"),
    "the tolerance is too small, or bits are compared: another order of the same sums is right, "
    "too": (WANT, OWN, CLOSE, "assert got.dtype == want.dtype and got.equal(want)"),
    "its own heads take the groups in turn, so it refuses what is right": (
        WANT, f"formula(before[0], *{IN_TURN}, before[3])"),
    "it takes True for forbidden, so it refuses what is right: True means may attend": (
        WANT, "in_groups(*before[:3], mask if mask is None else ~before[3])"),
    "it refuses the right ones, too: run it on a function you trust. The formula may be "
    "wrong, as where a query that may attend nowhere gets NaN, or the tolerance too small": (
        CLOSE, "assert got.shape == k.shape"),
})  # fmt: skip
