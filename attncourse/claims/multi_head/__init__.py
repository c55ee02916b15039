"""The claims of the chapter multi_head."""

from attncourse.claims.multi_head.heads import (
    a_head_is_two_products,
    equals_torch,
    every_head_reads_the_whole_token,
    head_has_rank_d_v,
    heads_cost_no_operations,
    heads_have_no_order,
    layer_cost,
    layer_is_a_sum_over_heads,
    normal64,
    one_head_cannot_subtract,
    other_weights_give_the_same_output,
    parameters_depend_on_the_width_alone,
    random_layer,
    relative_error,
    second_map_folds_into_the_first,
    w_o_mixes_the_heads,
)
from attncourse.claims.multi_head.stacks import (
    attention_alone_collapses,
    attention_cubes_the_distance,
    known,
    large_weights_collapse_in_spite_of_skips,
    mlp,
    norm_before_the_layer_slows_the_collapse,
    skips_slow_the_collapse,
    stack,
    stream_remembers_its_tokens,
    unlike,
)

# in the order of the page
ORDER = (
    one_head_cannot_subtract,
    equals_torch,
    second_map_folds_into_the_first,
    a_head_is_two_products,
    layer_is_a_sum_over_heads,
    head_has_rank_d_v,
    w_o_mixes_the_heads,
    every_head_reads_the_whole_token,
    heads_have_no_order,
    other_weights_give_the_same_output,
    stream_remembers_its_tokens,
    attention_alone_collapses,
    attention_cubes_the_distance,
    skips_slow_the_collapse,
    large_weights_collapse_in_spite_of_skips,
    norm_before_the_layer_slows_the_collapse,
    parameters_depend_on_the_width_alone,
    heads_cost_no_operations,
)
# beside the claims, what others use
__all__ = [
    "ORDER",
    "known",
    "layer_cost",
    "mlp",
    "normal64",
    "random_layer",
    "relative_error",
    "stack",
    "unlike",
]
