"""Exercise lookup_labels: what each word was called most often, as a baseline."""

from collections import Counter

import torch
from torch.nn.functional import one_hot

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    without={"loops": "counting into dictionaries, word by word, is a good way"},
)


@exercise.reference
def word_by_word(words, suffixes, labels, new_words, new_suffixes):
    known = list(zip(words.tolist(), suffixes.tolist(), labels.tolist(), strict=True))
    chosen = []
    for word, suffix in zip(new_words.tolist(), new_suffixes.tolist(), strict=True):
        by_word = [label for w, _, label in known if w == word]
        by_suffix = [label for _, s, label in known if s == suffix]
        counted = by_word or by_suffix or labels.tolist()
        chosen.append(max(sorted(set(counted)), key=counted.count))
    return torch.tensor(chosen)


def tensors(*rows):
    """Columns of numbers, each a tensor: (word, suffix, label) or (word, suffix)."""
    return tuple(torch.tensor(column) for column in zip(*rows, strict=True))


def shuffled(draw, *rows):
    """The same training tokens in another order, which may not matter."""
    order = torch.randperm(len(rows), generator=draw.generator).tolist()
    return tensors(*(rows[i] for i in order))


def drawn(draw, count, new, *, words=9, labels=4):
    """Tokens at random; a third of the new words, and some suffixes, are not in training."""
    known = torch.randint(words, (count,), generator=draw.generator)
    asked = torch.randint(words + words // 2, (new,), generator=draw.generator)
    tags = torch.randint(labels, (count,), generator=draw.generator)
    return known, (3 * known + 1) % 5, tags, asked, (3 * asked + 1) % 7


@exercise.cases
def cases(draw):
    a, b, c = (torch.randperm(3, generator=draw.generator) + 2).tolist()
    # word 5 is called a twice and b once, its suffix 2 more often b, and c is the commonest of all
    known = [(5, 2, a)] * 2 + [(5, 2, b), (6, 2, b), (7, 2, b)] + [(3, 1, c)] * 5
    new = tensors((5, 2), (6, 2), (8, 2), (9, 4), (3, 1))
    yield Case("known words, a known suffix, neither", (*shuffled(draw, *known), *new))
    # each label twice, of the word, of the suffix and of all
    low, high = sorted((a, b))
    tied = [(1, 7, high), (1, 7, low), (1, 7, low), (1, 7, high)]
    new = tensors((1, 7), (2, 7), (2, 8))
    yield Case("equally frequent labels", (*shuffled(draw, *tied), *new))
    yield Case("equally frequent labels, the higher first", (*tensors(*tied), *new))
    once = [(1, 3, a), (2, 3, b), (4, 3, b), (2, 6, c), (2, 6, c)]
    yield Case("a word that was seen once", (*shuffled(draw, *once), *tensors((1, 3), (2, 3))))
    other = [(4, 9, a)] * 3 + [(9, 4, b)] * 2 + [(3, 1, c)]
    about = "numbers that are a word and a suffix"
    yield Case(about, (*shuffled(draw, *other), *tensors((4, 4), (9, 9), (1, 4), (1, 9))))
    moved = [(1, 5, a), (1, 5, a), (2, 6, b), (2, 6, b), (2, 6, b)]
    yield Case("a known word with another suffix", (*shuffled(draw, *moved), *tensors((1, 6))))
    most = [(word, 1, a) for word in (3, 4)] + [(5, 1, b)] * 3 + [(6, 2, c)] * 4
    yield Case("a suffix of words that are not equally frequent",
               (*shuffled(draw, *most), *tensors((7, 1), (8, 9))))  # fmt: skip
    zero = [(0, 0, 0)] + [(0, 0, 1)] * 2 + [(3, 0, 0)] * 2 + [(2, 1, 1)] * 4
    yield Case("word 0, suffix 0 and label 0", (*shuffled(draw, *zero), *tensors((0, 0), (4, 0))))
    yield Case("numbers above all of training",
               (*shuffled(draw, *known), *tensors((900, 2), (5, 800), (900, 800))))  # fmt: skip
    yield Case("60 training tokens, 40 new words", drawn(draw, 60, 40))
    yield Case("300 training tokens, 80 new words", drawn(draw, 300, 80, words=40, labels=6))
    yield Case("one training token, one new word", (*tensors((3, 4, a)), *tensors((1, 1))))


@exercise.valid
def plain(words, suffixes, labels, new_words, new_suffixes):
    rows = one_hot(labels).double()
    by_word = (new_words[:, None] == words).double() @ rows
    by_suffix = (new_suffixes[:, None] == suffixes).double() @ rows
    counts = torch.where(by_word.any(-1, keepdim=True), by_word, by_suffix)
    counts = torch.where(counts.any(-1, keepdim=True), counts, rows.sum(0))
    return counts.argmax(-1)


def by_dictionaries(words, suffixes, labels, new_words, new_suffixes):
    by_word, by_suffix, overall = {}, {}, Counter()
    columns = words.tolist(), suffixes.tolist(), labels.tolist()
    for word, suffix, label in zip(*columns, strict=True):
        by_word.setdefault(word, Counter())[label] += 1
        by_suffix.setdefault(suffix, Counter())[label] += 1
        overall[label] += 1
    chosen = []
    for word, suffix in zip(new_words.tolist(), new_suffixes.tolist(), strict=True):
        counts = by_word.get(word) or by_suffix.get(suffix) or overall
        chosen.append(min(counts, key=lambda label: (-counts[label], label)))
    return torch.tensor(chosen, device=labels.device)


def by_masks(words, suffixes, labels, new_words, new_suffixes):
    def commonest(same):
        return labels[same].bincount().argmax().item() if same.any() else None

    chosen = []
    for word, suffix in zip(new_words, new_suffixes, strict=True):
        label = commonest(words == word)
        if label is None:
            label = commonest(suffixes == suffix)
        chosen.append(labels.bincount().argmax() if label is None else label)
    return torch.tensor(chosen, device=labels.device)


variants.right(
    exercise, by_dictionaries, by_masks,
    ("rows.sum(0)", "labels.bincount()", "counts.argmax(-1)", "counts.max(dim=-1).indices"),
    # the suffix counts less than any word, and all tokens less than any suffix
    ("torch.where(counts.any(-1, keepdim=True), counts, rows.sum(0))",
     "(len(labels) + 1) ** 2 * by_word + (len(labels) + 1) * by_suffix * ~by_word.any(-1, "
     "keepdim=True) + rows.sum(0) * ~(by_word + by_suffix).any(-1, keepdim=True)"),
)  # fmt: skip
variants.right(exercise, (every(".bincount().argmax()"), ".mode().values"), of=by_masks)
KNOWN, SEEN = "by_word.any(-1, keepdim=True)", "counts.any(-1, keepdim=True)"
BY_WORD, BY_SUFFIX = "by_word.get(word)", "by_suffix.get(suffix)"
CHOSEN, LOWEST = f"{BY_WORD} or {BY_SUFFIX} or overall", (
    "min(counts, key=lambda label: (-counts[label], label))")  # fmt: skip
variants.wrong(exercise, {
    "the suffix comes first: ask for the word, and only for a new word for its suffix": (
        KNOWN, "~by_suffix.any(-1, keepdim=True)"),
    "the suffix is left out: a new word has the commonest label of its suffix": (
        KNOWN, "torch.ones_like(by_word[:, :1]).bool()"),
    "suffixes are counted of words that stood once: of all training tokens": (
        "(new_suffixes[:, None] == suffixes)",
        "((new_suffixes[:, None] == suffixes) & ((words[:, None] == words).sum(0) == 1))"),
    "the word is left out: a known word has its own commonest label": (
        KNOWN, "torch.zeros_like(by_word[:, :1]).bool()"),
    "word and suffix are counted together: where the word is known, it decides alone": (
        f"torch.where({KNOWN}, by_word, by_suffix)", "by_word + by_suffix"),
    "the counts of all are added to those of a known word or suffix: they only fill a gap": (
        f"torch.where({SEEN}, counts, rows.sum(0))", "counts + rows.sum(0)"),
    "where neither is known, the label is 0: it is the commonest of all": (
        "rows.sum(0)", "torch.zeros_like(counts)"),
    "where neither is known, the label is that of the first training token: it is the commonest "
    "of all": ("rows.sum(0)", "rows[0]"),
    "where neither is known, the label is that of the last training token: it is the commonest "
    "of all": ("rows.sum(0)", "rows[-1]"),
    "a word that was seen once is taken for new: one time is enough to know it": (
        KNOWN, "(by_word.sum(-1, keepdim=True) > 1)"),
    "a label that is tied is left to the suffix: ties go to the lowest label": (
        KNOWN, "((by_word == by_word.amax(-1, keepdim=True)).sum(-1, keepdim=True) == 1)"),
    "ties go to the highest label: they go to the lowest": (
        "counts.argmax(-1)", "counts.shape[-1] - 1 - counts.flip(-1).argmax(-1)"),
    "this is the rarest label: the most frequent one is asked for": (
        "counts.argmax(-1)", "counts.where(counts > 0, torch.inf).argmin(-1)"),
    "each label is counted once for a word: count how often each was given": (
        "@ rows\n    by_suffix", "@ rows > 0\n    by_suffix", f"torch.where({KNOWN}, by_word, "
        "by_suffix)", f"torch.where({KNOWN}, by_word.double(), by_suffix)"),
    "new words are compared with the training suffixes: words with words, suffixes with suffixes": [
        ("[:, None] == words", "[:, None] == suffixes")],
    "new suffixes are compared with the training words: words with words, suffixes with suffixes": [
        ("[:, None] == suffixes", "[:, None] == words")],
    "the new word is looked up among the suffixes: a suffix has a number of its own": (
        "new_suffixes[:, None] == suffixes", "new_words[:, None] == suffixes"),
    "the suffix must be that of the word in training: a known word needs no suffix": (
        "(new_words[:, None] == words).double()",
        "((new_words[:, None] == words) & (new_suffixes[:, None] == suffixes)).double()"),
    "it asks if any new word is known: ask for each of them": (
        KNOWN, "by_word.any()", SEEN, "counts.any()"),
    "the larger count of word and suffix decides: where the word is known, it decides alone": (
        f"torch.where({KNOWN}, by_word, by_suffix)", "torch.maximum(by_word, by_suffix)"),
    "one label is given to all new words: each has its own": (
        "counts.argmax(-1)", "counts.sum(0).argmax().expand(len(new_words))"),
    "the counts come back: return the label that has the largest": (
        "counts.argmax(-1)", "counts"),
    "this is how often the commonest label came: return the label": (
        "counts.argmax(-1)", "counts.amax(-1).long()"),
    "the maximum runs over the new words: it runs over the labels": (
        "counts.argmax(-1)", "counts.argmax(0)"),
    "the last axis is kept: one label for each new word": (
        "counts.argmax(-1)", "counts.argmax(-1, keepdim=True)"),
    "the result has another dtype: labels are int64": [
        ("counts.argmax(-1)", f"counts.argmax(-1).{dtype}()")
        for dtype in ("double", "float", "int")],
    "it gives a list: return a tensor, one label for each new word": (
        "counts.argmax(-1)", "counts.argmax(-1).tolist()"),
    "training words are labelled: the new ones are": (
        "new_words[:, None]", "words[:, None]", "new_suffixes[:, None]", "suffixes[:, None]"),
    "a table has no row for a number above those of training: such a word is new": (
        "(new_words[:, None] == words).double()",
        "one_hot(words).double().mT[new_words]"),
    "word 1 is taken for an unknown one: here it is a word like any other": (
        "[:, None] == words)", "[:, None] == words.where(words != 1, -1))"),
    "word 0 is taken for padding: here it is a word like any other": (
        "[:, None] == words)", "[:, None] == words.where(words != 0, -1))"),
    "suffix 0 is taken for padding: here it is a suffix like any other": (
        "[:, None] == suffixes)", "[:, None] == suffixes.where(suffixes != 0, -1))"),
    "where neither is known, there is no label: it is the commonest of all": (
        "counts.argmax(-1)", "counts.argmax(-1).where((by_word + by_suffix).any(-1), -1)"),
})  # fmt: skip
variants.wrong(exercise, {
    "among equally frequent labels, the one that came first is taken: take the lowest": [
        (LOWEST, "counts.most_common(1)[0][0]"), (LOWEST, "max(counts, key=counts.get)")],
    "the last label of a word is kept: count how often each was given": [
        (".setdefault(word, Counter())[label] += 1", "[word] = {label: 1}"),
        (".setdefault(word, Counter())[label] += 1", "[word] = {label: 1}",
         ".setdefault(suffix, Counter())[label] += 1", "[suffix] = {label: 1}"),
        (".setdefault(word, Counter())[label] += 1", "[word] = {label: 1}",
         ".setdefault(suffix, Counter())[label] += 1", "[suffix] = {label: 1}",
         "overall[label] += 1", "overall = {label: 1}")],
    "the last label of a suffix is kept: count how often each was given": [
        (".setdefault(suffix, Counter())[label] += 1", "[suffix] = {label: 1}"),
        (".setdefault(suffix, Counter())[label] += 1", "[suffix] = {label: 1}",
         "overall[label] += 1", "overall = {label: 1}")],
    "the first label of a word is kept: count how often each was given": [
        (".setdefault(word, Counter())[label] += 1", ".setdefault(word, {label: 1})"),
        (".setdefault(word, Counter())[label] += 1", ".setdefault(word, {label: 1})",
         ".setdefault(suffix, Counter())[label] += 1", ".setdefault(suffix, {label: 1})")],
    "the first label of a suffix is kept: count how often each was given": (
        ".setdefault(suffix, Counter())[label] += 1", ".setdefault(suffix, {label: 1})"),
    "each word is counted once for its suffix: count tokens": (
        ".setdefault(suffix, Counter())[label] += 1",
        ".setdefault(suffix, {}).setdefault(label, set()).add(word)",
        f"{BY_WORD} or {BY_SUFFIX}", f"{BY_WORD} or {{label: len(some) for label, some in "
        f"by_suffix.get(suffix, {{}}).items()}}"),
    "a tensor as a key is never found again: make numbers of it, by tolist() or int()": (
        "words.tolist(), suffixes.tolist(), labels.tolist()", "words, suffixes, labels",
        "new_words.tolist(), new_suffixes.tolist()", "new_words, new_suffixes"),
    "where neither is known, each word is counted once for a label: count tokens": (
        "overall[label] += 1", "overall[label] += by_word[word][label] == 1"),
}, of=by_dictionaries)  # fmt: skip
variants.wrong(exercise, {
    "`or` and `not` take label 0 for none: compare with None": (
        "label is None:", "not label:", "if label is None else", "if not label else"),
    "the median is not the most frequent label: count how often each was given": (
        "same].bincount().argmax()", "same].median()"),
}, of=by_masks)  # fmt: skip
