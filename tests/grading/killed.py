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


def start_grading(folder: Path, real_judge: bool, options: list[str], out: Path, log: Path) -> int:
    """Start to grade the class in a process of its own."""
    pid = os.fork()
    if pid:
        return pid

    def slow_judge(report, *args):
        time.sleep(0.03)
        with log.open("a") as file:
            file.write(f"{report.file}\n")
        return classes.judge_by_mark(report, *args)

    if not real_judge:
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


def read_lines(log: Path) -> list[str]:
    return log.read_text().split("\n")[:-1] if log.exists() else []


def kill_at_random(folder: Path, kills: int, seed: int, start: Callable[[Path, Path], int]) -> None:
    rng = random.Random(seed)
    start_time = time.monotonic()
    code = wait_for(start(folder / "whole", folder / "whole.log"))
    duration = time.monotonic() - start_time
    for kill in range(kills):
        out, log = folder / f"out{kill}", folder / f"log{kill}"
        pid = start(out, log)
        time.sleep(rng.uniform(0, duration))
        os.kill(pid, signal.SIGKILL)
        wait_for(pid)
        reports = [json.loads(path.read_text()) for path in out.glob("reports/*.json")]
        files_before = read_lines(log)
        second_code = wait_for(start(out, log))
        print(json.dumps({
            "codes": [code, second_code],
            "kept": [report["file"] for report in reports],
            "before": files_before,
            "after": read_lines(log)[len(files_before) :],
            "same": output_texts(out) == output_texts(folder / "whole"),
        }), flush=True)  # fmt: skip


def kill_part_by_part(folder: Path, kills: int, start: Callable[[Path, Path], int]) -> None:
    out, complete, log = folder / "out", folder / "whole", folder / "log"
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
    print(json.dumps({"codes": [code, second_code], "judged": read_lines(log), "same": same}))


def main(folder: Path, kills: int, mode: str, options: list[str]) -> None:
    start = partial(start_grading, folder, mode == "real", options)
    if mode in ("table", "real"):
        kill_part_by_part(folder, kills, start)
    else:
        kill_at_random(folder, kills, int(mode), start)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
