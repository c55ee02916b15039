"""Exercise lookup_labels: what each word was called most often, as a baseline."""

from collections import Counter

import torch

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    without={"loops": "counting into dictionaries, word by word, is a good way"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def word_by_word(words, suffixes, labels, new_words, new_suffixes):
    known = list(zip(words.tolist(), suffixes.tolist(), labels.tolist(), strict=True))
    baseline = []
    for word, suffix in zip(new_words.tolist(), new_suffixes.tolist(), strict=True):
        by_word = [label for w, _, label in known if w == word]
        by_suffix = [label for _, s, label in known if s == suffix]
        candidates = by_word or by_suffix or labels.tolist()
        baseline.append(max(sorted(set(candidates)), key=candidates.count))
    return torch.tensor(baseline)


def tensors(*rows):
    """Columns of numbers, each a tensor: (word, suffix, label) or (word, suffix)."""
    return tuple(torch.tensor(column) for column in zip(*rows, strict=True))


def shuffle(draw, *rows):
    """The same training tokens in another order, which may not matter."""
    order = torch.randperm(len(rows), generator=draw.generator).tolist()
    return tensors(*(rows[i] for i in order))


def draw_tokens(draw, count, new, *, words=9, labels=4):
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
    yield Case("known words, a known suffix, neither", (*shuffle(draw, *known), *new))
    # each label twice, of the word, of the suffix and of all
    low, high = sorted((a, b))
    tied = [(1, 7, high), (1, 7, low), (1, 7, low), (1, 7, high)]
    new = tensors((1, 7), (2, 7), (2, 8))
    yield Case("equally frequent labels, the higher first", (*tensors(*tied), *new))
    once = [(1, 3, a), (2, 3, b), (4, 3, b), (2, 6, c), (2, 6, c)]
    yield Case("a word that was seen once", (*shuffle(draw, *once), *tensors((1, 3), (2, 3))))
    crossed = [(4, 9, a)] * 3 + [(9, 4, b)] * 2 + [(3, 1, c)]
    name = "numbers that are a word and a suffix"
    yield Case(name, (*shuffle(draw, *crossed), *tensors((4, 4), (9, 9), (1, 4), (1, 9))))
    moved = [(1, 5, a), (1, 5, a), (2, 6, b), (2, 6, b), (2, 6, b)]
    yield Case("a known word with another suffix", (*shuffle(draw, *moved), *tensors((1, 6))))
    uneven = [(word, 1, a) for word in (3, 4)] + [(5, 1, b)] * 3 + [(6, 2, c)] * 4
    yield Case("a suffix of words that are not equally frequent",
               (*shuffle(draw, *uneven), *tensors((7, 1), (8, 9))))  # fmt: skip
    zero = [(0, 0, 0)] + [(0, 0, 1)] * 2 + [(3, 0, 0)] * 2 + [(2, 1, 1)] * 4
    yield Case("word 0, suffix 0 and label 0", (*shuffle(draw, *zero), *tensors((0, 0), (4, 0))))
    yield Case("numbers above all of training",
               (*shuffle(draw, *known), *tensors((900, 2), (5, 800), (900, 800))))  # fmt: skip
    yield Case("60 training tokens, 40 new words", draw_tokens(draw, 60, 40))
    yield Case("300 training tokens, 80 new words", draw_tokens(draw, 300, 80, words=40, labels=6))
    yield Case("one training token, one new word", (*tensors((3, 4, a)), *tensors((1, 1))))


@exercise.valid
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


@exercise.valid
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


variants.right(exercise,
    "counts = torch.where(known.any(-1, keepdim=True), known, labels.bincount())\n"
    "return counts.max(dim=-1).indices",
    # the suffix counts less than any word, and all tokens less than any suffix
    "more = len(labels) + 1\n"
    "known = more**2 * by_word + more * by_suffix * ~by_word.any(-1, keepdim=True)\n"
    "counts = known + rows.sum(0) * ~known.any(-1, keepdim=True)",
)  # fmt: skip
variants.right(exercise, (every(".bincount().argmax()"), ".mode().values"), of=by_masks)
variants.wrong(exercise, {
    "the suffix comes first: ask for the word, and only for a new word for its suffix":
        "known = torch.where(by_suffix.any(-1, keepdim=True), by_suffix, by_word)",
    "the suffix is left out: give a new word the commonest label of its suffix": "known = by_word",
    "the word is left out: give a known word its own commonest label": "known = by_suffix",
    "word and suffix are counted together: where the word is known, let it decide alone":
        "known = by_word + by_suffix",
    "the larger count of word and suffix decides: where the word is known, let it decide alone":
        "known = torch.maximum(by_word, by_suffix)",
    "the counts of all are added to those of a known word or suffix: let them only fill a gap":
        "counts = known + rows.sum(0)",
    "where neither is known, the label is 0: it should be the commonest of all": (
        "rows.sum(0)", "torch.zeros_like(known)"),
    "where neither is known, one training token decides: take the commonest label of all": [
        ("rows.sum(0)", "rows[0]"), ("rows.sum(0)", "rows[-1]")],
    "where neither is known, the label is -1: it should be the commonest of all":
        "return counts.argmax(-1).where((by_word + by_suffix).any(-1), -1)",
    "a word that was seen once is taken for new: let one time be enough to know it":
        "known = torch.where(by_word.sum(-1, keepdim=True) > 1, by_word, by_suffix)",
    "ties go to the highest label: they should go to the lowest":
        "return counts.shape[-1] - 1 - counts.flip(-1).argmax(-1)",
    "new words are compared with the training suffixes: compare words with words, suffixes with "
    "suffixes":
        "by_word = (new_words[:, None] == suffixes).double() @ rows",
    "new suffixes are compared with the training words: compare words with words, suffixes with "
    "suffixes":
        "by_suffix = (new_suffixes[:, None] == words).double() @ rows",
    "the new word is looked up among the suffixes: look up its suffix, which has a number of its "
    "own":
        "by_suffix = (new_words[:, None] == suffixes).double() @ rows",
    "suffixes are counted only of words that stood once: count those of all training tokens":
        "once = (words[:, None] == words).sum(0) == 1\n"
        "by_suffix = ((new_suffixes[:, None] == suffixes) & once).double() @ rows",
    "a word is known only if its suffix in training is the same: leave the suffix out there, a "
    "known word needs none":
        "same = (new_words[:, None] == words) & (new_suffixes[:, None] == suffixes)\n"
        "by_word = same.double() @ rows",
    "it asks if any new word is known: ask for each of them":
        "known = by_word if by_word.any() else by_suffix\n"
        "counts = known if known.any() else rows.sum(0).expand(known.shape)",
    "a table has no row for a number above those of training: treat such a word as new":
        "by_word = torch.nn.functional.one_hot(words).double().mT[new_words] @ rows",
    "0 is taken for padding: take it for a word, or a suffix, like any other": [
        (f"[:, None] == {known})", f"[:, None] == {known}.where({known} != 0, -1))")
        for known in ("words", "suffixes")],
    "word 1 is taken for an unknown one: take it for a word like any other": (
        "[:, None] == words)", "[:, None] == words.where(words != 1, -1))"),
    "the training words are labelled: label the new ones": (
        "new_words[:, None]", "words[:, None]", "new_suffixes[:, None]", "suffixes[:, None]"),
    "this is how often the commonest label came: return the label":
        "return counts.amax(-1).long()",
    "the maximum runs over the new words: let it run over the labels": "return counts.argmax(0)",
    "it gives a list: return a tensor, one label for each new word":
        "return counts.argmax(-1).tolist()",
})  # fmt: skip
WORD, SUFFIX = (f".setdefault({one}, Counter())[label] += 1" for one in ("word", "suffix"))
variants.wrong(exercise, {
    "among equally frequent labels, the one that came first is taken: take the lowest": (
        "min(counts, key=lambda label: (-counts[label], label))", "max(counts, key=counts.get)"),
    "the last label that came is kept: count how often each was given": [
        (WORD, "[word] = {label: 1}"), (SUFFIX, "[suffix] = {label: 1}"),
        (WORD, "[word] = {label: 1}", SUFFIX, "[suffix] = {label: 1}")],
    "the first label that came is kept: count how often each was given": [
        (WORD, ".setdefault(word, {label: 1})"), (SUFFIX, ".setdefault(suffix, {label: 1})"),
        (WORD, ".setdefault(word, {label: 1})", SUFFIX, ".setdefault(suffix, {label: 1})")],
    "each label is counted once for a word: count how often each was given": (
        WORD, ".setdefault(word, {})[label] = 1"),
    "where neither is known, one training token decides: take the commonest label of all": (
        "overall[label] += 1", "overall = {label: 1}"),
    "each word is counted once for its suffix: count tokens": (
        f"by_suffix{SUFFIX}", f"if by_word[word][label] == 1:\n            by_suffix{SUFFIX}"),
    "where neither is known, each word is counted once for a label: count tokens": (
        "overall[label] += 1", "overall[label] += by_word[word][label] == 1"),
    "words and suffixes share a dictionary, where a number may mean either: take two": (
        "by_word, by_suffix, overall = {}, {}, Counter()",
        "by_word, overall = {}, Counter()\n    by_suffix = by_word"),
    "it fails at a new word, which is in no dictionary: ask for it with get, or with in": (
        "by_word.get(word)", "by_word[word]"),
    "a tensor as a key is never found again: make numbers of it, by tolist() or int()": (
        "words.tolist(), suffixes.tolist(), labels.tolist()", "words, suffixes, labels",
        "new_words.tolist(), new_suffixes.tolist()", "new_words, new_suffixes"),
}, of=by_dictionaries)  # fmt: skip
variants.wrong(exercise, {
    "`or` and `not` take label 0 for none: compare with None": (
        "label is None:", "not label:", "if label is None else", "if not label else"),
    "the median is taken, which is not the most frequent label: count how often each was given": (
        "same].bincount().argmax()", "same].median()"),
}, of=by_masks)  # fmt: skip
