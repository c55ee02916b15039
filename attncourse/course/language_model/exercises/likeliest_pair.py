"""Exercise likeliest_pair: the pair that stands together far more often than by chance."""

import math
from decimal import Decimal
from fractions import Fraction

import torch

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    without={"loops": "counting into dictionaries, token by token, is a good way"},
)
worked = exercise.valid(variants.worked(exercise))


def count_tokens_and_pairs(pieces, times):
    """The number of times that each token stands in the text, and each pair."""
    tokens, pairs = {}, {}
    for piece, often in zip(pieces, times, strict=True):
        for place, token in enumerate(piece):
            tokens[token] = tokens.get(token, 0) + often
            if place:
                pair = piece[place - 1], token
                pairs[pair] = pairs.get(pair, 0) + often
    return tokens, pairs


@exercise.reference
def by_hand(pieces, times):
    tokens, pairs = count_tokens_and_pairs(pieces, times)
    best = None
    for a, b in sorted(pairs):
        ratio = Fraction(pairs[a, b], tokens[a] * tokens[b])
        if best is None or ratio > best[0]:
            best = ratio, (a, b)
    return best and best[1]


ROUNDED = (
    "the ratios are rounded, so different ones may tie and equal ones may differ: compare them "
    "exactly, as fractions or by cross-multiplying"
)


@exercise.differs
def first_difference(wanted, given, pieces, times):
    """What the ratios of the two pairs are, and how they compare."""
    if wanted is None:
        return "no piece has two tokens, so there is no pair: return None"
    if not isinstance(given, (list, tuple)) or [type(token) for token in given] != [int, int]:
        return ""
    tokens, pairs = count_tokens_and_pairs(pieces, times)
    pair, best = tuple(given), tuple(wanted)
    if pair not in pairs:
        return f"{pair} is no pair of the text: {pair[1]} comes right after {pair[0]} in no piece"
    ratio, largest = (Fraction(pairs[a, b], tokens[a] * tokens[b]) for a, b in (pair, best))
    if ratio == largest:
        mistake = "the exact ratios tie: let the smaller a decide, and then the smaller b"
    elif math.isclose(ratio, largest):
        mistake = ROUNDED
    else:
        mistake = "another pair has a larger ratio, counted over the whole text"
    yours, right = (
        f"{(a, b)} has {pairs[a, b]:,} / ({tokens[a]:,} · {tokens[b]:,})" for a, b in (pair, best)
    )
    return f"{mistake}. Here, {yours}, and {right}"


def draw_pieces(draw, tokens, pieces, longest=5, most=9):
    """Different pieces of these tokens, each of which occurs up to so many times."""
    chosen = set()
    while len(chosen) < pieces:
        places = draw.integers(0, len(tokens) - 1, draw.integer(1, longest)).tolist()
        chosen.add(tuple(tokens[place] for place in places))
    order = torch.randperm(pieces, generator=draw.generator)
    return [list(sorted(chosen)[i]) for i in order], draw.integers(1, most, pieces).tolist()


def pieces_with_counts(*pairs):
    """Pieces in which each pair (a, b) has so many counts: of both together, of a, and of b."""
    pieces, times = [], []
    for (a, b), together, count_a, count_b in pairs:
        parts = ([a, b], together), ([a], count_a - together), ([b], count_b - together)
        for piece, often in parts:
            if often:
                pieces.append(piece)
                times.append(often)
    return pieces, times


