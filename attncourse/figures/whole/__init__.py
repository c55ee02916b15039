"""The whole model as one picture, with a text running through it; the browser runs the model.

The columns are tokens, and the picture is read upwards. Each part is a link to its entry; with
scripts, touching it says what it computes. The numbers of the first state are PyTorch's. The model
and the scripts that run it are those of the writer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from attncourse.figures.interactive import LOADER, Choice, Interactive, deferred_script
from attncourse.figures.whole import places
from attncourse.figures.whole.picture import LINKED_ROWS, Picture, row_part
from attncourse.figures.whole.state import Focus, Text, Trace, numbers, slots
from attncourse.figures.writer import FOLDER as WRITER
from attncourse.figures.writer import WEIGHTS, decade_name

FOLDER = Path(__file__).parent
WRITER_SCRIPTS = ("session", "model", "pieces")
PLACES = (
    "COLUMNS", "STEP", "NEXT", "NEXT_WIDE", "CLOSED", "INSIDE", "BLOCKS_TOP", "BAR_HIGH", "GUTTER"
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A part of the model: its name, a sentence with numbers in braces, HTML links to chapters."""

    name: str
    says: str
    links: str

    def title(self) -> str:
        """The name, as a sentence begins."""
        return self.name[0].upper() + self.name[1:]


@dataclass(frozen=True)
class Field:
    """A text field, how much has room in the picture, and a list of decades."""

    words: str
    decade: int
    decades: Sequence[int]
    room: str

    def html(self) -> str:
        """HTML of the field and the list."""
        options = "".join(
            f'<option value="{year}"{" selected" * (year == self.decade)}>{decade_name(year)}'
            for year in self.decades
        )
        return (
            '<label class="typed">your words <input type="text" name="text" '
            f'value="{escape(self.words)}" spellcheck="false" autocapitalize="off"></label>'
            f'<span class="room" data-show="room" role="status">{self.room}</span>'
            f'<label>decade <select name="decade">{options}</select></label>'
        )


def whole(
    entries: Mapping[str, Entry],
    trace: Trace,
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
    focus = Focus(len(text.names) - 1, block, head)
    values = numbers(trace, text, vocabulary, focus)
    says = {name: entry.says.format(**values) for name, entry in entries.items()}
    # the start and the decade have a column each
    room = f"at most {places.COLUMNS - 2} tokens"
    picture = Picture(slots(trace, text, vocabulary, focus), [*entries], part, head)
    return Interactive(
        FOLDER / "view.js",
        {
            "first": {
                "text": text.words,
                "decade": text.decade,
                "block": block,
                "head": head,
                "says": [*says.values()],
            },
            "places": {name: getattr(places, name) for name in PLACES},
            "rows": [row_part(row) for row in LINKED_ROWS],
            "parts": [*entries],
            "titles": [entry.title() for entry in entries.values()],
            "says": [entry.says for entry in entries.values()],
            "heads": heads,
            "room": room,
            "unsaid": (WRITER / "unsaid.txt").read_text("utf-8").split(),
        },
        [
            Field(text.words, text.decade, decades, room),
            Choice("block", [*map(str, range(blocks))], block),
            Choice("head", [*map(str, range(heads))], head),
        ],
        "",
        alt=f"{entries[part].title()}. {says[part]}",
        picture=picture.svg(heads, blocks)
        + f'<input type="hidden" name="part" value="{[*entries].index(part)}">'
        + '<input type="hidden" name="at" value="-1">'
        + deferred_script(WEIGHTS),
        below=entries_html(entries, says, part),
        scripts=[*(WRITER / f"{name}.js" for name in WRITER_SCRIPTS), LOADER, FOLDER / "start.js"],
    )


def entries_html(entries: Mapping[str, Entry], says: Mapping[str, str], part: str) -> str:
    """HTML of what is said of each part; with scripts, only the chosen one is seen."""
    listed = "".join(
        f'<div class="entry{" on" * (name == part)}" data-show="entry" id="part-{name}">'
        f'<strong>{entry.title()}.</strong> <span data-show="says">{escape(says[name])}</span> '
        f'<div class="links">{entry.links}</div></div>'
        for name, entry in entries.items()
    )
    return (
        f'<div class="entries">{listed}</div>'
        '<button type="button" name="poster" hidden>Print as a poster</button>'
    )
