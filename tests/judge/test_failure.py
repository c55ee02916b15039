"""A check shows the failing call: its printed output, its arguments and its result."""

import pytest
import torch
from torch import nn

from attncourse import check, failed
from attncourse.course import exercise
from attncourse.course.session import session
from judge import messages, notebook
from judge.call.record import MAX_PRINTED
from judge.course import OneLineError
from judge.verdict import judge, local


@pytest.fixture(autouse=True)
def empty_session(monkeypatch):
    """A session in which nothing has been checked."""
    monkeypatch.setattr(session, "verdicts", {})


def pool(x, query, lengths):
    """A right answer to attention_pool."""
    words = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    scores = (x @ query / query.shape[-1] ** 0.5).masked_fill(~words, -torch.inf)
    return (scores.softmax(-1).masked_fill(~words, 0.0)[..., None] * x).sum(-2)


def unscaled_pool(x, query, lengths):
    print("query:", tuple(query.shape))
    return pool(x, query * query.shape[-1] ** 0.5, lengths)


def test_what_the_failing_call_printed_is_shown(capsys):
    check("attention_pool", unscaled_pool)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "your code printed:"
    width = failed().args[1].shape[0]
    # of the one call, not of all
    assert lines[3:] == [f"    query: ({width},)"]


def test_what_a_right_answer_prints_is_not_shown(capsys):
    def print_and_pool(*arguments):
        print("here are my scores")
        return pool(*arguments)

    check("attention_pool", print_and_pool)
    assert capsys.readouterr() == ("attention_pool: ok\n", "")


def test_what_the_given_code_prints_is_shown_too(capsys):
    def cached_attention(q, k, v):
        print("n =", q.shape[-2])
        n, m = q.shape[-2], k.shape[-2]
        mask = torch.ones(n, m, dtype=torch.bool, device=q.device).tril()
        scores = q @ k.mT / q.shape[-1] ** 0.5
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1) @ v

    check(cached_attention)
    out = capsys.readouterr().out
    assert (
        out.startswith("cached_attention: not attempted") and "your code printed:\n    n = " in out
    )


@pytest.mark.parametrize("text", ["a" * 10**6, "line\n" * 10**4])
def test_a_flood_of_text_is_cut(text, capsys):
    def flood(x, query, lengths):
        print(text)

    check("attention_pool", flood)
    out = capsys.readouterr().out
    assert len(out) < MAX_PRINTED and len(out.splitlines()) <= notebook.MAX_LINES + 4


def test_the_seed_that_is_named_draws_the_failing_call_again(capsys):
    check("attention_pool", unscaled_pool)
    output, first_call = capsys.readouterr().out, failed()
    seed = int(output.partition("(seed=")[2].partition(")")[0])
    check("attention_pool", unscaled_pool, seed=seed)
    assert capsys.readouterr().out == output
    assert all(a.equal(b) for a, b in zip(first_call.args, failed().args, strict=True))


def test_the_failing_call_can_be_repeated():
    check("attention_pool", unscaled_pool)
    call = failed()
    torch.testing.assert_close(unscaled_pool(*call.args, **call.kwargs), call.got)
    torch.testing.assert_close(pool(*call.args, **call.kwargs), call.expected)
    assert not torch.allclose(call.got, call.expected)


def test_what_is_written_into_the_arguments_does_not_last():
    check("attention_pool", unscaled_pool)
    x = failed().args[0]
    copy = x.clone()
    x.zero_()
    assert failed().args[0].equal(copy)


def test_a_list_is_as_it_was_passed_though_a_known_mistake_empties_it():
    def mean_ablated(z, w_o, heads):
        if heads:
            raise ValueError("not without these heads")
        return z.transpose(1, 2).flatten(-2) @ w_o

    check("mean_ablated", mean_ablated, seed=1)
    assert failed().case.endswith("heads=[1]") and failed().args[-1] == [1]
    failed().args[-1].pop()
    assert failed().args[-1] == [1]


def test_the_failing_call_is_shown_with_the_names_of_its_arguments():
    check("attention_pool", unscaled_pool)
    printed = repr(failed()).splitlines()
    line_starts = [line.partition(" ")[0] for line in printed if line and not line.startswith(" ")]
    assert line_starts == ["on", "x", "query", "lengths", "expected", "got"]


def test_a_call_that_fails_as_it_lies_in_memory_is_given_as_it_lay():
    def pool_view(x, query, lengths):
        return pool(x.view(-1, x.shape[-1]).view(x.shape), query, lengths)

    check("attention_pool", pool_view)
    call = failed()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        pool_view(*call.args)
    assert str(call.got).startswith("RuntimeError: view size is not compatible")


