"""Write the models that the pages look into: what language_model.py trained, in eight bits.

    python benchmarks/language_model.py --size full --models GPT --seeds 0    # 70 minutes of a core
    python benchmarks/stored_model.py    # writes attncourse/stored/english.js, in two minutes
    python benchmarks/stored_model.py --small    # the others, which language_model.py trained, too

A head has a role if it attends to a position more than any head of three untrained models, and if
removing it costs more than removing any of four random heads without such a score, drawn from its
block and later ones.
"""

import argparse
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from language_model import CHECKPOINTS, GPT, LSTM, SIZES, run_path
from torch import Tensor
from writer import add_records

from attncourse.data import Addresses, BytePairs, addresses, excerpts, stored_pairs
from attncourse.data.windows import DECADES, Windower, window_batches
from attncourse.language_model import (
    bits_by_window,
    bits_per_character,
    head_weights,
    language_model,
    load_language_model,
    offset_score,
    without,
)
from attncourse.stored import FOLDER, pack, unpack, write_weights
from attncourse.train import seeded

SIZE, SEED, NAME = "full", 0, "attncourseEnglish"
# the small ones, by the names that attncourse.english has for them
SMALL = {
    "gpt": ("small", GPT),
    "lstm": ("small", LSTM),
    "linear": ("small", "linear attention"),
    "one_block": ("one block", GPT),
    "one_block_without_positions": ("one block", "no positions"),
}
# the most tokens and the fewest words of a text that a reader guesses
MAX_TOKENS, MIN_WORDS = 126, 25
# the least mean weight of a role
MIN_WEIGHT = 0.4
# checkpoints, of 20, whose predictions the page shows too
EARLIER_CHECKPOINTS = (0, 1, 4, 10)
ROLE_SCORES = {
    "looks at the piece before": lambda weights: offset_score(weights).mean(1),
    "looks at the decade": lambda weights: weights[..., 2:, 1].mean((1, 3)),
    "looks at the start": lambda weights: weights[..., 2:, 0].mean((1, 3)),
    "looks at the piece itself": lambda weights: weights.diagonal(0, -2, -1)[..., 2:].mean((1, 3)),
}


def corpus_bits(model, windowed: Windowed, texts: tuple) -> float:
    """Bits per character over these texts."""
    characters = sum(len(text.text) for text in texts)
    return bits_per_character(model, windowed.batches(texts, 64), characters)


def head_roles(model, windowed: Windowed) -> Iterator[dict]:
    """The heads with a role that matter, for the page."""
    rows = [row for text in excerpts() for row in windowed.rows(text) if len(row) == 128]
    batches = [*batched(rows, 64)]
    weights, costs = head_weights(model, batches[0].tokens), ablation_costs(model, batches)
    depth, heads = costs.shape
    untrained = []
    for seed in range(3):
        with seeded(seed):
            untrained.append(head_weights(language_model(windowed.vocabulary), batches[0].tokens))
    heads_by_role = {
        role: heads_above_untrained(score, weights, untrained)
        for role, score in ROLE_SCORES.items()
    }
    role_heads = {index for indices in heads_by_role.values() for index in indices}
    for role, indices in heads_by_role.items():
        for index in indices:
            # a head in an earlier block affects more blocks: compare with later heads alone
            first = index // heads * heads
            others = [
                candidate
                for candidate in range(first, depth * heads)
                if candidate not in role_heads
            ]
            drawn = random.Random(index).sample(others, min(4, len(others)))
            if costs.flatten()[index] > costs.flatten()[drawn].max():
                yield {"head": [*divmod(index, heads)], "role": role}


def heads_above_untrained(score: Callable, weights: Tensor, untrained: list[Tensor]) -> list[int]:
    """Flat indices of heads that score above MIN_WEIGHT and all untrained heads, best first."""
    highest = max(score(other_weights).max().item() for other_weights in untrained)
    scores = score(weights).flatten()
    order = scores.argsort(descending=True).tolist()
    return [index for index in order if scores[index] > max(highest, MIN_WEIGHT)]


