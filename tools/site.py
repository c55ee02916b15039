"""Build the site: `make site`.

The pages' cells run first, so that a failing one is named; Sphinx then takes their outputs from
the cache. Nothing runs when nothing that the site is made of has changed.
"""

import gc
import os
import shutil
import sys
import time
from pathlib import Path

from filelock import FileLock

from tools.execute import BuildError, digest, execute, package_digest
from tools.urls import repository_url, site_url

ZIP = "attncourse.zip"


def build(book: Path, say=print) -> Path:
    """The built site's folder; raises BuildError, and leaves the site as it was, on any fault."""
    site, stamp = book / "_build" / "html", book / ".cache" / "site"
    stamp.parent.mkdir(exist_ok=True)
    # a second build waits for the first, and finds nothing to do
    with FileLock(stamp.with_name("building")):
        state = digest(book, package_digest(), repository_url())
        if stamp.is_file() and stamp.read_text("utf-8") == state and site.is_dir():
            say("the site is up to date")
            return site
        execute(book, say)
        say("making the pages (Sphinx; a warning is an error)")
        # what is in the zip lies in a folder of this name
        made = book / "_build" / "new" / "attncourse"
        shutil.rmtree(made.parent, ignore_errors=True)
        run_sphinx(book, made)
        require_all_pages(book, made)
        pack(made)
        stamp.unlink(missing_ok=True)
        shutil.rmtree(site, ignore_errors=True)
        made.rename(site)
        stamp.write_text(state, "utf-8")
    return site


def settings(book: Path) -> dict:
    """What Sphinx is told beside what stands in _config.yml."""
    return {
        "external_toc_path": str(book / "_toc.yml"),
        "latex_individualpages": False,
        "nitpicky": True,
    }


def run_sphinx(book: Path, folder: Path) -> None:
    """Let Sphinx make every page anew, in a folder."""
    from jupyter_book.sphinx import build_sphinx
    from sphinx.util.console import nocolor

    if not sys.stderr.isatty():
        nocolor()
    # it takes as long as all else: pages are trees of a million parts, which stay to the end
    gc.disable()
    status = build_sphinx(
        book,
        folder,
        path_config=book / "_config.yml",
        noconfig=True,
        confoverrides=settings(book),
        quiet=True,
        warningiserror=True,
        keep_going=True,
        # elsewhere its processes do not begin as copies of this one
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


def pack(site: Path) -> None:
    """Put the site into one file, to read offline, whose link to itself leads to the host."""
    index, there = site / "index.html", f"{site_url(repository_url())}/{ZIP}"
    page = index.read_text("utf-8")
    index.write_text(page.replace(f'href="{ZIP}"', f'href="{there}"'), "utf-8")
    made = shutil.make_archive(str(site), "zip", site.parent, site.name)
    index.write_text(page, "utf-8")
    shutil.move(made, site)


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
