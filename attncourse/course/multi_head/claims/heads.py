"""Claims about one layer, and its heads."""

from collections.abc import Callable
from copy import deepcopy
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from attncourse import english
from attncourse.cost import Cost, count
from attncourse.course.claim import Measured, about, above, at_least, at_most, below, claim, exactly
from attncourse.dot_product import attention_weights, causal_mask, padding_mask
from attncourse.multi_head import MultiHeadAttention, split_heads

VASWANI = "Vaswani et al. (2017)"
ELHAGE = "Elhage et al. (2021)"
ROUNDING = at_most(1e-12, "rounding")
Module = TypeVar("Module", bound=nn.Module)


def normal64(g: torch.Generator, *shape: int) -> Tensor:
    """Independent entries with mean 0 and variance 1, in float64."""
    return torch.randn(shape, generator=g, device=g.device, dtype=torch.float64)


def random_module(g: torch.Generator, make: Callable[[], Module], gain: float = 1) -> Module:
    """What `make` makes, in float64, its weights `gain` times as large as nn.Linear's at first.

    Torch's own generator, which belongs to the reader's next cell, stays as it is.
    """
    with torch.device("meta"):
        model = make().double()
    model.to_empty(device=g.device)
    for weight in model.parameters():
        nn.init.normal_(weight, std=gain * (3 * weight.shape[-1]) ** -0.5, generator=g)
    return model.requires_grad_(False)


def random_layer(g: torch.Generator, d: int, heads: int, gain: float = 1) -> MultiHeadAttention:
    """A layer without biases."""
    return random_module(g, lambda: MultiHeadAttention(d, heads, bias=False), gain)


# the head of the model that waits for “than”: its block, and its place there
WAITS = 2, 0


def weights_of_the_model(device: torch.device | None = None) -> Tensor:
    """The attention weights of each of its heads on the sentence: blocks, heads, n, n."""
    tokens = english.tokens(device=device)
    return english.head_weights(english.model("english", device), tokens)[:, 0]


def costs_of_heads(block: int, device: torch.device) -> list[float]:
    """The bits more that “than” costs without each head of a block of the model."""
    model, tokens = english.model("english", device), english.tokens(device=device)

    def cost(*heads: tuple[int, int]) -> float:
        with english.without(model, heads):
            return english.surprisals(model, tokens)[0, english.token_index(english.TARGET)].item()

    full_cost, heads = cost(), range(english.attention_layers(model)[block].heads)
    return [cost((block, head)) - full_cost for head in heads]


@claim(
    "Of the 16 heads of a trained model, one gives “more” at least 0.9 of the weight when “today” "
    "asks. Without this head, the next word, “than”, costs at least 4 bits more; without another "
    "head of its block, less than 1 more.",
    source="our own measurement; Michel et al. (2019), section 2.3, on taking heads away",
)
def one_head_waits_for_a_word(g):
    block, head = WAITS
    weights = weights_of_the_model(g.device)[block, head]
    # the two tokens of the prefix stand before the pieces
    query, key = (2 + english.token_index(word) for word in ("today", english.CUE))
    other_costs = costs_of_heads(block, g.device)
    own_cost = other_costs.pop(head)
    return Measured(
        {
            "bits more for “than”, without the head": (own_cost, at_least(4)),
            "without each of the other three": (other_costs, below(1)),
            "weight of “today” on “more”": (weights[query, key].item(), at_least(0.9)),
        }
    )


@claim(
    "The head that waits does not work alone: without one of the heads of the first block, “than” "
    "costs at least one bit more, too.",
    source="our own measurement",
)
def the_head_does_not_work_alone(g):
    return Measured({"bits more, the most": (max(costs_of_heads(0, g.device)), at_least(1))})


def relative_error(first: Tensor, second: Tensor) -> float:
    """Their largest difference, as a share of the largest number."""
    return ((first - second).abs().max() / second.abs().max()).item()


