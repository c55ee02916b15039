"""What a mouse drags in a figure, a finger drags too, while the page stays where it is."""

import pytest

from .in_page import FIGURES, PHONE, bare_page, figure_in

# a range's value, or where a word of the plane is
VALUE_JS = "handle => handle.value ?? handle.getAttribute('aria-valuetext')"
# the middle of a range's thumb, or of a word's point, and the direction in which there is more room
GRIP_JS = """handle => {
  const box = (handle.querySelector?.("circle") ?? handle).getBoundingClientRect();
  const share = handle.max ? handle.value / handle.max : 0.5;
  const thumb = Math.min(box.height, box.width);
  const left = box.left + thumb / 2 + share * (box.width - thumb);
  return [left, box.top + box.height / 2, share > 0.5 ? -1 : 1];
}"""
HANDLES = "[type=range], .word"
DRAGGED = [name for name, figure in FIGURES.items() if 'type="range"' in figure._repr_html_()]


@pytest.mark.parametrize("name", DRAGGED)
def test_a_finger_drags_each_handle_of_a_figure_while_the_page_stays(name, new_tab):
    tab = new_tab(viewport=PHONE, has_touch=True)
    tab.set_content(bare_page(FIGURES[name], "<div style='height: 2000px'></div>"))
    finger = tab.context.new_cdp_session(tab)

    def touch(kind, *points):
        finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

    for handle in figure_in(tab).locator(HANDLES).all():
        handle.scroll_into_view_if_needed()
        scrolled, value = tab.evaluate("scrollY"), handle.evaluate(VALUE_JS)
        x, y, direction = handle.evaluate(GRIP_JS)
        touch("Start", {"x": x, "y": y})
        # no finger keeps to a line
        for step in range(1, 11):
            touch("Move", {"x": x + 6 * step * direction, "y": y - 2 * step})
        touch("End")
        assert handle.evaluate(VALUE_JS) != value, handle
        assert tab.evaluate("[scrollX, scrollY]") == [0, scrolled]
