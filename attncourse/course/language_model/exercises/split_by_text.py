"""Exercise split_by_text: texts in windows to learn from and to test with, which must not mix."""

from itertools import chain

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    without={"loops": "windows are cut from lists, text by text"},
)
given = exercise.stub(variants.stub(exercise))
exercise.valid(variants.worked(exercise))


@exercise.reference
def year_by_year(texts, length, held_out):
    parts: dict[bool, list[list[int]]] = {False: [], True: []}
    for year, tokens in texts:
        parts[int(str(year)[-1]) in held_out].append(list(tokens))
    known = [token for tokens in parts[False] for token in tokens]
    windows = {}
    for held, part in parts.items():
        windows[held] = []
        for tokens in part:
            rest = [token if token in known else 1 for token in tokens]
            while rest:
                windows[held].append(rest[:length])
                rest = rest[length:]
    return windows[False], windows[True]


def draw_texts(draw, *years, low=2, high=60, shortest=5, longest=13):
    """A text for each of the years."""
    return [
        (year, draw.integers(low, high, draw.integer(shortest, longest)).tolist()) for year in years
    ]


@exercise.cases
def cases(draw):
    years = 1790, 1791, 1798, 1798, 1805, 1808, 1815, 1818, 1818, 1820, 1826, 1838
    yield Case("12 texts, length=4, held_out=[8]", (draw_texts(draw, *years), 4, [8]))
    yield Case("12 texts, length=5, held_out=[5, 8]", (draw_texts(draw, *years), 5, [5, 8]))
    yield Case("12 texts, length=3, held_out=[8, 1, 0]", (draw_texts(draw, *years), 3, [8, 1, 0]))
    yield Case("40 texts of few tokens", (draw_texts(draw, *range(1900, 1940), high=30), 6, [5]))
    disorder = [1958, 1917, 1848, 1930, 1918, 1958, 1848, 2011, 1905, 1917]
    yield Case("years in any order", (draw_texts(draw, *disorder), 4, [8]))
    ends = 1880, 1881, 1788, 1808, 1908, 1985, 2008, 2018, 1858, 1890
    yield Case("years that end in 0", (draw_texts(draw, *ends), 4, [0]))
    yield Case("years of three digits", (draw_texts(draw, 987, 988, 1008, 998, 1001, 978), 3, [8]))
    long_texts = draw_texts(draw, 1807, 1808, 1809, shortest=60, longest=70)
    yield Case("three long texts", (long_texts, 5, [8]))
    yield Case("texts shorter than a window", (draw_texts(draw, 1806, 1807, 1808), 20, [8]))
    yield Case("length=1", (draw_texts(draw, 1806, 1808), 1, [8]))
    for name, length, texts in (
        # 9 is in a training text alone, 8 in a test alone, 7 in both
        ("tokens of one part alone", 3, [(1805, [7, 9, 7]), (1808, [7, 8, 8, 7]), (1818, [8, 7])]),
        ("a token that stands in a later training text", 2,
         [(1808, [4, 5, 6]), (1809, [4]), (1818, [5, 6, 7]), (1819, [5, 5, 6])]),
        ("equal texts in both parts", 2, [(year, [4, 5, 6, 4, 5]) for year in (1806, 1808) * 2]),
        ("tokens 0 and 1", 3, [(1806, [0, 2, 2, 0]), (1808, [0, 1, 3, 0]), (1809, [2, 2])]),
        ("texts that fill their windows", 2, [(1806, [2, 3, 4, 5]), (1808, [5, 6])]),
        ("texts without a token", 2, [(1806, []), (1808, []), (1807, [2, 3]), (1818, [2])]),
        ("tokens of up to 16 million", 2,
         [(1806, [2000, 70001, 16777217]), (1808, [2000, 70001, 16777217, 16777219])]),
        ("no texts", 4, []),
    ):  # fmt: skip
        yield Case(name, (texts, length, [8]))
    yield Case("no year is held out", (draw_texts(draw, 1806, 1808, 1807), 4, []))
    yield Case("all years are held out", (draw_texts(draw, 1808, 1818, 1808), 4, [8]))


