"""The picture of the front page, which the README and the previews of links show.

`make screenshots` takes it anew; it carries the digest of what it shows.
"""

import os
from hashlib import sha256

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests import ROOT

NONE = Image.Dither.NONE
PICTURE = ROOT / "reference" / "picture.png"
# wide enough for previews of links
SIZE = 840, 630
# more of the page than would fit at its full size
SEEN, SCALE = {"width": 1400, "height": 1050}, 0.6


def shown() -> str:
    """A digest of the text of the front page and of the styles."""
    paths = [ROOT / "index.md", *sorted((ROOT / "tools" / "theme" / "styles").glob("*.css"))]
    return sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def test_the_picture_shows_the_front_page_as_it_is(new_tab, address, tmp_path):
    if "PICTURES" in os.environ:
        tab = new_tab(viewport=SEEN, device_scale_factor=SCALE, color_scheme="light")
        tab.goto(f"{address}index.html")
        tab.screenshot(path=tmp_path / "page.png")
        note = PngInfo()
        note.add_text("shows", shown())
        # 64 colours are enough, and a quarter of the bytes
        taken = Image.open(tmp_path / "page.png").convert("RGB").quantize(64, dither=NONE)
        taken.save(PICTURE, pnginfo=note)
    with Image.open(PICTURE) as picture:
        assert picture.size == SIZE
        assert picture.text.get("shows") == shown(), "stale: `make screenshots` takes it anew"
    assert PICTURE.stat().st_size <= 100 * 1024
