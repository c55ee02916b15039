"""Exercise test_attention: the learner's test meets right and wrong attentions, unnamed."""

from functools import partial

import torch

from attncourse.checks.dot_product.shared.attentions import (
    BATCHES,
    DTYPES,
    RIGHT,
    WRONG,
    close,
    examine,
    formula,
    inputs,
    plain,
    some_keys,
)
from attncourse.checks.exercise import Exercise
from attncourse.checks.implementations import implementations

exercise = Exercise(
    name="test_attention",
    chapter="dot_product",
    title="A test that wrong attentions fail",
    kind="test",
    difficulty=3,
    minutes=35,
    points=20,
    hints=(
        "Think of what could be wrong, then of an input on which it shows. Sizes that are all "
        "different show a swapped axis; a mask shows what is done with it; a row that may attend "
        "nowhere, scores of a thousand, float32 and float64 each show something of their own.",
        "Write attention once more in the test. In float32 and in float64, without a batch and "
        "with two leading axes, with a mask and without, one query a thousand times larger than "
        "the rest, compare: shape, dtype, numbers within a tolerance that fits the dtype, and "
        "whether q, k, v and the mask are still what they were.",
        "for dtype in (torch.float32, torch.float64), and in it q[..., 0, :] *= 1000; "
        "before = [x.clone() for x in (q, k, v, mask)]; got = attention(q, k, v, mask); "
        "assert torch.allclose(got, expected, atol=torch.finfo(dtype).eps ** 0.5) is one of the "
        "asserts, and all(map(torch.equal, (q, k, v, mask), before)) another",
    ),
    differentiable=False,
)


@exercise.cases
def cases(draw):
    return implementations(draw, "attention", "an attention", RIGHT, WRONG)


@exercise.reference
def query_by_query(attention):
    for batch, dtype in zip(BATCHES, DTYPES, strict=True):
        q, k, v = inputs(*batch, dtype=dtype)
        for mask in (None, some_keys(*batch, 3, 5)):
            allowed = torch.ones(*batch, 3, 5, dtype=torch.bool) if mask is None else mask
            before = [x.clone() for x in (q, k, v, allowed)]
            got = attention(q, k, v) if mask is None else attention(q, k, v, mask)
            assert (got.shape, got.dtype) == ((*batch, 3, 2), dtype)
            assert all(map(torch.equal, (q, k, v, allowed), before))
            parts = (x.reshape(-1, *x.shape[-2:]) for x in (got, q, k, v, allowed))
            for out, query, key, value, seen in zip(*parts, strict=True):
                for i in range(3):
                    weights = (key[seen[i]] @ query[i] / 6**0.5).softmax(0)
                    close(out[i], weights @ value[seen[i]])


@exercise.valid
def against_the_formula(attention):
    examine(attention)


@exercise.valid
def on_other_sizes(attention):
    examine(attention, draw=partial(inputs, sizes=(4, 3, 5, 7), large=9000.0, seed=5))


@exercise.valid
def against_one_of_its_own(attention):
    examine(attention, want=plain)


@exercise.valid
def by_exceptions_of_its_own(attention):
    def agree(got, want):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise TypeError(f"expected {tuple(want.shape)}, got {tuple(got.shape)}")
        if not (got - want).abs().max() < (1e-6 if got.dtype == torch.float64 else 1e-2):
            raise ValueError("the numbers differ")

    examine(attention, agree=agree)


@exercise.valid
def by_its_properties(attention):
    for batch, dtype in zip(BATCHES, DTYPES, strict=True):
        q, k, v = inputs(*batch, dtype=dtype)
        mask = some_keys(*batch, 3, 5)
        kept = [x.clone() for x in (q, k, v, mask)]
        for allowed in (None, mask):
            # the identity for values lets the weights be read off
            weights = attention(q, k, torch.eye(5, dtype=dtype).repeat(*batch, 1, 1), allowed)
            seen = torch.ones_like(mask) if allowed is None else kept[3]
            assert not weights[~seen].any()
            close(weights.sum(-1), seen.any(-1).to(dtype))
            close(attention(q, k, v, allowed), weights @ kept[2])
            assert all(map(torch.equal, (q, k, v, mask), kept))
            # row 2 has small scores: the logarithms of its weights differ as its scores do
            scores = (q[..., 2:, :] @ k.mT)[..., 0, :] / 6**0.5
            both = seen[..., 2, :, None] & seen[..., 2, None, :]
            logs = weights[..., 2, :].log()
            ratios = logs[..., :, None] - logs[..., None, :]
            close(ratios[both], (scores[..., :, None] - scores[..., None, :])[both])


