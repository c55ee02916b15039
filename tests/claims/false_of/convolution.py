"""For each claim of the chapter convolution, a wrong function that it must notice."""

import torch

from attncourse.claims import convolution as page
from attncourse.convolution import (
    convolutional_self_attention,
    tap_offsets,
    tap_weights,
    window_mask,
    windowed_attention,
)
from attncourse.dot_product import attention


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


def too_blunt(offsets, size, alpha):
    return tap_weights(offsets, size, alpha / 10)


page_of = page.convolution_as_attention


FALSE_OF = {
    "windows_are_masked_attention": [
        ("windowed_attention", twice_as_wide), ("windowed_attention", as_if_forward_alone),
    ],
    "windows_cost_grows_with_n": ("windowed_attention", under_a_mask),
    "a_mask_saves_no_time": ("windowed_attention", under_a_mask),
    "each_layer_widens_the_view": ("windowed_attention", twice_as_wide),
    "a_window_has_no_order": [
        ("windowed_attention", in_order), ("windowed_attention", as_if_forward_alone),
    ],
    "heads_become_a_kernel": [
        ("convolution_as_attention", turned_round), ("tap_weights", too_blunt),
    ],
    "nine_heads_are_a_square_kernel": [
        ("convolution_as_attention", turned_round),
        ("tap_offsets", lambda taps: tap_offsets(taps)[1:]),
    ],
    "heads_cannot_look_outside": ("convolution_as_attention", zeros_outside),
    "fewer_heads_leave_a_rest": ("tap_weights", too_blunt),
    "one_head_is_no_edge_filter": (
        "masked_softmax", lambda scores, mask: scores.tanh().masked_fill(~mask, 0),
    ),
    "a_kernel_ignores_the_input": ("convolution_as_attention", by_content),
    "neighbouring_heads_cost_operations_alone": ("convolutional_self_attention", heads_apart),
}  # fmt: skip  # fmt: skip
