"""Whether every full model waits for the word that the chapters' sentence promises.

    python benchmarks/sentence.py    # of each training of language_model.py that is kept

A line of results/sentence.csv is a model: what “than” costs it, how many bits more if one earlier
word is hidden, and the head that looks most at “more” when “today” asks. Delete a line to measure
it again.
"""

import torch
from language_model import GPT, PARTS, SIZES, run_file
from runs import Runs

from attncourse import english
from attncourse.language_model import load_language_model
from attncourse.transformer import LanguageModel

SIZE = "full"
WORDS = (english.CUE, english.CONTROL)
MEASUREMENTS = ("cost", *WORDS, "block", "head", "weight")
RUNS = Runs("sentence", ("model",), MEASUREMENTS)


def model_of(seed: int) -> LanguageModel:
    """The full model of one training; the one that comes with the course is of seed 0."""
    if seed == 0:
        return english.model("english")
    weights = torch.load(run_file(SIZE, GPT, seed, f"after-{PARTS}"), weights_only=True)
    return load_language_model(weights, SIZES[SIZE].heads)


def measure(name: str, seed: int) -> list[float]:
    """Measure the model of one training: a line of the table."""
    model, tokens = model_of(seed), english.tokens()
    target = english.token_index(english.TARGET)
    hidden = english.costs_of_hiding(model, tokens)[:, target]
    query, key = (1 + target, 2 + english.token_index(english.CUE))
    weights = english.head_weights(model, tokens)[:, 0, :, query, key]
    block, head = divmod(int(weights.argmax()), SIZES[SIZE].heads)
    cost = english.surprisals(model, tokens)[0, target].item()
    without = [hidden[english.token_index(word)].item() for word in WORDS]
    return [cost, *without, block, head, weights.max().item()]


def main() -> None:
    torch.set_num_threads(1)
    for seed in range(SIZES[SIZE].seeds[GPT]):
        if seed == 0 or run_file(SIZE, GPT, seed, f"after-{PARTS}").exists():
            RUNS.run_once(measure, GPT, seed)


if __name__ == "__main__":
    main()
