"""Two positions as the hands of clocks, and the dot product of one with all positions.

The first state is computed here, later ones in clocks.js.
"""

from math import cos, sin
from pathlib import Path

from attncourse.figures.arrow import SCRIPT, arrow
from attncourse.figures.interactive import Interactive, Slider, columns, number, row

# a clock's radius, and the distance of two centres; the curve's width, and its height at 1
RADIUS, SPACING, CURVE_WIDTH, CURVE_HEIGHT = 38, 92, 356, 70


def clocks(n: int, d: int, *, alt: str, positions: tuple[int, int] = (8, 10)) -> Interactive:
    """Figure: two of n positions as hands of d/2 clocks, and their dot product divided by d/2.

    The curve is that quotient for the first position and all others. `positions` are shown
    first.
    """
    if d < 2 or d % 2:
        raise ValueError(f"d={d} should be even, and at least 2")
    if n < 2:
        raise ValueError(f"n={n}: a curve needs at least 2 positions")
    sliders = [
        Slider(name, range(n), position)
        for name, position in zip(("position", "another"), positions, strict=True)
    ]
    frequencies = [10000 ** (-2 * i / d) for i in range(d // 2)]
    first, second = positions
    cosines = [cos(w * (first - second)) for w in frequencies]
    rows = [
        row(
            f"hand {i}",
            number("turned", w * first),
            number("turned", w * second),
            number("cosine", cosine, "signed"),
        )
        for i, (w, cosine) in enumerate(zip(frequencies, cosines, strict=True))
    ]
    mean = sum(cosines) / len(cosines)
    shares = [sum(cos(w * (first - t)) for w in frequencies) / len(cosines) for t in range(n)]
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {
            "n": n,
            "frequencies": frequencies,
            "radius": RADIUS,
            "apart": SPACING,
            "step": CURVE_WIDTH / (n - 1),
            "high": CURVE_HEIGHT,
        },
        sliders,
        columns("turned by", "position", "another", "cosine of the angle between")
        + "".join(rows)
        + row("mean", "", "", number("mean", mean)),
        alt=alt,
        picture=clocks_svg(frequencies, first, second) + curve_svg(shares, second),
        scripts=[SCRIPT],
    )


def hand_path(i: int, angle: float, length: float) -> str:
    """SVG path of a hand of clock i, at an angle in radians clockwise from the top."""
    x = SPACING * i
    return arrow((x, 0), (x + length * sin(angle), -length * cos(angle)))


def clocks_svg(frequencies: list[float], first: int, second: int) -> str:
    """SVG of the clocks, each with the hands of both positions."""
    width = SPACING * (len(frequencies) - 1) + 2 * RADIUS + 4
    content = "".join(
        f'<circle cx="{SPACING * i}" cy="0" r="{RADIUS}"/>'
        f'<path data-show="other" class="other" d="{hand_path(i, w * second, RADIUS)}"/>'
        f'<path data-show="one" class="one" d="{hand_path(i, w * first, RADIUS)}"/>'
        for i, w in enumerate(frequencies)
    )
    view = f"{-RADIUS - 2} {-RADIUS - 2} {width} {2 * RADIUS + 4}"
    return f'<svg viewBox="{view}" aria-hidden="true">{content}</svg>'


def curve_svg(shares: list[float], second: int) -> str:
    """SVG of the curve of all positions' shares, with a dot at the second position."""
    step = CURVE_WIDTH / (len(shares) - 1)
    path = " ".join(
        f"{step * t:.1f},{-CURVE_HEIGHT * share + 0.0:.1f}" for t, share in enumerate(shares)
    )
    return (
        f'<svg viewBox="-10 {-CURVE_HEIGHT - 10} {CURVE_WIDTH + 20} '
        f'{1.4 * CURVE_HEIGHT + 20:.0f}" aria-hidden="true">'
        f'<path class="axis" d="M0 0H{CURVE_WIDTH}"/><polyline data-show="curve" points="{path}"/>'
        f'<circle data-show="dot" class="dot" r="6" cx="{step * second:.1f}" '
        f'cy="{-CURVE_HEIGHT * shares[second]:.1f}"/></svg>'
    )
