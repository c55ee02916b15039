"""A trained Transformer that runs in the page and writes the German name of a number.

Its weights, made by benchmarks/live.py, are a script that loads on first use. The scripts beside
this file name numbers (naming.js), run the model (model.js) and fill the figure (view.js); the
first state, and the table for readers without scripts, were recorded with PyTorch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from attncourse.figures.interactive import (
    LOADER,
    Choice,
    Interactive,
    columns,
    deferred_script,
    number,
    row,
)
from attncourse.stored import read_script

FOLDER = Path(__file__).parent
WEIGHTS = FOLDER / "weights.js"
SCRIPTS = ("naming", "model", "resize", "start")
END = "(end)"


@dataclass(frozen=True)
class TextInput:
    """A text field with a submit button; the view receives the text."""

    name: str
    start: str
    button: str

    def html(self) -> str:
        """HTML of the field with its label, and of the button."""
        name = escape(self.name)
        return (
            f'<label>{name} <input type="text" name="{name}" value="{escape(self.start)}" '
            'spellcheck="false" autocapitalize="off" enterkeyhint="go"></label>'
            f'<button type="submit">{escape(self.button)}</button>'
        )


def translator(*, head: int = 0, part: int = 0) -> Interactive:
    """Figure: the German name of a typed number, and the cross-attention of each part of it.

    The first number is a recorded one; `head` and `part` are the first choices.
    """
    script = read_script(WEIGHTS)
    first = script["recorded"][0]
    parts_and_end = [*first["parts"], END]
    steps = [
        {"part": text, "cross": [rows[i] for rows in first["cross"]]}
        for i, text in enumerate(parts_and_end)
    ]
    pick = Choice("part", parts_and_end, part)
    name = f"{first['number']}, “{' '.join(first['english'])}”"
    return Interactive(
        FOLDER / "view.js",
        {
            "recorded": {"n": first["number"], "english": first["english"], "steps": steps},
            "longest": script["longest"],
        },
        [
            TextInput("number", str(first["number"]), "write"),
            Choice("looks at", ["English", "German so far"]),
            Choice("head", [str(i) for i in range(script["heads"])], head),
        ],
        "",
        alt=f"On the left are the English words of {name}; on the right are the parts of the "
        f"German name that a trained model writes: {' '.join(first['parts'])}. Arcs lead from each "
        f"part to the words that head {head} looks at, and those of “{parts_and_end[part]}” are "
        "marked.",
        picture=picture_html(first["english"], pick, first["cross"][head])
        + deferred_script(WEIGHTS),
        within=[pick],
        scripts=[LOADER, *(FOLDER / f"{name}.js" for name in SCRIPTS)],
        fallback=examples_table(script["recorded"]),
    )


def picture_html(words: Sequence[str], pick: Choice, shares: Sequence[Sequence[float]]) -> str:
    """HTML of the name so far, and below it the words, the parts, and an arc for each pair."""
    m, n, chosen = len(words), len(pick.options), pick.start
    keys = (
        f'<span class="key"><span data-show="key">{escape(word)}</span>'
        f"{number('found', share, 'heat')}</span>"
        for word, share in zip(words, shares[chosen], strict=True)
    )
    arcs = (
        f'<path data-show="arc" class="{part_class(i, chosen)}" style="--share:{share:.3f}" '
        f'd="M0 {x:.4g}C.5 {x:.4g} .5 {y:.4g} 1 {y:.4g}"/>'
        for i, line in enumerate(shares)
        for j, share in enumerate(line)
        for x, y in [((j + 0.5) / m, (i + 0.5) / n)]
    )
    part_buttons = (
        f'<label data-show="ask" class="{part_class(i, chosen)}"{pick.hover_attrs(i)}>'
        '<input type="radio" name="part" '
        f'value="{i}"{" checked" * (i == chosen)} hidden>'
        f'<span data-show="part">{part}</span></label>'
        for i, part in enumerate(pick.options)
    )
    # a long name may break between its parts
    start, full = (
        german_spelling(pick.options[:end], "\u00ad") for end in (min(chosen + 1, n - 1), n - 1)
    )
    return (
        '<div data-show="drawn" class="drawn"><div class="name" lang="de">'
        f'<b data-show="done">{start}</b><span data-show="rest">{full[len(start) :]}</span></div>'
        '<div class="is"><span data-show="from">English words</span><span>German parts</span></div>'
        f'<div class="sides"><div data-show="keys">{"".join(keys)}</div>'
        '<svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<g data-show="arcs">{"".join(arcs)}</g></svg>'
        f'<div data-show="parts" lang="de">{"".join(part_buttons)}</div></div></div>'
    )


def part_class(i: int, chosen: int) -> str:
    """CSS class of part i and its arcs: chosen, before the chosen one, or later."""
    return "on" if i == chosen else "" if i < chosen else "later"


def german_spelling(parts: Sequence[str], separator: str = "") -> str:
    """A German name in its spelling: millions are separate words, the rest is one word."""
    words = (f" {part.capitalize()} " if part.startswith("mill") else part for part in parts)
    name = separator.join(words)
    return name.replace(f"{separator} ", " ").replace(f" {separator}", " ").strip()


def examples_table(examples: Sequence[dict]) -> str:
    """HTML table of recorded outputs of the model."""
    rows = (
        row(
            f"{example['number']:,}",
            " ".join(example["english"]),
            german_spelling(example["parts"]),
            "yes" if example["right"] else "no",
        )
        for example in examples
    )
    return (
        f"<table>{columns('number', 'English', 'the model writes', 'right')}{''.join(rows)}</table>"
    )
