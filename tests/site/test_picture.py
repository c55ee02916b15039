"""The pictures that `make screenshots` takes: of the front page, and of each kind of page.

The README and the previews of links show the first, which carries the digest of what it shows.
"""

import os
from hashlib import sha256
from io import BytesIO

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests import ROOT

from .audit import with_first_of_kind

PICTURE = ROOT / "reference" / "picture.png"
# wide enough for previews of links
SIZE = 840, 630
MODES = {
    "desk": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2},
}
# more of the page than would fit at its full size
VIEWPORT, SCALE = {"width": 1400, "height": 1050}, 0.6


def front_page_digest() -> str:
    """Digest of the source of the front page and of the styles."""
    paths = [ROOT / "index.md", *sorted((ROOT / "tools" / "theme" / "styles").glob("*.css"))]
    return sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def take_front_page(new_tab, address) -> None:
    """Take the picture of the front page."""
    tab = new_tab(viewport=VIEWPORT, device_scale_factor=SCALE, color_scheme="light")
    tab.goto(f"{address}index.html")
    screenshot = Image.open(BytesIO(tab.screenshot())).convert("RGB")
    metadata = PngInfo()
    metadata.add_text("shows", front_page_digest())
    # 64 colours are enough, and a quarter of the bytes
    screenshot.quantize(64, dither=Image.Dither.NONE).save(PICTURE, pnginfo=metadata)


def take_each_kind(new_tab, names, address) -> None:
    """Take a picture of each kind of page in each mode, for people to look at."""
    for mode, options in MODES.items():
        tab = new_tab(**options)
        for page in [page for page, first in with_first_of_kind(names) if first]:
            tab.goto(f"{address}{page}?q=softmax")
            name = f"{page.removesuffix('.html').replace('/', '-')}-{mode}.png"
            tab.screenshot(path=ROOT / "_build" / "screenshots" / name, full_page=True)


def test_the_picture_shows_the_front_page_as_it_is(new_tab, names, address):
    if "PICTURES" in os.environ:
        take_front_page(new_tab, address)
        take_each_kind(new_tab, names, address)
    with Image.open(PICTURE) as picture:
        assert picture.size == SIZE
        assert picture.text.get("shows") == front_page_digest(), (
            "stale: `make screenshots` takes it anew"
        )
    assert PICTURE.stat().st_size <= 100 * 1024
