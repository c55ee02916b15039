"""Exercise padded_perplexity: how many tokens a model seems to choose from, text by text."""

import torch

from judge import hints, variants
from judge.exercise import WHATEVER, Case, Exercise

LOOP = "it loops over texts or positions: one mask of lengths serves all of them"
exercise = Exercise.read(__name__, usual_hints={"loops": LOOP, "loops_over_a_batch": LOOP})


@exercise.reference
def text_by_text(scores, tokens, lengths):
    n, vocabulary = scores.shape[-2:]
    found = []
    for rows, text, length in zip(
        scores.reshape(-1, n, vocabulary),
        tokens.reshape(-1, n).tolist(),
        lengths.flatten().tolist(),
        strict=True,
    ):
        # of no rows the sum is 0, and so is its gradient
        nats = rows[:0].sum()
        for t in range(length - 1):
            # less the largest: exp of the scores themselves may be too large
            rest = rows[t] - rows[t].amax()
            nats = nats + (rest.logsumexp(0) - rest[text[t + 1]]) / (length - 1)
        found.append(nats.exp())
    return torch.stack(found).reshape(lengths.shape)


def drawn(draw, *batch, n, vocabulary, lengths):
    """Scores, tokens and lengths."""
    tokens = torch.randint(vocabulary, (*batch, n), generator=draw.generator)
    scores = draw.normal(*batch, n, vocabulary)
    return scores, tokens, torch.tensor(lengths).reshape(batch)


@exercise.unread(*WHATEVER)
def beyond(scores, tokens, lengths):
    return {"scores": (torch.arange(tokens.shape[-1]) >= lengths[..., None] - 1)[..., None]}


@exercise.cases
def cases(draw):
    n, vocabulary = draw.sizes(2, 6, 9)
    scores, tokens, lengths = drawn(draw, 4, n=n, vocabulary=vocabulary, lengths=[n, 2, 4, n - 2])
    sizes = f"n={n}, {vocabulary} tokens in the vocabulary"
    yield Case(
        f"4 texts, {sizes}",
        (scores, tokens, lengths),
        longer=drawn(draw, 6, n=60, vocabulary=130, lengths=[60, 31, 1, 59, 2, 47]),
    )
    yield Case(f"one text without a batch, {sizes}", (scores[3], tokens[3], lengths[3]))
    axes = drawn(draw, 2, 3, n=5, vocabulary=8, lengths=[3, 5, 2, 5, 4, 2])
    yield Case("two leading axes", axes)
    whole = drawn(draw, 3, n=4, vocabulary=7, lengths=[4, 4, 4])
    yield Case("no padding", whole)
    short = drawn(draw, 4, n=5, vocabulary=6, lengths=[1, 5, 0, 3])
    yield Case("a text of one token, and one without any", short)
    far = torch.arange(n) >= lengths[:, None] - 1
    yield Case(
        "NaN in all rows that are asked for nothing",
        (scores.masked_fill(far[..., None], torch.nan), tokens, lengths),
    )
    yield Case("infinity in them", (scores.masked_fill(far[..., None], torch.inf), tokens, lengths))
    yield Case("-infinity in them", (scores.masked_fill(far[..., None], -torch.inf), tokens,
               lengths))  # fmt: skip
    same = drawn(draw, 5, n=5, vocabulary=5, lengths=[5, 3, 2, 4, 5])
    yield Case("as many texts as tokens, and as in the vocabulary", same)
    yield Case(
        "padding with token 0, which texts have, too",
        (scores, torch.where(far, 0, tokens.clamp(max=1)), lengths),
    )
    away = scores + 1000 * draw.normal(4, n, 1)
    yield Case("scores around 1000 and around -1000", (away, tokens, lengths))
    # the token that comes is far less likely than another, once
    rare = scores.clone()
    rare[0, 1] = 800.0 * (torch.arange(vocabulary) != tokens[0, 2])
    yield Case("one token that is very unlikely", (rare, tokens, lengths), gradient=False)
    rarer = scores.clone()
    rarer[0, 1] = 2000.0 * (torch.arange(vocabulary) != tokens[0, 2])
    yield Case("one token that costs 2000 nats", (rarer, tokens, lengths), gradient=False)
    yield Case("scores around 20000", (20000 + scores, tokens, lengths))
    yield Case("texts without a token", (scores, tokens, 0 * lengths))
    following = torch.arange(vocabulary) == tokens.roll(-1, -1)[..., None]
    yield Case("tokens that are nearly certain", (scores + 50.0 * following, tokens, lengths))
    yield Case("all tokens are equally likely", (0 * scores, tokens, lengths))
    yield Case("texts of two tokens", (scores[:, :2], tokens[:, :2], lengths.clamp(max=2)))
    yield Case("n=1, so nothing is predicted", (scores[:, :1], tokens[:, :1], lengths.clamp(max=1)))


