"""A hint is said only if it holds: on every call, in every result, and at a second seed."""

import re
from itertools import combinations

import pytest
import torch

from attncourse.course import exercise
from attncourse.course.language_model.exercises import likeliest_pair
from attncourse.course.multi_head.exercises.shared.multi_heads import in_heads, inputs
from attncourse.course.tasks.exercises import test_folds
from attncourse.course.transformer.exercises import beam_step, residual_block
from judge import bank, hints, mistakes, variants
from judge.exercise import Case
from judge.trial import MANY_STEPS, Trial
from judge.verdict import judge, local
from tests.judge.test_usual import exercise as toy

SHIFTED = "one is added: give the number itself"


@pytest.fixture
def same():
    """An exercise whose answer gives back what it is given, with one known mistake."""

    def itself(x):
        return 1 * x

    def cases(draw):
        yield Case("four numbers", (draw.normal(4),))
        yield Case("five numbers", (draw.normal(5),))

    one = toy(cases, itself, name="same", title="The same", differentiable=False)
    one.mutant(SHIFTED)(lambda x: x + 1)
    return one


class Counted:
    """An answer, and how often it is called."""

    def __init__(self, answer):
        self.answer, self.calls = answer, 0

    def __call__(self, *args):
        self.calls += 1
        return self.answer(*args)


def told(one, answer, seed=0):
    return judge(one, local(answer), seed, forbidden=())


def at_one_seed(one, seed, change):
    """An answer that makes a mistake of its own on all inputs but those of a seed."""
    known = [probe.case.args[0] for probe in Trial.of(one, seed).probes]

    def answer(x):
        there = any(x.shape == y.shape and x.double().allclose(y.double()) for y in known)
        return x + 1 if there else change(x)

    return answer


def test_what_does_the_same_at_two_seeds_is_named(same):
    assert told(same, lambda x: 1 + x).hint == SHIFTED


def test_a_coincidence_of_one_seed_is_not_named(same):
    found = told(same, at_one_seed(same, 0, torch.exp))
    assert found.status == "wrong" and found.hint == "the shape is right, the numbers are not"
    # nor is what was done to all numbers at that seed
    same.own_mutants.clear()
    assert told(same, at_one_seed(same, 0, torch.exp)).hint == found.hint
    assert told(same, lambda x: x + 1).hint == "each number is 1 larger than the right one"


def test_a_known_mistake_is_named_where_other_calls_fail_by_another(same):
    def answer(x):
        return x + 1 if len(x) < 5 else x + torch.nan

    assert told(same, answer).hint == SHIFTED
    # the call that is shown is the one of which it holds
    assert told(same, lambda x: x + 1 if len(x) > 4 else x + torch.nan).hint != SHIFTED


def test_a_known_mistake_is_named_where_most_calls_show_it_and_the_others_another(same):
    @same.cases
    def six(draw):
        for n in range(3, 9):
            yield Case(f"{n} numbers", (draw.normal(n),))

    found = told(same, lambda x: x + 1 if len(x) < 8 else 3 * x.abs())
    assert found.hint == SHIFTED
    assert re.search(r"so in \d+ of \d+ calls that fail$", found.evidence)
    # half of them is not most
    assert told(same, lambda x: x + 1 if len(x) < 6 else 3 * x.abs()).hint != SHIFTED


def test_a_right_answer_is_called_at_one_seed_only(same):
    right, wrong = Counted(lambda x: x.clone()), Counted(lambda x: x + 1)
    assert told(same, right).status == "passed"
    told(same, wrong)
    probes = len(Trial.of(same, 0).probes)
    assert right.calls == probes and wrong.calls < 2 * probes


def test_an_answer_that_takes_long_hears_what_it_did_and_is_not_called_again(same):
    def slow(x):
        for _ in range(MANY_STEPS):
            pass
        return x + 1

    answer = Counted(slow)
    found = told(same, answer)
    assert answer.calls <= len(Trial.of(same, 0).probes)
    assert found.status == "wrong" and "the numbers are not" in found.hint


def test_an_answer_that_runs_some_thousand_lines_hears_its_mistake(same):
    def thorough(x):
        for _ in range(10_000):
            pass
        return x + 1

    assert told(same, thorough).hint == SHIFTED


def test_a_difference_that_no_known_mistake_makes_is_told_in_the_words_of_the_exercise(same):
    same.differs(lambda want, got, x: f"{len(x)} numbers" if got[0] > want[0] else "")
    assert told(same, lambda x: 3 * x.abs() + 1).hint == "4 numbers"
    assert told(same, lambda x: x + 1).hint == SHIFTED
    # it has no words for these
    assert "the numbers are not" in told(same, lambda x: x - x.abs() - 1).hint
    assert "returns None" in told(same, lambda x: None).hint


