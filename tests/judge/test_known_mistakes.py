"""A hint is said only if it holds: on every call, in every result, and at a second seed."""

import re
from itertools import combinations

import pytest
import torch

from attncourse.course import exercise
from attncourse.course.multi_head.exercises.shared.multi_heads import in_heads, inputs
from judge import messages, variants
from judge.compare.probes import Purpose
from judge.compare.run import MANY_STEPS, Trial
from judge.exercise import Case
from judge.say import bank, known_mistakes
from judge.verdict import judge, local
from tests.judge.test_generic_mistakes import make_exercise

SHIFTED = "one is added: give the number itself"


@pytest.fixture
def identity_task():
    """An exercise whose answer returns its input, with one known mistake."""

    def identity(x):
        return 1 * x

    def cases(draw):
        yield Case("four numbers", (draw.normal(4),))
        yield Case("five numbers", (draw.normal(5),))

    task = make_exercise(cases, identity, name="same", title="The same", differentiable=False)
    task.mutant(SHIFTED)(lambda x: x + 1)
    return task


class CountingAnswer:
    """An answer that counts its calls."""

    def __init__(self, answer):
        self.answer, self.calls = answer, 0

    def __call__(self, *args):
        self.calls += 1
        return self.answer(*args)


def right_answer(name):
    """The worked answer of an exercise."""
    return exercise(name).valid_answers[0]


def verdict_on(exercise, answer, seed=0):
    return judge(exercise, local(answer), seed, forbidden=())


def answer_by_seed(exercise, seed, change):
    """An answer that adds one to the inputs of a seed, and changes all others in another way."""
    known_inputs = [probe.case.args[0] for probe in Trial.of(exercise, seed).probes]

    def answer(x):
        is_known = any(x.shape == y.shape and x.double().allclose(y.double()) for y in known_inputs)
        return x + 1 if is_known else change(x)

    return answer


def test_what_does_the_same_at_two_seeds_is_named(identity_task):
    assert verdict_on(identity_task, lambda x: 1 + x).hint == SHIFTED


def test_a_coincidence_of_one_seed_is_not_named(identity_task):
    verdict = verdict_on(identity_task, answer_by_seed(identity_task, 0, torch.exp))
    assert (
        verdict.status == "wrong" and verdict.hint == "the shape is right, but the numbers aren't"
    )
    # nor is what was done to all numbers at that seed
    identity_task.own_mutants.clear()
    assert (
        verdict_on(identity_task, answer_by_seed(identity_task, 0, torch.exp)).hint == verdict.hint
    )
    assert (
        verdict_on(identity_task, lambda x: x + 1).hint
        == "each number is 1 larger than the right one"
    )


def test_a_known_mistake_is_named_where_other_calls_fail_by_another(identity_task):
    def answer(x):
        return x + 1 if len(x) < 5 else x + torch.nan

    assert verdict_on(identity_task, answer).hint == SHIFTED
    # the call that is shown is the one of which it holds
    assert (
        verdict_on(identity_task, lambda x: x + 1 if len(x) > 4 else x + torch.nan).hint != SHIFTED
    )


def test_a_known_mistake_is_named_where_most_calls_show_it_and_the_others_another(identity_task):
    @identity_task.cases
    def six_cases(draw):
        for n in range(3, 9):
            yield Case(f"{n} numbers", (draw.normal(n),))

    verdict = verdict_on(identity_task, lambda x: x + 1 if len(x) < 8 else 3 * x.abs())
    assert verdict.hint == SHIFTED
    assert re.search(r"this explains \d+ of the \d+ calls that fail$", verdict.evidence)
    # half of them is not most
    assert verdict_on(identity_task, lambda x: x + 1 if len(x) < 6 else 3 * x.abs()).hint != SHIFTED


def test_a_right_answer_is_called_at_one_seed_only(identity_task):
    right, wrong = CountingAnswer(lambda x: x.clone()), CountingAnswer(lambda x: x + 1)
    assert verdict_on(identity_task, right).status == "passed"
    verdict_on(identity_task, wrong)
    probes = len(Trial.of(identity_task, 0).probes)
    assert right.calls == probes and wrong.calls < 2 * probes


