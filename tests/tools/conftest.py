"""A small course of two chapters to publish."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

SAMPLE = Path(__file__).parent / "sample"


@pytest.fixture
def course(tmp_path: Path, monkeypatch) -> Path:
    """A copy of the sample course, which lives at no address but that of its configuration."""
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    return shutil.copytree(SAMPLE, tmp_path / "course")


@pytest.fixture
def exercises() -> dict:
    """The cards of the sample's exercises."""
    return {
        "twice": SimpleNamespace(kind="build", difficulty=2, minutes=5, points=1),
        "mended": SimpleNamespace(kind="debug", difficulty=2, minutes=5, points=2),
    }
