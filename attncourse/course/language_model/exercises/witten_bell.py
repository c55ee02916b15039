"""Exercise witten_bell: bigrams that leave probability to what they have not seen."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "you loop over tokens: take three sums over an axis for all rows at once"
exercise = Exercise.read(
    __name__,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
    without={"ties": "a unigram that is rounded to halves is no distribution"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def pair_by_pair(counts, unigram):
    v = unigram.shape[-1]
    tables = []
    for table, p in zip(counts.reshape(-1, v, v).tolist(), unigram.reshape(-1, v), strict=True):
        for row in table:
            total, kinds = sum(row), sum(count > 0 for count in row)
            mixed = [(count + kinds * p[j]) / (total + kinds or 1) for j, count in enumerate(row)]
            tables.append(torch.stack(mixed) if total else p)
    return torch.stack(tables).reshape(counts.shape)


def draw_counts(draw, *batch, v, most=6):
    """Counts of pairs, of which about half are 0, and the probabilities of the single tokens."""
    present = torch.rand(*batch, v, v, generator=draw.generator) < 0.5
    # no sum of a row, or number of counts, is that of its column, by chance alone
    counts = draw.integers(1, most, *batch, v, v) * present
    counts[..., 0, :] = 0
    counts[..., 0, 1] = 3
    counts[..., 1:, -1] += draw.integers(1, 3, v - 1)
    return counts, draw.normal(*batch, v).softmax(-1)


@exercise.cases
def cases(draw):
    v = draw.integer(6, 8)
    counts, unigram = draw_counts(draw, 3, v=v)
    yield Case(f"3 tables, {v} tokens", (counts, unigram), longer=draw_counts(draw, 4, v=70))
    yield Case(f"one table without a batch, {v} tokens", (counts[0], unigram[0]))
    yield Case("two leading axes", draw_counts(draw, 2, 3, v=5))
    yield Case("as many tables as tokens", draw_counts(draw, 4, v=4))
    empty = counts.clone()
    empty[0, 2] = empty[1, -1] = empty[2, :3] = 0
    yield Case("tokens that nothing has followed", (empty, unigram))
    yield Case("no counts at all", (0 * counts, unigram))
    yield Case("all pairs were seen", (counts + 1, unigram))
    cycle = torch.eye(v, dtype=torch.int64).roll(1, -1) * draw.integers(1, 9, v, 1)
    yield Case("each token is followed by one other", (cycle.expand(3, v, v), unigram))
    yield Case("each token is followed by itself alone", (cycle.roll(-1, -1), unigram[0]))
    yield Case("every pair that was seen was seen once", (counts.clamp(max=1), unigram))
    yield Case("counts around a million", (1_000_003 * counts, unigram))
    with_zeros = torch.cat([0 * unigram[:, :2], unigram[:, 2:].softmax(-1)], dim=-1)
    yield Case("tokens with a unigram of 0", (counts, with_zeros))
    other_unigram = (-9 * unigram).softmax(-1)
    yield Case("the unigram is not that of the counts", (counts.flip(-1), other_unigram))
    yield Case("two tokens", draw_counts(draw, 3, v=2))
    yield Case("one token", (torch.tensor([[[3]], [[0]]]), torch.ones(2, 1, dtype=torch.float64)))


@exercise.valid
def weighted(counts, unigram):
    total, kinds = counts.sum(-1, keepdim=True), counts.count_nonzero(-1).unsqueeze(-1)
    relative = counts.to(unigram.dtype) / total.clamp(min=1)
    share = total.to(unigram.dtype) / (total + kinds).clamp(min=1)
    return torch.lerp(unigram.unsqueeze(-2).expand(counts.shape), relative, share)


@exercise.valid
def chosen(counts, unigram):
    c = counts.to(unigram.dtype)
    total, kinds = torch.einsum("...ij->...i", c), c.sign().sum(-1)
    known = total > 0
    below = torch.where(known, total + kinds, 1.0)
    mixed = (c + torch.einsum("...i,...j->...ij", kinds, unigram)) / below[..., None]
    return torch.where(known[..., None], mixed, unigram[..., None, :])


variants.right(exercise,
    "kinds = counts.clamp(max=1).sum(dim=-1, keepdim=True).clamp(min=1)\n"
    "single = unigram.unsqueeze(-2)",
    "return mixed * (total + kinds).to(single).reciprocal()",
    "below = (total + kinds).to(single)\nreturn counts / below + single * (kinds / below)",
    "kinds = (counts > 0).sum(dim=-1, keepdim=True) + (total == 0)",
    "never = (counts == 0).sum(dim=-1, keepdim=True)\n"
    "kinds = torch.ones_like(total).maximum(counts.shape[-1] - never)",
)  # fmt: skip
# 0 in a row without counts
KINDS = "kinds = (counts > 0).sum(dim=-1, keepdim=True)\n"
variants.wrong(exercise, {
    "you add 1 to each count: add T times the unigram instead":
        "mixed = counts + 0 * single + 1\nreturn mixed / (total + counts.shape[-1])",
    "you add the unigram once: add it T times, because T different tokens followed":
        "mixed = counts + single\nreturn mixed / (total + 1)",
    "T counts all tokens of the vocabulary: count those that followed, in each row":
        "kinds = counts.shape[-1]",
    "T counts the tokens that never followed: count those that did": ("counts > 0", "counts == 0"),
    "T counts the tokens that came before a token: count those that followed it, in its row":
        "kinds = (counts > 0).sum(dim=-2).unsqueeze(-1).clamp(min=1)",
    "you count T in each column: count it in each row":
        "kinds = (counts > 0).sum(dim=-2, keepdim=True).clamp(min=1)",
    "T is one number for the whole table: give each row its own":
        "kinds = (counts > 0).sum(dim=(-2, -1), keepdim=True).clamp(min=1)",
    "T counts only tokens that followed exactly once: count all that ever followed": (
        "counts > 0", "counts == 1"),
    "T leaves out tokens that followed only once: count all that ever followed": (
        "counts > 0", "counts > 1"),
    "T is the sum of the counts: it should be the number of different tokens that followed":
        "kinds = total.clamp(min=1)",
    "T leaves out a token that followed itself: count that pair like any other":
        "itself = torch.eye(counts.shape[-1], dtype=torch.bool, device=counts.device)\n"
        "kinds = ((counts > 0) & ~itself).sum(dim=-1, keepdim=True).clamp(min=1)",
    "C is the sum of a column: take the sum of the row, which says how often a token was "
    "followed": [
        "total = counts.sum(dim=-2).unsqueeze(-1)", "total = counts.sum(dim=-2, keepdim=True)"],
    "C is the sum of the whole table: give each row its own":
        "total = counts.sum(dim=(-2, -1), keepdim=True)",
    "C is the largest count of a row: take the sum of the row's counts":
        "total = counts.amax(dim=-1, keepdim=True)",
    "you divide by C alone: divide by C + T, so that the row sums to 1":
        "return mixed / total.clamp(min=1)",
    "you divide by T alone: divide by C + T, so that the row sums to 1": "return mixed / kinds",
    "you divide the counts alone by C + T: add T times the unigram to them first":
        "mixed = counts + 0 * single",
    "you divide T times the unigram alone by C + T: add it to the counts first":
        "mixed = kinds * single + 0 * counts",
    "only tokens that never followed get a share of the unigram: all tokens should":
        "mixed = counts + kinds * single.where(counts == 0, 0.0)",
    "the whole share T goes to tokens that never followed: give every token a part of it":
        "unseen = single.where(counts == 0, 0.0)\n"
        "mixed = counts + kinds * unseen / unseen.sum(-1, keepdim=True).clamp(min=1e-30)",
    "tokens that never followed share T equally, and the others get none of it, as in another form "
    "of the method: give each token T times its unigram":
        "unseen = (counts == 0).to(single)\n"
        "each = kinds * unseen / unseen.sum(-1, keepdim=True).clamp(min=1)\n"
        "mixed = counts + 0 * single + each",
    "all tokens share T equally: share it in proportion to the unigram":
        "mixed = counts + kinds * (0 * single + 1 / counts.shape[-1])",
    "the two weights are swapped: the counts should have C / (C + T), and the unigram T / (C + T)":
        "mixed = kinds * counts / total.clamp(min=1) + total.clamp(min=1) * single",
    "you take the unigram of the first token of a pair: take that of the second, which follows": [
        "single = unigram[..., :, None]",
        f"{KINDS}single = unigram[..., :, None]\n"
        "known = mixed / (total + kinds).clamp(min=1)\n"
        "return known.where(total > 0, unigram[..., None, :])"],
    "in a batch, the unigram lines up with the wrong axis: give it an axis for the rows":
        "single = unigram if unigram.shape == counts.shape[-2:] else unigram[..., None, :]",
    "you make the unigram from the counts: use the one that is given":
        "shares = counts.sum(-2) / counts.sum((-2, -1))[..., None].clamp(min=1).to(unigram)\n"
        "single = shares[..., None, :] + 0 * unigram[..., None, :]",
    "your rows are for the tokens that follow: row i should hold what followed token i":
        "return (mixed / (total + kinds)).mT",
    "you read the counts by columns: read them by rows, because row i holds what followed token "
    "i": (
        "    total", "    counts = counts.mT\n    total"),
    "you divide the table by sums over the wrong axis: each row should sum to 1":
        "return mixed / mixed.sum(dim=-2, keepdim=True).clamp(min=1e-30)",
    "you return numbers that aren't probabilities yet: divide by C + T": "return mixed",
    "you return logarithms: return the probabilities":
        "return (mixed / (total + kinds)).log()",
    "you return relative frequencies, and the unigram only in rows without counts: mix the two in "
    "each row":
        "mixed = counts + single * (total == 0)\nreturn mixed / total.clamp(min=1)",
    "you subtract something from each count: leave the counts as they are, and divide by C + T":
        "left = (counts.to(single) - 0.75).clamp(min=0.0)\n"
        "mixed = left + single * torch.where(total > 0, 0.75 * kinds.to(single), 1.0)\n"
        "return mixed / total.clamp(min=1)",
    "where nothing has followed a token, its row is 0 / 0: the row should be the unigram": KINDS,
    "where nothing has followed a token, its row is all zeros: the row should be the unigram":
        f"{KINDS}return mixed / (total + kinds).clamp(min=1)",
    "where nothing has followed a token, its row has equal probabilities: the row should be the "
    "unigram":
        f"{KINDS}known = mixed / (total + kinds).clamp(min=1)\n"
        "return known.where(total > 0, 1 / counts.shape[-1])",
    "the numbers are right, but 0 / 0 makes gradients NaN even where torch.where leaves it out: "
    "never divide by 0":
        f"{KINDS}return (mixed / (total + kinds)).where(total > 0, single)",
    "you add a small number to the divisor: you don't need it if T is at least 1": [
        f"{KINDS}return torch.where(total > 0, mixed / (total + kinds + {epsilon}), single)"
        for epsilon in ("1e-6", "1e-5")],
    "a count divided by a count is float32: convert the counts to the dtype of the unigram first": [
        "return counts / (total + kinds) + kinds / (total + kinds) * single",
        "return counts / (total + kinds) + (1 - total / (total + kinds)) * single"],
    "the numbers are right, but dividing by the sum of the row changes the gradient: divide by C + "
    "T, which makes the row sum to 1 already":
        "return mixed / mixed.sum(dim=-1, keepdim=True)",
    LOOP: [
        "total = sum(counts[..., j] for j in range(counts.shape[-1]))[..., None]",
        "rows = range(counts.shape[-1])\n"
        "below = total + kinds\n"
        "return torch.stack([mixed[..., i, :] / below[..., i, :] for i in rows], dim=-2)"],
    messages.BATCH: "single = unigram[:, None, :]",
})  # fmt: skip
variants.wrong(exercise, {
    "C is summed over all rows: take each row's own sum": (
        "share = total.to(unigram.dtype) / (total + kinds).clamp(min=1)",
        "pairs = total.sum(-2, keepdim=True).to(unigram.dtype)\n"
        "    share = (pairs / (pairs + kinds).clamp(min=1)).where(total > 0, 0.0)"),
}, of=weighted)  # fmt: skip
