"""Exercise lstm_steps: an LSTM whose output is read from the cell before the step."""

import torch
import torch.nn.functional as F

from attncourse.checks.around import add_to, always_float32, float32_inside, made_on_the_cpu
from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.recurrence.shared.written import TORCH_RECURRENCE

exercise = Exercise(
    name="lstm_steps",
    chapter="recurrence",
    title="An output that comes one step late",
    kind="debug",
    difficulty=2,
    minutes=15,
    points=15,
    hints=(
        "Run it on a single token. The output is zero, whatever the token and the weights. Where "
        "in the equations does the token reach the output, and where in the code?",
        "The output h_t reads the cell c_t, and c_t is the new one, which has seen the token. In a "
        "loop an equation reads what was assigned last, so the order of two lines is at stake.",
        "first cell = f.sigmoid() * cell + i.sigmoid() * g.tanh(), then what reads it",
    ),
    also_forbidden=TORCH_RECURRENCE,
    # the loop over the tokens is the point; one over sentences is not
    steps_allowed=3.0,
)


@exercise.stub
def lstm_steps(x, w_ih, w_hh, b):
    hidden = cell = x.new_zeros(*x.shape[:-2], w_hh.shape[-1])
    states = []
    for token in x.unbind(-2):
        i, f, g, o = (token @ w_ih.mT + hidden @ w_hh.mT + b).chunk(4, dim=-1)
        hidden = o.sigmoid() * cell.tanh()
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        states.append(hidden)
    return torch.stack(states, dim=-2)


@exercise.reference
def by_hand(x, w_ih, w_hh, b):
    h = w_hh.shape[-1]
    gates = [slice(k * h, (k + 1) * h) for k in range(4)]
    state = cell = 0 * (x[..., 0, :1] + b[:h])
    states = []
    for t in range(x.shape[-2]):
        summed = [
            (w_ih[rows] * x[..., t, None, :]).sum(-1)
            + (w_hh[rows] * state[..., None, :]).sum(-1)
            + b[rows]
            for rows in gates
        ]
        i, f, o = (summed[k].sigmoid() for k in (0, 1, 3))
        cell = f * cell + i * summed[2].tanh()
        state = o * cell.tanh()
        states.append(state)
    return torch.stack(states, dim=-2)


@exercise.cases
def cases(draw):
    n, d, h = draw.sizes(3, 3, 6)
    x, sizes = draw.normal(2, n, d), f"n={n}, d={d}, h={h}"
    weights = draw.normal(4 * h, d), draw.normal(4 * h, h), draw.normal(4 * h)
    long = draw.normal(8, 2 * n, d), *weights
    yield Case(f"a batch of 2, {sizes}", (x, *weights), longer=long)
    yield Case(f"one sequence without a batch, {sizes}", (x[0], *weights))
    yield Case(f"two leading axes, {sizes}", (draw.normal(2, 3, n, d), *weights))
    yield Case("one token", (x[:, :1], *weights))
    # what float32 cannot hold: a bias takes away what the inputs have in common
    far = torch.cat([x[..., :1] + 1e5, x[..., 1:]], dim=-1)
    bias = weights[2] - 1e5 * weights[0][:, 0]
    yield Case("100000 added to the first number of every token", (far, *weights[:2], bias))
    large = [1000 * weight for weight in weights]
    yield Case("weights around 1000", (x, *large))
    small = draw.normal(4, 1), draw.normal(4, 1), draw.normal(4)
    yield Case("d=h=n=1", (x[0, :1, :1], *small))


def zeros(x, w_hh):
    return x.new_zeros(*x.shape[:-2], w_hh.shape[-1])


def remember(cell, i, f, g, hidden):
    return f.sigmoid() * cell + i.sigmoid() * g.tanh()


def show(cell, o):
    return o.sigmoid() * cell.tanh()


def run(
    x, w_ih, w_hh, b, *, order="ifgo", remember=remember, show=show, carry=None, start=None, note=0
):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    hidden = cell = zeros(x, w_hh) if start is None else start
    states = []
    for token in x.unbind(-2):
        parts = (token @ w_ih.mT + hidden @ w_hh.mT + b).chunk(4, dim=-1)
        gate = dict(zip(order, parts, strict=True))
        cell = remember(cell, gate["i"], gate["f"], gate["g"], hidden)
        hidden = show(cell, gate["o"])
        states.append((hidden, cell)[note])
        if carry:
            hidden, cell = carry(hidden, cell)
    return torch.stack(states, dim=-2)


@exercise.valid
def lines_in_order(x, w_ih, w_hh, b):
    return run(x, w_ih, w_hh, b)


@exercise.valid
def new_cell_in_both_places(x, w_ih, w_hh, b):
    hidden = cell = torch.zeros_like(x[..., 0, :1] * w_hh[0])
    states = []
    for token in x.unbind(-2):
        i, f, g, o = (token @ w_ih.mT + hidden @ w_hh.mT + b).chunk(4, dim=-1)
        hidden = o.sigmoid() * (f.sigmoid() * cell + i.sigmoid() * g.tanh()).tanh()
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        states.append(hidden)
    return torch.stack(states, dim=-2)


@exercise.valid
def inputs_multiplied_before_the_loop(x, w_ih, w_hh, b):
    read, h = F.linear(x, w_ih, b), w_hh.shape[-1]
    hidden = cell = zeros(x, w_hh)
    out = x.new_zeros(*x.shape[:-1], h)
    for t in range(x.size(-2)):
        gates = read[..., t, :] + F.linear(hidden, w_hh)
        i, f, o = (gates[..., k * h : (k + 1) * h].sigmoid() for k in (0, 1, 3))
        cell = torch.addcmul(f * cell, i, torch.tanh(gates[..., 2 * h : 3 * h]))
        hidden = o * torch.tanh(cell)
        out[..., t, :] = hidden
    return out


