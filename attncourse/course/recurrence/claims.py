"""The claims of the chapter recurrence."""

from collections.abc import Callable, Iterable
from itertools import product

import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d, cosine_similarity, pad
from torch.nn.utils import (
    clip_grad_norm_,
    clip_grad_value_,
    parameters_to_vector,
    vector_to_parameters,
)

from attncourse import english
from attncourse.cost import count, longest_chain, saved_elements
from attncourse.course.claim import (
    Measured,
    about,
    above,
    at_least,
    at_most,
    below,
    between,
    claim,
    exactly,
)
from attncourse.course.dot_product.claims import normal
from attncourse.course.multi_head.claims import normal64, random_layer, relative_error
from attncourse.dot_product import attention, causal_mask
from attncourse.recurrence import gradient_by_distance, lstm, rnn

BAHDANAU = "Bahdanau et al. (2015)"
BENGIO = "Bengio et al. (1994)"
HOCHREITER = "Hochreiter and Schmidhuber (1997)"
PASCANU = "Pascanu et al. (2013)"
VASWANI = "Vaswani et al. (2017)"
ROUNDING = at_most(1e-12, "rounding")
SENTENCES = (1, 2, 4, 8, 16, 32)
Layer = Callable[[Tensor], Tensor]
Weights = tuple[Tensor, Tensor, Tensor, Tensor]


def moved_by(first: str, *names: str) -> Tensor:
    """The change of the next token's probabilities if another word begins the model's sentence.

    Of each of these models, of shape (words, models): see `english.total_variation`.
    """
    tokens, other_tokens = (
        english.tokens(),
        english.tokens(f"{first} {english.SENTENCE.split(' ', 1)[1]}"),
    )
    return torch.stack(
        [
            english.total_variation(english.model_or_lstm(name), tokens, other_tokens)[0]
            for name in names
        ],
        dim=-1,
    )


def moved_by_in_texts(g: torch.Generator, *names: str) -> list[Tensor]:
    """The same change in 122 windows, each with the first token of another: the mean."""
    tokens = english.held_out_windows(g.device)
    other_tokens = tokens.clone()
    other_tokens[:, 2] = tokens[:, 2].roll(1)
    is_changed = tokens[:, 2] != other_tokens[:, 2]
    models = (english.model_or_lstm(name, g.device) for name in names)
    return [
        english.total_variation(model, tokens[is_changed], other_tokens[is_changed]).mean(0)
        for model in models
    ]


@claim(
    "Exchange the first token of 122 windows of text. Over the next four tokens, the predictions "
    "of an LSTM and of a GPT with about as many parameters move about equally far. From 80 tokens "
    "on, the GPT's still move at least 1.5 times as far as the LSTM's.",
    source="our own measurement",
)
def an_lstm_forgets_the_first_word_sooner(g):
    lstm, gpt = moved_by_in_texts(g, "lstm", "gpt")
    early, late = (
        (gpt[positions].mean() / lstm[positions].mean()).item()
        for positions in (slice(1, 5), slice(80, -1))
    )
    return Measured(
        {
            "GPT / LSTM, 1 to 4 tokens later": (early, between(0.75, 1.15)),
            "80 tokens later and on": (late, at_least(1.5)),
        }
    )


def first_weights(g: torch.Generator, gates: int, d: int) -> Weights:
    """Weights and biases between -1/√d and 1/√d, as torch's layers have them before training."""
    rows = gates * d
    settings = {"generator": g, "device": g.device, "dtype": torch.float64}
    shapes = (rows, d), (rows, d), (rows,), (rows,)
    w_ih, w_hh, b_ih, b_hh = ((2 * torch.rand(shape, **settings) - 1) / d**0.5 for shape in shapes)
    return w_ih, w_hh, b_ih, b_hh


