"""Exercise rnn_states: all states of a recurrent network, one step after the other."""

from itertools import accumulate

import torch
import torch.nn.functional as F

from attncourse.checks.around import add_to, batch_axis_assumed, float32_inside, made_on_the_cpu
from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.recurrence.shared.written import TORCH_RECURRENCE

exercise = Exercise(
    name="rnn_states",
    chapter="recurrence",
    title="One state after the other",
    kind="build",
    difficulty=1,
    minutes=15,
    points=10,
    hints=(
        "A step needs the token at hand and the state before it, and nothing else. So a loop over "
        "the tokens carries one state along, and notes it after each step.",
        "Begin with first, or with zeros of shape (..., h) in the dtype and on the device of x. In "
        "each turn of the loop compute the new state from one token, x[..., t, :], keep it, and "
        "append it to a list. At the end, stack the list along the axis of the tokens.",
        "state = torch.tanh(token @ w_x.mT + state @ w_h.mT + b) is a step, for token in "
        "x.unbind(-2) the loop, and torch.stack(states, dim=-2) the end",
    ),
    also_forbidden=TORCH_RECURRENCE,
    # one loop over the tokens is the point; a second, or one over sentences, is not
    steps_allowed=5.0,
)


@exercise.reference
def by_hand(x, w_x, w_h, b, first=None):
    state = x.new_zeros(*x.shape[:-2], len(b)) if first is None else first
    weights, states = torch.cat([w_x, w_h], dim=1), []
    for t in range(x.shape[-2]):
        read = torch.cat([x[..., t, :], state], dim=-1)
        state = ((weights * read[..., None, :]).sum(-1) + b).tanh()
        states.append(state)
    return torch.stack(states, dim=-2)


@exercise.cases
def cases(draw):
    n, d, h = draw.sizes(3, 3, 6)
    x, first, sizes = draw.normal(2, n, d), draw.normal(2, h), f"n={n}, d={d}, h={h}"
    weights = draw.normal(h, d) / 2, draw.normal(h, h) / 2, draw.normal(h)
    long = draw.normal(8, 4 * n, d), *weights
    yield Case(f"a batch of 2, {sizes}", (x, *weights), longer=long)
    yield Case(f"a batch of 2 with a first state, {sizes}", (x, *weights, first))
    yield Case("a first state by name", (x, *weights), {"first": first})
    yield Case(f"one sequence without a batch, {sizes}", (x[0], *weights))
    yield Case("one sequence with a first state", (x[0], *weights, first[0]))
    deep = draw.normal(2, 3, n, d), *weights, draw.normal(2, 3, h)
    yield Case("two leading axes", deep)
    yield Case("one token", (x[:, :1], *weights, first))
    # what float32 cannot hold: a bias takes away what the inputs have in common
    far = torch.cat([x[..., :1] + 1e5, x[..., 1:]], dim=-1)
    bias = weights[2] - 1e5 * weights[0][:, 0]
    yield Case("100000 added to the first number of every token", (far, *weights[:2], bias))
    large = [1000 * weight for weight in weights]
    yield Case("weights around 1000", (x, *large, first))
    yield Case("d=h=n=1", (x[0, :1, :1], *(w[:1, :1] for w in weights[:2]), weights[2][:1]))


def zeros(x, b):
    return x.new_zeros(*x.shape[:-2], len(b))


def step(token, state, w_x, w_h, b):
    return torch.tanh(token @ w_x.mT + state @ w_h.mT + b)


def run(x, w_x, w_h, b, first=None, *, step=step, carry=lambda state: state, axis=-2):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    state, states = zeros(x, b) if first is None else first, []
    for token in x.unbind(-2):
        state = step(token, carry(state), w_x, w_h, b)
        states.append(state)
    return torch.stack(states, dim=axis)


@exercise.valid
def step_by_step(x, w_x, w_h, b, first=None):
    return run(x, w_x, w_h, b, first)


@exercise.valid
def inputs_multiplied_before_the_loop(x, w_x, w_h, b, first=None):
    read = F.linear(x, w_x, b)
    states = read.new_zeros(read.shape)
    state = zeros(x, b) if first is None else first
    for t in range(x.size(-2)):
        state = torch.tanh(read[..., t, :] + torch.einsum("...j,ij->...i", state, w_h))
        states[..., t, :] = state
    return states


@exercise.valid
def by_accumulate(x, w_x, w_h, b, first=None):
    start = zeros(x, b) if first is None else first
    states = accumulate(
        x.unbind(-2), lambda state, token: step(token, state, w_x, w_h, b), initial=start
    )
    return torch.stack(list(states)[1:], dim=-2)


@exercise.valid
def weights_side_by_side(x, w_x, w_h, b, first=None):
    state = torch.zeros_like(x[..., 0, :1] * b) if first is None else first
    weights, states = torch.cat([w_x, w_h], dim=-1).T, []
    for token in x.movedim(-2, 0):
        state = (torch.cat((token, state), -1) @ weights).add(b).tanh()
        states += [state.unsqueeze(-2)]
    return torch.cat(states, dim=-2)


TRANSPOSED = "a matrix is not transposed: with tokens in rows, W x is x @ W.mT"


@exercise.mutant(TRANSPOSED)
def state_times_w_h(x, w_x, w_h, b, first=None):
    return run(x, w_x, w_h.mT, b, first)


@exercise.mutant(TRANSPOSED)
def token_times_w_x(x, w_x, w_h, b, first=None):
    return run(x, w_x.mT, w_h, b, first)


