"""Online softmax: the running maximum and sum, after each block of keys.

The first state is computed here, later ones in running.js.
"""

from pathlib import Path

from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, columns, number, row
from attncourse.figures.numbers import require_finite


def running(scores: Tensor, values: Tensor, block: int, *, alt: str) -> Interactive:
    """Figure: one query's scores and values, and the exponentials and weights after each block."""
    if scores.dim() != 1 or scores.shape != values.shape or not 1 <= block <= len(scores):
        raise ValueError(
            f"scores={tuple(scores.shape)}, values={tuple(values.shape)}, block={block}: "
            "a number of each for every key, and a block of 1 to all of them"
        )
    require_finite("scores", scores)
    require_finite("values", values)
    count, first_block = len(scores), scores[:block]
    exponentials = [*(first_block - first_block.max()).exp().tolist(), *[0.0] * (count - block)]
    blocks = [str(i + 1) for i in range(-(-count // block))]
    texts = [None] * block + [""] * (count - block)
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"scores": scores, "values": values, "block": block},
        [Choice("after block", blocks)],
        columns("key", *map(str, range(count)))
        + row("score", *(number("score", score) for score in scores))
        + row("value", *(number("value", value) for value in values))
        + row(
            "exp(s − μ)",
            *(number("part", p, "up", text) for p, text in zip(exponentials, texts, strict=True)),
        )
        + row(
            "weight",
            *(
                number("weight", p / sum(exponentials), "up", text)
                for p, text in zip(exponentials, texts, strict=True)
            ),
        ),
        alt=alt,
    )
