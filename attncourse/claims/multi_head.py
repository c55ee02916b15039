"""The claims of the chapter multi_head."""

import math
from collections.abc import Callable
from copy import deepcopy
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from attncourse.claims import Measured, claim
from attncourse.cost import Cost, count
from attncourse.dot_product import attention_weights, causal_mask, padding_mask
from attncourse.multi_head import MultiHeadAttention, split_heads

VASWANI = "Vaswani et al. (2017)"
DONG = "Dong et al. (2021)"
ELHAGE = "Elhage et al. (2021)"
ROUNDING = 1e-12
Module = TypeVar("Module", bound=nn.Module)
# with skips or without, with MLPs or without
VARIANTS = {
    "attention alone": (False, False),
    "with skips": (True, False),
    "with skips and MLPs": (True, True),
}


def normal(g: torch.Generator, *shape: int) -> Tensor:
    """Independent entries with mean 0 and variance 1, in float64."""
    return torch.randn(shape, generator=g, device=g.device, dtype=torch.float64)


def drawn(g: torch.Generator, make: Callable[[], Module], gain: float = 1) -> Module:
    """What `make` makes, in float64, its weights `gain` times as large as nn.Linear's at first.

    Nothing is drawn from torch's own generator, which belongs to the reader's next cell.
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
    "Two heads, one on the token before and one on the token after, give the difference of their "
    "first four numbers (of eight) exactly. One head, with the same two weights in every sequence "
    "and the best matrix behind them, does best with all its weight on one token, and still "
    "misses √½ of the difference, by norm.",
    source="our own measurement, on independent tokens",
)
def one_head_cannot_subtract(g):
    x, eye = normal(g, 4096, 3, 8), torch.eye(4, dtype=torch.float64, device=g.device)
    before, after = x[:, 0, :4], x[:, 2, :4]
    two, places = random_layer(g, 8, 2), eye.new_tensor([[[1, 0, 0]] * 3, [[0, 0, 1]] * 3])
    two.attend = lambda q, k, v, mask: places @ v
    # both heads carry the first four numbers of a token, and the last matrix subtracts
    two.w_v.weight.data = torch.kron(eye.new_tensor([[1, 0], [1, 0]]), eye)
    two.w_o.weight.data = torch.kron(eye.new_tensor([[-1, 1], [0, 0]]), eye)
    exact = relative_error(two(x)[:, 0, :4], after - before)
    missed = {}
    for larger in torch.linspace(0.5, 1, 11).tolist():
        mean = larger * x[:, 0] + (1 - larger) * x[:, 2]
        best = mean @ torch.linalg.lstsq(mean, after - before).solution
        missed[larger] = ((best - (after - before)).norm() / (after - before).norm()).item()
    least = min(missed, key=missed.__getitem__)
    return Measured(
        {"two heads miss": exact, "one head misses": missed[least], "its larger weight": least},
        f"rounding; √½ = {0.5**0.5:.4f} within 3 %; 1",
        exact <= ROUNDING and abs(missed[least] / 0.5**0.5 - 1) < 0.03 and least == 1,
    )


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
    "With the same weights and biases, the layer gives what torch's nn.MultiheadAttention gives, "
    "and the same gradients of tokens, weights and biases: under a mask that is causal and hides "
    "padding, a matrix for each sequence, and with a context.",
    source=f"{VASWANI}, section 3.2.2; the biases are torch's",
)
def equals_torch(g):
    ours, measured = drawn(g, lambda: MultiHeadAttention(12, 3)).requires_grad_(), {}
    x, y = normal(g, 2, 7, 12).requires_grad_(), normal(g, 2, 5, 12).requires_grad_()
    mask = causal_mask(7, g.device) & padding_mask(torch.tensor([7, 4], device=g.device), 7)
    masked, cross = as_torch(ours, x, x, mask), as_torch(ours, x, y)
    pairs = {"self, masked": (ours(x, mask=mask), masked), "cross": (ours(x, y), cross)}
    given, grad = [x, y, *ours.parameters()], normal(g, 2, 7, 12)
    for name, outs in pairs.items():
        # y is no part of self-attention
        each = [torch.autograd.grad(out, given, grad, materialize_grads=True) for out in outs]
        grads = [torch.cat([one.flatten() for one in parts]) for parts in each]
        measured[f"{name}: outputs apart"] = relative_error(*outs)
        measured[f"{name}: gradients"] = relative_error(*grads)
    return Measured(measured, "rounding, all", max(measured.values()) <= ROUNDING)


@claim(
    "A layer with d_model = 64 has 4 d_model² + 4 d_model parameters, biases included, whether it "
    "has 1 head or 64; and it takes sequences of 1, 50 and 2000 tokens.",
    source=f"{VASWANI}, section 3.2.2, gives the shapes; the biases are torch's",
)
def parameters_depend_on_the_width_alone(g):
    d, counts, shapes, lengths = 64, [], [], (1, 50, 2000)
    for heads in (1, 2, 8, 64):
        with torch.device("meta"):
            layer = MultiHeadAttention(d, heads)
            shapes += [layer(torch.empty(n, d)).shape == (n, d) for n in lengths]
        counts.append(sum(p.numel() for p in layer.parameters()) - 4 * d * d - 4 * d)
    measured = {"parameters more, at most": max(counts), "fewer, at most": -min(counts)}
    measured |= {"outputs of another shape": shapes.count(False)}
    return Measured(measured, "exactly 0, all", set(measured.values()) == {0})


@claim(
    "Put one more linear map before each of W_Q, W_K and W_V, a different one each. The layer "
    "whose matrices are the three products gives the same output.",
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
    difference = relative_error(twice(x), folded(x))
    return Measured({"outputs apart by": difference}, "rounding", difference <= ROUNDING)


@claim(
    "Multiply a head's W_Q by an invertible matrix and its W_K by the inverse's transpose, its W_V "
    "by another and its W_O by that one's inverse: the output stays the same.",
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
    moved = min(relative_error(one, other) for one, other in pairs)
    difference = relative_error(changed(x), layer(x))
    measured = {"weights apart by at least": moved, "outputs apart by": difference}
    return Measured(measured, "over 1/10; at most 1e-9", moved > 0.1 and difference <= 1e-9)


def head_products(layer: MultiHeadAttention) -> Tensor:
    """Each head's W_V W_O: (heads, d_model, d_model)."""
    # nn.Linear keeps a matrix as (out, in)
    w_v, w_o = (split_heads(w, layer.heads) for w in (layer.w_v.weight.mT, layer.w_o.weight))
    return w_v @ w_o.mT


