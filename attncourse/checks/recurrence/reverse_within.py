"""Exercise reverse_within: each sequence turned round in its own length, padding left in place."""

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
    name="reverse_within",
    chapter="recurrence",
    title="From right to left, but for the padding",
    kind="extend",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "Do not move tokens, pick them: which position of x should stand at position t of the "
        "result? There is one answer before the end of the sequence, and another behind it.",
        "Within the length it is length - 1 - t, behind it t itself; torch.where chooses. That is "
        "an index of shape (..., n). gather picks along an axis, and wants an index with an entry "
        "for every number that it is to give, so the index gets an axis of width d.",
        "torch.where(t < lengths[..., None], lengths[..., None] - 1 - t, t) is the index, and "
        "x.gather(-2, index[..., None].expand(x.shape)) picks",
    ),
)


@exercise.reference
def one_by_one(x, lengths):
    n, d = x.shape[-2:]
    turned = [
        torch.cat([one[:length].flip(0), one[length:]])
        for one, length in zip(x.reshape(-1, n, d), lengths.flatten().tolist(), strict=True)
    ]
    return torch.stack(turned).reshape(x.shape)


@exercise.cases
def cases(draw):
    n = draw.integer(6, 7)
    d = draw.integer(3, 4)
    x = draw.normal(5, n, d)
    # two words at least of padding, and one sequence without any
    lengths = torch.tensor([n - 2, n, 0, 1, 3])
    sizes = f"n={n}, d={d}"
    long = draw.normal(20, 4 * n, d), torch.arange(20) % (4 * n + 1)
    yield Case(f"lengths {lengths.tolist()}, {sizes}", (x, lengths), longer=long)
    yield Case(f"one sequence without a batch, {n - 2} of {n} tokens", (x[0], lengths[0]))
    deep = draw.normal(2, 3, n, d), torch.tensor([[n, 2, 4], [0, n - 1, 1]])
    yield Case(f"two leading axes, {sizes}", deep)
    yield Case("no padding", (x, torch.full((5,), n)))
    yield Case("nothing but padding", (x, torch.zeros(5, dtype=torch.int64)))
    yield Case("one token", (x[:, :1], torch.tensor([1, 0, 1, 1, 0])))
    yield Case("one token of width 1 without a batch", (x[0, :1, :1], torch.tensor(1)))


def places(x):
    return torch.arange(x.shape[-2], device=x.device)


def index(x, lengths, *, last=1, behind=None):
    """Which position of x stands at each position of the result."""
    t, lengths = places(x), lengths[..., None]
    return torch.where(t < lengths, lengths - last - t, t if behind is None else behind)


def picked(x, at):
    return x.gather(-2, at[..., None].expand(x.shape))


def turn(x, lengths):
    return picked(x, index(x, lengths))


@exercise.valid
def gathered(x, lengths):
    return turn(x, lengths)


@exercise.valid
def taken_along_the_axis(x, lengths):
    t = torch.arange(x.size(-2), device=x.device).expand(x.shape[:-1])
    ends = lengths.unsqueeze(-1)
    at = (ends - 1 - t) * (t < ends) + t * (t >= ends)
    return torch.take_along_dim(x, at.unsqueeze(-1), dim=-2)


@exercise.valid
def by_a_matrix_of_ones_and_zeros(x, lengths):
    at = index(x, lengths)
    return (at[..., None] == places(x)).to(x.dtype) @ x


@exercise.valid
def scattered(x, lengths):
    at = index(x, lengths)[..., None].expand(x.shape)
    return torch.zeros_like(x).scatter(-2, at, x)


@exercise.valid
def sorted_by_a_key(x, lengths):
    t = places(x)
    key = torch.where(t < lengths[..., None], -1 - t, t)
    return picked(x, key.argsort(dim=-1))


WHOLE = "the padding comes to the front: turn round the tokens within the length only"


@exercise.mutant(WHOLE)
def turned_whole(x, lengths):
    return x.flip(-2)


@exercise.mutant(WHOLE)
def turned_whole_and_taken_within(x, lengths):
    return torch.where((places(x) < lengths[..., None])[..., None], x.flip(-2), x)


@exercise.mutant("the padding is turned round, too: behind the length each token keeps its place")
def padding_turned_too(x, lengths):
    return picked(x, (lengths[..., None] - 1 - places(x)) % x.shape[-2])


@exercise.mutant("the padding is set to zero: behind the length each token keeps its place")
def padding_of_zeros(x, lengths):
    return turn(x, lengths).masked_fill((places(x) >= lengths[..., None])[..., None], 0)


@exercise.mutant("behind the length the index is negative: there it should be the place itself")
def negative_index(x, lengths):
    return picked(x, lengths[..., None] - 1 - places(x))


OFF = "it is off by one: the first token of the result is the one at length - 1"


@exercise.mutant(OFF)
def one_too_far(x, lengths):
    return picked(x, index(x, lengths, last=0))


@exercise.mutant(OFF)
def one_too_far_but_in_range(x, lengths):
    return picked(x, index(x, lengths, last=0).clamp(max=x.shape[-2] - 1))


@exercise.mutant("one length serves all: each sequence is turned round in its own")
def longest_for_all(x, lengths):
    return turn(x, torch.full_like(lengths, 1) * lengths.max())


@exercise.mutant("every index meets every sequence: pair them, with gather or with two indices")
def indices_meet_all_sequences(x, lengths):
    return x[..., index(x, lengths), :]


COUNTED = "it counts the axes from the front: any leading axes, or none, should work"


@exercise.mutant(COUNTED)
def lengths_of_one_batch(x, lengths):
    t, lengths = places(x), lengths[:, None]
    return picked(x, torch.where(t < lengths, lengths - 1 - t, t))


@exercise.mutant(COUNTED)
def rows_of_one_batch(x, lengths):
    batch = torch.arange(len(x), device=x.device)[:, None]
    return x[batch, index(x, lengths)]


@exercise.mutant(
    "gather gives a number for each entry of its index: the index needs an axis of width d"
)
def first_numbers_only(x, lengths):
    return x.gather(-2, index(x, lengths)[..., None])


LOOP = "it loops over the sequences or the positions: one index serves them all"


@exercise.mutant(LOOP)
def loop_over_sequences(x, lengths):
    pairs = zip(x.flatten(0, -3), lengths.flatten(), strict=True) if x.dim() > 2 else [(x, lengths)]
    return torch.stack([turn(*pair) for pair in pairs]).reshape(x.shape)


def turned_one_by_one(x, ends):
    pairs = zip(x, ends, strict=True)
    return torch.stack([torch.cat([one[:end].flip(0), one[end:]]) for one, end in pairs])


@exercise.mutant(LOOP)
def loop_over_the_lengths_of_a_batch(x, lengths):
    return turned_one_by_one(x, lengths)


@exercise.mutant(LOOP)
def loop_over_a_list_of_lengths(x, lengths):
    return turned_one_by_one(x, lengths.tolist())


@exercise.mutant(LOOP)
def loop_over_places_in_a_batch(x, lengths):
    return turned_one_by_one(x, [lengths[i] for i in range(len(x))])


@exercise.mutant("the input changes: put the tokens into a new tensor")
def written_into_the_input(x, lengths):
    return x.copy_(turn(x, lengths))


add_to(exercise, turn, batch_axis_assumed, always_float32, detached, made_on_the_cpu)
