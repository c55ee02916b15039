"""Figures that read on light and on dark, in the site and in any notebook.

Each function takes numbers and labels, and `alt`: the words that stand for the figure where it
cannot be seen. Drawings are SVG; the interactive figures are tables that compute in the page.
None imports a mechanism; those whose page has to compute one, such as `explorer`, write it out.
"""

from attncourse.plot.clipping import clipping
from attncourse.plot.clocks import clocks
from attncourse.plot.distances import distances
from attncourse.plot.drawing import Picture, beside, curves, dots, heatmap, lines
from attncourse.plot.explorer import explorer
from attncourse.plot.growing import growing
from attncourse.plot.heads import heads
from attncourse.plot.kernel_as_heads import kernel_as_heads
from attncourse.plot.offsets import offsets
from attncourse.plot.orders import orders
from attncourse.plot.patterns import patterns
from attncourse.plot.plane import plane
from attncourse.plot.receptive import receptive
from attncourse.plot.recorded import recorded
from attncourse.plot.running import running
from attncourse.plot.sampling import sampling
from attncourse.plot.skewing import skewing
from attncourse.plot.translator import translator
from attncourse.plot.turning import turning
from attncourse.plot.waves import waves
from attncourse.plot.writer import writer

__all__ = [
    "Picture",
    "beside",
    "clipping",
    "clocks",
    "curves",
    "distances",
    "dots",
    "explorer",
    "growing",
    "heads",
    "heatmap",
    "kernel_as_heads",
    "lines",
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
