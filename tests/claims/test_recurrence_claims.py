"""The claims of the chapter recurrence notice a wrong mechanism."""

import pytest
import torch

from attncourse.claims import claims
from attncourse.claims import recurrence as page
from attncourse.dot_product import attention
from attncourse.recurrence import gradient_by_distance, lstm, rnn


def forgetful(x, w_ih, w_hh, b_ih, b_hh, first=None):
    """No state is handed on."""
    return (x @ w_ih.mT + b_ih + b_hh).tanh()


def backwards(x, *weights):
    return rnn(x.flip(-2), *weights).flip(-2)


def with_a_skip(x, w_ih, w_hh, b_ih, b_hh):
    """Each state is the one before, and something more."""
    h, states = x.new_zeros(len(b_hh)), []
    for token in x.unbind(-2):
        h = h + (w_ih @ token + w_hh @ h + b_ih + b_hh).tanh()
        states.append(h)
    return torch.stack(states, -2)


def ends_swapped(x, w_ih, w_hh, b_ih, b_hh, first=None):
    """The output gate forgets, and the forget gate shows."""
    i, f, g, o = w_ih.chunk(4)
    weights = [torch.cat([i, o, g, f]), w_hh, torch.cat([b_ih[: len(i)], *b_ih.chunk(4)[3:0:-1]])]
    return lstm(x, *weights, b_hh, first)


def of_the_first_output(layer, n, *args, **kwargs):
    return gradient_by_distance(lambda x: layer(x).flip(1), n, *args, **kwargs)


def linear(q, k, v):
    return q @ (k.mT @ v)


FALSE_OF = {
    "both_equal_torch": ("lstm", ends_swapped),
    "one_word_at_two_places": ("rnn", forgetful),
    "a_state_reads_no_later_token": ("rnn", backwards),
    "ways_are_as_long_as_said": ("rnn", with_a_skip),
    "gradients_over_distance": ("gradient_by_distance", of_the_first_output),
    "one_matrix_shrinks_or_explodes": ("rnn", with_a_skip),
    "the_forget_gate_carries_the_gradient": ("lstm", ends_swapped),
    "products_that_must_wait": ("rnn", forgetful),
    "writing_is_one_by_one_in_both": ("rnn", lambda x, *rest: rest[-1][None]),
    "operations_cross_where_n_is_d": ("attention", linear),
    "attention_keeps_a_number_for_each_pair": ("rnn", with_a_skip),
    "a_step_of_writing_grows_in_attention": ("attention", linear),
}


@pytest.mark.parametrize("name", FALSE_OF)
def test_a_claim_does_not_hold_of_a_wrong_function(name, monkeypatch):
    replaced, wrong = FALSE_OF[name]
    monkeypatch.setattr(page, replaced, wrong)
    assert not getattr(page, name).measure().measured.holds


def test_every_claim_has_a_wrong_function():
    assert {one.id.partition(".")[2] for one in claims("recurrence")} == set(FALSE_OF)


def test_the_longest_chain_counts_products_that_wait_and_no_others():
    x = torch.ones(3, 3, requires_grad=True)
    one = x @ x
    assert [page.longest_chain(y) for y in (one, one.tanh() + x, one @ x + x @ x)] == [1, 1, 2]
    assert page.longest_chain(attention(x, x, x)) == 2


def test_what_is_kept_is_counted_once_and_without_what_was_given():
    x, w = torch.ones(2, 3), torch.ones(3, 5)
    # a tanh keeps its result, and the product the same numbers once more
    assert page.kept(lambda x: (x @ w).tanh() @ w.mT, x, [w]) == 2 * 5
    assert page.kept(lambda x: x @ w, x, [w]) == 0
