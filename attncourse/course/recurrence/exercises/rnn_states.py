"""Exercise rnn_states: all states of a recurrent network, one step after the other."""

from itertools import accumulate

import torch

from attncourse.course.recurrence.exercises.shared.written import (
    FAR,
    TORCH_RECURRENCE,
    far_tokens,
    states_by_hand,
)
from judge import variants
from judge.exercise import Case, Exercise

COUNTED = "it counts the axes from the front: any leading axes, or none, should work"
ONCE = (
    "it loops over the sentences too, or over the tokens more than once: take n steps, each for "
    "all sentences at once"
)
exercise = Exercise.read(
    __name__,
    forbidden=TORCH_RECURRENCE,
    steps_allowed=5.0,
    generic_hints={"axes_from_the_front": COUNTED, "loops": ONCE},
)
exercise.valid(variants.worked(exercise))


exercise.reference(states_by_hand)


@exercise.cases
def cases(draw):
    n, d, h = draw.sizes(3, 3, 6)
    x, first, sizes = draw.normal(2, n, d), draw.normal(2, h), f"n={n}, d={d}, h={h}"
    weights = draw.normal(h, d) / 2, draw.normal(h, h) / 2, draw.normal(h)
    longer_inputs = draw.normal(24, 4 * n, d), *weights
    yield Case(f"a batch of 2, {sizes}", (x, *weights), longer=longer_inputs)
    yield Case(f"a batch of 2 with a first state, {sizes}", (x, *weights, first))
    yield Case("a first state by name", (x, *weights), {"first": first})
    yield Case(f"one sequence without a batch, {sizes}", (x[0], *weights))
    yield Case("one sequence with a first state", (x[0], *weights, first[0]))
    # a gradient flows through it as through any other
    yield Case("a first state of zeros", (x, *weights, 0 * first))
    two_axes = draw.normal(2, 3, n, d), *weights, draw.normal(2, 3, h)
    yield Case("two leading axes", two_axes)
    yield Case("one token", (x[:, :1], *weights, first))
    far_x, bias = far_tokens(x, weights[0], weights[2])
    yield Case(FAR, (far_x, *weights[:2], bias), gradient=False)
    yield Case("weights around 1000", (x, *(1000 * weight for weight in weights), first))
    yield Case("d=h=n=1", (x[0, :1, :1], *(w[:1, :1] for w in weights[:2]), weights[2][:1]))


@exercise.valid
def by_accumulate(x, w_x, w_h, b, first=None):
    start = x.new_zeros(*x.shape[:-2], len(b)) if first is None else first
    steps = x.unbind(-2), lambda state, token: (token @ w_x.mT + state @ w_h.mT + b).tanh()
    states = accumulate(*steps, initial=start)
    return torch.stack(list(states)[1:], dim=-2)


@exercise.valid
def inputs_first(x, w_x, w_h, b, first=None):
    read = torch.nn.functional.linear(x, w_x, b)
    state = read.new_zeros(*x.shape[:-2], len(b)) if first is None else first
    states = torch.zeros_like(read)
    for t in range(x.size(-2)):
        state = torch.tanh(read[..., t, :] + torch.einsum("...j,ij->...i", state, w_h))
        states[..., t, :] = state
    return states


@exercise.valid
def weights_side_by_side(x, w_x, w_h, b, first=None):
    state = torch.zeros_like(x[..., 0, :1] * b) if first is None else first
    states, weights = [], torch.cat([w_x, w_h], dim=-1).T
    for token in x.movedim(-2, 0):
        state = (torch.cat((token, state), -1) @ weights).add(b).tanh()
        states += [state.unsqueeze(-2)]
    return torch.cat(states, dim=-2)


@exercise.mutant("it writes over numbers that autograd still needs: keep the states in a list")
def read_from_what_is_written(x, w_x, w_h, b, first=None):
    state = x.new_zeros(*x.shape[:-2], len(b)) if first is None else first
    out = torch.zeros_like(x[..., :1] * b)
    for t in range(x.shape[-2]):
        before = out[..., t - 1, :] if t else state
        out[..., t, :] = torch.tanh(x[..., t, :] @ w_x.mT + before @ w_h.mT + b)
    return out


