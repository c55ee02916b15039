"""What is wrong with a learner's test of an attention, as edits of a plain test of it."""

CLOSE, UNCHANGED = "close(got, want)", "assert now is None or now.equal(then)"
MASKS, DRAWN, AFTER = "(None, some_keys)", "dtype=dtype", "zip((q, k, v, mask), before"
LIKE = "assert (got.shape, got.dtype) == (want.shape, want.dtype)"
APART = "(got - want).abs().max()"
FIRST = "close(*(x.reshape(-1, *x.shape[-2:])[0] for x in (got, want)))"
WRONG_TESTS = {
    "your test looks only at the shape: compare the numbers as well": (
        CLOSE, "assert got.shape == want.shape", UNCHANGED, "pass"),
    "only the first query is compared, so a wrong row below it passes: compare all rows": (
        CLOSE, f"{LIKE}\n            close(got[..., 0, :], want[..., 0, :])",
        DRAWN, f"{DRAWN}, large=1.0 if masked else 1000.0"),
    "only the first sentence of a batch is compared: compare all of them, because the others may "
    "wrongly use its keys or mask": (
        CLOSE, f"{LIKE}\n            {FIRST}"),
    "a single right number is enough to pass your test: check all of them, not any": (
        CLOSE, "assert got.dtype == want.dtype and got.isclose(want).any()"),
    "your test compares only means, so right numbers in the wrong places pass: compare each "
    "number": (
        CLOSE, "close(got.mean(), want.mean())"),
    "NaN slips through, since `nan > x` is False: assert that the difference is small": [
        (CLOSE, f"assert got.dtype == want.dtype and not {APART} > 1e-3"),
        (CLOSE, f"{LIKE} and not {APART} > 1e-3")],
    "all inputs are ones, so the mean is the same whatever the weights are: draw random inputs": (
        "            mask =", "            q, k, v = map(torch.ones_like, (q, k, v))\n"
        "            mask ="),
    "there are always as many queries as keys: try fewer queries than keys": (
        DRAWN, f"{DRAWN}, sizes=(5, 5, 6, 2)"),
    "your test never uses a mask: try one as well": (MASKS, "(None,)"),
    "your test always uses a mask: try a call without one as well": (MASKS, "(some_keys,)"),
    "the mask allows everything, so a function that ignores it passes: forbid some keys": (
        MASKS, "(None, lambda *shape: torch.ones(shape, dtype=torch.bool))"),
    "every query has an allowed key: try a mask with a row that is all False": (
        MASKS, "(None, lambda *shape: some_keys(*shape, empty=9))"),
    "all scores are small: try some around 1000, where exp overflows": (
        DRAWN, f"{DRAWN}, large=1.0"),
    "every input has a batch axis: try inputs without one as well": ("BATCHES", "((2,), (2, 3))"),
    "no input has a batch axis: try leading axes as well": ("BATCHES", "((), ())"),
    "no input has more than one leading axis: try two as well": ("BATCHES", "((), (2,))"),
    "your test uses the inputs after the call, which may have changed them: clone them before the "
    "call, and use the copies": (
        "x.clone()", "x"),
    "changed inputs go unnoticed: after the call, compare the inputs with copies made before it": (
        UNCHANGED, "pass"),
    "a changed mask goes unnoticed: compare the mask after the call as well, since no input may "
    "change": (
        AFTER, "zip((q, k, v), before[:3]"),
    "your test tries only float64: also check that float32 gives float32": (
        "DTYPES", "DTYPES[:1] * 2"),
    "your test tries only float32: also check that float64 gives float64": (
        "DTYPES", "DTYPES[1:] * 2"),
    "the tolerance is so wide that wrong numbers pass: make it smaller": [
        (CLOSE, f"{LIKE} and torch.allclose(got, want, atol=1.0)"),
        (CLOSE, f"{LIKE} and torch.allclose(got, want, rtol=0.1, atol=0.01)")],
    "wrong numbers pass: do you assert the condition? A condition and a message in brackets are a "
    "tuple, which is always true": (CLOSE, LIKE),
}  # fmt: skip
