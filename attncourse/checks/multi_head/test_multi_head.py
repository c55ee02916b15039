"""Exercise test_multi_head: the learner's test meets right and wrong functions, unnamed."""

import torch

from attncourse.checks import variants
from attncourse.checks.dot_product.shared.attentions import close, some_keys
from attncourse.checks.exercise import Exercise
from attncourse.checks.implementations import implementations
from attncourse.checks.multi_head.shared import multi_heads
from attncourse.checks.multi_head.shared.multi_heads import in_heads, inputs

exercise = Exercise(
    name="test_multi_head",
    chapter="multi_head",
    title="A test that wrong heads fail",
    kind="test",
    difficulty=3,
    minutes=40,
    points=20,
    hints=(
        "With one head, most of what can go wrong with heads goes right. And a mask that is the "
        "same for every sentence does not show which axis it meets. Which inputs do show it?",
        "Write it once more in the test, from an attention that you trust: cut the width into "
        "slices, attend in each, and put the results side by side. Compare shape, dtype and "
        "numbers with 2 and with 3 heads, without a batch and with leading axes, with a mask for "
        "each sentence (one row all False) and without, in both dtypes, and check the inputs "
        "afterwards.",
        "expected = torch.cat([attend(a, b, c, mask) for a, b, c in zip(q.chunk(heads, -1), "
        "k.chunk(heads, -1), v.chunk(heads, -1))], -1), where attend gives zeros to a row that is "
        "all False; then compare with torch.allclose, with about 1e-4 for float32 and 1e-10 for "
        "float64",
    ),
    differentiable=False,
)


@exercise.cases
def cases(draw):
    return implementations(draw, "multi_head", "a function", multi_heads.RIGHT, multi_heads.WRONG)


@exercise.reference
def row_by_row(multi_head):
    for batch, dtype, heads in (((), torch.float64, 3), ((2, 2), torch.float32, 2)):
        q, k, v = inputs(*batch, heads=heads, dtype=dtype)
        for mask in (None, some_keys(*batch, 4, 5)):
            allowed = torch.ones(*batch, 4, 5, dtype=torch.bool) if mask is None else mask
            before = [x.clone() for x in (q, k, v, allowed)]
            got = multi_head(q, k, v, heads) if mask is None else multi_head(q, k, v, heads, mask)
            assert (got.shape, got.dtype) == ((*batch, 4, 2 * heads), dtype)
            assert all(map(torch.equal, (q, k, v, allowed), before))
            parts = (x.reshape(-1, *x.shape[-2:]) for x in (got, q, k, v, allowed))
            for out, *rows, seen in zip(*parts, strict=True):
                pieces = [x.chunk(heads, dim=-1) for x in (out, *rows)]
                for one, query, key, value in zip(*pieces, strict=True):
                    for i in range(4):
                        weights = (key[seen[i]] @ query[i] / 6**0.5).softmax(0)
                        close(one[i], weights @ value[seen[i]])


@exercise.valid
def plain(multi_head):
    # leading axes and none, each dtype, more than one number of heads
    for batch, dtype, heads in (((), torch.float64, 3), ((2, 2), torch.float32, 2)):
        for make in (None, some_keys):
            q, k, v = inputs(*batch, heads=heads, dtype=dtype)
            mask = make and make(*batch, q.shape[-2], k.shape[-2])
            before = [x if x is None else x.clone() for x in (q, k, v, mask)]
            got = multi_head(q, k, v, heads, mask)
            close(got, in_heads(*before[:3], heads, before[3]))
            for now, then in zip((q, k, v, mask), before, strict=True):
                assert then is None or now.equal(then)


START, MASKS, DRAWN = "    for batch", "(None, some_keys)", "dtype=dtype)"
BATCHES, HEADS = ("(((),", "((2, 2),"), ("64, 3)", "32, 2)")
CLOSE, ALIKE = "close(got, ", "got.shape == want.shape and got.dtype == want.dtype"
FORMULA, MASK = "in_heads(*before[:3], heads, before[3])", "before[3]))"
OWN = FORMULA.replace("in_heads", "multi_heads.plain")
AFTER, UNCHANGED = "zip((q, k, v, mask), before", "then is None or now.equal(then)"


