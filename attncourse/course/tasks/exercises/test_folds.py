"""Exercise test_folds: the learner's test meets right and wrong folds, unnamed."""

from attncourse.course.tasks.exercises.shared import folds as ways
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations

exercise = Exercise.read(__name__, differentiable=False)
worked = exercise.valid(variants.worked(exercise))


@exercise.cases
def cases(draw):
    return implementations(draw, "folds", "a function", ways.RIGHT, ways.WRONG)


# n is a multiple of k, or not, by one place or by several; k is n, or 2
SIZES = [(30, 5), (23, 5), (14, 4), (11, 3), (6, 6), (7, 2)]


@exercise.reference
def place_by_place(folds):
    for n, k in SIZES:
        partitions = set()
        for seed in (0, 1, 2):
            pairs = folds(n, k, seed)
            assert len(pairs) == k
            for place in range(n):
                tested = [test.count(place) for _, test in pairs]
                assert sorted(tested) == [0] * (k - 1) + [1]
                assert [train.count(place) for train, _ in pairs] == [1 - count for count in tested]
            sizes = [len(test) for _, test in pairs]
            assert max(sizes) - min(sizes) <= 1
            assert sum(sizes) == n and all(len(train) + len(test) == n for train, test in pairs)
            assert folds(n, k, seed) == pairs
            partitions.add(frozenset(frozenset(test) for _, test in pairs))
        assert len(partitions) == 3 or n < 23


@exercise.valid
def by_sets_and_counts(folds):
    seen = set()
    for n, k in [(25, 5), (27, 6), (17, 3), (5, 5), (2, 2)]:
        for seed in range(3):
            pairs = folds(n, k, seed)
            if pairs != folds(n, k, seed):
                raise ValueError("the same seed gives other folds")
            tests = [test for _, test in pairs]
            count = [sum(test.count(i) for test in tests) for i in range(n)]
            assert len(tests) == k and set(count) == {1} and sum(map(len, tests)) == n
            assert max(map(len, tests)) <= 1 + min(map(len, tests))
            for train, test in pairs:
                assert set(train) == set(range(n)) - set(test) and len(set(train)) == len(train)
            if n == 27:
                seen.add(tuple(sorted(tuple(sorted(test)) for test in tests)))
    assert len(seen) == 3


COUNT, TESTED = "assert len(pairs) == k", "assert sorted(tests) == list(range(n))"
EVEN = "assert len(test) in (n // k, -(-n // k))"
TRAINED = "assert sorted(train + test) == list(range(n))"
AGAIN, OTHERS = "assert folds(n, k, seed) == pairs", "assert some != others"
TRIED, SEEDS = f"in {SIZES}", "for seed in (0, 1):"
FEW = "of few places, two seeds may give the same tests: compare seeds at 30 places in 5 folds"
# no fold is compared with n / k
SPREAD = (
    EVEN, "pass", TESTED,
    f"{TESTED}\n            sizes = [len(test) for _, test in pairs]\n"
    "            assert max(sizes) - min(sizes) < 2",
)  # fmt: skip


def seed_edit(setter):
    """The edits after which a seed is set before each of the two calls that are compared."""
    call = f"({setter}(seed), folds(n, k, seed))[1]"
    return "pairs = folds(n, k, seed)", f"pairs = {call}", AGAIN, f"assert {call} == pairs"


