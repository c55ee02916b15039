"""The course as a whole: the order of its pages, the numbers on them, what the labels mean."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from docutils.nodes import make_id
from pybtex.database import parse_file

from tools.blocks import Block, Cell, read_cells, walk
from tools.urls import ROOT, branch, colab_url, site_url

# what the site calls each numbered thing, and the directives that make one
FORMATS = {
    "figure": "Fig. %s",
    "table": "Table %s",
    "listing": "Listing %s",
    "section": "Section %s",
}
NUMBERED = {
    "figure": "figure",
    "table": "table",
    "list-table": "table",
    "literalinclude": "listing",
    "code-block": "listing",
}


@dataclass(frozen=True)
class Target:
    """What a label leads to."""

    kind: str
    document: str
    anchor: str
    number: str
    title: str


@dataclass
class Document:
    """A page: its name in the table of contents, its file, its cells."""

    name: str
    path: Path
    cells: list[Cell]
    title: str
    targets: dict[str, Target] = field(default_factory=dict)


class Book:
    """A course folder, seen from one address of its repository."""

    def __init__(self, repository: str, root: Path = ROOT):
        self.repository, self.root = repository, root
        self.site = site_url(repository)
        self.branch = branch(root)

    @cached_property
    def pages(self) -> dict[str, str]:
        """Each page of the table of contents, in order, with its chapter's number, if any."""
        contents = yaml.safe_load((self.root / "_toc.yml").read_text())
        pages, chapter = {contents["root"]: ""}, 0
        for part in contents.get("parts", [contents]):
            for entry in part.get("chapters", []):
                chapter += bool(part.get("numbered"))
                number = str(chapter) if part.get("numbered") else ""
                pages |= {one["file"]: number for one in [entry, *entry.get("sections", [])]}
        return pages

    @property
    def slugs(self) -> list[str]:
        """The chapters, in order."""
        return [page.partition("/")[2] for page in self.pages if page.startswith("chapters/")]

    @cached_property
    def documents(self) -> dict[str, Document]:
        """Every page that is written in Markdown, as each chapter is."""
        files = {page: self.source(page) for page in self.pages}
        counts: Counter = Counter()
        return {
            page: self.read(page, path, counts)
            for page, path in files.items()
            if path.exists() or page.startswith("chapters/")
        }

    def source(self, page: str) -> Path:
        """The file that a page is written in: that of its exercises holds the solutions too."""
        folder, _, slug = page.partition("/")
        return self.root / f"{f'solutions/{slug}' if folder == 'exercises' else page}.md"

    @cached_property
    def targets(self) -> dict[str, Target]:
        """Every label of every page."""
        return {k: v for one in self.documents.values() for k, v in one.targets.items()}

    @cached_property
    def sources(self) -> dict[str, Any]:
        """The bibliography, by key."""
        path = self.root / "reference/references.bib"
        return dict(parse_file(path).entries) if path.exists() else {}

    def read(self, name: str, path: Path, counts: Counter) -> Document:
        """A page with its numbers filled in, counted on from `counts` as the site counts them."""
        chapter = self.pages.get(name, "")

        def number(kind: str) -> str:
            counts[kind, chapter] += 1
            return ".".join(filter(None, [chapter, str(counts[kind, chapter])]))

        cells = read_cells(path)
        blocks = [block for cell in cells for block in walk(cell.blocks)]
        title = next((block.text for block in blocks if block.kind == "heading"), name)
        document = Document(name, path, cells, title)
        sections: list[int] = []
        for cell in cells:
            if cell.figure:
                cell.number = number("figure")
                self.note(document, cell.figure.get("name"), "figure", cell.number, "")
            for block in walk(cell.blocks):
                kind, title = block.kind, block.argument
                if kind == "heading":
                    kind, title = "section", block.text
                    sections = deeper(sections, len(block.name) - 1)
                    # where a chapter's own sections end, the site alone knows
                    if chapter and not name.startswith("exercises/"):
                        block.number = ".".join([chapter, *map(str, sections)])
                elif kind == "math":
                    kind = "equation"
                    if block.labels:
                        block.number = number(kind)
                elif kind == "directive" and block.name in NUMBERED:
                    kind = NUMBERED[block.name]
                    title = block.options.get("caption", title)
                    if caption_of(block) or (block.labels and kind != "listing"):
                        block.number = number(kind)
                for label in block.labels:
                    self.note(document, label, kind, block.number, title)
        return document

    def note(
        self, document: Document, label: str | None, kind: str, number: str, title: str
    ) -> None:
        if label:
            anchor = make_id(f"equation-{label}" if kind == "equation" else label)
            document.targets[label] = Target(kind, document.name, anchor, number, title)

    def page_url(self, name: str, anchor: str = "") -> str:
        """The address of a page of the site."""
        return f"{self.site}/{name}.html" + (f"#{anchor}" if anchor else "")

    def file_url(self, path: Path) -> str:
        """The address of a file of the repository: to read, to run, or, for a picture, to show."""
        name = path.relative_to(self.root).as_posix()
        if path.suffix == ".ipynb":
            return self.colab_url(name)
        view = "blob" if path.suffix in (".py", ".md", ".csv", ".txt", "") else "raw"
        return f"{self.repository}/{view}/{self.branch}/{name}"

    def colab_url(self, name: str) -> str:
        return colab_url(name, self.repository, self.root)


def caption_of(block: Block) -> str:
    """The Markdown of a numbered block's caption."""
    if block.name == "figure":
        return "\n\n".join(one.text for one in block.blocks)
    return block.options.get("caption", "") if NUMBERED[block.name] == "listing" else block.argument


def deeper(sections: list[int], depth: int) -> list[int]:
    """The section numbers after a heading of that depth; the page's title has depth 0."""
    padded = [*sections, *[0] * depth][:depth]
    return [*padded[:-1], padded[-1] + 1] if depth else []


def authors_and_year(entry: Any) -> tuple[str, str]:
    """Who wrote a source, as a sentence names them, and when."""
    names = [
        " ".join(str(part) for part in [*person.rich_prelast_names, *person.rich_last_names])
        for person in entry.persons["author"]
    ]
    year = entry.fields["year"]
    if len(names) > 2:
        return f"{names[0]} et al.", year
    return " and ".join(names), year


def address_of(entry: Any) -> str:
    """Where a source can be read: its DOI, its arXiv number or its own address."""
    fields = entry.fields
    if doi := fields.get("doi"):
        return f"https://doi.org/{doi.removeprefix('https://doi.org/')}"
    if fields.get("archiveprefix", "arxiv").lower() == "arxiv" and fields.get("eprint"):
        return f"https://arxiv.org/abs/{fields['eprint']}"
    if url := fields.get("url"):
        return url
    raise ValueError(f"the source {entry.key} has no doi, eprint or url")