def layers(g: torch.Generator, d: int) -> dict[str, Layer]:
    """An RNN, an LSTM, the same with 4 added to the bias of its forget gate, four causal
    convolutions of width 3, and causal attention in 4 heads: all as they are before training."""
    rnn_weights, lstm_weights = first_weights(g, 1, d), first_weights(g, 4, d)
    w_ih, w_hh, b_ih, b_hh = lstm_weights
    open_bias = torch.cat([b_ih[:d], b_ih[d : 2 * d] + 4, b_ih[2 * d :]])
    kernels = [normal64(g, d, d, 3) / (9 * d) ** 0.5 for _ in range(4)]
    attend = random_layer(g, d, 4)
    return {
        "RNN": lambda x: rnn(x, *rnn_weights),
        "LSTM": lambda x: lstm(x, *lstm_weights)[0],
        "LSTM, open": lambda x: lstm(x, w_ih, w_hh, open_bias, b_hh)[0],
        "CNN": lambda x: causal_convolutions(x, kernels),
        "attention": lambda x: attend(x, mask=causal_mask(x.shape[-2], x.device)),
    }


def causal_convolutions(x: Tensor, kernels: list[Tensor]) -> Tensor:
    """A stack of causal convolutions with a tanh after each."""
    for kernel in kernels:
        x = conv1d(pad(x.mT, (kernel.shape[-1] - 1, 0)), kernel).tanh().mT
    return x


@claim(
    "With the same weights and biases, `rnn` and `lstm` give the states of torch's `nn.RNN` and "
    "`nn.LSTM`, and the same gradients with respect to tokens, weights and biases.",
    source=f"Elman (1990); {HOCHREITER}; the layout of the weights is torch's",
)
def both_equal_torch(g):
    x = normal64(g, 2, 7, 6).requires_grad_()
    grad_output = normal64(g, 2, 7, 6)
    quantities = {}
    for name, make, gates in (("RNN", nn.RNN, 1), ("LSTM", nn.LSTM, 4)):
        weights = first_weights(g, gates, 6)
        inputs = [x, *(weight.requires_grad_() for weight in weights)]
        with torch.device("meta"):
            layer = make(6, 6, batch_first=True)
        layer = layer.double().to_empty(device=g.device)
        vector_to_parameters(parameters_to_vector(weights), layer.parameters())
        # on a GPU torch would warn of weights that do not lie in one piece
        layer.flatten_parameters()
        ours = rnn(x, *weights) if name == "RNN" else lstm(x, *weights)[0]
        gradients = torch.autograd.grad(ours, inputs, grad_output)
        expected = torch.autograd.grad(layer(x)[0], [x, *layer.parameters()], grad_output)
        quantities[f"{name}, states apart by"] = (relative_error(ours, layer(x)[0]), ROUNDING)
        errors = list(map(relative_error, gradients, expected))
        quantities[f"{name}, gradients apart by"] = (errors, ROUNDING)
    return Measured(quantities)


@claim(
    "Of five tokens, the first and the fourth are the same word. An RNN and an LSTM give it two "
    "different states; attention without positions or mask gives it the same output twice. Reorder "
    "the five, and attention's outputs are the same ones in the new order; the states are not.",
    source="our own measurement; the equivariance is that of the chapter on positions",
)
def one_word_at_two_places(g):
    stack, x = layers(g, 8), normal64(g, 5, 8)
    x[3] = x[0]
    order = [4, 2, 0, 1, 3]
    attend = random_layer(g, 8, 2)
    quantities = {}
    for name, layer in {"RNN": stack["RNN"], "LSTM": stack["LSTM"], "attention": attend}.items():
        out, expected = layer(x), ROUNDING if name == "attention" else above(0.01)
        quantities[f"{name}, two places apart by"] = (relative_error(out[3], out[0]), expected)
        reordered = relative_error(layer(x[order]), out[order])
        quantities[f"{name}, two orders apart by"] = (reordered, expected)
    return Measured(quantities)


def tokens_read(layer: Layer, x: Tensor) -> Tensor:
    """For each output, the tokens with respect to which it has a gradient."""
    jacobian = torch.autograd.functional.jacobian(layer, x)
    assert isinstance(jacobian, Tensor)
    return jacobian.ne(0).any(-1).any(1)


