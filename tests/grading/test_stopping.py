"""Ctrl-C ends grading at once, with all that it has started, and keeps what is done."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from judge.grading.sandbox.temporary import PREFIX
from tests import ROOT
from tests.grading.submissions import SOLVED, make_notebook, write_notebook

ENDLESS = "# exercise: prefix_mask\nimport time\ntime.sleep(10_000)"
# seconds that only what never ends takes, however busy the machine is
FOREVER = 600
# a shell starts it so, with interrupts ignored
IN_THE_BACKGROUND = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
MAIN = "from attncourse.__main__ import main; main()"


def count_working_judges(pid: int) -> int:
    """The number of judges below a process that have started a kernel."""
    parents = {}
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            if "fork_server" in " ".join(child.cmdline()):
                parents[child.pid] = child.ppid()
    return len({*parents.values()} - parents.keys())


def survivors(processes: list[psutil.Process]) -> list[psutil.Process]:
    """The processes that do not end."""
    deadline = time.monotonic() + FOREVER
    while (alive := [*filter(is_running, processes)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return alive


def is_running(process: psutil.Process) -> bool:
    """Whether a process has not ended; a zombie has, and is still listed."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.parametrize("stop_signal", [signal.SIGINT, signal.SIGTERM])
def test_grading_that_is_stopped_ends_at_once_and_keeps_what_is_done(
    stop_signal, tmp_path, grading
):
    folder, out = tmp_path / "class", tmp_path / "out.json"
    folder.mkdir()
    (folder / "0.ipynb").write_text("{")
    for i in range(1, 5):
        write_notebook(folder, make_notebook({"prefix_mask": ENDLESS}), f"{i}.ipynb")
    with subprocess.Popen(
        [
            sys.executable, "-c", MAIN, "grade", str(folder), "--json", str(out), "--jobs", "2",
            "--timeout", "1000000", *grading,
        ],
        cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        # both jobs are at work, in kernels of their own
        while not out.exists() or count_working_judges(process.pid) < 2:
            assert process.poll() is None
            time.sleep(0.1)
        processes = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, stop_signal)
        try:
            # no notebook comes to an end by itself: those at work are ended, and no other is begun
            errors = process.communicate(timeout=FOREVER)[1]
        finally:
            process.kill()
    assert process.returncode == 130 and b"stopped: 1 of 5" in errors, errors
    assert [report["file"] for report in json.loads(out.read_text())] == ["0.ipynb"]
    assert survivors(processes) == []


def start(folder: Path, temporary: Path, *options: str) -> subprocess.Popen:
    """Start to grade a folder, in the background and with temporary files in another."""
    command = [*IN_THE_BACKGROUND, sys.executable, "-c", MAIN, "grade", str(folder), *options]
    environment = os.environ | {"TMPDIR": str(temporary)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("sandboxed", [True, False])
def test_nothing_outlives_a_command_that_is_killed_and_a_later_one_removes_its_folders(
    sandboxed, tmp_path, grading
):
    options = grading if sandboxed else ["--no-sandbox"]
    temporary, endless, solved = (tmp_path / name for name in ("made", "endless", "solved"))
    for folder, answer in ((endless, ENDLESS), (solved, SOLVED["prefix_mask"])):
        folder.mkdir()
        write_notebook(folder, make_notebook({"prefix_mask": answer}))
    temporary.mkdir()
    with start(endless, temporary, "--timeout", "1000000", *options) as process:
        while not count_working_judges(process.pid):
            assert process.poll() is None
            time.sleep(0.1)
        # one for the notebook, and outside a sandbox one for the answer's process
        folders = list(temporary.glob(f"{PREFIX}*"))
        processes = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    assert survivors(processes) == [] and len(folders) >= 1 + bool(options)
    with start(solved, temporary, *options) as process:
        process.wait()
    assert not any(folder.exists() for folder in folders)
