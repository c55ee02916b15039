"""Exercise test_linear_attention: the learner's test meets right and wrong forms, unnamed."""

from itertools import combinations, product

import torch

from attncourse.course.linear.exercises.shared.forms import (
    RIGHT,
    WRONG,
    as_a_matrix,
    by_sums,
    token_by_token,
)
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations

exercise = Exercise.read(__name__, differentiable=False)
exercise.valid(variants.worked(exercise))


@exercise.cases
def cases(draw):
    return implementations(draw, "linear_attention", "a linear attention", RIGHT, WRONG)


# what a test needs at least: leading axes and none, each dtype; causal or not, n queries, m keys
BATCHES = ((), torch.float64), ((2, 2), torch.float32)
LENGTHS = (False, 3, 5), (True, 24, 24)


def inputs(batch, n, m, dtype, widths=(4, 2), seed=0):
    generator = torch.Generator().manual_seed(seed)
    d, e = widths
    shapes = (n, d), (m, d), (m, e)
    return [torch.randn(*batch, *s, generator=generator, dtype=dtype) for s in shapes]


def close(got, want):
    """The same numbers but for rounding."""
    bound = torch.finfo(want.dtype).eps ** 0.5
    return torch.allclose(got, want, rtol=bound, atol=bound)


@exercise.reference
def query_by_query(linear_attention):
    for (batch, dtype), (causal, n, m) in product(BATCHES, LENGTHS):
        q, k, v = inputs(batch, n, m, dtype)
        before = [x.clone() for x in (q, k, v)]
        got = linear_attention(q, k, v, causal=causal)
        assert all(map(torch.equal, (q, k, v), before))
        assert (got.shape, got.dtype) == ((*batch, n, 2), dtype)
        phi_q, phi_k = (torch.where(x > 0, x + 1, x.exp()) for x in before[:2])
        for i in range(n):
            visible = i + 1 if causal else m
            parts = (phi_q[..., i, None, :] * phi_k[..., :visible, :]).sum(-1, keepdim=True)
            sums = (parts * before[2][..., :visible, :]).sum(-2)
            assert close(got[..., i, :], sums / parts.sum(-2))


@exercise.valid
def weights_read_off_the_unit_vectors(linear_attention):
    for (batch, dtype), (causal, n, m) in product(BATCHES, LENGTHS):
        q, k, v = inputs(batch, n, m, dtype)
        kept = [x.clone() for x in (q, k, v)]
        eye = torch.eye(m, dtype=dtype).repeat(*batch, 1, 1)
        out, weights = (linear_attention(q, k, x, causal=causal) for x in (v, eye))
        assert all(map(torch.equal, (q, k, v), kept))
        assert (out.shape, weights.shape) == ((*batch, n, 2), (*batch, n, m))
        assert out.dtype == weights.dtype == dtype
        assert close(out, weights @ kept[2])
        whole = as_a_matrix(kept[0], kept[1], eye)
        seen = whole.tril() if causal else whole
        assert close(weights, seen / seen.sum(-1, keepdim=True))


