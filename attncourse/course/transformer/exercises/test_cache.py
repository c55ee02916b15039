"""Exercise test_cache: the learner's test meets right and wrong steps with a cache, unnamed."""

from itertools import pairwise

import torch

from attncourse.course.dot_product.exercises.shared.attentions import close
from attncourse.course.transformer.exercises.shared import steps
from attncourse.course.transformer.exercises.shared.steps import causal, inputs
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations
from judge.variants import every

exercise = Exercise.read(__name__, differentiable=False)


@exercise.cases
def cases(draw):
    return implementations(draw, "step", "a step", steps.RIGHT, steps.WRONG)


# leading axes and none, each dtype, the places where a text of 12 tokens is cut, and the widths
TRIALS = (
    ((), torch.float64, (0, 4, 5, 6, 9, 12), (5, 3)),
    ((2, 2), torch.float32, (0, 1, 2, 5, 11, 12), (3, 5)),
)


def pieces(given, cuts):
    """The tokens between each cut and the next."""
    return [tuple(x[..., a:b, :].clone() for x in given) for a, b in pairwise(cuts)]


@exercise.reference
def row_by_row(step):
    for batch, dtype, cuts, sizes in TRIALS:
        for large in (1.0, 1000.0):
            q, k, v = inputs(*batch, n=12, large=large, dtype=dtype, sizes=sizes)
            given, caches, outs = pieces((q, k, v), cuts), [None], []
            for some in given:
                before = [x.clone() for x in some]
                out, cache = step(*some, caches[-1]) if outs else step(*some)
                assert all(map(torch.equal, some, before))
                assert (out.shape, out.dtype) == (some[2].shape, dtype)
                caches.append(cache)
                outs.append(out)
            got = torch.cat(outs, dim=-2)
            for i in range(12):
                scores = (k[..., : i + 1, :] @ q[..., i, :, None])[..., 0] / sizes[0] ** 0.5
                want = (scores.softmax(-1)[..., None] * v[..., : i + 1, :]).sum(-2)
                close(got[..., i, :], want)
            # each cache is as good as it was, whatever went on from those before it
            for some, cache, out in zip(given, caches, outs, strict=False):
                close(step(*some, cache)[0], out)
            for i, cache in enumerate(caches[1:-1]):
                step(*(-x for x in given[i]), caches[i])
                close(step(*given[i + 1], cache)[0], outs[i + 1])


@exercise.valid
def plain(step):
    for batch, dtype, cuts, sizes in TRIALS:
        q, k, v = inputs(*batch, n=12, dtype=dtype, sizes=sizes)
        want, caches, outs = causal(q, k, v), [None], []
        for some in pieces((q, k, v), cuts):
            before, other = [x.clone() for x in some], [-x for x in some]
            # another text goes on from the same cache
            step(*other, caches[-1])
            out, cache = step(*some, caches[-1])
            step(*other, caches[-1])
            assert out.shape == before[2].shape
            assert all(map(torch.equal, some, before))
            caches.append(cache)
            outs.append(out)
        close(torch.cat(outs, dim=-2), want)


CLOSE = "close(torch.cat(outs, dim=-2), want)"
CALL = "            out, cache = step(*some, caches[-1])\n"
OTHER = "            step(*other, caches[-1])\n"
ALONE = every(OTHER), ""
AGAIN = (
    CLOSE,
    (
        f"{CLOSE}\n        for some, cache, out in zip(pieces((q, k, v), cuts), caches, outs):\n"
        "            close(step(*some, cache)[0], out)"
    ),
)
SHAPE = "assert out.shape == before[2].shape"
UNCHANGED, DRAWN = "assert all(map(torch.equal, some, before))", "sizes=sizes)"
LIKE = "got = torch.cat(outs, dim=-2)\n        assert (got.shape, got.dtype) == (want.shape, dtype)"
OWN = "torch.cat([step(*one)[0] for one in pieces((q, k, v), (0, 12))], -2)"


def cut(*cuts):
    """The edit that cuts the two texts at these places."""
    return "TRIALS", f"[(*a[:2], c, a[3]) for a, c in zip(TRIALS, ({cuts[0]}, {cuts[-1]}))]"


def whole(batch, dtype):
    """The edit that calls once, with a whole text."""
    return "TRIALS", f"[({batch}, torch.{dtype}, (0, 12), (5, 3))]"


def trials(kept: str) -> tuple[str, str]:
    return "TRIALS", f"[{kept} for one in TRIALS]"


