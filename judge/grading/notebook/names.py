"""Whether an answer may need the cells of other answers: by the names that its own cells read.

The text is read, never run.
"""

import ast
import contextlib
import re
import symtable
from collections import defaultdict
from collections.abc import Iterable, Iterator

from IPython.core.inputtransformer2 import TransformerManager

from judge.cell_syntax import count_magics, without_magics
from judge.cells import notebook_names

# each magic has IPython read the whole cell again: no more characters than these, all together
MOST_READ = 500_000
# what may come before the code of a magic
OPTIONS = re.compile(r"^(\s*-\w+(?![^\s]))+\s*")
MAGICS = {"run_line_magic", "run_cell_magic", "system", "getoutput"}
SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
# statements that change nothing but the names that they bind
BINDING = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.AnnAssign,
    ast.Expr, ast.Assert, ast.Pass,
)  # fmt: skip
SHOWING = {"print", "display", "plt", "check", "hint", "failed", "status"}


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
    own_trees, other_trees = ([*filter(None, map(tree, cells))] for cells in (own, others))
    other_statements = [statement for cell in other_trees for statement in cell.body]
    if any(map(changes_something, other_statements)):
        return True
    # the answer that is checked under that name may have another
    checked = {one for cell in (*own_trees, *other_trees) for one in checked_as(cell, name)}
    needed = names_needed({name, "*"} | checked, [one for cell in own_trees for one in cell.body])
    return any(needed is None or needed & bound(statement) for statement in other_statements)


def names_needed(names: set[str], statements: Iterable[ast.stmt]) -> set[str] | None:
    """The names, and those that the statements read that bind them, and so on.

    None where no statement binds one in a plain way, so that it may need any.
    """
    binding: dict[str, list[ast.stmt]] = defaultdict(list)
    for statement in statements:
        for name in bound(statement):
            binding[name].append(statement)
    if names.isdisjoint(binding):
        return None
    needed, waiting, done = set(names), [*names], set()
    while waiting:
        # each is read once, however many names it binds
        statements = {*binding[waiting.pop()]} - done
        done |= statements
        new = set().union(*map(read, statements)) - needed
        needed |= new
        waiting += new
    return needed


def changes_something(statement: ast.stmt) -> bool:
    """Whether a statement may do more than bind names and show something."""
    match statement:
        case ast.Expr(value=ast.Call(func=called)):
            return root(called) not in SHOWING
        case ast.Assign(targets=targets):
            return not all(isinstance(one, (ast.Name, ast.Tuple)) for one in targets)
    return not isinstance(statement, BINDING)
