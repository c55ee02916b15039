"""For each claim of the chapter recurrence, a wrong function that it must notice."""

import torch
from torch.nn.utils import clip_grad_value_

from attncourse import english
from attncourse.course.recurrence.claims import gru
from attncourse.recurrence import gradient_by_distance, lstm, rnn


def forgetful(x, w_ih, w_hh, b_ih, b_hh, first=None):
    """No state is handed on."""
    return (x @ w_ih.mT + b_ih + b_hh).tanh()


def backwards(x, *weights):
    return rnn(x.flip(-2), *weights).flip(-2)


def from_the_start(x, *weights):
    """For each state all tokens are read again."""
    return rnn(x.expand(len(x), *x.shape), *weights).diagonal().mT


def gates_swapped(x, weights, state):
    """The reset gate decides what is kept."""
    parts = (weight.chunk(3) for weight in weights)
    return gru(x, [torch.cat([z, r, new]) for r, z, new in parts], state)


def without_a_cut(x, weights, length):
    return rnn(x, *weights)


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


def plain_mean(q, k, v):
    return v.mean(-2, keepdim=True).expand_as(v)


def linear(q, k, v):
    return q @ (k.mT @ v)


NAMED = english.model_or_lstm


def exchanged(name, device=None):
    return NAMED({"lstm": "gpt", "gpt": "lstm"}[name], device)


FALSE_OF = {
    "an_lstm_forgets_the_first_word_sooner": ("attncourse.english.model_or_lstm", exchanged),
    "both_equal_torch": ("lstm", ends_swapped),
    "one_word_at_two_places": ("rnn", forgetful),
    "a_state_reads_no_later_token": [("rnn", backwards), ("rnn", forgetful)],
    "a_state_is_a_bottleneck": ("rnn", forgetful),
    "one_state_keeps_one_word": [
        ("attention", plain_mean),
        # a state that holds every word
        ("lost_in_one_state", lambda g, n: 0.0),
    ],
    "paths_are_as_long_as_said": ("rnn", with_a_skip),
    "gradients_over_distance": ("gradient_by_distance", of_the_first_output),
    "one_matrix_shrinks_or_explodes": ("rnn", with_a_skip),
    "the_forget_gate_carries_the_gradient": [("lstm", ends_swapped), ("gru", gates_swapped)],
    "clipping_keeps_the_direction": ("clip_grad_norm_", clip_grad_value_),
    "truncation_forgets_what_the_state_remembers": [
        ("rnn", forgetful),
        ("states_in_pieces", without_a_cut),
    ],
    "products_that_must_wait": ("rnn", forgetful),
    "writing_is_one_by_one_in_both": ("rnn", lambda x, *rest: rest[-1][None]),
    "operations_cross_where_n_is_d": ("attention", linear),
    "attention_keeps_a_number_for_each_pair": ("rnn", with_a_skip),
    "a_step_of_writing_grows_in_attention": [("attention", linear), ("rnn", from_the_start)],
}
