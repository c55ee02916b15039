"""Exercise decode_stream: which characters are complete, token after token."""

import codecs
import re
from itertools import pairwise

from judge import hints, variants
from judge.exercise import Case, Exercise

exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    without={"loops": "tokens come one after another, and a loop over them is the task"},
)


def begins_a_character(part):
    """Whether more bytes after these may make one character of them."""
    try:
        part.decode()
    except UnicodeDecodeError as error:
        return error.start == 0 and "end of data" in error.reason
    return False


def unfinished(data):
    """How many bytes at the end begin a character that may still be finished."""
    return next((n for n in (3, 2, 1) if n <= len(data) and begins_a_character(data[-n:])), 0)


def is_one(data):
    """Whether these bytes are one character."""
    text = data.decode(errors="ignore")
    return len(text) == 1 and text.encode() == data


# what the second byte may be, where that is less than all from 128 to 191
SECOND = {224: (160, 191), 237: (128, 159), 240: (144, 191), 244: (128, 143)}


@exercise.reference
def from_the_beginning(tokens):
    shown, data, text = [], b"", ""
    for place, token in enumerate(tokens):
        data += bytes(token)
        waits = unfinished(data) if place < len(tokens) - 1 else 0
        now = data[: len(data) - waits].decode(errors="replace")
        shown.append(now[len(text) :])
        text = now
    return shown


def quoted(some):
    """A text as Python writes it, with U+FFFD as in the task."""
    return repr(some).replace("\ufffd", "\\ufffd")


def in_one(some):
    return re.sub("\ufffd+", "\ufffd", some)


@exercise.differs
def first_difference(wanted, given, tokens):
    """Where the texts first differ, the bytes that decide there, and what is certain of them."""
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        return ""
    if len(given) != len(wanted):
        return (
            f"the number of texts is {len(given)}, and that of tokens {len(tokens)}: give one for "
            "each token, '' where nothing new can be shown, and none for what comes after the last"
        )
    at = next(i for i, (one, other) in enumerate(zip(given, wanted, strict=True)) if one != other)
    got, want = given[at], wanted[at]
    before = b"".join(map(bytes, tokens[:at]))
    data = before[len(before) - unfinished(before) :] + bytes(tokens[at])
    waits = unfinished(data)
    last = ", the last," if at == len(tokens) - 1 else ""
    shown = f"with token {at + 1}{last} {quoted(want)} is to be shown, and yours is {quoted(got)}"
    if len(data) <= 12:
        shown = f"of the bytes {', '.join(map(str, data))}, {shown}" if data else shown
    if last and waits and in_one(got) == in_one(want):
        return (
            f"a beginning that waits at the end is one U+FFFD, however many bytes it has: {shown}"
        )
    if last and waits and want == got + "\ufffd":
        return f"what waits when the last token has come is not shown, as one U+FFFD: {shown}"
    if in_one(got) == in_one(want):
        return (
            f"the number of U+FFFD is not right: {shown}. There is one for a beginning that is "
            "broken off, and one for each byte that is in none"
        )
    if want.startswith(got):
        why = (
            "A byte that cannot follow makes U+FFFD certain, and is then looked at anew"
            if "\ufffd" in want[len(got) :]
            else "A character is shown with the token that completes it"
        )
        return f"too little is shown: {shown}. {why}"
    if got.startswith(want):
        why = (
            ". What begins a character waits until the rest has come" if waits and not last else ""
        )
        return f"too much is shown: {shown}{why}"
    return f"another text is shown: {shown}"


ONE, TWO, THREE, FOUR = "aZ 7\n", "éßñ", "€—“中", "😀🌍𝄞"


def text(draw, *kinds):
    """A character of each of these kinds, any of them."""
    return "".join(kind[draw.integer(0, len(kind) - 1)] for kind in kinds)


def cut(draw, data, longest=3):
    """The bytes in tokens of random lengths."""
    tokens, rest = [], list(data)
    while rest:
        size = draw.integer(1, longest)
        tokens.append(rest[:size])
        rest = rest[size:]
    return tokens


