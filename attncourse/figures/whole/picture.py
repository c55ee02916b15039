"""The picture as SVG: each part is a link to its entry, and each number that changes a slot."""

from collections.abc import Mapping, Sequence
from html import escape
from math import degrees

from attncourse.figures.whole.places import (
    BLOCKS_TOP,
    CLOSED,
    COLUMNS,
    EMBEDDING_HIGH,
    FINAL_TOP,
    GUTTER,
    INSIDE,
    LOGITS_TOP,
    NEXT,
    NEXT_HIGH,
    NEXT_WIDE,
    ROW_TOPS,
    ROWS,
    STEP,
    STREAM_HIGH,
    TOKENS_HIGH,
    WIDE,
    column_left,
    column_line,
    column_middle,
)

# what is written at the left of a row
LABELS = {
    "embedding": "embedding",
    "stream": "stream",
    "norm": "norm",
    "norm_2": "norm",
    "qkv": "q, k, v",
    "rope": "RoPE",
    "scores": "scores",
    "mask": "mask",
    "weights": "weights",
    "values": "sum",
    "heads": "heads",
    "output": "output",
    "feed_forward": "feed-forward",
    "final_norm": "last norm",
    "logits": "logits",
    "next": "next token",
}


def row_part(row: str) -> str:
    """The part of a row: both norms of a block are one."""
    return row.removesuffix("_2")


# the rows that are links, in the order of the source
LINKED_ROWS = ["embedding", "stream", *reversed(ROWS), "final_norm", "logits", "next"]


def tag(name: str, *content: str, **attributes: object) -> str:
    """An SVG element; an attribute's underscores are hyphens, and one at its end is left out."""
    names = (key.rstrip("_").replace("_", "-") for key in attributes)
    written = (
        f' {name}="{escape(str(value))}"'
        for name, value in zip(names, attributes.values(), strict=True)
    )
    return f"<{name}{''.join(written)}>{''.join(content)}</{name}>"


def label(x: float, y: float, words: str, anchor: str = "start") -> str:
    """Words on a line whose base is y."""
    return tag("text", escape(words), x=x, y=y, text_anchor=anchor)


