"""The command `attncourse`: grade files and folders of exercise notebooks."""

import json
import secrets
import signal
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from typer import Argument, Option

from attncourse.grading import sandbox
from attncourse.grading.budget import EXERCISE
from attncourse.grading.grade import grade
from attncourse.grading.report import Report, replace
from attncourse.grading.run import grade_all
from attncourse.grading.show import progress, show, show_left_out, summarize
from attncourse.grading.submissions import LeftOut, Submission, handed_in

ALL_PASSED, NOT_ALL_PASSED, NOT_GRADED = 0, 1, 2
# as the shell says it
STOPPED = 130

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
        bool | None, Option("--sandbox/--no-sandbox", help="Default: where bubblewrap works.")
    ] = None,
    jobs: Annotated[int, Option(min=1, help="Files graded at a time.")] = 1,
) -> None:
    """Grade notebooks: exit 0 if all passed, 1 if not, 2 if something could not be graded."""
    console, errors = Console(), Console(stderr=True)
    if sandboxed and not sandbox.available():
        refuse("--sandbox: bubblewrap (bwrap) is not installed here, or may not make namespaces")
    if problem := device_problem(device):
        refuse(f"--device: {problem}")
    if json_out and not json_out.resolve().parent.is_dir():
        refuse(f"--json: there is no folder {json_out.resolve().parent}")
    seed = secrets.randbits(31) if seed is None else seed
    found = list(handed_in(paths))
    files = [one for one in found if isinstance(one, Submission)]
    others = [one for one in found if isinstance(one, LeftOut)]
    if not files and not any(one.fault for one in others):
        refuse(f"no notebook (*.ipynb) in {', '.join(map(str, paths))}")
    one = partial(
        grade, seed=seed, device=device, timeout=timeout, sandboxed=sandboxed,
        memory=int(memory * 2**30),
    )  # fmt: skip
    reports: dict[str, Report] = {}
    grading = grade_all(files, lambda file, stop: one(file, stop=stop), jobs)
    try:
        with progress(errors) as bar, closing(grading):
            task = bar.add_task("", total=len(files))
            for report in grading:
                reports[report.file] = report
                show(report, console)
                bar.advance(task)
                if json_out:
                    write([*reports.values()], others, json_out)
    except KeyboardInterrupt:
        errors.print(f"stopped: {len(reports)} of {len(files)} files are graded")
        raise typer.Exit(STOPPED) from None
    for left in others:
        show_left_out(left, console)
    in_order = [reports[file.name] for file in files]
    if json_out:
        write(in_order, others, json_out)
    if len(in_order) > 1:
        summarize(in_order, console)
    raise typer.Exit(exit_code(in_order, others))


def refuse(why: str) -> NoReturn:
    typer.echo(why, err=True)
    raise typer.Exit(NOT_GRADED)


def exit_code(reports: list[Report], others: list[LeftOut]) -> int:
    if any(one.fault for one in others) or not all(report.graded for report in reports):
        return NOT_GRADED
    return ALL_PASSED if all(report.passed for report in reports) else NOT_ALL_PASSED


def device_problem(name: str) -> str:
    if name == "cpu":
        return ""
    from attncourse.devices import named_device

    try:
        named_device(name)
    except ValueError as error:
        return str(error)
    return ""


def write(reports: list[Report], others: list[LeftOut], path: Path) -> None:
    data = [report.as_data() for report in reports]
    data += [{"file": one.name, "problem": one.why} for one in others]
    replace(path, json.dumps(data, indent=1) + "\n")


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        # a terminal that lacks a character gets it spelt out
        stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
    # a batch system's end is no other than Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    app()
