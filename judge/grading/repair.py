"""Repairs what a browser, an editor or a habit did to honest code: each time, with a note."""

import ast
import builtins
import re
import symtable
import warnings
from collections.abc import Iterable
from threading import Lock

SURROGATE = re.compile("[\ud800-\udfff]")
SPACES = re.compile("[\u00a0\u2007\u202f\u3000]")
INVISIBLE = re.compile("[\u200b\u2060\ufeff]")
COLAB = re.compile(
    r"^(?:from[ \t]+google\.colab\b|import[ \t]+google\.colab\b"
    r"|(?:drive|files|output|userdata|google\.colab)\.\w+\().*$",
    re.MULTILINE,
)
MAGIC = re.compile(r"^[ \t]*[%!].*$", re.MULTILINE)
# longer cells are neither searched nor judged: reading Python takes stack and time
LONGEST = 100_000


def repaired(source: str) -> tuple[str, list[str]]:
    """A cell's text as it was meant, and what was done to it."""
    notes = []
    if SURROGATE.search(source):
        source = SURROGATE.sub("\ufffd", source)
        notes.append("half a character, as of an emoji, was replaced")
    if (SPACES.search(source) or INVISIBLE.search(source)) and parsed(source) is None:
        source = INVISIBLE.sub("", SPACES.sub(" ", source))
        notes.append("no-break spaces were taken for spaces")
    if "google.colab" in source:
        source = COLAB.sub("# left out: it is there in Colab only", source)
        notes.append("what only Colab has was left out")
    return source, notes


# in Python 3.11 two threads that make trees at once may each find the other's depth: a SystemError
PARSING = Lock()


def parsed(source: str) -> ast.Module | None:
    """The syntax tree of a cell, its magics left out; None where it is not Python."""
    if len(source) > LONGEST:
        return None
    try:
        with PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(MAGIC.sub("pass", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def names_read(source: str) -> set[str]:
    """The global names that a cell needs and does not make itself."""
    if parsed(source) is None:
        return set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tables = [symtable.symtable(MAGIC.sub("pass", source), "cell", "exec")]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return set()
    top = tables[0]
    made = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    read = set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        read |= {
            one.get_name()
            for one in table.get_symbols()
            if one.is_referenced() and (table is top or one.is_global())
        }
    return read - made - set(dir(builtins))


def made_by(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a cell defines, imports or assigns."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.Import() | ast.ImportFrom():
            return {(one.asname or one.name).split(".")[0] for one in node.names}
        case ast.Assign(targets=targets):
            return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return {name}
    return set()


Definitions = dict[str, tuple[tuple[int, int], str]]


def definitions(cells: Iterable[str]) -> Definitions:
    """What cells define at their top, by name: its place and its text.

    Of two definitions of a name the later counts, as it does in a notebook.
    """
    found: Definitions = {}
    for at, cell in enumerate(cells):
        tree = parsed(cell)
        lines = MAGIC.sub("pass", cell).splitlines()
        for node in tree.body if tree else []:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            text = "\n".join(lines[first - 1 : node.end_lineno])
            found |= {name: ((at, first), text) for name in made_by(node)}
    return found


def with_helpers(source: str, found: Definitions, given: set[str]) -> tuple[str, list[str]]:
    """A cell below the definitions that it needs of those found, and the names of these.

    `given` are names that are there anyway.
    """
    used: Definitions = {}
    read = set()
    wanted = names_read(source) - given if found else set()
    while wanted := {name for name in wanted if name in found and name not in used}:
        used |= {name: found[name] for name in wanted}
        # one statement may make many names, and is read once
        texts = {found[name][1] for name in wanted} - read
        read |= texts
        wanted = set().union(*map(names_read, texts)) - given
    above = [text for _, text in sorted(set(used.values()))]
    return "\n".join([*above, source]), sorted(used)
