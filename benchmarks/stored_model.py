"""Write the models that the pages look into: what language_model.py trained, in eight bits.

    python benchmarks/language_model.py --size full --models GPT --seeds 0    # 70 minutes of a core
    python benchmarks/stored_model.py    # writes attncourse/stored/english.js, in two minutes
    python benchmarks/stored_model.py --small    # the others, which language_model.py trained, too

A head has a role if it looks at a place more than any head of three untrained models does, and if
its loss costs more than that of any of four that are drawn from its block and later ones, among the
heads that look at no such place.
"""

import argparse
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from language_model import GPT, LSTM, PARTS, SIZES, kept
from torch import Tensor
from writer import complete

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
# of how many tokens a text may be that a reader guesses, and how many words it has at least
GUESSED, WORDS = 126, 25
# a mean weight of less is no role
LEAST = 0.4
# after so many twentieths of the training
EARLIER = (0, 1, 4, 10)
PLACES = {
    "looks at the piece before": lambda weights: offset_score(weights).mean(1),
    "looks at the decade": lambda weights: weights[..., 2:, 1].mean((1, 3)),
    "looks at the start": lambda weights: weights[..., 2:, 0].mean((1, 3)),
    "looks at the piece itself": lambda weights: weights.diagonal(0, -2, -1)[..., 2:].mean((1, 3)),
}


def bits(model, windowed: Windower, texts: tuple) -> float:
    """Bits a character of all these texts."""
    characters = sum(len(text.text) for text in texts)
    return bits_per_character(model, windowed.batches(texts, 64), characters)


def roles(model, windowed: Windower) -> Iterator[dict]:
    """The heads that look at one place, and matter."""
    rows = [row for text in excerpts() for row in windowed.rows(text) if len(row) == 128]
    some = [*window_batches(rows, 64)]
    weights, costs = head_weights(model, some[0].tokens), losses(model, some)
    depth, heads = costs.shape
    untrained = []
    for seed in range(3):
        with seeded(seed):
            untrained.append(head_weights(language_model(windowed.vocabulary), some[0].tokens))
    found = {role: looking(score, weights, untrained) for role, score in PLACES.items()}
    every = {place for places in found.values() for place in places}
    for role, places in found.items():
        for place in places:
            # what is lost in an earlier block is missing in all that follow
            first = place // heads * heads
            others = [i for i in range(first, depth * heads) if i not in every]
            drawn = random.Random(place).sample(others, min(4, len(others)))
            if costs.flatten()[place] > costs.flatten()[drawn].max():
                yield {"head": [*divmod(place, heads)], "role": role}


def looking(score: Callable, weights: Tensor, untrained: list[Tensor]) -> list[int]:
    """The heads, the most decided first, whose score no head of the untrained models has."""
    most = max(score(one).max().item() for one in untrained)
    scores = score(weights).flatten()
    order = scores.argsort(descending=True).tolist()
    return [place for place in order if scores[place] > max(most, LEAST)]


def losses(model, some: list) -> Tensor:
    """Bits that the loss of each head costs, by block and head."""
    depth, heads = len(model.stack.blocks), model.stack.blocks[0].attention.part.heads
    costs = torch.zeros(depth, heads)
    for block in range(depth):
        for head in range(heads):
            with without(model, [(block, head)]):
                costs[block, head] = bits_by_window(model, some).sum()
    return costs - bits_by_window(model, some).sum()


def guessed(pairs: BytePairs) -> Iterator[dict]:
    """The first paragraph of each excerpt, but its salutation, that is a good text to guess."""
    for text in excerpts():
        for paragraph in text.text.split("\n")[1:-1]:
            sentences = re.findall(r"[^.?!]+[.?!]", paragraph)
            while len(pairs.encode("".join(sentences))) > GUESSED:
                sentences.pop()
            found = "".join(sentences).strip()
            if len(found.split()) >= WORDS:
                yield {"year": text.year, "text": found}
                break


def held_of(found: Addresses, windowed: Windower, heads: int) -> dict:
    """What the page needs beside the weights, and what does not depend on them."""
    counts = Counter(one for text in found.train for one in windowed.encode(text.text))
    return {
        "pairs": [*windowed.pairs.merges],
        "decades": [*DECADES],
        "heads": heads,
        "unigram": [counts[token] for token in range(len(windowed.pairs))],
        "excerpts": [*guessed(windowed.pairs)],
    }


def write_small() -> None:
    """The small models, for the chapters before this one; a page does not load them."""
    for name, (size, what) in SMALL.items():
        path = FOLDER / f"{name}.js"
        weights = torch.load(kept(size, what, SEED, f"after-{PARTS}"), weights_only=True)
        write_weights(path, "attncourseSmall", weights, heads=SIZES[size].heads)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", type=int, default=PARTS, help="of the training, in twentieths")
    parser.add_argument("--small", action="store_true", help="write the small models alone")
    asked = parser.parse_args()
    if asked.small:
        return write_small()
    found, windowed, sized = addresses(), Windower(stored_pairs()), SIZES[SIZE]
    held, path = held_of(found, windowed, sized.heads), FOLDER / "english.js"

    def state(part: int) -> dict[str, Tensor]:
        return torch.load(kept(SIZE, GPT, SEED, f"after-{part}"), weights_only=True)

    trained = state(asked.part)
    rounded = load_language_model(unpack(*pack(trained), path.name), sized.heads)
    held |= {
        "roles": [*roles(rounded, windowed)],
        "bits": round(bits(rounded, windowed, found.test), 4),
        "bits_excerpts": round(bits(rounded, windowed, excerpts()), 4),
    }
    write_weights(path, NAME, trained, **held)
    each = sized.steps // PARTS
    with tempfile.TemporaryDirectory() as folder:
        earlier = {part * each: Path(folder) / f"{part}.js" for part in EARLIER}
        for part, file in zip(EARLIER, earlier.values(), strict=True):
            write_weights(file, NAME, state(part), **held)
        complete(path, earlier, asked.part * each)
    before = bits(load_language_model(trained, sized.heads), windowed, found.test)
    print(f"{held['bits']} bits a character, {before:.4f} before rounding")
    print(f"{held['bits_excerpts']} on the excerpts; {path.stat().st_size / 2**20:.2f} MiB")
    print(*held["roles"], sep="\n")


if __name__ == "__main__":
    main()