@exercise.cases
def cases(draw):
    for count, tokens in enumerate(([3, 7, 40, 8], [0, 1, 2, 3, 4], [259, 116, 104, 32, 300]), 1):
        yield Case(f"8 pieces of {len(tokens)} tokens, {count}", draw_pieces(draw, tokens, 8))
    yield Case("20 pieces of 7 tokens", draw_pieces(draw, range(7), 20, longest=6, most=30))
    yield Case("12 pieces of 2 tokens", draw_pieces(draw, [9, 4], 12))
    often = draw.integer(20, 30)
    rare = ((5, 6), often, 2 * often, 2 * often), ((9, 0), 4, 4, 5)
    common = ((1, 2), 9 * often, 12 * often, 40 * often), ((8, 3), 8 * often, 50 * often, 8 * often)
    yield Case("a rare pair, and common ones", pieces_with_counts(*rare, *common))
    # (6, 6) has 4 of 6 * 6, or 2 of them if it may not overlap, and (1, 2) has 3
    yield Case("a token several times in a row", ([[6, 6, 6], [1, 2], [2], [1]], [2, 3, 3, 3]))
    again = [[1, 2, 1, 2], [3, 4], [3], [4, 5]], [2, 2, 1, 2]
    yield Case("a pair several times in a piece", again)
    yield Case("a pair of a token with itself", ([[4, 4], [1, 2], [1], [2]], [3, 3, 4, 4]))
    yield Case("both orders of two tokens", ([[1, 2], [2, 1], [3, 4], [3], [4]], [4, 4, 4, 1, 4]))
    yield Case("token 0", ([[7, 5], [0, 9], [7]], [3, 3, 1]))
    ends = [[1, 2], [3, 4], [5, 1], [2], [4]], [3, 3, 3, 2, 2]
    yield Case("pieces that end as others begin", ends)
    yield Case("pairs that tie", ([[8, 9], [2, 7], [4, 1], [2], [8]], [5, 3, 3, 2, 4]))
    yield Case("pairs that tie and begin alike", ([[2, 9], [6, 3], [2, 5], [6]], [3, 3, 3, 3]))
    yield Case("pairs that tie and end alike", ([[7, 1], [5, 1], [5, 8]], [4, 2, 2]))
    seldom = [[3, 4], [1, 2], [1], [2]], [5, 1, 1, 2]
    yield Case("a piece that occurs often, and rare ones", seldom)
    yield Case(
        "ratios of 0.0100 and 0.0101",
        pieces_with_counts(((1, 2), 10, 40, 25), ((3, 4), 10, 33, 30)),
    )
    # quotients of these numbers, and their logarithms, differ in the last bit
    tied = ((6, 7), 14, 16, 25), ((4, 5), 7, 20, 10)
    yield Case("two pairs that tie, each with other counts", pieces_with_counts(*tied))
    tied = ((4, 9), 11, 18, 20), ((3, 7), 11, 24, 15)
    yield Case("two pairs that tie, as frequent as each other", pieces_with_counts(*tied))
    # two ratios of which the second is larger, by less than a float can show
    near = ((1, 2), 2580846, 4549644, 4718284), ((3, 4), 1635953, 3054492, 4454831)
    yield Case("counts of millions", pieces_with_counts(*near))
    yield Case("counts of millions, the other way round", pieces_with_counts(*near[::-1]))
    n, together = draw.integer(2 * 10**6, 3 * 10**6), draw.integer(10**6, 2 * 10**6)
    tied = ((1, 2), n, 2 * n, n), ((0, 9), together, 2 * together, n)
    yield Case("counts of millions that tie", pieces_with_counts(*tied))
    # products of these are wrong in 64 bits, and in another order
    far_apart = [
        ((1, 2), 1800000, 3700000, 4800000),
        ((3, 4), 1900000, 3400000, 4100000),
        ((5, 6), 1100000, 4500000, 4800000),
    ]
    yield Case("counts of millions, with ratios far apart", pieces_with_counts(*far_apart))
    # the second ratio is larger, by less than a float of 80 bits can show
    nearest = ((1, 2), 8999999, 9000003, 9000000), ((8, 9), 9000000, 9000002, 9000002)
    yield Case("counts of millions, with the closest ratios", pieces_with_counts(*nearest))
    common = [[a, 15 + b] for a in range(11) for b in range(11)]
    yield Case("a rare pair, and 121 common ones", ([*common, [40, 41]], [5] * 121 + [1]))
    yield Case("tokens of one digit and of several", ([[9, 1], [10, 2]], [1, 1]))
    yield Case("tokens in the millions", ([[1, 2500], [70000, 16777217]], [2, 1]))
    yield Case("only pieces of one token", ([[4], [2]], [3, 1]))
    yield Case("no pieces", ([], []))
    yield Case("one piece", ([[5, 3, 5, 3, 9]], [4]))
    yield Case("two tokens with another between them", ([[5, 9, 6], [9]], [1, 1]))


