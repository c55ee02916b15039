"""MyST Markdown turned into the plain Markdown that Colab, Jupyter and VS Code show well."""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import yaml

from tools.blocks import ADMONITIONS, TITLED, Block
from tools.book import FORMATS, Book, Document, Target, address_of, authors_and_year

INLINE = re.compile(
    r"""
      \{(?P<role>[a-z][\w:+.-]*)\}(?P<ticks>`+)(?P<content>(?:(?!\n\s*\n).)+?)(?<!`)(?P=ticks)(?!`)
    | (?P<fence>`{3,})(?!`).+?(?P=fence)(?!`)
    | (?P<code>`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)(?P=code)(?!`)
    | (?<!\\)\$\$.+?\$\$ | (?<!\\)\$(?:[^$\n]|\n(?!\s*\n))+?\$
    | (?P<image>!?)\[(?P<words>[^\]]*)\]\((?P<href>[^)\s]+)\)(?P<attributes>\{[^}\n]*\})?
    | (?P<refused>\[\^[^\]]+\] | \{\{ | <(?:project|path|inv|doc):[^>]*>)
    """,
    re.VERBOSE | re.DOTALL,
)
TARGETED = re.compile(r"(?P<words>.+?)\s*<(?P<target>[^<>]+)>", re.DOTALL)
COMMENT = re.compile(r"(?<!\\)%.*")
ROW = re.compile(r"^\*[ \t]+", re.MULTILINE)
ENTRY = re.compile(r"^-(?:[ \t]+|$)", re.MULTILINE)


