"""Exercise heads_as_kernel: a convolution as heads that look at one offset each."""

import torch
from torch.nn.functional import conv1d, pad

from attncourse.checks.convolution.shared.windows import inside, keys, windows
from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.relative.shared.rows import offsets

exercise = Exercise(
    name="heads_as_kernel",
    chapter="convolution",
    title="A kernel out of heads",
    kind="extend",
    difficulty=2,
    minutes=25,
    points=15,
    hints=(
        "A kernel of width K is K heads. The head of a tap attends to one position only, the one "
        "at the tap's offset, and the matrix of the tap is what W_V and W_O do together. The "
        "outputs of all heads are added up.",
        "The attention matrices of all heads are one (taps, n, n) tensor: 1 where the offset j - i "
        "is that of the tap, t - taps // 2, and 0 elsewhere. A row without a 1 belongs to a query "
        "whose key lies beyond the end. They have to be of the dtype of x to be multiplied.",
        "offset = j - j[:, None] and tap = torch.arange(taps, ...) - taps // 2 give "
        "(offset == tap[:, None, None]).to(x.dtype); then "
        'torch.einsum("tij,...jc,oct->...io", matrices, x, weight)',
    ),
)


@exercise.reference
def by_hand(x, weight):
    n, side = x.shape[-2], weight.shape[-1] // 2
    out = []
    for i in range(n):
        near = range(max(0, i - side), min(n, i + side + 1))
        out.append(sum(x[..., j, :] @ weight[..., j - i + side].T for j in near))
    return torch.stack(out, dim=-2)


@exercise.cases
def cases(draw):
    n = draw.integer(7, 8)
    c_in, c_out = draw.sizes(2, 2, 4)
    x, weight = draw.normal(2, n, c_in), draw.normal(c_out, c_in, 5)
    long = draw.normal(2, 40, c_in), weight
    sizes = f"n={n}, c_in={c_in}, c_out={c_out}"
    yield Case(f"a batch of 2, {sizes}, 5 taps", (x, weight), longer=long)
    yield Case(f"one sequence without a batch, {sizes}, 3 taps", (x[0], weight[..., 1:4].clone()))
    deep = draw.normal(2, 3, 5, 4), draw.normal(2, 4, 3)
    yield Case("two leading axes, 3 taps", deep)
    yield Case(f"one tap, {sizes}", (x, weight[..., :1].clone()))
    yield Case(f"7 taps, n=2, c_in={c_in}", (x[:, :2], draw.normal(c_out, c_in, 7)))
    yield Case("one position, 3 taps", (x[:, :1], draw.normal(c_out, c_in, 3)))
    edge = torch.tensor([-1.0, 0, 1], dtype=x.dtype)[None, None]
    yield Case("one channel, the taps -1, 0 and 1", (x[..., :1], edge))
    square = draw.normal(2, n, 3), draw.normal(3, 3, 3)
    yield Case(f"as many channels out as in, n={n}, 3 taps", square)


