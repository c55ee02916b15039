"""Exercise break_even_length: from which length on the recurrent form takes fewer products."""

import math
from fractions import Fraction
from itertools import count

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="break_even_length",
    chapter="linear",
    title="From which length on is it cheaper?",
    kind="measure",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "One count grows with the square of n, the other with n. Divide both by n: what is left on "
        "each side?",
        "Per token, attention takes n (d + e) products, and the recurrent form a number that does "
        "not depend on n: what it takes to write, to read, and to normalise. n is the least whole "
        "number for which the first is larger than the second, and not equal to it.",
        "features * (2 * e + 1) // (d + e) is the largest n for which it is not yet cheaper",
    ),
    differentiable=False,
)


@exercise.reference
def by_hand(d, e, features):
    for n in count(1):
        softmax = n * n * d + n * n * e
        recurrent = n * (features * e + features * e + features)
        if recurrent < softmax:
            return n


@exercise.cases
def cases(draw):
    width = 2 ** draw.integer(4, 6)
    yield Case(f"d={width}, e={width}, features={width}", (width, width, width))
    # a head with as many features as there are pairs of numbers
    yield Case("d=8, e=12, features=64", (8, 12, 64))
    # here the two counts are equal for n = 9
    yield Case("d=5, e=1, features=18", (5, 1, 18))
    yield Case("d=3, e=4, features=7", (3, 4, 7))
    d, e, features = draw.sizes(3, 5, 60)
    yield Case(f"d={d}, e={e}, features={features}", (d, e, features))
    wide = draw.integer(100, 400)
    yield Case(f"d=2, e=3, features={wide}", (2, 3, wide))
    yield Case("d=40, e=30, features=2", (40, 30, 2))
    yield Case("d=1, e=1, features=1", (1, 1, 1))
    yield Case("d=9, e=1, features=2", (9, 1, 2))
    # all pairs of 64 numbers
    yield Case("d=64, e=64, features=4096", (64, 64, 4096))
    # 45 * 7 / 5 is 63, and 45 * (7 / 5) less
    yield Case("d=2, e=3, features=45", (2, 3, 45))


def least(recurrent, softmax):
    """The least n for which `recurrent` products a token are fewer than n times `softmax`."""
    return recurrent // softmax + 1


@exercise.valid
def one_more_than_the_quotient(d, e, features):
    return least(features * (2 * e + 1), d + e)


@exercise.valid
def tried_one_after_another(d, e, features):
    n = 1
    while n * n * (d + e) <= n * features * (2 * e + 1):
        n += 1
    return n


@exercise.valid
def rounded_down(d, e, features):
    return math.floor(Fraction(features * (2 * e + 1), d + e)) + 1


@exercise.valid
def rounded_up(d, e, features):
    return math.ceil((features * (2 * e + 1) + 1) / (d + e))


@exercise.valid
def first_of_many(d, e, features):
    per_token = 2 * features * e + features
    return next(n for n in range(1, per_token + 2) if n * (d + e) > per_token)


@exercise.mutant("at this length the counts may be equal: the recurrent form must take fewer")
def equal_is_enough(d, e, features):
    return max(1, -(-features * (2 * e + 1) // (d + e)))


@exercise.mutant("the least length is 1: here n begins at 2")
def from_two_on(d, e, features):
    return max(2, least(features * (2 * e + 1), d + e))


@exercise.mutant("it stops before the length is found: that may be in the thousands")
def below_a_thousand(d, e, features):
    return next((n for n in range(1, 1000) if n * (d + e) > features * (2 * e + 1)), None)


@exercise.mutant("a quotient that should be whole is rounded to just below: divide ints, with //")
def quotient_of_floats(d, e, features):
    return math.floor(features * ((2 * e + 1) / (d + e))) + 1


@exercise.mutant("this is the last length at which it is not cheaper: the next one is asked for")
def quotient(d, e, features):
    return features * (2 * e + 1) // (d + e)


@exercise.mutant("a length is a whole number, the least for which it is cheaper: not the quotient")
def not_rounded(d, e, features):
    return features * (2 * e + 1) / (d + e)


@exercise.mutant("it is rounded to the nearest: the least n above the quotient is asked for")
def rounded(d, e, features):
    return round(features * (2 * e + 1) / (d + e))


@exercise.mutant("the value is right, but it is a float: a length is an int")
def a_float(d, e, features):
    return float(least(features * (2 * e + 1), d + e))


@exercise.mutant("the normaliser is left out: each query also meets z, in `features` products")
def without_the_normaliser(d, e, features):
    return least(features * 2 * e, d + e)


@exercise.mutant(
    "the state is written and read: features * e products for each of the two, not once"
)
def numbers_kept(d, e, features):
    return least(features * (e + 1), d + e)


@exercise.mutant("z is written for nothing: to add the features takes no product")
def products_for_the_sum_of_keys(d, e, features):
    return least(features * (2 * e + 2), d + e)


@exercise.mutant("the state is taken for d wide: its rows belong to the features")
def state_of_d(d, e, features):
    return least(d * (2 * e + 1), d + e)


@exercise.mutant("the state is taken for features x d: its columns belong to the values, e wide")
def state_of_features_and_d(d, e, features):
    return least(features * (2 * d + 1), d + e)


@exercise.mutant("the mean of the values is left out: it takes n * n * e products")
def scores_only(d, e, features):
    return least(features * (2 * e + 1), d)


@exercise.mutant("the scores are left out: they take n * n * d products")
def mean_only(d, e, features):
    return least(features * (2 * e + 1), e)


@exercise.mutant("the scores are counted as features wide: the softmax meets q and k, d wide")
def scores_of_features(d, e, features):
    return least(features * (2 * e + 1), features + e)


@exercise.mutant("half of the pairs are left out: the count is n * n, mask or no mask")
def causal_half(d, e, features):
    # n (n + 1) / 2 pairs
    return least(2 * features * (2 * e + 1) - (d + e), d + e)


@exercise.mutant("the state is written once for the whole text: it is once for every token")
def once_for_all_tokens(d, e, features):
    return math.isqrt(features * (2 * e + 1) // (d + e)) + 1


@exercise.mutant("an addition is counted on one side only: count products alone, on both")
def additions_on_one_side(d, e, features):
    return least(2 * features * (2 * e + 1), d + e)
