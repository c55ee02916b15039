"""Exercise decoder_mask: the causal mask of a batch whose sentences differ in length."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "you loop over positions or sentences: compare all of them at once"
exercise = Exercise.read(__name__, differentiable=False, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


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
    longer_inputs = (16 * lengths).repeat(8), 16 * n
    yield Case(f"lengths {lengths.tolist()}, n={n}", (lengths, n), longer=longer_inputs)
    yield Case(f"a sentence of length 0, n={n}", (torch.tensor([2, 0, n - 1]), n))
    yield Case(f"all sentences shorter than n={n}", (torch.tensor([2, n - 2]), n))
    yield Case("as many sentences as positions", (torch.tensor([3, 1, 4, 2]), 4))
    yield Case("a batch of one sentence", (torch.tensor([n - 2]), n))
    yield Case("lengths as int32", (lengths.int(), n))
    yield Case("lengths as int8, n=140", (torch.tensor([120, 7], dtype=torch.int8), 140))
    yield Case("lengths as uint8, one of 0", (torch.tensor([4, 0], dtype=torch.uint8), n))
    yield Case("one position", (torch.tensor([1, 0]), 1))


variants.right(exercise,
    "return is_word.expand(-1, n, -1).tril()",
    "return j < (j[:, None] + 1).minimum(lengths[:, None, None])",
    "causal = torch.ones(len(lengths), n, n, dtype=torch.bool, device=lengths.device).tril()\n"
    "return causal.masked_fill(~is_word, False)",
    "words = (j < lengths[:, None]).float()\n"
    'return torch.einsum("ij,bj->bij", not_later.float(), words).bool()',
    # rows of a table
    "table = torch.ones(n + 1, n, dtype=torch.bool, device=lengths.device).tril(-1)\n"
    "return table[1:] & table[lengths.long()][:, None]",
    "return torch.vmap(lambda length: not_later & (j < length))(lengths)",
    # the ends summed up
    "ends = torch.zeros(len(lengths), n + 1, device=lengths.device)\n"
    "ended = ends.scatter(1, lengths.long()[:, None], 1.0).cumsum(1)[:, None, :n]\n"
    "return (ended == 0).expand(-1, n, -1).tril()",
)  # fmt: skip
variants.wrong(exercise, {
    "the padding is not masked: hide every key that comes after the last word":
        "return not_later.expand(len(lengths), n, n)",
    "the future is not masked: a query should see only the keys up to itself":
        "return is_word.expand(-1, n, -1)",
    "your mask allows a key that passes only one of the two tests: it should have to pass both":
        "return not_later | is_word",
    "the rows of padded queries are all False: check whether the key is a word, not the query": [
        "is_word = j[:, None] < lengths[:, None, None]",
        "return not_later & is_word & is_word.mT"],
    "padded queries see everything: the same rule should hold for them as for words":
        "return not_later & is_word | ~is_word.mT",
    "a padded query sees itself: hide padding from every query, even from itself":
        "return not_later & is_word | (j == j[:, None])",
    "a query does not see itself: it should see its own position as well":
        "not_later = j < j[:, None]",
    "a query sees one position ahead: it should see only the keys up to itself":
        "not_later = j <= j[:, None] + 1",
    "the order is reversed: a query should see earlier keys, not later ones":
        "not_later = j >= j[:, None]",
    "the causal test is upside down: a query should see the keys up to itself, not the later ones":
        "not_later = j > j[:, None]",
    "rows and columns are swapped: each row should be True at the keys that its query may see":
        "return (not_later & is_word).mT",
    "the first padded key is allowed: positions start at 0, so a word's position is below the "
    "length":
        "is_word = j <= lengths[:, None, None]",
    "in uint8, 0 - 1 is 255: compare j with the length itself, j < length":
        "is_word = j <= lengths[:, None, None] - 1",
    "the last word is hidden: positions start at 0, so every position below the length is a word":
        "is_word = j < lengths[:, None, None] - 1",
    "you take the last positions for the words: the words come first, and the padding after them":
        "is_word = j >= n - lengths[:, None, None]",
    "the mask is upside down: True means that the query may attend to the key":
        "return ~(not_later & is_word)",
    "the padding test is upside down: let the words in, and keep the padding out":
        "is_word = j >= lengths[:, None, None]",
    "a sentence of length 0 sees its first key: all of its rows should be False":
        "is_word = j < lengths.clamp(min=1)[:, None, None]",
    "you use one length for the whole batch: use each sentence's own length": [
        "is_word = j < lengths[:1].expand_as(lengths)[:, None, None]",
        "is_word = j < lengths.max().expand_as(lengths)[:, None, None]"],
    "the lengths line up with the wrong axis: give them two more axes, one for the queries and one "
    "for the keys": [
        "is_word = j < lengths", "is_word = j < lengths[:, None]"],
    "this is the causal mask alone: every sentence needs its own mask, so return (batch, n, n)":
        "return not_later",
    "your mask only says which tokens are words: each query needs a row, so return (batch, n, n)":
        "return j < lengths[:, None]",
    "this is the padding mask alone, (batch, 1, n): combine it with the causal mask":
        "return is_word",
    "squeeze removes the batch axis of a single sentence: keep all three axes": [
        "return (not_later & is_word).squeeze()", "return (not_later & is_word).squeeze(0)"],
    "8-bit integers can't hold the positions of a long sequence: keep torch.arange's own dtype": [
        "j = torch.arange(n, device=lengths.device).to(torch.int8)",
        "j = torch.arange(n, device=lengths.device).to(lengths.dtype)",
        "is_word = j.to(lengths.dtype) < lengths[:, None, None]"],
    "the mask is as wide as the longest sentence: make it n wide":
        "n = int(lengths.max())\nj = torch.arange(n, device=lengths.device)",
    "the mask has an axis for the heads: leave it out, so that the shape is (batch, n, n)":
        "return (not_later & is_word)[:, None]",
    "you merge the sentences' masks into one: give each sentence its own (n, n) mask":
        "return (not_later & is_word).all(dim=0)",
    "the mask is not boolean: make it True where a query may attend, and False where it may not": [
        "return (not_later & is_word).float()", "return (not_later & is_word).long()"],
    "you return numbers to add to the scores: return a boolean mask, True where a query may attend":
        "return torch.where(not_later & is_word, 0.0, -torch.inf)",
    messages.DEVICE: [
        "j = torch.arange(n)", "not_later = torch.ones(n, n, dtype=torch.bool).tril()"],
    LOOP: [
        "return torch.cat([(j <= i) & is_word for i in range(n)], dim=1)",
        "return torch.stack([not_later & (j < length) for length in lengths])",
        "mask = not_later.repeat(len(lengths), 1, 1)\n"
        "for one, length in zip(mask, lengths, strict=True):\n"
        "    one[:, length:] = False\nreturn mask"],
    "the mask is cut from a table of fixed size, and n may be larger: build the mask from n":
        "not_later = torch.ones(64, 64, dtype=torch.bool, device=j.device).tril()[:n, :n]",
})  # fmt: skip
