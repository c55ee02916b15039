"""Build the site: `make site`.

The pages' cells run first, so that a failing one is named; Sphinx then takes their outputs from
the cache. Nothing runs when nothing that the site is made of has changed.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from tools.address import repository_url, site_url
from tools.execute import (
    BuildFailed,
    digest,
    execute,
    package_digest,
    source_files,
)
from tools.output import ZIP, alone, copy_changes, kept_if_good, write_zip


def book_digest(book: Path) -> str:
    """The state of everything that the site is made of."""
    return digest(source_files(book), book, package_digest(), repository_url())


def site_folder(book: Path) -> Path:
    """Where the built site is."""
    return book / "_build" / "html"


def stamp_file(book: Path) -> Path:
    """Where the state that the site was built from is kept."""
    return book / ".cache" / "site"


def is_built(book: Path, state: str) -> bool:
    """Whether the site was built from this state."""
    stamp = stamp_file(book)
    there = stamp.is_file() and (site_folder(book) / "index.html").is_file()
    return there and stamp.read_text("utf-8") == state


def build(book: Path, say=print) -> Path:
    """The built site's folder; raises BuildFailed, and leaves the site as it was, on any fault."""
    with alone(book / ".cache" / "building", say):
        state = book_digest(book)
        if is_built(book, state):
            say("the site is up to date")
        else:
            build_anew(book, state, say)
    return site_folder(book)


def build_anew(book: Path, state: str, say) -> None:
    """Run the cells that are stale, and make the pages."""
    site, stamp = site_folder(book), stamp_file(book)
    execute(book, say)
    say("making the pages (Sphinx; a warning is an error)")
    # after a change of these Sphinx would leave what it no longer makes
    frame = [book / "_toc.yml", book / "_config.yml", *source_files(book / "tools" / "theme")]
    with kept_if_good(book / "_build" / "sphinx", digest(frame, book)) as work:
        make_pages(book, work)
        stamp.unlink(missing_ok=True)
        copy_changes(work / "html", site)
    write_zip(site, site / ZIP, site_url(repository_url()))
    stamp.write_text(state, "utf-8")


def make_pages(book: Path, work: Path) -> None:
    """Let Sphinx make the pages in a folder that holds what it made last, and what it knew then."""
    from jupyter_book.sphinx import build_sphinx
    from sphinx.util.console import nocolor

    if not sys.stderr.isatty():
        nocolor()
    status = build_sphinx(
        book,
        work / "html",
        path_config=book / "_config.yml",
        noconfig=True,
        confoverrides={
            "external_toc_path": str(book / "_toc.yml"),
            "latex_individualpages": False,
            "nitpicky": True,
        },
        quiet=True,
        warningiserror=True,
        keep_going=True,
    )
    if status:
        raise BuildFailed("Sphinx warned or failed: the lines above name the page and the line")


def main() -> int:
    """Build the book in a folder, and say in one line how that went."""
    parser = argparse.ArgumentParser(prog="tools.site", description=__doc__)
    parser.add_argument("book", nargs="?", type=Path, default=Path(), help="the book's folder")
    start = time.monotonic()
    try:
        site = build(
            parser.parse_args().book.resolve(), lambda line: print(f"==> {line}", flush=True)
        )
    except BuildFailed as failure:
        print(f"==> the site was not built: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"==> the site is in {os.path.relpath(site)} ({time.monotonic() - start:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
