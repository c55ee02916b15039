"""The figure of the growing state: shuffled tokens, chunks, and room for its numbers."""

from attncourse.figures.numbers import format_number

from .in_page import GROWING, TOKENS, bare_page, figure_in, read_slots

# by how much each cell is wider than its number
SPARE_WIDTH_JS = """all => all.map((one) => {
  const number = document.createRange();
  number.selectNodeContents(one);
  return one.clientWidth - number.getBoundingClientRect().width;
})"""


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
    last = n - 1

    def kinds(slot: str) -> list[list[str]]:
        class_names = figure.locator(f'[data-show="{slot}"]').evaluate_all(
            "all => all.map((one) => one.className)"
        )
        flat = [class_name.removeprefix("heat ") for class_name in class_names]
        return [flat[i * n : (i + 1) * n] for i in range(n)]

    assert read_slots(figure, token=last, chunk=last)["way"] == ["pair"] * n
    assert kinds("block") == kinds("cell")
    assert kinds("cell") == [["pair"] * (i + 1) + ["masked"] * (n - 1 - i) for i in range(n)]
    assert read_slots(figure, chunk=0)["way"] == ["state"] * last + ["pair"]
    assert kinds("block") == [["state"] * i + ["pair"] + ["none"] * (n - 1 - i) for i in range(n)]


def test_numbers_stay_in_their_cells_on_a_phone_with_a_wide_font(new_tab):
    tab = new_tab(viewport={"width": 390, "height": 844})
    tab.set_content(bare_page(GROWING).replace("<body", '<body style="font-family: DejaVu Sans"'))
    spare_widths = tab.locator(".tile:not(.early, .parts) data").evaluate_all(SPARE_WIDTH_JS)
    assert spare_widths and min(spare_widths) >= 0
