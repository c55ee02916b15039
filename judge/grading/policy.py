"""What an instructor adds to the points: a deadline with its late rules, and points by hand."""

import csv
import io
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from judge.grading.pristine import chapters
from judge.grading.report import Report
from judge.grading.students import (
    People,
    PolicyError,
    Student,
    delimiter,
    is_no_student,
    lines,
    text_of,
)

KNOWN = {"exercises", "time_zone", "deadline", "late", "extensions", "times"}
LATE = {"grace_minutes", "percent_per_day", "most_days"}
NEVER = datetime.max.replace(tzinfo=UTC)
TIMES = {"file", "student", "time", "format"}
# a date is read as Python writes it, or in the form that [times] gives
EXAMPLE = "2026-11-30 23:59:00"
NAMED_DATES = re.compile("%[aAbBpcx]")
# a date of a form without a year
EARLIEST = 2000
# how many lines are named of what is the same in many
SHOWN = 5
OVERRIDES = ["student", "exercise", "points", "comment"]
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
# 8, 8.5 or 8,5: neither below zero nor without end
POINTS = re.compile(r"\d{1,6}(?:\.\d+|,\d\d?)?", re.ASCII)


@dataclass(frozen=True)
class Moment:
    """When a student handed in, and in which line of the platform's export that stands."""

    file: str
    line: int
    student: str
    at: datetime


@dataclass(frozen=True)
class Policy:
    """Which exercises count, when work is due, what each day after it costs, and who has longer."""

    deadline: datetime = NEVER
    grace: timedelta = timedelta(0)
    percent_per_day: float = 100.0
    most_days: int | None = None
    extensions: dict[str, datetime] = field(default_factory=dict)
    times: list[Moment] = field(default_factory=list)
    # all, if it names none
    exercises: frozenset[str] = frozenset()

    @classmethod
    def read(cls, path: Path) -> "Policy":
        """The policy in a TOML file; PolicyError where something in it is not understood."""
        try:
            data = tomllib.loads(text_of(path))
            late, extensions, times = (table(data, n) for n in ("late", "extensions", "times"))
            for known, given in ((KNOWN, data), (LATE, late), (TIMES, times)):
                if unknown := sorted(given.keys() - known):
                    near = get_close_matches(unknown[0], known, n=1)
                    meant = f": is it {near[0]!r}?" if near else ""
                    raise ValueError(f"{unknown[0]!r} is not one of {sorted(known)}{meant}")
            exercises = read_exercises(data["exercises"]) if "exercises" in data else frozenset()
            if data.keys() == {"exercises"}:
                return cls(exercises=exercises)
            zone = time_zone(text(data, "time_zone"))
            most_days = number(late, "most_days", whole=True) if "most_days" in late else None
            return cls(
                at(data["deadline"], zone, "deadline"),
                timedelta(minutes=number(late, "grace_minutes", 0)),
                number(late, "percent_per_day", 100, most=100),
                most_days,
                {key: at(t, zone, f"[extensions] {key!r}") for key, t in extensions.items()},
                read_times(path.parent, times, zone) if "times" in data else [],
                exercises,
            )
        except PolicyError:
            raise
        except KeyError as missing:
            raise PolicyError(f"{path.name}: {missing} is missing") from None
        except (OSError, ValueError) as error:
            raise PolicyError(f"{path.name}: {error}") from None

    def counts(self, exercise: str) -> bool:
        """Whether an exercise is set."""
        return not self.exercises or exercise in self.exercises

    def counted(self, report: Report) -> Report:
        """The report on the exercises that are set; of a chapter that has none, it says so."""
        own = [one for one in report.exercises if self.counts(one.name)]
        if own or not report.exercises:
            return replace(report, exercises=own)
        problem = f"no exercise of {report.chapter} is set"
        return replace(report, chapter="", problem=problem, exercises=[])

    def extended(self, people: People) -> dict[Student, datetime]:
        """The deadlines of those who have longer."""
        return {one: t for name, t in self.extensions.items() for one in people.called(name)}

    def handed_in(self, people: People) -> dict[Student, datetime]:
        """When each student handed in; of several times, the last in the export."""
        found = ((people.called(one.student), one.at) for one in self.times)
        return {students[0]: at for students, at in found if len(students) == 1}

    def looks(self, people: People) -> Iterator[str]:
        """What the instructor should look at: names of nobody, or of several."""
        for n, name in enumerate(self.extensions, 1):
            found = len(people.called(name))
            if not found:
                yield f"--policy: [extensions]: {people.nobody(name)}"
            elif found > 1:
                yield f"--policy: [extensions]: {found} students are called by name {n}"
        unclear = [one for one in self.times if len(people.called(one.student)) != 1]
        if unclear:
            numbers = ", ".join(str(one.line) for one in unclear[:SHOWN])
            more = f" and {len(unclear) - SHOWN} more" if len(unclear) > SHOWN else ""
            where = f"{unclear[0].file}, line{'s' * (len(unclear) > 1)} {numbers}{more}"
            yield f"{where}: a time of nobody who has a row, or of several: it is not used"

    def share(self, handed_in: datetime | None, due: datetime | None = None) -> tuple[float, str]:
        """The share of the points that a student keeps, from 0 to 1, and what to say of it.

        `handed_in` is when they did, if it is known; `due` their own deadline, if they have one.
        """
        if handed_in is None:
            return 1.0, "no time of handing in is known" if self.times else ""
        over = handed_in - (due or self.deadline)
        if over <= self.grace:
            return 1.0, ""
        days = -(-over // timedelta(days=1))
        lost = 100.0 if self.most_days is not None and days > self.most_days else 0.0
        lost = max(lost, min(100.0, days * self.percent_per_day))
        return 1 - lost / 100, f"late by {spelt(over)}: {lost:g} % of the points are taken off"


def table(data: dict, name: str) -> dict[str, Any]:
    """A table of the policy, empty where there is none."""
    found = data.get(name, {})
    if not isinstance(found, dict):
        raise ValueError(f"{name} is a table, written [{name}], and not {found!r}")
    return found


def text(data: dict, key: str) -> str:
    if not isinstance(data[key], str):
        raise ValueError(f"{key} is a text in quotes, and not {data[key]!r}")
    return data[key]


def number(data: dict, key: str, default: float = 0, most: float = 1e6, whole: bool = False) -> Any:
    """A number from 0 to `most`."""
    found = data.get(key, default)
    if type(found) not in ((int,) if whole else (int, float)) or not 0 <= found <= most:
        kind = "a whole number" if whole else "a number"
        quoted = ": write it without quotes" if isinstance(found, str) else ""
        raise ValueError(f"{key} is {kind} from 0 to {most:g}, and not {found!r}{quoted}")
    return found


def time_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError):
        known = "as 'Europe/Berlin' or 'UTC'"
        raise ValueError(f"No time zone found that is called {name!r}: name one {known}") from None


