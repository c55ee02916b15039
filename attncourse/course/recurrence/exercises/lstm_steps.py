"""Exercise lstm_steps: an LSTM without an input gate, which keeps what it should forget."""

import torch

from attncourse.course.recurrence.exercises.shared.written import FAR, TORCH_RECURRENCE, far_tokens
from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the sentences too: take each step for all of them at once"
# larger batches alone show that one: the longer case, with no more of them, shows all others
WITHIN = "beside the loop over the tokens there is another: do a step on whole tensors"

exercise = Exercise.read(
    __name__,
    forbidden=TORCH_RECURRENCE,
    steps_allowed=5.0,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
)
exercise.stub(variants.stub(exercise))
worked = exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(x, w_ih, w_hh, b):
    weights, h = torch.cat([w_ih, w_hh], dim=1), w_hh.shape[-1]
    state = cell = 0 * (x[..., 0, :1] + b[:h])
    states = []
    for t in range(x.shape[-2]):
        inputs = torch.cat([x[..., t, :], state], dim=-1)
        f, g, o = ((weights * inputs[..., None, :]).sum(-1) + b).unflatten(-1, (3, h)).unbind(-2)
        # 1 - sigmoid(f) is sigmoid(-f)
        cell = f.sigmoid() * cell + (-f).sigmoid() * g.tanh()
        state = o.sigmoid() * cell.tanh()
        states.append(state)
    return torch.stack(states, dim=-2)


@exercise.cases
def cases(draw):
    n, d, h = draw.sizes(3, 3, 6)
    x, sizes = draw.normal(2, n, d), f"n={n}, d={d}, h={h}"
    weights = draw.normal(3 * h, d), draw.normal(3 * h, h), draw.normal(3 * h)
    longer_weights = draw.normal(12 * h, 4 * d), draw.normal(12 * h, 4 * h), draw.normal(12 * h)
    longer_inputs = draw.normal(2, 4 * n, 4 * d), *longer_weights
    yield Case(f"a batch of 2, {sizes}", (x, *weights), longer=longer_inputs)
    yield Case(f"one sequence without a batch, {sizes}", (x[0], *weights))
    yield Case(f"two leading axes, {sizes}", (draw.normal(2, 3, n, d), *weights))
    yield Case("one token", (x[:, :1], *weights))
    # with h and d changed round, one of the two is a state wider than a token
    swapped_weights = draw.normal(3 * d, h), draw.normal(3 * d, d), draw.normal(3 * d)
    yield Case(f"a batch of 2, n=8, d={h}, h={d}", (draw.normal(2, 8, h), *swapped_weights))
    far_x, bias = far_tokens(x, weights[0], weights[2])
    yield Case(FAR, (far_x, *weights[:2], bias), gradient=False)
    yield Case("weights around 1000", (x, *(1000 * weight for weight in weights)))
    small = draw.normal(3, 1), draw.normal(3, 1), draw.normal(3)
    yield Case("d=h=n=1", (x[:, :1, :1], *small))


NEW, OLD = "gate * cell + (1 - gate) * new", "        cell = "
SHOWN, ZEROS = "o.sigmoid() * cell.tanh()", "x.new_zeros(*x.shape[:-2], w_hh.shape[-1])"
NOTED, END = "        states.append(hidden)\n", "torch.stack(states, dim=-2)"
READ = "token @ w_ih.mT + hidden @ w_hh.mT + b"
LATE = (f"        cell = {NEW}\n        hidden = {SHOWN}\n",
        f"        hidden = {SHOWN}\n        cell = {NEW}\n")  # fmt: skip
