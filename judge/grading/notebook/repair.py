"""Repairs what a browser, an editor or a habit did to honest code: each time, with a note."""

import ast
import builtins
import re
import symtable
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from judge.cell_syntax import parsed, with_plain_spaces, without_magics
from judge.cells import notebook_names
from judge.course import course

SURROGATE = re.compile("[\ud800-\udfff]")
COLAB = re.compile(
    r"^(?:from[ \t]+google\.colab\b|import[ \t]+google\.colab\b"
    r"|(?:drive|files|output|userdata|google\.colab)\.\w+\().*$",
    re.MULTILINE,
)
CELL_MAGIC = re.compile(r"\A\s*%%.*\n")
BLOCKS = (ast.Try, ast.If, ast.With, ast.For, ast.While, ast.ExceptHandler)


def repaired(source: str) -> tuple[str, list[str]]:
    """A cell's text as it was meant, and what was done to it."""
    notes = []
    if SURROGATE.search(source):
        source = SURROGATE.sub("\ufffd", source)
        notes.append("an incomplete character, such as half an emoji, was replaced")
    source, odd_characters = with_plain_spaces(source)
    notes += odd_characters
    if "google.colab" in source:
        source = COLAB.sub("# left out: it works only in Colab", source)
        notes.append("code that works only in Colab was left out")
    return source, notes


def names_read(source: str) -> set[str]:
    """The global names that a cell needs and does not make itself."""
    if parsed(source) is None:
        return set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            top = symtable.symtable(without_magics(source), "cell", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return set()
    made = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    return notebook_names(top) - made - set(dir(builtins))


def made_by(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a cell defines, imports or assigns."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.Import() | ast.ImportFrom():
            return {(one.asname or one.name).split(".")[0] for one in node.names}
        case ast.Assign(targets=targets):
            return {
                n.id
                for target in targets
                for n in ast.walk(target)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return {name}
    return set()


def attributes_set(node: ast.stmt) -> set[str]:
    """The attributes that a statement sets on something, as `torch.Tensor.soft = soft` does.

    What is taken away, as by None, nobody needs.
    """
    if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Constant):
        return set()
    return {one.attr for one in node.targets if isinstance(one, ast.Attribute)}


def attributes_read(source: str) -> set[str]:
    tree = parsed(source)
    return {one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute)} if tree else set()


def imports_within(node: ast.stmt) -> Iterator[ast.stmt]:
    """The imports in a block such as `try`, each of which may fail; the first choice comes last."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield node
    elif isinstance(node, BLOCKS):
        branches = [getattr(node, name, []) for name in ("finalbody", "orelse", "handlers", "body")]
        for one in (one for branch in branches for one in branch):
            yield from imports_within(one)


def if_there(node: ast.stmt) -> str:
    """The text of an import that may fail."""
    return f"try:\n    {ast.unparse(node)}\nexcept ImportError:\n    pass"


@dataclass(frozen=True, order=True)
class Piece:
    """A part of a cell that answers nothing: its place among the cells, and its text."""

    place: tuple[int, int]
    text: str


@dataclass
class Definitions:
    """What cells define at their top: by name, by the attribute that it sets, or under any name.

    Of two definitions of a name the later counts, as it does in a notebook.
    """

    names: dict[str, Piece] = field(default_factory=dict)
    attributes: dict[str, Piece] = field(default_factory=dict)
    stars: list[Piece] = field(default_factory=list)

    def add(self, node: ast.stmt, piece: Piece) -> None:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            if is_known(node.module or ""):
                self.stars.append(piece)
            return
        self.names |= dict.fromkeys(made_by(node), piece)
        self.attributes |= dict.fromkeys(attributes_set(node), piece)


def is_known(module: str) -> bool:
    """Whether a module may be there when an answer is graded: of Python's own, or of a package."""
    package = module.partition(".")[0]
    return package in sys.stdlib_module_names or package in course().packages


def definitions(cells: Iterable[str]) -> Definitions:
    """What cells define at their top, and import there or in blocks."""
    found = Definitions()
    for at, cell in enumerate(cells):
        tree = parsed(cell)
        lines = without_magics(cell).splitlines()
        for node in tree.body if tree else []:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            text = "\n".join(lines[first - 1 : node.end_lineno])
            within = [node]
            if isinstance(node, BLOCKS):
                within = list(imports_within(node))
                text = "\n".join(map(if_there, within))
            for one in within:
                found.add(one, Piece((at, first), text))
    return found


def with_helpers(source: str, found: Definitions, given: set[str]) -> tuple[str, list[str]]:
    """A cell below the definitions that it needs of those found, and the names of these.

    `given` are names that are there anyway.
    """
    used: dict[Piece, None] = {}
    helpers, unknown = set(), set()
    texts = [source] if found != Definitions() else []
    while texts:
        text = texts.pop()
        names, attributes = names_read(text) - given, attributes_read(text)
        pieces = {found.names[one] for one in names & found.names.keys()}
        pieces |= {found.attributes[one] for one in attributes & found.attributes.keys()}
        helpers |= names & found.names.keys() | attributes & found.attributes.keys()
        unknown |= names - found.names.keys()
        # one statement may make many names, and is read once
        texts += [one.text for one in pieces if one not in used]
        used |= dict.fromkeys(pieces)
    if unknown:
        used |= dict.fromkeys(found.stars)
    above = "\n".join(one.text for one in sorted(used))
    # a magic of the whole cell stays its first line
    magic = found_magic[0] if used and (found_magic := CELL_MAGIC.match(source)) else ""
    return f"{magic}{above}\n{source[len(magic) :]}" if used else source, sorted(helpers)
