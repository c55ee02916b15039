"""Pinned archives out of package registries, downloaded once and compared with their sha256.

Nothing in one is imported, installed or run.
"""

import hashlib
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.error import URLError
from urllib.parse import urljoin

T = TypeVar("T")


class Archive(NamedTuple):
    """A file that a package registry has, and the sha256 that it must have."""

    requirement: str
    name: str
    sha256: str


class UnavailableError(Exception):
    """An archive could not be downloaded or kept; the message says which, and what to do."""


class CorruptArchiveError(Exception):
    """A downloaded archive is not the one that was meant; the message says which."""


def cache_folder() -> Path:
    """Where archives are kept: what ATTNCOURSE_CACHE names, or else ~/.cache/attncourse."""
    return Path(os.environ.get("ATTNCOURSE_CACHE") or Path.home() / ".cache" / "attncourse")


def fetch(archive: Archive) -> Path:
    """The path of an archive in the cache; it is downloaded unless it is there and whole."""
    folder = cache_folder()
    path = folder / archive.name
    try:
        if path.is_file() and sha256(path) == archive.sha256:
            return path
        folder.mkdir(parents=True, exist_ok=True)
        # beside its place: what is whole moves there in one step, what is not goes with its folder
        with tempfile.TemporaryDirectory(dir=folder) as part:
            found = Path(part, archive.name)
            download = download_wheel if found.suffix == ".whl" else download_source
            download(archive, Path(part))
            if not found.is_file():
                came = ", ".join(file.name for file in Path(part).iterdir()) or "nothing"
                raise CorruptArchiveError(
                    f"{archive.requirement} brought {came}, not {archive.name}"
                )
            if (got := sha256(found)) != archive.sha256:
                raise CorruptArchiveError(
                    f"{archive.name} has sha256 {got}, not {archive.sha256}: it is not used. "
                    "Try again; if that does not help, the package index serves another file"
                )
            found.replace(path)
    except OSError as error:
        raise UnavailableError(
            f"{archive.name} cannot be kept ({error.strerror}): let the environment variable "
            "ATTNCOURSE_CACHE name a folder that can be written"
        ) from error
    return path


def or_sample(load: Callable[[], T], sample: Callable[[str], T], offline: bool) -> T:
    """What is loaded or, without a network, the sample, which is told why it stands there."""
    if offline:
        return sample("the sample was asked for")
    try:
        return load()
    except UnavailableError as error:
        return sample(str(error))


def texts(archive: Archive, pattern: str, least: int = 1) -> dict[str, str]:
    """The texts in a wheel whose whole names match the pattern, in the order of their names.

    CorruptArchiveError if there are fewer than `least`.
    """
    path = fetch(archive)
    try:
        with zipfile.ZipFile(path) as wheel:
            names = sorted(name for name in wheel.namelist() if re.fullmatch(pattern, name))
            found = {name: wheel.read(name).decode("utf-8") for name in names}
    except (UnicodeDecodeError, zipfile.BadZipFile) as error:
        raise unreadable(path, error) from error
    if len(found) < least:
        raise unreadable(path, f"{len(found)} of {least} texts in it are called {pattern}")
    return found


def unreadable(path: Path, why: object) -> CorruptArchiveError:
    return CorruptArchiveError(f"{path.name} cannot be read ({why}): delete {path}, try again")


def download_wheel(archive: Archive, folder: Path) -> None:
    """Let pip put one wheel into the folder."""
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--retries=1", "--timeout=15"]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", *options]
    done = subprocess.run(
        [*command, "--dest", str(folder), archive.requirement], capture_output=True, text=True
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it did not say why"])[-1]
        raise unavailable(archive, reason.removeprefix("ERROR: "))


def download_source(archive: Archive, folder: Path) -> None:
    """Put one source archive into the folder; pip would run its setup, so it only says where."""
    project = re.sub(r"[-_.]+", "-", archive.requirement.partition("==")[0]).lower()
    page = f"{package_index()}/{project}/"
    try:
        with urllib.request.urlopen(page, timeout=15) as answer:
            text = answer.read().decode("utf-8")
        links = [html.unescape(link) for link in re.findall(r'href="([^"]+)"', text)]
        found = [link for link in links if f"/{archive.name}" in link.partition("#")[0]]
        if not found:
            raise unavailable(archive, f"{page} has no {archive.name}")
        with urllib.request.urlopen(urljoin(page, found[0]), timeout=60) as answer:
            with Path(folder, archive.name).open("wb") as file:
                shutil.copyfileobj(answer, file)
    except (URLError, TimeoutError, HTTPException) as error:
        raise unavailable(archive, str(error)) from error


def package_index() -> str:
    """The address of the package registry that pip is set up with, as its help names it."""
    command = [sys.executable, "-m", "pip", "download", "--help"]
    said = "".join(subprocess.run(command, capture_output=True, text=True).stdout.split())
    found = re.search(r"\(default(https?://[^)]+)\)", said)
    return found[1].rstrip("/") if found else ""


def unavailable(archive: Archive, why: str) -> UnavailableError:
    return UnavailableError(
        f"{archive.requirement} could not be downloaded ({why}): "
        "connect to the network and run this again"
    )


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
