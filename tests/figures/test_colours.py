"""The colours stand out on light and on dark pages, and what is written on them can be read."""

from itertools import combinations

import pytest

from attncourse.figures.colours import COLOURS, inks
from tests import ROOT

PAGES = ("#ffffff", "#121212")
# WCAG 2.2, success criterion 1.4.3
LEGIBLE = 4.5
INKS = {"black": "#000000", "white": "#ffffff"}


def channels(colour: str) -> list[float]:
    """Red, green and blue of #rrggbb, from 0 to 1."""
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def luminance(rgb: list[float]) -> float:
    """Relative luminance by WCAG."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: list[float], b: list[float]) -> float:
    """Contrast ratio by WCAG."""
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", COLOURS)
def test_a_colour_stands_out_on_a_light_and_on_a_dark_page(name):
    for colour, page in zip(COLOURS[name], PAGES, strict=True):
        assert contrast(channels(colour), channels(page)) >= LEGIBLE


def test_no_two_things_share_a_colour():
    assert all(a != b for a, b in combinations(COLOURS.values(), 2))


def test_symbols_in_equations_have_the_colours_of_drawings():
    style = (ROOT / "tools/theme/styles/formulas.css").read_text("utf-8")
    for name in ("query", "key", "value", "weight", "position"):
        assert f"--{name}: light-dark({', '.join(COLOURS[name])});" in style


@pytest.mark.parametrize("weight", [i / 100 for i in range(101)])
def test_a_weight_can_be_read_on_its_cell(weight):
    for colour, page, ink in zip(COLOURS["weight"], PAGES, inks(weight), strict=True):
        pairs = zip(channels(colour), channels(page), strict=True)
        cell = [weight * a + (1 - weight) * b for a, b in pairs]
        assert contrast(cell, channels(INKS[ink])) >= LEGIBLE
