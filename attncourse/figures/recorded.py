"""What was measured in several cases: a bar for each row and column, and the reader picks the case.

The numbers are measured before they come here: recorded.js only picks them and puts them in words.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

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
) -> Interactive:
    """The numbers `measured`, of shape (cases, rows, columns), 0 or more: a slider or a choice.

    Cases that are numbers make a slider. The longest bar is the largest number of all cases.
    `corner` says what the rows are.
    """
    if measured.shape != (len(cases), len(rows), len(names)) or 0 in measured.shape:
        raise ValueError(
            f"measured={tuple(measured.shape)}, but {len(cases)} cases, {len(rows)} rows and "
            f"{len(names)} columns"
        )
    require_finite("measured", measured)
    if measured.min() < 0:
        raise ValueError(f"measured has {measured.min():.3g}, but a bar begins at 0")
    words = [one for one in cases if isinstance(one, str)]
    numbers = [one for one in cases if not isinstance(one, str)]
    largest = measured.max().item()
    bars = "".join(
        row(escape(name), *(number("bar", x, "bar") for x in line))
        for name, line in zip(rows, measured[start].tolist(), strict=True)
    )
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {
            "measured": measured,
            "rows": list(rows),
            "names": list(names),
            "cases": list(cases),
            "control": control,
        },
        [Choice(control, words, start) if words else Slider(control, numbers, start)],
        "",
        alt=alt,
        picture=f'<table style="--largest:{largest or 1:.4g}">'
        f"{columns(corner, *map(escape, names))}{bars}</table>",
    )
