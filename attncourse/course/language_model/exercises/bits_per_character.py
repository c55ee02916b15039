"""Exercise bits_per_character: how many bits a model spends on each character of a text."""

import math

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over texts or tokens: one log_softmax and one gather serve all of them"
exercise = Exercise.read(
    __name__,
    usual_hints={"loops": LOOP},
    without={
        "loops_over_a_batch": "one result for all texts: what is stacked has another shape",
        "squeezed": "the result has no axis that could be lost",
        "made_on_the_cpu": "a number that lies on the CPU may be added to any tensor",
    },
)


@exercise.reference
def token_by_token(scores, labels, widths):
    bits, characters = 0.0, 0
    rows = scores.reshape(-1, scores.shape[-1]).unbind()
    for row, label in zip(rows, labels.flatten().tolist(), strict=True):
        if label != -100:
            # less the largest: exp of the scores themselves may be too large
            rest = row - row.amax()
            bits = bits + (rest.logsumexp(0) - rest[label]) / math.log(2)
            characters += int(widths[label])
    return bits / characters


def drawn(draw, *batch, n, vocabulary, ignored=0.3):
    """Scores, labels of which some are ignored, the first and the last never, and widths.

    The last token of the vocabulary has no characters.
    """
    labels = torch.randint(vocabulary, (*batch, n), generator=draw.generator)
    some = torch.rand(*batch, n, generator=draw.generator) < ignored
    some[..., 0] = some[..., -1] = False
    widths = draw.integers(1, 9, vocabulary)
    widths[-1] = 0
    # a token that has characters counts in each text
    labels[..., 0] = draw.integer(0, vocabulary - 2)
    scores = draw.normal(*batch, n, vocabulary)
    return scores, labels.masked_fill(some, -100), widths


@exercise.cases
def cases(draw):
    n, vocabulary = draw.sizes(2, 5, 8)
    scores, labels, widths = drawn(draw, 3, n=n, vocabulary=vocabulary)
    labels[:, 1] = vocabulary - 1
    labels[0, 2] = -100
    sizes = f"n={n}, {vocabulary} tokens in the vocabulary"
    yield Case(f"3 texts, {sizes}", (scores, labels, widths),
               longer=drawn(draw, 6, n=60, vocabulary=130))  # fmt: skip
    yield Case(f"one text without a batch, {sizes}", (scores[0], labels[0], widths))
    yield Case("two leading axes", drawn(draw, 2, 3, n=4, vocabulary=9))
    yield Case("no label is ignored", drawn(draw, 3, n=4, vocabulary=6, ignored=0.0))
    uneven = labels.clone()
    uneven[0, 1:] = uneven[2, 2:] = -100
    yield Case("one text with many labels, two with few", (scores, uneven, widths))
    edges = labels.clone()
    edges[:, :2] = edges[:, -1] = -100
    edges[:, 2] = 0
    yield Case("the first labels and the last one are ignored", (scores, edges, widths))
    several = widths.clone()
    several[1:4] = 0
    spread = torch.stack([torch.randperm(5, generator=draw.generator) for _ in range(3)])
    yield Case("several tokens without characters", (scores[:, :5], spread, several))
    yield Case("as many texts as tokens, and as in the vocabulary",
               drawn(draw, 6, n=6, vocabulary=6))  # fmt: skip
    common = torch.where(labels < 0, -100, 0)
    yield Case("token 0 again and again", (scores, common, widths))
    away = scores + 1000 * draw.normal(3, n, 1)
    yield Case("scores around 1000 and around -1000", (away, labels, widths))
    unlikely = 2000 * (torch.arange(vocabulary) != labels[..., None])
    yield Case("labels that are very unlikely", (scores + unlikely, labels, widths))
    likely = 50.0 * (torch.arange(vocabulary) == labels[..., None])
    yield Case("labels that are nearly certain", (scores + likely, labels, widths))
    yield Case("scores 10^12 times larger", (1e12 * scores, labels, widths), gradient=False)
    # the label and the token after it
    after = torch.where(labels < 0, -1, (labels + 1) % vocabulary)[..., None]
    yield Case(
        "next to each label a token whose score is -inf",
        (scores.masked_fill(torch.arange(vocabulary) == after, -torch.inf), labels, widths),
    )
    lowest = (-1e12 * (1 + scores.abs())).masked_fill(torch.arange(vocabulary) == after, -torch.inf)
    yield Case("scores below -10^12, and some of -inf", (lowest, labels, widths), gradient=False)
    barred = (labels < 0)[..., None] & (torch.arange(vocabulary) % 2 == 0)
    yield Case("tokens whose score is -inf, where the label is ignored",
               (scores.masked_fill(barred, -torch.inf), labels, widths))  # fmt: skip
    alone = torch.full_like(labels, -100)
    alone[1, 2] = 1
    yield Case("one label that counts", (scores, alone, widths))
    yield Case("one token in each text", (scores[:, :1], labels[:, :1], widths))


