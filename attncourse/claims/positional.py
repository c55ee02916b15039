"""The claims of the chapter positional."""

from collections.abc import Callable

import torch
from torch import Tensor

from attncourse.claims import Measured, claim
from attncourse.dot_product import attention, causal_mask
from attncourse.positional import (
    LearnedEncoding,
    MLPEncoding,
    SinusoidalEncoding,
    sinusoids,
    tree_depth,
    tree_distance,
)

VASWANI = "Vaswani et al. (2017), section 3.5"
WANG = "Wang et al. (2019)"
EPS = torch.finfo(torch.float64).eps


def normal(g: torch.Generator, *shape: int) -> Tensor:
    """Independent float64 entries with mean 0 and variance 1."""
    return torch.randn(shape, generator=g, device=g.device, dtype=torch.float64)


def waves(n: int, d: int, g: torch.Generator, start: int = 0) -> Tensor:
    """The package's sinusoids in float64, on the device of g."""
    return sinusoids(n, d, g.device, start=start, dtype=torch.float64)


def random_layer(g: torch.Generator, d: int) -> Callable[..., Tensor]:
    """Self-attention with three random matrices, and no positions."""
    w = normal(g, 3, d, d) / d**0.5

    def layer(x: Tensor, mask: Tensor | None = None) -> Tensor:
        return attention(x @ w[0], x @ w[1], x @ w[2], mask)

    return layer


def equivariance_gap(layer: Callable[[Tensor], Tensor], x: Tensor, order: Tensor) -> float:
    """How far the outputs of reordered tokens are from the reordered outputs, as a share."""
    out = layer(x)
    return ((layer(x[order]) - out[order]).norm() / out.norm()).item()


@claim(
    "Without positions, the outputs of 64 tokens in another order are the same outputs in that "
    "order, and their mean over the sentence does not change at all.",
    source="Vaswani et al. (2017), eq. 1: no position occurs in it",
)
def order_is_invisible(g):
    n, d = 64, 16
    layer, x = random_layer(g, d), normal(g, n, d)
    order = torch.randperm(n, generator=g, device=g.device)
    gap = equivariance_gap(layer, x, order)
    mean = (layer(x[order]).mean(0) - layer(x).mean(0)).abs().max().item()
    return Measured(
        {"outputs apart by a share of": gap, "means apart by": mean},
        f"rounding in float64, at most {n * EPS:.1g}, both",
        max(gap, mean) <= n * EPS,
    )


@claim(
    "Add the sinusoids of their positions to the tokens, and outputs in another order differ from "
    "the reordered outputs by more than a quarter of their norm.",
    source=VASWANI,
)
def positions_make_order_visible(g):
    n, d = 64, 16
    layer, x = random_layer(g, d), normal(g, n, d)
    order = torch.randperm(n, generator=g, device=g.device)
    encode = SinusoidalEncoding(d)
    gap = equivariance_gap(lambda x: layer(encode(x)), x, order)
    return Measured({"apart by a share of": gap}, "over 1/4", gap > 0.25)


def rotation(offset: int, d: int) -> Tensor:
    """One matrix that turns each pair of a row by its frequency times the offset."""
    angle = offset * 10000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    cos, sin = angle.cos(), angle.sin()
    # rows are vectors: (sin a, cos a) times this is (sin(a + b), cos(a + b))
    pairs = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    return torch.block_diag(*pairs)


@claim(
    "In an even width, for each offset there is one rotation matrix that takes the sinusoids of "
    "every position to those of the position at that offset, for positions from 0 to 999.",
    source=f"{VASWANI} (there: a linear function)",
)
def a_shift_is_a_rotation(g):
    d, difference, skew = 64, [], []
    for offset in (1, 7, 100, -3):
        turn = rotation(offset, d).to(g.device)
        moved = waves(1000, d, g) @ turn
        difference.append((moved - waves(1000, d, g, offset)).abs().max().item())
        skew.append((turn @ turn.mT - torch.eye(d, device=g.device)).abs().max().item())
    # an angle of 1000 is rounded to 1000 eps
    rounding = 2000 * EPS
    return Measured(
        {
            "rows apart by": max(difference),
            "matrix times its transpose, off the identity by": max(skew),
        },
        f"rounding, at most {rounding:.1g}, both",
        max(*difference, *skew) <= rounding,
    )


@claim(
    "In an even width, the dot product of the sinusoids of two positions depends on their offset "
    "alone: it is the same between 0 and 999 as a million positions on, and the same for an offset "
    "and its opposite.",
    source=f"{VASWANI}; the lost sign: Yan et al. (2019)",
)
def products_depend_on_the_offset(g):
    n, d = 1000, 64
    here, far = (p @ p.mT for p in (waves(n, d, g), waves(n, d, g, 10**6)))
    place = torch.arange(n, device=g.device)
    by_offset = here[0][(place - place[:, None]).abs()]
    difference = [(one - by_offset).abs().max().item() / d for one in (here, far)]
    return Measured(
        {"from 0 on, apart by a share of": difference[0], "from a million on": difference[1]},
        "rounding of the angles: below 1e-12 and 1e-9",
        difference[0] < 1e-12 and difference[1] < 1e-9,
    )


