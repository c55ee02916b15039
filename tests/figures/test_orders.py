"""The two orders of a product: their matrices to scale."""

from itertools import product

import pytest

from .in_page import LENGTHS, ORDERS, PHONE, SIDES, bare_page, figure_in, read_states

BOXES = """figure => ["weight", "plain", "query", "value"].map((role) => {
  const { width, height } = figure.querySelector(`i.${role}`).getBoundingClientRect();
  return [width, height];
})"""


def test_every_matrix_is_drawn_to_one_scale(new_tab):
    tab = new_tab(viewport=PHONE)
    tab.set_content(bare_page(ORDERS))
    figure, units = figure_in(tab), set()
    for (i, n), (j, d) in product(enumerate(LENGTHS), enumerate(SIDES)):
        read_states(figure, [{"n": i, "d": j}])
        (unit, _), *_ = boxes = [
            (wide / w, high / h)
            for (wide, high), (w, h) in zip(
                figure.evaluate(BOXES), [(n, n), (d, d), (d, n), (d, n)], strict=True
            )
        ]
        assert all(box == pytest.approx((unit, unit), rel=0.01) for box in boxes)
        units.add(round(unit, 1))
    assert len(units) == 1
