"""Grades a class again and again, and is killed: in processes that are copies of this.

Run as `python -m tests.grading.killed FOLDER KILLS SEED [OPTION...]`, at random moments, each time
in a new folder, the options those of the command; or as `python -m tests.grading.killed FOLDER
KILLS table [OPTION...]`, all in one folder, each time a part of the class later. In place of
`table`, `real` has the answers judged by the grader itself. It prints lines of JSON.
"""

import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from judge.grading import cli, grade
from tests.grading import classes


def begin(folder: Path, real: bool, options: list[str], out: Path, log: Path) -> int:
    """Start to grade the class in a process of its own."""
    pid = os.fork()
    if pid:
        return pid

    def judged(report, *args):
        time.sleep(0.03)
        with log.open("a") as file:
            file.write(f"{report.file}\n")
        return classes.judged(report, *args)

    if not real:
        grade.judged = judged
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    code = 1
    try:
        command = ["grade", str(folder / "class"), "--seed", "3", "--jobs", "2", *options]
        cli.app([*command, "--out", str(out)])
    except SystemExit as end:
        code = end.code
    finally:
        os._exit(code if isinstance(code, int) else 99)


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def tables(out: Path) -> dict[str, str]:
    """All that is there in the end; of the reports, all but the seconds."""
    paths = [*out.glob("*.csv"), *out.glob("*.html"), *out.glob("feedback/*")]
    texts = {str(path.relative_to(out)): path.read_text("utf-8") for path in paths}
    for path in out.glob("reports/*"):
        texts[path.name] = re.sub(r'"seconds": [\d.e-]+', "", path.read_text("utf-8"))
    return texts


def lines(log: Path) -> list[str]:
    return log.read_text().split("\n")[:-1] if log.exists() else []


def at_random(folder: Path, kills: int, seed: int, start: Callable[[Path, Path], int]) -> None:
    chance = random.Random(seed)
    began = time.monotonic()
    code = ended(start(folder / "whole", folder / "whole.log"))
    takes = time.monotonic() - began
    for kill in range(kills):
        out, log = folder / f"out{kill}", folder / f"log{kill}"
        pid = start(out, log)
        time.sleep(chance.uniform(0, takes))
        os.kill(pid, signal.SIGKILL)
        ended(pid)
        reports = [json.loads(path.read_text()) for path in out.glob("reports/*.json")]
        before = lines(log)
        second_code = ended(start(out, log))
        print(json.dumps({
            "codes": [code, second_code],
            "kept": [report["file"] for report in reports],
            "before": before,
            "after": lines(log)[len(before) :],
            "same": tables(out) == tables(folder / "whole"),
        }), flush=True)  # fmt: skip


def part_by_part(folder: Path, kills: int, start: Callable[[Path, Path], int]) -> None:
    out, whole, log = folder / "out", folder / "whole", folder / "log"
    # what an instructor has written there
    shutil.copytree(out, whole)
    code = ended(start(whole, folder / "whole.log"))
    reports = len([*whole.glob("reports/*")])
    for kill in range(kills):
        # the last time, while the tables are written
        enough = max(1, round(reports * kill / (kills - 1)))
        pid = start(out, log)
        while len([*out.glob("reports/*.json")]) < enough and not os.waitpid(pid, os.WNOHANG)[0]:
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
        killed = ended(pid) == -signal.SIGKILL
        print(json.dumps({"killed": killed, "kept": len([*out.glob("reports/*.json")])}))
    second_code = ended(start(out, log))
    same = tables(out) == tables(whole)
    print(json.dumps({"codes": [code, second_code], "judged": lines(log), "same": same}))


def main(folder: Path, kills: int, how: str, options: list[str]) -> None:
    start = partial(begin, folder, how == "real", options)
    if how in ("table", "real"):
        part_by_part(folder, kills, start)
    else:
        at_random(folder, kills, int(how), start)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
