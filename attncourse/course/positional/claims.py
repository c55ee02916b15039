"""The claims of the chapter positional."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attncourse import english
from attncourse.course.claim import Measured, about, above, at_least, at_most, below, claim, exactly
from attncourse.course.multi_head.claims import normal64
from attncourse.dot_product import attention, attention_weights, causal_mask
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
ROUNDED = at_most(1e-5, "rounding")


def waves(n: int, d: int, g: torch.Generator, start: int = 0) -> Tensor:
    """The package's sinusoids in float64, on the device of g."""
    return sinusoids(n, d, g.device, start=start, dtype=torch.float64)


# the words before "work" in three orders, and tokens that may follow them
ORDERS = (
    "We have more people at work",
    "at people more have We work",
    "have We people more at work",
)
NEXT_TOKENS = ("ed", ".", " to", " in", " together")


def next_tokens(device: torch.device | None = None) -> Tensor:
    """For each order, the probability of each next token, of two models of one block.

    The first model has no positions, and the second has. Of shape (orders, tokens, models).
    """
    names = ("one_block_without_positions", "one_block")
    models = [english.model(name, device) for name in names]
    return torch.stack(
        [
            torch.stack(
                [english.next_probabilities(model, text, NEXT_TOKENS, device) for model in models],
                dim=-1,
            )
            for text in ORDERS
        ]
    )


@claim(
    "A trained model of one block without positions gives the tokens after “work” the same "
    "probabilities in three orders of the words before it. With positions, it hardly expects "
    "“worked” after “at work”, and gives the “ed” over half of the probability after “We work”.",
    source="our own measurement",
)
def a_trained_model_without_positions_sees_no_order(g):
    without, ordered = next_tokens(g.device).unbind(-1)
    return Measured(
        {
            "without positions, off by": ((without - without[0]).abs().max().item(), ROUNDED),
            "“ed” after “at work”, with positions": (ordered[0, 0].item(), below(0.15)),
            "after “We work”": (ordered[1, 0].item(), above(0.5)),
        }
    )


def random_layer(g: torch.Generator, d: int) -> Callable[..., Tensor]:
    """Self-attention with three random matrices, and no positions."""
    w = normal64(g, 3, d, d) / d**0.5

    def layer(x: Tensor, mask: Tensor | None = None) -> Tensor:
        return attention(x @ w[0], x @ w[1], x @ w[2], mask)

    return layer


def equivariance_gap(layer: Callable[[Tensor], Tensor], x: Tensor, order: Tensor) -> float:
    """The distance of the outputs of reordered tokens from the reordered outputs, as a share."""
    out = layer(x)
    return ((layer(x[order]) - out[order]).norm() / out.norm()).item()


@claim(
    "Without positions or a mask, 64 tokens in another order have the same outputs, in that order, "
    "so the mean of the outputs stays as it is.",
    source="Vaswani et al. (2017), eq. 1, in which no position occurs",
)
def order_is_invisible(g):
    n, d = 64, 16
    layer, x = random_layer(g, d), normal64(g, n, d)
    order = torch.randperm(n, generator=g, device=g.device)
    gap = equivariance_gap(layer, x, order)
    mean = layer(x).mean(0)
    change = ((layer(x[order]).mean(0) - mean).norm() / mean.norm()).item()
    rounding = at_most(n * EPS, "rounding")
    return Measured(
        {
            "difference, as a share of the norm": (gap, rounding),
            "difference of the means": (change, rounding),
        }
    )


@claim(
    "Add sinusoids to 64 tokens, and the outputs of the tokens in another order differ from the "
    "reordered outputs by more than a quarter of their norm.",
    source=VASWANI,
)
def positions_make_order_visible(g):
    n, d = 64, 16
    layer, x = random_layer(g, d), normal64(g, n, d)
    order = torch.randperm(n, generator=g, device=g.device)
    gap = equivariance_gap(lambda x: layer(SinusoidalEncoding(d)(x)), x, order)
    return Measured({"difference, as a share of the norm": (gap, above(0.25))})


