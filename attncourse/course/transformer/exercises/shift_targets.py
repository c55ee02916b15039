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
    "the end stands behind the padding: put it right after the last word":
        "ended = torch.cat([tokens, torch.full_like(edge, end)], dim=-1)\n"
        "padding = (position >= length) & (position < len(position) - 1)\n"
        "labels = ended.masked_fill(padding, -100)",
    "there is no end among the labels, so the model would never learn to stop: put it right after "
    "the last word, and don't ignore it": [
        "labels = longer.masked_fill(position >= length, -100)",
        "labels = longer.masked_fill(longer == pad, -100)"],
    "the padding is not ignored: after the end, labels should be -100": [
        "labels = ended", ("-100", "pad")],
    "padded places have the end as well: put it there once, and -100 after it": (
        "-100", "end"),
    "where `pad` is the same number as `end`, the end is ignored, too: go by positions": [
        "labels = ended.masked_fill(ended == pad, -100)",
        "labels = torch.where(ended != pad, ended, -100)"],
    "the end takes the place of the last word: put it after that": [
        ("== length", "== length - 1"), ("== length", "== length - 1", "> length", ">= length")],
    "the end comes one place too late: put it right after the last word":
        ("== length", "== length + 1"),
    "the labels are the inputs, so each token is asked for what it has just read: move them one "
    "place further": "labels = inputs.masked_fill(position > length, -100)",
    "the start is missing: put it in front, as the first word is predicted from `start` alone":
        "inputs = torch.cat([tokens, torch.full_like(edge, pad)], dim=-1)",
    "the start stands among the labels, too: leave it out, as nothing has to predict it":
        "longer = inputs\n"
        "ended = longer.masked_fill(position == length + 1, end)\n"
        "labels = ended.masked_fill(position > length + 1, -100)",
    "the last column of the inputs is missing: give both results n + 1 tokens":
        "return inputs[..., :-1], labels",
    "the first column of both is missing: keep it, as the start has to predict the first word":
        "return inputs[..., 1:], labels[..., 1:]",
    "inputs have -100 for padding, which no embedding has: keep `pad` there":
        "return inputs.masked_fill(position > length, -100), labels",
    "inputs have the end, too: leave it out, as nothing is predicted from it": [
        "return inputs.masked_fill(position == length + 1, end), labels",
        "return torch.cat([inputs[..., :1], labels[..., :-1]], dim=-1), labels"],
    "the results come in another order: return first the inputs, then the labels":
        "return labels, inputs",
    "what is to be ignored is 0: make it -100, which cross_entropy ignores": ("-100", "0"),
    "what is to be ignored is -1: make it -100, which cross_entropy ignores": ("-100", "-1"),
    "the padding is taken to be 0: compare with `pad`": ("tokens != pad", "tokens != 0"),
    "words are taken to be numbers above `end`: take all but `pad` for words": (
        "tokens != pad", "tokens > end"),
    "one length is used for the whole batch: give each text its own":
        "length = (tokens != pad).sum(dim=-1).max()",
    "start and end are exchanged: begin texts with `start`, and let `end` follow the last word": (
        "edge, start", "edge, end", "length, end", "length, start"),
    "the results are int64, whatever the tokens are: keep their dtype":
        "return inputs.long(), labels.long()",
    "both results lack their last column: they should have one token more than `tokens`":
        "return inputs[..., :-1], labels[..., :-1]",
    "an empty text gets no end: its first label should be the end":
        "ended = longer.masked_fill((position == length) & (length > 0), end)\n"
        "labels = ended.masked_fill((position > length) | (length == 0), -100)",
    "without padding, argmax gives 0: count the words":
        "length = (tokens == pad).long().argmax(dim=-1, keepdim=True)",
    "where `pad` is the same number as `start`, the start is counted as padding: count among "
    "`tokens`":
        "length = (inputs != pad).sum(dim=-1, keepdim=True) - 1",
    "the labels are int64, whatever the tokens are: keep their dtype":
        "return inputs, labels.long()",
    LOOP: "length = sum((tokens[..., [i]] != pad).long() for i in range(tokens.shape[-1]))",
    messages.BATCH: "edge = tokens[:, :1]",
})  # fmt: skip
