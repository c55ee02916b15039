"""Who has handed something in, as a platform, a file's name or the roster calls them."""

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from judge.grading.submissions.platforms import PLATFORMS


@dataclass(frozen=True)
class Student:
    """Who handed something in. `row` is the roster's, `platform` where the key comes from.

    `called` is all that a file's name may mean, where its ending is not sure; `download` the folder
    or zip in which the platform has given this key to nobody else.
    """

    key: str
    name: str = ""
    platform: str = ""
    row: dict[str, str] = field(default_factory=dict, compare=False, hash=False)
    called: tuple[str, ...] = field(default=(), compare=False)
    download: str = field(default="", compare=False)

    @property
    def person(self) -> object:
        """What is the same for everything of one person, in whatever layout it comes."""
        if self.row:
            return id(self.row)
        # each platform counts in its own way
        return self.platform if self.platform in PLATFORMS else "", normal(self.key)

    def number(self, platform: str) -> str:
        """What the platform calls them, if that is what they are known by."""
        return self.key.partition(" ")[0] if self.platform == platform else ""

    def cell(self, *columns: str) -> str:
        """What the roster has in the first of these columns that it has, in any case."""
        own = {column.casefold(): cell for column, cell in self.row.items()}
        return next((own[one.casefold()] for one in columns if own.get(one.casefold())), "")


def account(student: Student) -> tuple[str, str, str]:
    """What a student is known by where the files come from: Moodle's numbers, by assignment."""
    place = student.download if student.platform == "moodle" else ""
    return student.platform, place, normal(student.key)


def distinguished(students: Iterable[Student]) -> Iterator[Student]:
    """The students, with a number behind a key that another has."""
    taken: set[str] = set()
    for one in students:
        keys = (f"{one.key} ({n})" if n > 1 else one.key for n in count(1))
        key = next(key for key in keys if normal(key) not in taken)
        taken.add(normal(key))
        yield replace(one, key=key)


class People:
    """A class, as an instructor calls its members."""

    def __init__(self, students: Iterable[Student]):
        self.tiers: list[dict[str, list[Student]]] = [{}, {}, {}]
        for one in students:
            called = ([one.key], [one.name], one.row.values())
            for tier, names in zip(self.tiers, called, strict=True):
                for name in {normal(name) for name in names if name}:
                    tier.setdefault(name, []).append(one)

    def called(self, name: str) -> list[Student]:
        """Those with this key; else those of this name; else those of whom the roster has it.

        Nobody, where it means one whom the roster does not know, and the roster has it of another.
        """
        found = [tier[normal(name)] for tier in self.tiers if normal(name) in tier]
        known = any(one.row for tier in found for one in tier)
        return found[0] if found and all(one.row or not known for one in found[0]) else []

    def nobody(self, name: str) -> str:
        """Why nobody is meant by a name."""
        if any(normal(name) in tier for tier in self.tiers):
            return (
                "a student on the roster and one who is not on it both have that name, so it counts"
                " for neither: identify them in another way"
            )
        return f"nobody is called {name!r}"


def composed(text: str) -> str:
    """A text with each letter in one piece: macOS writes a letter and its accent in two."""
    return unicodedata.normalize("NFC", text)


def normal(text: str) -> str:
    """A text as it is compared: *weiss* is not *weiß*, as it is in a casefold."""
    return composed(text.strip()).lower()


def squeezed(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if c.isalnum())
