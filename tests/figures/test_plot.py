"""The figures: words for every picture, the page's colour, names that no other figure has."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from attncourse import figures
from attncourse.dot_product import attention, attention_weights
from attncourse.figures.drawing import TEXT
from attncourse.figures.interactive import Choice, Interactive, Slider
from attncourse.figures.numbers import format_number, round_to_bits, shortest_digits, to_json
from tests.figures.elements import Elements, slot_texts

from .in_page import PHONE, bare_page

# how large, on the screen, what has a font size of 11.6 in a drawing is
WIDE = "svg => 11.6 * svg.getScreenCTM().a"


def heat(alt="a heat map", **options):
    return figures.heatmap(torch.tensor([[0.25, 0.75]]), ["q"], ["k0", "k1"], alt=alt, **options)


def line(log=False):
    return figures.lines(
        [1, 2, 4], {"a": [1.0, 2.0, 4.0], "b": [3.0, 2.0, 1.0]}, alt="lines", log=log
    )


@pytest.mark.parametrize("picture", [heat(), line(), line(log=True)], ids=["heat", "line", "log"])
def test_every_figure_is_an_svg_in_the_colour_of_the_text(picture):
    root = ElementTree.fromstring(picture.svg)
    assert root.tag.endswith("svg") and root.get("viewBox")
    assert "currentColor" in picture.svg
    assert TEXT not in picture.svg
    # neither a white card behind it nor a style that reaches the rest of the page
    assert "<style" not in picture.svg
    assert "#ffffff" not in re.sub(r"<g[^>]*text_.*?</g>", "", picture.svg, flags=re.DOTALL)


def test_every_figure_has_words_for_it():
    picture = heat(alt='3 "keys" & <none>')
    assert 'role="img" aria-label="3 &quot;keys&quot; &amp; &lt;none&gt;"' in picture._repr_html_()
    assert repr(picture) == '3 "keys" & <none>'
    assert repr(figures.beside(heat(alt="One."), heat(alt="Two."))) == "One. Two."


def test_numbers_and_labels_are_text_in_the_figure():
    words = " ".join(ElementTree.fromstring(heat(title="head 0").svg).itertext())
    assert all(label in words for label in ("0.25", "0.75", "k0", "k1", "q", "head 0"))


def test_crossed_cells_show_a_hatch_instead_of_a_number():
    crossed = heat(crossed=torch.tensor([[True, False]]))
    words = " ".join(ElementTree.fromstring(crossed.svg).itertext())
    assert "0.25" not in words and "0.75" in words
    assert "<pattern" in crossed.svg and "<pattern" not in heat().svg


def test_two_figures_share_no_id():
    first, second = (set(re.findall(r'id="([^"]+)"', figure.svg)) for figure in (heat(), line()))
    assert first and second and not first & second


def test_every_reference_in_a_figure_leads_to_an_id_in_it():
    svg = heat(crossed=torch.tensor([[True, False]])).svg + line().svg
    ids = set(re.findall(r'id="([^"]+)"', svg))
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    assert used and used <= ids


def test_the_same_call_gives_the_same_bytes():
    assert line().svg == line().svg


def test_labels_that_do_not_fit_are_refused_with_the_numbers():
    with pytest.raises(ValueError, match=r"values=\(1, 2\), but 2 rows and 1 cols"):
        figures.heatmap(torch.zeros(1, 2), ["a", "b"], ["c"], alt="")


def test_values_of_any_origin_are_left_as_they_are():
    values = torch.rand(2, 2, dtype=torch.float64, requires_grad=True)
    copy = values.detach().clone()
    figures.heatmap(values, ["a", "b"], ["c", "d"], alt="")
    assert values.requires_grad and torch.equal(values, copy)


def test_plot_knows_no_mechanism_and_opens_no_window():
    script = "import sys; import attncourse.figures; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert not loaded & {"attncourse.dot_product", "attncourse.course.claim", "matplotlib.pyplot"}


Q, K, V = torch.tensor([[1.0, 2, 9], [0, -1, 9]]), torch.eye(3), torch.tensor([[4.0], [2], [0.5]])
MASK = torch.tensor([[True, True, False], [False, False, False]])
EXPLORER_ARGS = {
    "q": Q,
    "k": K,
    "v": V,
    "queries": ["q0", "q1"],
    "keys": ["k0", "k1", "k2"],
    "values": ["v0"],
    "widths": [2, 3],
    "masks": {"some": MASK, "all": torch.ones_like(MASK)},
    "alt": "the steps",
}


def explorer(**changes):
    return figures.explorer(**(EXPLORER_ARGS | changes))


def heads(queries=("q0", "q1"), weights=None, alt="two heads", **start):
    weights = torch.rand(2, 2, 3, generator=torch.Generator()) if weights is None else weights
    return figures.heads(weights, queries, ["k0", "k1", "k2"], alt=alt, **start)


VIEW = Path(figures.__file__).with_name("explorer.js")
INTERACTIVE = {"explorer": explorer, "heads": heads}


@pytest.mark.parametrize("figure", INTERACTIVE.values(), ids=INTERACTIVE)
def test_an_interactive_figure_is_whole_and_asks_nobody(figure):
    html = figure()._repr_html_()
    elements = Elements(html).elements
    assert {"table", "style", "script", "input"} <= {tag for tag, _ in elements}
    assert not re.search(r"//\w|@import|url\(|\bsrc=|\bon\w+=", html)
    # a notebook may show it twice on one page
    assert not [attributes for _, attributes in elements if "id" in attributes]
    assert figure()._repr_html_() == html


@pytest.mark.parametrize("figure", INTERACTIVE.values(), ids=INTERACTIVE)
def test_an_interactive_figure_has_words_for_it(figure):
    odd = '3 "keys" & <none>'
    elements = Elements(figure(alt=odd)._repr_html_())
    assert elements.elements[0][1]["role"] == "group"
    # where no script runs they stand below the figure, else they are its name
    assert elements.texts["said"] == [repr(figure(alt=odd))] == [odd]
    with pytest.raises(TypeError, match="alt"):
        figures.heads(torch.rand(1, 1, 1), ["q"], ["k"])
    with pytest.raises(ValueError, match="alt is empty"):
        figure(alt=" ")


def test_controls_that_do_nothing_yet_are_hidden():
    elements = Elements(explorer()._repr_html_() + heads()._repr_html_()).elements
    controls = [attributes for tag, attributes in elements if tag == "input"]
    radios = [control for control in controls if control["type"] == "radio"]
    assert radios and all("hidden" in radio for radio in radios)
    assert [
        element
        for tag, element in elements
        if element.get("class") == "controls" and "hidden" in element
    ]


def test_labels_cannot_break_out_of_the_figure():
    label = """</script><b onclick=''>&"🌊 '""" + "long" * 99
    html = heads(queries=[label, "q1"])._repr_html_()
    assert html.count("</script>") == 1 and "<b on" not in html
    assert "b" not in {tag for tag, _ in Elements(html).elements}