def rotation(offset: int, d: int) -> Tensor:
    """One matrix that rotates each pair of a row by its frequency times the offset."""
    angle = offset * 10000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    cos, sin = angle.cos(), angle.sin()
    # rows are vectors: (sin a, cos a) times this is (sin(a + b), cos(a + b))
    pairs = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    return torch.block_diag(*pairs)


@claim(
    "In an even width, one rotation matrix for each offset takes the sinusoids of every position "
    "from 0 to 999 to those of the position at that offset.",
    source=f"{VASWANI}, which calls it a linear function",
)
def a_shift_is_a_rotation(g):
    d = 64
    difference, skew = [], []
    for offset in (1, 7, 100, -3):
        turn = rotation(offset, d).to(g.device)
        shifted = waves(1000, d, g) @ turn
        difference.append((shifted - waves(1000, d, g, offset)).abs().max().item())
        skew.append((turn @ turn.mT - torch.eye(d, device=g.device)).abs().max().item())
    # an angle of 1000 is rounded to 1000 eps
    rounding = at_most(2000 * EPS, "rounding")
    return Measured(
        {
            "largest difference of the rows, for each of four offsets": (difference, rounding),
            "matrix times its transpose, difference from the identity": (skew, rounding),
        }
    )


@claim(
    "A head of width 16 finds the word before among 1000 positions with 8 of the 32 pairs of the "
    r"sinusoids. Let $W_Q$ hold their rotation by $-1$, times 30, and $W_K$ select them: then each "
    "position from 1 on gives more than 99 % of its weight to the position before it. With random "
    "matrices of the same shape it gives less than 1 % on average.",
    source=f"our own head, after {VASWANI}",
)
def a_head_finds_the_word_before(g):
    n, d, d_k = 1000, 64, 16
    p, rotate_back = waves(n, d, g), 30 * rotation(-1, d)[:, :d_k].to(g.device)
    select = torch.eye(d, d_k, device=g.device, dtype=p.dtype)
    head_weights = attention_weights(p @ rotate_back, p @ select).diagonal(-1)
    w_q, w_k = normal64(g, 2, d, d_k) / d**0.5
    random_weights = attention_weights(p @ w_q, p @ w_k).diagonal(-1)
    return Measured(
        {
            "smallest weight on the word before": (head_weights.min().item(), above(0.99)),
            "mean weight, random matrices": (random_weights.mean().item(), below(0.01)),
        }
    )


@claim(
    "In an even width, the dot product of the sinusoids of two positions depends only on their "
    "offset: it is the same between 0 and 999 as a million positions further on, and the same for "
    "an offset and its opposite.",
    source=f"{VASWANI}; Yan et al. (2019) for the lost sign",
)
def products_depend_on_the_offset(g):
    n, d = 1000, 64
    products, products_far = (p @ p.mT for p in (waves(n, d, g), waves(n, d, g, 10**6)))
    position = torch.arange(n, device=g.device)
    by_offset = products[0][(position - position[:, None]).abs()]
    difference = [
        (dot_products - by_offset).abs().max().item() / d
        for dot_products in (products, products_far)
    ]
    rounding = "rounding of the angles"
    return Measured(
        {
            "difference from 0 on, divided by $d$": (difference[0], at_most(1e-12, rounding)),
            "from a million on": (difference[1], at_most(1e-9, rounding)),
        }
    )


def explained_share(scores: Tensor) -> float:
    """The share of the variance of scores that the means over equal offsets explain."""
    n = len(scores)
    position = torch.arange(n, device=scores.device)
    offset = (position - position[:, None] + n - 1).flatten()
    sums = scores.new_zeros(2 * n - 1).index_add(0, offset, scores.flatten())
    means = (sums / offset.bincount())[offset].view(n, n)
    return 1 - ((scores - means).var() / scores.var()).item()


