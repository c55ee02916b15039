"""Exercise test_attention: the learner's test meets right and wrong attentions, unnamed."""

import torch

from attncourse.course.dot_product.exercises.shared import attentions
from attncourse.course.dot_product.exercises.shared import tests_of_attention as known
from attncourse.course.dot_product.exercises.shared.attentions import (
    close,
    formula,
    inputs,
    some_keys,
)
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations

exercise = Exercise.read(__name__, differentiable=False)


@exercise.cases
def cases(draw):
    return implementations(draw, "attention", "an attention", attentions.RIGHT, attentions.WRONG)


BATCHES, DTYPES = ((), (2, 2)), (torch.float64, torch.float32)


@exercise.reference
def query_by_query(attention):
    for batch, dtype in zip(BATCHES, DTYPES, strict=True):
        q, k, v = inputs(*batch, dtype=dtype)
        for mask in (None, some_keys(*batch, 4, 5)):
            allowed = torch.ones(*batch, 4, 5, dtype=torch.bool) if mask is None else mask
            before = [x.clone() for x in (q, k, v, allowed)]
            got = attention(q, k, v) if mask is None else attention(q, k, v, mask)
            assert (got.shape, got.dtype) == ((*batch, 4, 2), dtype)
            assert all(map(torch.equal, (q, k, v, allowed), before))
            attentions.close_to_row_means(got, q, k, v, allowed)


@exercise.valid
def against_the_formula(attention):
    for batch, dtype in zip(BATCHES, DTYPES, strict=True):
        for masked in (None, some_keys):
            q, k, v = inputs(*batch, dtype=dtype)
            mask = masked and masked(*batch, q.shape[-2], k.shape[-2])
            before = [x if x is None else x.clone() for x in (q, k, v, mask)]
            got, want = attention(q, k, v, mask), formula(*before)
            close(got, want)
            for now, then in zip((q, k, v, mask), before, strict=True):
                assert now is None or now.equal(then)


@exercise.valid
def by_its_properties(attention):
    for batch, dtype in zip(BATCHES, DTYPES, strict=True):
        q, k, v = inputs(*batch, dtype=dtype)
        mask = some_keys(*batch, 4, 5)
        kept = [x.clone() for x in (q, k, v, mask)]
        for allowed in (None, mask):
            # the identity for values lets the weights be read off
            weights = attention(q, k, torch.eye(5, dtype=dtype).repeat(*batch, 1, 1), allowed)
            seen = torch.ones_like(mask) if allowed is None else kept[3]
            assert not weights[~seen].any()
            close(weights.sum(-1), seen.any(-1).to(dtype))
            close(attention(q, k, v, allowed), weights @ kept[2])
            assert all(map(torch.equal, (q, k, v, mask), kept))
            scores = (q @ k.mT / 6**0.5).masked_fill(~seen, -torch.inf)
            assert (weights[scores < scores.amax(-1, keepdim=True) - 60] < 1e-20).all()
            # row 2 has small scores: the logarithms of its weights differ as its scores do
            scores = scores[..., 2, :]
            both = seen[..., 2, :, None] & seen[..., 2, None, :]
            logs = weights[..., 2, :].log()
            ratios = logs[..., :, None] - logs[..., None, :]
            close(ratios[both], (scores[..., :, None] - scores[..., None, :])[both])


