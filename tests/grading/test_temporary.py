"""Folders that a killed run leaves in the temporary folder are removed by a later run."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from judge.grading.sandbox.temporary import PREFIX, TemporaryFolder, remove_abandoned
from tests import ROOT


@pytest.fixture
def temporary_folder(tmp_path, monkeypatch) -> Path:
    """The temporary folder, for these tests alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_has_made_is_removed_and_what_another_still_needs_is_not(
    temporary_folder,
):
    code = (
        "import tempfile, time\n"
        "from judge.grading.sandbox.temporary import TemporaryFolder\n"
        f"tempfile.tempdir = {str(temporary_folder)!r}\n"
        "print((temporary := TemporaryFolder()).path, flush=True)\n"
        "time.sleep(600)"
    )
    with (
        TemporaryFolder() as needed_folder,
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE) as process,
    ):
        their_folder = Path(process.stdout.readline().decode().strip())
        (their_folder / "deep/deeper").mkdir(parents=True)
        try:
            remove_abandoned()
            assert needed_folder.is_dir() and their_folder.is_dir()
        finally:
            process.kill()
        process.wait()
        remove_abandoned()
        assert needed_folder.is_dir() and not their_folder.exists()
    assert not needed_folder.exists()


def test_what_only_looks_like_it_stays(temporary_folder):
    unrelated_paths = [
        temporary_folder / f"{PREFIX}file",
        temporary_folder / "judge-of-another",
        temporary_folder / f"{PREFIX}link",
    ]
    unrelated_paths[0].write_text("not a folder")
    unrelated_paths[1].mkdir()
    unrelated_paths[2].symlink_to(unrelated_paths[1])
    if not os.getuid():
        unrelated_paths.append(temporary_folder / f"{PREFIX}of_another")
        unrelated_paths[-1].mkdir()
        os.chown(unrelated_paths[-1], 1000, 1000)
    remove_abandoned()
    assert all(map(os.path.lexists, unrelated_paths))
