"""Exercise split_by_text: texts in windows to learn from and to test with, which must not mix."""

from itertools import chain

from judge import hints, variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    without={"loops": "windows are cut from lists, text by text"},
)
split_by_text = exercise.stub(variants.stub(exercise))


@exercise.reference
def year_by_year(texts, length, held_out):
    parts: dict[bool, list[list[int]]] = {False: [], True: []}
    for year, tokens in texts:
        parts[int(str(year)[-1]) in held_out].append(list(tokens))
    seen = [token for tokens in parts[False] for token in tokens]
    windows = {}
    for held, some in parts.items():
        windows[held] = []
        for tokens in some:
            rest = [token if token in seen else 1 for token in tokens]
            while rest:
                windows[held].append(rest[:length])
                rest = rest[length:]
    return windows[False], windows[True]


def drawn(draw, *years, low=2, high=60, shortest=5, longest=13):
    """A text for each of the years."""
    return [
        (year, draw.integers(low, high, draw.integer(shortest, longest)).tolist()) for year in years
    ]


@exercise.cases
def cases(draw):
    first = 1790, 1791, 1798, 1798, 1805, 1808, 1815, 1818, 1818, 1820, 1826, 1838
    yield Case("12 texts, length=4, held_out=[8]", (drawn(draw, *first), 4, [8]))
    yield Case("12 texts, length=5, held_out=[5, 8]", (drawn(draw, *first), 5, [5, 8]))
    yield Case("12 texts, length=3, held_out=[8, 1, 0]", (drawn(draw, *first), 3, [8, 1, 0]))
    yield Case("40 texts of few tokens", (drawn(draw, *range(1900, 1940), high=30), 6, [5]))
    disorder = [1958, 1917, 1848, 1930, 1918, 1958, 1848, 2011, 1905, 1917]
    yield Case("years in any order", (drawn(draw, *disorder), 4, [8]))
    digits = 1880, 1881, 1788, 1808, 1908, 1985, 2008, 2018, 1858, 1890
    yield Case("years with other eights", (drawn(draw, *digits), 4, [8]))
    yield Case("years that end in 0", (drawn(draw, *digits), 4, [0]))
    yield Case(
        "three texts of a year that is held out", (drawn(draw, 1917, 1918, 1918, 1918), 4, [8])
    )
    yield Case("three texts of a year to train with", (drawn(draw, 1918, 1917, 1917, 1917), 4, [8]))
    long = drawn(draw, 1807, 1808, 1809, shortest=60, longest=70)
    yield Case("three long texts", (long, 5, [8]))
    # 9 is in a training text alone, 8 in a test alone, 7 in both
    yield Case("tokens of one part alone", ([(1805, [7, 9, 7]), (1808, [7, 8, 8, 7]),
               (1818, [8, 7])], 3, [8]))  # fmt: skip
    yield Case("a token that stands in a later training text", ([(1808, [4, 5, 6]), (1809, [4]),
               (1818, [5, 6, 7]), (1819, [5, 5, 6])], 2, [8]))  # fmt: skip
    yield Case("a token that stands once, at the end of a text", ([(1801, [2, 3, 2, 3, 2, 5]),
               (1808, [5, 3, 6, 2]), (1802, [3, 3, 2])], 4, [8]))  # fmt: skip
    again = [4, 5, 6, 4, 5]
    yield Case("equal texts in both parts", ([(1806, again), (1808, again), (1808, again),
               (1806, again)], 2, [8]))  # fmt: skip
    yield Case("tokens 0 and 1", ([(1806, [0, 1, 2, 0]), (1808, [0, 1, 3, 0]), (1809, [2, 2])], 3,
               [8]))  # fmt: skip
    yield Case("token 0, and token 1 that no training text has", ([(1806, [4, 0, 2]),
               (1808, [1, 0, 3, 4])], 3, [8]))  # fmt: skip
    yield Case("a known token in one window, an unknown one in the next",
               ([(1806, [2, 3]), (1808, [2, 3, 8, 9, 3])], 2, [8]))  # fmt: skip
    yield Case("texts that fill their windows", ([(1806, [2, 3, 4, 5]), (1808, [5, 6])], 2, [8]))
    yield Case("texts shorter than a window", (drawn(draw, 1806, 1807, 1808), 20, [8]))
    yield Case("length=1", (drawn(draw, 1806, 1808), 1, [8]))
    yield Case("texts without a token", ([(1806, []), (1808, []), (1807, [2, 3]), (1818, [2])], 2,
               [8]))  # fmt: skip
    yield Case("tokens of up to 16 million", ([(1806, [2000, 70001, 16777217]),
               (1808, [2000, 70001, 16777217, 16777219])], 2, [8]))  # fmt: skip
    yield Case("years of three digits", (drawn(draw, 987, 988, 1008, 998, 1001, 978), 3, [8]))
    yield Case("no year is held out", (drawn(draw, 1806, 1808, 1807), 4, []))
    yield Case("all years are held out", (drawn(draw, 1808, 1818, 1808), 4, [8]))
    yield Case("no texts", ([], 4, [8]))


