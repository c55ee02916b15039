"""Cut STIX Two Math down to the signs of formulas: `python font.py STIXTwoMath.ttf` (or .woff2).

Chromium leaves as much room beside a root as its widest form takes, so the tall ones are narrowed.
"""

import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter, parse_unicodes
from fontTools.ttLib import TTFont

SIGNS = (
    "20-7E,A0,AC,B1,B7,D7,F7,131,237,2C6,2C7,2D8-2DC,302-305,307,308,30C,332,338,391-3A9,3B1-3C9,"
    "3D1,3D5,3D6,3F0,3F1,3F5,2010-2016,2026,2032-2037,203E,2057,20D7,2102,210B-211D,2124,"
    "212C-2138,2190-2199,21A6,21D0-21D5,2200-220C,220F-2213,2217-221A,221D,221E,2220-222E,223C,"
    "2243,2245,2248,2254,2260,2261,2264,2265,226A,226B,2282-2287,2295-2299,22A4,22A5,22C0-22C6,"
    "22EE-22F1,2308-230B,23B4,23B5,23D0,23DC-23E1,27E8,27E9,27F5-27FA,1D400-1D467,1D49C-1D4B5,"
    "1D538-1D551,1D6A4,1D6A5,1D6E2-1D71B,1D7CE-1D7D7"
)
ROOT_WIDTH = 850

font = TTFont(sys.argv[1])
subsetter = Subsetter(Options(layout_features=["dtls"], hinting=False))
subsetter.populate(unicodes=parse_unicodes(SIGNS))
subsetter.subset(font)
variants = font["MATH"].table.MathVariants
radical = font.getBestCmap()[0x221A]
root = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(radical)]
tall = {variant.VariantGlyph for variant in root.MathGlyphVariantRecord}
tall |= {part.glyph for part in root.GlyphAssembly.PartRecords}
for name in tall:
    width, bearing = font["hmtx"][name]
    if width > ROOT_WIDTH:
        scale = ROOT_WIDTH / width
        font["glyf"][name].coordinates.scale((scale, 1))
        font["glyf"][name].recalcBounds(font["glyf"])
        font["hmtx"][name] = (ROOT_WIDTH, round(bearing * scale))
font.flavor = "woff2"
font.save(Path(__file__).with_name("static") / "STIXTwoMath.woff2")
