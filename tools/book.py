"""The course as a whole: the order of its pages, the numbers on them, what the labels mean."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from docutils.nodes import make_id
from pybtex.database import parse_file

from tools.blocks import Cell, read_cells
from tools.urls import ROOT, site_url

# what the site calls each numbered thing
FORMATS = {"equation": "({})", "figure": "Fig. {}", "table": "Table {}"}


@dataclass(frozen=True)
class Target:
    """What a label leads to: a number, on a page."""

    kind: str
    page: str
    number: str
    anchor: str


@dataclass
class Document:
    """A page: its name in the table of contents, its file, its cells."""

    name: str
    path: Path
    cells: list[Cell]
    title: str


class Book:
    """A course folder, seen from one address of its repository."""

    def __init__(self, repository: str, root: Path = ROOT):
        self.repository, self.root = repository, root
        self.site = site_url(repository)
        self.targets: dict[str, Target] = {}
        counts: Counter = Counter()
        self.documents = {page: self.read(page, counts) for page in self.pages}

    @cached_property
    def pages(self) -> dict[str, str]:
        """Each page of the table of contents, in order, with its chapter's number, if any."""
        contents = yaml.safe_load((self.root / "_toc.yml").read_text("utf-8"))
        pages, chapter = {contents["root"]: ""}, 0
        for part in contents["parts"]:
            for entry in part["chapters"]:
                chapter += bool(part.get("numbered"))
                number = str(chapter) if part.get("numbered") else ""
                pages |= {one["file"]: number for one in [entry, *entry.get("sections", [])]}
        return pages

    @cached_property
    def sources(self) -> dict[str, Any]:
        """The bibliography, by key."""
        return dict(parse_file(self.root / "reference" / "references.bib").entries)

    def read(self, name: str, counts: Counter) -> Document:
        """A page with its numbers filled in, counted on from `counts` as the site counts them."""
        folder, _, slug = name.partition("/")
        # the page of a chapter's exercises is made from the solutions
        path = self.root / f"{f'solutions/{slug}' if folder == 'exercises' else name}.md"
        cells = read_cells(path)
        chapter, sections = self.pages[name], []

        def number(kind: str, label: str | None) -> str:
            # a page without a number counts from 1, but for equations
            place = chapter or (name if kind != "equation" else "")
            counts[kind, place] += 1
            found = ".".join(filter(None, [chapter, str(counts[kind, place])]))
            if label:
                anchor = make_id(f"equation-{label}" if kind == "equation" else label)
                self.targets[label] = Target(kind, name, found, anchor)
            return found

        for cell in cells:
            if cell.figure:
                cell.number = number("figure", cell.figure.get("name"))
            for block in [block for one in cell.blocks for block in (one, *one.blocks)]:
                if block.kind == "math" and "label" in block.options:
                    block.number = number("equation", block.options["label"])
                elif block.kind in ("drawing", "table"):
                    numbered = "figure" if block.kind == "drawing" else "table"
                    block.number = number(numbered, block.options.get("name"))
                elif block.kind == "heading" and folder == "chapters":
                    # the page's title has depth 0
                    if depth := len(block.argument) - 1:
                        sections = [*sections, *[0] * depth][:depth]
                        sections[-1] += 1
                    block.number = ".".join([chapter, *map(str, sections)])
        headings = [block for cell in cells for block in cell.blocks if block.kind == "heading"]
        return Document(name, path, cells, headings[0].text)

    def page_url(self, name: str, anchor: str = "") -> str:
        """The address of a page of the site."""
        return f"{self.site}/{name}.html" + (f"#{anchor}" if anchor else "")
