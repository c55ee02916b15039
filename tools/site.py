"""Build the site: `make site`.

The pages' cells run first, so that a failing one is named; Sphinx then takes their outputs from
the cache. Nothing runs when nothing that the site is made of has changed.
"""

import argparse
import os
import re
import shutil
import sys
import time
import zipfile
from pathlib import Path

from filelock import FileLock, Timeout

from tools.execute import BuildError, digest, execute, package_digest, source_files
from tools.urls import repository_url, site_url

ZIP = "attncourse.zip"


def book_digest(book: Path) -> str:
    """The state of everything that the site is made of."""
    return digest(source_files(book), book, package_digest(), repository_url())


def site_folder(book: Path) -> Path:
    """Where the built site is."""
    return book / "_build" / "html"


def stamp_file(book: Path) -> Path:
    """Where the state that the site was built from is kept."""
    return book / ".cache" / "site"


def build(book: Path, say=print) -> Path:
    """The built site's folder; raises BuildError, and leaves the site as it was, on any fault."""
    (book / ".cache").mkdir(exist_ok=True)
    lock = FileLock(book / ".cache" / "building")
    try:
        alone = lock.acquire(timeout=0)
    except Timeout:
        say("another build is at work here: waiting for its end")
        alone = lock.acquire()
    with alone:
        state, stamp = book_digest(book), stamp_file(book)
        there = stamp.is_file() and (site_folder(book) / "index.html").is_file()
        if there and stamp.read_text("utf-8") == state:
            say("the site is up to date")
        else:
            execute(book, say)
            say("making the pages (Sphinx; a warning is an error)")
            publish(make_pages(book), site_folder(book))
            stamp.write_text(state, "utf-8")
    return site_folder(book)


def make_pages(book: Path) -> Path:
    """Let Sphinx make the pages; the folder that they are in.

    After a fault its folder is as it was: Sphinx would not read again, or warn again of, a page
    that it has read.
    """
    work, saved = book / "_build" / "sphinx", book / "_build" / "sphinx.saved"
    # after a change of these Sphinx would leave what it no longer makes
    frame = [book / "_toc.yml", book / "_config.yml", *source_files(book / "tools" / "theme")]
    framed, frames = work / "frame", digest(frame, book)
    shutil.rmtree(saved, ignore_errors=True)
    if framed.is_file():
        work.rename(saved)
        if (saved / "frame").read_text("utf-8") == frames:
            shutil.copytree(saved, work)
    else:
        shutil.rmtree(work, ignore_errors=True)
    try:
        run_sphinx(book, work)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        if saved.is_dir():
            saved.rename(work)
        raise
    framed.write_text(frames, "utf-8")
    return work / "html"


def run_sphinx(book: Path, work: Path) -> None:
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
        raise BuildError("Sphinx warned or failed: the lines above name the page and the line")


def publish(made: Path, site: Path) -> None:
    """Put what Sphinx made in the site's place at once, with a zip of it to read offline."""
    new = site.with_name("html.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(made, new, ignore=shutil.ignore_patterns(".buildinfo", "objects.inv.bak"))
    write_zip(new, site_url(repository_url()))
    shutil.rmtree(site, ignore_errors=True)
    new.rename(site)


def write_zip(site: Path, address: str) -> None:
    """Put the site's files into one, in a folder `attncourse`.

    A copy that is read offline has no zip in it: its links to the zip lead to the site's address.
    """
    link, there = rf'href="(?:\.\./)*{re.escape(ZIP)}"', f'href="{address}/{ZIP}"'
    with zipfile.ZipFile(site / ZIP, "w", zipfile.ZIP_DEFLATED) as archive:
        # the page for a wrong address names its parts by the site's
        for path in sorted(set(site.rglob("*")) - {site / ZIP, site / "404.html"}):
            if path.is_file():
                content = path.read_bytes()
                if path.suffix == ".html":
                    content = re.sub(link.encode(), there.encode(), content)
                archive.writestr(f"attncourse/{path.relative_to(site).as_posix()}", content)


def main() -> int:
    """Build the book in a folder, and say in one line how that went."""
    parser = argparse.ArgumentParser(prog="tools.site", description=__doc__)
    parser.add_argument("book", nargs="?", type=Path, default=Path(), help="the book's folder")
    book, start = parser.parse_args().book.resolve(), time.monotonic()
    try:
        site = build(book, lambda line: print(f"==> {line}", flush=True))
    except BuildError as failure:
        print(f"==> the site was not built: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"==> the site is in {os.path.relpath(site)} ({time.monotonic() - start:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
