"""The texts of a chapter's exercises as its page and its notebook show them, one after another."""

import re
from collections.abc import Iterator
from pathlib import Path

from judge.course import listed_in
from tools.blocks import Block, blocks_of

FOLDER = "attncourse/course/{}/exercises"
CELL = re.compile(r"^(```\{code-cell\} \w+)$(?=\n:tags: \[(?:answer|stub)\]$)", re.MULTILINE)


def chapters(root: Path) -> list[str]:
    """The chapters that have exercises."""
    return sorted(path.parts[-3] for path in root.glob(f"{FOLDER.format('*')}/index.md"))


def files(root: Path, chapter: str) -> list[Path]:
    """What opens a chapter's exercises, and the text of each, in order."""
    index = root / FOLDER.format(chapter) / "index.md"
    names = [name for group in listed_in(index).values() for name in group]
    return [index, *(index.with_name(f"{name}.md") for name in names)]


def shown(path: Path, text: str) -> str:
    """A text without its settings, its list and its hints; each line is where it was.

    The cells of an exercise get its name, behind their language.
    """
    if path.name == "index.md":
        return text.partition("\n## ")[0] + "\n"
    head, dashes, rest = text.partition("\n---\n")
    task = rest.partition("\n## Hints\n")[0].replace("# ", "## ", 1)
    return "\n" * (head + dashes).count("\n") + CELL.sub(rf"\1 {path.stem}", task) + "\n"


def blocks(root: Path, chapter: str) -> Iterator[Block]:
    """The blocks of a chapter's exercises, each with the file that it is in."""
    for path in files(root, chapter):
        for block in blocks_of(path, shown(path, path.read_text("utf-8"))):
            if block.kind == "include":
                included = path.parent / block.argument
                yield from placed(blocks_of(included, included.read_text("utf-8")), included)
            else:
                yield from placed([block], path)


def placed(blocks: list[Block], path: Path) -> Iterator[Block]:
    """The blocks as parts of a file; what is an answer, or a stub, begins with its exercise."""
    for block in blocks:
        if name := block.argument.partition(" ")[2] if block.kind == "code-cell" else "":
            block.text = f"# exercise: {name}\n{block.text}"
        block.path = path
        yield block
