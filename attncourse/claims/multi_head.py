"""The claims of the chapter multi_head."""

from collections.abc import Callable
from copy import deepcopy
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from attncourse.claims import Measured, claim
from attncourse.cost import Cost, count
from attncourse.dot_product import attention_weights, causal_mask
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


def drawn(g: torch.Generator, make: Callable[[], Module]) -> Module:
    """What `make` makes, in float64, with weights of the variance that nn.Linear starts with.

    Nothing is drawn from torch's own generator, which belongs to the reader's next cell.
    """
    with torch.device("meta"):
        made = make().double()
    made.to_empty(device=g.device)
    for weight in made.parameters():
        nn.init.normal_(weight, std=(3 * weight.shape[1]) ** -0.5, generator=g)
    return made.requires_grad_(False)


def random_layer(g: torch.Generator, d: int, heads: int) -> MultiHeadAttention:
    """A layer without biases."""
    return drawn(g, lambda: MultiHeadAttention(d, heads, bias=False))


def apart(one: Tensor, other: Tensor) -> float:
    """Their largest difference, as a share of the largest number."""
    return ((one - other).abs().max() / other.abs().max()).item()


@claim(
    "Two heads, one on the token before and one on the token after, give the difference of the "
    "two exactly. One head misses it by about √½ of its norm, at the best weights on the two "
    "tokens and with the best matrix behind them.",
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
    exact = apart(two(x)[:, 0, :4], after - before)
    missed = []
    for share in torch.linspace(0, 1, 21).tolist():
        mean = share * x[:, 0] + (1 - share) * x[:, 2]
        best = mean @ torch.linalg.lstsq(mean, after - before).solution
        missed.append(((best - (after - before)).norm() / (after - before).norm()).item())
    return Measured(
        {"two heads, apart by": exact, "one head, norm missed / norm": min(missed)},
        f"rounding; √½ = {0.5**0.5:.4f} within 3 %",
        exact <= ROUNDING and abs(min(missed) / 0.5**0.5 - 1) < 0.03,
    )


def as_torch(layer: MultiHeadAttention) -> nn.MultiheadAttention:
    """Torch's own module with this layer's weights; it keeps those of q, k and v in one matrix."""
    with torch.device("meta"):
        theirs = nn.MultiheadAttention(layer.d_model, layer.heads, bias=False, batch_first=True)
    together = torch.cat([layer.w_q.weight, layer.w_k.weight, layer.w_v.weight])
    state = {"in_proj_weight": together, "out_proj.weight": layer.w_o.weight}
    theirs.load_state_dict(state, assign=True)
    return theirs


@claim(
    "With the same weights, the layer gives what torch's nn.MultiheadAttention gives, and the "
    "same gradients: of tokens under a causal mask, and of tokens that attend to a context.",
    source=f"{VASWANI}, section 3.2.2",
)
def equals_torch(g):
    ours, measured, causal = random_layer(g, 12, 3), {}, causal_mask(7, g.device)
    theirs = as_torch(ours)
    x, y = normal(g, 2, 7, 12).requires_grad_(), normal(g, 2, 5, 12).requires_grad_()
    # torch's mask is the other way up
    pairs = {
        "self, causal": ([x], ours(x, mask=causal), theirs(x, x, x, attn_mask=~causal)[0]),
        "cross": ([x, y], ours(x, y), theirs(x, y, y)[0]),
    }
    for name, (inputs, *outs) in pairs.items():
        toward = normal(g, 2, 7, 12)
        grads = [torch.cat(torch.autograd.grad(out, inputs, toward), 1) for out in outs]
        measured |= {f"{name}: outputs apart": apart(*outs), f"{name}: gradients": apart(*grads)}
    return Measured(measured, "rounding, all", max(measured.values()) <= ROUNDING)


@claim(
    "A layer with d_model = 64 has 4 d_model² + 4 d_model parameters, biases included, whether it "
    "has 1 head or 64; and the same layer takes sequences of any length.",
    source=f"{VASWANI}, section 3.2.2",
)
def parameters_depend_on_the_width_alone(g):
    d, sizes, shapes = 64, [], []
    for heads in (1, 2, 8, 64):
        with torch.device("meta"):
            layer = MultiHeadAttention(d, heads)
        sizes.append(sum(p.numel() for p in layer.parameters()))
        shapes += [layer(torch.empty(n, d, device="meta")).shape for n in (1, 50, 2000)]
    lengths = [shape[0] for shape in shapes]
    return Measured(
        {
            "parameters, fewest": min(sizes),
            "most": max(sizes),
            "longest / shortest sequence": max(lengths) / min(lengths),
        },
        f"4 · {d}² + 4 · {d} = {4 * d * d + 4 * d} both",
        set(sizes) == {4 * d * d + 4 * d} and set(shapes) == {(n, d) for n in (1, 50, 2000)},
    )


@claim(
    "Put one more linear map before each of W_Q, W_K and W_V. The layer whose matrices are the "
    "three products gives the same output, with 4/7 of the parameters.",
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
    difference = apart(twice(x), folded(x))
    few, many = (sum(p.numel() for p in layer.parameters()) for layer in (folded, twice))
    return Measured(
        {"outputs apart by": difference, "parameters, folded / twice": few / many},
        "rounding; exactly 4/7",
        difference <= ROUNDING and few / many == 4 / 7,
    )


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
    moved = min(apart(one, other) for one, other in pairs)
    difference = apart(changed(x), layer(x))
    return Measured(
        {"weights apart by at least": moved, "outputs apart by": difference},
        "over 1/10; at most 1e-9",
        moved > 0.1 and difference <= 1e-9,
    )


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
    difference = apart(parts.sum(-3), layer(x))
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
    return Measured(
        {"without W_O, at most": alone, "with it, at least": mixed},
        "exactly 1 and 4",
        alone == 1 and mixed == 4,
    )


@claim(
    "Every head reads every number of a token: the projections come before the cut, so with 4 "
    "heads and d_model = 16, each head has a gradient in all 16.",
    source=f"{VASWANI}, section 3.2.2",
)
def every_head_reads_the_whole_token(g):
    layer, x = random_layer(g, 16, 4), normal(g, 5, 16)
    layer.w_o.weight.data = torch.eye(16).to(x)
    reads = (jacrev(layer)(x) != 0).any(2).any(0)
    fewest = reads.unflatten(0, (4, 4)).any(1).sum(-1).min().item()
    return Measured({"numbers that a head reads, fewest": fewest}, "exactly 16", fewest == 16)


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
    without = apart(shuffled(x), layer(x))
    shuffled.w_o.weight.data = shuffled.w_o.weight[:, rows]
    difference = apart(shuffled(x), layer(x))
    return Measured(
        {"W_O left as it was, apart by": without, "moved as well": difference},
        "over 1/10; rounding",
        without > 0.1 and difference <= ROUNDING,
    )


def layer_cost(n: int, d: int, heads: int) -> Cost:
    """What self-attention of n tokens costs in a layer of this width."""
    with torch.device("meta"):
        layer = MultiHeadAttention(d, heads, bias=False)
        return count(layer, torch.empty(n, d))


@claim(
    "For 512 tokens and d_model = 64, the matrix products of a layer take 8 n d_model² + "
    "4 n² d_model operations, with 1 head or with 16. The largest tensor has heads · n² elements.",
    source=f"{VASWANI}, section 3.2.2",
)
def heads_cost_no_operations(g):
    n, d, numbers = 512, 64, (1, 2, 4, 8, 16)
    costs = {heads: layer_cost(n, d, heads) for heads in numbers}
    flops = {cost.flops for cost in costs.values()}
    return Measured(
        {
            "operations, fewest": min(flops),
            "most": max(flops),
            "largest tensor, 16 heads / 1": costs[16].largest / costs[1].largest,
        },
        f"{8 * n * d * d + 4 * n * n * d} both; 16",
        flops == {8 * n * d * d + 4 * n * n * d}
        and all(cost.largest == heads * n * n for heads, cost in costs.items()),
    )


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
    return Measured(
        {"closer, attention alone": alone, "with a skip": skip},
        "10³ and 10, within 5 %",
        abs(alone / 1000 - 1) < 0.05 and abs(skip / 10 - 1) < 0.05,
    )


def stack(g: torch.Generator, depth: int, skips: bool, mlps: bool) -> list[Tensor]:
    """16 random tokens of width 64, and what 1, 2, ... layers with random weights make of them."""
    stream = [normal(g, 16, 64)]
    for _ in range(depth):
        x = stream[-1]
        for part in (random_layer(g, 64, 4), drawn(g, lambda: mlp(64)))[: 1 + mlps]:
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
    "Without skips and MLPs, 4 attention layers with random weights make 16 random tokens all "
    "alike, to 12 digits and more. With a random MLP after each, they do so as well.",
    source=f"{DONG}, section 2; that MLPs can slow it down, section 3",
)
def attention_alone_collapses(g):
    start, *_, alone = unlike(stack(g, 4, skips=False, mlps=False))
    mlps = unlike(stack(g, 4, skips=False, mlps=True))[-1]
    return Measured(
        {"distance at first": start, "after 4 layers": alone, "with MLPs": mlps},
        f"over 0.9; at most {ROUNDING:g} both",
        start > 0.9 and max(alone, mlps) <= ROUNDING,
    )


@claim(
    "With skips, and with skips and MLPs, the same tokens are still unlike after 32 layers: at a "
    "distance over a tenth, where attention alone leaves nothing but rounding.",
    source=f"{DONG}, section 3",
)
def skips_keep_tokens_apart(g):
    measured = {name: unlike(stack(g, 32, *parts))[-1] for name, parts in VARIANTS.items()}
    alone, *kept = measured.values()
    return Measured(
        measured,
        f"at most {ROUNDING:g}; over 0.1 both",
        alone <= ROUNDING and min(kept) > 0.1,
    )


@claim(
    "After 16 layers with skips and MLPs, nearly all of 16 tokens still point to their own "
    "embedding more than to any other. Without skips, hardly one does.",
    source="our own measurement",
)
def stream_remembers_its_tokens(g):
    shares = []
    for skips in (True, False):
        first, *_, last = stack(g, 16, skips, mlps=True)
        cosines = nn.functional.normalize(last, dim=-1) @ nn.functional.normalize(first, dim=-1).mT
        own = cosines.argmax(-1) == torch.arange(len(first), device=g.device)
        shares.append(own.double().mean().item())
    kept, lost = shares
    return Measured(
        {"share that does, with skips": kept, "without": lost},
        "at least 3/4; at most 1/4",
        kept >= 3 / 4 and lost <= 1 / 4,
    )
