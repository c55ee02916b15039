"""The claims of the chapter transformer."""

from attncourse.course.transformer.claims.blocks import (
    attention_overtakes,
    blocks_equal_torch,
    depth_needs_skips_and_norms,
    depth_shrinks_pre_norm_gradients,
    each_path_is_needed,
    feed_forward_holds_most_parameters,
    feed_forward_multiplies,
    one_block_brings_the_word,
    operations,
    prefix_is_enough,
    stream_is_a_sum,
    than_by_block,
)
from attncourse.course.transformer.claims.shared import (
    NoNorm,
    NoSkip,
    gradients,
    random_module,
    stack,
)
from attncourse.course.transformer.claims.writing import (
    a_beam_finds_a_likelier_text,
    a_penalty_helps_longer_texts,
    a_step_costs_one_row,
    cache_grows_with_the_text,
    caches_change_nothing,
    targets_are_shifted,
    temperature_and_top_k,
)

# in the order of the page
ORDER = (
    one_block_brings_the_word,
    stream_is_a_sum,
    depth_needs_skips_and_norms,
    depth_shrinks_pre_norm_gradients,
    feed_forward_multiplies,
    blocks_equal_torch,
    feed_forward_holds_most_parameters,
    attention_overtakes,
    each_path_is_needed,
    prefix_is_enough,
    targets_are_shifted,
    caches_change_nothing,
    a_step_costs_one_row,
    cache_grows_with_the_text,
    temperature_and_top_k,
    a_beam_finds_a_likelier_text,
    a_penalty_helps_longer_texts,
)
# beside the claims, what others use
__all__ = [
    "ORDER",
    "NoNorm",
    "NoSkip",
    "gradients",
    "operations",
    "random_module",
    "stack",
    "than_by_block",
]
