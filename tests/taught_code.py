"""The rule that what a chapter teaches is short, for test_layout.py."""

import ast
from collections.abc import Iterator
from pathlib import Path

# of a function that is taught: docstrings and blank lines do not count
MAX_FUNCTION = 30


def code_lines(text: str) -> set[int]:
    """The numbers of the lines that are neither blank nor in a docstring."""
    code = {i for i, line in enumerate(text.splitlines(), 1) if line.strip()}
    documented_types = (ast.Module, ast.FunctionDef, ast.ClassDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented_types) and ast.get_docstring(node):
            code -= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    return code


def long_functions(root: Path) -> Iterator[str]:
    """Yield each function of a chapter with more than MAX_FUNCTION lines of code."""
    chapters = [path.stem for path in root.glob("chapters/*.md")]
    patterns = [f"attncourse/{slug}{part}.py" for slug in chapters for part in ("", "/*")]
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        text, name = path.read_text("utf-8"), path.relative_to(root).as_posix()
        code = code_lines(text)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                lines = len(code & {*range(node.lineno, node.end_lineno + 1)})
                if lines > MAX_FUNCTION:
                    fault = f"{name}:{node.lineno} {node.name} has {lines} lines of code"
                    yield f"{fault}, more than {MAX_FUNCTION}: give a step of it a name of its own"
