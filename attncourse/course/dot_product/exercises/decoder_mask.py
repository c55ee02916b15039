"""Exercise decoder_mask: the causal mask of a batch whose sentences differ in length."""

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions or sentences: compare all of them at once"
exercise = Exercise.read(__name__, differentiable=False, usual_hints={"loops": LOOP})


@exercise.reference
def by_hand(lengths, n):
    ends = [[min(i + 1, length) for i in range(n)] for length in lengths.tolist()]
    mask = [[[j < end for j in range(n)] for end in rows] for rows in ends]
    return torch.tensor(mask, dtype=torch.bool, device=lengths.device)


@exercise.cases
def cases(draw):
    n = draw.integer(6, 9)
    # a first length of at least 3, so that a length too short or too long by one always shows
    lengths = torch.tensor([draw.integer(3, 4), n, draw.integer(1, 2)])
    long = (16 * lengths).repeat(8), 16 * n
    yield Case(f"lengths {lengths.tolist()}, n={n}", (lengths, n), longer=long)
    yield Case(f"a sentence of length 0, n={n}", (torch.tensor([2, 0, n - 1]), n))
    yield Case(f"all sentences shorter than n={n}", (torch.tensor([2, n - 2]), n))
    yield Case("as many sentences as positions", (torch.tensor([3, 1, 4, 2]), 4))
    yield Case("a batch of one sentence", (torch.tensor([n - 2]), n))
    yield Case("lengths as int32", (lengths.int(), n))
    yield Case("lengths as int8, n=140", (torch.tensor([120, 7], dtype=torch.int8), 140))
    yield Case("lengths as uint8, one of 0", (torch.tensor([4, 0], dtype=torch.uint8), n))
    yield Case("one position", (torch.tensor([1, 0]), 1))


def positions(lengths, n):
    """The lengths with axes for queries and keys, the queries as a column, the keys as a row."""
    j = torch.arange(n, device=lengths.device)
    return lengths[:, None, None], j[:, None], j


@exercise.valid
def plain(lengths, n):
    length, i, j = positions(lengths, n)
    mask = (j <= i) & (j < length)
    return mask


