"""Write the GPT that the pages load: what language_model.py trained, rounded to eight bits.

python benchmarks/language_model.py --size full --models GPT --seeds 0    # an hour of one core
python benchmarks/stored_model.py    # writes attncourse/stored/english.js, in a minute
"""

import argparse
from pathlib import Path

import torch
from language_model import GPT, SIZES, bits_of_texts, kept

from attncourse.data import addresses, excerpts, stored_pairs
from attncourse.data.windows import DECADES, Windowed
from attncourse.language_model import load_language_model
from attncourse.stored import HERE, opened, write

SIZE, SEED = "full", 0


def bits(model, windowed: Windowed, texts: tuple) -> float:
    """Bits a character of all these texts."""
    costs, characters = bits_of_texts(model, windowed, texts)
    return (costs.sum() / characters.sum()).item()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--weights", type=Path, default=kept(SIZE, GPT, SEED, "weights"))
    asked = parser.parse_args()
    found, windowed, heads = addresses(), Windowed(stored_pairs()), SIZES[SIZE].heads
    weights, path = torch.load(asked.weights, weights_only=True), HERE / "english.js"
    trained = load_language_model(weights, heads)
    held = {"pairs": [*windowed.pairs.merges], "decades": [*DECADES], "heads": heads}
    write(path, "attncourseEnglish", weights, **held)
    rounded = load_language_model(opened(path)[0], heads)
    held |= {
        "bits": round(bits(rounded, windowed, found.test), 4),
        "bits_excerpts": round(bits(rounded, windowed, excerpts()), 4),
    }
    write(path, "attncourseEnglish", weights, **held)
    before = bits(trained, windowed, found.test)
    print(f"{held['bits']} bits a character, {before:.4f} before rounding")
    print(f"{held['bits_excerpts']} on the excerpts; {path.stat().st_size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
