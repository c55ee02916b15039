"""The course as a whole: the order of its pages, the numbers on them, what the labels mean."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from docutils.nodes import make_id
from pybtex.database import parse_file
from sphinx_external_toc.parsing import parse_toc_yaml

from tools import exercise_texts
from tools.blocks import Block, blocks_of
from tools.numbers import section_numbers
from tools.urls import ROOT, site_url


@dataclass
class Document:
    """A page: its name in the table of contents, its file, its blocks."""

    name: str
    path: Path
    blocks: list[Block]
    title: str


# those of a chapter's texts
FOLDERS = "chapters", "deeper"


def chapter_texts(root: Path, slug: str) -> list[Path]:
    """The texts of a chapter: its page, and what goes deeper where there is such a page."""
    paths = (root / folder / f"{slug}.md" for folder in FOLDERS)
    return [path for path in paths if path.is_file()]


class Book:
    """A course folder, seen from one address of its repository."""

    def __init__(self, repository: str, root: Path = ROOT):
        self.repository, self.root = repository, root
        self.site = site_url(repository)
        self.sources = dict(parse_file(root / "reference" / "references.bib").entries)
        # what has each label: the page, what the site calls it, its address
        self.targets: dict[str, tuple[str, str, str]] = {}
        counts: Counter = Counter()
        self.documents = {page: self.read(page, counts) for page in self.pages}

    @cached_property
    def pages(self) -> dict[str, str]:
        """Each page of the table of contents, in order, with its chapter's number, if any."""
        toc = parse_toc_yaml(self.root / "_toc.yml")
        chapters = [name for part in toc.root.subtrees if part.numbered for name in part.files()]
        numbers: dict[str, str] = {}
        for number, name in enumerate(chapters, 1):
            numbers |= dict.fromkeys([name, *toc[name].child_files()], str(number))
        return {name: numbers.get(name, "") for name in toc}

    def read(self, name: str, counts: Counter) -> Document:
        """A page with its numbers filled in, counted on from `counts` as the site counts them."""
        folder, _, slug = name.partition("/")
        path = self.root / f"{name}.md"
        if folder == "exercises":
            blocks = [*exercise_texts.blocks(self.root, slug)]
        else:
            blocks = blocks_of(path, path.read_text("utf-8"))
        chapter = self.pages[name]

        def next_number(label_word: str, label: str | None) -> str:
            # a page without a number counts from 1, but for equations, which have no word
            scope = chapter or (name if label_word else "")
            counts[label_word, scope] += 1
            numbered = (
                f"{label_word} {chapter}{'.' if chapter else ''}{counts[label_word, scope]}".strip()
            )
            if label:
                anchor = make_id(label if label_word else f"equation-{label}")
                self.targets[label] = name, numbered, self.page_url(name, anchor)
            return numbered

        for block in [block for outer in blocks for block in (outer, *outer.blocks)]:
            match block.kind:
                case "code-cell" if block.figure:
                    block.number = next_number("Fig.", block.figure.get("name"))
                case "drawing":
                    block.number = next_number("Fig.", block.options.get("name"))
                case "table":
                    block.number = next_number("Table", block.options.get("name"))
                case "math" if "label" in block.options:
                    block.number = next_number("", block.options["label"])
        title, *headings = (block for block in blocks if block.kind == "heading")
        if chapter and folder in FOLDERS:
            title.number = chapter if folder == "chapters" else ""
            self.number_headings(chapter, headings, counts)
        return Document(name, path, blocks, title.text)

    def number_headings(self, chapter: str, headings: list[Block], counts: Counter) -> None:
        """Number the headings of a chapter's page, on from those of the page before it."""
        depths_and_words = [(len(heading.argument) - 1, heading.text) for heading in headings]
        numbers = section_numbers(depths_and_words, counts["section", chapter])
        for heading, number in zip(headings, numbers, strict=True):
            if number:
                heading.number = ".".join(map(str, (chapter, *number)))
                counts["section", chapter] = number[0]

    def page_url(self, name: str, anchor: str = "") -> str:
        """The address of a page of the site."""
        return f"{self.site}/{name}.html" + (f"#{anchor}" if anchor else "")
