"""A chapter's exercises in a table, for its page."""

from attncourse.course import exercises, groups
from judge.course import FIRST, LEVELS

HEAD = "| Name | What | Kind | Difficulty | Minutes | Points |\n|---|---|---|---|---|---|"


class Cards:
    """What the cards of a chapter's exercises say, a row each: `Cards("dot_product")`.

    Below them it says how many to start with.
    """

    def __init__(self, chapter: str):
        self.rows = [
            f"|`{e.name}`|{e.title}|{e.kind}|{LEVELS[e.difficulty]}|{e.minutes}|{e.points}|"
            for e in exercises(chapter).values()
        ]
        self.first = groups(chapter).get(FIRST, [])

    def __repr__(self) -> str:
        return self._repr_markdown_()

    def _repr_markdown_(self) -> str:
        lines = [HEAD, *self.rows]
        if self.first:
            minutes = sum(e.minutes for e in self.first)
            some = ("", "", " two", " three")[len(self.first)]
            lines += ["", f"Start with the first{some}: about {minutes} minutes."]
        return "\n".join(lines)
