"""A trained Transformer that runs in the page: it writes the German name of a number, part by part.

Its weights, which benchmarks/live.py makes, are a script that the first touch loads. The scripts
beside it name numbers, run the model (model.js), and say what the figure shows (view.js); what is
seen before, and all that is seen without scripts, was recorded with PyTorch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from attncourse.figures.interactive import Choice, Interactive, columns, late, number, row
from attncourse.stored import assigned

HERE = Path(__file__).parent
WEIGHTS = HERE / "weights.js"
END = "(end)"


@dataclass(frozen=True)
class Typed:
    """A line to type into, and a button that Enter presses too."""

    name: str
    start: str
    button: str

    def html(self) -> str:
        """The line between its name and the button."""
        name = escape(self.name)
        return (
            f'<label>{name} <input type="text" name="{name}" value="{escape(self.start)}" '
            'spellcheck="false" autocapitalize="off" enterkeyhint="go"></label>'
            f'<button type="submit">{escape(self.button)}</button>'
        )


def translator(*, head: int = 0, part: int = 0) -> Interactive:
    """Type a number, and a trained model writes its German name; pick a part, and a head to follow.

    The first number is a recorded one; `head` and `part` are shown first.
    """
    held = assigned(WEIGHTS)
    first = held["recorded"][0]
    written = [*first["parts"], END]
    steps = [
        {"part": one, "cross": [of[i] for of in first["cross"]]} for i, one in enumerate(written)
    ]
    pick = Choice("part", written, part)
    name = f"{first['number']}, “{' '.join(first['english'])}”"
    return Interactive(
        HERE / "view.js",
        {
            "recorded": {"n": first["number"], "english": first["english"], "steps": steps},
            "longest": held["longest"],
        },
        [
            Typed("number", str(first["number"]), "write"),
            Choice("looks at", ["English", "German so far"]),
            Choice("head", [str(one) for one in range(held["heads"])], head),
        ],
        "",
        alt=f"On the left the English words of {name}, on the right the parts of the German name "
        f"that a trained model writes: {' '.join(first['parts'])}. From each part arcs lead to the "
        f"words that head {head} looks at; those of “{written[part]}” are marked.",
        picture=picture_of(first["english"], pick, first["cross"][head]) + late(WEIGHTS),
        within=[pick],
        uses=[HERE / f"{script}.js" for script in ("naming", "model", "resize", "start")],
        still=recorded(held["recorded"]),
    )


def picture_of(words: Sequence[str], pick: Choice, shares: Sequence[Sequence[float]]) -> str:
    """The name so far; below it the words, the parts, and from each part an arc to each word."""
    m, n, at = len(words), len(pick.options), pick.start
    keys = (
        f'<span class="key"><span data-show="key">{escape(word)}</span>'
        f"{number('found', share, 'heat')}</span>"
        for word, share in zip(words, shares[at], strict=True)
    )
    arcs = (
        f'<path data-show="arc" class="{mark(i, at)}" style="--share:{share:.3f}" '
        f'd="M0 {x:.4g}C.5 {x:.4g} .5 {y:.4g} 1 {y:.4g}"/>'
        for i, line in enumerate(shares)
        for j, share in enumerate(line)
        for x, y in [((j + 0.5) / m, (i + 0.5) / n)]
    )
    parts = (
        f'<label data-show="ask" class="{mark(i, at)}"{pick.at(i)}><input type="radio" name="part" '
        f'value="{i}"{" checked" * (i == at)} hidden><span data-show="part">{part}</span></label>'
        for i, part in enumerate(pick.options)
    )
    # a long name may break between its parts
    done, whole = (spelt(pick.options[:end], "\u00ad") for end in (min(at + 1, n - 1), n - 1))
    return (
        '<div data-show="drawn" class="drawn"><div class="name" lang="de">'
        f'<b data-show="done">{done}</b><span data-show="rest">{whole[len(done) :]}</span></div>'
        '<div class="is"><span data-show="from">English words</span><span>German parts</span></div>'
        f'<div class="sides"><div data-show="keys">{"".join(keys)}</div>'
        '<svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<g data-show="arcs">{"".join(arcs)}</g></svg>'
        f'<div data-show="parts" lang="de">{"".join(parts)}</div></div></div>'
    )


def mark(i: int, at: int) -> str:
    """The class of a part and of its arcs: the chosen one, those before it, those to come."""
    return "on" if i == at else "" if i < at else "later"


def spelt(parts: Sequence[str], between: str = "") -> str:
    """The parts as they are written: millions are words of their own, the rest is one word."""
    apart = (f" {part.capitalize()} " if part.startswith("mill") else part for part in parts)
    name = between.join(apart)
    return name.replace(f"{between} ", " ").replace(f" {between}", " ").strip()


def recorded(examples: Sequence[dict]) -> str:
    """What the model wrote when it was made, as a table."""
    rows = (
        row(
            f"{one['number']:,}",
            " ".join(one["english"]),
            spelt(one["parts"]),
            "yes" if one["right"] else "no",
        )
        for one in examples
    )
    return (
        f"<table>{columns('number', 'English', 'the model writes', 'right')}{''.join(rows)}</table>"
    )
