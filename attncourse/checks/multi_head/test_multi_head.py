"""Exercise test_multi_head: the learner's test meets right and wrong functions, unnamed."""

from functools import partial

import torch

from attncourse.checks.dot_product.shared.attentions import close, some_keys
from attncourse.checks.exercise import Exercise
from attncourse.checks.implementations import implementations
from attncourse.checks.multi_head.shared.heads import interleaved, joined_interleaved, viewed
from attncourse.checks.multi_head.shared.multi_heads import (
    BATCHES,
    DTYPES,
    HEADS,
    RIGHT,
    WRONG,
    examine,
    in_heads,
    inputs,
    plain,
)

exercise = Exercise(
    name="test_multi_head",
    chapter="multi_head",
    title="A test that wrong heads fail",
    kind="test",
    difficulty=3,
    minutes=45,
    points=20,
    hints=(
        "With one head, most of what can go wrong with heads goes right. And a mask that is the "
        "same for every sentence does not show which axis it meets. Which inputs tell?",
        "Write it once more in the test, from attention that you trust: cut the width in slices, "
        "attend in each, and put the results side by side. Compare shape, dtype and numbers with "
        "2 and with 3 heads, without a batch and with leading axes, with a mask for each sentence "
        "(one row all False) and without, in both dtypes, and look at the inputs afterwards.",
        "expected = torch.cat([attend(a, b, c, mask) for a, b, c in zip(q.chunk(heads, -1), "
        "k.chunk(heads, -1), v.chunk(heads, -1))], -1), where attend gives zeros to a row that is "
        "all False; then compare with torch.allclose, with about 1e-4 for float32 and 1e-10 for "
        "float64",
    ),
    differentiable=False,
)


@exercise.cases
def cases(draw):
    return implementations(draw, "multi_head", "a function", RIGHT, WRONG)


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
            parts = (x.reshape(-1, *x.shape[-2:]) for x in (got, q, k, v, allowed))
            for out, *rows, seen in zip(*parts, strict=True):
                pieces = [x.chunk(heads, dim=-1) for x in (out, *rows)]
                for one, query, key, value in zip(*pieces, strict=True):
                    for i in range(4):
                        weights = (key[seen[i]] @ query[i] / 6**0.5).softmax(0)
                        close(one[i], weights @ value[seen[i]])


@exercise.valid
def against_the_formula(multi_head):
    examine(multi_head)


@exercise.valid
def on_other_sizes(multi_head):
    draw = partial(inputs, sizes=(3, 6, 5, 7), large=9000.0, seed=5)
    examine(multi_head, draw=draw, heads=(4, 3))


@exercise.valid
def against_one_of_its_own(multi_head):
    examine(multi_head, want=plain)


@exercise.valid
def by_exceptions_of_its_own(multi_head):
    def agree(got, want):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise TypeError(f"expected {tuple(want.shape)}, got {tuple(got.shape)}")
        if not (got - want).abs().max() < (1e-6 if got.dtype == torch.float64 else 1e-2):
            raise ValueError("the numbers differ")

    examine(multi_head, agree=agree)


@exercise.valid
def one_head_at_a_time(multi_head):
    # what is asked of a head is what the same function makes of its numbers alone
    def want(q, k, v, heads, mask):
        parts = zip(*(x.chunk(heads, dim=-1) for x in (q, k, v)), strict=True)
        joined = torch.cat([multi_head(*one, 1, mask) for one in parts], dim=-1)
        close(joined, in_heads(q, k, v, heads, mask))
        return joined

    examine(multi_head, want=want)


NOTHING_REFUSED = (
    "it refuses nothing: call multi_head, assert what must hold, and catch none of the errors"
)


@exercise.mutant(NOTHING_REFUSED)
def nothing_is_called(multi_head):
    assert callable(multi_head)


@exercise.mutant(NOTHING_REFUSED)
def errors_caught(multi_head):
    try:
        examine(multi_head)
    except Exception:
        pass


