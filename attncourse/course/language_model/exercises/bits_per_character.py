"""Exercise bits_per_character: how many bits a model spends on each character of a text."""

import math

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "you loop over texts or tokens: take one log_softmax and one gather for all of them"
exercise = Exercise.read(
    __name__,
    generic_hints={"loops": LOOP},
    without={
        "loops_over_a_batch": "one result for all texts: what is stacked has another shape",
        "squeezed": "the result has no axis that could be lost",
        "made_on_the_cpu": "a number that lies on the CPU may be added to any tensor",
    },
)
exercise.valid(variants.worked(exercise))


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


def draw_inputs(draw, *batch, n, vocabulary, ignored=0.3):
    """Scores, labels of which some are ignored, the first and the last never, and widths.

    The last token of the vocabulary has no characters.
    """
    labels = torch.randint(vocabulary, (*batch, n), generator=draw.generator)
    masked = torch.rand(*batch, n, generator=draw.generator) < ignored
    masked[..., 0] = masked[..., -1] = False
    widths = draw.integers(1, 9, vocabulary)
    widths[-1] = 0
    # a token that has characters counts in each text
    labels[..., 0] = draw.integer(0, vocabulary - 2)
    scores = draw.normal(*batch, n, vocabulary)
    return scores, labels.masked_fill(masked, -100), widths


@exercise.cases
def cases(draw):
    n, vocabulary = draw.sizes(2, 5, 8)
    scores, labels, widths = draw_inputs(draw, 3, n=n, vocabulary=vocabulary)
    labels[:, 1] = vocabulary - 1
    labels[0, 2] = -100
    sizes = f"n={n}, {vocabulary} tokens in the vocabulary"
    longer = draw_inputs(draw, 6, n=60, vocabulary=130)
    yield Case(f"3 texts, {sizes}", (scores, labels, widths), longer=longer)
    yield Case(f"one text without a batch, {sizes}", (scores[0], labels[0], widths))
    yield Case("two leading axes", draw_inputs(draw, 2, 3, n=4, vocabulary=9))
    yield Case("no label is ignored", draw_inputs(draw, 3, n=4, vocabulary=6, ignored=0.0))
    edges = labels.clone()
    edges[:, :2] = edges[:, -1] = -100
    edges[:, 2] = 0
    yield Case("the first labels and the last one are ignored", (scores, edges, widths))
    more_zeros = widths.clone()
    more_zeros[1:4] = 0
    permuted = torch.stack([torch.randperm(5, generator=draw.generator) for _ in range(3)])
    yield Case("several tokens without characters", (scores[:, :5], permuted, more_zeros))
    yield Case("6 texts of 6 tokens, 6 in the vocabulary", draw_inputs(draw, 6, n=6, vocabulary=6))
    shifted = scores + 1000 * draw.normal(3, n, 1)
    yield Case("scores around 1000 and around -1000", (shifted, labels, widths))
    unlikely = 2000 * (torch.arange(vocabulary) != labels[..., None])
    yield Case("labels that are very unlikely", (scores + unlikely, labels, widths))
    certain = 50.0 * (torch.arange(vocabulary) == labels[..., None])
    yield Case("labels that are nearly certain", (scores + certain, labels, widths))
    yield Case("scores 10^12 times larger", (1e12 * scores, labels, widths), gradient=False)
    # the token after the label
    after = torch.where(labels < 0, -1, (labels + 1) % vocabulary)[..., None]
    after = after == torch.arange(vocabulary)
    barred = scores.masked_fill(after, -torch.inf)
    yield Case("beside each label, a token whose score is -inf", (barred, labels, widths))
    low = (-1e12 * (1 + scores.abs())).masked_fill(after, -torch.inf)
    yield Case("scores below -10^12, and some of -inf", (low, labels, widths), gradient=False)
    barred_tokens = (labels < 0)[..., None] & (torch.arange(vocabulary) % 2 == 0)
    barred = scores.masked_fill(barred_tokens, -torch.inf)
    yield Case("where the label is ignored, scores of -inf", (barred, labels, widths))
    one_label = torch.full_like(labels, -100)
    one_label[1, 2] = 1
    yield Case("one label that counts", (scores, one_label, widths))
    yield Case("one token in each text", (scores[:, :1], labels[:, :1], widths))


@exercise.valid
def with_a_mask(scores, labels, widths):
    counts = labels != -100
    label = labels.clamp(min=0)
    log_p = scores.log_softmax(dim=-1).gather(-1, label[..., None])[..., 0]
    bits = -log_p.masked_fill(~counts, 0.0) / math.log(2)
    characters = widths[label].masked_fill(~counts, 0)
    return bits.sum() / characters.sum()


