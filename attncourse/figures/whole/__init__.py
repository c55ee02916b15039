"""The whole model as one picture, with a text running through it; the browser runs the model.

The columns are tokens, and the picture is read upwards. Each part is a link to its entry below the
picture; with scripts, touching it says what it computes. The first state is made of the numbers of
PyTorch. The model and the scripts that run it are those of the writer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import degrees
from pathlib import Path

from torch import Tensor

from attncourse.figures.interactive import Choice, Interactive, deferred_script
from attncourse.figures.numbers import format_number
from attncourse.figures.writer import FOLDER as WRITER
from attncourse.figures.writer import WEIGHTS, decade_name, token_label

FOLDER = Path(__file__).parent
SCRIPTS = ("session", "model", "pieces")
COLUMNS, STEP, GUTTER = 10, 34, 100
WIDE = GUTTER + COLUMNS * STEP
# from the top: rows of the opened block, each with its height
ROWS = {
    "feed_forward": 36,
    "norm_2": 32,
    "output": 34,
    "heads": 34,
    "values": 40,
    "weights": 46,
    "mask": 32,
    "scores": 32,
    "rope": 34,
    "qkv": 34,
    "norm": 32,
    "block": 34,
}
LABELS = {
    "qkv": "q, k, v",
    "values": "sum",
    "output": "output",
    "final_norm": "last norm",
    "norm_2": "norm",
    "stream": "stream",
    "mask": "mask",
    "next": "next token",
}
NEXT, NEXT_HIGH, CLOSED, INSIDE = 5, 25, 34, sum(ROWS.values())
LOGITS_TOP = NEXT * NEXT_HIGH
FINAL_TOP = LOGITS_TOP + 32
BLOCKS_TOP = FINAL_TOP + 32


@dataclass(frozen=True)
class Text:
    """A text in the model: what stands in each column, the ids of its tokens, its decade."""

    text: str
    decade: int
    names: Sequence[str]
    ids: Sequence[int]


@dataclass(frozen=True)
class Entry:
    """What is said of a part: its name, its sentence, and HTML with links to chapters."""

    name: str
    says: str
    links: str


def whole(
    entries: Mapping[str, Entry],
    trace: Mapping[str, Tensor],
    text: Text,
    vocabulary: Sequence[str],
    decades: Sequence[int],
    *,
    block: int = 0,
    head: int = 0,
    part: str = "weights",
) -> Interactive:
    """Figure: a trained model, part by part, on a text of at most eight tokens.

    `trace` has what it computes for the first text; `vocabulary` has the tokens that it may write.
    """
    blocks, heads = trace["weight"].shape[:2]
    state = slots(trace, text, vocabulary, at=len(text.names) - 1, block=block, head=head)
    values = numbers(trace, text, vocabulary, len(text.names) - 1, block, head)
    says = [entry.says.format(**values) for entry in entries.values()]
    chosen = [*entries].index(part)
    choices = [
        Choice(name, [*map(str, range(count))], start)
        for name, count, start in (("block", blocks, block), ("head", heads, head))
    ]
    return Interactive(
        FOLDER / "view.js",
        {
            "first": {
                "text": text.text,
                "decade": text.decade,
                "block": block,
                "head": head,
                "says": says,
            },
            "sizes": [COLUMNS, STEP, GUTTER, NEXT, CLOSED, INSIDE, BLOCKS_TOP],
            "rows": part_rows(),
            "heads": heads,
            "parts": [*entries],
            "names": [title(entry) for entry in entries.values()],
            "says": [entry.says for entry in entries.values()],
            "unsaid": (WRITER / "unsaid.txt").read_text("utf-8").split(),
        },
        [Field(text.text, text.decade, decades), *choices],
        "",
        alt=f"{title(entries[part])}. {says[chosen]}",
        picture=picture_html(state, entries, part, (block, blocks), (head, heads))
        + f'<input type="hidden" name="part" value="{chosen}">'
        + '<input type="hidden" name="at" value="-1">'
        + deferred_script(WEIGHTS),
        below=entries_html(entries, says, part),
        scripts=[WRITER / f"{script}.js" for script in SCRIPTS]
        + [FOLDER / "start.js"],
    )


@dataclass(frozen=True)
class Field:
    """A text field and a list of decades; the view receives both."""

    text: str
    decade: int
    decades: Sequence[int]

    def html(self) -> str:
        """HTML of the field and the list."""
        options = "".join(
            f'<option value="{year}"{" selected" * (year == self.decade)}>{decade_name(year)}'
            for year in self.decades
        )
        return (
            '<label class="typed">your words <input type="text" name="text" '
            f'value="{escape(self.text)}" spellcheck="false" autocapitalize="off"></label>'
            f'<label>decade <select name="decade">{options}</select></label>'
        )


def title(entry: Entry) -> str:
    """The name of a part, as a sentence begins."""
    return entry.name[0].upper() + entry.name[1:]


# --- the numbers


def likeliest(logits: Tensor, vocabulary: Sequence[str], count: int) -> list[tuple]:
    """Name, score and probability of the likeliest tokens of the vocabulary."""
    p = logits.softmax(-1)
    best = logits[: len(vocabulary)].topk(count).indices.tolist()
    return [(token_label(vocabulary[i]), float(logits[i]), float(p[i])) for i in best]


def numbers(
    trace: Mapping[str, Tensor],
    text: Text,
    vocabulary: Sequence[str],
    at: int,
    block: int,
    head: int,
) -> dict[str, str]:
    """The numbers and names in the sentences about the parts, for one token, block and head."""

    def quoted(i: int) -> str:
        return f"“{text.names[i]}”"

    def length(name: str, *place: int) -> str:
        return format_number(float(trace[name][place].norm()))

    def pair(name: str) -> str:
        first = trace[name][block, head, at, :2].tolist()
        return f"({', '.join(map(format_number, first))})"

    entering = trace["stream"][block, at]
    rows = trace["weight"][block, :, at]
    best = [int(row.argmax()) for row in rows]
    (lens, _, lens_p), *_ = likeliest(trace["lens"][block, at], vocabulary, 1)
    after = likeliest(trace["logits"][at], vocabulary, NEXT)
    slowest = 10000 ** (2 / trace["query"].shape[-1] - 1)
    return {
        "count": f"{len(text.ids) - 2}",
        "token": quoted(at),
        "id": f"{text.ids[at]:,}",
        "vocabulary": f"{trace['logits'].shape[-1]:,}",
        "embedded": length("stream", 0, at),
        "block": f"{block}",
        "head": f"{head}",
        "entering": length("stream", block, at),
        "attended": length("attended", block, at),
        "fed": length("fed", block, at),
        "leaving": length("stream", block + 1, at),
        "lens": f"“{lens}”",
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
        "best": quoted(best[head]),
        "score": format_number(float(trace["score"][block, head, at, best[head]])),
        "seen": f"{at + 1}",
        "all": f"{len(text.ids)}",
        "weight": format_number(float(rows[head].max())),
        "mixed": length("mixed", block, head, at),
        "active": f"{int((trace['up'][block, at] > 0).sum())}",
        "last": length("stream", -1, at),
        "normed": length("final", at),
        "next": f"“{after[0][0]}”",
        "logit": format_number(after[0][1]),
        "p": format_number(after[0][2]),
        "five": format_number(sum(p for *_, p in after)),
        **{f"best_{h}": quoted(i) for h, i in enumerate(best)},
        **{f"weight_{h}": format_number(float(row.max())) for h, row in enumerate(rows)},
    }


def block_top(i: int, opened: int, blocks: int) -> int:
    """The upper edge of a block, of which one is opened; block 0 is the lowest."""
    return BLOCKS_TOP + CLOSED * (blocks - 1 - i) + (INSIDE - CLOSED) * (i < opened)


def stream_width(length: float) -> str:
    """The width of the line of a vector of some length."""
    return f"{min(7, 1 + length / 60):.2f}"


def score_text(score: float) -> str:
    """A score in at most four letters."""
    digits = f"{score:.{1 if abs(score) < 9.95 else 0}f}"
    return digits.replace("-0.0", "0.0").replace("-", "−")


def slots(
    trace: Mapping[str, Tensor],
    text: Text,
    vocabulary: Sequence[str],
    *,
    at: int,
    block: int,
    head: int,
) -> dict[str, list]:
    """What each slot of the picture holds: a text, or attributes; view.js makes the same."""
    n, blocks = len(text.names), trace["weight"].shape[0]
    used = ["" if i < n else "none" for i in range(COLUMNS)]
    scores, weights = trace["score"][block, head, at], trace["weight"][block, head, at]
    lengths = trace["stream"].norm(dim=-1)
    seen = [*range(at + 1)]
    after = likeliest(trace["logits"][at], vocabulary, NEXT)
    target = column_x(at)

    def padded(contents: Sequence, filler: object) -> list:
        return [*contents, *[filler] * (COLUMNS - len(contents))]

    return {
        "token": [
            {"class": f"token {'on' if i == at else used[i]}".strip()} for i in range(COLUMNS)
        ],
        "word": padded(text.names, ""),
        "column": [{"x": f"{GUTTER + STEP * at}"}],
        "base": [{"class": name} for name in used],
        "line": [
            {"stroke-width": stream_width(float(lengths[b, i])) if i < n else "0"}
            for b in range(blocks)
            for i in range(COLUMNS)
        ],
        "block": [
            {
                "transform": f"translate(0 {block_top(b, block, blocks)})",
                "class": "none" if b == block else "",
            }
            for b in range(blocks)
        ],
        "detail": [{"transform": f"translate(0 {block_top(block, block, blocks)})"}],
        "opened": [f"block {block}"],
        "inside": [
            {"class": "at" if i == at else "seen" if i < at else used[i] or "later"}
            for i in range(COLUMNS)
        ],
        "inner": padded(
            [{"stroke-width": stream_width(float(x))} for x in lengths[block]],
            {"stroke-width": "0"},
        ),
        "score": padded([score_text(float(scores[i])) for i in seen], ""),
        "mask": padded(["•" if i <= at else "×" for i in range(n)], ""),
        "bar": [
            {"height": f"{38 * float(weights[i]) if i <= at else 0:.1f}"} for i in range(COLUMNS)
        ],
        "arc": [
            {
                "d": f"M{column_x(i)} 38C{column_x(i)} 14 {target} 26 {target} 4",
                "stroke-width": f"{9 * float(weights[i]) if i <= at else 0:.2f}",
            }
            for i in range(COLUMNS)
        ],
        "name": [name for name, *_ in after],
        "logit": [format_number(score) for _, score, _ in after],
        "share": [{"width": f"{120 * p:.1f}"} for *_, p in after],
        "p": [format_number(p) for *_, p in after],
    }


# --- the picture


def part_rows() -> list[str]:
    """The part of each row, in the order of the picture's source; both norms are one part."""
    inside = [name.removesuffix("_2") for name in reversed(ROWS)]
    return ["embedding", "stream", *inside, "final_norm", "logits", "next"]