@exercise.cases
def cases(draw):
    kinds = (ONE, TWO, ONE, THREE, FOUR)
    order = draw.integers(0, 4, 9).tolist()
    mixed = text(draw, *kinds, *(kinds[i] for i in order)).encode()
    yield Case("a text in tokens of up to 3 bytes", (cut(draw, mixed),))
    yield Case("a text in tokens of up to 5 bytes", (cut(draw, mixed, 5),))
    yield Case("a token for each byte", ([[byte] for byte in mixed],))
    yield Case("a token for each character", ([[*one.encode()] for one in mixed.decode()],))
    yield Case("one token", ([[*mixed]],))
    pieces = [text(draw, ONE, THREE).encode(), text(draw, TWO).encode(), text(draw, FOUR).encode()]
    (a, b, c, d), (e, f), (g, h, i, j) = pieces
    yield Case("tokens that end one character and begin another",
               ([[a, b], [c, d, e], [f, g], [h, i], [j, a]],))  # fmt: skip
    yield Case("tokens of no byte within a character",
               ([[], [a, b], [], [c, d], [], [e], [], [], [f], []],))  # fmt: skip
    yield Case("a text that ends within a character of 2 bytes", ([[a], [e]],))
    yield Case("a text that ends after 1 of 3 bytes", ([[a], [b]],))
    yield Case("a text that ends after 2 of 3 bytes", ([[a, b], [c]],))
    yield Case("a text that ends after 3 of 4 bytes", ([[a, g], [h, i]],))
    yield Case("a text that ends within a character, and a last token of no byte",
               ([[a, g], [h, i], []],))  # fmt: skip
    yield Case("a last token of a letter and a beginning", ([[a], [a, b]],))
    yield Case("a text that is no more than a beginning", ([[b, c]],))
    # 128 to 191 follow another byte; the others are in no character
    ranges = (128, 191), (245, 247), (192, 193), (248, 255)
    other = [draw.integer(*one) for one in ranges]
    yield Case("bytes that begin no character", ([[a], *([x] for x in other), [a], [*other, a]],))
    yield Case("bytes that begin no character, at the end", ([[a], other],))
    yield Case("a broken beginning before a letter", ([[b], [a], [b, c], [a, g, h], [i], [a]],))
    broken = [[b, c], [e], [f, g], [h, b, c, d]]
    yield Case("a broken beginning before another character", (broken,))
    yield Case("two broken beginnings, then a byte too many",
               ([[g, h], [i, e], [f], [f, a], [b], [c], [d], [d]],))  # fmt: skip
    low, lower = draw.integer(128, 159), draw.integer(128, 143)
    yield Case("a second byte that is too low", ([[a], [224], [low], [a], [240], [lower], [191]],))
    high = draw.integer(144, 191)
    yield Case("a second byte that is too high", ([[244], [high], [a, 244], [191, 191], [191]],))
    right = "\u0800\ud7ff\U00010000\U0010ffff".encode()
    yield Case("second bytes that are just right", (cut(draw, right, 2),))
    yield Case("U+FFFD in the text itself", (cut(draw, "a\ufffdb\ufffd\ufffd".encode(), 2),))
    yield Case("U+FFFD in the text itself, whole", ([[*"\ufffd".encode()], [a]],))
    yield Case("U+FEFF at the beginning", (cut(draw, "\ufeffa\ufeffé".encode(), 2),))
    blank = [b" a", b" \r", b"\nb ", b"\r", b" c\n", b"\r\n", b"\t", b" "]
    yield Case("blanks and line ends", ([[*token] for token in blank],))
    yield Case("letters of English", ([[*b"The"], [*b" st"], [*b"ate"], [*b"."]],))
    yield Case("an accent that follows its letter", ([[101], [204], [129], [110], [204, 131]],))
    yield Case("an accent that follows its letter, in one token", ([[101, 204, 129]],))
    yield Case("bytes 0 and 127", ([[65, 0, 66], [127], [0]],))
    last = "\u07ff\uffff\U000fffff\U0010ffff".encode()
    yield Case("the last characters of 2, 3 and 4 bytes", (cut(draw, last, 2),))
    first = "\x80\u0800\u1000\U00010000\U00040000\U00080000\U000c0000\U00100000".encode()
    yield Case("the first characters of 2, 3 and 4 bytes", (cut(draw, first, 2),))
    yield Case("1,200 tokens", ([[byte] for byte in (text(draw, *kinds).encode() * 200)[:1200]],))
    yield Case("no tokens", ([],))
    yield Case("one token of no byte", ([[]],))


@exercise.valid
def plain(tokens):
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = [decoder.decode(bytes(token)) for token in tokens]
    if text:
        text[-1] += decoder.decode(b"", final=True)
    return text


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


