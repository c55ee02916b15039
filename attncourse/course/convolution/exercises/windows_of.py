"""Exercise windows_of: the neighbours of every position, zeros beyond the ends."""

import torch
from torch.nn.functional import conv1d

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions or sentences: all windows are cut in one step"
exercise = Exercise.read(
    __name__,
    generic_hints={
        "loops": LOOP,
        "detached": "no gradient reaches x: cut the windows from x itself, not from a copy of it",
    },
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(x, width):
    n, side = x.shape[-2], width // 2
    zeros = torch.zeros_like(x[..., 0, :])
    positions = [j for i in range(n) for j in range(i - side, i + side + 1)]
    rows = [x[..., j, :] if 0 <= j < n else zeros for j in positions]
    return torch.stack(rows, dim=-2).unflatten(-2, (n, width))


@exercise.cases
def cases(draw):
    n, d = draw.integer(7, 8), draw.integer(2, 3)
    x, longer_x = draw.normal(2, n, d), draw.normal(2, 40, d)
    yield Case(f"a batch of 2, n={n}, d={d}, width=5", (x, 5), longer=(longer_x, 5))
    yield Case(f"one matrix without a batch, n={n}, d={d}, width=3", (x[0], 3))
    yield Case("two leading axes (batch, heads), width=3", (draw.normal(2, 3, 4, 5), 3))
    yield Case(f"a width of 9, n={n}", (x, 9))
    yield Case("a width of 7, n=2", (x[:, :2], 7))
    yield Case("a width of 1", (x, 1))
    yield Case("one position, width=3", (x[:, :1], 3))


@exercise.valid
def by_index(x, width):
    n = x.size(-2)
    place = torch.arange(width, device=x.device) - width // 2
    key = torch.arange(n, device=x.device)[:, None] + place
    found = x[..., key.clamp(0, n - 1), :]
    return found * ((key >= 0) & (key < n)).unsqueeze(-1)


@exercise.valid
def by_a_kernel_of_unit_vectors(x, width):
    n, d = x.shape[-2:]
    eye = torch.eye(width, dtype=x.dtype, device=x.device)
    columns = x.mT.reshape(-1, 1, n)
    found = conv1d(columns, eye[:, None], padding=width // 2)
    return found.reshape(*x.shape[:-2], d, width, n).movedim(-1, -3).mT


variants.right(
    exercise,
    # a loop over a window is none over the positions
    "return torch.stack([padded[..., c : c + x.shape[-2], :] for c in range(width)], dim=-2)",
    "j = torch.arange(x.shape[-2], device=x.device)\n"
    "place = torch.arange(-side, side + 1, device=x.device)\n"
    "picks = (j[:, None, None] + place[:, None] == j).to(x.dtype)\n"
    'return torch.einsum("icj,...jd->...icd", picks, x)',
)  # fmt: skip
variants.wrong(exercise, {
    "positions near the ends get no window: add zeros at both ends first":
        "windows = x.unfold(-2, width, 1)",
    "it adds zeros to every vector: the zeros belong before the first and after the last": (
        "(0, 0, side, side)", "(side, side)"),
    "the last two axes are swapped: the places of a window should come before its vectors' width":
        "return windows",
    "reshape does not swap axes, but cuts up the same numbers in another way: transpose":
        "return windows.reshape(*x.shape[:-1], width, x.shape[-1])",
    "positions and places are swapped: the result should be (..., n, width, d)":
        "return windows.mT.transpose(-2, -3)",
    "the windows lie before their position: half of each should lie after it": (
        "side, side)", "width - 1, 0)"),
    "the windows lie after their position: half of each should lie before it": (
        "side, side)", "0, width - 1)"),
    "the places of each window are in reverse: the earliest position should come first":
        "return windows.mT.flip(-2)",
    "the two ends are joined: beyond an end there should be zeros, not the other end":
        "return torch.stack([x.roll(side - c, -2) for c in range(width)], dim=-2)",
    LOOP:
        "each = range(x.shape[-2])\n"
        "return torch.stack([padded[..., i : i + width, :] for i in each], dim=-3)",
})  # fmt: skip
variants.wrong(exercise, {
    "the vector at an end is repeated: beyond it there should be zeros": "return found",
    "an index below 0 counts from the end: those places need zeros": (
        "key.clamp(0, n - 1)", "torch.where(key < n, key, 0) % n", "(key >= 0) & ", ""),
}, of=by_index)  # fmt: skip
