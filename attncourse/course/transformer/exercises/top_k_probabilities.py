"""Exercise top_k_probabilities: what the next token is drawn from, with temperature and top-k."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over rows or tokens: let topk and masked_fill take all of them at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def row_by_row(scores, k, temperature=1.0):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        least = sorted(row.tolist(), reverse=True)[k - 1]
        stays = torch.tensor([score >= least for score in row.tolist()])
        kept_scores = row[stays] / temperature
        weights = torch.zeros_like(row)
        weights[stays] = (kept_scores - kept_scores.logsumexp(0)).exp()
        rows.append(weights)
    return torch.stack(rows).reshape(scores.shape)


def draw_distinct(draw, *shape):
    """Scores of which no two of a row are so near that rounding could make them equal."""
    return draw.normal(*shape).argsort(-1) / 2 + draw.normal(*shape).sigmoid() / 4 - 2


@exercise.cases
def cases(draw):
    v = draw.integer(7, 9)
    scores = draw_distinct(draw, 4, v)
    yield Case(
        f"4 rows, {v} tokens, k=3", (scores, 3, 1.0), longer=(draw_distinct(draw, 32, 90), 40, 1.0)
    )
    yield Case(f"one row, {v} tokens, k=4, temperature 2", (scores[0], 4, 2.0))
    yield Case("two leading axes, temperature 0.5", (draw_distinct(draw, 2, 3, v), 2, 0.5))
    yield Case("k alone", (scores, 3))
    yield Case("by name", (scores,), {"k": 5, "temperature": 0.7})
    yield Case("k=1: the likeliest alone", (scores, 1, 1.5))
    yield Case("k is the whole vocabulary", (scores, v, 0.8))
    yield Case("as many rows as tokens", (draw_distinct(draw, v, v), 3, 1.0))
    steps = torch.tensor([2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 0.0], dtype=torch.float64)
    ties = torch.stack([steps, steps.roll(1), 0 * steps])
    yield Case("equal scores at the border, k=4", (ties, 4, 1.0))
    yield Case("equal scores within the k likeliest", (ties, 3, 2.0))
    best = torch.tensor([[2.0, 0.0, 2.0, 1.0], [1.0, 0.0, 2 - 2.0**-21, 2.0]], dtype=torch.float64)
    yield Case("k=1, two scores that are equal, or nearly", (best, 1, 1.0))
    yield Case("all scores below -100", (-100 - scores.abs(), 3, 1.0))
    yield Case("scores around 1000, temperature 0.01", (1000 + scores, 3, 0.01), gradient=False)
    yield Case("all scores below -10^25", (-1e25 * (1 + scores.abs()), 4, 1.0), gradient=False)
    yield Case("scores 10^20 times smaller", (scores / 1e20, 3, 1.0), gradient=False)
    barred = scores.masked_fill(torch.arange(v) % 2 == 1, -torch.inf)
    yield Case("forbidden tokens, whose score is -inf", (barred, 3, 0.9), gradient=False)
    few_allowed = barred.masked_fill(torch.arange(v) > 2, -torch.inf)
    yield Case("fewer than k tokens that are not forbidden", (few_allowed, 4, 1.0), gradient=False)
    yield Case("scores hundreds apart, temperature 1000", (1000 * scores, 4, 1000.0))
    yield Case("one token", (scores[:, :1], 1, 0.3))


@exercise.valid
def shares_of_the_whole(scores, k, temperature=1.0):
    log_p = (scores / temperature).log_softmax(-1)
    least = scores.sort(-1, descending=True).values[..., k - 1, None]
    weights = torch.where(scores >= least, log_p, -torch.inf).exp()
    return weights / weights.sum(-1, keepdim=True)


SORTED = "scores.sort(dim=-1, descending=True).values"
GLOBAL = "least = scores.flatten().topk(k).values[-1].minimum(scores.amax(-1, keepdim=True))"
LIKELY = "p = (scores / temperature).softmax(-1)\nleast = p.topk(k, dim=-1).values[..., -1:]"
variants.right(exercise,
    "least = scores.kthvalue(scores.shape[-1] - k + 1, dim=-1, keepdim=True).values\n"
    "kept = scores.where(scores >= least, -torch.inf)",
    "least = scores.topk(k).values.amin(-1, keepdim=True)\n"
    "return torch.softmax(kept / temperature, dim=-1)",
    "scores = scores / temperature\n"
    "least = scores.topk(k, dim=-1).values[..., -1:]\n"
    "return kept.softmax(-1)",
    "scores = scores.clamp(min=torch.finfo(scores.dtype).min)\n"
    "least = scores.topk(k, dim=-1).values[..., -1:]",
    "out = ((kept - kept.amax(-1, True)) / temperature).exp()\n"
    "return out / out.sum(-1, keepdim=True)",
)  # fmt: skip
variants.wrong(exercise, {
    "the k is ignored: only the k likeliest tokens should stay": "kept = scores",
    "the k least likely tokens stay: the largest scores should stay instead": (
        "(k, dim=-1)", "(k, dim=-1, largest=False)", "< least", "> least"),
    "one token too many stays: the least score that stays should be the k-th largest": [
        ("(k,", "(min(k + 1, scores.shape[-1]),"), ("(k,", "(k + 1,"),
        f"least = {SORTED}[..., k, None]", f"least = {SORTED}[..., k : k + 1]"],
    "the border is used the wrong way round: what is below the k-th largest score should go": [
        ("< least", "> least"), ("< least", ">= least")],
    "one token too few stays: the k-th largest score should stay as well": [
        ("< least", "<= least"), ("(k,", "(max(k - 1, 1),")],
    "the largest score of a row is the border: it should be the k-th largest":
        ("[..., -1:]", "[..., :1]"),
    "of equal scores at the border some stay and some go: they should stay together":
        "picked = torch.zeros_like(scores).scatter(-1, scores.topk(k, dim=-1).indices, 1.0)\n"
        "kept = scores.masked_fill(picked == 0, -torch.inf)",
    "with k = 1, one token is made certain: if another has the same score, both should stay": (
        "    least", "    if k == 1:\n        return torch.nn.functional.one_hot("
        "scores.argmax(-1), scores.shape[-1]).to(scores)\n    least"),
    "scores a little below the k-th largest stay as well: only equal ones should": [
        ("< least", f"< least - {near}") for near in ("1e-2", "1e-3", "1e-4", "1e-5", "1e-6")],
    "the tokens are chosen by their probabilities, which rounding makes equal: choose by scores": [
        f"{LIKELY}\nkept = scores.masked_fill(p < least, -torch.inf)",
        f"{LIKELY}\nkept = p.masked_fill(p < least, 0.0)\n"
        "return kept / kept.sum(-1, keepdim=True)"],
    "the k-th smallest score is the border: sort is ascending, so count from the end":
        "least = scores.sort(dim=-1).values[..., k - 1 : k]",
    "divided scores are compared with a border that is not divided: divide both or neither": (
        "scores < least", "scores / temperature < least"),
    "the border is that of the first row: give each row its own": (
        "[..., -1:]", "[..., -1:].reshape(-1)[:1]"),
    "the border is one for all rows: give each row its own": [
        ("[..., -1:]", "[..., -1:].amin()"), GLOBAL, f"{GLOBAL}\nreturn kept.softmax(dim=-1)"],
    "equal scores count once for the border: count each of them up to the k-th largest":
        f"s = {SORTED}\n"
        "again = torch.cat([s[..., :1] > torch.inf, s[..., 1:] == s[..., :-1]], -1)\n"
        "least = s.masked_fill(again, -torch.inf).topk(k, dim=-1).values[..., -1:]",
    "probabilities that are rounded to 0 stay 0 when they are raised to a power: divide the scores":
        "p = kept.softmax(dim=-1) ** (1 / temperature)\nreturn p / p.sum(-1, keepdim=True)",
    "what goes gets the score 0, and still has weight: fill with -inf": ("-torch.inf", "0.0"),
    "scores may be lower than the number you fill with: fill with -inf": [
        ("-torch.inf", "-100.0"), ("-torch.inf", "-1e9")],
    "the probability of what goes is lost: share it out among those that stay":
        "kept = (scores / temperature).softmax(dim=-1)\n"
        "return kept.masked_fill(scores < least, 0.0)",
    "the temperature is ignored: divide the scores by it": "return kept.softmax(dim=-1)",
    "the scores are multiplied by the temperature: a high one should make all tokens more alike": (
        "/ temperature", "* temperature"),
    "probabilities are divided by the temperature: divide the scores by it, before the softmax":
        "return kept.softmax(dim=-1) / temperature",
    "it is divided by the root of the temperature: divide by the temperature itself": (
        "/ temperature", "/ temperature**0.5"),
    "these are logarithms: take the softmax": (".softmax(", ".log_softmax("),
    "these are the scores: the softmax over the vocabulary is missing": "return kept / temperature",
    "exp of the scores is too large or too small: use softmax, which takes the largest away":
        "p = (kept / temperature).exp()\nreturn p / p.sum(-1, keepdim=True)",
    "the softmax runs over the rows: let it run over the vocabulary": (
        "softmax(dim=-1)", "softmax(dim=0)"),
    "the border is sought along another axis: look for it in the vocabulary, the last axis":
        "least = scores.topk(min(k, len(scores)), dim=0).values[-1:]",
    "only the k probabilities come back: return the others as zeros":
        "return (scores.topk(k, dim=-1).values / temperature).softmax(-1)",
    "the probabilities come back in order of size: put each at its token's place":
        "return (kept / temperature).softmax(dim=-1).sort(-1, descending=True).values",
    "this is the likeliest token: return the probabilities from which one is drawn":
        "return kept.argmax(-1)",
    "the temperature has no default: it should be 1": (" = 1.0", ""),
    "a small number is added to the temperature: divide by it as it is": (
        "/ temperature", "/ (temperature + 1e-6)"),
    LOOP: "rows = [row.sort().values[-k] for row in scores.reshape(-1, scores.shape[-1])]\n"
        "least = torch.stack(rows).reshape(*scores.shape[:-1], 1)",
    messages.BATCH: "least = scores.topk(k, dim=1).values[:, -1:]",
})  # fmt: skip
