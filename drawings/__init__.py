"""The drawings of the course, each a function that returns a sheet; `make release` writes them."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from drawings.shapes import DRAWINGS

HERE = Path(__file__).parent


def write() -> list[Path]:
    """Write every drawing that is not as its function draws it; gives those that were written."""
    changed = {
        path: svg
        for path, svg in made().items()
        if not path.exists() or path.read_text("utf-8") != svg
    }
    for path, svg in changed.items():
        path.write_text(svg, "utf-8")
    return [*changed]


def made() -> dict[Path, str]:
    """The file of every drawing, and what it should hold."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return {HERE / "svg" / f"{name}.svg": make().svg() for name, make in DRAWINGS.items()}
