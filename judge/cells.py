"""How the cells of a notebook say which exercise they answer, or check."""

import re
from symtable import SymbolTable
from typing import TYPE_CHECKING

import nbformat
from nbformat import NotebookNode

if TYPE_CHECKING:
    from judge.course import Course
    from judge.exercise import Exercise

FIRST_LINE = re.compile(r"\A\s*#\s*exercise:\s*(\w+)")
# nbval need not compare outputs: where it runs a check, a wrong answer is an error
UNCOMPARED = "nbval-ignore-output"


def exercise_of(source: str) -> str | None:
    """The exercise that an answer cell's first line names, `# exercise: <name>`, or None."""
    found = FIRST_LINE.match(source)
    return found and found[1]


def answer_and_check(
    course: "Course", exercise: "Exercise", source: str
) -> tuple[NotebookNode, NotebookNode]:
    """The cell of an answer, with this text in it to begin with, and the cell that checks it."""
    name = exercise.name
    call = f'from {course.package} import check\n\ncheck("{name}", {name})'
    metadata = {"tags": ["answer", UNCOMPARED], course.metadata_key: exercise.cell_metadata}
    return (
        nbformat.v4.new_code_cell(source, id=f"answer-{name}", metadata=metadata),
        nbformat.v4.new_code_cell(
            call, id=f"check-{name}", metadata={"tags": ["check", UNCOMPARED]}
        ),
    )


def notebook_names(top: SymbolTable) -> set[str]:
    """The names of the notebook that code reads, in functions and classes too, by its table."""
    tables, names = [top], set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        names |= {
            one.get_name()
            for one in table.get_symbols()
            if one.is_referenced() and (table is top or one.is_global())
        }
    return names