BEGINNING = re.compile(
    rb"(?:[\xc2-\xf4]|\xe0[\xa0-\xbf]|\xed[\x80-\x9f]|[\xe1-\xec\xee\xef][\x80-\xbf]"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]?|[\xf1-\xf3][\x80-\xbf]{1,2}|\xf4[\x80-\x8f][\x80-\xbf]?)\Z"
)


@exercise.valid
def by_a_pattern(tokens):
    text, waiting = [], b""
    for place, token in enumerate(tokens, 1):
        waiting += bytes(token)
        found = BEGINNING.search(waiting[-3:]) if place < len(tokens) else None
        kept = found[0] if found else b""
        text.append(waiting[: len(waiting) - len(kept)].decode("utf-8", "replace"))
        waiting = kept
    return text


@exercise.valid
def byte_by_byte(tokens):
    text, waiting = [], b""
    for token in tokens:
        now = ""
        for byte in token:
            longer = waiting + bytes([byte])
            if waiting and not (is_one(longer) or begins_a_character(longer)):
                now += "\ufffd"
                longer = bytes([byte])
            waiting = longer if begins_a_character(longer) else b""
            if not waiting:
                now += longer.decode() if is_one(longer) else "\ufffd"
        text.append(now)
    if waiting:
        text[-1] += "\ufffd"
    return text


@exercise.valid
def by_counting(tokens):
    text, waiting, need, low, high = [], [], 0, 128, 191
    for token in tokens:
        now = ""
        for byte in token:
            if need and not low <= byte <= high:
                now += "\ufffd"
                need = 0
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


@exercise.valid
def by_trying_what_may_follow(tokens):
    more = [tail for size in (1, 2, 3) for tail in (b"\x80" * size, b"\x90" + b"\x80" * (size - 1),
            b"\xa0" + b"\x80" * (size - 1))]  # fmt: skip

    def waits(part):
        for tail in more:
            try:
                if len((part + tail).decode()) == 1:
                    return True
            except UnicodeDecodeError:
                pass
        return False

    data = b"".join(map(bytes, tokens))
    text, start, end = [], 0, 0
    for place, token in enumerate(tokens, 1):
        end += len(token)
        last = place == len(tokens)
        kept = next((n for n in (3, 2, 1) if n <= end - start and waits(data[end - n : end])), 0)
        stop = end if last else end - kept
        text.append(data[start:stop].decode(errors="replace"))
        start = stop
    return text


MADE, TEXT = 'codecs.getincrementaldecoder("utf-8")(errors="replace")', (
    "[decoder.decode(bytes(token)) for token in tokens]")  # fmt: skip
