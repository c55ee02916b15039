"""The claims of the chapter recurrence."""

import re
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d, pad

from attncourse.claims import Measured, claim
from attncourse.claims.multi_head import normal, random_layer, relative_error
from attncourse.cost import count
from attncourse.dot_product import attention, causal_mask
from attncourse.recurrence import gradient_by_distance, lstm, rnn

BENGIO = "Bengio et al. (1994)"
HOCHREITER = "Hochreiter and Schmidhuber (1997)"
PASCANU = "Pascanu et al. (2013)"
VASWANI = "Vaswani et al. (2017)"
ROUNDING = 1e-12
# what autograd calls the matrix products
PRODUCT = re.compile(r"[Mm]mBackward|MvBackward|ConvolutionBackward")
Layer = Callable[[Tensor], Tensor]


def first_weights(g: torch.Generator, gates: int, d: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Weights and biases between -1/√d and 1/√d, as torch's layers have them before training."""

    def drawn(*shape: int) -> Tensor:
        numbers = torch.rand(shape, generator=g, device=g.device, dtype=torch.float64)
        return (2 * numbers - 1) / d**0.5

    rows = gates * d
    return drawn(rows, d), drawn(rows, d), drawn(rows), drawn(rows)


def layers(g: torch.Generator, d: int) -> dict[str, Layer]:
    """An RNN, an LSTM, the same with 4 added to the bias of its forget gate, four causal
    convolutions of width 3, and causal attention in 4 heads: all as they are before training."""
    of_rnn, of_lstm = first_weights(g, 1, d), first_weights(g, 4, d)
    w_ih, w_hh, b_ih, b_hh = of_lstm
    opened = torch.cat([b_ih[:d], b_ih[d : 2 * d] + 4, b_ih[2 * d :]])
    kernels = [normal(g, d, d, 3) / (9 * d) ** 0.5 for _ in range(4)]
    attend = random_layer(g, d, 4)
    return {
        "RNN": lambda x: rnn(x, *of_rnn),
        "LSTM": lambda x: lstm(x, *of_lstm)[0],
        "LSTM, open": lambda x: lstm(x, w_ih, w_hh, opened, b_hh)[0],
        "CNN": lambda x: convolved(x, kernels),
        "attention": lambda x: attend(x, mask=causal_mask(x.shape[-2], x.device)),
    }


def convolved(x: Tensor, kernels: list[Tensor]) -> Tensor:
    """A stack of causal convolutions with a tanh after each."""
    for kernel in kernels:
        x = conv1d(pad(x.mT, (kernel.shape[-1] - 1, 0)), kernel).tanh().mT
    return x


@claim(
    "With the same weights and biases, both functions give the states of torch's nn.RNN and "
    "nn.LSTM, and the same gradients of tokens, weights and biases.",
    source=f"Elman (1990); {HOCHREITER}; the layout of the weights is torch's",
)
def both_equal_torch(g):
    x, grad_output, measured = normal(g, 2, 7, 6).requires_grad_(), normal(g, 2, 7, 6), {}
    for name, make, gates in (("RNN", nn.RNN, 1), ("LSTM", nn.LSTM, 4)):
        weights = first_weights(g, gates, 6)
        with torch.device("meta"):
            layer = make(6, 6, batch_first=True)
        layer = layer.double().to_empty(device=g.device)
        for theirs, ours in zip(layer.parameters(), weights, strict=True):
            theirs.data = ours.requires_grad_().data
        # on a GPU torch would warn of weights that do not lie in one piece
        layer.flatten_parameters()
        ours = rnn(x, *weights) if name == "RNN" else lstm(x, *weights)[0]
        found = torch.autograd.grad(ours, [x, *weights], grad_output)
        want = torch.autograd.grad(layer(x)[0], [x, *layer.parameters()], grad_output)
        measured[f"{name}, states apart"] = relative_error(ours, layer(x)[0])
        measured[f"{name}, gradients apart"] = max(map(relative_error, found, want))
    return Measured(measured, "rounding", max(measured.values()) <= ROUNDING)


@claim(
    "Of five tokens the first and the fourth are the same word. An RNN and an LSTM give it two "
    "states; attention without positions gives it one output. Put the five in another order, and "
    "attention's outputs are the same ones in that order; the states are not.",
    source="our own measurement; the equivariance is that of the chapter on positions",
)
def one_word_at_two_places(g):
    every, x = layers(g, 8), normal(g, 5, 8)
    x[3] = x[0]
    order, attend = [4, 2, 0, 1, 3], random_layer(g, 8, 2)
    measured = {}
    for name, layer in {"RNN": every["RNN"], "LSTM": every["LSTM"], "attention": attend}.items():
        out = layer(x)
        measured[f"{name}, places"] = relative_error(out[3], out[0])
        measured[f"{name}, order"] = relative_error(layer(x[order]), out[order])
    recurrent = [one for name, one in measured.items() if "attention" not in name]
    same = max(measured["attention, places"], measured["attention, order"])
    return Measured(
        {f"apart by {name}": one for name, one in measured.items()},
        "over 0.01 for the first two, rounding for attention",
        min(recurrent) > 0.01 and same <= ROUNDING,
    )


@claim(
    "A state depends on every token up to its own, and on no later one: of 8 tokens, state i has "
    "a gradient at tokens 0 to i alone. So a recurrent layer needs no causal mask. Attention "
    "without one has a gradient at all 8.",
    source="Elman (1990)",
)
def a_state_reads_no_later_token(g):
    n, every, attend = 8, layers(g, 8), random_layer(g, 8, 2)
    x, earlier = normal(g, n, 8).requires_grad_(), causal_mask(n, g.device)
    reads = {}
    for name, layer in (("RNN", every["RNN"]), ("LSTM", every["LSTM"]), ("attention", attend)):
        out = layer(x)
        rows = [torch.autograd.grad(out[i].sum(), x, retain_graph=True)[0] for i in range(n)]
        reads[name] = torch.stack(rows).ne(0).any(-1)
    wrong = sum((reads[name] != earlier).sum().item() for name in ("RNN", "LSTM"))
    pairs = reads["attention"].sum().item()
    return Measured(
        {"pairs that differ from a causal mask": wrong, "pairs, attention": pairs},
        f"exactly 0; n² = {n * n}",
        wrong == 0 and pairs == n * n,
    )


def jacobian_norms(layer: Layer, x: Tensor) -> Tensor:
    """For each token, the norm of the Jacobian of the last output by it, the last token first."""
    jacobian = torch.autograd.functional.jacobian(lambda x: layer(x)[-1], x)
    assert isinstance(jacobian, Tensor)
    return jacobian.norm(dim=(0, 2)).flip(0)


@claim(
    "From a token to the state t places later, the way leads t times through the matrix of an "
    "RNN: where all tokens and biases are 0, doubling the matrix multiplies the gradient by 2 to "
    "the power t exactly. In attention the way leads once through the values' matrix, at every t. "
    "Of causal convolutions of width 3, it takes t/2, rounded up.",
    source=f"{VASWANI}, table 1 (maximum path length); the measurement is ours",
)
def ways_are_as_long_as_said(g):
    n, d = 12, 4
    x, (w_ih, w_hh, *_) = normal(g, n, d) * 0, first_weights(g, 1, d)
    zero, kernels = x.new_zeros(d), [normal(g, d, d, 3) for _ in range(n)]
    by_rnn, by_attention = [], []
    for times in (1, 2):
        by_rnn.append(jacobian_norms(lambda x, w=times * w_hh: rnn(x, w_ih, w, zero, zero), x))
        by_attention.append(jacobian_norms(lambda x, w=times * w_ih: attention(x, x, x @ w.mT), x))
    steps, of_attention = ((two / one).log2() for one, two in (by_rnn, by_attention))
    reached = [jacobian_norms(lambda x, k=k: convolved(x, kernels[:k]), x) > 0 for k in range(1, n)]
    needed, t = n - torch.stack(reached).sum(0), torch.arange(n, device=g.device)
    said = [(steps, t.to(x)), (of_attention, zero[0] + t**0), (needed[1:], (t[1:] + 1) // 2)]
    return Measured(
        {
            "RNN, t = 11": steps[-1].item(),
            "attention": of_attention[-1].item(),
            "convolutions": needed[-1].item(),
        },
        "exactly t, 1 and t/2 rounded up, for t from 1 to 11: 11, 1, 6",
        all(torch.equal(*pair) for pair in said),
    )


@claim(
    "With weights as large as torch draws them at first, an RNN's gradient over 32 tokens is less "
    "than a millionth of that over 1. In an LSTM less than a thousandth is left; with 4 added to "
    "the bias of the forget gate, over a tenth. Four causal convolutions of width 3 have none "
    "beyond 8 tokens. Attention has the same over 32 as over 1, within a factor of 3.",
    source=f"{BENGIO}; {HOCHREITER}; the 4 and the measurement are ours",
)
def gradients_over_distance(g):
    d, n = 8, 33
    norms = {
        name: gradient_by_distance(layer, n, d, draws=4, generator=g, dtype=torch.float64)
        for name, layer in layers(g, d).items()
    }
    left = {name: (norm[32] / norm[1]).item() for name, norm in norms.items()}
    beyond = norms["CNN"]
    return Measured(
        {f"{name}, 32 over 1": one for name, one in left.items()},
        "below 1e-6; below 1e-3; over 0.1; 0; from 1/3 to 3",
        left["RNN"] < 1e-6
        and left["LSTM"] < 1e-3
        and left["LSTM, open"] > 0.1
        and beyond[8].item() > 0
        and not beyond[9:].any().item()
        and 1 / 3 < left["attention"] < 3,
    )


@claim(
    "Where the states are near 0 and the matrix is a rotation times a factor, the gradient over t "
    "steps is that factor to the power t: over 50 steps less than a hundredth for 0.9, and more "
    "than a hundredfold for 1.1.",
    source=f"{BENGIO}; {PASCANU}, section 2",
)
def one_matrix_shrinks_or_explodes(g):
    d, x = 6, normal(g, 51, 6) * 0
    rotation, over = torch.linalg.qr(normal(g, d, d))[0], {}
    for factor in (0.9, 1.0, 1.1):
        weights = (normal(g, d, d), factor * rotation, x[0], x[0])
        norms = jacobian_norms(lambda x, weights=weights: rnn(x, *weights), x)
        over[factor] = (norms[50] / norms[0]).item()
    off = max(abs(one / factor**50 - 1) for factor, one in over.items())
    return Measured(
        {f"50 steps, factor {factor}": one for factor, one in over.items()},
        "the factor to the power 50, but for rounding: 0.0052, 1, 117",
        off < 1e-9,
    )


@claim(
    "If the gates do not depend on the state, the gradient of an LSTM's last cell by its first is "
    "the product of the forget gates: over 20 steps less than a millionth if they are half open, "
    "and more than two thirds at a bias of 4.",
    source=f"{HOCHREITER}, section 4; the forget gate: Gers et al. (2000)",
)
def the_forget_gate_carries_the_gradient(g):
    d, n, measured, off = 5, 20, {}, []
    w_ih, w_hh, *_ = first_weights(g, 4, d)
    h, c = normal(g, d), normal(g, d).requires_grad_()
    for bias in (0, 4):
        b = w_ih.new_zeros(4 * d)
        b[d : 2 * d] = bias
        last = lstm(normal(g, n, d) * 0, w_ih, 0 * w_hh, b, 0 * b, (h, c))[1]
        (gradient,) = torch.autograd.grad(last.sum(), c)
        share = (torch.tensor(bias).double().sigmoid() ** n).item()
        off.append((gradient / share - 1).abs().max().item())
        measured[f"bias {bias}"] = gradient[0].item()
    return Measured(
        {f"gradient over 20 steps, {name}": one for name, one in measured.items()},
        "the gate to the power 20, but for rounding: 9.5e-7, 0.70",
        max(off) < 1e-9,
    )


def longest_chain(out: Tensor) -> int:
    """The most matrix products on the way to `out` of which each waits for the one before."""
    done: dict = {}
    todo: list = [out.grad_fn]
    while todo:
        node = todo[-1]
        before = [one for one, _ in node.next_functions if one is not None]
        waiting = [one for one in before if one not in done]
        if not waiting:
            ends = max((done[one] for one in before), default=0)
            done[todo.pop()] = ends + bool(PRODUCT.search(node.name()))
        todo += waiting
    return done[out.grad_fn]


@claim(
    "Where all tokens are known, as in training, the longest chain of matrix products of which "
    "each waits for the one before has n links in an RNN and in an LSTM. In an attention layer it "
    "has 4, and in 4 convolutions 4, at every n.",
    source=f"{VASWANI}, table 1 (sequential operations); the chain is counted in autograd's graph",
)
def products_that_must_wait(g):
    every, chains = layers(g, 8), {}
    for n in (4, 16, 64):
        x = normal(g, n, 8).requires_grad_()
        chains[n] = {name: longest_chain(layer(x)) for name, layer in every.items()}
    as_said = all(
        links == (n if name in ("RNN", "LSTM", "LSTM, open") else 4)
        for n, by_layer in chains.items()
        for name, links in by_layer.items()
    )
    return Measured(
        {f"{name}, n = {n}": chains[n][name] for name in ("RNN", "attention") for n in chains},
        "exactly n, and exactly 4",
        as_said,
    )


@claim(
    "Where each token is the output before it, as when a model writes, both must wait: the chain "
    "of n tokens has n links in an RNN and 4n in a layer of attention. In one pass over the tokens "
    "that were written, attention gives the same outputs, with 4.",
    source=f"{VASWANI}, section 3 (each symbol is generated from those before)",
)
def writing_is_one_by_one_in_both(g):
    n, weights, attend = 12, first_weights(g, 1, 8), layers(g, 8)["attention"]
    token = state = normal(g, 8).requires_grad_()
    for _ in range(n):
        token = state = rnn(token[None], *weights, state)[-1]
    written = [normal(g, 8).requires_grad_()]
    for _ in range(n):
        written.append(attend(torch.stack(written))[-1])
    known = torch.stack(written[:n]).detach().requires_grad_()
    at_once, chains = attend(known), [longest_chain(token), longest_chain(written[n])]
    chains.append(longest_chain(at_once))
    off = relative_error(at_once, torch.stack(written[1:]))
    return Measured(
        dict(zip(("RNN", "attention", "attention, in one pass"), chains, strict=True))
        | {"outputs apart": off},
        f"exactly {n}, {4 * n} and 4; rounding",
        chains == [n, 4 * n, 4] and off <= ROUNDING,
    )


@claim(
    "For n tokens, scores and means of attention take n/d times the operations of an RNN with "
    "states as wide as its tokens: fewer below n = d. With its four maps, a layer takes 2 + n/d "
    "times as many: more than the RNN at every n, and more than an LSTM, which takes 4 times as "
    "many, beyond n = 2 d.",
    source=f"{VASWANI}, table 1: O(n² d) and O(n d²), without the maps; counted",
)
def operations_cross_where_n_is_d(g):
    d, every, ratios = 16, layers(g, 16), {}
    of = {"scores and means": lambda x: attention(x, x, x), "layer": every["attention"]}
    of["LSTM"] = every["LSTM"]
    for n in (4, 16, 32):
        x = normal(g, n, d)
        by_rnn = count(every["RNN"], x).flops
        ratios[n] = {name: count(layer, x).flops / by_rnn for name, layer in of.items()}
    return Measured(
        {f"{name} / RNN, n = {n}": ratios[n][name] for name in of for n in ratios},
        "exactly n/d: 1/4, 1, 2; 2 + n/d: 2.25, 3, 4; and 4",
        all(list(one.values()) == [n / d, 2 + n / d, 4] for n, one in ratios.items()),
    )


def kept(layer: Layer, x: Tensor, weights: Iterable[Tensor]) -> int:
    """How many numbers autograd keeps for the backward pass, besides tokens and weights."""
    given = {one.requires_grad_().untyped_storage().data_ptr() for one in (x, *weights)}
    held = {}

    def pack(one: Tensor) -> Tensor:
        storage = one.untyped_storage()
        held[storage.data_ptr()] = storage.nbytes() // one.element_size()
        return one

    # the output must live while they are counted, or a place in memory may be used twice
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one):
        out = layer(x)
    numbers = sum(numbers for place, numbers in held.items() if place not in given)
    del out
    return numbers


def kept_by_each(n: int, d: int, heads: int) -> dict[str, int]:
    """What an RNN, an LSTM and attention, written out, keep for n tokens of width d."""
    g, x = torch.Generator(), torch.zeros(n, d, dtype=torch.float64)
    of_rnn, of_lstm = first_weights(g, 1, d), first_weights(g, 4, d)
    attend = random_layer(g, d, heads)
    return {
        "RNN": kept(lambda x: rnn(x, *of_rnn), x, of_rnn),
        "LSTM": kept(lambda x: lstm(x, *of_lstm)[0], x, of_lstm),
        "attention": kept(attend, x, attend.parameters()),
    }


@claim(
    "For n tokens of width d and states as wide, an RNN keeps (n + 1) d numbers for the backward "
    "pass besides tokens and weights, an LSTM (7 n - 1) d, and attention with H heads, written "
    "out and without a mask, H n² + 4 n d: more than the LSTM from n = 3 d/H on.",
    source="our own count, in what autograd saves",
)
def attention_keeps_a_number_for_each_pair(g):
    d, heads, numbers, as_said = 16, 4, {}, True
    for n in (11, 12, 64):
        numbers[n] = kept_by_each(n, d, heads)
        said = [(n + 1) * d, (7 * n - 1) * d, heads * n * n + 4 * n * d]
        as_said &= list(numbers[n].values()) == said
    return Measured(
        {f"{name}, n = 64": kept for name, kept in numbers[64].items()},
        "exactly as stated, for n = 11, 12 and 64, d = 16 and H = 4",
        as_said and numbers[11]["attention"] < numbers[11]["LSTM"] < numbers[12]["attention"],
    )


@claim(
    "To write its m-th token, an RNN with states of width d takes the same 4 d² operations in "
    "matrix products at every m. Attention, with the keys and values of the tokens so far in a "
    "cache, takes 4 m d besides its four maps.",
    source="counted; here tokens, keys and values are as wide as states",
)
def a_step_of_writing_grows_in_attention(g):
    d, steps, as_said = 16, {}, True
    weights = [torch.empty(s, device="meta") for s in [(d, d), (d, d), (d,), (d,)]]
    for m in (1, 16, 256):
        token, cached = torch.empty(1, d, device="meta"), torch.empty(m, d, device="meta")
        by_state = count(rnn, token, *weights, token[0]).flops
        by_cache = count(attention, token, cached, cached).flops
        steps[m] = (by_state, by_cache)
        as_said &= by_state == 4 * d * d and by_cache == 4 * m * d
    return Measured(
        {f"RNN, m = {m}": one for m, (one, _) in steps.items()}
        | {f"attention, m = {m}": one for m, (_, one) in steps.items()},
        f"exactly 4 d² = {4 * d * d} and 4 m d, for d = {d}",
        as_said,
    )
