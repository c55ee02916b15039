"""RoPE in the plane: a query and a key rotated by their positions, and their score.

The first state is computed here, later ones in turning.js.
"""

from collections.abc import Sequence
from math import cos, radians, sin
from pathlib import Path

from attncourse.figures.arrow import SCRIPT, arrow
from attncourse.figures.interactive import Interactive, Slider, columns, number, row

# SVG units of a unit vector, and from the centre to the edge
UNIT, REACH = 30, 110
DEGREES = (10, 30, 45, 90)


def turning(
    query: Sequence[float],
    key: Sequence[float],
    positions: int,
    *,
    alt: str,
    at: tuple[int, int] = (1, 2),
    start: int = len(DEGREES) - 1,
) -> Interactive:
    """Figure: RoPE in the plane, with sliders for both positions and the angle per position.

    `at` has the first positions of the two, below `positions`; `start` is the index of the first
    angle. Source: Su et al. (2021), equation 12.
    """
    longest = max(query[0] ** 2 + query[1] ** 2, key[0] ** 2 + key[1] ** 2) ** 0.5
    if longest > REACH / UNIT:
        raise ValueError(f"a vector of length {longest:.3g} is longer than {REACH / UNIT:.3g}")
    positions_range = range(positions)
    sliders = [
        Slider("query at", positions_range, at[0]),
        Slider("key at", positions_range, at[1]),
        Slider("move both by", positions_range),
        Slider("degrees per position", DEGREES, start),
    ]
    q, k = (rotate(x, t * DEGREES[start]) for x, t in zip((query, key), at, strict=True))
    score = q[0] * k[0] + q[1] * k[1]
    circle = '<circle class="round" r="{:.1f}" cx="0" cy="0"/>'
    circles = "".join(circle.format(UNIT * (x[0] ** 2 + x[1] ** 2) ** 0.5) for x in (query, key))
    picture = (
        f'<svg viewBox="{-REACH} {-REACH} {2 * REACH} {2 * REACH}" aria-hidden="true">{circles}'
        f'<path data-show="ask" class="query" d="{arrow_from_centre(q)}"/>'
        f'<path data-show="key" class="key" d="{arrow_from_centre(k)}"/></svg>'
    )
    cells = [
        row('<b class="query">query</b>', *(number("turned", coordinate) for coordinate in q)),
        row('<b class="key">key</b>', *(number("turned", coordinate) for coordinate in k)),
        row("score", "", number("score", score)),
    ]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"query": list(query), "key": list(key), "unit": UNIT},
        sliders,
        columns("vector", "x", "y") + "".join(cells),
        alt=alt,
        picture=picture,
        scripts=[SCRIPT],
    )


def rotate(x: Sequence[float], degrees: float) -> tuple[float, float]:
    """The vector rotated counterclockwise."""
    cosine, sine = cos(radians(degrees)), sin(radians(degrees))
    return cosine * x[0] - sine * x[1], sine * x[0] + cosine * x[1]


def arrow_from_centre(x: Sequence[float]) -> str:
    """SVG path of the arrow of a vector."""
    return arrow((0, 0), (UNIT * x[0], -UNIT * x[1]))
