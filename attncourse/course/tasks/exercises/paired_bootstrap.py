"""Exercise paired_bootstrap: how often the better of two models is better on resampled tests."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over samples or examples: index with all samples at once"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def sample_by_sample(first, second, indices):
    shares, n = [], first.shape[-1]
    pairs = zip(first.reshape(-1, n).tolist(), second.reshape(-1, n).tolist(), strict=True)
    for first_right, second_right in pairs:
        points = 0.0
        for sample in indices.tolist():
            ahead = sum(second_right[i] for i in sample) - sum(first_right[i] for i in sample)
            points += 1 if ahead > 0 else 0.5 if ahead == 0 else 0
        shares.append(points / len(indices))
    return torch.tensor(shares).reshape(first.shape[:-1])


def draw_inputs(draw, *batch, n, samples, accuracies=(0.6, 0.7)):
    """Which examples the models get right, and the examples of each sample."""
    chance = [torch.rand(*batch, n, generator=draw.generator) for _ in accuracies]
    first, second = (number < limit for number, limit in zip(chance, accuracies, strict=True))
    return first, second, torch.randint(n, (samples, n), generator=draw.generator)


@exercise.cases
def cases(draw):
    n, samples = draw.integer(9, 10), draw.integer(11, 13)
    first, second, indices = draw_inputs(draw, 3, n=n, samples=samples)
    sizes = f"{n} examples, {samples} samples"
    yield Case(f"3 pairs of models, {sizes}", (first, second, indices),
               longer=draw_inputs(draw, 3, n=40, samples=50))  # fmt: skip
    yield Case(f"one pair, {sizes}", (first[0], second[0], indices))
    yield Case("two leading axes", draw_inputs(draw, 2, 3, n=6, samples=15))
    yield Case("more examples than samples", draw_inputs(draw, 2, n=14, samples=5))
    yield Case("as many pairs as examples and samples", draw_inputs(draw, 7, n=7, samples=7))
    yield Case("two models that give the same answers", (first, first.clone(), indices))
    yield Case("the second model gets all right", (first & (torch.arange(n) > 0),
               torch.ones_like(first), indices))  # fmt: skip
    yield Case("the first model gets all right", (torch.ones_like(first), second, indices))
    yield Case("few examples, so that many samples are tied", draw_inputs(draw, 4, n=3, samples=20))
    # each is right where the other is wrong
    yield Case("models that never agree", (first, ~first, indices))
    again = indices.where(torch.arange(n) > n // 2, indices[:, :1])
    yield Case("examples that are drawn again and again", (first, second, again))
    # no 8-bit number holds such counts, or the difference of two, and bfloat16 not each of them
    right = torch.arange(400) < torch.tensor([[75, 225, 30, 300], [150, 300, 230, 302]])[..., None]
    many_indices = torch.randint(400, (40, 400), generator=draw.generator)
    yield Case("400 examples", (*right, many_indices))
    yield Case("1 sample", (first, second, indices[:1]))
    yield Case("1 example", (first[:, :1], second[:, :1], torch.zeros(4, 1, dtype=torch.int64)))


@exercise.valid
def times_drawn(first, second, indices):
    times = torch.nn.functional.one_hot(indices, first.shape[-1]).sum(dim=-2)
    ahead = (second.float() - first.float()) @ times.float().T
    return torch.heaviside(ahead, ahead.new_tensor(0.5)).mean(-1)


COUNT, SHARE = every(".sum(dim=-1)"), "((b > a) + 0.5 * (b == a)).mean(dim=-1)"
variants.right(exercise,
    "a = 0\n"
    "b = (second.int() - first.int())[..., indices].sum(-1)\n"
    "return ((1 + b.sign()) / 2).mean(dim=-1)",
    # where both are right, or both wrong, nothing changes
    "a = (first & ~second)[..., indices].count_nonzero(dim=-1)\n"
    "b = (second & ~first)[..., indices].count_nonzero(dim=-1)\n"
    "return (b > a).float().mean(-1) / 2 + (b >= a).float().mean(-1) / 2",
    "places = indices.expand(*first.shape[:-1], *indices.shape)\n"
    "a = first[..., None, :].expand(places.shape).gather(-1, places).float().mean(dim=-1)\n"
    "b = second[..., None, :].expand(places.shape).gather(-1, places).float().mean(dim=-1)\n"
    "return torch.where(b == a, 0.5, (b > a).float()).mean(dim=-1)",
    "a = first.index_select(-1, indices.flatten()).unflatten(-1, indices.shape).sum(-1)\n"
    "return ((b > a) + 0.5 * (b == a)).sum(-1) / len(indices)",
)  # fmt: skip
variants.wrong(exercise, {
    "tied samples count for nothing: they should count half": "return (b > a).float().mean(dim=-1)",
    "tied samples count as won: they should count half": "return (b >= a).float().mean(dim=-1)",
    "tied samples are left out: they should count half, so divide by the number of all samples":
        "return (b > a).float().sum(-1) / (b != a).sum(-1).clamp(min=1)",
    "this is how often the first model is better: ask how often the second has more right": [
        ("b > a", "b < a"), ("first[", "(~first)[", "second[", "(~second)[")],
    "lost samples are subtracted: they should count 0, tied ones half, won ones 1":
        "return ((b > a).float() - (b < a).float()).mean(dim=-1)",
    "this is how often the better one is better: ask for the second, whichever that is":
        f"share = {SHARE}\nreturn share.maximum(1 - share)",
    "no test set is drawn: take the examples of each row of `indices`":
        "a = first.sum(dim=-1, keepdim=True)\nb = second.sum(dim=-1, keepdim=True)",
    "only the first model's test sets are drawn: let both take the same ones":
        "b = second.sum(dim=-1, keepdim=True)",
    "only the second model's test sets are drawn: let both take the same ones":
        "a = first.sum(dim=-1, keepdim=True)",
    "each model takes other test sets: let both take the same one, which is what paired means": [
        "b = second[..., indices.roll(1, 0)].sum(dim=-1)",
        "b = second[..., indices.flip(0)].sum(dim=-1)"],
    "the sum runs over the samples: a test set is a row, so add up over the last axis": [
        (COUNT, ".sum(dim=-2)"), (every("indices]"), "indices.T]")],
    "an example that is drawn twice counts once: it should count as often as it is drawn":
        "times = torch.zeros(len(indices), first.shape[-1], device=first.device)\n"
        "drawn = times.scatter(-1, indices, 1.0) > 0\n"
        "a = (first[..., None, :] & drawn).sum(dim=-1)\n"
        "b = (second[..., None, :] & drawn).sum(dim=-1)",
    "the models are compared example by example: count the right answers of a test set first": (
        COUNT, ".int()", "mean(dim=-1)", "mean(dim=(-1, -2))"),
    "this is the mean difference in accuracy: ask how often the second model is ahead":
        "return ((b - a) / indices.shape[-1]).mean(dim=-1)",
    "this is the number of samples: divide by how many there are": ("mean(", "sum("),
    "it is divided by the number of examples: divide by that of samples": (
        ".mean(dim=-1)", ".sum(dim=-1) / indices.shape[-1]"),
    "there is one share for all pairs of models: give each its own": ("mean(dim=-1)", "mean()"),
    "this is a number for each sample: take the mean over the samples": (".mean(dim=-1)", ""),
    "only the first sample is used: take all rows of `indices`": (
        every("indices]"), "indices[:1]]"),
    "the last sample is missing: take all rows of `indices`": (
        ".mean(", "[..., : max(1, len(indices) - 1)].mean("),
    "the last example of each sample is missing: take all n of a row": (
        every("indices]"), "indices[:, : max(1, indices.shape[-1] - 1)]]"),
    "one right answer counts for the whole test set: count them all": (COUNT, ".any(dim=-1).int()"),
    "8 bits, or bfloat16, do not hold the count of a large test set: leave the dtype to sum": [
        "a = 0\n"
        "ahead = second.to(torch.int8) - first.to(torch.int8)\n"
        "b = ahead[..., indices].sum(dim=-1, dtype=torch.int8)",
        (COUNT, ".sum(dim=-1).bfloat16()", "(b > a)", "(b > a).float()"),
        *((COUNT, f".sum(dim=-1, dtype=torch.{dtype})") for dtype in ("uint8", "int8"))],
    "it draws samples of its own: take the rows of `indices`":
        "own = torch.Generator().manual_seed(0)\n"
        "drawn = torch.randint(first.shape[-1], indices.shape, generator=own)\n"
        "indices = drawn.to(indices.device)\n"
        "a = first[..., indices].sum(dim=-1)",
    "this says whether the second model wins most samples: return the share itself":
        f"return ({SHARE} > 0.5).float()",
    "this is true or false: return the share itself": f"return {SHARE} >= 0.95",
    "the share is float64: return float32": [
        f"return {SHARE}.double()", ("(b > a)", "(b > a).double()")],
    "this is the share of test sets that the second does not win: return the share that it wins":
        "return 1 - (b > a).float().mean(dim=-1)",
    "the median of the samples is taken: take their mean": (
        "mean(dim=-1)", "median(dim=-1).values"),
    "the counts are sorted first: compare the two models within each sample": (
        COUNT, ".sum(dim=-1).sort(dim=-1).values"),
    "how far the second model is ahead on the whole test is taken away: compare as it is":
        "b = second[..., indices].sum(dim=-1) - (second.sum(-1) - first.sum(-1))[..., None]",
    "accuracies are rounded before they are compared: compare the counts": (
        COUNT, ".float().mean(-1).round()"),
    "it gives a plain number or a list: return a tensor": f"return {SHARE}.tolist()",
    LOOP: [
        "a = torch.stack([first[..., indices[i]].sum(-1) for i in range(len(indices))], -1)",
        "points = (b > a) + 0.5 * (b == a)\n"
        "return sum(points[..., i] for i in range(len(indices))) / len(indices)"],
    messages.CHANGES:
        "a = first.logical_and_(~second)[..., indices].sum(dim=-1)\n"
        "b = (second & ~(first & second))[..., indices].sum(dim=-1)",
    messages.BATCH: ("first[...", "first[:", "second[...", "second[:"),
})  # fmt: skip