@exercise.valid
def by_products(pieces, times):
    tokens, pairs = {}, {}
    for piece, often in zip(pieces, times, strict=True):
        for i in range(len(piece)):
            tokens[piece[i]] = tokens.get(piece[i], 0) + often
        for i in range(len(piece) - 1):
            pairs[piece[i], piece[i + 1]] = pairs.get((piece[i], piece[i + 1]), 0) + often

    def product(one, other):
        return pairs[one] * tokens[other[0]] * tokens[other[1]]

    best = None
    for pair in sorted(pairs):
        if best is None or product(pair, best) > product(best, pair):
            best = pair
    return best


# each is rounded once, to 28 digits
exercise.valid(variants.made(worked, ("Fraction(count, ", "Decimal(count) / ("), Decimal=Decimal))


def past_equal_ones(piece):
    """The pairs, where after two equal tokens the search goes on behind both."""
    place = 0
    while place < len(piece) - 1:
        yield piece[place], piece[place + 1]
        place += 1 + (piece[place] == piece[place + 1])


RATIO = "Fraction(count, tokens[a] * tokens[b])"
variants.right(exercise,
    # times the number of all tokens: the same order
    (RATIO, "Fraction(count * tokens.total(), tokens[a]) / tokens[b]"),
    ("pairwise(piece)", "zip(piece, piece[1:])", "-ratio", "1 / ratio"),
    "return max(sorted(ratio), key=ratio.get, default=None)",
    "return [*sorted(ratio, key=lambda pair: (-ratio[pair], *pair)), None][0]",
)  # fmt: skip
variants.wrong(exercise, {
    "you return the commonest pair, as in the chapter: divide each pair's count by the counts of "
    "its two tokens":
        "ratio = pairs",
    "you ignore `times`: count a piece as often as it occurs, in both counts": (
        every("+= often"), "+= 1"),
    "you count a piece's pairs once: count them as often as the piece occurs": (
        "pairs[pair] += often", "pairs[pair] += 1"),
    "you count a piece's tokens once: count them as often as the piece occurs": (
        "tokens[token] += often", "tokens[token] += 1"),
    "pairs cross from one piece into the next: both tokens of a pair should be in the same piece": [
        ("    ratio = {", f"    for one, other, often in zip(pieces, pieces[1:], times):\n"
         f"        pairs[one[-1], other[0]] += {count}\n    ratio = {{")
        for count in ("often", "1")] + [
        # the text written out, each piece as often as it occurs
        ("    ratio = {", "    for one, other in pairwise(pieces):\n"
         "        pairs[one[-1], other[0]] += 1\n"
         "    for piece, often in zip(pieces, times):\n"
         "        pairs[piece[-1], piece[0]] += often - 1\n    ratio = {")],
    "you divide by the count of only one of the two tokens: divide by the product of both counts": [
        (RATIO, "Fraction(count, tokens[a])"), (RATIO, "Fraction(count, tokens[b])")],
    "you add the counts of the two tokens: multiply them": (
        "tokens[a] * tokens[b]", "tokens[a] + tokens[b]"),
    "your ratio favours common pairs: divide count(ab), taken once, by the product of the other "
    "two counts":
        [(RATIO, "Fraction(count**2, tokens[a] * tokens[b])"),
         (RATIO, "count / math.sqrt(tokens[a] * tokens[b])"),
         (RATIO, "Fraction(count, max(tokens[a], tokens[b]))"),
         (RATIO, "count * math.log(count * tokens.total() / tokens[a] / tokens[b])")],
    "you count a only where it begins a pair, and b only where it ends one: count them wherever "
    "they occur": (
        "tokens[a] * tokens[b]", "sum(n for (x, _), n in pairs.items() if x == a) * "
        "sum(n for (_, y), n in pairs.items() if y == b)"),
    "you leave out pieces of one token: count their tokens, even though they hold no pair": (
        "        for token", "        if len(piece) < 2:\n            continue\n        for token"),
    "a token or pair that occurs several times in a piece is counted once: count every "
    "occurrence": [
        ("in piece:", "in set(piece):"), ("pairwise(piece)", "set(pairwise(piece))"),
        ("in piece:", "in set(piece):", "pairwise(piece)", "set(pairwise(piece))")],
    "overlapping pairs are counted once: count both, because three equal tokens in a row hold the "
    "pair twice": (
        "pairwise(piece)", "past_equal_ones(piece)"),
    "you take any two tokens of a piece as a pair: take only neighbours": (
        "pairwise(piece)", "[(a, b) for i, a in enumerate(piece) for b in piece[i + 1 :]]"),
    "the first or the last pair of a piece is missing: count all n - 1 pairs of n tokens": [
        ("pairwise(piece)", "pairwise(piece[:-1])"), ("pairwise(piece)", "pairwise(piece[1:])")],
    "you count both orders of a pair as one: count (a, b) and (b, a) separately": (
        "pairs[pair] += often", "pairs[min(pair), max(pair)] += often"),
    "pairs with token 0 are left out: count 0 like any other token": (
        "pairs[pair] += often", "pairs[pair] += often * all(pair)"),
    "you leave out rare pairs: let the ratio decide, however rare a pair is": [
        ("pairs.items()", f"pairs.items() if count > {least}") for least in (1, 2, 5)],
    "the smallest ratio wins, or your ratio is upside down: take the largest count(ab) / (count(a) "
    "count(b))": [
        ("-ratio[pair]", "ratio[pair]"), (RATIO, "Fraction(tokens[a] * tokens[b], count)")],
    "where ratios tie, you take the largest pair: take the smallest":
        "return max(ratio, key=lambda pair: (ratio[pair], pair), default=None)",
    "where ratios tie, you take the pair that comes first in the text: take the smallest pair":
        "return max(ratio, key=ratio.get, default=None)",
    "where ratios tie, you take the pair that comes last in the text: take the smallest pair":
        "return max(reversed(ratio), key=ratio.get, default=None)",
    "where ratios tie, you take the pair with the smaller b: the smaller a should decide first": [
        ("pair), default", "pair[::-1]), default"), ("pair), default", "pair[1]), default")],
    ROUNDED: [
        (RATIO, "count / (tokens[a] * tokens[b])"), (RATIO, "count / tokens[a] / tokens[b]"),
        (RATIO, "math.log(count / (tokens[a] * tokens[b]))"),
        (RATIO, "math.log(count) - math.log(tokens[a]) - math.log(tokens[b])"),
        (RATIO, "round(count / (tokens[a] * tokens[b]), 6)")],
    "the ratios are rounded to a few digits or to whole numbers, so many of them tie: keep them "
    "exact": [
        (RATIO, "count // (tokens[a] * tokens[b])"),
        (RATIO, "round(count / (tokens[a] * tokens[b]), 2)"),
        (RATIO, "round(count / (tokens[a] * tokens[b]), 3)")],
    "you return the ratio or the count: return only the pair": [
        "return float(max(ratio.values(), default=0))", "return max(pairs.values(), default=0)",
        "best = min(ratio, key=lambda pair: (-ratio[pair], pair), default=None)\n"
        "return best and (best, float(ratio[best]))"],
    "your code fails where there is no pair at all: return None there": [
        (", default=None", ""),
        "return sorted(ratio, key=lambda pair: (-ratio[pair], pair))[0]"],
    "a table of floats rounds the ratios, is too large for tokens in the millions, and has a "
    "largest entry even without any pair: count in dictionaries, and compare exactly":
        "size = max(tokens, default=0) + 1\n"
        "ratio = torch.zeros(size, size)\n"
        "for (a, b), count in pairs.items():\n"
        "    ratio[a, b] = count / (tokens[a] * tokens[b])\n"
        "return divmod(ratio.argmax().item(), size)",
})  # fmt: skip
variants.wrong(exercise, {
    "these products don't fit into 64 bits: keep the counts as Python's own numbers": (
        "pairs[one] *", "torch.tensor(pairs[one]) *"),
}, of=by_products)  # fmt: skip