def test_two_figures_have_names_of_their_own():
    names = {
        Elements(figure._repr_html_()).elements[0][1]["data-figure"]
        for figure in (explorer(), heads(), explorer(query=1), heads(queries=["a", "b"]))
    }
    assert len(names) == 4


def test_the_explorer_begins_with_the_numbers_of_the_package():
    q, k = Q[:, :2], K[:, :2]
    weights, output = attention_weights(q, k, MASK), attention(q, k, V, MASK)
    for query in (0, 1):
        texts = slot_texts(explorer(query=query))
        assert texts["dot"] == [f"{x:.2f}".replace("-", "−") for x in k @ q[query]]
        assert texts["weight"] == [f"{x:.2f}" for x in weights[query]]
        assert texts["output"] == [f"{x:.2f}" for x in output[query]]
        assert texts["total"] == [f"{1 - query:.2f}"]
        assert [text == "−∞" for text in texts["score"]] == (~MASK[query]).tolist()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"q": Q[:, :2]}, r"do not go together: q=\(2, 2\), k=\(3, 3\), v=\(3, 1\)"),
        ({"v": V[:2]}, r"do not go together: .* v=\(2, 1\)"),
        ({"q": Q[0]}, r"do not go together: q=\(3,\)"),
        ({"keys": ["k0"]}, r"2 queries, 1 keys and 1 values, but q=\(2, 3\)"),
        ({"widths": [2, 4]}, r"widths=\[2, 4\] do not lie between 1 and 3"),
        ({"widths": []}, r"widths=\[\] do not lie"),
        ({"masks": {}}, "masks is empty"),
        ({"masks": {"m": MASK.mT}}, r"mask 'm' is torch.bool \(3, 2\), but q=\(2, 3\)"),
        ({"masks": {"m": MASK.int()}}, r"mask 'm' is torch.int32 \(2, 3\)"),
        ({"query": 2}, "query=2, but there are 2 queries"),
        ({"q": Q.where(Q != 2, torch.nan)}, r"q\[0, 1\] is nan, but .* needs finite numbers"),
        ({"k": K.where(K != 1, torch.inf)}, r"k\[0, 0\] is inf"),
        ({"v": V.where(V != 2, -torch.inf)}, r"v\[1, 0\] is -inf"),
        ({"q": Q.double() * 1e307}, r"q·k / temperature of \[0, 2\] is inf"),
        ({"keys": [], "k": K[:0], "v": V[:0]}, r"no key to attend to: .* k=\(0, 3\)"),
    ],
)
def test_parts_that_do_not_fit_are_refused_with_the_numbers(changes, words):
    with pytest.raises(ValueError, match=words):
        explorer(**changes)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (torch.zeros(0, 2, 3), r"weights=\(0, 2, 3\): a head, a query and a key are needed"),
        (torch.tensor([[[0, 0, 0], [0, torch.nan, 0]]]), r"weights\[0, 1, 1\] is nan"),
    ],
)
def test_heads_without_numbers_are_refused(weights, words):
    with pytest.raises(ValueError, match=words):
        heads(weights=weights)


