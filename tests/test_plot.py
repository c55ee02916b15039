"""The figures: words for every picture, the page's colour, names that no other figure has."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import torch

from attncourse import plot


def heat(alt="a heat map", **options):
    return plot.heatmap(torch.tensor([[0.25, 0.75]]), ["q"], ["k0", "k1"], alt=alt, **options)


def line(log=False):
    return plot.lines([1, 2, 4], {"a": [1.0, 2.0, 4.0], "b": [3.0, 2.0, 1.0]}, alt="lines", log=log)


@pytest.mark.parametrize("picture", [heat(), line(), line(log=True)], ids=["heat", "line", "log"])
def test_every_figure_is_an_svg_in_the_colour_of_the_text(picture):
    root = ElementTree.fromstring(picture.svg)
    assert root.tag.endswith("svg") and root.get("viewBox")
    assert "currentColor" in picture.svg
    assert plot.TEXT not in picture.svg
    # neither a white card behind it nor a style that reaches the rest of the page
    assert "<style" not in picture.svg
    assert "#ffffff" not in re.sub(r"<g[^>]*text_.*?</g>", "", picture.svg, flags=re.DOTALL)


def test_every_figure_has_words_for_it():
    picture = heat(alt='3 "keys" & <none>')
    assert 'role="img" aria-label="3 &quot;keys&quot; &amp; &lt;none&gt;"' in picture._repr_html_()
    assert repr(picture) == '3 "keys" & <none>'
    assert repr(plot.beside(heat(alt="One."), heat(alt="Two."))) == "One. Two."


def test_numbers_and_labels_are_text_in_the_figure():
    words = " ".join(ElementTree.fromstring(heat(title="head 0").svg).itertext())
    assert all(one in words for one in ("0.25", "0.75", "k0", "k1", "q", "head 0"))


def test_crossed_cells_show_a_hatch_instead_of_a_number():
    crossed = heat(crossed=torch.tensor([[True, False]]))
    words = " ".join(ElementTree.fromstring(crossed.svg).itertext())
    assert "0.25" not in words and "0.75" in words
    assert "<pattern" in crossed.svg and "<pattern" not in heat().svg


def test_two_figures_share_no_id():
    first, second = (set(re.findall(r'id="([^"]+)"', one.svg)) for one in (heat(), line()))
    assert first and second and not first & second


def test_every_reference_in_a_figure_leads_to_an_id_in_it():
    svg = heat(crossed=torch.tensor([[True, False]])).svg + line().svg
    known = set(re.findall(r'id="([^"]+)"', svg))
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    assert used and used <= known


def test_the_same_call_gives_the_same_bytes():
    assert line().svg == line().svg


def test_labels_that_do_not_fit_are_refused_with_the_numbers():
    with pytest.raises(ValueError, match=r"values=\(1, 2\), but 2 rows and 1 cols"):
        plot.heatmap(torch.zeros(1, 2), ["a", "b"], ["c"], alt="")


def test_values_of_any_origin_are_left_as_they_are():
    values = torch.rand(2, 2, dtype=torch.float64, requires_grad=True)
    before = values.detach().clone()
    plot.heatmap(values, ["a", "b"], ["c", "d"], alt="")
    assert values.requires_grad and torch.equal(values, before)


def test_plot_knows_no_mechanism_and_opens_no_window():
    script = "import sys; import attncourse.plot; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert not loaded & {"attncourse.dot_product", "attncourse.claims", "matplotlib.pyplot"}
