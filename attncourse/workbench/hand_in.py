"""What is handed in: a zip file of a method's code and of the weights that were trained with it."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from torch import Tensor

from attncourse.workbench.layers import UnfitError, expectation
from judge.grading.report.text import line
from judge.quotation import named

CODE, WEIGHTS = "method.py", "weights.safetensors"
# of the code, and of all weights
MOST_BYTES = {CODE: 100_000, WEIGHTS: 4 << 20}
# a zip file, or code in it, that is none
UNREADABLE = (BadZipFile, zlib.error, EOFError, KeyError, OSError, SyntaxError, ValueError,
              TypeError, RuntimeError, RecursionError, MemoryError)  # fmt: skip


@dataclass(frozen=True)
class HandIn:
    """The code and the weights of a method, and what its author expects; nobody has run it."""

    code: str
    weights: dict[str, Tensor]
    expected: dict[str, float]


def pack(path: Path, weights: Mapping[str, Tensor]) -> Path:
    """Write the zip file of a method's file and a model's weights beside the file."""
    packed = path.with_suffix(".zip")
    contents = packable(path, weights)
    with ZipFile(packed, "w") as file:
        for name, content in contents.items():
            file.writestr(name, content)
    return packed


def packable(path: Path, weights: Mapping[str, Tensor]) -> dict[str, bytes]:
    """What the zip file holds; UnfitError where it cannot be handed in."""
    try:
        from safetensors.torch import save
    except ModuleNotFoundError:
        raise UnfitError("to hand in needs safetensors: install it with pip") from None
    # copies, because two names may share one tensor
    tensors = {name: x.clone().contiguous() for name, x in weights.items()}
    contents = {CODE: path.read_bytes(), WEIGHTS: save(tensors)}
    for name, content in contents.items():
        require_size(name, len(content))
    return contents


def require_size(name: str, size: int) -> None:
    """Raise UnfitError for a file that is too large."""
    if size > (most := MOST_BYTES[name]):
        raise UnfitError(f"{name} has {size:,} bytes, more than {most:,}")


def unpack(path: Path) -> HandIn:
    """What a zip file holds; UnfitError says what it lacks."""
    from judge.weights import tensors

    contents = {}
    try:
        with ZipFile(path) as file:
            for name in MOST_BYTES:
                require_size(name, file.getinfo(name).file_size)
                contents[name] = file.read(name)
        code, weights = contents[CODE].decode("utf-8"), tensors(contents[WEIGHTS])
        hand_in = HandIn(code, weights, expectation(code))
    except UNREADABLE as error:
        raise UnfitError(f"this is not what the workbench writes: {line(str(error))}") from None
    if wrong := [name for name, x in weights.items() if not x.isfinite().all()]:
        raise UnfitError(f"the weights {named(wrong[0])} are not finite")
    return hand_in
