"""The questions of the chapter on recurrent networks."""

import math
from functools import partial

import torch
from torch.func import functional_call

from attncourse.course import exercise
from attncourse.course.question import (
    NAMES_ONLY,
    Choice,
    Line,
    Ln,
    Maps,
    Number,
    Row,
    double,
    mutant,
    show,
    texts,
)
from attncourse.course.recurrence.claims import states_in_pieces, tokens_read
from attncourse.recurrence import lstm, rnn
from judge.variants import replaced, source_of

RNN, GRU, MERGED = "rnn_states", "GatedCell", "linear_recurrence"


wrong_line_of_an_rnn = Line(
    aim="write-loops",
    asks=(
        "These lines should compute the states of a recurrent network, $h_t = \\tanh(W_x x_t + W_h "
        "h_{t-1} + b)$, and their gradients. `x` has the shape `(batch, n, d)`, and each token is "
        "a row. `first` is the state before the first token; if it isn't given, zeros are used "
        "instead. The result has the shape `(batch, n, h)`. Which line is wrong?"
    ),
    faults={
        "every step begins with the first state":
            "Every step reads the state before the first token, so no step knows of the tokens "
            "before its own. A step should read the state of the step before it.",
        "each state is noted before its step":
            "The states come back one place late: the first of them has read no token, and the "
            "last one is missing.",
        "the tanh is missing":
            "The tanh is missing, so the network is linear, and its state can grow without bound.",
        "a matrix is not transposed":
            "The state is a row, so $W_h h$ is this row times the transpose of $W_h$. The line "
            "multiplies it by $W_h$ itself.",
        "the state before the first token has the width of a token":
            "The state before the first token has as many numbers as a token. It should have as "
            "many as `b`.",
        "the states are stacked along another axis":
            "The states are stacked along a new first axis. The axis of the tokens should be the "
            "last but one, after that of the batch.",
        "the first state is ignored":
            "The network always begins with zeros, even if a first state is given.",
        "first goes through a tanh":
            "The first state goes through a tanh before the first step reads it. The equation uses "
            "it as it is.",
        "this is the sigmoid":
            "The sum goes through the sigmoid, which is never negative. In the equation, it goes "
            "through tanh.",
        "the gradient ends at each step":
            "The state is detached before the next step reads it. The numbers are right, but no "
            "gradient flows from one step to the step before it.",
    },
    text_of=partial(texts, RNN),
    steps=(
        "Compare the line in the loop with the equation, factor by factor.",
        "For every other line, ask which state it reads, or what shape its result has.",
    ),
    check="Does the line in the loop agree with the equation? If so, which state does the loop "
    "begin with, and what does the function return?",
    minutes=3,
    mistakes={
        "That line is right: `unbind(-2)` gives one token after another, whatever axes come "
        "before.":
            "unbind(-2)",
        "That line is right: the list begins empty, and the first step reads `start`. Which state "
        "should the second step read?":
            "states, state = ",
        "That line is right: after each step, its state goes to the end of the list.":
            "states.append",
        NAMES_ONLY: "def ",
    },
)  # fmt: skip


# 40 opens a gate whole, and -40 shuts it
OPEN = 40.0


def of_two_tokens(forget, add, new, cell):
    """The inputs of an LSTM of width 1: a token that writes the cell, and the one asked about."""
    first, second = [OPEN, -OPEN, math.atanh(cell), OPEN], [add, forget, math.atanh(new), OPEN]
    zeros = torch.zeros(4, 1).double()
    return double(first, second), torch.eye(4).double(), zeros, zeros[:, 0]


def lstm_cell(**numbers):
    x, w_ih, w_hh, b = of_two_tokens(**numbers)
    return lstm(x, w_ih, w_hh, b, b)[1][0]


def share(gate: Ln) -> str:
    return f"{gate.number}/{gate.number + 1}"


def product(gate: Ln, number: float) -> float:
    return gate.number / (gate.number + 1) * number


