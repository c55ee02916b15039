"""The attention weights of several heads, one head at a time: arcs between words, and a table."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, columns, number, row
from attncourse.figures.numbers import require_finite

# letters that a word may have before it is broken; a phone's width, in the height of its letters
LONGEST, PHONE = 11, 25


def heads(
    weights: Tensor,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    alt: str,
    head: int = 0,
    query: int = 0,
) -> Interactive:
    """Weights of shape (heads, n, m): pick a head to see, and a query to follow to its keys.

    An arc from a query to a key is as thick as the weight. `head` and `query` are shown first.
    """
    if weights.dim() != 3 or weights.shape[1:] != (len(queries), len(keys)):
        raise ValueError(
            f"weights={tuple(weights.shape)}, but {len(queries)} queries and {len(keys)} keys"
        )
    if 0 in weights.shape:
        raise ValueError(f"weights={tuple(weights.shape)}: a head, a query and a key are needed")
    require_finite("weights", weights)
    pick = Choice("query", queries, query)
    choice = Choice("head", [str(one) for one in range(len(weights))], head)
    shown = weights[head].tolist()
    rows = [
        row(
            f'<span data-show="line"{chosen(i == query)}>{escape(name)}</span>',
            *(number("weight", weight, "heat") for weight in shown[i]),
            at=pick.at(i),
        )
        for i, name in enumerate(queries)
    ]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"weights": weights, "queries": list(queries), "keys": list(keys)},
        [choice],
        columns("query ↓ key →", *map(escape, keys)) + "".join(rows),
        alt=alt,
        picture=arcs(shown, pick, keys),
        within=[pick],
    )


def arcs(weights: list[list[float]], pick: Choice, keys: Sequence[str]) -> str:
    """The queries above, the keys below, and from each query an arc to each key."""
    n, m = len(pick.options), len(keys)
    above = (
        f'<span data-show="asks"{chosen(i == pick.start)}{pick.at(i)}>{pick.option(i)}</span>'
        for i in range(n)
    )
    below = (
        f'<span class="key">{escape(key)}{number("found", weight, "heat")}</span>'
        for key, weight in zip(keys, weights[pick.start], strict=True)
    )
    paths = (
        f'<path data-show="arc"{chosen(i == pick.start)} style="--share:{weight:.3f}" '
        f'd="M{x:.4g} 0C{x:.4g} .5 {y:.4g} .5 {y:.4g} 1"/>'
        for i, line in enumerate(weights)
        for j, weight in enumerate(line)
        for x, y in [((i + 0.5) / n, (j + 0.5) / m)]
    )
    return (
        f'<div class="arcs" style="--n:{max(n, m)}"><div class="is">query</div>'
        f"{line_of(pick.options, above)}"
        f'<svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">{"".join(paths)}'
        f'</svg>{line_of(keys, below)}<div class="is">key</div></div>'
    )


def line_of(words: Sequence[str], boxes: Iterable[str]) -> str:
    """A box for each word, wide enough for all; on a phone that has no room, they stand upright."""
    room = 0.52 * min(max(map(len, words)), LONGEST) + 0.8
    upright = " upright" if len(words) * room > PHONE else ""
    style = f"--n:{len(words)};--room:{room:.2f}em"
    return f'<div class="words{upright}" style="{style}">{"".join(boxes)}</div>'


def chosen(yes: bool) -> str:
    """What marks the chosen query; heads.js moves the mark."""
    return f' class="{"on" if yes else ""}"'
