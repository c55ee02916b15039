"""A small GPT-2 with random weights, and its outputs in the library transformers, for tests.

    PYTHONPATH=. python benchmarks/gpt2_numbers.py   # writes tests/attncourse/gpt2_numbers.npz

The weights are in float32, as they are published; the outputs are computed from them in float64.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

NUMBERS = Path(__file__).parents[1] / "tests" / "attncourse" / "gpt2_numbers.npz"
HEADS, VOCABULARY, LENGTH = 3, 11, 8


def main() -> None:
    g = torch.Generator().manual_seed(0)
    sizes = {"n_positions": LENGTH, "n_embd": 12, "n_layer": 2, "n_head": HEADS}
    config = GPT2Config(vocab_size=VOCABULARY, **sizes)
    model = GPT2LMHeadModel(config).eval()
    for weights in model.parameters():
        weights.data = torch.randn(weights.shape, generator=g) / 2
    tokens = torch.randint(VOCABULARY, (2, LENGTH - 1), generator=g)
    weights = {name: x.numpy() for name, x in model.transformer.state_dict().items()}
    with torch.no_grad():
        out = model.double()(tokens, output_hidden_states=True)
    outputs = {"hidden": out.hidden_states[-1], "scores": out.logits}
    np.savez_compressed(NUMBERS, heads=HEADS, tokens=tokens, **outputs, **weights)
    print(f"transformers {version('transformers')}: {NUMBERS.stat().st_size} bytes")


if __name__ == "__main__":
    main()
