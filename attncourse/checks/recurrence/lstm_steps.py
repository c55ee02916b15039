"""Exercise lstm_steps: an LSTM whose output is read from the cell before the step."""

import torch

from attncourse.checks.recurrence.shared.written import FAR, TORCH_RECURRENCE, far
from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the sentences too: one step serves them all"

exercise = Exercise(
    name="lstm_steps",
    chapter="recurrence",
    title="The steps of an LSTM",
    kind="debug",
    difficulty=2,
    minutes=10,
    points=15,
    aims=("write-loops",),
    hints=(
        "Run it on a single token. The output is zero, whatever the token and the weights. Where "
        "in the equations does the token reach the output, and where in the code?",
        "The output h_t reads the cell c_t, and c_t is the new one, which has seen the token. In a "
        "loop, a line reads what was assigned last, so look at the order of the lines.",
        "first cell = f.sigmoid() * cell + i.sigmoid() * g.tanh(), then the line that reads it",
    ),
    forbidden=TORCH_RECURRENCE,
    # the loop over the tokens is the point; one over sentences is not
    steps_allowed=3.0,
    usual_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
)


@exercise.reference
def by_hand(x, w_ih, w_hh, b):
    weights, h = torch.cat([w_ih, w_hh], dim=1), w_hh.shape[-1]
    state = cell = 0 * (x[..., 0, :1] + b[:h])
    states = []
    for t in range(x.shape[-2]):
        read = torch.cat([x[..., t, :], state], dim=-1)
        i, f, g, o = ((weights * read[..., None, :]).sum(-1) + b).unflatten(-1, (4, h)).unbind(-2)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        state = o.sigmoid() * cell.tanh()
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
    there, bias = far(x, weights[0], weights[2])
    yield Case(FAR, (there, *weights[:2], bias), gradient=False)
    yield Case("weights around 1000", (x, *(1000 * weight for weight in weights)))
    small = draw.normal(4, 1), draw.normal(4, 1), draw.normal(4)
    yield Case("d=h=n=1", (x[0, :1, :1], *small))


@exercise.valid
def plain(x, w_ih, w_hh, b):
    hidden = cell = x.new_zeros(*x.shape[:-2], w_hh.shape[-1])
    states = []
    for token in x.unbind(-2):
        i, f, g, o = (token @ w_ih.mT + hidden @ w_hh.mT + b).chunk(4, dim=-1)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
        states.append(hidden)
    return torch.stack(states, dim=-2)


NEW, OLD = "f.sigmoid() * cell + i.sigmoid() * g.tanh()", "        cell = "
SHOWN, ZEROS = "o.sigmoid() * cell.tanh()", "x.new_zeros(*x.shape[:-2], w_hh.shape[-1])"
NOTED, END = "        states.append(hidden)\n", "torch.stack(states, dim=-2)"
READ = "token @ w_ih.mT + hidden @ w_hh.mT + b"
# the code that is given, with the cell made after what reads it
LATE = (f"        cell = {NEW}\n        hidden = {SHOWN}\n",
        f"        hidden = {SHOWN}\n        cell = {NEW}\n")  # fmt: skip
