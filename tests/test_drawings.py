"""The drawings: each has a page, a picture, and words that can be read."""

import re
import shutil
from xml.etree import ElementTree

import pytest
from PIL import Image

import drawings
from drawings import cards
from drawings.shapes import Drawing, drawing
from tools import pictures
from tools.blocks import parse
from tools.urls import ROOT

SVGS = drawings.svgs()
SVG = "{http://www.w3.org/2000/svg}"


def test_every_drawing_has_a_picture_of_what_it_is_now_on_a_ground_of_its_own():
    assert pictures.stale() == {}, "`make release`"
    picture_paths = sorted((ROOT / pictures.PICTURES).iterdir())
    assert [path.stem for path in picture_paths] == [*SVGS]
    for path in picture_paths:
        with Image.open(path) as picture:
            # where a notebook is dark, black letters on nothing could not be read
            assert picture.convert("RGBA").getextrema()[3] == (255, 255), path
            assert picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255), path


def test_a_picture_is_taken_anew_where_its_drawing_has_changed(tmp_path, monkeypatch):
    shutil.copytree(ROOT / pictures.PICTURES, tmp_path / pictures.PICTURES)
    assert pictures.write(tmp_path) == []
    changed_svgs = SVGS | {"masks": SVGS["masks"].replace("no mask", "no masks")}
    monkeypatch.setattr(pictures, "svgs", lambda: changed_svgs)
    monkeypatch.setenv("ATTNCOURSE_CHROMIUM", "/nowhere")
    with pytest.raises(FileNotFoundError, match=r"taken of masks, .*`make system`"):
        pictures.write(tmp_path)


def test_every_drawing_is_shown_by_one_page_with_a_caption_and_a_name():
    pages = [path.read_text("utf-8") for path in sorted(ROOT.glob("*/*.md"))]
    drawing_blocks = [
        block for page in pages for block in parse(page, 1) if block.kind == "drawing"
    ]
    assert sorted(block.argument for block in drawing_blocks) == [*SVGS]
    assert all(block.text and block.options["name"].startswith("fig-") for block in drawing_blocks)


def test_every_chapter_has_a_card_that_stays_on_its_sheet_and_a_new_one_needs_none():
    chapters = {path.stem for path in (ROOT / "chapters").glob("*.md")}
    assert {*cards.CARDS} == chapters and cards.svg("a_chapter_of_a_fork") == ""
    for chapter in chapters:
        root = ElementTree.fromstring(cards.svg(chapter))
        for element in root.iter(f"{SVG}circle"):
            x, y, r = (float(element.get(name)) for name in ("cx", "cy", "r"))
            assert r <= x <= cards.WIDE - r and r <= y <= cards.HIGH - r, chapter
        for element in root.iter(f"{SVG}text"):
            # drawn about as large as in a drawing
            assert float(element.get("font-size").removesuffix("em")) >= 0.8
            assert (
                0 <= float(element.get("x")) <= cards.WIDE and 8 <= float(element.get("y")) <= 122
            )


@pytest.mark.parametrize("name", SVGS)
def test_a_drawing_has_words_that_stand_for_it_and_fits_a_page(name):
    root = ElementTree.fromstring(SVGS[name])
    assert len((root[0].text or "").split()) >= 12, "say what the drawing shows"
    assert int(root.attrib["width"]) <= 490, "on a phone its letters would be too small"
    assert len(list(root.iter())) <= 400, "a page may have 8,500 elements"
    assert [*root.iter(f"{SVG}text")], "the words in it are text"


def test_two_drawings_may_not_have_one_name():
    with pytest.raises(ValueError, match="query_keys_values"):
        drawing(drawings.DRAWINGS["query_keys_values"])


def test_a_letter_below_another_ends_on_the_line():
    canvas = Drawing(100, 100, "words")
    canvas.text(50, 50, "$q_i k$ and")
    spans = re.findall(r"<tspan(?P<dy>[^>]*)>([^<]*)<", canvas.svg())
    assert [words for _, words in spans] == ["q", "i", " k", " and"]
    shifts = [float(m[1]) if (m := re.search(r'dy="([-.\d]+)em"', dy)) else 0 for dy, _ in spans]
    sizes = [0.75 if "small" in kind else 1 for kind, _ in spans]
    assert sum(a * b for a, b in zip(shifts, sizes, strict=True)) == pytest.approx(0.35, abs=0.01)
