"""The numbers of the picture and of its sentences, of what a model computed; view.js has the same.

The picture shows one token, block and head, its `Focus`. `trace` has the model's intermediate
values by name, and `vocabulary` the tokens that may be written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import degrees

from torch import Tensor

from attncourse.figures.numbers import format_number
from attncourse.figures.whole.places import (
    BAR_HIGH,
    COLUMNS,
    NEXT,
    NEXT_WIDE,
    STEP,
    block_top,
    column_left,
    column_middle,
)
from attncourse.figures.writer import token_label

Trace = Mapping[str, Tensor]
Slots = dict[str, list]


@dataclass(frozen=True)
class Text:
    """A text in the model: its decade, the names in the columns, and the ids of the tokens."""

    words: str
    decade: int
    names: Sequence[str]
    ids: Sequence[int]


@dataclass(frozen=True)
class Focus:
    """What the picture shows: a token, the opened block, and a head of it."""

    at: int
    block: int
    head: int


def likeliest(
    logits: Tensor, vocabulary: Sequence[str], count: int = 1
) -> list[tuple[str, float, float]]:
    """Name, logit and probability of the likeliest tokens of the vocabulary."""
    p = logits.softmax(-1)
    best: list[int] = logits[: len(vocabulary)].topk(count).indices.tolist()
    return [(token_label(vocabulary[i]), float(logits[i]), float(p[i])) for i in best]


def numbers(trace: Trace, text: Text, vocabulary: Sequence[str], focus: Focus) -> dict[str, str]:
    """The numbers and the names in the sentences about the parts."""
    at, block, head = focus.at, focus.block, focus.head

    def quoted(name: str) -> str:
        return f"“{name}”"

    def length(name: str, *place: int) -> str:
        return format_number(float(trace[name][place].norm()))

    def pair(name: str) -> str:
        first = trace[name][block, head, at, :2].tolist()
        return f"({', '.join(map(format_number, first))})"

    entering, rows = trace["stream"][block, at], trace["weight"][block, :, at]
    best: list[int] = rows.argmax(-1).tolist()
    ((lens, _, lens_p),) = likeliest(trace["lens"][block, at], vocabulary)
    after = likeliest(trace["logits"][at], vocabulary, NEXT)
    slowest = 10000 ** (2 / trace["query"].shape[-1] - 1)
    return {
        "count": f"{len(text.ids) - 2}",
        "token": quoted(text.names[at]),
        "id": f"{text.ids[at]:,}",
        "vocabulary": f"{trace['logits'].shape[-1]:,}",
        "embedded": length("stream", 0, at),
        "block": f"{block}",
        "head": f"{head}",
        "entering": length("stream", block, at),
        "attended": length("attended", block, at),
        "fed": length("fed", block, at),
        "leaving": length("stream", block + 1, at),
        "lens": quoted(lens),
        "lens_p": format_number(lens_p),
        "mean": format_number(float(entering.mean())),
        "std": format_number(float(entering.std(correction=0))),
        "query": length("query", block, head, at),
        "key": length("key", block, head, at),
        "value": length("value", block, head, at),
        "at": f"{at}",
        "fast": format_number(degrees(at)),
        "slow": format_number(degrees(at * slowest)),
        "straight": pair("query"),
        "turned": pair("turned"),
        "best": quoted(text.names[best[head]]),
        "score": format_number(float(trace["score"][block, head, at, best[head]])),
        "seen": f"{at + 1}",
        "all": f"{len(text.ids)}",
        "weight": format_number(float(rows[head].max())),
        "mixed": length("mixed", block, head, at),
        "active": f"{int((trace['up'][block, at] > 0).sum())}",
        "last": length("stream", -1, at),
        "normed": length("final", at),
        "next": quoted(after[0][0]),
        "logit": format_number(after[0][1]),
        "p": format_number(after[0][2]),
        "five": format_number(sum(p for *_, p in after)),
        **{f"best_{h}": quoted(text.names[i]) for h, i in enumerate(best)},
        **{f"weight_{h}": format_number(float(row.max())) for h, row in enumerate(rows)},
    }


def slots(trace: Trace, text: Text, vocabulary: Sequence[str], focus: Focus) -> Slots:
    """What each slot of the picture holds, in the order of its source: a text, or attributes."""
    return {
        **column_slots(text, focus),
        **stream_slots(trace, len(text.names), focus),
        **head_slots(trace, text, focus),
        **next_slots(likeliest(trace["logits"][focus.at], vocabulary, NEXT)),
    }


def column_slots(text: Text, focus: Focus) -> Slots:
    """The words, and which columns are used, seen by the token, or later than it."""
    n = len(text.names)
    used = ["" if i < n else "none" for i in range(COLUMNS)]
    looks = ["at" if i == focus.at else "seen" if i < focus.at else "later" for i in range(n)]
    return {
        "token": [
            {"class": f"token {'on' if i == focus.at else used[i]}".strip()} for i in range(COLUMNS)
        ],
        "word": padded(text.names, ""),
        "column": [{"x": f"{column_left(focus.at)}", "width": f"{STEP}"}],
        # below the blocks, and above them
        "base": [{"class": name} for name in used * 2],
        "inside": [{"class": name} for name in padded(looks, "none")],
        "mask": padded(["•" if i <= focus.at else "×" for i in range(n)], ""),
    }


def stream_slots(trace: Trace, n: int, focus: Focus) -> Slots:
    """Where the blocks stand, and how wide the lines are that enter them."""
    blocks = len(trace["weight"])
    lines = [
        padded(
            [{"stroke-width": f"{min(7, 1 + length / 60):.2f}"} for length in lengths],
            {"stroke-width": "0"},
        )
        for lengths in trace["stream"].norm(dim=-1).tolist()
    ]
    tops = [f"translate(0 {block_top(b, focus.block, blocks)})" for b in range(blocks)]
    return {
        "block": [
            {"transform": top, "class": "none" if b == focus.block else ""}
            for b, top in enumerate(tops)
        ],
        "line": [line for row in lines[:blocks] for line in row],
        "detail": [{"transform": tops[focus.block]}],
        "opened": [f"block {focus.block}"],
        "inner": lines[focus.block],
    }


def head_slots(trace: Trace, text: Text, focus: Focus) -> Slots:
    """The scores and the weights of the token's query in the head, as texts, bars and arcs."""
    place = focus.block, focus.head, focus.at
    seen = slice(focus.at + 1)
    weights = padded(trace["weight"][place][seen].tolist(), 0.0)
    target = column_middle(focus.at)
    paths = [f"M{x} 38C{x} 14 {target} 26 {target} 4" for x in map(column_middle, range(COLUMNS))]
    return {
        "score": padded(list(map(score_text, trace["score"][place][seen].tolist())), ""),
        "bar": [{"height": f"{BAR_HIGH * weight:.1f}"} for weight in weights],
        "arc": [
            {"d": path, "stroke-width": f"{9 * weight:.2f}"}
            for path, weight in zip(paths, weights, strict=True)
        ],
    }


def next_slots(after: Sequence[tuple[str, float, float]]) -> Slots:
    """The likeliest next tokens."""
    return {
        "name": [name for name, *_ in after],
        "logit": [format_number(logit) for _, logit, _ in after],
        "share": [{"width": f"{NEXT_WIDE * p:.1f}"} for *_, p in after],
        "p": [format_number(p) for *_, p in after],
    }


def padded(contents: Sequence, filler: object) -> list:
    """The contents, and the filler in the columns that are left."""
    return [*contents, *[filler] * (COLUMNS - len(contents))]


def score_text(score: float) -> str:
    """A score in at most four letters."""
    digits = f"{score:.{1 if abs(score) < 9.95 else 0}f}"
    return digits.replace("-0.0", "0.0").replace("-", "−")