variants.right(exercise,
    (DRAWN, "sizes=[2 * size for size in sizes], large=9000.0, seed=3)"),
    ("causal(q, k, v)", "steps.plain(q, k, v)[0]"),
    (CLOSE, f"{LIKE}\n        if not (got - want).abs().max() < (1e-6 if dtype.itemsize > 4 else "
     "1e-2):\n            raise ValueError(got)"),
    cut((0, 3, 4, 5, 8, 10, 12), (0, 1, 3, 4, 11, 12)),
)  # fmt: skip
variants.wrong(exercise, {
    "it refuses nothing: call step, assert what must hold, and catch none of the errors": [
        ("TRIALS", "()"), errors_caught(plain)],
    "no wrong number fails it: assert that the numbers agree": [
        (CLOSE, f"{LIKE}\n        torch.allclose(got, want)"), (CLOSE, LIKE)],
    "what it expects comes from step itself, called without a cache: work it out without it": (
        "causal(q, k, v)", OWN),
    "only the last token is compared: what comes before it may be wrong": (
        CLOSE, f"{LIKE}\n        close(got[..., -1, :], want[..., -1, :])"),
    "only the prompt is compared: a mistake of the cache shows after it": (
        CLOSE, f"{LIKE}\n        close(outs[0], want[..., : cuts[1], :])"),
    "no prompt of several tokens is compared, where a mask is needed from the beginning": [
        (CLOSE, f"{LIKE}\n        close(got[..., cuts[1] :, :], want[..., cuts[1] :, :])"),
        cut((0, 1, 2, 5, 9, 12), (0, 1, 2, 5, 11, 12))],
    "it compares means only: right numbers in the wrong places pass": (
        CLOSE, f"{LIKE}\n        close(got.mean(), want.mean())"),
    "no call has a cache: cut the text into a prompt and more": [
        cut((0, 12)),
        *((UNCHANGED, "pass", *ALONE, DRAWN, f"sizes={sizes}, large=1.0)", *whole(batch, dtype))
          for batch in ((), (2,), (2, 2)) for dtype in ("float32", "float64")
          for sizes in ((5, 3), (3, 5), (5, 5)))],
    "only single tokens come after the prompt: try a piece of several, which needs a mask": cut(
        (0, 4, 5, 6, 7, 8, 9, 10, 11, 12), (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)),
    "no single token comes after the prompt: a model writes one at a time": cut(
        (0, 4, 6, 9, 12), (0, 2, 5, 8, 10, 12)),
    "there are two calls at most: a cache that was handed on once may be lost the next time": cut(
        (0, 11, 12), (0, 1, 12)),
    "the text is short: what lies 8 tokens back could be forgotten. Try a dozen": (
        "n=12", "n=6", *cut((0, 2, 3, 4, 6), (0, 1, 2, 4, 5, 6))),
    "no prompt has a single token: a text may begin with the start token alone": (
        cut((0, 4, 5, 6, 9, 12), (0, 2, 3, 5, 11, 12))),
    "every input has a batch: try one text without it, too": trials("((2, 2), *one[1:])"),
    "no input has a batch: try leading axes, too": trials("((), *one[1:])"),
    "there is one leading axis at most: try two, too": trials("(one[0][:1], *one[1:])"),
    "only float64 is tried: float32 should give float32": (
        trials("(one[0], torch.float64, *one[2:])")),
    "only float32 is tried: float64 should give float64": (
        trials("(one[0], torch.float32, *one[2:])")),
    "the values are as wide as the keys: give them a width of their own": (
        DRAWN, "sizes=(5, 5))"),
    "the values are never wider than the keys: try wider and narrower ones": (
        DRAWN, "sizes=(5, 3))"),
    "the values are never narrower than the keys: try wider and narrower ones": (
        DRAWN, "sizes=(3, 5))"),
    "all scores are small: try some of a thousand, where exp overflows": (
        DRAWN, "sizes=sizes, large=1.0)"),
    "all values are ones: whatever the weights, the mean is the same. Draw them": (
        DRAWN, f"{DRAWN}\n        v = torch.ones_like(v)"),
    "an earlier cache is never used again: a call may spoil the one that it was given": [
        ALONE, (f"{OTHER}{CALL}", CALL)],
    "no other text goes on from an earlier cache, after which this one goes on: caches may share "
    "what they are made of": [(*ALONE, *AGAIN), (f"{CALL}{OTHER}", CALL)],
    "it does not look whether q, k and v are still the same after the call, or compares them with "
    "what is no copy": [(UNCHANGED, "pass"), ("x.clone()", "x")],
    "the dtype of the result is not looked at: it should be that of the inputs": (
        CLOSE, "close(torch.cat(outs, dim=-2).to(dtype), want)"),
    "the tolerance is too wide: wrong numbers pass, too": [
        (CLOSE, f"{LIKE}\n        assert torch.allclose(got, want, atol={atol})")
        for atol in (1.0, 0.5, 0.1)],
    "it asks that the cache be a pair of tensors: what a step keeps is its own affair": (
        "caches.append(cache)", "caches.append(cache)\n            assert cache[0].shape[-2] "
        ">= 1 and cache[1].shape[-2] >= 1"),
    "it refuses the right ones, too: a token sees those up to itself, and sums taken "
    "piece by piece are rounded in another way": [
        ("causal(q, k, v)", "(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v"),
        (CLOSE, f"{LIKE}\n        assert got.equal(want)")],
})  # fmt: skip
