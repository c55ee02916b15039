"""Build the site: `make site`.

The pages' cells run first, so that a failing one is named; Sphinx then takes their outputs from
the cache. Nothing runs when no source of the site has changed.
"""

import gc
import os
import shutil
import sys
import time
import zipfile
from pathlib import Path

from filelock import FileLock

from tools import colab
from tools.execute import BuildError, digest, execute, package_digest
from tools.pyodide import is_fetched
from tools.urls import repository_url, site_url

ZIP = "attncourse.zip"
# what pages load from a server alone: the Python that checks answers
SERVED = Path("_static", "python")


def build(book: Path, log=print) -> Path:
    """Build the site and return its folder; on any fault raise BuildError and keep the old site."""
    site, stamp = book / "_build" / "html", book / ".cache" / "site"
    stamp.parent.mkdir(exist_ok=True)
    # a second build waits for the first, and finds nothing to do
    with FileLock(stamp.with_name("building")):
        facts = (repository_url(), str(is_fetched()), str(colab.last_run(book)))
        state = digest(book, package_digest(), *facts)
        if stamp.is_file() and stamp.read_text("utf-8") == state and site.is_dir():
            log("the site is up to date")
            return site
        execute(book, log)
        log("making the pages (Sphinx; a warning is an error)")
        # the zip holds a folder of this name
        new_site = book / "_build" / "new" / "attncourse"
        shutil.rmtree(new_site.parent, ignore_errors=True)
        run_sphinx(book, new_site)
        require_all_pages(book, new_site)
        pack_zip(new_site)
        stamp.unlink(missing_ok=True)
        shutil.rmtree(site, ignore_errors=True)
        new_site.rename(site)
        stamp.write_text(state, "utf-8")
    return site


def sphinx_settings(book: Path) -> dict:
    """Settings of Sphinx beyond those in _config.yml."""
    return {
        "external_toc_path": str(book / "_toc.yml"),
        "latex_individualpages": False,
        "nitpicky": True,
    }


def run_sphinx(book: Path, folder: Path) -> None:
    """Build every page with Sphinx into a folder; BuildError on a warning or an error."""
    from jupyter_book.sphinx import build_sphinx
    from sphinx.util.console import nocolor

    if not sys.stderr.isatty():
        nocolor()
    # collection would take half the time: the doctrees have a million nodes, which stay to the end
    gc.disable()
    status = build_sphinx(
        book,
        folder,
        path_config=book / "_config.yml",
        noconfig=True,
        confoverrides=sphinx_settings(book),
        quiet=True,
        warningiserror=True,
        keep_going=True,
        # on other systems, workers are not forked from this process
        jobs=os.cpu_count() if sys.platform == "linux" else 1,
    )
    if status:
        raise BuildError("Sphinx warned or failed: the lines above name the page and the line")


def require_all_pages(book: Path, site: Path) -> None:
    """Raise BuildError unless the site has each page that its table of contents names."""
    from sphinx_external_toc.parsing import parse_toc_yaml

    names = [*parse_toc_yaml(book / "_toc.yml"), "404", "search"]
    if missing := [f"{name}.html" for name in names if not (site / f"{name}.html").is_file()]:
        raise BuildError(f"the site lacks {len(missing)} of {len(names)} pages: {missing}")


def pack_zip(site: Path) -> None:
    """Zip the site for reading offline, without what no page in a folder of files can load.

    In the zip, the link to the zip leads to the host.
    """
    online = f"{site_url(repository_url())}/{ZIP}"
    front, served = site / "index.html", site / SERVED
    paths = [site, *sorted(site.rglob("*"))]
    with zipfile.ZipFile(site / ZIP, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (path for path in paths if served not in (path, *path.parents)):
            name = path.relative_to(site.parent)
            if path == front:
                page = path.read_text("utf-8").replace(f'href="{ZIP}"', f'href="{online}"')
                archive.writestr(zipfile.ZipInfo.from_file(path, name), page, zipfile.ZIP_DEFLATED)
            else:
                archive.write(path, name)


def main() -> None:
    """Build the book in a folder, and say in one line how that went."""
    book, start = Path(*sys.argv[1:]).resolve(), time.monotonic()
    try:
        site = build(book, lambda line: print(f"==> {line}", flush=True))
    except BuildError as failure:
        sys.exit(f"==> the site was not built: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    print(f"==> the site is in {os.path.relpath(site)} ({time.monotonic() - start:.0f} s)")


if __name__ == "__main__":
    main()