NOTHING_REFUSED = (
    "it refuses nothing: call attention, assert what must hold, and catch none of the errors"
)


@exercise.mutant(NOTHING_REFUSED)
def nothing_is_called(attention):
    assert callable(attention)


@exercise.mutant(NOTHING_REFUSED)
def errors_caught(attention):
    try:
        examine(attention)
    except Exception:
        pass


@exercise.mutant("it runs attention, but asserts nothing: compare the numbers")
def nothing_asserted(attention):
    examine(attention, agree=lambda got, want: None, unchanged="")


NOTHING_ASSERTED = (
    "it compares, but nothing comes of it: `assert` it. What a test returns is not looked at, "
    "and a condition and a message in brackets are a tuple, which is always true"
)


@exercise.mutant(NOTHING_ASSERTED)
def returned_not_asserted(attention):
    agreed = []
    examine(attention, agree=lambda a, b: agreed.append(torch.allclose(a, b)), unchanged="")
    return all(agreed)


@exercise.mutant(NOTHING_ASSERTED)
def tuple_asserted(attention):
    def agree(got, want):
        outcome = torch.allclose(got, want), "the numbers differ"
        assert outcome

    examine(attention, agree=agree, unchanged="")


@exercise.mutant("it looks at the shape only: compare the numbers, too")
def only_the_shape(attention):
    def agree(got, want):
        assert got.shape == want.shape

    examine(attention, agree=agree, unchanged="")


@exercise.mutant("one number that is right is enough for it: ask for all of them, not for any")
def any_for_all(attention):
    def agree(got, want):
        assert got.dtype == want.dtype
        assert got.isclose(want).any()

    examine(attention, agree=agree)


@exercise.mutant("it compares means only: right numbers in the wrong places pass")
def only_the_means(attention):
    examine(attention, agree=lambda got, want: close(got.mean(), want.mean()))


@exercise.mutant("NaN slips through, since `nan > x` is False: assert that the difference is small")
def nan_slips_through(attention):
    def agree(got, want):
        assert got.dtype == want.dtype
        if (got - want).abs().max() > 1e-3:
            raise AssertionError("the numbers differ")

    examine(attention, agree=agree)


@exercise.mutant("what it expects comes from the attention itself: work it out without it")
def compared_with_itself(attention):
    examine(attention, want=attention)


@exercise.mutant("all inputs are ones: whatever the weights, the mean is the same. Draw them")
def inputs_of_ones(attention):
    def ones(*batch, dtype):
        return [torch.ones_like(x) for x in inputs(*batch, dtype=dtype)]

    examine(attention, draw=ones)


@exercise.mutant(
    "all sizes are equal, so a scale from the wrong width fits: make them all different"
)
def all_sizes_equal(attention):
    examine(attention, draw=partial(inputs, sizes=(4, 4, 4, 4)))


@exercise.mutant("there are always as many queries as keys: try fewer queries than keys")
def as_many_queries_as_keys(attention):
    examine(attention, draw=partial(inputs, sizes=(5, 5, 6, 2)))


@exercise.mutant("q, k and v are the same tensor, so mixing them up does not show: draw three")
def same_tensor_three_times(attention):
    examine(attention, draw=lambda *batch, dtype: [inputs(*batch, dtype=dtype)[1]] * 3)


@exercise.mutant("there is one key only: its weight is 1 whatever the scores are")
def a_single_key(attention):
    examine(attention, draw=partial(inputs, sizes=(3, 1, 6, 2)))


@exercise.mutant("the keys have width 1, and dividing by 1 changes nothing: no scale shows")
def width_one(attention):
    examine(attention, draw=partial(inputs, sizes=(3, 5, 1, 2)))


@exercise.mutant("the keys have width 64, where a fixed scale of 8 is right: try another width")
def width_of_the_fixed_scale(attention):
    examine(attention, draw=partial(inputs, sizes=(3, 5, 64, 2)))


@exercise.mutant("no mask is ever tried")
def no_mask_tried(attention):
    examine(attention, masks=(None,))


@exercise.mutant("a mask is always there: try it without one, too")
def always_a_mask(attention):
    examine(attention, masks=(some_keys,))


