"""What an answer needs that may not be there when it is graded: packages, and modules of one's own.

Nothing is run: the answer's code names what it reads and imports, and what it reads may be code of
the notebook's own.
"""

import dis
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from judge.course import Course

PACKAGE = "`{}` may not be installed when this is graded: ask your instructor, or do without it"
BESIDE = "`{}` is a file of your own, which the grader won't have: put its code into a cell"
# the folders that hold installed packages
LIBRARIES = ("site-packages", "dist-packages")


def missing_when_graded(answer: Callable, course: Course) -> list[str]:
    """A line on each package that the course does not name, and on each module of one's own."""
    known = {*sys.stdlib_module_names, *course.packages, course.package, "judge", "__main__"}
    names = dict.fromkeys(one.partition(".")[0] for one in modules_of(answer))
    return [line for name in names if name not in known and (line := warning_on(name))]


def warning_on(name: str) -> str:
    """What to say of a module that the course does not name."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    if file is None:
        # it is built in, or was never imported
        return "" if module else PACKAGE.format(name)
    if set(LIBRARIES) & set(Path(file).parts):
        return PACKAGE.format(name)
    return "" if is_written_by_a_cell(name) else BESIDE.format(Path(file).name)


def is_written_by_a_cell(name: str) -> bool:
    """Whether a cell that was run writes the module, as `%%writefile` does."""
    cells = vars(sys.modules["__main__"]).get("In", [])
    return any(isinstance(one, str) and "writefile" in one and f"{name}.py" in one for one in cells)


def modules_of(answer: Any) -> Iterator[str]:
    """The modules that an answer needs, as far as its code and the notebook's can tell."""
    waiting, met = [answer], {id(answer)}
    while waiting:
        value = waiting.pop()
        if isinstance(value, ModuleType):
            yield value.__name__
            continue
        if isinstance(value, functools.partial):
            value = value.func
        owner = value if inspect.isroutine(value) or isinstance(value, type) else type(value)
        if (module := getattr(owner, "__module__", None)) and module != "__main__":
            yield module
            continue
        waiting += value.__bases__ if isinstance(value, type) else ()
        for code, names in codes_of(value):
            yield from imports_of(code)
            for one in code.co_names:
                if one in names and id(names[one]) not in met:
                    met.add(id(names[one]))
                    waiting.append(names[one])


def codes_of(value: Any) -> Iterator[tuple[CodeType, dict[str, Any]]]:
    """The code of a function, or of a class's methods, with those within, and its global names."""
    value = inspect.unwrap(value) if callable(value) else value
    parts = vars(value).values() if isinstance(value, type) else [value]
    for part in parts:
        function = getattr(part, "__func__", part)
        names = getattr(function, "__globals__", {})
        codes = [code] if isinstance(code := getattr(function, "__code__", None), CodeType) else []
        while codes:
            yield (code := codes.pop()), names
            codes += [one for one in code.co_consts if isinstance(one, CodeType)]


def imports_of(code: CodeType) -> Iterator[str]:
    """The modules that a code imports itself."""
    yield from (one.argval for one in dis.get_instructions(code) if one.opname == "IMPORT_NAME")
