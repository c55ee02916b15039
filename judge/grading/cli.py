"""The command that grades files and folders of exercise notebooks, for a course to have."""

import json
import os
import secrets
import signal
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from threading import Event
from typing import Annotated, NoReturn

import nbformat
import typer
from rich.console import Console
from typer import Argument, Option

from judge.course import TOLD, course
from judge.grading import autograder
from judge.grading.batch import CannotGradeError, Reports, grade_all
from judge.grading.grade import grade
from judge.grading.gradebook.classroom import Classroom
from judge.grading.gradebook.overrides import read_overrides
from judge.grading.gradebook.resume import ReportCache, seed_of
from judge.grading.kernel.budget import EXERCISE
from judge.grading.notebook.pristine import chapters, exercise_files
from judge.grading.report.formats import gradescope
from judge.grading.report.results import Report
from judge.grading.report.tables import TableError
from judge.grading.report.text import replace
from judge.grading.sandbox import tiers
from judge.grading.submissions.files import LeftOut, Submission, handed_in, in_turns, within_bounds
from judge.grading.submissions.layouts import class_folders, student_of
from judge.grading.submissions.roster import Roster
from judge.grading.terminal import progress, say, show, show_left_out, summarize, summarize_class

ALL_PASSED, NOT_ALL_PASSED, NOT_GRADED = 0, 1, 2
# as the shell says it
STOPPED = 130

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


autograders = typer.Typer(no_args_is_help=True, help="Write what another platform grades with.")
app.add_typer(autograders, name="autograder")


Partial = Annotated[
    bool, Option("--partial", help="Give points for the groups of cases that are right.")
]


@app.callback()
def grading() -> None:
    """Grade the exercises of the course."""


@app.command("grade")
def grade_command(
    paths: Annotated[list[Path], Argument(metavar="FILE_OR_FOLDER...")],
    seed: Annotated[
        int | None, Option(min=0, help="Draw the same inputs as an earlier run.")
    ] = None,
    timeout: Annotated[
        float, Option(min=1, help="Processor seconds an exercise may take.")
    ] = EXERCISE,
    memory: Annotated[float, Option(min=1.5, help="GiB of memory an answer may take.")] = 4,
    json_out: Annotated[
        Path | None, Option("--json", metavar="FILE", help="Write the reports to this file.")
    ] = None,
    gradescope_out: Annotated[
        Path | None, Option("--gradescope", metavar="FILE", help="Write Gradescope's results.json.")
    ] = None,
    sandboxed: Annotated[
        bool, Option("--sandbox/--no-sandbox", help="Run answers where they can do no harm.")
    ] = True,
    in_parts: Partial = False,
    jobs: Annotated[int, Option(min=1, help="Files graded at a time.")] = 1,
    scheduler: Annotated[
        str | None, Option(metavar="ADDRESS", help="Grade on the Dask cluster of this scheduler.")
    ] = None,
    out: Annotated[
        Path | None,
        Option(help="Grade a class: keep all grades in this folder, and resume from it."),
    ] = None,
    regrade: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="With --out: grade these files or students again."),
    ] = None,
    roster: Annotated[
        Path | None, Option(help="With --out: the class list, a CSV as a platform exports it.")
    ] = None,
    exercise: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Count only this exercise; repeat the option for more."),
    ] = None,
) -> None:
    """Grade notebooks: exit 0 if all passed, 1 if not, 2 if something could not be graded."""
    errors = Console(stderr=True)
    if not exercise_files():
        refuse(
            f"there are no exercise notebooks in {course().notebooks}: {course().package} is"
            f" imported from {course().folder}, which isn't a complete copy: check PYTHONPATH"
        )
    tell = partial(say, errors, style="yellow")
    if scheduler:
        grade_files = on_cluster(scheduler, sandboxed, jobs, tell)
    else:
        grade_files = on_this_machine(sandboxed, jobs, tell)
    for option, file in (("--json", json_out), ("--gradescope", gradescope_out)):
        if file and not file.resolve().parent.is_dir():
            refuse(f"{option}: there is no folder {file.resolve().parent}")
    exercises = exercises_called(exercise or [])
    room = classroom(paths, out, roster, exercises)
    if room:
        seed = seed_of(room.grades, seed)
    settings = {
        "seed": secrets.randbits(31) if seed is None else seed,
        "timeout": timeout,
        "sandboxed": sandboxed,
        "memory": int(memory * 2**30),
        "partial": in_parts,
    }
    if any(path.is_dir() for path in paths):
        say(errors, "reading the files", "dim")
    found = list(handed_in(paths))
    files = [one for one in found if isinstance(one, Submission)]
    others = [one for one in found if isinstance(one, LeftOut)]
    if not files and not any(one.fault for one in others):
        refuse(f"no notebook (*.ipynb) in {', '.join(map(str, paths))}")
    run = Run(partial(grade_files, settings=settings), files, others, exercises, json_out, errors)
    if room:
        reports = run.whole_class(room, ReportCache(room.grades, settings, regrade or []))
    else:
        reports = run.one_by_one(paths)
    if gradescope_out:
        replace(gradescope_out, gradescope(reports, (one.why for one in others if one.fault)))
    raise typer.Exit(exit_code(reports, others))


