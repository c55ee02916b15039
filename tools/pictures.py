"""The drawings as pictures, which notebooks hold: `make release` takes them with a browser.

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
from tools.chromium import FLAGS, MISSING, chromium
from tools.urls import ROOT

PICTURES = "drawings/png"
# for screens whose pixels are small
SCALE = 2
# on white, with a margin, for notebooks that are dark
PAGE = '<body style="margin: 0"><div style="padding: 8px; width: max-content">{}</div>'


def stale(root: Path = ROOT) -> dict[Path, str]:
    """The drawings without a picture of what they are now, by where their pictures should be."""
    by_place = {root / PICTURES / f"{name}.png": svg for name, svg in svgs().items()}
    return {
        picture: svg
        for picture, svg in by_place.items()
        if not picture.exists() or drawing_of(picture) != digest(svg)
    }


def write(root: Path = ROOT) -> list[Path]:
    """Take the pictures that are stale; gives those that were taken."""
    if not (taken := stale(root)):
        return []
    # imported here: a release without a new drawing needs no browser
    from playwright.sync_api import sync_playwright

    if (path := chromium()) is None:
        names = ", ".join(picture.stem for picture in taken)
        raise FileNotFoundError(f"a picture has to be taken of {names}, and there is {MISSING}")
    (root / PICTURES).mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(device_scale_factor=SCALE, color_scheme="light")
        for picture, svg in taken.items():
            page.set_content(PAGE.format(svg))
            shown = Image.open(BytesIO(page.locator("div").screenshot())).convert("RGB")
            note = PngInfo()
            note.add_text("drawing", digest(svg))
            with_few_colours(shown).save(picture, pnginfo=note, optimize=True)
        browser.close()
    return [*taken]


def with_few_colours(image: Image.Image) -> Image.Image:
    """The picture in its 64 most common colours, which takes a third of the bytes.

    Grounds and lines keep theirs exactly, because a colour says what a thing is.
    """
    pixels = np.asarray(image, dtype=int).reshape(-1, 3)
    colours, place, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    kept = colours[np.argsort(-counts, kind="stable")[:64]]
    nearest = ((colours[:, None] - kept) ** 2).sum(axis=-1).argmin(axis=-1).astype(np.uint8)
    few = Image.fromarray(nearest[place].reshape(image.height, image.width))
    few.putpalette(kept.ravel().tolist())
    return few


def digest(svg: str) -> str:
    return sha256(svg.encode()).hexdigest()[:16]


def drawing_of(picture: Path) -> str:
    """The digest of the drawing that the picture was taken of."""
    with Image.open(picture) as image:
        return image.info.get("drawing", "")


def width_of(picture: Path) -> int:
    """How wide a page shows it, in pixels."""
    with Image.open(picture) as image:
        return image.width // SCALE