@exercise.differs
def what_the_windows_show(wanted, given, texts, length, held_out):
    """What became of the tokens, or of the windows, where it is no known mistake."""
    parts = given if isinstance(given, (tuple, list)) and len(given) == 2 else ()
    if not parts or not all(isinstance(item, list) for part in parts for item in (part, *part)):
        return ""
    right, got = ([*chain(*chain(*both))] for both in (wanted, given))
    if len(got) < len(right):
        return "tokens are lost on the way: keep each window of each text, with all its tokens"
    if len(got) > len(right):
        return (
            "your windows hold more tokens than the texts: add none, and put each token in one "
            "window, of one list"
        )
    sizes, got_sizes = (
        [[len(window) for window in part] for part in both] for both in (wanted, given)
    )
    if sizes == got_sizes:
        changed = [pair for pair in zip(right, got, strict=True) if pair[0] != pair[1]]
        if changed and changed[0][1] == 1:
            return (
                "a token from a training text becomes 1: occurring once in any of these texts "
                "should make it known"
            )
        if changed and changed[0][0] == 1:
            return "a token that's in no training text stays: put 1 in its place"
        return (
            "your windows hold different tokens, or a different order: keep the order of the texts"
        )
    if sorted(chain(*sizes)) == sorted(chain(*got_sizes)):
        return (
            "some windows are in the wrong list, or at the wrong place in it: let the last digit "
            "of a text's year decide about all its windows, and keep the order of the texts"
        )
    return (
        "the texts are cut in the wrong places: cut each by itself, from its beginning, and let "
        "its last window be shorter"
    )


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