def test_heads_begin_where_they_are_told_to():
    html = heads(head=1, query=1)._repr_html_()
    weights = heads(head=1, query=1).data["weights"]
    assert Elements(html).texts["found"] == [format_number(x) for x in weights[1, 1].tolist()]
    for options, words in (({"head": 2}, "head starts at"), ({"query": 2}, "query starts at")):
        with pytest.raises(ValueError, match=words):
            heads(**options)


@pytest.mark.parametrize("weights", [torch.zeros(2, 3, 3), torch.zeros(2, 3)])
def test_heads_that_do_not_fit_are_refused_with_the_numbers(weights):
    shape = re.escape(str(tuple(weights.shape)))
    with pytest.raises(ValueError, match=f"weights={shape}, but 2 queries and 3 keys"):
        heads(weights=weights)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_numbers_travel_in_the_fewest_digits_that_give_them_back(dtype):
    x = torch.tensor([[0.1, -2.5], [1e-9, 1 / 3]], dtype=dtype, requires_grad=True)
    bits, numbers = 53, to_json(x)
    if isinstance(numbers, dict):
        bits, numbers = numbers["bits"], numbers["numbers"]
    assert numbers[0] == [0.1, -2.5]
    assert [[round_to_bits(y, bits) for y in row] for row in numbers] == x.double().tolist()
    infinite = torch.tensor([-torch.inf, 2], dtype=dtype).tolist()
    assert shortest_digits(infinite, bits) == [-torch.inf, 2]


def test_whole_numbers_travel_as_they_are():
    assert to_json(torch.tensor([True, False])) == [1, 0]
    assert to_json(torch.tensor([2**40, -(2**33)])) == [2**40, -(2**33)]
    with pytest.raises(TypeError, match="tensors, lists and text, but got PosixPath"):
        Interactive(VIEW, {"where": Path("a")}, [], "", alt="a path")._repr_html_()


def test_numbers_are_shown_with_two_digits():
    numbers = [1 / 3, -0.001, -10.0, -torch.inf, torch.inf, torch.nan, 1e21]
    words = ["0.33", "0.00", "−10.00", "−∞", "∞", "NaN", "1e+21"]
    assert [format_number(x) for x in numbers] == words


# exact ties, and float32 numbers beside a tie, where the digits that they travel in are not
TIES = [0.125, 0.375, 0.625, 0.875, -0.125, 1.125, 0.005, 0.015, 0.045, 0.145]


def test_every_figure_shows_a_tie_as_torch_prints_it():
    values = torch.tensor([TIES])
    torch.set_printoptions(precision=2)
    printed = re.findall(r"-?\d\.\d\d", str(values))
    torch.set_printoptions(profile="default")
    expected = [x.replace("-0.00", "0.00").replace("-", "−") for x in printed]
    assert expected[:6] == ["0.12", "0.38", "0.62", "0.88", "−0.12", "1.12"]
    names = [f"n{i}" for i in range(len(TIES))]
    texts = ElementTree.fromstring(figures.heatmap(values, ["r"], names, alt="ties").svg).itertext()
    assert [text.strip() for text in texts if "." in text] == expected
    table = figures.heads(values[None], ["r"], names, alt="ties")._repr_html_()
    assert Elements(table).texts["weight"] == expected


