"""The claims of the chapter multi_head."""

import math
from collections.abc import Callable
from copy import deepcopy
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from attncourse.claims import Measured, about, above, at_least, at_most, below, claim, exactly
from attncourse.cost import Cost, count
from attncourse.dot_product import attention_weights, causal_mask, padding_mask
from attncourse.multi_head import MultiHeadAttention, split_heads

VASWANI = "Vaswani et al. (2017)"
DONG = "Dong et al. (2021)"
ELHAGE = "Elhage et al. (2021)"
ROUNDING = at_most(1e-12, "rounding")
Module = TypeVar("Module", bound=nn.Module)


def normalised(x: Tensor) -> Tensor:
    """LayerNorm without parameters: each row has mean 0 and variance 1."""
    return nn.functional.layer_norm(x, x.shape[-1:])


# what a stack makes of x at each of its parts
STEPS = {
    "attention alone": lambda x, part: part(x),
    "LayerNorm": lambda x, part: normalised(part(x)),
    "skip": lambda x, part: x + part(x),
    "skip, LayerNorm after": lambda x, part: normalised(x + part(x)),
    "skip, LayerNorm before": lambda x, part: x + part(normalised(x)),
}


def normal(g: torch.Generator, *shape: int) -> Tensor:
    """Independent entries with mean 0 and variance 1, in float64."""
    return torch.randn(shape, generator=g, device=g.device, dtype=torch.float64)


def drawn(g: torch.Generator, make: Callable[[], Module], gain: float = 1) -> Module:
    """What `make` makes, in float64, its weights `gain` times as large as nn.Linear's at first.

    Torch's own generator, which belongs to the reader's next cell, stays as it is.
    """
    with torch.device("meta"):
        made = make().double()
    made.to_empty(device=g.device)
    for weight in made.parameters():
        nn.init.normal_(weight, std=gain * (3 * weight.shape[-1]) ** -0.5, generator=g)
    return made.requires_grad_(False)


def random_layer(g: torch.Generator, d: int, heads: int, gain: float = 1) -> MultiHeadAttention:
    """A layer without biases."""
    return drawn(g, lambda: MultiHeadAttention(d, heads, bias=False), gain)


def relative_error(one: Tensor, other: Tensor) -> float:
    """Their largest difference, as a share of the largest number."""
    return ((one - other).abs().max() / other.abs().max()).item()


@claim(
    "Two heads, one on the subject and one on the object, give the difference of their first four "
    "numbers (of eight) exactly. One head, with the same two weights in every sentence and the "
    r"best matrix behind them, does best with all its weight on one of the two, and still misses "
    r"$\sqrt{1/2}$ of the difference, by norm.",
    source="our own measurement, on independent tokens",
)
def one_head_cannot_subtract(g):
    x, eye = normal(g, 4096, 3, 8), torch.eye(4, dtype=torch.float64, device=g.device)
    subject, wanted = x[:, 0], x[:, 0, :4] - x[:, 2, :4]
    two, places = random_layer(g, 8, 2), eye.new_tensor([[[1, 0, 0]] * 3, [[0, 0, 1]] * 3])
    two.attend = lambda q, k, v, mask: places @ v
    # both heads carry the first four numbers of a token, and the last matrix subtracts
    two.w_v.weight.data = torch.kron(eye.new_tensor([[1, 0], [1, 0]]), eye)
    two.w_o.weight.data = torch.kron(eye.new_tensor([[1, -1], [0, 0]]), eye)
    missed = {}
    for larger in torch.linspace(0.5, 1, 11).tolist():
        mean = larger * subject + (1 - larger) * x[:, 2]
        best = mean @ torch.linalg.lstsq(mean, wanted).solution
        missed[larger] = ((best - wanted).norm() / wanted.norm()).item()
    least = min(missed, key=missed.__getitem__)
    rows = {"two heads miss": (relative_error(two(x)[:, 0, :4], wanted), ROUNDING)}
    rows["one head misses"] = missed[least], about(0.5**0.5, 0.02, r"$\sqrt{1/2}$")
    return Measured(rows | {"its larger weight": (least, exactly(1))})


