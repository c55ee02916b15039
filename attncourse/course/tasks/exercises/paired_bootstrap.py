"""Exercise paired_bootstrap: how often the better of two models is better on resampled tests."""

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over samples or examples: index with all samples at once"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    usual_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
)


@exercise.reference
def sample_by_sample(first, second, indices):
    shares, n = [], first.shape[-1]
    pairs = zip(first.reshape(-1, n).tolist(), second.reshape(-1, n).tolist(), strict=True)
    for one, other in pairs:
        points = 0.0
        for sample in indices.tolist():
            ahead = sum(other[i] for i in sample) - sum(one[i] for i in sample)
            points += 1 if ahead > 0 else 0.5 if ahead == 0 else 0
        shares.append(points / len(indices))
    return torch.tensor(shares).reshape(first.shape[:-1])


def drawn(draw, *batch, n, samples, likely=(0.6, 0.7)):
    """Which examples the models get right, and the examples of each sample."""
    chance = [torch.rand(*batch, n, generator=draw.generator) for _ in likely]
    first, second = (one < limit for one, limit in zip(chance, likely, strict=True))
    return first, second, torch.randint(n, (samples, n), generator=draw.generator)


@exercise.cases
def cases(draw):
    n, samples = draw.integer(9, 10), draw.integer(11, 13)
    first, second, indices = drawn(draw, 3, n=n, samples=samples)
    sizes = f"{n} examples, {samples} samples"
    yield Case(f"3 pairs of models, {sizes}", (first, second, indices),
               longer=drawn(draw, 3, n=40, samples=50))  # fmt: skip
    yield Case(f"one pair, {sizes}", (first[0], second[0], indices))
    yield Case("two leading axes", drawn(draw, 2, 3, n=6, samples=15))
    yield Case("more examples than samples", drawn(draw, 2, n=14, samples=5))
    yield Case("as many pairs as examples and samples", drawn(draw, 7, n=7, samples=7))
    yield Case("two models that give the same answers", (first, first.clone(), indices))
    yield Case("the second model gets all right", (first & (torch.arange(n) > 0),
               torch.ones_like(first), indices))  # fmt: skip
    yield Case("the first model gets all right", (torch.ones_like(first), second, indices))
    yield Case("few examples, so that many samples are tied", drawn(draw, 4, n=3, samples=20))
    # each is right where the other is wrong
    yield Case("models that never agree", (first, ~first, indices))
    again = indices.where(torch.arange(n) > n // 2, indices[:, :1])
    yield Case("examples that are drawn again and again", (first, second, again))
    # no 8-bit number holds such counts, or the difference of two, and bfloat16 not each of them
    right = torch.arange(400) < torch.tensor([[75, 225, 30, 300], [150, 300, 230, 302]])[..., None]
    many = torch.randint(400, (40, 400), generator=draw.generator)
    yield Case("400 examples", (*right, many))
    yield Case("1 sample", (first, second, indices[:1]))
    yield Case("1 example", (first[:, :1], second[:, :1], torch.zeros(4, 1, dtype=torch.int64)))


@exercise.valid
def plain(first, second, indices):
    a = first[..., indices].sum(dim=-1)
    b = second[..., indices].sum(dim=-1)
    points = (b > a) + 0.5 * (b == a)
    share = points.mean(dim=-1)
    return share


@exercise.valid
def times_drawn(first, second, indices):
    times = torch.nn.functional.one_hot(indices, first.shape[-1]).sum(dim=-2)
    ahead = (second.float() - first.float()) @ times.float().T
    return torch.heaviside(ahead, ahead.new_tensor(0.5)).mean(-1)


A, B = "first[..., indices].sum(dim=-1)", "second[..., indices].sum(dim=-1)"
POINTS, SHARE = "(b > a) + 0.5 * (b == a)", "points.mean(dim=-1)"
PICKED = (
    "torch.gather({}.unsqueeze(-2).expand(*first.shape[:-1], *indices.shape), -1,\n"
    "        indices.expand(*first.shape[:-1], -1, -1)).float().mean(dim=-1)"
)
EACH = "range(len(indices))"
variants.right(exercise,
    (A, "0", B, "(second.int() - first.int())[..., indices].sum(-1)",
     POINTS, "(1 + b.sign()) / 2"),
    # where both are right, or both wrong, nothing changes
    (A, "(first & ~second)[..., indices].count_nonzero(dim=-1)",
     B, "(second & ~first)[..., indices].count_nonzero(dim=-1)",
     SHARE, "(b > a).float().mean(-1) / 2 + (b >= a).float().mean(-1) / 2"),
    (A, PICKED.format("first"), B, PICKED.format("second"),
     POINTS, "torch.where(b == a, 0.5, (b > a).float())"),
    (A, "first.index_select(-1, indices.flatten()).unflatten(-1, indices.shape).sum(-1)",
     SHARE, "points.sum(-1) / len(indices)"),
)  # fmt: skip
variants.wrong(exercise, {
    "tied samples count for nothing: they count half": (POINTS, "(b > a).float()"),
    "tied samples count as won: they count half": (POINTS, "(b >= a).float()"),
    "tied samples are left out: they count half, and all samples are divided by": (
        SHARE, "(b > a).float().sum(-1) / (b != a).sum(-1).clamp(min=1)"),
    "this is how often the first model is better: ask how often the second has more right": [
        (POINTS, "(b < a) + 0.5 * (b == a)"),
        (A, "(~first)[..., indices].sum(dim=-1)", B, "(~second)[..., indices].sum(dim=-1)")],
    "lost samples are subtracted: they count 0, tied ones half, won ones 1": (
        POINTS, "(b > a).float() - (b < a).float()"),
    "this is how often the better one is better: ask for the second, whichever that is": (
        SHARE, "points.mean(dim=-1).maximum(1 - points.mean(dim=-1))"),
    "no test set is drawn: take the examples of each row of `indices`": (
        A, "first.sum(dim=-1, keepdim=True)", B, "second.sum(dim=-1, keepdim=True)"),
    "only the first model's test sets are drawn: both take the same ones": (
        B, "second.sum(dim=-1, keepdim=True)"),
    "only the second model's test sets are drawn: both take the same ones": (
        A, "first.sum(dim=-1, keepdim=True)"),
    "each model takes other test sets: both take the same one, which is what paired means": [
        (B, "second[..., indices.roll(1, 0)].sum(dim=-1)"),
        (B, "second[..., indices.flip(0)].sum(dim=-1)")],
    "the sum runs over the samples: a test set is a row, so add up over the last axis": [
        (A, "first[..., indices].sum(dim=-2)", B, "second[..., indices].sum(dim=-2)"),
        (A, "first[..., indices.T].sum(dim=-1)", B, "second[..., indices.T].sum(dim=-1)")],
    "an example that is drawn twice counts once: it counts as often as it is drawn": (
        "    a =", "    drawn = torch.zeros(len(indices), first.shape[-1], device=first.device)\n"
        "    drawn = drawn.scatter(-1, indices, 1.0) > 0\n    a =",
        A, "(first[..., None, :] & drawn).sum(dim=-1)",
        B, "(second[..., None, :] & drawn).sum(dim=-1)"),
    "the models are compared example by example: count the right answers of a test set first": (
        A, "first[..., indices].int()", B, "second[..., indices].int()",
        SHARE, "points.mean(dim=(-1, -2))"),
    "this is the mean difference in accuracy: ask how often the second model is ahead": (
        POINTS, "(b - a) / indices.shape[-1]"),
    "this is the number of samples: divide by how many there are": (SHARE, "points.sum(dim=-1)"),
    "it is divided by the number of examples: divide by that of samples": (
        SHARE, "points.sum(dim=-1) / indices.shape[-1]"),
    "there is one share for all pairs of models: each has its own": (SHARE, "points.mean()"),
    "this is a number for each sample: take the mean over the samples": (SHARE, "points"),
    "only the first sample is used: take all rows of `indices`": (
        A, "first[..., indices[:1]].sum(dim=-1)", B, "second[..., indices[:1]].sum(dim=-1)"),
    "the last sample is missing: take all rows of `indices`": (
        SHARE, "points[..., : max(1, len(indices) - 1)].mean(dim=-1)"),
    "the last example of each sample is missing: a row has n of them": (
        A, "first[..., indices[:, : max(1, indices.shape[-1] - 1)]].sum(dim=-1)",
        B, "second[..., indices[:, : max(1, indices.shape[-1] - 1)]].sum(dim=-1)"),
    "one right answer in a test set is enough for it: count them": (
        A, "first[..., indices].any(dim=-1).int()", B, "second[..., indices].any(dim=-1).int()"),
    "8 bits, or bfloat16, do not hold the count of a large test set: leave the dtype to sum": [
        (A, "0", B, "(second.to(torch.int8) - first.to(torch.int8))[..., indices]"
         ".sum(dim=-1, dtype=torch.int8)"),
        (A, f"{A}.bfloat16()", B, f"{B}.bfloat16()", POINTS, "(b > a).float() + 0.5 * (b == a)"),
        (A, "first[..., indices].sum(dim=-1, dtype=torch.uint8)",
         B, "second[..., indices].sum(dim=-1, dtype=torch.uint8)"),
        (A, "first[..., indices].sum(dim=-1, dtype=torch.int8)",
         B, "second[..., indices].sum(dim=-1, dtype=torch.int8)")],
    "it draws samples of its own: take the rows of `indices`": (
        "    a =", "    indices = torch.randint(first.shape[-1], indices.shape, "
        "generator=torch.Generator().manual_seed(0)).to(indices.device)\n    a ="),
    "this says whether the second model wins most samples: return the share itself": (
        "return share", "return (share > 0.5).float()"),
    "this is true or false: return the share itself": (
        "return share", "return share >= 0.95"),
    "the share is float64: it is asked for in float32": [
        ("return share", "return share.double()"),
        (POINTS, "(b > a).double() + 0.5 * (b == a)")],
    "this is the share of test sets that the second does not win": (
        "return share", "return 1 - (b > a).float().mean(dim=-1)"),
    "the median of the samples is taken: take their mean": (
        SHARE, "points.median(dim=-1).values"),
    "the counts are sorted first: the two models are compared within each sample": (
        A, f"{A}.sort(dim=-1).values", B, f"{B}.sort(dim=-1).values"),
    "how far the second model is ahead on the whole test is taken away: compare as it is": (
        B, f"{B} - (second.sum(-1) - first.sum(-1))[..., None]"),
    "accuracies are rounded before they are compared: compare the counts": (
        A, "first[..., indices].float().mean(-1).round()",
        B, "second[..., indices].float().mean(-1).round()"),
    "it gives a plain number or a list: return a tensor": ("return share", "return share.tolist()"),
    LOOP: [
        (A, f"torch.stack([first[..., indices[i]].sum(-1) for i in {EACH}], -1)"),
        (SHARE, f"sum(points[..., i] for i in {EACH}) / len(indices)")],
    hints.CHANGES: (A, "first.logical_and_(~second)[..., indices].sum(dim=-1)",
                    B, "(second & ~(first & second))[..., indices].sum(dim=-1)"),
    hints.BATCH: (A, "first[:, indices].sum(dim=-1)", B, "second[:, indices].sum(dim=-1)"),
})  # fmt: skip
