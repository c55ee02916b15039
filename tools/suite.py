"""Everything that CI runs, and one summary: `make test`."""

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, NamedTuple

# what takes no time, and says at once what is wrong
FIRST = {
    "style": ["ruff", "check", "--quiet", "."],
    "format": ["ruff", "format", "--check", "--quiet", "."],
}
BESIDE = {
    "site": ["tools.site"],
    "types": ["pyright"],
    "notebooks": ["tools", "--check"],
}
APART = {
    "browser": ["tests/site"],
    "checks": ["tests/checks/test_checks.py"],
    "attacks": ["tests/grading/test_attacks.py"],
    "accidents": ["tests/grading/test_accidents.py"],
    "colab": ["tests/tools/test_colab.py"],
    "claims": ["tests/claims/test_claims.py"],
}
TESTS = APART | {
    "others": ["tests", *(f"--ignore={path}" for paths in APART.values() for path in paths)]
}
REPORTS = {name: Path(f".cache/{name}.xml") for name in TESTS}
# one after the other in a line, the longest line first: a browser needs the site that it looks at.
# Each waits for kernels, browsers and programs, so three lines keep two cores busy
LINES = [
    ["site", "browser"],
    ["checks"],
    ["others"],
    ["attacks"],
    ["accidents"],
    ["colab"],
    ["claims"],
    ["types"],
    ["notebooks"],
]
AT_A_TIME = 3
# threads of several programs that wait for each other take many times as long as one
ALONE = {"OMP_NUM_THREADS": "1"}


class Result(NamedTuple):
    """How one step went; `reason` is the line on stderr that says why it failed."""

    passed: bool
    seconds: float
    reason: str


def run(name: str, command: list[str], out: IO | None = None) -> Result:
    """Run one step to its end; what it prints goes to `out`, or is seen at once."""
    print(f"==> {name}: {' '.join(command)}", file=out, flush=True)
    start, said = time.monotonic(), []
    with subprocess.Popen(
        [sys.executable, "-m", *command],
        env=os.environ | ALONE,
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
    ) as step:
        for line in step.stderr or ():
            print(line, end="", file=sys.stderr, flush=True)
            said.append(line.strip())
    reasons = [line for line in said if line.startswith("==> ")] or said or [""]
    return Result(step.returncode == 0, time.monotonic() - start, reasons[-1])


def run_apart(name: str, command: list[str]) -> Result:
    """Run one step, and show all that it prints when it has ended."""
    with tempfile.TemporaryFile("w+") as kept:
        result = run(name, command, kept)
        kept.seek(0)
        print(kept.read(), end="", flush=True)
    return result


def run_line(steps: dict[str, list[str]]) -> dict[str, Result]:
    """Run steps one after the other; what comes after one that fails needs it, and is not run."""
    results: dict[str, Result] = {}
    for name, command in steps.items():
        failed = [before for before, result in results.items() if not result.passed]
        missing = Result(False, 0, f"not run, since this failed: {', '.join(failed)}")
        results[name] = missing if failed else run_apart(name, command)
    return results


def run_beside(lines: list[dict[str, list[str]]]) -> dict[str, Result]:
    """Run a few lines of steps at a time."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        names = "; ".join(", ".join(steps) for steps in lines)
        print(f"==> {names}: {AT_A_TIME} at a time, each shown when it ends", flush=True)
        return {name: one for done in pool.map(run_line, lines) for name, one in done.items()}


def unlucky(report: Path, kind: str) -> list[str]:
    """The tests that pytest reports as `skipped`, `failure` or `error`, each with its reason."""
    if not report.is_file():
        return []
    return [
        f"{case.get('classname')}::{case.get('name')}: {reason.get('message', '').splitlines()[0]}"
        for case in ElementTree.parse(report).iter("testcase")
        for reason in case.findall(kind)
    ]


def summary(results: dict[str, Result], reports: Sequence[Path], took: float) -> str:
    """What passed, what failed and what was skipped and why; the last line is the verdict."""
    lines = ["", "==> summary"]
    for name, (passed, seconds, reason) in results.items():
        line = f"{'passed' if passed else 'FAILED':8} {name:10} {seconds:4.0f} s"
        lines.append(line if passed else f"{line}  {reason.removeprefix('==> ')}".rstrip())
    for kind, label in {"failure": "FAILED", "error": "ERROR", "skipped": "skipped"}.items():
        lines += [f"{label:8} {line}" for report in reports for line in unlucky(report, kind)]
    failed = [name for name, result in results.items() if not result.passed]
    skipped = sum(len(unlucky(report, "skipped")) for report in reports)
    lines.append(
        f"==> {'failed: ' + ', '.join(failed) if failed else 'everything passed'}, "
        f"{skipped} tests skipped, in {took:.0f} s"
    )
    return "\n".join(lines)


def main() -> int:
    """Run all steps and print the summary."""
    for report in REPORTS.values():
        report.unlink(missing_ok=True)
    start = time.monotonic()
    results = {name: run(name, command) for name, command in FIRST.items()}
    apart = BESIDE | {
        name: ["pytest", f"--junitxml={REPORTS[name]}", *what] for name, what in TESTS.items()
    }
    results |= run_beside([{name: apart[name] for name in line} for line in LINES])
    print(summary(results, list(REPORTS.values()), time.monotonic() - start), flush=True)
    return 0 if all(result.passed for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
