"""The figure of the skew: where its cells are in each step, against the package."""

from itertools import chain

import pytest
import torch

from attncourse.relative import causal_skew, skew

from .in_page import SKEWINGS, all_states, bare_page, figure_in, read_states

# of each cell that is seen: what it says, the share of its ground, its row and column, and if it
# is out
READ_CELLS_JS = """board => {
  const [{ left, top }, grid] = [board.getBoundingClientRect(), board.querySelector(".entry")];
  const em = parseFloat(getComputedStyle(grid).fontSize);
  return [...board.querySelectorAll(".entry")].map((cell) => {
    const box = cell.getBoundingClientRect();
    const at = [box.top - top - 2.1 * em, box.left - left - 4.2 * em];
    const seen = cell.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    const name = [cell.textContent, +cell.style.getPropertyValue("--share")];
    return [...name, at[0] / em / 2.1, at[1] / em / 2.05, seen, cell.matches(".out")];
  });
}"""
Entry = tuple[str, float]


def expected_boards(n: int, causal: int) -> list[list[list[Entry]]]:
    """The rows of each step: entries as label and share, where the share identifies the query."""
    offsets = [f"{x}".replace("-", "−") for x in range(1 - n, 1 if causal else n)]
    table = [[(text, round((i + 1) / n, 3)) for text in offsets] for i in range(n)]
    width = len(offsets)
    padded = [[("pad", 0.0), *row] for row in table]
    flat = [*chain(*padded)][n:]
    reshaped = [flat[i * width : (i + 1) * width] for i in range(n)]
    # the package moves numbers from 1, so that 0 marks what it cuts off
    numbers = torch.arange(1, n * width + 1).view(n, width)
    entries = [("•", 0.0), *chain(*table)]
    skewed = (causal_skew if causal else skew)(numbers.double()).int().tolist()
    cut = [padded[0][n:], *padded[1:]]
    return [table, padded, cut, reshaped, [[entries[name] for name in row] for row in skewed]]


@pytest.mark.parametrize("n", SKEWINGS)
def test_the_cells_of_every_step_lie_where_the_package_moves_them(n, new_tab):
    tab = new_tab(reduced_motion="reduce")
    tab.set_content(bare_page(SKEWINGS[n]))
    board, names = tab.locator(".board"), []
    for state in all_states(direction=2, step=5):
        read_states(figure_in(tab), [state])
        cells = board.evaluate(READ_CELLS_JS)
        names.append([cell[:2] for cell in cells])
        rows = [[] for _ in range(n)]
        for text, share, y, x, is_visible, is_dropped in sorted(cells, key=lambda cell: cell[3]):
            if is_visible and not is_dropped:
                assert [x, y] == pytest.approx([round(x), round(y)], abs=0.02), state
                rows[round(y)].append((text, round(share, 3)))
        step = expected_boards(n, state["direction"])[state["step"]]
        assert rows == step, state
        words = [", ".join(text.replace("•", "zero") for text, _ in row) for row in step]
        description = " ".join(f"Row {i}: {row}." for i, row in enumerate(words))
        assert board.get_attribute("aria-label") == description
    # a cell keeps its offset and its query
    assert all(name == names[0] for name in names)


def test_what_is_dropped_or_cut_stays_in_sight_in_its_step_beside_the_rest(new_tab):
    tab = new_tab(reduced_motion="reduce")
    tab.set_content(bare_page(SKEWINGS[4]))
    for causal, step, count in ((0, 2, 4), (1, 2, 4), (0, 3, 0), (0, 4, 12), (1, 4, 6)):
        read_states(figure_in(tab), [{"direction": causal, "step": step}])
        cells = [cell for cell in tab.locator(".board").evaluate(READ_CELLS_JS) if cell[4]]
        assert sum(is_dropped for *_, is_dropped in cells) == count
        cell_corners = [(round(2 * y), round(2 * x)) for _, _, y, x, *_ in cells]
        assert len({*cell_corners}) == len(cell_corners)
        assert all(y < 0 or x > 3.4 for _, _, y, x, _, is_dropped in cells if is_dropped)


def test_cells_slide_unless_less_motion_is_asked_for(new_tab):
    for motion, slides in (("no-preference", True), ("reduce", False)):
        tab = new_tab(reduced_motion=motion)
        tab.set_content(bare_page(SKEWINGS[4]))
        assert tab.evaluate("document.getAnimations().length") == 0
        read_states(figure_in(tab), [{"step": 1}])
        assert (tab.evaluate("document.getAnimations().length") > 20) == slides
