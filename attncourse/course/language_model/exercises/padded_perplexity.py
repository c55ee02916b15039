"""Exercise padded_perplexity: how many tokens a model seems to choose from, text by text."""

import torch

from judge import messages, variants
from judge.exercise import WHATEVER, Case, Exercise

LOOP = "you loop over texts or positions: take one mask of lengths for all of them"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def text_by_text(scores, tokens, lengths):
    n, vocabulary = scores.shape[-2:]
    perplexities = []
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
        perplexities.append(nats.exp())
    return torch.stack(perplexities).reshape(lengths.shape)


def draw_inputs(draw, *batch, n, vocabulary, lengths):
    """Scores, tokens and lengths."""
    tokens = torch.randint(vocabulary, (*batch, n), generator=draw.generator)
    scores = draw.normal(*batch, n, vocabulary)
    return scores, tokens, torch.tensor(lengths).reshape(batch)


@exercise.unread(*WHATEVER)
def unasked_rows(scores, tokens, lengths):
    return {"scores": (torch.arange(tokens.shape[-1]) >= lengths[..., None] - 1)[..., None]}


@exercise.cases
def cases(draw):
    n, vocabulary = draw.sizes(2, 6, 9)
    scores, tokens, lengths = draw_inputs(
        draw, 4, n=n, vocabulary=vocabulary, lengths=[n, 2, 4, n - 2]
    )
    sizes = f"n={n}, {vocabulary} tokens in the vocabulary"
    longer = draw_inputs(draw, 6, n=60, vocabulary=130, lengths=[60, 31, 1, 59, 2, 47])
    yield Case(f"4 texts, {sizes}", (scores, tokens, lengths), longer=longer)
    yield Case(f"one text without a batch, {sizes}", (scores[3], tokens[3], lengths[3]))
    axes = draw_inputs(draw, 2, 3, n=5, vocabulary=8, lengths=[3, 5, 2, 5, 4, 2])
    yield Case("two leading axes", axes)
    yield Case("no padding", draw_inputs(draw, 3, n=4, vocabulary=7, lengths=[4, 4, 4]))
    short = draw_inputs(draw, 4, n=5, vocabulary=6, lengths=[1, 5, 0, 3])
    yield Case("a text of one token, and one without any", short)
    unasked = (torch.arange(n) >= lengths[:, None] - 1)[..., None]
    for filler in (torch.nan, torch.inf, -torch.inf):
        name = f"{filler} in all rows that are asked for nothing"
        yield Case(name, (scores.masked_fill(unasked, filler), tokens, lengths))
    equal_sizes = draw_inputs(draw, 5, n=5, vocabulary=5, lengths=[5, 3, 2, 4, 5])
    yield Case("as many texts as tokens, and as in the vocabulary", equal_sizes)
    zeros = torch.where(unasked[..., 0], 0, tokens.clamp(max=1))
    yield Case("padding with token 0, which also occurs in the texts", (scores, zeros, lengths))
    shifted = scores + 1000 * draw.normal(4, n, 1)
    yield Case("scores around 1000 and around -1000", (shifted, tokens, lengths))
    for nats in (800, 2000):
        rare = scores.clone()
        rare[0, 1] = nats * (torch.arange(vocabulary) != tokens[0, 2])
        yield Case(f"one token that costs {nats} nats", (rare, tokens, lengths), gradient=False)
    yield Case("scores around 20000", (20000 + scores, tokens, lengths))
    yield Case("texts of length 0", (scores, tokens, 0 * lengths))
    following = torch.arange(vocabulary) == tokens.roll(-1, -1)[..., None]
    yield Case("tokens that are nearly certain", (scores + 50.0 * following, tokens, lengths))
    yield Case("all tokens are equally likely", (0 * scores, tokens, lengths))
    yield Case("texts of two tokens", (scores[:, :2], tokens[:, :2], lengths.clamp(max=2)))
    yield Case("n=1, so nothing is predicted", (scores[:, :1], tokens[:, :1], lengths.clamp(max=1)))


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


