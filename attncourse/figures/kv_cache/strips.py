"""Strips of numbers as CSS masks, a pixel for each number; view.js draws the same.

The column of a token has its numbers from top to bottom. The mask of those above 0 and that of
those below have different colours; the larger the number, the less transparent.
"""

import struct
import zlib
from base64 import b64encode

import torch
from jaxtyping import Float
from torch import Tensor


def strip_style(numbers: Float[Tensor, "n d"], scale: float) -> str:
    """CSS with the masks of the numbers; those of size `scale` or more are opaque."""
    masks = (mask_url(sign * numbers / scale) for sign in (1, -1))
    return ";".join(
        f"--{name}:url({mask})" for name, mask in zip(("above", "below"), masks, strict=True)
    )


def mask_url(shares: Float[Tensor, "n d"]) -> str:
    """The address of a black picture whose opacities are the shares; below 0, transparent."""
    alpha = (shares.clamp(0, 1) * 255).round().to(torch.uint8).mT
    height, width = alpha.shape
    # grey and alpha, after the filter's byte of each line
    lines = (b"\0" + bytes(byte for a in line for byte in (0, a)) for line in alpha.tolist())
    header = struct.pack(">IIBBBBB", width, height, 8, 4, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    png += chunk(b"IDAT", zlib.compress(b"".join(lines), 9)) + chunk(b"IEND", b"")
    return f"data:image/png;base64,{b64encode(png).decode()}"


def chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file: length, kind, content and checksum."""
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )
