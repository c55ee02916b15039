"""What the terminal shows of reports: a table for each file, one of all, and how far it is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from judge.grading.report.results import Report
from judge.grading.report.text import line, plain
from judge.grading.submissions.files import LeftOut
from judge.status import Status

STYLES = {
    Status.PASSED: "green",
    Status.NOT_ATTEMPTED: "dim",
    Status.NOT_FOUND: "dim",
    Status.NOT_GRADED: "magenta",
}


class Rate(ProgressColumn):
    """How many files a minute."""

    def render(self, task: Task) -> Text:
        return Text(f"{60 * task.speed:.1f} a minute" if task.speed else "")


@contextmanager
def progress(console: Console, total: int, before: int) -> Iterator[Callable[[], None]]:
    """Shows how far it is, without a name; yields what to call when a file is graded.

    In a terminal that is a bar with count, rate and time left; elsewhere it is a line for each
    tenth of the files, if there are several.
    """
    if not console.is_terminal:
        yield Lines(console, total, before).advance if total > 1 else lambda: None
        return
    # what one file takes says little: the rate is that of the last ten minutes
    bar = Progress(
        TextColumn("graded"), MofNCompleteColumn(), BarColumn(), Rate(), TimeRemainingColumn(),
        TextColumn("left"), console=console, transient=True, speed_estimate_period=600,
    )  # fmt: skip
    with bar:
        task = bar.add_task("", total=total, completed=before)
        yield lambda: bar.advance(task)


@dataclass
class Lines:
    """Progress in lines, for a log: one at the begin, and one for each tenth of the files."""

    console: Console
    total: int
    done: int

    def __post_init__(self):
        self.say()

    def advance(self) -> None:
        tenths = 10 * self.done // self.total
        self.done += 1
        if 10 * self.done // self.total > tenths:
            self.say()

    def say(self) -> None:
        percent = 100 * self.done // self.total
        say(self.console, f"{self.done} of {self.total} graded, {percent} %", "")


def show(report: Report, console: Console) -> None:
    name = line(report.file)
    if report.problem and not report.exercises:
        say(console, f"{name}: not graded: {plain(report.problem)}", "magenta")
        return
    title = f"{escape(name)} · sandbox: {report.sandbox}"
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = f"{report.points:g} of {report.max_points} points · seed {report.seed}"
    if report.partial:
        table.caption += " · partial credit"
    for column in ("exercise", "status", "points", "hint"):
        table.add_column(column, justify="right" if column == "points" else "left")
    for one in report.exercises:
        says = "\n".join(filter(None, (one.hint, one.evidence, one.note)))
        style = STYLES.get(one.status, "yellow")
        earned = f"{one.points:g}/{one.max_points}"
        table.add_row(one.name, f"[{style}]{one.status}[/]", earned, escape(says))
    console.print(table)
    for note in report.seen:
        say(console, note, "dim")
    if report.problem:
        say(console, report.problem, "magenta")


def show_left_out(one: LeftOut, console: Console) -> None:
    say(console, f"{line(one.name)}: {one.why}", "magenta" if one.fault else "dim")


def say(console: Console, text: str, style: str) -> None:
    console.print(text, markup=False, highlight=False, style=style, soft_wrap=True)


def summarize(reports: list[Report], console: Console) -> None:
    table = Table(title="all files", title_justify="left")
    for column in ("file", "chapter", "passed", "points"):
        table.add_column(column, justify="left" if column in ("file", "chapter") else "right")
    for report in reports:
        passed = sum(one.status == Status.PASSED for one in report.exercises)
        state = f"{passed}/{len(report.exercises)}" if report.graded else Status.NOT_GRADED
        points = f"{report.points:g}/{report.max_points}"
        table.add_row(escape(line(report.file)), report.chapter, state, points)
    console.print(table)


def summarize_class(
    reports: list[Report], before: int, others: list[LeftOut], folder: Path, console: Console
) -> None:
    """How it stands with a class, without a name."""
    passed = sum(report.passed for report in reports)
    not_graded = [report for report in reports if not report.graded]
    faults = len(not_graded) + sum(one.fault for one in others)
    for tier in sorted({report.sandbox for report in reports if report.exercises}):
        say(console, f"sandbox: {tier}", "")
    say(console, f"{len(reports)} notebooks, {before} of them already graded", "")
    say(console, f"{passed} with every exercise passed", "green")
    if faults:
        say(console, f"{faults} could not be graded: see files.csv", "magenta")
    say(console, f"the grades are in {folder}", "")
