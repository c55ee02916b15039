"""Exercise shift_targets: what a decoder reads in training, and what it should say."""

import torch
from torch.nn.functional import pad as filled

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over texts or tokens: shift the whole batch at once"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def text_by_text(tokens, start, end, pad):
    inputs, labels, size = [], [], tokens.shape[-1] + 1
    for row in tokens.reshape(-1, size - 1).tolist():
        words = [token for token in row if token != pad]
        inputs.append([start, *row])
        labels.append([*words, end] + [-100] * (size - 1 - len(words)))
    shape = *tokens.shape[:-1], size
    return tuple(torch.tensor(rows, dtype=tokens.dtype).reshape(shape) for rows in (inputs, labels))


def draw_texts(draw, *lengths, n, pad):
    """Texts of so many words, 10 and above, then padding."""
    words = torch.randint(10, 99, (len(lengths), n), generator=draw.generator)
    return words.where(torch.arange(n) < torch.tensor(lengths)[:, None], pad)


@exercise.cases
def cases(draw):
    n = draw.integer(5, 7)
    tokens = draw_texts(draw, n - 2, n, 2, 1, n=n, pad=0)
    longer = draw_texts(draw, *[60, 64, 3, 33] * 4, n=64, pad=0), 1, 2, 0
    yield Case(f"4 texts, n={n}", (tokens, 1, 2, 0), longer=longer)
    yield Case(f"one text without a batch, n={n}", (tokens[0], 1, 2, 0))
    axes = draw_texts(draw, 1, 4, 3, 5, 2, 4, n=5, pad=0).reshape(2, 3, 5)
    yield Case("two leading axes, n=5", (axes, 1, 2, 0))
    yield Case(
        "other numbers for start, end and padding",
        (draw_texts(draw, 3, 4, n=6, pad=107), 105, 108, 107),
    )
    yield Case(
        "the padding is the number of the end", (draw_texts(draw, 3, 5, 1, n=5, pad=2), 1, 2, 2)
    )
    yield Case("the padding is -1", (draw_texts(draw, 4, 2, n=4, pad=-1), 0, 1, -1))
    yield Case("start and end are one number", (draw_texts(draw, 3, 4, 2, n=4, pad=0), 3, 3, 0))
    yield Case(
        "the padding is the number of the start", (draw_texts(draw, 3, 1, n=4, pad=1), 1, 2, 1)
    )
    yield Case("an empty text", (draw_texts(draw, 0, 3, n=4, pad=0), 1, 2, 0))
    yield Case("no padding", (draw_texts(draw, n, n, n=n, pad=0), 1, 2, 0))
    yield Case("as many texts as tokens", (draw_texts(draw, 3, 1, 4, 2, n=4, pad=0), 1, 2, 0))
    yield Case("tokens as int32", (tokens.int(), 1, 2, 0))
    yield Case("one token", (draw_texts(draw, 1, 0, n=1, pad=0), 1, 2, 0))


@exercise.valid
def padded_and_scattered(tokens, start, end, pad):
    word = filled(tokens != pad, (0, 1), value=False)
    labels = filled(tokens, (0, 1), value=-100).where(word, -100)
    labels = labels.scatter(-1, word.sum(-1, keepdim=True), end)
    return filled(tokens, (1, 0), value=start), labels


