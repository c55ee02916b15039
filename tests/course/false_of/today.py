"""For each claim of the chapter today, mutants that it must notice."""

FALSE_OF = {
    "absorbed_is_plain": (
        "today.latent.absorbed_latent_attention",
        "latent_weights(scores, q.shape[-1]", "latent_weights(scores, latents.shape[-1]",
    ),
    "a_latent_is_two_groups": (
        "today.latent.latent_cache_bytes", "(d_c + d_r)", "2 * (d_c + d_r)",
    ),
    "selection_saves_work_not_memory": (
        "today.selected.choose_keys", "[..., :count]", "",
    ),
    "an_indexer_learns_from_the_heads": [
        ("today.selected.indexer_loss", "weights.detach()", "weights"),
        ("today.selected.choose_keys", "descending=True", "descending=False"),
    ],
    "pooled_keys_are_causal": [
        ("today.pooled.pooled_mask", "< (t + 1) // size", "<= (t + 1) // size"),
        ("today.pooled.pooled_mask", "(offset >= 0) & ", ""),
    ],
    "a_pooled_cache_grows_slowly": (
        "today.pooled.pooled_attention_step", "[..., -width:, :]", "",
    ),
    "chunks_are_the_recurrence": (
        "today.delta.delta_attention_chunkwise", "(since_start * k_c) @ S", "k_c @ S",
    ),
    "a_channel_can_keep_while_another_forgets": (
        "today.delta.delta_attention_step",
        "gate[..., :, None] * S", "gate.mean(-1)[..., None, None] * S",
    ),
    "a_sink_is_a_gate_made_by_scores": (
        "today.gated.sink_weights",
        "torch.cat([scores, sinks], dim=-1).softmax(dim=-1)[..., :-1]", "scores.softmax(dim=-1)",
    ),
    "a_head_can_say_nothing": (
        "today.gated.sink_weights",
        "torch.cat([scores, sinks], dim=-1).softmax(dim=-1)[..., :-1]", "scores.softmax(dim=-1)",
    ),
    "a_mean_hides_a_single_key": (
        "today.blocks.block_mask", "members.to(k.dtype) @ k", "-members.to(k.dtype) @ k",
    ),
    "pooled_weights_learn_with_the_model": (
        "today.blocks.three_branches", "gates.sigmoid()", "torch.ones_like(gates)",
    ),
    "a_turned_back_output_depends_on_offsets": (
        "today.sharing.key_value_attention", "-positions", "0 * positions",
    ),
    "doubly_stochastic_streams_do_not_grow": (
        "today.residual.doubly_stochastic", "scores.log_softmax(-2).log_softmax(-1)", "scores",
    ),
}  # fmt: skip
