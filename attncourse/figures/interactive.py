"""The component: numbers, controls, and a view that computes in the page what the figure shows.

A view is a JavaScript function in a file of its own. It takes the numbers, the state of the
controls and the component's words for numbers, and gives new content for every slot of that name;
`number` makes a slot, and `said` is the one that puts the result into words. In a drawing
any element is a slot, and gets its attributes. Where no script runs, the figure is the drawing and
the table that it begins as. Only a view knows what its numbers mean. Its own style lies beside it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Protocol

from torch import Tensor

from attncourse.figures.colours import COLOURS
from attncourse.figures.numbers import listed, shown

HERE = Path(__file__)
MOVES = "With scripts, you can change it."
# words in a script, and beside which signs it needs no space
WORDS = re.compile(r'("[^"\n]*"|`(?:[^`$]|\$\{(?:[^`}]|`[^`]*`)*\})*`)')
SPACE = re.compile(r"\s*([=<>&|*+%?:,;{}([]+)\s*")


@dataclass(frozen=True)
class Choice:
    """One of a few options, picked by click or arrow key; the view gets its index."""

    name: str
    options: Sequence[str]
    start: int = 0

    def __post_init__(self):
        require_start(self.name, self.options, self.start)

    def option(self, index: int) -> str:
        """The button of one option."""
        name, checked = escape(self.name), " checked" if index == self.start else ""
        button = f'<input type="radio" name="{name}" value="{index}"{checked} hidden>'
        return f"<label>{button}{escape(self.options[index])}</label>"

    def at(self, index: int) -> str:
        """The attributes of what is pointed at to pick that option."""
        return f' data-name="{escape(self.name)}" data-at="{index}"'

    def html(self) -> str:
        """All the options, under their name."""
        options = "".join(map(self.option, range(len(self.options))))
        return f"<fieldset><legend>{escape(self.name)}</legend>{options}</fieldset>"


@dataclass(frozen=True)
class Slider:
    """One number of a row of them; the view gets the number."""

    name: str
    values: Sequence[float]
    start: int = 0

    def __post_init__(self):
        require_start(self.name, self.values, self.start)

    def html(self) -> str:
        """The slider, and beside it the number."""
        name, values = escape(self.name), " ".join(map(str, self.values))
        return (
            f'<label>{symbol(self.name)} <input type="range" name="{name}" aria-label="{name}" '
            f'max="{len(self.values) - 1}" value="{self.start}" data-values="{values}">'
            '<b aria-hidden="true"></b></label>'
        )


@dataclass(frozen=True)
class Switch:
    """On or off; the view gets true or false."""

    name: str
    start: bool = True

    def html(self) -> str:
        """The box to tick."""
        name, checked = escape(self.name), " checked" if self.start else ""
        return f'<label><input type="checkbox" name="{name}"{checked}>{name}</label>'


@dataclass(frozen=True)
class Button:
    """Something to do again and again; the view gets how often it was pressed."""

    name: str

    def html(self) -> str:
        """The button."""
        name = escape(self.name)
        return f'<button type="button" name="{name}" value="0">{name}</button>'


class Control(Protocol):
    """What a reader moves; it needs to be an element of a form, with a name."""

    def html(self) -> str:
        """The element."""
        ...


class Interactive:
    """A drawing and a table that follow their controls, and the words that stand for them.

    Some controls stand `within` the drawing or the table, not above them; what is `below` follows
    the words. The view is handed other scripts that it `uses`, by the names of their files; one
    called start gets the form, when it is there, what shows its state, and the others. `still` is
    for readers without scripts.
    """

    def __init__(
        self,
        view: Path,
        data: Mapping[str, object],
        controls: Sequence[Control],
        table: str,
        *,
        alt: str,
        picture: str = "",
        within: Sequence[Choice] = (),
        below: str = "",
        uses: Sequence[Path] = (),
        still: str = "",
    ):
        if not alt.strip():
            raise ValueError("alt is empty: say in words what the figure shows")
        self.view, self.data, self.controls = view, data, controls
        self.table, self.alt, self.picture, self.within = table, alt, picture, within
        self.below, self.uses, self.still = below, uses, still

    def __repr__(self) -> str:
        return self.alt

    def _repr_html_(self) -> str:
        script, view = (lean_script(path) for path in (HERE.with_suffix(".js"), self.view))
        uses = ",".join(f"{path.stem}:{lean_script(path)}" for path in self.uses)
        # nothing in the numbers may end the script element
        data = json.dumps(self.data, default=listed, separators=(",", ":")).replace("<", r"\u003c")
        controls = "".join(control.html() for control in self.controls)
        # where scripts run, what the view says takes the place of the words at once
        table = self.table and f"<table>{self.table}</table>"
        body = (
            f'<form autocomplete="off"><div class="controls" hidden>{controls}</div>'
            f'<div class="scroll">{self.picture}{table}</div>'
            f'<p data-show="said" aria-live="polite">{escape(self.alt)}</p>{self.below}'
            f"<noscript>{MOVES if controls or self.within else ''}{self.still}</noscript></form>"
        )
        name = sha256(f"{view}{uses}{data}{body}".encode()).hexdigest()[:8]
        # JupyterLab keeps the arrow keys to itself without that attribute
        return (
            f'<div class="attncourse-figure" data-figure="{name}" role="group" '
            'data-lm-suppress-shortcuts="true">'
            f"<style>\n{style_of(self.view, body, name)}\n</style>{body}"
            f'<script>\n({script})("{name}", {data}, {view}, {{{uses}}})\n</script></div>'
        )


def columns(*names: str) -> str:
    """The top row of a table."""
    cells = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f"<tr>{cells}</tr>"


def row(name: str, *cells: str, at: str = "") -> str:
    """A row of a table; pointing at it may pick an option."""
    return (
        f'<tr{at}><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
    )


def number(slot: str, value: float | Tensor, look: str = "", text: str | None = None) -> str:
    """A slot that holds a number: plain, with a `bar` beside it or `up` from it, or on `heat`.

    `heat` is for numbers from 0 to 1; a `signed` ground, for other numbers, has one colour above 0
    and another below. The slot shows the number in two digits, or a text of its own, for which a
    view gives `{ text, value }`.
    """
    value = float(value)
    drawn = f' class="{look}" style="--share:{value:.3f}"' if look else ""
    words = shown(value) if text is None else escape(text)
    return f'<data value="{value:.4g}" data-show="{slot}"{drawn}>{words}</data>'


def style_of(view: Path, body: str, name: str) -> str:
    """The style that figures share, that of this one, and the colours, as far as it needs them."""
    shared, own = (
        lean(path.read_text("utf-8")) if path.exists() else ""
        for path in (HERE.with_suffix(".css"), view.with_suffix(".css"))
    )
    # of this figure alone, and before what another figure says again of all
    own = own.replace(".attncourse-figure", f'.attncourse-figure[data-figure="{name}"]')
    style = ""
    for line in f"{shared}\n{own}".splitlines():
        look = re.match(r"\.([a-z]+) {|(button) {", line)
        if not look or re.search(rf'class="[^"]*\b{look[1]}\b|<{look[2]} ', body):
            style += re.sub(r"\s*([{};])\s*|(?<=[:,])\s+", r"\1", line).replace(";}", "}")
    roles = {role: both for role, both in COLOURS.items() if f"var(--{role})" in style}
    colours = ";".join(f"--{role}:light-dark({','.join(both)})" for role, both in roles.items())
    return f".attncourse-figure{{{colours}}}{style}"


def lean(text: str) -> str:
    """Style or script without indents, and comments of one line, which only its authors read."""
    lines = map(str.strip, text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*")))


def lean_script(path: Path) -> str:
    """A script without the spaces that only its authors read."""
    parts = WORDS.split(lean(path.read_text("utf-8")))
    return "".join(part if i % 2 else SPACE.sub(r"\1", part) for i, part in enumerate(parts))


def symbol(name: str) -> str:
    """The name as a reader sees it: d_k is a d with a lower k."""
    return re.sub(r"^(\w+)_(\w)$", r"<span>\1<sub>\2</sub></span>", escape(name))


def require_start(name: str, options: Sequence[object], start: int) -> None:
    """Raise ValueError where a control cannot begin at its option of that number."""
    if not 0 <= start < len(options):
        raise ValueError(f"{name} starts at option {start}, but it has {len(options)}, from 0")


def late(weights: Path) -> str:
    """A script of weights that does not run by itself; the site makes a file of it."""
    text = weights.read_text("utf-8")
    return f'<script type="text/plain" data-late="{weights.name}">{text}</script>'
