"""Exercise last_states: the state after the last real token of each sequence."""

import torch

from judge import messages, variants
from judge.exercise import FINITE, Case, Exercise

LOOP = "it loops over the sequences or the positions: pick them all at once, with one index"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def one_by_one(states, lengths):
    n, h = states.shape[-2:]
    pairs = zip(states.reshape(-1, n, h), lengths.flatten().tolist(), strict=True)
    # of no rows the sum is 0, and so is its gradient
    last = [sequence[length - 1] if length else sequence[:0].sum(0) for sequence, length in pairs]
    return torch.stack(last).reshape(*states.shape[:-2], h)


@exercise.unread(*FINITE)
def padding(states, lengths):
    return {"states": (torch.arange(states.shape[-2]) >= lengths[..., None])[..., None]}


@exercise.cases
def cases(draw):
    n, h = draw.integer(6, 7), draw.integer(3, 4)
    states, lengths = draw.normal(5, n, h), torch.tensor([n - 2, n - 1, 0, 1, 3])
    sizes = f"n={n}, h={h}"
    longer_inputs = draw.normal(20, 4 * n, h), torch.arange(20) % (4 * n + 1)
    yield Case(f"lengths {lengths.tolist()}, {sizes}", (states, lengths), longer=longer_inputs)
    yield Case(f"one sequence without a batch, {n - 2} of {n} tokens", (states[0], lengths[0]))
    two_axes = draw.normal(2, 3, n, h), torch.tensor([[n, 2, 4], [0, n - 1, 1]])
    yield Case(f"two leading axes, {sizes}", two_axes)
    yield Case("no padding", (states, torch.full((5,), n)))
    yield Case("nothing but padding", (states, torch.zeros(5, dtype=torch.int64)))
    yield Case("nothing but padding, without a batch", (states[0], torch.tensor(0)))
    alternating = states * (torch.arange(n) % 2)[:, None]
    yield Case("every other state is zero", (alternating, lengths))
    scaled = states * 10.0 ** (12 - 24 * torch.arange(n)[:, None] / n)
    yield Case("states of very different sizes", (scaled, lengths), gradient=False)
    yield Case("one token", (states[:, :1], torch.tensor([1, 0, 1, 1, 0])))
    yield Case("a batch of 5, width 1", (states[..., :1], lengths))
    yield Case("a batch of 1", (states[:1], lengths[:1]))
    yield Case("one state of width 1 without a batch", (states[0, :1, :1], torch.tensor(1)))


IS_LAST = "torch.arange(1, states.shape[-2] + 1, device=states.device) == lengths[..., None]"
INSIDE = "torch.arange(states.shape[-2], device=states.device) < lengths[..., None]"
variants.right(exercise,
    # a row of zeros in front
    "end = lengths\nlonger = torch.cat([0 * states[..., :1, :], states], dim=-2)\n"
    "last = longer.gather(-2, index).squeeze(-2)\nreturn last",
    f"is_last = {IS_LAST}\nreturn states.where(is_last[..., None], 0).sum(dim=-2)",
    f"is_last = ({IS_LAST}).to(states.dtype)\n"
    'return torch.einsum("...t,...th->...h", is_last, states)',
    "first = torch.arange(lengths.numel(), device=states.device).view_as(end) * states.shape[-2]\n"
    "last = states.reshape(-1, h)[first + end]\nreturn last * (lengths > 0)[..., None]",
)  # fmt: skip

LAST = "this takes the last position, where many a sequence has padding: go by the lengths"
OFF = "it is off by one: after `length` tokens the state stands at length - 1"
EMPTY = "a sequence of length 0 has no last token: give it zeros"
COUNTED = "it counts the axes from the front: any leading axes, or none, should work"
ROWS = "states[torch.arange(len(states), device=states.device), lengths - 1]"
variants.wrong(exercise, {
    LAST: ["last = states[..., -1, :]", "return states[..., -1, :]"],
    "all sequences are read at the end of the longest: read each at the end of its own length":
        "end = (lengths.max() - 1).clamp(min=0).expand_as(lengths)",
    OFF: ["end = lengths", "end = lengths.clamp(max=states.shape[-2] - 1)"],
    "a state of zeros is taken for padding: let only the length say where a sequence ends":
        f"inside = {INSIDE}\nend = (inside & (states != 0).any(-1)).cumsum(-1).argmax(-1)",
    "this is the mean of the states: take the one at length - 1, which alone has read all tokens":
        f"inside = {INSIDE}\n"
        "last = (states * inside[..., None]).sum(-2) / lengths.clamp(min=1)[..., None]",
    "a small state vanishes beside a large one: pick it, and take no difference of sums":
        "sums = states.cumsum(-2)\nbefore = torch.nn.functional.pad(sums, (0, 0, 1, 0))\n"
        "last = (sums.gather(-2, index) - before.gather(-2, index)).squeeze(-2)",
    EMPTY: [
        "return last", "end = (lengths - 1) % states.shape[-2]\nreturn last", f"return {ROWS}"],
    messages.CUT_OFF:
        "if not lengths.any():\n    return states.new_zeros(*batch, h)\n"
        "end = (lengths - 1).clamp(min=0)",
    "a sequence of length 1 loses its state: put zeros only where the length is 0":
        "return last.masked_fill((lengths <= 1)[..., None], 0.0)",
    "at length 0 the index is -1, which gather refuses: keep it at 0 or more": "end = lengths - 1",
    "every sequence is read at every length: pair them, with gather or with two indices":
        "last = states[..., lengths - 1, :]",
    COUNTED: [
        f"last = {ROWS}", f"last = {ROWS}\nreturn last.masked_fill((lengths == 0)[:, None], 0.0)"],
    "one number comes out of each state: gather gives one for each entry of its index, so give the "
    "index an axis of width h":
        "index = end[..., None, None]",
    "one number is spread over the width: gather gives one for each entry of its index, so make "
    "the index itself that wide":
        "index = end[..., None, None]\n"
        "last = states.gather(-2, index).squeeze(-2).expand(*batch, h)",
    "the lengths need an axis for the width, of size 1: lengths[..., None]": [
        "return last.masked_fill(lengths == 0, 0.0)", "return last * (lengths > 0)"],
    "squeeze alone takes away every axis of size 1: name the axis of the tokens": (
        "squeeze(-2)", "squeeze()"),
    LOOP: [
        f"pairs = zip(states, {ends}, strict=True)\n"
        "last = [one[end - 1] if end > 0 else 0 * one[0] for one, end in pairs]\n"
        "return torch.stack(last)"
        for ends in ("lengths", "lengths.tolist()", "[lengths[i] for i in range(len(states))]")],
    messages.CHANGES:
        "states.masked_fill_((lengths == 0)[..., None, None], 0)\n"
        "end = (lengths - 1).clamp(min=0)",
})  # fmt: skip
