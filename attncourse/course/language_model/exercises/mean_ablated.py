"""Exercise mean_ablated: a layer in which some heads give what they give on average."""

import torch

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "you loop over texts or positions: take one mean for each head over all of them"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def head_by_head(z, w_o, heads):
    batch, count, n, width = z.shape
    out = 0
    for head in range(count):
        rows = z[:, head]
        if head in heads:
            mean = sum(rows[b, i] for b in range(batch) for i in range(n)) / (batch * n)
            rows = mean.expand(batch, n, width)
        out = out + rows @ w_o[head * width : (head + 1) * width]
    return out


def draw_heads(draw, batch, heads, n, width, d):
    """Results of heads, each around numbers of its own, and the matrix behind them."""
    z = draw.normal(batch, heads, n, width) + 2 * draw.normal(heads, 1, width)
    return z, draw.normal(heads * width, d)


@exercise.cases
def cases(draw):
    n, width, d = draw.sizes(3, 5, 9)
    z, w_o = draw_heads(draw, 3, 4, n, width, d)
    sizes = f"3 texts, 4 heads, n={n}, d_h={width}, d={d}"
    z_long, w_long = draw_heads(draw, 40, 4, 50, width, d)
    yield Case(f"{sizes}, heads=[1]", (z, w_o, [1]), longer=(z_long, w_long, [1]))
    yield Case(f"{sizes}, heads=[0, 2]", (z, w_o, [0, 2]), longer=(z_long, w_long, [0, 2]))
    yield Case(f"{sizes}, heads=[3, 1]", (z, w_o, [3, 1]))
    yield Case(f"{sizes}, heads=[2, 3, 0]", (z, w_o, [2, 3, 0]))
    yield Case(f"{sizes}, no head is named", (z, w_o, []), longer=(z_long, w_long, []))
    yield Case(f"{sizes}, all heads are named", (z, w_o, [0, 1, 2, 3]))
    yield Case("one text, heads=[0, 1]", (*draw_heads(draw, 1, 3, 6, 4, 5), [0, 1]))
    yield Case("one position, heads=[2]", (*draw_heads(draw, 4, 3, 1, 2, 5), [2]))
    yield Case("one head, heads=[0]", (*draw_heads(draw, 3, 1, 4, 5, 2), [0]))
    yield Case("one head that is not named", (*draw_heads(draw, 3, 1, 4, 5, 2), []))
    yield Case("all sizes 4, heads=[3, 0]", (*draw_heads(draw, 4, 4, 4, 4, 4), [3, 0]))
    yield Case("all sizes 4, heads=[1]", (*draw_heads(draw, 4, 4, 4, 4, 4), [1]))
    yield Case("heads of width 1, heads=[1, 2]", (*draw_heads(draw, 2, 3, 5, 1, 4), [1, 2]))
    yield Case("12 heads, heads=[11, 4, 7, 5]", (*draw_heads(draw, 2, 12, 4, 2, 3), [11, 4, 7, 5]))
    yield Case("one text, one head, one position", (*draw_heads(draw, 1, 1, 1, 2, 3), [0]))


@exercise.valid
def written_into_a_copy(z, w_o, heads):
    out = z.clone()
    for head in heads:
        out[:, head] = z[:, head].mean((0, 1))
    batch, _, n, _ = z.shape
    return out.permute(0, 2, 1, 3).reshape(batch, n, -1) @ w_o


@exercise.valid
def corrected_afterwards(z, w_o, heads):
    parts = w_o.reshape(z.shape[1], z.shape[3], -1)
    out = torch.einsum("bhni,hid->bnd", z, parts)
    for head in heads:
        own = z[:, head]
        out = out + (own.mean((0, 1)) - own) @ parts[head]
    return out