variants.right(exercise,
    "inputs = torch.cat([tokens.new_full(edge.shape, start), tokens], dim=-1)\n"
    "ended = torch.where(position == length, end, -100).to(tokens.dtype)\n"
    "labels = torch.where(position < length, longer, ended)",
    "longer = torch.cat([tokens, edge], dim=-1)\n"
    "length = (tokens != pad).long().cumsum(-1)[..., -1:]",
)  # fmt: skip
variants.wrong(exercise, {
    "the end stands behind the padding: it comes right after the last word":
        "ended = torch.cat([tokens, torch.full_like(edge, end)], dim=-1)\n"
        "padding = (position >= length) & (position < len(position) - 1)\n"
        "labels = ended.masked_fill(padding, -100)",
    "there is no end among the labels, so the model would never learn to stop: it comes right "
    "after the last word, and is not ignored": [
        "labels = longer.masked_fill(position >= length, -100)",
        "labels = longer.masked_fill(longer == pad, -100)"],
    "the padding is not ignored: after the end, labels are -100": [
        "labels = ended", ("-100", "pad")],
    "padded places have the end as well: it comes once, and after it labels are -100": (
        "-100", "end"),
    "where `pad` is the same number as `end`, the end is ignored, too: go by positions": [
        "labels = ended.masked_fill(ended == pad, -100)",
        "labels = torch.where(ended != pad, ended, -100)"],
    "the end takes the place of the last word: it comes after it": [
        ("== length", "== length - 1"), ("== length", "== length - 1", "> length", ">= length")],
    "the end comes one place too late: right after the last word": ("== length", "== length + 1"),
    "the labels are the inputs, so each token is asked for what it has just read: they are one "
    "place further": "labels = inputs.masked_fill(position > length, -100)",
    "the start is missing: the first word is predicted from `start` alone":
        "inputs = torch.cat([tokens, torch.full_like(edge, pad)], dim=-1)",
    "the start stands among the labels, too: nothing has to predict it":
        "longer = inputs\n"
        "ended = longer.masked_fill(position == length + 1, end)\n"
        "labels = ended.masked_fill(position > length + 1, -100)",
    "the last column of the inputs is missing: both results have n + 1 tokens":
        "return inputs[..., :-1], labels",
    "the first label is missing: the start has to predict the first word":
        "return inputs[..., 1:], labels[..., 1:]",
    "inputs have -100 for padding, which no embedding has: they keep `pad`":
        "return inputs.masked_fill(position > length, -100), labels",
    "inputs have the end, too: nothing is predicted from it": [
        "return inputs.masked_fill(position == length + 1, end), labels",
        "return torch.cat([inputs[..., :1], labels[..., :-1]], dim=-1), labels"],
    "the order of the results is another: first the inputs, then the labels":
        "return labels, inputs",
    "what is ignored is 0: cross_entropy ignores -100": ("-100", "0"),
    "what is ignored is -1: cross_entropy ignores -100": ("-100", "-1"),
    "the padding is taken to be 0: its number is `pad`": ("tokens != pad", "tokens != 0"),
    "words are taken to be numbers above `end`: all but `pad` is a word": (
        "tokens != pad", "tokens > end"),
    "one length serves the whole batch: each text has its own":
        "length = (tokens != pad).sum(dim=-1).max()",
    "start and end are exchanged: texts begin with `start`, and `end` follows the last word": (
        "edge, start", "edge, end", "length, end", "length, start"),
    "the results are int64, whatever the tokens are: keep their dtype":
        "return inputs.long(), labels.long()",
    "both results lack their last column: they have one token more than `tokens`":
        "return inputs[..., :-1], labels[..., :-1]",
    "an empty text has no end: its first label is the end":
        "ended = longer.masked_fill((position == length) & (length > 0), end)\n"
        "labels = ended.masked_fill((position > length) | (length == 0), -100)",
    "without padding, argmax gives 0: count the words":
        "length = (tokens == pad).long().argmax(dim=-1, keepdim=True)",
    "where `pad` is the same number as `start`, the start counts as padding: count among `tokens`":
        "length = (inputs != pad).sum(dim=-1, keepdim=True) - 1",
    "the labels are int64, whatever the tokens are: keep their dtype":
        "return inputs, labels.long()",
    LOOP: "length = sum((tokens[..., [i]] != pad).long() for i in range(tokens.shape[-1]))",
    messages.BATCH: "edge = tokens[:, :1]",
})  # fmt: skip
