"""Recorded measurements as a table of bars, for a case that the reader picks.

The numbers are arguments; recorded.js picks and describes them.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import torch
from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, Slider, columns, number, row
from attncourse.figures.numbers import require_finite


def recorded(
    measured: Tensor,
    rows: Sequence[str],
    names: Sequence[str],
    control: str,
    cases: Sequence[str] | Sequence[int],
    *,
    corner: str,
    alt: str,
    start: int = 0,
    forbidden: Tensor | None = None,
) -> Interactive:
    """Figure: bars of the numbers `measured`, (cases, rows, columns), all at least 0.

    Numeric cases are chosen by a slider, others by a choice. All cases have the same scale.
    `corner` is the heading of the rows. `forbidden` (cases, rows) are grey, without their numbers.
    """
    if measured.shape != (len(cases), len(rows), len(names)) or 0 in measured.shape:
        raise ValueError(
            f"measured={tuple(measured.shape)}, but {len(cases)} cases, {len(rows)} rows and "
            f"{len(names)} columns"
        )
    if forbidden is None:
        forbidden = torch.zeros(measured.shape[:2], dtype=torch.bool)
    if forbidden.shape != measured.shape[:2]:
        raise ValueError(
            f"forbidden={tuple(forbidden.shape)}, but measured={tuple(measured.shape)}"
        )
    require_finite("measured", measured)
    if measured.min() < 0:
        raise ValueError(f"measured has {measured.min():.3g}, but a bar begins at 0")
    words = [case for case in cases if isinstance(case, str)]
    numbers = [case for case in cases if not isinstance(case, str)]
    largest = measured.max().item()
    bars = "".join(
        row(
            escape(name),
            *(
                number("bar", 0, "bar forbidden", "") if is_forbidden else number("bar", x, "bar")
                for x in line
            ),
        )
        for name, line, is_forbidden in zip(
            rows, measured[start].tolist(), forbidden[start].tolist(), strict=True
        )
    )
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {
            "measured": measured,
            "forbidden": forbidden,
            "rows": list(rows),
            "names": list(names),
            "cases": list(cases),
            "control": control,
        },
        [Choice(control, words, start) if words else Slider(control, numbers, start)],
        "",
        alt=alt,
        picture=f'<table style="--largest:{largest or 1:.4g};--columns:{len(names)}">'
        f"{columns(corner, *map(escape, names))}{bars}</table>",
    )
