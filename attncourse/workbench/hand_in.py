"""What is handed in: a zip file of a method's code and of the weights that were trained with it."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from torch import Tensor

from attncourse.workbench.layers import UnfitError, require_expectation

CODE, WEIGHTS = "method.py", "weights.safetensors"
# of the code, and of all weights
MOST_BYTES = {CODE: 100_000, WEIGHTS: 4 << 20}


@dataclass(frozen=True)
class HandIn:
    """The code and the weights of a method, and what its author expects; nobody has run it."""

    code: str
    weights: dict[str, Tensor]
    expected: dict[str, float]


def pack(path: Path, weights: Mapping[str, Tensor]) -> Path:
    """Write the zip file of a method's file and a model's weights beside the file."""
    try:
        from safetensors.torch import save
    except ModuleNotFoundError:
        raise UnfitError("to hand in needs safetensors: install it with pip") from None
    packed = path.with_suffix(".zip")
    with ZipFile(packed, "w") as file:
        file.writestr(CODE, path.read_bytes())
        file.writestr(WEIGHTS, save(dict(weights)))
    return packed


def unpack(path: Path) -> HandIn:
    """What a zip file holds; UnfitError says what it lacks."""
    from judge.weights import tensors

    contents = {}
    try:
        with ZipFile(path) as file:
            for name, most in MOST_BYTES.items():
                if (size := file.getinfo(name).file_size) > most:
                    raise UnfitError(f"{name} has {size:,} bytes, more than {most:,}")
                contents[name] = file.read(name)
        code, weights = contents[CODE].decode("utf-8"), tensors(contents[WEIGHTS])
        hand_in = HandIn(code, weights, require_expectation(literal("EXPECTED", code)))
    except (BadZipFile, KeyError, OSError, SyntaxError, ValueError, TypeError, RecursionError,
            MemoryError) as error:  # fmt: skip
        raise UnfitError(f"{path.name} is not what the workbench writes: {error}") from None
    if wrong := [name for name, x in weights.items() if not x.isfinite().all()]:
        raise UnfitError(f"the weights {wrong[0]} are not finite")
    return hand_in


def literal(name: str, code: str) -> object:
    """The value that is assigned to a name in code, which is not run; an empty one for none."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    return {}
