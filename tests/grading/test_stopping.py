"""Ctrl-C ends grading at once, with all that it has started, and keeps what is done."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests import ROOT
from tests.grading.submissions import notebook_with, write_notebook

ENDLESS = "# exercise: prefix_mask\nimport time\ntime.sleep(10_000)"
# seconds that only what never ends takes, however busy the machine is
FOREVER = 600
MAIN = "from attncourse.__main__ import main; main()"


def working(pid: int) -> int:
    """How many judges below a process have started what runs an answer."""
    parents = {}
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            if "bootstrap" in " ".join(child.cmdline()):
                parents[child.pid] = child.ppid()
    return len({*parents.values()} - parents.keys())


def outlive(below: list[psutil.Process]) -> list[psutil.Process]:
    """Those that do not end."""
    until = time.monotonic() + FOREVER
    while (left := [*filter(runs, below)]) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def runs(process: psutil.Process) -> bool:
    """Whether it has not ended; after that it is still listed where nobody asks how it ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_grading_that_is_stopped_ends_at_once_and_keeps_what_is_done(how, tmp_path, grading):
    folder, out = tmp_path / "class", tmp_path / "out.json"
    folder.mkdir()
    (folder / "0.ipynb").write_text("{")
    for i in range(1, 5):
        write_notebook(folder, notebook_with({"prefix_mask": ENDLESS}), f"{i}.ipynb")
    with subprocess.Popen(
        [
            sys.executable, "-c", MAIN, "grade", str(folder), "--json", str(out), "--jobs", "2",
            "--timeout", "1000000", *grading,
        ],
        cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        # both jobs are at work, in kernels of their own
        while not out.exists() or working(process.pid) < 2:
            assert process.poll() is None
            time.sleep(0.1)
        below = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, how)
        try:
            # no notebook comes to an end by itself: those at work are ended, and no other is begun
            errors = process.communicate(timeout=FOREVER)[1]
        finally:
            process.kill()
    assert process.returncode == 130 and b"stopped: 1 of 5" in errors, errors
    assert [report["file"] for report in json.loads(out.read_text())] == ["0.ipynb"]
    assert outlive(below) == []


def test_nothing_outlives_a_command_that_is_killed(tmp_path, grading):
    write_notebook(tmp_path, notebook_with({"prefix_mask": ENDLESS}), "1.ipynb")
    with subprocess.Popen(
        [
            sys.executable, "-c", MAIN, "grade", str(tmp_path), "--json",
            str(tmp_path / "out.json"), "--timeout", "1000000", *grading,
        ],
        cwd=ROOT, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        while not working(process.pid):
            assert process.poll() is None
            time.sleep(0.1)
        below = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    assert outlive(below) == []
