"""Exercise write_texts: a loop that writes several texts, which forgets that one has ended."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the texts: let one step of the loop write a token of each"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
    without={"ties": "no two scores of a row are equal"},
)
exercise.stub(variants.stub(exercise))
exercise.valid(variants.worked(exercise))


@exercise.reference
def text_by_text(first, table, stop, pad, max_tokens):
    following, texts = table.argmax(-1).tolist(), []
    for token in first.flatten().tolist():
        text = []
        while len(text) < max_tokens and stop not in text:
            token = following[token]
            text.append(token)
        texts.append(text)
    longest = max(map(len, texts))
    rows = [text + [pad] * (longest - len(text)) for text in texts]
    return torch.tensor(rows).reshape(*first.shape, longest)


def draw_inputs(draw, lengths, stop=1, pad=0, words=7, others=2):
    """Tokens after which texts of these lengths are written, at most `words`, and the table.

    A length of -1 never ends: one token follows itself. Others lead to words, nothing to them.
    """
    vocabulary = words + others + 3
    free = [token for token in range(vocabulary - 1) if token not in (stop, pad)]
    order = torch.randperm(len(free), generator=draw.generator).tolist()
    looping, *chain = (free[i] for i in order[: words + 1])
    # whatever leads nowhere else leads into the middle of the chain
    following = torch.full((vocabulary,), chain[2])
    following[chain] = torch.tensor([*chain[1:], stop])
    following[looping] = looping
    lengths = torch.tensor(lengths)
    first = torch.where(lengths < 0, looping, torch.tensor(chain)[words - lengths.clamp(min=1)])
    next_token = torch.nn.functional.one_hot(following, vocabulary)
    return first, draw.normal(vocabulary, vocabulary) + 9 * next_token, stop, pad


@exercise.cases
def cases(draw):
    lengths = [3, draw.integer(5, 6), 1, 4]
    texts = draw_inputs(draw, lengths)
    long = *draw_inputs(draw, lengths * 12, others=60), 9
    yield Case(f"4 texts of {lengths} tokens", (*texts, 9), longer=long)
    yield Case("one text without a batch", (*draw_inputs(draw, 5), 8))
    yield Case("two leading axes", (*draw_inputs(draw, [[3, 7, 2], [1, 4, 6]]), 10))
    yield Case("a text that never ends", (*draw_inputs(draw, [2, -1, 4]), 7))
    yield Case("texts that come to the end of max_tokens", (*texts, 3))
    yield Case("max_tokens is the length of the longest", (*draw_inputs(draw, [2, 6, 3]), 6))
    yield Case("one token", (*texts, 1))
    yield Case("all texts end at once", (*draw_inputs(draw, [4, 4, 4]), 9))
    yield Case("the first text is the longest", (*draw_inputs(draw, [6, 1, 2]), 9))
    yield Case("the last text is the longest", (*draw_inputs(draw, [1, 3, 6]), 9))
    yield Case("pad and stop are one number", (*draw_inputs(draw, [2, 6, 3], stop=3, pad=3), 9))
    yield Case("other numbers for stop and pad", (*draw_inputs(draw, [5, 2, 3], stop=6, pad=2), 9))
    first, *rest = draw_inputs(draw, [3, 2, 6])
    yield Case("a text that begins after a stop", (first.where(first != first[1], 1), *rest, 12))
    yield Case("a text that begins after padding", (first.where(first != first[1], 0), *rest, 12))
    yield Case("only texts that end at once", (*draw_inputs(draw, [1, 1]), 4))
    yield Case("as many texts as tokens", (*draw_inputs(draw, [3, 5, 2, 6, 1, 4]), 6))
    first, *rest = draw_inputs(draw, [4, 2, 5])
    yield Case("all scores below -100", (first, rest[0] - 200, *rest[1:], 8))


@exercise.valid
def cut_afterwards(first, table, stop, pad, max_tokens):
    following, texts = table.argmax(-1), [first]
    for _ in range(max_tokens):
        texts.append(following[texts[-1]])
    whole = torch.stack(texts[1:], -1)
    stops = (whole == stop).long()
    over = stops.cumsum(-1) - stops > 0
    longest = (~over).sum(-1).max()
    return torch.where(over, pad, whole)[..., :longest]


ENDED, NEXT = "ended | (token == stop)", "table[token].argmax(dim=-1)"
FORGETS = ENDED, "token == stop"
variants.right(exercise,
    ("ended = ended | (token == stop)", "ended |= token == stop"),
    # no text has padding before its end
    (ENDED, "(token == stop) | (token == pad)"),
    (ENDED, "torch.stack(texts).eq(stop).any(0)",
     "token.masked_fill(ended, pad)", "torch.where(ended, pad, token)"),
    ("torch.zeros_like(first, dtype=torch.bool)", "first != first",
     ENDED, "torch.logical_or(token.eq(stop), ended)",
     NEXT, "table.index_select(0, token.flatten()).max(-1).indices.reshape(first.shape)"),
    # texts that go on have no end yet
    ("torch.zeros_like(first, dtype=torch.bool)", "torch.full_like(first, max_tokens)",
     "not ended.all()", "len(texts) < ended.max()",
     "token.masked_fill(ended, pad)", "torch.where(len(texts) < ended, token, pad)",
     ENDED, "torch.where((token == stop) & (len(texts) <= ended), len(texts), ended)"),
)  # fmt: skip
variants.wrong(exercise, {
    "no text ever ends: a stop now, or one before, should be enough": [
        (ENDED, "ended & (token == stop)"), ("== stop", "== -1")],
    "ended texts are padded with `stop`: after the stop, write `pad`": [
        ("(ended, pad)", "(ended, stop)"), (*FORGETS, "(ended, pad)", "(ended, stop)")],
    "the stop itself is lost: let padding begin after it": (
        "token = token", f"ended = {ENDED}\n        token = token"),
    "one token too many is written: let padding begin right after the stop": (
        "(ended, pad)", "(over, pad)", "ended = torch", "over = ended = torch",
        "ended = ended", "over, ended = ended, ended"),
    "it looks for the stop before a step, so it ends too late, and takes a first token for an end: "
    "look after the step": (
        f"        ended = {ENDED}\n", "",
        "token = table", f"ended = {ENDED}\n        token = table"),
    "where `pad` is `stop`, padding starts an ended text again: once ended, always ended": (
        "ended |", "ended ^"),
    "a text that has ended goes on: give it `pad` in place of a token": (
        "token.masked_fill(ended, pad)", "token"),
    "the loop ends with the first text that does: go on, the others still have tokens to write": [
        ("ended.all()", "ended.any()"), (*FORGETS, "ended.all()", "ended.any()"),
        ("(token == stop)", "(token == stop).any()")],
    "there are too many columns: there should be as many as the longest text has tokens": [
        (" and not ended.all()", ""),
        ("not ended.all()", "not (texts and (token == stop).all())")],
    "a text whose first token is `stop` counts as ended: look only at what is written":
        "ended = first == stop",
    "a text whose first token is `pad` counts as ended: look only at what is written":
        "ended = first == pad",
    "a text whose first token is `stop` or `pad` counts as ended: look only at what is written": [
        "ended = (first == stop) | (first == pad)",
        (NEXT, "torch.where((token == stop) | (token == pad), pad, table[token].argmax(-1))",
         ENDED, "(token == stop) | (token == pad)")],
    "a text that is cut off gets a stop: leave its `max_tokens` tokens as they are":
        "last = texts[-1].masked_fill(~ended, stop)\n"
        "return torch.stack([*texts[:-1], last], dim=-1)",
    "the first token is part of the result: begin the text after it": (
        "first, []", "first, [first]", "< max_tokens", "<= max_tokens"),
    "there is one token too many: write at most max_tokens": ("< max_tokens", "<= max_tokens"),
    "there is one token too few: write up to max_tokens": (
        "len(texts) < max_tokens", "(len(texts) < max_tokens - 1 or not texts)"),
    "every token follows the first one: let it follow the one before it": (
        "table[token]", "table[first]"),
    "the least likely token is written: argmax was right, leave it": ("argmax(", "argmin("),
    "the table is read by columns: its rows are the tokens before, so indexing it by rows "
    "was right": (
        "table[token]", "table.T[token]"),
    "the padding is 0, whatever it should be: take `pad`": ("(ended, pad)", "(ended, 0)"),
    "the padding is -100, which is for labels: take `pad`": (
        "(ended, pad)", "(ended, -100)", "table[token]", "table[token.clamp(min=0)]"),
    "the stop is taken to be 1, whatever it is: compare with `stop`": ("== stop", "== 1"),
    "texts are ended by padding, which only comes after an end: let them end with `stop`": (
        "== stop", "== pad"),
    "those that have not ended are padded: pad the others": ("(ended, pad)", "(~ended, pad)"),
    "no text ends before all of them do at once: let each end with a stop of its own": (
        "(token == stop)", "(token == stop).all()"),
    "the tokens are stacked along another axis: the last one was right":
        "return torch.stack(texts, dim=0)",
    "the tokens are a list: stack them into one tensor": "return texts",
    "the texts are put one after the other: make each step a column":
        "return torch.stack(texts, dim=-1).flatten()",
    "the last column is lost: keep it, the longest text has its stop there":
        "return torch.stack(texts, dim=-1)[..., : max(1, len(texts) - 1)]",
    "the padding stands before the texts: put it after them":
        "whole = torch.stack(texts, dim=-1)\n"
        "over = (whole == stop).cumsum(-1) - (whole == stop).long() > 0\n"
        "return whole.gather(-1, (~over).long().argsort(-1, stable=True))",
    "an ended text repeats its last word: give it `pad` instead": (
        NEXT, f"torch.where(ended, token, {NEXT})", "token.masked_fill(ended, pad)",
        "torch.where(ended, torch.stack(texts)[max(0, len(texts) - 2)] if texts else pad, token)"),
    LOOP: "rows = torch.stack(texts, dim=-1).reshape(-1, len(texts))\n"
        "rows = torch.stack([rows[i] for i in range(first.numel())])\n"
        "return rows.reshape(*first.shape, -1)",
    messages.CHANGES: "ended = first.masked_fill_(first == stop, pad) != first",
    messages.BATCH: "return torch.stack(texts, dim=1)",
})  # fmt: skip
variants.wrong(exercise, {
    "a text goes on up to its second stop: let it end with its first": (
        "stops.cumsum(-1) - stops > 0", "stops.cumsum(-1) > 1"),
    "the stop itself is lost: let padding begin after it": ("- stops > 0", "> 0"),
    "there are too many columns: there should be as many as the longest text has tokens": (
        "[..., :longest]", ""),
}, of=cut_afterwards)  # fmt: skip
