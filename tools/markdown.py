"""MyST Markdown turned into the plain Markdown that Colab, Jupyter and VS Code show well."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from html import escape
from posixpath import dirname, join, normpath
from typing import Any

from pybtex.database import Entry
from sphinx.config import Config
from sphinx.directives.code import LiteralIncludeReader

from attncourse.course.aims import AIMS, bullets
from drawings import svgs
from tools.blocks import Block
from tools.book import Book, Document
from tools.extensions.citations import authors
from tools.extensions.drawings import words_for
from tools.functions import standing_alone
from tools.pictures import PICTURES, width_of
from tools.questions import for_notebook
from tools.urls import branch

INLINE = re.compile(
    r"""
      (?P<refused>
        ^[ ]*(?:`{3,}|:{3,})\{[^}]*\} | ^\([\w-]+\)= | ^\\begin\{
        | ^% | ^\+{3} | \[\^ | \{\{ | \]\(\# | !\[
      )
    | \{(?P<role>[a-z][\w:+.-]*)\}`(?P<content>[^`]+)`
    | (?P<code>`+)(?!`).+?(?<!`)(?P=code)(?!`)
    | (?<!\\)(?P<math>\$\$?)(?!\$)(?:(?!\n\s*\n)[^$])+(?P=math)
    | \[(?P<words>[^\]]*)\]\((?P<href>[^)\s]+)\)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
COMMENT = re.compile(r"(?<!\\)%.*")
# what has a colour on the site
COLOURED = re.compile(r"\\(query|key|value|weight|position)(?![a-z])")


class Writer:
    """Writes the blocks of a document as plain Markdown; `line` is where it has come to."""

    def __init__(self, book: Book, document: Document):
        self.book, self.document, self.line = book, document, 1
        self.kinds: dict[str, Callable[[Block], str]] = {
            "text": lambda block: self.inline(block.text),
            "heading": self.heading,
            "math": self.math,
            "admonition": self.admonition,
            "drawing": self.drawing,
            "question": lambda block: for_notebook(self.slug, block.argument),
            "include": self.included,
            "table": self.table,
            "aims": lambda block: self.inline(bullets(AIMS[self.slug].values())),
        }
        # functions that the notebook has as cells of code
        self.defined: set[str] = set()
        self.roles: dict[str, Callable[[str], str]] = {
            "cite:p": lambda keys: f"({self.cited(keys, '{}, {}', '; ')})",
            "cite:t": lambda keys: self.cited(keys, "{} ({})", " and "),
            "claim": self.claim,
            "doc": self.doc,
            "eq": lambda label: self.numbered(label, "({})"),
            "numref": lambda label: self.numbered(label, "{}"),
            "term": lambda content: content.partition(" <")[0],
        }

    @property
    def slug(self) -> str:
        return self.document.name.rpartition("/")[2]

    def write(self, block: Block) -> str:
        """One block, as plain Markdown."""
        self.line = block.line
        return pick(self.kinds, block.kind, f"a notebook shows {[*self.kinds]}, not")(block)

    def function(self, block: Block) -> str:
        """A function or class of the package as a cell of code, with what it needs."""
        path, name = self.file(block.argument), block.options["pyobject"]
        text = (self.book.root / path).read_text("utf-8")
        module = path.removesuffix(".py").replace("/", ".")
        code = standing_alone(name, self.included(block), text, module, self.defined)
        self.defined.add(name)
        return code

    def inline(self, text: str) -> str:
        """A stretch of text with its roles and links resolved."""
        first = self.line

        def replace(found: re.Match) -> str:
            self.line = first + text.count("\n", 0, found.start())
            if found["refused"]:
                raise LookupError(f"a notebook cannot show {found[0].strip()}")
            if role := found["role"]:
                write = pick(self.roles, role, f"a notebook shows {[*self.roles]}, not")
                return write(" ".join(found["content"].split()))
            if found["href"]:
                return f"[{self.inline(found['words'])}]({self.address(found['href'])})"
            return found[0]

        return INLINE.sub(replace, text)

    def heading(self, block: Block) -> str:
        number = f"{block.number}. " if block.number else ""
        return f"{block.argument} {number}{self.inline(block.text)}"

    def math(self, block: Block) -> str:
        lines = [block.argument, *block.text.split("\n")]
        tex = " ".join(COMMENT.sub("", line).strip() for line in lines).strip()
        tex = COLOURED.sub("", tex)
        if r"\\" in tex:
            # as the site does
            tex = rf"\begin{{split}}{tex}\end{{split}}"
        tag = rf" \tag{{{block.number}}}" if block.number else ""
        return f"$${tex}{tag}$$"

    def admonition(self, block: Block) -> str:
        """A box, which a reader opens where the site folds it."""
        title = self.inline(block.argument)
        body = "\n\n".join(map(self.write, block.blocks))
        if block.folded:
            return f"<details>\n<summary><b>{title}</b></summary>\n\n{body}\n\n</details>"
        return f"**{title}**\n\n{body}"

    def included(self, block: Block) -> str:
        """A part of a file: a function or a class, or between two lines of plain Markdown."""
        path = self.book.root / self.file(block.argument)
        return LiteralIncludeReader(str(path), block.options, Config()).read()[0].strip()

    def drawing(self, block: Block) -> str:
        """A drawing as a picture that the notebook holds, and its caption."""
        picture = self.book.root / self.file(f"../{PICTURES}/{block.argument}.png")
        words = escape(words_for(svgs()[block.argument]))
        data = b64encode(picture.read_bytes()).decode()
        # only HTML can say how wide it is
        image = (
            f'<img width="{width_of(picture)}" alt="{words}" src="data:image/png;base64,{data}">'
        )
        return f"{image}\n\n**{block.number}.** {self.inline(block.text)}"

    def table(self, block: Block) -> str:
        return f"**{block.number}.** {self.inline(block.argument)}\n\n{self.inline(block.text)}"

    def file(self, name: str) -> str:
        """The place in the course of a file that the document names from its own."""
        path = (self.document.path.parent / name).resolve(strict=True)
        return path.relative_to(self.book.root.resolve()).as_posix()

    def address(self, href: str) -> str:
        """The web address of what a link names: another page, another file, or anything outside."""
        if re.match(r"[a-z]+:", href):
            return href
        href, _, anchor = href.partition("#")
        page = normpath(join(dirname(self.document.name), href)).removesuffix(".md")
        if page in self.book.documents:
            return self.book.page_url(page, anchor)
        return f"{self.book.repository}/blob/{branch(self.book.root)}/{self.file(href)}"

    def cited(self, keys: str, form: str, between: str) -> str:
        """Each source that is cited, as a link to where it can be read."""
        entries = [
            pick(self.book.sources, key.strip(), "references.bib lacks") for key in keys.split(",")
        ]
        return between.join(
            f"[{form.format(authors(one), one.fields['year'])}]({address_of(one)})"
            for one in entries
        )

    def numbered(self, label: str, form: str) -> str:
        """What the label names, by its number; a link where that is on another page."""
        page, number, address = pick(self.book.targets, label, "no page has the label")
        words = form.format(number)
        return words if page == self.document.name else f"[{words}]({address})"

    def claim(self, content: str) -> str:
        """A link to the claim's entry in the site's list."""
        # imported here: the claims need torch
        from attncourse.course.claim import claims

        words, _, name = content.removesuffix(">").rpartition(" <")
        pick({one.id: one for one in claims()}, name, "no claim is called")
        return f"[{words or 'measured'}]({self.book.page_url('reference/claims', name)})"

    def doc(self, name: str) -> str:
        page = normpath(join("/", dirname(self.document.name), name))[1:]
        title = pick(self.book.documents, page, "_toc.yml lacks").title
        return f"[{title}]({self.book.page_url(page)})"


def pick(table: Mapping[str, Any], name: str, complaint: str) -> Any:
    """What the table has under a name; where it has nothing, the error begins with a complaint."""
    if name not in table:
        raise LookupError(f"{complaint} {name}")
    return table[name]


def address_of(entry: Entry) -> str:
    """Where a source can be read: its DOI, its arXiv number or its own address."""
    fields = entry.fields
    if "doi" in fields:
        return f"https://doi.org/{fields['doi']}"
    return f"https://arxiv.org/abs/{fields['eprint']}" if "eprint" in fields else fields["url"]
