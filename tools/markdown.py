"""MyST Markdown turned into the plain Markdown that Colab, Jupyter and VS Code show well."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from html import escape
from itertools import pairwise
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
from tools.extensions.drawings import alt_text
from tools.functions import self_contained_code
from tools.pictures import PICTURES, display_width
from tools.questions import for_notebook
from tools.urls import branch

INLINE = re.compile(
    r"""
      (?P<refused>
        ^[ ]*(?:`{3,}|:{3,})\{[^}]*\} | ^\\begin\{
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
# what the card at a chapter's end begins with
CHAPTER_END = "That is the chapter."
# the commands that colour a formula on the site
COLOURED = re.compile(r"\\(query|key|value|weight|position)(?![a-z])")


class Writer:
    """Writes the blocks of a document as plain Markdown; `line` is the one being written."""

    def __init__(self, book: Book, document: Document):
        self.book, self.document, self.line = book, document, 1
        self.kinds: dict[str, Callable[[Block], str]] = {
            "text": lambda block: self.inline(block.text),
            "heading": self.heading,
            "math": self.math,
            "admonition": self.admonition,
            "chapter-end": self.chapter_end,
            "drawing": self.drawing,
            "question": lambda block: for_notebook(self.slug, block.argument),
            "include": self.included_text,
            "table": self.table,
            "aims": lambda block: self.inline(bullets(AIMS[self.slug].values())),
        }
        # names of functions and classes that cells of the notebook define
        self.defined: set[str] = set()
        self.roles: dict[str, Callable[[str], str]] = {
            "cite:p": lambda keys: f"({self.citations(keys, '{}, {}', '; ')})",
            "cite:t": lambda keys: self.citations(keys, "{} ({})", " and "),
            "claim": self.claim_link,
            "doc": self.page_link,
            "eq": lambda label: self.numbered_reference(label, "({})"),
            "lights": lambda content: content.partition(" <")[0],
            "numref": lambda label: self.numbered_reference(label, "{}"),
            "term": lambda content: content.partition(" <")[0],
        }

    @property
    def slug(self) -> str:
        return self.document.name.rpartition("/")[2]

    def write(self, block: Block) -> str:
        """A block as plain Markdown; LookupError for a kind that notebooks cannot show."""
        self.line = block.line
        return look_up(self.kinds, block.kind, f"a notebook shows {[*self.kinds]}, not")(block)

    def function(self, block: Block) -> str:
        """Code of a function or class of the package, with the imports that it needs."""
        path, name = self.course_path(block.argument), block.options["pyobject"]
        text = (self.book.root / path).read_text("utf-8")
        module = path.removesuffix(".py").replace("/", ".")
        code = self_contained_code(name, self.included_text(block), text, module, self.defined)
        self.defined.add(name)
        return code

    def inline(self, text: str) -> str:
        """A piece of text with its roles and links resolved."""
        first_line = self.line

        def replace(match: re.Match) -> str:
            self.line = first_line + text.count("\n", 0, match.start())
            if match["refused"]:
                raise LookupError(f"a notebook cannot show {match[0].strip()}")
            if role := match["role"]:
                write = look_up(self.roles, role, f"a notebook shows {[*self.roles]}, not")
                return write(" ".join(match["content"].split()))
            if match["href"]:
                return f"[{self.inline(match['words'])}]({self.url(match['href'])})"
            return match[0]

        return INLINE.sub(replace, text)

    def heading(self, block: Block) -> str:
        number = f"{block.number}. " if block.number else ""
        return f"{block.argument} {number}{self.inline(block.text)}"

    def math(self, block: Block) -> str:
        lines = [block.argument, *block.text.split("\n")]
        tex = " ".join(COMMENT.sub("", line).strip() for line in lines).strip()
        tex = COLOURED.sub("", tex)
        if r"\\" in tex:
            # Sphinx adds this on the site
            tex = rf"\begin{{split}}{tex}\end{{split}}"
        tag = rf" \tag{{{block.number}}}" if block.number else ""
        return f"$${tex}{tag}$$"

    def admonition(self, block: Block) -> str:
        """An admonition: a `<details>` element where the site folds it."""
        title = self.inline(block.argument)
        body = "\n\n".join(map(self.write, block.blocks))
        if block.folded:
            return f"<details>\n<summary><b>{title}</b></summary>\n\n{body}\n\n</details>"
        return f"**{title}**\n\n{body}"

    def chapter_end(self, block: Block) -> str:
        """The end of a chapter: what comes next, with links to that and to what goes deeper."""
        chapters = [name for name in self.book.documents if name.startswith("chapters/")]
        following = dict(pairwise(chapters)).get(self.document.name)
        pages = following, f"exercises/{self.slug}", f"deeper/{self.slug}"
        links = (f"- {self.page_link(f'/{page}')}" for page in pages if page in self.book.documents)
        return "\n\n".join([f"**{CHAPTER_END}**", self.inline(block.text), "\n".join(links)])

    def included_text(self, block: Block) -> str:
        """The part of a file that the options select: a function, a class, or lines of text."""
        path = self.book.root / self.course_path(block.argument)
        return LiteralIncludeReader(str(path), block.options, Config()).read()[0].strip()

    def drawing(self, block: Block) -> str:
        """A drawing as an embedded PNG, and its caption."""
        picture = self.book.root / self.course_path(f"../{PICTURES}/{block.argument}.png")
        alt = escape(alt_text(svgs()[block.argument]))
        data = b64encode(picture.read_bytes()).decode()
        # Markdown cannot set the width
        image = (
            f'<img width="{display_width(picture)}" alt="{alt}" src="data:image/png;base64,{data}">'
        )
        return f"{image}\n\n**{block.number}.** {self.inline(block.text)}"

    def table(self, block: Block) -> str:
        return f"**{block.number}.** {self.inline(block.argument)}\n\n{self.inline(block.text)}"

    def course_path(self, name: str) -> str:
        """The path from the root of the course of a file that is named relative to the document."""
        path = (self.document.path.parent / name).resolve(strict=True)
        return path.relative_to(self.book.root.resolve()).as_posix()

    def url(self, href: str) -> str:
        """The web address of a link to a page, to a file of the course, or to another site."""
        if re.match(r"[a-z]+:", href):
            return href
        href, _, anchor = href.partition("#")
        page = self.document.name
        if href:
            page = normpath(join(dirname(page), href)).removesuffix(".md")
        if page in self.book.documents:
            return self.book.page_url(page, anchor)
        return f"{self.book.repository}/blob/{branch(self.book.root)}/{self.course_path(href)}"

    def citations(self, keys: str, template: str, separator: str) -> str:
        """The cited sources, each as a link to the paper."""
        entries = [
            look_up(self.book.sources, key.strip(), "references.bib lacks")
            for key in keys.split(",")
        ]
        return separator.join(
            f"[{template.format(authors(entry), entry.fields['year'])}]({source_url(entry)})"
            for entry in entries
        )

    def numbered_reference(self, label: str, template: str) -> str:
        """The number of a labelled equation or figure, as a link where that is on another page."""
        page, number, url = look_up(self.book.targets, label, "no page has the label")
        words = template.format(number)
        return words if page == self.document.name else f"[{words}]({url})"

    def claim_link(self, content: str) -> str:
        """A link to a claim's entry in the site's list of claims."""
        # imported here: the claims need torch
        from attncourse.course.claim import claims

        words, _, name = content.removesuffix(">").rpartition(" <")
        look_up({claim.id: claim for claim in claims()}, name, "no claim is called")
        return f"[{words or 'measured'}]({self.book.page_url('reference/claims', name)})"

    def page_link(self, name: str) -> str:
        page = normpath(join("/", dirname(self.document.name), name))[1:]
        title = look_up(self.book.documents, page, "_toc.yml lacks").title
        return f"[{title}]({self.book.page_url(page)})"


def look_up(table: Mapping[str, Any], name: str, message: str) -> Any:
    """The value under a name; without one, a LookupError of the message and the name."""
    if name not in table:
        raise LookupError(f"{message} {name}")
    return table[name]


def source_url(entry: Entry) -> str:
    """The web address of a source: by its DOI, its arXiv number or its own URL."""
    fields = entry.fields
    if "doi" in fields:
        return f"https://doi.org/{fields['doi']}"
    return f"https://arxiv.org/abs/{fields['eprint']}" if "eprint" in fields else fields["url"]
