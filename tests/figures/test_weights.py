"""The weights of the figures that run a model: loaded at the first touch, or missed aloud."""

import re
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from attncourse import figures

from .in_page import bare_page, figure_in


class Typed(NamedTuple):
    """A figure to type into: its file of weights, its pages, and what it says of a text."""

    html: str
    weights: str
    pages: list[str]
    field: str
    text: str
    said: str


TYPED = [
    Typed(
        figures.translator(head=1, part=2)._repr_html_(),
        "weights.js",
        ["chapters/tasks.html"],
        "number",
        "1998",
        "tausendneunhundertachtundneunzig”, which is right.",
    ),
    Typed(
        figures.writer()._repr_html_(),
        "english.js",
        ["chapters/language_model.html", "index.html"],
        "Begin a sentence",
        "We must",
        "After “We must”, the model expects",
    ),
]
each_typed = pytest.mark.parametrize("typed", TYPED, ids=lambda typed: typed.weights)


@each_typed
@pytest.mark.parametrize("folder", [False, True], ids=["served", "from a folder"])
def test_on_the_site_the_first_touch_loads_the_weights(
    typed, folder, new_tab, names, site, address
):
    tab, requests = new_tab(reduced_motion="reduce"), []
    tab.on("request", lambda request: requests.append(request.url))
    texts = {page: (site / page).read_text("utf-8") for page in names}
    with_weights = [page for page, text in texts.items() if f"/{typed.weights}" in text]
    # other figures that load them have tests of their own
    pages = [page for page in with_weights if typed.field in texts[page]]
    assert pages == typed.pages
    for page in pages:
        requests.clear()
        tab.goto((f"{site.as_uri()}/" if folder else address) + page)
        figure = figure_in(tab).filter(has=tab.get_by_label(typed.field))
        assert not [url for url in requests if typed.weights in url]
        figure.get_by_label(typed.field).fill(typed.text)
        expect(figure.locator("p[data-show=said]")).to_contain_text(typed.said)
        loaded = rf"_static/{re.escape(typed.weights)}\?v=\w{{8}}$"
        assert len([url for url in requests if re.search(loaded, url)]) == 1


@each_typed
def test_where_the_weights_are_missing_the_figure_says_so(typed, browser):
    # not a watched page, whose test fails at what it lacks
    page = browser.new_page()
    html = re.sub(rf'"{typed.weights}">[^<]*', f'"missing:{typed.weights}">', typed.html)
    page.set_content(bare_page(html))
    page.get_by_label(typed.field).fill(typed.text)
    expect(page.locator("p[data-show=said]")).to_have_text("The model couldn’t be loaded.")
    page.close()