@claim(
    "Of 8 tokens, state $i$ of an RNN or an LSTM has a gradient with respect to tokens $0$ to $i$, "
    "and to no later one, so it needs no causal mask. In attention without a mask, each of the 8 "
    "outputs has a gradient with respect to all 8 tokens.",
    source="Elman (1990); our own measurement",
)
def a_state_reads_no_later_token(g):
    n, stack, attend = 8, layers(g, 8), random_layer(g, 8, 2)
    x, causal = normal64(g, n, 8), causal_mask(n, g.device)
    mismatches = {
        name: (tokens_read(stack[name], x) != causal).sum().item() for name in ("RNN", "LSTM")
    }
    pairs = tokens_read(attend, x).sum().item()
    return Measured(
        {
            f"{name}, pairs unlike a causal mask": (mismatch_count, exactly(0))
            for name, mismatch_count in mismatches.items()
        }
        | {"attention, pairs with a gradient": (pairs, exactly(n * n, "$n^2$"))}
    )


def jacobian_norms(layer: Layer, x: Tensor) -> Tensor:
    """For each token, the norm of the Jacobian of the last output by it, the last token first."""
    jacobian = torch.autograd.functional.jacobian(lambda x: layer(x)[-1], x)
    assert isinstance(jacobian, Tensor)
    return jacobian.norm(dim=(0, 2)).flip(0)


@claim(
    "A sentence of 16 words of width 4 has 64 numbers. To first order, the last state of an RNN of "
    "width 8 depends on only 8 combinations of them: this is the rank of its Jacobian. All 16 "
    "states together depend on all 64.",
    source=f"{BAHDANAU} name the bottleneck; the measurement is ours",
)
def a_state_is_a_bottleneck(g):
    d, width = 4, 8
    quantities = {}
    weights = (
        normal64(g, width, d),
        normal64(g, width, width) / 4,
        normal64(g, width),
        normal64(g, width),
    )
    for n in (1, 2, 4, 16):
        states = torch.autograd.functional.jacobian(lambda x: rnn(x, *weights), normal64(g, n, d))
        jacobians = states.flatten(2)
        rank = torch.linalg.matrix_rank(jacobians[-1]).item()
        quantities[f"last state, $n = {n}$"] = (rank, exactly(min(n * d, width)))
    rank = torch.linalg.matrix_rank(jacobians.flatten(0, 1)).item()
    return Measured(quantities | {"all states, $n = 16$": (rank, exactly(n * d))})


def lost_in_one_state(g: torch.Generator, n: int) -> float:
    """The share of the variance of n words of width 8 that one state of width 8 cannot hold."""
    sentences = normal(g, 16384, 8 * n)
    eigenvalues = torch.linalg.eigvalsh(sentences.mT @ sentences)
    return 1 - (eigenvalues[-8:].sum() / eigenvalues.sum()).item()


def lost_in_attention(g: torch.Generator, n: int) -> float:
    """The share of the variance that attention loses, where each of n queries asks for one word."""
    words, keys = normal(g, n, 8), torch.eye(n, device=g.device)
    words_read = attention(40 * n**0.5 * keys, keys, words)
    return ((words_read - words).square().sum() / words.square().sum()).item()


@claim(
    r"Of $n$ words of 8 independent entries of variance 1, the best linear encoder into one state "
    r"of width 8, with the best linear decoder, loses $1 - 1/n$ of the variance. Attention over "
    "the words, asked for one at a time with a score of 40, loses less than a millionth.",
    source=f"principal components of equal variance; the bottleneck: {BAHDANAU}, section 1",
)
def one_state_keeps_one_word(g):
    rows: dict = {
        f"lost in one state, {n} words": (lost_in_one_state(g, n), about(1 - 1 / n, 0.02))
        for n in SENTENCES[1::2]
    }
    losses = [lost_in_attention(g, n) for n in SENTENCES]
    return Measured(rows | {"lost by attention, any length": (losses, below(1e-6))})


