"""The attention weights of several heads, one head at a time."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from torch import Tensor

from attncourse.plot.interactive import Choice, Interactive, columns, number, row
from attncourse.plot.numbers import require_finite


def heads(weights: Tensor, queries: Sequence[str], keys: Sequence[str], *, alt: str) -> Interactive:
    """Weights of shape (heads, n, m): pick a head to see, and a query to have put into words."""
    if weights.dim() != 3 or weights.shape[1:] != (len(queries), len(keys)):
        raise ValueError(
            f"weights={tuple(weights.shape)}, but {len(queries)} queries and {len(keys)} keys"
        )
    if 0 in weights.shape:
        raise ValueError(f"weights={tuple(weights.shape)}: a head, a query and a key are needed")
    require_finite("weights", weights)
    query = Choice("query", queries)
    rows = [
        row(query.option(i), *(number("weight", weight, "heat") for weight in weights[0, i]))
        for i in range(len(queries))
    ]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"weights": weights, "queries": list(queries), "keys": list(keys)},
        [Choice("head", [str(head) for head in range(len(weights))])],
        columns("query ↓ key →", *map(escape, keys)) + "".join(rows),
        alt=alt,
    )
