"""What a name needs of a notebook's cells: the statements that bind it, and what these read.

The text is read, never run.
"""

import ast
import contextlib
import re
import symtable
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from IPython.core.inputtransformer2 import TransformerManager

from judge.cells import count_magics, notebook_names, without_magics

# each magic has IPython read the whole cell again: no more characters than these, all together
MOST_READ = 500_000
# what may come before the code of a magic
OPTIONS = re.compile(r"^(\s*-\w+(?![^\s]))+\s*")
MAGICS = {"run_line_magic", "run_cell_magic", "system", "getoutput"}
FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda
SCOPES = (*FUNCTIONS, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# statements that change nothing but the names that they bind
BINDING = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.AnnAssign,
    ast.Expr, ast.Assert, ast.Pass,
)  # fmt: skip
SHOWING = {"print", "display", "plt", "check", "hint", "failed", "status"}
Node = TypeVar("Node", bound=ast.AST)


def tree(source: str) -> ast.Module | None:
    """The syntax tree of a cell as IPython reads it, with what its magics run in their places.

    Nothing where it cannot be read: IPython does not run it either.
    """
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        # no magic is Python, and to read what holds none takes IPython ten times as long
        return ast.parse(source)
    if count_magics(source) * len(source) > MOST_READ:
        source = without_magics(source)
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


class Reached:
    """What a name needs of some cells: statements that bind it, or what these read, and so on.

    `statements` holds these, `cells` the whole cells that they stand in, and `places` which of the
    cells given these are. All of them count where nothing binds the name in a plain way. `others`
    holds the cells that are not needed.
    """

    def __init__(self, sources: Iterable[str], name: str):
        trees = {at: cell for at, text in enumerate(sources) if (cell := tree(text)) is not None}
        everything = [(at, one) for at, cell in trees.items() for one in cell.body]
        # the answer that is checked under that name may have another
        names = [name, "*", *(one for cell in trees.values() for one in checked_as(cell, name))]
        needed = needed_for(names, [one for _, one in everything])
        chosen = [everything[place] for place in sorted(needed)] or everything
        self.places = dict.fromkeys(at for at, _ in chosen)
        self.statements = ast.Module([one for _, one in chosen], [])
        self.cells = ast.Module([one for at in self.places for one in trees[at].body], [])
        self.others = ast.Module([one for at, one in everything if at not in self.places], [])


def needed_for(names: Iterable[str], statements: list[ast.stmt]) -> set[int]:
    """The places of the statements that names need after all of them, and what these need.

    What a function reads it finds when it is called, in the end; any other statement, where it
    stands. What was defined anew is no longer needed.
    """
    binding: dict[str, list[int]] = defaultdict(list)
    # at which time a function binds these nobody can tell
    unsettled: set[str] = set()
    for place, statement in enumerate(statements):
        for name in bound(statement):
            binding[name].append(place)
        unsettled.update(*(one.names for one in ast.walk(statement) if isinstance(one, ast.Global)))
    end = len(statements)
    needed: set[int] = set()
    met: set[tuple[str, int]] = set()
    wanted = [(name, end) for name in names]
    while wanted:
        name, when = wanted.pop()
        settled, places = name not in unsettled, binding.get(name, [])
        # what is made later only may be called later
        for at in reversed(range((settled and bisect_left(places, when)) or len(places))):
            place = places[at]
            if (name, place) in met:
                # and so are those before it
                break
            met.add((name, place))
            statement = statements[place]
            if place not in needed:
                needed.add(place)
                wanted += (
                    (one, time) for one in read(statement) for time in times(statement, place, end)
                )
            if settled and defines_anew(statement, name):
                break
    return needed


def times(statement: ast.stmt, place: int, end: int) -> set[int]:
    """When a statement reads its names: where it stands, or in the end."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {end}
    deferred = any(isinstance(node, FUNCTIONS) for node in ast.walk(statement))
    return {place, end} if deferred else {place}


def defines_anew(statement: ast.stmt, name: str) -> bool:
    """Whether a statement gives a name a meaning that has nothing of the one before.

    An import does not: what was set on a module stays.
    """
    match statement:
        case ast.FunctionDef(name=made, args=parts) if made == name:
            before = [*statement.decorator_list, *parts.defaults, *filter(None, parts.kw_defaults)]
        case ast.ClassDef(name=made) if made == name:
            # in its body, its name is still that of the one before
            before = [statement]
        case ast.Assign(targets=[ast.Name(id=made)], value=value) if made == name:
            before = [value]
        case _:
            return False
    return name not in set().union(*map(names_in, before))


def bound(statement: ast.stmt) -> set[str]:
    """The names that a statement of a cell makes, or what they stand for changed; "*" for any."""
    names: set[str] = set()
    within: list[ast.AST] = [statement]
    while within:
        node = within.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name) | ast.MatchAs(name=str(name)):
                names.add(name)
            case ast.alias():
                names.add(node.asname or node.name.partition(".")[0])
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                names |= {root(node)}
            case ast.Call(func=ast.Name(id="setattr"), args=[changed, *_]):
                names |= {root(changed)}
        if isinstance(node, SCOPES):
            declared = (one for one in ast.walk(node) if isinstance(one, ast.Global))
            names.update(*(one.names for one in declared))
        else:
            within += ast.iter_child_nodes(node)
    return names - {""}


def root(node: ast.AST) -> str:
    """The name with which an expression such as `torch.Tensor.soft` begins, if it begins so."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def read(statement: ast.stmt) -> set[str]:
    """The names of the notebook that a statement reads, in functions and classes too."""
    try:
        return notebook_names(symtable.symtable(ast.unparse(statement), "cell", "exec"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # such as one that awaits
        return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def checked_as(cell: ast.Module, name: str) -> Iterator[str]:
    """The names that a cell gives as an answer to `check`, whatever that is called there."""
    for node in ast.walk(cell):
        if isinstance(node, ast.Call):
            given = [*node.args, *(one.value for one in node.keywords)]
            if any(isinstance(one, ast.Constant) and one.value == name for one in given):
                yield from (one.id for one in given if isinstance(one, ast.Name))


def others_matter(own: list[str], others: list[str], name: str) -> bool:
    """Whether the cells of other answers may change what a name stands for, by name or at all."""
    trees = [one for one in map(tree, others) if one is not None]
    if any(changes_something(one) for cell in trees for one in cell.body):
        return True
    return any(at >= len(own) for at in Reached([*own, *others], name).places)


def changes_something(statement: ast.stmt) -> bool:
    """Whether a statement may do more than bind names and show something."""
    match statement:
        case ast.Expr(value=ast.Call(func=called)):
            return root(called) not in SHOWING
        case ast.Assign(targets=targets):
            return not all(isinstance(one, (ast.Name, ast.Tuple)) for one in targets)
    return not isinstance(statement, BINDING)


def closure(
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
