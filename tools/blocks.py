"""A page's text read into blocks, each with its line in the file."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupytext.myst import MystMetadataParsingError, get_parser, read_fenced_cell
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

MYST = get_parser().use(colon_fence_plugin).use(dollarmath_plugin)
DIRECTIVE = re.compile(r"\{([\w-]+)\} *(.*)")
# what no notebook shows: how a file is read, and labels, which keep the address of an old heading
NO_TEXT = ("front_matter", "myst_target")


@dataclass
class Block:
    """A heading, a formula, a directive (its kind is its name) or a piece of text."""

    kind: str
    line: int
    text: str
    argument: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    blocks: list["Block"] = field(default_factory=list)
    number: str = ""
    # of the file, where it is not that of the page
    path: Path | None = None

    @property
    def tags(self) -> list[str]:
        return self.options.get("tags", [])

    @property
    def figure(self) -> dict[str, str]:
        """Caption and name of the figure that a cell's output is; empty where it is none."""
        return self.options.get("mystnb", {}).get("figure", {})

    @property
    def folded(self) -> bool:
        """Whether the site hides the block until a reader opens it."""
        return "dropdown" in self.options.get("class", "") or "hide-input" in self.tags


def parse(text: str, line: int = 1) -> list[Block]:
    """The blocks of a piece of Markdown that begins at that line of its file."""
    lines, blocks, end = text.split("\n"), [], 0
    for token in [*MYST.parse(text), None]:
        block = top_level_block(token, lines, line) if token else None
        if token and not block and token.type not in NO_TEXT:
            continue
        start, next_line = token.map if token else (len(lines), 0)
        while end < start and not lines[end].strip():
            end += 1
        if words := "\n".join(lines[end:start]).strip():
            blocks.append(Block("text", line + end, words))
        blocks += [block] if block else []
        end = next_line
    return blocks


def blocks_of(path: Path, text: str) -> list[Block]:
    """The blocks of a file's text; ValueError, with the file, where a directive cannot be read."""
    try:
        return parse(text)
    except MystMetadataParsingError as error:
        raise ValueError(f"{path}: {error}") from error


def top_level_block(token: Token, lines: list[str], first_line: int) -> Block | None:
    """The heading, formula or directive that a token begins; None for text and nested tokens."""
    if token.level or not token.map:
        return None
    line = first_line + token.map[0]
    if token.type == "heading_open" and token.markup.startswith("#"):
        return Block("heading", line, lines[token.map[0]].lstrip("#").strip(), token.markup)
    if token.type.startswith("math_block"):
        label = {"label": token.info} if token.info else {}
        return Block("math", line, token.content, options=label)
    directive = DIRECTIVE.fullmatch(token.info)
    if not directive:
        return None
    options, body = read_fenced_cell(token, 0, directive[1])
    block = Block(directive[1], line, "\n".join(body), directive[2], options)
    if block.kind == "admonition":
        first_body_line = line + 1 + token.content.count("\n") - len(body)
        block.blocks = parse(block.text, first_body_line)
    return block
