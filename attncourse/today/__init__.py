r"""Attention since 2024 (chapter: today)."""

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
    "latent_attention",
    "latent_attention_step",
    "latent_cache_bytes",
    "state_bytes",
]
