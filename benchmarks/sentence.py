"""Whether every full model expects the word that the chapters' sentence promises.

    python benchmarks/sentence.py    # each saved model of language_model.py

A line of results/sentence.csv is a model: what “than” costs it, how many bits more if one earlier
word is hidden, and the head that looks most at “more” when “today” asks. Delete a line to measure
it again.
"""

import torch
from language_model import CHECKPOINTS, GPT, SIZES, run_path
from runs import Runs

from attncourse import english
from attncourse.language_model import load_language_model
from attncourse.transformer import LanguageModel

SIZE = "full"
WORDS = (english.PROMISE, english.CONTROL)
MEASUREMENTS = ("cost", *WORDS, "block", "head", "weight")
RUNS = Runs("sentence", ("model",), MEASUREMENTS)


def load_model(seed: int) -> LanguageModel:
    """The full model of one seed; seed 0 is the model that comes with the course."""
    if seed == 0:
        return english.model("english")
    weights = torch.load(run_path(SIZE, GPT, seed, f"after-{CHECKPOINTS}"), weights_only=True)
    return load_language_model(weights, SIZES[SIZE].heads)


def measure(name: str, seed: int) -> list[float]:
    """The measurements of the model of one seed."""
    model, tokens, position = load_model(seed), english.tokens(), english.place(english.KEPT)
    hidden = english.costs_of_hiding(model, tokens)[:, position]
    query, key = (1 + position, 2 + english.place(english.PROMISE))
    weights = english.head_weights(model, tokens)[:, 0, :, query, key]
    block, head = divmod(int(weights.argmax()), SIZES[SIZE].heads)
    cost = english.surprisals(model, tokens)[0, position].item()
    hiding_costs = [hidden[english.place(word)].item() for word in WORDS]
    return [cost, *hiding_costs, block, head, weights.max().item()]


def main() -> None:
    torch.set_num_threads(1)
    for seed in range(SIZES[SIZE].seeds[GPT]):
        if seed == 0 or run_path(SIZE, GPT, seed, f"after-{CHECKPOINTS}").exists():
            RUNS.run_once(measure, GPT, seed)


if __name__ == "__main__":
    main()
