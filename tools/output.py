"""What Sphinx has made becomes the site: only whole files, only good builds, and one zip."""

import fcntl
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ZIP = "attncourse.zip"
# what only Sphinx's next run reads
NOT_SHOWN = {".buildinfo", "objects.inv.bak"}


@contextmanager
def alone(lock: Path, say: Callable[[str], object]) -> Iterator[None]:
    """Hold the lock that a file is; where another build holds it, say so and wait."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is at work here: waiting for its end")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


@contextmanager
def kept_if_good(work: Path, frame: str) -> Iterator[Path]:
    """A folder to work in; after a failure, or a power cut, the next one finds it as this one did.

    A page that warned is old to Sphinx only until it was read: it would not warn a second time.
    Where `frame` has changed the folder is empty, so that no page stays that nobody lists.
    """
    saved, framed = work.with_name(f"{work.name}.saved"), work / "frame"
    if saved.is_dir():
        shutil.rmtree(work, ignore_errors=True)
        saved.rename(work)
    work.mkdir(parents=True, exist_ok=True)
    part = work.with_name(f"{work.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(work, part)
    part.rename(saved)
    if not framed.is_file() or framed.read_text("utf-8") != frame:
        shutil.rmtree(work)
        work.mkdir()
    yield work
    framed.write_text(frame, "utf-8")
    shutil.rmtree(saved)


def files_below(folder: Path) -> set[str]:
    """The names of the files in a folder and in those below it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def copy_changes(made: Path, site: Path) -> None:
    """Make the site's folder equal to `made`; whoever reads it meanwhile sees no half of a file."""
    new = files_below(made) - NOT_SHOWN
    # pages last: what a page asks for is there before it
    for name in sorted(new, key=lambda name: (name.endswith(".html"), name)):
        source, target = made / name, site / name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        shutil.copyfile(source, part)
        os.replace(part, target)
    for name in files_below(site) - new - {ZIP}:
        (site / name).unlink()
    for folder in sorted((path for path in site.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def write_zip(site: Path, target: Path, address: str) -> None:
    """The site in one file, in a folder `attncourse`; from the same site always the same bytes.

    A copy that is read offline has no zip in it: its links to the zip lead to the site's address.
    """
    part = target.with_name(f".{target.name}.part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        # the page for a wrong address names its parts by the site's
        for name in sorted(files_below(site) - {ZIP, part.name, "404.html"}):
            content = (site / name).read_bytes()
            if name.endswith(".html"):
                link = rf'href="(?:\.\./)*{re.escape(ZIP)}"'.encode()
                content = re.sub(link, f'href="{address}/{ZIP}"'.encode(), content)
            # the time of the build is left out, and so is who built it
            entry = zipfile.ZipInfo(f"attncourse/{name}")
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    os.replace(part, target)