def convolved(x, weight, *, found=None, before=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    found = windows(x, weight.shape[-1], before) if found is None else found
    return torch.einsum("...itc,oct->...io", found, weight)


def sharp(x, weight):
    """Every head's attention matrix, (taps, n, n)."""
    n, taps = x.shape[-2], weight.shape[-1]
    tap = torch.arange(taps, device=x.device) - taps // 2
    return (offsets(n, n, x.device) == tap[:, None, None]).to(x.dtype)


def by_heads(x, weight, matrices):
    values = torch.einsum("...jc,oct->...tjo", x, weight)
    return (matrices @ values).sum(-3)


@exercise.valid
def a_head_for_each_tap(x, weight):
    return by_heads(x, weight, sharp(x, weight))


@exercise.valid
def by_windows(x, weight):
    return convolved(x, weight)


@exercise.valid
def by_torch(x, weight):
    out = conv1d(x.reshape(-1, *x.shape[-2:]).mT, weight, padding="same")
    return out.mT.reshape(*x.shape[:-1], len(weight))


@exercise.valid
def tap_by_tap(x, weight):
    # a loop over the taps is none over the positions
    n, side = x.shape[-2], weight.shape[-1] // 2
    padded = pad(x, (0, 0, side, side))
    pieces = [padded[..., t : t + n, :] @ weight[..., t].mT for t in range(weight.shape[-1])]
    return sum(pieces)


@exercise.valid
def shifted_with_zeros(x, weight):
    n, side = x.shape[-2], weight.shape[-1] // 2
    ones = torch.ones(n, n, dtype=x.dtype, device=x.device)
    heads = [ones.tril(t - side).triu(t - side) for t in range(weight.shape[-1])]
    return by_heads(x, weight, torch.stack(heads))


@exercise.mutant(
    "the kernel is turned round: tap t meets the position t - taps // 2 places further on"
)
def flipped(x, weight):
    return convolved(x, weight.flip(-1))


@exercise.mutant("the two ends are joined: a head whose key lies beyond the end gives zeros")
def ends_joined(x, weight):
    n, taps = x.shape[-2], weight.shape[-1]
    return convolved(x, weight, found=x[..., keys(n, taps, x.device) % n, :])


@exercise.mutant(
    "the vector at an end is repeated, as by a softmax: a head whose key lies beyond it gives zeros"
)
def ends_repeated(x, weight):
    n, taps = x.shape[-2], weight.shape[-1]
    return convolved(x, weight, found=x[..., keys(n, taps, x.device).clamp(0, n - 1), :])


@exercise.mutant("a row that may attend nowhere has uniform weights now: it should give zeros")
def uniform_beyond_the_ends(x, weight):
    scores = (sharp(x, weight) - 1) * 1e9
    return by_heads(x, weight, scores.softmax(-1))


@exercise.mutant("a row that may attend nowhere is NaN after a softmax: it should give zeros")
def nan_beyond_the_ends(x, weight):
    return by_heads(x, weight, sharp(x, weight).log().softmax(-1))


@exercise.mutant(
    "a softmax of small scores leaves weight on the other keys: a tap looks at one alone"
)
def heads_not_sharp(x, weight):
    matrices = sharp(x, weight)
    return by_heads(x, weight, (4 * matrices).softmax(-1) * matrices.any(-1, keepdim=True))


@exercise.mutant("the taps look back only: the middle one meets the query's own position")
def causal(x, weight):
    return convolved(x, weight, before=weight.shape[-1] - 1)


@exercise.mutant("the taps look ahead only: the middle one meets the query's own position")
def ahead(x, weight):
    return convolved(x, weight, before=0)


@exercise.mutant("the heads are averaged: their outputs are added up")
def averaged(x, weight):
    return convolved(x, weight) / weight.shape[-1]


@exercise.mutant("the outputs of the heads are side by side: they are added up")
def not_added(x, weight):
    values = torch.einsum("...jc,oct->...tjo", x, weight)
    return (sharp(x, weight) @ values).transpose(-2, -3).flatten(-2)


@exercise.mutant("every tap uses the same matrix: each has its own")
def one_matrix_for_all(x, weight):
    return convolved(x, weight.mean(-1, keepdim=True).expand(weight.shape))


@exercise.mutant("in and out are exchanged: weight is (c_out, c_in, taps)")
def channels_exchanged(x, weight):
    return torch.einsum("...itc,cot->...io", windows(x, weight.shape[-1]), weight)


ROWS = "the shapes do not fit: positions are rows, so W_t comes behind them, and transposed"


@exercise.mutant(ROWS)
def matrix_not_transposed(x, weight):
    taps = weight.unbind(-1)
    return sum(x_t @ tap for x_t, tap in zip(windows(x, len(taps)).unbind(-2), taps, strict=True))


@exercise.mutant(ROWS)
def matrix_before_the_rows(x, weight):
    taps = weight.unbind(-1)
    return sum(tap @ x_t for x_t, tap in zip(windows(x, len(taps)).unbind(-2), taps, strict=True))


@exercise.mutant(
    "windows lie place by place, the weight channel by channel: transpose one, then flatten"
)
def flattened_as_they_lie(x, weight):
    return windows(x, weight.shape[-1]).flatten(-2) @ weight.flatten(1).mT


@exercise.mutant("reshape does not exchange axes: it deals the same numbers out anew. Permute")
def weight_reshaped(x, weight):
    c_out, c_in, taps = weight.shape
    return convolved(x, weight.reshape(taps, c_out, c_in).permute(1, 2, 0))


@exercise.mutant(
    "the positions near the ends are gone: a kernel that hangs over the end meets zeros"
)
def ends_dropped(x, weight):
    found = x.unfold(-2, weight.shape[-1], 1).mT
    return convolved(x, weight, found=found)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(x, weight):
    _, n, _ = x.shape
    return convolved(x, weight)[:, :n]


@exercise.mutant("it loops over the positions: one product serves all of them")
def loop_over_positions(x, weight):
    taps = weight.shape[-1]
    padded = pad(x, (0, 0, taps // 2, taps // 2))
    out = []
    for i in range(x.shape[-2]):
        out.append(torch.einsum("...tc,oct->...o", padded[..., i : i + taps, :], weight))
    return torch.stack(out, dim=-2)


@exercise.mutant("no gradient reaches the weight: nothing may be detached")
def weight_detached(x, weight):
    return convolved(x, weight.detach())


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def mask_on_the_cpu(x, weight):
    taps = weight.shape[-1]
    return convolved(x, weight, found=windows(x, taps) * inside(x.shape[-2], taps)[..., None])
