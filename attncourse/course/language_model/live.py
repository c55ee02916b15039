"""The model that runs in the page, on the first text of a figure that shows it."""

from torch import nn

from attncourse import english
from attncourse.data import stored_pairs
from attncourse.figures.whole.state import Text, Trace
from attncourse.language_model.trace import trace

MODEL = "english"


def traced(words: str) -> tuple[Text, Trace, list[str]]:
    """The text, what the model computes for it, and the tokens that the model may write."""
    pairs, tokens = stored_pairs(), english.tokens(words)[0]
    names = ["start", f"{english.DECADE}s", *english.pieces(words)]
    text = Text(words, english.DECADE, names, tokens.tolist())
    vocabulary = [pairs.decode([token]) for token in range(len(pairs))]
    return text, trace(english.model(MODEL), tokens), vocabulary


def linear_weights() -> int:
    """The number of weights in the model's linear layers: its multiply-adds for each token."""
    layers = english.model(MODEL).modules()
    return sum(layer.weight.numel() for layer in layers if isinstance(layer, nn.Linear))
