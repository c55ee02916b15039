"""Trained weights that come with the course, small enough for a page: this module knows no model.

Each row of a matrix is kept as whole numbers from -127 to 127 and one scale, which is how the pages
load them; what has one axis is kept in half precision.
"""

import base64
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int8
from torch import Tensor

HERE = Path(__file__).parent
FORMAT = 1
KINDS = {"rows": torch.int8, "scales": torch.float16, "vectors": torch.float16}


def stored(name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights of a stored model by their names in its state dict, and what is said of them."""
    return opened(HERE / f"{name}.js")


def opened(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights in a file that `write` made, and what is said of them."""
    try:
        held = assigned(path)
        form, shapes = held.pop("format"), held.pop("shapes")
        parts = {kind: base64.b64decode(held.pop(kind)) for kind in KINDS}
    except (ValueError, KeyError) as error:
        raise ValueError(f"{path.name} holds no weights, or half of them ({error})") from error
    if form != FORMAT:
        raise ValueError(f"{path.name} is of format {form}, and this version reads {FORMAT}")
    return unpacked(shapes, parts, path.name), held


def assigned(path: Path) -> dict[str, Any]:
    """What a script that assigns one object to a variable of the page assigns."""
    text = path.read_text("utf-8")
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def halves(held: Mapping[str, Any]) -> dict[str, Tensor]:
    """The weights that a script holds in half precision, one tensor after the other."""
    numbers = torch.frombuffer(bytearray(base64.b64decode(held["half"])), dtype=torch.float16)
    shapes = {key: torch.Size(shape) for key, shape in held["shapes"].items()}
    parts = numbers.float().split([shape.numel() for shape in shapes.values()])
    return {key: x.view(shapes[key]) for key, x in zip(shapes, parts, strict=True)}


def write(path: Path, variable: str, weights: Mapping[str, Tensor], **held: Any) -> None:
    """A script that gives the page's variable the packed weights, and what else is held."""
    shapes, parts = packed(weights)
    texts = {kind: base64.b64encode(content).decode() for kind, content in parts.items()}
    whole = json.dumps(
        {"format": FORMAT, "shapes": shapes, **held, **texts},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    path.write_text(f"window.{variable} = {whole};\n", "utf-8")


def packed(weights: Mapping[str, Tensor]) -> tuple[dict[str, list[int]], dict[str, bytes]]:
    """The shapes by name, and three rows of bytes: rows (int8), scales and vectors (float16)."""
    parts: dict[str, list[Tensor]] = {kind: [] for kind in KINDS}
    for x in weights.values():
        if x.ndim == 2:
            rows, scales = quantized(x)
            parts["rows"].append(rows)
            parts["scales"].append(scales)
        else:
            parts["vectors"].append(x.half())
    joined = {
        kind: torch.cat([torch.empty(0, dtype=KINDS[kind]), *(x.flatten().cpu() for x in found)])
        for kind, found in parts.items()
    }
    return (
        {name: list(x.shape) for name, x in weights.items()},
        {kind: x.numpy().tobytes() for kind, x in joined.items()},
    )


def unpacked(
    shapes: Mapping[str, list[int]], parts: Mapping[str, bytes], where: str
) -> dict[str, Tensor]:
    """What `packed` took, as rounding has left it."""
    left = {kind: read(parts[kind], kind, where) for kind in KINDS}

    def taken(kind: str, *shape: int) -> Tensor:
        count = math.prod(shape)
        if len(left[kind]) < count:
            raise ValueError(f"{where} lacks {count - len(left[kind])} of its {kind}")
        numbers, left[kind] = left[kind].tensor_split([count])
        return numbers.view(shape)

    weights = {
        name: taken("rows", *shape) * taken("scales", shape[0], 1)
        if len(shape) == 2
        else taken("vectors", *shape)
        for name, shape in shapes.items()
    }
    for kind, numbers in left.items():
        if len(numbers):
            raise ValueError(f"{where} has {len(numbers)} {kind} that its shapes do not ask for")
    return weights


def read(content: bytes, kind: str, where: str) -> Float[Tensor, "numbers"]:
    """The numbers of one kind that these bytes are."""
    if len(content) % KINDS[kind].itemsize:
        raise ValueError(f"{where}: {len(content)} bytes are no whole number of {kind}")
    # torch reads nothing out of no bytes
    return torch.frombuffer(bytearray(content) or bytearray(2), dtype=KINDS[kind])[
        : len(content) // KINDS[kind].itemsize
    ].float()


def quantized(
    x: Float[Tensor, "rows columns"],
) -> tuple[Int8[Tensor, "rows columns"], Float[Tensor, "rows"]]:
    """Whole numbers up to 127 and a scale for each row, whose product is nearest to the row."""
    largest = x.abs().amax(-1)
    scales = (largest / 127).half()
    if not scales.isfinite().all():
        raise ValueError(f"a row of up to {largest.max():.3g}: half precision has no such scale")
    # a scale that half precision has rounded down would ask for more than 127
    steps = x / scales.float().clamp(min=1e-8)[:, None]
    return steps.round().clamp(-127, 127).to(torch.int8), scales
