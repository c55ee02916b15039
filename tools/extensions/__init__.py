"""What the site needs beyond the theme; each part is a Sphinx extension of its own."""

PARTS = (
    "accessible",
    "bundle",
    "checkout",
    "discovery",
    "docstrings",
    "exercise_pages",
    "folded",
    "formulas",
    "fresh",
    "front_page",
    "outside",
    "page_head",
    "reading_time",
    "schemes",
    "slim",
    "strict",
    "taught",
)


def setup(app):
    """Register every part with Sphinx."""
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
