"""The cache of a trained model, step by step; the browser runs the model.

The columns are tokens. Each head of the chosen block has a key and a value for each of them. The
first state has PyTorch's numbers. Later ones are computed in view.js, with the model and the
scripts of the writer, which reads a text step by step and keeps its keys and values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from torch import Tensor

from attncourse.figures.interactive import (
    LOADER,
    Button,
    Choice,
    Interactive,
    columns,
    deferred_script,
    number,
    row,
)
from attncourse.figures.kv_cache.strips import strip_style
from attncourse.figures.kv_cache.ways import Way, size_text, ways_to_keep
from attncourse.figures.numbers import format_number
from attncourse.figures.whole import WRITER_SCRIPTS
from attncourse.figures.whole.state import Text, likeliest
from attncourse.figures.writer import FOLDER as WRITER
from attncourse.figures.writer import WEIGHTS

FOLDER = Path(__file__).parent
# what has room: tokens, with the start and the decade; those of the prompt; likeliest next tokens
COLUMNS, PROMPT, NEXT = 20, 12, 4
LEGEND = (
    "A column is a token, and the frame holds what this step has added. For each head, blue bars "
    "show the weights of the newest query. Below them are the keys (k) and values (v), a line for "
    "each number: coloured above 0, grey below, and stronger the further it is from 0."
)


@dataclass(frozen=True)
class Prompt:
    """A text field for the prompt."""

    words: str

    def html(self) -> str:
        """HTML of the field, with how much has room."""
        return (
            '<div class="prompt"><label>prompt <input type="text" name="text" '
            f'value="{escape(self.words)}" spellcheck="false" autocapitalize="off"></label>'
            f'<span data-show="room" role="status">at most {PROMPT} tokens</span></div>'
        )


@dataclass(frozen=True)
class Step:
    """The step that reads a prompt, as the figure shows it."""

    text: Text
    trace: Mapping[str, Tensor]
    ways: Sequence[Way]
    # multiply-adds of a step by the length of the text: of its last token, and of all tokens
    last: Sequence[int]
    all: Sequence[int]
    after: Sequence[tuple[str, float, float]]

    @property
    def n(self) -> int:
        """The number of tokens, all of which are new."""
        return len(self.text.names)

    def scales(self) -> list[list[float]]:
        """For each block, the sizes from which keys and values are opaque."""
        kinds = (self.trace[name] for name in ("turned_key", "value"))
        sizes = (2.5 * x.square().mean(dim=(1, 2, 3)).sqrt() for x in kinds)
        return [list(pair) for pair in zip(*(x.tolist() for x in sizes), strict=True)]

    def sentence(self) -> str:
        """What the step does."""
        heads = self.trace["weight"].shape[:2].numel()
        name, _, p = self.after[0]
        return (
            f"Reading the prompt is one step (prefill): {self.n} tokens go through the model at "
            f"once, and each of its {heads} heads keeps {self.n} keys and {self.n} values. The "
            f"likeliest next token is “{name}” ({format_number(p)})."
        )

    def board(self) -> str:
        """HTML of the keys and values in block 0, with the weights of the last query."""
        words = [*self.text.names, *[""] * (COLUMNS - self.n)]
        looks = ["new" if i < self.n else "" for i in range(COLUMNS)]
        names = "".join(
            f'<span data-show="word" class="{look}">{escape(word)}</span>'
            for word, look in zip(words, looks, strict=True)
        )
        heads = "".join(map(self.head, range(self.trace["weight"].shape[1])))
        label = board_label(0, self.n, self.n)
        return (
            f'<div class="board" data-show="board" role="img" aria-label="{label}" data-kept="0" '
            f'style="--n:{self.n};--fresh:{self.n};--dropped:0"><div class="words">{names}</div>'
            f'<div class="heads">{heads}<div class="latent"></div>'
            '<div class="frame"></div></div></div>'
        )

    def head(self, h: int) -> str:
        """HTML of a head of block 0."""
        weights = [*self.trace["weight"][0, h, -1].tolist(), *[0.0] * (COLUMNS - self.n)]
        bars = "".join(number("weight", x, "weight", "") for x in weights)
        strips = "".join(
            f'<span class="{kind}">{kind[0]}</span><div class="strip {kind}" data-show="{kind}" '
            f'style="{strip_style(self.trace[name][0, h], scale)}"></div>'
            for kind, name, scale in zip(
                ("key", "value"), ("turned_key", "value"), self.scales()[0], strict=True
            )
        )
        return f'<div class="head"><b>head {h}</b><div class="weights">{bars}</div>{strips}</div>'

    def facts(self, kept: Choice) -> str:
        """HTML of the bytes of the cache, the work of the step, and the likeliest next tokens."""
        way, full = self.ways[0], self.ways[0].size(COLUMNS)
        size = number("size", way.size(self.n) / full, "bar", size_text(way.size(self.n)))
        work = self.all[self.n]
        tokens = number("tokens", self.n / COLUMNS, "bar", f"{self.n}")
        products = number("products", work / self.all[COLUMNS], "bar", millions(work))
        steps = (
            columns("this step", "with the cache", "without")
            + row("tokens computed", tokens, tokens)
            + row("multiply-adds", products, products)
        )
        next_tokens = "".join(
            row(f'<span data-show="name">{escape(name)}</span>', number("share", p, "bar"))
            for name, _, p in self.after
        )
        return (
            f'<div class="facts"><section>{kept.html()}<div class="size">in the cache: {size}</div>'
            f'<div data-show="says">{way.says}</div></section>'
            f"<section><table>{steps}</table></section>"
            f"<section><table>{columns('next token', 'probability')}{next_tokens}</table></section>"
            "</div>"
        )


def board_label(block: int, n: int, fresh: int) -> str:
    """What the drawing holds."""
    return f"Keys and values of {n} tokens in the heads of block {block}, {fresh} of them new."


def millions(x: int) -> str:
    """A number in millions."""
    return f"{format_number(x / 1e6)} million"


def kv_cache(
    text: Text, trace: Mapping[str, Tensor], vocabulary: Sequence[str], matrices: int
) -> Interactive:
    """Figure: what each step of a language model adds to its cache, and what that saves.

    `trace` has what the model computes for the first prompt; `matrices` is the number of weights
    in its linear layers, and `vocabulary` has the tokens that it may write.
    """
    blocks, heads, n, d = trace["turned_key"].shape
    if not 2 <= n <= PROMPT + 2:
        raise ValueError(f"{n} tokens, but 2 to {PROMPT + 2} have room, the decade among them")
    ways = ways_to_keep(blocks, heads, d)
    lengths = range(COLUMNS + 1)
    # the scores of the next token are computed once
    scores = trace["logits"].shape[-1] * heads * d
    attention = ways[0].stack.quantity
    step = Step(
        text,
        trace,
        ways,
        [matrices + attention("write products", i) + scores for i in lengths],
        [i * matrices + attention("read products", i) + scores for i in lengths],
        likeliest(trace["logits"][-1], vocabulary, NEXT),
    )
    kept = Choice("kept", [way.name for way in ways])
    full = ways[0].size(COLUMNS)
    # a number is as high in the latent vectors as in the keys
    latent = ways[2].stack.quantity("cache", 1) // blocks
    return Interactive(
        FOLDER / "view.js",
        {
            "text": text.words,
            "names": text.names,
            "said": step.sentence(),
            "decade": text.decade,
            "columns": COLUMNS,
            "most": PROMPT,
            "next": NEXT,
            "blocks": blocks,
            "heads": heads,
            "scales": step.scales(),
            "last": step.last,
            "all": step.all,
            "ways": [
                {
                    "says": way.says,
                    "sizes": [size_text(way.size(i)) for i in lengths],
                    "shares": [way.size(i) / full for i in lengths],
                    "dropped": [way.dropped(i) for i in lengths],
                }
                for way in ways
            ],
            "unsaid": (WRITER / "unsaid.txt").read_text("utf-8").split(),
        },
        [
            Prompt(text.words),
            Button("read the prompt"),
            Button("write a token"),
            Button("empty"),
            Choice("block", [*map(str, range(blocks))]),
        ],
        "",
        alt=step.sentence(),
        picture=f'<div class="sheet" data-show="sheet" style="--columns:{COLUMNS};--heads:{heads};'
        f'--width:{d}px;--latent:{latent}px">{step.board()}'
        f'<div class="legend">{LEGEND}</div>{step.facts(kept)}</div>'
        f'<input type="hidden" name="written" value="0">{deferred_script(WEIGHTS)}',
        within=[kept],
        scripts=[*(WRITER / f"{name}.js" for name in WRITER_SCRIPTS), LOADER, FOLDER / "start.js"],
        fallback=sizes_table(ways),
        caption_first=True,
    )


def sizes_table(ways: Sequence[Way]) -> str:
    """HTML table of the bytes of the cache at some lengths, for readers without scripts."""
    lengths = 1, 10, 20, 128
    heading = columns("kept", *(f"{n} token{'s' * (n > 1)}" for n in lengths))
    rows = "".join(row(way.name, *(size_text(way.size(n)) for n in lengths)) for way in ways)
    return f"<table><caption>The bytes of the cache</caption>{heading}{rows}</table>"
