"""A chapter's exercises in a table, for its page."""

from attncourse.course import exercises, groups
from judge.course import CARRY, LEVELS

HEAD = "| Name | What | Kind | Difficulty | Minutes | Points |\n|---|---|---|---|---|---|"


class Cards:
    """What the cards of a chapter's exercises say, a row each: `Cards("dot_product")`.

    Below them it says how many carry the chapter.
    """

    def __init__(self, chapter: str):
        self.rows = [
            f"|`{e.name}`|{e.title}|{e.kind}|{LEVELS[e.difficulty]}|{e.minutes}|{e.points}|"
            for e in exercises(chapter).values()
        ]
        self.carrying = groups(chapter).get(CARRY, [])

    def __repr__(self) -> str:
        return self._repr_markdown_()

    def _repr_markdown_(self) -> str:
        lines = [HEAD, *self.rows]
        if self.carrying:
            minutes = sum(e.minutes for e in self.carrying)
            first = ("", "one", "two", "three")[len(self.carrying)]
            lines += ["", f"The first {first} carry the chapter, in about {minutes} minutes."]
        return "\n".join(lines)
