"""Settings that depend on the checkout: repository address, output cache, theme files."""

from pathlib import Path
from urllib.parse import urlsplit

from tools.execute import OUTPUT_CACHE
from tools.urls import repository_url, site_url

from .seo import PICTURE

THEME = Path(__file__).parents[1] / "theme"


def configure(app, config):
    """Set the addresses of this checkout's repository, the output cache and the static folders."""
    repository = repository_url()
    config.html_theme_options["repository_url"] = repository
    config.html_baseurl = f"{site_url(repository)}/"
    config.notfound_urls_prefix = urlsplit(config.html_baseurl).path
    config.nb_execution_cache_path = str(app.srcdir / OUTPUT_CACHE)
    static = ("styles", "scripts", "temml/static")
    config.html_static_path += [str(THEME / folder) for folder in static]
    if (picture := Path(app.srcdir, PICTURE)).exists():
        config.html_static_path.append(str(picture))


def setup(app):
    for path in sorted((THEME / "styles").glob("*.css")):
        app.add_css_file(path.name)
    for path in sorted((THEME / "scripts").glob("*.js")):
        app.add_js_file(path.name)
    app.connect("config-inited", configure)
    # it is safe to read in parallel, but does not declare it
    app.setup_extension("sphinx_multitoc_numbering")
    app.extensions["sphinx_multitoc_numbering"].parallel_read_safe = True
