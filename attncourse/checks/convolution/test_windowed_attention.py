"""Exercise test_windowed_attention: the learner's test meets right and wrong ones, unnamed."""

from functools import partial

import torch

from attncourse.checks.convolution.shared.windowed import (
    RIGHT,
    TRIALS,
    WRONG,
    close,
    examine,
    formula,
    inputs,
    plain,
)
from attncourse.checks.exercise import Exercise
from attncourse.checks.implementations import implementations

exercise = Exercise(
    name="test_windowed_attention",
    chapter="convolution",
    title="A test that wrong windows fail",
    kind="test",
    difficulty=3,
    minutes=35,
    points=20,
    hints=(
        "Full attention under a mask is slow and easy to get right, and a windowed attention has "
        "to agree with it. What is left is to think of the inputs on which a wrong one differs.",
        "Build the band mask in the test, once for the symmetric window and once for the causal "
        "one. Compare shape, dtype and numbers for several widths: small ones, an even one where "
        "it is causal, and for each kind one of three times the length. Let the dtype change as "
        "well, have no leading axis, one and two, and let the scores of one query be thousands. "
        "Look at q, k and v after the call, too.",
        "for batch, dtype, width, causal in [((), torch.float64, 3, False), ((2,), torch.float32, "
        "4, True), ...]: and in it near = torch.ones(n, n).tril(right).triu(-left) > 0, with "
        "left, right = (width - 1, 0) if causal else (width // 2, width // 2)",
    ),
    differentiable=False,
)


@exercise.cases
def cases(draw):
    return implementations(draw, "windowed_attention", "a windowed attention", RIGHT, WRONG)


@exercise.reference
def key_by_key(windowed_attention):
    for batch, dtype, width, causal in TRIALS:
        q, k, v = inputs(*batch, dtype=dtype)
        before = [x.clone() for x in (q, k, v)]
        got = windowed_attention(q, k, v, width, causal=causal)
        assert (got.shape, got.dtype) == (v.shape, dtype)
        assert all(map(torch.equal, (q, k, v), before))
        for i in range(7):
            reach = (
                range(i - width + 1, i + 1) if causal else range(i - width // 2, i + width // 2 + 1)
            )
            near = [j for j in range(7) if j in reach]
            scores = (k[..., near, :] @ q[..., i, :, None])[..., 0] / 6**0.5
            close(got[..., i, :], (scores.softmax(-1)[..., None] * v[..., near, :]).sum(-2))


@exercise.valid
def against_the_formula(windowed_attention):
    examine(windowed_attention)


@exercise.valid
def on_other_sizes(windowed_attention):
    examine(windowed_attention, draw=partial(inputs, sizes=(9, 5, 3), large=9000.0, seed=5))


@exercise.valid
def against_one_of_its_own(windowed_attention):
    examine(windowed_attention, want=plain)


@exercise.valid
def by_exceptions_of_its_own(windowed_attention):
    def agree(got, want):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise TypeError(f"expected {tuple(want.shape)}, got {tuple(got.shape)}")
        if not (got - want).abs().max() < (1e-6 if got.dtype == torch.float64 else 1e-2):
            raise ValueError("the numbers differ")

    examine(windowed_attention, agree=agree)


@exercise.mutant(
    "it refuses nothing: call windowed_attention, assert what must hold, and catch none of the "
    "errors"
)
def nothing_is_called(windowed_attention):
    assert callable(windowed_attention)


@exercise.mutant(
    "it compares, but nothing comes of it: `assert` it. What a test returns is not looked at, and "
    "a condition and a message in brackets are a tuple, which is always true"
)
def returned_not_asserted(windowed_attention):
    agreed = []

    def agree(got, want):
        agreed.append(torch.allclose(got.double(), want.double()))

    examine(windowed_attention, agree=agree, unchanged="")
    return all(agreed)


@exercise.mutant("it looks at shape and dtype only: compare the numbers, too")
def only_shape_and_dtype(windowed_attention):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)

    examine(windowed_attention, agree=agree)


def among(keep):
    """The right test, with those of its trials that are kept."""
    return partial(examine, trials=[one for one in TRIALS if keep(one)])


@exercise.mutant("no window is ever causal: try causal=True, too")
def never_causal(windowed_attention):
    among(lambda one: not one.causal)(windowed_attention)


@exercise.mutant("every window is causal: try the symmetric one, too")
def always_causal(windowed_attention):
    among(lambda one: one.causal)(windowed_attention)


@exercise.mutant("every width is odd: a causal window may be even, so try one")
def never_even(windowed_attention):
    odd = [one._replace(width=one.width | 1) for one in TRIALS]
    examine(windowed_attention, trials=odd)


@exercise.mutant(
    "no window is more than twice as long as the sequence, or its error is caught: try a symmetric "
    "and a causal one, and let errors out"
)
def never_beyond_the_length(windowed_attention):
    among(lambda one: one.width < 7)(windowed_attention)


@exercise.mutant("every window has width 1, where a query has one key, itself: try wider ones")
def always_width_one(windowed_attention):
    examine(windowed_attention, trials=[one._replace(width=1) for one in TRIALS])


@exercise.mutant("only a position in the middle is compared: the windows at the ends are cut off")
def only_the_middle(windowed_attention):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        close(got[..., 3, :], want[..., 3, :])

    # in short windows alone the ends are out of sight
    short = [one._replace(width=min(one.width, 3)) for one in TRIALS]
    examine(windowed_attention, trials=short, agree=agree)


@exercise.mutant("no input has a batch: try leading axes, too")
def never_a_batch(windowed_attention):
    examine(windowed_attention, trials=[one._replace(batch=()) for one in TRIALS])


@exercise.mutant("no input has two leading axes: try a batch of heads, too")
def never_two_leading_axes(windowed_attention):
    examine(windowed_attention, trials=[one._replace(batch=one.batch[:1]) for one in TRIALS])


@exercise.mutant("its tolerance is so wide that wrong numbers fit in: a thousandth is enough")
def loose(windowed_attention):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert torch.allclose(got, want, rtol=0.1, atol=0.1)

    examine(windowed_attention, agree=agree)


@exercise.mutant("all scores are small: try some of a thousand, where exp overflows")
def small_scores(windowed_attention):
    examine(windowed_attention, draw=partial(inputs, large=1.0))


@exercise.mutant("it does not look whether the inputs are still the same after the call")
def inputs_not_looked_at(windowed_attention):
    examine(windowed_attention, unchanged="")


@exercise.mutant("its own window reaches the whole width to each side, so it refuses what is right")
def formula_with_twice_the_width(windowed_attention):
    def want(q, k, v, width, causal):
        return formula(q, k, v, width, causal, symmetric=(width, width))

    examine(windowed_attention, want=want)


@exercise.mutant(
    "it asks for equal bits, or nearly: another order of the same sums is right, too. Allow for "
    "rounding"
)
def exact_equality(windowed_attention):
    def agree(got, want):
        assert got.dtype == want.dtype
        assert got.equal(want)

    examine(windowed_attention, want=plain, agree=agree)


@exercise.mutant(
    "it refuses everything, the right ones too: is its tolerance too small, or what it expects "
    "wrong? Run it on one you trust"
)
def all_refused(windowed_attention):
    q, k, v = inputs()
    assert windowed_attention(q, k, v, 3).shape == v.mT.shape
