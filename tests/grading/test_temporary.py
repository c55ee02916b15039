"""Folders that a killed run leaves in the temporary folder are removed by a later run."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from judge.grading.sandbox.temporary import PREFIX, TemporaryFolder, remove_abandoned
from tests import ROOT
from tests.grading.submissions import SOLVED, make_notebook, write_notebook
from tests.needs import lacks

EXERCISE = "prefix_mask"
MAIN = "from attncourse.__main__ import main; main()"
ENDLESS = f"# exercise: {EXERCISE}\nimport time\ntime.sleep(10_000)"


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


@pytest.mark.skipif(sys.platform != "linux", reason=lacks("Linux"))
def test_a_run_removes_what_a_killed_one_has_left(tmp_path):
    temporary = tmp_path / "made"
    temporary.mkdir()
    for name, answer in (("endless", ENDLESS), ("solved", SOLVED[EXERCISE])):
        (tmp_path / name).mkdir()
        write_notebook(tmp_path / name, make_notebook({EXERCISE: answer}))

    def start(name: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-c", MAIN, "grade", str(tmp_path / name), "--no-sandbox"],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(temporary)},
            stdout=subprocess.DEVNULL,
        )

    with start("endless") as process:
        # it has a folder for the notebook, and one for the answer's process
        while len(list(temporary.glob(f"{PREFIX}*"))) < 2:
            assert process.poll() is None
            time.sleep(0.1)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
    # its children end by themselves, and hold the folders that they need until then
    psutil.wait_procs(children)
    abandoned_folders = list(temporary.glob(f"{PREFIX}*"))
    assert abandoned_folders
    with start("solved") as process:
        process.wait()
    assert not any(folder.exists() for folder in abandoned_folders)
