"""Exercise last_states: the state after the last real token of each sequence."""

import torch

from attncourse.checks.around import (
    add_to,
    always_float32,
    batch_axis_assumed,
    detached,
    made_on_the_cpu,
)
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="last_states",
    chapter="recurrence",
    title="The state after the last word",
    kind="extend",
    difficulty=1,
    minutes=15,
    points=10,
    hints=(
        "The state that has read a sequence of `length` tokens stands at length - 1. What stands "
        "behind it has read padding. And where does length - 1 point when the length is 0?",
        "gather picks along an axis: the index has the axes of states, with size 1 for the tokens "
        "and width h. Keep it at 0 or more, and let a last step put zeros where the length is 0.",
        "states.gather(-2, index) with the index (lengths - 1).clamp(min=0)[..., None, None] "
        "expanded to (..., 1, h); then squeeze(-2) and masked_fill",
    ),
)


@exercise.reference
def one_by_one(states, lengths):
    n, h = states.shape[-2:]
    pairs = zip(states.reshape(-1, n, h), lengths.flatten().tolist(), strict=True)
    last = [one[length - 1] if length else torch.zeros_like(one[0]) for one, length in pairs]
    return torch.stack(last).reshape(*states.shape[:-2], h)


@exercise.cases
def cases(draw):
    n = draw.integer(6, 7)
    h = draw.integer(3, 4)
    states, lengths = draw.normal(5, n, h), torch.tensor([n - 2, n, 0, 1, 3])
    sizes = f"n={n}, h={h}"
    long = draw.normal(20, 4 * n, h), torch.arange(20) % (4 * n + 1)
    yield Case(f"lengths {lengths.tolist()}, {sizes}", (states, lengths), longer=long)
    yield Case(f"one sequence without a batch, {n - 2} of {n} tokens", (states[0], lengths[0]))
    deep = draw.normal(2, 3, n, h), torch.tensor([[n, 2, 4], [0, n - 1, 1]])
    yield Case(f"two leading axes, {sizes}", deep)
    yield Case("no padding", (states, torch.full((5,), n)))
    yield Case("nothing but padding", (states, torch.zeros(5, dtype=torch.int64)))
    yield Case("nothing but padding, without a batch", (states[0], torch.tensor(0)))
    yield Case("one token", (states[:, :1], torch.tensor([1, 0, 1, 1, 0])))
    yield Case("a batch of 5, width 1", (states[..., :1], lengths))
    yield Case("a batch of 1", (states[:1], lengths[:1]))
    yield Case("one state of width 1 without a batch", (states[0, :1, :1], torch.tensor(1)))


def picked(states, at):
    """The state at one place of each sequence."""
    *batch, _, h = states.shape
    return states.gather(-2, at[..., None, None].expand(*batch, 1, h)).squeeze(-2)


def zeroed(last, lengths):
    return last.masked_fill((lengths == 0)[..., None], 0)


def last(states, lengths):
    return zeroed(picked(states, (lengths - 1).clamp(min=0)), lengths)


@exercise.valid
def gathered(states, lengths):
    return last(states, lengths)


@exercise.valid
def by_a_row_of_zeros_in_front(states, lengths):
    return picked(torch.cat([0 * states[..., :1, :], states], dim=-2), lengths)


@exercise.valid
def summed_where_it_is_the_last(states, lengths):
    at = torch.arange(1, states.size(-2) + 1, device=states.device)
    return torch.where((at == lengths[..., None])[..., None], states, 0).sum(dim=-2)


@exercise.valid
def by_a_product(states, lengths):
    ends = torch.arange(states.shape[-2], device=states.device) + 1 == lengths.unsqueeze(-1)
    return torch.einsum("...t,...th->...h", ends.to(states.dtype), states)


@exercise.valid
def flattened_and_indexed(states, lengths):
    n, h = states.shape[-2:]
    start = torch.arange(lengths.numel(), device=states.device) * n
    at = start + (lengths.flatten() - 1).clamp(min=0)
    found = states.reshape(-1, h)[at].reshape(*states.shape[:-2], h)
    return found * (lengths > 0)[..., None]


