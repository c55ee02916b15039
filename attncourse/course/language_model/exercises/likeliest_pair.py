"""Exercise likeliest_pair: the pair that stands together far more often than by chance."""

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise

exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    without={"loops": "counting into dictionaries, token by token, is a good way"},
)


@exercise.reference
def by_hand(pieces, times):
    alone, together = {}, {}
    for piece, often in zip(pieces, times, strict=True):
        for place, token in enumerate(piece):
            alone[token] = alone.get(token, 0) + often
            if place:
                pair = piece[place - 1], token
                together[pair] = together.get(pair, 0) + often
    best = None
    for a, b in sorted(together):
        ratio = Fraction(together[a, b], alone[a] * alone[b])
        if best is None or ratio > best[0]:
            best = ratio, (a, b)
    return best and best[1]


def drawn(draw, tokens, pieces, longest=5, most=9):
    """Different pieces of these tokens, each of which occurs up to so many times."""
    found = set()
    while len(found) < pieces:
        places = draw.integers(0, len(tokens) - 1, draw.integer(1, longest)).tolist()
        found.add(tuple(tokens[place] for place in places))
    order = [list(piece) for piece in sorted(found)]
    places = torch.randperm(pieces, generator=draw.generator).tolist()
    return [order[place] for place in places], draw.integers(1, most, pieces).tolist()


def apart(*pairs):
    """Pieces in which each pair (a, b) has so many counts: of both together, of a, and of b."""
    pieces, times = [], []
    for (a, b), together, first, second in pairs:
        parts = ([a, b], together), ([a], first - together), ([b], second - together)
        for piece, often in parts:
            if often:
                pieces.append(piece)
                times.append(often)
    return pieces, times


@exercise.cases
def cases(draw):
    for count, tokens in enumerate(([3, 7, 40, 8], [0, 1, 2, 3, 4], [259, 116, 104, 32, 300]), 1):
        yield Case(f"8 pieces of {len(tokens)} tokens, {count}", drawn(draw, tokens, 8))
    yield Case("20 pieces of 7 tokens", drawn(draw, range(7), 20, longest=6, most=30))
    yield Case("12 pieces of 2 tokens", drawn(draw, [9, 4], 12))
    often = draw.integer(20, 30)
    rare = ((5, 6), often, 2 * often, 2 * often), ((9, 0), 4, 4, 5)
    common = ((1, 2), 9 * often, 12 * often, 40 * often), ((8, 3), 8 * often, 50 * often, 8 * often)
    yield Case("a rare pair, and common ones", apart(*rare, *common))
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
    yield Case("ratios of 0.0100 and 0.0101", apart(((1, 2), 10, 40, 25), ((3, 4), 10, 33, 30)))
    # quotients of these numbers, and their logarithms, differ in the last bit
    tied = ((6, 7), 14, 16, 25), ((4, 5), 7, 20, 10)
    yield Case("two pairs that tie, each with other counts", apart(*tied))
    tied = ((4, 9), 11, 18, 20), ((3, 7), 11, 24, 15)
    yield Case("two pairs that tie, as frequent as each other", apart(*tied))
    # two ratios of which the second is larger, by less than a float can show
    near = ((1, 2), 2580846, 4549644, 4718284), ((3, 4), 1635953, 3054492, 4454831)
    yield Case("counts of millions", apart(*near))
    yield Case("counts of millions, the other way round", apart(*near[::-1]))
    nearer = ((5, 2), 1990201, 3171934, 3989037), ((8, 4), 2465927, 3513486, 4462079)
    yield Case("counts of millions, still nearer", apart(*nearer))
    n, together = draw.integer(2 * 10**6, 3 * 10**6), draw.integer(10**6, 2 * 10**6)
    tied = ((1, 2), n, 2 * n, n), ((0, 9), together, 2 * together, n)
    yield Case("counts of millions that tie", apart(*tied))
    # products of these are wrong in 64 bits, and in another order
    far = [
        ((1, 2), 1800000, 3700000, 4800000),
        ((3, 4), 1900000, 3400000, 4100000),
        ((5, 6), 1100000, 4500000, 4800000),
    ]
    yield Case("counts of millions that are far apart", apart(*far))
    # the second ratio is larger, by less than a float of 80 bits can show
    nearest = ((1, 2), 8999999, 9000003, 9000000), ((8, 9), 9000000, 9000002, 9000002)
    yield Case("counts of millions, nearest of all", apart(*nearest))
    common = [[a, 15 + b] for a in range(11) for b in range(11)]
    yield Case("a rare pair, and 121 common ones", ([*common, [40, 41]], [5] * 121 + [1]))
    yield Case("tokens of one digit and of several", ([[9, 1], [10, 2]], [1, 1]))
    yield Case("tokens in the millions", ([[1, 2500], [70000, 16777217]], [2, 1]))
    yield Case("pieces of one token alone", ([[4], [2]], [3, 1]))
    yield Case("no pieces", ([], []))
    yield Case("one piece", ([[5, 3, 5, 3, 9]], [4]))
    yield Case("one piece of two tokens", ([[5, 3]], [1]))