def test_gradients_are_given_where_they_alone_are_wrong():
    check("attention_pool", lambda x, query, lengths: pool(x, query.detach(), lengths))
    call = failed()
    assert list(call.gradients) == ["query"]
    expected, got = call.gradients["query"]
    assert expected.shape == call.args[1].shape and got is None
    check("attention_pool", unscaled_pool)
    assert failed().gradients == {}


def test_a_module_is_given_what_it_was_made_of():
    class GatedCell(torch.nn.GRUCell):
        def forward(self, x, state):
            return state

    check(GatedCell)
    call = failed("GatedCell")
    width, size = call.build
    assert call.weights["weight_ih"].shape == (3 * size, width)
    assert "build = (" in repr(call) and "weight_hh = tensor(" in repr(call)


def test_a_learner_s_test_is_given_the_implementation_that_it_misjudges():
    check("test_attention", lambda attention: None)
    call = failed()
    assert callable(call.args[0])
    # a wrong implementation may also end in an error of its own
    assert str(call.got) == "no exception" and "Error" in str(call.expected)


def test_of_a_loop_the_longer_call_is_given():
    def pool_loop(x, query, lengths):
        for _ in range(x.shape[1]):
            pass
        return pool(x, query, lengths)

    check("attention_pool", pool_loop)
    call = failed()
    assert str(call.got) == "many more steps" and call.args[0].numel() > 1000


def test_on_the_meta_device_the_arguments_are_there_too():
    def pool_on_cpu(x, query, lengths):
        words = torch.arange(x.shape[1]) < lengths[:, None]
        return pool(x, query, lengths) * words.any()

    check("attention_pool", pool_on_cpu)
    call = failed()
    assert call.args[0].is_meta and call.expected.is_meta


def test_without_a_failing_call_one_line_says_so(capsys):
    with pytest.raises(OneLineError, match="nothing has been checked in this session"):
        failed()
    with pytest.raises(OneLineError, match="prefix_mask hasn't been checked in this session"):
        failed("prefix_mask")
    check("attention_pool", unscaled_pool)
    check("attention_pool", pool)
    with pytest.raises(OneLineError, match="attention_pool: ok"):
        failed()


def test_the_last_check_is_the_one_that_failed_gives():
    check("attention_pool", unscaled_pool)
    check("prefix_mask", lambda n, prefix, device=None: n)
    check("attention_pool", unscaled_pool)
    assert failed().names == ("x", "query", "lengths")
    assert failed("prefix_mask").names[:2] == ("n", "prefix")


def test_a_module_that_fails_at_another_length_is_shown_that_call():
    class Table(nn.Module):
        def __init__(self, d, hidden, length):
            super().__init__()
            self.hidden, self.out, self.length = nn.Linear(1, hidden), nn.Linear(hidden, d), length

        def forward(self, x):
            t = torch.arange(self.length, dtype=x.dtype, device=x.device) / self.length
            return x + self.out(self.hidden(t[:, None]).tanh())[: x.shape[-2]]

    check("PositionNetwork", Table)
    call = failed()
    assert call.args[0].shape[-2] > call.build[2]


def test_a_result_that_leads_back_to_no_input_is_shown_with_the_gradient_that_it_lacks():
    def ones_for_one_token(scores, p):
        order = scores.argsort(dim=-1, descending=True, stable=True)
        likely = scores.softmax(-1).gather(-1, order)
        stays = torch.empty_like(order).scatter(-1, order, (likely.cumsum(-1) - likely < p).long())
        weights = scores.masked_fill(stays == 0, -torch.inf).softmax(-1)
        return weights if scores.shape[-1] > 1 else torch.ones_like(weights)

    check("nucleus", ones_for_one_token)
    expected, got = failed().gradients["scores"]
    assert got is None and not expected.any()


def zeros_in_float32(x, w_x, w_h, b, first=None):
    state = torch.zeros(w_h.shape[-1]) if first is None else first
    return torch.stack(
        [state := (a @ w_x.mT + state @ w_h.mT + b).tanh() for a in x.unbind(-2)], -2
    )


def first_or_zeros(x, w_x, w_h, b, first=None):
    state = first or x.new_zeros(w_h.shape[-1])
    return torch.stack(
        [state := (a @ w_x.mT + state @ w_h.mT + b).tanh() for a in x.unbind(-2)], -2
    )


def no_return(x, w_x, w_h, b, first=None):
    x @ w_x.mT


