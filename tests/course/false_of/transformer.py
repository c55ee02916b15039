"""For each claim of the chapter transformer, a wrong function that it must notice."""

import torch

from attncourse import english
from attncourse.dot_product import attention
from attncourse.positional import SinusoidalEncoding
from attncourse.transformer import (
    DecoderBlock,
    Decoding,
    EncoderBlock,
    FeedForward,
    GroupedAttention,
    KeyValueCache,
    PostNorm,
    PreNorm,
    beam_search,
    sample,
)

attend_with_cache, decoding_step = KeyValueCache.attend, Decoding.step
NEXT_PROBABILITIES = english.next_probabilities_by_block


class Doubled(PreNorm):
    """Adds twice the output of its part."""

    def forward(self, x, *arguments, **options):
        return x + 2 * self.part(self.norm(x), *arguments, **options)


class CrossLast(DecoderBlock):
    """Attends to the source after the feed-forward network."""

    def forward(self, x, memory, mask=None, memory_mask=None, cache=None):
        x = self.feed_forward(self.attention(x, mask=mask, cache=cache))
        return self.cross_attention(x, memory, memory_mask)


class Rectified(GroupedAttention):
    """Keeps no negative number."""

    def forward(self, x, context=None, mask=None, cache=None):
        return super().forward(x, context, mask, cache).relu()


class Nowhere(SinusoidalEncoding):
    """Adds nothing."""

    def forward(self, x, start=0):
        return x


class Restarting(SinusoidalEncoding):
    """Begins at position 0 with each piece."""

    def forward(self, x, start=0):
        return super().forward(x)


def attend_to_new_keys(self, attend, q, k, v, mask=None):
    """Attends to the new keys alone and keeps none."""
    return attend(q, k, v, mask=mask)


def attend_to_copies(self, attend, q, k, v, mask=None):
    """Keeps a copy of the shared keys and values for each head."""
    times = q.shape[-3] // k.shape[-3]
    return attend_with_cache(
        self, attend, q, k.repeat_interleave(times, -3), v.repeat_interleave(times, -3)
    )


def step_twice(self, tokens):
    """Feeds each token twice."""
    decoding_step(self, tokens)
    return decoding_step(self, tokens)


BLOCKS, SHARED, WRITING = (
    f"attncourse.course.transformer.claims.{page}" for page in ("blocks", "shared", "writing")
)
CACHE = "attncourse.transformer.cache.KeyValueCache.attend"
# each claim with a wrong part, or a wrong helper of the page, that it must notice
FALSE_OF = {
    "one_block_brings_the_word": (
        "attncourse.english.next_probabilities_by_block",
        lambda *arguments: NEXT_PROBABILITIES(*arguments).flip(0),
    ),
    "stream_is_a_sum": (f"{BLOCKS}.PreNorm", PostNorm),
    "depth_needs_skips_and_norms": [(f"{BLOCKS}.NoSkip", PreNorm), (f"{BLOCKS}.NoNorm", PreNorm)],
    "depth_shrinks_pre_norm_gradients": (f"{BLOCKS}.PostNorm", PreNorm),
    "feed_forward_multiplies": [
        (f"{BLOCKS}.FeedForward", lambda d, d_ff: FeedForward(d, d_ff, torch.tanh)),
        (f"{BLOCKS}.GroupedAttention", Rectified),
    ],
    "blocks_equal_torch": [(f"{BLOCKS}.PreNorm", Doubled), (f"{BLOCKS}.DecoderBlock", CrossLast)],
    "feed_forward_holds_most_parameters": (
        f"{BLOCKS}.EncoderBlock",
        lambda d, heads, d_ff: EncoderBlock(d, heads, d_ff // 2),
    ),
    "attention_overtakes": (f"{BLOCKS}.operations", lambda n, d: (4 * n * n * d, 16 * n * d * d)),
    "each_path_is_needed": [
        (f"{BLOCKS}.zero_heads", attention),
        (f"{SHARED}.SinusoidalEncoding", Nowhere),
    ],
    "prefix_is_enough": (f"{SHARED}.Causal", lambda: attention),
    "targets_are_shifted": (
        f"{WRITING}.generate",
        lambda decoding, prompt, tokens: prompt[:, -1:].expand(-1, tokens),
    ),
    "caches_change_nothing": [
        (CACHE, attend_to_new_keys),
        (f"{SHARED}.SinusoidalEncoding", Restarting),
    ],
    "a_step_costs_one_row": ("attncourse.transformer.stacks.Decoding.step", step_twice),
    "cache_grows_with_the_text": (CACHE, attend_to_copies),
    "temperature_and_top_k": (
        f"{WRITING}.sample",
        lambda scores, g, temperature=1.0, top_k=None: sample(scores, g, 1 / temperature, top_k),
    ),
    "a_beam_finds_a_likelier_text": (
        f"{WRITING}.beam_search",
        lambda *arguments, width, **options: beam_search(*arguments, width=1, **options),
    ),
    "a_penalty_helps_longer_texts": (
        "attncourse.transformer.generation.penalty",
        lambda length, power: torch.ones_like(length),
    ),
}
