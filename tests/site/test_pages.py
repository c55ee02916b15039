"""Every page of the site, as each reader meets it: light and dark, on a phone from a folder of
files, with scripts off. Each is loaded once for all that is asked of it there.
"""

import functools
import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .audit import ALL, ONLY_COLOURS, ONLY_WIDE, Facts, Fault, axe, dead_links, facts, in_short
from .conftest import ROOT, watch

MODES = {
    "desk": {"color_scheme": "light"},
    "phone": {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2},
    "no scripts": {"java_script_enabled": False},
}
# for the first page of its kind, and for the others: a phone shows parts that a desk does not, the
# same ones on all pages of a kind, where only what is wider than the phone differs
RULES = {"desk": (ALL, ALL), "phone": (ALL, ONLY_WIDE)}
# one of each of these folders shows them all
ALIKE = ("chapters", "exercises", "_modules")
PICTURES = ROOT / "_build" / "screenshots"
# make screenshots sets it: pictures take longer than all else
KEEP_PICTURES = "PICTURES" in os.environ
MOST_BYTES, MOST_REQUESTS, MOST_ELEMENTS, MOST_SHIFT = 250 * 1024, 8, 8_500, 0.02
# the reference of the whole package is one page
LARGE = {"reference/api.html", "genindex.html"}
SHIFT = """() => document.fonts.ready.then(() => new Promise((done) => {
  let total = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) total += entry.hadRecentInput ? 0 : entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(total), 100);
}))"""


@pytest.fixture(scope="module")
def pages(site) -> list[str]:
    """The pages of the site, as paths in it."""
    paths = (path.relative_to(site) for path in sorted(site.rglob("*.html")))
    return [path.as_posix() for path in paths if "_static" not in path.parts]


def keep_picture(tab, page: str, mode: str) -> None:
    """A picture of the whole page, for people to look at."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    name = f"{page.removesuffix('.html').replace('/', '-')}-{mode.replace(' ', '-')}.png"
    tab.screenshot(path=PICTURES / name, full_page=True)


def report(faults: dict[str, list[Fault]]) -> None:
    """Fail, where a page has a fault, with each page, rule, place and what to do."""
    wrong = [f"{page}: {line}" for page in faults for line in in_short(faults[page])]
    if wrong:
        pytest.fail("\n".join(["the site's pages have faults:", *wrong]), pytrace=False)


@functools.cache
def bytes_sent(path: Path) -> int:
    """What a file weighs on its way; text is sent compressed."""
    content = path.read_bytes()
    return len(content if path.suffix in (".woff2", ".png") else gzip.compress(content))


def too_heavy(tab, page: str, site: Path, address: str) -> Iterator[str]:
    """What a page has too much of."""
    loaded = tab.evaluate(
        "document.fonts.ready.then(() => performance.getEntriesByType('resource').map(e => e.name))"
    )
    files = {site / page, *(site / url.removeprefix(address).partition("?")[0] for url in loaded)}
    sent, elements = sum(map(bytes_sent, files)), tab.locator("*").count()
    if sent > MOST_BYTES:
        yield f"it weighs {sent / 1024:.0f} KiB"
    if len(files) > MOST_REQUESTS:
        yield f"it asks for {len(files)} files"
    if elements > MOST_ELEMENTS and page not in LARGE:
        yield f"it has {elements} elements"


@pytest.fixture(scope="module")
def look(browser, pages, site, address) -> Callable[[str], dict[str, Facts]]:
    """Looks at every page in a mode, once: what each holds, and all its faults."""

    @functools.cache
    def at(mode: str) -> dict[str, Facts]:
        context = browser.new_context(**MODES[mode], reduced_motion="reduce")
        tab = context.new_page()
        errors, kinds, seen = watch(tab), set(), {}
        for page in pages:
            # the page for a wrong address names its parts by the site's
            in_folder = mode == "phone" and page != "404.html"
            tab.goto(
                (f"{site.as_uri()}/" if in_folder else address)
                + page
                + ("?q=softmax" if page == "search.html" else "")
            )
            if page == "search.html" and mode != "no scripts":
                tab.locator("#search-results li a").first.wait_for()
            folder = page.partition("/")[0]
            another = folder in ALIKE and folder in kinds
            kinds.add(folder)
            faults = []
            # what is found is read from other pages
            if mode == "desk" and page != "search.html":
                heavy = too_heavy(tab, page, site, address)
                faults += [Fault("page-heavy", page, why) for why in heavy]
            # nor is it there at once
            if mode == "phone" and page != "search.html":
                if (shift := tab.evaluate(SHIFT)) >= MOST_SHIFT:
                    faults.append(Fault("page-moves", page, f"while it loads, by {shift:.3f}"))
            if KEEP_PICTURES and mode != "no scripts" and not another:
                keep_picture(tab, page, mode)
            here = facts(tab)
            faults += here.faults
            if mode in RULES:
                faults += axe(tab, RULES[mode][another])
            if mode == "desk":
                # a dark page is the light one in other colours
                tab.emulate_media(color_scheme="dark")
                faults += axe(tab, ONLY_COLOURS)
                if KEEP_PICTURES and not another:
                    keep_picture(tab, page, "dark")
                tab.emulate_media(color_scheme="light")
            faults += [Fault("error", page, error) for error in errors]
            seen[page] = here._replace(faults=faults)
            errors.clear()
        context.close()
        return seen

    return at


@pytest.mark.parametrize("mode", MODES)
def test_no_page_has_a_fault(mode, look):
    report({page: here.faults for page, here in look(mode).items()})


def test_no_text_needs_a_script(look):
    faults = {}
    for page, here in look("no scripts").items():
        words, kept = set(look("desk")[page].words), set(here.words)
        if page != "search.html" and len(words & kept) < 0.9 * len(words):
            lost = " ".join(sorted(words - kept)[:20])
            advice = f"show it without scripts: {lost}"
            faults[page] = [Fault("text-needs-scripts", "article", advice)]
    report(faults)


def test_no_link_is_dead(look, site, address):
    report(dead_links(look("desk"), site, address))


def test_every_page_has_a_title_of_its_own(look):
    titles = {page: here.title for page, here in look("desk").items()}
    assert all(titles.values()) and len(set(titles.values())) == len(titles), titles


@pytest.mark.slow
@pytest.mark.parametrize("mode", [{"color_scheme": "dark"}, MODES["phone"]], ids=["dark", "phone"])
def test_no_page_breaks_any_rule_in_any_mode(mode, new_tab, pages, address):
    tab, faults = new_tab(**mode), {}
    for page in pages:
        tab.goto(address + page)
        facts(tab)
        faults[page] = axe(tab)
    report(faults)