exercise.stub(variants.edited(plain, *LATE))
LINEAR = "torch.nn.functional.linear"
variants.right(
    exercise, plain,
    (*LATE, f"hidden = {SHOWN}", f"hidden = o.sigmoid() * ({NEW}).tanh()"),
    # inputs multiplied before the loop, and outputs written into one tensor
    ("states = []", f"states, read = x.new_zeros(*x.shape[:-1], len(b) // 4), {LINEAR}(x, w_ih, b)",
     "for token in x", "for t, token in enumerate(read", "(-2):", "(-2)):",
     READ, f"token + {LINEAR}(hidden, w_hh)", "chunk(4, dim", "split(len(b) // 4, dim",
     NEW, "torch.addcmul(f.sigmoid() * cell, i.sigmoid(), g.tanh())",
     "states.append(hidden)", "states[..., t, :] = hidden", END, "states"),
    # weights side by side
    (ZEROS, "torch.zeros_like(x[..., 0, :1] * w_hh[0])", "x.unbind(-2)", "x.movedim(-2, 0)",
     READ, 'torch.einsum("...c,gc->...g", torch.cat([token, hidden], dim=-1), weights) + b',
     "    states =", "    weights = torch.cat([w_ih, w_hh], dim=1)\n    states =",
     "chunk(4, dim=-1)", "unflatten(-1, (4, -1)).unbind(-2)"),
)  # fmt: skip
variants.wrong(exercise, plain, {
    "the gates have changed places: they were right, in torch's order i, f, g, o": [
        ("i, f, g, o =", "f, i, g, o ="), ("i, f, g, o =", "i, f, o, g ="),
        ("i, f, g, o =", "i, g, f, o =")],
    "one gate does the work of two: what stays of the cell goes by f, what is added by i": [
        ("i.sigmoid()", "(1 - f.sigmoid())"), ("f.sigmoid()", "(1 - i.sigmoid())")],
    "the output is carried on for the cell: each has a name of its own in the next step": (
        NOTED, f"{NOTED}        cell = hidden\n"),
    "the outputs are moved by a step, and read a later token's o: make the cell first, and the "
    "output from it": [
        (*LATE, END, f"torch.stack([*states[1:], {SHOWN}], dim=-2)"),
        (*LATE, "x.unbind(-2)", "torch.cat([x, 0 * x[..., :1, :]], dim=-2).unbind(-2)",
         END, "torch.stack(states[1:], dim=-2)")],
    "the output's gate is made again, from the new state: all four read the output of the step "
    "before": (f"        hidden = {SHOWN}\n",
               "        hidden = cell.tanh()\n"
               f"        hidden = ({READ}).chunk(4, dim=-1)[3].sigmoid() * hidden\n"),
    "the cell has no tanh any more: the output reads tanh of the cell": (
        SHOWN, "o.sigmoid() * cell"),
    "the tanh is gone, and the bug is not: the output still reads the cell of the step before": (
        *LATE, SHOWN, "o.sigmoid() * cell"),
    "1 is added to the forget gate: b holds all that is added": (
        "f.sigmoid()", "(f + 1).sigmoid()"),
    "the cell keeps its tanh: only the output reads tanh of the cell, which goes on without it": [
        (NEW, f"({NEW}).tanh()", SHOWN, "o.sigmoid() * cell"), (NEW, f"({NEW}).tanh()")],
    "one tensor is written over in each step, so every output shows the last: make a new one": (
        f"hidden = {SHOWN}", f"hidden = hidden.copy_({SHOWN})"),
    "the outputs come in reverse order: that of the first token comes first": (
        END, f"{END}.flip(-2)"),
    "nothing of the old cell is left: carry each new cell on to the next step": (
        "* cell +", "* 0 * cell +"),
    "the forget gate is gone: what stays of the old cell is sigmoid(f) of it": (
        "f.sigmoid() * cell", "cell"),
    "no step reads the output of the step before: carry it on": ("hidden @", "0 * hidden @"),
    "the cell is made anew twice in a step: one line is enough, before the output": (
        NOTED, f"{NOTED}        cell = {NEW}\n"),
    "what comes back is fixed, and what is carried on is not: carry the new output on": (
        *LATE, NOTED, f"        states.append({SHOWN})\n"),
    "exp overflows where a number is large, and the gradient is NaN: use torch.sigmoid": [
        (SHOWN, "cell.tanh() / (1 + (-o).exp())"),
        *(tuple(piece for gate in "ifo"
                for piece in (f"{gate}.sigmoid()", sigmoid.replace("gate", gate)))
          for sigmoid in ("(gate.exp() / (1 + gate.exp()))", "(1 / (1 + (-gate).exp()))"))],
    "the cells come back: return what they show, one output for each token": (
        "append(hidden)", "append(cell)"),
    "each output is noted before its step, so the first is still zero: note it after": (
        NOTED, "", OLD, f"{NOTED}{OLD}"),
    "a first cell that is not zero hides the bug: begin with zeros, read the new c": (
        *LATE, "    states = []", "    cell, states = hidden + 1, []"),
    "the gradient ends at each step: the cell may not be detached on its way": (
        "* cell +", "* cell.detach() +"),
    "the gradient ends at each step: the output may not be detached on its way": (
        "hidden @", "hidden.detach() @"),
    "the new content has no tanh any more: the cell adds sigmoid(i) of tanh(g)": (
        "g.tanh()", "g"),
    "a gate and the new content have changed their functions: gates have a sigmoid, g has tanh": [
        ("g.tanh()", "g.sigmoid()"), ("o.sigmoid()", "o.tanh()"), ("i.sigmoid()", "i.tanh()")],
    "the cell is written over, and autograd needs the old one: make a new cell": (
        NEW, "cell.mul_(f.sigmoid()).add_(i.sigmoid() * g.tanh())"),
})  # fmt: skip