@claim(
    "Let tokens be independent and identically distributed. Two heads, one on the subject and one "
    "on the object, give the difference of their first four numbers (of eight) exactly. One head, "
    "with the same two weights in every sentence and the best matrix behind them, does best with "
    r"all its weight on one of the two, and still misses about $\sqrt{1/2}$ of the difference, by "
    "norm.",
    source="our own measurement",
)
def one_head_cannot_subtract(g):
    x, eye = normal64(g, 4096, 3, 8), torch.eye(4, dtype=torch.float64, device=g.device)
    subject, target = x[:, 0], x[:, 0, :4] - x[:, 2, :4]
    two_heads, head_weights = (
        random_layer(g, 8, 2),
        eye.new_tensor([[[1, 0, 0]] * 3, [[0, 0, 1]] * 3]),
    )
    two_heads.attend = lambda q, k, v, mask: head_weights @ v
    # both heads carry the first four numbers of a token, and the last matrix subtracts
    two_heads.w_v.weight.data = torch.kron(eye.new_tensor([[1, 0], [1, 0]]), eye)
    two_heads.w_o.weight.data = torch.kron(eye.new_tensor([[1, -1], [0, 0]]), eye)
    errors = {}
    for larger in torch.linspace(0.5, 1, 11).tolist():
        mean = larger * subject + (1 - larger) * x[:, 2]
        best = mean @ torch.linalg.lstsq(mean, target).solution
        errors[larger] = ((best - target).norm() / target.norm()).item()
    best_weight = min(errors, key=errors.__getitem__)
    return Measured(
        {
            "two heads miss": (relative_error(two_heads(x)[:, 0, :4], target), ROUNDING),
            "one head misses": (errors[best_weight], about(0.5**0.5, 0.02, r"$\sqrt{1/2}$")),
            "its larger weight": (best_weight, exactly(1)),
        }
    )


