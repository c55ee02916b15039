"""Small layers of the library transformers with random weights, and their outputs, for tests.

    PYTHONPATH=. python benchmarks/today_numbers.py   # writes tests/attncourse/today_numbers.npz

Latent attention is that of DeepSeek-V2, the indexer that of DeepSeek-V3.2, pooled keys with sinks
and a row that is key and value those of DeepSeek-V4, the delta rules those of Qwen3-Next and of
Kimi Linear. Where the library can, they are computed in float64.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, normalize
from transformers import DeepseekV2Config, DeepseekV4Config, DeepseekV32Config
from transformers.models.deepseek_v2.modeling_deepseek_v2 import (
    DeepseekV2Attention,
    DeepseekV2RotaryEmbedding,
)
from transformers.models.deepseek_v4.modeling_deepseek_v4 import (
    DeepseekV4Attention,
    DeepseekV4HyperConnection,
    DeepseekV4RotaryEmbedding,
)
from transformers.models.deepseek_v32.modeling_deepseek_v32 import DeepseekV32Indexer
from transformers.models.kimi_linear.modeling_kimi_linear import recurrent_kimi_delta_attention
from transformers.models.qwen3_next.modeling_qwen3_next import torch_recurrent_gated_delta_rule

NUMBERS = Path(__file__).parents[1] / "tests" / "attncourse" / "today_numbers.npz"
BATCH, LENGTH, D_MODEL, HEADS = 2, 11, 12, 2


def random_weights(module: nn.Module, g: torch.Generator) -> nn.Module:
    """The module in float64, with random weights."""
    for p in module.parameters():
        p.data = torch.randn(p.shape, generator=g, dtype=torch.float64) / 2
    return module.double().eval()


def numbers(name: str, module: nn.Module | None, **tensors: Tensor) -> dict[str, np.ndarray]:
    """A layer's weights, inputs and outputs, by `layer/name`."""
    weights = {} if module is None else module.state_dict()
    return {f"{name}/{key}": x.numpy() for key, x in (weights | tensors).items()}


def causal() -> Tensor:
    """Numbers that are added to scores: -inf at later keys."""
    later = torch.full((LENGTH, LENGTH), -torch.inf, dtype=torch.float64).triu(1)
    return later.expand(BATCH, 1, LENGTH, LENGTH)


def latent(g: torch.Generator) -> dict[str, np.ndarray]:
    sizes = {"qk_nope_head_dim": 5, "qk_rope_head_dim": 4, "kv_lora_rank": 6, "v_head_dim": 3}
    heads = {"num_attention_heads": HEADS, "num_key_value_heads": HEADS}
    config = DeepseekV2Config(hidden_size=D_MODEL, q_lora_rank=7, **sizes, **heads)
    config._attn_implementation = "eager"
    layer = random_weights(DeepseekV2Attention(config, 0), g)
    x = torch.randn(BATCH, LENGTH, D_MODEL, generator=g, dtype=torch.float64)
    positions = DeepseekV2RotaryEmbedding(config)(x, torch.arange(LENGTH)[None])
    out, _ = layer(x, causal(), position_embeddings=positions)
    return numbers("latent", layer, x=x, out=out)


def indexer(g: torch.Generator) -> dict[str, np.ndarray]:
    sizes = {"index_n_heads": 5, "index_head_dim": 6, "index_topk": 3, "qk_rope_head_dim": 4}
    config = DeepseekV32Config(hidden_size=D_MODEL, q_lora_rank=7, **sizes)
    layer = random_weights(DeepseekV32Indexer(config, 0), g)
    x = torch.randn(BATCH, LENGTH, D_MODEL, generator=g, dtype=torch.float64)
    q_latent = torch.randn(BATCH, LENGTH, 7, generator=g, dtype=torch.float64)
    # at angle 0 nothing is rotated
    still = torch.ones(1, LENGTH, 4).double(), torch.zeros(1, LENGTH, 4).double()
    chosen = layer(x, q_latent, still, causal()[0], torch.arange(LENGTH)[None])
    return numbers("indexer", layer, x=x, q_latent=q_latent, chosen=chosen)


def pooled(g: torch.Generator) -> dict[str, np.ndarray]:
    rotations = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
    config = DeepseekV4Config(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        head_dim=8,
        q_lora_rank=7,
        o_groups=1,
        o_lora_rank=5,
        sliding_window=4,
        num_hidden_layers=1,
        layer_types=["heavily_compressed_attention"],
        compress_rates={"compressed_sparse_attention": 2, "heavily_compressed_attention": 3},
        partial_rotary_factor=0.5,
        rope_parameters={"main": rotations, "compress": rotations},
    )
    config._attn_implementation = "eager"
    layer = random_weights(DeepseekV4Attention(config, 0), g)
    x = torch.randn(BATCH, LENGTH, D_MODEL, generator=g, dtype=torch.float64)
    positions = torch.arange(LENGTH).expand(BATCH, LENGTH)
    turns = DeepseekV4RotaryEmbedding(config)(x, positions, layer_type="compress")
    window = causal() + torch.full_like(causal(), -torch.inf).tril(-config.sliding_window)
    out, _ = layer(x, {"compress": turns}, positions, window)
    return numbers("pooled", layer, x=x, out=out)


def delta(g: torch.Generator) -> dict[str, np.ndarray]:
    q, k, v = (torch.randn(BATCH, LENGTH, HEADS, d, generator=g) for d in (5, 5, 3))
    k = normalize(k, dim=-1)
    beta = torch.rand(BATCH, LENGTH, HEADS, generator=g)
    log_gate = logsigmoid(torch.randn(BATCH, LENGTH, HEADS, 5, generator=g))
    one, S_one = torch_recurrent_gated_delta_rule(q, k, v, log_gate[..., 0], beta, None, True)
    each, S_each = recurrent_kimi_delta_attention(q, k, v, log_gate, beta, None, True)
    inputs = {"q": q, "k": k, "v": v, "beta": beta, "log_gate": log_gate}
    outputs = {"one": one, "S_one": S_one, "each": each, "S_each": S_each}
    return numbers("delta", None, **inputs, **outputs)


def streams(g: torch.Generator) -> dict[str, np.ndarray]:
    config = DeepseekV4Config(hidden_size=D_MODEL, hc_mult=3, num_hidden_layers=1)
    layer = random_weights(DeepseekV4HyperConnection(config), g)
    x = torch.randn(BATCH, LENGTH, 3, D_MODEL, generator=g)
    post, mix, collapsed = layer(x)
    return numbers("streams", layer, x=x, post=post, mix=mix, collapsed=collapsed)


def main() -> None:
    g = torch.Generator().manual_seed(0)
    with torch.no_grad():
        parts = [make(g) for make in (latent, indexer, pooled, delta, streams)]
    np.savez_compressed(NUMBERS, **{key: x for part in parts for key, x in part.items()})
    print(f"transformers {version('transformers')}: {NUMBERS.stat().st_size} bytes")


if __name__ == "__main__":
    main()
