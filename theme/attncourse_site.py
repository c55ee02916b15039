"""What the site needs beyond the theme: the repository's address, the cache, the styles."""

import re
from pathlib import Path

from attncourse.publish.address import repository_url
from attncourse.publish.site import digest, execution_cache, package_digest

HERE = Path(__file__).parent


def follow_checkout(app, config):
    """Point the buttons at this checkout's repository, and the outputs at this package's cache."""
    config.html_theme_options["repository_url"] = repository_url()
    config.nb_execution_cache_path = str(execution_cache(Path(app.srcdir)))
    parts = [path for path in HERE.rglob("*.*") if path.is_file() and path.suffix != ".pyc"]
    config.made_with = digest(parts, package_digest())
    config.html_static_path.append(str(HERE / "static"))


def to_rst(app, what, name, obj, options, lines):
    """Docstrings are Markdown, and the API page reads them as reStructuredText."""
    text = re.sub(
        r"\$\$(.+?)\$\$",
        lambda found: f"\n.. math:: {' '.join(found[1].split())}\n",
        "\n".join(lines),
        flags=re.DOTALL,
    )
    text = re.sub(r"\$([^$]+)\$", r":math:`\1`", text)
    lines[:] = re.sub(r"(?<![:`])`([^`]+)`(?!`)", r"``\1``", text).split("\n")


def setup(app):
    """Register with Sphinx."""
    # a page shows outputs of the package: a new state of it, or of this folder, makes all pages old
    app.add_config_value("made_with", "", "env")
    app.connect("config-inited", follow_checkout)
    app.connect("autodoc-process-docstring", to_rst)
    app.add_css_file("attncourse.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