@exercise.valid
def plain(scores, tokens, lengths):
    n = tokens.shape[-1]
    asked = torch.arange(1, n, device=tokens.device) < lengths[..., None]
    rows = scores[..., :-1, :].masked_fill(~asked[..., None], 0.0)
    log_p = rows.log_softmax(dim=-1)
    chosen = log_p.gather(-1, tokens[..., 1:, None])[..., 0]
    nats = -chosen.masked_fill(~asked, 0.0).sum(dim=-1)
    count = (lengths - 1).clamp(min=1)
    return (nats / count).exp()


@exercise.valid
def by_torch_s_loss(scores, tokens, lengths):
    n = tokens.shape[-1]
    asked = torch.arange(n, device=tokens.device) < lengths[..., None] - 1
    labels = torch.where(asked, tokens.roll(-1, -1), -100)
    nats = torch.nn.functional.cross_entropy(
        torch.where(asked[..., None], scores, 0.0).flatten(0, -2), labels.flatten(),
        reduction="none",
    ).reshape(tokens.shape)  # fmt: skip
    return torch.exp(nats.sum(-1) / asked.sum(-1).clamp(min=1))


@exercise.valid
def of_the_rows_that_count(scores, tokens, lengths):
    place = torch.arange(tokens.shape[-1], device=tokens.device)
    asking = place < lengths.unsqueeze(-1) - 1
    told = (place > 0) & (place < lengths.unsqueeze(-1))
    log_p = scores[asking].log_softmax(-1)
    bits = -log_p.take_along_dim(tokens[told][:, None], -1)[:, 0] / 0.6931471805599453
    text = torch.arange(lengths.numel(), device=tokens.device).reshape(lengths.shape)
    text = text.unsqueeze(-1).expand(tokens.shape)[asking]
    total = scores.new_zeros(lengths.numel()).index_add(0, text, bits).reshape(lengths.shape)
    return 2 ** (total / (lengths - 1).clamp(min=1))


