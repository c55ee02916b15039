"""What an interactive figure does besides: keys, copies, frames, odd labels, one of your own."""

from html import escape

import pytest
import torch

from attncourse import figures
from attncourse.figures.interactive import Interactive, Slider, columns, number, row
from attncourse.figures.numbers import format_number

from .in_page import (
    EXPLORER,
    HEADS,
    PHONE,
    WEIGHTS,
    bare_page,
    figure_in,
    g,
    read_slots,
    read_states,
)

# as JupyterLab and VS Code do: scripts in inserted HTML do not run until they are made anew
INSERT = """(place, html) => {
  place.innerHTML = html;
  for (const script of place.querySelectorAll("script")) {
    const made = document.createElement("script");
    made.textContent = script.textContent;
    script.replaceWith(made);
  }
}"""
# how often a reader that speaks is told of one change
TIMES = """async (figure) => {
  let times = 0;
  const heard = new MutationObserver((changes) => { times += changes.length; });
  heard.observe(figure.querySelector("[aria-live]"), { childList: true });
  figure.querySelector("[type=radio]:not(:checked)").click();
  await new Promise(requestAnimationFrame);
  return times;
}"""


def test_the_page_shows_and_restores_numbers_as_python_does(tab, tmp_path):
    view = tmp_path / "same.js"
    view.write_text("({ x }) => ({ x })")
    ties = [eighths / 8 for eighths in range(-24, 25)]
    near = [0.005, 0.015, 0.045, 0.145, -0.145, 1e-9, 1e20, 1.5e21, -2.25e33, 2.675]
    odd = [torch.nan, torch.inf, -torch.inf]
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        numbers = torch.randn(300, generator=g).round(decimals=3).tolist()
        x = torch.tensor([*ties, *near, *numbers, *odd], dtype=dtype)
        table = "".join(row("", number("x", value)) for value in x)
        tab.set_content(bare_page(Interactive(view, {"x": x}, [], table, alt="the same")))
        texts, values = zip(*read_states(figure_in(tab), [{}])[0]["x"], strict=True)
        assert [*texts] == [format_number(float(value)) for value in x]
        assert [float(value) for value in values[:-3]] == x[:-3].double().tolist()


def test_equal_weights_are_said_together(tab):
    words = list("abcdef")
    rows = torch.tensor([[1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1]])
    weights = (rows / rows.sum(dim=-1, keepdim=True))[None]
    tab.set_content(bare_page(figures.heads(weights, ["x", "y", "z"], words, alt="equal")))
    sentences = [
        read_slots(figure_in(tab), query=i)["said"][0].split("largest weight, ")[1]
        for i in range(3)
    ]
    assert sentences == ["0.50, to a and b.", "0.33, to a, b and c.", "0.17, to all 6 alike."]


@pytest.mark.parametrize("n", [1, 50])
def test_odd_and_many_labels_fit_a_narrow_page(n, new_tab):
    odd = ["</script>", 'a "quoted" one', "🌊🏦", "l" + "o" * 200 + "ng"]
    words, x = [*odd, *map(str, range(46))][:n], torch.eye(n)
    figure = figures.explorer(
        x, x, x[:, :1], words, words, ["v"], widths=[1],
        masks={words[0]: x.bool(), "none": torch.ones_like(x).bool()}, alt='"</script>"',
    )  # fmt: skip
    tab = new_tab(viewport=PHONE)
    few = words[:1] + words[4:12]
    weights = x[None, : len(few), : len(few)]
    tab.set_content(bare_page(figure, figure, figures.heads(weights, few, few, alt="few")))
    first, second, _ = figure_in(tab).all()
    last = n - 1
    assert read_slots(second, query=last, mask=0)["said"][0].startswith(
        f"Query {words[last]} gives its"
    )
    assert read_slots(first)["said"][0].startswith(f"Query {words[0]} ")
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    # what has to be scrolled is reached by keyboard
    scrolls = "document.querySelectorAll('.scroll')[2].tabIndex"
    tab.wait_for_function(f"{scrolls} === {0 if n > 1 else -1}")
    tab.set_viewport_size({"width": 9999, "height": 700})
    tab.wait_for_function(f"{scrolls} === -1")


