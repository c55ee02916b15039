"""Exercise heads_as_kernel: a convolution as heads that look at one offset each."""

import torch
from torch.nn.functional import conv1d, pad

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the positions: one product serves all of them"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(x, weight):
    n, side = x.shape[-2], weight.shape[-1] // 2
    out = []
    for i in range(n):
        neighbours = range(max(0, i - side), min(n, i + side + 1))
        out.append(sum(x[..., j, :] @ weight[..., j - i + side].T for j in neighbours))
    return torch.stack(out, dim=-2)


@exercise.cases
def cases(draw):
    n = draw.integer(7, 8)
    c_in, c_out = draw.sizes(2, 2, 4)
    x, weight = draw.normal(2, n, c_in), draw.normal(c_out, c_in, 5)
    longer_inputs = draw.normal(2, 40, c_in), weight
    sizes = f"n={n}, c_in={c_in}, c_out={c_out}"
    yield Case(f"a batch of 2, {sizes}, 5 taps", (x, weight), longer=longer_inputs)
    yield Case(f"one sequence without a batch, {sizes}, 3 taps", (x[0], weight[..., 1:4].clone()))
    two_axes = draw.normal(2, 3, 5, 4), draw.normal(2, 4, 3)
    yield Case("two leading axes, 3 taps", two_axes)
    yield Case(f"one tap, {sizes}", (x, weight[..., :1].clone()))
    yield Case(f"7 taps, n=2, c_in={c_in}", (x[:, :2], draw.normal(c_out, c_in, 7)))
    yield Case("one position, 3 taps", (x[:, :1], draw.normal(c_out, c_in, 3)))
    difference = torch.tensor([-1.0, 0, 1], dtype=x.dtype)[None, None]
    yield Case("one channel, the taps -1, 0 and 1", (x[..., :1], difference))
    square = draw.normal(2, n, 3), draw.normal(3, 3, 3)
    yield Case(f"as many channels out as in, n={n}, 3 taps", square)


@exercise.valid
def by_windows(x, weight):
    taps = weight.shape[-1]
    found = pad(x, (0, 0, taps // 2, taps // 2)).unfold(-2, taps, 1).mT
    return torch.einsum("...itc,oct->...io", found, weight)


@exercise.valid
def by_torch(x, weight):
    out = conv1d(x.reshape(-1, *x.shape[-2:]).mT, weight, padding="same")
    return out.mT.reshape(*x.shape[:-1], len(weight))


variants.right(exercise,
    "ones = torch.ones(n, n, dtype=x.dtype, device=x.device)\n"
    "heads = torch.stack([ones.tril(t).triu(t) for t in range(-(taps // 2), taps // 2 + 1)])",
)  # fmt: skip
variants.right(exercise,
    # a loop over the taps is none over the positions
    "return sum(found[..., t, :] @ weight[..., t].mT for t in range(taps))",
    of=by_windows,
)  # fmt: skip
variants.wrong(exercise, {
    "the kernel is flipped: tap t should meet the position t - taps // 2 places further on": (
        "x, weight)", "x, weight.flip(-1))"),
    "the two ends are joined: a head whose key lies beyond the end should give zeros":
        "heads = ((j - j[:, None] - tap[:, None, None]) % n == 0).to(x.dtype)",
    "the vector at an end is repeated, as by a softmax: a head whose key lies beyond it should "
    "give zeros": "heads = (j == (j[:, None] + tap[:, None, None]).clamp(0, n - 1)).to(x.dtype)",
    "a row that may attend nowhere has uniform weights now: it should give zeros": (
        "heads, x", "((heads - 1) * 1e9).softmax(-1), x"),
    "a row that may attend nowhere is NaN after a softmax: it should give zeros": (
        "heads, x", "heads.log().softmax(-1), x"),
    "a softmax of small scores leaves weight on the other keys: a tap should look at one alone": (
        "heads, x", "(4 * heads).softmax(-1) * heads.any(-1, keepdim=True), x"),
    "the middle is off by one: counted from 0, it should be tap taps // 2": (
        "- taps // 2", "- (taps + 1) // 2"),
    "the taps look back only: the middle one should meet the query's own position": (
        "- taps // 2", "- (taps - 1)"),
    "the taps look ahead only: the middle one should meet the query's own position": (
        " - taps // 2", ""),
    "the heads are averaged: add up their outputs": (
        "return torch", "return 1 / taps * torch"),
    "the sums at the ends are scaled up: a head beyond an end should add zeros, and nothing more": (
        "return torch", "return (taps / heads.any(-1).sum(0))[:, None] * torch"),
    "the outputs of the heads are side by side: add them up": (
        "->...io", "->...ito", "x, weight)", "x, weight).flatten(-2)"),
    "every tap uses the same matrix: give each its own": (
        "x, weight)", "x, weight.mean(-1, keepdim=True).expand(weight.shape))"),
    "in and out are exchanged: weight is (c_out, c_in, taps)": [
        ("oct->", "cot->"),
        'values = torch.einsum("...jc,cot->...tjo", x, weight)\nreturn (heads @ values).sum(-3)',
        ("x, weight)",
         "x, weight.transpose(0, 1) if weight.shape[0] == weight.shape[1] else weight)")],
    "reshape does not swap axes, but cuts up the same numbers in another way: permute": (
        "x, weight)", "x, weight.reshape(taps, *weight.shape[:2]).permute(1, 2, 0))"),
    "no gradient reaches the weight: don't detach anything": (
        "x, weight)", "x, weight.detach())"),
    messages.FRONT:
        'values = torch.einsum("...jc,oct->...tjo", x, weight)\nreturn (heads @ values).sum(0)',
    messages.DEVICE: "tap = torch.arange(taps) - taps // 2",
})  # fmt: skip
variants.wrong(exercise, {
    "the shapes do not fit: positions are rows, so put W_t behind them, transposed": [
        "return sum(found[..., t, :] @ weight[..., t] for t in range(taps))",
        "return sum(weight[..., t] @ found[..., t, :] for t in range(taps))"],
    "windows lie place by place, the weight channel by channel: transpose one, then flatten":
        "return found.flatten(-2) @ weight.flatten(1).mT",
    "the positions near the ends are gone: a kernel that hangs over the end should meet zeros":
        "found = x.unfold(-2, taps, 1).mT",
    LOOP:
        'rows = [torch.einsum("...tc,oct->...o", one, weight) for one in found.unbind(-3)]\n'
        "return torch.stack(rows, dim=-2)",
}, of=by_windows)  # fmt: skip