@claim(
    "Where all tokens and biases are 0, doubling the matrix $W_{hh}$ multiplies an RNN's gradient "
    "over $t$ steps by $2^t$, so the path goes through the matrix $t$ times. Doubling the values' "
    "matrix of attention multiplies its gradient by 2 at every distance: the path has one step. "
    "A path through causal convolutions of width 3 has $t/2$ steps, rounded up.",
    source=f"{VASWANI}, table 1 (maximum path length); the measurement is ours",
)
def paths_are_as_long_as_said(g):
    n, d = 12, 4
    x, (w_ih, w_hh, *_) = normal64(g, n, d) * 0, first_weights(g, 1, d)
    zero, kernels = x.new_zeros(d), [normal64(g, d, d, 3) for _ in range(n)]
    by_rnn, by_attention = [], []
    for times in (1, 2):
        by_rnn.append(jacobian_norms(lambda x, w=times * w_hh: rnn(x, w_ih, w, zero, zero), x))
        by_attention.append(jacobian_norms(lambda x, w=times * w_ih: attention(x, x, x @ w.mT), x))
    # a GPU's logarithm of a power of 2 is not always exact
    steps, attention_steps = (
        (doubled / norm).cpu().log2() for norm, doubled in (by_rnn, by_attention)
    )
    is_reached = [
        jacobian_norms(lambda x, k=k: causal_convolutions(x, kernels[:k]), x) > 0 for k in range(n)
    ]
    layers_needed, t = n - torch.stack(is_reached).sum(0).cpu(), torch.arange(n)
    errors = {
        "RNN, minus $t$": steps - t,
        "convolutions, minus $t/2$": layers_needed - (t + 1) // 2,
    }
    return Measured(
        {
            "RNN, $t = 11$": (steps[11].item(), exactly(11)),
            "attention, $t = 0$ to $11$": (attention_steps.tolist(), exactly(1)),
            "convolutions, $t = 11$": (layers_needed[11].item(), exactly(6)),
        }
        | {
            f"{name}, $t = 0$ to $11$": (error.tolist(), exactly(0))
            for name, error in errors.items()
        }
    )


@claim(
    "At width 8, with weights as large as torch first draws them, an RNN's gradient over 32 tokens "
    "is less than a millionth of that over 1. An LSTM keeps less than a thousandth, but over a "
    "tenth with 4 added to its forget gate's bias. Four causal convolutions of width 3 have no "
    "gradient beyond 8 tokens. Attention's over 2 to 32 tokens is that over 1, up to a factor of "
    "5.",
    source=f"{BENGIO}; {HOCHREITER}; the 4 and the measurement are ours",
)
def gradients_over_distance(g):
    expected = {"RNN": below(1e-6), "LSTM": below(1e-3), "LSTM, open": above(0.1)}
    quantities = {}
    for name, layer in layers(g, 8).items():
        norm = gradient_by_distance(layer, 33, 8, draws=4, generator=g, dtype=torch.float64)
        remaining = (norm / norm[1]).tolist()
        if name == "CNN":
            quantities["CNN, 8 over 1"] = (remaining[8], above(0.01))
            quantities["CNN, 9 to 32 over 1"] = (remaining[9:], exactly(0))
        elif name == "attention":
            extremes = [min(remaining[2:]), max(remaining[2:])]
            quantities["attention, least and most of 2 to 32 over 1"] = (
                extremes,
                between(1 / 5, 5),
            )
        else:
            quantities[f"{name}, 32 over 1"] = (remaining[32], expected[name])
    return Measured(quantities)


@claim(
    "Where the states are 0 and $W_{hh}$ is a factor times an orthogonal matrix, which keeps all "
    "lengths, $t$ steps multiply the gradient's norm by that factor to the power $t$: over 50 "
    "steps by less than a hundredth for 0.9, by 1 for 1, and by more than a hundred for 1.1.",
    source=f"{BENGIO}; {PASCANU}, section 2",
)
def one_matrix_shrinks_or_explodes(g):
    d, x = 6, normal64(g, 51, 6) * 0
    rotation = torch.linalg.qr(normal64(g, d, d))[0]
    ratios = {}
    for factor in (0.9, 1.0, 1.1):
        weights = (normal64(g, d, d), factor * rotation, x[0], x[0])
        norms = jacobian_norms(lambda x, weights=weights: rnn(x, *weights), x)
        ratios[factor] = (norms[50] / norms[0]).item()
    errors = [abs(ratio / factor**50 - 1) for factor, ratio in ratios.items()]
    quantities = {
        "factor 0.9": (ratios[0.9], below(0.01)),
        "factor 1": (ratios[1.0], about(1, 1e-12)),
        "factor 1.1": (ratios[1.1], above(100)),
    }
    return Measured(quantities | {"off the factor to the power 50 by": (errors, ROUNDING)})


