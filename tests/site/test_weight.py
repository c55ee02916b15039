"""What a page weighs, what it asks for and whether it moves, in a browser."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

CHAPTER = "chapters/dot_product.html"
PHONE = {"viewport": {"width": 412, "height": 823}, "device_scale_factor": 1.75, "is_mobile": True}
# answered at an address of its own, which this server does not have
ELSEWHERE = {"404.html"}
SHIFT = """
() => new Promise((done) => {
  let total = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) total += entry.hadRecentInput ? 0 : entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  document.fonts.ready.then(() => setTimeout(() => done(total), 500));
})
"""


def pages(site: Path) -> list[str]:
    names = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    return sorted(names - ELSEWHERE)


def weigh(tab, url: str) -> tuple[int, int, int]:
    """A page's requests to this machine, their bytes, and those when text is compressed."""
    answers = []
    tab.on("response", lambda answer: answers.append(answer))
    tab.goto(url, wait_until="networkidle")
    bodies = [
        (answer.body(), answer.headers.get("content-type", ""))
        for answer in answers
        if answer.url.startswith(("http://127.0.0.1", "file:")) and answer.ok
    ]
    sent = sum(
        len(body) if kind.startswith(("font", "image/png")) else len(gzip.compress(body))
        for body, kind in bodies
    )
    return len(bodies), sum(len(body) for body, _ in bodies), sent


@pytest.fixture(scope="module")
def stock(site, tmp_path_factory) -> Path:
    """The same chapter without what makes ours light."""
    folder = tmp_path_factory.mktemp("stock") / "book"
    command = [sys.executable, "-m", "tools.stock", str(folder), CHAPTER]
    subprocess.run(command, check=True, timeout=600)
    return folder / "_build" / "html"


def test_a_chapter_is_light(address, tab):
    requests, size, sent = weigh(tab, address + CHAPTER)
    assert requests <= 14
    assert size <= 1_100_000
    assert sent <= 260_000


def test_a_chapter_weighs_a_third_of_the_stock_theme_s(site, stock, browser):
    # MathJax, which the stock page loads from another host, is not even counted
    ours, theirs = (
        weigh(browser.new_page(), f"file://{folder}/{CHAPTER}") for folder in (site, stock)
    )
    assert ours[0] < theirs[0]
    assert ours[1] <= 0.35 * theirs[1]
    assert ours[2] <= 0.35 * theirs[2]


def of_each_kind(names: list[str]) -> list[str]:
    """One page of each folder, and every page that is in none."""
    folders = {name.rpartition("/")[0] or name: name for name in reversed(names)}
    return list(folders.values())


# in the dark, pages of a kind differ in nothing that could move
@pytest.mark.parametrize(("scheme", "of"), [("light", list), ("dark", of_each_kind)])
def test_no_page_moves_while_it_loads(scheme, of, site, address, new_tab):
    tab = new_tab(color_scheme=scheme, **PHONE)
    moved = {}
    for page in of(pages(site)):
        tab.goto(address + page, wait_until="networkidle")
        moved[page] = tab.evaluate(SHIFT)
    assert {page: shift for page, shift in moved.items() if shift >= 0.02} == {}


def test_side_bars_menus_and_colours_still_work(address, new_tab):
    tab = new_tab(**PHONE)
    tab.goto(address + CHAPTER, wait_until="networkidle")
    tab.locator("button.primary-toggle").click()
    assert tab.locator("#pst-primary-sidebar-modal").is_visible()
    tab.keyboard.press("Escape")
    tab.locator(".dropdown-source-buttons button").click()
    assert tab.locator(".dropdown-source-buttons .dropdown-menu").is_visible()
    before = tab.locator("html").get_attribute("data-mode")
    tab.locator("button.theme-switch-button").first.click()
    assert tab.locator("html").get_attribute("data-mode") != before