variants.right(exercise,
    ("test if year % 10 in held_out else train", "(train, test)[year % 10 in held_out]"),
    "train_texts = (tokens for year, tokens in texts if divmod(year, 10)[1] not in held_out)\n"
    "known = set().union(*train_texts)",
)  # fmt: skip
KNOWN = "{token for year, tokens in texts if year % 10 not in held_out for token in tokens}"
ALL = "{token for _, tokens in texts for token in tokens}"
WINDOWS = "[tokens[i : i + length] for i in range(0, len(tokens), length)]"
BY_WINDOW = (
    "windows of one text are still on both sides: decide by the year of the text, for all its "
    "windows at once"
)
variants.wrong(exercise, {
    "tokens that only held-out texts have are still known: the training texts alone should decide "
    "what is known":
        f"known = {ALL}",
    "the held-out texts decide which tokens are known: the training texts should": ("not in", "in"),
    "a token that occurs only once in training counts as unknown: once should be enough":
        "some = [x for year, tokens in texts if year % 10 not in held_out for x in tokens]\n"
        "known = {x for x in some if some.count(x) > 1}",
    "you collect the known tokens while you read the texts: tokens of later training texts should "
    "be known from the start": (
        KNOWN, "set()", "        tokens =",
        "        if part is train:\n            known |= {*tokens}\n        tokens ="),
    "you collect known tokens from the held-out texts as well: collect them only from training "
    "texts": (
        KNOWN, "set()", "    return", "        known |= {*tokens}\n    return"),
    "unknown tokens are left out: put 1 in their place": (
        "token if token in known else 1 for token in tokens",
        "token for token in tokens if token in known"),
    "an unknown token becomes some other number: put 1 in its place": [
        ("else 1", f"else {number}") for number in ("0", "-1", "-100")],
    "windows with an unknown token are left out: put 1 in the token's place": (
        "    return", "        part[:] = [one for one in part if 1 not in one]\n    return"),
    "you replace the known tokens: replace the unknown ones": (
        "token if token in known else 1", "1 if token in known else token"),
    "you hold texts out by their place in the list: use the last digit of the year, so that all "
    "texts of a year are on one side": [
        ("for year, tokens in texts:", f"for number, (year, tokens) in enumerate(texts, {first}):",
         "test if year", "test if number", *known)
        for first in (0, 1) for known in ((), (KNOWN, ALL), (
            KNOWN, f"{{token for number, (_, tokens) in enumerate(texts, {first})\n"
            "             if number % 10 not in held_out for token in tokens}"))],
    "no text is held out: compare `held_out` with the last digit of the year, as a number": [
        (piece, piece.replace("year % 10", what)) for what in ("year", "str(year)[-1]")
        for piece in (every("year % 10"), "test if year % 10")],
    "you use the tens digit of the year: use the last digit": (every("% 10"), "// 10 % 10"),
    "you use the fourth digit of the year: use the last one, because a year may have fewer than "
    "four": (
        every("year % 10"), "int(str(year)[3])"),
    "only the first digit in `held_out` counts: all of them should, and the list may be empty": (
        "not in held_out", "!= held_out[0]", "10 in held_out", "10 == held_out[0]"),
    "you keep only one text of each year: keep all of them, because a year may have several": [
        ("for year, tokens in texts:", "for year, tokens in dict(texts).items():"),
        ("    known", "    texts = [*dict(texts).items()]\n    known")],
    "you join the texts of a year before you cut them: cut each text by itself": (
        "    known", "    years = {year: [] for year, _ in texts}\n"
        "    for year, tokens in texts:\n        years[year] = years[year] + tokens\n"
        "    texts = [*years.items()]\n    known"),
    "windows run from one text into the next: cut each text by itself": (
        WINDOWS, "tokens", "return train, test",
        f"return tuple({WINDOWS} for tokens in (train, test))"),
    "you swap training and test windows: return the training windows first, and those of the "
    "held-out years second": [
        "return test, train", ("not in", "in", "test if year % 10", "test if year % 10 not")],
    "the held-out texts are in neither list: put them in the test list": (
        "part = test if year % 10 in held_out else train\n",
        "part = train\n        if year % 10 in held_out:\n            continue\n"),
    "held-out texts are also in the training list: keep them for the test alone": (
        "part = test if year % 10 in held_out else train",
        "parts = (train, test) if year % 10 in held_out else (train,)",
        "        part +=", "        for part in parts:\n            part +="),
    "windows that occur twice or in both lists are left out: keep all equal windows": [
        "return train, [window for window in test if window not in train]",
        "return [window for window in train if window not in test], test",
        "return tuple([w for i, w in enumerate(part) if w not in part[:i]]\n"
        "             for part in (train, test))"],
    "a short last window of a text is lost: keep it as it is": (
        "len(tokens), length)", "len(tokens) - length + 1, length)"),
    "you sort the windows by year: keep the order of the texts": [
        ("tokens in texts:", f"tokens in sorted(texts{key}):")
        for key in ("", ", key=lambda text: text[0]")],
    "your windows come with their years: return only the tokens": (
        "[tokens[i : i + length] for", "[(year, tokens[i : i + length]) for"),
    "you group the windows by text: return one flat list": (
        f"part += {WINDOWS}", f"part.append({WINDOWS})"),
    "your code fails where there is no text, or where no year is held out: either list may "
    "be empty": [
        ("    return", "    train[0], test[0]\n    return"),
        ("    known", "    held_out[0]\n    known")],
    messages.CHANGES: ("        tokens =", "        tokens[:] ="),
})  # fmt: skip
variants.wrong(exercise, {
    BY_WINDOW: f"known = {KNOWN}",
}, of=given)  # fmt: skip


@exercise.mutant(BY_WINDOW)
def known_of_the_windows(texts, length, held_out):
    windows = [tokens[i : i + length] for _, tokens in texts for i in range(0, len(tokens), length)]
    train = [window for number, window in enumerate(windows) if number % 10 not in held_out]
    test = [window for number, window in enumerate(windows) if number % 10 in held_out]
    known = {token for window in train for token in window}
    return train, [[token if token in known else 1 for token in window] for window in test]
