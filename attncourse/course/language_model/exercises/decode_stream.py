"""Exercise decode_stream: which characters are complete, token after token."""

import re

from judge import variants
from judge.exercise import Case, Exercise

exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    without={"loops": "tokens come one after another, and a loop over them is the task"},
)
exercise.valid(variants.worked(exercise))


def first_error(data):
    """The decoder's error at the first bytes that are no character; None if there are none."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error
    return None


def unfinished(data):
    """The number of bytes at the end that begin a character, which may still be finished."""
    for n in (3, 2, 1):
        error = first_error(data[-n:])
        if error and error.start == 0 and "end of data" in error.reason:
            return min(n, len(data))
    return 0


@exercise.reference
def from_the_beginning(tokens):
    shown, data, before = [], b"", ""
    for place, token in enumerate(tokens, 1):
        data += bytes(token)
        waits = unfinished(data) if place < len(tokens) else 0
        text = data[: len(data) - waits].decode(errors="replace")
        shown.append(text[len(before) :])
        before = text
    return shown


@exercise.differs
def first_difference(wanted, given, tokens):
    """What is certain where the texts first differ, and the bytes that decide there."""
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        return ""
    if len(given) != len(wanted):
        return (
            f"the number of texts is {len(given)}, but that of tokens is {len(tokens)}: return one "
            "text for each token, '' where nothing new can be shown, and none after the last"
        )
    index = next(
        i for i, (text, expected) in enumerate(zip(given, wanted, strict=True)) if text != expected
    )
    got, want, last = given[index], wanted[index], index == len(tokens) - 1
    before = b"".join(map(bytes, tokens[:index]))
    data = before[len(before) - unfinished(before) :] + bytes(tokens[index])
    waits = unfinished(data) > 0
    if last and waits and want == got + "\ufffd":
        mistake = (
            "bytes that still wait after the last token are not shown: show them as one U+FFFD"
        )
    elif re.sub("\ufffd+", "\ufffd", got) == re.sub("\ufffd+", "\ufffd", want):
        mistake = (
            "the number of U+FFFD is wrong: show one for each beginning that is broken off, "
            "however many bytes it has, and one for each other byte that is in no character"
        )
    elif want.startswith(got) and "\ufffd" in want[len(got) :]:
        mistake = (
            "too little is shown: show U+FFFD at once for a byte that begins no character, and for "
            "a beginning as soon as a byte can't follow it, and then look at that byte again"
        )
    elif want.startswith(got):
        mistake = "too little is shown: show a character with the token that completes it"
    elif got.startswith(want) and waits and not last:
        mistake = "too much is shown: let the beginning of a character wait until the rest has come"
    else:
        mistake = "the wrong text is shown"
    # with U+FFFD as in the task
    shown = f"you should show {want!r}, and you show {got!r}".replace("\ufffd", "\\ufffd")
    place = f"of the bytes {', '.join(map(str, data))}, " if len(data) <= 12 else ""
    return f"{mistake}. Here, {place}with token {index + 1}{', the last,' if last else ''} {shown}"


def draw_text(draw):
    """Bytes of a few characters: one of each length at least."""
    kinds = "aZ 7\n", "éßñ", "€—“中", "😀🌍𝄞"
    order = [0, 1, 0, 2, 3, *draw.integers(0, 3, 9).tolist()]
    return "".join(kinds[i][draw.integer(0, len(kinds[i]) - 1)] for i in order).encode()


def cut_at_random(draw, data, longest=3):
    """The bytes in tokens of random lengths."""
    tokens, rest = [], list(data)
    while rest:
        size = draw.integer(1, longest)
        tokens.append(rest[:size])
        rest = rest[size:]
    return tokens


@exercise.cases
def cases(draw):
    data = draw_text(draw)
    yield Case("a text in tokens of up to 3 bytes", (cut_at_random(draw, data),))
    yield Case("a token for each byte", ([[byte] for byte in data],))
    yield Case("a token for each character", ([[*char.encode()] for char in data.decode()],))
    yield Case("one token", ([[*data]],))
    a, (e, f), (b, c, d), (g, h, i, j) = ord("Z"), "ñ".encode(), "中".encode(), "🌍".encode()
    yield Case("tokens that end one character and begin another",
               ([[a, b], [c, d, e], [f, g], [h, i], [j, a]],))  # fmt: skip
    yield Case("tokens without bytes within a character",
               ([[], [a, b], [], [c, d], [], [e], [], [], [f], []],))  # fmt: skip
    yield Case("a text that ends after 2 of 3 bytes", ([[a, b], [c]],))
    yield Case("a text that ends after 3 of 4 bytes", ([[a, g], [h, i]],))
    yield Case("a text that ends within a character, and a last token without bytes",
               ([[a, g], [h, i], []],))  # fmt: skip
    yield Case("a last token of a letter and a beginning", ([[a], [a, b]],))
    # 128 to 191 follow another byte; the others are in no character
    ranges = (128, 191), (245, 247), (192, 193), (248, 255)
    stray_bytes = [draw.integer(*bounds) for bounds in ranges]
    yield Case(
        "bytes that begin no character",
        ([[a], *([x] for x in stray_bytes), [a], [*stray_bytes, a]],),
    )
    yield Case("bytes that begin no character, at the end", ([[a], stray_bytes],))
    yield Case("a broken beginning before a letter", ([[b], [a], [b, c], [a, g, h], [i], [a]],))
    broken = [[b, c], [e], [f, g], [h, b, c, d]]
    yield Case("a broken beginning before another character", (broken,))
    yield Case("two broken beginnings, then a byte too many",
               ([[g, h], [i, e], [f], [f, a], [b], [c], [d], [d]],))  # fmt: skip
    low, lower = draw.integer(128, 159), draw.integer(128, 143)
    yield Case("a second byte that is too low", ([[a], [224], [low], [a], [240], [lower], [191]],))
    high = draw.integer(144, 191)
    yield Case("a second byte that is too high", ([[244], [high], [a, 244], [191, 191], [191]],))
    first_chars = "\0\x80\u0800\u1000\U00010000\U00040000\U00080000\U000c0000\U00100000"
    yield Case(
        "the first characters of 1 to 4 bytes", (cut_at_random(draw, first_chars.encode(), 2),)
    )
    last_chars = "\x7f\u07ff\ud7ff\uffff\U000fffff\U0010ffff"
    yield Case(
        "the last characters of 1 to 4 bytes", (cut_at_random(draw, last_chars.encode(), 2),)
    )
    yield Case(
        "U+FFFD in the text itself", (cut_at_random(draw, "a\ufffdb\ufffd\ufffd".encode(), 2),)
    )
    yield Case("U+FEFF at the beginning", (cut_at_random(draw, "\ufeffa\ufeffé".encode(), 2),))
    blank = [b" a", b" \r", b"\nb ", b"\r", b" c\n", b"\r\n", b"\t", b" "]
    yield Case("blanks and line ends", ([[*token] for token in blank],))
    yield Case("1,200 tokens", ([[byte] for byte in (data * 100)[:1200]],))
    yield Case("no tokens", ([],))
    yield Case("one token without bytes", ([[]],))


@exercise.valid
def with_what_waits(tokens):
    text, waiting = [], b""
    for token in tokens:
        waiting += bytes(token)
        end = len(waiting) - unfinished(waiting)
        text.append(waiting[:end].decode(errors="replace"))
        waiting = waiting[end:]
    if waiting:
        text[-1] += waiting.decode(errors="replace")
    return text


# what the second byte may be, where that is less than all from 128 to 191
SECOND = {224: (160, 191), 237: (128, 159), 240: (144, 191), 244: (128, 143)}


@exercise.valid
def by_counting(tokens):
    text, waiting, need, low, high = [], [], 0, 128, 191
    for token in tokens:
        now = ""
        for byte in token:
            if need and not low <= byte <= high:
                now, need = now + "\ufffd", 0
            if need:
                waiting.append(byte)
                need -= 1
                low, high = 128, 191
                now += "" if need else bytes(waiting).decode(errors="replace")
            elif byte < 128:
                now += chr(byte)
            elif 194 <= byte <= 244:
                waiting = [byte]
                need = 1 if byte < 224 else 2 if byte < 240 else 3
                low, high = SECOND.get(byte, (128, 191))
            else:
                now += "\ufffd"
        text.append(now)
    if need:
        text[-1] += "\ufffd"
    return text


variants.right(exercise,
    "text = [decoder.decode(bytes(t), i == len(tokens)) for i, t in enumerate(tokens, 1)]\n"
    "if text: pass",
    "text = [*map(decoder.decode, map(bytes, tokens))]",
    'decoder = codecs.lookup("utf8").incrementaldecoder("replace")',
)  # fmt: skip
variants.wrong(exercise, {
    "you decode each token by itself: carry bytes over, because a character may begin in one token "
    "and end in a later one":
        'text = [bytes(token).decode(errors="replace") for token in tokens]',
    "you decode each token by itself, so a character that is split between tokens is lost: carry "
    "its bytes over":
        'text = [bytes(token).decode(errors="ignore") for token in tokens]',
    "you decode each token by itself, so half a character raises an error: carry its bytes over":
        "text = [bytes(token).decode() for token in tokens]",
    "bytes that form no character are lost: show one U+FFFD for each beginning that is broken off, "
    "and one for each other byte": (
        "replace", "ignore"),
    "an incomplete character at the end is lost: show one U+FFFD for it, with the last token":
        "if text: pass",
    "an incomplete character at the end gets an entry of its own: add its U+FFFD to the last "
    "token's text": [
        'if text: text.append(decoder.decode(b"", final=True))',
        'if text: text += filter(None, [decoder.decode(b"", final=True)])'],
    "an incomplete character at the end replaces the last token's text: add its U+FFFD to "
    "that text": (
        "+=", "="),
    "an empty list of tokens raises an error, because there is no last token: return an empty list":
        ("if text:", "if True:"),
    "you show each byte as a character: decode the bytes, because in UTF-8 a byte from 128 on is "
    "only part of a character":
        'text = ["".join(map(chr, token)) for token in tokens]',
    "spaces and line ends are lost: show the text as it is": "return [one.strip() for one in text]",
    "tokens that show nothing new are left out: give each of them an empty text": [
        "return [one for one in text if one]",
        'text = [*codecs.iterdecode(map(bytes, tokens), "utf-8", "replace")]\nif text: pass'],
    "you return all the text so far: return only what is new with each token": [
        'return ["".join(text[:i]) for i in range(1, len(text) + 1)]',
        "data = [*map(bytes, tokens)]\n"
        'text = [b"".join(data[: i + 1]).decode(errors="replace") for i in range(len(data))]'],
    "you join the texts: return one for each token": 'return "".join(text)',
})  # fmt: skip
variants.wrong(exercise, {
    "your code waits until all bytes so far are valid, so a single invalid byte makes it wait "
    "forever: show that byte as U+FFFD, and go on": (
        "unfinished(waiting)", "(len(waiting) if first_error(waiting) else 0)"),
    "your code waits from the first invalid byte on: show a byte that can never become part of a "
    "character as U+FFFD at once": (
        "unfinished(waiting)",
        "(len(waiting) - error.start if (error := first_error(waiting)) else 0)"),
    "you look only at the first error in the waiting bytes: let an unfinished character at the end "
    "wait even after invalid bytes": (
        "unfinished(waiting)",
        "(len(waiting) - error.start if (error := first_error(waiting)) and "
        '"end of data" in error.reason else 0)'),
    "your code waits whenever the text ends with U+FFFD: show it at once for a byte that can never "
    "become part of a character, and where the text itself has it": (
        "unfinished(waiting)",
        '(len(waiting) if waiting.decode(errors="replace").endswith("\\ufffd") else 0)'),
    "your code waits after any byte from 128 on: show a complete character, or a byte that "
    "continues none, at once": (
        "unfinished(waiting)", "(len(waiting) if waiting and waiting[-1] >= 128 else 0)"),
    "the waiting bytes are lost when the next token comes: add the token's bytes to them": (
        "waiting += bytes(token)", "waiting = bytes(token)"),
    "text that has been shown is shown again with the next token: keep only the bytes that wait": (
        "waiting = waiting[end:]", "pass"),
}, of=with_what_waits)  # fmt: skip
variants.wrong(exercise, {
    "an unfinished character is shown as U+FFFD, and the character itself never appears: show only "
    "what can no longer change": (
        "unfinished(data) if place < len(tokens) else 0", "0"),
    "your code lets every U+FFFD at the end wait: show it at once for a byte that begins no "
    "character, and where the text itself has it": (
        'data[: len(data) - waits].decode(errors="replace")',
        'data.decode(errors="replace")\n'
        '        now = now.rstrip("\\ufffd") if place < len(tokens) else now'),
}, of=from_the_beginning)  # fmt: skip
BROKEN_OFF = 'now, need = now + "\\ufffd", 0'
variants.wrong(exercise, {
    "the byte that breaks off a character is lost: look at it again, because it may be a letter or "
    "begin the next character": (
        BROKEN_OFF, f"{BROKEN_OFF}\n                continue"),
    "the beginning of a character that is broken off is lost: show one U+FFFD for it": (
        BROKEN_OFF, "need = 0"),
    "you take as many bytes as the first one announces, whatever they are: let a byte that can't "
    "follow end the character": [
        ("if need and not low <= byte <= high", "if False"),
        ("if need and not low <= byte <= high", "if False", "194 <= byte <= 244", "192 <= byte")],
    "only the first byte decides how long you wait: look at the second one, too, because not every "
    "byte can follow 224, 240 and 244": (
        "SECOND.get(byte, (128, 191))", "128, 191"),
    "your code waits after a byte such as 192 or 245, which begins no character: show U+FFFD at "
    "once for 192, 193 and 245 to 255": [
        ("194 <= byte <= 244", "192 <= byte <= 247"), ("194 <= byte <= 244", "192 <= byte")],
}, of=by_counting)  # fmt: skip
