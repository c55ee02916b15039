"""Exercise break_even_length: from which length on the recurrent form takes fewer products."""

import math
from fractions import Fraction
from itertools import count

from judge import variants
from judge.exercise import Case, Exercise

exercise = Exercise.read(
    __name__,
    differentiable=False,
    without={"loops": "it is given sizes alone, and may try one length after the other"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(d, e, features):
    for n in count(1):
        softmax = n * n * d + n * n * e
        recurrent = n * (features * e + features * e + features)
        if recurrent < softmax:
            return n


@exercise.cases
def cases(draw):
    width, sizes, large = 2 ** draw.integer(4, 6), draw.sizes(3, 5, 60), draw.integer(100, 400)
    for d, e, features in (
        (width, width, width), sizes, (3, 4, 7), (2, 3, large), (40, 30, 2), (1, 1, 1), (9, 1, 2),
        # a head with as many features as there are pairs of numbers, and all pairs of 64 or 128
        (8, 12, 64), (64, 64, 4096), (128, 128, 128**2),
        # here the two counts are equal for n = 9
        (5, 1, 18),
        # 45 * 7 / 5 is 63, and 45 * (7 / 5) less
        (2, 3, 45),
        # a float has fewer digits: the quotients are 1022 less a little, and 1023
        (4 * 10**13, 1, 1022 * (4 * 10**13 + 1) // 3), (4 * 10**13, 1, 341 * (4 * 10**13 + 1)),
    ):  # fmt: skip
        yield Case(f"d={d}, e={e}, features={features}", (d, e, features))


@exercise.valid
def rounded_down(d, e, features):
    return math.floor(Fraction(features * (2 * e + 1), d + e)) + 1


variants.right(exercise,
    "return -(-(recurrent + 1) // softmax)",
    "return next(n for n in range(1, recurrent + 2) if n * softmax > recurrent)",
    "return next(n for n in count(1) if n * n * softmax > n * recurrent)",
)  # fmt: skip
variants.wrong(exercise, {
    "at this length the counts may be equal: take the first at which the recurrent form "
    "takes fewer":
        "return max(1, -(-recurrent // softmax))",
    "n begins at 2: begin at 1, the least length there is":
        "return max(2, recurrent // softmax + 1)",
    "it stops before the length is found: go on, because that may be in the thousands": [
        "return next((n for n in range(1, 1000) if n * softmax > recurrent), None)",
        "return next((n for n in range(1, 10000) if n * softmax > recurrent), 10000)"],
    "a float holds 16 digits, and a count may have more: divide ints, with //": [
        "return math.floor(recurrent / softmax) + 1",
        "return math.ceil((recurrent + 1) / softmax)",
        "return math.ceil(recurrent / softmax + 1e-9)"],
    "a quotient that should be whole is rounded to just below: divide ints, with //":
        "return math.floor(features * ((2 * e + 1) / (d + e))) + 1",
    "this is the last length at which it is not cheaper: return the next one": [
        "return recurrent // softmax", "return max(1, recurrent // softmax)"],
    "this is the quotient: return a whole number, the least length for which it is cheaper":
        "return recurrent / softmax",
    "it is rounded to the nearest whole number: take the least n above the quotient":
        "return round(recurrent / softmax)",
    "rounding to the nearest and adding 1 is at times one too many: divide ints, with //":
        "return round(recurrent / softmax) + 1",
    "the value is right, but it is a float: a length should be an int":
        "return float(recurrent // softmax + 1)",
    "the normaliser is left out: add the products of the query with z, `features` of them":
        "recurrent = features * 2 * e",
    "features * e products are counted once: count them twice, because the state is written and "
    "read":
        "recurrent = features * (e + 1)",
    "products are counted for writing z: count none, because it only adds the features":
        "recurrent = features * (2 * e + 2)",
    "the state is taken for d wide: it should have a row for each feature":
        "recurrent = d * (2 * e + 1)",
    "the state is taken for features x d: its columns should belong to the values, e wide":
        "recurrent = features * (2 * d + 1)",
    "the values are taken for d wide: count width d for keys, and e for values":
        "softmax = 2 * d\nrecurrent = features * (2 * d + 1)",
    "the mean of the values is left out: add its n * n * e products": "softmax = d",
    "the scores are left out: add their n * n * d products": "softmax = e",
    "the scores are counted as features wide: for the softmax, count q and k, d wide":
        "softmax = features + e",
    # n (n + 1) / 2 pairs
    "half of the pairs are left out: count n * n, mask or no mask":
        "recurrent = 2 * features * (2 * e + 1) - (d + e)",
    "the recurrent form is counted once for the whole text: count it once for every token":
        "return math.isqrt(recurrent // softmax) + 1",
    "one side is halved or doubled: count all n x n products of softmax attention, causal or not, "
    "and no additions": "recurrent = 2 * features * (2 * e + 1)",
})  # fmt: skip