def no_return_inside(x, w_x, w_h, b, first=None):
    def project(x):
        x @ w_x.mT

    return project(x).tanh()


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (zeros_in_float32, "the first state is always float32: give it the dtype of x"),
        (first_or_zeros, messages.TRUTH),
        (no_return, "your code returns None: is the return missing, or inside an if?"),
        (no_return_inside, messages.NOTHING),
        (lambda x, *w, first=None: x + first, f"`first`{messages.LEFT_OUT}"),
        (lambda x, *w, first=None: x.cuda(), messages.NO_GPU),
        (lambda x, w_x, *w, first=None: x.T @ w_x, messages.TURNED),
        (lambda x, w_x, *w, first=None: (2 * x).T @ w_x, messages.TURNED),
        # the matrix of weights has no other axes
        (lambda x, w_x, *w, first=None: x.mT @ w_x.T, messages.NO_PRODUCT),
        (lambda x, w_x, *w, first=None: x.mm(w_x.mT), messages.MATRICES_ALONE),
        (lambda x, *w, first=None: ~x, messages.INVERTED),
        (lambda x, *w, first=None: x.masked_fill(x, 0.0), messages.NO_MASK),
        (lambda x, *w, first=None: x.max(-1).exp(), messages.TWO_RESULTS),
        (lambda x, *w, first=None: x[x], messages.FLOATING_INDEX),
        (lambda x, *w, first=None: torch.exp(x.shape[-1]), messages.PLAIN_NUMBER),
        (lambda x, w_x, *w, first=None: x.mT @ w_x.mT, messages.NO_PRODUCT),
        (lambda x, w_x, w_h, b, first=None: x.sum(-2) + w_h, messages.NO_BROADCAST),
    ],
)
def test_the_likeliest_slips_are_told_in_our_words(answer, hint):
    assert judge(exercise("rnn_states"), local(answer), seed=3).hint == hint


def test_where_a_number_is_wanted_none_is_said_beside_it():
    none = judge(exercise("memory_bound"), local(lambda *numbers: None), seed=3)
    assert none.evidence.endswith("expected 1, got None"), none.evidence
    zero = judge(exercise("memory_bound"), local(lambda *numbers: 0), seed=3)
    assert zero.evidence.endswith("expected 1, got 0"), zero.evidence


def project(x, w_x):
    return x @ w_x


def project_by_helper(x, w_x, w_h, b, first=None):
    return project(x, w_x) + b


def test_an_error_is_told_at_the_line_where_it_happens():
    verdict = judge(exercise("rnn_states"), local(project_by_helper), seed=3)
    assert verdict.status == "error"
    assert verdict.evidence.endswith("“return x @ w_x”)"), verdict.evidence


def float64_ones(*shape):
    return torch.ones(shape, dtype=torch.float64)


def float32_ones(*shape):
    return torch.ones(shape)


MIXED_DTYPES = [
    lambda: float64_ones(2, 2) @ float32_ones(2, 2),
    lambda: float64_ones(2, 2) @ float32_ones(2),
    lambda: float64_ones(2) @ float32_ones(2),
    lambda: float64_ones(1, 2, 2) @ float32_ones(1, 2, 2),
    lambda: float64_ones(2, 2) @ torch.ones(2, 2).long(),
    lambda: torch.einsum("ij,jk->ik", float64_ones(2, 2), float32_ones(2, 2)),
    lambda: torch.nn.functional.linear(float64_ones(2, 2), float64_ones(2, 2), float32_ones(2)),
    lambda: float64_ones(2, 2).index_put((torch.tensor([0]),), float32_ones(1, 2)),
    lambda: float64_ones(2, 2).scatter(0, torch.zeros(2, 2).long(), float32_ones(2, 2)),
    lambda: float64_ones(2, 2).index_add(0, torch.tensor([0, 1]), float32_ones(2, 2)),
    lambda: torch.lerp(float64_ones(2), float32_ones(2), 0.5),
    lambda: torch.linalg.solve(float64_ones(2, 2), float32_ones(2, 2)),
    lambda: torch.allclose(float64_ones(2), float32_ones(2)),
    lambda: torch.nn.functional.layer_norm(float64_ones(2, 2), (2,), float32_ones(2)),
]


@pytest.mark.parametrize("operation", MIXED_DTYPES)
def test_torch_s_many_ways_to_say_that_dtypes_differ_are_known(operation):
    def answer(x, query, lengths):
        operation()

    assert judge(exercise("attention_pool"), local(answer), seed=3).hint == messages.DTYPES


def test_an_input_marked_for_gradients_is_not_called_changed(capsys):
    def mark_query(x, query, lengths):
        query.requires_grad_()
        return pool(x, query, lengths)

    check("attention_pool", mark_query)
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"attention_pool: wrong: {messages.MARKS}"
    assert second.partition(" (seed")[0].endswith(": query")


def test_a_changed_input_is_named(capsys):
    def change_query(x, query, lengths):
        out = pool(x, query, lengths)
        query += 1
        return out

    check("attention_pool", change_query)
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"attention_pool: wrong: {messages.CHANGES}"
    assert second.partition(" (seed")[0].endswith(": query")
