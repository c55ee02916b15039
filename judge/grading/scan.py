"""What an answer's text names: functions that it may not call, and ways around what is watched.

The text is read, never run. A name put together while it runs is not found: what is said here adds
to what a call shows, and proves nothing by itself.
"""

import ast
import builtins
import importlib
from collections import defaultdict
from collections.abc import Container, Iterator

from judge.grading.reach import FUNCTIONS, SCOPES, Reached, closure, names_in

# by these a call or a loop can escape whoever watches, in the process that it runs in
AROUND = {
    "settrace", "setprofile", "gettrace", "getprofile", "_getframe", "threading", "_thread",
    "Thread", "ThreadPoolExecutor", "multiprocessing", "subprocess", "fork", "ctypes", "gc",
    "jit", "exec", "eval", "__import__", "modules", "__globals__", "__code__", "__dict__",
    "__builtins__", "judge_driver", "FunctionType", "CodeType", "attrgetter", "methodcaller",
    "import_module", "_C", "_dispatch", "socket", "fdopen", "write", "writev", "writelines",
    "sendfile", "open",
    "currentframe", "gi_frame", "tb_frame", "f_trace", "f_trace_lines", "run_in_executor",
    "vars", "globals", "__setattr__", "timeit", "runpy", "pickle", "ex", "ev", "run_cell",
}  # fmt: skip
# how a file is opened that is only read, and how its text is taken
READING = {"r", "rt", "rb", "br", "tr"}
TEXT = {"encoding", "errors", "newline"}


def named(cell: ast.AST) -> Iterator[str]:
    """Every name that the code uses and does not make itself, and the texts that may be one."""
    own, local, selves = set(made(cell)), set(local_uses(cell)), set(own_objects(cell))
    calls = (node for node in ast.walk(cell) if isinstance(node, ast.Call))
    harmless = {call.func for call in calls if reads(call) or looks_at(call, selves)}
    for node in ast.walk(cell):
        if node in harmless:
            continue
        if isinstance(node, ast.Name):
            # what is made somewhere else leaves Python's own of that name what it is
            used = isinstance(node.ctx, ast.Load) and hasattr(builtins, node.id)
            if node not in local if used else node.id not in own:
                yield node.id
        elif isinstance(node, ast.Attribute) and node.value not in selves:
            yield node.attr
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from node.module.split(".")
        elif isinstance(node, ast.MatchClass):
            yield from node.kwd_attrs
        elif isinstance(node, ast.Call):
            yield from texts_given(node)


def texts_given(call: ast.Call) -> Iterator[str]:
    """The names in texts, as in getattr(torch, "name"); a docstring is no argument."""
    for given in call.args:
        for one in getattr(given, "elts", [given]):
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield from one.value.split(".")


def reads(call: ast.Call) -> bool:
    """Whether it opens a file only to read it, or prints."""
    match call.func, call.args:
        case ast.Name(id="open"), [_, *mode] if not {one.arg for one in call.keywords} - TEXT:
            return all(isinstance(x, ast.Constant) and x.value in READING for x in mode)
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="sys")) as stream), _:
            return stream.attr in ("stdout", "stderr")
    return False


def looks_at(call: ast.Call, selves: Container[ast.AST]) -> bool:
    """Whether it looks at the answer's own object."""
    match call.func, call.args:
        case ast.Name(id="vars"), [one]:
            return one in selves
        case ast.Name(id="getattr"), [one, *_]:
            return one in selves
    return False


def made(cell: ast.AST) -> Iterator[str]:
    """The names that the code gives to something of its own."""
    for node in ast.walk(cell):
        yield from made_by(node)


def made_by(node: ast.AST) -> Iterator[str]:
    """The name that a single part of the code gives to something, if it gives one."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg


def local_uses(cell: ast.AST) -> Iterator[ast.Name]:
    """The uses of a name in a function that makes it: there it is never Python's own."""
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(cell, frozenset())]
    while waiting:
        node, known = waiting.pop()
        if isinstance(node, ast.Name) and node.id in known:
            yield node
        inside = body_of(node)
        own = known | local_names(node) if inside else known
        waiting += [(x, own if x in inside else known) for x in ast.iter_child_nodes(node)]


def body_of(node: ast.AST) -> set[ast.AST]:
    """What of a function runs in it, unlike its defaults; nothing of what is no function."""
    if not isinstance(node, FUNCTIONS):
        return set()
    return {*node.body} if isinstance(node.body, list) else {node.body}


def local_names(function: ast.AST) -> set[str]:
    """The names that a function makes, without those of functions and classes in it."""
    found: set[str] = set()
    elsewhere: set[str] = set()
    waiting = [*ast.iter_child_nodes(function)]
    while waiting:
        node = waiting.pop()
        found |= {*made_by(node)}
        if isinstance(node, ast.Global):
            elsewhere |= {*node.names}
        if not isinstance(node, SCOPES):
            waiting += ast.iter_child_nodes(node)
    return found - elsewhere


def own_objects(cell: ast.AST) -> Iterator[ast.Name]:
    """The places at which `self` is the object whose method uses it."""
    for kind in ast.walk(cell):
        for method in kind.body if isinstance(kind, ast.ClassDef) else []:
            if not isinstance(method, ast.FunctionDef):
                continue
            first = [*method.args.posonlyargs, *method.args.args][:1]
            parts = [node for one in method.body for node in ast.walk(one)]
            given = {*imported(method)}.union(*map(made, method.body))
            if [one.arg for one in first] == ["self"] and "self" not in given:
                yield from (x for x in parts if isinstance(x, ast.Name) and x.id == "self")


def forbidden_in(answer: Reached, forbidden: tuple[str, ...]) -> str:
    """The first forbidden function, or class of a forbidden module, that an answer names.

    What else its cells do, as to try the answer out beside torch's, is not looked at.
    """
    names = set().union(*map(names_of, forbidden))
    return next((one for one in named(answer.statements) if one in names), "")


def names_of(forbidden: str) -> set[str]:
    """The names by which a text would use it."""
    last = forbidden.rpartition(".")[2]
    try:
        module = importlib.import_module(forbidden)
    except ImportError:
        return {last}
    parts = vars(module).items()
    return {name for name, one in parts if getattr(one, "__module__", "") == forbidden}


def around(answer: Reached) -> str:
    """The first way around the watching that the cells of an answer name.

    What other cells do may outlast them: of these the names count, and not what they patch, since
    most of that is harmless, such as an option of a library.
    """
    cells = (answer.cells, answer.others)
    ways = (one for some in cells for one in named(some) if one in AROUND)
    return next(ways, next(patched(answer.cells), ""))


def patched(cell: ast.AST) -> Iterator[str]:
    """What the code changes in things that it has not made, such as a module of Python's."""
    own, selves = {*made(cell), "self"} - others(cell), set(own_objects(cell))
    for node in ast.walk(cell):
        if isinstance(node, ast.Call) and chosen(node) and not looks_at(node, selves):
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
    return found.union(*map(targets, closure(found, given, targets)))


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
        case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]):
            return not isinstance(name, ast.Constant)
    return False