new_cell = Number(
    aim="write-loops",
    asks=(
        "The cell of an LSTM is one number, <cell>. At the next token, the forget gate is "
        "σ(<forget>) and the input gate is σ(<add>), where σ(x) = 1 / (1 + exp(−x)). The new "
        "content, after its tanh, is <new>. What is the cell after this token?"
    ),
    draw=lambda rng: {
        **dict(zip(("forget", "add"), rng.sample([Ln(3), Ln(4), Ln(9)], 2), strict=True)),
        "cell": rng.choice([0.8, -0.8]),
        "new": rng.choice([0.6, -0.6, 0.4, -0.4]),
    },
    right=lstm_cell,
    steps=lambda forget, add, new, cell: (
        "exp(−ln $a$) is $1/a$, so σ(ln $a$) is $a/(a+1)$: the forget gate is "
        f"{share(forget)}, and the input gate is {share(add)}.",
        f"The forget gate keeps {share(forget)} · {show(cell)} = {show(product(forget, cell))} of "
        "the old cell.",
        f"The input gate adds {share(add)} · {show(new)} = {show(product(add, new))}.",
        f"The cell is the sum of the two: {show(product(forget, cell) + product(add, new))}.",
    ),
    check="Write both gates as fractions first. Do they lie between 0 and 1?",
    placement=True,
    mistakes={
        "You kept the whole of the old cell. What share of it does the forget gate keep?":
            lambda forget, add, new, cell: cell + product(add, new),
        "You added the share of the new content that the forget gate leaves free. An LSTM has a "
        "separate gate for what is added.":
            lambda forget, add, new, cell: product(forget, cell) + new / (1 + forget.number),
        "You swapped the two gates. Which of them multiplies the old cell?":
            lambda forget, add, new, cell: new_cell.right(
                forget=add, add=forget, new=new, cell=cell
            ),
        "You multiplied by the numbers that go into the sigmoids. What is σ of each number?":
            lambda forget, add, new, cell: forget * cell + add * new,
        "You added the whole of the new content. Which gate decides how much of it comes in?":
            lambda forget, add, new, cell: product(forget, cell) + new,
        "Each of your gates is 1 minus the right one. There is a minus in the exponent of σ: what "
        "is exp(−ln 3)?":
            lambda forget, add, new, cell: cell / (1 + forget.number) + new / (1 + add.number),
        "Your gates are right, but not all of your signs are. What sign does the old cell have, "
        "and what sign does the new content have?":
            lambda forget, add, new, cell: product(forget, abs(cell)) + product(add, abs(new)),
        "That's what is left of the old cell. What does the input gate add to it?":
            lambda forget, add, new, cell: product(forget, cell),
        "You took the forget gate for the share that is forgotten. What does an LSTM multiply the "
        "old cell by?":
            lambda forget, add, new, cell: cell / (1 + forget.number) + product(add, new),
    },
)  # fmt: skip


def lstm_states(x, w_ih, w_hh, b):
    hidden = cell = x.new_zeros(*x.shape[:-2], w_hh.shape[-1])
    states = []
    for token in x.unbind(-2):
        i, f, g, o = (token @ w_ih.mT + hidden @ w_hh.mT + b).chunk(4, -1)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
        states.append(hidden)
    return torch.stack(states, dim=-2)


# what is wrong, by a piece of the lines above and what takes its place
FAULTS = {
    "The new content is multiplied by 1 − σ(f), but it has a gate of its own, σ(i). In a network "
    "with one gate for both, as in an exercise of this chapter, this line would be right.": (
        "i.sigmoid()",
        "(1 - f.sigmoid())",
    ),
    "The state replaces the cell before the next token. State and cell are two vectors, and both "
    "should be passed on.": (
        "states.append(hidden)",
        "states.append(hidden)\n        cell = hidden",
    ),
    "The output gate multiplies the cell itself, which may be larger than 1. It should multiply "
    "the tanh of the cell.": ("cell.tanh()", "cell"),
    "The cells are collected, but an LSTM should return its states.": (
        "append(hidden)",
        "append(cell)",
    ),
    "The new content should be the tanh of g. Without the tanh, a step could add a number of any "
    "size to the cell.": ("g.tanh()", "g"),
}


def texts_with_fault(piece: str, replacement: str) -> dict[str, str]:
    """The lines of an LSTM with one fault, and as they should be."""
    return {"mutant": replaced(lstm_states, piece, replacement), "plain": source_of(lstm_states)}


