"""The plane of words, before and after a word is moved."""

import pytest
import torch

from attncourse.dot_product import attention

from .in_page import PHONE, PLANE, POINTS, bare_page

WORDS = ["the", "river", "bank"]


def output(tab):
    return [float(x) for x in tab.locator("[data-show=output]").evaluate_all(
        "all => all.map((one) => one.getAttribute('value'))"
    )]  # fmt: skip


def test_a_word_is_dragged_and_stays_in_the_plane(tab):
    tab.set_content(bare_page(PLANE))
    bank = tab.get_by_role("slider", name="bank")
    box = bank.locator("circle").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    side = tab.locator("svg").first.bounding_box()["width"] / 272
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 60 * side, y - 60 * side, steps=3)
    assert bank.get_attribute("aria-valuetext") == "water 2.00, money 2.00"
    points = POINTS.double().clone()
    points[2] = 2
    torch.testing.assert_close(
        torch.tensor(output(tab)).double(),
        attention(points, points, points)[2],
        rtol=1e-5,
        atol=1e-5,
    )
    tab.mouse.move(5, 5)
    tab.mouse.up()
    water_text, money_text = bank.get_attribute("aria-valuetext").split(", ")
    assert (water_text, money_text) == ("water −1.00", "money 3.00")
    tab.mouse.move(x, y)
    assert bank.get_attribute("aria-valuetext") == "water −1.00, money 3.00"
    # the arrow keys would go on from here, but a mouse needs no frame around what it moved
    assert bank.evaluate("word => word.matches(':focus:not(:focus-visible)')")


def test_a_word_is_moved_by_the_arrow_keys(tab):
    tab.set_content(bare_page(PLANE))
    river = tab.get_by_role("slider", name="river")
    river.focus()
    for key in ("ArrowRight", "ArrowUp", "ArrowUp", "ArrowLeft", "ArrowDown"):
        tab.keyboard.press(key)
    assert river.get_attribute("aria-valuetext") == "water 2.00, money 0.25"
    assert river.get_attribute("aria-valuenow") == "2"
    for _ in range(9):
        tab.keyboard.press("ArrowRight")
    assert river.get_attribute("aria-valuetext") == "water 3.00, money 0.25"


def test_the_words_are_put_back(tab):
    tab.set_content(bare_page(PLANE))
    first_output = output(tab)
    for name in ("river", "bank"):
        tab.get_by_role("slider", name=name).focus()
        tab.keyboard.press("ArrowUp")
    assert output(tab) != first_output
    tab.get_by_role("button", name="put the words back").click()
    assert output(tab) == first_output


def test_a_phone_shows_both_planes_below_each_other(new_tab):
    tab = new_tab(viewport=PHONE)
    tab.set_content(bare_page(PLANE))
    first, second = (element.bounding_box() for element in tab.locator("figure").all())
    assert first["y"] + first["height"] <= second["y"] and first["width"] >= 250
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("corner", [("ArrowRight", "ArrowUp"), ("ArrowLeft", "ArrowDown")])
def test_no_name_is_cut_off_at_an_edge(corner, tab):
    tab.set_content(bare_page(PLANE))
    for word in WORDS:
        tab.get_by_role("slider", name=word).focus()
        for key in corner:
            for _ in range(40):
                tab.keyboard.press(key)
    assert output(tab) in ([pytest.approx(3)] * 2, [pytest.approx(-1)] * 2)
    for within in tab.locator("figure svg").all():
        edge = within.bounding_box()
        for name in within.locator("text").all():
            box = name.bounding_box()
            assert edge["x"] <= box["x"]
            assert box["x"] + box["width"] <= edge["x"] + edge["width"]
            # what lies above the letters, and below, may be
            assert edge["y"] - 4 <= box["y"]
            assert box["y"] + box["height"] <= edge["y"] + edge["height"] + 4
