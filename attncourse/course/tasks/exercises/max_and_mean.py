"""Exercise max_and_mean: one vector for a text, from the largest and the mean of its numbers."""

import torch

from judge import messages, variants
from judge.exercise import FINITE, Case, Exercise
from judge.variants import every

LOOP = "it loops over tokens or texts: let the maximum and the sum take a whole axis at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def text_by_text(x, real):
    n, d = x.shape[-2:]
    pooled = []
    for rows, mask in zip(x.reshape(-1, n, d), real.reshape(-1, n), strict=True):
        tokens = [row for row, keep in zip(rows, mask.tolist(), strict=True) if keep]
        # of no rows the sum is 0, and so is its gradient
        largest = mean = rows[:0].sum(0)
        if tokens:
            mean = sum(tokens) / len(tokens)
            largest = torch.stack([max(column) for column in torch.stack(tokens).unbind(-1)])
        pooled.append(torch.cat([largest, mean]))
    return torch.stack(pooled).reshape(*x.shape[:-2], 2 * d)


@exercise.unread(*FINITE)
def padding(x, real):
    return {"x": ~real[..., None]}


@exercise.cases
def cases(draw):
    n, d = draw.sizes(2, 5, 8)
    x, real = draw.normal(4, n, d), draw.mask(4, n)
    longer_inputs = draw.normal(16, 48, d), draw.mask(16, 48)
    yield Case(f"4 texts, n={n}, d={d}", (x, real), longer=longer_inputs)
    yield Case(f"one text without a batch, n={n}, d={d}", (x[0], real[0]))
    yield Case("two leading axes", (draw.normal(2, 3, 6, 4), draw.mask(2, 3, 6)))
    yield Case("no padding", (x, torch.ones_like(real)))
    empty = real & (torch.arange(4) != 1)[:, None]
    yield Case("the second of 4 texts has no tokens", (x, empty))
    yield Case("one text, without tokens", (x[0], torch.zeros_like(real[0])))
    yield Case("all numbers below 0", (-0.5 - x.abs(), real))
    yield Case("all numbers below -10^33", (-1e33 * (1 + x.abs()), empty), gradient=False)
    yield Case("padding with large numbers", (x.where(real[..., None], 1e6 + x), empty))
    ends = torch.arange(n) < torch.tensor([2, 3, 1, n - 1])[:, None]
    yield Case("padding at the end", (x, ends))
    yield Case("padding in front", (x, ends.flip(-1)))
    zeros = -x.abs() * (torch.arange(n) > 0)[:, None]
    yield Case("a token whose numbers are all 0", (zeros, ends), gradient=False)
    yield Case("all sizes 4", (draw.normal(4, 4, 4), draw.mask(4, 4)))
    yield Case("one token", (x[:, :1], torch.tensor([True, False, True, True])[:, None]))
    yield Case("one number a token", (x[..., :1], empty))