@exercise.valid
def plain(pieces, times):
    tokens, pairs = Counter(), Counter()
    for piece, often in zip(pieces, times, strict=True):
        for token in piece:
            tokens[token] += often
        for pair in pairwise(piece):
            pairs[pair] += often
    ratio = {(a, b): Fraction(count, tokens[a] * tokens[b]) for (a, b), count in pairs.items()}
    return min(ratio, key=lambda pair: (-ratio[pair], pair), default=None)


@exercise.valid
def by_products(pieces, times):
    tokens, pairs = {}, {}
    for piece, often in zip(pieces, times, strict=True):
        for i in range(len(piece)):
            tokens[piece[i]] = tokens.get(piece[i], 0) + often
        for i in range(len(piece) - 1):
            pairs[piece[i], piece[i + 1]] = pairs.get((piece[i], piece[i + 1]), 0) + often
    best = None
    for pair, count in pairs.items():
        if best is None:
            best = pair
            continue
        a, b = best
        mine = count * tokens[a] * tokens[b]
        others = pairs[best] * tokens[pair[0]] * tokens[pair[1]]
        if mine > others or (mine == others and pair < best):
            best = pair
    return best


@exercise.valid
def in_order(pieces, times):
    tokens = Counter()
    pairs = Counter()
    for piece, often in zip(pieces, times, strict=True):
        tokens.update({token: often * piece.count(token) for token in set(piece)})
        neighbours = list(pairwise(piece))
        pairs.update({pair: often * neighbours.count(pair) for pair in set(neighbours)})

    def compare(one, other):
        a, b = (pairs[p] * tokens[q[0]] * tokens[q[1]] for p, q in ((one, other), (other, one)))
        return b - a

    ordered = sorted(sorted(pairs), key=cmp_to_key(compare))
    return ordered[0] if ordered else None