def explained_by_offset(scores: Tensor) -> float:
    """The share of the variance of scores that the means over equal offsets explain."""
    n = len(scores)
    place = torch.arange(n, device=scores.device)
    offset = (place - place[:, None] + n - 1).flatten()
    sums = scores.new_zeros(2 * n - 1).index_add(0, offset, scores.flatten())
    means = (sums / offset.bincount())[offset].view(n, n)
    return 1 - ((scores - means).var() / scores.var()).item()


@claim(
    "The offset explains all the variance of the dot products of the sinusoids of 256 positions, "
    "at width 64. With random matrices W_Q and W_K between them, as in a layer before training, it "
    "explains less than a fifth of the variance of the scores, in the mean over 20 layers.",
    source="after Yan et al. (2019)",
)
def projections_hide_the_offset(g):
    n, d, layers = 256, 64, 20
    p = waves(n, d, g)
    bare, projected = explained_by_offset(p @ p.mT), 0.0
    for _ in range(layers):
        w_q, w_k = normal(g, 2, d, d) / d**0.5
        projected += explained_by_offset(p @ w_q @ (p @ w_k).mT) / layers
    return Measured(
        {"share not explained, sinusoids alone": 1 - bare, "share explained, scores": projected},
        "rounding; below 1/5",
        1 - bare < 1e-12 and projected < 0.2,
    )


@claim(
    "In an even width, the squares of a row of sinusoids have the mean 1/2 at every position. So "
    "of the mean square of a sum with embeddings of standard deviation s, the positions hold "
    "1 / (1 + 2 s²): a third where s = 1, and 98 % where s = 0.1.",
    source="sin² + cos² = 1, and the sinusoids of section 3.5 of Vaswani et al. (2017)",
)
def a_row_has_mean_square_one_half(g):
    n, d, share = 512, 64, {}
    p = waves(n, d, g)
    off = (p.square().mean(-1) - 0.5).abs().max().item()
    for s in (1.0, 0.1):
        total = SinusoidalEncoding(d)(s * normal(g, n, d)).square().mean().item()
        share[s] = 0.5 / total
    holds = all(abs(one * (1 + 2 * s**2) - 1) < 0.05 for s, one in share.items())
    return Measured(
        {"mean square, off 1/2 by": off} | {f"share at s = {s}": one for s, one in share.items()},
        "rounding; 1/3 and 0.98 within 5 %",
        off < 1e-12 and holds,
    )


@claim(
    "Where every training sentence has at most 16 words, the rows of a learned table from 16 on "
    "get a gradient of exactly 0: nothing but weight decay, where there is any, changes them. A "
    "sentence longer than the table raises an error.",
    source="Gehring et al. (2017), section 3.1: a position looks up its row, and no other",
)
def a_table_learns_only_what_it_sees(g):
    layer = LearnedEncoding(32, 8).to(g.device)
    layer(normal(g, 4, 16, 8).float()).square().sum().backward()
    moved = (layer.table.grad != 0).any(-1)
    try:
        layer(normal(g, 33, 8).float())
        refused = 0
    except ValueError:
        refused = 1
    return Measured(
        {"of 16 rows seen, moved": moved[:16].sum().item(), "of 16 unseen": moved[16:].sum().item()}
        | {"sentences of 33 words refused": refused},
        "all 16; exactly 0; 1",
        bool(moved[:16].all() and not moved[16:].any() and refused),
    )


