"""For each claim of the chapter recurrence, a wrong function that it must notice."""

import torch
from torch.nn.utils import clip_grad_value_

from attncourse import english
from attncourse.course.recurrence.claims import gru
from attncourse.recurrence import gradient_by_distance, lstm, rnn


def rnn_without_state(x, w_ih, w_hh, b_ih, b_hh, first=None):
    """No state is handed on."""
    return (x @ w_ih.mT + b_ih + b_hh).tanh()


def reversed_rnn(x, *weights):
    return rnn(x.flip(-2), *weights).flip(-2)


def rnn_from_the_start(x, *weights):
    """For each state all tokens are read again."""
    return rnn(x.expand(len(x), *x.shape), *weights).diagonal().mT


def gru_with_swapped_gates(x, weights, state):
    """The reset gate does the work of the update gate, and the reverse."""
    gate_weights = (weight.chunk(3) for weight in weights)
    return gru(x, [torch.cat([z, r, new]) for r, z, new in gate_weights], state)


def rnn_without_cut(x, weights, length):
    return rnn(x, *weights)


def rnn_with_skip(x, w_ih, w_hh, b_ih, b_hh):
    """Each state is added to the previous one."""
    h, states = x.new_zeros(len(b_hh)), []
    for token in x.unbind(-2):
        h = h + (w_ih @ token + w_hh @ h + b_ih + b_hh).tanh()
        states.append(h)
    return torch.stack(states, -2)


def lstm_with_swapped_gates(x, w_ih, w_hh, b_ih, b_hh, first=None):
    """The output gate forgets, and the forget gate shows."""
    i, f, g, o = w_ih.chunk(4)
    weights = [torch.cat([i, o, g, f]), w_hh, torch.cat([b_ih[: len(i)], *b_ih.chunk(4)[3:0:-1]])]
    return lstm(x, *weights, b_hh, first)


def gradient_of_first_output(layer, n, *args, **kwargs):
    return gradient_by_distance(lambda x: layer(x).flip(1), n, *args, **kwargs)


def mean_of_values(q, k, v):
    return v.mean(-2, keepdim=True).expand_as(v)


def unnormalized_attention(q, k, v):
    return q @ (k.mT @ v)


MODEL_OR_LSTM = english.model_or_lstm


def swapped_models(name, device=None):
    return MODEL_OR_LSTM({"lstm": "gpt", "gpt": "lstm"}[name], device)


FALSE_OF = {
    "an_lstm_forgets_the_first_word_sooner": ("attncourse.english.model_or_lstm", swapped_models),
    "both_equal_torch": ("lstm", lstm_with_swapped_gates),
    "one_word_at_two_places": ("rnn", rnn_without_state),
    "a_state_reads_no_later_token": [("rnn", reversed_rnn), ("rnn", rnn_without_state)],
    "a_state_is_a_bottleneck": ("rnn", rnn_without_state),
    "one_state_keeps_one_word": [
        ("attention", mean_of_values),
        # a state that holds every word
        ("lost_in_one_state", lambda g, n: 0.0),
    ],
    "paths_are_as_long_as_said": ("rnn", rnn_with_skip),
    "gradients_over_distance": ("gradient_by_distance", gradient_of_first_output),
    "one_matrix_shrinks_or_explodes": ("rnn", rnn_with_skip),
    "the_forget_gate_carries_the_gradient": [
        ("lstm", lstm_with_swapped_gates),
        ("gru", gru_with_swapped_gates),
    ],
    "clipping_keeps_the_direction": ("clip_grad_norm_", clip_grad_value_),
    "truncation_forgets_what_the_state_remembers": [
        ("rnn", rnn_without_state),
        ("states_in_pieces", rnn_without_cut),
    ],
    "products_that_must_wait": ("rnn", rnn_without_state),
    "writing_is_one_by_one_in_both": ("rnn", lambda x, *weights: weights[-1][None]),
    "operations_cross_where_n_is_d": ("attention", unnormalized_attention),
    "attention_keeps_a_number_for_each_pair": ("rnn", rnn_with_skip),
    "a_step_of_writing_grows_in_attention": [
        ("attention", unnormalized_attention),
        ("rnn", rnn_from_the_start),
    ],
}
