"""The page of the whole model, the small picture at each chapter's top, and the poster."""

import io

import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

from tests import ROOT
from tests.test_layout import slugs
from tools.extensions.whole import PAGE

NAME = f"{PAGE}.html"


@pytest.mark.parametrize("slug", slugs(ROOT))
def test_a_chapter_begins_with_its_place_in_the_whole_model(slug, site):
    text = (site / f"chapters/{slug}.html").read_text("utf-8")
    picture = BeautifulSoup(text, "html.parser").select_one("h1 + a.you-are-here")
    assert picture and picture.svg.title.text.endswith("lit.")


@pytest.mark.parametrize("slug", ["dot_product", "relative", "transformer"])
def test_the_small_picture_is_small(slug, tab, address):
    for width in (1280, 390):
        tab.set_viewport_size({"width": width, "height": 844})
        tab.goto(f"{address}chapters/{slug}.html")
        box = tab.locator(".you-are-here").bounding_box()
        assert box["height"] <= 112 and box["width"] <= 592


def test_the_small_picture_leads_to_its_part(tab, address):
    tab.goto(f"{address}chapters/relative.html")
    tab.locator(".you-are-here").click()
    tab.wait_for_url("**/the_whole_model.html#part-rope")
    assert tab.locator(".entry:visible strong").inner_text() == "RoPE."
    assert tab.locator("a.part.on").get_attribute("href") == "#part-rope"


def test_the_poster_is_one_sheet_with_every_part(tab, address):
    tab.goto(address + NAME)
    tab.evaluate("window.print = () => {}")
    tab.get_by_role("button", name="Print as a poster").click()
    pages = PdfReader(io.BytesIO(tab.pdf(prefer_css_page_size=True))).pages
    assert len(pages) == 1
    # A3 on its side, in points
    assert [round(float(side)) for side in pages[0].mediabox[2:]] == [1191, 842]
    words = pages[0].extract_text()
    assert all(name in words for name in ("The whole model", "Tokens.", "RoPE.", "Next token."))
    # afterwards the page is as it was
    assert tab.locator("html.poster").count() == 0


def test_nothing_is_loaded_until_the_picture_is_touched(tab, address):
    requests = []
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(address + NAME)
    assert not [url for url in requests if "english.js" in url]
    tab.locator("a.part").first.click()
    tab.wait_for_function("window.attncourseEnglish")
