"""What a figure cannot show is refused with the numbers."""

from functools import partial
from pathlib import Path

import pytest
import torch

from attncourse import figures
from attncourse.course.today.models import MACHINES, MODELS, SIZES
from attncourse.figures.interactive import Choice, Interactive, Select, Slider
from attncourse.method_costs import Model, Size, Stack, softmax
from attncourse.positional import sinusoids

from .in_page import FLOPS, LENGTHS, POINTS, SEPARATE, SIDES

Q, K, V = torch.tensor([[1.0, 2, 9], [0, -1, 9]]), torch.eye(3), torch.tensor([[4.0], [2], [0.5]])
MASK = torch.tensor([[True, True, False], [False, False, False]])
EXPLORER = {
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
HALF, NAN = torch.tensor([[0.5, torch.nan]]), torch.tensor([1.0, 2.0, torch.nan, 1.0])
PATH, FALLING = torch.tensor([0, 1, 1, -1]), torch.tensor([9.0, 4.0, 2.0, 0.0])
FEATURES = torch.tensor([[1.0, 2.0], [3.0, 0.5]])
SCORES = torch.tensor([0.5, 2.0, -1.0])
MIXED = Model("mixed", Stack(((1, softmax(2, 2, 4)),) * 4), "", "")


def explorer(**changes):
    return figures.explorer(**(EXPLORER | changes))


def heads(weights, **start):
    return figures.heads(weights, ["q0", "q1"], ["k0", "k1", "k2"], alt="heads", **start)


def heatmap(**options):
    return figures.heatmap(HALF, ["q"], ["k0", "k1"], alt="", **options)


def recorded(forbidden):
    measured, rows = torch.ones(1, 2, 1), ["a", "b"]
    return figures.recorded(
        measured, rows, ["c"], "case", ["d"], corner="", forbidden=forbidden, alt="bars"
    )


def growing(phi_q=FEATURES, phi_k=FEATURES, v=FEATURES, words="ab", chunk=1):
    return figures.growing(phi_q, phi_k, v, list(words), chunk=chunk, alt="state")


def method_costs(sizes=SIZES, models=MODELS, machines=MACHINES, **start):
    return figures.method_costs(sizes, models, machines, alt="costs", **start)


def plane(x, separate=SEPARATE, query=0):
    words, axes = ["the", "river", "bank"], ("water", "money")
    return figures.plane(x, words, axes, separate, query=query, alt="a plane")


# each figure, with what a call of it lacks: the arguments, and the numbers in the error
patterns, clipping = partial(figures.patterns, alt="pairs"), partial(figures.clipping, alt="rows")
receptive = partial(figures.receptive, 9, 3, alt="sees")
running, sampling = partial(figures.running, alt="softmax"), partial(figures.sampling, alt="tokens")
distances, offsets = partial(figures.distances, alt="left"), partial(figures.offsets, alt="scores")
orders = partial(figures.orders, LENGTHS, SIDES, alt="orders")
REFUSED = [
    (lambda: explorer(q=Q[:, :2]), r"q=\(2, 2\), k=\(3, 3\), v=\(3, 1\)"),
    (lambda: explorer(v=V[:2]), r"v=\(2, 1\)"),
    (lambda: explorer(q=Q[0]), r"q=\(3,\)"),
    (lambda: explorer(keys=["k0"]), r"2 queries, 1 keys .* q=\(2, 3\)"),
    (lambda: explorer(widths=[2, 4]), r"widths=\[2, 4\] .* 1 and 3"),
    (lambda: explorer(widths=[]), r"widths=\[\]"),
    (lambda: explorer(masks={}), "masks"),
    (lambda: explorer(masks={"m": MASK.mT}), r"'m' .* \(3, 2\), but q=\(2, 3\)"),
    (lambda: explorer(masks={"m": MASK.int()}), "'m' is torch.int32"),
    (lambda: explorer(query=2), "query=2, .* 2 queries"),
    (lambda: explorer(q=Q.where(Q != 2, torch.nan)), r"q\[0, 1\] is nan"),
    (lambda: explorer(k=K.where(K != 1, torch.inf)), r"k\[0, 0\] is inf"),
    (lambda: explorer(v=V.where(V != 2, -torch.inf)), r"v\[1, 0\] is -inf"),
    (lambda: explorer(q=Q.double() * 1e307), r"\[0, 2\] is inf"),
    (lambda: explorer(keys=[], k=K[:0], v=V[:0]), r"k=\(0, 3\)"),
    (lambda: explorer(alt=" "), "alt is empty"),
    (lambda: heads(torch.zeros(0, 2, 3)), r"weights=\(0, 2, 3\)"),
    (lambda: heads(HALF.expand(1, 2, 2)), r"weights=\(1, 2, 2\), .* 2 queries and 3 keys"),
    (lambda: heads(torch.zeros(2, 3)), r"weights=\(2, 3\)"),
    (lambda: heads(NAN[None, None, :3].expand(1, 2, 3)), r"weights\[0, 0, 2\] is nan"),
    (lambda: heads(torch.zeros(2, 2, 3), head=2), "head starts at option 2, .* 2"),
    (lambda: heads(torch.zeros(2, 2, 3), query=2), "query starts at option 2, .* 2"),
    (lambda: figures.heatmap(HALF, ["a", "b"], ["c"], alt=""), r"\(1, 2\), .* 2 rows and 1 cols"),
    (heatmap, r"values\[0, 1\] is nan"),
    (lambda: heatmap(crossed=torch.tensor([False, True])), r"crossed=\(2,\), .* values=\(1, 2\)"),
    (lambda: figures.lines([1, 2], {x: [1.0, 2.0] for x in "abcd"}, alt=""), "4 series, .* 3"),
    (lambda: figures.curves({x: [(1.0, 1.0)] for x in "abcdefg"}, alt=""), "7 series, .* 6"),
    (lambda: figures.dots({"first": {"empty": []}}, alt=""), "empty"),
    (lambda: figures.dots({x: {"one": [1.0]} for x in "abcd"}, alt=""), "4 groups, .* 3"),
    (lambda: figures.dot_columns({"a": {"one": [1.0]}, "b": {}}, alt=""), "b is of .*one"),
    (lambda: patterns(1, 1), "length=1, width=1"),
    (lambda: patterns(6, 4), "length=6, width=4"),
    (lambda: patterns(6, 7), "length=6, width=7"),
    (lambda: patterns(6, -1), "length=6, width=-1"),
    (lambda: clipping(0, 0), "length=0, max_distance=0"),
    (lambda: clipping(4, 5), "length=4, max_distance=5"),
    (lambda: clipping(4, -1), "length=4, max_distance=-1"),
    (lambda: receptive([]), r"widths=\[\]"),
    (lambda: receptive([3, 4]), r"widths=\[3, 4\]"),
    (lambda: receptive([3], position=9), "position=9, .* 0 to 8"),
    (lambda: figures.kernel_as_heads(5, {}, [1], alt=""), "3 taps"),
    (lambda: figures.kernel_as_heads(5, {"four": [1, 2, 3, 4]}, [1], alt=""), "3 taps"),
    (lambda: running(SCORES, SCORES[:2], 2), r"scores=\(3,\), values=\(2,\)"),
    (lambda: running(SCORES, SCORES, 0), "block=0"),
    (lambda: running(SCORES, SCORES, 4), "block=4"),
    (lambda: running(SCORES.log(), SCORES, 2), "scores.* is nan"),
    (lambda: sampling(SCORES, ["a", "b"]), r"scores=\(3,\), 2 tokens"),
    (lambda: sampling(SCORES[:1], ["a"]), r"scores=\(1,\), 1 tokens"),
    (lambda: sampling(NAN[1:3], ["a", "b"]), "scores.* is nan"),
    (lambda: plane(torch.zeros(3, 3)), r"x=\(3, 3\) .* \(3, 2\)"),
    (lambda: plane(torch.full((3, 2), 3.5)), "3.5 to 3.5, .* -1 to 3"),
    (lambda: plane(torch.full((3, 2), torch.nan)), "x.* is nan"),
    (lambda: plane(POINTS, SEPARATE[:2]), r"\[\(2, 2\), \(2, 2\)\]"),
    (lambda: plane(POINTS, query=3), "query=3, .* 3 words"),
    (lambda: distances({"near": FALLING[:2]}, {"near": FALLING[:2]}), "2 distances"),
    (lambda: distances({"a": FALLING, "b": FALLING}, {"a": PATH}), "one size"),
    (lambda: distances({"a": FALLING, "b": FALLING}, {"a": PATH, "b": PATH[:3]}), "one size"),
    (lambda: distances({"a": FALLING, "b": NAN}, {"a": PATH, "b": PATH}), "nan"),
    (lambda: growing(phi_k=FEATURES[:1]), r"phi_q=\(2, 2\), phi_k=\(1, 2\), v=\(2, 2\)"),
    (lambda: growing(v=FEATURES[:1]), r"v=\(1, 2\)"),
    (lambda: growing(words="abc"), "3 words"),
    (lambda: growing(FEATURES[:0], FEATURES[:0], FEATURES[:0], ""), "0 words"),
    (lambda: growing(chunk=0), "chunk=0, .* 2 words"),
    (lambda: growing(chunk=3), "chunk=3, .* 2 words"),
    (lambda: growing(phi_k=FEATURES * torch.nan), r"phi_k\[0, 0\] is nan"),
    (lambda: growing(phi_k=-FEATURES), "above 0"),
    (lambda: figures.skewing(0, alt=""), "length=0"),
    (lambda: orders([[1, 2, 3], [1, 2]], FLOPS[0]), r"queries_first .* \[3, 2\] .* \[3, 3\]"),
    (lambda: orders(FLOPS[0], [[1, 2, 3], [1, 2]]), r"values_first .* \[3, 2\] .* \[3, 3\]"),
    (lambda: offsets({"absolute": sinusoids(6, 8) @ torch.ones(8, 6)}), "absolute: two pairs"),
    (lambda: offsets({"none": torch.full((2, 2), torch.nan)}), "nan"),
    (lambda: offsets({"a": torch.zeros(3, 3), "b": torch.zeros(4, 4)}), "n by n"),
    (lambda: offsets({"a": torch.zeros(3, 4)}), "n by n"),
    (lambda: offsets({"a": torch.zeros(1, 1)}), "n at least 2"),
    (lambda: offsets({}), "0 methods, .* 1 to 6"),
    (lambda: offsets({x: torch.zeros(2, 2) for x in "abcdefg"}), "7 methods, .* 1 to 6"),
    (lambda: recorded(torch.ones(2, 2, dtype=torch.bool)), r"forbidden=\(2, 2\), .*=\(1, 2, 1\)"),
    (lambda: figures.clocks(1, 8, alt=""), "n=1"),
    (lambda: figures.clocks(8, 5, alt=""), "d=5"),
    (lambda: figures.clocks(8, 0, alt=""), "d=0"),
    (lambda: figures.waves(12, [8, 7], alt=""), r"widths=\[8, 7\]"),
    (lambda: figures.waves(12, [2], alt=""), r"widths=\[2\]"),
    (lambda: figures.waves(12, [], alt=""), r"widths=\[\]"),
    (lambda: figures.turning((3, 4), (1, 0), 4, alt=""), r"5 .* 3\.67"),
    (lambda: method_costs(machines=[]), "4 sizes, 0 machines"),
    (lambda: method_costs(start=(1, 40)), r"start=\(1, 40\), .* 22"),
    (lambda: method_costs(context=100), "context=100"),
    (lambda: method_costs(models=[MIXED]), "4 kinds of layers: 1 to 3"),
    (lambda: method_costs([SIZES[0], Size("odd", {}, "", "")]), "different methods"),
    (lambda: Choice("x", [], 0), "x .* 0, .* 0"),
    (lambda: Select("x", {"a": [1], "b": [2]}, 2), "x .* 2, .* 2"),
    (lambda: Slider("x", [1, 2], 2), "x .* 2, .* 2"),
    (lambda: Slider("x", [1, 2], -1), "x .* -1, .* 2"),
]


@pytest.mark.parametrize(("call", "numbers"), REFUSED, ids=[numbers for _, numbers in REFUSED])
def test_what_cannot_be_shown_is_refused_with_the_numbers(call, numbers):
    with pytest.raises(ValueError, match=numbers):
        call()


def test_a_view_that_is_missing_and_data_that_is_none_are_named():
    with pytest.raises(FileNotFoundError, match=r"nowhere\.js"):
        Interactive(Path("nowhere.js"), {}, [], "", alt="nothing")._repr_html_()
    view = Path(figures.__file__).with_name("explorer.js")
    with pytest.raises(TypeError, match="PosixPath"):
        Interactive(view, {"where": Path("a")}, [], "", alt="a path")._repr_html_()