@exercise.mutant("the mask allows everything, so it may as well be ignored: forbid some keys")
def mask_of_all_true(attention):
    every = partial(torch.ones, dtype=torch.bool)
    examine(attention, masks=(None, every))


@exercise.mutant("no query is without a key: try a row of the mask that is all False")
def no_empty_row(attention):
    examine(attention, masks=(None, partial(some_keys, empty=9)))


@exercise.mutant("all scores are small: try some of a thousand, where exp overflows")
def small_scores(attention):
    examine(attention, draw=partial(inputs, large=1.0))


@exercise.mutant("every input has one batch axis: try two matrices, too, or two leading axes")
def always_one_batch_axis(attention):
    examine(attention, batches=((2,), (2,)))


@exercise.mutant("every input has a batch: try two matrices without one, too")
def always_a_batch(attention):
    examine(attention, batches=((2,), (2, 3)))


@exercise.mutant("no input has a batch: try leading axes, too")
def never_a_batch(attention):
    examine(attention, batches=((), ()))


@exercise.mutant(
    "two matrices without a mask show little: try masks, leading axes, large scores and two dtypes"
)
def one_simple_input(attention):
    q, k, v = inputs(large=1.0, dtype=torch.float32)
    close(attention(q, k, v), formula(q, k, v))


@exercise.mutant("it does not look whether the inputs are still the same after the call")
def inputs_not_looked_at(attention):
    examine(attention, unchanged="")


@exercise.mutant("of the inputs, only q is looked at after the call: k, v and the mask may change")
def only_q_looked_at(attention):
    examine(attention, unchanged="q")


@exercise.mutant("the mask is not looked at after the call: it is an input and may not change")
def mask_not_looked_at(attention):
    examine(attention, unchanged="qkv")


@exercise.mutant("only float64 is tried: float32 should give float32")
def only_float64(attention):
    examine(attention, dtypes=(torch.float64, torch.float64))


@exercise.mutant("only float32 is tried: float64 should give float64")
def only_float32(attention):
    examine(attention, dtypes=(torch.float32, torch.float32))


@exercise.mutant("the dtype of the result is not looked at: it should be that of the inputs")
def dtype_not_looked_at(attention):
    examine(attention, agree=lambda got, want: close(got.float(), want.float()))


@exercise.mutant("the tolerance is too wide: wrong numbers pass, too")
def tolerance_too_wide(attention):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert torch.allclose(got, want, atol=1.0)

    examine(attention, agree=agree)


@exercise.mutant(
    "it asks for equal bits: another order of the same sums is right, too. Allow rounding"
)
def exact_equality(attention):
    def agree(got, want):
        assert got.dtype == want.dtype
        assert got.equal(want)

    examine(attention, want=plain, agree=agree)


@exercise.mutant("its own formula does not divide by sqrt(d_k), so it refuses what is right")
def formula_unscaled(attention):
    examine(attention, want=partial(formula, scale=1))


@exercise.mutant("its own formula divides by d_k, not by its root, so it refuses what is right")
def formula_scaled_by_d_k(attention):
    examine(attention, want=partial(formula, scale=6))


@exercise.mutant("it takes True for forbidden, so it refuses what is right: True means may attend")
def formula_with_the_mask_inverted(attention):
    def want(q, k, v, mask):
        return formula(q, k, v, None if mask is None else ~mask)

    examine(attention, want=want)


@exercise.mutant("its own formula gives NaN for a query that may attend nowhere: expect zeros")
def formula_with_nan(attention):
    def agree(got, want):
        torch.testing.assert_close(got, want, equal_nan=True, rtol=1e-3, atol=1e-3)

    examine(attention, want=partial(formula, least=0.0), agree=agree)


@exercise.mutant("it expects float32 whatever comes in: the result has the dtype of the inputs")
def float32_expected(attention):
    examine(attention, agree=lambda got, want: close(got, want.float()))


REFUSES_ALL = "it refuses everything, the right ones too: run it on an attention you trust"


@exercise.mutant(REFUSES_ALL)
def all_refused(attention):
    q, k, v = inputs()
    assert attention(q, k, v).shape == q.shape


@exercise.mutant(REFUSES_ALL)
def nan_expected_without_saying_so(attention):
    examine(attention, want=partial(formula, least=0.0))


@exercise.mutant(REFUSES_ALL)
def mask_of_floats(attention):
    def floats(*shape):
        return some_keys(*shape).double()

    examine(attention, masks=(floats,), want=lambda q, k, v, mask: formula(q, k, v, mask.bool()))
