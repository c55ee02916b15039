"""The command `attncourse`: grade files and folders of exercise notebooks."""

import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer import Argument, Option

from attncourse.grading import sandbox
from attncourse.grading.budget import EXERCISE
from attncourse.grading.grade import grade
from attncourse.grading.report import Report, plain

ALL_PASSED, NOT_ALL_PASSED, NOT_GRADED = 0, 1, 2
STYLES = {"passed": "green", "not attempted": "dim", "not found": "dim", "not graded": "magenta"}

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def attncourse() -> None:
    """Self-attention, from the dot product to the Transformer: grade its exercises."""


@app.command("grade")
def grade_command(
    paths: Annotated[list[Path], Argument(metavar="FILE_OR_FOLDER...")],
    seed: Annotated[int | None, Option(min=0, help="Draw an earlier run's inputs again.")] = None,
    device: Annotated[str, Option(help="Where answers run: cpu, cuda, cuda:1.")] = "cpu",
    timeout: Annotated[
        float, Option(min=1, help="Processor seconds an exercise may take.")
    ] = EXERCISE,
    memory: Annotated[float, Option(min=1.5, help="GiB an answer may take.")] = 4,
    json_out: Annotated[
        Path | None, Option("--json", metavar="OUT", help="Write the reports to this file.")
    ] = None,
    sandboxed: Annotated[
        bool, Option("--sandbox/--no-sandbox", help="Run answers where they can do no harm.")
    ] = True,
    jobs: Annotated[int, Option(min=1, help="Files graded at a time.")] = 1,
) -> None:
    """Grade notebooks: exit 0 if all passed, 1 if not, 2 if something could not be graded."""
    console, errors = Console(), Console(stderr=True)
    tier, why = sandbox.strongest() if sandboxed else (sandbox.NONE, "")
    if not tier:
        errors.print(f"no sandbox is safe here: {why}", markup=False, soft_wrap=True)
        errors.print("--no-sandbox grades without: answers can then do whatever you can")
        raise typer.Exit(NOT_GRADED)
    if problem := device_problem(device):
        errors.print(f"--device: {problem}", markup=False)
        raise typer.Exit(NOT_GRADED)
    if json_out and not json_out.resolve().parent.is_dir():
        errors.print(f"--json: there is no folder {json_out.resolve().parent}", markup=False)
        raise typer.Exit(NOT_GRADED)
    seed = secrets.randbits(31) if seed is None else seed
    files = list(dict.fromkeys(notebooks(paths)))
    if not files:
        errors.print(f"no notebook (*.ipynb) in {', '.join(map(str, paths))}", markup=False)
        raise typer.Exit(NOT_GRADED)
    settings = (seed, device, timeout, sandboxed, int(memory * 2**30))
    reports: dict[Path, Report] = {}
    late: list[Path] = []

    def done(file: Path, report: Report) -> None:
        reports[file] = report
        show(report, console)
        if json_out:
            # after each file, so that an interrupted run has lost nothing
            write(list(reports.values()), json_out)

    with ThreadPoolExecutor(jobs) as pool:
        waiting = {file: pool.submit(grade, file, *settings) for file in files}
        for file, future in waiting.items():
            with errors.status(f"grading {escape(plain(str(file)))}"):
                report = future.result()
            if report.exercises and not report.graded:
                # the machine may have been too busy
                reports[file] = report
                late.append(file)
            else:
                done(file, report)
    for file in late:
        with errors.status(f"grading {escape(plain(str(file)))} again, alone"):
            done(file, grade(file, *settings))
    if len(reports) > 1:
        summarize([reports[file] for file in files], console)
    graded = all(report.graded for report in reports.values())
    passed = all(report.passed for report in reports.values())
    raise typer.Exit(NOT_GRADED if not graded else ALL_PASSED if passed else NOT_ALL_PASSED)


def device_problem(name: str) -> str:
    if name == "cpu":
        return ""
    from attncourse.devices import named_device

    try:
        named_device(name)
    except ValueError as error:
        return str(error)
    return ""


def notebooks(paths: list[Path]) -> Iterator[Path]:
    """The files as given, and every notebook below the folders, in order."""
    for path in paths:
        if path.is_dir():
            found = (one for one in path.rglob("*.ipynb") if ".ipynb_checkpoints" not in one.parts)
            yield from sorted(found)
        else:
            yield path


def write(reports: list[Report], path: Path) -> None:
    data = [report.as_data() for report in reports]
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def show(report: Report, console: Console) -> None:
    name = plain(report.file)
    if report.problem and not report.exercises:
        console.print(f"{name}: not graded: {report.problem}", markup=False, style="magenta")
        return
    title = f"{escape(name)} · sandbox: {report.sandbox}"
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = (
        f"{report.points} of {report.worth} points · seed {report.seed} · {report.device}"
    )
    for column in ("exercise", "status", "points", "hint"):
        table.add_column(column, justify="right" if column == "points" else "left")
    for one in report.exercises:
        says = "\n".join(filter(None, (one.hint, one.evidence, one.note)))
        style = STYLES.get(one.status, "yellow")
        earned = f"{one.points}/{one.worth}"
        table.add_row(one.name, f"[{style}]{one.status}[/]", earned, escape(says))
    console.print(table)
    if report.problem:
        console.print(report.problem, markup=False, style="magenta")


def summarize(reports: list[Report], console: Console) -> None:
    table = Table(title="all files", title_justify="left")
    for column in ("file", "chapter", "passed", "points"):
        table.add_column(column, justify="left" if column in ("file", "chapter") else "right")
    for report in reports:
        passed = sum(one.status == "passed" for one in report.exercises)
        state = f"{passed}/{len(report.exercises)}" if report.graded else "not graded"
        points = f"{report.points}/{report.worth}"
        table.add_row(escape(plain(report.file)), report.chapter, state, points)
    console.print(table)


def main() -> None:
    app()
