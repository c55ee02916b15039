"""Exercise causal_local_attention: windows filled up with zeros, and nobody masks the zeros."""

import torch

from attncourse.checks.convolution.shared.windows import FILL, KEYS, band, inside, keys, windows
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="causal_local_attention",
    chapter="convolution",
    title="The zeros before the first word",
    kind="debug",
    difficulty=2,
    minutes=15,
    points=15,
    hints=(
        "Ask the code for the first position alone. It may attend to itself only, so its output "
        "should be its own value. What is it, and which keys does its window hold?",
        "A key of zeros has the score 0, and exp(0) = 1. So the scores of the places before the "
        "first position have to become -inf, before the softmax. Place c of window i holds key "
        "i - width + 1 + c; the keys themselves do not tell, since a key may be zero.",
        "key = torch.arange(n, device=q.device)[:, None] + torch.arange(1 - width, 1, ...) is the "
        "position at each place, and scores.masked_fill(key < 0, -torch.inf) what is missing",
    ),
)


@exercise.stub
def causal_local_attention(q, k, v, width):
    k, v = (torch.nn.functional.pad(x, (0, 0, width - 1, 0)) for x in (k, v))
    keys, values = k.unfold(-2, width, 1), v.unfold(-2, width, 1)
    scores = torch.einsum("...id,...idc->...ic", q, keys) / q.shape[-1] ** 0.5
    return torch.einsum("...ic,...idc->...id", scores.softmax(dim=-1), values)


@exercise.reference
def by_hand(q, k, v, width):
    out = []
    for i in range(q.shape[-2]):
        seen = range(max(0, i - width + 1), i + 1)
        scores = [(q[..., i, :] * k[..., j, :]).sum(-1) / q.shape[-1] ** 0.5 for j in seen]
        top = torch.stack(scores).detach().amax(0)
        parts = [(s - top).exp() for s in scores]
        pairs = zip(parts, seen, strict=True)
        out.append(sum((p / sum(parts))[..., None] * v[..., j, :] for p, j in pairs))
    return torch.stack(out, dim=-2)


@exercise.cases
def cases(draw):
    n = draw.integer(7, 8)
    d_k, d_v = draw.integer(5, 6), draw.integer(2, 3)
    q, k, v = draw.normal(2, n, d_k), draw.normal(2, n, d_k), draw.normal(2, n, d_v)
    long = *(x.repeat(1, 8, 1) for x in (q, k, v)), 4
    sizes = f"n={n}, d_k={d_k}, d_v={d_v}"
    yield Case(f"a batch of 2, {sizes}, width=4", (q, k, v, 4), longer=long)
    yield Case(f"no batch, {sizes}, width=3", (q[0], k[0], v[0], 3))
    heads = draw.normal(2, 3, 5, 4), draw.normal(2, 3, 5, 4), draw.normal(2, 3, 5, 2)
    yield Case("two leading axes (batch, heads), width=3", (*heads, 3))
    yield Case(f"a width of {n + 2}, {sizes}", (q, k, v, n + 2))
    yield Case("a width of 1", (q, k, v, 1))
    yield Case("one position, width=4", (q[:, :1], k[:, :1], v[:, :1], 4))
    yield Case("queries and keys 60 times larger, width=4", (60 * q, 60 * k, v, 4))
    opposite = 1e3 * (1 + q.abs()), -1e3 * (1 + k.abs()), v, 4
    yield Case("scores below -1000000, width=4", opposite)
    # its score is 0 as well, and it is no padding
    zeros = (torch.cat([0 * x[:, :2], x[:, 2:]], dim=1) for x in (k, v))
    about = "the first two keys and values are zeros, width=4"
    yield Case(about, (q, *zeros, 4), gradient=False)


