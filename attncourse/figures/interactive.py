"""Base of the interactive figures: data, controls, and a view that computes in the page.

A view is a JavaScript function in a file of its own, with its CSS beside it. It takes the data, the
state of the controls and helpers that format numbers, and returns the new content of each slot, an
element with `data-show`; `number` makes a slot. The slot `said` describes the result in words. In a
drawing, slots receive attributes. Without scripts, the figure shows its first state. With
`disabled`, a view says which controls, by name, have no effect at present.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from itertools import chain, count
from pathlib import Path
from typing import Protocol

from torch import Tensor

from attncourse.figures.colours import COLOURS
from attncourse.figures.numbers import format_number, to_json

MODULE = Path(__file__)
# what loads the weights of a deferred script
LOADER = Path(__file__).with_name("late.js")
SCRIPT_NOTE = "With scripts, you can change this figure."
# string literals in a script, and operators that need no space around them
STRING_LITERAL = re.compile(r'("[^"\n]*"|`(?:[^`$]|\$\{(?:[^`}]|`[^`]*`)*\})*`)')
OPERATOR_SPACE = re.compile(r"\s*([=<>&|*+%?:,;{}([]+)\s*")


@dataclass(frozen=True)
class Choice:
    """Radio buttons, also picked by pointing; the view receives the index of the option."""

    name: str
    options: Sequence[str]
    start: int = 0

    def __post_init__(self):
        require_start(self.name, self.options, self.start)

    def option_html(self, index: int) -> str:
        """HTML of the radio button of an option."""
        name, checked = escape(self.name), " checked" if index == self.start else ""
        button = f'<input type="radio" name="{name}" value="{index}"{checked} hidden>'
        return f"<label>{button}{escape(self.options[index])}</label>"

    def hover_attrs(self, index: int) -> str:
        """HTML attributes of an element that picks that option when pointed at."""
        return f' data-name="{escape(self.name)}" data-at="{index}"'

    def html(self) -> str:
        """HTML fieldset of all options."""
        options = "".join(map(self.option_html, range(len(self.options))))
        return f"<fieldset><legend>{escape(self.name)}</legend>{options}</fieldset>"


@dataclass(frozen=True)
class Slider:
    """A slider over a list of numbers; the view receives the number.

    The page holds each as it is shown, with commas.
    """

    name: str
    values: Sequence[float]
    start: int = 0

    def __post_init__(self):
        require_start(self.name, self.values, self.start)

    def html(self) -> str:
        """HTML of the slider, with its number."""
        name, values = escape(self.name), " ".join(f"{x:,}" for x in self.values)
        return (
            f'<label>{label_html(self.name)} <input type="range" name="{name}" aria-label="{name}" '
            f'max="{len(self.values) - 1}" value="{self.start}" data-values="{values}">'
            '<b aria-hidden="true"></b></label>'
        )


@dataclass(frozen=True)
class Select:
    """A list to choose from, its options in labelled groups; the view receives the index."""

    name: str
    groups: Mapping[str, Sequence[str]]
    start: int = 0

    def __post_init__(self):
        require_start(self.name, [*chain(*self.groups.values())], self.start)

    def html(self) -> str:
        """HTML of the list; a group without a label is shown without one."""
        index = count()
        content = "".join(
            f'<optgroup label="{escape(label)}">{self.options_html(options, index)}</optgroup>'
            if label
            else self.options_html(options, index)
            for label, options in self.groups.items()
        )
        name = escape(self.name)
        return f'<label>{name} <select name="{name}">{content}</select></label>'

    def options_html(self, options: Sequence[str], index: Iterator[int]) -> str:
        """HTML of the options of a group, which takes their numbers from `index`."""
        return "".join(
            f'<option value="{i}"{" selected" * (i == self.start)}>{escape(option)}</option>'
            for option, i in zip(options, index, strict=False)
        )


@dataclass(frozen=True)
class Switch:
    """A checkbox; the view receives true or false."""

    name: str
    start: bool = True

    def html(self) -> str:
        """HTML of the checkbox."""
        name, checked = escape(self.name), " checked" if self.start else ""
        return f'<label><input type="checkbox" name="{name}"{checked}>{name}</label>'


@dataclass(frozen=True)
class Button:
    """A push button; the view receives the number of clicks."""

    name: str

    def html(self) -> str:
        """HTML of the button."""
        name = escape(self.name)
        return f'<button type="button" name="{name}" value="0">{name}</button>'


class Control(Protocol):
    """A form control with a name."""

    def html(self) -> str:
        """HTML of the control."""
        ...


class Interactive:
    """A figure of controls, picture, table and caption, which a view updates in the page.

    `alt` is the text alternative and the first caption. Controls `within` are placed in the picture
    or the table, not above them; `below` is HTML after them all. With `caption_first`, the caption
    stands above the picture. `scripts` are passed to the view by file name; the one called start
    runs once, with the form and the function that updates the figure. `fallback` is HTML for
    readers without scripts.
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
        scripts: Sequence[Path] = (),
        fallback: str = "",
        caption_first: bool = False,
    ):
        if not alt.strip():
            raise ValueError("alt is empty: say in words what the figure shows")
        self.view, self.data, self.controls = view, data, controls
        self.table, self.alt, self.picture, self.within = table, alt, picture, within
        self.below, self.scripts, self.fallback = below, scripts, fallback
        self.caption_first = caption_first

    def __repr__(self) -> str:
        return self.alt

    def _repr_html_(self) -> str:
        script, view = (minify_script(path) for path in (MODULE.with_suffix(".js"), self.view))
        scripts = ",".join(f"{path.stem}:{minify_script(path)}" for path in self.scripts)
        # no text in the data may end the script element
        data = json.dumps(self.data, default=to_json, separators=(",", ":")).replace("<", r"\u003c")
        controls = "".join(control.html() for control in self.controls)
        # the view replaces the text alternative by its caption
        table = self.table and f"<table>{self.table}</table>"
        parts = [
            f'<div class="scroll">{self.picture}{table}</div>',
            f'<p data-show="said" aria-live="polite">{escape(self.alt)}</p>',
        ]
        content = "".join(reversed(parts) if self.caption_first else parts)
        body = (
            f'<form autocomplete="off"><div class="controls" hidden>{controls}</div>'
            f"{content}{self.below}"
            f"<noscript>{SCRIPT_NOTE if controls or self.within else ''}"
            f"{self.fallback}</noscript></form>"
        )
        name = sha256(f"{view}{scripts}{data}{body}".encode()).hexdigest()[:8]
        # without that attribute, JupyterLab captures the arrow keys
        return (
            f'<div class="attncourse-figure" data-figure="{name}" role="group" '
            'data-lm-suppress-shortcuts="true">'
            f"<style>\n{figure_css(self.view, body, name)}\n</style>{body}"
            f'<script>\n({script})("{name}", {data}, {view}, {{{scripts}}})\n</script></div>'
        )


