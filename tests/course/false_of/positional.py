"""For each claim of the chapter positional, mutants that it must notice."""

SINES_ALONE = ("positional.sinusoids", "angle.cos()", "angle.sin()")
SUM_SO_FAR = ("dot_product.attention", "@ v", "@ v.cumsum(-2)")

FALSE_OF = {
    "a_trained_model_without_positions_sees_no_order": [
        SUM_SO_FAR, ("relative.rope", "angle = positions", "angle = 0 * positions"),
    ],
    "order_is_invisible": SUM_SO_FAR,
    "positions_make_order_visible": (
        "positional.SinusoidalEncoding.forward", "x + sinusoids", "x + 0 * sinusoids",
    ),
    "a_shift_is_a_rotation": (
        "positional.sinusoids",
        "stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)",
        "cat([angle.sin(), angle.cos()], dim=-1)",
    ),
    "products_depend_on_the_offset": SINES_ALONE,
    "a_head_finds_the_word_before": [
        SINES_ALONE, ("dot_product.attention_weights", "** 0.5", "** 2"),
    ],
    "projections_hide_the_offset": SINES_ALONE,
    "the_base_sets_the_range": [
        SINES_ALONE, ("course.positional.claims.products", "base ** (", "base * ("),
    ],
    "a_row_has_mean_square_one_half": SINES_ALONE,
    "a_table_learns_only_what_it_sees": (
        "positional.LearnedEncoding.forward", "+ self.table", "+ self.table.sum(0) + self.table",
    ),
    "an_mlp_drifts_beyond_training": (
        "positional.MLPEncoding.forward",
        "x + self", "x + sinusoids(x.shape[-2], self.d, x.device, start=start) + 0 * self",
    ),
    "the_causal_mask_leaks_position": ("dot_product.causal_mask", ".tril()", ""),
    "a_chain_is_the_sequence": (
        "positional.tree_distance", "place - place[:, None]", "place[:, None] - place",
    ),
    "tree_distance_is_a_distance": (
        "positional.tree_distance", "count[..., :, None] + count", "count[..., :, None] - count",
    ),
    "a_tree_does_not_know_the_order": (
        "positional.tree_depth", "ancestors(parents)", "ancestors(parents).tril()",
    ),
}  # fmt: skip
