"""For each claim of the chapter dot_product, mutants that it must notice."""

UNSCALED = ("dot_product.attention_weights", " / q.shape[-1] ** 0.5", "")
WITHOUT_TANH = ("dot_product.additive_weights", "torch.tanh", "")

FALSE_OF = {
    "one_word_waits_for_another": ("english.costs_of_hiding", "= False", "= True"),
    "rows_sum_to_one": (
        "dot_product.masked_softmax", "scores.softmax(dim=-1)", "scores.softmax(dim=-2)",
    ),
    "output_is_a_mean": ("dot_product.masked_softmax", "scores.softmax(dim=-1)", "scores"),
    "additive_holds_hidden_times_more": (
        "dot_product.additive_weights", "q[..., :, None, :] + k", "k",
    ),
    "dot_product_makes_fewer_numbers": [UNSCALED, WITHOUT_TANH],
    "variance_is_d_k": UNSCALED,
    "tokens_attend_to_themselves": UNSCALED,
    "additive_scores_are_bounded": WITHOUT_TANH,
    "one_key_takes_all_unscaled": UNSCALED,
    "jacobian_collapses_unscaled": UNSCALED,
    "most_rows_pass_no_gradient": UNSCALED,
    "aligned_scores_outgrow_the_root": [
        UNSCALED, ("dot_product.attention_weights", " ** 0.5", ""),
    ],
    "qk_norm_bounds_the_scores": [
        UNSCALED, ("course.dot_product.claims.torch.rms_norm", lambda x, shape: x),
    ],
    "finite_fill_is_not_enough": ("dot_product.masked_softmax", ".masked_fill(~mask, 0.0)", ""),
    "future_has_no_gradient": ("dot_product.attention", "(q, k, mask)", "(q, k)"),
    "operations_are_n_m_d": UNSCALED,
    "cost_is_quadratic": (
        "dot_product.attention", "attention_weights(q, k, mask) @ v", "q @ (k.mT @ v)",
    ),
}  # fmt: skip