def read_exercises(names: object) -> frozenset[str]:
    """The names of exercises; ValueError where they are no list of any, or one is unknown."""
    if not isinstance(names, list) or not names:
        raise ValueError(f"exercises is a list of names, and not {names!r}")
    known = [name for chapter in chapters().values() for name in chapter.facts]
    for name in names:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            meant = f": is it {near[0]!r}?" if near else ""
            raise ValueError(f"no exercise is called {name!r}{meant}")
    return frozenset(names)


def spelt(over: timedelta) -> str:
    hours, minutes = divmod(int(over.total_seconds()) // 60, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "day" if days == 1 else "days"), (hours, "h"), (minutes, "min"))
    return " ".join(f"{n} {unit}" for n, unit in parts if n) or "less than a minute"


def at(value: object, zone: ZoneInfo, key: str) -> datetime:
    """A moment of the policy's: in its time zone, where it names none itself."""
    if isinstance(value, datetime):
        return in_utc(value, zone, key)
    why = {str: ": write it without quotes", date: ": add the time"}.get(type(value), "")
    raise ValueError(f"{key} is not a date with a time, as {EXAMPLE}, but {value!s}{why}")


def in_utc(moment: datetime, zone: ZoneInfo, key: str) -> datetime:
    # in UTC, since times of one zone are subtracted by its clocks, which go back in autumn
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{key} is too near to the end of all dates: {moment}") from None


def read_times(folder: Path, times: dict, zone: ZoneInfo) -> list[Moment]:
    """When each student handed in, out of a platform's export."""
    found = []
    path, columns = folder / text(times, "file"), (text(times, "student"), text(times, "time"))
    form = text(times, "format") if "format" in times else None
    if not path.is_file():
        raise ValueError(f"file in [times]: No such file beside it: {times['file']!r}")
    for line, row in lines(path):
        for column in columns:
            if column not in row:
                raise PolicyError(f"{path.name} has no column {column!r}, but {sorted(row)}")
        student, said = (row[column] for column in columns)
        if is_no_student(row) or said in ("", "-"):
            continue
        where = f"{path.name}, line {line}"
        try:
            moment = in_utc(read_date(said, form), zone, where)
        except ValueError as error:
            raise PolicyError(f"{where}: {error}") from None
        found.append(Moment(path.name, line, student, moment))
    return found


def read_date(said: str, form: str | None) -> datetime:
    """A date of a platform's; ValueError with the remedy where it has another form."""
    try:
        moment = datetime.strptime(said, form) if form else iso(said)
    except ValueError as error:
        if form and not str(error).startswith(("time data", "unconverted data")):
            raise ValueError(f"format in [times]: {error}") from None
        if form is None:
            remedy = "say in [times] how dates are written, as format = '%d.%m.%Y %H:%M'"
            raise ValueError(f"{said!r} is no date as {EXAMPLE}: {remedy}") from None
        remedy = ""
        if NAMED_DATES.search(form):
            remedy = (
                ": names of days and months are read in English, so if these are not, set your"
                " platform to English, and export again"
            )
        raise ValueError(f"{said!r} is not written as format = {form!r} says{remedy}") from None
    if moment.year < EARLIEST:
        raise ValueError(f"{said!r} has no year, or a wrong one: look at format in [times]")
    return moment


def iso(said: str) -> datetime:
    # fromisoformat of Python 3.11 knows no "UTC"
    if said.endswith(" UTC"):
        return datetime.fromisoformat(said.removesuffix(" UTC")).replace(tzinfo=UTC)
    return datetime.fromisoformat(said)


@dataclass(frozen=True)
class Override:
    """Points set by hand, in which line of a CSV, and why."""

    where: str
    student: str
    exercise: str
    points: float
    comment: str


def read_overrides(path: Path) -> list[Override]:
    """The overrides in a CSV with the columns student, exercise, points, comment."""
    return [override(where, *cells) for where, cells in read_table(path, OVERRIDES)]


def override(where: str, student: str, exercise: str, points: str, comment: str) -> Override:
    if not POINTS.fullmatch(points):
        raise PolicyError(f"{where}: points are 0 or more, as 8 or 8.5, and not {points!r}")
    return Override(where, student, exercise, float(points.replace(",", ".")), comment)


def read_table(path: Path, columns: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The lines of a CSV that are not empty, as any spreadsheet writes them, each with its place.

    PolicyError where it has other columns or cannot be read; nothing where there is no file.
    """
    if not path.exists():
        return
    file, line = io.StringIO(text_of(path), newline=""), 1
    separator = delimiter(file)
    # strict: or a quote that is never closed would take all the lines below it into its cell
    rows = csv.reader(file, delimiter=separator, strict=True)
    try:
        header = [cell.strip().casefold() for cell in next(rows, [])]
        if header[: len(columns)] != columns or any(header[len(columns) :]):
            wanted, found = ", ".join(columns), ", ".join(filter(None, header)) or "none"
            raise PolicyError(f"{path.name}: its columns are not {wanted}, but {found}")
        line = rows.line_num + 1
        for row in rows:
            where, line = f"{path.name}, line {line}", rows.line_num + 1
            cells = [cell.strip() for cell in row]
            # spreadsheets may put empty ones behind the last one
            if any(cells[len(columns) :]):
                between = SEPARATORS[separator]
                raise PolicyError(
                    f"{where}: it has too many columns: put quotes around a cell with a {between}"
                )
            if any(cells):
                yield where, [*cells, *[""] * len(columns)][: len(columns)]
    except csv.Error as error:
        raise PolicyError(f"{path.name}, line {line}: {error}: look at its quotes") from None
