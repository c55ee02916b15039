"""The attention weights of several heads, one head at a time: arcs between words, and a table."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, columns, number, row
from attncourse.figures.numbers import require_finite

# letters of a word before it is hyphenated; a phone's width, in em
MAX_LETTERS, PHONE_EMS = 11, 25


def heads(
    weights: Tensor,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    alt: str,
    head: int = 0,
    query: int = 0,
) -> Interactive:
    """Figure: weights (heads, n, m) as arcs and as a table, with choices of the head and the query.

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
    choice = Choice("head", [str(i) for i in range(len(weights))], head)
    head_weights = weights[head].tolist()
    rows = [
        row(
            f'<span data-show="line"{mark_class(i == query)}>{escape(name)}</span>',
            *(number("weight", weight, "heat") for weight in head_weights[i]),
            attrs=pick.hover_attrs(i),
        )
        for i, name in enumerate(queries)
    ]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"weights": weights, "queries": list(queries), "keys": list(keys)},
        [choice],
        columns("query ↓ key →", *map(escape, keys)) + "".join(rows),
        alt=alt,
        picture=arcs_html(head_weights, pick, keys),
        within=[pick],
    )


def arcs_html(weights: list[list[float]], pick: Choice, keys: Sequence[str]) -> str:
    """HTML of the queries above, the keys below, and an arc for each pair."""
    n, m = len(pick.options), len(keys)
    arc_html = (
        f'<span data-show="asks"{mark_class(i == pick.start)}{pick.hover_attrs(i)}>'
        f"{pick.option_html(i)}</span>"
        for i in range(n)
    )
    weight_html = (
        f'<span class="key">{escape(key)}{number("found", weight, "heat")}</span>'
        for key, weight in zip(keys, weights[pick.start], strict=True)
    )
    paths = (
        f'<path data-show="arc"{mark_class(i == pick.start)} style="--share:{weight:.3f}" '
        f'd="M{x:.4g} 0C{x:.4g} .5 {y:.4g} .5 {y:.4g} 1"/>'
        for i, line in enumerate(weights)
        for j, weight in enumerate(line)
        for x, y in [((i + 0.5) / n, (j + 0.5) / m)]
    )
    return (
        f'<div class="arcs" style="--n:{max(n, m)}"><div class="is">query</div>'
        f"{word_row(pick.options, arc_html)}"
        f'<svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">{"".join(paths)}'
        f'</svg>{word_row(keys, weight_html)}<div class="is">key</div></div>'
    )


def word_row(words: Sequence[str], boxes: Iterable[str]) -> str:
    """HTML row of equally wide boxes for words; vertical where a phone is too narrow."""
    width = 0.52 * min(max(map(len, words)), MAX_LETTERS) + 0.8
    upright = " upright" if len(words) * width > PHONE_EMS else ""
    style = f"--n:{len(words)};--room:{width:.2f}em"
    return f'<div class="words{upright}" style="{style}">{"".join(boxes)}</div>'


def mark_class(is_marked: bool) -> str:
    """The class attribute that marks the chosen query; heads.js moves it."""
    return f' class="{"on" if is_marked else ""}"'
