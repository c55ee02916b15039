"""Plots as SVG, in the colour of the page's text, for light and dark pages."""

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from io import BytesIO, StringIO
from itertools import pairwise
from math import ceil, log2
from statistics import fmean

import matplotlib
import torch
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.patches import Rectangle
from matplotlib.ticker import EngFormatter, FormatStrFormatter, MaxNLocator
from torch import Tensor

from attncourse.figures.colours import COLOURS, inks
from attncourse.figures.numbers import format_number, require_finite

# in inches: on a phone, letters in a plot of this width are as large as the caption's
MAX_WIDTH = 4.6
# rows of a heat map from which on its column names stand above it, too
TALL = 12
# in widths of a column, before those of a heat map that stand apart
GAP = 0.3
# placeholder colour, replaced by currentColor
TEXT = "#010203"
STYLE: dict = {
    "axes.edgecolor": TEXT,
    "axes.labelcolor": TEXT,
    "axes.spines.right": False,
    "axes.spines.top": False,
    # on a phone too, where plots shrink, no smaller than the caption
    "axes.titlesize": "medium",
    "font.size": 11.6,
    "hatch.color": TEXT,
    "svg.fonttype": "none",
    "svg.hashsalt": "attncourse",
    "text.color": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
}
# more placeholders, replaced by pairs of colours for light and dark pages
WEIGHT, GROUND = "#010204", "#010205"
INKS = {
    ("black", "white"): "#010206",
    ("black", "black"): "#010207",
    ("white", "black"): "#010208",
}
THEMED = {WEIGHT: COLOURS["weight"], GROUND: ("Canvas", "Canvas")}
THEMED |= {name: pair for pair, name in INKS.items()}
# colour, marker and dash; the first three colours are safe for all kinds of colour vision
LINE_STYLES = (("#0080c8", "o", "-"), ("#d55e00", "s", "--"), ("#009e73", "^", ":"))
CURVE_STYLES = (*LINE_STYLES, ("#c05fa0", "D", "-"), ("#808080", "v", "--"), ("#a57c00", "P", ":"))


class Picture:
    """An SVG with its text alternative."""

    def __init__(self, svg: str, alt: str):
        self.svg, self.alt = svg, alt

    def __repr__(self) -> str:
        return self.alt

    def _repr_html_(self) -> str:
        return f'<div role="img" aria-label="{escape(self.alt)}">{self.svg}</div>'


def beside(*pictures: Picture) -> Picture:
    """The pictures side by side, or below each other where the page is too narrow."""
    # without a least width, a picture would not shrink on a phone
    divs = "".join(f'<div style="min-width: 0">{picture.svg}</div>' for picture in pictures)
    style = "display: flex; flex-wrap: wrap; gap: 1em; justify-content: center"
    return Picture(
        f'<div style="{style}">{divs}</div>', " ".join(picture.alt for picture in pictures)
    )