ASKED = "torch.arange(1, n, device=tokens.device) < lengths[..., None]"
ROWS = "scores[..., :-1, :].masked_fill(~asked[..., None], 0.0)"
LOG_P, FOLLOWING = "rows.log_softmax(dim=-1)", "tokens[..., 1:, None]"
KEPT, SUM = "chosen.masked_fill(~asked, 0.0)", ".sum(dim=-1)"
COUNT, RESULT = "(lengths - 1).clamp(min=1)", "(nats / count).exp()"
# rows and tokens of all n places
PLACES = "torch.arange(n, device=tokens.device)"
ALL_ROWS = ROWS.replace("[..., :-1, :]", "")
variants.right(exercise,
    (ROWS, "scores[..., :-1, :].where(asked[..., None], 1.0)", KEPT, "(chosen * asked)"),
    (ROWS, "scores[..., :-1, :].nan_to_num(0.0, 0.0, 0.0)", KEPT, "chosen.where(asked, 0.0)"),
    (LOG_P, "rows - rows.logsumexp(dim=-1, keepdim=True)",
     COUNT, "asked.sum(dim=-1).maximum(torch.ones_like(lengths))"),
    # 1 divided by the geometric mean of the probabilities
    (RESULT, "1 / (-nats / count).exp()"),
    (ASKED, f"{PLACES} < lengths[..., None] - 1", ROWS, ALL_ROWS,
     FOLLOWING, "tokens.roll(-1, -1)[..., None]"),
    # a text that predicts nothing divides 0 by any number
    (COUNT, "(lengths - 1).where(lengths > 1, 7)"),
)  # fmt: skip
variants.wrong(exercise, {
    "scores are cut off at some size: they may be of any": (
        ROWS, f"{ROWS}.clamp(-1e4, 1e4)"),
    "what a token costs is cut off: it may be as unlikely as it wants": (
        LOG_P, f"{LOG_P}.clamp(min=-1000)"),
    hints.CUT_OFF: [
        ("    asked", f"    if n == 1:\n        return {ones}\n    asked")
        for ones in ("torch.ones(lengths.shape, dtype=scores.dtype)",
                     "scores.new_ones(lengths.shape)")]
    + [("    asked", "    if not (lengths > 1).any():\n"
        "        return scores.new_ones(lengths.shape)\n    asked")],
    "a row is asked for the token at its own place: row t scores token t + 1": (
        ASKED, f"{PLACES} < lengths[..., None]", ROWS, ALL_ROWS, FOLLOWING, "tokens[..., None]",
        COUNT, "lengths.clamp(min=1)"),
    "rows and tokens are shortened at the same end: row t scores token t + 1": [
        (FOLLOWING, "tokens[..., :-1, None]"),
        (ROWS, ROWS.replace(":-1, :]", "1:, :]"))],
    "the shift goes the wrong way: row t scores token t + 1, and not t - 1": (
        ROWS, ROWS.replace(":-1, :]", "1:, :]"), FOLLOWING, "tokens[..., :-1, None]"),
    "the first token is asked for, by the last row: nothing predicts it": (
        ASKED, f"{PLACES} < lengths[..., None]", ROWS, ALL_ROWS,
        FOLLOWING, "tokens.roll(-1, -1)[..., None]", COUNT, "lengths.clamp(min=1)"),
    "padding counts as well: a text's own tokens end at its length": (
        ASKED, "torch.arange(1, n, device=tokens.device) < 0 * lengths[..., None] + n",
        COUNT, "max(1, n - 1)"),
    "padding counts in the sum: a text's own tokens end at its length": (
        ASKED, "torch.arange(1, n, device=tokens.device) < 0 * lengths[..., None] + n"),
    "it is divided by the padded length: divide by the number of tokens that are predicted": (
        COUNT, "max(1, n - 1)"),
    "it is divided by the length: a text has one token fewer that is predicted": (
        COUNT, "lengths.clamp(min=1)"),
    "the row of a text's last token is asked for padding: it has nothing to predict": [
        (ASKED, "torch.arange(1, n, device=tokens.device) <= lengths[..., None]"),
        (ASKED, "torch.arange(1, n, device=tokens.device) <= lengths[..., None]",
         COUNT, "lengths.clamp(min=1)"),
        (ASKED, f"{PLACES[:-len(', device=tokens.device)')]} - 1, device=tokens.device) < "
         "lengths[..., None]", COUNT, "asked.sum(dim=-1).clamp(min=1)")],
    "a text's last token is left out: it is predicted, too": [
        (ASKED, "torch.arange(2, n + 1, device=tokens.device) < lengths[..., None]",
         COUNT, "asked.sum(dim=-1).clamp(min=1)"),
        (ASKED, "torch.arange(2, n + 1, device=tokens.device) < lengths[..., None]")],
    "the second token is left out: the first row predicts it": (
        ASKED, "(torch.arange(1, n, device=tokens.device) < lengths[..., None]) & "
        "(torch.arange(1, n, device=tokens.device) > 1)", COUNT, "asked.sum(-1).clamp(min=1)"),
    "padding is told by token 0, which texts have as well: go by the lengths": [
        (ASKED, f"({ASKED}) & (tokens[..., 1:] != 0)", COUNT, "asked.sum(-1).clamp(min=1)"),
        (ASKED, "tokens[..., 1:] != 0", COUNT, "asked.sum(-1).clamp(min=1)"),
        (ASKED, "tokens[..., 1:] != 0", COUNT, "max(1, n - 1)")],
    "one length serves all texts: each has its own": [
        ("lengths[..., None]", "lengths.max()"),
        ("lengths[..., None]", "lengths.reshape(-1)[0]")],
    "there is one perplexity for all texts: each has its own": [
        (RESULT, "(nats.sum() / (lengths - 1).clamp(min=0).sum().clamp(min=1)).exp()"),
        (RESULT, "(nats.sum() / (lengths - 1).clamp(min=0).sum().clamp(min=1)).exp()"
         ".expand(lengths.shape)"),
        (RESULT, "(nats / count).exp().mean()")],
    "a text that predicts nothing divides 0 by 0: its perplexity is 1": (
        COUNT, "(lengths - 1).clamp(min=0)"),
    "a text without any token has a perplexity of 1, too: 0 divided by -1 + 1 is NaN": (
        COUNT, "(lengths - 1).where(lengths != 1, 1) + (lengths == 0)"),
    "a text that predicts nothing gets 0: its perplexity is 1": (
        RESULT, "(nats / count).exp().where(lengths > 1, 0.0)"),
    "a text that predicts nothing gets infinity: its perplexity is 1": (
        RESULT, "(nats / count).exp().where(lengths > 1, torch.inf)"),
    "a small number is added to the divisor: only where nothing is predicted another is needed": [
        (COUNT, f"(lengths - 1).clamp(min=0) + {some}") for some in ("1e-6", "1e-5")],
    "this is the mean of -ln p: the perplexity is exp of it": (RESULT, "nats / count"),
    "these are bits for each token: the perplexity is 2 to the power of these": (
        RESULT, "nats / count / 0.6931471805599453"),
    "the bases differ: 2 to the power of nats. Take exp, or make bits of them": (
        RESULT, "2 ** (nats / count)"),
    "the bases differ: exp of bits. Take 2 to the power of them, or keep nats": (
        RESULT, "(nats / count / 0.6931471805599453).exp()"),
    "the sum of the nats becomes the exponent: it is their mean": (RESULT, "nats.exp()"),
    "the mean of 1 / p is taken: average the logarithms, and then take exp": (
        KEPT, "(-(-chosen).exp()).masked_fill(~asked, 0.0)",
        RESULT, "(nats / count).where(lengths > 1, 1.0)"),
    "1 divided by the mean probability is another mean: average the logarithms": (
        KEPT, "(-chosen.exp()).masked_fill(~asked, 0.0)",
        RESULT, "(count / nats).where(lengths > 1, 1.0)"),
    "the sign is wrong: a perplexity is at least 1": (RESULT, "(-nats / count).exp()"),
    "it is not the perplexity of what the model says, but of the tokens that came": (
        "log_p.gather(-1, tokens[..., 1:, None])[..., 0]", "log_p.amax(dim=-1)"),
    "this is exp of the entropy of what the model says: ask for the tokens that came": (
        "log_p.gather(-1, tokens[..., 1:, None])[..., 0]", "(log_p.exp() * log_p).sum(dim=-1)"),
    "the logarithm of a probability that is rounded to 0 is -inf: use log_softmax": (
        LOG_P, "rows.softmax(dim=-1).log()"),
    "very unlikely tokens are made less so: use log_softmax, which needs no least probability": [
        (LOG_P, f"({shown}).log()") for some in ("1e-8", "1e-9", "1e-10", "1e-12")
        for shown in (f"rows.softmax(dim=-1) + {some}", f"rows.softmax(dim=-1).clamp(min={some})")],
    "exp of a large score overflows: use log_softmax, which takes the largest away": (
        LOG_P, "rows - rows.exp().sum(dim=-1, keepdim=True).log()"),
    "the scores are taken for logarithms of probabilities: log_softmax makes them so": (
        LOG_P, "rows"),
    "log_softmax runs over the positions: it runs over the vocabulary": (
        "log_softmax(dim=-1)", "log_softmax(dim=-2)"),
    "a repeated token is left out: each but the first is predicted": (
        ASKED, "(torch.arange(1, n, device=tokens.device) < lengths[..., None]) & "
        "(tokens[..., 1:] != tokens[..., :-1])", COUNT, "asked.sum(-1).clamp(min=1)"),
    "0 times NaN is NaN: choose, with masked_fill or torch.where": (
        ROWS, "scores[..., :-1, :]", KEPT, "(chosen * asked)"),
    "infinity is no NaN, and log_softmax makes a NaN of it: put zeros in place of the whole row": (
        ROWS, "scores[..., :-1, :].nan_to_num(0.0, torch.inf, -torch.inf)",
        KEPT, "(chosen * asked)"),
    "the numbers are right, but rows that are asked for nothing make gradients NaN: put zeros in "
    "their place before log_softmax, by a choice and not by a product": [
        (ROWS, "scores[..., :-1, :] * asked[..., None]"),
        (ROWS, "scores[..., :-1, :]"),
        (ROWS, "scores[..., :-1, :]", KEPT, "chosen.where(asked, 0.0)"),
        (ROWS, "scores[..., :-1, :]", KEPT, "chosen.nan_to_num(0.0).where(asked, 0.0)")],
    LOOP: [
        (LOG_P, "torch.stack([rows[..., t, :].log_softmax(-1) for t in range(n - 1)], dim=-2)\\\n"
         "        if n > 1 else rows"),
        ("    n = tokens.shape[-1]\n", "    n = tokens.shape[-1]\n    if lengths.dim():\n"
         "        three = zip(scores, tokens, lengths, strict=True)\n"
         "        return torch.stack([plain(*one) for one in three])\n")],
    hints.DEVICE: (", device=tokens.device", ""),
    hints.CHANGES: (ROWS, "scores[..., :-1, :].detach().masked_fill_(~asked[..., None], 0.0) * 0"
                    "\\\n        + scores[..., :-1, :]"),
    hints.BATCH: (ROWS, "scores[:, :-1].masked_fill(~asked[..., None], 0.0)"),
})  # fmt: skip