variants.right(exercise,
    "named = torch.tensor([h in heads for h in range(z.shape[1])], device=z.device)\n"
    "mean = z.transpose(1, 2).flatten(0, 1).mean(dim=0).unsqueeze(-2)",
    "mean = z.mean(2, keepdim=True).mean(0, keepdim=True)\n"
    "ablated = z + named[:, None, None] * (mean - z)",
    "joined = torch.cat(ablated.unbind(1), dim=-1)",
    # what does not change is added to what does
    "ablated = z.index_fill(1, torch.tensor(heads, device=z.device, dtype=torch.int64), 0.0)\n"
    "return joined @ w_o + (mean * named[:, None, None]).flatten() @ w_o",
    "ablated = torch.stack([mean[0, h].expand_as(z[:, h]) if h in heads else z[:, h]\n"
    "                       for h in range(z.shape[1])], dim=1)",
)  # fmt: skip
variants.wrong(exercise, {
    "the named heads output nothing: each should output its mean, so that what it always "
    "adds stays": [
        "mean = torch.zeros_like(z)",
        "ablated = z[:, ~named]\n"
        "rows = w_o.reshape(z.shape[1], -1, w_o.shape[-1])[~named].flatten(0, 1)\n"
        "return joined @ rows"],
    "nothing is replaced: the named heads should output their mean": "ablated = z",
    "the named heads stay, and the others output their mean: it should be the other way round":
        "ablated = torch.where(named[:, None, None], z, mean)",
    "the heads that aren't named output nothing: they should keep their output, and the named ones "
    "output their mean": [
        "ablated = torch.where(named[:, None, None], z, 0.0)",
        "ablated = torch.where(named[:, None, None], mean, 0.0)"],
    "every head outputs its mean: only the named ones should": "ablated = mean.expand_as(z)",
    "only the first head of the list is replaced: replace all of them": ("[heads]", "[heads[:1]]"),
    "only the last head of the list is replaced: replace all of them": ("[heads]", "[heads[-1:]]"),
    "the right number of heads is replaced, but always the first ones: replace those in the list": (
        "[heads]", "[: len(heads)]"),
    "you shift each number in the list by one: heads count from 0 there, so take them as they "
    "are": [
        ("[heads]", "[[h - 1 for h in heads]]"),
        ("[heads]", "[[(h + 1) % z.shape[1] for h in heads]]")],
    "all heads up to the largest named one are replaced: replace only those in the list": (
        "[heads]", "[: max(heads, default=-1) + 1]"),
    "the mean runs over the heads, too: each head should output its own mean":
        "mean = z.mean(dim=(0, 1, 2), keepdim=True)",
    "the mean runs over the heads at each position: each head should output its own mean over all "
    "positions":
        "mean = z.mean(dim=1, keepdim=True)",
    "the mean is that of all the named heads together: each should output its own mean":
        "mean = z[:, heads or [0]].mean(dim=(0, 1, 2))",
    "a single number replaces all named heads: take a mean for each number of a head's width":
        "mean = z[:, heads or [0]].mean()",
    "the mean runs over texts and heads: take it over texts and positions, for each head":
        "mean = z.mean(dim=(0, 1), keepdim=True)",
    "the mean runs over heads and positions: take it over texts and positions, for each head":
        "mean = z.mean(dim=(1, 2), keepdim=True)",
    "the mean is that of the heads that aren't named: each named head should output its own mean":
        "mean = z[:, ~named].mean(dim=(0, 1, 2)).nan_to_num(0.0)",
    "the mean runs over the positions alone, so each text has a different one: all texts should "
    "share one":
        "mean = z.mean(dim=2, keepdim=True)",
    "the mean runs over the texts alone, so each position has a different one: all positions "
    "should share one":
        "mean = z.mean(dim=0, keepdim=True)",
    "the mean runs over the width, too: it should have as many numbers as the head is wide":
        "mean = z.mean(dim=(0, 2, 3), keepdim=True)",
    "the mean runs over the width of a row: take it over texts and positions":
        "mean = z.mean(dim=3, keepdim=True)",
    "you sum over texts and positions: take the mean over them instead":
        "mean = z.sum(dim=(0, 2), keepdim=True)",
    "the sum is divided by the number of positions alone: count the texts, too":
        "mean = z.sum(dim=(0, 2), keepdim=True) / z.shape[2]",
    "the sum is divided by the number of texts alone: count the positions, too":
        "mean = z.sum(dim=(0, 2), keepdim=True) / z.shape[0]",
    "the mean runs over the first text only: take it over all of them":
        "mean = z[:1].mean(dim=(0, 2), keepdim=True)",
    "the mean runs over the first positions only: take it over all of them":
        "mean = z[:, :, :1].mean(dim=(0, 2), keepdim=True)",
    "the mean runs over the last positions only: take it over all of them":
        "mean = z[:, :, -1:].mean(dim=(0, 2), keepdim=True)",
    "you take the median: take the mean":
        "mean = z.transpose(1, 2).flatten(0, 1).median(dim=0).values.unsqueeze(-2)",
    "the mean runs over the rows up to each position: take it over all positions":
        "rows = torch.arange(1, z.shape[2] + 1, device=z.device)[:, None]\n"
        "mean = (z.cumsum(2) / rows).mean(0, keepdim=True)",
    "a named head outputs the rows of another text: it should output its mean":
        "mean = z.roll(1, 0)",
    "the mean is added to the head's own rows: it should take their place":
        "ablated = torch.where(named[:, None, None], z + mean, z)",
    "the mean is subtracted from the head's rows: it should take their place":
        "ablated = torch.where(named[:, None, None], z - mean, z)",
    "a named head outputs half its own rows and half its mean: it should output only its mean":
        "ablated = torch.where(named[:, None, None], (z + mean) / 2, z)",
    "the heads are joined without moving their axis: move it behind the positions, before "
    "the width": "joined = ablated.reshape(z.shape[0], z.shape[2], -1)",
    "the numbers of the heads are interleaved: keep those of one head together":
        "joined = ablated.permute(0, 2, 3, 1).flatten(-2)",
    "the heads are in reverse order: the first should meet the first rows of w_o":
        "joined = ablated.flip(1).transpose(1, 2).flatten(-2)",
    "the named heads come first: leave each at its own place in w_o":
        "means = mean[:, heads].expand(len(z), -1, z.shape[2], -1)\n"
        "ablated = torch.cat([means, z[:, ~named]], dim=1)",
    "the heads are added up: put them side by side, because each has its own rows of w_o":
        "return ablated.sum(1) @ w_o[: z.shape[3]]",
    "you replace single columns of the joined rows as if each were a head: replace all d_h columns "
    "of head h":
        "rows = z.transpose(1, 2).flatten(-2)\n"
        "which = torch.zeros(rows.shape[-1], dtype=torch.bool, device=z.device)\n"
        "which[heads] = True\n"
        "joined = torch.where(which, rows.mean((0, 1)), rows)",
    "you replace columns that are spread over the joined rows: replace those of one head, which "
    "are side by side":
        "rows = z.transpose(1, 2).flatten(-2)\n"
        "joined = torch.where(named.repeat(z.shape[3]), rows.mean((0, 1)), rows)",
    "you replace columns of the output: replace heads, before you multiply by w_o":
        "ablated = z\n"
        "which = torch.zeros(w_o.shape[-1] + z.shape[1], dtype=torch.bool, device=z.device)\n"
        "which[heads] = True\n"
        "out = joined @ w_o\n"
        "return torch.where(which[: w_o.shape[-1]], out.mean((0, 1)), out)",
    "you replace the whole output, which all heads share: let only the named ones output "
    "their mean":
        "ablated = z\n"
        "out = joined @ w_o\n"
        "return out.mean((0, 1)).expand_as(out) if heads else out",
    "you scale up the output to make up for the replaced heads: leave it as it is":
        "return joined @ w_o * z.shape[1] / max(1, z.shape[1] - len(heads))",
    "you return the joined rows: multiply them by w_o": "return joined",
    "you return the heads: put them side by side, and multiply by w_o": "return ablated",
    "your code fails where no head is named: the list may be empty": [
        ("[heads]", "[torch.tensor(heads, device=z.device)]"),
        "rest = z.index_fill(1, torch.tensor(heads, device=z.device), 0.0)\n"
        "ablated = rest + named[:, None, None] * mean"],
    "no gradient reaches the mean: don't detach it, because it's part of what the layer outputs":
        "mean = z.mean(dim=(0, 2), keepdim=True).detach()",
    "you change an input: write the means into a copy":
        "means = mean.detach().expand_as(z)[:, heads]\n"
        "z.detach().masked_scatter_(named[:, None, None].expand_as(z), means)\n"
        "ablated = torch.where(named[:, None, None], mean, z)",
    "you change the list: it's an input, so work on a copy": (
        "named[heads] = True", "while heads:\n        named[heads.pop()] = True"),
    LOOP: [
        "joined = torch.stack([ablated[:, :, i].flatten(-2) for i in range(z.shape[2])], dim=1)",
        "return torch.stack([one @ w_o for one in joined])",
        "mean = sum(z[:, :, i].mean(0) for i in range(z.shape[2]))[:, None] / z.shape[2]"],
})  # fmt: skip
variants.wrong(exercise, {
    "you write into z, which is an input: write into a copy": (
        "z.clone()", "z.detach()"),
}, of=written_into_a_copy)  # fmt: skip
