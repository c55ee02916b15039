"""The site follows the checkout: its repository's address, its package's outputs, its styles."""

from pathlib import Path
from urllib.parse import urlsplit

from attncourse.publish.address import repository_url, site_url
from attncourse.publish.execute import digest, execution_cache, package_digest, source_files

THEME = Path(__file__).parents[1]


def follow_checkout(app, config):
    """Point all addresses at this checkout's repository, and outputs at this package's cache."""
    repository = repository_url()
    config.html_theme_options["repository_url"] = repository
    config.html_baseurl = f"{site_url(repository)}/"
    config.notfound_urls_prefix = urlsplit(config.html_baseurl).path
    config.nb_execution_cache_path = str(execution_cache(Path(app.srcdir)))
    config.made_with = digest(source_files(THEME), THEME, package_digest())


def setup(app):
    """Register with Sphinx."""
    # a page shows outputs of the package: a new state of it, or of this folder, makes all pages old
    app.add_config_value("made_with", "", "env")
    app.connect("config-inited", follow_checkout)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
