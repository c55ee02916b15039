"""The functions that a learner's test meets: right ones and, made of the first, wrong ones."""

import torch


def plain(n, k, seed):
    g = torch.Generator().manual_seed(seed)
    order = torch.randperm(n, generator=g).tolist()
    folds = []
    for fold in range(k):
        test = order[fold::k]
        train = [place for place in order if place not in test]
        folds.append((train, test))
    return folds


def blocks(n, k, seed):
    g = torch.Generator().manual_seed(seed)
    order = torch.randperm(n, generator=g).tolist()
    folds = []
    for fold in range(k):
        a, b = fold * n // k, (fold + 1) * n // k
        folds.append((order[:a] + order[b:], order[a:b]))
    return folds


def a_fold_for_each_place(n, k, seed):
    import random

    of = [place % k for place in range(n)]
    random.Random(seed).shuffle(of)
    places = range(n)
    return [
        ([i for i in places if of[i] != fold], [i for i in places if of[i] == fold])
        for fold in range(k)
    ]


ORDER, TEST = "torch.randperm(n, generator=g).tolist()", "order[fold::k]"
TRAIN, SEED = "[place for place in order if place not in test]", ".manual_seed(seed)"
EACH, PAIR, RESULT = "for fold in range(k):", "(train, test)", "return folds"
RIGHT = {
    "right folds": plain,
    "right folds, of blocks": blocks,
    "right folds, in the order of the texts": a_fold_for_each_place,
    "right folds, the larger ones last": (TEST, "order[::-1][k - 1 - fold :: k]"),
    "right folds, the tests in order": (PAIR, "(train, sorted(test))"),
    "right folds, the trains in order": (PAIR, "(sorted(train), test)"),
    "right folds, all in order": (
        PAIR,
        "(sorted(train), sorted(test))",
        RESULT,
        "return sorted(folds, key=lambda pair: pair[1])",
    ),
}
BLOCK = "order[fold * (n // k) : (fold + 1) * (n // k)]"
# what each wrong one does, and the edits that make it of the plain one
WRONG = {
    "does not shuffle": (ORDER, "list(range(n))"),
    "does not shuffle, and cuts into blocks": (
        ORDER, "list(range(n))", TEST, "order[fold * n // k : (fold + 1) * n // k]"),
    "has the same folds for every seed": (SEED, ".manual_seed(0)"),
    "has other folds each time": (f"torch.Generator(){SEED}", "torch.Generator()\n    g.seed()"),
    "draws from torch's global random numbers": (ORDER, "torch.randperm(n).tolist()"),
    "draws from Python's global random numbers": (
        ORDER, "__import__('random').sample(range(n), n)"),
    "takes a seed of 0 for none": (
        f"torch.Generator(){SEED}", "torch.Generator()\n    seed = seed or g.seed()\n"
        "    g.manual_seed(seed)"),
    "takes a seed of 0 for none where there are more than 5 places": (
        f"torch.Generator(){SEED}", "torch.Generator()\n    seed = seed or n > 5 and g.seed()\n"
        "    g.manual_seed(int(seed))"),
    "goes on drawing where the last call stopped": (
        "n, k, seed)", "n, k, seed, kept={})", f"torch.Generator(){SEED}",
        f"kept.setdefault(seed, torch.Generator(){SEED})"),
    "shuffles the folds only, not the texts": (
        ORDER, "list(range(n))", RESULT,
        "return [folds[i] for i in torch.randperm(k, generator=g).tolist()]"),
    "shuffles within each fold only": (
        ORDER, "list(range(n))", PAIR,
        "(train, [test[i] for i in torch.randperm(len(test), generator=g).tolist()])"),
    "shuffles what it trains with only": (
        ORDER, "list(range(n))", PAIR,
        "([train[i] for i in torch.randperm(len(train), generator=g).tolist()], test)"),
    "shuffles anew for each fold": (
        "        test =", f"        order = {ORDER}\n        test ="),
    "takes one order to train and another to test": (
        "        train =", f"        test = {ORDER}[fold::k]\n        train =",
        TRAIN, "[place for place in order if place not in order[fold::k]]"),
    "draws each test by chance": (TEST, f"{ORDER}[: len(order[fold::k])]"),
    "draws with replacement": (ORDER, "torch.randint(n, (n,), generator=g).tolist()"),
    "loses the texts that are left over": (TEST, BLOCK),
    "loses the texts that are left over, also to train with": (
        f"order = {ORDER}", f"order = {ORDER}[: n // k * k]"),
    "puts all that are left over into the last fold": (
        TEST, f"{BLOCK} if fold < k - 1 else order[fold * (n // k) :]"),
    "makes its folds too large, so that the last is small": (
        TEST, "order[fold * -(-n // k) : (fold + 1) * -(-n // k)]"),
    "makes the first of several folds larger and the last one smaller": (
        TEST, "order[fold * n // k + (0 < fold and k > 2) :"
        " (fold + 1) * n // k + (k - 1 > fold and k > 2)]"),
    "loses the last text": (f"order = {ORDER}", f"order = {ORDER}\n    order.remove(n - 1)"),
    "loses text 0": (f"order = {ORDER}", f"order = {ORDER}\n    order.remove(0)"),
    "never tests the first of its order": (TEST, "order[1:][fold::k]"),
    "tests the last text of the fold before as well": (
        TEST, "order[fold::k] + (order[fold - 1 :: k][-1:] if fold else [])"),
    "fills up smaller folds with texts of the others": (TEST, "(order + order[: -n % k])[fold::k]"),
    "tests one text in each fold": (TEST, "order[fold::k][:1]"),
    "tests one text twice in each fold": (TEST, "order[fold::k] + order[fold::k][:1]"),
    "tests the first fold every time": (TEST, "order[::k]"),
    "trains with all texts": (TRAIN, "list(order)"),
    "trains with one text of its test": (TRAIN, f"{TRAIN} + test[-1:]"),
    "trains with the first test, too": (
        TRAIN, "[i for i in order if fold == 0 or i not in test]"),
    "trains with the last test, too": (
        TRAIN, "[i for i in order if fold == k - 1 or i not in test]"),
    "trains with the same texts every time": (
        TRAIN, "[place for place in order if place not in order[::k]]"),
    "leaves the next fold out of the training": (
        TRAIN, "[i for i in order if i not in test and i not in order[(fold + 1) % k :: k]]"),
    "loses one text to train with": (TRAIN, f"{TRAIN}[:-1]"),
    "loses one text to train with in the last fold": (
        TRAIN, f"{TRAIN}[fold == k - 1 :]"),
    "trains with one text twice": (TRAIN, f"(train := {TRAIN}) + train[:1]"),
    "has one text twice to train with, and another not at all": (
        TRAIN, f"(train := {TRAIN})[:-1] + train[:1]"),
    "gives the test first": (PAIR, "(test, train)"),
    "leaves out the last fold": (EACH, "for fold in range(k - 1):"),
    "gives the first fold only": (EACH, "for fold in range(1):"),
    "has a fold too many": (EACH, "k += 1\n    for fold in range(k):"),
    "has an empty fold too many": (RESULT, "return [*folds, (order, [])]"),
    "gives the first fold twice": (RESULT, "return [*folds, folds[0]]"),
    "always makes 5 folds": ("    folds = []", "    k = 5\n    folds = []"),
    "counts from 1": (ORDER, f"[place + 1 for place in {ORDER}]"),
    "counts one text too many": (ORDER, ORDER.replace("(n,", "(n + 1,")),
    "wants n to be a multiple of k": ("    folds = []", "    torch.zeros(n).view(k, -1)\n"
                                      "    folds = []"),
    "cannot leave out one text at a time": (
        "    folds = []", "    order[k]\n    folds = []"),
    "cannot make two folds": ("    folds = []", "    1 / (k - 2)\n    folds = []"),
}  # fmt: skip