wrong_line_of_an_lstm = Line(
    aim="write-loops",
    asks=(
        "These lines should compute the states of an LSTM. `hidden` is the state, and `i`, `f`, "
        "`g` and `o` go into the input gate, the forget gate, the new content and the output gate. "
        "Which line is wrong?"
    ),
    faults={fault: fault for fault in FAULTS},
    text_of=lambda fault: texts_with_fault(*FAULTS[fault]),
    steps=(
        "For each line in the loop, ask which of the three gates it uses, and what it passes on to "
        "the next token.",
    ),
    check="Follow one token through the loop. What does each gate decide, what does the next token "
    "find in `hidden` and in `cell`, and which vectors are collected?",
    minutes=3,
    mistakes={
        "That line is right: both begin with zeros, as many as a state has. They may share one "
        "tensor, because the loop gives each name a new tensor and writes into none.":
            "new_zeros",
        "That line is right: all four parts are computed from the token and the state before it, "
        "in the order in which PyTorch stacks them.":
            "chunk(4",
        "That line is right: it takes the tokens one after another, whatever axes come before.":
            "unbind(-2)",
        "That line only puts the collected vectors together, in order. Which vectors are they, "
        "and how is each computed?":
            "return ",
        NAMES_ONLY: "def ",
        "That line is right: before the first token, no vector has been collected.": "states = []",
    },
)  # fmt: skip


def next_state(cell, base, sign, z, state):
    """The state after a token that brings 2 ln(base), met by -2 ln(base) from the old state."""
    input_term = 2 * sign * math.log(base)
    weights = {
        # the rows are those of r, z and the candidate; r is half open
        "weight_ih": double([0.0], [math.log(z / (1 - z))], [input_term]),
        "weight_hh": double([0.0], [0.0], [-input_term / state]),
        "bias_ih": double(0.0, 0.0, 0.0),
        "bias_hh": double(0.0, 0.0, 0.0),
    }
    return functional_call(cell(1, 1), weights, (double(1.0), double(state)))[0]


def gru_by_mutant(hint, base, sign, z, state, token, past):
    return next_state(mutant(GRU, hint), base, sign, z, state)


def candidate(base: int, sign: int) -> float:
    return sign * math.tanh(math.log(base))


state_of_a_gru = Number(
    aim="write-loops",
    asks=(
        "The state of a GRU is one number, <state>. At the next token, the reset gate is 1/2, and "
        "the update gate, which in PyTorch's form multiplies the old state, is <z>. To the "
        "candidate, the token contributes <token>, and the old state contributes <past> before it "
        "is gated. What is the next state? (tanh(ln 2) = 0.6 and tanh(ln 3) = 0.8.)"
    ),
    draw=lambda rng: {
        "base": (base := rng.choice([2, 3])),
        "sign": (sign := rng.choice([1, -1])),
        "z": rng.choice([0.25, 0.75]),
        "state": rng.choice([0.4, -0.4, 1.2, -1.2]),
        "token": ("2 ln {}" if sign > 0 else "−2 ln {}").format(base),
        "past": ("−2 ln {}" if sign > 0 else "2 ln {}").format(base),
    },
    right=lambda base, sign, z, state, token, past: next_state(
        exercise(GRU).valid_answers[0], base, sign, z, state
    ),
    steps=lambda base, sign, z, state, token, past: (
        f"The reset gate halves what the old state contributes: {past} becomes "
        f"{past.replace('2 ', '', 1)}.",
        f"The candidate is the tanh of {token} {'−' if sign > 0 else '+'} ln {base}, which is "
        f"{'' if sign > 0 else '−'}ln {base}: {show(candidate(base, sign))}.",
        f"The update gate keeps {show(z)} of the old state, {show(z * state)}, and leaves "
        f"{show(1 - z)} for the candidate, {show((1 - z) * candidate(base, sign))}. The next state "
        "is the sum of the two.",
    ),
    check="Write down the candidate first: which of its two contributions is gated? The next state "
    "lies between the candidate and the old state.",
    minutes=3,
    mistakes={
        "Your candidate is 0, as it would be without a reset gate. Which of its two contributions "
        "does that gate multiply?":
            partial(gru_by_mutant, "r is not used"),
        "Your candidate has the wrong sign. Which of the two contributions does the reset gate "
        "halve, and what sign does their sum have then?":
            lambda base, sign, z, state, token, past: state_of_a_gru.right(
                base, -sign, z, state, token, past
            ),
        "You swapped the weights of the candidate and the old state. Which of the two does the "
        "update gate multiply?":
            partial(gru_by_mutant, "candidate and old state are swapped"),
        "That's the candidate alone. How much of the old state is kept?":
            partial(gru_by_mutant, "the candidate comes back alone"),
        "Your candidate is the sum of the two contributions. What does a GRU do with this sum?":
            lambda base, sign, z, state, token, past: z * state + (1 - z) * sign * math.log(base),
        "You also let the reset gate act on the part of the old state that is kept. What should "
        "this gate multiply?":
            lambda base, sign, z, state, token, past: (
                z * state / 2 + (1 - z) * candidate(base, sign)
            ),
        "You added the whole of the candidate. How much room does the update gate leave for it?":
            lambda base, sign, z, state, token, past: z * state + candidate(base, sign),
    },
)  # fmt: skip


