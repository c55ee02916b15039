"""For each claim of the chapter dot_product, a wrong function that it must notice."""

import torch

from attncourse.dot_product import additive_weights, attention, attention_weights


def unscaled(q, k, mask=None):
    return (q @ k.mT).softmax(-1)


def without_tanh(q, k, w_q, w_k, w_v):
    return (((q @ w_q)[:, None] + (k @ w_k)[None]) @ w_v).softmax(-1)


def nothing_hidden(model, read):
    return torch.zeros(read.shape[1] - 2, read.shape[1] - 2)


FALSE_OF = {
    "one_word_waits_for_another": ("attncourse.english.costs_of_hiding", nothing_hidden),
    "rows_sum_to_one": ("attention_weights", lambda q, k: attention_weights(k, q).mT),
    "output_is_a_mean": ("attention", lambda q, k, v: q @ k.mT @ v),
    "additive_holds_hidden_times_more": ("additive_weights", lambda q, k, *w: unscaled(q, k)),
    "dot_product_makes_fewer_numbers": [
        ("attention_weights", lambda q, k: additive_weights(q, k, *SQUARE)),
        ("additive_weights", without_tanh),
    ],
    "variance_is_d_k": ("attention_weights", unscaled),
    "tokens_attend_to_themselves": ("attention_weights", unscaled),
    "additive_scores_are_bounded": ("additive_weights", without_tanh),
    "one_key_takes_all_unscaled": ("attention_weights", unscaled),
    "jacobian_collapses_unscaled": ("attention_weights", unscaled),
    "most_rows_pass_no_gradient": ("attention_weights", unscaled),
    "aligned_scores_outgrow_the_root": [
        ("attention_weights", unscaled),
        ("attention_weights", lambda q, k: attention_weights(q / q.shape[-1] ** 0.5, k)),
    ],
    "qk_norm_bounds_the_scores": [
        ("attention_weights", unscaled),
        ("torch.rms_norm", lambda x, shape: x),
    ],
    "finite_fill_is_not_enough": (
        "masked_softmax",
        lambda scores, mask: (scores * mask).softmax(-1),
    ),
    "future_has_no_gradient": ("attention", lambda q, k, v, mask: attention(q, k, v)),
    "operations_are_n_m_d": ("attention", lambda q, k, v: unscaled(q, k) @ v),
    "cost_is_quadratic": ("attention", lambda q, k, v: q @ (k.mT @ v)),
}


SQUARE = [torch.ones(shape, device="meta") for shape in ((64, 64), (64, 64), (64,))]