@exercise.valid
def weights_side_by_side(x, w_ih, w_hh, b):
    weights = torch.cat([w_ih, w_hh], dim=1)
    hidden = cell = zeros(x, w_hh)
    states = []
    for token in x.movedim(-2, 0):
        both = torch.cat([token, hidden], dim=-1)
        gates = torch.einsum("...c,gc->...g", both, weights) + b
        i, f, g, o = gates.unflatten(-1, (4, -1)).unbind(-2)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        states.append(hidden)
    return torch.stack(states, dim=-2)


ORDER = "the gates have changed places: they were right, in torch's order i, f, g, o"


@exercise.mutant(ORDER)
def input_and_forget_gate_swapped(x, w_ih, w_hh, b):
    return run(x, w_ih, w_hh, b, order="figo")


@exercise.mutant(ORDER)
def candidate_and_output_gate_swapped(x, w_ih, w_hh, b):
    return run(x, w_ih, w_hh, b, order="ifog")


@exercise.mutant("the cell has no tanh any more: the output reads tanh of the cell")
def cell_without_tanh(x, w_ih, w_hh, b):
    return run(x, w_ih, w_hh, b, show=lambda cell, o: o.sigmoid() * cell)


@exercise.mutant("nothing of the old cell is left: carry each new cell on to the next step")
def cell_not_carried(x, w_ih, w_hh, b):
    start = zeros(x, w_hh)
    return run(x, w_ih, w_hh, b, carry=lambda hidden, cell: (hidden, start))


@exercise.mutant("the cell is made anew twice in a step: one line is enough, before the output")
def cell_made_twice(x, w_ih, w_hh, b):
    hidden = cell = zeros(x, w_hh)
    states = []
    for token in x.unbind(-2):
        i, f, g, o = (token @ w_ih.mT + hidden @ w_hh.mT + b).chunk(4, dim=-1)
        cell = remember(cell, i, f, g, hidden)
        hidden = show(cell, o)
        cell = remember(cell, i, f, g, hidden)
        states.append(hidden)
    return torch.stack(states, dim=-2)


@exercise.mutant(
    "what comes back is mended, and what is carried on is not: carry the new output on"
)
def old_output_carried(x, w_ih, w_hh, b):
    hidden = cell = zeros(x, w_hh)
    states = []
    for token in x.unbind(-2):
        i, f, g, o = (token @ w_ih.mT + hidden @ w_hh.mT + b).chunk(4, dim=-1)
        hidden = show(cell, o)
        cell = remember(cell, i, f, g, hidden)
        states.append(show(cell, o))
    return torch.stack(states, dim=-2)


@exercise.mutant(
    "exp overflows where a number is large, and the gradient is NaN: use torch.sigmoid"
)
def sigmoid_by_exp(x, w_ih, w_hh, b):
    return run(x, w_ih, w_hh, b, show=lambda cell, o: cell.tanh() / (1 + (-o).exp()))


@exercise.mutant("the cells come back: return what they show, one output for each token")
def cells_returned(x, w_ih, w_hh, b):
    return run(x, w_ih, w_hh, b, note=1)


@exercise.mutant("each output is noted before its step, so the first is still zero: note it after")
def noted_before_the_step(x, w_ih, w_hh, b):
    states = run(x, w_ih, w_hh, b)
    return torch.cat([torch.zeros_like(states[..., :1, :]), states[..., :-1, :]], dim=-2)


@exercise.mutant("a first cell that is not zero hides the bug: begin with zeros, read the new c")
def begun_with_ones(x, w_ih, w_hh, b):
    hidden = zeros(x, w_hh)
    cell, states = hidden + 1, []
    for token in x.unbind(-2):
        i, f, g, o = (token @ w_ih.mT + hidden @ w_hh.mT + b).chunk(4, dim=-1)
        hidden = show(cell, o)
        cell = remember(cell, i, f, g, hidden)
        states.append(hidden)
    return torch.stack(states, dim=-2)


@exercise.mutant("the gradient ends at each step: the cell may not be detached on its way")
def cell_detached(x, w_ih, w_hh, b):
    return run(x, w_ih, w_hh, b, carry=lambda hidden, cell: (hidden, cell.detach()))


@exercise.mutant("the cell is written over, and autograd needs the old one: make a new cell")
def cell_in_place(x, w_ih, w_hh, b):
    def remember(cell, i, f, g, hidden):
        return cell.mul_(f.sigmoid()).add_(i.sigmoid() * g.tanh())

    return run(x, w_ih, w_hh, b, remember=remember)


@exercise.mutant("it counts the axes from the front: any leading axes, or none, should work")
def batch_axis_assumed(x, w_ih, w_hh, b):
    batch, _, _ = x.shape
    return run(x, w_ih, w_hh, b, start=x.new_zeros(batch, w_hh.shape[-1]))


@exercise.mutant("it loops over the sentences too: one step serves them all")
def loop_over_sentences(x, w_ih, w_hh, b):
    if x.dim() == 2:
        return run(x, w_ih, w_hh, b)
    return torch.stack([loop_over_sentences(one, w_ih, w_hh, b) for one in x])


add_to(exercise, run, always_float32, float32_inside, made_on_the_cpu)