def attend(q, k, v, width, *, before=None, at=None, fill=-torch.inf, found=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    before = width - 1 if before is None else before
    at = inside(q.shape[-2], width, q.device, before) if at is None else at
    near, values = found or (windows(k, width, before), windows(v, width, before))
    scores = (near @ q[..., None])[..., 0] / q.shape[-1] ** 0.5
    return mean(scores.masked_fill(~at, fill).softmax(-1), values)


def mean(weights, values):
    return (weights[..., None, :] @ values)[..., 0, :]


@exercise.valid
def places_before_the_first_masked(q, k, v, width):
    return attend(q, k, v, width)


@exercise.valid
def place_against_position(q, k, v, width):
    n = q.shape[-2]
    place = torch.arange(width, device=q.device)
    at = place >= width - 1 - torch.arange(n, device=q.device).unsqueeze(-1)
    return attend(q, k, v, width, at=at, fill=-1e30)


@exercise.valid
def masked_by_windows_of_ones(q, k, v, width):
    ones = torch.ones_like(k[..., :1])
    at = windows(ones, width, width - 1)[..., 0].bool()
    return attend(q, k, v, width, at=at)


@exercise.valid
def whole_matrix_with_a_band(q, k, v, width):
    near = band(q.shape[-2], q.shape[-2], width - 1, 0, q.device)
    scores = torch.einsum("...id,...jd->...ij", q, k) / q.size(-1) ** 0.5
    return torch.softmax(scores.masked_fill(~near, -torch.inf), dim=-1) @ v


@exercise.valid
def masked_with_renormalisation(q, k, v, width):
    at = inside(q.shape[-2], width, q.device, width - 1)
    scores = (windows(k, width, width - 1) @ q[..., None])[..., 0] / q.shape[-1] ** 0.5
    weights = torch.where(at, scores, torch.finfo(q.dtype).min).softmax(-1) * at
    return mean(weights / weights.sum(-1, keepdim=True), windows(v, width, width - 1))


@exercise.mutant("one place too many is masked: key 0 is a key, the ones before it are not")
def first_key_masked(q, k, v, width):
    at = keys(q.shape[-2], width, q.device, width - 1) > 0
    return attend(q, k, v, width, at=at)


@exercise.mutant("one place too few is masked: no place before key 0 may get weight")
def last_of_the_zeros_kept(q, k, v, width):
    at = keys(q.shape[-2], width, q.device, width - 1) >= -1
    return attend(q, k, v, width, at=at)


@exercise.mutant("the wrong end is masked: the zeros stand before the first position")
def mirrored(q, k, v, width):
    at = inside(q.shape[-2], width, q.device, width - 1).flip(-1)
    return attend(q, k, v, width, at=at)


@exercise.mutant("the mask is upside down: the places before key 0 are those that get no weight")
def inverted(q, k, v, width):
    at = inside(q.shape[-2], width, q.device, width - 1)
    return attend(q, k, v, width, at=~at, fill=-1e30)


@exercise.mutant("the zeros take all the weight where scores are low: mask before the softmax")
def renormalised_after_the_softmax(q, k, v, width):
    at = inside(q.shape[-2], width, q.device, width - 1)
    scores = (windows(k, width, width - 1) @ q[..., None])[..., 0] / q.shape[-1] ** 0.5
    weights = scores.softmax(-1) * at
    weights = weights / weights.sum(-1, keepdim=True)
    return mean(weights, windows(v, width, width - 1))


@exercise.mutant("zeros do not make it padding: a key or value may be zero. Ask for its position")
def scores_of_zero_masked(q, k, v, width):
    scores = (windows(k, width, width - 1) @ q[..., None])[..., 0] / q.shape[-1] ** 0.5
    weights = scores.masked_fill(scores == 0, -torch.inf).softmax(-1)
    return mean(weights, windows(v, width, width - 1))


@exercise.mutant("0 times -inf is NaN: use masked_fill or torch.where")
def zero_times_infinity(q, k, v, width):
    at = inside(q.shape[-2], width, q.device, width - 1).to(q.dtype)
    scores = (windows(k, width, width - 1) @ q[..., None])[..., 0] / q.shape[-1] ** 0.5
    weights = (scores + (1 - at) * -torch.inf).softmax(-1)
    return mean(weights, windows(v, width, width - 1))


@exercise.mutant(FILL)
def fill_with_minus_a_hundred(q, k, v, width):
    return attend(q, k, v, width, fill=-100.0)


@exercise.mutant(FILL)
def fill_with_minus_ten_thousand(q, k, v, width):
    return attend(q, k, v, width, fill=-1e4)


def with_keys_of(value, q, k, v, width):
    near = windows(k, width, width - 1, value)
    at = torch.ones_like(near[..., 0], dtype=torch.bool)
    return attend(q, k, v, width, found=(near, windows(v, width, width - 1)), at=at)


@exercise.mutant(KEYS)
def keys_of_minus_infinity(q, k, v, width):
    return with_keys_of(-torch.inf, q, k, v, width)


@exercise.mutant(KEYS)
def keys_of_minus_a_billion(q, k, v, width):
    return with_keys_of(-1e9, q, k, v, width)


@exercise.mutant("key 0 fills the empty places, and so weighs more than once: mask it there")
def first_repeated(q, k, v, width):
    key = keys(q.shape[-2], width, q.device, width - 1).clamp(min=0)
    return attend(q, k, v, width, found=(k[..., key, :], v[..., key, :]), at=key >= 0)


@exercise.mutant("the window is lost: it is causal attention to all that came before")
def no_window(q, k, v, width):
    return attend(q, k, v, q.shape[-2])


@exercise.mutant("the window is symmetric now: a query may not see what comes after it")
def symmetric(q, k, v, width):
    return attend(q, k, v, width, before=width // 2)


@exercise.mutant(
    "the first width - 1 positions are gone: they get the part of a window that is there"
)
def first_positions_dropped(q, k, v, width):
    return attend(q, k, v, width)[..., width - 1 :, :]


@exercise.mutant("it loops over the first positions: compare places with positions, all at once")
def loop_over_positions(q, k, v, width):
    at = torch.ones(q.shape[-2], width, dtype=torch.bool, device=q.device)
    for i in range(q.shape[-2]):
        at[i, : max(0, width - 1 - i)] = False
    return attend(q, k, v, width, at=at)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def mask_on_the_cpu(q, k, v, width):
    return attend(q, k, v, width, at=inside(q.shape[-2], width, before=width - 1))
