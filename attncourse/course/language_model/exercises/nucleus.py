"""Exercise nucleus: the likeliest tokens that together have a given probability."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "you loop over rows or tokens: take one sort and one cumulative sum for all of them"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def token_by_token(scores, p):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        values = row.tolist()
        probabilities = row.softmax(-1).tolist()
        # sorted leaves equal ones in their order
        stays, reached = [], 0.0
        for token in sorted(range(len(values)), key=lambda i: -values[i]):
            if reached < p:
                stays.append(token)
            reached += probabilities[token]
        kept_scores = row[stays]
        weights = torch.zeros_like(row)
        weights[stays] = (kept_scores - kept_scores.logsumexp(0)).exp()
        rows.append(weights)
    return torch.stack(rows).reshape(scores.shape)


def clear_of_p(scores, p):
    """Whether no sum of the likeliest tokens is so near p that rounding could decide."""
    sums = scores.softmax(-1).sort(-1, descending=True).values.cumsum(-1)
    return bool(((sums - p).abs() > 2e-3).all())


def draw_scores(draw, *shape, p, spread=1.5):
    """Scores of which no sum of probabilities is near p."""
    rows = []
    while len(rows) < torch.Size(shape[:-1]).numel():
        row = spread * draw.normal(shape[-1])
        if clear_of_p(row, p):
            rows.append(row)
    return torch.stack(rows).reshape(shape)


def draw_ties(draw, p):
    """Rows in which equal scores stand at the border, of which some stay and some go."""
    levels = torch.tensor([2.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, -1.0], dtype=torch.float64)
    rows = [levels[torch.randperm(9, generator=draw.generator)] for _ in range(4)]
    scores = torch.stack([*rows, 0 * levels])
    assert clear_of_p(scores, p)
    return scores


@exercise.cases
def cases(draw):
    v = draw.integer(8, 10)
    scores = draw_scores(draw, 4, v, p=0.7)
    yield Case(f"4 rows, {v} tokens, p=0.7", (scores, 0.7),
               longer=(draw_scores(draw, 24, 100, p=0.9), 0.9))  # fmt: skip
    yield Case(f"one row, {v} tokens, p=0.5", (draw_scores(draw, v, p=0.5), 0.5))
    yield Case("two leading axes, p=0.8", (draw_scores(draw, 2, 3, v, p=0.8), 0.8))
    yield Case("as many rows as tokens, p=0.6", (draw_scores(draw, 7, 7, p=0.6), 0.6))
    yield Case("p=0.95", (draw_scores(draw, 4, v, p=0.95), 0.95))
    yield Case("p=0.3, and a likelier token in each row", (draw_one_likely(draw, v), 0.3))
    yield Case("p=0.00001: the likeliest token alone", (scores, 0.00001))
    yield Case("p=1: all tokens stay", (scores, 1.0))
    flat = draw_scores(draw, 4, 12, p=0.75, spread=0.2)
    flat[1] = draw_scores(draw, 12, p=0.75, spread=3.0)
    yield Case("flat rows and a steep one, p=0.75", (flat, 0.75))
    yield Case("equal scores at the border, p=0.7", (draw_ties(draw, 0.7), 0.7))
    yield Case("equal scores at the border, p=0.5", (draw_ties(draw, 0.5), 0.5))
    yield Case("all scores are equal, p=0.01", (0 * scores, 0.01))
    best = draw_ties(draw, 0.1)
    yield Case("several likeliest tokens, p=0.1", (best.clamp(max=1.0), 0.1))
    some_barred = torch.where(torch.arange(v) % 3 == 1, -torch.inf, scores)
    p = next(p for p in (0.85, 0.8, 0.75, 0.7, 0.65, 0.9) if clear_of_p(some_barred, p))
    yield Case(f"tokens whose score is -inf, p={p}", (some_barred, p), gradient=False)
    barred = scores.masked_fill(torch.arange(v) > 2, -torch.inf)
    yield Case("tokens whose score is -inf, p=1", (barred, 1.0), gradient=False)
    single = scores.masked_fill(torch.arange(v) != 4, -torch.inf)
    yield Case("one token whose score is not -inf, p=0.9", (single, 0.9), gradient=False)
    yield Case("scores around 1000, p=0.7", (1000 + scores, 0.7))
    yield Case("all scores below -1000, p=0.7", (scores - 2000, 0.7))
    yield Case("scores 10^12 times larger, p=0.7", (1e12 * scores, 0.7), gradient=False)
    low = -1e12 * (1 + scores.abs())
    yield Case("all scores below -10^12, p=0.7", (low, 0.7), gradient=False)
    steep = torch.tensor([[-7.0, 0.0, -9.0]], dtype=torch.float64)
    yield Case("one token with more than p=0.995", (steep, 0.995))
    nearly_tied = torch.tensor([[998.0, 1000.0, 1000.00001]], dtype=torch.float64)
    yield Case("scores that float64 alone tells apart, p=0.3", (nearly_tied, 0.3))
    yield Case("one token, p=0.4", (scores[:, :1], 0.4))


def draw_one_likely(draw, v):
    """Scores of which the largest has more than 0.3 of the probability."""
    scores = draw_scores(draw, 4, v, p=0.3)
    best = scores.argmax(-1, keepdim=True)
    return scores.scatter(-1, best, scores.logsumexp(-1, keepdim=True) + 1.0)


@exercise.valid
def by_rank(scores, p):
    ranked = scores.sort(dim=-1, descending=True, stable=True)
    # how many sums are still below p, and one more
    many = (ranked.values.softmax(-1).cumsum(-1) < p).sum(-1, keepdim=True)
    rank = ranked.indices.argsort(-1)
    weights = scores.softmax(-1) * (rank <= many)
    return weights / weights.sum(-1, keepdim=True)


@exercise.valid
def back_by_the_inverse(scores, p):
    log_p = scores.log_softmax(-1)
    order = (-scores).argsort(dim=-1, stable=True)
    chances = torch.take_along_dim(log_p, order, -1).exp()
    shifted = torch.nn.functional.pad(chances.cumsum(-1)[..., :-1], (1, 0))
    sorted_weights = torch.where(shifted < p, chances, 0.0)
    sorted_weights = sorted_weights / sorted_weights.sum(-1, keepdim=True)
    return sorted_weights.gather(-1, order.argsort(-1))


# the probabilities of what stays, as they are in the whole
WHOLE = "(scores.softmax(dim=-1) * stays)"
variants.right(exercise,
    # all pairs: what is likelier, or as likely and earlier, comes before
    "order = torch.arange(scores.shape[-1], device=scores.device)\n"
    "likely = scores.softmax(dim=-1)\n"
    "one, other = scores[..., :, None], scores[..., None, :]\n"
    "sooner = (other > one) | (other == one) & (order < order[:, None])\n"
    "before = (sooner * likely[..., None, :]).sum(-1)\n"
    "stays = kept",
    # the order of the probabilities
    "chances = torch.softmax(scores, dim=-1)\n"
    "order = chances.argsort(dim=-1, descending=True, stable=True)\n"
    "likely = chances.sort(dim=-1, descending=True, stable=True).values",
    "stays = torch.empty_like(kept).scatter_(-1, order, kept)\n"
    f"return {WHOLE} / {WHOLE}.sum(dim=-1, keepdim=True)",
    "before = likely.flip(-1).cumsum(dim=-1).flip(-1)\nkept = before > 1 - p",
    "order = torch.sort(scores, dim=-1, descending=True, stable=True).indices\n"
    "kept = (likely.cumsum(dim=-1) < p).roll(1, -1).index_fill(\n"
    "    -1, torch.tensor([0], device=scores.device), True)",
    "likely = scores.gather(-1, order).softmax(dim=-1)\n"
    "before = torch.cat([0 * likely[..., :1], likely.cumsum(dim=-1)[..., :-1]], dim=-1)\n"
    "left = torch.where(stays, scores, torch.finfo(scores.dtype).min)\n"
    "return left.softmax(dim=-1) * stays",
)  # fmt: skip
variants.wrong(exercise, {
    "all tokens stay: keep only the likeliest, as many as it takes for their probabilities to add "
    "up to p": [
        "kept = before < 2", "likely = scores.log_softmax(dim=-1).gather(-1, order)"],
    "the token that reaches p is dropped: keep it, because the sum reaches p only with it": [
        "first = torch.arange(scores.shape[-1], device=scores.device) == 0\n"
        "kept = (likely.cumsum(dim=-1) < p) | first",
        "kept = (likely.cumsum(dim=-1) <= p) | (before == 0)"],
    "no token stays where the likeliest one has more than p: always keep that one": [
        "kept = likely.cumsum(dim=-1) < p", "kept = likely.cumsum(dim=-1) <= p",
        "kept = likely.cumsum(dim=-1) <= p\n"
        f"return {WHOLE} / {WHOLE}.sum(dim=-1, keepdim=True).clamp(min=1e-9)"],
    "one token too many stays: stop once p is reached":
        "kept = (before < p).roll(1, -1) | (before < p)",
    "the tokens aren't sorted: those that stay should be the likeliest":
        "order = torch.arange(scores.shape[-1], device=scores.device).expand(scores.shape)",
    "the least likely tokens stay: begin with the largest score":
        "order = scores.argsort(dim=-1, stable=True)",
    "among equal scores, the token with the larger number comes first: the smaller number should": [
        "order = scores.flip(-1).argsort(dim=-1, descending=True, stable=True)\n"
        "likely = scores.softmax(dim=-1).gather(-1, order := scores.shape[-1] - 1 - order)",
        "order = scores.argsort(dim=-1, stable=True).flip(-1)"],
    "all tokens that tie with the last one stay: of equal scores, keep only as many as it takes":
        "last = scores.where(stays, torch.inf).amin(-1, keepdim=True)\n"
        "left = scores.masked_fill(scores < last, -torch.inf)",
    "all tokens that tie with the last one are dropped: keep as many of them as it takes":
        "last = scores.where(stays, torch.inf).amin(-1, keepdim=True)\n"
        "goes = (scores <= last) & (scores < scores.amax(-1, keepdim=True))\n"
        "left = scores.masked_fill(goes, -torch.inf)",
    "your decisions are in sorted order: take each back to its token's own place with scatter":
        "stays = kept",
    "gather with the order doesn't undo the sort: scatter takes each value back to its own place": [
        "stays = kept.gather(-1, order)",
        "order = scores.softmax(dim=-1).argsort(dim=-1, descending=True, stable=True)\n"
        "stays = kept.gather(-1, order)",
        "left = scores.gather(-1, order).masked_fill(~kept, -torch.inf)\n"
        "return left.softmax(dim=-1).gather(-1, order)"],
    "you return the probabilities in order of size: put each at its token's place":
        "left = scores.gather(-1, order).masked_fill(~kept, -torch.inf)",
    "the tokens that stay keep their old probabilities: these should sum to 1 again":
        f"return {WHOLE}",
    "you divide the probabilities by p: the tokens that stay may have more than p, so divide by "
    "their sum":
        f"return {WHOLE} / p",
    "dropped tokens keep a small probability: give them the score -inf": [
        ("-torch.inf", f"scores.amin().item() - {low}") for low in ("5", "10")],
    "dropped tokens get the score 0, which still has weight: fill with -inf": ("-torch.inf", "0.0"),
    "scores may be lower than the number you fill with: fill with -inf": [
        ("-torch.inf", fill) for fill in ("-100.0", "-1e3", "-1e9")],
    "you treat a p near 1 as 1: add the probabilities up until they reach p":
        "kept = (before < p) | (p >= 0.99)",
    "you sort the scores in float32, where some become equal: sort them as they are": (
        "scores.argsort", "scores.float().argsort"),
    messages.DETACHED: (
        "    order", "    if scores.shape[-1] == 1:\n"
        "        return torch.ones_like(scores)\n    order"),
    "you multiply the scores of dropped tokens by 0: give them the score -inf":
        "left = scores * stays",
    "you use p as the lowest probability that a token may have: add the probabilities up instead":
        "kept = (likely >= p) | (before == 0)",
    "a token needs a probability of 1 - p to stay: add the probabilities up, the likeliest first":
        "kept = (likely >= 1 - p) | (before == 0)",
    "tokens with at least p times the largest probability stay: add the probabilities up instead":
        "kept = likely >= p * likely[..., :1]",
    "you keep a share p of the vocabulary: let the probabilities decide how many tokens stay": [
        "kept = (torch.arange(scores.shape[-1], device=scores.device) < "
        f"{many}).expand(scores.shape)"
        for many in ("max(1, int(p * scores.shape[-1]))", "-(-p * scores.shape[-1] // 1)",
                     "max(1, round(p * scores.shape[-1]))")],
    "the likeliest tokens stay until their sum reaches 1 - p: go on until it reaches p":
        "kept = before < 1 - p + (p == 1)",
    "the tail stays and the nucleus is dropped: it should be the other way round": [
        "kept = (before >= p) | (before == before[..., -1:])",
        "kept = before >= p", "kept = likely.cumsum(dim=-1) >= p"],
    "only the likeliest token stays: keep as many as it takes for their sum to reach p":
        "kept = before == before[..., :1]",
    "you add up the scores: add up the probabilities":
        "likely = scores.gather(-1, order)",
    "the first row decides how many tokens stay in every row: decide for each row separately":
        "kept = (before.reshape(-1, before.shape[-1])[0] < p).expand(before.shape)",
    "every row keeps as many tokens as the row that needs most: give each row its own number":
        "kept = (before < p).reshape(-1, before.shape[-1]).any(0).expand(before.shape)",
    "the cumulative sum continues from one row to the next: start again in each row":
        "before = (likely.flatten().cumsum(0) - likely.flatten()).reshape(likely.shape)",
    "the cumulative sum runs over the rows: let it run over the tokens of each row": (
        "cumsum(dim=-1)", "cumsum(dim=0)"),
    "the softmax runs over the rows: let it run over the vocabulary":
        "return left.softmax(dim=0).nan_to_num(0.0)",
    "exp of a large score overflows: use softmax, which subtracts the largest score first":
        "likely = (scores.exp() / scores.exp().sum(-1, True)).gather(-1, order)",
    "exp of the scores that stay overflows: use softmax, which subtracts the largest score first":
        "return left.exp() / left.exp().sum(dim=-1, keepdim=True)",
    "you return logarithms: take the softmax": "return left.log_softmax(dim=-1)",
    "you return scores: take their softmax": "return left",
    "you take the softmax of probabilities, which makes it nearly flat: take the softmax of the "
    "scores":
        "left = scores.softmax(-1).masked_fill(~stays, -torch.inf)",
    "you take a softmax of the probabilities, which turns 0 into more than 0: divide them by their "
    "sum instead":
        f"return {WHOLE}.softmax(dim=-1)",
    "you compare each token's own probability with p: compare the sum of the likeliest ones":
        "kept = likely >= p",
    "you return which tokens stay: return their probabilities":
        "return stays.to(scores.dtype)",
    "all tokens that stay get the same probability: keep the proportions that they had before":
        "return stays / stays.sum(dim=-1, keepdim=True).to(scores.dtype)",
    "you return only the likeliest token: return the probabilities from which one is drawn":
        "return left.argmax(dim=-1)",
    LOOP: [
        "before = sum(torch.nn.functional.pad(likely[..., : -i - 1], (i + 1, 0))\n"
        "             for i in range(scores.shape[-1]))",
        ("    order", "    if scores.dim() > 1:\n"
         "        return torch.stack([nucleus(row, p) for row in scores])\n    order")],
    messages.CHANGES: "left = scores.detach().masked_fill_(~stays, -torch.inf) * 0 + "
        "scores.masked_fill(~stays, -torch.inf)",
    messages.BATCH: "left = torch.stack([*scores])[:, :].masked_fill(~stays, -torch.inf)",
})  # fmt: skip
