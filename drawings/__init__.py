"""The drawings of the course, each a function that returns a Drawing; pages show them as SVG."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from drawings.shapes import DRAWINGS


@cache
def svgs() -> dict[str, str]:
    """Every drawing by name, as the text of an SVG file."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return {name: draw().svg() for name, draw in sorted(DRAWINGS.items())}


def source_file(name: str) -> str:
    """Path of the module that defines a drawing."""
    return DRAWINGS[name].__code__.co_filename
