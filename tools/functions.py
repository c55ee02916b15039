"""A function of the package as code that runs by itself: what it needs is imported above it."""

import ast

YOURS = "# {} is now yours in this notebook; claims and later modules still use the package's"


def standing_alone(name: str, code: str, text: str, module: str, here: set[str]) -> str:
    """The code of that name, after imports of what it uses and the notebook does not have yet.

    It comes from a module with that text, and a name is imported from where the module has it.
    """
    used = {one.id for one in ast.walk(ast.parse(code)) if isinstance(one, ast.Name)}
    wanted, imports, own = used - here - {name}, [], []
    for line in ast.parse(text).body:
        match line:
            case ast.Import(names) | ast.ImportFrom(names=names):
                line.names = [one for one in names if (one.asname or one.name) in wanted]
                imports += [ast.unparse(line)] if line.names else []
            case ast.FunctionDef(defined) | ast.ClassDef(defined) | ast.Assign([ast.Name(defined)]):
                own += {defined} & wanted
    if own:
        imports.append(f"from {module} import {', '.join(own)}")
    return "\n".join([YOURS.format(name), *imports, "", "", code])
