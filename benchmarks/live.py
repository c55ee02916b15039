"""Train the translator that runs in the pages of the course, and write its weights as a script.

    pip install -e ".[tasks]"
    python benchmarks/live.py    # writes attncourse/figures/translator/weights.js, in CPU minutes

It is the model of translation.py with Shaw's positions, from one seed, in float16. Exact matches,
and the examples for pages without scripts, are those of the rounded weights.
"""

import base64
import json
import platform
import time
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from attncourse.data.numbers import END, LENGTHS, START, TranslationBatch, Words, name, numbers
from attncourse.dot_product import attention_weights
from attncourse.relative import RelativeAttention
from attncourse.stored import read_script, unpack_half
from attncourse.tasks import Translator, exact_matches
from attncourse.train import fit, seeded
from attncourse.transformer import Causal, Decoder, DecoderBlock, Embedding, Encoder, EncoderBlock

WEIGHTS = Path(__file__).parents[1] / "attncourse" / "figures" / "translator" / "weights.js"
WIDTH, HEADS, HIDDEN, MAX_DISTANCE = 64, 4, 128, 8
SEED, N_TRAIN, N_TEST, EPOCHS, BATCH, RATE, DROPOUT = 0, 20_000, 1000, 16, 64, 2e-3, 0.1
MAX_PARTS = 40
SPECIAL_TOKENS = ["(padding)", "(start)", "(end)"]
# the first is shown with arcs; the others are longer than any in training, the last gets it wrong
EXAMPLES = (754, 7_654_321, 123_456_789)


def build_translator(source: int, target: int) -> Translator:
    """A new translator of one encoder block and one decoder block, for two vocabulary sizes."""
    shape, options = (WIDTH, HEADS, HIDDEN), {"dropout": DROPOUT}
    embeddings = [Embedding(count, WIDTH, dropout=DROPOUT) for count in (source, target)]
    for embedding in embeddings:
        nn.init.normal_(embedding.table.weight, std=0.1)
    shaw = partial(RelativeAttention, WIDTH // HEADS, MAX_DISTANCE)
    encoder = Encoder([EncoderBlock(*shape, shaw(), **options)], nn.LayerNorm(WIDTH))
    decoder = Decoder([DecoderBlock(*shape, Causal(shaw()), **options)], nn.LayerNorm(WIDTH))
    return Translator(embeddings[0], encoder, embeddings[1], decoder)


def load_published() -> tuple[Translator, Words, dict]:
    """The model with the weights that the pages load, its words, and the content of the script."""
    content = assigned(WEIGHTS)
    model = build_translator(len(content["source"]), len(content["target"]))
    model.load_state_dict(halves(content))
    words = Words([], "english", "german")
    words.source, words.target = (
        {word: i for i, word in enumerate(content[side]) if word not in SPECIAL_TOKENS}
        for side in ("source", "target")
    )
    return model.eval(), words, content


@torch.no_grad()
def translate_with_attention(model: Translator, pairs: Pairs) -> tuple[Tensor, Tensor]:
    """The tokens that the model writes, and its cross-attention weights for each."""
    weights: list[Tensor] = []
    cross = model.decoder.blocks[0].cross_attention.part
    attend = cross.attend

    def record_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        weights.append(attention_weights(q, k, mask))
        return attend(q, k, v, mask)

    cross.attend = record_weights
    written = model.translate(pairs.source, pairs.lengths, START, END, MAX_PARTS)
    cross.attend = attend
    return written, torch.cat(weights, dim=-2)


def record_example(model: Translator, words: Words, number: int) -> dict:
    """An example for the page: a number, its names, and the cross-attention weights."""
    written, weights = translate_with_attention(model, words.pairs([number]))
    parts = words.spelt(written[0].tolist()).split()
    return {
        "number": number,
        "english": [*name(number, "english")],
        "parts": parts,
        "right": tuple(parts) == name(number, "german"),
        "cross": weights[0].double().mul(1e4).round().div(1e4).tolist(),
    }


def match_rates(
    model: Translator, words: Words, test_numbers: dict[str, list[int]]
) -> dict[str, float]:
    """The share of exact matches, by length of the name."""
    rates = {}
    for length, group in test_numbers.items():
        pairs = words.pairs(group)
        written, _ = translate_with_attention(model, pairs)
        rates[length] = exact_matches(written, pairs.labels).float().mean().item()
    return rates


def write_weights(
    model: Translator, words: Words, test_numbers: dict[str, list[int]], training: str
) -> str:
    """Write the script with the float16 weights; return its note on training and measurements."""
    model.half().float().eval()
    rates, weights = match_rates(model, words, test_numbers), model.state_dict()
    parameters = sum(tensor.numel() for tensor in weights.values())
    halves = torch.cat([tensor.flatten() for tensor in weights.values()]).half().numpy().tobytes()
    matches = ", ".join(f"{rate:.3f} ({length})" for length, rate in rates.items())
    note = (
        f"A translator's {parameters} weights in float16, made by benchmarks/live.py: {training}, "
        f"{platform.machine()}, torch {torch.__version__}. Exact matches, each among {N_TEST} "
        f"numbers that were not in training, by English words: {matches}."
    )
    content = {
        "heads": HEADS,
        "start": START,
        "end": END,
        "source": [*SPECIAL_TOKENS, *words.source],
        "target": [*SPECIAL_TOKENS, *words.target],
        "longest": LENGTHS["up to 10 words"][1],
        "recorded": [record_example(model, words, number) for number in EXAMPLES],
        "shapes": {key: list(tensor.shape) for key, tensor in weights.items()},
        "half": base64.b64encode(halves).decode(),
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    WEIGHTS.write_text(f"// {note}\nwindow.attncourseNumbers = {text};\n", "utf-8")
    return note


def main() -> None:
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    start = time.process_time()
    train_numbers, test_numbers = numbers(N_TRAIN, N_TEST, SEED)
    words = Words(train_numbers, "english", "german")
    with seeded(SEED) as g:
        model = build_translator(
            *(len(vocabulary) + len(SPECIAL_TOKENS) for vocabulary in (words.source, words.target))
        )
        fit(model, lambda: words.batches(train_numbers, BATCH, g), EPOCHS, RATE)
    seconds = time.process_time() - start
    training = f"{EPOCHS} epochs of {N_TRAIN} numbers, seed {SEED}, {seconds:.0f} s of one CPU core"
    print(
        write_weights(model, words, test_numbers, training),
        f"{WEIGHTS.stat().st_size / 1024:.0f} KiB",
        sep="\n",
    )


if __name__ == "__main__":
    main()
