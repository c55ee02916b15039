"""Exercise attachment_score: how often the word that a head attends to most is the parent."""

import torch

from judge import hints, variants
from judge.exercise import WHATEVER, Case, Exercise

LOOP = "it loops over texts or words: one argmax serves all of them"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    usual_hints={"loops": LOOP},
    without={
        "loops_over_a_batch": "one result for all texts: what is stacked has another shape",
        "ties": "no two other words share the largest weight of a word",
    },
)


@exercise.reference
def word_by_word(weights, parents, lengths):
    heads, n = weights.shape[-3], weights.shape[-1]
    texts = weights.reshape(-1, heads, n, n).tolist()
    trees, sizes = parents.reshape(-1, n).tolist(), lengths.flatten().tolist()
    scores = []
    for head in range(heads):
        right = []
        for text, tree, size in zip(texts, trees, sizes, strict=True):
            for i in range(size):
                others = [j for j in range(size) if j != i]
                if tree[i] >= 0:
                    row = text[head][i]
                    right.append(max(others, key=row.__getitem__) == tree[i])
        scores.append(sum(right) / len(right))
    return torch.tensor(scores, dtype=weights.dtype)


def trees(draw, lengths, n):
    """A tree for each length, its parents before or after their words; -1 beyond the length."""
    rows = []
    for length in lengths:
        order = torch.randperm(length, generator=draw.generator).tolist()
        row = [-1] * n
        for place in range(1, length):
            row[order[place]] = order[draw.integer(0, place - 1)]
        rows.append(row)
    return torch.tensor(rows)


def drawn(draw, *batch, lengths, n, heads=3, hidden=False):
    """Weights that follow the parents half of the time; the trees; the lengths."""
    parents = trees(draw, lengths, n).reshape(*batch, n)
    j = torch.arange(n)
    to_parent = (parents[..., None] == j)[..., None, :, :] & (draw.normal(heads, n, 1) > 0)
    scores = draw.normal(*batch, heads, n, n) + 3.0 * to_parent
    lengths = torch.tensor(lengths).reshape(batch)
    if hidden:
        scores = scores.masked_fill(j >= lengths[..., None, None, None], -torch.inf)
    return scores.softmax(-1), parents, lengths


@exercise.unread(*WHATEVER)
def padding(weights, parents, lengths):
    word = torch.arange(weights.shape[-1]) < lengths[..., None, None]
    return {"weights": ~(word.mT & word)[..., None, :, :]}


@exercise.cases
def cases(draw):
    n = draw.integer(7, 9)
    weights, parents, lengths = drawn(draw, 4, lengths=[n, n - 2, 3, 5], n=n)
    long = drawn(draw, 3, lengths=[45, 30, 9], n=48)
    yield Case(f"4 texts, 3 heads, n={n}", (weights, parents, lengths), longer=long)
    yield Case(f"one text without a batch, n={n}", (weights[1], parents[1], lengths[1]))
    axes = drawn(draw, 2, 3, lengths=[3, 6, 2, 6, 5, 4], n=8, heads=2)
    # beyond all texts there is most
    axes[0][..., 6:] += 1
    yield Case("two leading axes", axes)
    masked = drawn(draw, 3, lengths=[n - 3, n, 4], n=n, hidden=True)
    yield Case("no weight on padding", masked)
    itself = torch.eye(n, dtype=weights.dtype)
    yield Case("words that attend to themselves most", ((weights + 20 * itself) / 21, parents,
               lengths))  # fmt: skip
    yield Case("no padding", drawn(draw, 3, lengths=[6, 6, 6], n=6))
    few = drawn(draw, 4, lengths=[n, 1, 0, 4], n=n)
    yield Case("a text of one word, and one without any", few)
    word = torch.arange(n) < lengths[:, None, None]
    unknown = weights.masked_fill(~(word[..., None] & word[..., None, :]), torch.nan)
    yield Case("NaN in all rows and columns of padding", (unknown, parents, lengths))
    sure = (parents[..., None] == torch.arange(n)).to(weights)[:, None] + weights / 50
    yield Case("every word attends to its parent", (sure, parents, lengths))
    yield Case("every word attends to its children", (sure.mT, parents, lengths))
    # of two words, the other one is the answer, even with a weight of 0
    two = torch.eye(3, dtype=weights.dtype).expand(2, 2, 3, 3).contiguous()
    pair = torch.tensor([[1, -1, -1], [-1, 0, -1]])
    yield Case("two words that attend to themselves alone", (two, pair, torch.tensor([2, 2])))
    chain = torch.where(torch.arange(n) < lengths[:, None], torch.arange(-1, n - 1), -1)
    yield Case("each word below the one before", (weights, chain, lengths))
    forest = torch.where(draw.mask(4, n), -1, parents)
    forest[:, :3] = torch.tensor([1, -1, 1])
    yield Case("several roots", (weights, forest, lengths))
    yield Case("a long text and short ones", drawn(draw, 4, lengths=[9, 2, 2, 2], n=9))
    yield Case("one head", (weights[:, 1:2], parents, lengths))
    square = drawn(draw, 4, lengths=[4, 3, 2, 4], n=4, heads=4)
    yield Case("as many texts as heads and words", square)


