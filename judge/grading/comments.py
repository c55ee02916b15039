"""What an instructor says, once, to all whose answers have the same mistake."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from judge import hints
from judge.grading.gradebook import Grade, Gradebook, guarded
from judge.grading.policy import read_table
from judge.grading.pristine import chapters
from judge.grading.students import PolicyError

BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
COLUMNS = ["exercise", "mistake", "comment"]


@dataclass(frozen=True)
class Comment:
    """A comment on a mistake, and in which line of a CSV it stands."""

    where: str
    exercise: str
    mistake: str
    text: str


def read_comments(path: Path) -> list[Comment]:
    """The comments in a CSV with the columns exercise, mistake, comment.

    PolicyError where one is on no exercise or no mistake; nothing where there is no file.
    """
    exercises = {name for chapter in chapters().values() for name in chapter.facts}
    found = []
    for where, (exercise, mistake, text) in read_table(path, COLUMNS):
        if exercise not in exercises:
            raise PolicyError(f"{where}: no exercise is called {exercise!r}")
        if not mistake:
            raise PolicyError(f"{where}: it names no mistake: copy a reason from mistakes.csv")
        # whoever copies all of mistakes.csv has more to say of some than of others
        if text:
            found.append(Comment(where, exercise, mistake, text))
    return found


def hand_out(comments: list[Comment], book: Gradebook) -> Iterator[str]:
    """Put each comment beside all answers with its mistake; says which comments are beside none."""
    having: dict[tuple[str, str], list[Grade]] = defaultdict(list)
    for grade in (grade for entry in book.entries for grade in entry.grades):
        for mistake in hints.named(grade.mistake) if grade.mistake else ():
            # in UTF-8 a character beyond ASCII has several bytes, and a spreadsheet that opens
            # mistakes.csv in another encoding makes a character of each of them
            misread = BEYOND_ASCII.sub(lambda one: "?" * len(one[0].encode()), mistake)
            for form in {in_table(mistake), in_table(misread)}:
                having[grade.result.name, form].append(grade)
    for one in comments:
        forms = (one.mistake, BEYOND_ASCII.sub("?", one.mistake))
        found = (having.get((one.exercise, in_table(form))) for form in forms)
        grades = next(filter(None, found), [])
        for grade in grades:
            if one.text not in grade.comments:
                grade.comments.append(one.text)
        if not grades:
            said = f"no answer to {one.exercise} has the mistake {one.mistake!r}"
            yield f"{one.where}: on no page, since {said}"


def in_table(mistake: str) -> str:
    """A mistake as `mistakes.csv` has it, but for blanks, which may be lost on the way."""
    return " ".join(str(guarded(mistake)).split())
