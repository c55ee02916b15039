"""Everything that CI runs, and one summary: `make test`."""

import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

REPORT = Path(".cache/tests.xml")
STEPS = {
    "style": ["ruff", "check", "--quiet", "."],
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "types": ["pyright"],
    "notebooks": ["attncourse.publish", "--check"],
    "site": ["attncourse.publish.site"],
    "tests": ["pytest", f"--junitxml={REPORT}"],
}


class Result(NamedTuple):
    """How one step went; `reason` is the line on stderr that says why it failed."""

    passed: bool
    seconds: float
    reason: str


def run(steps: dict[str, list[str]]) -> dict[str, Result]:
    """Run each step to its end, whatever became of those before it."""
    results = {}
    for name, command in steps.items():
        print(f"==> {name}: {' '.join(command)}", flush=True)
        start, said = time.monotonic(), []
        with subprocess.Popen(
            [sys.executable, "-m", *command], stderr=subprocess.PIPE, text=True
        ) as step:
            for line in step.stderr or ():
                print(line, end="", file=sys.stderr, flush=True)
                said.append(line.strip())
        reasons = [line for line in said if line.startswith("==> ")] or said or [""]
        results[name] = Result(step.returncode == 0, time.monotonic() - start, reasons[-1])
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


def summary(results: dict[str, Result], report: Path) -> str:
    """What passed, what failed and what was skipped and why; the last line is the verdict."""
    lines = ["", "==> summary"]
    for name, (passed, seconds, reason) in results.items():
        line = f"{'passed' if passed else 'FAILED':8} {name:10} {seconds:4.0f} s"
        lines.append(line if passed else f"{line}  {reason.removeprefix('==> ')}".rstrip())
    for kind, label in {"failure": "FAILED", "error": "ERROR", "skipped": "skipped"}.items():
        lines += [f"{label:8} {line}" for line in unlucky(report, kind)]
    failed = [name for name, result in results.items() if not result.passed]
    skipped = len(unlucky(report, "skipped"))
    lines.append(
        f"==> {'failed: ' + ', '.join(failed) if failed else 'everything passed'}, "
        f"{skipped} tests skipped, in {sum(result.seconds for result in results.values()):.0f} s"
    )
    return "\n".join(lines)


def main() -> int:
    """Run all steps and print the summary."""
    REPORT.unlink(missing_ok=True)
    results = run(STEPS)
    print(summary(results, REPORT), flush=True)
    return 0 if all(result.passed for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
