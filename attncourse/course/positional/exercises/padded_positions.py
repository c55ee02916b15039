"""Exercise padded_positions: the positions of words, wherever the padding stands."""

import torch

from judge import variants
from judge.exercise import Case, Exercise

exercise = Exercise.read(
    __name__,
    differentiable=False,
    without={"loops": "it goes over rows, and the longer mask has no more of them"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(mask):
    rows = []
    for row in mask.reshape(-1, mask.shape[-1]).tolist():
        words_before = 0
        for word in row:
            rows.append(words_before if word else 0)
            words_before += word
    return torch.tensor(rows).reshape(mask.shape)


@exercise.cases
def cases(draw):
    n = draw.integer(8, 11)
    words = torch.randint(3, n - 3, (2,), generator=draw.generator)
    # other lengths in the two rows, and a batch that is no length
    words[1] = words[0] + 1
    position = torch.arange(n)
    right, left = position < words[:, None], position >= n - words[:, None]
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
    without_words = scattered.clone()
    without_words[1] = False
    yield Case("a row of nothing but padding", (without_words,))
    yield Case("one word", (torch.ones(2, 1, dtype=torch.bool),))
    yield Case("one padding", (torch.zeros(2, 1, dtype=torch.bool),))
    yield Case("2800 places, three of four with a word", (torch.arange(2800) % 4 > 0,))


PLACES = "count = torch.ones_like(mask).cumsum(dim=-1)\n"
variants.right(exercise,
    "earlier = torch.ones(mask.shape[-1], mask.shape[-1], device=mask.device).triu(1)\n"
    "before = mask.float() @ earlier\nreturn (before * mask).long()",
    "place = torch.arange(mask.shape[-1], device=mask.device)\n"
    "before = (mask[..., None, :] & (place < place[:, None])).sum(-1)\n"
    "return before.where(mask, 0)",
    # the rank in a stable sort
    "return torch.argsort((~mask).long(), dim=-1, stable=True).argsort(dim=-1) * mask",
    "before = count - mask.long()", f"{PLACES}before = count - 1 - (~mask).cumsum(dim=-1)",
)  # fmt: skip
variants.wrong(exercise, {
    "words count from 1: the first word should have position 0": "before = count",
    "roll brings the last word to the front: shift in a 0":
        "before = mask.roll(1, -1).cumsum(dim=-1)",
    "1 is subtracted only where a row begins with a word: no word should count itself":
        "before = count - mask[..., :1].long()",
    "padding has the position 1 and words begin at 2: give padding 0, and begin the words at 0":
        "return count * mask + 1",
    "padding has the position of the word before it: set it to 0":
        "return before.clamp(min=0)",
    "padding has a position of its own: it should get 0": [
        "return before.masked_fill(~mask, -1)", "return before.masked_fill(~mask, 1)",
        "return before", "return count - mask.long()"],
    "places are counted, not words: padding before a word must not move it": PLACES,
    "the mask is not used: count only words, and give padding 0": f"{PLACES}return before",
    "only padding on the left is left out: it may stand between words as well":
        f"{PLACES}before = count - 1 - mask.int().argmax(-1, keepdim=True)",
    "the amount of padding tells where words begin only if it is on the left: count words":
        f"{PLACES}before = count - 1 - (~mask).sum(-1, keepdim=True)\n"
        "return before.relu().masked_fill(~mask, 0)",
    "the first places are numbered, whatever stands there: number the words":
        f"{PLACES}return before * (before < mask.sum(-1, keepdim=True))",
    "padding is counted: True means word": "mask = ~mask\ncount = mask.cumsum(dim=-1)",
    "padding starts the count again: it should go on to the end of the row":
        "before = count - 1 - count.masked_fill(mask, 0).cummax(-1).values",
    "the count runs from the right: the first word should have position 0":
        "count = mask.flip(-1).cumsum(dim=-1).flip(-1)",
    "the count runs along the batch: give each row a count of its own":
        "count = mask.cumsum(dim=0)",
    "the count goes on from row to row: begin again in each row":
        "count = mask.flatten().cumsum(dim=-1).reshape(mask.shape)",
    "one row is used for all: use each row's own padding":
        "mask = mask.reshape(-1, mask.shape[-1])[0].expand(mask.shape)\n"
        "count = mask.cumsum(dim=-1)",
    "the result is not int64: positions are whole numbers that index a table": [
        "return before.masked_fill(~mask, 0).float()", "return before.masked_fill(~mask, 0).int()"],
    "8 bits do not hold the positions of a long row: cumsum itself gives int64": [
        "count = mask.cumsum(dim=-1, dtype=torch.uint8)\n"
        "return before.long().masked_fill(~mask, 0)",
        "count = mask.cumsum(dim=-1, dtype=torch.uint8).long()",
        "count = mask.cumsum(dim=-1, dtype=torch.uint8).long()\nreturn before.clamp(min=0) * mask"],
    "16 bits do not hold every position of a long row: cumsum itself gives int64":
        "count = mask.half().cumsum(dim=-1)\nreturn (before * mask).long()",
    "it loops over places or rows: a cumulative sum counts all words at once":
        "count = torch.stack([mask[..., : i + 1].sum(-1) for i in range(mask.shape[-1])], dim=-1)",
})  # fmt: skip
