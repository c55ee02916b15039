"""A MyST notebook read into cells, and its Markdown into blocks, each with its line in the file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from jupytext.myst import myst_to_notebook
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

DIRECTIVE = re.compile(r"\{(?P<name>[\w:.+-]+)\}\s*(?P<argument>.*)")
OPTION = re.compile(r":(?P<key>[\w-]+):\s*(?P<value>.*?)\s*")
FENCES = ("fence", "colon_fence")
# Markdown as the site reads it
EXTENSIONS = {"amsmath", "colon_fence", "deflist", "dollarmath"}
READER = create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML)

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
    lines, blocks, labels = text.split("\n"), [], []
    tokens = READER.parse(text)
    for token, inner in zip(tokens, [*tokens[1:], None], strict=True):
        start, end = token.map or (0, 0)
        where = f"{path}:{line + start}"
        if token.level and token.type in FENCES and DIRECTIVE.match(token.info):
            raise ValueError(
                f"{where}: a directive stands at the start of its line, "
                f"not within a list or a quotation: {lines[start].strip()}"
            )
        if token.level or token.map is None or token.type == "myst_line_comment":
            continue
        if token.type == "myst_target":
            labels.append(token.content)
            continue
        if token.type in FENCES:
            block = fenced(token, lines, line, path)
        elif token.type.startswith("math_block"):
            block = Block("math", line + start, token.content.strip())
            block.labels = [token.info] if token.info else []
        elif token.type == "heading_open":
            block = Block("heading", line + start, inner.content, name="#" * int(token.tag[1:]))
        elif token.type == "amsmath":
            raise ValueError(f"{where}: a formula stands between $$ and $$")
        elif lines[start].startswith("$$"):
            raise ValueError(f"{where}: $$ is never closed at the end of a line")
        else:
            block = Block("text", line + start, "\n".join(lines[start:end]).rstrip())
        block.labels[:0] = labels
        labels = []
        blocks.append(block)
    if labels:
        raise ValueError(f"{path}:{line + len(lines) - 1}: nothing follows the label {labels[0]}")
    return blocks


def fenced(token: Token, lines: list[str], line: int, path: Path) -> Block:
    """The block of code, or the directive, that stands between fences."""
    start, end = token.map
    where, mark = f"{path}:{line + start}", token.markup
    if end - start < 2 or not lines[end - 1].strip().startswith(mark):
        raise ValueError(f"{where}: {lines[start].strip()} is never closed")
    found = DIRECTIVE.fullmatch(token.info.strip())
    if found is None:
        if token.type == "colon_fence":
            raise ValueError(f"{where}: {lines[start].strip()} names no directive")
        return Block("code", line + start, "\n".join(lines[start:end]))
    inner = lines[start + 1 : end - 1]
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
    return block


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


def walk(blocks: list[Block]) -> Iterator[Block]:
    """Every block, in the order of the page, with those inside others."""
    for block in blocks:
        yield block
        yield from walk(block.blocks)
