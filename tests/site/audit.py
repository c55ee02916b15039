"""What is wrong with a page: its rule, where it is on the page, and what to do about it."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# one of each of these folders shows the frame of them all
ALIKE = ("chapters", "exercises", "reference")
WIDTHS = Path(__file__).with_suffix(".js").read_text("utf-8")
FIGURES = Path(__file__).with_name("figures.js").read_text("utf-8")
OPEN = "document.querySelectorAll('details').forEach((box) => (box.open = true))"
# a script that follows the size of a box does so within two frames
FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# a script of the page, if it has one, has followed the preferred colours
TURNED = "scheme => [undefined, scheme].includes(document.documentElement.dataset.theme)"
COLOURS = ["color-contrast", "link-in-text-block"]
ONLY_COLOURS = {"runOnly": COLOURS}
ALL_BUT_COLOURS = {"rules": {name: {"enabled": False} for name in COLOURS}}
# adds to each element how the text that is its own looks now, but for a single letter, on which
# axe passes no judgement; a link beside text of another colour may do without a line below it
LOOK = """() => {
  const grounds = new Map();
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
  for (const one of document.querySelectorAll("body *:not(svg *)")) {
    const texts = [...one.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
    const text = texts.map((node) => node.data).join("").trim() || one.placeholder;
    if (!(text?.length > 1) || !one.checkVisibility()) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(one);
    const size = parseFloat(fontSize), large = size >= 24 || (size >= 18.66 && fontWeight >= 700);
    const beside = one.localName === "a" && getComputedStyle(one.parentElement).color;
    const look = [beside, color, large, textShadow, ground(one)];
    one.look = [one.look, ...look].join();
  }
}"""
# of what looks the same axe gets two on one page of the site, with all that is around them, and of
# other formulas and code nothing but their text: it takes its time for each part; the new looks
CHOOSE = """(seen) => {
  const times = new Map(seen.map((look) => [look, 2]));
  for (const one of document.querySelectorAll("body *")) {
    const before = times.get(one.look) ?? 0;
    if (!one.look || before === 2) continue;
    times.set(one.look, before + 1);
    for (let at = one; at; at = at.parentElement) at.dataset.kept = "";
  }
  const whole = "math, code, pre, .sig-param, .sig-return, svg > :not(title)";
  for (const one of document.querySelectorAll(whole))
    if (!one.querySelector("a, [role], [tabindex], [data-kept]")) one.textContent = one.textContent;
  return [...times.keys()].slice(seen.length);
}"""
PRUNE = """() => {
  document.head.append(...document.querySelectorAll("body style"));
  document.querySelectorAll("body :not([data-kept])").forEach((one) => one.remove());
}"""


def kinds(names: list[str]) -> Iterator[tuple[str, bool]]:
    """Each page, and whether it is the first of its kind."""
    seen = set()
    for page in names:
        folder = page.partition("/")[0]
        yield page, folder not in ALIKE or folder not in seen
        seen.add(folder)


class Fault(NamedTuple):
    """One thing wrong with a page."""

    rule: str
    where: str
    advice: str


def widths(page: Page, scripts: bool = True) -> list[Fault]:
    """What of a page is too wide, too narrow or out of reach, once every box on it is open."""
    page.evaluate(OPEN)
    if scripts:
        page.evaluate(FRAMES)
    return [Fault(*one) for one in page.evaluate(WIDTHS)]


def figures(page: Page) -> list[Fault]:
    """What of a page's figures is flat, broken, covered, or styled by another figure."""
    return [Fault(*one) for one in page.evaluate(FIGURES)]


def axe(page: Page, rules: dict) -> list[Fault]:
    """What axe-core finds wrong with a page as it is now, by these of its rules."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    # without preload: axe would ask for what style sheets import, at the wrong address
    options = {"resultTypes": ["violations"], "preload": False} | rules
    return [
        Fault(f"axe:{rule['id']}", " ".join(map(str, node["target"])), advice(rule, node))
        for rule in page.evaluate("options => axe.run(options)", options)["violations"]
        for node in rule["nodes"]
    ]


def turn(page: Page, scheme: str) -> None:
    """Show a page in the light or in the dark."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(TURNED, arg=scheme)


def in_light_and_dark(page: Page, seen: set[str]) -> list[Fault]:
    """What axe finds in the light and in the dark: colours only of the looks not yet `seen`.

    New looks are added to `seen`. Of the page, little is left.
    """
    schemes = ("light", "dark")
    for scheme in schemes:
        turn(page, scheme)
        page.evaluate(LOOK)
    new = page.evaluate(CHOOSE, list(seen))
    seen |= {*new}
    faults = axe(page, ALL_BUT_COLOURS)
    if new:
        page.evaluate(PRUNE)
        for scheme in schemes:
            turn(page, scheme)
            found = axe(page, ONLY_COLOURS)
            faults += [one._replace(where=f"{one.where}, {scheme}") for one in found]
    return faults


def advice(rule: dict, node: dict) -> str:
    """The first way that axe knows to fix an element, after the name of the rule."""
    ways = [*node["any"], *node["all"], *node["none"]]
    return f"{rule['help']}; {ways[0]['message']}" if ways else rule["help"]


def in_short(faults: list[Fault]) -> Iterator[str]:
    """One line for each rule that is broken, with the first of the places."""
    for rule, group in groupby(sorted(faults, key=lambda one: one.rule), lambda one: one.rule):
        first, *others = group
        times = f" ({len(others) + 1} times)" if others else ""
        yield f"{rule}{times} at {first.where}: {first.advice}"