class Picture:
    """The first state of the picture: its slots are taken in the order of the source."""

    def __init__(self, state: Mapping[str, list], parts: Sequence[str], part: str, head: int):
        self.contents = {slot: iter(contents) for slot, contents in state.items()}
        self.parts, self.part, self.head = [*parts], part, head

    def slot(self, show: str, name: str, *content: str, **attributes: object) -> str:
        """An element that is the next slot of a name."""
        filling = next(self.contents[show])
        own = filling if isinstance(filling, dict) else {}
        texts = content if isinstance(filling, dict) else [escape(filling)]
        return tag(name, *texts, data_show=show, **attributes, **own)

    def svg(self, heads: int, blocks: int) -> str:
        """The whole picture."""
        stream = BLOCKS_TOP + CLOSED * (blocks - 1) + INSIDE
        embedding = stream + STREAM_HIGH
        tokens = embedding + EMBEDDING_HIGH
        high = tokens + TOKENS_HIGH
        return tag(
            "svg",
            self.slot("column", "rect", class_="column", y=LOGITS_TOP, height=high - LOGITS_TOP),
            *(self.token(i, tokens) for i in range(COLUMNS)),
            self.row("embedding", embedding, EMBEDDING_HIGH),
            self.row("stream", stream, STREAM_HIGH),
            *(self.beginning(i, embedding, stream) for i in range(COLUMNS)),
            *(self.closed_block(b) for b in range(blocks)),
            self.opened_block(heads),
            self.row("final_norm", FINAL_TOP, BLOCKS_TOP - FINAL_TOP),
            *(self.ending(i) for i in range(COLUMNS)),
            self.row("logits", LOGITS_TOP, FINAL_TOP - LOGITS_TOP),
            label(GUTTER + 6, LOGITS_TOP + 21, "× the embedding’s table"),
            self.row("next", 0, LOGITS_TOP),
            *(self.next_token(NEXT_HIGH * i + 18) for i in range(NEXT)),
            data_show="sheet",
            class_="sheet",
            viewBox=f"0 0 {WIDE} {high}",
            role="group",
            aria_label="The whole model, read upwards",
        )

    def row(self, name: str, top: int, high: int) -> str:
        """A row across the picture, which is a link to its part."""
        words = LABELS.get(name, "")
        if name == "block":
            written = self.slot("opened", "text", x=8, y=top + high / 2 + 5)
        else:
            written = label(8, top + high / 2 + 5, words)
        return self.link(name, "part", top, high, written)

    def link(self, name: str, show: str, top: int, high: int, written: str) -> str:
        """A link to a part that is as wide as the picture."""
        part = row_part(name)
        return tag(
            "a",
            tag("rect", x=1, y=top + 1, width=WIDE - 2, height=high - 2, rx=5),
            written,
            class_="part on" if part == self.part else "part",
            data_show=show,
            data_part=self.parts.index(part),
            href=f"#part-{part}",
        )

    def token(self, i: int, top: int) -> str:
        """The word below a column, a link that follows its token."""
        place = f"translate({column_middle(i) + 4} {top + 14}) rotate(-45)"
        return self.slot(
            "token",
            "a",
            tag("rect", x=column_left(i), y=top, width=STEP, height=34),
            self.slot("word", "text", text_anchor="end", transform=place),
            data_part=self.parts.index("tokens"),
            data_at=i,
            href="#part-tokens",
        )

    def beginning(self, i: int, embedding: int, stream: int) -> str:
        """The vector of a token, and the stream that begins with it."""
        x = column_line(i)
        return self.slot(
            "base",
            "g",
            tag(
                "path", class_="vector", d=f"M{x - 4} {embedding + 4}h8v28h-8zm0 7h8m-8 7h8m-8 7h8"
            ),
            tag("path", class_="stream", stroke_width=1.5, d=f"M{x} {embedding + 4}V{stream}"),
        )

    def closed_block(self, b: int) -> str:
        """A block that is not opened, with the streams that pass through it."""
        lines = (
            self.slot("line", "path", class_="stream", d=f"M{column_line(i)} 0v{CLOSED}")
            for i in range(COLUMNS)
        )
        name = label(8, CLOSED / 2 + 5, f"block {b}")
        return self.slot(
            "block", "g", self.link("block", "closed", 0, CLOSED, name), *lines, data_block=b
        )

    def opened_block(self, heads: int) -> str:
        """The opened block: its rows, the shapes of each column in them, and its heads."""
        frame = {"class_": "frame", "x": GUTTER - 2, "y": ROW_TOPS["values"] - 2}
        framed = ROW_TOPS["norm"] - ROW_TOPS["values"] + 1
        edge = {"class_": "opened", "x": 0.5, "y": 0.5, "rx": 6}
        return self.slot(
            "detail",
            "g",
            tag("rect", width=WIDE - 1, height=INSIDE - 1, **edge),
            tag("rect", width=WIDE - GUTTER + 1, height=framed, rx=6, **frame),
            *(self.row(name, ROW_TOPS[name], ROWS[name]) for name in reversed(ROWS)),
            tag(
                "g",
                *(self.slot("arc", "path", class_="arc") for _ in range(COLUMNS)),
                transform=f"translate(0 {ROW_TOPS['values']})",
            ),
            *(self.column(i) for i in range(COLUMNS)),
            *(self.tab(h, (WIDE - GUTTER) / heads) for h in range(heads)),
        )

    def tab(self, h: int, wide: float) -> str:
        """A head of the opened block, a link that shows what it computes."""
        x, y = GUTTER + wide * h, ROW_TOPS["heads"]
        return tag(
            "a",
            tag("rect", x=x + 2, y=y + 2, width=wide - 4, height=30, rx=5),
            label(x + wide / 2, y + 22, f"head {h}", "middle"),
            class_="tab on" if h == self.head else "tab",
            data_show="tab",
            data_head=h,
            href="#part-heads",
        )

    def column(self, i: int) -> str:
        """The shapes of a column in the opened block, beside the line of its stream."""
        x, bottom = column_middle(i), ROW_TOPS["weights"] + ROWS["weights"] - 4
        written = {"x": x, "text_anchor": "middle"}
        upside_down = f"rotate(180 {x} {bottom})"
        return self.slot(
            "inside",
            "g",
            self.slot("inner", "path", class_="stream", d=f"M{column_line(i)} 0v{INSIDE}"),
            *(reading_norm(i, name) for name in ("norm", "norm_2")),
            query_key_value(x, row_middle("qkv")),
            clock(i, x, row_middle("rope")),
            self.slot("score", "text", y=row_middle("scores") + 5, **written),
            self.slot("mask", "text", y=row_middle("mask") + 5, **written),
            self.slot(
                "bar", "rect", class_="amount", x=x - 8, y=bottom, width=16, transform=upside_down
            ),
            tag("path", class_="floor", d=f"M{x - 10} {bottom}h20"),
            *(writing_part(i, name) for name in ("output", "feed_forward")),
        )

    def ending(self, i: int) -> str:
        """The end of a column's stream, which the last norm reads."""
        y = FINAL_TOP + 16
        path = f"M{column_line(i)} {BLOCKS_TOP}V{y}H{column_middle(i) - 10}"
        return self.slot(
            "base",
            "g",
            tag("path", class_="stream", stroke_width=2, d=path),
            box(i, y, "norm", 16),
        )

    def next_token(self, y: int) -> str:
        """One of the likeliest next tokens: its name, logit, bar and probability."""
        bar = WIDE - NEXT_WIDE - 48
        return "".join(
            (
                self.slot("name", "text", x=GUTTER + 6, y=y),
                self.slot("logit", "text", x=bar - 8, y=y, text_anchor="end"),
                self.slot("share", "rect", class_="amount", x=bar, y=y - 12, height=14),
                self.slot("p", "text", x=WIDE - 6, y=y, text_anchor="end"),
            )
        )


