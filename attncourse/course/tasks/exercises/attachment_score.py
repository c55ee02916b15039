"""Exercise attachment_score: how often the word that a head attends to most is the parent."""

import torch

from judge import messages, variants
from judge.exercise import WHATEVER, Case, Exercise

LOOP = "it loops over texts or words: take one argmax for all of them"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    generic_hints={"loops": LOOP},
    without={
        "loops_over_a_batch": "one result for all texts: what is stacked has another shape",
        "ties": "no two other words share the largest weight of a word",
    },
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def word_by_word(weights, parents, lengths):
    heads, n = weights.shape[-3], weights.shape[-1]
    texts = weights.reshape(-1, heads, n, n).tolist()
    trees, sizes = parents.reshape(-1, n).tolist(), lengths.flatten().tolist()
    scores = []
    for head in range(heads):
        correct = []
        for text, tree, size in zip(texts, trees, sizes, strict=True):
            for i in range(size):
                others = [j for j in range(size) if j != i]
                if tree[i] >= 0:
                    row = text[head][i]
                    correct.append(max(others, key=row.__getitem__) == tree[i])
        scores.append(sum(correct) / len(correct))
    return torch.tensor(scores, dtype=weights.dtype)


def draw_trees(draw, lengths, n):
    """A tree for each length, its parents before or after their words; -1 beyond the length."""
    rows = []
    for length in lengths:
        order = torch.randperm(length, generator=draw.generator).tolist()
        row = [-1] * n
        for place in range(1, length):
            row[order[place]] = order[draw.integer(0, place - 1)]
        rows.append(row)
    return torch.tensor(rows)


def draw_inputs(draw, *batch, lengths, n, heads=3, hidden=False):
    """Weights that follow the parents half of the time; the trees; the lengths."""
    parents = draw_trees(draw, lengths, n).reshape(*batch, n)
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
    weights, parents, lengths = draw_inputs(draw, 4, lengths=[n, n - 2, 3, 5], n=n)
    longer_inputs = draw_inputs(draw, 3, lengths=[45, 30, 9], n=48)
    yield Case(f"4 texts, 3 heads, n={n}", (weights, parents, lengths), longer=longer_inputs)
    yield Case(f"one text without a batch, n={n}", (weights[1], parents[1], lengths[1]))
    axes = draw_inputs(draw, 2, 3, lengths=[3, 6, 2, 6, 5, 4], n=8, heads=2)
    # beyond all texts there is most
    axes[0][..., 6:] += 1
    yield Case("two leading axes", axes)
    masked = draw_inputs(draw, 3, lengths=[n - 3, n, 4], n=n, hidden=True)
    yield Case("no weight on padding", masked)
    identity = torch.eye(n, dtype=weights.dtype)
    yield Case("words that attend to themselves most", ((weights + 20 * identity) / 21, parents,
               lengths))  # fmt: skip
    short_texts = draw_inputs(draw, 4, lengths=[n, 1, 0, 4], n=n)
    yield Case("a text of one word, and one without any", short_texts)
    word = torch.arange(n) < lengths[:, None, None]
    unknown = weights.masked_fill(~(word[..., None] & word[..., None, :]), torch.nan)
    yield Case("NaN in all rows and columns of padding", (unknown, parents, lengths))
    sure = (parents[..., None] == torch.arange(n)).to(weights)[:, None] + weights / 50
    yield Case("every word attends to its parent", (sure, parents, lengths))
    yield Case("every word attends to its children", (sure.mT, parents, lengths))
    # of two words, the other one is the answer, even with a weight of 0
    to_itself = torch.eye(3, dtype=weights.dtype).expand(2, 2, 3, 3).contiguous()
    pair = torch.tensor([[1, -1, -1], [-1, 0, -1]])
    yield Case("two words that attend to themselves alone", (to_itself, pair, torch.tensor([2, 2])))
    chain = torch.where(torch.arange(n) < lengths[:, None], torch.arange(-1, n - 1), -1)
    yield Case("each word below the one before", (weights, chain, lengths))
    forest = torch.where(draw.mask(4, n), -1, parents)
    forest[:, :3] = torch.tensor([1, -1, 1])
    yield Case("several roots", (weights, forest, lengths))
    yield Case("one head", (weights[:, 1:2], parents, lengths))
    square = draw_inputs(draw, 4, lengths=[4, 3, 2, 4], n=4, heads=4)
    yield Case("as many texts as heads and words", square)


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


