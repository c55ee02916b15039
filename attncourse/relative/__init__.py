r"""Relative position representations (chapter: relative).

$$s_{ij} = \frac{q_i^\top (k_j + a^K_{ij})}{\sqrt{d}}, \qquad
z_i = \sum_j w_{ij} \, (v_j + a^V_{ij}), \qquad
a_{ij} = \text{row } \mathrm{clip}(j - i, -\kappa, \kappa) + \kappa \text{ of a table}$$

Source: Shaw et al. (2018), eq. 3-5. The skew: Huang et al. (2019), section 3.4.1.
"""

from attncourse.relative.biases import alibi_bias, t5_buckets
from attncourse.relative.rotary import rope
from attncourse.relative.shaw import (
    RelativeAttention,
    both_tables,
    relative_attention,
    relative_attention_dense,
    relative_attention_gather,
    relative_attention_loops,
    relative_index,
)
from attncourse.relative.skewing import causal_skew, sinusoidal_relative, skew

__all__ = [
    "RelativeAttention",
    "alibi_bias",
    "both_tables",
    "causal_skew",
    "relative_attention",
    "relative_attention_dense",
    "relative_attention_gather",
    "relative_attention_loops",
    "relative_index",
    "rope",
    "sinusoidal_relative",
    "skew",
    "t5_buckets",
]
