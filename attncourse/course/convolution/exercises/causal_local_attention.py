"""Exercise causal_local_attention: windows filled up with zeros, and nobody masks the zeros."""

import torch

from attncourse.course.convolution.exercises.shared.windows import FILL, KEYS, LATE, NAN
from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the first positions: compare places with positions, all at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.stub(variants.stub(exercise))
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(q, k, v, width):
    out = []
    for i in range(q.shape[-2]):
        window = slice(max(0, i - width + 1), i + 1)
        scores = (q[..., i, None, :] * k[..., window, :]).sum(-1) / q.shape[-1] ** 0.5
        out.append((scores.softmax(-1)[..., None] * v[..., window, :]).sum(-2))
    return torch.stack(out, dim=-2)


@exercise.cases
def cases(draw):
    n, d_k, d_v = draw.integer(7, 8), draw.integer(5, 6), draw.integer(2, 3)
    q, k, v = draw.normal(2, n, d_k), draw.normal(2, n, d_k), draw.normal(2, n, d_v)
    longer_inputs = *(x.repeat(1, 8, 1) for x in (q, k, v)), 4
    sizes = f"n={n}, d_k={d_k}, d_v={d_v}"
    yield Case(f"a batch of 2, {sizes}, width=4", (q, k, v, 4), longer=longer_inputs)
    yield Case(f"no batch, {sizes}, width=3", (q[0], k[0], v[0], 3))
    heads = draw.normal(2, 3, 5, 4), draw.normal(2, 3, 5, 4), draw.normal(2, 3, 5, 2)
    yield Case("two leading axes (batch, heads), width=3", (*heads, 3))
    yield Case(f"a width of {n + 2}, {sizes}", (q, k, v, n + 2))
    yield Case("a width of 1", (q, k, v, 1))
    yield Case("one position, width=4", (q[:, :1], k[:, :1], v[:, :1], 4))
    yield Case("queries and keys 60 times larger, width=4", (60 * q, 60 * k, v, 4))
    opposite = 1e6 * (1 + q.abs()), -1e6 * (1 + k.abs()), v, 4
    yield Case("scores below -1e12, width=4", opposite)
    # its score is 0 as well, and it is no padding
    zero_first = (torch.cat([0 * x[:, :2], x[:, 2:]], dim=1) for x in (k, v))
    about = "the first two keys and values are zeros, width=4"
    yield Case(about, (q, *zero_first, 4), gradient=False)


@exercise.valid
def whole_matrix_with_a_band(q, k, v, width):
    j = torch.arange(q.shape[-2], device=q.device)
    near = (j <= j[:, None]) & (j > j[:, None] - width)
    scores = torch.einsum("...id,...jd->...ij", q, k) / q.size(-1) ** 0.5
    return torch.softmax(scores.masked_fill(~near, -torch.inf), dim=-1) @ v


variants.right(
    exercise,
    "place = torch.arange(width, device=q.device)\n"
    "before = place < width - 1 - position[:, None]\n"
    "weights = scores.masked_fill(before, -1e30).softmax(dim=-1)",
    "ones = torch.nn.functional.pad(torch.ones_like(q[..., 0]), (width - 1, 0))\n"
    "before = ones.unfold(-1, width, 1) == 0\n"
    "weights = scores.masked_fill(before, -torch.inf).softmax(dim=-1)",
    "parts = scores.masked_fill(key < 0, torch.finfo(q.dtype).min).softmax(dim=-1) * (key >= 0)\n"
    "weights = parts / parts.sum(-1, keepdim=True)",
)  # fmt: skip
variants.wrong(exercise, {
    "one place too many is masked: mask the places before key 0, but not key 0 itself": (
        "< 0", "<= 0"),
    "one place too few is masked: no place before key 0 may get weight": ("< 0", "< -1"),
    "the wrong end is masked: the zeros stand before the first position": (
        "key < 0", "key.flip(-1) < 0"),
    "the mask is upside down: the places before key 0 should be those that get no weight": (
        "< 0, -torch.inf", ">= 0, -1e30"),
    "the first outputs are scaled up, which is right for equal scores only: mask before the "
    "softmax":
        "weights = scores.softmax(dim=-1) * (width / (key >= 0).sum(-1, keepdim=True))",
    "the scores are divided by sqrt(d_v), of the values: divide by sqrt(d_k), of the keys": (
        "q.shape[-1]", "v.shape[-1]"),
    LATE:
        "parts = scores.softmax(dim=-1) * (key >= 0)\n"
        "weights = parts / parts.sum(-1, keepdim=True)",
    "zeros are taken for padding: a key or value may be zero itself, so ask for its position": (
        "key < 0", "scores == 0"),
    NAN: "weights = (scores + (key < 0).to(q.dtype) * -torch.inf).softmax(dim=-1)",
    FILL: [("-torch.inf", low) for low in ("-100.0", "-1e4", "-1e9")],
    KEYS: [
        "pad = torch.nn.functional.pad\n"
        f"k, v = pad(k, (0, 0, width - 1, 0), value={low}), pad(v, (0, 0, width - 1, 0))\n"
        "weights = scores.softmax(dim=-1)" for low in ("-torch.inf", "-1e9")],
    "key 0 fills the empty places, and so weighs more than once: mask it there":
        "k, v = (torch.cat([x[..., :1, :]] * (width - 1) + [x], dim=-2) for x in (k, v))\n"
        "weights = scores.softmax(dim=-1)",
    "this is causal attention to all that came before: keep the window": (
        "    k, v", "    width = q.shape[-2]\n    k, v"),
    "the window is symmetric now: a query must not see what comes after it": (
        "width - 1, 0)", "width // 2, width - 1 - width // 2)",
        "1 - width, 1,", "-(width // 2), width - width // 2,",
        "key < 0", "(key < 0) | (key >= q.shape[-2])"),
    "the first width - 1 positions are gone: they should get the part of the window that exists": (
        "weights, values)", "weights, values)[..., width - 1 :, :]"),
    LOOP: ("key < 0", "torch.stack([row < 0 for row in key])"),
    messages.DEVICE: (every(", device=q.device"), ""),
})  # fmt: skip
