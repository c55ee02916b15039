"""Exercise head_offset: the offset at which each head of a trained model looks."""

import torch
from torch.nn.functional import pad

from judge import messages, variants
from judge.exercise import WHATEVER, Case, Exercise

LOOP = "it loops over texts, positions or offsets: take one index_add for all pairs"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    generic_hints={"loops": LOOP},
    without={
        "loops_over_a_batch": "one result for all texts: what is stacked has another shape",
        "ties": "the largest sum belongs to one offset alone",
    },
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def pair_by_pair(weights, lengths):
    heads, n = weights.shape[-3], weights.shape[-1]
    texts = weights.reshape(-1, heads, n, n).tolist()
    offsets, shares = [], []
    for head in range(heads):
        sums = dict.fromkeys(range(1 - n, n), 0.0)
        for text, length in zip(texts, lengths.flatten().tolist(), strict=True):
            for i in range(length):
                for j in range(length):
                    sums[j - i] += text[head][i][j]
        offsets.append(max(sums, key=lambda offset: sums[offset]))
        shares.append(sums[offsets[-1]] / sum(sums.values()))
    return torch.tensor(offsets), torch.tensor(shares, dtype=weights.dtype)


def draw_weights(draw, *batch, n, offsets, hidden=False):
    """Weights of a head for each offset, at which it looks more than elsewhere."""
    j = torch.arange(n)
    at_offset = j - j[:, None] == torch.tensor(offsets)[:, None, None]
    scores = draw.normal(*batch, len(offsets), n, n) + 2.5 * at_offset
    if hidden:
        scores = scores.masked_fill(j >= torch.tensor(hidden)[..., None, None, None], -torch.inf)
    return scores.softmax(-1)


@exercise.unread(*WHATEVER)
def padding(weights, lengths):
    word = torch.arange(weights.shape[-1]) < lengths[..., None, None]
    return {"weights": ~(word.mT & word)[..., None, :, :]}


@exercise.cases
def cases(draw):
    n = draw.integer(6, 8)
    lengths = torch.tensor([n, n - 2, 2, 4])
    weights = draw_weights(draw, 4, n=n, offsets=(-1, 2, 0))
    # padding looks elsewhere
    weights[1, :, n - 2 :] = torch.eye(n, dtype=weights.dtype)[0]
    weights[2, :, 2:] = torch.eye(n, dtype=weights.dtype)[1]
    longer_inputs = draw_weights(draw, 2, n=48, offsets=(-1, 2, 0)), torch.tensor([48, 30])
    yield Case(f"4 texts, 3 heads, n={n}", (weights, lengths), longer=longer_inputs)
    yield Case(f"one text without a batch, n={n}", (weights[1], lengths[1]))
    axes = torch.tensor([[3, 5, 2], [5, 4, 1]])
    yield Case("two leading axes", (draw_weights(draw, 2, 3, n=5, offsets=(1, -2)), axes))
    ends = draw_weights(draw, 3, n=n, offsets=(1, -1), hidden=[n - 3, n, 3])
    yield Case("no weight on padding", (ends, torch.tensor([n - 3, n, 3])))
    yield Case("a text without a word", (weights, torch.tensor([n, 0, 3, n - 1])))
    word = torch.arange(n) < lengths[:, None, None]
    unknown = weights.masked_fill(~(word[..., None] & word[..., None, :]), torch.nan)
    yield Case("NaN in all rows and columns of padding", (unknown, lengths))
    silent = weights.clone()
    silent[:, 1:, ::2] = 0
    yield Case("words that attend nowhere", (silent, lengths))
    # what few pairs have in the mean is not the most in sum
    to_the_ends = draw_weights(draw, 2, n=7, offsets=(-1, 1))
    to_the_ends[:, 0, 0] = torch.eye(7, dtype=to_the_ends.dtype)[6]
    to_the_ends[:, 1, 6] = torch.eye(7, dtype=to_the_ends.dtype)[0]
    yield Case("a word that looks as far as it can", (to_the_ends, torch.tensor([7, 7])))
    yield Case(
        "no padding", (draw_weights(draw, 3, n=6, offsets=(0, 3, -2)), torch.tensor([6, 6, 6]))
    )
    # most texts are short and look back, but the long one has more words
    mixed = draw_weights(draw, 4, n=9, offsets=(-1, 1))
    mixed[3] = draw_weights(draw, n=9, offsets=(2, -2))
    yield Case("three short texts and a long one", (mixed, torch.tensor([2, 2, 2, 9])))
    # most words look back most, but the weight that stays is more in sum
    stays = torch.eye(7, dtype=weights.dtype).expand(2, 2, 7, 7).clone()
    stays[:, :, 1:5] = 0.1 * draw_weights(draw, 2, n=7, offsets=(-1, 1))[:, :, 1:5]
    stays[:, :, 1:5] += 0.4 * torch.eye(7)[1:5] + 0.5 * torch.eye(7)[:4]
    yield Case("more words look back than stay", (stays, torch.tensor([7, 7])))
    yield Case("words that look at padding, and hardly elsewhere", (1e-15 * weights, lengths))
    yield Case("one head", (weights[:, 1:2], lengths))
    square = draw_weights(draw, 4, n=4, offsets=(-1, 1, 0, 2))
    yield Case("as many texts as heads and words", (square, torch.tensor([4, 3, 2, 4])))
    yield Case("one word", (torch.ones(2, 3, 1, 1, dtype=weights.dtype), torch.tensor([1, 1])))


