"""The drawings as PNG pictures for notebooks: `make release` takes them with a browser.

A PNG in the text shows in JupyterLab, VS Code, Colab and GitHub; Colab takes no SVG there, and no
attachment. Each carries the digest of its drawing, since two browsers do not draw the same pixels.
"""

from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from drawings import svgs
from tools.chromium import FLAGS, MISSING, chromium_path
from tools.urls import ROOT

PICTURES = "drawings/png"
# for high-resolution screens
SCALE = 2
# on white, with a margin, for notebooks that are dark
PAGE = '<body style="margin: 0"><div style="padding: 8px; width: max-content">{}</div>'


def stale(root: Path = ROOT) -> dict[Path, str]:
    """The SVGs of drawings whose picture is missing or outdated, by the path of the picture."""
    by_path = {root / PICTURES / f"{name}.png": svg for name, svg in svgs().items()}
    return {
        picture: svg
        for picture, svg in by_path.items()
        if not picture.exists() or drawing_digest(picture) != digest(svg)
    }


def write(root: Path = ROOT) -> list[Path]:
    """Take the pictures that are missing or outdated, and return their paths."""
    if not (outdated := stale(root)):
        return []
    # imported here: a release without a new drawing needs no browser
    from playwright.sync_api import sync_playwright

    if (executable := chromium_path()) is None:
        names = ", ".join(picture.stem for picture in outdated)
        raise FileNotFoundError(f"a picture has to be taken of {names}, and there is {MISSING}")
    (root / PICTURES).mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        page = browser.new_page(device_scale_factor=SCALE, color_scheme="light")
        for picture, svg in outdated.items():
            page.set_content(PAGE.format(svg))
            screenshot = Image.open(BytesIO(page.locator("div").screenshot())).convert("RGB")
            metadata = PngInfo()
            metadata.add_text("drawing", digest(svg))
            reduce_colours(screenshot).save(picture, pnginfo=metadata, optimize=True)
        browser.close()
    return [*outdated]


def reduce_colours(image: Image.Image) -> Image.Image:
    """The picture in its 64 most common colours, in a third of the bytes.

    Backgrounds and lines keep their exact colours, because a colour has a meaning.
    """
    pixels = np.asarray(image, dtype=int).reshape(-1, 3)
    colours, index, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    palette = colours[np.argsort(-counts, kind="stable")[:64]]
    nearest = ((colours[:, None] - palette) ** 2).sum(axis=-1).argmin(axis=-1).astype(np.uint8)
    reduced = Image.fromarray(nearest[index].reshape(image.height, image.width))
    reduced.putpalette(palette.ravel().tolist())
    return reduced


def digest(svg: str) -> str:
    """Hash of a drawing: 16 hex digits."""
    return sha256(svg.encode()).hexdigest()[:16]


def drawing_digest(picture: Path) -> str:
    """The digest of the drawing that the picture was taken of."""
    with Image.open(picture) as image:
        return image.info.get("drawing", "")


def display_width(picture: Path) -> int:
    """The width at which a page shows a picture, in CSS pixels."""
    with Image.open(picture) as image:
        return image.width // SCALE