@exercise.mutant("this is the last position, where many a sequence has padding: ask the lengths")
def last_position(states, lengths):
    return zeroed(states[..., -1, :], lengths)


@exercise.mutant("this is the last position, where many a sequence has padding: ask the lengths")
def last_position_and_no_zeros(states, lengths):
    return states[..., -1, :]


OFF = "it is off by one: after `length` tokens the state stands at length - 1"


@exercise.mutant(OFF)
def one_too_far(states, lengths):
    return zeroed(picked(states, lengths), lengths)


@exercise.mutant(OFF)
def one_too_far_but_in_range(states, lengths):
    return zeroed(picked(states, lengths.clamp(max=states.shape[-2] - 1)), lengths)


EMPTY = "a sequence of length 0 has no last token: give it zeros"


@exercise.mutant(EMPTY)
def first_state_for_the_empty(states, lengths):
    return picked(states, (lengths - 1).clamp(min=0))


@exercise.mutant(EMPTY)
def last_position_for_the_empty(states, lengths):
    return picked(states, (lengths - 1) % states.shape[-2])


@exercise.mutant("at length 0 the index is -1, and gather takes none: keep it at 0 or more")
def index_below_0(states, lengths):
    return zeroed(picked(states, lengths - 1), lengths)


@exercise.mutant("every length meets every sequence: pair them, with gather or with two indices")
def lengths_meet_all_sequences(states, lengths):
    return zeroed(states[..., lengths - 1, :], lengths)


def of_one_batch(states, lengths):
    return states[torch.arange(len(states), device=states.device), lengths - 1]


@exercise.mutant(EMPTY)
def last_position_of_one_batch_for_the_empty(states, lengths):
    return of_one_batch(states, lengths)


COUNTED = "it counts the axes from the front: any leading axes, or none, should work"


@exercise.mutant(COUNTED)
def rows_of_one_batch(states, lengths):
    return zeroed(of_one_batch(states, lengths), lengths)


@exercise.mutant(COUNTED)
def rows_and_lengths_of_one_batch(states, lengths):
    return of_one_batch(states, lengths).masked_fill((lengths == 0)[:, None], 0)


@exercise.mutant(
    "gather gives a number for each entry of its index: the index needs an axis of width h"
)
def first_numbers_only(states, lengths):
    at = (lengths - 1).clamp(min=0)[..., None, None]
    return zeroed(states.gather(-2, at).squeeze(-2), lengths)


@exercise.mutant("squeeze alone takes away every axis of size 1: name the axis of the tokens")
def squeezed_whole(states, lengths):
    at = (lengths - 1).clamp(min=0)[..., None, None]
    at = at.expand(*lengths.shape, 1, states.shape[-1])
    return zeroed(states.gather(-2, at).squeeze(), lengths)


LOOP = "it loops over the sequences or the positions: one index serves them all"


@exercise.mutant(LOOP)
def loop_over_sequences(states, lengths):
    if states.dim() == 2:
        return last(states, lengths)
    pairs = zip(states, lengths, strict=True)
    return torch.stack([loop_over_sequences(*pair) for pair in pairs])


def last_one_by_one(states, ends):
    pairs = zip(states, ends, strict=True)
    return torch.stack([one[end - 1] if end > 0 else 0 * one[0] for one, end in pairs])


@exercise.mutant(LOOP)
def loop_over_the_lengths_of_a_batch(states, lengths):
    return last_one_by_one(states, lengths)


@exercise.mutant(LOOP)
def loop_over_a_list_of_lengths(states, lengths):
    return last_one_by_one(states, lengths.tolist())


@exercise.mutant(LOOP)
def loop_over_places_in_a_batch(states, lengths):
    return last_one_by_one(states, [lengths[i] for i in range(len(states))])


@exercise.mutant("the input changes: put the zeros into a new tensor")
def written_into_the_input(states, lengths):
    states.masked_fill_((lengths == 0)[..., None, None], 0)
    return last(states, lengths)


add_to(exercise, last, batch_axis_assumed, always_float32, detached, made_on_the_cpu)