@claim(
    "An MLP trained to give the sinusoids of positions 0 to 15 errs more than 4 times as much on "
    "16 to 31, and more than rows of zeros would. From 1000 on its rows are all alike: neighbours "
    "differ by less than a tenth of what neighbours in training differ by.",
    source="our own measurement; a tanh far from 0 is close to 1 or -1",
)
def an_mlp_drifts_beyond_training(g):
    with torch.random.fork_rng():
        torch.manual_seed(g.initial_seed())
        layer = MLPEncoding(8, hidden=64).to(g.device)
    wanted = waves(32, 8, g).float()
    nothing = torch.zeros_like(wanted)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    for _ in range(800):
        loss = (layer(nothing[:16]) - wanted[:16]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rows, far = layer(nothing), layer(nothing[:2], 1000)
    within, beyond = (rows - wanted).square().mean(-1).sqrt().split(16)
    steps = [x.diff(dim=0).norm(dim=-1).mean().item() for x in (rows[:16], far)]
    ratio, step = (beyond.mean() / within.mean()).item(), steps[1] / steps[0]
    return Measured(
        {"error beyond / in training": ratio, "error beyond": beyond.mean().item()}
        | {"a step from 1000 / in training": step},
        "over 4; over √½, that of zeros; below 1/10",
        ratio > 4 and beyond.mean().item() > 0.5**0.5 and step < 0.1,
    )


def readout(out: Tensor, wanted: Tensor) -> float:
    """The share of the variance of `wanted` that a linear map of `out`, fitted on half, explains.

    Below 0 where it does worse than the mean on the other half.
    """
    x = torch.cat([out, torch.ones_like(out[..., :1])], dim=-1)
    (x, held), (y, truth) = (
        [half.flatten(0, 1) for half in both.chunk(2)] for both in (x, wanted.expand(out.shape[:2]))
    )
    error = held @ torch.linalg.lstsq(x, y[:, None]).solution[:, 0] - truth
    return 1 - (error.square().mean() / truth.var()).item()


@claim(
    "Behind a first token that is always the same, 63 random tokens go through one random layer "
    "without positions. A linear map of an output explains more than a fifth of the variance of "
    "the logarithm of its position if the layer has a causal mask, and nothing if it has none.",
    source="after Haviv et al. (2022), who read positions off trained language models",
)
def the_causal_mask_leaks_position(g):
    n, d = 64, 32
    layer, first, x = random_layer(g, d), normal(g, d), normal(g, 256, n, d)
    x[:, 0] = first
    position = torch.arange(1, n, device=g.device).double().log()
    causal, open_ = (
        readout(layer(x, mask)[:, 1:], position) for mask in (causal_mask(n, g.device), None)
    )
    return Measured(
        {"share explained, causal": causal, "without a mask": open_},
        "over 1/5; below 1/100",
        causal > 0.2 and open_ < 0.01,
    )


def random_tree(g: torch.Generator, n: int) -> Tensor:
    """The heads of a tree whose words stand in random order."""
    order = torch.randperm(n, generator=g, device=g.device)
    heads = torch.full_like(order, -1)
    for i in range(1, n):
        heads[order[i]] = order[torch.randint(i, (), generator=g, device=g.device)]
    return heads


@claim(
    "In a chain, where the head of each of 32 words is the word before it, the depth of a word is "
    "its position, and the signed tree distance of two words is their offset j - i.",
    source=f"after {WANG}; the length of the way as the distance is our choice",
)
def a_chain_is_the_sequence(g):
    place = torch.arange(32, device=g.device)
    depths = (tree_depth(place - 1) != place).sum().item()
    distances = (tree_distance(place - 1) != place - place[:, None]).sum().item()
    return Measured(
        {"depths that differ": depths, "distances that differ": distances},
        "exactly 0, both",
        depths == distances == 0,
    )


@claim(
    "In 20 random trees of 24 words, tree distances without their sign are distances: 0 only from "
    "a word to itself, the same both ways, and never shorter by a detour over a third word. With "
    "it, there and back have opposite signs.",
    source="the way between two nodes of a tree is unique",
)
def tree_distance_is_a_distance(g):
    n, wrong = 24, {"zeros": 0, "signs": 0, "detours": 0}
    for _ in range(20):
        signed = tree_distance(random_tree(g, n))
        far = signed.abs()
        itself = torch.eye(n, dtype=torch.bool, device=g.device)
        wrong["zeros"] += int(((far == 0) != itself).sum())
        wrong["signs"] += int((signed != -signed.mT).sum())
        wrong["detours"] += int((far[:, :, None] + far[None] < far[:, None]).sum())
    return Measured(
        {f"{name} that are wrong": count for name, count in wrong.items()},
        "exactly 0 of each",
        not any(wrong.values()),
    )


@claim(
    "Put the words of a sentence in another order and keep its tree: depths and unsigned tree "
    "distances move with the words, and only signs change. So attention with depths added to the "
    "words still cannot tell the order.",
    source=f"after {WANG}: a tree says which words belong together, not in what order",
)
def a_tree_does_not_know_the_order(g):
    n, d = 24, 8
    heads, order = random_tree(g, n), torch.randperm(n, generator=g, device=g.device)
    # the new place of each old word; the last entry keeps the mark of a root
    place = torch.cat([order.argsort(), order.new_tensor([-1])])
    moved = place[heads[order]]
    layer, x, table = random_layer(g, d), normal(g, n, d), normal(g, n, d)
    depths = (tree_depth(moved) != tree_depth(heads)[order]).sum().item()
    old, new = tree_distance(heads)[order][:, order], tree_distance(moved)
    out = layer(x + table[tree_depth(heads)])[order]
    gap = (layer(x[order] + table[tree_depth(moved)]) - out).norm() / out.norm()
    return Measured(
        {"depths that differ": depths, "distances": (old.abs() != new.abs()).sum().item()}
        | {"signs": (old != new).sum().item(), "outputs apart by a share of": gap.item()},
        "exactly 0; exactly 0; over 0; rounding",
        depths == 0
        and torch.equal(old.abs(), new.abs())
        and not torch.equal(old, new)
        and gap.item() <= n * EPS,
    )
