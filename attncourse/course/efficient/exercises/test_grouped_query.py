"""Exercise test_grouped_query: the learner's test meets right and wrong functions, unnamed."""

import torch

from attncourse.course.dot_product.exercises.shared.attentions import close, inputs, some_keys
from attncourse.course.efficient.exercises.shared.grouped_queries import RIGHT, WRONG
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations

exercise = Exercise.read(__name__, differentiable=False)
exercise.valid(variants.worked(exercise))


@exercise.cases
def cases(draw):
    return implementations(draw, "grouped_query_attention", "a function", RIGHT, WRONG)


@exercise.reference
def row_by_row(grouped_query_attention):
    # what a test needs at least: leading axes and none, each dtype, more than one head a group
    for batch, h, g, dtype in (((), 6, 2, torch.float64), ((2, 2), 6, 3, torch.float32)):
        q, k, v = inputs(*batch, h, sizes=(4, 5, 6, 2), dtype=dtype)
        k, v = k[..., :g, :, :], v[..., :g, :, :]
        for mask in (None, some_keys(*batch, h, 4, 5)):
            allowed = torch.ones(*batch, h, 4, 5, dtype=torch.bool) if mask is None else mask
            before = [x.clone() for x in (q, k, v, allowed)]
            args = (q, k, v) if mask is None else (q, k, v, mask)
            got = grouped_query_attention(*args)
            assert (got.shape, got.dtype) == ((*batch, h, 4, 2), dtype)
            assert all(map(torch.equal, (q, k, v, allowed), before))
            parts = (x.reshape(-1, *x.shape[-3:]) for x in (got, q, k, v, allowed))
            for out, query, keys, values, visible in zip(*parts, strict=True):
                for i in range(h):
                    key, value = keys[i // (h // g)], values[i // (h // g)]
                    for row, vector, columns in zip(out[i], query[i], visible[i], strict=True):
                        close(row, (key[columns] @ vector / 6**0.5).softmax(0) @ value[columns])


KIND = "assert (out.shape, out.dtype) == (want.shape, want.dtype)"
NUMBERS = "assert torch.allclose(out, want, rtol=1e-4, atol=1e-5)"
UNCHANGED = "assert all(map(torch.equal, given, before))"
WANT = "expected(*inputs, all_of_them if mask is None else mask)"
OWN = 'RIGHT["a right function"](*before)'
REPEATED = "(x.repeat_interleave(h // groups, dim=-3) for x in before[1:3])"
variants.right(
    exercise,
    ("manual_seed(0)", "manual_seed(5)", "4, 6, 5, 3", "4, 7, 5, 3",
     "((), 6, 2), ((2,), 6, 3), ((2, 3), 8, 2)", "((), 9, 3), ((2, 2), 8, 2)", "1000", "9000"),
    (WANT, OWN),
    (KIND, "if out.shape != want.shape or out.dtype != want.dtype:\n"
           "                    raise TypeError(out.shape, out.dtype)",
     NUMBERS, "if not (out - want).abs().max() < 1e-4:\n"
              "                    raise ValueError(out, want)"),
    # what is asked of shared keys is what the same function makes of a copy for each head
    (WANT, f"grouped_query_attention(before[0], *{REPEATED}, *before[3:])",
     NUMBERS, "\n                ".join([NUMBERS, f"want = {WANT}", KIND, NUMBERS])),
)  # fmt: skip
NOTHING_REFUSED = (
    "it refuses nothing: call the function, assert what must hold, and catch none of the errors"
)
variants.wrong(exercise, {
    NOTHING_REFUSED: ["shapes = []", errors_caught(exercise.valid_answers[0])],
    "it compares, but nothing comes of it: assert that the numbers agree": (
        KIND, "pass", NUMBERS, "torch.allclose(out, want)", UNCHANGED, "pass"),
    "it looks at the shape only: compare the numbers, too": (
        KIND, "assert out.shape == want.shape", NUMBERS, "pass", UNCHANGED, "pass"),
    "only the first query is compared: a wrong row below it passes": (
        # the row without a key is another, and each other row has one
        "generator=g) < 0.5", "generator=g).argsort(-1) < 1", "some[..., 0, :]", "some[..., 1, :]",
        "(out, want,", "(out[..., 0, :], want[..., 0, :],"),
    "NaN passes: no comparison with it is True, so ask if all are near, not if one is far": (
        NUMBERS, "assert not (out - want).abs().max() > 1e-4"),
    "what it expects comes from the function itself: work it out without it": (
        WANT, "grouped_query_attention(*before)"),
    "there is always one group, so all heads share it: try more groups":
        "shapes = [((), 6, 1), ((2, 3), 4, 1)]",
    "there is always a group for each head, so nothing is shared: try fewer groups":
        "shapes = [((), 6, 6), ((2, 3), 3, 3)]",
    "there is one group, or a group for each head: try numbers in between, which alone tell the "
    "rules apart": "shapes = [((), 6, 1), ((2, 3), 6, 6)]",
    "a group always has two heads: try groups of another size, too": [
        "shapes = [((), 6, 3), ((2, 3), 4, 2)]", "shapes = [((), 4, 2), ((2, 3), 4, 2)]"],
    "all sizes are equal, so a scale from the wrong one fits: make them all different":
        "n, m, d_k, d_v = 4, 4, 4, 4",
    "all widths are equal, so a scale from the wrong one fits: give v its own":
        "n, m, d_k, d_v = 4, 6, 5, 5",
    "there are always as many queries as keys: try fewer queries than keys":
        "n, m, d_k, d_v = 6, 6, 5, 3",
    "no mask is ever tried: try one, too": ("[None, some]", "[None]"),
    "a mask is always there: try it without one, too": ("[None, some]", "[some]"),
    "all heads and sentences have the same mask: give each its own": (
        "rand(*batch, h,", "rand("),
    "all heads have the same mask: give each head its own": ("rand(*batch, h,", "rand(*batch, 1,"),
    "no two sentences of a batch have masks of their own: give each another one": [
        ("rand(*batch, h,", "rand(h,"), ("[None, some]", "[None] if batch else [None, some]")],
    "no query is without a key: try a row of the mask that is all False": (
        "some[..., 0, :] = False", "some[..., 0] = True"),
    "all scores are small: try some of a thousand, where exp overflows":
        "kinds = [(torch.float32, 1), (torch.float64, 1)]",
    "every input has one batch axis: try none, and more than one":
        "shapes = [((2,), 6, 2), ((3,), 6, 3)]",
    "a change of the inputs goes unnoticed: compare them after the call with copies from before": (
        UNCHANGED, "pass"),
    "only float64 is tried: float32 should give float32":
        "kinds = [(torch.float64, 1), (torch.float64, 1000)]",
    "only float32 is tried: float64 should give float64":
        "kinds = [(torch.float32, 1), (torch.float32, 100)]",
    "the tolerance is too small, or bits are compared: allow for another order of the same sums":
        (WANT, OWN, NUMBERS, "assert out.equal(want)"),
    "its own heads take the groups in turn, so it refuses what is right": (
        "i // (h // g) for", "i % g for"),
    "it takes True for forbidden, so it refuses what is right: True means may attend": (
        "else mask)", "else ~mask)"),
    "it refuses the right ones, too: run it on a function you trust. The formula may be "
    "wrong, as where a query that may attend nowhere gets NaN, or the tolerance too small": (
        KIND, "assert out.shape == k.shape", NUMBERS, "pass"),
})  # fmt: skip
