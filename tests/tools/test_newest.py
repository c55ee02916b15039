"""What the newest Sphinx is given to build the site."""

import runpy

from tests import ROOT
from tools.newest import write_config


def test_it_has_the_configuration_of_jupyter_book_and_our_extensions(tmp_path):
    write_config(ROOT, tmp_path)
    settings = runpy.run_path(str(tmp_path / "conf.py"))
    assert "tools.extensions" in settings["extensions"] and settings["nitpicky"]
    assert settings["html_theme"] == "sphinx_book_theme"
    # it lies elsewhere, so that no address may depend on where
    paths = [*settings["templates_path"], settings["html_favicon"], *settings["bibtex_bibfiles"]]
    assert all(path.startswith(str(ROOT)) for path in paths)
