"""The site follows the checkout: its repository's address, its package's outputs, its theme."""

from pathlib import Path
from urllib.parse import urlsplit

from tools.execute import digest, execution_cache, package_digest, source_files
from tools.urls import repository_url, site_url

from .seo import PICTURE

THEME = Path(__file__).parents[1] / "theme"


def configure(app, config):
    """Point all addresses at this checkout's repository, and outputs at this package's cache."""
    repository = repository_url()
    config.html_theme_options["repository_url"] = repository
    config.html_baseurl = f"{site_url(repository)}/"
    config.notfound_urls_prefix = urlsplit(config.html_baseurl).path
    config.nb_execution_cache_path = str(execution_cache(Path(app.srcdir)))
    config.html_static_path += [str(THEME / kind) for kind in ("styles", "scripts")]
    if Path(app.srcdir, PICTURE).exists():
        config.html_static_path.append(PICTURE)
    cited = [Path(app.srcdir, name) for name in config.bibtex_bibfiles]
    papers = [path.read_text("utf-8") for path in cited if path.is_file()]
    config.made_with = digest(source_files(THEME), THEME, package_digest(), *papers)


def setup(app):
    # pages show outputs of the package and cite papers: a change of them makes all pages old
    app.add_config_value("made_with", "", "env")
    for path in sorted((THEME / "styles").glob("*.css")):
        app.add_css_file(path.name)
    for path in sorted((THEME / "scripts").glob("*.js")):
        app.add_js_file(path.name)
    app.connect("config-inited", configure)
