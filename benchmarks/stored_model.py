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
from language_model import GPT, LSTM, PARTS, SIZES, run_file
from torch import Tensor
from writer import add_opening, add_training

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
# the most tokens of a text that a reader guesses, and its fewest words
MAX_GUESSED_TOKENS, MIN_GUESSED_WORDS = 126, 25
# a mean weight of less is no role
MIN_MEAN_WEIGHT = 0.4
# after so many twentieths of the training
EARLIER_PARTS = (0, 1, 4, 10)
ROLE_SCORES = {
    "looks at the token before": lambda weights: offset_score(weights).mean(1),
    "looks at the decade": lambda weights: weights[..., 2:, 1].mean((1, 3)),
    "looks at the start": lambda weights: weights[..., 2:, 0].mean((1, 3)),
    "looks at the token itself": lambda weights: weights.diagonal(0, -2, -1)[..., 2:].mean((1, 3)),
}


def bits(model, windower: Windower, texts: tuple) -> float:
    """Bits a character of all these texts."""
    characters = sum(len(text.text) for text in texts)
    return bits_per_character(model, windower.batches(texts, 64), characters)


def roles(model, windower: Windower) -> Iterator[dict]:
    """The heads that look at one place, and matter."""
    rows = [row for text in excerpts() for row in windower.rows(text) if len(row) == 128]
    batches = [*window_batches(rows, 64)]
    weights, costs = head_weights(model, batches[0].tokens), removal_costs(model, batches)
    depth, heads = costs.shape
    untrained = []
    for seed in range(3):
        with seeded(seed):
            untrained.append(head_weights(language_model(windower.vocabulary), batches[0].tokens))
    heads_by_role = {
        role: select_heads(score, weights, untrained) for role, score in ROLE_SCORES.items()
    }
    heads_with_a_role = {index for members in heads_by_role.values() for index in members}
    for role, members in heads_by_role.items():
        for index in members:
            # what is lost in an earlier block is missing in all that follow
            first = index // heads * heads
            without_role = [i for i in range(first, depth * heads) if i not in heads_with_a_role]
            sample = random.Random(index).sample(without_role, min(4, len(without_role)))
            if costs.flatten()[index] > costs.flatten()[sample].max():
                yield {"head": [*divmod(index, heads)], "role": role}


def select_heads(score: Callable, weights: Tensor, untrained: list[Tensor]) -> list[int]:
    """The heads whose score is above that of any head of the untrained models, highest first."""
    untrained_score = max(score(model_weights).max().item() for model_weights in untrained)
    scores = score(weights).flatten()
    order = scores.argsort(descending=True).tolist()
    return [i for i in order if scores[i] > max(untrained_score, MIN_MEAN_WEIGHT)]


def removal_costs(model, batches: list) -> Tensor:
    """The bits that it costs to remove each head, by block and head."""
    depth, heads = len(model.stack.blocks), model.stack.blocks[0].attention.part.heads
    costs = torch.zeros(depth, heads)
    for block in range(depth):
        for head in range(heads):
            with without(model, [(block, head)]):
                costs[block, head] = bits_by_window(model, batches).sum()
    return costs - bits_by_window(model, batches).sum()


def texts_to_guess(pairs: BytePairs) -> Iterator[dict]:
    """The first paragraph of each excerpt, but its salutation, that is a good text to guess."""
    for text in excerpts():
        for paragraph in text.text.split("\n")[1:-1]:
            sentences = re.findall(r"[^.?!]+[.?!]", paragraph)
            while len(pairs.encode("".join(sentences))) > MAX_GUESSED_TOKENS:
                sentences.pop()
            passage = "".join(sentences).strip()
            if len(passage.split()) >= MIN_GUESSED_WORDS:
                yield {"year": text.year, "text": passage}
                break


def page_data(corpus: Addresses, windower: Windower, heads: int) -> dict:
    """The data of the page that does not depend on the weights."""
    counts = Counter(piece for text in corpus.train for piece in windower.encode(text.text))
    return {
        "pairs": [*windower.pairs.merges],
        "decades": [*DECADES],
        "heads": heads,
        "unigram": [counts[token] for token in range(len(windower.pairs))],
        "excerpts": [*texts_to_guess(windower.pairs)],
    }


def write_small() -> None:
    """The small models, for the chapters before this one; a page does not load them."""
    for name, (size, mechanism) in SMALL.items():
        path = FOLDER / f"{name}.js"
        weights = torch.load(run_file(size, mechanism, SEED, f"after-{PARTS}"), weights_only=True)
        write_weights(path, "attncourseSmall", weights, heads=SIZES[size].heads)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", type=int, default=PARTS, help="of the training, in twentieths")
    parser.add_argument("--small", action="store_true", help="write the small models alone")
    options = parser.parse_args()
    if options.small:
        return write_small()
    corpus, windower, size = addresses(), Windower(stored_pairs()), SIZES[SIZE]
    script_data, path = page_data(corpus, windower, size.heads), FOLDER / "english.js"

    def state(part: int) -> dict[str, Tensor]:
        return torch.load(run_file(SIZE, GPT, SEED, f"after-{part}"), weights_only=True)

    trained = state(options.part)
    rounded = load_language_model(unpack(*pack(trained), path.name), size.heads)
    script_data |= {
        "roles": [*roles(rounded, windower)],
        "bits": round(bits(rounded, windower, corpus.test), 4),
        "bits_excerpts": round(bits(rounded, windower, excerpts()), 4),
    }
    write_weights(path, NAME, trained, **script_data)
    steps_of_part = size.steps // PARTS
    with tempfile.TemporaryDirectory() as folder:
        earlier_files = {
            part * steps_of_part: Path(folder) / f"{part}.js" for part in EARLIER_PARTS
        }
        for part, file in zip(EARLIER_PARTS, earlier_files.values(), strict=True):
            write_weights(file, NAME, state(part), **script_data)
        add_opening(path)
        add_training(path, earlier_files, options.part * steps_of_part)
    bits_before_rounding = bits(load_language_model(trained, size.heads), windower, corpus.test)
    print(f"{script_data['bits']} bits a character, {bits_before_rounding:.4f} before rounding")
    print(f"{script_data['bits_excerpts']} on the excerpts; {path.stat().st_size / 2**20:.2f} MiB")
    print(*script_data["roles"], sep="\n")


if __name__ == "__main__":
    main()
