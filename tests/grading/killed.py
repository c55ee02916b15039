"""Grades a class again and again, and is killed, each time a part of the class later.

Run as `python -m tests.grading.killed FOLDER KILLS [OPTION...]`, the options those of the command.
It grades in processes that are copies of this, and prints lines of JSON.
"""

import json
import os
import re
import shutil
import signal
import sys
import time
from functools import partial
from pathlib import Path

from judge.grading import cli, grade
from tests.grading import classes


def start_grading(folder: Path, options: list[str], out: Path, log: Path) -> int:
    """Start to grade the class in a process of its own."""
    pid = os.fork()
    if pid:
        return pid

    def slow_judge(report, *args):
        time.sleep(0.03)
        with log.open("a") as file:
            file.write(f"{report.file}\n")
        return classes.judge_by_mark(report, *args)

    grade.judged = slow_judge
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    code = 1
    try:
        command = ["grade", str(folder / "class"), "--seed", "3", "--jobs", "2", *options]
        cli.app([*command, "--out", str(out)])
    except SystemExit as exit_:
        code = exit_.code
    finally:
        os._exit(code if isinstance(code, int) else 99)


def wait_for(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def output_texts(out: Path) -> dict[str, str]:
    """The final texts by name: tables, pages, and reports without their seconds."""
    paths = [*out.glob("*.csv"), *out.glob("*.html"), *out.glob("feedback/*")]
    texts = {str(path.relative_to(out)): path.read_text("utf-8") for path in paths}
    for path in out.glob("reports/*"):
        texts[path.name] = re.sub(r'"seconds": [\d.e-]+', "", path.read_text("utf-8"))
    return texts


def main(folder: Path, kills: int, options: list[str]) -> None:
    out, complete, log = folder / "out", folder / "whole", folder / "log"
    start = partial(start_grading, folder, options)
    # with the instructor's own files
    shutil.copytree(out, complete)
    code = wait_for(start(complete, folder / "whole.log"))
    reports = len([*complete.glob("reports/*")])
    for kill in range(kills):
        # the last time, while the tables are written
        report_count = max(1, round(reports * kill / (kills - 1)))
        pid = start(out, log)
        while (
            len([*out.glob("reports/*.json")]) < report_count and not os.waitpid(pid, os.WNOHANG)[0]
        ):
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
        was_killed = wait_for(pid) == -signal.SIGKILL
        print(json.dumps({"killed": was_killed, "kept": len([*out.glob("reports/*.json")])}))
    second_code = wait_for(start(out, log))
    same = output_texts(out) == output_texts(complete)
    judged = log.read_text().splitlines()
    print(json.dumps({"codes": [code, second_code], "judged": judged, "same": same}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
