"""Attention of one query, step by step: a row for each key, a column for each step.

The first state is computed here, later ones in explorer.js.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import torch
from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, Slider, Switch, columns, number, row
from attncourse.figures.numbers import require_finite

TEMPERATURES = (0.125, 0.25, 0.5, 1, 2, 4, 8)


def explorer(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    queries: Sequence[str],
    keys: Sequence[str],
    values: Sequence[str],
    *,
    alt: str,
    widths: Sequence[int],
    masks: Mapping[str, Tensor],
    query: int = 0,
) -> Interactive:
    """Figure: the steps from a query to its output, with choices of query, mask and temperature.

    `values` names the columns of v. At a width d, one of `widths`, the queries and the keys are the
    first d numbers of each row of q and k. The first width, the first mask and `query` are shown
    first.
    """
    require_consistent(q, k, v, queries, keys, values, widths, masks, query)
    dot, score, weight, weighted_values = attention_steps(
        q, k, v, widths[0], next(iter(masks.values())), query
    )
    heading = columns(
        "key",
        "q·k",
        f'score: q·k\u00a0/ <span data-show="divisor">√{widths[0]}</span>',
        "weight",
        *(f"× {escape(name)}" for name in values),
    )
    rows = [
        row(
            escape(key),
            number("dot", dot[j]),
            number("score", score[j]),
            number("weight", weight[j], "bar"),
            *(number("part", x) for x in weighted_values[j]),
        )
        for j, key in enumerate(keys)
    ]
    outputs = (number("output", x) for x in weighted_values.sum(dim=0))
    total = row("sum", "", "", number("total", weight.sum()), *outputs)
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {
            "q": q,
            "k": k,
            "v": v,
            "masks": list(masks.values()),
            "queries": list(queries),
            "keys": list(keys),
        },
        [
            Choice("query", queries, query),
            Choice("mask", list(masks)),
            Slider("d_k", widths),
            Switch("scale"),
            Slider("temperature", TEMPERATURES, TEMPERATURES.index(1)),
        ],
        f"<thead>{heading}</thead><tbody>{''.join(rows)}</tbody><tfoot>{total}</tfoot>",
        alt=alt,
    )


def attention_steps(
    q: Tensor, k: Tensor, v: Tensor, d: int, mask: Tensor, query: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Dot products, scores, weights and weighted values of the first state."""
    q, k, v, mask = (x.detach().cpu() for x in (q, k, v, mask))
    dot = k[:, :d].double() @ q[query, :d].double()
    score = (dot / d**0.5).masked_fill(~mask[query], -torch.inf)
    weight = score.softmax(dim=-1).masked_fill(~mask[query], 0.0)
    return dot, score, weight, weight[:, None] * v


def require_consistent(q, k, v, queries, keys, values, widths, masks, query) -> None:
    """Raise ValueError, with the sizes, where the arguments of `explorer` do not fit each other."""
    shapes = f"q={tuple(q.shape)}, k={tuple(k.shape)}, v={tuple(v.shape)}"
    if not q.dim() == k.dim() == v.dim() == 2 or q.shape[1] != k.shape[1] or len(k) != len(v):
        raise ValueError(f"q (n, d), k (m, d) and v (m, d_v) do not go together: {shapes}")
    if (len(queries), len(keys), len(values)) != (len(q), len(k), v.shape[1]):
        raise ValueError(
            f"{len(queries)} queries, {len(keys)} keys and {len(values)} values, but {shapes}"
        )
    if not widths or not all(1 <= width <= q.shape[1] for width in widths):
        raise ValueError(f"widths={list(widths)} do not lie between 1 and {q.shape[1]}: {shapes}")
    if not masks:
        raise ValueError("masks is empty: the figure needs one to begin with")
    if not len(k):
        raise ValueError(f"there is no key to attend to: {shapes}")
    for name, x in {"q": q, "k": k, "v": v}.items():
        require_finite(name, x)
    largest = q.detach().double().abs() @ k.detach().double().abs().mT
    require_finite("q·k / temperature of ", largest / min(TEMPERATURES))
    for name, mask in masks.items():
        if mask.shape != (len(q), len(k)) or mask.dtype != torch.bool:
            raise ValueError(f"mask {name!r} is {mask.dtype} {tuple(mask.shape)}, but {shapes}")
    if not 0 <= query < len(q):
        raise ValueError(f"query={query}, but there are {len(q)} queries")