def gru(x: Tensor, weights: Iterable[Tensor], state: Tensor) -> Tensor:
    """The last state of torch's GRU, after a state before the first token."""
    for token in x[:, None]:
        state = torch.gru_cell(token, state.expand(1, -1), *weights)[0]
    return state


@claim(
    "If neither gates nor new content depend on the state, the gradient of an LSTM's last cell "
    "with respect to its first is the product of the forget gates. In a GRU, the same is true of "
    "the state and the update gate. Over 20 steps less than a millionth is left if the gates are "
    "half open, and more than two thirds at a bias of 4.",
    source=f"{HOCHREITER}, sections 3.2 and 4; Gers et al. (2000) for the forget gate; "
    "Cho et al. (2014) for the GRU",
)
def the_forget_gate_carries_the_gradient(g):
    d, n = 5, 20
    remaining = {0: [], 4: []}
    errors = []
    h = normal64(g, d)
    c = normal64(g, d).requires_grad_()
    tokens = normal64(g, n, d) * 0
    for bias, gates in product(remaining, (4, 3)):
        w_ih, w_hh, *_ = first_weights(g, gates, d)
        b = w_ih.new_zeros(gates * d)
        b[d : 2 * d] = bias
        weights = w_ih, 0 * w_hh, b, 0 * b
        last = lstm(tokens, *weights, (h, c))[1] if gates == 4 else gru(tokens, weights, c)
        (gradient,) = torch.autograd.grad(last.sum(), c)
        share = (torch.tensor(bias).double().sigmoid() ** n).item()
        errors.append((gradient / share - 1).abs().max().item())
        remaining[bias].append(gradient[0].item())
    expected = {
        "half open": (remaining[0], below(1e-6)),
        "at a bias of 4": (remaining[4], above(2 / 3)),
    }
    return Measured(expected | {"off the gate to the power 20 by": (errors, ROUNDING)})


@claim(
    "Where the states are near 0 and $W_{hh}$ is 1.2 times an orthogonal matrix, the gradient with "
    "respect to the weights has a norm above 1000 after 50 steps. Clipped to a norm of 1, it keeps "
    "its direction. With each entry clipped to $\\pm 1$ it does not: its cosine with the gradient "
    "is then below 0.99.",
    source=f"{PASCANU}, section 3.2 (algorithm 1)",
)
def clipping_keeps_the_direction(g):
    d, x = 6, normal64(g, 51, 6) / 1e6
    matrix, zero = 1.2 * torch.linalg.qr(normal64(g, d, d))[0], normal64(g, d) * 0
    weights = [start.clone().requires_grad_() for start in (normal64(g, d, d), matrix, zero, zero)]
    gradients = torch.autograd.grad(rnn(x, *weights)[-1] @ normal64(g, d), weights)
    gradient_before = torch.cat([gradient.flatten() for gradient in gradients])
    quantities = {"norm before": (gradient_before.norm().item(), above(1000))}
    by_norm = "norm", clip_grad_norm_, at_most(1), about(1, 1e-9)
    by_entry = "entry", clip_grad_value_, above(1), below(0.99)
    for name, clip, norm, cosine in (by_norm, by_entry):
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient.clone()
        clip(weights, 1.0)
        clipped = torch.cat([torch.as_tensor(weight.grad).flatten() for weight in weights])
        quantities[f"norm after, by {name}"] = (clipped.norm().item(), norm)
        quantities[f"cosine, by {name}"] = (
            cosine_similarity(clipped, gradient_before, 0).item(),
            cosine,
        )
    return Measured(quantities)