def as_torch(layer: MultiHeadAttention, x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
    """The output of torch's own module with this layer's parameters, for x and the context y."""
    with torch.device("meta"):
        theirs = nn.MultiheadAttention(layer.d_model, layer.heads, batch_first=True)
    first, last = (layer.w_q, layer.w_k, layer.w_v), layer.w_o
    state_dict = {"out_proj.weight": last.weight, "out_proj.bias": last.bias}
    state_dict["in_proj_weight"] = torch.cat([projection.weight for projection in first])
    state_dict["in_proj_bias"] = torch.cat([projection.bias for projection in first])
    # torch's mask is the other way up, and has a matrix for each sequence and head
    forbidden = None if mask is None else ~mask.repeat_interleave(layer.heads, 0)
    return functional_call(theirs, state_dict, (x, y, y), {"attn_mask": forbidden})[0]


@claim(
    "With the same weights and biases, the layer gives what torch's `nn.MultiheadAttention` gives, "
    "and the same gradients with respect to tokens, weights and biases: under a mask that is "
    "causal and hides padding, a matrix for each sequence, and with a context.",
    source=f"{VASWANI}, section 3.2.2; the biases are torch's",
)
def equals_torch(g):
    ours = random_module(g, lambda: MultiHeadAttention(12, 3)).requires_grad_()
    outputs, gradients = [], []
    x, y = normal64(g, 2, 7, 12).requires_grad_(), normal64(g, 2, 5, 12).requires_grad_()
    mask = causal_mask(7, g.device) & padding_mask(torch.tensor([7, 4], device=g.device), 7)
    inputs, grad_output = [x, y, *ours.parameters()], normal64(g, 2, 7, 12)
    for context, hidden in ((x, mask), (y, None)):
        ours_and_torchs = ours(x, context, hidden), as_torch(ours, x, context, hidden)
        # y is no part of self-attention
        gradients_of_both = [
            torch.autograd.grad(out, inputs, grad_output, materialize_grads=True)
            for out in ours_and_torchs
        ]
        grads = [
            torch.cat([gradient.flatten() for gradient in gradients_of_one])
            for gradients_of_one in gradients_of_both
        ]
        outputs.append(relative_error(*ours_and_torchs))
        gradients.append(relative_error(*grads))
    return Measured(
        {"outputs apart by": (outputs, ROUNDING), "gradients apart by": (gradients, ROUNDING)}
    )


@claim(
    r"A layer with $d_\text{model} = 64$ has $4 d_\text{model}^2 + 4 d_\text{model}$ parameters, "
    "biases included, whether it has 1 head or 64; and it takes sequences of 1, 50 and 2000 "
    "tokens.",
    source=f"{VASWANI}, section 3.2.2, gives the shapes; the biases are torch's",
)
def parameters_depend_on_the_width_alone(g):
    d, wrong_shapes = 64, 0
    extra_parameters = []
    for heads in (1, 2, 8, 64):
        with torch.device("meta"):
            layer = MultiHeadAttention(d, heads)
            wrong_shapes += sum(layer(torch.empty(n, d)).shape != (n, d) for n in (1, 50, 2000))
        extra_parameters.append(sum(p.numel() for p in layer.parameters()) - 4 * d * d - 4 * d)
    return Measured(
        {
            "parameters beyond the formula": (extra_parameters, exactly(0)),
            "outputs of another shape": (wrong_shapes, exactly(0)),
        }
    )


@claim(
    "Put one more linear map before each of $W_Q$, $W_K$ and $W_V$, a different one each. The "
    "layer whose matrices are the three products gives the same output.",
    source="a product of matrices is a matrix",
)
def second_map_folds_into_the_first(g):
    folded, x = random_layer(g, 32, 4), normal64(g, 2, 9, 32)
    unfolded = deepcopy(folded)
    for name in ("w_q", "w_k", "w_v"):
        first, second = nn.Linear(32, 32, bias=False, device="meta"), getattr(folded, name)
        first.weight = nn.Parameter(normal64(g, 32, 32) / 32**0.5)
        setattr(unfolded, name, nn.Sequential(first, deepcopy(second)))
        second.weight.data = second.weight @ first.weight
    return Measured({"outputs apart by": (relative_error(unfolded(x), folded(x)), ROUNDING)})


@claim(
    "In a layer without biases, multiply a head's $W_Q$ by an invertible matrix and its $W_K$ by "
    "the inverse's transpose, its $W_V$ by another and its $W_O$ by that one's inverse: all four "
    "matrices change, and the output stays the same.",
    source=f"{ELHAGE}; it follows from eq. 1 of {VASWANI}",
)
def a_head_is_two_products(g):
    heads = 4
    layer = random_layer(g, 32, 4)
    x = normal64(g, 2, 9, 32)
    other_layer = deepcopy(layer)
    s = normal64(g, heads, 8, 8)
    t = normal64(g, heads, 8, 8)
    for name, factor in (("w_q", s.mT), ("w_k", s.inverse()), ("w_v", t.mT)):
        weight = getattr(other_layer, name).weight
        weight.data = (factor @ weight.unflatten(0, (heads, 8))).flatten(0, 1)
    columns = split_heads(layer.w_o.weight, heads) @ t.inverse().mT
    other_layer.w_o.weight.data = columns.transpose(0, 1).flatten(1)
    pairs = zip(other_layer.parameters(), layer.parameters(), strict=True)
    return Measured(
        {
            "outputs apart by": (
                relative_error(other_layer(x), layer(x)),
                at_most(1e-9, "rounding, times the matrices' condition"),
            ),
            "each matrix changes by": ([relative_error(*pair) for pair in pairs], above(0.1)),
        }
    )


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
    layer, x = random_module(g, lambda: MultiHeadAttention(32, 4)), normal64(g, 2, 9, 32)
    q, k = split_heads(layer.w_q(x), 4), split_heads(layer.w_k(x), 4)
    sum_of_heads = (attention_weights(q, k) @ x[:, None] @ head_products(layer)).sum(-3)
    error = relative_error(sum_of_heads + layer.w_o(layer.w_v.bias), layer(x))
    return Measured(
        {
            "sum and layer apart by": (error, ROUNDING),
            "without the vector": (relative_error(sum_of_heads, layer(x)), above(0.1)),
        }
    )


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
    """For each number of an output token, the count of heads whose W_V it depends on."""
    jacobian_of_w_v = jacrev(lambda w: functional_call(layer, {"w_v.weight": w}, (x,)))
    jacobian = jacobian_of_w_v(layer.w_v.weight.detach())
    has_gradient = (jacobian != 0).any(-1).any(0)
    return has_gradient.unflatten(-1, (layer.heads, -1)).any(-1).sum(-1)


@claim(
    "With 4 heads and without $W_O$, each number of an output depends on one head alone; with "
    "$W_O$, each depends on all four.",
    source=f"{VASWANI}, section 3.2.2",
)
def w_o_mixes_the_heads(g):
    layer, x = random_layer(g, 16, 4), normal64(g, 5, 16)
    heads_with_w_o = heads_behind(layer, x).tolist()
    layer.w_o.weight.data = torch.eye(16).to(x)
    heads_without_w_o = heads_behind(layer, x).tolist()
    return Measured(
        {
            "heads behind a number, without $W_O$": (heads_without_w_o, exactly(1)),
            "with $W_O$": (heads_with_w_o, exactly(4)),
        }
    )


@claim(
    r"The projections come before the split, so with 4 heads and $d_\text{model} = 16$, the "
    "queries, the keys and the values of each head all have a gradient with respect to all 16 "
    "numbers of a token.",
    source=f"{VASWANI}, section 3.2.2",
)
def every_head_reads_the_whole_token(g):
    layer = random_layer(g, 16, 4)
    x = normal64(g, 5, 16)
    rows = {}
    layer.w_o.weight.data = torch.eye(16).to(x)
    for i, name in enumerate(("queries", "keys", "values")):
        # each of the three goes through alone
        layer.attend = lambda *qkv_and_mask, i=i: qkv_and_mask[i]
        is_read = (jacrev(layer)(x) != 0).any(2).any(0).unflatten(0, (4, 4)).any(1)
        rows[f"numbers that each head's {name} read"] = is_read.sum(-1).tolist(), exactly(16)
    return Measured(rows)


@claim(
    "The heads have no order: reorder them, together with their rows and columns of the four "
    "matrices, and the output is the same.",
    source="a sum has no order",
)
def heads_have_no_order(g):
    layer, x = random_layer(g, 32, 4), normal64(g, 2, 9, 32)
    shuffled, order = deepcopy(layer), torch.tensor([2, 0, 3, 1], device=g.device)
    rows = torch.arange(32, device=g.device).unflatten(0, (4, 8))[order].flatten()
    for linear in (shuffled.w_q, shuffled.w_k, shuffled.w_v):
        linear.weight.data = linear.weight[rows]
    without = relative_error(shuffled(x), layer(x))
    shuffled.w_o.weight.data = shuffled.w_o.weight[:, rows]
    return Measured(
        {
            "outputs apart, $W_O$ left as it was": (without, above(0.1)),
            "$W_O$ reordered as well": (relative_error(shuffled(x), layer(x)), ROUNDING),
        }
    )


def sparsify(weights: Tensor, v: Tensor) -> Tensor:
    """Weights of at most d_v + 1 rows of v that have the mean of those given."""
    weights = weights.clone()
    while len(positive := weights.nonzero()[:, 0]) > v.shape[-1] + 1:
        # a change that leaves the mean and the sum of the weights as they are
        change = torch.linalg.svd(torch.cat([v[positive].mT, v.new_ones(1, len(positive))]))[2][-1]
        steps = torch.where(change > 0, weights[positive] / change, torch.inf)
        weights[positive] -= steps.min() * change
        weights[positive[steps.argmin()]] = 0
    return weights


@claim(
    "Take 16 random tokens and untrained heads with $d_v = 4$. For every query of every head "
    "there are other weights, on at most $d_v + 1 = 5$ of the tokens, that give the same output; "
    "on average more than half of the weight has moved to another token.",
    source="Carathéodory's theorem; that long sequences leave the weights open: Brunner et al. "
    "(2020), section 3",
)
def other_weights_give_the_same_output(g):
    layer, x = random_layer(g, 16, 4), normal64(g, 16, 16)
    q, k, v = (split_heads(projection(x), 4) for projection in (layer.w_q, layer.w_k, layer.w_v))
    weights = attention_weights(q, k)
    other_weights = torch.stack(
        [torch.stack([sparsify(row, v[i]) for row in weights[i]]) for i in range(4)]
    )
    moved_share = (other_weights - weights).abs().sum(-1) / 2
    return Measured(
        {
            "tokens with weight": ((other_weights > 0).sum(-1).flatten().tolist(), at_most(5)),
            "least of the weights": (other_weights.min().item(), at_least(0)),
            "sums off 1 by": ((other_weights.sum(-1) - 1).abs().max().item(), ROUNDING),
            "outputs apart by": (relative_error(other_weights @ v, weights @ v), ROUNDING),
            "weight moved, on average": (moved_share.mean().item(), above(0.5)),
        }
    )


def layer_cost(n: int, d: int, heads: int) -> Cost:
    """The cost of self-attention of n tokens in a layer of this width."""
    with torch.device("meta"):
        return count(MultiHeadAttention(d, heads, bias=False), torch.empty(n, d))


@claim(
    r"For 512 tokens and $d_\text{model} = 64$, the matrix products of a layer take "
    r"$8\, n\, d_\text{model}^2 + 4\, n^2\, d_\text{model}$ operations, with 1 head or with 16. "
    r"The largest tensor has $h\, n^2$ elements.",
    source=f"our own count; {VASWANI}, section 3.2.2, says that the cost is similar",
)
def heads_cost_no_operations(g):
    n, d = 512, 64
    numbers = (1, 2, 4, 8, 16)
    costs = [layer_cost(n, d, heads) for heads in numbers]
    extra_operations = [cost.flops - 8 * n * d * d - 4 * n * n * d for cost in costs]
    per_head = [cost.largest / heads / n**2 for cost, heads in zip(costs, numbers, strict=True)]
    return Measured(
        {
            "operations beyond the formula": (extra_operations, exactly(0)),
            "largest tensor, divided by $h\\, n^2$": (per_head, exactly(1)),
        }
    )
