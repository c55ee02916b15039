"""The chapter's functions give the numbers of the library transformers.

They are those of transformers 5.24.0, written by benchmarks/today_numbers.py. Parts of its layers
are computed in float32.
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import layer_norm, rms_norm

from attncourse import device
from attncourse.dot_product import causal_mask
from attncourse.multi_head import join_heads, split_heads
from attncourse.relative import rope
from attncourse.today import (
    absorbed_latent_attention,
    choose_keys,
    delta_attention_chunkwise,
    delta_attention_recurrent,
    delta_attention_step,
    doubly_stochastic,
    hyper_connection,
    index_scores,
    latent_attention,
    pool_rows,
    pooled_mask,
    sink_attention,
)

NUMBERS = Path(__file__).with_name("today_numbers.npz")
HEADS, LENGTH = 2, 11
# of parts in float32
CLOSE = {"atol": 2e-5, "rtol": 2e-5}


@pytest.fixture
def layer():
    """Gives the weights, inputs and outputs of a layer by name."""
    with np.load(NUMBERS) as file:
        arrays = {name: torch.from_numpy(file[name]).to(device()) for name in file}

    def by_name(kind):
        prefix = f"{kind}/"
        return {key.removeprefix(prefix): x for key, x in arrays.items() if key.startswith(prefix)}

    return by_name


def normed(x, weight=None):
    return rms_norm(x, x.shape[-1:], weight, eps=1e-6)


@pytest.mark.parametrize("form", [latent_attention, absorbed_latent_attention])
def test_latent_attention_is_that_of_deepseek_v2(form, layer):
    w = layer("latent")
    x, positions = w["x"], torch.arange(LENGTH, device=w["x"].device)
    q_latent = normed(x @ w["q_a_proj.weight"].mT, w["q_a_layernorm.weight"])
    q = split_heads(q_latent @ w["q_b_proj.weight"].mT, HEADS)
    q, q_rotary = q.split((5, 4), dim=-1)
    latents, k_rotary = (x @ w["kv_a_proj_with_mqa.weight"].mT).split((6, 4), dim=-1)
    latents = normed(latents, w["kv_a_layernorm.weight"])
    w_k, w_v = w["kv_b_proj.weight"].unflatten(0, (HEADS, -1)).mT.split((5, 3), dim=-1)
    rotary = rope(q_rotary, positions), rope(k_rotary, positions)
    z = form(q, latents, w_k, w_v, rotary, causal_mask(LENGTH, x.device))
    torch.testing.assert_close(join_heads(z) @ w["o_proj.weight"].mT, w["out"], **CLOSE)


def test_the_indexer_chooses_as_that_of_deepseek_v32(layer):
    w = layer("indexer")
    x = w["x"]
    q = split_heads(w["q_latent"] @ w["wq_b.weight"].mT, 5)
    k = layer_norm(x @ w["wk.weight"].mT, (6,), w["k_norm.weight"], w["k_norm.bias"], eps=1e-6)
    scores = index_scores(q, k, (x @ w["weights_proj.weight"].mT).mT)
    index = choose_keys(scores, 3, causal_mask(LENGTH, x.device))
    # the library does not mark keys that are left over where a query sees fewer
    seen = index >= 0
    assert seen[:, 2:].all()
    assert torch.equal(index[seen], w["chosen"].to(index.dtype)[seen])


def test_pooled_keys_with_sinks_are_those_of_deepseek_v4(layer):
    w = layer("pooled")
    x, positions = w["x"], torch.arange(LENGTH, device=w["x"].device)

    def turned(rows, at):
        """The second half of the columns, rotated."""
        still, moving = rows.chunk(2, dim=-1)
        return torch.cat([still, rope(moving, at)], dim=-1)

    q_latent = normed(x @ w["q_a_proj.weight"].mT, w["q_a_norm.weight"])
    q = turned(normed(split_heads(q_latent @ w["q_b_proj.weight"].mT, HEADS)), positions)
    recent = turned(normed(x @ w["kv_proj.weight"].mT, w["kv_norm.weight"]), positions)
    rows, scores = (x @ w[f"compressor.{part}_proj.weight"].mT for part in ("kv", "gate"))
    pooled = pool_rows(rows, scores, w["compressor.position_bias"])
    pooled = turned(normed(pooled, w["compressor.kv_norm.weight"]), 3 * positions[:3])
    rows = torch.cat([recent, pooled], dim=-2).unsqueeze(-3).expand(-1, HEADS, -1, -1)
    mask = pooled_mask(LENGTH, size=3, width=4, device=x.device)
    z = turned(sink_attention(q, rows, rows, w["sinks"], mask), -positions)
    out = join_heads(z) @ w["o_a_proj.weight"].mT @ w["o_b_proj.weight"].mT
    torch.testing.assert_close(out, w["out"], **CLOSE)


@pytest.mark.parametrize("form", [delta_attention_recurrent, delta_attention_chunkwise])
@pytest.mark.parametrize("gates", ["one", "each"])
def test_the_delta_rules_are_those_of_qwen3_next_and_of_kimi_linear(gates, form, layer):
    w = layer("delta")
    q, k, v, gate = (w[name].transpose(1, 2) for name in ("q", "k", "v", "log_gate"))
    gate = (gate if gates == "each" else gate[..., :1]).exp()
    beta = w["beta"].mT
    # there, a query is divided as in attention
    q = q / q.shape[-1] ** 0.5
    out = form(q, k, v, gate, beta)
    torch.testing.assert_close(out.transpose(1, 2), w[gates], **CLOSE)
    S = torch.zeros_like(w["S_one"])
    for t in range(LENGTH):
        token = (x[..., t, :] for x in (q, k, v, gate))
        S, _ = delta_attention_step(S, *token, beta[..., t])
    torch.testing.assert_close(S, w[f"S_{gates}"], **CLOSE)


def test_several_streams_are_those_of_deepseek_v4(layer):
    w = layer("streams")
    x = w["x"].double()
    scores = normed(x.flatten(-2)) @ w["fn"].mT
    sizes = 3, 3, 9
    read, _, mix = (
        part * scale + base
        for part, scale, base in zip(
            scores.split(sizes, -1), w["scale"], w["base"].split(sizes), strict=True
        )
    )
    # there, an iteration ends with the other axis, and each has a small number added
    ours = doubly_stochastic(mix.unflatten(-1, (3, 3)), steps=20)
    torch.testing.assert_close(ours, w["mix"], atol=3e-3, rtol=0)
    collapsed = []
    hyper_connection(x, lambda y: collapsed.append(y) or y, read.sigmoid(), w["post"], w["mix"])
    torch.testing.assert_close(collapsed[0].float(), w["collapsed"], **CLOSE)
