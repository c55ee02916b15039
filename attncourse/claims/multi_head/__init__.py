"""The claims of the chapter multi_head."""

# ruff: noqa: F401, I001
# the list of claims follows this order, which is the chapter's
from attncourse.claims.multi_head.heads import (
    layer_cost,
    normal64,
    random_layer,
    relative_error,
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
)
from attncourse.claims.multi_head.stacks import (
    known,
    mlp,
    stack,
    unlike,
    stream_remembers_its_tokens,
    attention_alone_collapses,
    attention_cubes_the_distance,
    skips_slow_the_collapse,
    large_weights_collapse_in_spite_of_skips,
    norm_before_the_layer_slows_the_collapse,
)
from attncourse.claims.multi_head.heads import (
    parameters_depend_on_the_width_alone,
    heads_cost_no_operations,
)
