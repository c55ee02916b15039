"""For each claim of the chapter efficient, mutants that it must notice."""

FALSE_OF = {
    "trained_heads_are_sparse_and_not_of_low_rank": (
        "dot_product.attention_weights", "q @ k.mT", "0 * q @ k.mT",
    ),
    "blocks_are_exact": ("efficient.flash.block_scores", "ahead + 1", "ahead"),
    "blocks_come_in_any_order": ("efficient.online_softmax_update", "fade * z", "z"),
    "blocks_save_memory_not_operations": (
        "efficient.flash_attention", "slices(n, block)", "slices(n, n)",
    ),
    "decoding_moves_a_byte_for_each_operation": (
        "efficient.grouped_query_attention",
        "attention(stacked, k, v, mask).unflatten(-2, (-1, n)).flatten(-4, -3)",
        "attention(q, *(x.repeat_interleave(heads // groups, -3) for x in (k, v)))",
    ),
    "sharing_saves_bytes_not_operations": (
        "efficient.grouped_query_attention", "(groups, -1))", "(-1, groups)).transpose(-4, -3)",
    ),
    "a_latent_serves_all_heads": ("dot_product.attention_weights", " / q.shape[-1] ** 0.5", ""),
    "four_bits_want_a_scale_per_channel": (
        "course.efficient.claims.exact.rounded", "dim=dim", "dim=-1",
    ),
    "pairs_grow_with_the_length": ("efficient.longformer_mask", "width // 2", "width"),
    "few_layers_reach_everything": ("efficient.longformer_mask", "= True", "= False"),
    "more_rounds_come_closer": ("efficient.lsh_attention", "shape = rounds", "shape = 1"),
    "low_rank_is_a_matter_of_scores": ("dot_product.attention_weights", " ** 0.5", ""),
    "mixtures_and_landmarks_come_closer": (
        "efficient.nystrom_attention", "segment_means(x, landmarks)", "segment_means(x, 8)",
    ),
    "low_rank_is_not_enough": [
        ("efficient.linformer_attention", "e @ k, f @ v", "k, v"),
        (
            "efficient.nystrom_attention",
            "attention_weights(q, few_k) @ (middle @ attention(few_q, k, v))", "attention(q, k, v)",
        ),
    ],
    # Newton's own iteration, which only squares the residual I - A Z
    "each_step_cubes_what_is_missing": (
        "efficient.iterative_pinv",
        "(13 * one - ay @ (15 * one - ay @ (7 * one - ay))) / 4", "(2 * one - ay)",
    ),
    "features_are_right_on_average": [
        # orthogonal, but not every rotation is as likely: the products are off by about 0.01
        ("efficient.orthogonal_random_matrix", ".sign()", ".sign().abs()"),
        (
            "efficient.orthogonal_random_matrix",
            "(turned * to_measure.norm(dim=-1, keepdim=True))", "to_measure",
        ),
        ("efficient.log_positive_features", " - x.square().sum(-1, keepdim=True) / 2", ""),
    ],
    "large_scores_need_more_features": ("efficient.log_positive_features", "sum(-1", "mean(-1"),
    "none_is_best_for_all": ("efficient.longformer_mask", "width // 2", "n"),
}  # fmt: skip