def column_x(i: int) -> int:
    """Where the shapes of a column are centred, beside its line of the stream."""
    return GUTTER + STEP * i + 20


def picture_html(
    state: Mapping[str, list],
    entries: Mapping[str, Entry],
    part: str,
    opened: tuple[int, int],
    chosen: tuple[int, int],
) -> str:
    """SVG of the first state: a block of so many is opened, and a head of so many is chosen."""
    block, blocks = opened
    stream_top = BLOCKS_TOP + CLOSED * (blocks - 1) + INSIDE
    tokens_top = stream_top + 32 + 36
    high = tokens_top + 80
    order = [*entries]

    def row(name: str, top: int, tall: int, label: str = "", slot: str = "part") -> str:
        key = "norm" if name == "norm_2" else name
        on = " on" * (key == part)
        words = label or LABELS.get(name, entries[key].name)
        opened = ' data-show="opened"' * (slot == "part" and name == "block")
        return (
            f'<a class="part{on}" data-show="{slot}" data-part="{order.index(key)}" '
            f'href="#part-{key}">'
            f'<rect x="1" y="{top + 1}" width="{WIDE - 2}" height="{tall - 2}" rx="5"/>'
            f'<text x="8" y="{top + tall / 2 + 5}"{opened}>{words}</text></a>'
        )

    closed = "".join(
        f'<g data-show="block" data-block="{b}" {attributes(state["block"][b])}>'
        + row("block", 0, CLOSED, f"block {b}", "closed")
        + "".join(
            f'<path class="stream" data-show="line" {attributes(state["line"][b * COLUMNS + i])} '
            f'd="M{column_x(i) - 16} 0v{CLOSED}"/>'
            for i in range(COLUMNS)
        )
        + "</g>"
        for b in range(blocks)
    )
    return (
        f'<svg data-show="sheet" class="sheet" viewBox="0 0 {WIDE} {high}" role="group" '
        'aria-label="The whole model, read upwards">'
        f'<rect class="column" data-show="column" {attributes(state["column"][0])} '
        f'y="{LOGITS_TOP}" width="{STEP}" height="{high - LOGITS_TOP}"/>'
        + tokens_svg(state, tokens_top, order.index("tokens"))
        + row("embedding", stream_top + 32, 36)
        + row("stream", stream_top, 32)
        + base_svg(state, stream_top)
        + closed
        + detail_svg(state, row, chosen)
        + row("final_norm", FINAL_TOP, 32)
        + "".join(
            f'<g data-show="base" {attributes(state["base"][i])}>'
            f'<path class="stream" stroke-width="2" d="M{column_x(i) - 16} {BLOCKS_TOP}V{FINAL_TOP + 25}'
            f'H{column_x(i) - 11}"/><rect class="box norm" x="{column_x(i) - 10}" '
            f'y="{FINAL_TOP + 8}" width="20" height="16" rx="3"/></g>'
            for i in range(COLUMNS)
        )
        + row("logits", LOGITS_TOP, 32)
        + f'<text x="{GUTTER + 6}" y="{LOGITS_TOP + 21}">× the embedding’s table</text>'
        + row("next", 0, LOGITS_TOP)
        + "".join(next_svg(state, i) for i in range(NEXT))
        + "</svg>"
    )


