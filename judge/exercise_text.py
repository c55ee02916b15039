"""The text of an exercise, out of the Markdown file beside its bank: task, hints, worked answer.

The file begins with its settings, a line each between two lines of dashes: kind, difficulty and
points; aims, the course's names for what it practises; and minutes, where a rule does not say them.
Then come the title, the task with its code cells, and below `## Hints` three of them. One cell is
tagged `answer`; in an exercise to be repaired, another is tagged `stub`.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FORM = re.compile(r"---\n(.*?)\n---\n+# ([^\n]+)\n(.*)\n## Hints\n\n(.*)", re.DOTALL)
CELL = re.compile(r"^```\{code-cell\}.*\n((?::.*\n)*)((?:.*\n)*?)```$", re.MULTILINE)
HINT = re.compile(r"^\d\. ", re.MULTILINE)
NEEDED, OPTIONAL = {"kind", "difficulty", "points"}, {"aims", "minutes"}
# minutes to write again what a page shows
WARM_UP = 5


@dataclass(frozen=True)
class Task:
    """An exercise's title, its text with all code cells, its three hints and its settings.

    `imports` are what the chapter's notebook begins with, from the page that lists its exercises.
    """

    name: str
    title: str
    text: str
    hints: tuple[str, ...]
    settings: Mapping[str, str]
    imports: str = ""

    @classmethod
    def read(cls, path: Path) -> "Task":
        """The text in a file; ValueError where a part of it is missing."""
        if (form := FORM.fullmatch(path.read_text("utf-8"))) is None:
            raise ValueError(
                f"{path} is not: settings between two lines ---, # and a title, the task, ## Hints"
            )
        head, title, text, hints = form.groups()
        settings = dict(re.findall(r"^(\w+): *(.*)$", head, re.MULTILINE))
        if missing := NEEDED - settings.keys():
            raise ValueError(f"{path} lacks {sorted(missing)} above its title")
        if unknown := settings.keys() - NEEDED - OPTIONAL:
            raise ValueError(f"{path} says {unknown}: known are {sorted(NEEDED | OPTIONAL)}")
        said = [" ".join(one.split()) for one in HINT.split(hints)[1:]]
        index = path.with_name("index.md")
        cells = CELL.findall(index.read_text("utf-8")) if index.is_file() else []
        imports = "\n".join(code for _, code in cells)
        return cls(path.stem, title, text.strip("\n"), tuple(said), settings, imports)

    @cached_property
    def cells(self) -> list[tuple[str, str]]:
        """The options and the code of each cell."""
        return CELL.findall(self.text)

    def code(self, tag: str) -> str:
        """The code of the cell with that tag, or nothing."""
        return next((code.rstrip("\n") for options, code in self.cells if tag in options), "")

    @property
    def prose(self) -> str:
        """The task up to its first code cell."""
        return self.text.partition("```{code-cell}")[0].strip()

    @property
    def start(self) -> str:
        """What a learner starts from: the code to repair, or the answer without its body."""
        code = self.code("stub") or emptied(self.code("answer"), self.name)
        return with_first_line(self.name, code)

    @property
    def minutes(self) -> int:
        """How long it takes: as the text says, or else by its difficulty, its length and its code.

        Eight minutes for each level of difficulty, half a one for each line of the answer and one
        for a hundred words, to the nearest five; with code to repair, four for each level, and
        nothing for its lines.
        """
        kind, level = self.settings["kind"], int(self.settings["difficulty"])
        if "minutes" in self.settings:
            return int(self.settings["minutes"])
        if kind == "warm-up":
            return WARM_UP
        lines = body_lines(self.code("answer"), self.name)
        written = 4 * level if kind == "debug" else 8 * level + lines / 2
        words = re.sub(r"```.*?```", "", f"{self.title} {self.prose}", flags=re.DOTALL).split()
        return max(5, 5 * round((written + len(words) / 100) / 5))


def with_first_line(name: str, code: str) -> str:
    """The code of an answer cell below the line by which the cell names its exercise."""
    return f"# exercise: {name}\n{code}"


def defined(source: str, name: str) -> ast.FunctionDef | ast.ClassDef | None:
    """The function or the class of that name in a text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return node
    return None


def body_lines(source: str, name: str) -> int:
    """The lines of code below a definition's first, without blanks, comments and docstrings."""
    if (node := defined(source, name)) is None:
        return 0
    kinds = ast.FunctionDef, ast.ClassDef
    documented = [
        each.body[0]
        for each in ast.walk(node)
        if isinstance(each, kinds) and ast.get_docstring(each) is not None
    ]
    left_out = {
        line for each in documented for line in range(each.lineno, (each.end_lineno or 0) + 1)
    }
    lines = enumerate(source.splitlines(), 1)
    below = (
        text.strip() for line, text in lines if line >= node.body[0].lineno and line not in left_out
    )
    return sum(bool(text) and not text.startswith("#") for text in below)


def emptied(source: str, name: str) -> str:
    """A cell's imports and the definition of that name, with nothing in its body."""
    body = ast.parse(source).body
    answers = [node for node in body if getattr(node, "name", None) == name]
    if len(answers) != 1 or not isinstance(answers[0], (ast.FunctionDef, ast.ClassDef)):
        raise ValueError(f"exercise {name}: {len(answers)} functions or classes of that name")
    imports = [ast.unparse(node) for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return "\n\n\n".join(filter(None, ["\n".join(imports), unwritten(answers[0], source)]))


def unwritten(node: ast.FunctionDef | ast.ClassDef, source: str) -> str:
    """A function, or a class and its methods, as it is before it is written."""
    lines = source.split("\n")
    start = min(part.lineno for part in [node, *node.decorator_list]) - 1
    first = node.body[0]
    documented = ast.get_docstring(node) is not None
    kept = lines[start : first.end_lineno if documented else first.lineno - 1]
    # what stands before the first statement explains the answer
    while not kept[-1].strip() or kept[-1].lstrip().startswith("#"):
        kept.pop()
    text = "\n".join(kept)
    if isinstance(node, ast.ClassDef):
        methods = [unwritten(one, source) for one in node.body if isinstance(one, ast.FunctionDef)]
        return "\n\n".join([text, *methods])
    indent = " " * (node.col_offset + 4)
    return f'{text}\n{indent}raise NotImplementedError("write {node.name} here")'