# the code that is given has the share of the old cell for that of the new content
BUG = (NEW, "cell + gate * (new - cell)")
TURNED = "g, f, o", "f, o, g", "o, g, f", "g, o, f", "o, f, g"
ORDERS = [("f, g, o =", f"{order} =") for order in TURNED]
FUNCTIONS = [("g.tanh()", "g.sigmoid()"), ("o.sigmoid()", "o.tanh()"), ("f.sigmoid()", "f.tanh()")]
LINEAR = "torch.nn.functional.linear"
variants.right(
    exercise,
    (NEW, "new + gate * (cell - new)"),
    # the gate itself turned round
    (NEW, "cell + gate * (new - cell)", "f.sigmoid()", "(-f).sigmoid()"),
    (NEW, "torch.lerp(new, cell, gate)"),
    # inputs multiplied before the loop, and outputs written into one tensor
    ("states = []", f"states, read = x.new_zeros(*x.shape[:-1], len(b) // 3), {LINEAR}(x, w_ih, b)",
     "for token in x", "for t, token in enumerate(read", "(-2):", "(-2)):",
     READ, f"token + {LINEAR}(hidden, w_hh)", "chunk(3, dim", "split(len(b) // 3, dim",
     NEW, "torch.addcmul(gate * cell, (-f).sigmoid(), new)",
     "states.append(hidden)", "states[..., t, :] = hidden", END, "states"),
    # weights side by side
    (ZEROS, "torch.zeros_like(x[..., 0, :1] * w_hh[0])", "x.unbind(-2)", "x.movedim(-2, 0)",
     READ, 'torch.einsum("...c,gc->...g", torch.cat([token, hidden], dim=-1), weights) + b',
     "    states =", "    weights = torch.cat([w_ih, w_hh], dim=1)\n    states =",
     "chunk(3, dim=-1)", "unflatten(-1, (3, -1)).unbind(-2)"),
)  # fmt: skip
variants.wrong(exercise, {
    "the gates are swapped: their order f, g, o was right": ORDERS,
    "what you changed was right, and the bug is still there: look at the shares of the cell": [
        (*way, *BUG) for way in (
            *ORDERS, *FUNCTIONS, LATE, ("g.tanh()", "g"), ("o.sigmoid()", "(-o).sigmoid()"),
            (SHOWN, "o.sigmoid() * cell"), ("f.sigmoid()", "(f + 1).sigmoid()"))],
    "both shares are sigmoid(f): that of the new content is wrong": ("(1 - gate)", "gate"),
    "both shares are 1 - sigmoid(f): that of the old cell is wrong": (
        "gate * cell", "(1 - gate) * cell"),
    "the new content is added whole: give it a share, too": ("(1 - gate) * new", "new"),
    "the old cell is kept whole: give it a share, too": ("gate * cell", "cell"),
    "the old cell is kept whole, and the share of the new content is wrong": (
        NEW, "cell + gate * new"),
    "the new content is added whole, and the share of the old cell is wrong": (
        NEW, "(1 - gate) * cell + new"),
    "a share of the cell follows o: let both follow f alone, and o decide what is shown": [
        (NEW, "gate * cell + o.sigmoid() * new"), (NEW, "gate * cell + (1 - o.sigmoid()) * new"),
        (NEW, "o.sigmoid() * cell + (1 - gate) * new"), (NEW, "cell + o.sigmoid() * (new - cell)"),
        (NEW, "new + o.sigmoid() * (cell - new)")],
    "a bracket is missing, or not where it should be: let each share multiply its own term alone": [
        (NEW, "gate * cell + 1 - gate * new"), (NEW, "gate * cell + new - gate"),
        (NEW, "gate * (cell + (1 - gate) * new)"), (NEW, "(gate * cell + 1 - gate) * new"),
        (NEW, "cell + gate * new - cell"), (NEW, "new + gate * cell - new")],
    "the output's gate is turned round: put back sigmoid(o), as it was": [
        ("o.sigmoid()", "(-o).sigmoid()"), ("o.sigmoid()", "(1 - o.sigmoid())")],
    "the share of the new content is sigmoid(1 - f): take what is left of 1 after the sigmoid, not "
    "before":
        ("(1 - gate)", "(1 - f).sigmoid()"),
    "minus has taken the place of plus: add the two shares of the cell": (
        "+ (1 - gate)", "- (1 - gate)"),
    "multiplied out, one share is below 0 and the other above 1: a difference is the wrong way "
    "round, or should be added and not subtracted": [
        (NEW, "cell + gate * (cell - new)"), (NEW, "new + gate * (new - cell)")],
    "the output is carried on in place of the cell: hand both to the next step, each under its own "
    "name": (
        NOTED, f"{NOTED}        cell = hidden\n"),
    "the output reads the cell of the step before: make the cell first, as it was": LATE,
    "the output's gate is made again, from the new state: let all three parts read the output of "
    "the step before": (f"        hidden = {SHOWN}\n",
               "        hidden = cell.tanh()\n"
               f"        hidden = ({READ}).chunk(3, dim=-1)[2].sigmoid() * hidden\n"),
    "the tanh around the cell is gone: let the output read tanh of the cell": (
        SHOWN, "o.sigmoid() * cell"),
    "the output reads the new content: let it read the cell": [
        ("cell.tanh()", "new.tanh()"), ("cell.tanh()", "new")],
    "the output has the gate of the cell: give it its own, sigmoid(o)": (
        "o.sigmoid()", "gate"),
    "the output has lost its gate: multiply tanh of the cell by sigmoid(o)": (SHOWN, "cell.tanh()"),
    "the output's gate is inside the tanh now: let it multiply what comes out": (
        SHOWN, "(o.sigmoid() * cell).tanh()"),
    "a step reads the cell of the step before: let it read the output": ("hidden @", "cell @"),
    "b is added twice: add it once, to all three parts": (" + b)", " + b + b)"),
    "b has got lost: add it to the three parts": (" + b)", ")"),
    "the parts are taken number by number: take three blocks, each of width h": (
        "chunk(3, dim=-1)", "unflatten(-1, (-1, 3)).unbind(-1)"),
    "the first step takes the new content whole: treat it like any other, with an old cell of 0": (
        NEW, f"{NEW} if states else new"),
    "the state has the width of a token, d, or no more: it should be h wide": [
        (ZEROS, "torch.zeros_like(x[..., 0, :])"),
        (ZEROS, "torch.zeros_like(x[..., 0, : w_hh.shape[-1]])"),
        ("states = []", "states = torch.zeros_like(x)[..., : w_hh.shape[-1]]",
         "for token in x", "for t, token in enumerate(x", "(-2):", "(-2)):",
         "states.append(hidden)", "states[..., t, :] = hidden", END, "states")],
    "1 is added to the forget gate: add nothing but b": (
        "f.sigmoid()", "(f + 1).sigmoid()"),
    "the cell is carried on with its tanh: carry it on without, and let only the output read tanh "
    "of the cell": [
        (NEW, f"({NEW}).tanh()", SHOWN, "o.sigmoid() * cell"), (NEW, f"({NEW}).tanh()")],
    "one tensor is written over in each step, so every output shows the last: make a new one": (
        f"hidden = {SHOWN}", f"hidden = hidden.copy_({SHOWN})"),
    "the outputs come in reverse order: put that of the first token first": (
        END, f"{END}.flip(-2)"),
    "nothing of the old cell is left: carry each new cell on to the next step": (
        "gate * cell +", "0 * cell +"),
    "no step reads the output of the step before: carry it on": ("hidden @", "0 * hidden @"),
    "the cell is updated twice in a step: update it once, before the output": (
        NOTED, f"{NOTED}        cell = {NEW}\n"),
    "exp overflows where a number is large, and the gradient is NaN: use torch.sigmoid": [
        (SHOWN, "cell.tanh() / (1 + (-o).exp())"),
        *(tuple(piece for gate in "fo"
                for piece in (f"{gate}.sigmoid()", sigmoid.replace("gate", gate)))
          for sigmoid in ("(gate.exp() / (1 + gate.exp()))", "(1 / (1 + (-gate).exp()))"))],
    "the cells come back: return what they show, one output for each token": (
        "append(hidden)", "append(cell)"),
    "each output is noted before its step, so the first is still zero: note it after": (
        NOTED, "", OLD, f"{NOTED}{OLD}"),
    "the gradient ends at each step: don't detach the cell on its way": (
        "gate * cell +", "gate * cell.detach() +"),
    "the gradient ends at each step: don't detach the output on its way": (
        "hidden @", "hidden.detach() @"),
    "the gradient ends after some steps: detach neither the output nor the cell": [
        (NOTED, f"{NOTED}        {every} hidden, cell = hidden.detach(), cell.detach()\n")
        for every in ("if True:", "if len(states) % 4 == 0:")],
    "the new content has lost its tanh: it should be tanh(g)": ("g.tanh()", "g"),
    "a gate or the new content has another function now: take the sigmoid for gates, and tanh "
    "for g":
        FUNCTIONS,
    "the cell is written over, and autograd needs the old one: make a new cell": (
        NEW, "cell.mul_(gate).add_((1 - gate) * new)"),
    WITHIN: [
        ("token @ w_ih.mT", "torch.stack([token @ row for row in w_ih], dim=-1)"),
        ("token @ w_ih.mT", "sum(x * column for x, column in zip(token.split(1, -1), w_ih.mT))")],
})  # fmt: skip


@exercise.mutant(WITHIN)
def prefixes(x, w_ih, w_hh, b):
    ends = range(1, x.shape[-2] + 1)
    return torch.cat([worked(x[..., :end, :], w_ih, w_hh, b)[..., -1:, :] for end in ends], dim=-2)