def attributes(values: Mapping[str, str]) -> str:
    """HTML attributes of a slot."""
    return " ".join(f'{name}="{value}"' for name, value in values.items())


def tokens_svg(state: Mapping[str, list], top: int, part: int) -> str:
    """The words below the columns, each a link that follows its token."""
    return "".join(
        f'<a data-show="token" {attributes(state["token"][i])} data-part="{part}" data-at="{i}" '
        f'href="#part-tokens"><rect x="{GUTTER + STEP * i}" y="{top}" width="{STEP}" '
        f'height="34"/><text data-show="word" text-anchor="end" '
        f'transform="translate({column_x(i) + 4} {top + 14}) rotate(-45)">'
        f"{escape(state['word'][i])}</text></a>"
        for i in range(COLUMNS)
    )


def base_svg(state: Mapping[str, list], stream_top: int) -> str:
    """The vector of each token, and the stream that begins with it."""
    return "".join(
        f'<g data-show="base" {attributes(state["base"][i])}>'
        f'<path class="vector" d="M{column_x(i) - 20} {stream_top + 36}h8v28h-8zm0 7h8m-8 7h8m-8 7h8"/>'
        f'<path class="stream" stroke-width="1.5" d="M{column_x(i) - 16} {stream_top + 36}V{stream_top}"/>'
        "</g>"
        for i in range(COLUMNS)
    )