@claim(
    "The layer is a sum over its heads: of the head's weights, times the tokens, times the one "
    "matrix W_V W_O of that head. Nothing of it is left over.",
    source=f"{ELHAGE}",
)
def layer_is_a_sum_over_heads(g):
    layer, x = random_layer(g, 32, 4), normal(g, 2, 9, 32)
    q, k = split_heads(layer.w_q(x), 4), split_heads(layer.w_k(x), 4)
    parts = attention_weights(q, k) @ x[:, None] @ head_products(layer)
    difference = relative_error(parts.sum(-3), layer(x))
    return Measured({"sum and layer apart by": difference}, "rounding", difference <= ROUNDING)


@claim(
    "With d_model = 64 and random weights, each head's W_V W_O has rank d_v = 64 / heads: at 4 "
    "heads 16, at 16 heads 4. The sum of these matrices over the heads has rank 64.",
    source="the rank of a product is at most its inner width",
)
def head_has_rank_d_v(g):
    measured, holds = {}, True
    for heads in (4, 16):
        products = head_products(random_layer(g, 64, heads))
        ranks = torch.linalg.matrix_rank(products)
        whole = torch.linalg.matrix_rank(products.sum(0)).item()
        measured[f"{heads} heads, largest rank"] = ranks.max().item()
        measured["of the sum" if heads == 4 else "the sum"] = whole
        holds &= whole == 64 and bool((ranks == 64 // heads).all())
    return Measured(measured, "exactly 64 / heads; 64", holds)


def heads_behind(layer: MultiHeadAttention, x: Tensor) -> Tensor:
    """For each number of an output token, how many heads it has a gradient in (by their W_V)."""
    of_w_v = jacrev(lambda w: functional_call(layer, {"w_v.weight": w}, (x,)))
    jacobian = of_w_v(layer.w_v.weight.detach())
    touched = (jacobian != 0).any(-1).any(0)
    return touched.unflatten(-1, (layer.heads, -1)).any(-1).sum(-1)


@claim(
    "With 4 heads and without W_O, each number of an output depends on one head alone; with W_O, "
    "each depends on all four.",
    source=f"{VASWANI}, section 3.2.2",
)
def w_o_mixes_the_heads(g):
    layer, x = random_layer(g, 16, 4), normal(g, 5, 16)
    mixed = heads_behind(layer, x)
    layer.w_o.weight.data = torch.eye(16).to(x)
    alone, mixed = heads_behind(layer, x).max().item(), mixed.min().item()
    measured = {"without W_O, at most": alone, "with it, at least": mixed}
    return Measured(measured, "exactly 1 and 4", (alone, mixed) == (1, 4))


@claim(
    "Every head reads every number of a token: the projections come before the cut, so with 4 "
    "heads and d_model = 16, each head's queries, keys and values all have a gradient in all 16.",
    source=f"{VASWANI}, section 3.2.2",
)
def every_head_reads_the_whole_token(g):
    layer, x, fewest = random_layer(g, 16, 4), normal(g, 5, 16), {}
    layer.w_o.weight.data = torch.eye(16).to(x)
    for i, name in enumerate(("queries", "keys", "values")):
        # each of the three goes through alone
        layer.attend = lambda *qkv_and_mask, i=i: qkv_and_mask[i]
        reads = (jacrev(layer)(x) != 0).any(2).any(0)
        fewest[name] = reads.unflatten(0, (4, 4)).any(1).sum(-1).min().item()
    return Measured(fewest, "exactly 16, the fewest of any head", set(fewest.values()) == {16})


@claim(
    "The heads have no order: put them in another one, together with their rows and columns of "
    "the four matrices, and the output is the same.",
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
    difference = relative_error(shuffled(x), layer(x))
    measured = {"W_O left as it was, apart by": without, "moved as well": difference}
    return Measured(measured, "over 1/10; rounding", without > 0.1 and difference <= ROUNDING)


def layer_cost(n: int, d: int, heads: int) -> Cost:
    """What self-attention of n tokens costs in a layer of this width."""
    with torch.device("meta"):
        return count(MultiHeadAttention(d, heads, bias=False), torch.empty(n, d))


@claim(
    "For 512 tokens and d_model = 64, the matrix products of a layer take 8 n d_model² + "
    "4 n² d_model operations, with 1 head or with 16. The largest tensor has heads · n² elements.",
    source=f"our own count; {VASWANI}, section 3.2.2, says that the cost is similar",
)
def heads_cost_no_operations(g):
    n, d, numbers = 512, 64, (1, 2, 4, 8, 16)
    costs = {heads: layer_cost(n, d, heads) for heads in numbers}
    more = [cost.flops - 8 * n * d * d - 4 * n * n * d for cost in costs.values()]
    measured = {"operations more, at most": max(more), "fewer, at most": -min(more)}
    measured |= {"largest tensor, 16 heads / 1": costs[16].largest / costs[1].largest}
    largest = all(cost.largest == heads * n * n for heads, cost in costs.items())
    return Measured(measured, "exactly 0 both; 16", set(more) == {0} and largest)


def distance(x: Tensor) -> float:
    """The norm of what is left of x without the nearest matrix of equal rows, its mean row."""
    return (x - x.mean(-2, keepdim=True)).norm().item()


@claim(
    "Make the tokens more alike: bring each ten times closer to their mean. What attention alone "
    "makes of them is then about a thousand times closer to being all alike; with a skip around "
    "it, ten times.",
    source=f"{DONG}, section 2 (there a bound: the cube)",
)
def attention_cubes_the_distance(g):
    layer, mean, around = random_layer(g, 64, 4), normal(g, 1, 64), normal(g, 16, 64)
    far, near = (mean + size * around for size in (0.01, 0.001))
    alone = distance(layer(far)) / distance(layer(near))
    skip = distance(far + layer(far)) / distance(near + layer(near))
    measured = {"closer, attention alone": alone, "with a skip": skip}
    holds = abs(alone / 1000 - 1) < 0.05 and abs(skip / 10 - 1) < 0.05
    return Measured(measured, "10³ and 10, within 5 %", holds)


def stack(g, x: Tensor, depth: int, skips: bool, mlps: bool, gain: float = 1) -> list[Tensor]:
    """The tokens x, and what 1, 2, ... layers with random weights (see `drawn`) make of them."""
    stream, d = [x], x.shape[-1]
    for _ in range(depth):
        layer = random_layer(g, d, 4, gain)
        for part in [layer, drawn(g, lambda: mlp(d), gain)] if mlps else [layer]:
            x = x + part(x) if skips else part(x)
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
    "Without skips and MLPs, 4 attention layers with random weights of nn.Linear's variance make "
    "16 random tokens all alike, to 12 digits and more. With a random MLP after each, they do so "
    "as well. With weights three times as large they do not: over a fifth is left.",
    source=f"{DONG}, section 2, for weights that are small enough",
)
def attention_alone_collapses(g):
    x = normal(g, 16, 64)
    start, *_, alone = unlike(stack(g, x, 4, skips=False, mlps=False))
    mlps = unlike(stack(g, x, 4, skips=False, mlps=True))[-1]
    large = unlike(stack(g, x, 4, skips=False, mlps=False, gain=3))[-1]
    measured = {"at first": start, "4 layers": alone, "with MLPs": mlps, "larger weights": large}
    holds = start > 0.9 and max(alone, mlps) <= ROUNDING and large > 0.2
    return Measured(measured, f"over 0.9; at most {ROUNDING:g} both; over 0.2", holds)


@claim(
    "With skips, and with skips and MLPs, 16 random tokens are still unlike after 32 layers with "
    "random weights of nn.Linear's variance: over a tenth is left, where attention alone leaves "
    "the same tokens nothing but rounding. After 128 layers, less than a twentieth is left.",
    source=f"our own measurement; that skips stop the fast collapse: {DONG}, section 3",
)
def skips_slow_the_collapse(g):
    x, left = normal(g, 16, 64), {}
    for name, parts in VARIANTS.items():
        r = unlike(stack(g, x, 128, *parts))
        left |= {f"{name}, 32 layers": r[32], f"{name}, 128": r[128]}
    alone, _, *kept = left.values()
    holds = alone <= ROUNDING and min(kept[::2]) > 0.1 and max(kept[1::2]) < 0.05
    return Measured(left, f"alone at most {ROUNDING:g}; over 0.1 at 32; under 0.05 at 128", holds)


@claim(
    "With skips and weights √3 times as large (variance 1/d_model), less than a thousandth is left "
    "after 32 layers. The collapse goes by a factor a layer: layers 33 to 64 take twice as many "
    "digits as layers 17 to 32.",
    source="our own measurement",
)
def large_weights_collapse_in_spite_of_skips(g):
    r = unlike(stack(g, normal(g, 16, 64), 64, skips=True, mlps=False, gain=3**0.5))
    digits = math.log10(r[32] / r[64]) / math.log10(r[16] / r[32])
    measured = {"left after 32 layers": r[32], "digits, 33 to 64 / 17 to 32": digits}
    return Measured(measured, "under 0.001; 2 within 1/4", r[32] < 1e-3 and 1.5 < digits < 2.5)


def known(stream: list[Tensor]) -> float:
    """How many of the last tokens point to their own first vector more than to any other."""
    first, last = (nn.functional.normalize(x, dim=-1) for x in (stream[0], stream[-1]))
    return float(((last @ first.mT).argmax(-1).cpu() == torch.arange(len(first))).sum())


@claim(
    "With skips, MLPs and random weights of nn.Linear's variance, and no normalisation, at least "
    "14 of 16 tokens still point to their own embedding more than to any other after 16 layers, "
    "but at most 12 after 32. Without skips, or with weights √3 times as large, at most 3 of 16 "
    "do after 16 layers.",
    source="our own measurement",
)
def stream_remembers_its_tokens(g):
    x = normal(g, 16, 64)
    stream = stack(g, x, 32, skips=True, mlps=True)
    kept, later = known(stream[:17]), known(stream)
    none = known(stack(g, x, 16, skips=False, mlps=True))
    large = known(stack(g, x, 16, skips=True, mlps=True, gain=3**0.5))
    measured = {"16 layers": kept, "32": later, "16 without skips": none, "larger weights": large}
    holds = kept >= 14 and later <= 12 and max(none, large) <= 3
    return Measured(measured, "of 16, at least 14; at most 12; at most 3 both", holds)
