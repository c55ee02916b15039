"""Exercise padded_positions: the positions of words, wherever the padding stands."""

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="padded_positions",
    chapter="positional",
    title="Padding takes no position",
    kind="extend",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "The position of a word is the number of words before it. Padding may stand anywhere, so "
        "count words and not places.",
        "cumsum along the last axis counts the words up to a place, that place included. Take one "
        "away, and put 0 where there is no word.",
        "(mask.cumsum(dim=-1) - 1).masked_fill(~mask, 0): a cumsum of booleans is of integers",
    ),
    differentiable=False,
)


@exercise.reference
def by_hand(mask):
    rows = []
    for row in mask.reshape(-1, mask.shape[-1]).tolist():
        before = 0
        for word in row:
            rows.append(before if word else 0)
            before += word
    return torch.tensor(rows).reshape(mask.shape)


@exercise.cases
def cases(draw):
    n = draw.integer(8, 11)
    words = torch.randint(3, n - 3, (2,), generator=draw.generator)
    # other lengths in the two rows, and a batch that is no length
    words[1] = words[0] + 1
    place = torch.arange(n)
    right, left = place < words[:, None], place >= n - words[:, None]
    scattered = draw.mask(2, n)
    # two words and two paddings in turn, so that neither end tells how many come before
    scattered[:, 1:6] = torch.tensor([True, False, False, True, True])
    # one row begins and ends with a word, the other with padding
    scattered[:, 0] = scattered[:, -1] = torch.tensor([True, False])
    yield Case(f"padding anywhere, n={n}", (scattered,), longer=(scattered.repeat(1, 16),))
    yield Case(f"one row, padding anywhere, n={n}", (scattered[0],))
    yield Case(f"padding on the right, n={n}", (right,))
    yield Case(f"padding on the left, n={n}", (left,))
    yield Case(f"padding on both sides, n={n}", (right.roll(1, dims=-1),))
    yield Case("two leading axes", (draw.mask(3, 2, n),))
    yield Case("no padding", (torch.ones(2, n, dtype=torch.bool),))
    nothing = scattered.clone()
    nothing[1] = False
    yield Case("a row of nothing but padding", (nothing,))
    yield Case("one word", (torch.ones(2, 1, dtype=torch.bool),))
    yield Case("one padding", (torch.zeros(2, 1, dtype=torch.bool),))
    yield Case("2800 places, three of four with a word", (torch.arange(2800) % 4 > 0,))


def counted(mask, *, away=1, padding=0, axis=-1):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    return (mask.cumsum(axis) - away).masked_fill(~mask, padding)


@exercise.valid
def words_up_to_here_less_one(mask):
    return counted(mask)


@exercise.valid
def words_before(mask):
    return (mask.cumsum(dim=-1) - mask.long()) * mask


@exercise.valid
def product_with_a_triangle(mask):
    n = mask.shape[-1]
    earlier = torch.ones(n, n, device=mask.device).triu(1)
    return (mask.float() @ earlier * mask).long()


@exercise.valid
def all_pairs_compared(mask):
    place = torch.arange(mask.shape[-1], device=mask.device)
    before = mask[..., None, :] & (place < place[:, None])
    return torch.where(mask, before.sum(-1), 0)


@exercise.valid
def rank_in_a_stable_sort(mask):
    order = torch.argsort((~mask).long(), dim=-1, stable=True)
    return order.argsort(dim=-1) * mask


@exercise.valid
def place_less_the_padding_before(mask):
    place = torch.arange(mask.shape[-1], device=mask.device)
    return (place - torch.cumsum(~mask, dim=-1)).clamp(min=0) * mask


@exercise.mutant("words count from 1: the first word has position 0")
def counted_from_one(mask):
    return counted(mask, away=0)


@exercise.mutant("roll brings the last word to the front: shift in a 0")
def rolled_by_one(mask):
    return mask.roll(1, -1).cumsum(-1) * mask


@exercise.mutant("1 is taken away only where a row begins with a word: no word counts itself")
def less_the_first_place(mask):
    return (mask.cumsum(-1) - mask[..., :1].long()) * mask


@exercise.mutant("padding has the position 1 and words begin at 2: here both begin at 0")
def counted_from_two(mask):
    return mask.cumsum(-1) * mask + 1


@exercise.mutant("padding is not set to 0: it has the position of the word before it")
def padding_like_the_word_before(mask):
    return (mask.cumsum(-1) - 1).clamp(min=0)