def ablation_costs(model, batches: list) -> Tensor:
    """Additional bits when each head is removed, by block and head."""
    depth, heads = len(model.stack.blocks), model.stack.blocks[0].attention.part.heads
    costs = torch.zeros(depth, heads)
    for block in range(depth):
        for head in range(heads):
            with without(model, [(block, head)]):
                costs[block, head] = bits_by_window(model, batches).sum()
    return costs - bits_by_window(model, batches).sum()


def guessing_texts(pairs: BytePairs) -> Iterator[dict]:
    """Of each excerpt, the first paragraph after the salutation that is long enough to guess."""
    for text in excerpts():
        for paragraph in text.text.split("\n")[1:-1]:
            sentences = re.findall(r"[^.?!]+[.?!]", paragraph)
            while len(pairs.encode("".join(sentences))) > MAX_TOKENS:
                sentences.pop()
            guess = "".join(sentences).strip()
            if len(guess.split()) >= MIN_WORDS:
                yield {"year": text.year, "text": guess}
                break


def page_data(corpus: Addresses, windowed: Windowed, heads: int) -> dict:
    """The data of the page that do not depend on the weights."""
    counts = Counter(token for text in corpus.train for token in windowed.encoded(text.text))
    return {
        "pairs": [*windowed.pairs.merges],
        "decades": [*DECADES],
        "heads": heads,
        "unigram": [counts[token] for token in range(len(windowed.pairs))],
        "excerpts": [*guessing_texts(windowed.pairs)],
    }


def write_small() -> None:
    """Write the small models, for earlier chapters; no page loads them."""
    for name, (size, model) in SMALL.items():
        path = HERE / f"{name}.js"
        weights = torch.load(run_path(size, model, SEED, f"after-{CHECKPOINTS}"), weights_only=True)
        write(path, "attncourseSmall", weights, heads=SIZES[size].heads)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--part", type=int, default=CHECKPOINTS, help="of the training, in twentieths"
    )
    parser.add_argument("--small", action="store_true", help="write the small models alone")
    arguments = parser.parse_args()
    if arguments.small:
        return write_small()
    corpus, windowed, config = addresses(), Windowed(stored_pairs()), SIZES[SIZE]
    content, path = page_data(corpus, windowed, config.heads), HERE / "english.js"

    def weights_after(checkpoint: int) -> dict[str, Tensor]:
        return torch.load(run_path(SIZE, GPT, SEED, f"after-{checkpoint}"), weights_only=True)

    trained = weights_after(arguments.part)
    rounded = load_language_model(unpacked(*packed(trained), path.name), config.heads)
    content |= {
        "roles": [*head_roles(rounded, windowed)],
        "bits": round(corpus_bits(rounded, windowed, corpus.test), 4),
        "bits_excerpts": round(corpus_bits(rounded, windowed, excerpts()), 4),
    }
    write(path, NAME, trained, **content)
    interval_steps = config.steps // CHECKPOINTS
    with tempfile.TemporaryDirectory() as folder:
        earlier_files = {
            checkpoint * interval_steps: Path(folder) / f"{checkpoint}.js"
            for checkpoint in EARLIER_CHECKPOINTS
        }
        for checkpoint, file in zip(EARLIER_CHECKPOINTS, earlier_files.values(), strict=True):
            write(file, NAME, weights_after(checkpoint), **content)
        add_records(path, earlier_files, arguments.part * interval_steps)
    unrounded = corpus_bits(load_language_model(trained, config.heads), windowed, corpus.test)
    print(f"{content['bits']} bits a character, {unrounded:.4f} before rounding")
    print(f"{content['bits_excerpts']} on the excerpts; {path.stat().st_size / 2**20:.2f} MiB")
    print(*content["roles"], sep="\n")


if __name__ == "__main__":
    main()