TRANSPOSED = "a matrix is not transposed: with tokens in rows, W x is x @ W.mT"
FIRST_AXIS = (
    "it loops over the first axis, which is a batch if there is one: loop over the tokens, axis -2"
)
NOTE, TOKENS = "        states.append(state)\n", "x.unbind(-2)"
variants.wrong(exercise, {
    TRANSPOSED: [("w_h.mT", "w_h"), ("w_x.mT", "w_x")],
    "the state before the first token has the width of a token: it should have width h": (
        "len(b)", "x.shape[-1]"),
    "the state is written over, a given first one too, and autograd needs the old one: make a new "
    "state in each step": (
        "state = torch", "state[...] = torch", "append(state)", "append(state.clone())"),
    "the tanh is missing: without it the network is linear, and its state can grow": (
        "torch.tanh", ""),
    "b is added twice: add it once, to the two products together": ("+ b)", "+ b + b)"),
    "b is added at the first token only: add it in every step": ("+ b)", "+ (0 if states else b))"),
    "the first step is not like the others: it, too, should have the product with W_h, and b": [
        ("state @ w_h.mT + b", f"({step} if not states else state @ w_h.mT + b)")
        for step in ("start", "state @ w_h.mT")],
    "first goes through a tanh: use it as it is": ("else first", "else first.tanh()"),
    "the first state enters outside the tanh: put it in the place of the state before, inside": (
        "[], start", "[], torch.zeros_like(start)",
        NOTE, f"        state = state if states else state + torch.tanh(start @ w_h.mT)\n{NOTE}"),
    "a first state of zeros is taken for a missing one: it is missing only where it is None": (
        "first is None", "first is None or not first.any()"),
    "the first state is ignored: begin with it where it is given": (
        " if first is None else first", ""),
    "it does not run without a first state: begin with zeros where none is given":
        "start = first.clone()",
    "each state is noted before its step: note it after, when it has read its token":
        "return torch.stack([start, *states[:-1]], dim=-2)",
    "every step begins with the first state: carry the new one on to the next step": (
        "state @", "start @"),
    "the states are stacked along another axis: stack them along the tokens' axis, the last "
    "but one": [
        ("dim=-2", "dim=0"), ("dim=-2", "dim=1")],
    FIRST_AXIS: [
        (TOKENS, "x", "*x.shape[:-2], ", ""), (TOKENS, "x"),
        (TOKENS, "x", "*x.shape[:-2], ", "", "dim=-2", "dim=0")],
    "the gradient ends at each step: don't detach the state on its way": [
        ("state @", "state.detach() @"), (NOTE, f"{NOTE}        state = state.detach()\n")],
    COUNTED: ("*x.shape[:-2]", "len(x)", TOKENS, "x.unbind(1)", "dim=-2", "dim=1"),
    "exp overflows where a number is large, and inf / inf is NaN: use torch.tanh": [
        ("state = torch.tanh", "z = ", NOTE, f"        state = {by_hand}\n{NOTE}") for by_hand in (
            "(z.exp() - (-z).exp()) / (z.exp() + (-z).exp())",
            "((2 * z).exp() - 1) / ((2 * z).exp() + 1)")],
    "this is the sigmoid, which is never negative: take tanh": ("tanh", "sigmoid"),
    "the first state changes: make a new state in each step, and write into none": [
        "if first is not None:\n    first[...] = state\nreturn torch.stack(states, dim=-2)",
        ("state = torch", "before, state = state, torch",
         NOTE, f"        before.data.copy_(state)\n{NOTE}")],
    "the first state is always float32: give it the dtype of x": (
        "x.new_zeros(*x.shape[:-2], len(b))",
        "torch.zeros(*x.shape[:-2], len(b), device=x.device)"),
})  # fmt: skip