def tops() -> dict[str, int]:
    """The upper edge of each row of the opened block."""
    edges, top = {}, 0
    for name, high in ROWS.items():
        edges[name] = top
        top += high
    return edges


def detail_svg(state: Mapping[str, list], row: Callable, chosen: tuple[int, int]) -> str:
    """The opened block: its rows, and in them the shapes of each column."""
    (head, heads), top = chosen, tops()
    frame = top["values"] - 2
    tab = (WIDE - GUTTER) // heads
    tabs = "".join(
        f'<a class="tab{" on" * (h == head)}" data-show="tab" data-head="{h}" href="#part-heads">'
        f'<rect x="{GUTTER + tab * h + 2}" y="{top["heads"] + 2}" width="{tab - 4}" height="30" '
        f'rx="5"/><text x="{GUTTER + tab * (h + 0.5)}" y="{top["heads"] + 22}" '
        f'text-anchor="middle">head {h}</text></a>'
        for h in range(heads)
    )
    names = {"block": state["opened"][0]}
    rows = "".join(row(name, top[name], ROWS[name], names.get(name, "")) for name in reversed(ROWS))
    arcs = "".join(
        f'<path class="arc" data-show="arc" {attributes(state["arc"][i])}/>' for i in range(COLUMNS)
    )
    return (
        f'<g data-show="detail" {attributes(state["detail"][0])}>'
        f'<rect class="opened" x="0.5" y="0.5" width="{WIDE - 1}" height="{INSIDE - 1}" rx="6"/>'
        f'<rect class="frame" x="{GUTTER - 2}" y="{frame}" width="{WIDE - GUTTER}" '
        f'height="{top["norm"] - frame - 1}" rx="6"/>{rows}'
        f'<g transform="translate(0 {top["values"]})">{arcs}</g>'
        + "".join(inside_svg(state, i, top) for i in range(COLUMNS))
        + f"{tabs}</g>"
    )