def row_middle(name: str) -> float:
    """The middle of a row of the opened block."""
    return ROW_TOPS[name] + ROWS[name] / 2


def box(i: int, y: float, kind: str, high: int) -> str:
    """A part that computes, in one column."""
    x = column_middle(i) - 10
    return tag("rect", class_=f"box {kind}", x=x, y=y - high / 2, width=20, height=high, rx=3)


def reading_norm(i: int, name: str) -> str:
    """A norm that reads the stream."""
    y = row_middle(name)
    line = tag("path", class_="plus", d=f"M{column_line(i)} {y}H{column_middle(i) - 10}")
    return line + box(i, y, "norm", 16)


def writing_part(i: int, name: str) -> str:
    """A part that adds to the stream."""
    x, y = column_line(i), row_middle(name)
    return "".join(
        (
            box(i, y, "", 20),
            tag("circle", class_="plus", cx=x, cy=y, r=5),
            tag("path", class_="plus", d=f"M{column_middle(i) - 10} {y}H{x - 5}M{x} {y - 5}v10"),
        )
    )


def query_key_value(x: int, y: float) -> str:
    """A query, a key and a value in their shapes, beside each other."""
    return "".join(
        (
            tag("rect", class_="q", x=x - 11, y=y - 10, width=6, height=20, rx=3),
            tag("rect", class_="k", x=x - 3, y=y - 10, width=6, height=20),
            tag("path", class_="v", d=f"M{x + 5} {y - 7}l3 -3l3 3v14l-3 3l-3 -3z"),
        )
    )


def clock(i: int, x: int, y: float) -> str:
    """A hand that is turned by one radian a position, as the first two columns of a query are."""
    turn = f"rotate({-degrees(i) % 360:.1f} {x} {y})"
    return "".join(
        (
            tag("circle", class_="clock", cx=x, cy=y, r=11),
            tag("path", class_="clock", d=f"M{x} {y}h11", transform=turn),
        )
    )