@exercise.valid
def plain(weights, parents, lengths):
    heads, n = weights.shape[-3], weights.shape[-1]
    j = torch.arange(n, device=weights.device)
    word = (j < lengths[..., None])[..., None, None, :]
    allowed = word & (j != j[:, None])
    most = weights.masked_fill(~allowed, -torch.inf).argmax(dim=-1)
    below = (parents >= 0)[..., None, :]
    right = (most == parents[..., None, :]) & below
    count = right.sum(dim=-1).reshape(-1, heads).sum(dim=0)
    score = count.to(weights.dtype) / below.sum()
    return score


@exercise.valid
def weight_of_the_parent(weights, parents, lengths):
    n, heads = weights.shape[-1], weights.shape[-3]
    padding = torch.arange(n, device=weights.device) >= lengths.unsqueeze(-1)
    itself = torch.eye(n, device=weights.device) > 0
    others = weights.where(~(padding[..., None, None, :] | itself), -1.0)
    place = parents.clamp(min=0)[..., None, :, None].expand(*weights.shape[:-1], 1)
    right = others.take_along_dim(place, -1)[..., 0] == others.amax(-1)
    rows = right.movedim(-2, 0).reshape(heads, -1)[:, (parents >= 0).flatten()]
    return rows.to(weights.dtype).mean(-1)


