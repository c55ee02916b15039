"""What a killed run leaves in the temporary folder is removed by a later one, and nothing else."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from judge.grading.temporary import PREFIX, Temporary, remove_left
from tests import ROOT
from tests.grading.submissions import SOLVED, notebook_with, write_notebook
from tests.needs import lacks

ONE = "prefix_mask"
MAIN = "from attncourse.__main__ import main; main()"
ENDLESS = f"# exercise: {ONE}\nimport time\ntime.sleep(10_000)"


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """The temporary folder, for these tests alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_has_made_is_removed_and_what_another_still_needs_is_not(place):
    code = (
        "import tempfile, time\n"
        "from judge.grading.temporary import Temporary\n"
        f"tempfile.tempdir = {str(place)!r}\n"
        "print((one := Temporary()).path, flush=True)\n"
        "time.sleep(600)"
    )
    with (
        Temporary() as needed,
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE) as other,
    ):
        theirs = Path(other.stdout.readline().decode().strip())
        (theirs / "deep/deeper").mkdir(parents=True)
        try:
            remove_left()
            assert needed.is_dir() and theirs.is_dir()
        finally:
            other.kill()
        other.wait()
        remove_left()
        assert needed.is_dir() and not theirs.exists()
    assert not needed.exists()


def test_what_only_looks_like_it_stays(place):
    others = [place / f"{PREFIX}file", place / "judge-of-another", place / f"{PREFIX}link"]
    others[0].write_text("not a folder")
    others[1].mkdir()
    others[2].symlink_to(others[1])
    if not os.getuid():
        others.append(place / f"{PREFIX}of_another")
        others[-1].mkdir()
        os.chown(others[-1], 1000, 1000)
    remove_left()
    assert all(map(os.path.lexists, others))


@pytest.mark.skipif(sys.platform != "linux", reason=lacks("Linux"))
def test_a_run_removes_what_a_killed_one_has_left(tmp_path):
    temporary = tmp_path / "made"
    temporary.mkdir()
    for name, answer in (("endless", ENDLESS), ("solved", SOLVED[ONE])):
        (tmp_path / name).mkdir()
        write_notebook(tmp_path / name, notebook_with({ONE: answer}))

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
        below = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
    # what it has started ends by itself, and holds what it needs until then
    psutil.wait_procs(below)
    assert list(temporary.glob(f"{PREFIX}*"))
    with start("solved") as process:
        process.wait()
    assert not list(temporary.iterdir())
