"""The figure of the growing state, before any control is moved, and what it refuses."""

import pytest
import torch

from attncourse import figures
from attncourse.figures.numbers import format_number
from tests.figures.elements import slot_texts

from .in_page import GROWING, TOKENS, bare_page, figure_in, read_slots

FEATURES = torch.tensor([[1.0, 2.0], [3.0, 0.5]])
V = torch.tensor([[4.0, -1.0, 0.0], [0.0, 1.0, 2.0]])

# by how much each cell is wider than its number
SPARE_WIDTH_JS = """all => all.map((one) => {
  const number = document.createRange();
  number.selectNodeContents(one);
  return one.clientWidth - number.getBoundingClientRect().width;
})"""


def test_the_figure_begins_with_all_tokens_read():
    texts = slot_texts(figures.growing(FEATURES, FEATURES, V, ["a", "b"], chunk=1, alt="state"))
    assert texts["key"] == ["1.00", "2.00", "3.00", "0.50"]
    assert texts["value"] == ["4.00", "−1.00", "0.00", "0.00", "1.00", "2.00"]
    assert texts["weight"] == ["4.00", "9.25"]
    assert texts["way"] == ["state", "pair"] and texts["read"] == texts["word"] == ["a", "b"]
    assert texts["z"] == ["4.00", "2.50"]
    assert texts["S"] == ["4.00", "2.00", "6.00", "8.00", "−1.50", "1.00"]
    assert texts["total"] == ["13.25"] * 3
    for form in ("masked", "recurrent", "chunks"):
        assert texts[form] == ["1.21", "0.40", "1.40"]


def test_the_button_shuffles_the_tokens_before_and_the_sums_stay(tab):
    tab.set_content(bare_page(GROWING))
    figure, orders = figure_in(tab), set()
    keys = {word: GROWING.data["phiK"][j].tolist() for j, word in enumerate(TOKENS)}
    texts_before = read_slots(figure, token=3, chunk=1)
    button = tab.get_by_role("button", name="shuffle")
    for press in range(12):
        # by keyboard as by click
        button.press("Enter") if press % 2 else button.click()
        texts = read_slots(figure)
        orders.add(tuple(texts["read"]))
        assert texts["read"] == texts["word"] and texts["read"][3:] == TOKENS[3:]
        assert sorted(texts["read"]) == sorted(TOKENS)
        assert ("shuffled" in texts["said"][0]) == (texts["read"] != TOKENS)
        for position, word in enumerate(texts["word"][:3]):
            got = texts["key"][2 * position : 2 * position + 2]
            assert word == "the" or got == [format_number(x) for x in keys[word]]
        for slot in ("S", "z", "masked", "recurrent", "chunks", "total", "way"):
            assert texts[slot] == texts_before[slot], slot
    assert len(orders) > 3


def test_one_chunk_is_the_matrix_and_chunks_of_one_pair_each_token_with_itself_alone(tab):
    tab.set_content(bare_page(GROWING))
    n, figure = len(TOKENS), figure_in(tab)

    def kinds(slot: str) -> list[list[str]]:
        class_names = figure.locator(f'[data-show="{slot}"]').evaluate_all(
            "all => all.map((one) => one.className)"
        )
        flat = [class_name.removeprefix("heat ") for class_name in class_names]
        return [flat[i * n : (i + 1) * n] for i in range(n)]

    read_slots(figure, chunk=n - 1)
    assert kinds("block") == kinds("cell")
    assert kinds("cell") == [["pair"] * (i + 1) + ["masked"] * (n - 1 - i) for i in range(n)]
    read_slots(figure, chunk=0)
    assert kinds("block") == [["state"] * i + ["pair"] + ["none"] * (n - 1 - i) for i in range(n)]


def test_numbers_stay_in_their_cells_on_a_phone_with_a_wide_font(new_tab):
    tab = new_tab(viewport={"width": 390, "height": 844})
    tab.set_content(
        bare_page(GROWING).replace('<body style="', '<body style="font-family: DejaVu Sans;')
    )
    spare_widths = tab.locator(".tile:not(.early, .parts) data").evaluate_all(SPARE_WIDTH_JS)
    assert spare_widths and min(spare_widths) >= 0


@pytest.mark.parametrize(
    ("phi_q", "phi_k", "v", "words", "chunk", "message"),
    [
        (FEATURES, FEATURES[:1], V, "ab", 1, r"phi_q=\(2, 2\), phi_k=\(1, 2\), v=\(2, 3\)"),
        (FEATURES, FEATURES, V[:1], "ab", 1, r"v=\(1, 3\)"),
        (FEATURES, FEATURES, V, "abc", 1, "3 words"),
        (FEATURES[:0], FEATURES[:0], V[:0], "", 1, "0 words"),
        (FEATURES, FEATURES, V, "ab", 0, "chunk=0, but there are 2 words"),
        (FEATURES, FEATURES, V, "ab", 3, "chunk=3, but there are 2 words"),
        (FEATURES, FEATURES * torch.nan, V, "ab", 1, r"phi_k\[0, 0\] is nan"),
        (FEATURES, -FEATURES, V, "ab", 1, "a feature is not above 0"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_numbers(phi_q, phi_k, v, words, chunk, message):
    with pytest.raises(ValueError, match=message):
        figures.growing(phi_q, phi_k, v, list(words), chunk=chunk, alt="state")
