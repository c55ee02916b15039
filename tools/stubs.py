"""What a learner starts from: an answer with its body taken out."""

import ast

from judge.cells import exercise_of


def stub_of(source: str) -> str:
    """The answer cell with imports, decorators, signatures and docstrings, and nothing else."""
    name, body = exercise_of(source), ast.parse(source).body
    answers = [node for node in body if getattr(node, "name", None) == name]
    if len(answers) != 1:
        raise ValueError(f"exercise {name}: {len(answers)} functions or classes of that name")
    imports = [ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    above = "\n".join([f"# exercise: {name}", *imports]) + ("\n\n" if imports else "")
    return above + "\n" + emptied(answers[0], source.split("\n"))


def emptied(node: ast.FunctionDef | ast.ClassDef, lines: list[str]) -> str:
    """The text of a function, or of a class and its methods, but for what is left to do."""
    start = min(part.lineno for part in [node, *node.decorator_list]) - 1
    first = node.body[0]
    documented = ast.get_docstring(node) is not None
    kept = lines[start : first.end_lineno if documented else first.lineno - 1]
    # what stands before the first statement explains the answer
    while not kept[-1].strip() or kept[-1].lstrip().startswith("#"):
        kept.pop()
    text = "\n".join(kept)
    if isinstance(node, ast.ClassDef):
        methods = [emptied(one, lines) for one in node.body if isinstance(one, ast.FunctionDef)]
        return "\n\n".join([text, *methods])
    indent = " " * (node.col_offset + 4)
    return f'{text}\n{indent}raise NotImplementedError("write {node.name} here")'
