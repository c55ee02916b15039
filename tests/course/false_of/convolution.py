"""For each claim of the chapter convolution, mutants that it must notice."""

from attncourse.dot_product import attention

ONE_BLOCK = ("convolution.blocks_of", "max((before + 1 + after) // 2, LEAST)", "q.shape[-2]")
ONE_TAP = ("convolution.tap_offsets", "arange(length", "arange(1")

FALSE_OF = {
    "a_window_of_three_misses_a_word": ("english.surprisals_of_last", "max(0, i - width)", "0"),
    "a_kernel_moves_with_its_input": [
        ("course.convolution.claims.convolution", "x.mT", "x.mT.cumsum(-1)"),
        ("kernels.relative.query_blocks", "key - query[:, None]", "key + query[:, None]"),
        ("relative.rope", "even * sin + odd * cos", "even * sin - odd * cos"),
        ("positional.sinusoids", "position[:, None]", "position[:1, None]"),
    ],
    "windows_cost_grows_with_n": ONE_BLOCK,
    "a_mask_saves_no_work": [
        ONE_BLOCK,
        (
            "course.convolution.claims.attention",
            lambda q, k, v, mask=None: v if mask is not None else attention(q, k, v),
        ),
    ],
    "each_layer_widens_the_view": ("convolution.sides", "width // 2, width // 2", "width, width"),
    "a_window_has_no_order": ("convolution.sides", "if causal", "if not causal"),
    "heads_become_a_kernel": ("convolution.tap_weights", "missed_by.square()", "missed_by"),
    "nine_heads_are_a_square_kernel": ONE_TAP,
    "heads_cannot_look_outside": ("convolution.tap_weights", ".softmax(-1)", ".exp()"),
    "fewer_heads_leave_a_rest": [
        ONE_TAP, ("convolution.convolution_as_attention", "size, alpha)", "size, alpha / 100)"),
    ],
    "one_head_is_no_edge_filter": (
        "dot_product.masked_softmax", ".softmax(dim=-1).masked_fill", ".tanh().masked_fill",
    ),
    "a_kernel_ignores_the_input": [
        ("convolution.convolution_as_attention", "by_tap, weight", "by_tap.tanh(), weight"),
        ("convolution.dynamic_convolution", "x, w)", "torch.ones_like(x), w)"),
        ("convolution.dynamic_convolution", "x, w)", "x.roll(-1, -2), w)"),
    ],
    "neighbouring_heads_cost_operations_alone": (
        "convolution.convolutional_self_attention", "sides(heads_width)", "sides(heads_width := 1)",
    ),
}  # fmt: skip
