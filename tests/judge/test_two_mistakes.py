"""Answers that no single known mistake accounts for."""

import random
from itertools import combinations

import pytest
import torch

from attncourse.course import exercise
from judge import messages, variants
from judge.exercise import MAX_STEPS, Mutant
from judge.say import bank
from judge.say.numbers import pattern
from judge.verdict import judge, local


def pool_with_two_mistakes(x, query, lengths):
    """Wrong twice: the scores are not scaled, and the last word is cut off."""
    words = torch.arange(x.shape[1], device=x.device) < lengths[:, None] - 1
    scores = torch.einsum("bnd,d->bn", x, query).masked_fill(~words, -torch.inf)
    weights = scores.softmax(-1).masked_fill(~words.any(-1, keepdim=True), 0.0)
    return torch.einsum("bn,bnd->bd", weights, x)


def half_sum(x):
    return x.sum() / 2


def verdict_on(name, answer, forbidden=()):
    return judge(exercise(name), local(answer), seed=0, forbidden=forbidden)


def test_two_mistakes_at_once_are_both_named():
    verdict = verdict_on("attention_pool", pool_with_two_mistakes)
    first, second = "the scores are not scaled: divide them by sqrt(d)", "the last word is cut off"
    assert verdict.status == "wrong"
    assert verdict.hint.startswith(f"there are two mistakes. First: {first}. Second: {second}")


def test_what_cannot_be_changed_twice_is_no_pair():
    edits = [("x.sum()", "x.mean()"), ("x.sum()", "x"), ("/ 2", "/ 3"), (" / 2", "** 3.")]
    mutants = [Mutant(variants.edited(half_sum, *edit), str(edit)) for edit in edits]
    more_mutants = [
        Mutant(half_sum, "another program"),
        Mutant(variants.edited(half_sum, "2", "4"), str(edits[0])),
    ]
    results = [
        pair.function(torch.ones(4)) for pair in bank.pairs(combinations(mutants + more_mutants, 2))
    ]
    assert [float(result.sum()) for result in results] == pytest.approx([1 / 3, 1, 4 / 3, 4, 1])


def test_an_answer_that_is_right_without_a_batch_only_is_told_so():
    def collapse(x):
        centered = x - x.mean(dim=-2, keepdim=True)
        norm = torch.linalg.vector_norm(x)
        return (torch.linalg.matrix_norm(centered) / norm.where(norm > 0, 1.0)).nan_to_num()

    assert verdict_on("collapse", collapse).hint == messages.BATCHES


def test_a_result_for_a_whole_batch_is_not_said_to_mix_it():
    def attachment_score(weights, parents, lengths):
        return torch.full_like(weights[..., 0, 0].reshape(-1, weights.shape[-3])[0], 0.3)

    assert verdict_on("attachment_score", attachment_score).hint != messages.BATCHES


def test_one_tensor_in_place_of_two_is_told_so_before_anything_of_its_batch():
    def head_offset(weights, lengths):
        return weights.nan_to_num(0.0).sum((-1, -2)).reshape(-1, weights.shape[-3]).sum(0)

    assert verdict_on("head_offset", head_offset).hint == "your code returns the wrong type"


def test_shares_of_few_are_not_taken_for_rounded_numbers():
    shares = torch.tensor([0.34, 0.51], dtype=torch.float64)
    sentences = [pattern([(x, shares)], 2) for x in (shares.bfloat16().double(), shares.round())]
    quarters = pattern([((shares * 8).round() / 8, shares)], 2)
    assert sentences[0] == messages.HALF_INSIDE
    assert messages.HALF_INSIDE not in (sentences[1], quarters)


def test_a_test_may_draw_random_numbers_and_no_other_answer_may():
    def with_fixed_seed(test):
        def seeded_test(implementation):
            torch.manual_seed(5)
            random.seed(5)
            test(implementation)

        return seeded_test

    task = exercise("test_folds")
    assert verdict_on("test_folds", with_fixed_seed(task.valid_answers[0]), ()).status == "passed"

    def collapse_with_draw(x):
        return exercise("collapse").valid_answers[0](x) + 0 * torch.rand(1).item()

    assert "your code draws random numbers" in verdict_on("collapse", collapse_with_draw, ()).hint