def share_lost(n, d):
    eigenvalues = torch.linalg.eigvalsh(torch.eye(n * d).double())
    return 1 - eigenvalues[-d:].sum() / eigenvalues.sum()


lost_in_one_state = Number(
    aim="compare-paths",
    asks=(
        "Each of <n> words consists of <d> independent random numbers of variance 1. The best "
        "linear encoder puts all the words into one state of <d> numbers, and the best linear "
        "decoder reads them from it. What share of the words' variance is lost?"
    ),
    # in this order the first words drawn are as wide as those of the figure
    draw=lambda rng: {
        "n": rng.choice([4, 5, 8, 10, 16, 32]),
        "d": rng.choice([16, 4, 8]),
    },
    right=share_lost,
    steps=lambda n, d: (
        f"The sentence has {n} · {d} = {n * d} numbers, and none of them says anything about "
        "the others.",
        f"All have the same variance, so whichever {d} of them, or combinations of them, the state "
        f"holds, it keeps {d}/{n * d} of the variance.",
        f"That is 1/{n}, and the rest is lost. The figure in the chapter shows this for "
        "words of 8 numbers.",
    ),
    check="How many numbers does the sentence have, and how many of them can the state hold?",
    minutes=1,
    mistakes={
        "That's the share that is kept. The question asks for the share that is lost.":
            lambda n, d: 1 / n,
        "For nothing to be lost, the state would have to hold every word. How many numbers does "
        "the whole sentence have?":
            0,
        "You compared the numbers of the whole sentence with a single number. How many numbers "
        "does the state hold?":
            lambda n, d: 1 - 1 / (n * d),
        "You compared the width of a word with 1. Compare the numbers of the whole sentence with "
        "those of the state.":
            lambda n, d: 1 - 1 / d,
        "You compared the numbers in the state with the number of words. How many numbers does a "
        "word have?":
            lambda n, d: 1 - d / n,
        "That's how many of the numbers are lost. What share of all the numbers is that?":
            lambda n, d: n * d - d,
    },
)  # fmt: skip


def cell_derivative(forget):
    first, zeros = double(0.0).requires_grad_(), torch.zeros(4, 1).double()
    # the tokens reach the forget gate alone
    x, w_ih = double(*[[float(f)] for f in forget]), double([0.0], [1.0], [0.0], [0.0])
    last = lstm(x, w_ih, zeros, zeros[:, 0], zeros[:, 0], (double(0.0), first))[1]
    return torch.autograd.grad(last.sum(), first)[0][0]


derivative_along_the_cell = Number(
    aim="vanishing-gradients",
    asks=(
        "The gates and the new content of an LSTM depend on the tokens alone, and not on its "
        "state. At three tokens in a row, the numbers that go into the sigmoid of the forget gate "
        "are <forget>. What is the derivative of the cell after these tokens with respect to the "
        "cell before them?"
    ),
    draw=lambda rng: {"forget": rng.choices([Ln(1), Ln(2), Ln(3), Ln(4)], k=3)},
    right=cell_derivative,
    steps=lambda forget: (
        f"σ(ln $a$) is $a/(a+1)$, and 0 is ln 1, so the gates are {', '.join(map(share, forget))}.",
        "Each step multiplies the cell by its gate and adds something that does not depend on "
        "the cell, so the derivative of one step is its gate.",
        f"By the chain rule, the derivative of three steps is the product of their gates: "
        f"{' · '.join(map(share, forget))}.",
    ),
    check="Suppose the cell before the three tokens grows by 1. How much of this 1 is left after "
    "each token?",
    placement=True,
    mistakes={
        "That's the derivative of the last step alone. How much of a change in the first cell did "
        "the two steps before it leave?":
            lambda forget: double(*map(float, forget)).sigmoid()[-1],
        "You took the mean of the gates. Each step works on what the step before has left: how do "
        "such shares combine?":
            lambda forget: double(*map(float, forget)).sigmoid().mean(),
        "For a derivative of 1, each step would have to keep all of the cell, as in the first "
        "LSTM, which had no forget gate. How much does each of these gates keep?":
            1,
        "You multiplied the numbers that go into the gates, or took σ(0) for 0. What does the "
        "sigmoid turn each number into?":
            lambda forget: math.prod(forget),
        "You multiplied the shares that the gates take away. A forget gate says what share is "
        "kept.":
            lambda forget: (-double(*map(float, forget))).sigmoid().prod(),
        "You differentiated the sigmoids. Do the numbers that go into them depend on the cell?":
            lambda forget: math.prod(f.number / (f.number + 1) ** 2 for f in forget),
        "You added the gates. Each step works on what the step before has left: how do such "
        "shares combine?":
            lambda forget: double(*map(float, forget)).sigmoid().sum(),
        "You multiplied the exponentials of the numbers. A gate lies between 0 and 1: what does "
        "the sigmoid turn each number into?":
            lambda forget: math.prod(f.number for f in forget),
    },
)  # fmt: skip


