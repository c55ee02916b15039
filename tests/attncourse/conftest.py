"""Fixtures for random tensors, for a cache folder, and for downloads without a network."""

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
    """Draws standard normal tensors on the course's device, from a fixed seed."""

    def draw(*shape, dtype=torch.float64):
        return torch.randn(shape, generator=g, dtype=torch.float64).to(device(), dtype)

    return draw


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """The path of the cache folder, which does not exist yet."""
    monkeypatch.setenv("ATTNCOURSE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def fake_pip(monkeypatch):
    """Replaces pip by a function that writes files, with a given exit status and error output."""
    calls = []

    def configure(files: dict[str, bytes], status: int = 0, stderr: str = ""):
        def run(command, **options):
            calls.append(command)
            folder = Path(command[command.index("--dest") + 1])
            for name, content in files.items():
                (folder / name).write_bytes(content)
            return subprocess.CompletedProcess(command, status, "", stderr)

        monkeypatch.setattr(archives.subprocess, "run", run)
        return calls

    return configure


def wheel_bytes(members: dict[str, str]) -> bytes:
    """A wheel of these text files, as bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


@pytest.fixture
def pin_archive(cache, fake_pip, monkeypatch):
    """Replaces the archive that a module pins under a name, and lets pip download it."""

    def pin(module, name: str, content: bytes) -> None:
        archive = getattr(module, name)._replace(sha256=hashlib.sha256(content).hexdigest())
        monkeypatch.setattr(module, name, archive)
        fake_pip({archive.name: content})

    return pin