@exercise.mutant("it compares, but nothing comes of it: assert that the numbers agree")
def nothing_asserted(multi_head):
    examine(multi_head, agree=lambda got, want: torch.allclose(got, want), unchanged="")


@exercise.mutant("it looks at the shape only: compare the numbers, too")
def only_the_shape(multi_head):
    def agree(got, want):
        assert got.shape == want.shape

    examine(multi_head, agree=agree, unchanged="")


@exercise.mutant("one number that is right is enough for it: ask for all of them, not for any")
def any_for_all(multi_head):
    def agree(got, want):
        assert got.dtype == want.dtype
        assert got.isclose(want).any()

    examine(multi_head, agree=agree)


@exercise.mutant("it compares means only: right numbers in the wrong places pass")
def only_the_means(multi_head):
    examine(multi_head, agree=lambda got, want: close(got.mean(), want.mean()))


@exercise.mutant("it compares each row after sorting it: right numbers in the wrong heads pass")
def sorted_rows(multi_head):
    def agree(got, want):
        close(got.sort(-1).values, want.sort(-1).values)

    examine(multi_head, agree=agree)


@exercise.mutant("NaN slips through, since `nan > x` is False: assert that the difference is small")
def nan_slips_through(multi_head):
    def agree(got, want):
        assert got.dtype == want.dtype
        if (got - want).abs().max() > 1e-3:
            raise AssertionError("the numbers differ")

    examine(multi_head, agree=agree)


@exercise.mutant("what it expects comes from the function itself: work it out without it")
def compared_with_itself(multi_head):
    examine(multi_head, want=multi_head)


@exercise.mutant("there is always one head, and splitting in one is easy: try more")
def always_one_head(multi_head):
    examine(multi_head, heads=(1, 1))


@exercise.mutant("there are always two heads: try another number, too")
def always_two_heads(multi_head):
    examine(multi_head, heads=(2, 2))


@exercise.mutant("a head is one number wide, and dividing by 1 changes nothing: make it wider")
def heads_of_width_one(multi_head):
    examine(multi_head, draw=partial(inputs, sizes=(4, 5, 1, 1)))


@exercise.mutant(
    "all widths are equal, so a scale from the wrong one fits: give the values their own"
)
def values_as_wide_as_the_keys(multi_head):
    examine(multi_head, draw=partial(inputs, sizes=(4, 5, 6, 6)))


@exercise.mutant("there are always as many queries as keys: try fewer queries than keys")
def as_many_queries_as_keys(multi_head):
    examine(multi_head, draw=partial(inputs, sizes=(5, 5, 6, 2)))


@exercise.mutant("there is one query only, so the rows cannot be mixed up: try several")
def a_single_query(multi_head):
    examine(
        multi_head,
        draw=partial(inputs, sizes=(1, 5, 6, 2), large=1000.0),
        masks=(None, partial(some_keys, empty=0), partial(some_keys, empty=9)),
    )


@exercise.mutant("all inputs are ones: whatever the weights, the mean is the same. Draw them")
def inputs_of_ones(multi_head):
    def ones(*batch, heads, dtype):
        return [torch.ones_like(x) for x in inputs(*batch, heads=heads, dtype=dtype)]

    examine(multi_head, draw=ones)


@exercise.mutant("no mask is ever tried")
def no_mask_tried(multi_head):
    examine(multi_head, masks=(None,))


@exercise.mutant("a mask is always there: try it without one, too")
def always_a_mask(multi_head):
    examine(multi_head, masks=(some_keys,))


@exercise.mutant(
    "one mask serves the whole batch, and meets no axis but its own: give each sentence its mask"
)
def one_mask_for_the_batch(multi_head):
    def mask(*shape):
        return some_keys(*shape[-2:])

    examine(multi_head, masks=(None, mask))


@exercise.mutant("the mask allows everything, so it may as well be ignored: forbid some keys")
def mask_of_all_true(multi_head):
    examine(multi_head, masks=(None, partial(torch.ones, dtype=torch.bool)))