HIDDEN, ALLOWED = "weights.masked_fill(~allowed, -torch.inf)", "word & (j != j[:, None])"
AGREE, BELOW = "most == parents[..., None, :]", "(parents >= 0)[..., None, :]"
COUNT = "right.sum(dim=-1).reshape(-1, heads).sum(dim=0)"
SCORE = "count.to(weights.dtype) / below.sum()"
MOST = f"{HIDDEN}.argmax(dim=-1)"
EACH = "right.sum(-1).to(weights.dtype) / below.sum(-1)"
# a root is its own parent
ROOTED = (
    AGREE, "most == torch.where(parents < 0, j, parents)[..., None, :]",
    BELOW, "(j < lengths[..., None])[..., None, :]",
)  # fmt: skip
NAN_AS_0 = "weights.where(~weights.isnan(), 0.0)"
PLACE = "parents.clamp(min=0)[..., None, :, None].expand(*weights.shape[:-1], 1)"
variants.right(exercise,
    (HIDDEN, "torch.where(allowed, weights, -torch.ones_like(weights))",
     COUNT, "right.transpose(-1, -2).reshape(-1, heads).sum(0)"),
    (MOST, "(weights.nan_to_num(0.0) * word - 2 * (~allowed).to(weights.dtype)).max(-1).indices",
     BELOW, "(parents != -1).unsqueeze(-2)"),
    (MOST, f"{HIDDEN}.topk(min(2, n), dim=-1).indices[..., 0]",
     SCORE, "count / below.to(weights).sum()"),
    # ranks of all keys
    (MOST, f"{HIDDEN}.argsort(-1, descending=True)[..., 0]",
     COUNT, "right.movedim(-2, 0).flatten(1).count_nonzero(-1)"),
)  # fmt: skip
variants.wrong(exercise, {
    "the word itself is not hidden: the most attended other word is asked for": (
        ALLOWED, "word & (j == j)"),
    "the keys of padding are not hidden: they are no words": [
        (ALLOWED, "(word == word) & (j != j[:, None])"),
        (ALLOWED, "word.mT & (j != j[:, None])")],
    "what is hidden gets 0, which a real weight may be: fill with -inf": [
        (HIDDEN, "weights.masked_fill(~allowed, 0.0)"),
        (HIDDEN, "weights.masked_fill(~word, 0.0).tril(-1) + "
         "weights.masked_fill(~word, 0.0).triu(1)")],
    "0 times NaN is NaN: choose, with masked_fill or torch.where": (
        HIDDEN, "(weights * allowed - 2 * (~allowed).to(weights.dtype))"),
    "padding may hold infinity, which is NaN times 0, and infinity less any number: choose, with "
    "masked_fill or torch.where": [
        (HIDDEN, f"({read}{shown} - {much} * (~allowed).to(weights.dtype))")
        for read, shown in ((NAN_AS_0, ""), (NAN_AS_0, " * allowed"),
                            ("weights.nan_to_num(0.0)", "")) for much in ("2", "1e9")],
    "words that attend to themselves most are left out: hide that weight, and they count": (
        BELOW, "(parents >= 0)[..., None, :] & (weights.masked_fill(~word, -1.0).argmax(-1) != j)",
        SCORE, "count.to(weights.dtype) / below.movedim(-2, 0).flatten(1).sum(-1).clamp(min=1)"),
    "the words on one side are hidden: a parent may stand on either": [
        (ALLOWED, "word & (j < j[:, None])"), (ALLOWED, "word & (j > j[:, None])")],
    "the roots count as words that miss their parent: they have none, so leave them out": [
        (SCORE, "count.to(weights.dtype) / lengths.sum()"),
        (SCORE, "count.to(weights.dtype) / word.sum()")],
    "each text is taken to have one root: it may have several, or none at all": (
        SCORE, "count.to(weights.dtype) / (lengths - 1).clamp(min=0).sum()"),
    "in your answer padding counts: divide by the number of words that have a parent": (
        SCORE, "count.to(weights.dtype) / parents.numel()"),
    "a parent of -1 is taken for word 0: it says that there is none": (
        AGREE, "most == parents.clamp(min=0)[..., None, :]",
        BELOW, "(j < lengths[..., None])[..., None, :]"),
    "a parent of -1 is taken for the last word: it says that there is none": (
        AGREE, "most == (parents % n)[..., None, :]",
        BELOW, "(j < lengths[..., None])[..., None, :]"),
    "words whose parent is word 0 are left out: only -1 means that there is none": (
        "parents >= 0", "parents > 0"),
    "the parents are taken as counted from 1: here they count from 0": (
        AGREE, "most == parents[..., None, :] - 1"),
    "this asks which word attends to a word most: a row of weights is a query": [
        (HIDDEN, "weights.mT.masked_fill(~allowed, -torch.inf)"),
        *((MOST, f"weights.masked_fill(~({shown}), -torch.inf).argmax(dim=-2)")
          for shown in ("word.mT & allowed", "allowed", "word.mT & (j != j[:, None])", "word",
                        "j != j[:, None]"))],
    "each text has the same say: count over all words first": [
        (COUNT, f"({EACH}).reshape(-1, heads)", SCORE, "count.nanmean(dim=0)"),
        (COUNT, f"({EACH}).nan_to_num(0.0).reshape(-1, heads)", SCORE, "count.mean(dim=0)"),
        # texts of one word count as right nowhere, those without any not at all
        (COUNT, f"({EACH}).nan_to_num(0.0).reshape(-1, heads)",
         SCORE, "count.sum(dim=0) / (lengths > 0).sum()"),
        (COUNT, f"({EACH}).reshape(-1, heads)", SCORE, "count.mean(dim=0)"),
        (COUNT, "(right.sum(-1) / (lengths[..., None] - 1).clamp(min=1)).to(weights.dtype)"
         ".reshape(-1, heads)", SCORE, "count.mean(dim=0)")],
    "a root has no parent: leave it out": [
        (ALLOWED, "word & (j == j)", *ROOTED),
        (ALLOWED, "word & ((j != j[:, None]) | (parents < 0)[..., None, :, None])", *ROOTED)],
    "the heads are averaged before they are compared: each has a score of its own": (
        HIDDEN, "weights.mean(-3, True).masked_fill(~allowed, -torch.inf).expand_as(weights)"),
    "there is one score for all heads: each has its own": [
        (SCORE, f"({SCORE}).mean()"), (SCORE, f"({SCORE}).max()")],
    "there is a score for each text: all words count together": (
        COUNT, "right.sum(dim=-1)", SCORE,
        "count.to(weights.dtype) / below.sum(-1).clamp(min=1)"),
    "this is the weight that the parent gets: ask only whether it gets the most": (
        COUNT, f"{HIDDEN}.gather(-1, {PLACE})[..., 0].where(below, 0.0)\\\n"
        "        .sum(-1).reshape(-1, heads).sum(0)"),
    "this is the number of words: divide by how many have a parent": (
        SCORE, "count.to(weights.dtype)"),
    "the least attended word is taken: argmax finds the most attended one": (
        MOST, "weights.masked_fill(~allowed, torch.inf).argmin(dim=-1)"),
    "one length serves all texts: each has its own": ("lengths[..., None]", "lengths.max()"),
    "one key of padding is let in: a length is a count, and positions begin at 0": (
        "j < lengths", "j <= lengths"),
    "the last word of each text is hidden: a length is a count, and positions begin at 0": (
        "j < lengths[..., None]", "j < lengths[..., None] - 1"),
    "the tree of the first text serves all: each has its own": (
        AGREE, "most == parents.reshape(-1, n)[0]"),
    "a child that gets the most weight counts, too: only the parent does": (
        AGREE, f"({AGREE}) | (parents[..., None, :].expand_as(most).gather(-1, most) == j)"),
    "the parent need not have so much of the weight: it is enough that no other word has more": [
        (AGREE, f"({AGREE}) & ({HIDDEN}.amax(-1) > {least})") for least in ("0.5", "0.3", "0.1")],
    "the parent need not be first for it: only the word with the most weight counts": (
        AGREE, f"({HIDDEN}.topk(min(2, n), -1).indices == parents[..., None, :, None]).any(-1)"),
    hints.FLOAT32: (SCORE, "count / below.sum()"),
    "a grandparent that gets the most weight counts, too: only the parent does": (
        AGREE, f"({AGREE}) | (most == parents.gather(-1, parents.clamp(min=0))"
        "[..., None, :])"),
    LOOP: [
        (COUNT, "sum(one.sum(-1) for one in right.reshape(-1, heads, n))"),
        (COUNT, "sum(right[..., i].reshape(-1, heads).sum(0) for i in range(n))")],
    hints.CHANGES: (HIDDEN, "weights.masked_fill_(~allowed, -torch.inf)"),
    hints.BATCH: (COUNT, "right.sum(dim=(0, 2)).reshape(right.shape[1])"),
    "it gives a list of numbers: return a tensor, a number for each head": (
        "return score", "return score.tolist()"),
})  # fmt: skip
