"""Everything that CI runs, and one summary: `make test`."""

import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, NamedTuple

REPORTS = {"tests": Path(".cache/tests.xml"), "browser": Path(".cache/browser.xml")}
BROWSER = "tests/test_site"
STEPS = {
    "style": ["ruff", "check", "--quiet", "."],
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "types": ["pyright"],
    "notebooks": ["attncourse.publish", "--check"],
    "site": ["attncourse.publish.site"],
}
# each waits for one process at a time: side by side they take little more than the longer one
TESTS = {
    "tests": ["pytest", f"--junitxml={REPORTS['tests']}", f"--ignore={BROWSER}"],
    "browser": ["pytest", f"--junitxml={REPORTS['browser']}", BROWSER],
}


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
        [sys.executable, "-m", *command], stdout=out, stderr=subprocess.PIPE, text=True
    ) as step:
        for line in step.stderr or ():
            print(line, end="", file=sys.stderr, flush=True)
            said.append(line.strip())
    reasons = [line for line in said if line.startswith("==> ")] or said or [""]
    return Result(step.returncode == 0, time.monotonic() - start, reasons[-1])


def run_beside(first: dict[str, list[str]]) -> dict[str, Result]:
    """Run two steps at the same time; what the second prints is seen when both have ended."""
    (one, two) = first.items()
    with tempfile.TemporaryFile("w+") as kept, ThreadPoolExecutor() as pool:
        later = pool.submit(run, *two, kept)
        results = {one[0]: run(*one), two[0]: later.result()}
        kept.seek(0)
        print(kept.read(), flush=True)
    return results


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
    results = {name: run(name, command) for name, command in STEPS.items()}
    results |= run_beside(TESTS)
    print(summary(results, list(REPORTS.values()), time.monotonic() - start), flush=True)
    return 0 if all(result.passed for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
