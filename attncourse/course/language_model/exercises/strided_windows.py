"""Exercise strided_windows: windows that overlap, and each token predicted once."""

import torch
from torch.nn.utils.rnn import pad_sequence

from judge import hints, variants
from judge.exercise import Case, Exercise

exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    without={"loops": "windows are cut from lists, one after another"},
)


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
            read = [place for place in places if k * stride <= place < k * stride + length]
            rows.append([(text[i], text[i + 1] if owner[i] == k else -100) for i in read])
    n = max(map(len, rows), default=0)
    filled = [row + [(0, -100)] * (n - len(row)) for row in rows]
    pairs = torch.tensor(filled, dtype=torch.int64).reshape(len(rows), n, 2)
    return pairs[..., 0].clone(), pairs[..., 1].clone()


def drawn(draw, *lengths, most=60):
    """Texts of these lengths."""
    return [draw.integers(0, most, length).tolist() for length in lengths]


@exercise.cases
def cases(draw):
    yield Case("3 texts, length=6, stride=4", (drawn(draw, 17, 5, 12), 6, 4))
    yield Case("a text of 20 tokens, length=5, stride=2", (drawn(draw, 20), 5, 2))
    yield Case("length=7, stride=2", (drawn(draw, 13, 24), 7, 2))
    yield Case("length=4, stride=1", (drawn(draw, 9, 3, 6), 4, 1))
    yield Case("length=5, stride=4", (drawn(draw, 14, 6, 11), 5, 4))
    yield Case("length=5, stride=5", (drawn(draw, 13, 4, 21), 5, 5))
    yield Case("length=1, stride=1", (drawn(draw, 5, 2), 1, 1))
    yield Case("length=6, stride=3, twice as much", (drawn(draw, 16, 19), 6, 3))
    yield Case("a text that fills one window", (drawn(draw, 7), 6, 4))
    yield Case("a text of one token more than fills a window", (drawn(draw, 8), 6, 4))
    yield Case("texts that fill 3 windows", (drawn(draw, 15, 15), 6, 4))
    yield Case("texts of one token more than fill 3 windows", (drawn(draw, 16, 16), 6, 4))
    yield Case("texts of one token less than fill 3 windows", (drawn(draw, 14, 14), 6, 4))
    yield Case("texts shorter than a window", (drawn(draw, 4, 3, 5), 9, 6))
    yield Case("texts of 2 tokens", (drawn(draw, 2, 2, 2), 3, 2))
    yield Case(
        "texts of 0, 1 and 2 tokens beside a long one", (drawn(draw, 0, 1, 11, 2, 0, 1), 4, 3)
    )
    yield Case("a text of 1 token after a long one", (drawn(draw, 11, 1), 4, 2))
    yield Case("no window, of texts of 0 and 1 tokens", (drawn(draw, 1, 0, 1), 5, 2))
    yield Case("no texts", ([], 4, 3))
    yield Case("only tokens 0 and 1", (drawn(draw, 18, 7, most=1), 6, 4))
    yield Case("one token again and again", ([[8] * 14, [8] * 5], 6, 4))
    yield Case("equal texts", (drawn(draw, 9) * 3, 4, 3))
    large = [16777217, 40000, 3, 70001, 16777219, 5, 65537]
    yield Case("tokens of up to 16 million", ([large], 4, 2))
    yield Case("1,200 windows", (drawn(draw, 1202), 2, 1))
    yield Case("a long text, length=16, stride=12", (drawn(draw, 100, 31), 16, 12))


