"""What an answer's text names: functions that it may not call, and ways around what is watched.

The text is read, never run. A name put together while it runs is not found: what is said here adds
to what a call shows, and proves nothing by itself.
"""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from IPython.core.inputtransformer2 import TransformerManager

# what may come before the code of a magic
OPTIONS = re.compile(r"^(\s*-\w+(?![^\s]))+\s*")
# by these a call or a loop can escape whoever watches, in the process that it runs in
AROUND = {
    "settrace", "setprofile", "_getframe", "threading", "_thread", "Thread", "ThreadPoolExecutor",
    "multiprocessing", "subprocess", "fork", "ctypes", "gc", "jit", "exec", "eval", "__import__",
    "modules", "__globals__", "__code__", "__dict__", "__builtins__", "judge_driver",
    "FunctionType", "CodeType", "attrgetter", "methodcaller", "import_module", "_C", "_dispatch",
    "socket", "fdopen", "write", "writev", "writelines", "sendfile", "open",
    "currentframe", "gi_frame", "tb_frame", "f_trace", "f_trace_lines", "run_in_executor",
    "vars", "globals", "__setattr__", "timeit", "runpy", "pickle", "ex", "ev", "run_cell",
}  # fmt: skip
# how a file is opened that is only read, and how its text is taken
READING = {"r", "rt", "rb", "br", "tr"}
TEXT = {"encoding", "errors", "newline"}
Node = TypeVar("Node", bound=ast.AST)
MAGICS = {"run_line_magic", "run_cell_magic", "system", "getoutput"}


def tree(source: str) -> ast.Module | None:
    """The syntax tree of a cell as IPython reads it, with what its magics run in their places.

    Nothing where it cannot be read: IPython does not run it either.
    """
    try:
        cell = ast.parse(TransformerManager().transform_cell(source))
        cell.body = [inner for one in cell.body for inner in without_magic(one)]
    except (SyntaxError, ValueError, RuntimeError, MemoryError):
        return None
    return cell


def without_magic(statement: ast.stmt) -> list[ast.stmt]:
    """The statement itself; of a magic, the code that it may run, as `%time` does."""
    call = getattr(statement, "value", None)
    if not isinstance(call, ast.Call) or getattr(call.func, "attr", "") not in MAGICS:
        return [statement]
    match call.args[-1:]:
        case [ast.Constant(value=str(code))]:
            inner = tree(OPTIONS.sub("", code))
            return inner.body if inner else []
    return [statement]


def named(cell: ast.AST) -> Iterator[str]:
    """Every name that the code uses and does not make itself, and the texts that may be one."""
    own = set(made(cell))
    harmless = {call.func for call in ast.walk(cell) if isinstance(call, ast.Call) and reads(call)}
    for node in ast.walk(cell):
        if node in harmless:
            continue
        if isinstance(node, ast.Name) and node.id not in own:
            yield node.id
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") != "self":
            yield node.attr
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from node.module.split(".")
        elif isinstance(node, ast.Call):
            # as in getattr(torch, "name"); a docstring is no argument
            yield from (
                one.value
                for one in node.args
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            )


def reads(call: ast.Call) -> bool:
    """Whether it opens a file only to read it, prints, or looks at the answer's own object."""
    match call.func, call.args:
        case ast.Name(id="open"), [_, *mode] if not {one.arg for one in call.keywords} - TEXT:
            return all(isinstance(x, ast.Constant) and x.value in READING for x in mode)
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="sys")) as stream), _:
            return stream.attr in ("stdout", "stderr")
        case ast.Name(id="vars"), [ast.Name(id="self")]:
            return True
    return False


def made(cell: ast.AST) -> Iterator[str]:
    """The names that the code gives to something of its own."""
    for node in ast.walk(cell):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def forbidden_in(source: str, name: str, forbidden: tuple[str, ...]) -> str:
    """The first forbidden function, or class of a forbidden module, that the answer names.

    What else the cell does, as to try the answer out beside torch's, is not looked at.
    """
    cell = tree(source)
    if cell is None:
        return ""
    names = set().union(*map(names_of, forbidden))
    return next((one for one in named(needed_by(name, cell)) if one in names), "")


def needed_by(name: str, cell: ast.Module) -> ast.Module:
    """The statements that bind a name, and those that bind what these use; all, if none does."""
    binding = defaultdict(list)
    for statement in cell.body:
        for each in bound(statement):
            binding[each].append(statement)
    kept = reached([name, "*"], binding, names_in)
    body = [one for one in cell.body if one in kept] or cell.body
    return ast.Module(body, type_ignores=[])


def reached(
    names: Iterable[str], by_name: dict[str, list[Node]], leads: Callable[[Node], set[str]]
) -> set[Node]:
    """All nodes that names lead to, and those that the names to which these lead do."""
    met, wanted = set(), [*names]
    while wanted:
        # of each name and each node once: a text may be a chain of thousands
        for node in by_name.pop(wanted.pop(), []):
            if node not in met:
                met.add(node)
                wanted += leads(node)
    return met


def names_in(node: ast.AST) -> set[str]:
    """The names that stand in the code."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement gives to something, imported or made."""
    yield from made(statement)
    yield from imported(statement)


def names_of(forbidden: str) -> set[str]:
    """The names by which a text would use it."""
    last = forbidden.rpartition(".")[2]
    try:
        module = importlib.import_module(forbidden)
    except ImportError:
        return {last}
    parts = vars(module).items()
    return {name for name, one in parts if getattr(one, "__module__", "") == forbidden}


def around(source: str) -> str:
    """The first way around the watching that the text names."""
    cell = tree(source)
    if cell is None:
        return ""
    return next((one for one in named(cell) if one in AROUND), next(patched(cell), ""))


def patched(cell: ast.AST) -> Iterator[str]:
    """What the code changes in things that it has not made, such as a module of Python's."""
    own = {*made(cell), "self"} - others(cell)
    for node in ast.walk(cell):
        if isinstance(node, ast.Name) and node.id == "__name__" and node.id in own:
            yield "__name__ ="
        if isinstance(node, ast.Call) and chosen(node):
            yield ast.unparse(node)[:80]
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            changed, mark = node.value, " ="
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("setattr", "delattr"):
            changed, mark = node.args[0] if node.args else node, ""
        else:
            continue
        while isinstance(changed, ast.Attribute):
            changed = changed.value
        if isinstance(changed, ast.Name) and changed.id not in own:
            yield f"{ast.unparse(node)}{mark}"[:80]


def others(cell: ast.AST) -> set[str]:
    """The names of what is imported, and those that the code gives to it besides."""
    given = defaultdict(list)
    for node in ast.walk(cell):
        if isinstance(node, ast.Assign) and not any(
            isinstance(one, ast.Call) for one in ast.walk(node.value)
        ):
            for name in names_in(node.value):
                given[name].append(node)
    found = {*imported(cell)}
    return found.union(*map(targets, reached(found, given, targets)))


def targets(assignment: ast.Assign) -> set[str]:
    """The plain names that an assignment is made to."""
    return {one.id for one in assignment.targets if isinstance(one, ast.Name)}


def imported(cell: ast.AST) -> Iterator[str]:
    """The names that the code gives to what it imports."""
    for node in ast.walk(cell):
        if isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]


def chosen(call: ast.Call) -> bool:
    """Whether it gets what a name says that is put together, of something not its own."""
    match call:
        case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id="self"), *_]):
            return False
        case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]):
            return not isinstance(name, ast.Constant)
    return False