FLUSH, RETURN = 'text[-1] += decoder.decode(b"", final=True)', "return text"
WHEN = f"    if text:\n        {FLUSH}\n"
IN_ONE = "[decoder.decode(bytes(t), i == len(tokens)) for i, t in enumerate(tokens, 1)]"
variants.right(exercise,
    (TEXT, IN_ONE, WHEN, ""),
    (TEXT, "[*map(decoder.decode, map(bytes, tokens))]", "if text:", "for _ in tokens[:1]:"),
    (MADE, 'codecs.lookup("utf8").incrementaldecoder("replace")'),
)  # fmt: skip
ALONE = (
    "each token is decoded by itself: a character may have begun in the token before, and may end "
    "in the next one"
)
LOST = "what is incomplete at the end is lost: show one U+FFFD for it, with the last token"
variants.wrong(exercise, {
    ALONE: [
        (TEXT, '[bytes(token).decode(errors="replace") for token in tokens]'),
        (TEXT, "[decoder.decode(bytes(token), final=True) for token in tokens]")],
    "each token is decoded by itself, and what is no character there is lost: carry it over": (
        TEXT, '[bytes(token).decode(errors="ignore") for token in tokens]'),
    "each token is decoded by itself, and one with half a character raises an error: carry its "
    "bytes over": [
        (TEXT, "[bytes(token).decode() for token in tokens]"),
        (MADE, 'codecs.getincrementaldecoder("utf-8")()', TEXT,
         "[decoder.decode(bytes(token), final=True) for token in tokens]")],
    "bytes that are no character are lost: each of them, or broken beginning, is shown as U+FFFD":
        (MADE, 'codecs.getincrementaldecoder("utf-8")(errors="ignore")'),
    "bytes that are no character raise an error: show U+FFFD for them": (
        MADE, 'codecs.getincrementaldecoder("utf-8")()', TEXT, IN_ONE, WHEN, ""),
    "bytes that are no character are shown in another way: show U+FFFD for them": [
        (MADE, 'codecs.getincrementaldecoder("utf-8")(errors="backslashreplace")'),
        (MADE, 'codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")'),
        (RETURN, 'return [one.replace("\\ufffd", "?") for one in text]'),
        (RETURN, 'return [one.replace("\\ufffd", "") for one in text]')],
    "several U+FFFD in a row have become one: each byte that is none, and each broken beginning, "
    "has its own": (RETURN, 'return [re.sub("\\ufffd+", "\\ufffd", one) for one in text]'),
    LOST: (WHEN, ""),
    "what is incomplete at the end has an entry of its own: add it to the last token's text": [
        (FLUSH, 'text += filter(None, [decoder.decode(b"", final=True)])'),
        (FLUSH, 'text.append(decoder.decode(b"", final=True))')],
    "what is incomplete at the end takes the place of the last token's text: add it": [
        (FLUSH, 'text[-1] = decoder.decode(b"", final=True)'),
        (FLUSH, 'text[-1] = decoder.decode(b"", final=True) or text[-1]')],
    "the end is decoded as if more could come only where the last token has bytes": (
        FLUSH, "text[-1] += decoder.decode(b'', final=bool(tokens[-1]))"),
    "a token of no byte ends the text here: what waits still waits after it": (
        TEXT, "[decoder.decode(bytes(token), final=not token) for token in tokens]"),
    "without a token there is no last one: the result is an empty list": [
        (WHEN, f"    {FLUSH}\n"),
        (WHEN, f"    text = text or ['']\n    {FLUSH}\n")],
    "each byte is taken for a character: in UTF-8 those from 128 on are a part of one": [
        (MADE, 'codecs.getincrementaldecoder("latin-1")()'),
        (TEXT, '["".join(map(chr, token)) for token in tokens]')],
    "characters beyond ASCII are lost: the bytes are UTF-8": [
        (MADE, 'codecs.getincrementaldecoder("ascii")(errors="replace")'),
        (TEXT, '["".join(chr(b) if b < 128 else "\\ufffd" for b in token) for token in tokens]')],
    "U+FEFF at the beginning is lost: the encoding is utf-8, and not utf-8-sig": (
        MADE, 'codecs.getincrementaldecoder("utf-8-sig")(errors="replace")'),
    "line ends have changed: the text is shown as it is": [
        (RETURN, 'return [one.replace("\\r", "\\n") for one in text]'),
        (MADE, f"__import__('io').IncrementalNewlineDecoder({MADE}, translate=True)")],
    "blanks are lost: the text is shown as it is": [
        (RETURN, "return [one.strip() for one in text]"),
        (RETURN, "return [one.lstrip() for one in text]"),
        (RETURN, 'return [one.strip(" ") for one in text]')],
    "tokens after which nothing new can be shown are left out: they have an empty text": [
        (RETURN, "return [one for one in text if one]"),
        (TEXT, "[*codecs.iterdecode(map(bytes, tokens), 'utf-8', 'replace')]", WHEN, "")],
    "this is all the text so far: give what is new with each token": (
        RETURN, 'return ["".join(text[:i]) for i in range(1, len(text) + 1)]'),
    "the texts are joined: give one for each token": (RETURN, 'return "".join(text)'),
    "these are bytes, or their numbers: give texts": [
        (RETURN, "return [one.encode() for one in text]"),
        (RETURN, "return [[*one.encode()] for one in text]"),
        (RETURN, "return [[*map(ord, one)] for one in text]")],
    "all the text comes with the last token: show each character as soon as it is complete": (
        RETURN, 'return [*("" for _ in text[1:]), *["".join(text)][: len(text)]]'),
    "everything is shown a token late: what is complete with a token is shown with it": (
        RETURN, 'return ["", *text[:-2], "".join(text[-2:])] if len(text) > 1 else text'),
    "it returns a tuple of texts and of what waits: give the list of texts alone": (
        RETURN, "return text, decoder.getstate()[0].decode('latin-1')"),
})  # fmt: skip
END, KEPT = "len(waiting) - unfinished(waiting)", "waiting = waiting[end:]"
NOW = 'text.append(waiting[:end].decode(errors="replace"))'
LAST = 'text[-1] += waiting.decode(errors="replace")'


