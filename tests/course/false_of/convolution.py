"""For each claim of the chapter convolution, a wrong function that it must notice."""

import torch

from attncourse import english
from attncourse.convolution import (
    convolutional_self_attention,
    dynamic_convolution,
    tap_offsets,
    tap_weights,
    window_mask,
    windowed_attention,
)
from attncourse.course.convolution import claims as page
from attncourse.dot_product import attention
from attncourse.relative import rope


def twice_as_wide(q, k, v, width, causal=False):
    return windowed_attention(q, k, v, 2 * width + 1, causal)


def under_a_mask(q, k, v, width, causal=False):
    return attention(q, k, v, window_mask(q.shape[-2], width, causal, q.device))


def in_order(q, k, v, width, causal=False):
    place = torch.arange(q.shape[-2], dtype=q.dtype, device=q.device)[:, None]
    return windowed_attention(q, k + place.sin(), v, width, causal)


def turned_round(weight, alpha):
    return page_of(weight.flip(-1), alpha)


def zeros_outside(weight, alpha):
    return lambda x: page.convolution(x, weight)


def by_content(weight, alpha):
    return lambda x: page_of(weight, alpha)(x) * x.sum()


def heads_apart(q, k, v, width, heads_width):
    return convolutional_self_attention(q, k, v, width, 1)


def as_if_forward_alone(q, k, v, width, causal=False):
    return windowed_attention(q, k, v, width, causal=True)


def always_symmetric(q, k, v, width, causal=False):
    return windowed_attention(q, k, v, width)


def absolute(q, k, v, table, mask):
    places = torch.arange(len(q), device=q.device)
    return attention(q, k + table[places % len(table)], v, mask)


def too_blunt(offsets, size, alpha):
    return tap_weights(offsets, size, alpha / 10)


page_of, page_convolution = page.convolution_as_attention, page.convolution


def all_words(model, read, width):
    return english.surprisals(model, read)[0]


FALSE_OF = {
    "a_window_of_three_misses_a_word": ("attncourse.english.surprisals_of_last", all_words),
    "a_kernel_moves_with_its_input": [
        ("convolution", lambda x, weight: page_convolution(x, weight) * x.cumsum(0)),
        ("relative_attention", lambda q, k, v, a_k, a_v, mask: absolute(q, k, v, a_k, mask)),
        ("rope", lambda x, positions: rope(x, positions**2)),
        ("sinusoids", lambda n, d, device: torch.ones(n, d, device=device)),
    ],
    "windows_cost_grows_with_n": ("windowed_attention", under_a_mask),
    "a_mask_saves_no_work": [
        ("windowed_attention", under_a_mask),
        ("attention", lambda q, k, v, mask=None: v if mask is not None else attention(q, k, v)),
    ],
    "each_layer_widens_the_view": ("windowed_attention", twice_as_wide),
    "a_window_has_no_order": [
        ("windowed_attention", in_order),
        ("windowed_attention", as_if_forward_alone),
        ("windowed_attention", always_symmetric),
    ],
    "heads_become_a_kernel": [
        ("convolution_as_attention", turned_round),
        ("tap_weights", too_blunt),
    ],
    "nine_heads_are_a_square_kernel": [
        ("convolution_as_attention", turned_round),
        ("tap_offsets", lambda taps: tap_offsets(taps)[1:]),
    ],
    "heads_cannot_look_outside": ("convolution_as_attention", zeros_outside),
    "fewer_heads_leave_a_rest": ("tap_weights", too_blunt),
    "one_head_is_no_edge_filter": (
        "masked_softmax",
        lambda scores, mask: scores.tanh().masked_fill(~mask, 0),
    ),
    "a_kernel_ignores_the_input": [
        ("convolution_as_attention", by_content),
        ("dynamic_convolution", lambda x, w: dynamic_convolution(x, w.detach() * 0)),
        ("dynamic_convolution", lambda x, w: dynamic_convolution(x, w) * x.sum()),
    ],
    "neighbouring_heads_cost_operations_alone": ("convolutional_self_attention", heads_apart),
}