def agreeing(how: str, formula: str = FORMULA) -> tuple[str, str]:
    """The edit that has `got` agree with `want` in that way."""
    return f"{CLOSE}{FORMULA})", f"want = {formula}\n            {how}"


variants.right(
    exercise, plain, (FORMULA, OWN),
    (DRAWN, "dtype=dtype, sizes=(3, 6, 5, 7), large=9000.0, seed=5)",
     HEADS[0], "64, 4)", HEADS[1], "32, 3)"),
    agreeing(f"if not ({ALIKE}):\n                raise TypeError(got.shape)\n"
             "            if not (got - want).abs().max() < (1e-6 if dtype.itemsize > 4 else 1e-2):"
             "\n                raise ValueError(got)"),
    # what is asked of a head is what the same function makes of its numbers alone
    agreeing(f"close(want, {FORMULA})\n            close(got, want)",
             "torch.cat([multi_head(*one, 1, before[3]) "
             "for one in zip(*(x.clone().chunk(heads, -1) for x in before[:3]))], dim=-1)"),
)  # fmt: skip
variants.wrong(exercise, plain, {
    "it refuses nothing: call multi_head, assert what must hold, and catch none of the errors": (
        START, f"    return\n{START}"),
    "it compares, but nothing comes of it: assert that the numbers agree": (
        *agreeing("torch.allclose(got, want)"), UNCHANGED, "True"),
    "it looks at the shape only: compare the numbers, too": (
        *agreeing("assert got.shape == want.shape"), UNCHANGED, "True"),
    "one number that is right is enough for it: ask for all of them, not for any": (
        agreeing("assert got.dtype == want.dtype and got.isclose(want).any()")),
    "only the first query is compared: a wrong row below it passes": (
        agreeing(f"assert {ALIKE}\n            close(got[..., 0, :], want[..., 0, :])")),
    "only the first sentence of a batch is compared: the others may have its keys or its mask": (
        agreeing(f"assert {ALIKE}\n            "
                 "close(*(x.reshape(-1, *x.shape[-2:])[0] for x in (got, want)))")),
    "it compares means only: right numbers in the wrong places pass": (
        agreeing("close(got.mean(), want.mean())")),
    "it compares each row after sorting it: right numbers in the wrong heads pass": (
        agreeing("close(got.sort(-1).values, want.sort(-1).values)")),
    "NaN slips through, since `nan > x` is False: assert that the difference is small": (
        agreeing("assert got.dtype == want.dtype and not (got - want).abs().max() > 1e-3")),
    "what it expects comes from the function itself: work it out without it": (
        "in_heads(", "multi_head("),
    "there is always one head, and splitting in one is easy: try more": (
        HEADS[0], "64, 1)", HEADS[1], "32, 1)"),
    "there are always two heads: try another number, too": (HEADS[0], "64, 2)"),
    "a head is one number wide, and dividing by 1 changes nothing: make it wider": (
        DRAWN, "dtype=dtype, sizes=(4, 5, 1, 1))"),
    "all widths are equal, so a scale from the wrong one fits: give the values their own": (
        DRAWN, "dtype=dtype, sizes=(4, 5, 6, 6))"),
    "there are always as many queries as keys: try fewer queries than keys": (
        DRAWN, "dtype=dtype, sizes=(5, 5, 6, 2))"),
    "there is one query only, so the rows cannot be mixed up: try several": (
        DRAWN, "dtype=dtype, sizes=(1, 5, 6, 2))",
        MASKS, "(None, *(lambda *n, i=i: some_keys(*n, empty=i) for i in (0, 9)))"),
    "all inputs are ones: whatever the weights, the mean is the same. Draw them": (
        "inputs(*batch, heads=heads, dtype=dtype)",
        "map(torch.ones_like, inputs(*batch, heads=heads, dtype=dtype))"),
    "no mask is ever tried": (MASKS, "(None,)"),
    "a mask is always there: try it without one, too": (MASKS, "(some_keys,)"),
    "no two sentences have masks of their own, so they meet any axis: give each another one": [
        ("make(*batch, ", "make("), (MASKS, f"{MASKS}[: 1 + (not batch)]"),
        (MASKS, "(None, lambda *n: some_keys(*n[-2:]).expand(n))"),
        (MASKS, "(None, lambda *n: some_keys(*n[-2:]).expand(n))",
         HEADS[0], "64, 2)", HEADS[1], "32, 3)")],
    "the mask allows everything, so it may as well be ignored: forbid some keys": (
        MASKS, "(None, lambda *n: torch.ones(n, dtype=torch.bool))"),
    "no query is without a key: try a row of the mask that is all False": (
        MASKS, "(None, lambda *n: some_keys(*n, empty=9))"),
    "all scores are small: try some of a thousand, where exp overflows": (
        DRAWN, "dtype=dtype, large=1.0)"),
    "every input has a batch: try two matrices without one, too": (
        BATCHES[0], "(((2,),", BATCHES[1], "((2, 3),"),
    "there is one leading axis at most: try two, too": (BATCHES[1], "((2,),"),
    "no input has a batch: try leading axes, too": (BATCHES[1], "((),"),
    "one input without a mask shows little: try masks, leading axes, large scores and two dtypes": (
        START, "    q, k, v = inputs(heads=3, large=1.0, dtype=torch.float32)\n"
        f"    return close(multi_head(q, k, v, 3), in_heads(q, k, v, 3))\n{START}"),
    "what the inputs were is no copy, and changes with them: clone them before the call": (
        "x.clone()", "x"),
    "it does not look whether the inputs are still the same after the call": (UNCHANGED, "True"),
    "q and k are not looked at after the call: they are inputs and may not change": (
        AFTER, "zip((v, mask), before[2:]"),
    "the mask is not looked at after the call: it is an input and may not change": (
        AFTER, "zip((q, k, v), before[:3]"),
    "only float64 is tried: float32 should give float32": ("torch.float32", "torch.float64"),
    "only float32 is tried: float64 should give float64": ("torch.float64", "torch.float32"),
    "the tolerance is too wide: wrong numbers pass, too": (
        agreeing(f"assert {ALIKE} and torch.allclose(got, want, atol=1.0)")),
    "the tolerance is too small, or bits are compared: another order of the same sums is right, "
    "too": [
        agreeing("assert got.dtype == want.dtype and got.equal(want)", OWN),
        agreeing(f"assert {ALIKE} and torch.allclose(got, want, rtol=1e-12, atol=1e-12)", OWN)],
    "its own formula scales by the whole width, so it refuses what is right": (
        MASK, "before[3], scale=q.shape[-1] ** 0.5))"),
    "its own formula cuts up rows instead of the width, so it refuses what is right": (
        MASK, "before[3], cut=lambda x, h: x.reshape(*x.shape[:-2], h, x.shape[-2], -1)))"),
    "its own heads take every so many numbers, so it refuses what is right": (
        MASK, "before[3], cut=lambda x, h: x.unflatten(-1, (-1, h)).movedim(-1, -3), "
        "merge=lambda x: x.movedim(-3, -1).flatten(-2)))"),
    "it takes True for forbidden, so it refuses what is right: True means may attend": (
        MASK, "mask if mask is None else ~before[3]))"),
    "it refuses everything, the right ones too: run it on a function you trust. The formula may be "
    "wrong, or the tolerance too small": [
        (CLOSE, "close(got.mT, "),
        (START, "    q, k, v = inputs(heads=3)\n"
         f"    assert multi_head(q, k, v, 3).shape == q.shape\n    return\n{START}")],
})  # fmt: skip
