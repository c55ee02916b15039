"""For each claim of the chapter tasks, mutants that it must notice."""

WITHOUT_TABLES = (
    "relative.RelativeAttention.forward", "self.a_k, self.a_v", "0 * self.a_k, 0 * self.a_v",
)  # fmt: skip

FALSE_OF = {
    "padding_is_left_out": ("tasks.mean_of_tokens", "x.masked_fill(~real[..., None], 0)", "x"),
    "order_needs_positions": [
        WITHOUT_TABLES, ("dot_product.attention", "@ v", "@ v.cumsum(-2)"),
    ],
    "labels_may_need_a_neighbour": [
        WITHOUT_TABLES, ("course.tasks.claims.after_the_word_before", ".roll(1, dims=1)", ""),
    ],
    "a_bag_is_blind_to_order": [
        WITHOUT_TABLES, ("course.tasks.claims.Alone.forward", "return x", "return x.cumsum(-2)"),
    ],
    "choosing_on_the_test_set_deceives": (
        "course.tasks.claims.best_words", "topk(count)", "topk(count, largest=False)",
    ),
    "exact_match_falls_with_the_length": (
        "tasks.exact_matches", ".all(-1)", ".double().mean(-1) > 0.9",
    ),
    "stopping_is_learned": [WITHOUT_TABLES, ("tasks.exact_matches", ".all(-1)", "[:, 0]")],
    "equal_models_differ": ("course.tasks.claims.means", ".mean(-1)", "[:, 0]"),
    "a_share_is_uncertain": (
        "course.tasks.claims.share", "is_right.double()", "is_right[:, :30].double()",
    ),
    "unit_values_show_the_weights": [
        ("kernels.relative.query_blocks", "key - query[:, None]", "query[:, None] - key"),
        ("dot_product.attention", "weights(q,", "weights(2 * q,"),
    ],
}  # fmt: skip
