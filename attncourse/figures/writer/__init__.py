"""A trained GPT that runs in the page: it writes English of the decade that you choose.

It is the model of the chapter on language models, and its weights, attncourse/stored/english.js,
are a script that the first touch loads. The scripts beside this file cut a text into byte pairs
(pieces.js), run the model (model.js), keep what it made (session.js), and say what the figure shows
(view.js); what is seen before was recorded with them, by benchmarks/writer.py.
"""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import islice
from pathlib import Path

from attncourse.figures.interactive import (
    Choice,
    Interactive,
    Slider,
    columns,
    late,
    number,
    row,
)
from attncourse.figures.numbers import shown
from attncourse.stored import assigned

HERE = Path(__file__).parent
WEIGHTS = HERE.parents[1] / "stored" / "english.js"
SCRIPTS = ("session", "model", "pieces", "resize", "arcs", "address", "guess", "start")
BARS, EARLY, GUESSES = 6, 4, 3
NOTE = (
    "A small model makes this text up: nobody said it, though a phrase may be real. It learned "
    "from the Presidents’ addresses to Congress, 1790 to 2026, and repeats the language of their "
    "times, prejudices included."
)
HINT = "Choose another decade, click a word to take it, or type a beginning of your own."
TRIES = ("My fellow", "We must", "Our enemies", "The railroads")


def writer(*, tries: Sequence[str] = TRIES) -> Interactive:
    """Begin a sentence, and see how a trained model goes on with it in two decades.

    The first text and its decades are recorded ones; `tries` are others to begin with.
    """
    held = assigned(WEIGHTS)
    opening = held["opening"]
    decades = [named(decade) for decade in opening["decades"]]
    side = Choice("side", decades)
    return Interactive(
        HERE / "view.js",
        {
            "opening": opening,
            "hint": HINT,
            "heads": len(opening["sides"][0]["looks"]) - 1,
            "of_block": held["heads"],
            "unsaid": (HERE / "unsaid.txt").read_text("utf-8").split(),
        },
        [],
        "",
        alt=said_of(opening, decades),
        picture=picture_of(held, decades, side, tries) + late(WEIGHTS),
        within=[side],
        below=folds(held, decades),
        uses=[HERE / f"{script}.js" for script in SCRIPTS],
        still=recorded(held["examples"]),
    )


def named(decade: int) -> str:
    """1860 as the 1860s."""
    return f"{decade}s"


def shown_as(text: str) -> str:
    """A token without the space before it."""
    return text.strip() or ("¶" if "\n" in text else "␣")


def said_of(opening: Mapping, decades: Sequence[str]) -> str:
    """How the two decades go on with the first text."""
    firsts = (side["next"][0] for side in opening["sides"])
    takes = (
        f"“{shown_as(one['text'])}{one['rest']}” ({one['p']:.2f}) in the {decade}"
        for decade, one in zip(decades, firsts, strict=True)
    )
    return f"After “{opening['text']}”, most likely: {', '.join(takes)}. {HINT}"


def picture_of(held: Mapping, decades: Sequence[str], side: Choice, tries: Sequence[str]) -> str:
    """What is said of the text, the text, its words, and what may follow in two decades."""
    opening = held["opening"]
    chips = "".join(do("try", text, f'data-try="{escape(text)}"') for text in tries)
    marks = opening["sides"][0]["marks"]
    words = "".join(
        item(i, text, marks[i], last=i == len(marks) - 1)
        for i, text in enumerate([decades[0], *opening["items"][1:]])
    )
    sides = "".join(
        bars(i, one, decade, held["decades"])
        for i, (one, decade) in enumerate(zip(opening["sides"], opening["decades"], strict=True))
    )
    return (
        f'<div class="note">{NOTE}</div><div data-show="sheet" class="sheet">'
        '<div class="typed" hidden><label>Begin a sentence '
        f'<textarea name="text" rows="2" spellcheck="false">{escape(opening["text"])}</textarea>'
        f'</label><div class="tries">or try {chips}</div></div>'
        '<div class="onward none" data-show="onward">'
        f"{do('onward', 'go on from the last 64 pieces')}</div>"
        '<div class="strip"><svg aria-hidden="true"></svg>'
        f'<div data-show="items" class="items">{words}</div></div>'
        '<div class="legend" hidden><span>Tap a word to cover it, so that no later word sees it. '
        "The bar below it says how much that changes what comes next: nothing at 0 bits, and from "
        "1 bit on the bar is full.</span> "
        f'<span data-show="legend">{legend_of(opening)}</span></div>'
        '<details class="heads" hidden><summary>Look into its heads, which draw these lines'
        f"</summary>{heads_of(held, side)}</details>"
        f'<div class="both">{sides}</div></div>'
        '<input type="hidden" name="pointed" value="-1">'
        '<input type="hidden" name="writing" value="-1">'
        '<input type="hidden" name="whole" value="1">'
    )


