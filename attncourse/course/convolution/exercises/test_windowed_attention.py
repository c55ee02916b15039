"""Exercise test_windowed_attention: the learner's test meets right and wrong ones, unnamed."""

import torch

from attncourse.course.convolution.exercises.shared.windowed import (
    RIGHT,
    TRIALS,
    WRONG,
    formula,
    inputs,
)
from attncourse.course.dot_product.exercises.shared.attentions import close
from judge import variants
from judge.exercise import Exercise
from judge.implementations import implementations

exercise = Exercise.read(__name__, differentiable=False)


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
            last = i if causal else i + width // 2
            keys = [j for j in range(7) if last - width < j <= last]
            scores = (k[..., keys, :] @ q[..., i, :, None])[..., 0] / 6**0.5
            close(got[..., i, :], (scores.softmax(-1)[..., None] * v[..., keys, :]).sum(-2))


@exercise.valid
def plain(windowed_attention):
    trials = TRIALS
    for batch, dtype, width, causal in trials:
        q, k, v = inputs(*batch, dtype=dtype)
        before = [x.clone() for x in (q, k, v)]
        got = windowed_attention(q, k, v, width, causal)
        want = formula(*before, width, causal)
        close(got, want)
        assert all(map(torch.equal, (q, k, v), before))


def by_errors_of_its_own(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        raise TypeError(f"expected {tuple(want.shape)}, got {tuple(got.shape)}")
    if not (got - want).abs().max() < (1e-6 if got.dtype == torch.float64 else 1e-2):
        raise ValueError("the numbers differ")


CLOSE, LAST = "close(got, want)", "        assert all(map(torch.equal, (q, k, v), before))\n"
DRAWN, ALIKE = "dtype=dtype)", "assert (got.shape, got.dtype) == (want.shape, want.dtype)"
FORMULA = "formula(*before, width, causal)"
PLAIN = 'RIGHT["a right windowed attention"]'
EVEN = "trials = TRIALS", "trials = [*TRIALS, TRIALS[0]._replace(width=4)]"
NUMBERS = "agreed.append(torch.allclose(got.double(), want.double()))"
variants.right(
    exercise, (DRAWN, "dtype=dtype, sizes=(9, 5, 3), large=9000.0, seed=5)"),
    ("formula", PLAIN), ("close", "by_errors_of_its_own"),
)  # fmt: skip
ALL_CLOSE = "torch.allclose(got, want, rtol=1e-4, atol=1e-5)"
NO_NUMBER = (
    "no wrong number fails it: compare them all, and raise an AssertionError, because what it "
    "returns or prints is not looked at"
)


def trials(trial: str) -> tuple[str, str]:
    """The edit after which each trial is what this expression makes of `one`."""
    return "trials = TRIALS", f"trials = [{trial} for one in TRIALS]"


variants.wrong(exercise, {
    "it compares, but nothing comes of it: `assert` it. What a test returns is not looked at, and "
    "a condition and a message in brackets are a tuple, which is always true": (
        "trials = TRIALS", "trials, agreed = TRIALS, []", CLOSE, NUMBERS,
        LAST, "    return all(agreed)\n"),
    NO_NUMBER: [
        (CLOSE, ALIKE),
        (CLOSE, f"{ALIKE}\n        if not {ALL_CLOSE}:\n            return False"),
        (CLOSE, f"{ALIKE}\n        if not {ALL_CLOSE}:\n            print(width, causal)"),
        (CLOSE, f"{ALIKE}\n        try:\n            close(got, want)\n"
         "        except AssertionError:\n            pass")],
    "q and k hold the same numbers, so swapping them goes unnoticed: draw each by itself": (
        DRAWN, "dtype=dtype)\n        k = q.clone()"),
    "the leading axes are as long as the sequence, so a length read from one goes unnoticed: vary "
    "them": (
        trials("one._replace(batch=(7, 7)[: len(one.batch)])")),
    "it refuses a result that is not contiguous: how numbers lie in memory does not matter": (
        CLOSE, f"{CLOSE}\n        assert got.is_contiguous()"),
    "no window is ever causal: try causal=True, too": (
        "= TRIALS", "= [one for one in TRIALS if not one.causal]"),
    "every window is causal: try the symmetric one, too": (
        "= TRIALS", "= [one for one in TRIALS if one.causal]"),
    "every width is odd: a causal window may be even, so try one": (
        trials("one._replace(width=one.width | 1)")),
    "no window is more than twice as long as the sequence, or its error is caught: try a symmetric "
    "and a causal one, and let errors out": (
        "= TRIALS", "= [one for one in TRIALS if one.width < 7]"),
    "no window has width 1, where a query has one key, itself: try both kinds": (
        "= TRIALS", "= [one for one in TRIALS if one.width > 1]"),
    "every window has width 1, where a query has one key, itself: try wider ones": (
        trials("one._replace(width=1)")),
    # in short windows alone the ends are out of sight
    "only a position in the middle is compared: compare the ends, too, where windows are cut off": (
        *trials("one._replace(width=min(one.width, 3))"),
        CLOSE, f"{ALIKE}\n        close(got[..., 3, :], want[..., 3, :])"),
    "no input has a batch: try leading axes, too": trials("one._replace(batch=())"),
    "no input has two leading axes: try a batch of heads, too": (
        trials("one._replace(batch=one.batch[:1])")),
    "its tolerance is so wide that wrong numbers pass: a thousandth is enough": (
        CLOSE, f"{ALIKE}\n        assert torch.allclose(got, want, rtol=0.1, atol=0.1)"),
    "all scores are small: try some of a thousand, where exp overflows": (
        DRAWN, "dtype=dtype, large=1.0)"),
    "it does not look at the inputs after the call: assert that they are still the same": (
        LAST, ""),
    "its own window reaches the whole width to each side, so it refuses what is right": (
        FORMULA, "formula(*before, width if causal else 2 * width, causal)"),
    "it tries a symmetric window of even width, which has no middle, so right ones differ: only a "
    "causal width may be even": [
        EVEN, (*EVEN, "formula", 'RIGHT["a right windowed attention, by windows"]')],
    "it asks for equal bits, or nearly, but another order of the same sums is right, too: allow "
    "for rounding": ("formula", PLAIN, CLOSE, "assert got.dtype == want.dtype and got.equal(want)"),
    "it refuses nothing: call windowed_attention, assert what must hold, and catch none of the "
    "errors": ("= TRIALS", "= ()"),
    "it refuses the right ones, too: is its tolerance too small, or what it expects wrong? Run it "
    "on one that you trust": (CLOSE, "assert got.shape == v.mT.shape"),
})  # fmt: skip
