"""What an instructor adds to the points: a deadline with its late rules, and points by hand."""

import csv
import io
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from judge.grading.pristine import chapters
from judge.grading.report import Report
from judge.grading.students import People, Roster, Student, delimiter

KNOWN = {"exercises", "time_zone", "deadline", "late", "extensions", "times"}
LATE = {"grace_minutes", "percent_per_day", "most_days"}
NEVER = datetime.max.replace(tzinfo=UTC)
TIMES = {"file", "student", "time", "format"}
OVERRIDES = ["student", "exercise", "points", "comment"]
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
# 8, 8.5 or 8,5: neither below zero nor without end
POINTS = re.compile(r"\d{1,6}(?:\.\d+|,\d\d?)?", re.ASCII)


class PolicyError(ValueError):
    """A file of the instructor's that cannot be used; its text says why."""


@dataclass(frozen=True)
class Policy:
    """Which exercises count, when work is due, what each day after it costs, and who has longer."""

    deadline: datetime = NEVER
    grace: timedelta = timedelta(0)
    percent_per_day: float = 100.0
    most_days: int | None = None
    extensions: dict[str, datetime] = field(default_factory=dict)
    times: dict[str, datetime] = field(default_factory=dict)
    # all, if it names none
    exercises: frozenset[str] = frozenset()

    @classmethod
    def read(cls, path: Path) -> "Policy":
        """The policy in a TOML file; PolicyError where something in it is not understood."""
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError) as error:
            raise PolicyError(f"{path.name}: {error}") from None
        late, times = data.get("late", {}), data.get("times")
        for known, given in ((KNOWN, data), (LATE, late), (TIMES, times or {})):
            if unknown := sorted(given.keys() - known):
                raise PolicyError(f"{path.name}: {unknown[0]!r} is not one of {sorted(known)}")
        try:
            exercises = read_exercises(data["exercises"]) if "exercises" in data else frozenset()
            if data.keys() == {"exercises"}:
                return cls(exercises=exercises)
            zone = ZoneInfo(data["time_zone"])
            extensions = {key: at(t, zone) for key, t in data.get("extensions", {}).items()}
            return cls(
                at(data["deadline"], zone),
                timedelta(minutes=late.get("grace_minutes", 0)),
                float(late.get("percent_per_day", 100)),
                late.get("most_days"),
                extensions,
                read_times(path.parent, times, zone) if times else {},
                exercises,
            )
        except KeyError as missing:
            raise PolicyError(f"{path.name}: {missing} is missing") from None
        except (ZoneInfoNotFoundError, OSError, ValueError, TypeError) as error:
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

    def looks(self, people: People) -> Iterator[str]:
        """What the instructor should look at: names of nobody, or of several."""
        for n, name in enumerate(self.extensions, 1):
            found = len(people.called(name))
            if not found:
                yield f"--policy: [extensions]: nobody is called {name!r}"
            elif found > 1:
                yield f"--policy: [extensions]: {found} students are called by name {n}"

    def share(self, student: Student, own: datetime | None = None) -> tuple[float, str]:
        """The share of the points that a student keeps, from 0 to 1, and what to say of it.

        `own` is their own deadline, if they have one.
        """
        handed_in = next((self.times[key] for key in keys(student) if key in self.times), None)
        if handed_in is None:
            return 1.0, "no time of handing in is known" if self.times else ""
        over = handed_in - (own or self.deadline)
        if over <= self.grace:
            return 1.0, ""
        days = -(-over // timedelta(days=1))
        lost = 100.0 if self.most_days is not None and days > self.most_days else 0.0
        lost = max(lost, min(100.0, days * self.percent_per_day))
        return 1 - lost / 100, f"late by {spelt(over)}: {lost:g} % of the points are taken off"


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


def keys(student: Student) -> list[str]:
    """All that a student may be called in a table."""
    called = [student.key, student.name, *student.row.values()]
    return [one.casefold() for one in called if one]


def spelt(over: timedelta) -> str:
    hours, minutes = divmod(int(over.total_seconds()) // 60, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "days"), (hours, "h"), (minutes, "min"))
    return " ".join(f"{n} {unit}" for n, unit in parts if n) or "less than a minute"


def at(value: object, zone: ZoneInfo) -> datetime:
    """A moment: in the policy's time zone, where it names none itself."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(moment, datetime):
        raise ValueError(f"{value!r} is not a date with a time")
    # in UTC, since times of one zone are subtracted by its clocks, which go back in autumn
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def read_times(folder: Path, table: dict, zone: ZoneInfo) -> dict[str, datetime]:
    """When each student handed in, out of a platform's export."""
    times: dict[str, datetime] = {}
    path = folder / table["file"]
    for row in Roster.read(path).rows:
        for column in (table["student"], table["time"]):
            if column not in row:
                raise PolicyError(f"{path.name} has no column {column!r}, but {sorted(row)}")
        said = row[table["time"]]
        if said in ("", "-"):
            continue
        form = table.get("format")
        # fromisoformat of Python 3.11 knows no "UTC"
        moment = datetime.strptime(said, form) if form else iso(said)
        times[row[table["student"]].casefold()] = at(moment, zone)
    return times


def iso(said: str) -> datetime:
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


def text_of(path: Path) -> str:
    """The text of a file; PolicyError with the line where it is in another encoding than UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise PolicyError(f"{path.name}: {error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise PolicyError(
            f"{path.name}, line {line}: it is not in UTF-8: save it as CSV with that encoding"
        ) from None