def test_an_answer_that_takes_long_hears_what_it_did_and_is_not_called_again(identity_task):
    def slow_answer(x):
        for _ in range(MANY_STEPS):
            pass
        return x + 1

    answer = CountingAnswer(slow_answer)
    verdict = verdict_on(identity_task, answer)
    assert answer.calls <= len(Trial.of(identity_task, 0).probes)
    assert verdict.status == "wrong" and "the numbers aren't" in verdict.hint


def test_an_answer_that_runs_some_thousand_lines_hears_its_mistake(identity_task):
    def ten_thousand_lines(x):
        for _ in range(10_000):
            pass
        return x + 1

    assert verdict_on(identity_task, ten_thousand_lines).hint == SHIFTED


def test_a_difference_that_no_known_mistake_makes_is_told_in_the_words_of_the_exercise(
    identity_task,
):
    identity_task.differs(lambda want, got, x: f"{len(x)} numbers" if got[0] > want[0] else "")
    assert verdict_on(identity_task, lambda x: 3 * x.abs() + 1).hint == "4 numbers"
    assert verdict_on(identity_task, lambda x: x + 1).hint == SHIFTED
    # it has no words for these
    assert "the numbers aren't" in verdict_on(identity_task, lambda x: x - x.abs() - 1).hint
    assert "returns None" in verdict_on(identity_task, lambda x: None).hint


def test_of_a_test_that_refuses_every_right_function_it_is_said_which_wrong_one_it_accepts():
    def reversed_rows_test(multi_head):
        q, k, v = inputs(2, heads=3)
        assert torch.allclose(multi_head(q, k, v, 3), in_heads(q, k, v, heads=3).flip(-2))

    verdict = verdict_on(exercise("test_multi_head"), reversed_rows_test)
    assert verdict.hint == messages.ACCEPTS.format(
        "a function that returns the rows in reverse order"
    )


def test_an_answer_that_is_lost_at_the_second_seed_keeps_what_it_was_told_at_the_first(
    identity_task,
):
    answer = local(lambda x: x + 1)
    values = [probe.purpose for probe in Trial.of(identity_task, 0).probes].count(Purpose.VALUES)
    remaining = iter(range(values + 1))

    def answer_until_lost(request):
        if next(remaining, None) is None:
            raise ConnectionError("its time is up")
        return answer(request)

    verdict = judge(identity_task, answer_until_lost, seed=0, forbidden=())
    assert verdict.status == "wrong" and verdict.failing is not None


@pytest.mark.parametrize("seed", [3, 4])
def test_a_mistake_that_some_calls_agree_with_is_not_named(seed):
    rounding_down = variants.edited(
        right_answer("beam_step"), "((5 + size) / 6)", "((5 + size) // 6)"
    )
    assert "penalty" not in verdict_on(exercise("beam_step"), rounding_down, seed).hint


def test_what_is_wrong_without_a_batch_too_is_not_said_to_be_right_there():
    def normalize_all(x, *arguments):
        out = right_answer("residual_block")((x - x.mean()) / x.std(), *arguments)
        return out if x.dim() > 1 else x

    assert verdict_on(exercise("residual_block"), normalize_all).hint == messages.MIXES


def test_what_needs_a_batch_is_told_so(identity_task):
    def batch_by_batch(x):
        return torch.stack([row.mT.mT for row in x])

    @identity_task.cases
    def cases(draw):
        yield Case("no batch", (draw.normal(2, 3),))
        yield Case("a batch", (draw.normal(4, 2, 3),))

    verdict = verdict_on(identity_task, batch_by_batch)
    assert verdict.hint == messages.BATCH and "row.mT.mT" in verdict.evidence


def test_of_several_results_the_wrong_one_is_named():
    def head_offset(weights, lengths):
        offset, share = exercise("head_offset").valid_answers[0](weights, lengths)
        return 0 * offset, share

    verdict = verdict_on(exercise("head_offset"), head_offset)
    assert verdict.hint == "only result 1 is wrong: every number is 0"


def test_a_dtype_that_no_input_has_is_named(identity_task):
    identity_task.reference(lambda x: x.to(torch.int64).float())
    identity_task.own_mutants.clear()
    identity_task.cases(lambda draw: iter([Case("whole numbers", (torch.arange(4),))]))
    verdict = verdict_on(identity_task, lambda x: x.double())
    assert verdict.hint == "the dtype isn't right: it should be torch.float32"


