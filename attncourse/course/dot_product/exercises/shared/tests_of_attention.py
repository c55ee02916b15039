"""What is wrong with a learner's test of an attention, as edits of a plain test of it."""

CLOSE, UNCHANGED = "close(got, want)", "assert now is None or now.equal(then)"
MASKS, DRAWN, AFTER = "(None, some_keys)", "dtype=dtype", "zip((q, k, v, mask), before"
LIKE = "assert (got.shape, got.dtype) == (want.shape, want.dtype)"
APART = "(got - want).abs().max()"
FIRST = "close(*(x.reshape(-1, *x.shape[-2:])[0] for x in (got, want)))"
WRONG_TESTS = {
    "it looks at the shape only: compare the numbers, too": (
        CLOSE, "assert got.shape == want.shape", UNCHANGED, "pass"),
    "only the first query is compared, so a wrong row below it passes: compare all of them": (
        CLOSE, f"{LIKE}\n            close(got[..., 0, :], want[..., 0, :])",
        DRAWN, f"{DRAWN}, large=1.0 if masked else 1000.0"),
    "only the first sentence of a batch is compared: the others may have its keys or mask, so "
    "compare all": (
        CLOSE, f"{LIKE}\n            {FIRST}"),
    "one right number is enough for it: ask for all of them, not for any": (
        CLOSE, "assert got.dtype == want.dtype and got.isclose(want).any()"),
    "it compares means only, so right numbers in the wrong places pass: compare each number": (
        CLOSE, "close(got.mean(), want.mean())"),
    "NaN slips through, since `nan > x` is False: assert that the difference is small": [
        (CLOSE, f"assert got.dtype == want.dtype and not {APART} > 1e-3"),
        (CLOSE, f"{LIKE} and not {APART} > 1e-3")],
    "all inputs are ones, so the mean is the same whatever the weights are: draw them": (
        "            mask =", "            q, k, v = map(torch.ones_like, (q, k, v))\n"
        "            mask ="),
    "there are always as many queries as keys: try fewer queries than keys": (
        DRAWN, f"{DRAWN}, sizes=(5, 5, 6, 2)"),
    "no mask is ever tried: try one": (MASKS, "(None,)"),
    "a mask is always there: try it without one, too": (MASKS, "(some_keys,)"),
    "the mask allows everything, so it may as well be ignored: forbid some keys": (
        MASKS, "(None, lambda *shape: torch.ones(shape, dtype=torch.bool))"),
    "no query is without a key: try a row of the mask that is all False": (
        MASKS, "(None, lambda *shape: some_keys(*shape, empty=9))"),
    "all scores are small: try some of a thousand, where exp overflows": (
        DRAWN, f"{DRAWN}, large=1.0"),
    "every input has a batch: try two matrices without one, too": ("BATCHES", "((2,), (2, 3))"),
    "no input has a batch: try leading axes, too": ("BATCHES", "((), ())"),
    "there is one leading axis at most: try two, too": ("BATCHES", "((), (2,))"),
    "what is expected, or compared, is taken from the inputs after the call, which may have "
    "changed them: clone them before it, and compare with the copies": (
        "x.clone()", "x"),
    "a change of the inputs goes unnoticed: compare them after the call with copies from before": (
        UNCHANGED, "pass"),
    "the mask is not compared after the call: compare it, too, since no input may change": (
        AFTER, "zip((q, k, v), before[:3]"),
    "only float64 is tried: float32 should give float32": ("DTYPES", "DTYPES[:1] * 2"),
    "only float32 is tried: float64 should give float64": ("DTYPES", "DTYPES[1:] * 2"),
    "the tolerance is so wide that wrong numbers pass, too: make it smaller": [
        (CLOSE, f"{LIKE} and torch.allclose(got, want, atol=1.0)"),
        (CLOSE, f"{LIKE} and torch.allclose(got, want, rtol=0.1, atol=0.01)")],
    "wrong numbers pass: is the condition asserted? In brackets with its message it is a tuple, "
    "which is always true": (CLOSE, LIKE),
}  # fmt: skip