@exercise.valid
def plain(texts, length, stride):
    tokens, labels = [], []
    for text in texts:
        read, following = text[:-1], text[1:]
        for start in range(0, len(read), stride):
            known = length - stride if start else 0
            if start and start - stride + length >= len(read):
                break
            window = read[start : start + length]
            tokens.append(window)
            labels.append([-100] * known + following[start + known : start + length])
    n = max(map(len, tokens), default=0)
    tokens = [row + [0] * (n - len(row)) for row in tokens]
    labels = [row + [-100] * (n - len(row)) for row in labels]
    size = len(tokens), n
    tokens = torch.tensor(tokens, dtype=torch.int64).reshape(size)
    labels = torch.tensor(labels, dtype=torch.int64).reshape(size)
    return tokens, labels


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
def by_index(texts, length, stride):
    tokens, labels = [], []
    for text in texts:
        m = len(text) - 1
        if m < 1:
            continue
        count = 1 + -(-max(0, m - length) // stride)
        place = stride * torch.arange(count)[:, None] + torch.arange(length)
        x = torch.tensor(text)
        asked = (torch.arange(length) >= length - stride) | (torch.arange(count)[:, None] == 0)
        tokens.append(x[place.clamp(max=m)].where(place < m, 0))
        labels.append(x[(place + 1).clamp(max=m)].where(asked & (place < m), -100))
    if not tokens:
        return (torch.empty(0, 0, dtype=torch.int64),) * 2
    n = min(length, max(map(len, texts)) - 1)
    return torch.cat(tokens)[:, :n], torch.cat(labels)[:, :n]


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


KNOWN = "length - stride if start else 0"
STOP = "            if start and start - stride + length >= len(read):\n                break\n"
# where nothing new would be asked for, however many labels are hidden
NOTHING_NEW = STOP, "            if start + known >= len(read):\n                break\n"
WINDOW, READ = "read[start : start + length]", "read, following = text[:-1], text[1:]"
ROW, EACH = "[-100] * known + following[start + known : start + length]", "for text in texts:"
STARTS, WIDTH = "range(0, len(read), stride)", "max(map(len, tokens), default=0)"
FILL, FILL_LABELS = "row + [0] * (n - len(row))", "row + [-100] * (n - len(row))"
SIZE, RETURN = "size = len(tokens), n", "return tokens, labels"
TOKENS = "torch.tensor(tokens, dtype=torch.int64).reshape(size)"
LABELS = "torch.tensor(labels, dtype=torch.int64).reshape(size)"
variants.right(exercise,
    (STOP, "            if start and start - stride + length > len(read) - 1:\n"
     "                break\n", KNOWN, "(length - stride) * (start > 0)"),
    (READ, "following = text[1:]\n        read = text[: len(following)]",
     FILL, "(row + [0] * n)[:n]", FILL_LABELS, "(row + [-100] * n)[:n]"),
)  # fmt: skip
BACK = "read[max(0, min(start, len(read) - length)) :][:length]"
SHORT = "[-100] * min(known, len(window)) + following[start + known : start + length]"
TOO_SHORT = (
    "the windows are a token too short: one reads `length` tokens, and the label of its last is "
    "the token after it"
)


def hidden(places):
    """Ways to hide so many labels: windows stop where they should, or where no label is left."""
    return (KNOWN, places, ROW, SHORT), (KNOWN, places, *NOTHING_NEW)


variants.wrong(exercise, {
    "tokens that two windows read are predicted twice: the label counts in the first of them, and "
    "is -100 in the others": [*hidden("0")],
    "the first window of a text has to predict all its tokens: no other window does": [
        *hidden("length - stride")],
    "only the first text's first window has all its labels: each text begins anew": [
        *hidden("length - stride if tokens else 0")],
    "stride places are hidden in later windows: it is length - stride that were read before, and "
    "stride that are new": [*hidden("stride if start else 0")],
    "float32 has no room for large tokens: keep whole numbers": (
        TOKENS, TOKENS.replace("int64", "float32") + ".long()"),
    "16 bits have no room for large tokens: make them int64 from the start": (
        TOKENS, TOKENS + ".short().long()",
        LABELS, LABELS + ".short().long()"),
    "a text has no more than 64 windows here: go on to its end": (
        "if start and", "if start >= 64 * stride or start and"),
    "one label too few is hidden, so that some are predicted twice: length - stride are known": [
        *hidden("max(0, length - stride - 1) if start else 0")],
    "one label too many is hidden, so that some are never predicted: length - stride are known": [
        *hidden("length - stride + 1 if start else 0"),
        *hidden("min(length - 1, length - stride + 1) if start else 0")],
    "the last stride labels of each row are asked for: in a short last window fewer are new": (
        ROW, "(row := following[start : start + length], row if start == 0 else [-100] * max(0, "
             "len(row) - stride) + row[-stride:])[1]"),
    "a token is predicted in the last window that reads it: take the first, where more stands "
    "before it": (
        ROW, "following[start : start + length] if start + length >= len(read) else "
             "(following[start : start + stride] + [-100] * length)[:length]"),
    "a window is made that has nothing new to predict: stop with the one that reaches the end": [
        (STOP, "", ROW, SHORT),
        (STOP, STOP.replace(">=", ">"), ROW, SHORT),
        (STOP, STOP.replace("len(read)", "len(read) + 1"), ROW, SHORT)],
    "the end of a text is lost: the last window may be shorter than length": [
        (STOP, "            if start + length > len(read):\n                break\n"),
        (STOP, "            if start and start + length > len(read):\n                break\n")],
    "texts that are shorter than a window are lost: their one window is shorter": (
        STOP, f"            if len(read) < length:\n                break\n{STOP}"),
    "the last token of a text is lost where it alone is left: it has a window, too": (
        STOP, STOP.replace("len(read)", "max(1, len(read) - 1)")),
    "the last token of a text is never predicted: it has a label, and only is not read": [
        (READ, "read, following = text[:-2], text[1:-1]"),
        (READ, "read, following = text[:-1], [*text[1:-1], -100]")],
    "the last window is moved back to be full: it begins a multiple of stride after the first": [
        (WINDOW, BACK, ROW, "[-100] * (len(window) - len(new := following[start + known : start + "
         "length])) + new"),
        (WINDOW, BACK, ROW, "([-100] * known + following[max(0, min(start, len(read) - length)) + "
         "known :])[: len(window)]")],
    "windows run from one text into the next: cut each text by itself": [
        (EACH, "for text in [sum(texts, [])]:"),
        (EACH, "for text in [[token for text in texts if len(text) > 1 for token in text]]:")],
    "the last token of a text is read, though nothing comes after it: read all but the last": (
        READ, "read, following = text, text[1:] + [-100]"),
    "the last token of each window has no label: it is the token after the window": [
        (ROW, f"({ROW})[: length - 1] + [-100]"),
        (ROW, f"({ROW})[: len(window) - 1] + [-100]"),
        (ROW, f"({ROW})[: len(window) - 1] + (following[-1:] "
              "if start + length >= len(read) else [-100])")],
    TOO_SHORT: (
        "    tokens, labels = [], []", "    length = max(1, length - 1)\n"
        "    stride = min(stride, length)\n    tokens, labels = [], []"),
    "the windows read length - 1 tokens, the last of which follows only: length is what is read": (
        WINDOW, "read[start : start + length - 1]", ROW, f"({ROW})[: length - 1]"),
    "the windows are a token too long: one reads at most `length` tokens": (
        WINDOW, "read[start : start + length + 1]",
        ROW, f"({ROW}) + following[start + length :][:1]"),
    "windows begin every `length` tokens, and do not overlap: they begin every `stride`": [
        (STARTS, "range(0, len(read), length)", KNOWN, "0", *NOTHING_NEW),
        (STARTS, "range(0, len(read), length)", *NOTHING_NEW)],
    "windows begin every length - stride tokens: stride says how far apart they begin, not how far "
    "they overlap": [
        (STARTS, "range(0, len(read), length - stride or length)",
         KNOWN, "stride % length if start else 0", *NOTHING_NEW),
        (STARTS, "range(0, len(read), max(1, length - stride))", KNOWN, "stride if start else 0",
         *NOTHING_NEW),
        (STARTS, "range(0, len(read), max(1, length - stride))", *NOTHING_NEW)],
    "length and stride have changed places: windows of `length` tokens begin every `stride`": (
        "    tokens, labels = [], []", "    length, stride = stride, length\n"
        "    tokens, labels = [], []", KNOWN, "0", *NOTHING_NEW),
    "the label of a token is the token itself: it is the next one": (
        READ, "read, following = text[:-1], text[:-1]"),
    "the labels are the tokens themselves, as for a model that shifts them by itself: the label of "
    "a token is the next one, and the last is not read": [
        (READ, "read, following = text, text"),
        (READ, "read, following = text, text", TOKENS,
         "pad_sequence([*map(torch.tensor, tokens)], True)",
         LABELS, "pad_sequence([*map(torch.tensor, labels)], True, -100)")],
    "the label of a token is the one before it: it is the next one": (
        READ, "read, following = text[1:], text[:-1]"),
    "the label is two tokens on: it is the next one": (
        READ, "read, following = text[:-1], text[2:] + text[:1]"),
    "labels are filled up with 0, which is a token: fill them with -100": (
        FILL_LABELS, "row + [0] * (n - len(row))"),
    "tokens are filled up with -100, which no model can look up: fill them with 0": (
        FILL, "row + [-100] * (n - len(row))"),
    "tokens and labels have each other's filling: 0 for tokens, -100 for labels": (
        "tokens = [row + [0]", "tokens = [row + [-100]",
        "labels = [row + [-100]", "labels = [row + [0]"),
    "what is filled up, or hidden, is -1 in the labels: it is -100": [
        ("[row + [-100]", "[row + [-1]"), (ROW, ROW.replace("-100", "-1")),
        (ROW, ROW.replace("-100", "-1"), "[row + [-100]", "[row + [-1]")],
    "labels that are not asked for are 0, which is a token: they are -100": [
        (ROW, ROW.replace("-100", "0")),
        (ROW, ROW.replace("-100", "0"), "[row + [-100]", "[row + [0]")],
    "the rows are filled up on the left: fill them up on the right": (
        FILL, "[0] * (n - len(row)) + row", FILL_LABELS, "[-100] * (n - len(row)) + row"),
    "the rows are always `length` wide: they are as wide as the longest window": [
        (WIDTH, "length"), (WIDTH, "length if tokens else 0"),
        (WIDTH, "length", TOKENS, "torch.stack([*map(torch.tensor, tokens)])",
         LABELS, "torch.stack([*map(torch.tensor, labels)])")],
    "the rows are as wide as the longest text: they are as wide as the longest window": [
        (WIDTH, "max([len(text) - 1 for text in texts if len(text) > 1], default=0)"),
        (WIDTH, "max(map(len, texts), default=0)")],
    "a text of 2 tokens is left out: it has one token to read, and one label": (
        EACH, f"{EACH}\n        if len(text) < 3:\n            continue"),
    "a text of 1 token has a window here: there is nothing to predict": [
        (READ, "read, following = text[:-1] or text, text[1:] or [-100] * len(text)"),
        (READ, "read, following = text[:-1] or text[:1], text[1:] or [-100] * len(text)")],
    "a text without a token, or with one, has a window of no token here: it has none": (
        STARTS, "range(0, len(read) or 1, stride)", STOP,
        STOP.replace("if start", "if read and start")),
    "without any window, something else comes back, or an error: give two int64 tensors of shape "
    "(0, 0)": [
        (WIDTH, "max(map(len, tokens))"), (TOKENS, "torch.tensor(tokens)", LABELS,
         "torch.tensor(labels)"), (TOKENS, "torch.tensor(tokens, dtype=torch.int64)", LABELS,
         "torch.tensor(labels, dtype=torch.int64)"),
        (TOKENS, "pad_sequence([*map(torch.tensor, tokens)], True)",
         LABELS, "pad_sequence([*map(torch.tensor, labels)], True, -100)"),
        (SIZE, f"{SIZE}\n    if not tokens:\n        return None"),
        (SIZE, f"{SIZE}\n    if not tokens:\n        return [], []"),
        (SIZE, "size = len(tokens), n if tokens else length"),
        (TOKENS, "torch.tensor(tokens).reshape(size)", LABELS,
         "torch.tensor(labels).reshape(size)")],
    "the tensors are int32: give int64": (
        TOKENS, TOKENS.replace("int64", "int32"), LABELS, LABELS.replace("int64", "int32")),
    "the tensors are floating: give int64": [
        (TOKENS, f"{TOKENS}.float()", LABELS, f"{LABELS}.float()"),
        (TOKENS, f"{TOKENS}.double()", LABELS, f"{LABELS}.double()")],
    "these are lists: give two tensors": (RETURN, "return tokens.tolist(), labels.tolist()"),
    "the labels come first: give the tokens first": (RETURN, "return labels, tokens"),
    "tokens and labels come as one tensor: give two": [
        (RETURN, "return torch.stack([tokens, labels])"),
        (RETURN, "return torch.stack([tokens, labels], -1)")],
    "only the tokens come back: give the labels, too": (RETURN, "return tokens"),
    "the windows come in reverse order: the first comes first": (
        RETURN, "return tokens.flip(0), labels.flip(0)"),
    "only the first text is cut: cut all of them": (EACH, "for text in texts[:1]:"),
    "the last text is left out: cut all of them": (EACH, "for text in texts[:-1]:"),
    "a text that has come before is left out: each counts, also one like another": (
        EACH, "for text in [t for i, t in enumerate(texts) if t not in texts[:i]]:"),
    "it stops at the first text without a window: go on with the next one": (
        EACH, f"{EACH}\n        if len(text) < 2:\n            break"),
    "labels of 0 are hidden: 0 is a token like the others": (
        RETURN, "return tokens, labels.where(labels != 0, -100)"),
    "labels that the row has before are hidden: it is the place that counts, not the token": (
        ROW, "[-100] * known + [-100 if b in following[start : start + known + i] else b for i, b "
             "in enumerate(following[start + known : start + length])]"),
    "an empty text is an error here: it gives no window": (
        EACH, f"{EACH}\n        text[0]"),
})  # fmt: skip


@exercise.mutant(
    "the windows are ordered by where they begin: give those of a text one after another, text "
    "after text"
)
def ordered_by_beginning(texts, length, stride):
    found = [plain([text], length, stride) for text in texts]
    places = [(k, i) for i, (tokens, _) in enumerate(found) for k in range(len(tokens))]
    tokens, labels = plain(texts, length, stride)
    order = sorted(range(len(places)), key=places.__getitem__)
    return tokens[order], labels[order]


@exercise.mutant(TOO_SHORT)
def labels_from_within(texts, length, stride):
    tokens, labels = [], []
    for text in texts:
        for start in range(0, len(text), stride):
            window = text[start : start + length]
            known = min(length - stride, len(window) - 1) if start else 0
            if len(window) > 1:
                tokens.append(window[:-1])
                labels.append([-100] * known + window[1:][known:])
    n = max(map(len, tokens), default=0)
    rows = [row + [0] * (n - len(row)) for row in tokens]
    asked = [row + [-100] * (n - len(row)) for row in labels]
    size = len(tokens), n
    made = (torch.tensor(one, dtype=torch.int64).reshape(size) for one in (rows, asked))
    return tuple(made)


@exercise.mutant(
    "it calls itself for each window, and Python allows a thousand such calls: use a loop"
)
def window_after_window(texts, length, stride):
    def pairs(text, start=0):
        known = length - stride if start else 0
        if start + known >= len(text) - 1:
            return []
        labels = [-100] * known + text[1:][start + known : start + length]
        return [(text[:-1][start : start + length], labels), *pairs(text, start + stride)]

    made = [pair for text in texts for pair in pairs(text)]
    tokens, labels = ([torch.tensor(pair[i]) for pair in made] for i in (0, 1))
    if not made:
        return torch.zeros(0, 0, dtype=torch.int64), torch.zeros(0, 0, dtype=torch.int64)
    return pad_sequence(tokens, True), pad_sequence(labels, True, -100)


@exercise.mutant(hints.CHANGES)
def taken_from_the_text(texts, length, stride):
    result = plain(texts, length, stride)
    for text in texts:
        del text[: len(text) - 1]
    return result
