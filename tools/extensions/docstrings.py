"""Docstrings are Markdown, and the API page reads them as reStructuredText."""

import re


def to_rst(app, what, name, obj, options, lines):
    """Write a docstring's formulas and code the way the API page reads them."""
    text = re.sub(
        r"\$\$(.+?)\$\$",
        lambda found: f"\n.. math:: {' '.join(found[1].split())}\n",
        "\n".join(lines),
        flags=re.DOTALL,
    )
    # the code first: a formula's own backticks would be taken for it
    text = re.sub(r"(?<![:`])`([^`]+)`(?!`)", r"``\1``", text)
    lines[:] = re.sub(r"\$([^$]+)\$", r":math:`\1`", text).split("\n")


def setup(app):
    app.connect("autodoc-process-docstring", to_rst)
