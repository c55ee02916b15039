"""Exercise test_cache: the learner's test meets right and wrong steps with a cache, unnamed."""

from itertools import pairwise

import torch

from attncourse.course.dot_product.exercises.shared.attentions import close
from attncourse.course.transformer.exercises.shared import steps
from attncourse.course.transformer.exercises.shared.steps import inputs
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations
from judge.variants import every

exercise = Exercise.read(__name__, differentiable=False)
worked = exercise.valid(variants.worked(exercise))


@exercise.cases
def cases(draw):
    return implementations(draw, "step", "a step", steps.RIGHT, steps.WRONG)


# leading axes and none, each dtype, the places where a text of 12 tokens is cut, and the widths
TRIALS = (
    ((), torch.float64, (0, 4, 5, 6, 9, 12), (5, 3)),
    ((2, 2), torch.float32, (0, 1, 2, 5, 11, 12), (3, 5)),
)


def split_at(tensors, cuts):
    """The tokens between each cut and the next."""
    return [tuple(x[..., a:b, :].clone() for x in tensors) for a, b in pairwise(cuts)]


@exercise.reference
def row_by_row(step):
    for batch, dtype, cuts, sizes in TRIALS:
        for large in (1.0, 1000.0):
            q, k, v = inputs(*batch, n=12, large=large, dtype=dtype, sizes=sizes)
            parts, caches, outs = split_at((q, k, v), cuts), [None], []
            for part in parts:
                before = [x.clone() for x in part]
                out, cache = step(*part, caches[-1]) if outs else step(*part)
                assert all(map(torch.equal, part, before))
                assert (out.shape, out.dtype) == (part[2].shape, dtype)
                caches.append(cache)
                outs.append(out)
            got = torch.cat(outs, dim=-2)
            for i in range(12):
                scores = (k[..., : i + 1, :] @ q[..., i, :, None])[..., 0] / sizes[0] ** 0.5
                want = (scores.softmax(-1)[..., None] * v[..., : i + 1, :]).sum(-2)
                close(got[..., i, :], want)
            # each cache is as good as it was, whatever went on from those before it
            for part, cache, out in zip(parts, caches, outs, strict=False):
                close(step(*part, cache)[0], out)
            for i, cache in enumerate(caches[1:-1]):
                step(*(-x for x in parts[i]), caches[i])
                close(step(*parts[i + 1], cache)[0], outs[i + 1])


FIRST = "((), torch.float64, [0, 4, 5, 6, 9, 12], (5, 3)),"
SECOND = "((2, 3), torch.float32, [0, 1, 2, 5, 11, 12], (3, 5)),"
LARGE = "        q[..., 6, :] *= 1000\n"
WANT = "attention(q, k, v, torch.ones(n, n, dtype=torch.bool).tril())"
CALL = "            out, after = step(*given, cache)\n"
OTHER = "            step(*other, cache)\n"
ALONE = every(OTHER), ""
UNCHANGED = "assert all(map(torch.equal, given, piece))"
CLOSE = "assert torch.allclose(out, want[..., a:b, :], rtol=1e-3, atol=1e-3)"


def recut(first_cuts: list[int], second_cuts: list[int]) -> tuple[str, ...]:
    """The edit that cuts the two texts at these places."""
    return "[0, 4, 5, 6, 9, 12]", f"{first_cuts}", "[0, 1, 2, 5, 11, 12]", f"{second_cuts}"