@exercise.valid
def plain(scores, labels, widths):
    counts = labels != -100
    log_p = scores.log_softmax(dim=-1)
    label = labels.clamp(min=0)
    chosen = log_p.gather(-1, label[..., None])[..., 0]
    bits = -chosen / math.log(2)
    total = bits.masked_fill(~counts, 0.0).sum()
    characters = widths[label].masked_fill(~counts, 0).sum()
    return total / characters


@exercise.valid
def of_the_places_that_count(scores, labels, widths):
    rows, asked = scores[labels >= 0], labels[labels >= 0]
    nats = rows.logsumexp(-1) - rows.take_along_dim(asked[:, None], -1)[:, 0]
    return nats.sum() / math.log(2) / widths[asked].sum()


@exercise.valid
def by_torch_s_loss(scores, labels, widths):
    asked = labels.flatten()
    nats = torch.nn.functional.cross_entropy(scores.flatten(0, -2), asked, reduction="sum")
    # how often each token is a label
    times = asked[asked != -100].bincount(minlength=len(widths))
    return nats / math.log(2) / (times * widths).sum()


COUNTS, LOG_P, LABEL = "labels != -100", "scores.log_softmax(dim=-1)", "labels.clamp(min=0)"
PICK, BITS = "log_p.gather(-1, label[..., None])[..., 0]", "-chosen / math.log(2)"
TOTAL, CHARACTERS = "bits.masked_fill(~counts, 0.0)", "widths[label].masked_fill(~counts, 0)"
RESULT = "total / characters"
WIDE = "(widths[label] > 0)"
EACH = f"({TOTAL}.sum(-1) / {CHARACTERS}.sum(-1))"
variants.right(exercise,
    (TOTAL, "torch.where(counts, bits, 0.0)", CHARACTERS, "(widths[label] * counts)"),
    (LOG_P, "scores - scores.logsumexp(dim=-1, keepdim=True)", TOTAL, "bits[counts]",
     CHARACTERS, "widths[labels[counts]]"),
    (LOG_P, "torch.log_softmax(scores, dim=-1) / math.log(2)", BITS, "-chosen",
     PICK, "torch.take_along_dim(log_p, label.unsqueeze(-1), -1).squeeze(-1)"),
    # a place of one row of all scores
    (PICK, "log_p.flatten()[torch.arange(labels.numel(), device=labels.device)\n"
     "        * len(widths) + label.flatten()].reshape(labels.shape)"),
    (PICK, "log_p.where(label[..., None] == torch.arange(len(widths), device=labels.device), 0.0)"
     ".sum(-1)"),
    (LOG_P, "(x := scores - scores.amax(-1, keepdim=True)) - x.exp().sum(-1, keepdim=True).log()"),
)  # fmt: skip
variants.wrong(exercise, {
    "-inf becomes a number, and a score may be lower than that: leave it": [
        (LOG_P, f"scores.nan_to_num(neginf={low}).log_softmax(dim=-1)")
        for low in ("-1e4", "-1e9")],
    "these are nats, of the natural logarithm: in bits, there are more of them": (
        BITS, "-chosen"),
    "nats become bits by a division by ln 2: here they are multiplied by it": (
        BITS, "-chosen * math.log(2)"),
    "the logarithm is that to the base 10: bits are to the base 2": (
        BITS, "-chosen / math.log(10)"),
    "these are bytes: a bit is not divided by 8": (BITS, "-chosen / math.log(256)"),
    "the sign is wrong: a probability below 1 costs a positive number of bits": (
        BITS, "chosen / math.log(2)"),
    "these are bits for each token: divide by the characters of the tokens": [
        (RESULT, "total / counts.sum()"), (CHARACTERS, "counts")],
    "the bits are divided by the number of places, those that are ignored included: divide by "
    "characters": (RESULT, "total / labels.numel()"),
    "the mean of the bits is divided by the sum of the characters: take the sum of both": (
        RESULT, "total / counts.sum() / characters"),
    "these are all the bits: divide them by the characters": (RESULT, "total"),
    "these are characters for each bit: it is the other way round": (RESULT, "characters / total"),
    "it is divided by the widths of the whole vocabulary: a token counts as often as it is a label":
        (RESULT, "total / widths.sum()"),
    "each different label adds its width once: it adds it as often as it is a label": (
        CHARACTERS, "widths[labels[counts].unique()]"),
    "a token of average width is assumed: each label has a width of its own": (
        RESULT, "total / counts.sum() / widths.to(total.dtype).mean()"),
    "the widths of ignored labels are counted as those of token 0: they add nothing": (
        CHARACTERS, "widths[label]"),
    "what is ignored costs bits here, as if its label were token 0: it adds nothing": (
        TOTAL, "bits"),
    "what is ignored counts in both sums, as if its label were token 0: leave it out": (
        TOTAL, "bits", CHARACTERS, "widths[label]"),
    "-100 is counted from the end of the vocabulary here, as some other token: leave it out": (
        LABEL, "labels % len(widths)", TOTAL, "bits", CHARACTERS, "widths[label]"),
    "only what is ignored is counted: it is the other places that count": (
        COUNTS, "labels == labels.amin()"),
    "labels of 0 are ignored, too: only those of -100 are": (COUNTS, "labels > 0"),
    "labels of 0 are ignored, and those of -100 are not: it is the other way round": (
        COUNTS, "labels != 0"),
    "the first place of each text is left out: the labels say which places count": (
        COUNTS, "(labels != -100) & ((torch.arange(labels.shape[-1], device=labels.device) > 0) | "
        "(labels.shape[-1] < 2))"),
    "a mean of the tokens' ratios is taken: add up bits and characters first, then divide": [
        (TOTAL, "(bits / widths[label]).masked_fill(~counts, 0.0)", CHARACTERS, "counts"),
        (TOTAL, f"(bits / widths[label]).where(counts & {WIDE}, 0.0)",
         CHARACTERS, f"(counts & {WIDE})"),
        (TOTAL, "(bits / widths[label].clamp(min=1)).masked_fill(~counts, 0.0)",
         CHARACTERS, "counts")],
    "each text has the same say: add up bits and characters of all texts, and divide once": (
        RESULT, f"{EACH}.mean()"),
    "there is a number for each text: add up over all texts": (RESULT, EACH),
    "there is a number for each place: add up first, then divide": (
        RESULT, "bits.masked_fill(~counts, 0.0) / characters"),
    "the bits of tokens without characters are left out: they must be paid for as well": (
        TOTAL, f"bits.where(counts & {WIDE}, 0.0)"),
    "a token without characters is counted as one character: its width is 0": (
        CHARACTERS, "widths[label].clamp(min=1).masked_fill(~counts, 0)"),
    "long tokens weigh more here: each token adds its bits once": (
        TOTAL, "(bits * widths[label]).masked_fill(~counts, 0.0)"),
    "the widths are those of the likeliest tokens: take those of the labels": (
        CHARACTERS, "widths[scores.argmax(dim=-1)].masked_fill(~counts, 0)"),
    "the characters are those that the model expects: take those of the labels": (
        CHARACTERS, "(scores.softmax(-1) * widths).sum(-1).masked_fill(~counts, 0.0)"),
    "these are the bits of the likeliest tokens: the labels are asked for": (
        PICK, "log_p.amax(dim=-1)"),
    "this is the entropy of what the model says: only the label's probability counts": (
        PICK, "(log_p.exp() * log_p.where(log_p > -torch.inf, 0.0)).sum(dim=-1)"),
    "the labels are shifted once more: row t already has its own label, at place t": [
        (LOG_P, "scores.roll(1, -2).log_softmax(dim=-1)"),
        ("    counts", "    scores, labels = scores[..., :-1, :], labels[..., 1:]\n    counts")],
    "each row is asked for the label of the place before it: row t has the label at place t": [
        (LOG_P, "scores.roll(-1, -2).log_softmax(dim=-1)"),
        ("    counts", "    scores, labels = scores[..., 1:, :], labels[..., :-1]\n    counts")],
    "the logarithm of a probability that is rounded to 0 is -inf: use log_softmax": (
        LOG_P, "scores.softmax(dim=-1).log()"),
    "very unlikely labels are made less so, but they cost many bits: use log_softmax, which needs "
    "no least probability": [
        (LOG_P, f"({shown}).log()") for some in ("1e-8", "1e-9", "1e-10", "1e-12")
        for shown in (f"scores.softmax(dim=-1) + {some}",
                      f"scores.softmax(dim=-1).clamp(min={some})")],
    "a float times whole numbers is float32: divide by the one and then by the other": (
        BITS, "-chosen", RESULT, "total / (math.log(2) * characters)"),
    "exp of a large score overflows: use log_softmax, which takes the largest away": (
        LOG_P, "scores - scores.exp().sum(dim=-1, keepdim=True).log()"),
    "the scores are taken for logarithms of probabilities: log_softmax makes them so": (
        LOG_P, "scores"),
    "log_softmax runs over the places: it runs over the vocabulary": (
        "log_softmax(dim=-1)", "log_softmax(dim=-2)"),
    "these are probabilities: bits are made of their logarithms": (LOG_P, "scores.softmax(dim=-1)"),
    "the probabilities are averaged before the logarithm: add up the logarithms": (
        TOTAL, "-chosen.exp()[counts].mean().log2() * counts"),
    "the bits become a perplexity: return them as they are": (RESULT, f"2 ** ({RESULT})"),
    "0 times -inf is NaN: pick the label's number with gather": (
        PICK, "(log_p * torch.nn.functional.one_hot(label, len(widths))).sum(dim=-1)"),
    "what is ignored may be -inf, and 0 times that is NaN: choose, with masked_fill or a boolean "
    "index": (TOTAL, "(bits * counts)"),
    "one row of labels serves all texts: each has its own": (
        LABEL, "labels.reshape(-1, labels.shape[-1])[0].clamp(min=0).expand(labels.shape)"),
    "the result is rounded: return it as it is": (RESULT, f"({RESULT}).round(decimals=2)"),
    "it gives a plain number: return a tensor, through which gradients flow": (
        RESULT, f"({RESULT}).item()"),
    LOOP: [
        (PICK, "torch.stack([log_p[..., i, :].gather(-1, label[..., i, None])[..., 0]\n"
         "        for i in range(labels.shape[-1])], dim=-1)"),
        (TOTAL, "sum(one.masked_fill(~some, 0.0) for one, some in\n"
         "        zip(bits.reshape(-1), counts.reshape(-1), strict=True))")],
    hints.CHANGES: (COUNTS, "labels.clone() != -100\n    labels.clamp_(min=0)"),
    hints.BATCH: (LOG_P, "torch.stack([*scores.log_softmax(dim=-1)])[:, :, :]"),
})  # fmt: skip