def inside_svg(state: Mapping[str, list], i: int, top: Mapping[str, int]) -> str:
    """The shapes of one column in the opened block."""
    x = column_x(i)
    line, left = x - 16, x - 10

    def box(name: str, kind: str, high: int) -> str:
        y = top[name] + (ROWS[name] - high) / 2
        return f'<rect class="box {kind}" x="{left}" y="{y}" width="20" height="{high}" rx="3"/>'

    def write(name: str) -> str:
        y = top[name] + ROWS[name] / 2
        return (
            f'<path class="plus" d="M{left} {y}h-2M{line - 4} {y}h8m-4 -4v8"/>'
            f'<circle class="plus" cx="{line}" cy="{y}" r="5"/>'
        )

    def reading(name: str) -> str:
        y = top[name] + ROWS[name] / 2
        return f'<path class="plus" d="M{line} {y}H{left}"/>'

    rope, qkv, score = top["rope"] + 17, top["qkv"] + 17, top["scores"] + 21
    weights = top["weights"] + ROWS["weights"] - 4
    return (
        f'<g data-show="inside" {attributes(state["inside"][i])}>'
        f'<path class="stream" data-show="inner" {attributes(state["inner"][i])} '
        f'd="M{line} 0v{INSIDE}"/>'
        + reading("norm")
        + box("norm", "norm", 16)
        + f'<rect class="q" x="{x - 11}" y="{qkv - 10}" width="6" height="20" rx="3"/>'
        + f'<rect class="k" x="{x - 3}" y="{qkv - 10}" width="6" height="20"/>'
        + f'<path class="v" d="M{x + 5} {qkv - 8}l3 -3l3 3v16l-3 3l-3 -3z"/>'
        + f'<circle class="clock" cx="{x}" cy="{rope}" r="11"/>'
        + f'<path class="hand" d="M{x} {rope}h11" transform="rotate({-degrees(i) % 360:.1f} {x} {rope})"/>'
        + f'<text data-show="score" x="{x}" y="{score}" text-anchor="middle">{state["score"][i]}</text>'
        + f'<text data-show="mask" x="{x}" y="{top["mask"] + 21}" text-anchor="middle">'
        + f"{state['mask'][i]}</text>"
        + f'<rect class="amount" data-show="bar" {attributes(state["bar"][i])} x="{x - 8}" width="16" '
        + f'transform="rotate(180 {x} {weights})" y="{weights}"/>'
        + f'<path class="floor" d="M{x - 10} {weights}h20"/>'
        + box("output", "computes", 20)
        + write("output")
        + reading("norm_2")
        + box("norm_2", "norm", 16)
        + box("feed_forward", "computes", 22)
        + write("feed_forward")
        + "</g>"
    )


def next_svg(state: Mapping[str, list], i: int) -> str:
    """One of the likeliest next tokens: its name, logit, bar and probability."""
    y = NEXT_HIGH * i + 18
    return (
        f'<text data-show="name" x="{GUTTER + 6}" y="{y}">{escape(state["name"][i])}</text>'
        f'<text data-show="logit" x="{WIDE - 176}" y="{y}" text-anchor="end">{state["logit"][i]}</text>'
        f'<rect class="amount" data-show="share" {attributes(state["share"][i])} x="{WIDE - 168}" '
        f'y="{y - 12}" height="14"/>'
        f'<text data-show="p" x="{WIDE - 6}" y="{y}" text-anchor="end">{state["p"][i]}</text>'
    )


def entries_html(entries: Mapping[str, Entry], says: Sequence[str], part: str) -> str:
    """HTML of what is said of each part; with scripts, the chosen one's links alone are shown."""
    return (
        '<div class="entries">'
        + "".join(
            f'<div class="entry{" on" * (name == part)}" data-show="entry" id="part-{name}">'
            f'<strong>{title(entry)}.</strong> <span data-show="says">{escape(sentence)}</span>'
            f'<div class="links">{entry.links}</div></div>'
            for (name, entry), sentence in zip(entries.items(), says, strict=True)
        )
        + "</div>"
        '<button type="button" name="poster" hidden>Print as a poster</button>'
    )
