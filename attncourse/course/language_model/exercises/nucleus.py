"""Exercise nucleus: the likeliest tokens that together have a given probability."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over rows or tokens: take one sort and one cumulative sum for all of them"
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
    "all tokens stay: only the likeliest should, as many as it takes for probabilities that are p "
    "in sum": ["kept = before < 2", "likely = scores.log_softmax(dim=-1).gather(-1, order)"],
    "the token that reaches p goes: keep it, as only with it the probability is at least p": [
        "first = torch.arange(scores.shape[-1], device=scores.device) == 0\n"
        "kept = (likely.cumsum(dim=-1) < p) | first",
        "kept = (likely.cumsum(dim=-1) <= p) | (before == 0)"],
    "where the likeliest token has more than p no token stays: keep it in any case": [
        "kept = likely.cumsum(dim=-1) < p", "kept = likely.cumsum(dim=-1) <= p",
        "kept = likely.cumsum(dim=-1) <= p\n"
        f"return {WHOLE} / {WHOLE}.sum(dim=-1, keepdim=True).clamp(min=1e-9)"],
    "one token too many stays: stop once p is reached":
        "kept = (before < p).roll(1, -1) | (before < p)",
    "the tokens are not sorted: those that stay should be the likeliest":
        "order = torch.arange(scores.shape[-1], device=scores.device).expand(scores.shape)",
    "the least likely tokens stay: begin with the largest score":
        "order = scores.argsort(dim=-1, stable=True)",
    "of equal scores the larger token stays: the smaller one should come first": [
        "order = scores.flip(-1).argsort(dim=-1, descending=True, stable=True)\n"
        "likely = scores.softmax(dim=-1).gather(-1, order := scores.shape[-1] - 1 - order)",
        "order = scores.argsort(dim=-1, stable=True).flip(-1)"],
    "all tokens that have the score of the last one stay: of equal ones, keep only as many as it "
    "takes":
        "last = scores.where(stays, torch.inf).amin(-1, keepdim=True)\n"
        "left = scores.masked_fill(scores < last, -torch.inf)",
    "no token stays of those that have the score of the last one: keep as many as it takes":
        "last = scores.where(stays, torch.inf).amin(-1, keepdim=True)\n"
        "goes = (scores <= last) & (scores < scores.amax(-1, keepdim=True))\n"
        "left = scores.masked_fill(goes, -torch.inf)",
    "what stays is decided by rank, and each token has another place: take it back by scatter":
        "stays = kept",
    "gather with the order does not undo it: scatter takes each back to its own place": [
        "stays = kept.gather(-1, order)",
        "order = scores.softmax(dim=-1).argsort(dim=-1, descending=True, stable=True)\n"
        "stays = kept.gather(-1, order)",
        "left = scores.gather(-1, order).masked_fill(~kept, -torch.inf)\n"
        "return left.softmax(dim=-1).gather(-1, order)"],
    "the probabilities come back in order of size: put each at its token's place":
        "left = scores.gather(-1, order).masked_fill(~kept, -torch.inf)",
    "the probabilities of what stays are as before: they should sum to 1 again": f"return {WHOLE}",
    "they are divided by p: what stays may have more than that, so divide by its sum":
        f"return {WHOLE} / p",
    "what goes keeps a small probability, 1 in a million or so: give it the score -inf": [
        ("-torch.inf", f"scores.amin().item() - {low}") for low in ("5", "10")],
    "what goes gets the score 0, and still has weight: fill with -inf": ("-torch.inf", "0.0"),
    "scores may be lower than the number you fill with: fill with -inf": [
        ("-torch.inf", fill) for fill in ("-100.0", "-1e3", "-1e9")],
    "a p near 1 is taken for 1: add the probabilities up to it":
        "kept = (before < p) | (p >= 0.99)",
    "the scores are put in order in float32, where some become equal: take them as they are": (
        "scores.argsort", "scores.float().argsort"),
    messages.DETACHED: (
        "    order", "    if scores.shape[-1] == 1:\n"
        "        return torch.ones_like(scores)\n    order"),
    "the scores of what goes become 0 by a product: give it the score -inf":
        "left = scores * stays",
    "p is taken for the least probability of a token: add the probabilities up":
        "kept = (likely >= p) | (before == 0)",
    "a token needs 1 - p here to stay: add the probabilities up, the likeliest first":
        "kept = (likely >= 1 - p) | (before == 0)",
    "what has p times the largest probability stays: add the probabilities up":
        "kept = likely >= p * likely[..., :1]",
    "a share p of the vocabulary stays: let it depend on the probabilities how many do": [
        "kept = (torch.arange(scores.shape[-1], device=scores.device) < "
        f"{many}).expand(scores.shape)"
        for many in ("max(1, int(p * scores.shape[-1]))", "-(-p * scores.shape[-1] // 1)",
                     "max(1, round(p * scores.shape[-1]))")],
    "the tokens that are likeliest together, up to 1 - p, stay: it should be up to p":
        "kept = before < 1 - p + (p == 1)",
    "the tail stays, and the nucleus goes: it should be the other way round": [
        "kept = (before >= p) | (before == before[..., -1:])",
        "kept = before >= p", "kept = likely.cumsum(dim=-1) >= p"],
    "only the likeliest token stays: keep as many as have p together":
        "kept = before == before[..., :1]",
    "the scores are added up: add up their probabilities":
        "likely = scores.gather(-1, order)",
    "the border is that of the first row: give each row its own":
        "kept = (before.reshape(-1, before.shape[-1])[0] < p).expand(before.shape)",
    "as many tokens stay in each row as in the one that needs most: give each row its own number":
        "kept = (before < p).reshape(-1, before.shape[-1]).any(0).expand(before.shape)",
    "the sum goes on from row to row: begin it anew in each":
        "before = (likely.flatten().cumsum(0) - likely.flatten()).reshape(likely.shape)",
    "the sum runs over the rows: let it run over the tokens of each": (
        "cumsum(dim=-1)", "cumsum(dim=0)"),
    "the softmax runs over the rows: let it run over the vocabulary":
        "return left.softmax(dim=0).nan_to_num(0.0)",
    "exp of a large score overflows: use softmax, which takes the largest away":
        "likely = (scores.exp() / scores.exp().sum(-1, True)).gather(-1, order)",
    "exp of what stays overflows: use softmax, which takes the largest away":
        "return left.exp() / left.exp().sum(dim=-1, keepdim=True)",
    "these are logarithms: take the softmax": "return left.log_softmax(dim=-1)",
    "these are scores: the softmax is missing": "return left",
    "the softmax is taken of probabilities, which makes it nearly flat: take it of scores":
        "left = scores.softmax(-1).masked_fill(~stays, -torch.inf)",
    "a softmax of probabilities is taken, in which 0 does not stay 0: divide by their sum":
        f"return {WHOLE}.softmax(dim=-1)",
    "each token is compared with p by itself: compare what the likeliest have in sum":
        "kept = likely >= p",
    "this says which tokens stay: return their probabilities":
        "return stays.to(scores.dtype)",
    "all tokens that stay get the same: let them share the probability as before":
        "return stays / stays.sum(dim=-1, keepdim=True).to(scores.dtype)",
    "only the likeliest token comes back: return the probabilities from which one is drawn":
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
