"""The running maximum and the running sum of a softmax, one block of keys after another.

This figure folds the blocks in: at first here, and in running.js whenever another is chosen.
"""

from pathlib import Path

from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, columns, number, row
from attncourse.figures.numbers import require_finite


def running(scores: Tensor, values: Tensor, block: int, *, alt: str) -> Interactive:
    """One query: the scores and the values of its keys, and what is known after each block."""
    if scores.dim() != 1 or scores.shape != values.shape or not 1 <= block <= len(scores):
        raise ValueError(
            f"scores={tuple(scores.shape)}, values={tuple(values.shape)}, block={block}: "
            "a number of each for every key, and a block of 1 to all of them"
        )
    require_finite("scores", scores)
    require_finite("values", values)
    count, seen = len(scores), scores[:block]
    parts = [*(seen - seen.max()).exp().tolist(), *[0.0] * (count - block)]
    blocks = [str(one + 1) for one in range(-(-count // block))]
    shown = [None] * block + [""] * (count - block)
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"scores": scores, "values": values, "block": block},
        [Choice("after block", blocks)],
        columns("key", *map(str, range(count)))
        + row("score", *(number("score", one) for one in scores))
        + row("value", *(number("value", one) for one in values))
        + row(
            "exp(s − μ)",
            *(number("part", p, "up", text) for p, text in zip(parts, shown, strict=True)),
        )
        + row(
            "weight",
            *(
                number("weight", p / sum(parts), "up", text)
                for p, text in zip(parts, shown, strict=True)
            ),
        ),
        alt=alt,
    )