def states_in_pieces(x: Tensor, weights: Weights, length: int) -> Tensor:
    """The states of an RNN that reads piece by piece, with no gradient from piece to piece."""
    states, last = [], None
    for piece in x.split(length):
        states.append(rnn(piece, *weights, last))
        last = states[-1][-1].detach()
    return torch.cat(states)


@claim(
    "Read a text of 64 tokens in pieces of 16, and detach the state between them: the states stay "
    "as they are, but the last one has a gradient with respect to 16 tokens, and not 64. The "
    "backward pass of a piece needs $(16 + 1) d$ kept numbers instead of $(64 + 1) d$.",
    source="Williams and Peng (1990); the measurement is ours",
)
def truncation_forgets_what_the_state_remembers(g):
    n, length, d = 64, 16, 8
    x, weights = normal64(g, n, d).requires_grad_(), first_weights(g, 1, d)
    full_states, piecewise_states = rnn(x, *weights), states_in_pieces(x, weights, length)
    quantities = {"states apart by": (relative_error(piecewise_states, full_states), ROUNDING)}
    for name, m, states in (("whole", n, full_states), ("in pieces", length, piecewise_states)):
        (gradient,) = torch.autograd.grad(states[-1].sum(), x)
        token_count = gradient.any(-1).sum().item()
        quantities[f"tokens with a gradient, {name}"] = (token_count, exactly(m))
        numbers = saved_elements(lambda x: rnn(x, *weights), x[:m].detach(), weights)
        quantities[f"numbers kept, {name}"] = (numbers, exactly((m + 1) * d))
    return Measured(quantities)


@claim(
    "Where all tokens are known, as in training, the longest chain of matrix products of which "
    "each waits for the one before has $n$ links in an RNN and in an LSTM. In an attention layer "
    "it has 4, and in four convolutions 4, at every $n$.",
    source=f"{VASWANI}, table 1 (sequential operations); the chain is counted in autograd's graph",
)
def products_that_must_wait(g):
    stack = layers(g, 8)
    quantities, parallel_chains = {}, []
    for n in (4, 16, 64):
        x = normal64(g, n, 8).requires_grad_()
        chains = {name: longest_chain(layer(x)) for name, layer in stack.items()}
        serial_chains = [chains[name] for name in ("RNN", "LSTM", "LSTM, open")]
        quantities[f"RNN and LSTM, $n = {n}$"] = (serial_chains, exactly(n))
        parallel_chains += [chains["attention"], chains["CNN"]]
    label = "attention and convolutions, $n = 4$, $16$ and $64$"
    return Measured(quantities | {label: (parallel_chains, exactly(4))})


@claim(
    "Where each token is the output before it, as in generation, both must wait: the chain of $n$ "
    "tokens has $n$ links in an RNN and $4n$ in a layer of attention. In one pass over the tokens "
    "that it wrote, attention gives the same outputs with a chain of 4.",
    source=f"{VASWANI}, section 3 (each symbol is generated from those before)",
)
def writing_is_one_by_one_in_both(g):
    n = 12
    weights = first_weights(g, 1, 8)
    attend = layers(g, 8)["attention"]
    token = state = normal64(g, 8).requires_grad_()
    for _ in range(n):
        token = state = rnn(token[None], *weights, state)[-1]
    states = [normal64(g, 8).requires_grad_()]
    for _ in range(n):
        states.append(attend(torch.stack(states))[-1])
    known_states = torch.stack(states[:n]).detach().requires_grad_()
    outputs = attend(known_states)
    return Measured(
        {
            f"RNN, {n} tokens": (longest_chain(token), exactly(n)),
            f"attention, {n} tokens": (longest_chain(states[n]), exactly(4 * n)),
            "attention, in one pass": (longest_chain(outputs), exactly(4)),
            "outputs apart by": (relative_error(outputs, torch.stack(states[1:])), ROUNDING),
        }
    )