an_open_gate = Choice(
    aim="vanishing-gradients",
    asks=(
        "From distance 1 to distance 64, the gradient of an LSTM of width 16 with PyTorch's "
        "default initial weights shrinks by about 14 powers of ten. Now you add 4 to the bias of "
        "its forget gate, and σ(4) = 0.98. How much of the gradient at distance 1 is left at "
        "distance 64?"
    ),
    right="more than a tenth of it, because each step keeps nearly all of the cell",
    steps=(
        "The path is as long as before: 63 steps more than at distance 1.",
        "Along the cell, each step multiplies the gradient by about 0.98 instead of about one "
        "half. Since 0.98 is about $e^{-0.02}$, 63 such steps multiply it by about $e^{-1.3}$, "
        "which is more than a quarter.",
        "The paths through the other gates change this number, but not its order of magnitude. "
        "The figure in the chapter opens at distance 64.",
    ),
    check="What does each step multiply the gradient by, and how many steps are there?",
    minutes=1,
    mistakes={
        "The path is indeed as long as before. But what does each step on it do to the gradient "
        "now?":
            "as little as before, because the path is as long as before",
        "One step does keep about twice as much as before. But how much do 63 of them keep, one "
        "after another?":
            "about twice as much as before, because 0.98 is about twice one half",
        "A gate of 0.98 keeps nearly all of the cell, but not quite all. How much do 63 such steps "
        "leave?":
            "all but a percent of it, because an open gate keeps the cell",
    },
)  # fmt: skip


def compose(states, a1, b1, a2, b2):
    """The factor of two steps in one, and what is added: the state after both, begun at 0."""
    return a1 * a2, states(double([a1], [a2]), double([b1], [b2]))[-1, 0]


two_steps_in_one = Row(
    aim="compare-paths",
    asks=(
        "Two steps of a recurrence without a tanh are `h1 = <a1> * h0 + <b1>` and "
        "`h2 = <a2> * h1 + <b2>`. Merge them into one step, `h2 = a * h0 + b`. What are `a` "
        "and `b`?"
    ),
    draw=lambda rng: {
        **dict(zip(("a1", "a2"), rng.sample([2, 3, 4, 5], 2), strict=True)),
        **dict(zip(("b1", "b2"), rng.sample([1, 2, 3, 4, 5, 6], 2), strict=True)),
    },
    right=lambda a1, b1, a2, b2: compose(exercise(MERGED).valid_answers[0], a1, b1, a2, b2),
    steps=lambda a1, b1, a2, b2: (
        f"Put the first step into the second: h2 = {a2} · ({a1} · h0 + {b1}) + {b2}.",
        f"h0 is multiplied by {a2} · {a1} = {a1 * a2}.",
        f"What is added is {a2} · {b1} + {b2} = {a2 * b1 + b2}. All pairs of steps can be "
        "merged in this way at the same time, and then pairs of pairs. With a tanh in between, "
        "they can't.",
    ),
    check="Try h0 = 0 and h0 = 1: do the two steps and your single step give the same result?",
    mistakes={
        "Your `b` leaves what the first step adds as it is. Does the second step multiply it by "
        "something?":
            lambda **args: compose(mutant(MERGED, "a is not used"), **args),
        "In your `b`, the number that the first step adds is multiplied by the first factor. Which "
        "factor comes after it?":
            lambda **args: compose(mutant(MERGED, "the earlier b is multiplied"), **args),
        "In your `b`, each step also multiplies the number that it adds. A step multiplies only "
        "the state before it.":
            lambda **args: compose(mutant(MERGED, "a_t multiplies b_t, too"), **args),
        "You added the two factors. What is h0 multiplied by first, and what is the result "
        "multiplied by then?":
            lambda a1, b1, a2, b2: (a1 + a2, a2 * b1 + b2),
        "Your `b` puts the second step into the first. Which of the two comes first?":
            lambda a1, b1, a2, b2: (a1 * a2, a1 * b2 + b1),
        "You added the two steps, number by number. What does the second step use as its `h1`?":
            lambda a1, b1, a2, b2: (a1 + a2, b1 + b2),
        "You multiplied both of the numbers that are added. Which of them does the second step "
        "multiply, and which one does it only add?":
            lambda a1, b1, a2, b2: (a1 * a2, a2 * (b1 + b2)),
    },
)  # fmt: skip


