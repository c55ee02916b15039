"""Audit of a page: faults, each with a rule, a place and advice."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# one of each of these folders shows the frame of them all
SHARED_FRAME = ("chapters", "deeper", "exercises", "reference")
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


def scheme_faults(page: Page) -> list[Fault]:
    """Violations that axe-core finds, those of colours in light and in dark."""
    faults = axe_faults(page, ALL_BUT_COLOURS)
    for scheme in ("light", "dark"):
        set_scheme(page, scheme)
        for fault in axe_faults(page, ONLY_COLOURS):
            faults.append(fault._replace(where=f"{fault.where}, {scheme}"))
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