@exercise.valid
def by_torch_s_loss(scores, labels, widths):
    asked = labels.flatten()
    nats = torch.nn.functional.cross_entropy(scores.flatten(0, -2), asked, reduction="sum")
    # how often each token is a label
    times = asked[asked != -100].bincount(minlength=len(widths))
    return nats / math.log(2) / (times * widths).sum()


variants.right(exercise,
    "log_p = torch.log_softmax(scores, dim=-1)[counts] / math.log(2)\nbits = nats.sum()",
    "rows = scores[counts] - scores[counts].amax(dim=-1, keepdim=True)\n"
    "log_p = rows - rows.exp().sum(dim=-1, keepdim=True).log()",
    "nats = scores[counts].logsumexp(dim=-1) - scores[counts, asked]",
)  # fmt: skip
variants.right(exercise,
    "log_p = scores.log_softmax(dim=-1)[label[..., None] == torch.arange(\n"
    "    len(widths), device=labels.device)].reshape(labels.shape)\n"
    "bits = torch.where(counts, -log_p / math.log(2), 0.0)\n"
    "characters = widths[label] * counts", of=with_a_mask,
)  # fmt: skip
ROUNDED = "a small probability is rounded to 0, whose logarithm is -inf: use log_softmax"
# of both, because two mistakes are named together only where they are made of one answer
for answer in (exercise.valid_answers[0], with_a_mask):
    variants.wrong(exercise, {
        "you return nats, from the natural logarithm: convert them to bits, of which there "
        "are more": (
            " / math.log(2)", ""),
        "you multiply the nats by ln 2: divide them by it to get bits": (
            "/ math.log(2)", "* math.log(2)"),
        "the sign is wrong: a probability below 1 should cost a positive number of bits": (
            "-log_p", "log_p"),
        "labels of 0 are ignored, too: ignore only labels of -100": "counts = labels > 0",
        ROUNDED: (
            ".log_softmax(dim=-1)", ".softmax(dim=-1).log()"),
    }, of=answer)  # fmt: skip
