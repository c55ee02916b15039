"""For each claim of the chapter multi_head, mutants that it must notice."""

FORWARD = "multi_head.MultiHeadAttention.forward"
SPARSIFY = "course.multi_head.claims.heads.sparsify"
SPLIT = ".unflatten(-1, (heads, x.shape[-1] // heads)).transpose(-3, -2)"
# cut without the transpose: each head gets a stretch of the sequence
VIEWED = ("multi_head.split_heads", SPLIT, ".flatten(-2).unflatten(-1, (heads, x.shape[-2], -1))")
# without the bias of the last matrix
UNBIASED = (FORWARD, "mask)))", "mask))) - self.w_o.bias.detach()")
STRAIGHT = (FORWARD, "self.attend(q, k, v, mask)", "v")
SKIPPING = (FORWARD, "return", "return x +")

FALSE_OF = {
    "the_head_does_not_work_alone": ("language_model.heads.zero_head_hook", "= 0", "*= 1"),
    "one_head_waits_for_a_word": [
        ("language_model.heads.zero_head_hook", "z[..., head, :]", "z[..., head - 1, :]"),
        ("language_model.head_weights", "forward(q, k,", "forward(k, q,"),
    ],
    "one_head_cannot_subtract": SKIPPING,
    "equals_torch": [VIEWED, UNBIASED, (FORWARD, "(q, k, v, mask)", "(q, k, v)")],
    "parameters_depend_on_the_width_alone": (
        "multi_head.MultiHeadAttention.__init__",
        "self.w_o = nn.Linear(d_model, d_model", "self.w_o = nn.Linear(d_model, heads * d_model",
    ),
    "second_map_folds_into_the_first": (
        "multi_head.nn.Linear.forward", lambda self, x: (x @ self.weight.mT).tanh(),
    ),
    "a_head_is_two_products": VIEWED,
    "layer_is_a_sum_over_heads": [UNBIASED, (FORWARD, "mask)))", "mask))).relu()")],
    "head_has_rank_d_v": ("multi_head.split_heads", SPLIT, ".expand(heads, *x.shape)"),
    "w_o_mixes_the_heads": VIEWED,
    "every_head_reads_the_whole_token": (FORWARD, "self.w_v(context)", "context"),
    "heads_have_no_order": VIEWED,
    "other_weights_give_the_same_output": [
        (SPARSIFY, "-= steps.min() * change", "-= 0 * change"),
        (SPARSIFY, "v.shape[-1] + 1", "len(v)"),
        ("dot_product.masked_softmax", "scores.softmax(dim=-1)", "scores"),
    ],
    "heads_cost_no_operations": [
        ("multi_head.split_heads", "(heads, x.shape[-1] // heads)", "(1, x.shape[-1])"),
        (FORWARD, "self.w_o(join_heads", "(join_heads"),
    ],
    "attention_cubes_the_distance": [
        STRAIGHT,
        # what it adds outweighs what is skipped
        (FORWARD, "mask)))", "mask))) * 1e6"),
    ],
    "attention_alone_collapses": STRAIGHT,
    "skips_slow_the_collapse": SKIPPING,
    "large_weights_collapse_in_spite_of_skips": STRAIGHT,
    "norm_before_the_layer_slows_the_collapse": (
        "course.multi_head.claims.stacks.normalised",
        "nn.functional.layer_norm(x, x.shape[-1:])", "x",
    ),
    "stream_remembers_its_tokens": (FORWARD, "mask)))", "mask))) - x"),
}  # fmt: skip
