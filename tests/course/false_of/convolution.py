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


def double_width_attention(q, k, v, width, causal=False):
    return windowed_attention(q, k, v, 2 * width + 1, causal)


def masked_attention(q, k, v, width, causal=False):
    return attention(q, k, v, window_mask(q.shape[-2], width, causal, q.device))


def position_aware_attention(q, k, v, width, causal=False):
    positions = torch.arange(q.shape[-2], dtype=q.dtype, device=q.device)[:, None]
    return windowed_attention(q, k + positions.sin(), v, width, causal)


def flipped_kernel(weight, alpha):
    return convolution_as_attention(weight.flip(-1), alpha)


def zero_padded(weight, alpha):
    return lambda x: page.convolution(x, weight)


def content_scaled(weight, alpha):
    return lambda x: convolution_as_attention(weight, alpha)(x) * x.sum()


def separate_heads(q, k, v, width, heads_width):
    return convolutional_self_attention(q, k, v, width, 1)


def always_causal(q, k, v, width, causal=False):
    return windowed_attention(q, k, v, width, causal=True)


def never_causal(q, k, v, width, causal=False):
    return windowed_attention(q, k, v, width)


def absolute_attention(q, k, v, table, mask):
    positions = torch.arange(len(q), device=q.device)
    return attention(q, k + table[positions % len(table)], v, mask)


def blunt_weights(offsets, size, alpha):
    return tap_weights(offsets, size, alpha / 10)


convolution_as_attention, convolution = page.convolution_as_attention, page.convolution


def surprisals_of_all_words(model, token_ids, width):
    return english.surprisals(model, token_ids)[0]


FALSE_OF = {
    "a_window_of_three_misses_a_word": (
        "attncourse.english.surprisals_of_last",
        surprisals_of_all_words,
    ),
    "a_kernel_moves_with_its_input": [
        ("convolution", lambda x, weight: convolution(x, weight) * x.cumsum(0)),
        (
            "relative_attention",
            lambda q, k, v, a_k, a_v, mask: absolute_attention(q, k, v, a_k, mask),
        ),
        ("rope", lambda x, positions: rope(x, positions**2)),
        ("sinusoids", lambda n, d, device: torch.ones(n, d, device=device)),
    ],
    "windows_cost_grows_with_n": ("windowed_attention", masked_attention),
    "a_mask_saves_no_work": [
        ("windowed_attention", masked_attention),
        ("attention", lambda q, k, v, mask=None: v if mask is not None else attention(q, k, v)),
    ],
    "each_layer_widens_the_view": ("windowed_attention", double_width_attention),
    "a_window_has_no_order": [
        ("windowed_attention", position_aware_attention),
        ("windowed_attention", always_causal),
        ("windowed_attention", never_causal),
    ],
    "heads_become_a_kernel": [
        ("convolution_as_attention", flipped_kernel),
        ("tap_weights", blunt_weights),
    ],
    "nine_heads_are_a_square_kernel": [
        ("convolution_as_attention", flipped_kernel),
        ("tap_offsets", lambda taps: tap_offsets(taps)[1:]),
    ],
    "heads_cannot_look_outside": ("convolution_as_attention", zero_padded),
    "fewer_heads_leave_a_rest": ("tap_weights", blunt_weights),
    "one_head_is_no_edge_filter": (
        "masked_softmax",
        lambda scores, mask: scores.tanh().masked_fill(~mask, 0),
    ),
    "a_kernel_ignores_the_input": [
        ("convolution_as_attention", content_scaled),
        ("dynamic_convolution", lambda x, w: dynamic_convolution(x, w.detach() * 0)),
        ("dynamic_convolution", lambda x, w: dynamic_convolution(x, w) * x.sum()),
    ],
    "neighbouring_heads_cost_operations_alone": ("convolutional_self_attention", separate_heads),
}
