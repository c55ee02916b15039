"""A MyST notebook read into cells, and its Markdown into blocks, each with its line in the file."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from jupytext.myst import myst_to_notebook

# what has lines of its own; everything else is text
BLOCK = re.compile(
    r"""
      ^(?P<fence>`{3,}+|:{3,}+) (?:\{(?P<name>[\w-]+)\}[ ]*(?P<argument>.*) | .*)\n
       (?P<options>(?::[\w-]+:.*\n)*) (?P<body>(?:.*\n)*?) (?P=fence)[ ]*$
    | ^(?P<level>\#+)[ ]+(?P<title>.*)$
    | ^\$\$(?P<tex>(?:(?!\$\$|\n[ ]*\n)[\s\S])+)\$\$[ ]*(?:\((?P<label>[\w-]+)\))?[ ]*$
    """,
    re.VERBOSE | re.MULTILINE,
)
OPTION = re.compile(r"^:([\w-]+):[ ]*(.*?)[ ]*$", re.MULTILINE)


@dataclass
class Block:
    """A heading, a formula, code, a directive (its kind is its name) or a stretch of text."""

    kind: str
    line: int
    text: str
    argument: str = ""
    options: dict[str, str] = field(default_factory=dict)
    blocks: list["Block"] = field(default_factory=list)
    number: str = ""


@dataclass
class Cell:
    """A cell of the notebook; one of Markdown has blocks, one of code may be a numbered figure."""

    kind: str
    line: int
    source: str = ""
    metadata: dict = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    number: str = ""

    @property
    def tags(self) -> list[str]:
        return list(self.metadata.get("tags", []))

    @property
    def figure(self) -> dict:
        """Caption and name of the figure that the cell's output is, or nothing."""
        return self.metadata.get("mystnb", {}).get("figure", {})


def read_cells(path: Path) -> list[Cell]:
    """The cells of a MyST notebook; one of Markdown ends before each heading."""
    text = path.read_text("utf-8")
    notebook = myst_to_notebook(text, add_source_map=True)
    lines, cells = text.split("\n"), []
    for cell, start in zip(notebook.cells, notebook.metadata["source_map"], strict=True):
        while lines[start] != cell.source.partition("\n")[0]:
            start += 1
        if cell.cell_type == "code":
            cells.append(Cell("code", start + 1, cell.source, dict(cell.metadata)))
            continue
        for at, block in enumerate(parse(cell.source, start + 1)):
            if at == 0 or block.kind == "heading":
                cells.append(Cell("markdown", block.line))
            cells[-1].blocks.append(block)
    return cells


def parse(text: str, line: int) -> list[Block]:
    """The blocks of a stretch of Markdown that begins at that line of the file."""
    blocks, end = [], 0
    for found in [*BLOCK.finditer(text), None]:
        between = text[end : found.start() if found else None]
        if words := between.strip():
            first = end + between.index(words)
            blocks.append(Block("text", line + text.count("\n", 0, first), words))
        if found:
            end = found.end()
            blocks.append(made(found, line + text.count("\n", 0, found.start())))
    return blocks


def made(found: re.Match, line: int) -> Block:
    """The block that the pattern has found at that line."""
    if found["level"]:
        return Block("heading", line, found["title"], found["level"])
    if found["tex"]:
        label = {"label": found["label"]} if found["label"] else {}
        return Block("math", line, found["tex"], options=label)
    if not found["name"]:
        return Block("code", line, found[0])
    options, body = found["options"], found["body"]
    block = Block(found["name"], line, body.strip("\n"), found["argument"])
    block.options = dict(OPTION.findall(options))
    if block.kind == "admonition":
        block.blocks = parse(body, line + 1 + options.count("\n"))
    return block
