"""Sampling of the next token by temperature and top-k, with a tally of draws.

The first state is computed here, later ones in view.js.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from torch import Tensor

from attncourse.figures.explorer import TEMPERATURES
from attncourse.figures.interactive import Button, Interactive, Slider, columns, number, row
from attncourse.figures.numbers import require_finite

HERE = Path(__file__).parent
# heading of a column with two bars of the same scale, one below the other
BARS_HEADING = '<b class="chance">probability</b><b class="share">share drawn</b>'


def sampling(scores: Tensor, tokens: Sequence[str], *, alt: str) -> Interactive:
    """Figure: scores and probabilities of tokens, with sliders for the temperature and k.

    Two buttons draw one token and a hundred, and a tally says how often each has been drawn.
    """
    if scores.shape != (len(tokens),) or len(tokens) < 2:
        raise ValueError(
            f"scores={tuple(scores.shape)}, {len(tokens)} tokens: a score for each of at least 2"
        )
    require_finite("scores", scores)
    probabilities = scores.double().softmax(dim=0)
    return Interactive(
        HERE / "view.js",
        {"scores": scores, "tokens": list(tokens)},
        [
            Slider("temperature", TEMPERATURES, TEMPERATURES.index(1)),
            Slider("k", range(1, len(tokens) + 1), len(tokens) - 1),
            Button("draw"),
            Button("draw 100"),
        ],
        columns("token", "score", BARS_HEADING, "drawn")
        + "".join(
            row(
                f'<span data-show="token" class="">{escape(token)}</span>',
                number("score", score),
                number("chance", chance, "bar") + number("share", 0, "bar tally", ""),
                number("count", 0, text="0"),
            )
            for token, score, chance in zip(tokens, scores, probabilities, strict=True)
        ),
        alt=alt,
        below='<input type="hidden" name="cleared" value="0">',
        scripts=[HERE / "start.js"],
    )
