"""The figures: words for every picture, the page's colour, names that no other figure has."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import torch

from attncourse import figures
from attncourse.figures.drawing import TEXT
from attncourse.figures.interactive import Slider
from attncourse.figures.numbers import format_number, round_to_bits, shortest_digits, to_json
from tests.figures.elements import Elements, slot_texts

from .in_page import FIGURES


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


def heads(queries=("q0", "q1"), alt="two heads"):
    weights = torch.rand(2, 2, 3, generator=torch.Generator())
    return figures.heads(weights, queries, ["k0", "k1", "k2"], alt=alt)


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_an_interactive_figure_is_whole_and_asks_nobody(figure):
    html = figure._repr_html_()
    elements = Elements(html).elements
    assert {"style", "script", "input"} <= {tag for tag, _ in elements}
    # a link asks nobody before it is followed
    without_links = re.sub(r'(href=|"url":)"https://[^"]*"', "", html)
    assert not re.search(r"//\w|@import|url\(|\bsrc=", without_links)
    names = {name for _, attributes in elements for name in attributes}
    # a notebook may show it twice on one page
    assert not [name for name in names if name == "id" or name.startswith("on")]
    # where no script runs its words stand below it, else they are its name
    assert elements[0][1]["role"] == "group" and slot_texts(figure)["said"] == [repr(figure)]


def test_labels_cannot_break_out_of_the_figure():
    label = """</script><b onclick=''>&"🌊 '""" + "long" * 99
    figure = heads(queries=[label, "q1"], alt=label)
    html = figure._repr_html_()
    assert slot_texts(figure)["said"] == [label]
    assert html.count("</script>") == 1 and "<b on" not in html
    assert "b" not in {tag for tag, _ in Elements(html).elements}


def test_two_figures_have_names_of_their_own():
    names = {
        Elements(figure._repr_html_()).elements[0][1]["data-figure"]
        for figure in (*FIGURES.values(), heads(), heads(queries=["a", "b"]))
    }
    assert len(names) == len(FIGURES) + 2


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


def test_a_control_with_an_index_has_a_symbol_and_a_name():
    html = Slider("d_k", [2, 4]).html()
    assert "<span>d<sub>k</sub></span>" in html and 'aria-label="d_k"' in html
    assert "<sub>" not in Slider("key_mask", [2]).html()


def test_columns_of_a_heat_map_may_stand_apart():
    svg = figures.heatmap(torch.full((1, 3), 0.5), ["q"], [*"abc"], alt="map", apart=2).svg
    corners = re.findall(r'd="M ([\d.]+) [\d.]+ \nL ([\d.]+) [^"]*"[^>]*fill-opacity', svg)
    (a_left, a_right), (b_left, b_right), (c_left, c_right) = (map(float, one) for one in corners)
    assert b_left == pytest.approx(a_right) and c_left - b_right > 0.2 * (a_right - a_left)
    assert c_right - c_left == pytest.approx(a_right - a_left)


def test_each_curve_is_named():
    series = {f"line {i}": [(0.1, 1.0), (1.0, 0.1)] for i in range(6)}
    figure = figures.curves(series, alt="Six falling lines.", title="error", xlabel="cost")
    assert all(f">{name}</text>" in figure.svg for name in (*series, "error", "cost"))
    assert figure.alt == "Six falling lines." and "currentColor" in figure.svg


def test_dots_stand_in_lines_from_the_least_mean_on():
    groups = {"first": {"large": [3.0, 2.0], "small": [1.0]}, "second": {"other": [5.0]}}
    figure = figures.dots(groups, alt="Three lines of dots.", xlabel="bits")
    names = re.findall(r">(large|small|other|first|second|bits)</text>", figure.svg)
    assert names == ["bits", "small", "large", "other", "first", "second"]
    assert figure.alt == "Three lines of dots." and "currentColor" in figure.svg


def test_measures_of_the_same_names_stand_beside_each_other():
    measures = {"bits": {"first": [1.0, 2.0], "second": [3.0]}}
    measures["bytes"] = {"second": [30_000.0], "first": [10_000.0]}
    figure = figures.dot_columns(measures, alt="Two columns of dots.")
    words = re.findall(r">([^<>]+)</text>", figure.svg)
    assert [x for x in words if x in {"first", "second", "bits", "bytes"}] == [
        "bits", "first", "second", "bytes",
    ]  # fmt: skip
    assert any(word.endswith("k") for word in words)
    assert figure.alt == "Two columns of dots."


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
