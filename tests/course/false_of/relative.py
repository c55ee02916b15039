"""For each claim of the chapter relative, mutants that it must notice."""

BLOCKS = "kernels.relative.query_blocks"
GATHER = "relative.relative_attention_gather"
VECTOR_PER_PAIR = (GATHER, "by_row.gather(-1, index)", "(a_k[index] @ q[..., None]).squeeze(-1)")
NO_OFFSET = ("position - position[:, None]", "position * position[:, None]")
SQUARED = ("relative.rope", "positions[..., None]", "positions[..., None] ** 2")
ONE_BASE = ("relative.rope", "base ** (", "1e4 ** (")
ONE_SCALE = ("relative.rope", " / scale", "")

FALSE_OF = {
    "heads_differ_in_what_the_offset_explains": (
        "course.relative.claims.explained_share", "mean(-2).square()", "square().mean(-2)",
    ),
    "all_forms_are_one": [
        (GATHER, "by_row.gather", "by_row.flip(-1).gather"),
        ("kernels.relative.add_by_row", "x[..., end_key:] += by_row[..., -1:]", "pass"),
    ],
    "the_end_rows_serve_most_pairs": [
        ("relative.relative_index", "clamp(-max_distance, ", "clamp(-max_distance, -1 + "),
        # right at 1,000 tokens alone
        (
            "relative.relative_index", "(n, device=device)",
            "(n, device=device).clamp(min=int(n < 1000))",
        ),
    ],
    "order_beyond_max_distance_is_lost": (BLOCKS, "key - query[:, None]", "key + query[:, None]"),
    "a_keys_table_can_point_to_the_token_before": (
        BLOCKS, "key - query[:, None]", "query[:, None] - key",
    ),
    "only_differences_of_rows_count": ("relative.relative_attention", "z + shares @ a_v", "z"),
    "only_two_forms_hold_a_vector_per_pair": VECTOR_PER_PAIR,
    "blocks_hold_no_scores": (BLOCKS, "min(BLOCK, n)", "n"),
    "the_tables_cost_few_operations": VECTOR_PER_PAIR,
    "the_skew_looks_up_without_an_index": ("relative.causal_skew", "tril", "triu"),
    "the_family_sees_offsets_alone": [
        ("relative.relative_index", *NO_OFFSET),
        ("relative.t5_buckets", *NO_OFFSET),
        ("relative.alibi_bias", *NO_OFFSET),
        ("relative.skew", "moved.unflatten(-1, (n, offsets))", "x"),
        SQUARED,
    ],
    "rope_turns_and_keeps_lengths": [
        SQUARED, ("relative.rope", "even * sin + odd * cos", "even * sin - odd * cos"),
    ],
    "rope_fades_for_keys_like_the_query": [
        ONE_BASE, ("relative.rope", "angle = positions", "angle = 0 * positions"),
    ],
    "interpolation_misses_the_token_before": [ONE_SCALE, ONE_BASE],
    "a_score_beyond_training_comes_back": [
        ONE_SCALE, ("relative.rope", "positions[..., None]", "positions[..., None].clamp(max=255)"),
    ],
}  # fmt: skip
