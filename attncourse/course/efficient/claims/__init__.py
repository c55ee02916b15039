"""The claims of the chapter efficient."""

from attncourse.course.efficient.claims.approximate import (
    each_step_cubes_what_is_missing,
    features_are_right_on_average,
    few_layers_reach_everything,
    large_scores_need_more_features,
    low_rank_is_a_matter_of_scores,
    low_rank_is_not_enough,
    mixtures_and_landmarks_come_closer,
    more_rounds_come_closer,
    none_is_best_for_all,
    pairs_grow_with_the_length,
    tradeoff,
    trained_heads_are_sparse_and_not_of_low_rank,
    trained_tradeoff,
)
from attncourse.course.efficient.claims.exact import (
    a_latent_serves_all_heads,
    blocks_are_exact,
    blocks_come_in_any_order,
    blocks_save_memory_not_operations,
    decoding_moves_a_byte_for_each_operation,
    four_bits_want_a_scale_per_channel,
    operations_per_byte,
    sharing_saves_bytes_not_operations,
)

# in the order of the page
ORDER = (
    blocks_are_exact,
    blocks_come_in_any_order,
    blocks_save_memory_not_operations,
    decoding_moves_a_byte_for_each_operation,
    sharing_saves_bytes_not_operations,
    a_latent_serves_all_heads,
    four_bits_want_a_scale_per_channel,
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
    trained_heads_are_sparse_and_not_of_low_rank,
)
# beside the claims, what others use
__all__ = [
    "ORDER",
    "operations_per_byte",
    "tradeoff",
    "trained_tradeoff",
]