@exercise.mutant("no query is without a key: try a row of the mask that is all False")
def no_empty_row(multi_head):
    examine(multi_head, masks=(None, partial(some_keys, empty=9)))


@exercise.mutant("all scores are small: try some of a thousand, where exp overflows")
def small_scores(multi_head):
    examine(multi_head, draw=partial(inputs, large=1.0))


@exercise.mutant("every input has a batch: try two matrices without one, too")
def always_a_batch(multi_head):
    examine(multi_head, batches=((2,), (2, 3)))


@exercise.mutant("there is one leading axis at most: try two, too")
def one_leading_axis_at_most(multi_head):
    examine(multi_head, batches=((), (2,)))


@exercise.mutant("no input has a batch: try leading axes, too")
def never_a_batch(multi_head):
    examine(multi_head, batches=((), ()))


@exercise.mutant(
    "one input without a mask shows little: try masks, leading axes, large scores and two dtypes"
)
def one_simple_input(multi_head):
    q, k, v = inputs(heads=3, large=1.0, dtype=torch.float32)
    close(multi_head(q, k, v, 3), in_heads(q, k, v, 3))


@exercise.mutant("it does not look whether the inputs are still the same after the call")
def inputs_not_looked_at(multi_head):
    examine(multi_head, unchanged="")


@exercise.mutant("q and k are not looked at after the call: they are inputs and may not change")
def queries_and_keys_not_looked_at(multi_head):
    examine(multi_head, unchanged="vm")


@exercise.mutant("the mask is not looked at after the call: it is an input and may not change")
def mask_not_looked_at(multi_head):
    examine(multi_head, unchanged="qkv")


@exercise.mutant("only float64 is tried: float32 should give float32")
def only_float64(multi_head):
    examine(multi_head, dtypes=(torch.float64, torch.float64))


@exercise.mutant("only float32 is tried: float64 should give float64")
def only_float32(multi_head):
    examine(multi_head, dtypes=(torch.float32, torch.float32))


@exercise.mutant("the tolerance is too wide: wrong numbers pass, too")
def tolerance_too_wide(multi_head):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert torch.allclose(got, want, atol=1.0)

    examine(multi_head, agree=agree)


BITS = (
    "the tolerance is too small, or bits are compared: another order of the same sums is right, too"
)


@exercise.mutant(BITS)
def exact_equality(multi_head):
    def agree(got, want):
        assert got.dtype == want.dtype
        assert got.equal(want)

    examine(multi_head, want=plain, agree=agree)


@exercise.mutant(BITS)
def tolerance_too_small(multi_head):
    def agree(got, want):
        assert got.dtype == want.dtype
        assert torch.allclose(got, want, rtol=1e-12, atol=1e-12)

    examine(multi_head, want=plain, agree=agree)


@exercise.mutant("its own formula scales by the whole width, so it refuses what is right")
def formula_scaled_by_the_whole_width(multi_head):
    def want(q, k, v, heads, mask):
        return in_heads(q, k, v, heads, mask, scale=q.shape[-1] ** 0.5)

    examine(multi_head, want=want)


@exercise.mutant("its own formula cuts up rows instead of the width, so it refuses what is right")
def formula_split_by_a_view(multi_head):
    examine(multi_head, want=partial(in_heads, cut=viewed))


@exercise.mutant("its own heads take every so many numbers, so it refuses what is right")
def formula_interleaved(multi_head):
    examine(multi_head, want=partial(in_heads, cut=interleaved, merge=joined_interleaved))


@exercise.mutant("it takes True for forbidden, so it refuses what is right: True means may attend")
def formula_with_the_mask_inverted(multi_head):
    def want(q, k, v, heads, mask):
        return in_heads(q, k, v, heads, mask if mask is None else ~mask)

    examine(multi_head, want=want)


@exercise.mutant(
    "it refuses everything, the right ones too: run it on a function you trust. The formula may be "
    "wrong, or the tolerance too small"
)
def all_refused(multi_head):
    q, k, v = inputs(heads=3)
    assert multi_head(q, k, v, 3).shape == q.shape
