"""A chapter's exercises in a table, for its page."""

from attncourse.checks import exercises

HEAD = "| Name | What | Kind | Difficulty | Minutes | Points |\n|---|---|---|---|---|---|"


class Cards:
    """What the cards of a chapter's exercises say, a row each: `Cards("dot_product")`."""

    def __init__(self, chapter: str):
        self.rows = [
            f"|`{e.name}`|{e.title}|{e.kind}|{e.difficulty} of 3|{e.minutes}|{e.points}|"
            for e in exercises(chapter).values()
        ]

    def __repr__(self) -> str:
        return self._repr_markdown_()

    def _repr_markdown_(self) -> str:
        return "\n".join([HEAD, *self.rows])