def do(act: str, text: str, more: str = "") -> str:
    """A button, and what it does."""
    return f'<button type="button" data-do="{act}" {more} hidden>{escape(text)}</button>'


def item(i: int, text: str, bits: float, *, last: bool) -> str:
    """A word that can be covered, and how much that changes; the first is the decade."""
    look = f"item{'' if i else ' decade'}{' on' if last else ''}"
    name = f"cover {shown_as(text) if i else 'the decade'} ({shown(bits)} bits)"
    return (
        f'<label data-show="item" class="{look}"><input type="checkbox" name="cover {i}" '
        f'data-show="cover" aria-label="{escape(name)}" hidden>'
        f'<span data-show="seen">{escape(shown_as(text))}</span>'
        f'<i data-show="mark" style="--bits:{min(bits, 1):.3f}"></i></label>'
    )


def bars(side: int, found: Mapping, decade: int, known: Sequence[int]) -> str:
    """What may follow in a decade: the likeliest first, each a button."""
    options = "".join(
        f'<option value="{one}"{" selected" * (one == decade)}>{named(one)}</option>'
        for one in known
    )
    name = ("decade", "beside")[side]
    rows = "".join(
        f'<div class="next" data-show="next" style="--share:{one["p"]:.3f}">'
        f'<span><b data-show="word">{escape(shown_as(one["text"]))}</b>'
        f'<i data-show="rest">{escape(one["rest"])}</i></span>{number("share", one["p"])}'
        f'<button type="button" data-do="take" data-take="{side * BARS + i}" data-show="take" '
        f'aria-label="take “{escape(shown_as(one["text"]) + one["rest"])}”" hidden></button></div>'
        for i, one in enumerate(found["next"])
    )
    at = f'data-side="{side}"'
    return (
        f'<section class="side" data-show="side" role="group" aria-label="{named(decade)}">'
        f'<div class="head"><b data-show="decade">'
        f'{named(decade)}</b><select name="{name}" aria-label="decade {side + 1}" hidden>{options}'
        f"</select></div>{rows}"
        f'<div class="other"><span>all others</span>{number("other", found["other"])}</div>'
        f'<div class="acts">{do("draw", "draw one", at)}{do("write", "write on", at)}</div>'
        "</section>"
    )


def folds(held: Mapping, decades: Sequence[str]) -> str:
    """What is folded below: the heads, the game, the model in training."""
    return (
        f'<div class="folds" hidden>{fold("Guess first: are you better than the model?", game())}'
        f"{fold('How it learned this', training_of(held, decades))}"
        '<div class="note"><span class="sent">Once you have changed something, the address '
        "of this page holds your text, the decades, what is covered and which heads are off: send "
        "it, and others see what you see. </span>A bar is the chance of a next piece, in bold; in "
        "grey is how its word would most likely end. A draw that would end in one of some forty "
        "slurs and sexual words is drawn again.</div></div>"
    )


def fold(title: str, content: str) -> str:
    """Something that opens at a click."""
    return f"<details><summary>{title}</summary>{content}</details>"


def heads_of(held: Mapping, side: Choice) -> str:
    """Each head by what tests found that it does: to follow one, or to switch it off."""
    reads = "".join(
        f'<label><input type="radio" name="side" value="{i}"{" checked" * (i == side.start)} '
        f'hidden><span data-show="reads">{one}</span></label>'
        for i, one in enumerate(side.options)
    )
    roles = {tuple(one["head"]): one["role"] for one in held["roles"]}
    count = held["heads"]
    every = [divmod(i, count) for i in range(len(held["opening"]["sides"][0]["looks"]) - 1)]
    ordered = [*roles, *(one for one in every if one not in roles)]
    listed = {
        one: head(one[0] * count + one[1], f"{one[0]}.{one[1]}", roles.get(one, ""))
        for one in ordered
    }
    others = "".join(text for one, text in listed.items() if one not in roles)
    return (
        f'<div data-show="looked" aria-live="polite">{looked_of(held["opening"])}</div>'
        '<label class="all"><input type="radio" name="head" value="-1" checked> all, on average'
        f"</label>{''.join(listed[one] for one in roles)}"
        f"{fold(f'{len(every) - len(roles)} heads whose weights have no one target', others)}"
        f"<fieldset><legend>lines and bars for the</legend>{reads}</fieldset>"
        "<div>The lines above lead from a word, the last one or the one you point to, to where "
        "the heads look: the thicker, the more. A word of several pieces looks with its last "
        "one, and a loop is what it keeps within the word. The grey stroke is the start of the "
        "text. A head that is off adds nothing. In a head’s name its block stands first, both "
        "counted from 0.</div>"
        "<div>Looking at a word is not needing it: compare the lines with the bars below the words."
        "</div>"
    )