def test_of_a_test_that_refuses_every_right_function_it_is_said_which_wrong_one_it_accepts():
    def reversed_rows(multi_head):
        q, k, v = inputs(2, heads=3)
        assert torch.allclose(multi_head(q, k, v, 3), in_heads(q, k, v, heads=3).flip(-2))

    found = told(exercise("test_multi_head"), reversed_rows)
    assert found.hint == hints.ACCEPTS.format("a function that gives the rows in reverse")


def test_an_answer_that_is_lost_at_the_second_seed_keeps_what_it_was_told_at_the_first(same):
    whole = local(lambda x: x + 1)
    values = [probe.way for probe in Trial.of(same, 0).probes].count("values")
    left = iter(range(values + 1))

    def ends(request):
        if next(left, None) is None:
            raise ConnectionError("its time is up")
        return whole(request)

    found = judge(same, ends, seed=0, forbidden=())
    assert found.status == "wrong" and found.failing is not None


@pytest.mark.parametrize("seed", [3, 4])
def test_a_mistake_that_some_calls_agree_with_is_not_named(seed):
    rounds_down = variants.edited(beam_step.plain, "((5 + size) / 6)", "((5 + size) // 6)")
    assert "penalty" not in told(exercise("beam_step"), rounds_down, seed).hint


def test_what_is_wrong_without_a_batch_too_is_not_said_to_be_right_there():
    def over_all(x, *given):
        spoiled = residual_block.plain((x - x.mean()) / x.std(), *given)
        return spoiled if x.dim() > 1 else x

    assert told(exercise("residual_block"), over_all).hint == hints.MIXES


def test_what_needs_a_batch_is_told_so(same):
    def batch_by_batch(x):
        return torch.stack([one.mT.mT for one in x])

    @same.cases
    def cases(draw):
        yield Case("no batch", (draw.normal(2, 3),))
        yield Case("a batch", (draw.normal(4, 2, 3),))

    found = told(same, batch_by_batch)
    assert found.hint == hints.BATCH and "one.mT.mT" in found.evidence


def test_of_several_results_the_wrong_one_is_named():
    def head_offset(weights, lengths):
        offset, share = exercise("head_offset").valid_answers[0](weights, lengths)
        return 0 * offset, share

    found = told(exercise("head_offset"), head_offset)
    assert found.hint == "result 1 alone: every number is 0"


def test_a_dtype_that_no_input_has_is_named(same):
    same.reference(lambda x: x.to(torch.int64).float())
    same.own_mutants.clear()
    same.cases(lambda draw: iter([Case("whole numbers", (torch.arange(4),))]))
    found = told(same, lambda x: x.double())
    assert found.hint == "the dtype is not right: it should be torch.float32"


def test_beside_the_hint_for_a_test_stands_what_it_misjudged():
    sorts = variants.edited(
        test_folds.plain,
        "assert len(test) in",
        "assert test == sorted(test)\n                assert len(test) in",
    )
    found = told(exercise("test_folds"), sorts)
    assert found.hint.startswith("it expects the texts of a test in order")
    assert found.evidence.startswith("your test refuses a right answer, right folds")


def test_beside_the_hint_for_an_error_stands_the_error(same):
    same.mutant("the sizes do not fit")(lambda x: x + x.new_zeros(9))

    def added(x):
        return x + x.new_zeros(9)

    found = told(same, added)
    assert found.hint == "the sizes do not fit" and "x + x.new_zeros(9)”)" in found.evidence


def test_two_mistakes_from_the_end_of_a_long_table_are_named():
    one = exercise("distance_attention")
    known = {mutant.hint for mutant in bank.mutants(one)}
    late = [*bank.pairs(combinations(one.own_mutants, 2))][500::100]
    said = [told(one, pair.function).hint for pair in late]
    named = [hint == pair.hint or hint in known for hint, pair in zip(said, late, strict=True)]
    assert sum(named) >= 0.5 * len(late), said


def test_no_more_pairs_are_tried_than_are_said(monkeypatch):
    one, pairs = exercise("distance_attention"), bank.pairs
    tried = []

    def counted(couples):
        for pair in pairs(couples):
            tried.append(pair)
            yield pair

    def odd(q, k, v, mask=None):
        return one.reference_answer(q, k, v, mask).exp() - q.sum(-1, keepdim=True)

    monkeypatch.setattr(bank, "pairs", counted)
    assert "the numbers are not" in told(one, odd).hint
    # of three tensors each
    assert len(tried) == mistakes.MOST_PAIRS // 3


def test_where_loops_are_fine_one_that_runs_too_long_is_not_sent_to_tensors():
    def occurrence_by_occurrence(pieces, times):
        for often in times:
            for _ in range(often):
                pass
        return likeliest_pair.plain(pieces, times)

    found = judge(exercise("likeliest_pair"), local(occurrence_by_occurrence), 0, forbidden=())
    assert (found.status, found.hint) == ("too slow", hints.STEPS)
