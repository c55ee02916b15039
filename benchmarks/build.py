"""How long the site's build takes: cold, with nothing changed, after an edit (`make times`).

Each step is the whole command, as `make site` runs it, in a copy of the course, one after another.
Seconds on the clock depend on what else the machine does; those of the processor hardly do.
"""

import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "build.md"
CHAPTER, CHECK = "chapters/dot_product.md", "attncourse/checks/dot_product/prefix_mask.py"
STEPS = {
    "cold: no outputs, no pages": {},
    "nothing changed": {},
    "one sentence more in a chapter": {CHAPTER: "\nOne sentence more.\n"},
    "one comment more in a check": {CHECK: "\n# one comment more\n"},
}
HEADINGS = ("step", "seconds", "processor seconds", "pages run", "pages written")


def copy_of_the_course(folder: Path) -> None:
    """The files that git knows of, as they are now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed_build(course: Path) -> tuple:
    """Build once: seconds, processor seconds, pages whose cells ran, pages that Sphinx wrote."""
    command = [sys.executable, "-m", "tools.site"]
    before, start, clock = processor_seconds(), time.monotonic(), time.time()
    done = subprocess.run(
        command, cwd=course, env=os.environ | {"PYTHONPATH": str(course)}, capture_output=True
    )
    seconds, used = time.monotonic() - start, processor_seconds() - before
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    pages = (course / "_build" / "sphinx" / "html").rglob("*.html")
    written = sum(page.stat().st_mtime >= clock for page in pages)
    return f"{seconds:.1f}", f"{used:.1f}", done.stdout.count(b"running the cells"), written


def main() -> None:
    """Print the table, and write it to the results."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|---|---:|---:|---:|---:|"]
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        copy_of_the_course(course)
        for step, edits in STEPS.items():
            for name, more in edits.items():
                with (course / name).open("a") as file:
                    file.write(more)
            lines.append(f"| {step} | {' | '.join(map(str, timed_build(course)))} |")
            print(lines[-1], flush=True)
    made_with = ", ".join(f"{name} {version(name)}" for name in ("torch", "sphinx", "myst-nb"))
    load = f"{os.getloadavg()[0]:.1f} processes at work when it ended"
    where = f"{os.cpu_count()} cores, {platform.machine()}, {load}"
    text = f"# The site's build\n\n{where}; Python {platform.python_version()}, {made_with}.\n\n"
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(text + "\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
