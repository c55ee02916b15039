"""Grades a class again and again, killed at random moments, in processes that are copies of this.

Run as `python -m tests.grading.killed FOLDER KILLS SEED [OPTION...]`, the options those of the
command; it prints a line of JSON for each kill.
"""

import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

from attncourse.grading import cli, grade
from tests.grading import classes


def begin(folder: Path, options: list[str], out: Path, log: Path) -> int:
    """Start to grade the class in a process of its own."""
    pid = os.fork()
    if pid:
        return pid

    def judged(report, *args):
        time.sleep(0.03)
        with log.open("a") as file:
            file.write(f"{report.file}\n")
        return classes.judged(report, *args)

    grade.judged = judged
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    code = 1
    try:
        every = ["grade", str(folder / "class"), "--seed", "3", "--jobs", "2", *options]
        cli.app([*every, "--out", str(out)])
    except SystemExit as end:
        code = end.code
    finally:
        os._exit(code if isinstance(code, int) else 99)


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def tables(out: Path) -> dict[str, str]:
    paths = sorted([*out.glob("*.csv"), *out.glob("feedback/*"), *out.glob("reports/*.json")])
    return {str(path.relative_to(out)): path.read_text("utf-8") for path in paths}


def main(folder: Path, kills: int, seed: int, options: list[str]) -> None:
    begun = partial(begin, folder, options)
    chance = random.Random(seed)
    began = time.monotonic()
    code = ended(begun(folder / "whole", folder / "whole.log"))
    takes = time.monotonic() - began
    for kill in range(kills):
        out, log = folder / f"out{kill}", folder / f"log{kill}"
        log.touch()
        pid = begun(out, log)
        time.sleep(chance.uniform(0, takes))
        os.kill(pid, signal.SIGKILL)
        ended(pid)
        kept = [json.loads(path.read_text()) for path in out.glob("reports/*.json")]
        before = log.read_text().split("\n")[:-1]
        again = ended(begun(out, log))
        print(json.dumps({
            "codes": [code, again],
            "kept": [one["file"] for one in kept],
            "before": before,
            "after": log.read_text().split("\n")[:-1][len(before) :],
            "same": tables(out) == tables(folder / "whole"),
        }), flush=True)  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