class Writer:
    """Writes the blocks of one document as plain Markdown."""

    def __init__(self, book: Book, document: Document):
        self.book, self.document = book, document
        self.directives: dict[str, Callable[[Block], str]] = {
            **dict.fromkeys(ADMONITIONS, self.admonition),
            "figure": self.figure,
            "image": self.figure,
            "include": self.include,
            "literalinclude": self.literalinclude,
            "code-block": self.code_block,
            "table": self.table,
            "list-table": self.list_table,
        }
        self.roles: dict[str, Callable[[str], str]] = {
            "cite:p": self.cite_in_brackets,
            "cite:t": self.cite_in_text,
            "doc": self.doc,
            "eq": self.eq,
            "math": lambda content: f"${content}$",
            "numref": self.numref,
            "ref": self.ref,
            "term": lambda content: words_and_target(content)[0],
        }

    def write(self, block: Block) -> str:
        """One block, as plain Markdown."""
        if block.kind == "code":
            return block.text
        if block.kind == "math":
            return self.math(block)
        if block.kind == "heading":
            number = f"{block.number}. " if block.number else ""
            return f"{block.name} {number}{self.inline(block.text, block.line)}"
        if block.kind == "text":
            return self.inline(block.text, block.line)
        if block.name not in self.directives:
            known = ", ".join(sorted(self.directives))
            raise self.error(block.line, f"directive {{{block.name}}} is not one of {known}")
        try:
            return self.directives[block.name](block)
        except (OSError, SyntaxError) as error:
            raise self.error(block.line, str(error)) from error

    def error(self, line: int, text: str) -> ValueError:
        return ValueError(f"{self.document.path}:{line}: {text}")

    def all(self, blocks: list[Block]) -> str:
        return "\n\n".join(filter(None, map(self.write, blocks)))

    def math(self, block: Block) -> str:
        # one line: in a quotation, a marker at the start of a line would be read as part of the TeX
        tex = " ".join(COMMENT.sub("", line).strip() for line in block.text.split("\n")).strip()
        if r"\\" in tex:
            # the site wraps such formulas in the same way
            tex = rf"\begin{{split}}{tex}\end{{split}}"
        tag = rf" \tag{{{block.number}}}" if block.number else ""
        return f"$${tex}{tag}$$"

    def admonition(self, block: Block) -> str:
        title = ADMONITIONS[block.name] or self.inline(block.argument, block.line)
        body = self.all(block.blocks)
        if block.name == "dropdown" or "dropdown" in block.options.get("class", "").split():
            return f"<details>\n<summary><b>{title}</b></summary>\n\n{body}\n\n</details>"
        end = "." if block.name not in TITLED else ""
        return "\n".join(f"> {line}".rstrip() for line in f"**{title}{end}**\n\n{body}".split("\n"))

    def figure(self, block: Block) -> str:
        alt = self.inline(block.options.get("alt", ""), block.line)
        picture = f"![{alt}]({self.address(block.argument, block.line)})"
        return "\n\n".join(filter(None, [picture, self.caption(block, self.all(block.blocks))]))

    def caption(self, block: Block, words: str) -> str:
        """A caption as the site has it: the kind of thing, its number, the words."""
        kinds = {"figure": "figure", "image": "figure", "table": "table", "list-table": "table"}
        return captioned(kinds.get(block.name, "listing"), block.number, words)

    def include(self, block: Block) -> str:
        """A part of a file of plain Markdown, such as a table of results."""
        unknown = set(block.options) - {"start-after", "end-before"}
        if unknown:
            raise self.error(block.line, f"include takes no {', '.join(sorted(unknown))}")
        text = self.file(block.argument, block.line).read_text("utf-8")
        for option, part in (("start-after", 2), ("end-before", 0)):
            if mark := yaml.safe_load(block.options.get(option, "")):
                if mark not in text:
                    raise self.error(block.line, f"{block.argument} has no {mark!r}")
                text = text.partition(mark)[part]
        return text.strip()

    def literalinclude(self, block: Block) -> str:
        path = self.file(block.argument, block.line)
        unknown = set(block.options) - {"pyobject", "language", "caption", "name"}
        if unknown or "pyobject" not in block.options:
            given = sorted(unknown) or "no pyobject"
            raise self.error(
                block.line, f"literalinclude takes pyobject and a caption, not {given}"
            )
        code = python_object(path.read_text(), block.options["pyobject"])
        if code is None:
            raise self.error(block.line, f"{path.name} has no {block.options['pyobject']}")
        name = path.relative_to(self.book.root).as_posix()
        words = self.inline(block.options.get("caption", ""), block.line)
        source = f"From [`{name}`]({self.book.file_url(path)}):"
        return "\n\n".join(
            filter(None, [source, f"```python\n{code}\n```", self.caption(block, words)])
        )

    def code_block(self, block: Block) -> str:
        code = f"```{block.argument}\n{block.text}\n```"
        words = self.inline(block.options.get("caption", ""), block.line)
        return "\n\n".join(filter(None, [code, self.caption(block, words)]))

    def table(self, block: Block) -> str:
        words = self.inline(block.argument, block.line)
        return "\n\n".join(filter(None, [self.caption(block, words), self.all(block.blocks)]))

    def list_table(self, block: Block) -> str:
        rows = []
        for row in ROW.split(block.text)[1:]:
            entries = ENTRY.split(dedent("  " + row))[1:]
            rows.append([in_table(self.inline(entry.strip(), block.line)) for entry in entries])
        if not rows or len({len(row) for row in rows}) != 1:
            raise self.error(block.line, "the rows of the list-table differ in length")
        if block.options.get("header-rows", "0") != "1":
            rows.insert(0, [""] * len(rows[0]))
        rows.insert(1, ["---"] * len(rows[0]))
        text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        words = self.inline(block.argument, block.line)
        return "\n\n".join(filter(None, [self.caption(block, words), text]))

    def inline(self, text: str, line: int) -> str:
        """A stretch of text with its roles, links and pictures resolved."""

        def replace(found: re.Match) -> str:
            here = line + text.count("\n", 0, found.start())
            if role := found["role"]:
                if role not in self.roles:
                    known = ", ".join(sorted(self.roles))
                    raise self.error(here, f"role {{{role}}} is not one of {known}")
                try:
                    return self.roles[role](" ".join(found["content"].split()))
                except LookupError as error:
                    raise self.error(here, f"{{{role}}}: {error.args[0]}") from error
            if found["refused"]:
                raise self.error(here, f"a notebook cannot show {found['refused']}")
            if found["href"]:
                return self.link(found, here)
            return found[0]

        return INLINE.sub(replace, text)

    def link(self, found: re.Match, line: int) -> str:
        href, words = found["href"], self.inline(found["words"], line)
        if found["attributes"] and not found["image"]:
            raise self.error(line, f"a notebook cannot show {found['attributes']}")
        if href.startswith("#"):
            if href[1:] not in self.book.targets:
                raise self.error(line, f"no page has the label {href[1:]}")
            target = self.book.targets[href[1:]]
            return f"[{words or self.inline(target.title, line)}]({self.url(target)})"
        return f"{found['image']}[{words}]({self.address(href, line)})"

    def address(self, href: str, line: int) -> str:
        """The web address of what a link names: another page, another file, or anything outside."""
        if re.match(r"[a-z]+:", href):
            return href
        name, _, anchor = href.partition("#")
        path = self.file(name, line)
        page = path.relative_to(self.book.root).with_suffix("").as_posix()
        if path.suffix == ".md" and page in self.book.pages:
            return self.book.page_url(page, anchor)
        return self.book.file_url(path)

    def file(self, name: str, line: int) -> Path:
        path = (self.document.path.parent / name).resolve()
        if not path.is_relative_to(self.book.root.resolve()) or not path.exists():
            raise self.error(line, f"{name} is not a file of the course")
        return self.book.root / path.relative_to(self.book.root.resolve())

    def url(self, target: Target) -> str:
        return self.book.page_url(target.document, target.anchor)

    def target(self, label: str) -> Target:
        """What a label leads to; a label of this document comes first."""
        for targets in (self.document.targets, self.book.targets):
            if label in targets:
                return targets[label]
        raise LookupError(f"no page has the label {label}")

    def cite_in_text(self, content: str) -> str:
        return " and ".join(
            f"[{authors} ({year})]({address})" for authors, year, address in self.cited(content)
        )

    def cite_in_brackets(self, content: str) -> str:
        links = [f"[{who}, {year}]({address})" for who, year, address in self.cited(content)]
        return f"({'; '.join(links)})"

    def cited(self, content: str) -> list[tuple[str, str, str]]:
        """Authors, year and address of each source that is cited."""
        keys = [key.strip() for key in content.split(",")]
        if missing := [key for key in keys if key not in self.book.sources]:
            raise LookupError(f"references.bib has no {', '.join(missing)}")
        entries = [self.book.sources[key] for key in keys]
        return [(*authors_and_year(entry), address_of(entry)) for entry in entries]

    def eq(self, content: str) -> str:
        labels = [label.strip() for label in content.split(",")]
        return ", ".join(
            self.numbered(f"({self.target(x).number})", self.target(x)) for x in labels
        )

    def numref(self, content: str) -> str:
        words, label = words_and_target(content)
        target = self.target(label)
        if not target.number or target.kind not in FORMATS:
            raise LookupError(f"{label} is a {target.kind} without a number")
        form = words if words != label else FORMATS[target.kind]
        return self.numbered(form.replace("{number}", "%s").replace("%s", target.number), target)

    def numbered(self, words: str, target: Target) -> str:
        """The words, as a link where what they name is on another page."""
        here = target.document == self.document.name
        return words if here else f"[{words}]({self.url(target)})"

    def ref(self, content: str) -> str:
        words, label = words_and_target(content)
        target = self.target(label)
        return f"[{words if words != label else target.title}]({self.url(target)})"

    def doc(self, content: str) -> str:
        words, name = words_and_target(content)
        if name.startswith("/"):
            page = name[1:]
        else:
            folder = self.document.path.parent.resolve()
            page = (folder / name).resolve().relative_to(self.book.root.resolve()).as_posix()
        page = page.removesuffix(".md")
        if page not in self.book.documents:
            raise LookupError(f"the table of contents has no {page}")
        title = self.book.documents[page].title
        return f"[{words if words != name else title}]({self.book.page_url(page)})"