@claim(
    "For $n$ tokens, scores and means of attention take $n/d$ times the operations of an RNN with "
    "states as wide as its tokens, so fewer below $n = d$. With its four maps, a layer takes "
    "$2 + n/d$ times as many: more than the RNN at every $n$, and more than an LSTM, which takes 4 "
    "times as many, beyond $n = 2d$.",
    source=f"{VASWANI}, table 1: $O(n^2 d)$ and $O(n d^2)$, without the maps; counted",
)
def operations_cross_where_n_is_d(g):
    d = 16
    stack = layers(g, 16)
    quantities, map_ratios = {}, []
    over_lstm = []
    for n in (4, 16, 32):
        x = normal64(g, n, d)
        rnn_flops, lstm_flops, layer_flops = (
            count(stack[a], x).flops for a in ("RNN", "LSTM", "attention")
        )
        scores = count(lambda x: attention(x, x, x), x).flops
        quantities[f"scores and means over RNN, $n = {n}$"] = (scores / rnn_flops, exactly(n / d))
        map_ratios.append((layer_flops - scores) / rnn_flops)
        over_lstm.append(lstm_flops / rnn_flops)
    quantities["maps over RNN"] = (map_ratios, exactly(2))
    quantities["LSTM over RNN"] = (over_lstm, exactly(4))
    return Measured(
        quantities | {"layer over LSTM, $n = 32$": (layer_flops / lstm_flops, exactly(1))}
    )


def kept_by_each(n: int, d: int, heads: int) -> dict[str, int]:
    """The numbers that an RNN, an LSTM and attention, written out, keep for n tokens of width d."""
    g, x = torch.Generator(), torch.zeros(n, d, dtype=torch.float64)
    rnn_weights, lstm_weights = first_weights(g, 1, d), first_weights(g, 4, d)
    attend = random_layer(g, d, heads)
    return {
        "RNN": saved_elements(lambda x: rnn(x, *rnn_weights), x, rnn_weights),
        "LSTM": saved_elements(lambda x: lstm(x, *lstm_weights)[0], x, lstm_weights),
        "attention": saved_elements(attend, x, attend.parameters()),
    }


@claim(
    "For $n$ tokens of width $d$ and states as wide, the functions of this chapter keep numbers "
    "for the backward pass besides tokens and weights: `rnn` $(n + 1) d$ and `lstm` $(7n - 1) d$. "
    "Attention with $H$ heads, written out and without a mask, keeps $H n^2 + 4 n d$, which is "
    "more than the LSTM from $n = 3d/H$ on.",
    source="our own count, in what autograd saves; torch's fused kernels keep other numbers",
)
def attention_keeps_a_number_for_each_pair(g):
    d, heads = 16, 4
    quantities = {}
    for n in (11, 12, 64):
        saved = kept_by_each(n, d, heads)
        by_formula = [(n + 1) * d, (7 * n - 1) * d, heads * n * n + 4 * n * d]
        differences = [
            actual - formula for actual, formula in zip(saved.values(), by_formula, strict=True)
        ]
        quantities[f"off the formulas by, $n = {n}$"] = (differences, exactly(0))
        quantities[f"attention over LSTM, $n = {n}$"] = (
            saved["attention"] / saved["LSTM"],
            below(1) if n < 3 * d / heads else above(1),
        )
    return Measured(quantities)


@claim(
    "To read one more token after $m - 1$, an RNN with states of width $d$ takes $4 d^2$ "
    "operations in matrix products at every $m$. Attention, with the keys and values of the $m$ "
    "tokens in a cache, takes $4 m d$ besides its four maps.",
    source="counted; here tokens, keys and values are as wide as states",
)
def a_step_of_writing_grows_in_attention(g):
    d = 16
    lengths = (2, 16, 256)
    rnn_costs, attention_costs = [], {}
    shapes = (d, d), (d, d), (d,), (d,)
    x, *weights = (torch.empty(s, device="meta") for s in [(lengths[-1], d), *shapes])
    for m in lengths:
        operations, operations_before = (
            count(rnn, x[:last], *weights).flops for last in (m, m - 1)
        )
        rnn_costs.append(operations - operations_before)
        step = count(attention, x[:1], x[:m], x[:m]).flops
        attention_costs[f"attention, $m = {m}$"] = (step, exactly(4 * m * d))
    return Measured(
        {"RNN, $m = 2$, $16$ and $256$": (rnn_costs, exactly(4 * d * d))} | attention_costs
    )
