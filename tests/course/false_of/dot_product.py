"""For each claim of the chapter dot_product, a wrong function that it must notice."""

import torch

from attncourse.dot_product import additive_weights, attention, attention_weights


def unscaled_weights(q, k, mask=None):
    return (q @ k.mT).softmax(-1)


def weights_without_tanh(q, k, w_q, w_k, w_v):
    return (((q @ w_q)[:, None] + (k @ w_k)[None]) @ w_v).softmax(-1)


def zero_costs(model, token_ids):
    return torch.zeros(token_ids.shape[1] - 2, token_ids.shape[1] - 2)


FALSE_OF = {
    "one_word_waits_for_another": ("attncourse.english.costs_of_hiding", zero_costs),
    "rows_sum_to_one": ("attention_weights", lambda q, k: attention_weights(k, q).mT),
    "output_is_a_mean": ("attention", lambda q, k, v: q @ k.mT @ v),
    "additive_holds_hidden_times_more": (
        "additive_weights",
        lambda q, k, *w: unscaled_weights(q, k),
    ),
    "dot_product_makes_fewer_numbers": [
        ("attention_weights", lambda q, k: additive_weights(q, k, *SQUARE_WEIGHTS)),
        ("additive_weights", weights_without_tanh),
    ],
    "variance_is_d_k": ("attention_weights", unscaled_weights),
    "tokens_attend_to_themselves": ("attention_weights", unscaled_weights),
    "additive_scores_are_bounded": ("additive_weights", weights_without_tanh),
    "one_key_takes_all_unscaled": ("attention_weights", unscaled_weights),
    "jacobian_collapses_unscaled": ("attention_weights", unscaled_weights),
    "most_rows_pass_no_gradient": ("attention_weights", unscaled_weights),
    "aligned_scores_outgrow_the_root": [
        ("attention_weights", unscaled_weights),
        ("attention_weights", lambda q, k: attention_weights(q / q.shape[-1] ** 0.5, k)),
    ],
    "qk_norm_bounds_the_scores": [
        ("attention_weights", unscaled_weights),
        ("torch.rms_norm", lambda x, shape: x),
    ],
    "finite_fill_is_not_enough": (
        "masked_softmax",
        lambda scores, mask: (scores * mask).softmax(-1),
    ),
    "future_has_no_gradient": ("attention", lambda q, k, v, mask: attention(q, k, v)),
    "operations_are_n_m_d": ("attention", lambda q, k, v: unscaled_weights(q, k) @ v),
    "cost_is_quadratic": ("attention", lambda q, k, v: q @ (k.mT @ v)),
}


SQUARE_WEIGHTS = [torch.ones(shape, device="meta") for shape in ((64, 64), (64, 64), (64,))]