CLOSE, UNCHANGED, MASKS = known.CLOSE, known.UNCHANGED, known.MASKS
DRAWN, AFTER, LIKE, APART = known.DRAWN, known.AFTER, known.LIKE, known.APART
CALL = "got, want = attention(q, k, v, mask), formula(*before)"
WANT, OWN, INPUTS = "formula(*before)", "attentions.plain(*before)", "inputs(*batch, dtype=dtype)"
variants.right(exercise,
    (DRAWN, f"{DRAWN}, sizes=(4, 3, 5, 7), large=9000.0, seed=5"), (WANT, OWN),
    (CLOSE, "if got.shape != want.shape or got.dtype != want.dtype:\n"
            "                raise TypeError(got.shape, got.dtype)\n"
            f"            if not {APART} < (1e-6 if dtype == torch.float64 else 1e-2):\n"
            "                raise ValueError(got, want)"),
)  # fmt: skip
variants.wrong(exercise, known.WRONG_TESTS | {
    "your test refuses nothing: call attention, assert what should hold, and don't catch any "
    "errors": [
        ("zip(BATCHES, DTYPES, strict=True)", "()"), errors_caught(against_the_formula)],
    "your test runs attention but asserts nothing: compare the numbers": (
        CLOSE, "pass", UNCHANGED, "pass"),
    "your test compares the numbers but never asserts that they agree: use `assert`. What a test "
    "returns is ignored, and a condition and a message in brackets are a tuple, which is always "
    "true": [
        (CLOSE, "agreed = torch.allclose(got, want)", UNCHANGED, "pass\n    return agreed"),
        (CLOSE, 'agreed = torch.allclose(got, want), "they differ"', UNCHANGED, "assert agreed")],
    "the expected output comes from the attention that you test: compute it independently": (
        WANT, "attention(*before)"),
    "all sizes are equal, so a scale from the wrong width goes unnoticed: make them all "
    "different": (
        DRAWN, f"{DRAWN}, sizes=(4, 4, 4, 4)"),
    "none of your queries has only scores far below 0: try one that has, with a mask and without": (
        DRAWN, f"{DRAWN}, low=-0.001"),
    "with a mask, no scores are large, so any fill value passes: make some of them large": (
        DRAWN, f"{DRAWN}, large=1.0 if masked else 1000.0"),
    "the dtype is checked only without a mask: check it with a mask as well": (
        CLOSE, f"{CLOSE} if mask is None else close(got.to(want.dtype), want)"),
    "the inputs are compared only without a mask: compare them with a mask as well": (
        UNCHANGED, f"{UNCHANGED} or mask is not None"),
    "all heads share one mask: give each head its own, so that a function that uses only the first "
    "one fails": (
        MASKS, "(None, lambda *n: some_keys(*n[:1], 1, *n[-2:]).expand(n) if n[2:] else "
        "some_keys(*n))"),
    "q, k and v are the same tensor, so mixing them up goes unnoticed: draw three different ones": (
        INPUTS, f"[{INPUTS}[1]] * 3"),
    "there is only one key, whose weight is 1 whatever the scores are: try several keys": (
        DRAWN, f"{DRAWN}, sizes=(3, 1, 6, 2)"),
    "the keys have width 1, and dividing by 1 changes nothing: make them wider": (
        DRAWN, f"{DRAWN}, sizes=(3, 5, 1, 2)"),
    "the keys have width 64, where a fixed scale of 8 is right: try another width": (
        DRAWN, f"{DRAWN}, sizes=(3, 5, 64, 2)"),
    "no two sentences of a batch have different masks: give each sentence its own": [
        (MASKS, "(None, lambda *shape: some_keys(*shape[-2:]))"),
        (MASKS, f"{MASKS}[: 1 + (not batch)]")],
    "every input has exactly one batch axis: try inputs with none or with two as well": (
        "BATCHES", "((2,), (2,))"),
    "your test tries only plain matrices without a mask: try masks, leading axes, large scores and "
    "two dtypes as well": ("    for batch", "    q, k, v = inputs(large=1.0, dtype=torch.float32)\n"
               "    return close(attention(q, k, v), formula(q, k, v))\n    for batch"),
    "q is the only input that you compare after the call: compare k, v and the mask as well": (
        AFTER, "zip((q,), before[:1]"),
    "you don't check the dtype of the result: it should be the dtype of the inputs": (
        CLOSE, "close(got.float(), want.float())"),
    "the tolerance for float32 is too wide: right functions agree to a hundredth or better": (
        CLOSE, f"{LIKE} and torch.allclose(got, want, atol=1e-6 if dtype.itemsize > 4 else 0.5)"),
    "your test asks for equal bits, but summing in another order is right as well: allow for "
    "rounding": (
        WANT, OWN, CLOSE, "assert got.dtype == want.dtype and got.equal(want)"),
    "your test's own formula does not divide by sqrt(d_k), so the test refuses right functions": (
        WANT, "formula(*before, scale=1)"),
    "your test's own formula divides by d_k instead of its root, so the test refuses right "
    "functions": (
        WANT, "formula(*before, scale=6)"),
    "your test takes True for forbidden, so it refuses right functions: True means that a query "
    "may attend": (
        WANT, "formula(*before[:3], mask if mask is None else ~before[3])"),
    "your test's own formula gives NaN for a query that may attend nowhere: expect zeros": (
        WANT, "formula(*before, least=0.0)",
        CLOSE, "torch.testing.assert_close(got, want, equal_nan=True, rtol=1e-3, atol=1e-3)"),
    "your test always expects float32: the result should have the dtype of the inputs": (
        CLOSE, "close(got, want.float())"),
    "your test catches an error that the function raises: let the error through, because such a "
    "function is wrong": (
        CALL, f"try:\n                {CALL}\n"
              "            except Exception:\n                continue"),
    "your test refuses right functions as well: run it on an attention that you trust. Its formula "
    "may be wrong, for example where a row may attend nowhere or a mask is inverted, or its "
    "tolerance may be too small": [
        (CLOSE, "assert got.shape == q.shape"), (WANT, "formula(*before, least=0.0)"),
        (MASKS, "(lambda *shape: some_keys(*shape).double(),)", WANT,
         "formula(*before[:3], before[3].bool())")],
})  # fmt: skip
