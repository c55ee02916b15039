"""The recurrent networks that a learner's test meets: right ones, and wrong ones made of one."""

import torch

from judge.implementations import not_contiguous, spoiled


def plain(x, w_ih, w_hh, b_ih, b_hh):
    state = x.new_zeros(*x.shape[:-2], w_hh.shape[0])
    states = []
    for token in x.unbind(-2):
        state = torch.tanh(token @ w_ih.mT + b_ih + state @ w_hh.mT + b_hh)
        states.append(state)
    return torch.stack(states, dim=-2)


def inputs_first(x, w_ih, w_hh, b_ih, b_hh):
    read = torch.einsum("...d,hd->...h", x, w_ih) + (b_ih + b_hh)
    states = [read[..., 0, :].tanh()]
    for t in range(1, x.shape[-2]):
        states.append(torch.tanh(states[-1] @ w_hh.T + read[..., t, :]))
    return torch.cat([state.unsqueeze(-2) for state in states], dim=-2)


def side_by_side(x, w_ih, w_hh, b_ih, b_hh):
    weights, state = torch.cat([w_ih, w_hh], dim=1), 0 * (x[..., 0, :1] + b_hh)
    out = torch.zeros_like(x[..., :1] + b_hh)
    for t in range(x.size(-2)):
        both = torch.cat([x[..., t, :], state], dim=-1)
        state = torch.nn.functional.linear(both, weights, b_hh).add(b_ih).tanh()
        out[..., t, :] = state
    return out


STATE, END, TOKENS = "state @ w_hh.mT", "torch.stack(states, dim=-2)", "x.unbind(-2)"
RIGHT = {
    "a right network": plain,
    "a right network, which does not use w_hh at the first token": inputs_first,
    "a right network, its weights side by side": side_by_side,
    "a right network, whose result is not contiguous": not_contiguous(END),
}
# what each wrong one does, and the edits that make it of the plain one
WRONG = spoiled(END) | {
    "forgets the tanh": ("torch.tanh", "torch.clone"),
    "takes a sigmoid": ("torch.tanh", "torch.sigmoid"),
    "leaves out b_ih": (" + b_ih", ""),
    "leaves out b_hh": (" + b_hh", ""),
    "adds a bias after the tanh": (" + b_hh)", ") + b_hh"),
    "transposes w_hh": (STATE, "state @ w_hh"),
    "carries no state": (STATE, f"0 * {STATE}"),
    "begins with ones": ("new_zeros", "new_ones"),
    "forgets all after each fourth token": (STATE, f"(len(states) % 4 > 0) * ({STATE})"),
    "hands the states on to the next sequence": (
        STATE, "(state.roll(1, 0) if x.dim() > 2 else state) @ w_hh.mT"),
    "notes each state before its step": (END, "torch.stack([0 * state, *states[:-1]], dim=-2)"),
    "swaps the last two states": (END, "torch.stack([*states[:-2], *states[:-3:-1]], dim=-2)"),
    "repeats the last state": (END, "torch.stack([state] * len(states), dim=-2)"),
    "reads from the end": (TOKENS, "x.flip(-2).unbind(-2)"),
    "is right only with one batch axis": ("*x.shape[:-2]", "len(x)"),
    "is right with at most one leading axis": ("dim=-2", "dim=min(1, x.dim() - 2)"),
    "needs a leading axis": ("    state = x.new", "    x.unbind(-3)\n    state = x.new"),
    "ends the gradient after each fourth token": (
        STATE, "(state if len(states) % 4 else state.detach()) @ w_hh.mT"),
    "ends the gradient at each step": (STATE, "state.detach() @ w_hh.mT"),
    "gives w_hh no gradient": (STATE, "state @ w_hh.detach().mT"),
    "gives b_hh no gradient": ("+ b_hh", "+ b_hh.detach()"),
    "gives b_ih no gradient": ("+ b_ih", "+ b_ih.detach()"),
    "gives w_ih no gradient": ("w_ih.mT", "w_ih.detach().mT"),
    "gives x no gradient": (TOKENS, "x.detach().unbind(-2)"),
    "is off by one percent": (END, f"{END} * 1.01"),
    "is off by one percent in the first number of each state": (
        END, f"{END} * (1 + 0.01 * (torch.arange(len(b_hh)) < 1))"),
    "changes x": (TOKENS, "x.mul_(0.5).unbind(-2)", "token @", "2 * token @"),
} | {
    f"changes {name}": ("    return", f"    {name}.data += 1\n    return")
    for name in ("w_ih", "w_hh", "b_hh", "b_ih")
}  # fmt: skip
