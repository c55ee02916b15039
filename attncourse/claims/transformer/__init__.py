"""The claims of the chapter transformer."""

# ruff: noqa: F401, I001
# the list of claims follows this order, which is the chapter's
from attncourse.claims.transformer.shared import (
    NoNorm,
    NoSkip,
    drawn,
    gradients,
    stack,
)
from attncourse.claims.transformer.blocks import (
    operations,
    stream_is_a_sum,
    depth_needs_skips_and_norms,
    depth_shrinks_pre_norm_gradients,
    feed_forward_multiplies,
    blocks_equal_torch,
    feed_forward_holds_most_parameters,
    attention_overtakes,
    each_path_is_needed,
    prefix_is_enough,
)
from attncourse.claims.transformer.writing import (
    targets_are_shifted,
    caches_change_nothing,
    a_step_costs_one_row,
    cache_grows_with_the_text,
    temperature_and_top_k,
    a_beam_finds_a_likelier_text,
    a_penalty_helps_longer_texts,
)