variants.wrong(exercise, {
    "you take logarithms to base 10: take them to base 2 for bits": ("log(2)", "log(10)"),
    "you return bits per token: divide by the number of characters instead":
        "return bits / len(asked)",
    "you divide the bits by the number of places, ignored ones included: divide by characters":
        "return bits / labels.numel()",
    "you divide the mean of the bits by the sum of the characters: use the sum of the bits, too":
        "bits = nats.mean() / math.log(2)",
    "you return the sum of the bits: divide it by the number of characters": "return bits",
    "you return characters per bit: divide the other way round":
        "return widths[asked].sum() / bits",
    "you divide by the widths of the whole vocabulary: count a token's width as often as the token "
    "is a label":
        "return bits / widths.sum()",
    "each different label adds its width only once: add a token's width as often as the token is a "
    "label":
        "return bits / widths[asked.unique()].sum()",
    "you assume that every token has the average width: take each label's own width":
        "return bits / (len(asked) * widths.to(bits).mean())",
    "you average the tokens' ratios: add up bits and characters first, then divide": [
        "return (nats / math.log(2) / widths[asked]).mean()",
        "some = widths[asked] > 0\n"
        "return (nats[some] / math.log(2) / widths[asked][some]).mean()",
        "return (nats / math.log(2) / widths[asked].clamp(min=1)).mean()"],
    "the bits of tokens without characters are left out: add them, because these tokens cost bits, "
    "too": [
        "bits = nats[widths[asked] > 0].sum() / math.log(2)"],
    "a token without characters is counted as one character: its width should stay 0":
        "return bits / widths[asked].clamp(min=1).sum()",
    "you multiply each token's bits by its width: let each token add its bits once":
        "bits = (nats * widths[asked]).sum() / math.log(2)",
    "you take the widths of the likeliest tokens: take those of the labels":
        "return bits / widths[scores[counts].argmax(dim=-1)].sum()",
    "you add up the bits of the likeliest tokens: take those of the labels":
        "nats = -log_p.amax(dim=-1)",
    "you take the entropy of the model's probabilities: use only the label's probability":
        "nats = -(log_p.exp() * log_p.where(log_p > -torch.inf, 0.0)).sum(dim=-1)",
    "you shift the labels again: leave them as they are, because row t already has its label at "
    "place t": [
        "counts = labels[..., 1:] != -100\n"
        "asked = labels[..., 1:][counts]\n"
        "log_p = scores[..., :-1, :][counts].log_softmax(dim=-1)",
        "log_p = scores.roll(1, -2)[counts].log_softmax(dim=-1)"],
    "you ask each row for the label of the place before it: ask row t for the label at place t": [
        "counts = labels[..., :-1] != -100\n"
        "asked = labels[..., :-1][counts]\n"
        "log_p = scores[..., 1:, :][counts].log_softmax(dim=-1)",
        "log_p = scores.roll(-1, -2)[counts].log_softmax(dim=-1)"],
    ROUNDED:
        "nats = -scores[counts].softmax(dim=-1).gather(-1, asked[:, None])[:, 0].log()",
    "you raise the probability of very unlikely labels, which should cost more bits: use "
    "log_softmax, which needs no lower limit": [
        f"log_p = {p}.log()" for epsilon in ("1e-8", "1e-9", "1e-10", "1e-12") for p in (
            f"(scores[counts].softmax(dim=-1) + {epsilon})",
            f"scores[counts].softmax(dim=-1).clamp(min={epsilon})")],
    "a plain number times an int64 tensor is float32: divide by one and then by the other":
        "return nats.sum() / (math.log(2) * widths[asked].sum())",
    "exp of a large score overflows: use log_softmax, which subtracts the largest score first":
        "log_p = scores[counts] - scores[counts].exp().sum(dim=-1, keepdim=True).log()",
    "you use the scores as if they were logarithms of probabilities: apply log_softmax first":
        "log_p = scores[counts]",
    "log_softmax runs over the places: let it run over the vocabulary": [
        "log_p = scores[counts].log_softmax(dim=0)", "log_p = scores.log_softmax(dim=-2)[counts]"],
    "you add up probabilities: take their logarithms to get bits":
        "log_p = scores[counts].softmax(dim=-1)",
    "you average the probabilities before you take the logarithm: add up the logarithms":
        "bits = -(-nats).exp().mean().log2() * len(asked)",
    "you turn the bits into a perplexity: return them as they are":
        "return 2 ** (bits / widths[asked].sum())",
    "your product multiplies 0 by -inf, which gives NaN: pick the label's number with gather":
        "nats = -(log_p * torch.nn.functional.one_hot(asked, len(widths))).sum(dim=-1)",
    "you round the result: return it as it is":
        "return (bits / widths[asked].sum()).round(decimals=2)",
    "you return a plain number: return a tensor, so that gradients can flow through it":
        "return (bits / widths[asked].sum()).item()",
    LOOP: [
        "nats = torch.stack([row[label] for row, label in zip(-log_p, asked, strict=True)])",
        "bits = sum(nats) / math.log(2)"],
    messages.BATCH: "log_p = scores[:, :, :][counts].log_softmax(dim=-1)",
})  # fmt: skip
variants.wrong(exercise, {
    "ignored places count in both sums, as if their label were token 0: leave them out":
        "bits = -log_p / math.log(2)\ncharacters = widths[label]",
    "labels of 0 are ignored, and labels of -100 are not: it should be the other way round":
        "counts = labels != 0",
    "ignored places add the width of token 0: they should add nothing":
        "characters = widths[label]",
    "ignored places cost bits, as if their label were token 0: they should cost nothing":
        "bits = -log_p / math.log(2)",
    "-100 becomes the index of some other token, counted from the end of the vocabulary: leave "
    "such places out":
        "label = labels % len(widths)\n"
        "bits = -log_p / math.log(2)\n"
        "characters = widths[label]",
    "you count only the places to ignore: count the others instead":
        "counts = labels == labels.amin()",
    "you average over the texts, so each text counts the same: add up bits and characters of all "
    "texts, and divide once":
        "return (bits.sum(dim=-1) / characters.sum(dim=-1)).mean()",
    "you return a number for each text: add up over all texts":
        "return bits.sum(dim=-1) / characters.sum(dim=-1)",
    "you return a number for each place: add up first, then divide": [
        "return bits / characters", "return bits / characters.sum()"],
    "you multiply ignored places by 0, but 0 times -inf is NaN: choose places with masked_fill or "
    "a boolean index":
        "bits = -log_p * counts / math.log(2)",
    messages.CHANGES: ("labels.clamp(min=0)", "labels\n    label[~counts] = 0"),
}, of=with_a_mask)  # fmt: skip
