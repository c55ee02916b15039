r"""Attention in the models of 2024 to 2026 (chapter: today).

Keys and values made from one latent vector a token (`latent`); keys that an indexer chooses
(`selected`); one row for several tokens (`pooled`); a state that is corrected and fades (`delta`);
an output that passes through a gate (`gated`):

$$q_i \cdot W_K c_j = (W_K^\top q_i) \cdot c_j, \qquad
I_{ts} = \sum_h w_{th}\, \mathrm{ReLU}(q^I_{th} \cdot k^I_s), \qquad
c_b = \sum_{j \in b} \mathrm{softmax}_{j \in b}(Z_j + B)_j \odot x_j$$

$$S_i = (I - \beta_i k_i k_i^\top)\, \mathrm{diag}(\alpha_i)\, S_{i-1} + \beta_i k_i v_i^\top,
\qquad z'_i = \sigma(W_g x_i) \odot z_i$$

`blocks`, `sharing` and `residual` go deeper; `layers` puts the mechanisms where a GPT's attention
stands, each with a state to decode with.
Source: the papers named in each module.
"""

from attncourse.today.blocks import block_attention, block_mask, three_branches
from attncourse.today.delta import (
    delta_attention_chunkwise,
    delta_attention_recurrent,
    delta_attention_step,
)
from attncourse.today.gated import (
    first_token_weight,
    gated_output,
    sink_attention,
    sink_weights,
)
from attncourse.today.latent import (
    absorbed_latent_attention,
    latent_attention,
    latent_attention_step,
    latent_cache_bytes,
)
from attncourse.today.layers import (
    CausalLayer,
    ChosenPooledAttention,
    DeltaAttention,
    GatedAttention,
    Indexer,
    LatentAttention,
    PooledAttention,
    SelectedAttention,
    auxiliary_loss,
    replace_attention,
)
from attncourse.today.pooled import (
    mask_with_blocks,
    pool_rows,
    pool_step,
    pooled_attention,
    pooled_attention_step,
    pooled_mask,
)
from attncourse.today.residual import doubly_stochastic, hyper_connection
from attncourse.today.selected import (
    choose_keys,
    index_scores,
    indexer_loss,
    selected_attention,
    selected_attention_step,
    selected_mask,
)
from attncourse.today.sharing import key_value_attention, layers_with_keys
from attncourse.today.state import append_row, state_bytes

__all__ = [
    "CausalLayer",
    "ChosenPooledAttention",
    "DeltaAttention",
    "GatedAttention",
    "Indexer",
    "LatentAttention",
    "PooledAttention",
    "SelectedAttention",
    "absorbed_latent_attention",
    "append_row",
    "auxiliary_loss",
    "block_attention",
    "block_mask",
    "choose_keys",
    "delta_attention_chunkwise",
    "delta_attention_recurrent",
    "delta_attention_step",
    "doubly_stochastic",
    "first_token_weight",
    "gated_output",
    "hyper_connection",
    "index_scores",
    "indexer_loss",
    "key_value_attention",
    "latent_attention",
    "latent_attention_step",
    "latent_cache_bytes",
    "layers_with_keys",
    "mask_with_blocks",
    "pool_rows",
    "pool_step",
    "pooled_attention",
    "pooled_attention_step",
    "pooled_mask",
    "replace_attention",
    "selected_attention",
    "selected_attention_step",
    "selected_mask",
    "sink_attention",
    "sink_weights",
    "state_bytes",
    "three_branches",
]