def shown_as_replaced(data):
    """How many bytes at the end are shown as U+FFFD."""
    text = data.decode(errors="replace")
    return len(data) - len(text.rstrip("\ufffd").encode()) if text.endswith("\ufffd") else 0


def not_yet_valid(data):
    """All bytes, unless they can be decoded as they are."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return len(data)
    return 0


def not_valid_from(data):
    """All bytes from the first on that cannot be decoded."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return len(data) - error.start
    return 0


def high_at_the_end(data):
    """How many bytes at the end are in no character of ASCII, at most 3."""
    tail = [byte >= 128 for byte in data[-3:][::-1]]
    return [*tail, False].index(False)


def by_bytes(data, broken=None):
    """The characters, where each byte of a broken beginning is shown, or all of it otherwise."""
    while data:
        size = next((n for n in (1, 2, 3, 4) if is_one(data[:n])), 0)
        start = next((n for n in (3, 2, 1) if begins_a_character(data[:n])), 0)
        if size:
            yield data[:size].decode()
        elif start and broken is not None:
            yield broken
        else:
            yield "\ufffd" * max(1, start)
        data = data[max(1, size, start) :]


WITHOUT = "what waits is lost with the next token: add the token's bytes to it"
BROKEN_OFF = "a beginning that is broken off is lost: it is shown as one U+FFFD"
variants.wrong(exercise, {
    "it waits until all bytes that have come are valid: after one that never will be, nothing more "
    "is shown": [(END, "len(waiting) - not_yet_valid(waiting)")],
    "it waits from the first byte on that is no character: one that can never become one is shown "
    "as U+FFFD at once": [(END, "len(waiting) - not_valid_from(waiting)")],
    "it waits whenever the text ends with U+FFFD: a byte that can never become a character is "
    "shown at once, and U+FFFD may be in the text itself": [
        (END, "len(waiting) - shown_as_replaced(waiting)"),
        (END, "0 if waiting.decode(errors='replace').endswith('\\ufffd') else len(waiting)")],
    "any byte from 128 on makes it wait: one that continues no character is shown at once": [
        (END, "len(waiting) - high_at_the_end(waiting)"),
        (END, "0 if waiting and waiting[-1] >= 128 else len(waiting)")],
    ALONE: (END, "len(waiting)"),
    "a beginning is shown as U+FFFD, and once more as a part of its character: it waits until then":
        (END, "len(waiting)", KEPT, "waiting = waiting[len(waiting) - unfinished(waiting) :]"),
    WITHOUT: (
        "waiting += bytes(token)", "waiting = bytes(token)"),
    "what waits comes after the token's bytes: it comes before them": (
        "waiting += bytes(token)", "waiting = bytes(token) + waiting"),
    "what has been shown is shown again with the next token: keep only what waits": (
        KEPT, "pass"),
    "a U+FFFD is shown for each byte that waits at the end: one stands for all of them": (
        LAST, "text[-1] += '\\ufffd' * len(waiting)"),
    LOST: [(LAST, "pass"), (LAST, "text[-1] += waiting.decode(errors='ignore')")],
    "what waits at the end raises an error: show one U+FFFD for it": (
        LAST, "text[-1] += waiting.decode()"),
    "a beginning that is broken off swallows the byte that broke it: that byte is looked at anew": (
        NOW, "text.append(re.sub('\\ufffd[\\x00-\\x7f]', '\\ufffd', waiting[:end]"
             ".decode(errors='replace')))"),
    "a beginning that is broken off is shown as a U+FFFD for each of its bytes: it has one": (
        NOW, "text.append(''.join(by_bytes(waiting[:end])))"),
    BROKEN_OFF: (
        NOW, "text.append(''.join(by_bytes(waiting[:end], broken='')))"),
}, of=with_what_waits)  # fmt: skip


@exercise.mutant(
    "a character is shown with the token that it begins in, before the rest of it has come"
)
def shown_too_early(tokens):
    data = b"".join(map(bytes, tokens))
    owner = [place for place, token in enumerate(tokens) for _ in token]
    shown, start = [""] * len(tokens), 0
    for character in data.decode(errors="replace"):
        shown[owner[start]] += character
        size = len(character.encode())
        if character == "\ufffd" and data[start : start + 3] != character.encode():
            size = next((n for n in (3, 2, 1) if begins_a_character(data[start : start + n])), 1)
        start += size
    return shown