variants.right(exercise,
    "others = torch.where(allowed, weights, -1.0)\n"
    "count = right.transpose(-1, -2).reshape(-1, heads).sum(0)",
    "others = weights.nan_to_num(0.0) * word - 2 * (~allowed).to(weights.dtype)\n"
    "most = others.max(-1).indices\n"
    "below = (parents != -1).unsqueeze(-2)",
    "most = others.topk(min(2, n), dim=-1).indices[..., 0]\n"
    "return count / below.to(weights).sum()",
    "most = others.argsort(-1, descending=True)[..., 0]\n"
    "count = right.movedim(-2, 0).flatten(1).count_nonzero(-1)",
)  # fmt: skip
WORDS = "below = (j < lengths[..., None])[..., None, :]"
variants.wrong(exercise, {
    "the word itself is not hidden: hide it, as the most attended other word is asked for":
        "allowed = word",
    "the keys of padding are not hidden: hide them, they are no words": [
        "allowed = (j != j[:, None]).expand(weights.shape)",
        "allowed = word.mT & (j != j[:, None])"],
    "what is hidden gets 0, which a real weight may be: fill with -inf": [
        "others = weights.masked_fill(~allowed, 0.0)",
        "shown = weights.masked_fill(~word, 0.0)\nothers = shown.tril(-1) + shown.triu(1)"],
    "0 times NaN is NaN: choose, with masked_fill or torch.where": [
        "others = weights * allowed",
        "others = weights * allowed - 2 * (~allowed).to(weights.dtype)"],
    "it changes padding by a product or a difference, but padding may hold infinity: choose, with "
    "masked_fill or torch.where": [
        f"others = {shown} - {much} * (~allowed).to(weights.dtype)"
        for much in ("2", "1e9") for shown in (
            "weights.nan_to_num(0.0)", "weights.where(~weights.isnan(), 0.0)",
            "weights.where(~weights.isnan(), 0.0) * allowed")],
    "words that attend to themselves most are left out: hide that weight, and count them":
        "elsewhere = weights.masked_fill(~word, -1.0).argmax(dim=-1) != j\n"
        "below = (parents >= 0)[..., None, :] & elsewhere\n"
        "asked = below.movedim(-2, 0).flatten(1).sum(-1).clamp(min=1)\n"
        "return count.to(weights.dtype) / asked",
    "the second of all keys is taken, whichever is first: take it only where the word itself is "
    "first":
        "most = weights.masked_fill(~word, -1.0).topk(2, dim=-1).indices[..., 1]",
    "the words on one side are hidden: show both, as a parent may stand on either": [
        "allowed = word & (j < j[:, None])", "allowed = word & (j > j[:, None])"],
    "the roots count as words that miss their parent: they have none, so leave them out": [
        "return count.to(weights.dtype) / lengths.sum()",
        "return count.to(weights.dtype) / word.sum()"],
    "each text is taken to have one root: allow for several, or none at all":
        "return count.to(weights.dtype) / (lengths - 1).clamp(min=0).sum()",
    "in your answer padding counts: divide by the number of words that have a parent":
        "return count.to(weights.dtype) / parents.numel()",
    "a parent of -1 is taken for word 0: leave it out, as it says that there is none":
        f"{WORDS}\nright = (most == parents.clamp(min=0)[..., None, :]) & below",
    "a parent of -1 is taken for the last word: leave it out, as it says that there is none":
        f"{WORDS}\nright = (most == (parents % n)[..., None, :]) & below",
    "a root counts as right where it attends most to itself: it has no parent, so leave it out": [
        f"allowed = {shown}\n{WORDS}\n"
        "right = (most == parents.where(parents >= 0, j)[..., None, :]) & below"
        for shown in (
            "word", "word & ((j != j[:, None]) | (parents < 0)[..., None, :, None])")],
    "words whose parent is word 0 are left out: count them, only -1 means that there is none":
        "below = (parents > 0)[..., None, :]",
    "the parents are taken as counted from 1: count them from 0":
        "right = (most == parents[..., None, :] - 1) & below",
    "this asks which word attends to a word most: ask to which it attends, a row of weights is a "
    "query": [
        "others = weights.mT.masked_fill(~allowed, -torch.inf)", "most = others.argmax(dim=-2)",
        *(f"allowed = {shown} & (j != j[:, None])\nmost = others.argmax(dim=-2)"
          for shown in ("word.mT", "word & word.mT"))],
    "the heads are averaged before they are compared: give each a score of its own":
        "mean = weights.mean(dim=-3, keepdim=True).expand(weights.shape)\n"
        "others = mean.masked_fill(~allowed, -torch.inf)",
    "there is one score for all heads: give each its own": [
        f"return (count.to(weights.dtype) / below.sum()).{name}()" for name in ("mean", "max")],
    "there is a score for each text: count all words together":
        "count = right.sum(dim=-1)\n"
        "return count.to(weights.dtype) / below.sum(dim=-1).clamp(min=1)",
    "each text counts the same: count over all words first": [
        f"share = {share}\nreturn share{known}.reshape(-1, heads).{mean}(dim=0).to(weights.dtype)"
        for share in (
            "right.sum(dim=-1) / below.sum(dim=-1)",
            "right.sum(dim=-1).to(weights.dtype) / below.sum(dim=-1)",
            "(right.sum(dim=-1) / (lengths[..., None] - 1).clamp(min=1)).to(weights.dtype)")
        for known, mean in (("", "mean"), ("", "nanmean"), (".nan_to_num(0.0)", "mean"))],
    "this is the weight that the parent gets: ask only whether it gets the most":
        "place = parents.clamp(min=0)[..., None, :, None].expand(*weights.shape[:-1], 1)\n"
        "right = others.gather(-1, place)[..., 0].where(below, 0.0)",
    "this is the number of words: divide by how many have a parent":
        "return count.to(weights.dtype)",
    "one length is used for all texts: go by each one's own":
        ("lengths[..., None]", "lengths.max()"),
    "one key of padding is let in: a length is a count, and positions begin at 0": (
        "j < lengths", "j <= lengths"),
    "the last word of each text is hidden: a length is a count, and positions begin at 0": (
        "j < lengths[..., None]", "j < lengths[..., None] - 1"),
    "the parent has to have more than some share of the weight: let it be enough that no other "
    "word has more": [
        f"right = (most == parents[..., None, :]) & below & (others.amax(dim=-1) > {least})"
        for least in ("0.5", "0.3", "0.1")],
    "the parent also counts as second: count only the word with the most weight":
        "two = others.topk(min(2, n), dim=-1).indices\n"
        "right = (two == parents[..., None, :, None]).any(-1) & below",
    messages.FLOAT32: "return count / below.sum()",
    LOOP: [
        "count = sum(one.sum(-1) for one in right.reshape(-1, heads, n))",
        "count = sum(right[..., i].reshape(-1, heads).sum(0) for i in range(n))"],
    messages.CHANGES: ("masked_fill(", "masked_fill_("),
    messages.BATCH: "count = right.sum(dim=(0, 2))",
    "it gives a list of numbers: return a tensor, a number for each head":
        "return (count.to(weights.dtype) / below.sum()).tolist()",
})  # fmt: skip
