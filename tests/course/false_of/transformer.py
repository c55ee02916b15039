"""For each claim of the chapter transformer, mutants that it must notice."""

SHARED = "course.transformer.claims.shared"
HALF_AS_WIDE = (
    "transformer.FeedForward.__init__",
    "nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)",
    "nn.Linear(d_model, d_ff // 2), nn.Linear(d_ff // 2, d_model)",
)

FALSE_OF = {
    "one_block_brings_the_word": (
        "english.next_probabilities_by_block", "for row in rows", "for row in rows[::-1]",
    ),
    "stream_is_a_sum": ("transformer.PreNorm.forward", "return x", "return self.norm(x)"),
    "depth_needs_skips_and_norms": [
        (f"{SHARED}.NoSkip.forward", "return", "return x +"),
        (f"{SHARED}.NoNorm.__init__", "self.norm = nn.Identity()", "pass"),
    ],
    "depth_shrinks_pre_norm_gradients": (
        "transformer.PostNorm.forward",
        "self.norm(x + self.dropout(self.part(x, *more, **named)))",
        "x + self.dropout(self.part(self.norm(x), *more, **named))",
    ),
    "feed_forward_multiplies": [
        ("transformer.FeedForward.forward", "self.activation(self.up(x))", "self.up(x).tanh()"),
        ("transformer.GroupedAttention.forward", "mask=mask)))", "mask=mask))).relu()"),
    ],
    "blocks_equal_torch": [
        ("transformer.PreNorm.forward", "x + self.dropout", "x + 2 * self.dropout"),
        (
            "transformer.DecoderBlock.forward",
            "self.feed_forward(self.cross_attention(x, memory, memory_mask))",
            "self.cross_attention(self.feed_forward(x), memory, memory_mask)",
        ),
    ],
    "feed_forward_holds_most_parameters": HALF_AS_WIDE,
    "attention_overtakes": HALF_AS_WIDE,
    "each_path_is_needed": [
        (f"{SHARED}.zero_heads", "torch.zeros_like(q)", "attention(q, k, v, mask)"),
        ("positional.SinusoidalEncoding.forward", "x + sinusoids", "x + 0 * sinusoids"),
    ],
    "prefix_is_enough": (
        "transformer.Causal.forward", "earlier if mask is None else mask & earlier", "mask",
    ),
    "targets_are_shifted": [
        ("transformer.generate", "step(new)[:, -1]", "step(new)[:, 0]"),
        # enough steps to count on, and too few for a low loss
        ("course.transformer.claims.writing.train_to_count", "range(steps)", "range(steps // 2)"),
    ],
    "caches_change_nothing": [
        ("transformer.KeyValueCache.attend", "attend(q, self.k, self.v,", "attend(q, k, v,"),
        ("positional.SinusoidalEncoding.forward", "start=start", "start=0"),
    ],
    "a_step_costs_one_row": (
        "transformer.Decoding.step",
        "self.stack(x, caches=", "self.stack(self.stack(x, caches=self.caches), caches=",
    ),
    "cache_grows_with_the_text": (
        "transformer.GroupedAttention.forward",
        "q, k, v, mask)))", "q, k.expand_as(q), v.expand_as(q), mask)))",
    ),
    "temperature_and_top_k": ("transformer.sample", "inf) / temperature", "inf) * temperature"),
    "a_beam_finds_a_likelier_text": ("transformer.beam_search", "min(width, scores.shape[1])", "1"),
    "a_penalty_helps_longer_texts": ("transformer.generation.penalty", "** power", "** 0"),
}  # fmt: skip