def heatmap(
    values: Tensor,
    rows: Sequence[str],
    cols: Sequence[str],
    *,
    alt: str,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    crossed: Tensor | None = None,
    apart: int | None = None,
) -> Picture:
    """A matrix of numbers from 0 to 1 as a heat map; `crossed` cells are hatched instead.

    The columns from `apart` on stand apart from those before.
    """
    if values.shape != (len(rows), len(cols)):
        raise ValueError(f"values={tuple(values.shape)}, but {len(rows)} rows and {len(cols)} cols")
    values = values.detach().cpu()
    crossed = torch.zeros_like(values, dtype=torch.bool) if crossed is None else crossed.cpu()
    if crossed.shape != values.shape:
        raise ValueError(f"crossed={tuple(crossed.shape)}, but values={tuple(values.shape)}")
    require_finite("values", values.masked_fill(crossed, 0))
    lefts = [j + GAP * (apart is not None and j >= apart) for j in range(len(cols))]
    width = lefts[-1] + 1
    with matplotlib.rc_context(STYLE):
        label_width, cell_width = (
            0.6 + max(0.095 * len(row) for row in rows),
            0.11 * max(map(len, cols)),
        )
        # column names are rotated where a phone would have to shrink the plot
        rotated = cell_width > 0.44 and label_width + cell_width * width > MAX_WIDTH
        cell_width = max(0.38, 0.44 if rotated else cell_width)
        label_height = 0.06 * max(map(len, cols)) if rotated else 0
        # a reader of the first rows of a tall one may not see the names below the last
        tall = len(rows) > TALL
        label_height += tall * (label_height + 0.25)
        size = (label_width + cell_width * width, 0.8 + 0.34 * len(rows) + label_height)
        figure = Figure(figsize=size, layout="tight")
        axes = figure.subplots()
        axes.set_xlim(0, width)
        axes.set_ylim(len(rows), 0)
        # a background of its own: not every notebook declares a dark page
        axes.add_patch(Rectangle((0, 0), width, len(rows), facecolor=GROUND))
        for i, row in enumerate(values.tolist()):
            for j, (left, value) in enumerate(zip(lefts, row, strict=True)):
                box = {"width": 1, "height": 1, "edgecolor": TEXT, "linewidth": 0.6}
                if crossed[i, j]:
                    axes.add_patch(Rectangle((left, i), fill=False, hatch="///", **box))
                    continue
                axes.add_patch(
                    Rectangle((left, i), facecolor=(WEIGHT, min(max(value, 0), 1)), **box)
                )
                ink = INKS[inks(value)]
                axes.text(
                    left + 0.5, i + 0.5, format_number(value), color=ink, ha="center", va="center"
                )
        axes.set_xticks([left + 0.5 for left in lefts], cols)
        axes.tick_params(axis="x", labeltop=tall)
        if rotated:
            axes.tick_params(axis="x", rotation=35)
            for tick in axes.xaxis.get_major_ticks():
                tick.label1.set(ha="right", rotation_mode="anchor")
                tick.label2.set(ha="left", rotation_mode="anchor")
        axes.set_yticks(torch.arange(len(rows)) + 0.5, rows)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set_title(title)
        return Picture(svg_of(figure), alt)


def lines(
    x: Sequence[int],
    series: dict[str, Sequence[float]],
    *,
    alt: str,
    xlabel: str = "",
    ylabel: str = "",
    log: bool = False,
    bottom: float = 0,
) -> Picture:
    """One line for each series, over a log2 x axis.

    The y axis begins at `bottom`, or is logarithmic too with `log`.
    """
    if len(series) > len(LINE_STYLES):
        raise ValueError(
            f"{len(series)} series, but only {len(LINE_STYLES)} lines can be told apart"
        )
    with matplotlib.rc_context(STYLE):
        # the legend is below the axes, in as many columns as fit
        columns = max(1, int(320 / (42 + 7 * max(map(len, series)))))
        height = 2.9 + 0.24 * ceil(len(series) / columns)
        figure = Figure(figsize=(MAX_WIDTH, height), layout="constrained")
        axes = figure.subplots()
        for (name, y), (colour, marker, dash) in zip(series.items(), LINE_STYLES, strict=False):
            axes.plot(x, y, dash, color=colour, marker=marker, label=name)
        axes.set_xscale("log", base=2)
        axes.set_xticks(x, tick_labels(x))
        axes.minorticks_off()
        if log:
            axes.set_yscale("log", base=10)
            axes.yaxis.set_major_formatter(EngFormatter())
            axes.minorticks_off()
        else:
            axes.set_ylim(bottom=bottom)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        figure.legend(frameon=False, ncols=columns, loc="outside lower center")
        return Picture(svg_of(figure), alt)


def tick_labels(x: Sequence[int]) -> list[str]:
    """Tick labels of a log2 axis; every other one is empty if two would overlap."""
    # in points
    axis_length, digit_width = 260, 7.5
    octave = axis_length / max(log2(x[-1] / x[0]), 1)
    overlapping = any(
        (len(str(a)) + len(str(b)) + 2) / 2 * digit_width > log2(b / a) * octave
        for a, b in pairwise(x)
    )
    return ["" if overlapping and i % 2 else str(tick) for i, tick in enumerate(reversed(x))][::-1]