def named_items(opening: Mapping) -> list[str]:
    """The decade and the words of the first text, as sentences name them."""
    return ["the decade", *(f"“{shown_as(one)}”" for one in opening["items"][1:])]


def legend_of(opening: Mapping) -> str:
    """Which word of the first text matters most for what comes next."""
    bits, most = max(zip(opening["sides"][0]["marks"], named_items(opening), strict=True))
    return (
        f"What matters most is {most}: covering it changes what comes next by {shown(bits)} bits."
    )


def looked_of(opening: Mapping) -> str:
    """Where the heads look from the last word of the first text."""
    start, *each = opening["sides"][0]["looks"][0]
    words, parts = named_items(opening), opening["parts"]
    left = iter(each)
    within = [[*islice(left, len(own))] for own in parts]
    places = {"the start": start, **dict(zip(words, map(sum, within), strict=True))}
    most = max(places, key=lambda name: places[name])
    where = "itself" if most == words[-1] else most
    told = (
        f"From {words[-1]}, the heads together look most at {where}: {shown(places[most])} of the "
        "weight."
    )
    if where != "itself" or len(parts[-1]) == 1:
        return told
    pieces = (
        f"“{shown_as(part)}” {shown(share)}"
        for part, share in zip(parts[-1], within[-1], strict=True)
    )
    return f"{told} Its pieces: {', '.join(pieces)}."


def head(index: int, name: str, role: str) -> str:
    """A head: whether its lines are shown, what it does, and whether it is on."""
    return (
        f'<div class="role"><label><input type="radio" name="head" value="{index}"> follow {name}'
        f'</label><span>{escape(role)}</span><label><input type="checkbox" name="on {index}" '
        f'checked aria-label="{name} is on"> on</label></div>'
    )


def game() -> str:
    """The next words of a real address, to be guessed before the model shows what it expected."""
    deals = "".join(
        f'<div class="deal"><label>word {i} <input type="text" name="guess {i}" spellcheck="false" '
        'autocapitalize="off"></label><label>points <input type="number" '
        f'name="points {i}" min="0" max="99" inputmode="numeric"></label></div>'
        for i in range(1, GUESSES + 1)
    )
    return (
        '<div class="guess"><div>A President did say this. Which word comes next? Deal 100 points '
        "to at most three words. What is left, at least 1, is shared by all others: half of it "
        "equally, as if there were 28,000 words, and half by how common their pieces are. A word "
        "with half the points costs 1 bit, with a quarter 2: the fewer, the better. The model must "
        "also reckon with a comma or a full stop, and you need not.</div>"
        f'<div class="passage" data-show="passage"></div>{deals}'
        '<div>another word: <b data-show="left">100</b></div>'
        f'<div class="acts">{do("open", "show the word")}{do("another", "another text")}</div>'
        '<div data-show="verdict" aria-live="polite"></div></div>'
    )


def training_of(held: Mapping, decades: Sequence[str]) -> str:
    """What the model expected after the first text when it had been trained for less time."""
    steps = [one["step"] for one in held["training"]]
    slider = Slider("step", steps, len(steps) - 1)
    sides = "".join(
        f'<section class="side"><div class="head"><b>{decade}</b></div>'
        + "".join(
            f'<div class="next" data-show="early" style="--share:{one["p"]:.3f}"><span>'
            f'<b data-show="begun">{escape(shown_as(one["text"]) + one["rest"])}</b></span>'
            f"{number('chance', one['p'])}</div>"
            for one in side["next"][:EARLY]
        )
        + "</section>"
        for decade, side in zip(decades, held["opening"]["sides"], strict=True)
    )
    return (
        f"<div>What came most likely after “{escape(held['opening']['text'])}” after so many steps "
        f'of training:</div><div class="steps">{slider.html()}</div><div class="both">{sides}</div>'
    )


def recorded(examples: Sequence[Mapping]) -> str:
    """What the model wrote when it was made, as a table."""
    rows = (
        row(named(one["decade"]), escape(one["begun"]), escape(one["text"])) for one in examples
    )
    return f"<table>{columns('decade', 'begun with', 'the model goes on')}{''.join(rows)}</table>"
