"""Exercise test_selected_keys: the learner's test meets right and wrong selections, unnamed."""

from itertools import product

import torch

from attncourse.course.today.exercises.shared.selections import RIGHT, WRONG
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations

exercise = Exercise.read(__name__, differentiable=False)
exercise.valid(variants.worked(exercise))


@exercise.cases
def cases(draw):
    return implementations(draw, "selected_keys", "a selection", RIGHT, WRONG)


# what a test needs at least: leading axes and none, two of them, each dtype, a long text
SHAPES = ((24, 24), torch.float64), ((2, 2, 6, 6), torch.float32)


@exercise.reference
def row_by_row(selected_keys):
    for (shape, dtype), count in product(SHAPES, (1, 3, 6, 30)):
        drawn = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=dtype)
        for scores in (20 * drawn, drawn.relu(), drawn.round() - 100):
            given = scores.clone()
            mask = selected_keys(given, count)
            assert (mask.shape, mask.dtype) == (shape, torch.bool)
            assert given.equal(scores)
            n = shape[-1]
            rows = (x.reshape(-1, n).tolist() for x in (scores, mask))
            for place, (row, read) in enumerate(zip(*rows, strict=True)):
                # Python's sort leaves equal ones in their order
                best = sorted(range(place % n + 1), key=lambda j, row=row: -row[j])[:count]
                assert read == [j in best for j in range(n)]


@exercise.valid
def by_what_a_choice_must_be(selected_keys):
    for (shape, dtype), count in product(SHAPES, (1, 3, 6, 30)):
        drawn = torch.randn(shape, generator=torch.Generator().manual_seed(2), dtype=dtype)
        for scores in (20 * drawn, drawn.relu(), drawn.round() - 100):
            given = scores.clone()
            mask = selected_keys(given, count)
            assert mask.dtype == torch.bool and mask.shape == shape and given.equal(scores)
            n = shape[-1]
            seen = torch.ones(n, n, dtype=torch.bool).tril()
            assert not (mask & ~seen).any()
            assert mask.sum(-1).equal(seen.sum(-1).clamp(max=count).expand(shape[:-1]))
            worst = scores.masked_fill(~mask, torch.inf).amin(-1, keepdim=True)
            left = scores.masked_fill(mask | ~seen, -torch.inf)
            assert (left <= worst).all()
            # no key left out comes before an equal one that is read
            ties_left = ((left == worst) & seen).cumsum(-1) > 0
            assert not (ties_left & mask & (scores == worst)).any()