# all numbers of the token that is the largest by some size
CHOSEN = "highest = x.take_along_dim(size.argmax(-2, keepdim=True), -2)[..., 0, :]"
variants.right(exercise,
    "highest = x.masked_fill(~real, -torch.inf).max(dim=-2).values\n"
    "total = torch.einsum('...nd,...nk->...d', x, real.to(x.dtype))",
    "highest = x.masked_fill(~real, torch.finfo(x.dtype).min).amax(dim=-2)\n"
    "largest = highest * (count > 0)\n"
    "total = (x * real).sum(-2)",
    "highest = -torch.where(real, -x, torch.inf).amin(-2)\n"
    "largest = torch.where(count > 0, highest, torch.zeros_like(highest))\n"
    "return torch.stack([largest, mean], dim=-2).flatten(-2)",
    "highest = x.where(real, -torch.inf).sort(dim=-2).values[..., -1, :]\n"
    "mean = x.where(real, torch.nan).nanmean(-2).where(count > 0, 0.0)",
    "highest = x.masked_fill(~real, -torch.inf).cummax(-2).values[..., -1, :]\n"
    "total = (real.mT.to(x.dtype) @ x).squeeze(-2)\n"
    "mean = total / (count + (count == 0))",
    # padding repeats the first real token, so that nothing has to be masked
    "own, begin = torch.arange(x.shape[-2], device=x.device), real.int().argmax(-2, keepdim=True)\n"
    "highest = x.gather(-2, torch.where(real, own[:, None], begin).expand(x.shape)).max(-2)[0]",
)  # fmt: skip
variants.wrong(exercise, {
    "padding is made 0 for the maximum, and all numbers may be below 0: fill it with -infinity": [
        ("-torch.inf", "0.0"), "highest = (x * real).amax(-2)"],
    "numbers may be smaller than the fill for the maximum: fill with -infinity": [
        ("-torch.inf", fill) for fill in ("-100.0", "-1e4", "-1e9", "-1e30")],
    "the maximum is lowered at padding by a number that padding may exceed: fill with -infinity": [
        f"highest = (x - {much} * ~real).amax(-2)" for much in ("1e9", "1e34", "1e35", "1e37")],
    "digits are lost where the smallest number is taken away first: fill with -infinity":
        "highest = ((x - x.amin(-2, True)) * real).amax(-2) + x.amin(-2)",
    "a maximum far below 0 is taken for that of a text without tokens: count the tokens": [
        f"largest = highest.where(highest > {least}, 0.0)" for least in ("-1e4", "-1e9", "-1e30")],
    "no float32 is as small as this fill: fill with -infinity": (
        "-torch.inf", "torch.finfo(torch.float64).min"),
    "padding takes part in the maximum: fill it with -infinity": "highest = x.amax(-2)",
    "padding takes part in the mean: let it add nothing to the sum": "total = x.sum(-2)",
    "padding takes part in both halves: count it in neither":
        "highest = x.amax(-2)\nmean = x.mean(-2)",
    "the mean divides by all n places: divide by the number of real tokens": [
        "mean = x.masked_fill(~real, 0.0).mean(-2)", "mean = total / x.shape[-2]"],
    "the mean divides by one token too many: where there is none, divide by 1, and nowhere else":
        "mean = total / (count + 1)",
    "an epsilon in the mean shows: divide by the number of tokens, but at least by 1": [
        f"mean = total / (count + {epsilon})" for epsilon in ("1e-3", "1e-6")],
    "one number of tokens is used for all texts: take each text's own":
        "mean = total / count.max()",
    "the number of tokens is that of the whole batch: take each text's own":
        "mean = total / real.sum().clamp(min=1)",
    "this is the sum: divide it by the number of real tokens": "mean = total",
    "tokens are taken for padding because their numbers are 0: go by the mask alone": [
        "real = (x != 0).any(-1, keepdim=True)",
        "real = real[..., None] & (x != 0).any(-1, keepdim=True)"],
    "the padding is taken to be at the end: go by the mask, it may stand anywhere":
        "lengths = real.sum(-1, keepdim=True)\n"
        "real = (torch.arange(x.shape[-2], device=x.device) < lengths)[..., None]",
    "the mask is upside down: True should mean a real token": (every("~real"), "real"),
    "the mask is upside down, and the count too: True should mean a real token":
        "real = ~real[..., None]",
    "a text without tokens has -infinity for its maximum: give zeros": "largest = highest",
    "a text without tokens has NaN for its mean: give zeros": "mean = total / count",
    "a text without tokens has neither zeros nor numbers: give zeros in both halves":
        "largest = highest\nmean = total / count",
    "a text without tokens has a NaN gradient: divide by at least 1, and do not replace NaN "
    "afterwards": "total = (x * real).sum(-2)\nmean = (total / count).nan_to_num(0.0)",
    messages.CUT_OFF: (
        "    count", "    if not real.any():\n"
        "        return x.new_zeros(*x.shape[:-2], 2 * x.shape[-1])\n    count"),
    "the first place is taken for a token everywhere: go by the mask, a text may begin with "
    "padding, or have "
    "no tokens": "real = torch.cat([real[..., :1] | True, real[..., 1:]], -1)[..., None]",
    "one text without tokens makes all of them zeros: it alone should be":
        "return torch.cat([largest, mean], dim=-1) * (count > 0).all()",
    "the maximum is never below 0: set only that of a text without tokens to 0":
        "largest = highest.clamp(min=0)",
    "the halves come in another order: put the maximum first, then the mean": (
        "[largest, mean]", "[mean, largest]"),
    "the halves lie side by side on an axis of their own: join them on the last axis":
        "return torch.stack([largest, mean], dim=-2)",
    "the numbers of the halves alternate: put all maxima first, then all means":
        "return torch.stack([largest, mean], dim=-1).flatten(-2)",
    "cat joins on the first axis, that of the batch, where it is told no other: say the last":
        "return torch.cat([largest, mean])",
    "the halves are added: join them on the last axis, which gets 2 d numbers":
        "return largest + mean",
    "only the maximum comes back: put the mean after it": "return largest",
    "only the mean comes back: put the maximum before it": "return mean",
    "the maximum runs over the d numbers of a token: let it run over the tokens":
        "highest = x.masked_fill(~real, -torch.inf).amax(dim=-1)\n"
        "largest = highest.where(real[..., 0], 0.0)",
    "one token is chosen for all numbers: take the maximum of each of the d numbers by itself": [
        f"size = x.norm(dim=-1, keepdim=True).masked_fill(~real, -1)\n{CHOSEN}",
        f"size = x.abs().sum(-1, keepdim=True).masked_fill(~real, -1)\n{CHOSEN}",
        f"size = x.sum(-1, keepdim=True).masked_fill(~real, -torch.inf)\n{CHOSEN}"],
    "the largest without its sign is taken: keep the sign, -3 is smaller than 2": [
        "highest = x.abs().masked_fill(~real, -torch.inf).amax(-2)",
        f"size = x.abs().masked_fill(~real, -1)\n{CHOSEN}"],
    "these are the smallest numbers: take the largest":
        "highest = x.masked_fill(~real, torch.inf).amin(-2)",
    "these are the places of the largest: take the numbers themselves":
        "highest = x.masked_fill(~real, -torch.inf).argmax(-2).to(x.dtype)",
    "the maximum is that of the whole batch: take each text's own":
        "rows = x.masked_fill(~real, -torch.inf).flatten(0, -2)\n"
        "highest = rows.amax(0).expand(*x.shape[:-2], x.shape[-1])",
    "the mean is taken of numbers filled for the maximum: for the sum, fill padding with 0":
        "total = x.masked_fill(~real, -torch.inf).sum(-2)",
    "the median is taken, which is no mean: add up, and divide by the number of tokens":
        "mean = x.where(real, torch.nan).nanmedian(-2).values.where(count > 0, 0.0)",
    messages.BATCH: ("amax(dim=-2)", "amax(dim=1)"),
    messages.CHANGES: "highest = x.masked_fill_(~real, -torch.inf).amax(-2)",
    LOOP: "total = sum(x[..., i, :] * real[..., i, :] for i in range(x.shape[-2]))",
    "no gradient reaches x through the maximum: don't detach anything":
        "highest = x.detach().masked_fill(~real, -torch.inf).amax(dim=-2)",
    "no gradient reaches x through the mean: don't detach anything":
        "total = x.detach().masked_fill(~real, 0.0).sum(dim=-2)",
})  # fmt: skip