def curves(
    series: dict[str, Sequence[tuple[float, float]]],
    *,
    alt: str,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
) -> Picture:
    """One line for each series of (x, y) points on log-log axes."""
    if len(series) > len(CURVE_STYLES):
        raise ValueError(
            f"{len(series)} series, but only {len(CURVE_STYLES)} curves can be told apart"
        )
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(MAX_WIDTH, 4.1), layout="constrained")
        axes = figure.subplots()
        for (name, points), (colour, marker, dash) in zip(
            series.items(), CURVE_STYLES, strict=False
        ):
            axes.plot(*zip(*points, strict=True), dash, color=colour, marker=marker, label=name)
        axes.set(xscale="log", yscale="log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FormatStrFormatter("%g"))
        axes.minorticks_off()
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set_title(title)
        figure.legend(
            *axes.get_legend_handles_labels(), frameon=False, ncols=3, loc="outside lower center"
        )
        return Picture(svg_of(figure), alt)


def dots(groups: dict[str, dict[str, Sequence[float]]], *, alt: str, xlabel: str = "") -> Picture:
    """Dot plot: a row of dots for each name, ordered by mean within its group."""
    if len(groups) > len(LINE_STYLES):
        raise ValueError(f"{len(groups)} groups, but only {len(LINE_STYLES)} can be told apart")
    empty = [name for group in groups.values() for name, values in group.items() if not values]
    if empty:
        raise ValueError(f"{empty[0]} has no number")
    with matplotlib.rc_context(STYLE):
        figure = Figure(
            figsize=(MAX_WIDTH, 1 + 0.26 * sum(map(len, groups.values()))), layout="constrained"
        )
        axes = figure.subplots()
        names: list[str] = []
        for (group, values), (colour, marker, _) in zip(groups.items(), LINE_STYLES, strict=False):
            ordered = sorted(values, key=lambda name: fmean(values[name]))
            points = [(x, len(names) + i) for i, name in enumerate(ordered) for x in values[name]]
            axes.plot(*zip(*points, strict=True), marker, color=colour, label=group, alpha=0.8)
            names += ordered
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_yticks(range(len(names)), names)
        axes.grid(axis="y", color=TEXT, alpha=0.2)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set(xlabel=xlabel)
        figure.legend(frameon=False, ncols=3, loc="outside lower center")
        return Picture(svg_of(figure), alt)


def dot_columns(measures: dict[str, dict[str, Sequence[float]]], *, alt: str) -> Picture:
    """Dot plot with a column for each measure: a row of dots for each name, in the order of the
    first measure."""
    names = [*next(iter(measures.values()))]
    for measure, values in measures.items():
        if values.keys() != {*names}:
            raise ValueError(f"{measure} is of {[*values]}, the first measure of {names}")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(MAX_WIDTH, 0.8 + 0.26 * len(names)), layout="constrained")
        columns = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for axes, (measure, values) in zip(columns, measures.items(), strict=True):
            points = [(x, i) for i, name in enumerate(names) for x in values[name]]
            axes.plot(*zip(*points, strict=True), "o", color=LINE_STYLES[0][0], alpha=0.8)
            axes.set(xlabel=measure)
            axes.margins(x=0.15)
            axes.xaxis.set_major_locator(MaxNLocator(2))
            if axes.get_xlim()[1] >= 1e4:
                axes.xaxis.set_major_formatter(EngFormatter(sep=""))
            axes.grid(axis="y", color=TEXT, alpha=0.2)
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        columns[0].set_yticks(range(len(names)), names)
        columns[0].set_ylim(len(names) - 0.4, -0.6)
        return Picture(svg_of(figure), alt)


def svg_of(figure: Figure) -> str:
    """The figure as an SVG element, with ids that are unique on the page."""
    file = StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = file.getvalue().replace(TEXT, "currentColor")
    for name, (light, dark) in THEMED.items():
        # a browser without light-dark() keeps the first colour
        svg = svg.replace(f"fill: {name}", f"fill: {light}; fill: light-dark({light}, {dark})")
    # a style element would also apply to the rest of the page
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = svg[svg.index("<svg") :]
    name = "f" + sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    style = "max-width: 100%; height: auto; stroke-linejoin: round; stroke-linecap: butt"
    return svg.replace("<svg ", f'<svg style="{style}" ', 1)


def formula(tex: str) -> str:
    """A TeX formula as an inline HTML image, in black, for print."""
    file = BytesIO()
    width, height, depth, *_ = MathTextParser("path").parse(f"${tex}$", dpi=72)
    figure = Figure(figsize=(width / 72, height / 72))
    figure.text(0, depth / height, f"${tex}$")
    with matplotlib.rc_context({"svg.hashsalt": tex}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    data = b64encode(file.getvalue()).decode()
    style = f"vertical-align: {-depth:.1f}pt"
    return f'<img alt="{escape(tex)}" style="{style}" src="data:image/svg+xml;base64,{data}">'
