"""Quantized weights of trained models, small enough for a web page; no model is defined here.

A matrix is stored as int8, with one scale per row, as the pages load it; a vector is stored in half
precision.
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

FOLDER = Path(__file__).parent
FORMAT = 1
DTYPES = {"rows": torch.int8, "scales": torch.float16, "vectors": torch.float16}


def load_weights(name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The state dict of a stored model, and its metadata."""
    return read_weights(FOLDER / f"{name}.js")


def read_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The state dict and the metadata in a file that `write_weights` made."""
    try:
        metadata = read_script(path)
        version, shapes = metadata.pop("format"), metadata.pop("shapes")
        arrays = {kind: base64.b64decode(metadata.pop(kind)) for kind in DTYPES}
    except (ValueError, KeyError) as error:
        raise ValueError(f"{path.name} holds no weights, or half of them ({error})") from error
    if version != FORMAT:
        raise ValueError(f"{path.name} is of format {version}, and this version reads {FORMAT}")
    return unpack(shapes, arrays, path.name), metadata


def read_script(path: Path) -> dict[str, Any]:
    """The JSON object that a script assigns to a variable."""
    text = path.read_text("utf-8")
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def unpack_half(script: Mapping[str, Any]) -> dict[str, Tensor]:
    """The state dict that a script holds in half precision, as one array under "half"."""
    numbers = torch.frombuffer(bytearray(base64.b64decode(script["half"])), dtype=torch.float16)
    shapes = {key: torch.Size(shape) for key, shape in script["shapes"].items()}
    flat_tensors = numbers.float().split([shape.numel() for shape in shapes.values()])
    return {key: x.view(shapes[key]) for key, x in zip(shapes, flat_tensors, strict=True)}


def write_weights(
    path: Path, variable: str, weights: Mapping[str, Tensor], **metadata: Any
) -> None:
    """Write a script that assigns the packed weights and the metadata to a global variable."""
    shapes, arrays = pack(weights)
    texts = {kind: base64.b64encode(content).decode() for kind, content in arrays.items()}
    assigned = json.dumps(
        {"format": FORMAT, "shapes": shapes, **metadata, **texts},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    path.write_text(f"window.{variable} = {assigned};\n", "utf-8")


def pack(weights: Mapping[str, Tensor]) -> tuple[dict[str, list[int]], dict[str, bytes]]:
    """The shapes by name, and three byte arrays: rows (int8), scales and vectors (float16)."""
    tensors_by_kind: dict[str, list[Tensor]] = {kind: [] for kind in DTYPES}
    for x in weights.values():
        if x.ndim == 2:
            rows, scales = quantize(x)
            tensors_by_kind["rows"].append(rows)
            tensors_by_kind["scales"].append(scales)
        else:
            tensors_by_kind["vectors"].append(x.half())
    arrays = {
        kind: torch.cat([torch.empty(0, dtype=DTYPES[kind]), *(x.flatten().cpu() for x in tensors)])
        for kind, tensors in tensors_by_kind.items()
    }
    return (
        {name: list(x.shape) for name, x in weights.items()},
        {kind: x.numpy().tobytes() for kind, x in arrays.items()},
    )


def unpack(
    shapes: Mapping[str, list[int]], arrays: Mapping[str, bytes], file_name: str
) -> dict[str, Tensor]:
    """Inverse of `pack`, up to rounding; errors name the file."""
    remaining = {kind: decode_numbers(arrays[kind], kind, file_name) for kind in DTYPES}

    def take(kind: str, *shape: int) -> Tensor:
        count = math.prod(shape)
        if len(remaining[kind]) < count:
            raise ValueError(f"{file_name} lacks {count - len(remaining[kind])} of its {kind}")
        numbers, remaining[kind] = remaining[kind].tensor_split([count])
        return numbers.view(shape)

    weights = {
        name: take("rows", *shape) * take("scales", shape[0], 1)
        if len(shape) == 2
        else take("vectors", *shape)
        for name, shape in shapes.items()
    }
    for kind, numbers in remaining.items():
        if len(numbers):
            raise ValueError(
                f"{file_name} has {len(numbers)} {kind} that its shapes do not ask for"
            )
    return weights


def decode_numbers(content: bytes, kind: str, file_name: str) -> Float[Tensor, "numbers"]:
    """The float32 numbers in the bytes of one kind."""
    if len(content) % DTYPES[kind].itemsize:
        raise ValueError(f"{file_name}: {len(content)} bytes are no whole number of {kind}")
    # torch.frombuffer refuses an empty buffer
    return torch.frombuffer(bytearray(content) or bytearray(2), dtype=DTYPES[kind])[
        : len(content) // DTYPES[kind].itemsize
    ].float()


def quantize(
    x: Float[Tensor, "rows columns"],
) -> tuple[Int8[Tensor, "rows columns"], Float[Tensor, "rows"]]:
    """Int8 rows and a float16 scale per row, whose products approximate x."""
    largest = x.abs().amax(-1)
    scales = (largest / 127).half()
    if not scales.isfinite().all():
        raise ValueError(f"a row of up to {largest.max():.3g}: half precision has no such scale")
    # clamped, because a scale that was rounded down would need more than 127
    steps = x / scales.float().clamp(min=1e-8)[:, None]
    return steps.round().clamp(-127, 127).to(torch.int8), scales
