"""Every page of the site, as each reader meets it: on a phone and at a desk, light and dark, from
a folder of files, with scripts off. Each is loaded once for all that is asked of it there.
A push looks at one of each kind.
"""

import functools
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.needs import night

from .audit import (
    Fault,
    axe_faults,
    figure_faults,
    scheme_faults,
    summary_lines,
    width_faults,
    with_first_of_kind,
)

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 720}
# the narrowest that a page must fit, and a usual phone
OTHER_PHONES = ({"width": 320, "height": 568}, {"width": 390, "height": 844})
SEARCH = "search.html"
MAX_BYTES, MAX_REQUESTS, MAX_ELEMENTS, MAX_SHIFT = 250 * 1024, 8, 9_000, 0.02
# every sentence of the course
MAX_SEARCH_BYTES = 300 * 1024
# the reference of the whole package is one page
LARGE_PAGE = "reference/api.html"
RESOURCE_NAMES_JS = """document.fonts.ready.then(
  () => performance.getEntriesByType("resource").map((one) => one.name)
)"""
LAYOUT_SHIFT_JS = """document.fonts.ready.then(() => new Promise((done) => {
  let total = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) total += entry.hadRecentInput ? 0 : entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(total), 100);
}))"""
# how small their letters are, figures.js says
SCROLLING_DRAWINGS_JS = """() => [...document.querySelectorAll(".drawn")]
  .filter((one) => one.scrollWidth > one.clientWidth)
  .map((one) => one.getAttribute("aria-label"))"""
ELEMENT_COUNT_JS = "document.querySelectorAll('*').length"
ARTICLE_TEXT_JS = "document.querySelector('article').innerText"
# what does nothing without scripts, so that a figure keeps it back: controls, and how to use them
CONTROL_TEXTS_JS = """[...document.querySelectorAll(".attncourse-figure [hidden]")]
  .map((one) => one.textContent).join(" ")"""


@functools.cache
def bytes_sent(path: Path) -> int:
    """The bytes sent for a file; text is compressed."""
    content = path.read_bytes()
    return len(content if path.suffix in (".woff2", ".png") else gzip.compress(content))


def weight_faults(tab, page: str, site: Path, base_url: str) -> Iterator[Fault]:
    """Faults of a page with too many bytes, requests or elements."""
    urls = [url.removeprefix(base_url).partition("?")[0] for url in tab.evaluate(RESOURCE_NAMES_JS)]
    # a request of another host is a fault of its own
    files = {site / path for path in (page, *urls) if (site / path).is_file()}
    total_bytes, elements = sum(map(bytes_sent, files)), tab.evaluate(ELEMENT_COUNT_JS)
    if total_bytes > (MAX_SEARCH_BYTES if page == SEARCH else MAX_BYTES):
        yield Fault("page-heavy", page, f"it weighs {total_bytes / 1024:.0f} KiB")
    if len(files) > MAX_REQUESTS:
        yield Fault("page-heavy", page, f"it asks for {len(files)} files")
    if elements > MAX_ELEMENTS and page != LARGE_PAGE:
        yield Fault("page-heavy", page, f"it has {elements} elements")


def layout_faults(tab, page: str) -> Iterator[Fault]:
    """Faults of layout shift on a phone, and of drawings that do not fit."""
    if (shift := tab.evaluate(LAYOUT_SHIFT_JS)) >= MAX_SHIFT:
        yield Fault("page-moves", page, f"while it loads, by {shift:.3f}")
    for drawing in tab.evaluate(SCROLLING_DRAWINGS_JS):
        yield Fault("drawing-wide", drawing, "let it fit")


def script_faults(tab_without_scripts, tab, url: str) -> Iterator[Fault]:
    """Faults of a page without scripts: widths, and words that are missing then."""
    tab_without_scripts.goto(url)
    yield from width_faults(tab_without_scripts, scripts=False)
    words_without_scripts, controls = (
        set(tab_without_scripts.evaluate(words).split())
        for words in (ARTICLE_TEXT_JS, CONTROL_TEXTS_JS)
    )
    words_with_scripts = set(tab.evaluate(ARTICLE_TEXT_JS).split()) - controls
    if len(words_with_scripts - words_without_scripts) > 0.1 * len(words_with_scripts):
        missing = sorted(words_with_scripts - words_without_scripts)
        advice = f"show it without scripts: {' '.join(missing[:20])}"
        yield Fault("text-needs-scripts", "article", advice)


def fail_with(faults: dict[str, list[Fault]]) -> None:
    """Fail if any page has a fault, with a line for each page and rule."""
    lines = [f"{page}: {line}" for page in faults for line in summary_lines(faults[page])]
    if lines:
        pytest.fail("\n".join(["the site's pages have faults:", *lines]), pytrace=False)


def test_no_page_has_a_fault_on_a_phone_or_at_a_desk_or_without_scripts(
    new_tab, names, site, address, pytestconfig, record_property
):
    tab, tab_without_scripts = new_tab(reduced_motion="reduce"), new_tab(java_script_enabled=False)
    faults = {}
    # the search first: a font of a page before would be counted
    pages = dict(with_first_of_kind(sorted(names, key=lambda name: name != SEARCH)))
    if not pytestconfig.getoption("all"):
        pages = {page: is_first for page, is_first in pages.items() if is_first}
        record_property(night("pages of the site"), len(names) - len(pages))
    for page, is_first_of_kind in pages.items():
        # the page for a wrong address names its parts by the site's
        base_url = address if page == "404.html" else f"{site.as_uri()}/"
        tab.set_viewport_size(PHONE)
        tab.goto(base_url + page)
        faults[page] = [*layout_faults(tab, page), *width_faults(tab), *figure_faults(tab)]
        if is_first_of_kind:
            faults[page] += axe_faults(tab, {})
            tab.goto(f"{base_url}{page}?q=softmax")
        for size in OTHER_PHONES:
            tab.set_viewport_size(size)
            # the theme lets keys reach what scrolls now, but not at once
            faults[page] += [
                fault for fault in width_faults(tab) if fault.rule != "scrolls-out-of-reach"
            ]
        tab.set_viewport_size(DESK)
        faults[page] += [
            *weight_faults(tab, page, site, base_url),
            *width_faults(tab),
            *figure_faults(tab),
        ]
        if page != SEARCH:
            faults[page] += script_faults(tab_without_scripts, tab, address + page)
        if is_first_of_kind:
            faults[page] += scheme_faults(tab)
    fail_with(faults)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode",
    [{"color_scheme": "dark"}, {"viewport": PHONE, "device_scale_factor": 2}],
    ids=["dark", "phone"],
)
def test_no_page_breaks_any_rule_in_any_mode(mode, new_tab, names, address):
    tab, faults = new_tab(**mode), {}
    for page in names:
        tab.goto(address + page)
        faults[page] = width_faults(tab) + axe_faults(tab, {})
    fail_with(faults)
