"""The texts of a chapter's exercises as its page and its notebook show them, one after another."""

import re
from collections.abc import Iterator
from pathlib import Path

from judge.course import listed_in
from judge.exercise_text import with_first_line
from tools.blocks import Block, blocks_of

FOLDER = "attncourse/course/{}/exercises"
ANSWER_CELL = re.compile(r"^(```\{code-cell\} \w+)$(?=\n:tags: \[(?:answer|stub)\]$)", re.MULTILINE)


def chapters(root: Path) -> list[str]:
    """The slugs of the chapters that have exercises, sorted."""
    return sorted(path.parts[-3] for path in root.glob(f"{FOLDER.format('*')}/index.md"))


def text_files(root: Path, chapter: str) -> list[Path]:
    """The index.md of a chapter's exercises, then the text of each exercise in order."""
    index = root / FOLDER.format(chapter) / "index.md"
    names = [name for group in listed_in(index).values() for name in group]
    return [index, *(index.with_name(f"{name}.md") for name in names)]


def visible_text(path: Path, text: str) -> str:
    """A text without front matter, list of exercises and hints; no line changes its number.

    The answer and stub cells get the exercise's name, behind their language.
    """
    if path.name == "index.md":
        return text.partition("\n## ")[0] + "\n"
    head, dashes, rest = text.partition("\n---\n")
    task = rest.partition("\n## Hints\n")[0].replace("# ", "## ", 1)
    return "\n" * (head + dashes).count("\n") + ANSWER_CELL.sub(rf"\1 {path.stem}", task) + "\n"


def blocks(root: Path, chapter: str) -> Iterator[Block]:
    """The blocks of a chapter's exercises, each with the path of its file."""
    for path in text_files(root, chapter):
        for block in blocks_of(path, visible_text(path, path.read_text("utf-8"))):
            if block.kind == "include":
                included = root / block.argument.lstrip("/")
                yield from located(blocks_of(included, included.read_text("utf-8")), included)
            else:
                yield from located([block], path)


def located(blocks: list[Block], path: Path) -> Iterator[Block]:
    """Set the path of blocks; an answer or stub begins with the line `# exercise: name`."""
    for block in blocks:
        if name := block.argument.partition(" ")[2] if block.kind == "code-cell" else "":
            block.text = with_first_line(name, block.text)
        block.path = path
        yield block
