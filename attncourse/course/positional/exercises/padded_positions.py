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
    yield Case("a single place, with padding", (torch.zeros(2, 1, dtype=torch.bool),))
    yield Case("2800 places, three in four with a word", (torch.arange(2800) % 4 > 0,))


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
    "you count words from 1: the first word should have position 0": "before = count",
    "roll moves the last entry of the mask to the front: shift in a 0 instead":
        "before = mask.roll(1, -1).cumsum(dim=-1)",
    "you subtract 1 only in rows that begin with a word: no word should count itself, in any row":
        "before = count - mask[..., :1].long()",
    "padding gets position 1 and the words start at 2: give padding 0, and start the words at 0":
        "return count * mask + 1",
    "padding gets the position of the word before it: give it 0":
        "return before.clamp(min=0)",
    "the position of padding isn't 0: set it to 0": [
        "return before.masked_fill(~mask, -1)", "return before.masked_fill(~mask, 1)",
        "return before", "return count - mask.long()"],
    "you count places, not words: padding before a word should not change its position": PLACES,
    "the mask is not used: count only words, and give padding 0": f"{PLACES}return before",
    "you leave out only padding on the left: padding may also stand between words":
        f"{PLACES}before = count - 1 - mask.int().argmax(-1, keepdim=True)",
    "you subtract the amount of padding, which is right only if all of it is on the left: count "
    "words":
        f"{PLACES}before = count - 1 - (~mask).sum(-1, keepdim=True)\n"
        "return before.relu().masked_fill(~mask, 0)",
    "you number the first places, even where they hold padding: number the words":
        f"{PLACES}return before * (before < mask.sum(-1, keepdim=True))",
    "you count padding instead of words: True means word":
        "mask = ~mask\ncount = mask.cumsum(dim=-1)",
    "the count starts again after padding: it should go on to the end of the row":
        "before = count - 1 - count.masked_fill(mask, 0).cummax(-1).values",
    "you count from the right: the first word should have position 0":
        "count = mask.flip(-1).cumsum(dim=-1).flip(-1)",
    "you count along the batch: give each row a count of its own":
        "count = mask.cumsum(dim=0)",
    "the count continues from one row to the next: start again in each row":
        "count = mask.flatten().cumsum(dim=-1).reshape(mask.shape)",
    "the mask of one row is used for all rows: use each row's own":
        "mask = mask.reshape(-1, mask.shape[-1])[0].expand(mask.shape)\n"
        "count = mask.cumsum(dim=-1)",
    "the result isn't int64: return int64, because positions serve as indices": [
        "return before.masked_fill(~mask, 0).float()", "return before.masked_fill(~mask, 0).int()"],
    "8 bits are too few for the positions of a long row: cumsum gives int64 by itself": [
        "count = mask.cumsum(dim=-1, dtype=torch.uint8)\n"
        "return before.long().masked_fill(~mask, 0)",
        "count = mask.cumsum(dim=-1, dtype=torch.uint8).long()",
        "count = mask.cumsum(dim=-1, dtype=torch.uint8).long()\nreturn before.clamp(min=0) * mask"],
    "16 bits can't hold every position of a long row: cumsum gives int64 by itself":
        "count = mask.half().cumsum(dim=-1)\nreturn (before * mask).long()",
    "you loop over places or rows: a cumulative sum counts all words at once":
        "count = torch.stack([mask[..., : i + 1].sum(-1) for i in range(mask.shape[-1])], dim=-1)",
})  # fmt: skip