@claim(
    "Among 256 positions at width 64, the offset explains all the variance of the dot products of "
    "sinusoids. With random matrices $W_Q$ and $W_K$ between them, as in a layer before training, "
    "it explains less than a fifth of the variance of the scores, on average over 20 layers.",
    source="after Yan et al. (2019)",
)
def projections_hide_the_offset(g):
    n, d, layers = 256, 64, 20
    p = waves(n, d, g)
    plain_share, projected_share = explained_share(p @ p.mT), 0.0
    for _ in range(layers):
        w_q, w_k = normal64(g, 2, d, d) / d**0.5
        projected_share += explained_share(p @ w_q @ (p @ w_k).mT) / layers
    return Measured(
        {
            "share explained, scores of random layers": (projected_share, below(0.2)),
            "share left unexplained, sinusoids alone": (
                1 - plain_share,
                at_most(1e-12, "rounding"),
            ),
        }
    )


def products(base: float, offsets: Tensor, d: int) -> Tensor:
    """The dot products of positions at these offsets, divided by d / 2, for this base."""
    frequency = base ** (-torch.arange(0, d, 2, device=offsets.device, dtype=torch.float64) / d)
    return torch.outer(offsets, frequency).cos().mean(-1)


@claim(
    r"At width 512 and a base $\beta$ of 100, 10,000 and 1,000,000, the product of two positions, "
    r"divided by $d/2$, falls with $\ln o$ at a slope of about $-1 / \ln \beta$ from $o = 4$ to "
    r"$o = \beta / 4$. From $4\beta$ to $16\beta$ its mean is about 0. A larger base leaves "
    "neighbours closer: at the largest, they are about a third as far apart as at the smallest.",
    source=f"our own derivation, from the products of {VASWANI}",
)
def the_base_sets_the_range(g):
    d = 512
    slopes, far_means = [], []
    neighbour_distances = []
    options = {"device": g.device, "dtype": torch.float64}
    for power in (2, 4, 6):
        offsets = torch.logspace(0.6, power - 0.6, 300, **options)
        x = torch.stack([offsets.log(), torch.ones_like(offsets)], dim=-1)
        slope = torch.linalg.lstsq(x, products(10**power, offsets, d)[:, None]).solution[0, 0]
        slopes.append(slope.item() * math.log(10**power))
        far_offsets = torch.logspace(power + 0.6, power + 1.2, 300, **options)
        far_means.append(products(10**power, far_offsets, d).mean().item())
        neighbour_distances.append(1 - products(10**power, torch.ones(1, **options), d).item())
    errors = waves(1000, d, g) @ waves(1, d, g)[0] / (d / 2) - products(
        10**4, torch.arange(1000, **options), d
    )
    rounding = at_most(1e-12, "rounding")
    return Measured(
        {
            r"slope times $\ln \beta$, for each base": (slopes, about(-1, 0.1)),
            r"mean product from $4\beta$ to $16\beta$": (far_means, about(0, 0.02)),
            "distance of neighbours, as a ratio": (
                neighbour_distances[2] / neighbour_distances[0],
                about(1 / 3, 0.03),
            ),
            "base 10,000, difference from the package": (errors.abs().max().item(), rounding),
        }
    )


@claim(
    "In an even width, the squares of a row of sinusoids have mean 1/2 at every position. Added to "
    "embeddings of mean 0 and standard deviation $s$, the positions therefore make up, on average, "
    "$1 / (1 + 2 s^2)$ of the mean square of the sum: a third at $s = 1$, and 98 % at $s = 0.1$.",
    source=rf"$\sin^2 + \cos^2 = 1$, and the sinusoids of {VASWANI}",
)
def a_row_has_mean_square_one_half(g):
    n, d = 512, 64
    shares = {}
    error = (waves(n, d, g).square().mean(-1) - 0.5).abs().max().item()
    for s in (1.0, 0.1):
        total = SinusoidalEncoding(d)(s * normal64(g, n, d)).square().mean().item()
        shares[s] = 0.5 / total
    return Measured(
        {
            "largest difference of a mean square from 1/2": (error, at_most(1e-12, "rounding")),
            "share of the positions at $s = 1$": (shares[1.0], about(1 / 3, 0.01)),
            "share at $s = 0.1$": (shares[0.1], about(0.98, 0.01)),
        }
    )


