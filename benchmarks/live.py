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
SEED, TRAINED, TESTED, EPOCHS, BATCH, RATE, DROPOUT = 0, 20_000, 1000, 16, 64, 2e-3, 0.1
MOST_PARTS = 40
SPECIAL = ["(padding)", "(start)", "(end)"]
# the first with its arcs; the others are longer than any in training, and the last goes wrong
RECORDED = (754, 7_654_321, 123_456_789)


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


def shipped() -> tuple[Translator, Words, dict]:
    """The model with the weights that the pages load, its words, and all that the script holds."""
    held = read_script(WEIGHTS)
    model = translator(len(held["source"]), len(held["target"]))
    model.load_state_dict(unpack_half(held))
    words = Words([], "english", "german")
    words.source, words.target = (
        {word: i for i, word in enumerate(held[side]) if word not in SPECIAL}
        for side in ("source", "target")
    )
    return model.eval(), words, held


@torch.no_grad()
def translated(model: Translator, pairs: TranslationBatch) -> tuple[Tensor, Tensor]:
    """What the model writes, and the weights of its cross-attention for each part it writes."""
    seen: list[Tensor] = []
    cross = model.decoder.blocks[0].cross_attention.part
    attend = cross.attend

    def watched(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        seen.append(attention_weights(q, k, mask))
        return attend(q, k, v, mask)

    cross.attend = watched
    written = model.translate(pairs.source, pairs.lengths, START, END, MOST_PARTS)
    cross.attend = attend
    return written, torch.cat(seen, dim=-2)


def recorded(model: Translator, words: Words, number: int) -> dict:
    """A number, its English name and the parts that the model writes, with its attention."""
    written, weights = translated(model, words.batch([number]))
    parts = words.decode(written[0].tolist()).split()
    return {
        "number": number,
        "english": [*name(number, "english")],
        "parts": parts,
        "right": tuple(parts) == name(number, "german"),
        "cross": weights[0].double().mul(1e4).round().div(1e4).tolist(),
    }


def measured(model: Translator, words: Words, tested: dict[str, list[int]]) -> dict[str, float]:
    """The share of exact matches, by length."""
    shares = {}
    for length, found in tested.items():
        pairs = words.batch(found)
        written, _ = translated(model, pairs)
        shares[length] = exact_matches(written, pairs.labels).float().mean().item()
    return shares


def publish(model: Translator, words: Words, tested: dict[str, list[int]], how: str) -> str:
    """Write the script with the weights in float16; how they were made, and what was measured."""
    model.half().float().eval()
    shares, weights = measured(model, words, tested), model.state_dict()
    parameters = sum(part.numel() for part in weights.values())
    halves = torch.cat([part.flatten() for part in weights.values()]).half().numpy().tobytes()
    matches = ", ".join(f"{share:.3f} ({length})" for length, share in shares.items())
    made = (
        f"A translator's {parameters} weights in float16, made by benchmarks/live.py: {how}, "
        f"{platform.machine()}, torch {torch.__version__}. Exact matches, each among {TESTED} "
        f"numbers that were not in training, by English words: {matches}."
    )
    held = {
        "heads": HEADS,
        "start": START,
        "end": END,
        "source": [*SPECIAL, *words.source],
        "target": [*SPECIAL, *words.target],
        "longest": LENGTHS["up to 10 words"][1],
        "recorded": [recorded(model, words, number) for number in RECORDED],
        "shapes": {key: list(part.shape) for key, part in weights.items()},
        "half": base64.b64encode(halves).decode(),
    }
    text = json.dumps(held, ensure_ascii=False, separators=(",", ":"))
    WEIGHTS.write_text(f"// {made}\nwindow.attncourseNumbers = {text};\n", "utf-8")
    return made


def main() -> None:
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    began = time.process_time()
    learned, tested = numbers(TRAINED, TESTED, SEED)
    words = Words(learned, "english", "german")
    with seeded(SEED) as g:
        model = translator(*(len(known) + len(SPECIAL) for known in (words.source, words.target)))
        fit(model, lambda: words.batches(learned, BATCH, g), EPOCHS, RATE)
    seconds = time.process_time() - began
    how = f"{EPOCHS} epochs of {TRAINED} numbers, seed {SEED}, {seconds:.0f} s of one CPU core"
    print(publish(model, words, tested, how), f"{WEIGHTS.stat().st_size / 1024:.0f} KiB", sep="\n")


if __name__ == "__main__":
    main()