def captioned(kind: str, number: str, words: str) -> str:
    """The line under or over something numbered, or nothing where it has no number."""
    return f"**{FORMATS[kind] % number}.** {words}".rstrip() if number else ""


def in_table(text: str) -> str:
    """Text as an entry of a table, where a bare | would end the entry."""
    words = re.split(r"(\$[^$]+\$)", " ".join(text.split()))
    words[::2] = [part.replace("|", r"\|") for part in words[::2]]
    # in a formula a backslash would make it another sign
    bars = [part.replace(r"\|", r"\Vert ").replace("|", r"\vert ") for part in words[1::2]]
    words[1::2] = bars
    return "".join(words)


def words_and_target(content: str) -> tuple[str, str]:
    """The two parts of `words <target>`; a target alone is both."""
    found = TARGETED.fullmatch(content)
    return (found["words"], found["target"]) if found else (content, content)


def python_object(source: str, name: str) -> str | None:
    """The source of a function, class or method, with its decorators."""
    nodes: list[ast.AST] = [ast.parse(source)]
    for part in name.split("."):
        inside = [child for node in nodes for child in ast.iter_child_nodes(node)]
        nodes = [child for child in inside if getattr(child, "name", None) == part]
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            start = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            return dedent("\n".join(source.splitlines()[start - 1 : node.end_lineno]))
    return None
