"""The figure of sampling: the tally of what is drawn."""

from attncourse.figures.numbers import format_number

from .in_page import NEXT, SAMPLING, bare_page, figure_in, read_slots, read_states, slot_numbers


def press(tab, name: str, times: int = 1) -> dict[str, list[str]]:
    """What the figure shows when a button has been pressed so often."""
    for _ in range(times):
        tab.get_by_role("button", name=name, exact=True).press("Enter")
    return read_slots(figure_in(tab))


def test_a_token_is_drawn_told_and_marked_and_is_the_same_for_everybody(tab):
    tokens_seen = []
    for _ in range(2):
        tab.set_content(bare_page(SAMPLING))
        for draws in range(1, 8):
            texts = press(tab, "draw")
            marked = tab.locator("tr:has(.now) [data-show=token]").all_inner_texts()
            tokens_seen.append(marked)
            (word,) = marked
            assert texts["said"][0].startswith(f"Draw {draws}: “{word}”. ")
            assert sum(map(int, texts["count"])) == draws
            assert texts["count"][texts["token"].index(word)] != "0"
    assert tokens_seen[:7] == tokens_seen[7:] and len({word for (word,) in tokens_seen}) > 1


def test_the_tally_comes_to_the_probabilities(tab):
    tab.set_content(bare_page(SAMPLING))
    wide = NEXT.double().softmax(0)
    for presses, draws in ((1, 100), (8, 900), (27, 3600)):
        press(tab, "draw 100", presses)
        (cells,) = read_states(figure_in(tab), [{}])
        share, gap = slot_numbers(cells["share"]), (slot_numbers(cells["share"]) - wide).abs()
        assert slot_numbers(cells["count"]).tolist() == (share * draws).round().tolist()
        assert slot_numbers(cells["count"]).sum() == draws
        # three standard deviations; the seed is fixed, so that this holds always or never
        assert (gap < 3 * (wide * (1 - wide) / draws).sqrt()).all()
        assert cells["said"][0][0].endswith(
            f"its probability is {format_number(gap.max().item())}."
        )


def test_what_cannot_be_drawn_never_is_and_other_probabilities_clear_the_tally(tab):
    tab.set_content(bare_page(SAMPLING))
    assert "cleared" not in read_slots(figure_in(tab), temperature=4)["said"][0]
    for state, token_count in (({"k": 0}, 1), ({"k": 1, "temperature": 6}, 3), ({"k": 3}, 4)):
        texts_before = read_slots(figure_in(tab), **state)
        assert texts_before["count"] == ["0"] * 5 and texts_before["share"] == [""] * 5
        assert texts_before["said"][0].startswith("The tally is cleared. ") == (token_count > 1)
        assert tab.locator(".now").count() == 0
        texts = press(tab, "draw 100", 10)
        counts = [*map(int, texts["count"])]
        assert sum(counts) == 1000 and [count > 0 for count in counts] == [
            float(chance) > 0 for chance in texts["chance"]
        ]
        assert sum(count > 0 for count in counts) == token_count
