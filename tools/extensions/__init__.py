"""What the site needs beyond the theme; each part is a Sphinx extension of its own."""

PARTS = (
    "accessible",
    "backlinks",
    "conf",
    "details",
    "docstrings",
    "exercise_pages",
    "formulas",
    "minify",
    "page_head",
    "rebuild",
    "seo",
)


def setup(app):
    """Register every part with Sphinx."""
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
