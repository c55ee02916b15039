"""Whether every full model waits for the word that the chapters' sentence promises.

    python benchmarks/sentence.py    # of each training of language_model.py that is kept

A line of results/sentence.csv is a model: what “than” costs it, how many bits more if one earlier
word is hidden, and the head that looks most at “more” when “today” asks. Delete a line to measure
it again.
"""

import torch
from language_model import GPT, PARTS, SIZES, kept
from runs import Runs

from attncourse import english
from attncourse.language_model import load_language_model
from attncourse.transformer import LanguageModel

SIZE = "full"
WORDS = (english.CUE, english.CONTROL)
MEASURED = ("cost", *WORDS, "block", "head", "weight")
RUNS = Runs("sentence", ("model",), MEASURED)


def model_of(seed: int) -> LanguageModel:
    """The full model of one training; the one that comes with the course is of seed 0."""
    if seed == 0:
        return english.model("english")
    weights = torch.load(kept(SIZE, GPT, seed, f"after-{PARTS}"), weights_only=True)
    return load_language_model(weights, SIZES[SIZE].heads)


def measured(name: str, seed: int) -> list[float]:
    """What the csv has of the model of one training."""
    model, read, after = model_of(seed), english.tokens(), english.token_index(english.TARGET)
    hidden = english.costs_of_hiding(model, read)[:, after]
    asks, promise = (1 + after, 2 + english.token_index(english.CUE))
    looks = english.head_weights(model, read)[:, 0, :, asks, promise]
    block, head = divmod(int(looks.argmax()), SIZES[SIZE].heads)
    cost = english.surprisals(model, read)[0, after].item()
    without = [hidden[english.token_index(word)].item() for word in WORDS]
    return [cost, *without, block, head, looks.max().item()]


def main() -> None:
    torch.set_num_threads(1)
    for seed in range(SIZES[SIZE].seeds[GPT]):
        if seed == 0 or kept(SIZE, GPT, seed, f"after-{PARTS}").exists():
            RUNS.run_once(measured, GPT, seed)


if __name__ == "__main__":
    main()
