"""The site follows the checkout: its repository's address, the outputs of its package, its styles."""

from pathlib import Path

from attncourse.publish.address import repository_url
from attncourse.publish.site import digest, execution_cache, package_digest

THEME = Path(__file__).parents[1]


def follow_checkout(app, config):
    """Point the buttons at this checkout's repository, and the outputs at this package's cache."""
    config.html_theme_options["repository_url"] = repository_url()
    config.nb_execution_cache_path = str(execution_cache(Path(app.srcdir)))
    parts = [path for path in THEME.rglob("*.*") if path.is_file() and path.suffix != ".pyc"]
    config.made_with = digest(parts, package_digest())


def setup(app):
    """Register with Sphinx."""
    # a page shows outputs of the package: a new state of it, or of this folder, makes all pages old
    app.add_config_value("made_with", "", "env")
    app.connect("config-inited", follow_checkout)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