GIVEN, MEAN = "            given =", "weights @ v / weights.sum(dim=-1, keepdim=True)"
KIND = "assert (got.shape, got.dtype) == (want.shape, want.dtype)"
NUMBERS = "assert torch.allclose(got, want, atol=torch.finfo(dtype).eps ** 0.5)"
UNCHANGED = "assert all(map(torch.equal, given, (q, k, v)))"
variants.right(exercise,
    ("manual_seed(0)", "manual_seed(3)", "(False, 4, 7), (True, 24, 24)",
     "(False, 7, 4), (True, 21, 21)", "(m, 3)", "(m, 6)"),
    (MEAN, "as_a_matrix(q, k, v, causal)"),
    (KIND, "if got.shape != want.shape or got.dtype != want.dtype:\n"
           "                raise TypeError(f'expected {want.shape}, got {got.shape}')",
     NUMBERS, "if not (got - want).abs().max() < 1e-4:\n"
              "                raise ValueError('the numbers differ')"),
)  # fmt: skip
NOTHING_REFUSED = (
    "it refuses nothing: call linear_attention, assert what must hold, and catch none of the errors"
)
# which of the right ones are refused is chance
EXACT = "assert any(got.equal(form(q, k, v, causal)) for form in ({},))"
FORMS = [form.__name__ for form in (as_a_matrix, by_sums, token_by_token)]
SOME = *combinations(FORMS, 1), *combinations(FORMS, 2)
variants.wrong(exercise, {
    "no wrong number fails it: assert, against numbers worked out without linear_attention. What a "
    "test returns is not looked at, and a condition and a message in brackets are always true": [
        (KIND, "pass", NUMBERS, "agreed = torch.allclose(got, want)",
         UNCHANGED, "pass\n    return agreed"),
        (KIND, "outcome = torch.allclose(got, want), 'the numbers differ'",
         NUMBERS, "assert outcome", UNCHANGED, "pass")],
    NOTHING_REFUSED: ["batches = ()", errors_caught(exercise.valid_answers[0])],
    "what it expects comes from linear_attention itself: work it out without it": (
        MEAN, "linear_attention(q, k, v, causal=causal)"),
    "it looks at shape and dtype only: compare the numbers, too": (NUMBERS, "pass"),
    "it asks only that the mean lies between the values, so many wrong weights pass: compare the "
    "numbers": (
        # numbers among which a mean is near the least value, and one near the largest
        "manual_seed(0)", "manual_seed(277)",
        NUMBERS, "assert (got >= v.amin(-2, True) - 1e-6).all()\n"
                 "            assert (got <= v.amax(-2, True) + 1e-6).all()"),
    "all values are ones: whatever the weights, their mean is 1. Draw the values": (
        GIVEN, f"            v = torch.ones_like(v)\n{GIVEN}"),
    "causal is never tried: try it, too": "lengths = ((False, 4, 7),)",
    "causal is always True: try it without, where every query sees all keys":
        "lengths = ((True, 24, 24),)",
    "only the last token of the causal form is compared, and it sees all keys anyway: compare all":
        ("(got, want,", "(got[..., -1, :], want[..., -1, :],"),
    "only the first token is compared: in the causal form it sees itself alone": (
        "(got, want,", "(got[..., 0, :], want[..., 0, :],"),
    "all sequences are short: what lies far back could be forgotten. Try more than 20 "
    "tokens": [f"lengths = (False, 4, 7), (True, {n}, {n})" for n in (6, 20)],
    "there are always as many queries as keys: without causal, try fewer":
        "lengths = (False, 7, 7), (True, 24, 24)",
    "the values are as wide as the keys: give them a width of their own": ("(m, 3)", "(m, 5)"),
    "q and k are positive, where elu(x) + 1 is x + 1: draw negative numbers as well": (
        GIVEN, f"            q, k = q.abs(), k.abs()\n{GIVEN}"),
    "every input has one batch axis: try two matrices, too, or two leading axes":
        "batches = ((2,), torch.float64), ((2,), torch.float32)",
    "no input has two leading axes, both longer than 1: try (2, 3), and none at all":
        "batches = ((), torch.float64), ((2,), torch.float32)",
    "every input has a batch: try two matrices without one, too":
        "batches = ((2,), torch.float64), ((2, 3), torch.float32)",
    "no input has a batch: try leading axes, too":
        "batches = ((), torch.float64), ((), torch.float32)",
    "only float64 is tried: float32 should give float32":
        "batches = ((), torch.float64), ((2, 3), torch.float64)",
    "only float32 is tried: float64 should give float64":
        "batches = ((), torch.float32), ((2, 3), torch.float32)",
    "the dtype of the result is not looked at: it should be that of the inputs": (
        KIND, "assert got.shape == want.shape", "(got, want,", "(got.float(), want.float(),"),
    "the shape of the result is not looked at: an axis of size 1 too many passes": (
        KIND, "assert got.dtype == want.dtype"),
    "only what is too large fails it, not what is too small: take abs of the difference": (
        NUMBERS, "assert (got - want).max() < 1e-4"),
    "it does not look whether the inputs are still the same after the call": (UNCHANGED, "pass"),
    "what it expects is worked out after the call, from inputs that may have changed: copy them "
    "first": (
        "[x.clone() for x in (q, k, v)]", "[q, k, v]"),
    "of the inputs, only q is looked at after the call: k and v may change": (
        UNCHANGED, "assert given[0].equal(q)"),
    "k is not looked at after the call: it may change, as q and v may": (
        UNCHANGED, "assert given[0].equal(q) and given[2].equal(v)"),
    "of the inputs, only v is looked at after the call: q and k may change": (
        UNCHANGED, "assert given[2].equal(v)"),
    "the tolerance is too wide: wrong numbers pass, too": (
        "atol=torch.finfo(dtype).eps ** 0.5", "atol=0.05"),
    "it refuses right ones that add in another order: allow for rounding. float32 holds 7 digits, "
    "and of a sum near 0 fewer, where torch.allclose goes by atol, 1e-8 unless you give one": [
        (NUMBERS, EXACT.format(", ".join(some))) for some in SOME],
    "its own formula does not normalise, so it refuses what is right": (MEAN, "weights @ v"),
    "its own formula has the feature map exp, so it refuses what is right": (
        "(elu(q) + 1) @ (elu(k) + 1)", "q.exp() @ k.exp()"),
    "its own formula does not look at causal, so it refuses what is right": (
        "weights.tril()", "weights"),
    "it views the result in another shape, which a right one that is not contiguous cannot do: "
    "compare it as it is, or reshape": ("(got, want,", "(got.view(-1), want.view(-1),"),
    "it calls with fewer queries than keys and causal: if causal, take as many of both":
        "lengths = (False, 4, 7), (True, 24, 24), (True, 5, 9)",
    "it refuses the right ones, too: run it on a form you trust, and allow for rounding": (
        KIND, "assert got.shape == q.shape", NUMBERS, "pass"),
})  # fmt: skip
