"""Exercise strided_windows: windows that overlap, and each token predicted once."""

import torch
from torch.nn.utils.rnn import pad_sequence

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    without={"loops": "windows are cut from lists, one after another"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def label_by_label(texts, length, stride):
    rows = []
    for text in texts:
        places = range(len(text) - 1)
        # the earliest window that reads a place has the most tokens before it
        owner = [
            next(k for k in range(place + 1) if k * stride <= place < k * stride + length)
            for place in places
        ]
        for k in sorted(set(owner)):
            window = [place for place in places if k * stride <= place < k * stride + length]
            rows.append([(text[i], text[i + 1] if owner[i] == k else -100) for i in window])
    n = max(map(len, rows), default=0)
    padded = [row + [(0, -100)] * (n - len(row)) for row in rows]
    pairs = torch.tensor(padded, dtype=torch.int64).reshape(len(rows), n, 2)
    return pairs[..., 0].clone(), pairs[..., 1].clone()


@exercise.differs
def first_difference(wanted, given, texts, length, stride):
    """The first window that is not as it should be."""
    both = [*wanted, *given] if isinstance(given, (list, tuple)) else []
    if len(both) != 4 or not all(isinstance(x, torch.Tensor) and x.dim() == 2 for x in both):
        return ""
    want, got = ([*zip(*(x.tolist() for x in pair), strict=False)] for pair in (wanted, given))
    if want == got or not want or not got or len(want[0][0]) != len(got[0][0]):
        return ""
    index = next(i for i in range(len(want) + 1) if want[i : i + 1] != got[i : i + 1])
    mistake = "the number of windows is right, but one of them isn't"
    if len(want) != len(got):
        mistake = f"these texts have {len(want)} windows, but you return {len(got)}"
    expected, yours = (
        f"{rows[index][0]} with the labels {rows[index][1]}" if index < len(rows) else "none"
        for rows in (want, got)
    )
    return f"{mistake}. Window {index + 1} should be {expected}, and yours is {yours}"


def draw_texts(draw, *lengths, most=60):
    """Texts of these lengths."""
    return [draw.integers(0, most, length).tolist() for length in lengths]


@exercise.cases
def cases(draw):
    yield Case("3 texts, length=6, stride=4", (draw_texts(draw, 17, 5, 12), 6, 4))
    yield Case("a text of 20 tokens, length=5, stride=2", (draw_texts(draw, 20), 5, 2))
    yield Case("length=4, stride=1", (draw_texts(draw, 9, 3, 6), 4, 1))
    yield Case("length=5, stride=4", (draw_texts(draw, 14, 6, 11), 5, 4))
    yield Case("length=5, stride=5", (draw_texts(draw, 13, 4, 21), 5, 5))
    yield Case("length=1, stride=1", (draw_texts(draw, 5, 2), 1, 1))
    yield Case("length=6, stride=3", (draw_texts(draw, 16, 19), 6, 3))
    yield Case("a text that fills one window", (draw_texts(draw, 7), 6, 4))
    yield Case("a text with one token more than fills a window", (draw_texts(draw, 8), 6, 4))
    yield Case("texts that fill 3 windows", (draw_texts(draw, 15, 15), 6, 4))
    yield Case("texts one token shorter or longer than 3 windows", (draw_texts(draw, 14, 16), 6, 4))
    yield Case("texts shorter than a window", (draw_texts(draw, 4, 3, 5), 9, 6))
    yield Case("texts of 2 tokens", (draw_texts(draw, 2, 2, 2), 3, 2))
    yield Case(
        "texts of 0, 1 and 2 tokens beside a long one", (draw_texts(draw, 0, 1, 11, 2, 0, 1), 4, 3)
    )
    yield Case("a text of 1 token after a long one", (draw_texts(draw, 11, 1), 4, 2))
    yield Case("texts of 0 and 1 tokens, which have no window", (draw_texts(draw, 1, 0, 1), 5, 2))
    yield Case("no texts", ([], 4, 3))
    yield Case("only tokens 0 and 1", (draw_texts(draw, 18, 7, most=1), 6, 4))
    yield Case("one token again and again", ([[8] * 14, [8] * 5], 6, 4))
    yield Case("equal texts", (draw_texts(draw, 9) * 3, 4, 3))
    large = [16777217, 40000, 3, 70001, 16777219, 5, 65537]
    yield Case("tokens of up to 16 million", ([large], 4, 2))
    yield Case("1,200 windows", (draw_texts(draw, 1202), 2, 1))
    yield Case("a long text, length=16, stride=12", (draw_texts(draw, 100, 31), 16, 12))


@exercise.valid
def up_to_where_it_was_read(texts, length, stride):
    rows = []
    for text in texts:
        start = done = 0
        while done < len(text) - 1:
            end = min(start + length, len(text) - 1)
            labels = torch.tensor(text[start + 1 : end + 1])
            labels[: done - start] = -100
            rows.append((torch.tensor(text[start:end]), labels))
            start, done = start + stride, end
    if not rows:
        return torch.zeros(0, 0, dtype=torch.int64), torch.zeros(0, 0, dtype=torch.int64)
    tokens, labels = zip(*rows, strict=True)
    return pad_sequence([*tokens], True), pad_sequence([*labels], True, -100)


@exercise.valid
def by_unfolding(texts, length, stride):
    tokens, labels, n = [], [], max([len(text) - 1 for text in texts if text], default=0)
    for text in texts:
        if len(text) < 2:
            continue
        x = torch.tensor(text)
        missing = max(0, length - len(x) + 1)
        missing += -(len(x) - 1 + missing - length) % stride
        read = torch.nn.functional.pad(x[:-1], (0, missing)).unfold(0, length, stride)
        asked = torch.nn.functional.pad(x[1:], (0, missing), value=-100).unfold(0, length, stride)
        asked = asked.clone()
        asked[1:, : length - stride] = -100
        tokens.append(read[:, :n])
        labels.append(asked[:, :n])
    empty = torch.zeros(0, min(length, n), dtype=torch.int64)
    return torch.cat([empty, *tokens]), torch.cat([empty, *labels])


@exercise.valid
def into_full_tensors(texts, length, stride):
    windows = [
        (text, start)
        for text in texts
        for start in range(0, len(text) - 1, stride)
        if start == 0 or start - stride + length < len(text) - 1
    ]
    sizes = [min(length, len(text) - 1 - start) for text, start in windows]
    tokens = torch.full((len(windows), max(sizes, default=0)), 0)
    labels = torch.full_like(tokens, -100)
    for row, ((text, start), size) in enumerate(zip(windows, sizes, strict=True)):
        for place in range(size):
            tokens[row, place] = text[start + place]
            if not start or place >= length - stride:
                labels[row, place] = text[start + place + 1]
    return tokens, labels


STARTS, KNOWN = "range(0, len(read), stride)", "length - stride if start else 0"
READ, LABELS = "text[:-1], text[1:]", "following[start + known : start + length]"
WINDOW, FIRST_START = "read[start : start + length]", "        for start"
variants.right(exercise,
    (STARTS, "range(0, max(len(read) > 0, len(read) - length + stride), stride)", "break", "pass"),
    "tokens = [(row + [0] * n)[:n] for row in tokens]\n"
    "labels = [(row + [-100] * n)[:n] for row in labels]",
    ("start + length >= len(read)", "start + length > len(read) - 1"),
)  # fmt: skip
# where the last window moves back until it is full
BACK = (
    "for start in range", "for place in range",
    "            # what", "            start = max(0, min(place, len(read) - length))\n"
    "            # what",
)  # fmt: skip
variants.wrong(exercise, {
    "tokens that two windows read are predicted twice: keep the label in the first window, and "
    "make it -100 in the later one": (
        KNOWN, "0"),
    "you hide labels in the first window of a text, too: let that window keep all its labels": (
        KNOWN, "min(length - stride, len(read))"),
    "only the first window of the first text has all its labels: the first window of every text "
    "should": (
        KNOWN, "min(length - stride, len(read)) if tokens else 0"),
    "you hide stride labels in each later window: hide the length - stride that the previous "
    "window has had, and ask for the rest": (
        KNOWN, "min(stride, len(read) - start) if start else 0"),
    "you hide one label too few, so some are predicted twice: hide the length - stride that the "
    "previous window has had": (
        KNOWN, "max(0, length - stride - 1) if start else 0"),
    "you hide one label too many, so some are never predicted: hide only the length - stride that "
    "the previous window has had": (
        KNOWN, "length - stride + 1 if start else 0"),
    "you ask for the last stride labels of every window: ask for fewer in a short last window, "
    "where fewer are new": (
        KNOWN, f"max(0, len({WINDOW}) - stride) if start else 0"),
    "a token is predicted in the last window that reads it: predict it in the first, where more "
    "tokens come before it": (
        f"[-100] * known + {LABELS}", "following[start : start + length] if start + length >= "
        "len(read) else following[start : start + stride] + [-100] * (length - stride)"),
    "you make a window that has nothing new to predict: stop with the one that reaches the end": [
        ("break", "pass", "[-100] * known", "[-100] * min(known, len(read) - start)"),
        ("start + length >= len(read)", "start + length > len(read)")],
    "the end of a text is lost: let the last window be shorter": [
        (STARTS, "range(0, len(read) - length + 1, stride)"),
        (STARTS, "range(0, max(len(read) > 0, len(read) - length + 1), stride)")],
    "texts that are shorter than a window are lost: give each of them one shorter window": (
        FIRST_START, f"        if len(read) < length:\n            continue\n{FIRST_START}"),
    "the last token to read is lost if it's the only one left: give it a window, too": (
        "start + length >= len(read)", "start + length >= len(read) - 1"),
    "the last token of a text is never predicted: make it a label, even though it isn't read": [
        (READ, "text[:-2], text[1:-1]"), (READ, "text[:-1], [*text[1:-1], -100]")],
    "you move the last window back so that it is full: every window should begin at a multiple of "
    "stride": [
        BACK, (*BACK, KNOWN, "place + length - stride - start if start else 0")],
    "windows run from one text into the next: cut each text by itself": (
        "in texts:", "in [sum(texts, [])]:"),
    "you read the last token of a text, though nothing comes after it: read all tokens but "
    "the last": (
        READ, "text, [*text[1:], -100]"),
    "the last token of each window has no label: make the token after the window its label": (
        LABELS, "[*read[start + known + 1 : start + length], -100]"),
    "your windows are one token too short: let each read `length` tokens, and make the token after "
    "the window its last label": [
        (WINDOW, "text[start : start + length][:-1]",
         LABELS, "text[start : start + length][known + 1 :]"),
        *((WINDOW, "text[start : start + length][:-1]", "[-100] * known",
           "[-100] * min(known, len(text[start : start + length]) - 1)",
           LABELS, "text[start : start + length][known + 1 :]", *stop)
          for stop in (("start + length >= len(read)", "start + length >= len(text)"),
                       ("break", "pass")))],
    "your windows are one token too long: let each read at most `length` tokens": (
        WINDOW, "read[start : start + length + 1]",
        LABELS, "following[start + known : start + length + 1]"),
    "your windows begin every `length` tokens, so they don't overlap: begin one every `stride` "
    "tokens": [
        (STARTS, "range(0, len(read), length)", KNOWN, "0"),
        (STARTS, "range(0, len(read), length)",
         KNOWN, "min(length - stride, len(read) - start) if start else 0")],
    "your windows begin every length - stride tokens: stride says how far apart they begin, not "
    "how far they overlap": [
        (STARTS, "range(0, len(read), length - stride)", KNOWN, "stride if start else 0"),
        (STARTS, "range(0, len(read), length - stride or 1)", KNOWN, "stride if start else 0")],
    "the label of a token is the token itself: it should be the next token":
        (READ, "text[:-1], text[:-1]"),
    "the labels equal the tokens, as for a model that shifts them itself: make the next token the "
    "label of each, and don't read the last token": (
        READ, "text, text"),
    "the label of a token is the token before it: it should be the next token":
        (READ, "text[1:], text[:-1]"),
    "you fill labels up with 0, which is a token: fill them up with -100":
        "labels = [row + [0] * (n - len(row)) for row in labels]",
    "you fill tokens up with -100, which no model can look up: fill them up with 0":
        "tokens = [row + [-100] * (n - len(row)) for row in tokens]",
    "labels that are hidden or filled up are -1: they should be -100": [
        (every("-100"), "-1"), ("[-100] * known", "[-1] * known")],
    "hidden labels are 0, which is a token: make them -100": [
        (every("-100"), "0"), ("[-100] * known", "[0] * known")],
    "a token or label of 0 is treated as missing: treat 0 like any other token": [
        "labels = [[label or -100 for label in row] + [-100] * (n - len(row)) for row in labels]",
        "labels = [[label if token else -100 for token, label in zip(row, asked + [-100] * n)]\n"
        "          for row, asked in zip(tokens, labels)]"],
    "you fill the rows up on the left: fill them up on the right":
        "tokens = [[0] * (n - len(row)) + row for row in tokens]\n"
        "labels = [[-100] * (n - len(row)) + row for row in labels]",
    "the rows are always `length` wide: make them as wide as the longest window": [
        "n = length", "n = length if tokens else 0"],
    "a text of 0 tokens or 1 token gets a window: give it none, because there is nothing "
    "to predict": [
        (STARTS, "range(0, len(read) or 1, stride)"),
        (READ, "text[:-1] or text, text[1:] or [-100] * len(text)")],
    "without any window, your result has the wrong shape or dtype, or your code fails: return two "
    "int64 tensors of shape (0, 0)": [
        "n = max(map(len, tokens))",
        "return torch.tensor(tokens), torch.tensor(labels)",
        "return torch.tensor(tokens, dtype=torch.int64), torch.tensor(labels, dtype=torch.int64)",
        "return pad_sequence([*map(torch.tensor, tokens)], True), torch.tensor(labels)"],
    "you return the labels first: return the tokens first": (
        "(tokens, labels))", "(labels, tokens))"),
})  # fmt: skip