variants.right(exercise,
    ("manual_seed(0)", "manual_seed(3)", "(5, 3)", "(10, 6)", "(3, 5)", "(6, 10)",
     "1000", "9000", CLOSE, "close(out, want[..., a:b, :])"),
    (WANT, "steps.plain(q, k, v)[0]"),
    (CLOSE, "far = (out - want[..., a:b, :]).abs().max()\n"
     "            if not far < (1e-6 if dtype.itemsize > 4 else 1e-2):\n"
     "                raise ValueError(out)"),
    recut([0, 3, 4, 5, 8, 10, 12], [0, 1, 3, 4, 11, 12]),
)  # fmt: skip
variants.wrong(exercise, {
    "it refuses nothing: call step, assert what must hold, and catch none of the errors": [
        ("    g =", "    assert callable(step)\n    return\n    g ="), errors_caught(worked)],
    "no wrong number fails it: assert that the numbers agree": [
        ("assert torch.allclose", "torch.allclose"), (CLOSE, "pass")],
    "what it expects comes from step itself, called without a cache: work it out without step": (
        WANT, "step(*(x.clone() for x in (q, k, v)))[0]",
        "want[..., a:b, :].shape and out.dtype == dtype", "piece[2].shape",
        CLOSE, "close(out, want[..., a:b, :])"),
    "only the last token is compared: what comes before it may be wrong": (
        "torch.allclose(out, want[..., a:b, :],",
        "b < n or torch.allclose(out[..., -1, :], want[..., -1, :],"),
    "only the prompt is compared: a mistake of the cache shows after it": (
        "assert torch.allclose", "assert a > 0 or torch.allclose"),
    "no prompt of several tokens is compared: compare one, where a mask is needed from the "
    "beginning": [
        ("assert torch.allclose", "assert a == 0 or torch.allclose"),
        recut([0, 1, 2, 5, 9, 12], [0, 1, 2, 5, 11, 12])],
    "it compares means only: right numbers in the wrong places pass": (
        "allclose(out, want[..., a:b, :],", "allclose(out.mean(), want[..., a:b, :].mean(),"),
    "no call has a cache: cut the text into a prompt and more": [
        recut([0, 12], [0, 12]),
        *((UNCHANGED, "pass", *ALONE, LARGE, "", SECOND, "",
           FIRST, f"({batch}, torch.{dtype}, [0, 12], {sizes}),")
          for batch in ((), (2,), (2, 2)) for dtype in ("float32", "float64")
          for sizes in ((5, 3), (3, 5), (5, 5)))],
    "only single tokens come after the prompt: try a piece of several, which needs a mask": recut(
        [0, 4, 5, 6, 7, 8, 9, 10, 11, 12], [*range(13)]),
    "no single token comes after the prompt: a model writes one at a time": recut(
        [0, 4, 6, 9, 12], [0, 2, 5, 8, 10, 12]),
    "there are two calls at most: make more, as a cache handed on once may be lost the "
    "next time": recut(
        [0, 11, 12], [0, 1, 12]),
    "the text is short: what lies 8 tokens back could be forgotten. Try a dozen": (
        "n = 12", "n = 6", "q[..., 6,", "q[..., 3,", *recut([0, 2, 3, 4, 6], [0, 1, 2, 4, 5, 6])),
    "no prompt has a single token: a text may begin with the start token alone": (
        "[0, 1, 2, 5,", "[0, 2, 3, 5,"),
    "every input has a batch: try one text without it, too": ("((), ", "((2, 3), "),
    "no input has a batch: try leading axes, too": ("((2, 3), ", "((), "),
    "there is one leading axis at most: try two, too": ("((2, 3), ", "((2,), "),
    "only float64 is tried: float32 should give float32": ("float32", "float64"),
    "only float32 is tried: float64 should give float64": ("float64", "float32"),
    "the values are as wide as the keys: give them a width of their own": (
        "(5, 3)", "(5, 5)", "(3, 5)", "(5, 5)"),
    "the values are never wider than the keys: try wider and narrower ones": ("(3, 5)", "(5, 3)"),
    "the values are never narrower than the keys: try wider and narrower ones": (
        "(5, 3)", "(3, 5)"),
    "all scores are small: try some of a thousand, where exp overflows": (LARGE, ""),
    "all values are ones: whatever the weights, the mean is the same. Draw them": (
        "v = torch.randn(*batch, n, d_v, generator=g,", "v = torch.ones(*batch, n, d_v,"),
    "an earlier cache is never used again: use one, as a call may spoil the one that it "
    "was given": [
        ALONE, (f"{OTHER}{CALL}", CALL)],
    "no other text goes on from an earlier cache, after which this one goes on: caches may share "
    "what they are made of": [
        (*ALONE, CLOSE, f"{CLOSE}\n            close(step(*piece, cache)[0], out)"),
        (f"{CALL}{OTHER}", CALL)],
    "it does not look whether q, k and v are still the same after the call, or compares them with "
    "what is no copy": [(UNCHANGED, "pass"), ("x.clone() for x in piece", "x for x in piece")],
    "the dtype of the result is not looked at: it should be that of the inputs": (
        " and out.dtype == dtype", "", CLOSE, "close(out.to(dtype), want[..., a:b, :])"),
    "the tolerance is too wide: wrong numbers pass, too": [
        # it depends on the numbers which ones pass, so these are those of the reference
        ("(2, 3), ", "(2, 2), ", "rtol=1e-3, atol=1e-3", f"atol={atol}",
         LARGE, "        q, k, v = inputs(*batch, n=n, dtype=dtype, sizes=(d_k, d_v))\n")
        for atol in (1.0, 0.5, 0.1)],
    "it asks that the cache be a pair of tensors: leave that open, what a step keeps is its own "
    "affair": (
        "cache = after", "cache = after\n"
        "            assert cache[0].shape[-2] >= 1 and cache[1].shape[-2] >= 1"),
    "it refuses the right ones, too: let a token see those up to itself, and allow for the "
    "rounding of sums taken piece by piece": [
        (WANT, "attention(q, k, v)"), (CLOSE, "assert out.equal(want[..., a:b, :])")],
})  # fmt: skip
