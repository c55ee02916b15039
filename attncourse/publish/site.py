"""Build the site: `make site`.

The pages' cells run first, so that a failing one is named; Sphinx then takes their outputs from
the cache. Nothing runs when nothing that the site is made of has changed.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from attncourse.publish.address import repository_url, site_url
from attncourse.publish.execute import BuildFailed, digest, execute, package_digest
from attncourse.publish.output import ZIP, copy_changes, kept_if_good, write_zip

NOT_READ = {"_build", "__pycache__", "tests", "benchmarks"}


def sources(book: Path) -> list[Path]:
    """The files that the site is made of, the package apart."""
    files = []
    for folder, inner, names in os.walk(book):
        inner[:] = [name for name in inner if name not in NOT_READ and not name.startswith(".")]
        files += [Path(folder, name) for name in names]
    return files


def book_digest(book: Path) -> str:
    """The state of everything that the site is made of."""
    return digest(sources(book), book, package_digest(), repository_url())


def build(book: Path, say=print) -> Path:
    """The built site's folder; raises BuildFailed, and leaves the site as it was, on any fault."""
    site, stamp = book / "_build" / "html", book / ".cache" / "site"
    state = book_digest(book)
    if stamp.is_file() and stamp.read_text() == state and (site / "index.html").is_file():
        say("the site is up to date")
        return site
    execute(book, say)
    say("making the pages (Sphinx; a warning is an error)")
    # after a change of these Sphinx would leave what it no longer makes
    frame = [book / "_toc.yml", book / "_config.yml", *(book / "theme").rglob("*.*")]
    frame = [path for path in frame if path.is_file() and path.suffix != ".pyc"]
    with kept_if_good(book / "_build" / "sphinx", digest(frame, book)) as work:
        make_pages(book, work)
        stamp.unlink(missing_ok=True)
        copy_changes(work / "html", site)
    write_zip(site, site / ZIP, site_url(repository_url()))
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(state)
    return site


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
    parser = argparse.ArgumentParser(prog="attncourse.publish.site", description=__doc__)
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