def on_this_machine(
    sandboxed: bool, jobs: int, tell: Callable[[str], None]
) -> Callable[..., Reports]:
    """What grades files here; ends the command where it is not safe, or cannot be."""
    tier, why = tiers.select_tier() if sandboxed else (tiers.Tier.NONE, "")
    if not tier:
        refuse(
            f"no sandbox is safe here:\n{why}\n"
            "--no-sandbox grades without one: answers can then do whatever you can"
        )
    return lambda files, settings: grade_all(files, partial(graded, **settings), jobs, tell)


def on_cluster(
    scheduler: str, sandboxed: bool, jobs: int, tell: Callable[[str], None]
) -> Callable[..., Reports]:
    """What grades files on a cluster; ends the command where that cannot be."""
    if not sandboxed:
        refuse("--no-sandbox can't go with --scheduler: an answer could then use the cluster")
    if jobs > 1:
        refuse("--jobs can't go with --scheduler: a worker takes as many files as it has threads")
    try:
        from judge.grading import cluster
    except ModuleNotFoundError as error:
        refuse(f'--scheduler needs {error.name}: pip install ".[grade,cluster]"')
    return partial(cluster.grade_all, address=scheduler, tell=tell)


def graded(file: Submission, stop: Event, **settings) -> Report:
    return grade(file, stop=stop, **settings)


def exercises_called(names: list[str]) -> frozenset[str]:
    """The exercises that count; ends the command where one is called otherwise."""
    known = [name for chapter in chapters().values() for name in chapter.facts]
    for name in names:
        if name not in known:
            (nearest,) = get_close_matches(name, known, n=1, cutoff=0)
            refuse(f"--exercise: no exercise is called {name!r}: the nearest name is {nearest!r}")
    return frozenset(names)


def classroom(
    paths: list[Path], out: Path | None, roster: Path | None, exercises: frozenset[str]
) -> Classroom | None:
    """The class that is to be graded, if there is one; ends the command where it cannot be."""
    if out is None:
        if roster:
            refuse("--roster needs --out")
        return None
    (folder,) = paths if len(paths) == 1 else [None]
    if folder is None or not folder.is_dir():
        refuse("--out: give one folder with the submissions of the class")
    if out.resolve().is_relative_to(folder.resolve()):
        refuse("--out: keep the grades outside the folder of submissions")
    try:
        students = Roster.read(roster) if roster else None
        return Classroom(folder, out, students, exercises, read_overrides(out / "overrides.csv"))
    except TableError as error:
        refuse(str(error))


@autograders.command("gradescope")
def gradescope_command(
    out: Annotated[Path, Option(help="The zip to write.")] = Path("autograder.zip"),
    wheels: Annotated[
        Path | None, Option(help="A folder of wheels that pip installs from, without a network.")
    ] = None,
    in_parts: Partial = False,
) -> None:
    """Write the zip that Gradescope takes for an autograder."""
    try:
        if wheels and (missing := autograder.without_wheel(wheels)):
            refuse(f"--wheels: {wheels} has no wheel for {', '.join(missing)}")
        autograder.gradescope_zip(out, wheels, in_parts)
    except LookupError as why:
        refuse(str(why))
    typer.echo(f"written: {out}")


@autograders.command("nbgrader")
def nbgrader_command(
    slugs: Annotated[
        list[str] | None, Argument(metavar="[CHAPTER]...", help="By default, all.")
    ] = None,
    out: Annotated[Path, Option(help="nbgrader's folder of sources.")] = Path("source"),
) -> None:
    """Write the exercises as assignments of nbgrader."""
    for chapter in slugs or []:
        if chapter not in exercise_files():
            if chapter in course().chapters():
                refuse(f"{chapter}.ipynb is not in {course().notebooks}: write the notebook first")
            there = ", ".join(exercise_files())
            refuse(f"no chapter {chapter!r} has exercises; these do: {there}")
    for chapter in slugs or exercise_files():
        path = out / chapter / f"{chapter}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(autograder.nbgrader_source(chapter), path)
        typer.echo(f"written: {path}")