@exercise.valid
def cut_anew(weights, lengths):
    # with rows one number longer, each row starts one place further to the left
    heads, n = weights.shape[-3], weights.shape[-1]
    word = torch.arange(n, device=lengths.device) < lengths.unsqueeze(-1)
    rows = weights.where(word[..., None, None, :] & word[..., None, :, None], 0.0)
    flat = pad(pad(rows, (n - 1, 0)).flatten(-2), (0, n))
    sums = flat.unflatten(-1, (n, 2 * n))[..., :-1].sum(-2).reshape(-1, heads, 2 * n - 1).sum(0)
    share = sums / sums.sum(-1, keepdim=True)
    offset = share.argmax(-1)
    return [offset - n + 1, share.amax(-1)]


variants.right(exercise,
    "sums = whole.flatten(-2) @ torch.eye(2 * n - 1).to(whole)[place]",
    "sums = whole.new_zeros(heads, 2 * n - 1).scatter_add(\n"
    "    -1, place.expand(heads, -1), whole.flatten(-2))\n"
    "kept = torch.where(real, weights, 0.0)",
    # NaN times 0
    "kept = weights.nan_to_num(0.0) * real\n"
    "offset = sums.argsort(-1)[:, -1] + 1 - n\n"
    "share = sums.amax(-1) / whole.sum((-2, -1))",
)  # fmt: skip
# the share of an offset that is chosen otherwise, `at` its place
CHOSEN = "offset = at - (n - 1)\nshare = sums.gather(-1, at[:, None])[:, 0] / sums.sum(dim=-1)"
# the key, or keys, to which a query attends most
LOOKS = "looks = ((kept == kept.amax(-1, True)) & (kept > 0)).to(kept)"
variants.wrong(exercise, {
    "the offset is query minus key: it should be key minus query, column minus row": [
        "place = (j[:, None] - j + n - 1).flatten()", "offset = n - 1 - most.indices"],
    "the sign is lost: keep it, looking one word back is not looking one word ahead": [
        "offset = (most.indices - (n - 1)).abs()",
        "place = (j - j[:, None]).abs().flatten()\noffset = most.indices"],
    "offsets n apart are added together: keep all 2n - 1 of them apart":
        "place = ((j - j[:, None]) % n).flatten()\noffset = most.indices",
    "this is the place in the list of sums: take n - 1 away for the offset":
        "offset = most.indices",
    "each offset is one too large, or too small: the middle of the list, place n - 1, should be "
    "offset 0":
        ["offset = most.indices - n + 2", "offset = most.indices - n"],
    "padding is not left out: count a pair only if query and key are both words": "kept = weights",
    "your answer counts the queries of padding: leave them out, nobody reads what they get":
        "real = word[..., None, :]",
    "your answer counts the weights on keys of padding: leave them out, such a key is no word":
        "real = word[..., :, None]",
    "your answer counts a pair if one of the two is a word: both must be":
        "real = word[..., :, None] | word[..., None, :]",
    "the words are left out instead of the padding: it should be the other way round":
        "kept = weights.masked_fill(real, 0.0)",
    "0 times NaN is NaN: choose, with masked_fill or torch.where": [
        "kept = weights * real", "kept = weights.masked_fill(~word[..., None, :], 0.0) * real"],
    "0 times infinity is NaN, too: choose, with masked_fill or torch.where":
        "kept = weights.where(~weights.isnan(), 0.0) * real",
    "one length is used for all texts: go by each one's own": [
        ("lengths[..., None]", "lengths.max()"), ("lengths[..., None]", "lengths.min()")],
    "one word too many is counted: a length is a count, and positions begin at 0": (
        "j < lengths", "j <= lengths"),
    "the last word of each text is lost: a length is a count, and positions begin at 0": (
        "j < lengths[..., None]", "j < lengths[..., None] - 1"),
    "the words are looked for at the end of the rows: look for them at the beginning, padding "
    "comes after them": (
        "j < lengths[..., None]", "j >= n - lengths[..., None]"),
    "keys after their query are left out: count them, a head may look ahead, too":
        "kept = weights.masked_fill(~real, 0.0).tril()",
    "the offset 0 is left out: count it, a word may attend to itself": [
        "kept = weights.masked_fill(~real | (j == j[:, None]), 0.0)",
        "itself = torch.arange(2 * n - 1, device=sums.device) == n - 1\n"
        "most = sums.masked_fill(itself, -1.0).max(dim=-1)"],
    "the sums are divided by the number of pairs: far offsets have few, so add up only": [
        ("whole.flatten(-2))", "whole.flatten(-2)) / place.bincount()"),
        ("whole.flatten(-2))", "whole.flatten(-2)) / "
         "place.bincount(real.reshape(-1, n * n).sum(0)).clamp(min=1).to(whole)"),
        f"at = (sums / place.bincount()).argmax(-1)\n{CHOSEN}"],
    "this is the mean offset, rounded: take the one that gets the most weight":
        "mean = sums @ torch.arange(2 * n - 1).to(sums) / sums.sum(dim=-1)\n"
        f"at = mean.round().long()\n{CHOSEN}",
    "the largest single weight decides: add up the weights of each offset": (
        "index_add(-1, place, whole.flatten(-2))",
        "scatter_reduce(\n        -1, place.expand(heads, -1), whole.flatten(-2), 'amax')"),
    "pairs of one offset overwrite each other: add them up":
        "sums = whole.new_zeros(heads, 2 * n - 1)\n"
        "sums[:, place] += whole.flatten(-2)\n"
        "most = sums.max(dim=-1)",
    "each query counts once, for the key that it attends to most: add up all weights": [
        f"{LOOKS}\nwhole = looks.reshape(-1, heads, n, n).sum(dim=0)",
        f"{LOOKS}\nwhole = looks.reshape(-1, heads, n, n).sum(dim=0)\n"
        "share = most.values / word.sum()",
        f"{LOOKS}\nat = whole.new_zeros(heads, 2 * n - 1).index_add(\n"
        f"    -1, place, looks.reshape(-1, heads, n * n).sum(dim=0)).argmax(-1)\n{CHOSEN}"],
    "the share is divided by the number of words: divide by the weight that counts": [
        "share = most.values / lengths.sum()", "share = most.values / real.any(-1).sum()"],
    "the share is divided by all weight, that of padding included: divide by the weight "
    "that counts":
        "everything = weights.nan_to_num(0.0).reshape(-1, heads, n * n)\n"
        "share = most.values / everything.sum((0, 2))",
    "this is the sum of the weight: divide it by all weight that counts": [
        "share = most.values", "share = most.values / max(1, lengths.numel())"],
    "the share is divided by the weight of the other offsets: divide by the weight of all":
        "share = most.values / (sums.sum(dim=-1) - most.values)",
    "what is added to the divisor, or its least value, shows where little weight counts: divide by "
    "the sum alone": [
        f"share = most.values / {divisor}" for tiny in ("1e-6", "1e-9", "1e-12")
        for divisor in (f"(sums.sum(dim=-1) + {tiny})", f"sums.sum(dim=-1).clamp(min={tiny})")],
    "each text counts the same: add up over all texts first, so that each word does": [
        "texts = kept.reshape(-1, heads, n, n)\n"
        "whole = (texts / texts.sum((-2, -1), True).clamp(min=1e-9)).sum(dim=0)",
        "texts = kept.reshape(-1, heads, n * n)\n"
        "each = texts.new_zeros(len(texts), heads, 2 * n - 1).index_add(-1, place, texts)\n"
        f"at = each.argmax(-1).mode(dim=0).values\n{CHOSEN}"],
    "rows are made to sum to 1 again: take the weights as they are":
        "rows = kept / kept.sum(-1, True).clamp(min=1e-9)\n"
        "whole = rows.reshape(-1, heads, n, n).sum(dim=0)",
    "the heads are added up: give each a result of its own":
        "whole = kept.reshape(-1, n, n).sum(dim=0).expand(heads, n, n)",
    "one offset is chosen for all heads: choose each head's own": [
        f"at = sums.sum(0).argmax().expand(heads)\n{CHOSEN}",
        f"at = (sums / sums.sum(-1, True)).sum(0).argmax().expand(heads)\n{CHOSEN}"],
    "there is a result for each text: add up over all texts":
        "whole = kept\n"
        "sums = whole.new_zeros(*whole.shape[:-2], 2 * n - 1).index_add(\n"
        "    -1, place, whole.flatten(-2))",
    "the results come in another order: return first the offset, then its share":
        "return share, offset",
    "the offset is a floating-point number: return an integer":
        "return offset.to(share.dtype), share",
    "it returns one tensor: return two, the offset and its share": [
        "return torch.stack([offset, share])", "return torch.stack([offset, share], -1)",
        "return offset", "return share"],
    "plain numbers come back in lists: return two tensors, a number for each head":
        "return offset.tolist(), share.tolist()",
    LOOP: [
        "sums = torch.stack([whole.diagonal(o, -2, -1).sum(-1) for o in range(1 - n, n)], -1)",
        "whole = sum(one for one in kept.reshape(-1, heads, n, n))"],
    messages.CHANGES: ("masked_fill(", "masked_fill_("),
    messages.BATCH: "whole = kept.sum(dim=0)",
})  # fmt: skip
