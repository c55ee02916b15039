"""For each claim of the chapter linear, a wrong function that it must notice."""

import torch

from attncourse import english
from attncourse.dot_product import attention
from attncourse.linear import (
    feature_map,
    gated_write,
    linear_attention,
    linear_attention_parallel,
    linear_attention_state,
    linear_attention_step,
)

SHARED = "attncourse.course.linear.claims.shared"


def outputs_before_update(q, k, v, feature_map=feature_map):
    """Each token sees those before it, but not itself."""
    out = linear_attention(q, k, v, causal=True, feature_map=feature_map)
    return torch.cat([torch.zeros_like(out[..., :1, :]), out[..., :-1, :]], dim=-2)


def attention_without_total(q, k, v, causal=False, mask=None, feature_map=feature_map):
    return feature_map(q) @ (feature_map(k).mT @ v)


def parallel_attention(q, k, v, causal=False, mask=None, feature_map=feature_map):
    return linear_attention_parallel(q, k, v, causal, mask, feature_map)


def forgetting_step(state, q, k, v, feature_map=feature_map):
    """The state fades by a tenth at each step."""
    return linear_attention_step(tuple(0.9 * x for x in state), q, k, v, feature_map)


def state_in_16_bits(k, v, mask=None, feature_map=feature_map):
    total = torch.zeros_like(k[0])
    for vector in feature_map(k[:300]):
        total = total + vector
    return linear_attention_state(k, v, mask, feature_map)[0], total


def growing_step(state, q, k, v):
    """A state that grows."""
    S, z = state
    _, out = linear_attention_step((S[..., : k.shape[-1], :], z), q, k, v)
    return (torch.cat([S, v[..., None, :]], dim=-2), z), out


def faded_write(S, k, v, gate):
    """The gate fades the new token as well."""
    return gated_write(S + k[..., :, None] * v[..., None, :], 0 * k, v, gate)


def write_without_error(S, k, v, beta):
    """Adds the value itself, not its difference from the recalled value."""
    return gated_write(S, k, v, beta[..., None])


MODEL_OR_LSTM = english.model_or_lstm


def swapped_models(name, device=None):
    return MODEL_OR_LSTM({"linear": "lstm", "lstm": "linear"}[name], device)


FALSE_OF = {
    "a_sum_forgets_less_than_gates": ("attncourse.english.model_or_lstm", swapped_models),
    "all_forms_are_one": ("linear_attention_recurrent", outputs_before_update),
    "order_of_the_product_decides": ("linear_attention", parallel_attention),
    "weights_may_not_be_negative": ("linear_attention", attention_without_total),
    "chunks_hold_no_large_tensor": ("linear_attention", parallel_attention),
    "chunks_keep_the_least": ("linear_attention", parallel_attention),
    "a_token_costs_the_same_everywhere": ("linear_attention_step", growing_step),
    "break_even_is_early": ("linear_attention", parallel_attention),
    "the_past_is_a_sum": ("linear_attention_step", forgetting_step),
    "long_sums_need_more_than_16_bits": ("linear_attention_state", state_in_16_bits),
    "a_state_recalls_only_so_much": (
        f"{SHARED}.linear_attention",
        lambda q, k, v, feature_map=None: attention(q, k, v),
    ),
    "positive_features_interfere": ("feature_map", lambda x: x),
    "gates_are_a_mask": ("gated_write", faded_write),
    "the_delta_rule_corrects": [
        ("delta_write", write_without_error),
        (f"{SHARED}.delta_write", write_without_error),
    ],
    "features_choose_the_similarity": (
        "taylor_features",
        lambda x: torch.cat([torch.ones_like(x[..., :1]), 2 * x], dim=-1),
    ),
}
