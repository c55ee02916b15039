"""Two orders of multiplying three matrices: the intermediate matrix, to scale, and the cost.

The costs are arguments; orders.js picks those of the chosen length and width.
"""

from collections.abc import Sequence
from pathlib import Path

from attncourse.figures.interactive import Interactive, Slider, number

Q, K, V = "Φ<sub>Q</sub>", "Φ<sub>K</sub><sup>⊤</sup>", "V"


def orders(
    lengths: Sequence[int],
    widths: Sequence[int],
    queries_first: Sequence[Sequence[int]],
    values_first: Sequence[Sequence[int]],
    *,
    alt: str,
) -> Interactive:
    """Figure: (Φ_Q Φ_Kᵀ) V beside Φ_Q (Φ_Kᵀ V), for a length and a width, at first the last ones.

    The costs of an order have a row for each width, and a column for each length.
    """
    for name, costs in {"queries_first": queries_first, "values_first": values_first}.items():
        if (row_lengths := [len(row) for row in costs]) != (
            expected_lengths := [len(lengths)] * len(widths)
        ):
            raise ValueError(
                f"{name} has rows of {row_lengths} numbers, but {expected_lengths} are needed"
            )
    n, d = lengths[-1], widths[-1]
    first, second = queries_first[-1][-1], values_first[-1][-1]
    max_flops = max(first, second)
    panels = panel(
        f"({Q} {K}) {V}", ("query", Q), ("key", K), ("weight", n), (first, max_flops)
    ) + panel(f"{Q} ({K} {V})", ("key", K), ("value", V), ("plain", d), (second, max_flops))
    scale = f"--n:{n};--d:{d};--most:{max(lengths) + max(widths)}"
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {
            "lengths": list(lengths),
            "widths": list(widths),
            "costs": [queries_first, values_first],
            "most": max(lengths) + max(widths),
        },
        [Slider("n", lengths, len(lengths) - 1), Slider("d", widths, len(widths) - 1)],
        "",
        alt=alt,
        picture=f'<div class="both" data-show="scale" style="{scale}">{panels}</div>',
    )


def panel(
    formula: str,
    left_factor: tuple[str, str],
    top_factor: tuple[str, str],
    product: tuple[str, int],
    cost: tuple[int, int],
) -> str:
    """HTML of one order: the intermediate product between its factors, and its cost."""
    (role, side), (operations, largest) = product, cost
    title = "queries and keys first" if role == "weight" else "keys and values first"
    return (
        f'<div class="panel"><b>{title}</b><span>{formula}</span>'
        f'<div class="product {role}" aria-hidden="true">'
        f'<span>{top_factor[1]}</span><i class="{top_factor[0]}"></i>'
        f'<span>{left_factor[1]}</span><i class="{left_factor[0]}"></i><i class="{role}"></i></div>'
        f"<span>in between: {number('size', side, text=f'{side} × {side}')}</span>"
        f"<span>{number('area', side * side, text=f'{side * side:,}')} numbers</span>"
        f"<span>{number('cost', operations / largest, 'cost', f'{operations:,}')} operations</span>"
        "</div>"
    )
