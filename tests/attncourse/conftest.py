"""Normal numbers from one seed, a cache folder, and registries that say what a test wants."""

import hashlib
import io
import subprocess
import zipfile
from pathlib import Path

import pytest
import torch

from attncourse import device
from attncourse.data import archives


@pytest.fixture
def normal(g):
    """Normal numbers on the course's device, from one seed."""

    def draw(*shape, dtype=torch.float64):
        return torch.randn(shape, generator=g, dtype=torch.float64).to(device(), dtype)

    return draw


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache folder, which is not there yet."""
    monkeypatch.setenv("ATTNCOURSE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def pip(monkeypatch):
    """In pip's place: puts these files into the folder, and ends with this status and words."""
    calls = []

    def behave(files: dict[str, bytes], status: int = 0, said: str = ""):
        def run(command, **options):
            calls.append(command)
            folder = Path(command[command.index("--dest") + 1])
            for name, content in files.items():
                (folder / name).write_bytes(content)
            return subprocess.CompletedProcess(command, status, "", said)

        monkeypatch.setattr(archives.subprocess, "run", run)
        return calls

    return behave


def wheel_of(members: dict[str, str]) -> bytes:
    """A wheel with these texts in it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


@pytest.fixture
def pinned(cache, pip, monkeypatch):
    """Makes this content the archive that a module pins under a name, and lets pip bring it."""

    def pin(module, name: str, content: bytes) -> None:
        archive = getattr(module, name)._replace(sha256=hashlib.sha256(content).hexdigest())
        monkeypatch.setattr(module, name, archive)
        pip({archive.name: content})

    return pin
