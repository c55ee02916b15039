"""Audit of a page: faults, each with a rule, a place and advice."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# one of each of these folders shows the frame of them all
SHARED_FRAME = ("chapters", "exercises", "reference")
WIDTHS = Path(__file__).with_suffix(".js").read_text("utf-8")
FIGURES = Path(__file__).with_name("figures.js").read_text("utf-8")
OPEN = "document.querySelectorAll('details').forEach((box) => (box.open = true))"
# a script that follows the size of a box does so within two frames
FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# a script of the page, if it has one, has followed the preferred colours
SCHEME_IS_SET = "scheme => [undefined, scheme].includes(document.documentElement.dataset.theme)"
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


def with_first_of_kind(names: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield each page with whether it is the first of its kind."""
    folders = set()
    for page in names:
        folder = page.partition("/")[0]
        yield page, folder not in SHARED_FRAME or folder not in folders
        folders.add(folder)


class Fault(NamedTuple):
    """A fault of a page."""

    rule: str
    where: str
    advice: str


def width_faults(page: Page, scripts: bool = True) -> list[Fault]:
    """Faults of width and of elements out of reach, with every box of the page open."""
    page.evaluate(OPEN)
    if scripts:
        page.evaluate(FRAMES)
    return [Fault(*fault) for fault in page.evaluate(WIDTHS)]


def figure_faults(page: Page) -> list[Fault]:
    """Faults of figures: flat, broken, covered, or styled by another figure."""
    return [Fault(*fault) for fault in page.evaluate(FIGURES)]


def axe_faults(page: Page, rules: dict) -> list[Fault]:
    """Violations that axe-core finds in the current state of a page, with these rules."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    # without preload: axe would ask for what style sheets import, at the wrong address
    options = {"resultTypes": ["violations"], "preload": False} | rules
    return [
        Fault(f"axe:{rule['id']}", " ".join(map(str, node["target"])), advice(rule, node))
        for rule in page.evaluate("options => axe.run(options)", options)["violations"]
        for node in rule["nodes"]
    ]


def set_scheme(page: Page, scheme: str) -> None:
    """Set the preferred colour scheme of a page to light or dark."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(SCHEME_IS_SET, arg=scheme)


def scheme_faults(page: Page, seen_looks: set[str]) -> list[Fault]:
    """Violations in light and dark; colours only of looks not in `seen_looks`.

    New looks are added to `seen_looks`. Most of the page is removed.
    """
    schemes = ("light", "dark")
    for scheme in schemes:
        set_scheme(page, scheme)
        page.evaluate(LOOK)
    new = page.evaluate(CHOOSE, list(seen_looks))
    seen_looks |= {*new}
    faults = axe_faults(page, ALL_BUT_COLOURS)
    if new:
        page.evaluate(PRUNE)
        for scheme in schemes:
            set_scheme(page, scheme)
            colour_faults = axe_faults(page, ONLY_COLOURS)
            faults += [fault._replace(where=f"{fault.where}, {scheme}") for fault in colour_faults]
    return faults


def advice(rule: dict, node: dict) -> str:
    """The help of a rule, and axe's first message on an element."""
    checks = [*node["any"], *node["all"], *node["none"]]
    return f"{rule['help']}; {checks[0]['message']}" if checks else rule["help"]


def summary_lines(faults: list[Fault]) -> Iterator[str]:
    """A line for each violated rule, with the first place."""
    for rule, group in groupby(
        sorted(faults, key=lambda fault: fault.rule), lambda fault: fault.rule
    ):
        first, *following = group
        times = f" ({len(following) + 1} times)" if following else ""
        yield f"{rule}{times} at {first.where}: {first.advice}"