@pytest.mark.parametrize(
    ("draws_numbers", "message_end"),
    [
        (False, "the default dtype for everything that follows: leave it as it was"),
        (True, "leave them as they were"),
    ],
)
def test_what_an_answer_changes_for_all_it_is_asked_to_leave(draws_numbers, message_end):
    def collapse(x):
        torch.set_default_dtype(torch.float16)
        if draws_numbers:
            torch.rand(1)
        return exercise("collapse").valid_answers[0](x)

    assert verdict_on("collapse", collapse, ()).hint.endswith(message_end)


def test_what_is_only_rounded_with_a_batch_is_told_of_the_rounding():
    def collapse(x):
        x32 = x.float()
        centered_norm = torch.linalg.matrix_norm(x32 - x32.mean(dim=-2, keepdim=True))
        return (centered_norm / torch.linalg.matrix_norm(x32).clamp(min=1e-8)).to(x.dtype)

    assert verdict_on("collapse", collapse).hint == messages.FLOAT32_INSIDE


def test_a_small_number_in_place_of_zero_is_told_so():
    # no known mistake fills with this number
    def softmax_with_sink(scores, mask=None):
        masked_scores = scores if mask is None else scores.masked_fill(~mask, -19.5)
        return torch.nn.functional.pad(masked_scores, (0, 1)).softmax(-1)[..., :-1]

    assert verdict_on("softmax_with_sink", softmax_with_sink).hint == messages.NEARLY_ZERO


def test_a_test_that_refuses_every_right_answer_is_told_so():
    def test_encoding(encoding):
        assert torch.equal(encoding(3, 4), torch.full((3, 4), 0.3))

    assert verdict_on("test_encoding", test_encoding).hint == messages.REFUSES_ALL


def test_a_test_that_fails_by_itself_is_told_so():
    def test_encoding(encoding):
        assert torch.equal(encoding(3, 4), "0.3")

    verdict = verdict_on("test_encoding", test_encoding)
    assert verdict.hint == messages.OWN_ERROR and verdict.evidence.startswith("TypeError")


def test_a_test_that_raises_on_purpose_is_not_said_to_fail_by_itself():
    def test_encoding(encoding):
        if not torch.equal(encoding(3, 4), torch.full((3, 4), 0.3)):
            raise ValueError("not 0.3")

    assert verdict_on("test_encoding", test_encoding).hint == messages.REFUSES_ALL


def test_an_answer_that_counts_axes_from_the_front_hears_where_it_is_right():
    def distance_attention(q, k, v, mask=None):
        distances = (q.unsqueeze(1) - k.unsqueeze(0)).square().sum(-1)
        scores = -distances / (2 * q.shape[-1] ** 0.5)
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(-1) @ v

    verdict = verdict_on("distance_attention", distance_attention)
    assert verdict.hint.startswith("your code is right with 0 leading axes and wrong with 1 or 2")
    assert "RuntimeError" in verdict.evidence


def test_an_answer_that_walks_through_the_first_axis_hears_with_how_many_it_is_right():
    def newton_inverse(a, steps):
        return torch.stack([one_matrix(matrix, steps) for matrix in a])

    def one_matrix(a, steps):
        y = a.mT / a.square().sum()
        for _ in range(steps):
            y = y @ (2 * torch.eye(a.shape[-2], dtype=a.dtype, device=a.device) - a @ y)
        return y

    verdict = verdict_on("newton_inverse", newton_inverse)
    assert verdict.hint.startswith("your code is right with 1 leading axis and wrong with 0 or 2")


def test_a_result_that_is_far_too_large_is_not_read():
    def band_mask(n, m, width, causal=False):
        return torch.zeros(4000, 4000)

    assert verdict_on("band_mask", band_mask).hint == (
        "the result is far too large: its shape is (4000, 4000)"
    )


def test_a_long_test_passes_and_an_endless_one_does_not():
    task = exercise("test_encoding")

    def long_test(encoding):
        for _ in range(3 * MAX_STEPS):
            pass
        task.valid_answers[0](encoding)

    def endless_test(encoding):
        while True:
            pass

    assert verdict_on("test_encoding", long_test, forbidden=()).status == "passed"
    verdict = verdict_on("test_encoding", endless_test)
    assert verdict.status == "too slow" and verdict.hint != messages.REFUSES_ALL