def test_beside_the_hint_for_a_test_stands_what_it_misjudged():
    sorting_test = variants.edited(
        right_answer("test_folds"),
        "assert len(test) in",
        "assert test == sorted(test)\n                assert len(test) in",
    )
    verdict = verdict_on(exercise("test_folds"), sorting_test)
    assert verdict.hint.startswith("it expects the texts of a test in order")
    assert verdict.evidence.startswith("your test refuses a right answer: right folds")


def test_beside_the_hint_for_an_error_stands_the_error(identity_task):
    identity_task.mutant("the sizes do not fit")(lambda x: x + x.new_zeros(9))

    def add_sizes(x):
        return x + x.new_zeros(9)

    verdict = verdict_on(identity_task, add_sizes)
    assert verdict.hint == "the sizes do not fit" and "x + x.new_zeros(9)”)" in verdict.evidence


TORCH_ERRORS = {
    "need one True or False": lambda x: x if x else -x,
    "an operation gets tensors of two dtypes": lambda x: x @ torch.ones(x.shape[-1], 2),
    "there's a None where a tensor should be": lambda x: x + None,
    "~ inverts a boolean tensor": lambda x: ~x,
    "your mask holds numbers where torch": lambda x: x.masked_fill(x, 0),
    "the values and their indices": lambda x: x - x.max(dim=-1),
    "a function for floating-point numbers": lambda x: (x > 0).softmax(-1),
    "convert it to integers (int64)": lambda x: x[x],
    "use ** 0.5 or math": lambda x: x / torch.sqrt(x.shape[-1]),
    "as many columns as the second has rows": lambda x: x @ x.new_ones(x.shape[-1] + 1, 2),
    "counting from the last axis": lambda x: x + x.new_zeros(9),
}


@pytest.mark.parametrize("cause", TORCH_ERRORS)
def test_an_error_of_torch_s_is_told_by_its_cause(identity_task, cause):
    verdict = verdict_on(identity_task, TORCH_ERRORS[cause])
    assert verdict.status == "error" and cause in verdict.hint
    assert "Error: " in verdict.evidence


def test_two_mistakes_from_the_end_of_a_long_table_are_named():
    task = exercise("distance_attention")
    known_hints = {mutant.hint for mutant in bank.mutants(task)}
    late_pairs = [*bank.pairs(combinations(task.own_mutants, 2))][500::100]
    verdict_hints = [verdict_on(task, pair.function).hint for pair in late_pairs]
    is_named = [
        verdict_hint == pair.hint or verdict_hint in known_hints
        for verdict_hint, pair in zip(verdict_hints, late_pairs, strict=True)
    ]
    assert sum(is_named) >= 0.5 * len(late_pairs), verdict_hints


def test_no_more_pairs_are_tried_than_are_said(monkeypatch):
    task, pairs = exercise("distance_attention"), bank.pairs
    tried_pairs = []

    def record_pairs(mutant_pairs):
        for pair in pairs(mutant_pairs):
            tried_pairs.append(pair)
            yield pair

    def wrong_answer(q, k, v, mask=None):
        return task.reference_answer(q, k, v, mask).exp() - q.sum(-1, keepdim=True)

    monkeypatch.setattr(bank, "pairs", record_pairs)
    assert "the numbers aren't" in verdict_on(task, wrong_answer).hint
    assert len(tried_pairs) == known_mistakes.MOST_PAIRS


def test_where_loops_are_fine_one_that_runs_too_long_is_not_sent_to_tensors():
    def occurrence_by_occurrence(pieces, counts):
        for count in counts:
            for _ in range(count):
                pass
        return right_answer("likeliest_pair")(pieces, counts)

    verdict = judge(exercise("likeliest_pair"), local(occurrence_by_occurrence), 0, forbidden=())
    assert (verdict.status, verdict.hint) == ("too slow", messages.STEPS)


def test_a_loop_without_end_is_not_said_to_follow_the_length():
    def distance_attention(q, k, v, mask=None):
        while True:
            pass

    verdict = verdict_on(exercise("distance_attention"), distance_attention)
    assert (verdict.status, verdict.hint) == ("too slow", messages.NO_END)
