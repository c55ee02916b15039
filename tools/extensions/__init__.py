"""What the site needs beyond the theme, part by part."""

from importlib import import_module
from pkgutil import iter_modules


def setup(app):
    """Register every part with Sphinx."""
    for part in iter_modules(__path__, f"{__name__}."):
        import_module(part.name).setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
