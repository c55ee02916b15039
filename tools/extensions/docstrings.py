"""Convert docstrings, which are Markdown, to reStructuredText for the API page."""

import re


def to_rst(app, what, name, obj, options, lines):
    """Convert the formulas and code in a docstring from Markdown, in place."""
    text = re.sub(
        r"\$\$(.+?)\$\$",
        lambda match: f"\n.. math:: {' '.join(match[1].split())}\n",
        "\n".join(lines),
        flags=re.DOTALL,
    )
    # code first, because converted formulas contain backticks
    text = re.sub(r"(?<![:`])`([^`]+)`(?!`)", r"``\1``", text)
    lines[:] = re.sub(r"\$([^$]+)\$", r":math:`\1`", text).split("\n")


def setup(app):
    app.connect("autodoc-process-docstring", to_rst)
