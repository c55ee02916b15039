"""What an instructor adds to the points: a deadline with its late rules, and points by hand."""

import csv
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from attncourse.grading.students import Roster, Student

KNOWN = {"time_zone", "deadline", "late", "extensions", "times"}
LATE = {"grace_minutes", "percent_per_day", "most_days"}
TIMES = {"file", "student", "time", "format"}
OVERRIDES = ("student", "exercise", "points", "comment")


class PolicyError(ValueError):
    """A file of the instructor's that cannot be used; its text says why."""


@dataclass(frozen=True)
class Policy:
    """When work is due, what is taken off for each day that begins after it, and who has longer."""

    deadline: datetime
    grace: timedelta = timedelta(0)
    percent_per_day: float = 100.0
    most_days: int | None = None
    extensions: dict[str, datetime] = field(default_factory=dict)
    times: dict[str, datetime] = field(default_factory=dict)

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
            zone = ZoneInfo(data["time_zone"])
            extensions = {
                key.casefold(): at(t, zone) for key, t in data.get("extensions", {}).items()
            }
            return cls(
                at(data["deadline"], zone),
                timedelta(minutes=late.get("grace_minutes", 0)),
                float(late.get("percent_per_day", 100)),
                late.get("most_days"),
                extensions,
                read_times(path.parent, times, zone) if times else {},
            )
        except KeyError as missing:
            raise PolicyError(f"{path.name}: {missing} is missing") from None
        except (ZoneInfoNotFoundError, OSError, ValueError, TypeError) as error:
            raise PolicyError(f"{path.name}: {error}") from None

    def share(self, student: Student) -> tuple[float, str]:
        """The share of the points that a student keeps, from 0 to 1, and what to say of it."""
        deadline = min_or(self.deadline, [self.extensions.get(key) for key in keys(student)])
        handed_in = next((self.times[key] for key in keys(student) if key in self.times), None)
        if handed_in is None:
            return 1.0, "no time of handing in is known" if self.times else ""
        over = handed_in - deadline
        if over <= self.grace:
            return 1.0, ""
        days = -(-over // timedelta(days=1))
        lost = 100.0 if self.most_days is not None and days > self.most_days else 0.0
        lost = max(lost, min(100.0, days * self.percent_per_day))
        return 1 - lost / 100, f"late by {spelt(over)}: {lost:g} % of the points are taken off"


def min_or(usual: datetime, special: list[datetime | None]) -> datetime:
    """The deadline that holds for somebody: an extension, if there is one."""
    return next((one for one in special if one), usual)


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
    """Points set by hand, and why."""

    points: float
    comment: str


class Overrides:
    """The overrides in a CSV with the columns student, exercise, points, comment."""

    def __init__(self, path: Path | None = None):
        self.by_place: dict[tuple[str, str], Override] = {}
        self.used: set[tuple[str, str]] = set()
        if path is None or not path.exists():
            return
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.DictReader(file)
                if tuple(reader.fieldnames or ()) != OVERRIDES:
                    raise PolicyError(f"{path.name}: its columns are not {', '.join(OVERRIDES)}")
                for row in reader:
                    place = (row["student"].strip().casefold(), row["exercise"].strip())
                    override = Override(float(row["points"]), (row["comment"] or "").strip())
                    self.by_place[place] = override
        except (OSError, UnicodeDecodeError, ValueError, TypeError, AttributeError) as error:
            if isinstance(error, PolicyError):
                raise
            raise PolicyError(f"{path.name}: {error}") from None

    def of(self, student: Student, exercise: str) -> Override | None:
        for key in keys(student):
            if (key, exercise) in self.by_place:
                self.used.add((key, exercise))
                return self.by_place[key, exercise]
        return None

    @property
    def unused(self) -> list[str]:
        """The lines that are of no student or exercise there is."""
        return [" ".join(place) for place in sorted(self.by_place.keys() - self.used)]
