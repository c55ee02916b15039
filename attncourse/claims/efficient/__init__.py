"""The claims of the chapter efficient."""

# ruff: noqa: F401, I001
# the list of claims follows this order, which is the chapter's
from attncourse.claims.efficient.exact import (
    blocks_are_exact,
    blocks_come_in_any_order,
    blocks_save_memory_not_operations,
    decoding_moves_a_byte_for_each_operation,
    sharing_saves_bytes_not_operations,
    a_latent_serves_all_heads,
    four_bits_want_a_scale_per_channel,
    operations_per_byte,
)
from attncourse.claims.efficient.approximate import (
    pairs_grow_with_the_length,
    few_layers_reach_everything,
    more_rounds_come_closer,
    low_rank_is_a_matter_of_scores,
    mixtures_and_landmarks_come_closer,
    low_rank_is_not_enough,
    each_step_cubes_what_is_missing,
    features_are_right_on_average,
    large_scores_need_more_features,
    none_is_best_for_all,
    tradeoff,
)
