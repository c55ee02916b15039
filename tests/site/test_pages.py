"""Every page of the site, as each reader meets it: light and dark, on a phone from a folder of
files, with scripts off. Each is loaded once for all that is asked of it there.
"""

import functools
import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT

from .audit import ALL_BUT_COLOURS, Fault, axe, colours, in_short, turn, widths

PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2}
# one of each of these folders shows the frame of them all
ALIKE = ("chapters", "exercises", "reference")
SEARCH = "search.html"
PICTURES = ROOT / "_build" / "screenshots"
# make screenshots sets it: pictures take longer than all else
KEEP_PICTURES = "PICTURES" in os.environ
MOST_BYTES, MOST_REQUESTS, MOST_ELEMENTS, MOST_SHIFT = 250 * 1024, 8, 8_500, 0.02
# every sentence of the course
MOST_TO_SEARCH = 300 * 1024
# the reference of the whole package is one page
LARGE = {"reference/api.html", "genindex.html"}
LOADED = """document.fonts.ready.then(
  () => performance.getEntriesByType("resource").map((one) => one.name)
)"""
SHIFT = """document.fonts.ready.then(() => new Promise((done) => {
  let total = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) total += entry.hadRecentInput ? 0 : entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(total), 100);
}))"""
WORDS = "document.querySelector('article').innerText.split(/\\s+/)"


def keep_picture(tab, page: str, mode: str) -> None:
    """A picture of the whole page, for people to look at."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    name = f"{page.removesuffix('.html').replace('/', '-')}-{mode}.png"
    tab.screenshot(path=PICTURES / name, full_page=True)


@functools.cache
def bytes_sent(path: Path) -> int:
    """What a file weighs on its way; text is sent compressed."""
    content = path.read_bytes()
    return len(content if path.suffix in (".woff2", ".png") else gzip.compress(content))


def too_heavy(tab, page: str, site: Path, address: str) -> Iterator[Fault]:
    """What a page has too much of."""
    urls = [url.removeprefix(address).partition("?")[0] for url in tab.evaluate(LOADED)]
    # a request of another host is a fault of its own
    files = {site / path for path in (page, *urls) if (site / path).is_file()}
    sent, elements = sum(map(bytes_sent, files)), tab.locator("*").count()
    if sent > (MOST_TO_SEARCH if page == SEARCH else MOST_BYTES):
        yield Fault("page-heavy", page, f"it weighs {sent / 1024:.0f} KiB")
    if len(files) > MOST_REQUESTS:
        yield Fault("page-heavy", page, f"it asks for {len(files)} files")
    if elements > MOST_ELEMENTS and page not in LARGE:
        yield Fault("page-heavy", page, f"it has {elements} elements")


def lost_without_scripts(still, tab, page: str, address: str) -> list[Fault]:
    """What is wrong with a page whose scripts do not run, and which words it then lacks."""
    still.goto(address + page)
    faults = widths(still, scripts=False)
    kept, shown = (set(one.evaluate(WORDS)) for one in (still, tab))
    if len(shown - kept) > 0.1 * len(shown):
        advice = f"show it without scripts: {' '.join(sorted(shown - kept)[:20])}"
        faults.append(Fault("text-needs-scripts", "article", advice))
    return faults


def report(faults: dict[str, list[Fault]]) -> None:
    """Fail, where a page has a fault, with each page, rule, place and what to do."""
    wrong = [f"{page}: {line}" for page in faults for line in in_short(faults[page])]
    if wrong:
        pytest.fail("\n".join(["the site's pages have faults:", *wrong]), pytrace=False)


def kinds(names: list[str]) -> Iterator[tuple[str, bool]]:
    """Each page, and whether it is the first of its kind."""
    seen = set()
    for page in names:
        folder = page.partition("/")[0]
        yield page, folder not in ALIKE or folder not in seen
        seen.add(folder)


def test_no_page_has_a_fault_in_light_or_dark_or_without_scripts(new_tab, names, site, address):
    tab, still = new_tab(reduced_motion="reduce"), new_tab(java_script_enabled=False)
    faults = {}
    for page, first in kinds(names):
        turn(tab, "light")
        tab.goto(f"{address}{page}?q=softmax")
        faults[page] = list(too_heavy(tab, page, site, address)) if page != SEARCH else []
        if KEEP_PICTURES and first:
            keep_picture(tab, page, "desk")
            turn(tab, "dark")
            keep_picture(tab, page, "dark")
        faults[page] += widths(tab)
        if page != SEARCH:
            faults[page] += lost_without_scripts(still, tab, page, address)
        faults[page] += axe(tab, ALL_BUT_COLOURS) + colours(tab)
    report(faults)


def test_the_search_with_all_that_it_looks_through_is_light(tab, site, address):
    # alone: a font of the page before would be counted
    tab.goto(f"{address}{SEARCH}?q=softmax")
    assert list(too_heavy(tab, SEARCH, site, address)) == []


def test_no_page_has_a_fault_on_a_phone_from_a_folder(new_tab, names, site, address):
    tab, faults = new_tab(**PHONE, reduced_motion="reduce"), {}
    for page, first in kinds(names):
        # the page for a wrong address names its parts by the site's
        tab.goto((address if page == "404.html" else f"{site.as_uri()}/") + page)
        faults[page] = []
        if (shift := tab.evaluate(SHIFT)) >= MOST_SHIFT:
            faults[page].append(Fault("page-moves", page, f"while it loads, by {shift:.3f}"))
        if KEEP_PICTURES and first:
            keep_picture(tab, page, "phone")
        faults[page] += widths(tab)
        # a phone shows parts that a desk does not, the same ones on all pages of a kind
        if first:
            faults[page] += axe(tab, ALL_BUT_COLOURS) + colours(tab)
            turn(tab, "light")
    report(faults)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [{"color_scheme": "dark"}, PHONE], ids=["dark", "phone"])
def test_no_page_breaks_any_rule_in_any_mode(mode, new_tab, names, address):
    tab, faults = new_tab(**mode), {}
    for page in names:
        tab.goto(address + page)
        faults[page] = widths(tab) + axe(tab, {})
    report(faults)