@exercise.valid
def plain(texts, length, held_out):
    known = {token for year, tokens in texts if year % 10 not in held_out for token in tokens}
    train, test = [], []
    for year, tokens in texts:
        part = test if year % 10 in held_out else train
        tokens = [token if token in known else 1 for token in tokens]
        part += [tokens[i : i + length] for i in range(0, len(tokens), length)]
    return train, test


@exercise.valid
def parted_first(texts, length, held_out):
    to_test = [tokens for year, tokens in texts if int(str(year)[-1]) in set(held_out)]
    to_train = [tokens for year, tokens in texts if int(str(year)[-1]) not in set(held_out)]
    known = set(chain.from_iterable(to_train))

    def windows(part):
        return [
            [token if token in known else 1 for token in tokens[start : start + length]]
            for tokens in part
            for start in range(0, len(tokens), length)
        ]

    return windows(to_train), windows(to_test)


@exercise.valid
def windows_with_their_year(texts, length, held_out):
    known = set()
    windows = []
    for year, tokens in texts:
        windows += [(year, tokens[i : i + length]) for i in range(0, len(tokens), length)]
        if not any(year % 10 == digit for digit in held_out):
            known.update(tokens)
    train, test = [], []
    for year, window in windows:
        if year % 10 in held_out:
            test.append([token if token in known else 1 for token in window])
        else:
            train.append(window)
    return train, test


