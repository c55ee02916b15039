"""Two positions as the hands of clocks, and how alike the two are, beside all other positions.

This figure computes sinusoids: at first here, and in clocks.js whenever a slider is moved.
"""

from math import cos, sin
from pathlib import Path

from attncourse.figures.arrow import SCRIPT, arrow
from attncourse.figures.interactive import Interactive, Slider, columns, number, row

# a clock's radius, and how far apart clocks stand; the curve's width, and its height for a 1
RADIUS, STEP, WIDE, HIGH = 38, 92, 356, 70


def clocks(n: int, d: int, *, alt: str, positions: tuple[int, int] = (8, 10)) -> Interactive:
    """The d/2 hands of two of n positions, a clock each, and their dot product as a share of d/2.

    The curve has that share for the first position and every other one. `positions` are shown
    first.
    """
    if d < 2 or d % 2:
        raise ValueError(f"d={d} should be even, and at least 2")
    if n < 2:
        raise ValueError(f"n={n}: a curve needs at least 2 positions")
    sliders = [
        Slider(name, range(n), at)
        for name, at in zip(("position", "another"), positions, strict=True)
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
            "apart": STEP,
            "step": WIDE / (n - 1),
            "high": HIGH,
        },
        sliders,
        columns("turned by", "position", "another", "cosine of the angle between")
        + "".join(rows)
        + row("mean", "", "", number("mean", mean)),
        alt=alt,
        picture=faces(frequencies, first, second) + curve(shares, second),
        uses=[SCRIPT],
    )


def hand(i: int, angle: float, length: float) -> str:
    """The arrow of a hand that has turned clockwise from the top of clock i."""
    x = STEP * i
    return arrow((x, 0), (x + length * sin(angle), -length * cos(angle)))


def faces(frequencies: list[float], first: int, second: int) -> str:
    """The clocks, each with the hands of both positions."""
    wide = STEP * (len(frequencies) - 1) + 2 * RADIUS + 4
    drawn = "".join(
        f'<circle cx="{STEP * i}" cy="0" r="{RADIUS}"/>'
        f'<path data-show="other" class="other" d="{hand(i, w * second, RADIUS)}"/>'
        f'<path data-show="one" class="one" d="{hand(i, w * first, RADIUS)}"/>'
        for i, w in enumerate(frequencies)
    )
    view = f"{-RADIUS - 2} {-RADIUS - 2} {wide} {2 * RADIUS + 4}"
    return f'<svg viewBox="{view}" aria-hidden="true">{drawn}</svg>'


def curve(shares: list[float], second: int) -> str:
    """The shares of all positions, with a dot at the other one."""
    step = WIDE / (len(shares) - 1)
    path = " ".join(f"{step * t:.1f},{-HIGH * share + 0.0:.1f}" for t, share in enumerate(shares))
    return (
        f'<svg viewBox="-10 {-HIGH - 10} {WIDE + 20} {1.4 * HIGH + 20:.0f}" aria-hidden="true">'
        f'<path class="axis" d="M0 0H{WIDE}"/><polyline data-show="curve" points="{path}"/>'
        f'<circle data-show="dot" class="dot" r="6" cx="{step * second:.1f}" '
        f'cy="{-HIGH * shares[second]:.1f}"/></svg>'
    )