def memory_sizes(n, d):
    x, w, b = torch.ones(n, d), torch.ones(d, d), torch.ones(d)
    state, keys, values = rnn(x, w, w, b, b)[-1], x @ w, x @ w
    return state.numel(), keys.numel() + values.numel()


kept_to_write_on = Row(
    aim="training-or-generation",
    asks=(
        "An RNN with states of width <d> and a layer of causal attention with keys and values of "
        "width <d> have each read <n> tokens of a text that they are writing. Besides its weights, "
        "how many numbers must each have kept before it reads the next token, so that it doesn't "
        "have to compute anything twice? Give the RNN's number first."
    ),
    draw=lambda rng: {"n": rng.choice([3, 5, 10, 20, 100]), "d": rng.choice([4, 8, 16])},
    right=memory_sizes,
    steps=lambda n, d: (
        f"The RNN needs its last state, {d} numbers, whatever came before.",
        f"In attention, the next query meets the keys of all {n} tokens and takes a mean of their "
        f"values. Keys and values are {n} · {d} numbers each, which makes {2 * n * d}.",
    ),
    check="Apart from the new token, what does the next step of each model read? Count the numbers "
    "in it.",
    tolerance=0.4,
    mistakes={
        "The RNN doesn't read its earlier states again. They are kept only in training, for the "
        "backward pass.":
            lambda n, d: (n * d, 2 * n * d),
        "The next query meets the keys of all tokens. What does attention then take the mean of?":
            lambda n, d: (d, n * d),
        "The weights of earlier queries are not needed again. What does a new query read?":
            lambda n, d: (d, n * n),
        "With so few numbers, attention would know of the last token alone. What does its next "
        "query look at?":
            lambda n, d: (d, 2 * d),
        "You kept the old queries as well. Does the query of the next token meet them?":
            lambda n, d: (d, 3 * n * d),
        "You counted vectors. How many numbers does each of them have?": lambda n, d: (1, 2 * n),
    },
)  # fmt: skip


def gradient_map(n, piece):
    x, weights = spread(n)
    return tokens_read(lambda x: states_in_pieces(x, weights, piece), x).double()


def spread(n):
    """Tokens and weights for which no gradient is 0 by chance."""
    x = torch.arange(1.0, n + 1).double()[:, None] / n
    return x, (double([1.0]), double([1.0]), double(0.0), double(0.0))


def not_detached(n, piece):
    x, weights = spread(n)
    return tokens_read(lambda x: rnn(x, *weights), x).double()


def whole_pieces(n, piece):
    piece_index = torch.arange(n) // piece
    return (piece_index[:, None] == piece_index).double()


gradients_of_pieces = Maps(
    aim="vanishing-gradients",
    asks=(
        "An RNN reads <n> tokens in pieces of <piece>, the last of which may be shorter. The state "
        "is passed on from piece to piece, but detached. Which map marks, for each state (row), "
        "the tokens (columns) with respect to which it has a gradient?"
    ),
    draw=lambda rng: {"n": rng.choice([5, 6, 7, 8]), "piece": rng.choice([2, 3, 4])},
    right=gradient_map,
    steps=lambda n, piece: (
        "Within a piece, a state is computed from its own token and those before it: a triangle.",
        f"A detached state counts as a given number, so the gradient stops where a piece begins, "
        f"every {piece} tokens.",
        "So there is one triangle for each piece, and nothing to the left of it.",
    ),
    check="Take the first state of the second piece. With respect to which tokens can it have a "
    "gradient?",
    minutes=1,
    mistakes={
        "In this map, the gradient runs back to the first token of the text. What does detaching "
        "the state do to it?":
            not_detached,
        "In this map, every state looks back over equally many tokens. How far back can the first "
        "state of a piece look?":
            lambda n, piece: torch.ones(n, n).double().tril().triu(1 - piece),
        "In this map, a state has a gradient for later tokens of its piece. Has it read those "
        "tokens?":
            whole_pieces,
    },
)  # fmt: skip