def as_torch(layer: MultiHeadAttention, x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
    """What torch's own module makes of x and the context y with the parameters of this layer."""
    with torch.device("meta"):
        theirs = nn.MultiheadAttention(layer.d_model, layer.heads, batch_first=True)
    first, last = (layer.w_q, layer.w_k, layer.w_v), layer.w_o
    own = {"out_proj.weight": last.weight, "out_proj.bias": last.bias}
    own["in_proj_weight"] = torch.cat([one.weight for one in first])
    own["in_proj_bias"] = torch.cat([one.bias for one in first])
    # torch's mask is the other way up, and has a matrix for each sequence and head
    forbidden = None if mask is None else ~mask.repeat_interleave(layer.heads, 0)
    return functional_call(theirs, own, (x, y, y), {"attn_mask": forbidden})[0]


@claim(
    "With the same weights and biases, the layer gives what torch's `nn.MultiheadAttention` gives, "
    "and the same gradients with respect to tokens, weights and biases: under a mask that is "
    "causal and hides padding, a matrix for each sequence, and with a context.",
    source=f"{VASWANI}, section 3.2.2; the biases are torch's",
)
def equals_torch(g):
    ours, outs, grads = drawn(g, lambda: MultiHeadAttention(12, 3)).requires_grad_(), [], []
    x, y = normal(g, 2, 7, 12).requires_grad_(), normal(g, 2, 5, 12).requires_grad_()
    mask = causal_mask(7, g.device) & padding_mask(torch.tensor([7, 4], device=g.device), 7)
    given, grad = [x, y, *ours.parameters()], normal(g, 2, 7, 12)
    for context, hidden in ((x, mask), (y, None)):
        both = ours(x, context, hidden), as_torch(ours, x, context, hidden)
        outs.append(relative_error(*both))
        # y is no part of self-attention
        each = [torch.autograd.grad(out, given, grad, materialize_grads=True) for out in both]
        grads.append(relative_error(*(torch.cat([one.flatten() for one in of]) for of in each)))
    return Measured({"outputs apart by": (outs, ROUNDING), "gradients apart by": (grads, ROUNDING)})


@claim(
    r"A layer with $d_\text{model} = 64$ has $4 d_\text{model}^2 + 4 d_\text{model}$ parameters, "
    "biases included, whether it has 1 head or 64; and it takes sequences of 1, 50 and 2000 "
    "tokens.",
    source=f"{VASWANI}, section 3.2.2, gives the shapes; the biases are torch's",
)
def parameters_depend_on_the_width_alone(g):
    d, more, wrong = 64, [], 0
    for heads in (1, 2, 8, 64):
        with torch.device("meta"):
            layer = MultiHeadAttention(d, heads)
            wrong += sum(layer(torch.empty(n, d)).shape != (n, d) for n in (1, 50, 2000))
        more.append(sum(p.numel() for p in layer.parameters()) - 4 * d * d - 4 * d)
    rows = {"parameters beyond the formula": (more, exactly(0))}
    return Measured(rows | {"outputs of another shape": (wrong, exactly(0))})


@claim(
    "Put one more linear map before each of $W_Q$, $W_K$ and $W_V$, a different one each. The "
    "layer whose matrices are the three products gives the same output.",
    source="a product of matrices is a matrix",
)
def second_map_folds_into_the_first(g):
    folded, x = random_layer(g, 32, 4), normal(g, 2, 9, 32)
    twice = deepcopy(folded)
    for name in ("w_q", "w_k", "w_v"):
        first, second = nn.Linear(32, 32, bias=False, device="meta"), getattr(folded, name)
        first.weight = nn.Parameter(normal(g, 32, 32) / 32**0.5)
        setattr(twice, name, nn.Sequential(first, deepcopy(second)))
        second.weight.data = second.weight @ first.weight
    return Measured({"outputs apart by": (relative_error(twice(x), folded(x)), ROUNDING)})


@claim(
    "In a layer without biases, multiply a head's $W_Q$ by an invertible matrix and its $W_K$ by "
    "the inverse's transpose, its $W_V$ by another and its $W_O$ by that one's inverse: all four "
    "matrices change, and the output stays the same.",
    source=f"{ELHAGE}; it follows from eq. 1 of {VASWANI}",
)
def a_head_is_two_products(g):
    layer, x, heads = random_layer(g, 32, 4), normal(g, 2, 9, 32), 4
    changed, s, t = deepcopy(layer), normal(g, heads, 8, 8), normal(g, heads, 8, 8)
    for name, by in (("w_q", s.mT), ("w_k", s.inverse()), ("w_v", t.mT)):
        weight = getattr(changed, name).weight
        weight.data = (by @ weight.unflatten(0, (heads, 8))).flatten(0, 1)
    columns = split_heads(layer.w_o.weight, heads) @ t.inverse().mT
    changed.w_o.weight.data = columns.transpose(0, 1).flatten(1)
    pairs = zip(changed.parameters(), layer.parameters(), strict=True)
    rows = {"each matrix changes by": ([relative_error(*pair) for pair in pairs], above(0.1))}
    apart = relative_error(changed(x), layer(x))
    return Measured(rows | {"outputs apart by": (apart, at_most(1e-9, "rounding"))})


def head_products(layer: MultiHeadAttention) -> Tensor:
    """Each head's W_V W_O: (heads, d_model, d_model)."""
    # nn.Linear keeps a matrix as (out, in)
    w_v, w_o = (split_heads(w, layer.heads) for w in (layer.w_v.weight.mT, layer.w_o.weight))
    return w_v @ w_o.mT


@claim(
    "The layer is a sum over its heads, of a head's weights times the tokens times the one matrix "
    "$W_V W_O$ of that head; and, where the layer has biases, of the one vector $b_V W_O + b_O$.",
    source=f"{ELHAGE}, there without biases",
)
def layer_is_a_sum_over_heads(g):
    layer, x = drawn(g, lambda: MultiHeadAttention(32, 4)), normal(g, 2, 9, 32)
    q, k = split_heads(layer.w_q(x), 4), split_heads(layer.w_k(x), 4)
    parts = (attention_weights(q, k) @ x[:, None] @ head_products(layer)).sum(-3)
    whole = relative_error(parts + layer.w_o(layer.w_v.bias), layer(x))
    without = relative_error(parts, layer(x)), above(0.1)
    return Measured({"sum and layer apart by": (whole, ROUNDING), "without the vector": without})


@claim(
    r"With $d_\text{model} = 64$ and random weights, each head's $W_V W_O$ has rank "
    "$d_v = 64 / h$: with 4 heads 16, with 16 heads 4. The sum of these matrices over the heads "
    "has rank 64.",
    source="the rank of a product is at most its inner width",
)
def head_has_rank_d_v(g):
    rows, sums = {}, []
    for heads in (4, 16):
        products = head_products(random_layer(g, 64, heads))
        ranks = torch.linalg.matrix_rank(products).tolist()
        rows[f"ranks with {heads} heads"] = ranks, exactly(64 // heads)
        sums.append(torch.linalg.matrix_rank(products.sum(0)).item())
    return Measured(rows | {"ranks of the sums": (sums, exactly(64))})


def heads_behind(layer: MultiHeadAttention, x: Tensor) -> Tensor:
    """For each number of an output token, how many heads' W_V it has a gradient for."""
    of_w_v = jacrev(lambda w: functional_call(layer, {"w_v.weight": w}, (x,)))
    jacobian = of_w_v(layer.w_v.weight.detach())
    touched = (jacobian != 0).any(-1).any(0)
    return touched.unflatten(-1, (layer.heads, -1)).any(-1).sum(-1)


@claim(
    "With 4 heads and without $W_O$, each number of an output depends on one head alone; with "
    "$W_O$, each depends on all four.",
    source=f"{VASWANI}, section 3.2.2",
)
def w_o_mixes_the_heads(g):
    layer, x = random_layer(g, 16, 4), normal(g, 5, 16)
    mixed = heads_behind(layer, x).tolist()
    layer.w_o.weight.data = torch.eye(16).to(x)
    alone = heads_behind(layer, x).tolist()
    rows = {"heads behind a number, without $W_O$": (alone, exactly(1))}
    return Measured(rows | {"with $W_O$": (mixed, exactly(4))})


@claim(
    r"The projections come before the split, so with 4 heads and $d_\text{model} = 16$, the "
    "queries, the keys and the values of each head all have a gradient with respect to all 16 "
    "numbers of a token.",
    source=f"{VASWANI}, section 3.2.2",
)
def every_head_reads_the_whole_token(g):
    layer, x, rows = random_layer(g, 16, 4), normal(g, 5, 16), {}
    layer.w_o.weight.data = torch.eye(16).to(x)
    for i, name in enumerate(("queries", "keys", "values")):
        # each of the three goes through alone
        layer.attend = lambda *qkv_and_mask, i=i: qkv_and_mask[i]
        reads = (jacrev(layer)(x) != 0).any(2).any(0).unflatten(0, (4, 4)).any(1)
        rows[f"numbers that each head's {name} read"] = reads.sum(-1).tolist(), exactly(16)
    return Measured(rows)


@claim(
    "The heads have no order: reorder them, together with their rows and columns of the four "
    "matrices, and the output is the same.",
    source="a sum has no order",
)
def heads_have_no_order(g):
    layer, x = random_layer(g, 32, 4), normal(g, 2, 9, 32)
    shuffled, order = deepcopy(layer), torch.tensor([2, 0, 3, 1], device=g.device)
    rows = torch.arange(32, device=g.device).unflatten(0, (4, 8))[order].flatten()
    for linear in (shuffled.w_q, shuffled.w_k, shuffled.w_v):
        linear.weight.data = linear.weight[rows]
    without = relative_error(shuffled(x), layer(x))
    shuffled.w_o.weight.data = shuffled.w_o.weight[:, rows]
    whole = relative_error(shuffled(x), layer(x)), ROUNDING
    rows = {"outputs apart, $W_O$ left as it was": (without, above(0.1))}
    return Measured(rows | {"$W_O$ reordered as well": whole})


def fewer(weights: Tensor, v: Tensor) -> Tensor:
    """Weights of at most d_v + 1 rows of v that have the mean of those given."""
    weights = weights.clone()
    while len(kept := weights.nonzero()[:, 0]) > v.shape[-1] + 1:
        # a change that leaves the mean and the sum of the weights as they are
        change = torch.linalg.svd(torch.cat([v[kept].mT, v.new_ones(1, len(kept))]))[2][-1]
        steps = torch.where(change > 0, weights[kept] / change, torch.inf)
        weights[kept] -= steps.min() * change
        weights[kept[steps.argmin()]] = 0
    return weights


@claim(
    "Take 16 tokens and heads with $d_v = 4$. For every query of every head there are other "
    "weights, on at most $d_v + 1 = 5$ of the tokens, that give the same output; on average more "
    "than half of the weight has moved to another token.",
    source="Carathéodory's theorem; that long sequences leave the weights open: Brunner et al. "
    "(2020), section 3",
)
def other_weights_give_the_same_output(g):
    layer, x = random_layer(g, 16, 4), normal(g, 16, 16)
    q, k, v = (split_heads(one(x), 4) for one in (layer.w_q, layer.w_k, layer.w_v))
    weights = attention_weights(q, k)
    others = torch.stack([torch.stack([fewer(row, v[i]) for row in weights[i]]) for i in range(4)])
    moved = (others - weights).abs().sum(-1) / 2
    rows = {"tokens with weight": ((others > 0).sum(-1).flatten().tolist(), at_most(5))}
    rows["least of the weights"] = others.min().item(), at_least(0)
    rows["sums off 1 by"] = (others.sum(-1) - 1).abs().max().item(), ROUNDING
    rows["outputs apart by"] = relative_error(others @ v, weights @ v), ROUNDING
    return Measured(rows | {"weight moved, on average": (moved.mean().item(), above(0.5))})


def layer_cost(n: int, d: int, heads: int) -> Cost:
    """What self-attention of n tokens costs in a layer of this width."""
    with torch.device("meta"):
        return count(MultiHeadAttention(d, heads, bias=False), torch.empty(n, d))


@claim(
    r"For 512 tokens and $d_\text{model} = 64$, the matrix products of a layer take "
    r"$8\, n\, d_\text{model}^2 + 4\, n^2\, d_\text{model}$ operations, with 1 head or with 16. "
    r"The largest tensor has $h\, n^2$ elements.",
    source=f"our own count; {VASWANI}, section 3.2.2, says that the cost is similar",
)
def heads_cost_no_operations(g):
    n, d, numbers = 512, 64, (1, 2, 4, 8, 16)
    costs = [layer_cost(n, d, heads) for heads in numbers]
    more = [cost.flops - 8 * n * d * d - 4 * n * n * d for cost in costs]
    per_head = [cost.largest / heads / n**2 for cost, heads in zip(costs, numbers, strict=True)]
    rows = {"operations beyond the formula": (more, exactly(0))}
    return Measured(rows | {r"largest tensor, divided by $h\, n^2$": (per_head, exactly(1))})


def distance(x: Tensor) -> float:
    """The norm of what is left of x without the nearest matrix of equal rows, its mean row."""
    return (x - x.mean(-2, keepdim=True)).norm().item()


@claim(
    "Bring each token ten times closer to the mean of the tokens. What attention alone makes of "
    "them is then about a thousand times closer to being all alike; with a skip around it, ten "
    "times.",
    source=f"{DONG}, section 2 (there a bound: the cube)",
)
def attention_cubes_the_distance(g):
    layer, mean, around = random_layer(g, 64, 4), normal(g, 1, 64), normal(g, 16, 64)
    far, near = (mean + size * around for size in (0.01, 0.001))
    alone = distance(layer(far)) / distance(layer(near))
    skip = distance(far + layer(far)) / distance(near + layer(near))
    rows = {"times closer, attention alone": (alone, about(1000, 50))}
    return Measured(rows | {"with a skip": (skip, about(10, 0.5))})


def stack(g, x: Tensor, depth: int, how: str, mlps: bool = False, gain: float = 1) -> list[Tensor]:
    """The tokens x, and what 1, 2, ... layers with random weights (see `drawn`) make of them."""
    stream, d = [x], x.shape[-1]
    for _ in range(depth):
        layer = random_layer(g, d, 4, gain)
        for part in [layer, drawn(g, lambda: mlp(d), gain)] if mlps else [layer]:
            x = STEPS[how](x, part)
        stream.append(x)
    return stream


def mlp(d: int) -> nn.Module:
    """Two linear maps with a ReLU between, where it is four times as wide."""
    wide, back = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)
    return nn.Sequential(wide, nn.ReLU(), back)


def unlike(stream: list[Tensor]) -> list[float]:
    """For each, how far its tokens are from being all alike: 0 is alike, at most 1."""
    return [distance(x) / x.norm().item() for x in stream]


@claim(
    "Without skips, 4 attention layers with random weights of `nn.Linear`'s variance make 16 "
    "random tokens all alike, to 12 digits and more. With a random MLP after each, they do so as "
    "well. With weights three times as large, 4 layers leave over a fifth of what sets the tokens "
    "apart, and 24 leave nothing.",
    source=f"our own measurement; for weights that are small enough: {DONG}, section 2",
)
def attention_alone_collapses(g):
    x = normal(g, 16, 64)
    start, *_, alone = unlike(stack(g, x, 4, "attention alone"))
    mlps = unlike(stack(g, x, 4, "attention alone", mlps=True))[-1]
    large = unlike(stack(g, x, 24, "attention alone", gain=3))
    rows = {"$r$ at first": (start, above(0.9)), "after 4 layers": (alone, ROUNDING)}
    rows["after 4 layers, each with an MLP"] = mlps, ROUNDING
    rows["weights three times as large, 4 layers"] = large[4], above(0.2)
    return Measured(rows | {"the same, 24 layers": (large[24], ROUNDING)})


@claim(
    "With skips, and with skips and MLPs, 16 random tokens are still unlike after 32 layers with "
    "random weights of `nn.Linear`'s variance: over a tenth is left, where attention alone leaves "
    "the same tokens nothing but rounding. After 128 layers, less than a twentieth is left.",
    source=f"our own measurement; that skips stop the fast collapse: {DONG}, section 3",
)
def skips_slow_the_collapse(g):
    x = normal(g, 16, 64)
    alone = unlike(stack(g, x, 32, "attention alone"))
    kept = [unlike(stack(g, x, 128, "skip", mlps)) for mlps in (False, True)]
    rows = {"$r$ after 32 layers, attention alone": (alone[32], ROUNDING)}
    rows["with skips, without MLPs and with"] = [r[32] for r in kept], above(0.1)
    return Measured(rows | {"the same after 128 layers": ([r[128] for r in kept], below(0.05))})


@claim(
    r"With skips and weights $\sqrt 3$ times as large (variance $1/d_\text{model}$), less than a "
    "thousandth is left after 32 layers. The collapse goes by a factor a layer: layers 33 to 64 "
    "take twice as many digits as layers 17 to 32.",
    source="our own measurement",
)
def large_weights_collapse_in_spite_of_skips(g):
    r = unlike(stack(g, normal(g, 16, 64), 64, "skip", gain=3**0.5))
    digits = math.log10(r[32] / r[64]) / math.log10(r[16] / r[32])
    rows = {"$r$ after 32 layers": (r[32], below(1e-3))}
    return Measured(rows | {"digits, 33 to 64 / 17 to 32": (digits, about(2, 0.5))})


@claim(
    r"With skips and weights of variance $1/d_\text{model}$, LayerNorm after the sum changes "
    "little: as without it, 64 layers leave less than a millionth of what sets the tokens apart. "
    "LayerNorm before each layer leaves over a twentieth. Without skips, LayerNorm after each "
    "layer leaves nothing after 8.",
    source="our own measurement; the two places: Xiong et al. (2020)",
)
def norm_before_the_layer_slows_the_collapse(g):
    x = normal(g, 16, 64)
    left = {how: unlike(stack(g, x, 64, how, gain=3**0.5)) for how in STEPS}
    rows = {"$r$ after 64 layers, skips alone": (left["skip"][64], below(1e-6))}
    rows["LayerNorm after the sum"] = left["skip, LayerNorm after"][64], below(1e-6)
    rows["LayerNorm before the layer"] = left["skip, LayerNorm before"][64], above(0.05)
    return Measured(rows | {"no skips, LayerNorm, 8 layers": (left["LayerNorm"][8], ROUNDING)})


def known(stream: list[Tensor]) -> float:
    """How many of the last tokens point to their own first vector more than to any other."""
    first, last = (nn.functional.normalize(x, dim=-1) for x in (stream[0], stream[-1]))
    return float(((last @ first.mT).argmax(-1).cpu() == torch.arange(len(first))).sum())


@claim(
    "With skips, MLPs and random weights of `nn.Linear`'s variance, and no normalisation, at least "
    "14 of 16 tokens still point to their own embedding more than to any other after 16 layers, "
    r"but at most 12 after 32. Without skips, or with weights $\sqrt 3$ times as large, at most 3 "
    "do after 16 layers.",
    source="our own measurement",
)
def stream_remembers_its_tokens(g):
    x = normal(g, 16, 64)
    stream = stack(g, x, 32, "skip", mlps=True)
    none = known(stack(g, x, 16, "attention alone", mlps=True))
    large = known(stack(g, x, 16, "skip", mlps=True, gain=3**0.5))
    rows = {"tokens of 16, after 16 layers": (known(stream[:17]), at_least(14))}
    rows |= {"after 32 layers": (known(stream), at_most(12))}
    rows |= {"16 layers without skips": (none, at_most(3))}
    return Measured(rows | {"16 layers, larger weights": (large, at_most(3))})
