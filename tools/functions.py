"""Code of a function of the package that runs on its own, below the imports that it needs."""

import ast

COPY_NOTICE = "# {} is now yours in this notebook; claims and later modules still use the package's"


def self_contained_code(name: str, code: str, text: str, module: str, available: set[str]) -> str:
    """The code of a function or class, below imports of the names that are not `available` yet.

    `text` is the source of its module; names are imported from where that imports them.
    """
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    missing, imports, own_names = used - available - {name}, [], []
    for line in ast.parse(text).body:
        match line:
            case ast.Import(names) | ast.ImportFrom(names=names):
                line.names = [alias for alias in names if (alias.asname or alias.name) in missing]
                imports += [ast.unparse(line)] if line.names else []
            case ast.FunctionDef(defined) | ast.ClassDef(defined) | ast.Assign([ast.Name(defined)]):
                own_names += {defined} & missing
    if own_names:
        imports.append(f"from {module} import {', '.join(own_names)}")
    return "\n".join([COPY_NOTICE.format(name), *imports, "", "", code])