@exercise.valid
def over_a_common_denominator(pieces, times):
    tokens, pairs = {}, {}
    for piece, often in zip(pieces, times, strict=True):
        for token, following in zip(piece, [*piece[1:], None], strict=True):
            tokens[token] = tokens.get(token, 0) + often
            if following is not None:
                pairs.setdefault((token, following), []).append(often)
    if not pairs:
        return None
    product = {(a, b): tokens[a] * tokens[b] for a, b in pairs}
    common = math.lcm(*product.values())
    ratio = {pair: sum(pairs[pair]) * (common // product[pair]) for pair in sorted(pairs)}
    return max(ratio, key=ratio.__getitem__)


@exercise.valid
def with_many_digits(pieces, times):
    text = [(piece, often) for piece, often in zip(pieces, times, strict=True) if piece]
    pairs = {pair for piece, _ in text for pair in pairwise(piece)}
    if not pairs:
        return None
    with localcontext() as context:
        context.prec = 100

        def ratio(pair):
            a, b = (sum(n * piece.count(token) for piece, n in text) for token in pair)
            together = sum(n * list(pairwise(piece)).count(pair) for piece, n in text)
            # of two that tie, each is rounded once, from the same number
            return (Decimal(together) / Decimal(a * b)).quantize(Decimal(10) ** -80)

        best = max(map(ratio, pairs))
        return min(pair for pair in pairs if ratio(pair) == best)


def without_overlaps(piece):
    """The pairs, but for those that share a token with an equal one before."""
    last = None
    for pair in pairwise(piece):
        last = None if pair == last else pair
        if last:
            yield pair


def past_equal_ones(piece):
    """The pairs, where after two equal tokens the search goes on behind both."""
    place = 0
    while place < len(piece) - 1:
        yield piece[place], piece[place + 1]
        place += 1 + (piece[place] == piece[place + 1])


TOKEN, PAIR = "tokens[token] += often", "pairs[pair] += often"
RATIO, ORDER = "Fraction(count, tokens[a] * tokens[b])", "(-ratio[pair], pair)"
NEIGHBOURS = "pairwise(piece)"
RESULT = "min(ratio, key=lambda pair: (-ratio[pair], pair), default=None)"
EACH, MADE = "for piece, often in zip(pieces, times, strict=True):", "    ratio = {"
variants.right(exercise,
    # times the number of all tokens: the same order
    (RATIO, "Fraction(count * tokens.total(), tokens[a]) / tokens[b]"),
    (RATIO, "Fraction(tokens[a] * tokens[b], count)", ORDER, "(ratio[pair], pair)"),
    (NEIGHBOURS, "zip(piece, piece[1:])", RESULT,
     "max(sorted(ratio), key=ratio.get) if ratio else None"),
    (RESULT, "[*sorted(ratio, key=lambda pair: (-ratio[pair], *pair)), None][0]"),
)  # fmt: skip
FLOATS = (
    "the ratios are rounded: two may tie that differ, or differ that tie. Compare them exactly, as "
    "fractions or by multiplying crosswise"
)
variants.wrong(exercise, {
    "pairs that tie are ordered as texts, in which 10 comes before 9: order them as numbers": (
        ORDER, "(-ratio[pair], str(pair))"),
    "a pair is made one number with too little room for the second token: keep both": (
        RESULT, f"(lambda best: best and divmod(1000 * best[0] + best[1], 1000))({RESULT})"),
    "a table has a place for so many tokens, and there may be more: count into a dictionary": (
        "tokens, pairs = Counter(), Counter()", "tokens, pairs = [0] * 512, Counter()"),
    "only the commonest pairs are compared: a rare one may have the largest ratio": (
        "pairs.items()", "pairs.most_common(100)"),
    "this is the commonest pair, the chapter's choice: divide its count by those of its two tokens":
        [(RATIO, "count"), (RATIO, "Fraction(count, tokens.total())")],
    "times is not looked at: a piece counts as often as it occurs, in both counts": (
        TOKEN, "tokens[token] += 1", PAIR, "pairs[pair] += 1"),
    "a piece's pairs are counted once each: add as many as the piece has times": (
        PAIR, "pairs[pair] += 1"),
    "a piece's tokens are counted once each: add as many as the piece has times": (
        TOKEN, "tokens[token] += 1"),
    "pairs cross from one piece into the next: both tokens of a pair stand in one piece": [
        (MADE, "    for (one, m), (next_one, n) in pairwise(zip(pieces, times, strict=True)):\n"
         "        pairs[one[-1], next_one[0]] += min(m, n)\n    ratio = {"),
        (MADE, "    for (one, m), (next_one, _) in pairwise(zip(pieces, times, strict=True)):\n"
         "        pairs[one[-1], next_one[0]] += m\n    ratio = {"),
        (MADE, "    for one, next_one in pairwise(pieces):\n"
         "        pairs[one[-1], next_one[0]] += 1\n    ratio = {"),
        ("    for piece, often", "    pairs = Counter(pairwise(sum((piece * n for piece, n in "
         "zip(pieces, times, strict=True) if sum(times) < 10**6), [])))\n    for piece, often",
         f"        for pair in {NEIGHBOURS}:\n            {PAIR}\n", "")],
    "a piece is taken to follow itself: the last of it and the first of it are no pair": (
        NEIGHBOURS, "zip(piece, piece[1:] + piece[:1])"),
    "it is divided by the count of the first token alone: multiply the counts of both": (
        RATIO, "Fraction(count, tokens[a])"),
    "it is divided by the count of the second token alone: multiply the counts of both": (
        RATIO, "Fraction(count, tokens[b])"),
    "the two counts are added: multiply them": [
        (RATIO, "Fraction(count, tokens[a] + tokens[b])"),
        (RATIO, "Fraction(2 * count, tokens[a] + tokens[b])"),
        (RATIO, "Fraction(count, tokens[a] + tokens[b] - count)")],
    "it is divided by the larger of the two counts: multiply them": (
        RATIO, "Fraction(count, max(tokens[a], tokens[b]))"),
    "it is divided by the smaller of the two counts: multiply them": (
        RATIO, "Fraction(count, min(tokens[a], tokens[b]))"),
    "the pair's count is squared, or a root is taken of the others: divide it by their product": [
        (RATIO, "Fraction(count**2, tokens[a] * tokens[b])"),
        (RATIO, "count / math.sqrt(tokens[a] * tokens[b])")],
    "the logarithm of the ratio is multiplied by the pair's count, so that common pairs win: only "
    "the ratio counts": (RATIO, "count * math.log(count * tokens.total() / tokens[a] / tokens[b])"),
    "count(a) counts only where a begins a pair, and count(b) where b ends one: count all places": (
        RATIO, "Fraction(count, sum(n for (x, _), n in pairs.items() if x == a) * "
        "sum(n for (_, y), n in pairs.items() if y == b))"),
    "tokens are counted by the pairs they are in, twice within a piece and never alone: count "
    "them by places": (
        RATIO, "Fraction(count, sum(n * p.count(a) for p, n in pairs.items()) * "
        "sum(n * p.count(b) for p, n in pairs.items()))"),
    "pieces of one token are left out: their tokens count, though they have no pair": (
        TOKEN, "tokens[token] += often * (len(piece) > 1)"),
    "a token counts once a piece: it counts at each of its places": (
        "for token in piece", "for token in set(piece)"),
    "a pair counts once a piece: it counts at each of its places": (
        NEIGHBOURS, f"set({NEIGHBOURS})"),
    "tokens and pairs count once a piece: they count at each of their places": (
        "for token in piece", "for token in set(piece)", NEIGHBOURS, f"set({NEIGHBOURS})"),
    "pairs that overlap count once here: in three equal tokens, the pair stands twice": [
        (NEIGHBOURS, "without_overlaps(piece)"), (NEIGHBOURS, "past_equal_ones(piece)")],
    "the ratio comes back with the pair: give the pair alone": [
        (RESULT, f"(lambda best: best and (best, ratio[best]))({RESULT})"),
        (RESULT, f"(lambda best: best and (best, float(ratio[best])))({RESULT})"),
        (RESULT, f"(lambda best: best and (*best, ratio[best]))({RESULT})")],
    "every second token begins a pair: every one does but the last": (
        NEIGHBOURS, "zip(piece[::2], piece[1::2])"),
    "the tokens of a pair have another one between them: they are neighbours": (
        NEIGHBOURS, "zip(piece, piece[2:])"),
    "any two tokens of a piece are a pair here: only neighbours are": (
        NEIGHBOURS, "[(a, b) for i, a in enumerate(piece) for b in piece[i + 1 :]]"),
    "the last pair of a piece is missing: a piece of n tokens has n - 1 pairs": (
        NEIGHBOURS, "pairwise(piece[:-1])"),
    "the first pair of a piece is missing: a piece of n tokens has n - 1 pairs": (
        NEIGHBOURS, "pairwise(piece[1:])"),
    "the two orders of a pair are counted as one: (a, b) is another pair than (b, a)": [
        (PAIR, "pairs[min(pair), max(pair)] += often"),
        (RATIO, "Fraction(count + pairs.get((b, a), 0), tokens[a] * tokens[b])")],
    "a token followed by itself is left out: that is a pair as well": (
        PAIR, "pairs[pair] += often * (pair[0] != pair[1])"),
    "pairs that occur once are left out: the ratio decides, however rare a pair is": (
        MADE, "    pairs = {pair: n for pair, n in pairs.items() if n > 1}\n    ratio = {"),
    "rare pairs are left out: the ratio decides, however rare a pair is": [
        (MADE, f"    pairs = {{p: n for p, n in pairs.items() if n > {least}}}\n    ratio = {{")
        for least in (2, 3, 5)],
    "the smallest ratio wins, or the ratio is upside down: the largest of count(ab) / (count(a) "
    "count(b)) is asked for": [
        (ORDER, "(ratio[pair], pair)"), (RATIO, "Fraction(tokens[a] * tokens[b], count)")],
    "of ratios that tie, the largest pair is taken: take the smallest": [
        (RESULT, "max(ratio, key=lambda pair: (ratio[pair], pair), default=None)"),
        (ORDER, "(-ratio[pair], -pair[0], pair[1])")],
    "of ratios that tie, the pair that comes first in the text is taken: take the smallest pair": (
        ORDER, "-ratio[pair]"),
    "of ratios that tie, the pair that comes last in the text is taken: take the smallest pair": (
        "min(ratio,", "min(reversed(ratio),", ORDER, "-ratio[pair]"),
    "of ratios that tie, the commonest pair is taken: take the smallest pair": (
        ORDER, "(-ratio[pair], -pairs[pair], pair)"),
    "of ratios that tie, the smaller b is taken first: the smaller a comes before that": [
        (ORDER, "(-ratio[pair], pair[::-1])"), (ORDER, "(-ratio[pair], pair[1])")],
    "of pairs that tie and have the same a, the smaller b is taken": [
        (ORDER, "(-ratio[pair], pair[0])"), (ORDER, "(-ratio[pair], pair[0], -pair[1])")],
    "of ratios that tie, the smaller sum of a and b is taken: take the smaller a, then b": (
        ORDER, "(-ratio[pair], sum(pair), pair)"),
    FLOATS: [
        (RATIO, made) for made in (
            "count / (tokens[a] * tokens[b])",
            "__import__('numpy').longdouble(count) / tokens[a] / tokens[b]",
            "count / tokens[a] / tokens[b]",
            "count / tokens[b] / tokens[a]", "count / float(tokens[a] * tokens[b])",
            "(count / tokens[a]) * (1 / tokens[b])",
            "math.log(count) - math.log(tokens[a]) - math.log(tokens[b])",
            "math.log(count / tokens[a] / tokens[b])", "math.log(count / (tokens[a] * tokens[b]))",
            "math.log2(count) - math.log2(tokens[a]) - math.log2(tokens[b])",
            "math.log(count) - math.log(tokens[a] * tokens[b])",
            "math.log2(count) - math.log2(tokens[a] * tokens[b])",
            "math.log(count * tokens.total() / (tokens[a] * tokens[b]))",
            "math.log2(count * tokens.total() / (tokens[a] * tokens[b]))",
            "count * tokens.total() / (tokens[a] * tokens[b])",
            "count / tokens.total() / (tokens[a] / tokens.total() * tokens[b] / tokens.total())",
            "count / (n := tokens.total()) / ((tokens[a] / n) * (tokens[b] / n))",
            "count / pairs.total() / ((tokens[a] / (n := tokens.total())) * (tokens[b] / n))",
            "Fraction(count / (tokens[a] * tokens[b]))",
            *(f"count * 10**{digits} // (tokens[a] * tokens[b])" for digits in (12, 15, 18)),
            "Fraction(count, tokens[a] * tokens[b]).limit_denominator()",
            "round(count / (tokens[a] * tokens[b]), 6)", "round(count / tokens[a] / tokens[b], 9)",
            "torch.tensor(count) / torch.tensor(tokens[a]) / torch.tensor(tokens[b])",
            "torch.tensor(count) / (torch.tensor(tokens[a]) * tokens[b])",
            "torch.tensor(count, dtype=torch.float64) / tokens[a] / tokens[b]")],
    "ratios are rounded before they are compared: keep them exact": [
        (RATIO, f"round(count / (tokens[a] * tokens[b]), {digits})") for digits in (1, 2, 3)],
    "// rounds every ratio down to a whole number: compare fractions, or products": (
        RATIO, "count // (tokens[a] * tokens[b])"),
    "the ratio comes back as well: only the pair is asked for": (
        RESULT, f"(best := {RESULT}) and (*best, float(ratio[best]))"),
    "the ratio, or the count, comes back: the pair is asked for": [
        (RESULT, "float(max(ratio.values(), default=0))"), (RESULT, "max(ratio.values())"),
        (RESULT, f"(best := {RESULT}) and pairs[best]")],
    "the pair comes back with its larger token first, or its smaller: keep its order": [
        (RESULT, f"(best := {RESULT}) and (max(best), min(best))"),
        (RESULT, f"(best := {RESULT}) and (min(best), max(best))"),
        (RESULT, f"(best := {RESULT}) and best[::-1]")],
    "without any pair there is nothing to take the best of: give None": [
        (", default=None", ""),
        (RESULT, "sorted(ratio, key=lambda pair: (-ratio[pair], pair))[0]"),
        (RESULT, "max(sorted(ratio), key=ratio.get)"),
        (RESULT, "Counter(dict(sorted(ratio.items()))).most_common(1)[0][0]")],
    "without any pair something else comes back: give None": [
        ("default=None", "default=()"), ("default=None", "default=(-1, -1)"),
        ("default=None", "default=(None, None)"), ("default=None", "default=[]"),
        ("default=None", "default=0"), ("default=None", "default=False")],
    "pairs with token 0 are left out: 0 is a token like the others": [
        (PAIR, "pairs[pair] += often * all(pair)"),
        (PAIR, "pairs[pair] += often * (pair[0] != 0)")],
    "only the first piece is looked at: count over all of them": (
        EACH, "for piece, often in [*zip(pieces, times, strict=True)][:1]:"),
    "the ratio is taken within each piece: count over all pieces first, then divide": (
        MADE, "    best = {}\n    for piece in pieces:\n        for a, b in pairwise(piece):\n"
        "            found = Fraction([*pairwise(piece)].count((a, b)), piece.count(a) * "
        "piece.count(b))\n            best[a, b] = max(found, best.get((a, b), 0))\n    ratio = {",
        RATIO, "best[a, b]"),
    "the pair comes back joined, as a text or one list within another: give the two tokens": [
        (RESULT, f"(best := {RESULT}) and str(best)"), (RESULT, f"(best := {RESULT}) and [best]")],
    "it gives a tensor: two plain numbers are asked for": (
        RESULT, f"(best := {RESULT}) and torch.tensor(best)"),
})  # fmt: skip


@exercise.mutant("64 bits do not hold these products: keep the counts as Python's own numbers")
def in_64_bits(pieces, times):
    tokens, pairs = Counter(), Counter()
    for piece, often in zip(pieces, times, strict=True):
        for token in piece:
            tokens[token] += often
        for pair in pairwise(piece):
            pairs[pair] += often
    best = None
    for pair in sorted(pairs):
        one, other = pair, best or pair
        mine, others = (
            torch.tensor(pairs[p]) * torch.tensor(tokens[q[0]]) * torch.tensor(tokens[q[1]])
            for p, q in ((one, other), (other, one))
        )
        if best is None or mine > others:
            best = pair
    return best


FLOAT32 = (
    "a tensor of floats rounds counts and ratios, and without any pair its largest place is still "
    "(0, 0): compare whole numbers, and give None"
)


@exercise.mutant(FLOAT32)
def in_a_table(pieces, times):
    size = max((token for piece in pieces for token in piece), default=0) + 1
    tokens, pairs = torch.zeros(size), torch.zeros(size, size)
    for piece, often in zip(pieces, times, strict=True):
        for token in piece:
            tokens[token] += often
        for a, b in pairwise(piece):
            pairs[a, b] += often
    ratio = pairs / (tokens[:, None] * tokens).clamp(min=1)
    return divmod(ratio.argmax().item(), size)


@exercise.mutant(FLOAT32)
def in_a_table_of_known_size(pieces, times):
    size = max(token for piece in pieces for token in piece) + 1
    tokens, pairs = torch.zeros(size), torch.zeros(size, size)
    for piece, often in zip(pieces, times, strict=True):
        for token in piece:
            tokens[token] += often
        for a, b in pairwise(piece):
            pairs[a, b] += often
    ratio = pairs / (tokens[:, None] * tokens).clamp(min=1)
    return divmod(ratio.argmax().item(), size)


@exercise.mutant(hints.CHANGES)
def merging_in_place(pieces, times):
    best = plain(pieces, times)
    for piece in pieces:
        for i in range(len(piece) - 2, -1, -1):
            if (piece[i], piece[i + 1]) == best:
                piece[i : i + 2] = [max(piece) + 1]
    return best
