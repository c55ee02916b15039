"""What a learner starts from: an answer with its body taken out."""

import ast

from attncourse.cells import exercise_of


def stub_of(source: str) -> str:
    """The answer cell with imports, decorators, signature and docstring, and nothing else."""
    name = exercise_of(source)
    if name is None:
        raise ValueError(f"the first line is not `# exercise: <name>`: {source[:60]!r}")
    tree = ast.parse(source)
    answers = [
        node
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name
    ]
    if len(answers) != 1:
        raise ValueError(
            f"exercise {name}: {len(answers)} functions or classes of that name, not 1"
        )
    imports = [
        ast.get_source_segment(source, node)
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    parts = [f"# exercise: {name}", *imports]
    return "\n".join(parts) + ("\n\n\n" if imports else "\n") + emptied(answers[0], source)


def emptied(answer: ast.FunctionDef | ast.ClassDef, source: str) -> str:
    """The answer's text without the bodies of its functions, which say what is left to do."""
    if isinstance(answer, ast.FunctionDef):
        return unwritten(answer, source)
    methods = [node for node in answer.body if isinstance(node, ast.FunctionDef)]
    return "\n\n".join([opening(answer, source), *(unwritten(one, source) for one in methods)])


def unwritten(function: ast.FunctionDef, source: str) -> str:
    """A function's own text up to its body, then the line that says what is left to do."""
    indent = " " * (function.col_offset + 4)
    left = f'raise NotImplementedError("write {function.name} here")'
    return f"{opening(function, source)}\n{indent}{left}"


def opening(node: ast.FunctionDef | ast.ClassDef, source: str) -> str:
    """The text of a function or class up to its body, its docstring included."""
    lines = source.encode().split(b"\n")
    start = min([node, *node.decorator_list], key=lambda part: part.lineno).lineno - 1
    first = node.body[0]
    if ast.get_docstring(node) is not None:
        kept = lines[start : first.end_lineno]
    else:
        kept = [*lines[start : first.lineno - 1], lines[first.lineno - 1][: first.col_offset]]
    # what stands before the first statement explains the answer
    while not kept[-1].strip() or kept[-1].lstrip().startswith(b"#"):
        kept.pop()
    return b"\n".join(kept).decode().rstrip()