@exercise.mutant(
    "a beginning is shown as U+FFFD, which then is not replaced by its character: compare with the "
    "text before only what can no longer change"
)
def by_the_length_of_the_text(tokens):
    shown, data, text = [], b"", ""
    for token in tokens:
        data += bytes(token)
        now = data.decode(errors="replace")
        shown.append(now[len(text) :])
        text = now
    return shown


@exercise.mutant(
    "each U+FFFD at the end waits: a byte that begins no character is shown at once, and a U+FFFD "
    "may stand in the text"
)
def all_but_a_replaced_end(tokens):
    shown, data, text = [], b"", ""
    for token in tokens:
        data += bytes(token)
        now = data.decode(errors="replace").rstrip("\ufffd")
        shown.append(now[len(text) :])
        text = max(text, now, key=len)
    if shown:
        shown[-1] += data.decode(errors="replace")[len(text) :]
    return shown


@exercise.mutant(
    "it calls itself for each token, and Python allows a thousand such calls: use a loop"
)
def token_after_token(tokens, decoder=None):
    decoder = decoder or codecs.getincrementaldecoder("utf-8")(errors="replace")
    if not tokens:
        return []
    now = decoder.decode(bytes(tokens[0]), final=len(tokens) == 1)
    return [now, *token_after_token(tokens[1:], decoder)]


@exercise.mutant(
    "as many bytes are taken as the first one says, whatever they are: one that cannot follow ends "
    "the character"
)
def taken_by_length(tokens):
    shown, waiting = [], b""
    for token in tokens:
        waiting += bytes(token)
        now = ""
        while waiting:
            first = waiting[0]
            size = 1 if first < 192 else 2 if first < 224 else 3 if first < 240 else 4
            if len(waiting) < size:
                break
            now += waiting[:size].decode(errors="replace")
            waiting = waiting[size:]
        shown.append(now)
    if waiting:
        shown[-1] += waiting.decode(errors="replace")
    return shown


FIRST, BROKEN = "194 <= byte <= 244", "                need = 0\n            if need:"
ANEW = (
    "the byte that breaks a character off is lost: look at it anew, because it may be a letter, or "
    "begin the next character"
)
variants.wrong(exercise, {
    ANEW: [
        (BROKEN, "                need = 0\n                continue\n            if need:"),
        (BROKEN, "                need = 0\n                if byte >= 128:\n"
         "                    continue\n            if need:")],
    BROKEN_OFF: (
        f'now += "\\ufffd"\n{BROKEN}', BROKEN),
    "the first byte alone decides how long it waits: after 224, 240 and 244 not every second byte "
    "can follow": ("SECOND.get(byte, (128, 191))", "128, 191"),
    "192, 193 and 245 to 255 begin no character: show U+FFFD for them at once": [
        (FIRST, f"{low} <= byte <= {high}")
        for low, high in ((192, 255), (194, 247), (192, 244), (194, 255), (192, 247))],
    "not every byte begins a character, or can follow: 192, 193 and 245 to 255 begin none, after "
    "224, 240 and 244 not all may come, and one that breaks a character off is looked at anew": [
        (FIRST, f"{low} <= byte <= {high}", "SECOND.get(byte, (128, 191))", "128, 191",
         BROKEN, then)
        for low, high in ((192, 255), (192, 247))
        for then in (BROKEN, "                need = 0\n                if byte >= 128:\n"
                     "                    continue\n            if need:")],
    "any byte is taken for one that follows: only those from 128 to 191 may": (
        "if need and not low <= byte <= high", "if False"),
    WITHOUT: ('        now = ""\n', '        now, need = "", 0\n'),
}, of=by_counting)  # fmt: skip


@exercise.mutant(
    "only the first error of what waits is looked at: after bytes that are no character, a "
    "beginning at the end may wait as well"
)
def the_first_error_decides(tokens):
    shown, waiting = [], b""
    for place, token in enumerate(tokens, 1):
        waiting += bytes(token)
        try:
            now, waiting = waiting.decode(), b""
        except UnicodeDecodeError as error:
            if "end of data" in error.reason and place < len(tokens):
                now, waiting = waiting[: error.start].decode(), waiting[error.start :]
            else:
                now, waiting = waiting.decode(errors="replace"), b""
        shown.append(now)
    return shown


@exercise.mutant(hints.CHANGES)
def joined_in_place(tokens):
    shown = plain(tokens)
    for before, after in pairwise(tokens):
        while before and before[-1] >= 128:
            after.insert(0, before.pop())
    return shown
