"""What is wrong with a page: its rule, where it is on the page, and what to do about it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SCRIPT = Path(__file__).with_suffix(".js").read_text("utf-8")
OPEN = """document.querySelectorAll("details").forEach((box) => (box.open = true));
document.querySelectorAll("button.toggle-button-hidden").forEach((button) => button.click());"""
# without preload: axe would ask for what style sheets import, at the wrong address
AXE = {"resultTypes": ["violations"], "preload": False}
ALL: dict = {}
ONLY_COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
ONLY_WIDE = {"runOnly": ["scrollable-region-focusable"]}
# axe takes most of its time for the symbols of formulas and the words of code, one after the other:
# a formula becomes plain text, and so does code once three listings have shown each of its colours.
# Of words that look the same, on the same ground, it gets three. A single letter is apart, since
# axe passes no judgement on it
ALIKE = """() => {
  for (const formula of document.querySelectorAll("math:not(:has([style*=color]))")) {
    const text = document.createElement("span");
    text.textContent = formula.textContent;
    formula.replaceWith(text);
  }
  const tokens = new Map();
  for (const code of document.querySelectorAll(".highlight pre")) {
    const looks = [...code.querySelectorAll("span")].map((one) => one.className);
    if (!code.querySelector("a") && looks.every((look) => tokens.get(look) > 2))
      code.textContent = code.textContent;
    for (const look of new Set(looks)) tokens.set(look, (tokens.get(look) ?? 0) + 1);
  }
  const grounds = new Map(), seen = new Map();
  const ground = (one) => {
    if (!one) return "";
    if (!grounds.has(one)) {
      const { backgroundColor, backgroundImage, opacity, filter } = getComputedStyle(one);
      const own = [backgroundColor, backgroundImage, opacity, filter].join();
      const clear = own === "rgba(0, 0, 0, 0),none,1,none";
      grounds.set(one, (clear ? "" : own) + ground(one.parentElement));
    }
    return grounds.get(one);
  };
  for (const one of document.querySelectorAll("body *:not(:has(*))")) {
    if (!one.checkVisibility()) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(one);
    const long = one.textContent.trim().length > 1;
    const look = [long, color, fontSize, fontWeight, textShadow, ground(one)].join();
    seen.set(look, (seen.get(look) ?? 0) + 1);
    one.toggleAttribute("data-alike", seen.get(look) > 3);
  }
  axe.configure({ rules: [{ id: "color-contrast", selector: "*:not([data-alike])" }] });
}"""


class Fault(NamedTuple):
    """One thing wrong with a page."""

    rule: str
    where: str
    advice: str


class Facts(NamedTuple):
    """What a page is to the pages that link to it, and what is wrong with it."""

    faults: list[Fault]
    title: str
    ids: list[str]
    links: list[tuple[str, str]]
    words: list[str]


def facts(page: Page) -> Facts:
    """What an open page holds, once every box on it is open."""
    page.evaluate(OPEN)
    found = page.evaluate(SCRIPT)
    faults = [Fault(*one) for one in found.pop("faults")]
    return Facts(faults, **found)


def axe(page: Page, rules: dict = ALL) -> list[Fault]:
    """What axe-core finds wrong with a page as it is now, by these of its rules."""
    page.evaluate(Axe().axe_script)
    page.evaluate(ALIKE)
    return [
        Fault(f"axe:{rule['id']}", " ".join(map(str, node["target"])), advice(rule, node))
        for rule in page.evaluate("options => axe.run(options)", AXE | rules)["violations"]
        for node in rule["nodes"]
    ]


def advice(rule: dict, node: dict) -> str:
    """The first way that axe knows to mend an element, after the name of the rule."""
    ways = [*node["any"], *node["all"], *node["none"]]
    return f"{rule['help']}; {ways[0]['message']}" if ways else rule["help"]


def in_short(faults: list[Fault]) -> Iterator[str]:
    """One line for each rule that is broken, with the first of the places."""
    rules: dict[str, list[Fault]] = {}
    for fault in faults:
        rules.setdefault(fault.rule, []).append(fault)
    for rule, (first, *others) in rules.items():
        times = f" ({len(others) + 1} times)" if others else ""
        yield f"{rule}{times} at {first.where}: {first.advice}"


def dead_links(pages: dict[str, Facts], site: Path, address: str) -> dict[str, list[Fault]]:
    """Each page's links to a file or a place that the site does not have."""
    ids = {page: set(found.ids) for page, found in pages.items()}

    def missing(link: str) -> str:
        url, place = urldefrag(link)
        path = unquote(url.removeprefix(address).partition("?")[0])
        if (site / path).is_dir():
            path = f"{path.rstrip('/')}/index.html".lstrip("/")
        if not url.startswith(address):
            return ""
        if not (site / path).is_file():
            return f"the site has no file {path}"
        there = not place or path not in ids or unquote(place) in ids[path]
        return "" if there else f"{path} has no #{place}"

    return {
        page: [
            Fault("dead-link", where, why) for link, where in found.links if (why := missing(link))
        ]
        for page, found in pages.items()
    }
