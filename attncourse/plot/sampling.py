"""What the next token is drawn from, at a temperature and among the k likeliest tokens.

This figure divides and cuts: at first here, and in sampling.js whenever a slider is moved.
"""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from attncourse.plot.explorer import TEMPERATURES
from attncourse.plot.interactive import Interactive, Slider, columns, number, row
from attncourse.plot.numbers import require_finite


def sampling(scores: Tensor, tokens: Sequence[str], *, alt: str) -> Interactive:
    """The scores of a few tokens and their probabilities; a slider for temperature and for k."""
    if scores.shape != (len(tokens),) or len(tokens) < 2:
        raise ValueError(
            f"scores={tuple(scores.shape)}, {len(tokens)} tokens: a score for each of at least 2"
        )
    require_finite("scores", scores)
    chances = scores.double().softmax(dim=0)
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"scores": scores, "tokens": list(tokens)},
        [
            Slider("temperature", TEMPERATURES, TEMPERATURES.index(1)),
            Slider("k", range(1, len(tokens) + 1), len(tokens) - 1),
        ],
        columns("token", "score", "probability")
        + "".join(
            row(token, number("score", score), number("chance", chance, "bar"))
            for token, score, chance in zip(tokens, scores, chances, strict=True)
        ),
        alt=alt,
    )
