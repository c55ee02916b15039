"""Train the translator that runs in the pages of the course, and write its weights as a script.

    pip install -e ".[tasks]"
    python benchmarks/live.py    # writes attncourse/figures/translator/weights.js, in CPU minutes

It is the model of translation.py with Shaw's positions, from one seed, in float16: what is counted,
and recorded for pages without scripts, are the names that it writes with the rounded weights.
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
SEED, TRAINING_NUMBERS, TEST_NUMBERS, EPOCHS, BATCH, RATE, DROPOUT = (
    0,
    20_000,
    1000,
    16,
    64,
    2e-3,
    0.1,
)
MAX_PARTS = 40
SPECIAL_TOKENS = ["(padding)", "(start)", "(end)"]
# the first with its arcs; the others are longer than any in training, and the last goes wrong
RECORDED_NUMBERS = (754, 7_654_321, 123_456_789)


def translator(source: int, target: int) -> Translator:
    """One encoder block and one decoder block, anew, for so many words and parts."""
    shape, options = (WIDTH, HEADS, HIDDEN), {"dropout": DROPOUT}
    embeddings = [Embedding(count, WIDTH, dropout=DROPOUT) for count in (source, target)]
    for embedding in embeddings:
        nn.init.normal_(embedding.table.weight, std=0.1)
    shaw = partial(RelativeAttention, WIDTH // HEADS, MAX_DISTANCE)
    encoder = Encoder([EncoderBlock(*shape, shaw(), **options)], nn.LayerNorm(WIDTH))
    decoder = Decoder([DecoderBlock(*shape, Causal(shaw()), **options)], nn.LayerNorm(WIDTH))
    return Translator(embeddings[0], encoder, embeddings[1], decoder)


def load_shipped() -> tuple[Translator, Words, dict]:
    """Load the model of the pages: the model, its words, and the data of its script."""
    script_data = read_script(WEIGHTS)
    model = translator(len(script_data["source"]), len(script_data["target"]))
    model.load_state_dict(unpack_half(script_data))
    words = Words([], "english", "german")
    words.source, words.target = (
        {word: i for i, word in enumerate(script_data[language]) if word not in SPECIAL_TOKENS}
        for language in ("source", "target")
    )
    return model.eval(), words, script_data


@torch.no_grad()
def translate(model: Translator, pairs: TranslationBatch) -> tuple[Tensor, Tensor]:
    """Translate; return the written parts and the cross-attention weights for each of them."""
    weights: list[Tensor] = []
    cross = model.decoder.blocks[0].cross_attention.part
    attend = cross.attend

    def recording_attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        weights.append(attention_weights(q, k, mask))
        return attend(q, k, v, mask)

    cross.attend = recording_attend
    parts = model.translate(pairs.source, pairs.lengths, START, END, MAX_PARTS)
    cross.attend = attend
    return parts, torch.cat(weights, dim=-2)


def record(model: Translator, words: Words, number: int) -> dict:
    """A number, its English name and the parts that the model writes, with its attention."""
    part_ids, weights = translate(model, words.batch([number]))
    parts = words.decode(part_ids[0].tolist()).split()
    return {
        "number": number,
        "english": [*name(number, "english")],
        "parts": parts,
        "right": tuple(parts) == name(number, "german"),
        "cross": weights[0].double().mul(1e4).round().div(1e4).tolist(),
    }


def exact_shares(model: Translator, words: Words, tested: dict[str, list[int]]) -> dict[str, float]:
    """The share of exact matches, by length."""
    shares = {}
    for length, test_numbers in tested.items():
        pairs = words.batch(test_numbers)
        part_ids, _ = translate(model, pairs)
        shares[length] = exact_matches(part_ids, pairs.labels).float().mean().item()
    return shares


def publish(model: Translator, words: Words, tested: dict[str, list[int]], training: str) -> str:
    """Write the script with the weights in float16; return its description with the measures."""
    model.half().float().eval()
    shares, weights = exact_shares(model, words, tested), model.state_dict()
    parameters = sum(tensor.numel() for tensor in weights.values())
    halves = torch.cat([tensor.flatten() for tensor in weights.values()]).half().numpy().tobytes()
    matches = ", ".join(f"{share:.3f} ({length})" for length, share in shares.items())
    description = (
        f"A translator's {parameters} weights in float16, made by benchmarks/live.py: "
        f"{training}, {platform.machine()}, torch {torch.__version__}. Exact matches, each among "
        f"{TEST_NUMBERS} numbers that were not in training, by English words: {matches}."
    )
    script_data = {
        "heads": HEADS,
        "start": START,
        "end": END,
        "source": [*SPECIAL_TOKENS, *words.source],
        "target": [*SPECIAL_TOKENS, *words.target],
        "longest": LENGTHS["up to 10 words"][1],
        "recorded": [record(model, words, number) for number in RECORDED_NUMBERS],
        "shapes": {key: list(tensor.shape) for key, tensor in weights.items()},
        "half": base64.b64encode(halves).decode(),
    }
    text = json.dumps(script_data, ensure_ascii=False, separators=(",", ":"))
    WEIGHTS.write_text(f"// {description}\nwindow.attncourseNumbers = {text};\n", "utf-8")
    return description


def main() -> None:
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    start = time.process_time()
    training_numbers, tested = numbers(TRAINING_NUMBERS, TEST_NUMBERS, SEED)
    words = Words(training_numbers, "english", "german")
    with seeded(SEED) as g:
        model = translator(
            *(len(ids) + len(SPECIAL_TOKENS) for ids in (words.source, words.target))
        )
        fit(model, lambda: words.batches(training_numbers, BATCH, g), EPOCHS, RATE)
    seconds = time.process_time() - start
    training = f"{EPOCHS} epochs of {TRAINING_NUMBERS} numbers, seed {SEED}, "
    training += f"{seconds:.0f} s of one CPU core"
    print(
        publish(model, words, tested, training),
        f"{WEIGHTS.stat().st_size / 1024:.0f} KiB",
        sep="\n",
    )


if __name__ == "__main__":
    main()