variants.right(exercise,
    (TRIED, "in [(n, k) for n in (4, 9, 20, 31) for k in (2, 3, 4)]", SEEDS,
     "for seed in (0, 5, 9):", "(30, 5, seed)", "(50, 2, seed)"),
    SPREAD,
    (OTHERS, "if sorted(map(sorted, some)) == sorted(map(sorted, others)):\n"
     "        raise AssertionError('the seed changes nothing')"),
    (TRAINED, "assert not {*train} & {*test} and {*train} <= {*range(n)}\n"
     "                assert len({*train}) == len(train) == n - len(test)"),
)  # fmt: skip
variants.wrong(exercise, {
    "it refuses nothing: call folds, assert what must hold, and catch none of the errors": [
        ("    for n", "    assert callable(folds)\n    return\n    for n"), errors_caught(worked)],
    "no wrong fold fails it: a comparison alone refuses nothing, so write assert": [
        (COUNT, "pass", TESTED, "pass", EVEN, "pass", TRAINED, "pass", AGAIN, "pass",
         OTHERS, "pass"),
        (COUNT, "len(pairs) == k", TESTED, "sorted(tests) == list(range(n))", EVEN, "pass",
         TRAINED, "sorted(train + test) == list(range(n))", AGAIN, "pass", OTHERS, "pass")],
    "it never counts the folds: there should be k of them": [
        (COUNT, "pass", *SPREAD), (COUNT, "assert len(pairs) >= k", *SPREAD)],
    "it does not ask that each text be tested once: join the tests": (TESTED, "pass"),
    "a text that is tested twice passes: a set forgets how often, so sort a list": (
        TESTED, "assert set(tests) == set(range(n))"),
    "a text that is never tested passes: all n places should occur in the tests": [
        (TESTED, "assert len(set(tests)) == len(tests)")],
    "texts are counted, not looked at: which ones are tested matters as well": (
        TESTED, "assert len(tests) == n"),
    "it does not look at what is trained with: it should be all texts but those of the test": (
        TRAINED, "pass"),
    "texts that are trained with and tested pass: a train should have none of its test's": [
        (TRAINED, "assert set(train + test) == set(range(n))"),
        (TRAINED, "assert set(train) | set(test) == set(range(n))")],
    "a train that lacks texts passes: it should have all that its test has not": [
        (TRAINED, "assert not set(train) & set(test)"),
        (TRAINED, "assert len(set(train + test)) == len(train + test)")],
    "only the sizes of a train are looked at: which texts it has matters as well": (
        TRAINED, "assert len(train) + len(test) == n"),
    "a text that is trained with twice passes: a set forgets how often, so compare a list": (
        TRAINED, "assert set(train) == set(range(n)) - set(test)"),
    "the sizes of the folds are not compared: they should differ by one at most": (EVEN, "pass"),
    "folds whose sizes differ by more than one pass: compare the largest with the smallest": [
        (EVEN, "assert len(test) <= n // k + 1"), (EVEN, "assert len(test) >= n // k"),
        (EVEN, "assert abs(len(test) - n / k) <= 2"), (EVEN, "assert test"),
        (EVEN, "pass", TESTED,
         f"{TESTED}\n            sizes = sorted(len(test) for _, test in pairs)\n"
         "            assert all(b - a < 2 for a, b in zip(sizes, sizes[1:]))")],
    "it never calls twice with the same seed: that should give the same folds": (AGAIN, "pass"),
    "it never compares two seeds: another one should give other folds": (OTHERS, "pass"),
    "the order of the folds, or of a test, tells two seeds apart for it: ask which texts are "
    "tested together, as a set of sets": [
        (OTHERS, "assert folds(30, 5, 0) != folds(30, 5, 1)"),
        (OTHERS, "first, second = ([test for _, test in folds(30, 5, s)] for s in (0, 1))\n"
         "    assert first != second")],
    "only one seed is looked at: texts that look shuffled may be so in the same way for every seed":
        (OTHERS, "assert [i for _, test in folds(30, 5, 0) for i in test] != list(range(30))"),
    "the order within the tests is lost, that of the folds is not: compare sets of sets": (
        OTHERS, "first, second = ([set(test) for _, test in folds(30, 5, s)] for s in (0, 1))\n"
        "    assert first != second"),
    "only the first fold is looked at: go through all of them": (
        "in pairs:", "in pairs[:1]:"),
    "only the last fold is looked at: go through all of them": (
        "in pairs:", "in pairs[-1:]:"),
    "n is always a multiple of k: try others, where texts are left over": (
        TRIED, "in [(30, 5), (28, 4), (12, 3), (6, 6), (8, 2)]"),
    "k is always 5: try others": (TRIED, "in [(30, 5), (23, 5), (5, 5), (11, 5)]"),
    "k is never n: try to leave out one text at a time": ("(6, 6), ", ""),
    "k is never 2: try two folds": (", (7, 2)", ""),
    "k is always n, so each test has a single text: try others": (
        TRIED, "in [(30, 30), (5, 5), (6, 6), (2, 2)]"),
    "the seed 0 may be taken for none: call it twice, with places enough for that to show": (
        SEEDS, "for seed in (1, 2):", "in (0, 1))", "in (1, 2))"),
    "one call is all it makes: try several n and k, and several seeds": (
        TRIED, "in [(30, 5)]", SEEDS, "for seed in (1,):", AGAIN, "pass", OTHERS, "pass"),
    "it expects the folds of one way to draw them: allow any order that the seed decides": (
        OTHERS, "assert folds(30, 5, 0) == ways.plain(30, 5, 0)"),
    "it expects the larger tests first: allow any order, which of them are larger is not said": [
        (COUNT, "assert list(map(len, [test for _, test in pairs])) == "
         "[n // k + (i < n % k) for i in range(k)]"),
        (COUNT, f"{COUNT}\n            sizes = [len(test) for _, test in pairs]\n"
         "            assert sizes == sorted(sizes, reverse=True)")],
    "it expects the larger tests last: allow any order, which of them are larger is not said": (
        COUNT, f"{COUNT}\n            sizes = [len(test) for _, test in pairs]\n"
        "            assert sizes == sorted(sizes)"),
    "it expects all places in order, of train and test: allow any order": (
        TRAINED, f"{TRAINED}\n                assert train + test == sorted(train) + sorted(test)"),
    "it expects the texts of a test in order: allow any order": (
        TRAINED, f"{TRAINED}\n                assert test == sorted(test)"),
    "it expects the texts of a train in order: allow any order": (
        TRAINED, f"{TRAINED}\n                assert train == sorted(train)"),
    "it refuses tests whose texts are in order: allow any order, that one, too": (
        OTHERS, "assert any(test != sorted(test) for _, test in folds(30, 5, 0))"),
    "it seeds the global random numbers before each call, so folds that ignore their own seed look "
    "repeatable: leave them alone": [
        seed_edit("__import__('torch').manual_seed"), seed_edit("__import__('random').seed")],
    FEW: [
        ("folds(30, 5, seed)", "folds(4, 2, seed)"), ("folds(30, 5, seed)", "folds(5, 2, seed)"),
        *[(OTHERS, f"assert folds({n}, {n}, 0) != folds({n}, {n}, 1)") for n in (2, 3, 4)]],
    "it refuses the right ones, too: a pair is (train, test), each a list of places "
    "from 0 on in any order, some tests have one place more, k is from 2 to n, and of few places "
    "two seeds may give the same tests": [
        (OTHERS, "assert folds(3, 3, seed=0) == [([1, 2], [0]), ([0, 1], [2]), ([2, 0], [1])]"),
        (OTHERS, "try:\n        folds(3, 5, 0)\n    except Exception:\n        return\n"
         "    raise AssertionError"),
        (EVEN, "assert len(test) == n // k"),
        ("for train, test in pairs", "for test, train in pairs"),
        (TESTED, "assert sorted(tests) == list(range(1, n + 1))"),
        ("folds(30, 5, seed)", "folds(5, 5, seed)")],
})  # fmt: skip