BOTH, WORD = "(j <= i) & (j < length)", "j < length)"
WORDS = "(j < lengths[:, None])"
CAUSAL = "torch.ones(len(lengths), n, n, dtype=torch.bool, device=lengths.device).tril()"
variants.right(exercise,
    (BOTH, f"{WORDS}[:, None].expand(-1, n, -1).tril()"), (BOTH, "j < (i + 1).minimum(length)"),
    (BOTH, f"{CAUSAL}.masked_fill(~{WORDS}.unsqueeze(1), False)"),
    (BOTH, f'torch.einsum("ij,bj->bij", (j <= i).float(), {WORDS}.float()).bool()'),
    # rows of a table
    (BOTH, "torch.ones(n + 1, n, dtype=torch.bool, device=lengths.device).tril(-1)\n"
     "    mask = mask[1:] & mask[lengths.long()][:, None]"),
    (BOTH, "torch.vmap(lambda length: (j <= i) & (j < length))(lengths)"),
    # the ends summed up
    (BOTH, "torch.zeros(len(lengths), n + 1, device=lengths.device)\n"
     "    mask = mask.scatter(1, lengths.long()[:, None], 1.0).cumsum(1)[:, None, :n]\n"
     "    mask = (mask == 0).expand(-1, n, -1).tril()"),
)  # fmt: skip
variants.wrong(exercise, {
    "the padding is not masked: keys from the length on are no words": (WORD, "length == length)"),
    "the future is not masked: a query sees keys up to itself only": ("j <= i", "i == i"),
    "one test is enough for this mask: a key must pass both": ("&", "|"),
    "the rows of padded queries are emptied: ask of the key, not of the query, if it is a word": [
        (WORD, "i < length)"), (BOTH, f"{BOTH} & (i < length)")],
    "the rows of padded queries are opened: the rule holds for them as it does for words": (
        BOTH, f"{BOTH} | (i >= length)"),
    "padding sees itself: such a key is no word, not even for its own query": (
        BOTH, f"{BOTH} | (i == j)"),
    "a query does not see itself: its own position is allowed too": ("j <= i", "j < i"),
    "a query sees one position ahead: it sees up to itself": ("j <= i", "j <= i + 1"),
    "the order is turned round: a query sees earlier keys, not later ones": ("j <= i", "j >= i"),
    "the causal test is upside down: a query sees earlier keys, not later ones": (
        "j <= i", "j > i"),
    "rows and columns are exchanged: a row is a query, and sees what is True in it": (
        "return mask", "return mask.mT"),
    "one key of padding is let in: a length is a count, positions start at 0": (
        WORD, "j <= length)"),
    "in uint8, 0 - 1 is 255: compare with the length as it is, j < length": (
        WORD, "j <= length - 1)"),
    "the last word is lost: a length is a count, positions start at 0": (WORD, "j < length - 1)"),
    "the words are looked for at the end: padding comes after them": (WORD, "j >= n - length)"),
    "the mask is upside down: True means may attend": ("return mask", "return ~mask"),
    "the padding half is upside down: it lets the padding in and the words out": (
        WORD, "j >= length)"),
    "a sentence of length 0 has no key at all: its rows are all False": (
        "positions(lengths", "positions(lengths.clamp(min=1)"),
    "one length serves the whole batch: every sentence has its own": [
        ("positions(lengths", "positions(lengths[:1].expand_as(lengths)"),
        ("positions(lengths", "positions(lengths.max().expand_as(lengths)")],
    "the lengths meet the wrong axis: give them axes of their own for the queries and the keys": [
        (WORD, "j < lengths)"), (WORD, "j < lengths[:, None])")],
    "this is the causal mask alone: every sentence has its own, (batch, n, n)": (BOTH, "j <= i"),
    "this says which tokens are words, (batch, n): each query has a row, (batch, n, n)": (
        BOTH, "j < lengths[:, None]"),
    "this is the padding mask alone, (batch, 1, n): join it with the causal one": (
        BOTH, "j < length"),
    "squeeze drops a batch of one: keep the three axes": [
        ("return mask", "return mask.squeeze()"), ("return mask", "return mask.squeeze(0)")],
    "8 bits do not hold the positions of a long sequence: keep torch.arange's own dtype": [
        ("    mask", f"    length, i, j = (x.to({bits}) for x in (length, i, j))\n    mask")
        for bits in ("torch.int8", "lengths.dtype")] + [
        (BOTH, f"{CAUSAL} & (j.to(lengths.dtype) < length)")],
    "the mask is as wide as the longest sentence: it is n wide": (
        "positions(lengths, n)", "positions(lengths, int(lengths.max()))"),
    "there is an axis for the heads: the shape is (batch, n, n)": (
        "return mask", "return mask[:, None]"),
    "the batch is folded into one mask: each sentence has its own (n, n)": (
        "return mask", "return mask.all(dim=0)"),
    "the mask is not boolean: True = may attend, False = may not": [
        ("return mask", "return mask.float()"), ("return mask", "return mask.long()")],
    "this is what is added to the scores: return the boolean mask, True = may attend": (
        "return mask", "return torch.where(mask, 0.0, -torch.inf)"),
    hints.DEVICE: [
        ("    mask", '    j = torch.arange(n, device="cpu")\n    i = j[:, None]\n    mask'),
        ("return mask", 'return mask & torch.ones(n, n, dtype=torch.bool, device="cpu").tril()')],
    LOOP: [
        (BOTH, "torch.cat([(j <= i) & (j < length) for i in range(n)], dim=1)"),
        (BOTH, "torch.stack([(j <= i) & (j < length) for length in lengths])"),
        (BOTH, CAUSAL, "return mask", "for one, length in zip(mask, lengths, strict=True):\n"
         "        one[:, length:] = False\n    return mask")],
    "the mask is cut from a table of a fixed size: make it for the n at hand": (
        "(j <= i)", "torch.ones(64, 64, dtype=torch.bool, device=j.device).tril()[:n, :n]"),
})  # fmt: skip
