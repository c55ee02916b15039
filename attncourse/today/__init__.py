r"""Attention since 2024 (chapter: today)."""

from attncourse.today.delta import (
    delta_attention_chunkwise,
    delta_attention_recurrent,
    delta_attention_step,
)
from attncourse.today.latent import (
    absorbed_latent_attention,
    latent_attention,
    latent_attention_step,
    latent_cache_bytes,
)
from attncourse.today.state import append_row, state_bytes

__all__ = [
    "absorbed_latent_attention",
    "append_row",
    "delta_attention_chunkwise",
    "delta_attention_recurrent",
    "delta_attention_step",
    "latent_attention",
    "latent_attention_step",
    "latent_cache_bytes",
    "state_bytes",
]