def test_numbers_that_are_none_are_refused_with_their_place():
    values = torch.tensor([[0.5, torch.nan]])
    with pytest.raises(ValueError, match=r"values\[0, 1\] is nan, but the figure needs finite"):
        figures.heatmap(values, ["q"], ["k0", "k1"], alt="")
    hidden = torch.tensor([[False, True]])
    assert "0.50" in figures.heatmap(values, ["q"], ["k0", "k1"], alt="", crossed=hidden).svg
    with pytest.raises(ValueError, match=r"crossed=\(2,\), but values=\(1, 2\)"):
        figures.heatmap(values, ["q"], ["k0", "k1"], alt="", crossed=hidden[0])


@pytest.mark.parametrize("control", [Choice, Slider])
@pytest.mark.parametrize(("options", "start"), [([], 0), ([1, 2], 2), ([1, 2], -1)])
def test_a_control_that_cannot_begin_is_refused(control, options, start):
    words = f"x starts at option {start}, but it has {len(options)}"
    with pytest.raises(ValueError, match=words):
        control("x", options, start)


def test_a_control_with_an_index_has_a_symbol_and_a_name():
    html = Slider("d_k", [2, 4]).html()
    assert "<span>d<sub>k</sub></span>" in html and 'aria-label="d_k"' in html
    assert "<sub>" not in Slider("key_mask", [2]).html()


@pytest.mark.parametrize("n", [1, 50])
def test_sentences_of_any_length(n):
    words = [f"w{i}" for i in range(n)]
    square, mask = torch.eye(n), torch.ones(n, n).bool()
    steps = figures.explorer(
        0 * square, square, square[:, :1], words, words, ["v"],
        widths=[1, n], masks={"none": mask}, alt="steps",
    )  # fmt: skip
    assert slot_texts(steps)["weight"] == [format_number(1 / n)] * n
    html = figures.heads(square[None], words, words, alt="heads")._repr_html_()
    assert len(Elements(html).texts["weight"]) == n * n


def test_a_view_that_is_missing_is_named():
    figure = Interactive(Path("nowhere.js"), {}, [], "", alt="nothing")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.js"):
        figure._repr_html_()


def test_more_lines_than_can_be_told_apart_are_refused():
    with pytest.raises(ValueError, match="4 series, but only 3 lines"):
        figures.lines([1, 2], {name: [1.0, 2.0] for name in "abcd"}, alt="four lines")


def test_matrices_stand_side_by_side_at_their_size_and_else_below_each_other(tab):
    labels = [str(i) for i in range(4)]
    heatmap = figures.heatmap(torch.eye(4), labels, labels, alt="one", xlabel="key", ylabel="query")
    tab.set_content(bare_page(figures.beside(heatmap, heatmap, heatmap)))
    tops = "all => new Set(all.map((one) => Math.round(one.getBoundingClientRect().top))).size"
    for width, rows in ((760, 1), (600, 2), (PHONE["width"], 3)):
        tab.set_viewport_size({"width": width, "height": 700})
        assert tab.locator("svg").evaluate_all(tops) == rows
        # 11.6 points
        assert float(tab.locator("svg").first.evaluate(WIDE)) > 15
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_names_below_a_plot_do_not_touch():
    def ticks(x) -> list[str]:
        picture = figures.lines(x, {"a": [1.0] * len(x)}, alt="ticks")
        words = [*ElementTree.fromstring(picture.svg).itertext()]
        return [str(value) for value in x if str(value) in map(str.strip, words)]

    assert ticks([16, 32, 64, 128]) == ["16", "32", "64", "128"]
    assert ticks([4**i for i in range(2, 8)]) == ["16", "64", "256", "1024", "4096", "16384"]
    assert ticks([4**i for i in range(1, 10)]) == ["4", "64", "1024", "16384", "262144"]
    # names of columns are turned where they would make a map wider than a phone's letters allow
    for names, is_turned in ((["the", "river"], False), (["hundred", "thousand"] * 4, True)):
        picture = figures.heatmap(torch.rand(1, len(names)), ["q"], names, alt="names")
        assert ("rotate(-35" in picture.svg) == is_turned
        width = float(ElementTree.fromstring(picture.svg).get("width", "").removesuffix("pt"))
        assert width < 4.7 * 72
