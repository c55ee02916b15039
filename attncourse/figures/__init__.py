"""Figures for light and dark pages, on the site and in any notebook.

Each function takes numbers and labels, and `alt`, the text alternative. Plots are SVG; interactive
figures are tables and drawings that JavaScript recomputes in the page. None imports a mechanism;
those that compute one, such as `explorer`, have their own copy of it.
"""

from attncourse.figures.clipping import clipping
from attncourse.figures.clocks import clocks
from attncourse.figures.distances import distances
from attncourse.figures.drawing import Picture, beside, curves, dot_columns, dots, heatmap, lines
from attncourse.figures.explorer import explorer
from attncourse.figures.growing import growing
from attncourse.figures.heads import heads
from attncourse.figures.kernel_as_heads import kernel_as_heads
from attncourse.figures.kv_cache import kv_cache
from attncourse.figures.method_costs import method_costs
from attncourse.figures.offsets import offsets
from attncourse.figures.orders import orders
from attncourse.figures.patterns import patterns
from attncourse.figures.plane import plane
from attncourse.figures.receptive import receptive
from attncourse.figures.recorded import recorded
from attncourse.figures.running import running
from attncourse.figures.sampling import sampling
from attncourse.figures.skewing import skewing
from attncourse.figures.translator import translator
from attncourse.figures.turning import turning
from attncourse.figures.waves import waves
from attncourse.figures.writer import writer

__all__ = [
    "Picture",
    "beside",
    "clipping",
    "clocks",
    "curves",
    "distances",
    "dot_columns",
    "dots",
    "explorer",
    "growing",
    "heads",
    "heatmap",
    "kernel_as_heads",
    "kv_cache",
    "lines",
    "method_costs",
    "offsets",
    "orders",
    "patterns",
    "plane",
    "receptive",
    "recorded",
    "running",
    "sampling",
    "skewing",
    "translator",
    "turning",
    "waves",
    "writer",
]