@exercise.valid
def by_years_held_out(texts, length, held_out):
    years = {year for year, _ in texts if year - year // 10 * 10 in held_out}
    unknown = {token for year, tokens in texts if year in years for token in tokens}
    for year, tokens in texts:
        if year not in years:
            unknown -= set(tokens)
    result = ([], [])
    for year, tokens in texts:
        rest = [1 if token in unknown else token for token in tokens]
        while rest:
            result[year in years].append(rest[:length])
            del rest[:length]
    return result


KNOWN = "{token for year, tokens in texts if year % 10 not in held_out for token in tokens}"
ALL = "{token for _, tokens in texts for token in tokens}"
PART, REPLACED = "test if year % 10 in held_out else train", "token if token in known else 1"
EACH, CUT = (
    "for year, tokens in texts:",
    "[tokens[i : i + length] for i in range(0, len(tokens), length)]",
)
RETURN, ADD = "return train, test", f"part += {CUT}"
BY_NUMBER = "for number, (year, tokens) in enumerate(texts):"
variants.right(exercise,
    (PART, "(train, test)[year % 10 in held_out]",
     ADD, "for i in range(0, len(tokens), length):\n"
     "            part.append(tokens[i : i + length])"),
    (KNOWN, "set().union(*(tokens for year, tokens in texts if year % 10 not in held_out))",
     PART, "train if divmod(year, 10)[1] not in held_out else test"),
)  # fmt: skip
OF_ALL = (
    "tokens that only the held-out texts have are still known: what is known follows from the "
    "training texts alone"
)
BY_WINDOW = (
    "windows of one text are still on both sides: decide by the year of the text, for all its "
    "windows at once"
)
BY_TEXT = (
    "every so many texts one is held out, by its place in the list: hold out by the last digit of "
    "its year, so that all texts of a year are on one side"
)
OF_TRAIN = "for year, tokens in texts if year % 10 not in held_out for token in tokens"
TRAIN = "[t for y, t in texts if y % 10 not in held_out]"
# what is known where too little is, and training texts may be left as they are
TOO_LITTLE = {
    "a token that stands only once in training is unknown here: once is enough":
        f"{{x for x in sum({TRAIN}, []) if sum({TRAIN}, []).count(x) > 1}}",
    "only the first training text says what is known: all of them do":
        f"{{token for tokens in {TRAIN}[:1] for token in tokens}}",
    "only the last training text says what is known: all of them do":
        f"{{token for tokens in {TRAIN}[-1:] for token in tokens}}",
    "only whole windows say what is known: all tokens of the training texts do":
        f"{{token {OF_TRAIN}[: len(tokens) // length * length]}}",
    "only the first window of each training text says what is known: all its tokens do":
        f"{{token {OF_TRAIN}[:length]}}",
}  # fmt: skip
variants.wrong(exercise, {
    hint: [(KNOWN, known),
           (KNOWN, known, REPLACED, "token if part is train or token in known else 1")]
    for hint, known in TOO_LITTLE.items()
})  # fmt: skip
variants.wrong(exercise, {
    OF_ALL: [
        (KNOWN, ALL), (REPLACED, "token"),
        (KNOWN, "{token for year, tokens in texts if year % 10 in held_out or True "
         "for token in tokens}")],
    "what is known is counted on the held-out texts: count it on the others": (
        KNOWN, KNOWN.replace(" not in", " in")),
    "only tokens of both parts are known: those of the training texts are, whether tested or not": (
        REPLACED, "token if token in known and any(token in some for y, some in texts if y % 10 in "
                  "held_out) else 1"),
    "what is known grows while the texts are read: tokens of later training texts are known, too": [
        (KNOWN, "set()", PART, f"{PART}\n        known.update(tokens if part is train else [])"),
        (KNOWN, "set()", ADD, f"{ADD}\n        known.update(tokens)", REPLACED,
         "token if token in known or part is train else 1")],
    "what is known grows with the held-out texts as well: only training texts count": (
        KNOWN, "set()", ADD, f"{ADD}\n        known |= set(tokens)"),
    "the rest of a text is lost: all its windows stay": [
        (ADD, f"part += {CUT}[:1]"),
        (ADD, f"part += {CUT}[: 1 if part is train else None]"),
        (ADD, f"part += {CUT}[: 1 if part is test else None]")],
    "unknown tokens are left out: 1 takes their place": [
        (REPLACED, "token", ADD, f"part += [[x for x in w if x in known] for w in {CUT}]"),
        ("[token if token in known else 1 for", "[token for", "for token in tokens]\n        part",
         "for token in tokens if token in known]\n        part")],
    "unknown tokens become 0: 1 takes their place": (REPLACED, "token if token in known else 0"),
    "unknown tokens become -100: 1 takes their place": (
        REPLACED, "token if token in known else -100"),
    "windows with an unknown token are left out: 1 takes the token's place": (
        REPLACED, "token", ADD, f"part += [w for w in {CUT} if known.issuperset(w)]"),
    "windows of unknown tokens alone are left out: they are of ones": (
        ADD, f"part += [w for w in {CUT} if set(w) != {{1}}]"),
    "one unknown token makes a whole window unknown: only the token is replaced": (
        REPLACED, "token",
        ADD, f"part += [w if known.issuperset(w) else [1] * len(w) for w in {CUT}]"),
    "one unknown token makes a whole text unknown: only the token is replaced": (
        REPLACED, "token if known.issuperset(tokens) else 1"),
    "it is the known tokens that are replaced: replace the others": (
        REPLACED, "1 if token in known else token"),
    "token 0 counts as unknown: it is a token like the others": (
        REPLACED, "token if token and token in known else 1"),
    BY_TEXT: [
        (EACH, BY_NUMBER, PART, "test if number % 10 in held_out else train"),
        (EACH, BY_NUMBER, PART, "test if number % 10 in held_out else train", KNOWN, ALL),
        (EACH, BY_NUMBER, PART, "test if number % 10 in held_out else train",
         KNOWN, "{token for number, (_, tokens) in enumerate(texts) if number % 10 not in held_out "
         "for token in tokens}"),
        (EACH, "for number, (year, tokens) in enumerate(texts, 1):", PART,
         "test if number % 10 in held_out else train"),
        (EACH, "for number, (year, tokens) in enumerate(texts, 1):", PART,
         "test if number % 10 in held_out else train", KNOWN,
         "{token for number, (_, tokens) in enumerate(texts, 1) if number % 10 not in held_out "
         "for token in tokens}")],
    "years are counted, and their number decides: it is the last digit of the year itself": [
        (PART, "test if sorted({y for y, _ in texts}).index(year) % 10 in held_out else train"),
        (every("year % 10"), "sorted({y for y, _ in texts}).index(year) % 10")],
    "the last texts are held out: it is those of the years that end in `held_out`": [
        (EACH, BY_NUMBER, PART, "test if number >= 9 * len(texts) // 10 else train"),
        (EACH, BY_NUMBER, PART, "test if number >= 9 * len(texts) // 10 else train",
         KNOWN, "{token for _, tokens in texts[: 9 * len(texts) // 10] for token in tokens}")],
    "the fourth digit of the year decides: a year may have fewer, and it is the last one": (
        every("year % 10"), "int(str(year)[3])"),
    "the digit of the decade decides: it is the last one": (
        every("year % 10"), "year // 10 % 10"),
    "no text is held out: `held_out` has the last digit of its year, as a number": [
        (every("year % 10"), "year"), (every("year % 10"), "str(year)[-1]"),
        (PART, "test if year in held_out else train"),
        (PART, "test if str(year)[-1] in held_out else train")],
    "the last two digits are compared with `held_out`, which holds last digits": (
        every("year % 10"), "year % 100"),
    "any digit of the year decides: it is the last one": [
        (KNOWN, "{token for year, tokens in texts if not {*map(int, str(year))} & {*held_out} "
         "for token in tokens}", PART, "test if {*map(int, str(year))} & {*held_out} else train"),
        (PART, "test if any(str(x) in str(year) for x in held_out) else train")],
    "only the first digit of `held_out` counts: all of them do": (
        every("held_out"), "held_out[:1]", "length, held_out[:1])", "length, held_out)"),
    "only the last digit of `held_out` counts: all of them do": (
        every("held_out"), "held_out[-1:]", "length, held_out[-1:])", "length, held_out)"),
    "only the first text of a held-out year is tested: all texts of the year are": (
        EACH, BY_NUMBER, PART, "test if year % 10 in held_out and year not in "
        "[y for y, _ in texts[:number]] else train"),
    "only one text of a year is kept: a year may have several": [
        (EACH, "for year, tokens in dict(texts).items():"),
        ("    known", "    texts = [*dict(texts).items()]\n    known"),
        ("    known", "    texts = [*dict(texts[::-1]).items()][::-1]\n    known")],
    "train and test have changed places: what is to train with comes first, and the held-out years "
    "are the test": [
        (RETURN, "return test, train"), (every("year % 10 not in"), "year % 10 in", PART,
         "train if year % 10 in held_out else test")],
    "held-out texts are also trained with: they are in the test alone": [
        (ADD, f"{ADD}\n        if part is test:\n            train += {CUT}"),
        (KNOWN, ALL, ADD, f"{ADD}\n        if part is test:\n            train += {CUT}")],
    "texts to train with are also in the test: it has the held-out ones alone": [
        (ADD, f"{ADD}\n        if part is train:\n            test += {CUT}"),
        (KNOWN, ALL, ADD, f"{ADD}\n        if part is train:\n            test += {CUT}")],
    "windows of the test that occur in training are left out: equal ones stay": (
        RETURN, "return train, [window for window in test if window not in train]"),
    "windows of training that occur in the test are left out: equal ones stay": (
        RETURN, "return [window for window in train if window not in test], test"),
    "windows that occur twice are left out: equal ones stay": [
        (RETURN, "return [w for i, w in enumerate(train) if w not in train[:i]], "
                 "[w for i, w in enumerate(test) if w not in test[:i]]")],
    "windows run from one text into the next: each text is cut by itself": [
        (PART, f"{PART}\n        if part is train:\n            continue",
         RETURN, "tokens = [t for y, some in texts if y % 10 not in held_out for t in some]\n"
         f"    train = {CUT}\n    {RETURN}"),
        (ADD, "part += tokens", RETURN, "train, test = ([part[i : i + length] for i in range(0, "
         f"len(part), length)] for part in (train, test))\n    {RETURN}")],
    "texts of one year are joined before they are cut: each text is cut by itself": (
        "    known", "    years = {year: [] for year, _ in texts}\n"
        "    for year, tokens in texts:\n        years[year] = years[year] + tokens\n"
        "    texts = [*years.items()]\n    known"),
    "the last window of a text is lost where it is short: it stays as it is": (
        CUT, CUT.replace("len(tokens), length)", "len(tokens) - length + 1, length)")),
    "the last window of a text is filled up: it stays as short as it is": [
        (CUT, CUT.replace("length]", "length] + [0] * max(0, i + length - len(tokens))")),
        (CUT, CUT.replace("length]", "length] + [1] * max(0, i + length - len(tokens))"))],
    "the windows overlap: each begins where the one before ends": (
        CUT, CUT.replace("len(tokens), length)", "len(tokens), max(1, length // 2))")),
    "a text without a token has a window here: it has none": (
        CUT, CUT.replace("len(tokens), length)", "len(tokens) or 1, length)")),
    "the windows are ordered by year: keep the order of the texts": (
        EACH, "for year, tokens in sorted(texts, key=lambda text: text[0]):"),
    "the windows come in another order: keep that of the texts": [
        (RETURN, "return train[::-1], test[::-1]"), (RETURN, "return sorted(train), sorted(test)")],
    "the windows come with their years: give the tokens alone": (
        ADD, f"part += [(year, window) for window in {CUT}]"),
    "the windows are grouped by text: give one list of all": (
        ADD, f"part.append({CUT})"),
    "the texts come back uncut: cut them into windows of `length` tokens": (
        ADD, "part.append(tokens)"),
    "what is known comes back as well: give two lists": (
        RETURN, "return train, test, sorted(known)"),
    "without a training text everything counts as known: nothing is, so all tokens become 1": (
        REPLACED, "token if token in known or not known else 1"),
    "with no year held out, or no text, it ends in an error: both lists may be empty": [
        (RETURN, f"train[0], test[0]\n    {RETURN}"), ("    known", "    held_out[0]\n    known"),
        ("    known", "    max(year for year, _ in texts)\n    known"),
        (RETURN, f"1 / len(train)\n    {RETURN}")],
})  # fmt: skip
variants.wrong(exercise, {
    BY_WINDOW: [
        (ALL, KNOWN),
        ("number % 10 in held_out", "number >= len(windows) * 9 // 10"),
        ("number % 10 in held_out", "number >= len(windows) * 9 // 10", ALL, KNOWN),
        ("enumerate(windows)", "enumerate(windows, 1)"),
        ("enumerate(windows)", "enumerate(windows, 1)", ALL, KNOWN)],
}, of=split_by_text)  # fmt: skip


@exercise.mutant(BY_WINDOW)
def known_of_the_windows(texts, length, held_out):
    windows = plain([(1, tokens) for _, tokens in texts], length, [])[0]
    train = [window for number, window in enumerate(windows) if number % 10 not in held_out]
    test = [window for number, window in enumerate(windows) if number % 10 in held_out]
    known = {token for window in train for token in window}
    return train, [[token if token in known else 1 for token in window] for window in test]


@exercise.mutant(hints.CHANGES)
def replaced_in_place(texts, length, held_out):
    known = {token for year, tokens in texts if year % 10 not in held_out for token in tokens}
    for _, tokens in texts:
        tokens[:] = [token if token in known else 1 for token in tokens]
    return plain(texts, length, held_out)