def test_the_explorer_is_used_by_keyboard_alone(tab, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(bare_page(EXPLORER), "utf-8")
    tab.goto(page.as_uri())
    tab.evaluate("heard = []; document.addEventListener('keydown', (e) => heard.push(e.key))")
    figure = figure_in(tab)

    def press_and_read(*presses: str) -> dict[str, list[str]]:
        for press in presses:
            tab.keyboard.press(press)
        return read_slots(figure)

    assert "Query bank" in read_slots(figure)["said"][0]
    assert "Query ." in press_and_read("Tab", "ArrowRight")["said"][0]
    assert "Query the" in press_and_read("ArrowDown")["said"][0]
    assert "Query river" in press_and_read("ArrowRight")["said"][0]
    state = press_and_read("Tab", "ArrowRight", "ArrowRight")
    assert state["said"] == ["Query river may attend to no key. Its output is 0.00, 0.00, 0.00."]
    assert state["score"] == ["−∞"] * 5 and state["weight"] == ["0.00"] * 5
    assert press_and_read("ArrowLeft")["score"].count("−∞") == 3
    assert press_and_read("Tab", "ArrowRight", "ArrowRight")["divisor"] == ["√16"]
    assert tab.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "16"
    assert press_and_read("Tab", "Space")["divisor"] == ["1"]
    assert press_and_read("Tab", "End")["divisor"] == ["8"]
    # Enter sends a form in some browsers, which would load the page again
    figure.evaluate("figure => figure.querySelector('form').requestSubmit()")
    tab.wait_for_timeout(100)
    assert tab.url == page.as_uri() and read_slots(figure)["divisor"] == ["8"]
    # JupyterLab knows by this attribute, and by what it hears, which keys are the figure's own
    assert figure.get_attribute("data-lm-suppress-shortcuts") == "true"
    tab.keyboard.press("Control+k")
    assert tab.evaluate("heard") == ["Tab", "Control", "k"]


def test_pointing_at_a_row_picks_its_query(tab):
    tab.set_content(bare_page(HEADS))
    third = tab.locator("tr").nth(4)
    third.locator("td").nth(2).hover()
    assert "query . gives" in read_slots(figure_in(tab))["said"][0]
    assert third.evaluate("row => getComputedStyle(row).outlineStyle") == "solid"


def test_the_arcs_of_the_chosen_query_lead_from_it_to_the_keys(tab):
    tab.set_content(bare_page(HEADS))
    tab.get_by_text("bank", exact=True).first.hover()
    assert "query bank gives" in read_slots(figure_in(tab))["said"][0]
    ends = "arcs => arcs.map(arc => arc.getAttribute('d').match(/[.\\d]+/g).map(Number))"
    marked = tab.locator("path.on").evaluate_all(ends)
    # the third of four queries, and each of five keys
    assert [(line[0], line[-2]) for line in marked] == [
        (0.625, end) for end in (0.1, 0.3, 0.5, 0.7, 0.9)
    ]
    widths = "arcs => arcs.map(arc => parseFloat(getComputedStyle(arc).strokeWidth))"
    widths_drawn = tab.locator("path.on").evaluate_all(widths)
    assert widths_drawn == pytest.approx((14 * WEIGHTS[0, 2]).tolist(), abs=0.01)


def test_copies_of_a_figure_in_a_notebook_follow_their_own_controls(tab):
    tab.set_content(bare_page("<div></div><div></div><div></div>"))
    boxes = tab.locator("main > div")
    for box, figure in zip(boxes.all(), (EXPLORER, EXPLORER, HEADS), strict=True):
        box.evaluate(INSERT, figure._repr_html_())
    first, second, third = figure_in(tab).all()
    assert "Query the" in read_slots(first, query=0)["said"][0]
    assert "Query ." in read_slots(second, query=3)["said"][0]
    assert "Query the" in read_slots(first)["said"][0]
    assert read_slots(third)["said"][0].startswith("In head 0")
    # two scripts have run, yet a reader that speaks is told once
    assert [figure.evaluate(TIMES) for figure in (first, second)] == [1, 1]
    # the one who wrote the page finds no name of ours in it
    assert tab.evaluate("[typeof view, typeof data, typeof follow]") == ["undefined"] * 3


def test_a_figure_lives_in_a_frame_of_its_own(tab):
    frame = (
        f'<iframe title="output" sandbox="allow-scripts" srcdoc="{escape(bare_page(EXPLORER))}">'
    )
    tab.set_content(bare_page(frame + "</iframe>"))
    figure = tab.frame_locator("iframe").locator(".attncourse-figure")
    figure.get_by_label("the").check()
    assert "Query the" in read_slots(figure)["said"][0]


@pytest.mark.parametrize(("motion", "has_motion"), [("reduce", False), ("no-preference", True)])
def test_nothing_moves_for_those_who_asked_for_that(motion, has_motion, new_tab):
    tab = new_tab(reduced_motion=motion)
    tab.set_content(bare_page(EXPLORER))
    duration = tab.locator(".bar").first.evaluate("bar => getComputedStyle(bar).transitionDuration")
    assert (duration != "0s") == has_motion


def test_a_figure_of_your_own_is_short(tab, tmp_path):
    view = tmp_path / "square.js"
    view.write_text("({ unit }, { x }) => ({ square: x * x, said: `${x * x} ${unit}` })")
    table = columns("x²") + row("all", number("square", 1.0))
    interactive = Interactive(
        view, {"unit": "m²"}, [Slider("x", [1, 3, 5])], table, alt="x squared"
    )
    tab.set_content(bare_page(interactive))
    assert read_slots(figure_in(tab), x=2) == {"square": ["25.00"], "said": ["25 m²"]}