def columns(*names: str) -> str:
    """The header row of an HTML table."""
    cells = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f"<tr>{cells}</tr>"


def row(name: str, *cells: str, attrs: str = "") -> str:
    """A row of an HTML table; `attrs` may be those of `Choice.hover_attrs`."""
    contents = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr{attrs}><th scope="row">{name}</th>{contents}</tr>'


def number(slot: str, value: float | Tensor, look: str = "", text: str | None = None) -> str:
    """A slot with a number; `look` is its CSS class: `bar`, `up` (vertical), `heat` or `signed`.

    `heat` colours numbers from 0 to 1; `signed` has one colour above 0 and another below. The slot
    shows the number in two digits, or `text`, for which a view returns `{ text, value }`.
    """
    value = float(value)
    attributes = f' class="{look}" style="--share:{value:.3f}"' if look else ""
    content = format_number(value) if text is None else escape(text)
    return f'<data value="{value:.4g}" data-show="{slot}"{attributes}>{content}</data>'


def figure_css(view: Path, body: str, name: str) -> str:
    """CSS of the figure: the shared rules and colours that it uses, and its own file."""
    shared, specific = (
        strip_comments(path.read_text("utf-8")) if path.exists() else ""
        for path in (MODULE.with_suffix(".css"), view.with_suffix(".css"))
    )
    # limited to this figure, with precedence over the shared rules of later figures
    specific = specific.replace(".attncourse-figure", f'.attncourse-figure[data-figure="{name}"]')
    style = ""
    for line in f"{shared}\n{specific}".splitlines():
        selector = re.match(r"\.([a-z]+) {|(button|select) {", line)
        if not selector or re.search(rf'class="[^"]*\b{selector[1]}\b|<{selector[2]} ', body):
            style += re.sub(r"\s*([{};])\s*|(?<=[:,])\s+", r"\1", line).replace(";}", "}")
    roles = {
        role: light_and_dark
        for role, light_and_dark in COLOURS.items()
        if f"var(--{role})" in style
    }
    colours = ";".join(
        f"--{role}:light-dark({','.join(light_and_dark)})" for role, light_and_dark in roles.items()
    )
    return f".attncourse-figure{{{colours}}}{style}"


def strip_comments(text: str) -> str:
    """CSS or JavaScript without indents and one-line comments."""
    lines = map(str.strip, text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*")))


def minify_script(path: Path) -> str:
    """JavaScript without comments and superfluous spaces."""
    pieces = STRING_LITERAL.split(strip_comments(path.read_text("utf-8")))
    return "".join(
        piece if i % 2 else OPERATOR_SPACE.sub(r"\1", piece) for i, piece in enumerate(pieces)
    )


def label_html(name: str) -> str:
    """HTML of a control's name, with a subscript for d_k."""
    return re.sub(r"^(\w+)_(\w)$", r"<span>\1<sub>\2</sub></span>", escape(name))


def require_start(name: str, options: Sequence[object], start: int) -> None:
    """Raise ValueError where a control has no option of index `start`."""
    if not 0 <= start < len(options):
        raise ValueError(f"{name} starts at option {start}, but it has {len(options)}, from 0")


def deferred_script(weights: Path) -> str:
    """Script element with weights that LOADER runs on demand; the site moves it to a file."""
    text = weights.read_text("utf-8")
    return f'<script type="text/plain" data-late="{weights.name}">{text}</script>'
