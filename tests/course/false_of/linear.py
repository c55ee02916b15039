"""For each claim of the chapter linear, mutants that it must notice."""

import torch

from attncourse.linear import linear_attention_step

BY_STATE = "safe_divide(phi_q @ S, phi_q @ z[..., None])"
IN_PAIRS = (
    "linear.linear_attention", BY_STATE,
    "linear_attention_parallel(q, k, v, causal, mask, feature_map)",
)  # fmt: skip
CHUNKS = "slice(start, start + CHUNK) for start in range(0, q.shape[1], CHUNK)"


def growing_step(state, q, k, v):
    """A state that grows."""
    S, z = state
    _, out = linear_attention_step((S[..., : k.shape[-1], :], z), q, k, v)
    return (torch.cat([S, v[..., None, :]], dim=-2), z), out


FALSE_OF = {
    "a_sum_forgets_less_than_gates": (
        "english.model_or_lstm",
        'lstm(device) if name == "lstm" else model(name, device)',
        'model("linear", device) if name == "lstm" else lstm(device)',
    ),
    "all_forms_are_one": ("linear.linear_attention_step", "S + phi_k", "S - phi_k"),
    "order_of_the_product_decides": IN_PAIRS,
    "weights_may_not_be_negative": (
        "kernels.linear.ChunkwiseLinearAttention.forward", ".add_((q_c * z).sum(-1, True))", "",
    ),
    "chunks_hold_no_large_tensor": ("kernels.linear.chunk_slices", CHUNKS, "slice(0, q.shape[1])"),
    "chunks_keep_the_least": (
        "kernels.linear.chunk_slices", CHUNKS,
        "slice(start, start + 1) for start in range(q.shape[1])",
    ),
    "a_token_costs_the_same_everywhere": (
        "course.linear.claims.linear_attention_step", growing_step,
    ),
    "break_even_is_early": IN_PAIRS,
    "the_past_is_a_sum": ("linear.linear_attention_step", "S = S +", "S = 0.9 * S +"),
    "long_sums_need_more_than_16_bits": (
        "linear.linear_attention_state", "phi_k.sum(-2)", "sum(phi_k.bfloat16().unbind(-2))",
    ),
    "a_state_recalls_only_so_much": (
        "linear.linear_attention", BY_STATE, "(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v",
    ),
    "positive_features_interfere": ("linear.feature_map", "return elu(x) + 1", "return x"),
    "gates_are_a_mask": ("linear.gated_write", "gate[..., :, None] * S", "S"),
    "the_delta_rule_corrects": ("linear.delta_write", " - (k[..., None, :] @ S).squeeze(-2)", ""),
    "features_choose_the_similarity": ("linear.taylor_features", " / 2**0.5", ""),
}  # fmt: skip