@exercise.mutant("there is no tanh: without it the network is linear, and its state can grow")
def no_tanh(x, w_x, w_h, b, first=None):
    return run(x, w_x, w_h, b, first, step=lambda t, s, u, w, b: t @ u.mT + s @ w.mT + b)


@exercise.mutant("the first state is ignored: begin with it where it is given")
def first_ignored(x, w_x, w_h, b, first=None):
    return run(x, w_x, w_h, b)


@exercise.mutant("it does not run without a first state: begin with zeros where none is given")
def first_needed(x, w_x, w_h, b, first=None):
    return run(x, w_x, w_h, b, first.clone())


@exercise.mutant("each state is noted before its step: note it after, when it has read its token")
def noted_before_the_step(x, w_x, w_h, b, first=None):
    states = run(x, w_x, w_h, b, first)
    start = zeros(x, b) if first is None else first
    return torch.cat([start[..., None, :], states[..., :-1, :]], dim=-2)


@exercise.mutant("every step begins with the first state: carry the new one on to the next step")
def nothing_carried(x, w_x, w_h, b, first=None):
    start = zeros(x, b) if first is None else first
    return run(x, w_x, w_h, b, first, carry=lambda state: start)


@exercise.mutant("the states are stacked along another axis: tokens are the last axis but one")
def tokens_in_front(x, w_x, w_h, b, first=None):
    return run(x, w_x, w_h, b, first, axis=0)


FIRST_AXIS = "it loops over the first axis, which is a batch if there is one: tokens are axis -2"


def over_the_first_axis(x, w_x, w_h, b, start, axis=-2):
    return run(x.movedim(0, -2), w_x, w_h, b, start, axis=axis)


@exercise.mutant(FIRST_AXIS)
def first_axis_with_one_state(x, w_x, w_h, b, first=None):
    return over_the_first_axis(x, w_x, w_h, b, x.new_zeros(len(b)) if first is None else first)


@exercise.mutant(FIRST_AXIS)
def first_axis_with_a_state_for_each_sentence(x, w_x, w_h, b, first=None):
    return over_the_first_axis(x, w_x, w_h, b, zeros(x, b) if first is None else first)


@exercise.mutant(FIRST_AXIS)
def first_axis_in_and_out(x, w_x, w_h, b, first=None):
    start = x.new_zeros(len(b)) if first is None else first
    return over_the_first_axis(x, w_x, w_h, b, start, axis=0)


@exercise.mutant("the gradient ends at each step: the state may not be detached on its way")
def state_detached(x, w_x, w_h, b, first=None):
    return run(x, w_x, w_h, b, first, carry=torch.Tensor.detach)


@exercise.mutant("it counts the axes from the front: any leading axes, or none, should work")
def tokens_on_the_second_axis(x, w_x, w_h, b, first=None):
    state, states = x.new_zeros(len(x), len(b)) if first is None else first, []
    for t in range(x.shape[1]):
        state = step(x[:, t], state, w_x, w_h, b)
        states.append(state)
    return torch.stack(states, dim=1)


ONCE = (
    "it loops over the sentences too, or over the tokens more than once: one step serves all "
    "sentences, and n steps are enough"
)


@exercise.mutant(ONCE)
def loop_over_sentences(x, w_x, w_h, b, first=None):
    if x.dim() == 2:
        return run(x, w_x, w_h, b, first)
    starts = [None] * len(x) if first is None else first
    pairs = zip(x, starts, strict=True)
    return torch.stack([loop_over_sentences(one, w_x, w_h, b, start) for one, start in pairs])


@exercise.mutant(ONCE)
def each_from_the_beginning(x, w_x, w_h, b, first=None):
    ends = range(1, x.shape[-2] + 1)
    last = [run(x[..., :end, :], w_x, w_h, b, first)[..., -1, :] for end in ends]
    return torch.stack(last, dim=-2)


@exercise.mutant("it writes over numbers that autograd still needs: keep the states in a list")
def written_over(x, w_x, w_h, b, first=None):
    out, state = torch.zeros_like(x[..., :1] * b), zeros(x, b) if first is None else first
    for t, token in enumerate(x.unbind(-2)):
        out[..., t, :] = step(token, out[..., t - 1, :] if t else state, w_x, w_h, b)
    return out


@exercise.mutant("exp overflows where a number is large, and inf / inf is NaN: use torch.tanh")
def tanh_by_exp(x, w_x, w_h, b, first=None):
    def by_exp(token, state, w_x, w_h, b):
        z = token @ w_x.mT + state @ w_h.mT + b
        return (z.exp() - (-z).exp()) / (z.exp() + (-z).exp())

    return run(x, w_x, w_h, b, first, step=by_exp)


@exercise.mutant("this is the sigmoid, which is never negative: here it is tanh")
def sigmoid_for_tanh(x, w_x, w_h, b, first=None):
    return run(
        x, w_x, w_h, b, first, step=lambda t, s, u, w, b: (t @ u.mT + s @ w.mT + b).sigmoid()
    )


@exercise.mutant("the first state changes: make a new state in each step, and write into none")
def first_written_into(x, w_x, w_h, b, first=None):
    states = run(x, w_x, w_h, b, first)
    if first is not None:
        first[...] = states[..., -1, :]
    return states


@exercise.mutant("the first state is always float32: give it the dtype of x")
def zeros_in_float32(x, w_x, w_h, b, first=None):
    start = torch.zeros(*x.shape[:-2], len(b), device=x.device) if first is None else first
    return run(x, w_x, w_h, b, start)


add_to(exercise, run, batch_axis_assumed, float32_inside, made_on_the_cpu)