@exercise.mutant("padding has a position of its own: it gets 0")
def padding_of_minus_one(mask):
    return counted(mask, padding=-1)


@exercise.mutant("padding has a position of its own: it gets 0")
def padding_of_one(mask):
    return counted(mask, padding=1)


@exercise.mutant("padding has a position of its own: it gets 0")
def padding_not_filled(mask):
    return mask.cumsum(-1) - 1


@exercise.mutant("padding has a position of its own: it gets 0")
def number_of_words_before_everywhere(mask):
    return mask.cumsum(-1) - mask.long()


@exercise.mutant("places are counted, not words: padding before a word must not move it")
def places_of_words(mask):
    return torch.arange(mask.shape[-1], device=mask.device) * mask


@exercise.mutant("the mask is not used: only words count, and padding gets 0")
def places_of_all(mask):
    return torch.arange(mask.shape[-1], device=mask.device).expand(mask.shape)


@exercise.mutant("only padding on the left is left out: it may stand between words as well")
def moved_by_the_first_word(mask):
    place = torch.arange(mask.shape[-1], device=mask.device)
    return (place - mask.int().argmax(-1, keepdim=True)) * mask


@exercise.mutant("the number of paddings tells where words begin on the left only: count the words")
def moved_by_all_padding(mask):
    place = torch.arange(mask.shape[-1], device=mask.device)
    return (place - (~mask).sum(-1, keepdim=True)).clamp(min=0) * mask


@exercise.mutant("the first places are numbered, whatever stands there: number the words")
def as_many_as_there_are_words(mask):
    place = torch.arange(mask.shape[-1], device=mask.device)
    return place * (place < mask.sum(-1, keepdim=True))


@exercise.mutant("padding is counted: True means word")
def padding_counted(mask):
    return counted(~mask)


@exercise.mutant("every padding starts the count again: it goes on to the end of the row")
def restarts_after_padding(mask):
    count = mask.cumsum(-1)
    return (count - 1 - count.masked_fill(mask, 0).cummax(-1).values) * mask


@exercise.mutant("the count runs from the right: the first word has position 0")
def counted_from_the_end(mask):
    return counted(mask.flip(-1)).flip(-1)


@exercise.mutant("the count runs along the batch: each row has a count of its own")
def count_along_the_batch(mask):
    return counted(mask, axis=0)


@exercise.mutant("the count goes on from row to row: each row has a count of its own")
def count_over_all_rows(mask):
    return counted(mask.flatten()).reshape(mask.shape)


@exercise.mutant("one row is used for all: each has padding of its own")
def first_row_for_all(mask):
    return counted(mask.reshape(-1, mask.shape[-1])[0]).expand(mask.shape)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(mask):
    return counted(mask, axis=1)


@exercise.mutant("the result is not int64: positions are whole numbers that index a table")
def positions_as_floats(mask):
    return counted(mask).float()


@exercise.mutant("the result is not int64: positions are whole numbers that index a table")
def positions_of_32_bits(mask):
    return counted(mask).int()


@exercise.mutant("8 bits do not hold the positions of a long row: cumsum itself gives int64")
def counted_in_eight_bits(mask):
    count = mask.cumsum(-1, dtype=torch.uint8)
    return (count - 1).masked_fill(~mask, 0).long()


@exercise.mutant("16 bits do not hold every position of a long row: cumsum itself gives int64")
def counted_in_half_precision(mask):
    return ((mask.half().cumsum(-1) - 1) * mask).long()


LOOP = "it loops over places or rows: a cumulative sum counts all words at once"


@exercise.mutant(LOOP)
def loop_over_places(mask):
    count, columns = torch.zeros_like(mask[..., 0], dtype=torch.long), []
    for word in mask.unbind(-1):
        columns.append(count * word)
        count = count + word
    return torch.stack(columns, dim=-1)


@exercise.mutant("the input changes: fill a new tensor, not the mask")
def mask_inverted_in_place(mask):
    positions = mask.cumsum(-1) - 1
    return positions.masked_fill(mask.logical_not_(), 0)


@exercise.mutant("a new tensor is made on the CPU: give it the device of the mask")
def count_on_the_cpu(mask):
    place = torch.arange(mask.shape[-1])
    return (place - torch.cumsum(~mask, dim=-1)).clamp(min=0) * mask