@claim(
    "If every training sentence has 16 words, the rows of a learned table from 16 on get a "
    "gradient of exactly 0, so only weight decay, if there is any, changes them. A sentence longer "
    "than the table raises an error.",
    source="Gehring et al. (2017), section 3.1, where a position looks up its own row only",
)
def a_table_learns_only_what_it_sees(g):
    layer = LearnedEncoding(32, 8).to(g.device)
    layer(normal64(g, 4, 16, 8).float()).square().sum().backward()
    has_gradient = (layer.table.grad != 0).any(-1)
    try:
        layer(normal64(g, 33, 8).float())
        refusals = 0
    except ValueError:
        refusals = 1
    return Measured(
        {
            "rows with a gradient, of the 16 seen": (has_gradient[:16].sum().item(), exactly(16)),
            "rows with a gradient, of the 16 unseen": (has_gradient[16:].sum().item(), exactly(0)),
            "sentences of 33 words refused, of one": (refusals, exactly(1)),
        }
    )


@claim(
    "An MLP trained to give the sinusoids of the positions 0 to 15 has more than 4 times the error "
    "at 16 to 31, and more error than rows of zeros would have. Its rows for 1000 and 1001 are "
    "nearly the same: they differ by less than a tenth of what neighbours in training do.",
    source="our own measurement; a tanh far from 0 is close to 1 or $-1$",
)
def an_mlp_drifts_beyond_training(g):
    with torch.random.fork_rng():
        torch.manual_seed(g.initial_seed())
        layer = MLPEncoding(8, hidden=64).to(g.device)
    target = waves(32, 8, g).float()
    zeros = torch.zeros_like(target)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    for _ in range(800):
        loss = (layer(zeros[:16]) - target[:16]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rows, far_rows = layer(zeros), layer(zeros[:2], 1000)
    errors_within, errors_beyond = (rows - target).square().mean(-1).sqrt().split(16)
    steps = [x.diff(dim=0).norm(dim=-1).mean().item() for x in (rows[:16], far_rows)]
    ratio, step = (errors_beyond.mean() / errors_within.mean()).item(), steps[1] / steps[0]
    return Measured(
        {
            "error beyond training / within": (ratio, above(4)),
            "error beyond training": (
                errors_beyond.mean().item(),
                above(0.5**0.5, "that of zeros"),
            ),
            "step from 1000 to 1001 / between neighbours in training": (step, below(0.1)),
        }
    )


def readout(out: Tensor, target: Tensor) -> float:
    """The share of the variance of `target` that a linear map of `out`, fitted on half, explains.

    Below 0 where it does worse than the mean on the other half.
    """
    x = torch.cat([out, torch.ones_like(out[..., :1])], dim=-1)
    (x, held_out), (y, truth) = (
        [half.flatten(0, 1) for half in tensor.chunk(2)]
        for tensor in (x, target.expand(out.shape[:2]))
    )
    error = held_out @ torch.linalg.lstsq(x, y[:, None]).solution[:, 0] - truth
    return 1 - (error.square().mean() / truth.var()).item()


@claim(
    "A first token that is always the same and 63 random tokens go through one random layer "
    "without positions. A linear map of an output explains more than a fifth of the variance of "
    "the logarithm of its position if the layer has a causal mask, and none without a mask.",
    source="after Haviv et al. (2022), who read positions off trained language models",
)
def the_causal_mask_leaks_position(g):
    n, d = 64, 32
    layer = random_layer(g, d)
    first = normal64(g, d)
    x = normal64(g, 256, n, d)
    x[:, 0] = first
    position = torch.arange(1, n, device=g.device).double().log()
    causal, open_ = (
        readout(layer(x, mask)[:, 1:], position) for mask in (causal_mask(n, g.device), None)
    )
    return Measured(
        {
            "share explained, causal mask": (causal, above(0.2)),
            "share explained, no mask": (open_, below(0.01)),
        }
    )


def random_tree(g: torch.Generator, n: int) -> Tensor:
    """The parents in a tree whose words stand in random order."""
    order = torch.randperm(n, generator=g, device=g.device)
    parents = torch.full_like(order, -1)
    for i in range(1, n):
        parents[order[i]] = order[torch.randint(i, (), generator=g, device=g.device)]
    return parents


@claim(
    "In a chain, where each of 32 words hangs from the word before it, the depth of a word is its "
    "position, and the signed tree distance from word $t$ to word $u$ is their offset $u - t$.",
    source=f"after {WANG}; to count the edges of the path is our choice",
)
def a_chain_is_the_sequence(g):
    position = torch.arange(32, device=g.device)
    depths = (tree_depth(position - 1) != position).sum().item()
    distances = (tree_distance(position - 1) != position - position[:, None]).sum().item()
    return Measured(
        {
            "depths that differ": (depths, exactly(0)),
            "distances that differ": (distances, exactly(0)),
        }
    )


@claim(
    "In 20 random trees of 24 words, tree distances without their sign are a metric: 0 only from a "
    "word to itself, the same in both directions, and never shorter by a detour over a third word. "
    "With their sign, the two directions are opposite numbers.",
    source="the path between two nodes of a tree is unique",
)
def tree_distance_is_a_distance(g):
    n, violations = 24, {"zeros": 0, "opposite numbers": 0, "detours": 0}
    for _ in range(20):
        distances = tree_distance(random_tree(g, n))
        unsigned = distances.abs()
        itself = torch.eye(n, dtype=torch.bool, device=g.device)
        violations["zeros"] += int(((unsigned == 0) != itself).sum())
        violations["opposite numbers"] += int((distances != -distances.mT).sum())
        violations["detours"] += int(
            (unsigned[:, :, None] + unsigned[None] < unsigned[:, None]).sum()
        )
    return Measured(
        {f"{name} that are wrong": (count, exactly(0)) for name, count in violations.items()}
    )


@claim(
    "Put 24 words in another order and keep their tree: depths and unsigned tree distances move "
    "with the words, and only signs change. Attention with depths added to the words therefore "
    "still cannot tell the order.",
    source=f"after {WANG}; a tree says which words belong together, not in what order",
)
def a_tree_does_not_know_the_order(g):
    n, d = 24, 8
    parents, order = random_tree(g, n), torch.randperm(n, generator=g, device=g.device)
    # the new place of each old word; the last entry keeps the mark of a root
    new_positions = torch.cat([order.argsort(), order.new_tensor([-1])])
    new_parents = new_positions[parents[order]]
    layer = random_layer(g, d)
    x = normal64(g, n, d)
    table = normal64(g, n, d)
    depths = (tree_depth(new_parents) != tree_depth(parents)[order]).sum().item()
    old, new = tree_distance(parents)[order][:, order], tree_distance(new_parents)
    out = layer(x + table[tree_depth(parents)])[order]
    gap = (layer(x[order] + table[tree_depth(new_parents)]) - out).norm() / out.norm()
    return Measured(
        {
            "depths that differ": (depths, exactly(0)),
            "unsigned distances that differ": ((old.abs() != new.abs()).sum().item(), exactly(0)),
            "signs that differ": ((old != new).sum().item(), at_least(1)),
            "difference of the outputs, as a share": (gap.item(), at_most(n * EPS, "rounding")),
        }
    )