@dataclass
class Run:
    """One run of the command, up to its tables."""

    grade_files: Callable[[list[Submission]], Reports]
    files: list[Submission]
    others: list[LeftOut]
    exercises: frozenset[str]
    json_out: Path | None
    errors: Console
    console: Console = field(default_factory=Console)
    turns: list[Submission] = field(default_factory=list)

    def one_by_one(self, paths: list[Path]) -> list[Report]:
        """Show a table for each file as it is graded, and one of all."""
        self.share(owners_in(paths, [one.name for one in (*self.files, *self.others)]))
        reports = self.reports({}, lambda one: show(one.only(self.exercises), self.console))
        for left in self.others:
            show_left_out(left, self.console)
        if len(reports) > 1:
            summarize(reports, self.console)
        return reports

    def whole_class(self, room: Classroom, cache: ReportCache) -> list[Report]:
        """Grade what was not graded before, and write everything.

        A name is shown only where nobody is called what the teacher has written.
        """
        for line in room.identify([file.name for file in (*self.files, *self.others)]):
            say(self.console, line, "")
        self.share(room.owners)
        found = {file.name: cache.find(file, room.owners[file.name]) for file in self.files}
        before = {name: report for name, report in found.items() if report}
        reports = self.reports(before, cache.store)
        warnings = room.write(reports, self.others, cache)
        summarize_class(reports, len(before), self.others, room.grades, self.console)
        for warning in warnings:
            say(self.console, warning, "yellow")
        return reports

    def share(self, owners: Mapping[str, Hashable]) -> None:
        """Give each owner the same turns: as many notebooks as another, one after the other."""
        self.files, left = within_bounds(self.files, owners.__getitem__)
        self.others += left
        self.turns = in_turns(self.files, owners.__getitem__)

    def reports(self, before: dict[str, Report], done: Callable[[Report], None]) -> list[Report]:
        """The reports on all files, in order; those from before are not graded again.

        They have the exercises that count; `done` gets all, so that others need no grading.
        """
        reports = {name: report.only(self.exercises) for name, report in before.items()}
        todo = [file for file in self.turns if file.name not in before]
        try:
            bar = progress(self.errors, len(self.files), len(before))
            with bar as advance, closing(self.grade_files(todo)) as each:
                for report in each:
                    reports[report.file] = report.only(self.exercises)
                    done(report)
                    advance()
                    self.write(reports.values())
        except KeyboardInterrupt:
            self.errors.print(f"stopped: {len(reports)} of {len(self.files)} files are graded")
            raise typer.Exit(STOPPED) from None
        except CannotGradeError as why:
            refuse(f"{why}\n{len(reports)} of {len(self.files)} files are graded")
        in_order = [reports[file.name] for file in self.files]
        self.write(in_order)
        return in_order

    def write(self, reports: Iterable[Report]) -> None:
        if self.json_out:
            data = [report.as_data() for report in reports]
            data += [{"file": one.name, "problem": one.why} for one in self.others]
            replace(self.json_out, json.dumps(data, indent=1) + "\n")


def owners_in(paths: list[Path], files: list[str]) -> dict[str, Hashable]:
    """Who has handed in each file of a folder, as the names tell; else each has its own owner."""
    if len(paths) > 1 or not paths[0].is_dir():
        return {file: file for file in files}
    folders = class_folders(files, paths[0], None)
    return {file: student_of(file, paths[0], folders).person for file in files}


def refuse(why: str) -> NoReturn:
    typer.echo(why, err=True)
    raise typer.Exit(NOT_GRADED)


def exit_code(reports: list[Report], others: list[LeftOut]) -> int:
    if any(one.fault for one in others) or not all(report.graded for report in reports):
        return NOT_GRADED
    return ALL_PASSED if all(report.passed for report in reports) else NOT_ALL_PASSED


def main(address: str) -> None:
    """Grade a course, `module:attribute`."""
    os.environ[TOLD] = address
    for stream in (sys.stdout, sys.stderr):
        # a terminal that lacks a character gets it spelt out
        stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
    # a batch system's end is no other than Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    app()
