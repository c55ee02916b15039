"""A MyST notebook read into cells, and its Markdown into blocks, each with its line in the file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from jupytext.myst import myst_to_notebook

FENCE = re.compile(r"(?P<mark>`{3,}|~{3,}|:{3,})(?P<info>[^`]*)")
DIRECTIVE = re.compile(r"\{(?P<name>[\w:.+-]+)\}\s*(?P<argument>.*)")
HEADING = re.compile(r"(?P<marks>#{1,6})\s+(?P<words>.+?)\s*")
LABEL = re.compile(r"\((?P<label>[\w:.-]+)\)=\s*")
OPTION = re.compile(r":(?P<key>[\w-]+):\s*(?P<value>.*?)\s*")
MATH_END = re.compile(r"(?P<tex>.*?)\$\$\s*(?:\((?P<label>[\w:.-]+)\))?\s*")
NESTED_DIRECTIVE = re.compile(r"[\s>*+\-\d.]*(?:`{3,}|~{3,}|:{3,})\{")

ADMONITIONS = {
    name: name.capitalize()
    for name in "attention caution danger error hint important note tip warning".split()
} | {"seealso": "See also", "admonition": "", "dropdown": ""}
# their title is the argument; that of the others is their name, and the argument opens the text
TITLED = ("admonition", "dropdown")
CONTAINERS = (*ADMONITIONS, "figure", "table")


@dataclass
class Block:
    """A heading, a formula, a fenced block of code, a directive or a stretch of text."""

    kind: str
    line: int
    text: str = ""
    name: str = ""
    argument: str = ""
    options: dict[str, str] = field(default_factory=dict)
    blocks: list["Block"] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    number: str = ""


@dataclass
class Cell:
    """A cell of the notebook; one of Markdown has blocks, one of code may be a numbered figure."""

    kind: str
    line: int
    source: str
    metadata: dict
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
    """The cells of a MyST notebook."""
    text = path.read_text()
    notebook = myst_to_notebook(text, add_source_map=True)
    lines = text.split("\n")
    cells = []
    for cell, start in zip(notebook.cells, notebook.metadata["source_map"], strict=True):
        while lines[start] != cell.source.partition("\n")[0]:
            start += 1
        made = Cell(cell.cell_type, start + 1, cell.source, dict(cell.metadata))
        if made.kind == "raw":
            raise ValueError(f"{path}:{made.line}: a raw cell has no place in a chapter")
        if made.kind == "markdown":
            made.blocks = parse(made.source, made.line, path)
        cells.append(made)
    return cells


def parse(text: str, line: int, path: Path) -> list[Block]:
    """The blocks of a stretch of Markdown that begins at that line of the file."""
    lines = text.split("\n")
    blocks: list[Block] = []
    labels: list[str] = []
    at = 0
    while at < len(lines):
        here = lines[at]
        if found := LABEL.fullmatch(here):
            labels.append(found["label"])
            at += 1
            continue
        if not here.strip() or here.startswith("%"):
            at += 1
            continue
        if fence := FENCE.fullmatch(here):
            block, at = fenced(lines, at, fence, line, path)
        elif here.startswith("$$"):
            block, at = formula(lines, at, line, path)
        elif found := HEADING.fullmatch(here):
            block = Block("heading", line + at, found["words"], name=found["marks"])
            at += 1
        else:
            end = at + 1
            while end < len(lines) and not begins(lines[end]):
                end += 1
            for place in range(at, end):
                if NESTED_DIRECTIVE.match(lines[place]):
                    raise ValueError(
                        f"{path}:{line + place}: a directive stands at the start of its line, "
                        f"not within a list or a quotation: {lines[place].strip()}"
                    )
                if lines[place].startswith("\\begin{"):
                    raise ValueError(f"{path}:{line + place}: a formula stands between $$ and $$")
            block = Block("text", line + at, "\n".join(lines[at:end]).rstrip())
            at = end
        block.labels[:0] = labels
        labels = []
        blocks.append(block)
    if labels:
        raise ValueError(f"{path}:{line + len(lines) - 1}: nothing follows the label {labels[0]}")
    return blocks


def begins(line: str) -> bool:
    """Whether a line ends a stretch of text, because something else begins there."""
    patterns = (FENCE, HEADING, LABEL)
    return line.startswith(("$$", "%")) or any(pattern.fullmatch(line) for pattern in patterns)


def fenced(
    lines: list[str], start: int, fence: re.Match, line: int, path: Path
) -> tuple[Block, int]:
    """The fenced block that opens at `start`, and where the text goes on."""
    mark = fence["mark"]
    for end in range(start + 1, len(lines)):
        closing = lines[end].strip()
        if closing.startswith(mark) and not closing.strip(mark[0]):
            break
    else:
        raise ValueError(f"{path}:{line + start}: {lines[start].strip()} is never closed")
    inner = lines[start + 1 : end]
    found = DIRECTIVE.fullmatch(fence["info"].strip())
    if found is None:
        if mark[0] == ":":
            raise ValueError(f"{path}:{line + start}: {lines[start].strip()} names no directive")
        return Block("code", line + start, "\n".join(lines[start : end + 1])), end + 1
    options, skipped = options_of(inner, f"{path}:{line + start + 1}")
    block = Block("directive", line + start, name=found["name"], argument=found["argument"])
    block.options = options
    if name := options.get("name", options.get("label")):
        block.labels.append(name)
    body = inner[skipped:]
    if block.name in CONTAINERS:
        opening = [] if block.name in (*TITLED, "figure", "table") else [block.argument]
        body_line = line + start + 1 + skipped - len(opening)
        block.blocks = parse("\n".join(opening + body), body_line, path)
    else:
        block.text = "\n".join(body).strip("\n")
    if block.name == "math":
        block.text = "\n".join(filter(None, [block.argument, block.text]))
        block.kind = "math"
    return block, end + 1


def options_of(lines: list[str], where: str) -> tuple[dict[str, str], int]:
    """A directive's options, written either way, and how many lines they take."""
    if lines and lines[0].strip() == "---":
        ends = [at for at, text in enumerate(lines) if at and text.strip() == "---"]
        if not ends:
            raise ValueError(f"{where}: the options that --- opens are never closed")
        options = yaml.safe_load("\n".join(lines[1 : ends[0]])) or {}
        return {key: "" if value is None else str(value) for key, value in options.items()}, ends[
            0
        ] + 1
    found = [OPTION.fullmatch(text) for text in lines]
    count = found.index(None) if None in found else len(found)
    return {option["key"]: option["value"] for option in found[:count] if option}, count


def formula(lines: list[str], start: int, line: int, path: Path) -> tuple[Block, int]:
    """The formula between $$ and $$ that opens at `start`, and where the text goes on."""
    block = Block("math", line + start)
    tex: list[str] = []
    for end in range(start, len(lines)):
        here = lines[end].removeprefix("$$") if end == start else lines[end]
        if found := MATH_END.fullmatch(here):
            block.text = "\n".join([*tex, found["tex"]]).strip()
            block.labels = [found["label"]] if found["label"] else []
            return block, end + 1
        if "$$" in here:
            raise ValueError(f"{path}:{line + end}: text follows the formula on its line")
        tex.append(here)
    raise ValueError(f"{path}:{line + start}: $$ is never closed")


def walk(blocks: list[Block]) -> Iterator[Block]:
    """Every block, in the order of the page, with those inside others."""
    for block in blocks:
        yield block
        yield from walk(block.blocks)