KIND = "assert (mask.shape, mask.dtype) == (scores.shape, torch.bool)"
SAME = "assert torch.equal(mask, expected(scores, count))"
UNCHANGED = "assert torch.equal(given, scores)"
KINDS = "kinds = drawn, drawn.relu(), (drawn / 20).round() - 100"
COUNTS = "(1, 2, 5, 30)"
EXPECTED = "expected(scores, count))"
variants.right(
    exercise,
    ("manual_seed(0)", "manual_seed(5)", "((24, 24)", "((25, 25)", "(2, 3, 5, 5)", "(2, 2, 7, 7)",
     COUNTS, "(1, 2, 3, 6, 50)"),
    (EXPECTED, 'RIGHT["a right selection that counts"](scores, count))'),
    (KIND, "if mask.shape != scores.shape or mask.dtype != torch.bool:\n"
           "                    raise TypeError(mask.shape, mask.dtype)",
     SAME, "if (mask != expected(scores, count)).any():\n"
           "                    raise ValueError('another choice')"),
    (SAME, "assert mask.tolist() == expected(scores, count).tolist()",
     KIND, "assert mask.dtype == torch.bool and mask.dim() == scores.dim()"),
)  # fmt: skip
NOTHING_REFUSED = (
    "it refuses nothing: call the function, assert what must hold, and catch none of the errors"
)
variants.wrong(exercise, {
    NOTHING_REFUSED: ["inputs = ()", errors_caught(exercise.valid_answers[0])],
    "it compares, but nothing comes of it: assert that the masks agree": [
        (KIND, "pass", SAME, "torch.equal(mask, expected(scores, count))", UNCHANGED, "pass")],
    "it looks at shape and dtype only: compare the mask, too": (SAME, "pass"),
    "it only counts what is read: compare which keys these are": (
        SAME, "assert mask.sum(-1).equal(expected(scores, count).sum(-1))"),
    "it asks only that no later key is read: compare the choice, too": (
        SAME, "assert not mask.triu(1).any()"),
    "it asks only that what should be read is read: other keys should be False": (
        SAME, "assert mask[expected(scores, count)].all()"),
    "it asks only that nothing else is read: what should be read should be True": (
        SAME, "assert not mask[~expected(scores, count)].any()"),
    "only the last row is compared: compare all of them": (
        SAME, "assert torch.equal(mask[..., -1, :], expected(scores, count)[..., -1, :])"),
    "only the first row is compared: its query can read no key but its own": (
        SAME, "assert torch.equal(mask[..., 0, :], expected(scores, count)[..., 0, :])"),
    "what it expects comes from the function itself: work it out without it": (
        EXPECTED, "selected_keys(scores, count))"),
    "all scores are different: try some that are equal, as the zeros of a ReLU are":
        (KINDS, "kinds = drawn, drawn - 1000"),
    "of equal scores there are only those of whole rows: let some keys score higher than the equal "
    "ones": (KINDS, "kinds = drawn, drawn - 1000, 0 * drawn"),
    "no score is below 0: later keys with a score of 0 would go unnoticed":
        (KINDS, "kinds = drawn.abs(), drawn.relu(), 0 * drawn"),
    "all scores lie near 0: try some far below it, where a fill like -10 shows":
        (KINDS, "kinds = drawn / 20, drawn.relu() / 20, (drawn / 20).round()"),
    "count is always 1: try more": (COUNTS, "(1,)"),
    "count is always 2: try others, too": (COUNTS, "(2,)"),
    "count is never 1: try it, too": (COUNTS, "(2, 5, 30)"),
    "count is never larger than n: try that, too": (COUNTS, "(1, 2, 5)"),
    "count is never smaller than n, so nothing is chosen: try a few": (COUNTS, "(24, 30)"),
    "all texts are short: what lies far back could be forgotten. Try more than 20 tokens": [
        ("((24, 24)", f"(({n}, {n})") for n in (6, 12, 20)],
    "every input has a batch: try one matrix without, too": ("((24, 24)", "((2, 24, 24)"),
    "no input has a batch: try leading axes, too": ("((2, 3, 5, 5)", "((5, 5)"),
    "every input has one batch axis: try none, and more than one": (
        "((24, 24)", "((2, 24, 24)", "((2, 3, 5, 5)", "((3, 5, 5)"),
    "no input has two leading axes, both longer than 1: try (2, 3), too": [
        ("((2, 3, 5, 5)", f"({shape}") for shape in ("(2, 5, 5)", "(6, 5, 5)")],
    "a change of the scores goes unnoticed: compare them after the call with a copy from before": [
        (UNCHANGED, "pass"), ("scores.clone()", "scores")],
    "only float64 is tried: float32 should do as well": ("float32", "float64"),
    "only float32 is tried: float64 should do as well": ("float64", "float32"),
    "the dtype of the mask is not looked at: it should be boolean": (
        KIND, "assert mask.shape == scores.shape",
        "torch.equal(mask,", "torch.equal(mask.bool(),"),
    "the shape of the mask is not looked at: an axis of size 1 too many passes": (
        KIND, "assert mask.dtype == torch.bool",
        SAME, "assert (mask == expected(scores, count)).all()"),
    "its own choice takes the later of equal scores, so it refuses what is right": [
        ("(i < i[:, None])", "(i > i[:, None])")],
    "its own choice takes every key as good as the last one, so it refuses what is right": (
        " | (other == own) & (i < i[:, None])", ""),
    "its own choice looks ahead, so it refuses what is right": (
        "seen = i <= i[:, None]", "seen = i >= 0 * i[:, None]"),
    "its own choice takes the lowest scores, so it refuses what is right": (
        "other > own", "other < own"),
    "it refuses every function, right or wrong: a query may read its own key, the first rows have "
    "fewer keys than count, and of equal scores the earlier is chosen, which topk may not do": [
        ("seen = i <= i[:, None]", "seen = i < i[:, None]"),
        (SAME, f"{SAME}\n                assert (mask.sum(-1) == count).all()")],
    "its scores are integers, which a right function need not take: draw float32 and float64": (
        "20 * torch.randn(shape, generator=g, dtype=dtype)",
        "torch.randint(-9, 9, shape, generator=g)"),
    "it views the mask in another shape, which a right one that is not contiguous cannot do: "
    "compare it as it is, or reshape": (
        SAME, "assert torch.equal(mask.view(-1), expected(scores, count).view(-1))"),
    "it refuses the right ones, too: run it on a function you trust": (
        KIND, "assert mask.dtype == scores.dtype", SAME, "pass"),
})  # fmt: skip
