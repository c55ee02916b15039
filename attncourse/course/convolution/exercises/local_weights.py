"""Exercise local_weights: attention weights within a window, and no n x n scores."""

import torch

from attncourse.course.convolution.exercises.shared.windows import FILL, KEYS, LATE, NAN
from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the queries: compute the scores of all windows at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(q, k, width):
    n, side, rows = q.shape[-2], width // 2, []
    masked_score = torch.full_like(q[..., 0, 0], -torch.inf)
    for i in range(n):
        scores = [
            (q[..., i, :] * k[..., j, :]).sum(-1) / q.shape[-1] ** 0.5
            if 0 <= j < n
            else masked_score
            for j in range(i - side, i + side + 1)
        ]
        rows.append(torch.stack(scores, dim=-1).softmax(-1))
    return torch.stack(rows, dim=-2)


@exercise.cases
def cases(draw):
    # a width for which no wrong scale of those below is the right one
    n, d = draw.integer(7, 8), draw.integer(9, 11)
    q, k = draw.normal(2, n, d), draw.normal(2, n, d)
    longer_inputs = draw.normal(2, 40, d), draw.normal(2, 40, d), 5
    yield Case(f"a batch of 2, n={n}, d={d}, width=5", (q, k, 5), longer=longer_inputs)
    yield Case(f"two matrices without a batch, n={n}, d={d}, width=3", (q[0], k[0], 3))
    heads = draw.normal(2, 3, 4, 5), draw.normal(2, 3, 4, 5), 3
    yield Case("two leading axes (batch, heads), width=3", heads)
    yield Case(f"a width of 7, n={n}", (q, k, 7))
    yield Case("a width of 9, n=4", (q[:, :4], k[:, :4], 9))
    yield Case("a width of 1", (q, k, 1))
    yield Case("one query and one key, width=3", (q[:, :1], k[:, :1], 3))
    yield Case("queries and keys 60 times larger, width=5", (60 * q, 60 * k, 5))
    # a fill that is not small enough outweighs the keys, and so does a key of zeros
    opposite = 1e6 * (1 + q.abs()), -1e6 * (1 + k.abs()), 5
    yield Case("scores below -1e12, width=5", opposite)
    # its score is 0 as well, and it is no place beyond an end
    zero_first = torch.cat([0 * k[:, :2], k[:, 2:]], dim=1)
    yield Case("the first two keys are zeros, width=5", (q, zero_first, 5), gradient=False)
    wide = draw.normal(20, 2), draw.normal(20, 2), 3
    yield Case("no batch, n=20, d=2, width=3", wide, max_elements=20 * 20 - 1)


variants.right(
    exercise,
    # a loop over a window is none over the positions
    "places = [(q * near[..., c]).sum(-1) for c in range(width)]\n"
    "scores = torch.stack(places, dim=-1) / d**0.5",
    "low = torch.finfo(q.dtype).min\n"
    "parts = scores.masked_fill(outside, low).softmax(dim=-1) * ~outside\n"
    "return parts / parts.sum(-1, keepdim=True)",
    "inside = torch.nn.functional.pad(torch.ones_like(k[..., 0]), (side, side))\n"
    "return (scores - 1e30 * (1 - inside.unfold(-1, width, 1))).softmax(dim=-1)",
    'own = torch.einsum("...id,...icd->...ic", q, k[..., key.clamp(0, n - 1), :]) / d**0.5\n'
    "return torch.where((key >= 0).logical_and(key < n), own, -1e30).softmax(dim=-1)",
)  # fmt: skip
variants.wrong(exercise, {
    "the scores are not scaled: divide by sqrt(d)": (" / d**0.5", ""),
    "the scores are divided by d, not by its square root": ("d**0.5", "d"),
    "the scores are divided by sqrt(n): divide by sqrt(d), d being the width of a key": (
        "d**0.5", "n**0.5"),
    "exp of a large score overflows: subtract the largest score of a row first, or use softmax":
        "parts = scores.exp().masked_fill(outside, 0.0)\n"
        "return parts / parts.sum(-1, keepdim=True)",
    "keys of zeros beyond the ends get weight, since exp(0) = 1: mask their scores": (
        "-torch.inf", "0.0"),
    "zeros are taken for places beyond an end: a key may be zero itself, so ask for its position":
        "outside = scores == 0",
    "the places beyond one end still get weight: mask those below 0 and from n on":
        "outside = key < 0",
    "the mask is off by one place: the keys are 0 to n - 1": [
        "outside = (key < 0) | (key > n)", "outside = (key <= 0) | (key >= n)"],
    NAN: "return (scores + outside.to(q.dtype) * -torch.inf).softmax(dim=-1)",
    FILL: [*(("-torch.inf", low) for low in ("-100.0", "-1e4", "-1e9")),
           *(f"return (scores - {low} * outside).softmax(dim=-1)"
             for low in ("10.0", "100.0", "1e4", "1e9"))],
    KEYS: [("(0, 0, side, side)", f"(0, 0, side, side), value={low}",
            ".masked_fill(outside, -torch.inf)", "") for low in ("-torch.inf", "-1e9")],
    "the mask comes after the softmax, so the rows at the ends no longer sum to one":
        "return scores.softmax(dim=-1) * ~outside",
    LATE:
        "parts = scores.softmax(dim=-1) * ~outside\nreturn parts / parts.sum(-1, keepdim=True)",
    "the two ends are joined: beyond an end there should be no key":
        'joined = torch.einsum("...id,...icd->...ic", q, k[..., key % n, :]) / d**0.5\n'
        "return joined.softmax(dim=-1)",
    "the window lies before its query: half of it should lie after": (
        "side, side)", "width - 1, 0)", "-side, side + 1,", "1 - width, 1,"),
    "the places are in reverse: the first should be that of the earliest key": (
        "softmax(dim=-1)", "softmax(dim=-1).flip(-1)"),
    "these are scores: the softmax over the window is missing": (".softmax(dim=-1)", ""),
    "the softmax runs over the queries: the weights of each window should sum to one": (
        "=-1", "=-2"),
    LOOP:
        "rows = [q[..., i, None, :] @ near[..., i, :, :] for i in range(n)]\n"
        "scores = torch.cat(rows, dim=-2) / d**0.5",
    "it makes all n x n scores: only `width` of a row are needed, so pick the keys first":
        "at = key.clamp(0, n - 1).expand(*q.shape[:-1], width)\n"
        "picked = (q @ k.mT / d**0.5).gather(-1, at)\n"
        "return picked.masked_fill(outside, -torch.inf).softmax(dim=-1)",
    messages.DEVICE: (every(", device=q.device"), ""),
})  # fmt: skip
