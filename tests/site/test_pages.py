"""Every page of the site, as each reader meets it: light, dark, on a phone, with scripts off.

What is wrong with a page is collected, and printed below the tests as a table. Pictures of each
kind of page go to _build/screenshots.
"""

import functools
import shutil
from collections import defaultdict
from collections.abc import Callable

import pytest

from .audit import ALL, ONLY_COLOURS, ONLY_WIDE, Facts, Fault, axe, dead_links, facts, in_short
from .conftest import ROOT, watch

MODES = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}},
    "no scripts": {"java_script_enabled": False},
}
# for the first page of its kind, and for the others: a dark page is the light one in other colours;
# a phone shows parts that a desk does not, the same ones on all pages of a kind, where only what is
# wider than the phone differs
RULES = {
    "light": (ALL, ALL),
    "dark": (ONLY_COLOURS, ONLY_COLOURS),
    "phone": (ALL, ONLY_WIDE),
}
PICTURES = ROOT / "_build" / "screenshots"
# one of each of these folders shows them all
ALIKE = ("chapters", "exercises", "_modules")
# page -> mode -> faults
found: dict[str, dict[str, list[Fault]]] = defaultdict(dict)


class Summary:
    """A pytest plugin that prints the table below the tests."""

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("faults of the site's pages")
        for line in table():
            terminalreporter.write_line(line)


def table() -> list[str]:
    """How many faults each page has in each mode."""
    rows = [["page", *MODES], ["---", *("---:" for _ in MODES)]]
    for page, modes in found.items():
        rows.append([page, *(str(len(modes[mode])) if mode in modes else "" for mode in MODES)])
    return [f"| {' | '.join(row)} |" for row in rows]


@pytest.fixture(scope="module", autouse=True)
def summary(request):
    """Print the table once the tests of this file are done."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    yield
    if found:
        request.config.pluginmanager.register(Summary())


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


@pytest.fixture(scope="module")
def look(browser, pages, address) -> Callable[[str], dict[str, Facts]]:
    """Looks at every page in a mode, once, and notes the faults."""

    @functools.cache
    def at(mode: str) -> dict[str, Facts]:
        context = browser.new_context(**MODES[mode], reduced_motion="reduce")
        tab = context.new_page()
        errors, kinds, seen = watch(tab), set(), {}
        for page in pages:
            tab.goto(address + page + ("?q=softmax" if page == "search.html" else ""))
            if page == "search.html" and mode != "no scripts":
                tab.locator("#search-results li a").first.wait_for()
            folder = page.partition("/")[0]
            another = folder in ALIKE and folder in kinds
            kinds.add(folder)
            if mode != "no scripts" and not another:
                keep_picture(tab, page, mode)
            seen[page] = facts(tab)
            found[page][mode] = [*seen[page].faults]
            if mode in RULES:
                found[page][mode] += axe(tab, RULES[mode][another])
            found[page][mode] += [Fault("error", page, error) for error in errors]
            errors.clear()
        context.close()
        return seen

    return at


@pytest.mark.parametrize("mode", MODES)
def test_no_page_has_a_fault(mode, look):
    report({page: found[page][mode] for page in look(mode)})


def test_no_text_needs_a_script(look):
    faults = {}
    for page, here in look("no scripts").items():
        words, kept = set(look("light")[page].words), set(here.words)
        if page != "search.html" and len(words & kept) < 0.9 * len(words):
            lost = " ".join(sorted(words - kept)[:20])
            advice = f"show it without scripts: {lost}"
            faults[page] = [Fault("text-needs-scripts", "article", advice)]
    report(faults)


def test_no_link_is_dead(look, site, address):
    report(dead_links(look("light"), site, address))


def test_every_page_has_a_title_of_its_own(look):
    titles = {page: here.title for page, here in look("light").items()}
    assert all(titles.values()) and len(set(titles.values())) == len(titles), titles