variants.right(exercise,
    "rows = scores[..., :-1, :].where(asked[..., None], 1.0)\n"
    "log_p = rows - rows.logsumexp(dim=-1, keepdim=True)\n"
    "nats = -(chosen * asked).sum(dim=-1)",
    "rows = scores[..., :-1, :].nan_to_num(0.0, 0.0, 0.0)\n"
    "count = asked.sum(dim=-1).maximum(torch.ones_like(lengths))\n"
    # 1 divided by the geometric mean of the probabilities
    "return 1 / (-nats / count).exp()",
    "asked = torch.arange(n, device=tokens.device) < lengths[..., None] - 1\n"
    "rows = scores.masked_fill(~asked[..., None], 0.0)\n"
    "chosen = log_p.gather(-1, tokens.roll(-1, -1)[..., None])[..., 0]",
    # a text that predicts nothing divides 0 by any number
    ("(lengths - 1).clamp(min=1)", "(lengths - 1).where(lengths > 1, 7)"),
    # the gradient of a fill is 0, whatever comes back to it
    "return (nats / asked.sum(dim=-1)).exp().nan_to_num(1.0)",
)  # fmt: skip
variants.wrong(exercise, {
    "you ask each row for the token at its own place: ask row t for token t + 1":
        "asked = torch.arange(n, device=tokens.device) < lengths[..., None]\n"
        "rows = scores.masked_fill(~asked[..., None], 0.0)\n"
        "chosen = log_p.gather(-1, tokens[..., None])[..., 0]\n"
        "return (nats / lengths.clamp(min=1)).exp()",
    "you shorten rows and tokens at the same end: ask row t for token t + 1": [
        ("tokens[..., 1:, None]", "tokens[..., :-1, None]"),
        ("scores[..., :-1, :]", "scores[..., 1:, :]")],
    "you shift the wrong way: ask row t for token t + 1, not t - 1": (
        "scores[..., :-1, :]", "scores[..., 1:, :]",
        "tokens[..., 1:, None]", "tokens[..., :-1, None]"),
    "you ask the last row for the first token: leave that out, because nothing predicts the first "
    "token":
        "asked = torch.arange(n, device=tokens.device) < lengths[..., None]\n"
        "rows = scores.masked_fill(~asked[..., None], 0.0)\n"
        "chosen = log_p.gather(-1, tokens.roll(-1, -1)[..., None])[..., 0]\n"
        "return (nats / lengths.clamp(min=1)).exp()",
    "padding counts as well: leave out everything beyond a text's length":
        "asked = torch.ones_like(tokens[..., 1:], dtype=torch.bool)\n"
        "return (nats / max(1, n - 1)).exp()",
    "padding counts in the sum: leave everything beyond a text's length out of the sum":
        "asked = torch.ones_like(tokens[..., 1:], dtype=torch.bool)",
    "you divide by the padded length: divide by the number of tokens that are predicted": (
        "(lengths - 1).clamp(min=1)", "max(1, n - 1)"),
    "you divide by the length: divide by one less, because the first token isn't predicted": (
        "(lengths - 1)", "lengths"),
    "the row of a text's last token is asked for padding: leave this row out, because it has "
    "nothing to predict": [
        ("< lengths[..., None]", "<= lengths[..., None]", *count)
        for count in ((), ("(lengths - 1)", "lengths"), ("(lengths - 1)", "asked.sum(dim=-1)"))],
    "a text's last token is left out: count it, because it is predicted, too": [
        ("< lengths[..., None]", "< lengths[..., None] - 1", *count)
        for count in ((), ("(lengths - 1)", "asked.sum(dim=-1)"))],
    "you recognise padding by token 0, which texts have as well: go by the lengths": [
        "asked = tokens[..., 1:] != 0",
        ("    rows", "    asked = asked & (tokens[..., 1:] != 0)\n    rows",
         "(lengths - 1)", "asked.sum(dim=-1)"),
        "asked = tokens[..., 1:] != 0\nreturn (nats / asked.sum(dim=-1).clamp(min=1)).exp()",
        "asked = tokens[..., 1:] != 0\nreturn (nats / max(1, n - 1)).exp()"],
    "you use one length for all texts: use each text's own": [
        ("lengths[..., None]", "lengths.max()"),
        ("lengths[..., None]", "lengths.flatten()[0]")],
    "you return one perplexity for all texts: give each text its own": [
        "mean = nats.sum() / asked.sum().clamp(min=1)\nreturn mean.exp()",
        "mean = nats.sum() / asked.sum().clamp(min=1)\nreturn mean.exp().expand(lengths.shape)",
        "return (nats / (lengths - 1).clamp(min=1)).exp().mean()"],
    "for a text with nothing to predict, you divide 0 by 0: its perplexity should be 1": [
        ("clamp(min=1)", "clamp(min=0)"), ("(lengths - 1).clamp(min=1)", "(lengths - 1)"),
        ("(lengths - 1).clamp(min=1)", "asked.sum(dim=-1)")],
    **{f"a text with nothing to predict gets a perplexity of {said}: it should be 1":
        f"return (nats / (lengths - 1).clamp(min=1)).exp().where(lengths > 1, {given})"
        for said, given in {"0": "0.0", "infinity": "torch.inf"}.items()},
    "you add a small number to the divisor: change the divisor only where nothing is predicted": [
        ("(lengths - 1).clamp(min=1)", f"((lengths - 1).clamp(min=0) + {epsilon})")
        for epsilon in ("1e-6", "1e-5")],
    "you return the mean of -ln p: take exp of it": (").exp()", ")"),
    "you return bits per token: raise 2 to that power": (
        ").exp()", ") / 0.6931471805599453"),
    "you raise 2 to a number of nats: take exp, or convert the nats to bits": (
        "return ", "return 2 ** ", ").exp()", ")"),
    "you take exp of a number of bits: raise 2 to that power, or stay with nats": (
        "(nats", "(nats / 0.6931471805599453"),
    "you take exp of the sum of the nats: take exp of their mean": "return nats.exp()",
    "you average 1 / p: average the logarithms, and then take exp":
        "sums = (1 / chosen.exp()).masked_fill(~asked, 0.0).sum(dim=-1)\n"
        "return (sums / (lengths - 1).clamp(min=1)).where(lengths > 1, 1.0)",
    "you divide 1 by the mean probability: average the logarithms instead":
        "sums = chosen.exp().masked_fill(~asked, 0.0).sum(dim=-1)\n"
        "return ((lengths - 1).clamp(min=1) / sums).where(lengths > 1, 1.0)",
    "the sign is wrong: a perplexity should be at least 1": ("-chosen", "chosen"),
    "you compute the perplexity of the likeliest tokens: use the text's own tokens":
        "chosen = log_p.amax(dim=-1)",
    "you take exp of the entropy of the model's probabilities: use only the probabilities of the "
    "text's own tokens":
        "chosen = (log_p.exp() * log_p).sum(dim=-1)",
    "a small probability is rounded to 0, whose logarithm is -inf: use log_softmax":
        "log_p = rows.softmax(dim=-1).log()",
    "you raise the probability of very unlikely tokens: use log_softmax, which needs no "
    "lower limit": [
        f"log_p = {p}.log()" for epsilon in ("1e-8", "1e-9", "1e-10", "1e-12") for p in (
            f"(rows.softmax(dim=-1) + {epsilon})", f"rows.softmax(dim=-1).clamp(min={epsilon})")],
    "exp of a large score overflows: use log_softmax, which subtracts the largest score first":
        "log_p = rows - rows.exp().sum(dim=-1, keepdim=True).log()",
    "you use the scores as if they were logarithms of probabilities: apply log_softmax first":
        "log_p = rows",
    "log_softmax runs over the positions: let it run over the vocabulary": (
        "log_softmax(dim=-1)", "log_softmax(dim=-2)"),
    "your product multiplies 0 by NaN, which gives NaN: choose, with masked_fill or torch.where":
        "rows = scores[..., :-1, :]\nnats = -(chosen * asked).sum(dim=-1)",
    "you replace only NaN, but log_softmax makes NaN of infinity, too: put zeros in place of the "
    "whole row":
        "rows = scores[..., :-1, :].nan_to_num(0.0, torch.inf, -torch.inf)\n"
        "nats = -(chosen * asked).sum(dim=-1)",
    "the numbers are right, but rows that predict nothing make gradients NaN: replace them with "
    "zeros before log_softmax, and not by multiplying": [
        "rows = scores[..., :-1, :]", "rows = scores[..., :-1, :] * asked[..., None]"],
    LOOP: [
        "log_p = torch.stack([row.log_softmax(dim=-1) for row in rows.unbind(-2)], dim=-2)\\\n"
        "    if n > 1 else rows",
        ("    n =", "    if lengths.dim():\n"
         "        texts = zip(scores, tokens, lengths, strict=True)\n"
         "        return torch.stack([padded_perplexity(*text) for text in texts])\n    n =")],
    messages.CUT_OFF: ("    asked", "    if n == 1:\n"
                    "        return scores.new_ones(lengths.shape)\n    asked"),
    messages.DEVICE: (", device=tokens.device", ""),
    messages.CHANGES: "scores.detach()[..., :-1, :].masked_fill_(~asked[..., None], 0.0)\n"
        "rows = scores[..., :-1, :].masked_fill(~asked[..., None], 0.0)",
    messages.BATCH: ("scores[..., :-1, :]", "scores[:, :-1]"),
})  # fmt: skip
