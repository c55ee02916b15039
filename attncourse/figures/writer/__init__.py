"""A trained GPT that runs in the page and writes English of a chosen decade.

It is the model of the chapter on language models; its weights, attncourse/stored/english.js, are a
script that loads on first use. The scripts beside this file tokenize (pieces.js), run the model
(model.js), cache its results (session.js) and fill the figure (view.js); the first state was
recorded with them, by benchmarks/writer.py.
"""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import islice
from pathlib import Path

from attncourse.figures.interactive import (
    LOADER,
    Choice,
    Interactive,
    Slider,
    columns,
    deferred_script,
    number,
    row,
)
from attncourse.figures.numbers import format_number
from attncourse.stored import read_script

FOLDER = Path(__file__).parent
WEIGHTS = FOLDER.parents[1] / "stored" / "english.js"
SCRIPTS = ("session", "model", "pieces", "resize", "arcs", "address", "guess", "start")
BARS, GUESSES = 6, 3
NOTE = (
    "A small model makes this text up: nobody said it, though a phrase may be real. It learned "
    "from the Presidents’ addresses to Congress, 1790 to 2026, and repeats the language of their "
    "times, prejudices included."
)
BARS_NOTE = (
    "Each bar is the probability of the next token, a word or a part of one (bold). The grey "
    "letters are the rest of its word: before the token, what the text already has; after it, the "
    "likeliest end. <em>Draw one</em> and <em>write on</em> draw tokens at random with these "
    "probabilities, so some of the words are made up."
)
BITS_NOTE = (
    "The bar below a word shows how far the prediction for the decade in the first box shifts "
    "when you cover the word. The bar is full at 1 bit or more: point at the word for its number. "
    "At 1 bit, what the model expected becomes half as likely, on average; at 2 bits, "
    "a quarter as likely, and so on. A word may be several tokens: “fellow” is “fe” and “llow”. "
    "Cover it, and no later token can see either, so “llow” doesn’t see “fe”, but each token still "
    "reads itself."
)
SUGGESTIONS = ("My fellow", "We must", "Our enemies", "The railroads")


def writer(*, suggestions: Sequence[str] = SUGGESTIONS, more: bool = False) -> Interactive:
    """Figure: how a trained model continues a sentence, and what it expects without a word of it.

    The first text and its decades are recorded ones; `suggestions` are other beginnings. With
    `more`, the figure opens with a second decade, the heads, a game and the training.
    """
    model_data = read_script(WEIGHTS)
    opening = model_data["opening"]
    decades = [decade_name(decade) for decade in opening["decades"]]
    side = Choice("side", decades)
    tip = tip_text(opening, decades)
    return Interactive(
        FOLDER / "view.js",
        {
            "opening": opening,
            "tip": tip,
            "tipped": tipped_item(opening),
            "trained": model_data["training"]["steps"][-1]["next"],
            "heads": len(first_sides(opening)[0]["looks"]) - 1,
            "of_block": model_data["heads"],
            "unsaid": (FOLDER / "unsaid.txt").read_text("utf-8").split(),
        },
        [],
        "",
        alt=summary(opening, decades, more),
        picture=picture_html(model_data, decades, tip, more) + deferred_script(WEIGHTS),
        within=[side],
        below=text_field_html(opening, suggestions) + more_html(model_data, side, more) + notes(),
        scripts=[LOADER, *(FOLDER / f"{name}.js" for name in SCRIPTS)],
        fallback=examples_table(model_data["examples"]),
    )


def decade_name(decade: int) -> str:
    """The decade in words: 1860s."""
    return f"{decade}s"


def token_label(text: str) -> str:
    """A token without surrounding white space; ¶ or ␣ if it is nothing else."""
    return text.strip() or ("¶" if "\n" in text else "␣")


def first_sides(opening: Mapping) -> Sequence[Mapping]:
    """The predictions in the two decades, with no word covered."""
    return opening["states"][0]["sides"]


def tipped_item(opening: Mapping) -> int:
    """The word to cover first, without which the next tokens are recorded, too."""
    (item,) = opening["states"][1]["covered"]
    return item


def tip_text(opening: Mapping, decades: Sequence[str]) -> str:
    """What to do first."""
    word = token_label(opening["items"][tipped_item(opening)])
    question = f"What comes next in the {decades[0]}?"
    return f"{question} Tap “{word}” to cover it: no later word can then see it."


def summary(opening: Mapping, decades: Sequence[str], more: bool) -> str:
    """Caption of the first state: the likeliest continuation, in the first decade or in both."""
    firsts = (side["next"][0] for side in first_sides(opening))
    continuations = [
        expectation(token) + f" in the {decade}" * more
        for decade, token in zip(decades, firsts, strict=True)
    ]
    expected = " and ".join(continuations if more else continuations[:1])
    return f"After “{opening['text']}”, the model expects {expected}."


def expectation(token: Mapping) -> str:
    """A token with its probability and, where it has one, the likeliest end of its word."""
    text, rest = token_label(token["text"]), token["rest"]
    word = f", as in “{text}{rest}”" if rest else ""
    return f"“{text}” ({token['p']:.2f}{word})"


def picture_html(model_data: Mapping, decades: Sequence[str], tip: str, more: bool) -> str:
    """HTML of what to do first, the words of the text, and the next tokens in two decades."""
    opening = model_data["opening"]
    marks = first_sides(opening)[0]["marks"]
    looks = {0: " decade", tipped_item(opening): " tipped", len(marks) - 1: " on"}
    words = "".join(
        item_html(i, text, marks[i], look=looks.get(i, ""), more=more)
        for i, text in enumerate([decades[0], *opening["items"][1:]])
    )
    sides = "".join(
        bars_html(i, side_data, decade, model_data["decades"])
        for i, (side_data, decade) in enumerate(
            zip(first_sides(opening), opening["decades"], strict=True)
        )
    )
    return (
        f'<div data-show="tip" class="tip" hidden>{escape(tip)}</div>'
        f'<div data-show="sheet" class="sheet{" open" * more}">'
        '<div class="strip"><svg aria-hidden="true"></svg>'
        f'<div data-show="items" class="items">{words}</div></div>'
        f'<div class="both">{sides}</div></div>'
        '<input type="hidden" name="pointed" value="-1">'
        '<input type="hidden" name="writing" value="-1">'
        '<input type="hidden" name="whole" value="1">'
        f'<input type="hidden" name="more" value="{int(more)}">'
    )


def text_field_html(opening: Mapping, suggestions: Sequence[str]) -> str:
    """HTML of the field for a text of one's own, with some beginnings to try."""
    chips = "".join(button("try", text, f'data-try="{escape(text)}"') for text in suggestions)
    return (
        '<div class="typed" hidden><label>Begin a sentence of your own '
        f'<textarea name="text" rows="2" spellcheck="false">{escape(opening["text"])}</textarea>'
        f'</label><div class="tries">or try {chips}</div></div>'
        '<div class="onward none" data-show="onward">'
        f"{button('onward', 'go on from the last 64 tokens')}</div>"
    )


def button(action: str, text: str, attributes: str = "") -> str:
    """HTML button that performs an action of start.js."""
    return f'<button type="button" data-do="{action}" {attributes} hidden>{escape(text)}</button>'


def item_html(i: int, text: str, bits: float, *, look: str, more: bool) -> str:
    """HTML of a word that can be covered, with its effect in bits; item 0 is the decade."""
    effect = f" ({format_number(bits)} bits)" if more else ""
    name = f"cover {token_label(text) if i else 'the decade'}{effect}"
    return (
        f'<label data-show="item" class="item{look}"><input type="checkbox" name="cover {i}" '
        f'data-show="cover" aria-label="{escape(name)}" hidden>'
        f'<span data-show="seen">{escape(token_label(text))}</span>'
        f'<i data-show="mark" style="--bits:{min(bits, 1):.3f}"></i></label>'
    )


def bars_html(side: int, prediction: Mapping, decade: int, decades: Sequence[int]) -> str:
    """HTML of the likeliest next tokens in a decade, each a button."""
    options = "".join(
        f'<option value="{year}"{" selected" * (year == decade)}>{decade_name(year)}</option>'
        for year in decades
    )
    name = ("decade", "beside")[side]
    rows = "".join(
        f'<div class="next" data-show="next" style="--share:{token["p"]:.3f}">'
        f'<span><i data-show="joined"></i>'
        f'<b data-show="word">{escape(token_label(token["text"]))}</b>'
        f'<i data-show="rest">{escape(token["rest"])}</i></span>{number("share", token["p"])}'
        f'<button type="button" data-do="take" data-take="{side * BARS + i}" data-show="take" '
        f'aria-label="take “{escape(token_label(token["text"]) + token["rest"])}”" hidden>'
        "</button></div>"
        for i, token in enumerate(prediction["next"])
    )
    data = f'data-side="{side}"'
    return (
        f'<section class="side" data-show="side" role="group" aria-label="{decade_name(decade)}">'
        f'<div class="head"><b data-show="decade">'
        f'{decade_name(decade)}</b><select name="{name}" aria-label="decade {side + 1}" hidden>'
        f"{options}"
        f"</select></div>{rows}"
        f'<div class="other"><span>all others</span>{number("other", prediction["other"])}</div>'
        f'<div class="acts">{button("draw", "draw one", data)}'
        f"{button('write', 'write on', data)}</div>"
        "</section>"
    )


def more_html(model_data: Mapping, side: Choice, more: bool) -> str:
    """HTML of the fold with the bits of each word, the heads, the game, and the training."""
    return (
        f'<details class="more"{" open" * more} hidden><summary>More to try: other decades, the '
        "model’s heads, a game, its training</summary>"
        f'<div class="legend">{BITS_NOTE} '
        f'<span data-show="legend">{legend(model_data["opening"])}</span></div>'
        '<details class="heads"><summary>Look into its heads</summary>'
        f"{heads_html(model_data, side)}</details>"
        f"{details('Guess first: are you better than the model?', game_html())}"
        f"{details('How it learned this', training_html(model_data['training']))}"
        "</details>"
    )


def notes() -> str:
    """HTML of what to know about the model and the page."""
    return (
        f'<div class="note">{BARS_NOTE} {NOTE} Some forty slurs and sexual words are blocked: the '
        'model then draws again. <span class="sent" hidden>This page’s address holds your '
        "text, the decades, what’s covered and which heads are off: share it, and others see what "
        "you see.</span></div>"
    )


def details(title: str, content: str) -> str:
    """A collapsible HTML element."""
    return f"<details><summary>{title}</summary>{content}</details>"


def heads_html(model_data: Mapping, side: Choice) -> str:
    """HTML of all heads, those with a known role first, to follow one or switch it off."""
    side_buttons = "".join(
        f'<label><input type="radio" name="side" value="{i}"{" checked" * (i == side.start)} '
        f'hidden><span data-show="reads">{one}</span></label>'
        for i, one in enumerate(side.options)
    )
    roles = {tuple(role["head"]): role["role"] for role in model_data["roles"]}
    count = model_data["heads"]
    opening = model_data["opening"]
    all_heads = [divmod(i, count) for i in range(len(first_sides(opening)[0]["looks"]) - 1)]
    count_others = len(all_heads) - len(roles)
    ordered = [*roles, *(head for head in all_heads if head not in roles)]
    html_by_head = {
        (block, head): head_row(
            block * count + head, f"{block}.{head}", roles.get((block, head), "")
        )
        for block, head in ordered
    }
    other_rows = "".join(text for head, text in html_by_head.items() if head not in roles)
    return (
        f'<div data-show="looked" aria-live="polite">{attention_summary(opening)}</div>'
        '<label class="all"><input type="radio" name="head" value="-1" checked> all, on average'
        f"</label>{''.join(html_by_head[role] for role in roles)}"
        f"{details(f'{count_others} heads with no single target', other_rows)}"
        f"<fieldset><legend>lines and bars for the</legend>{side_buttons}</fieldset>"
        "<div>The lines above the words run from the last word, or the one you point to, to the "
        "words that the heads look at: a thicker line means more weight. A word of several tokens "
        "looks with its last token, and a loop is the weight that stays within the word. The short "
        "grey stroke is the weight on the start of the text. A head that’s switched off adds "
        "nothing. Head 2.0 is head 0 of block 2; both are counted from 0.</div>"
        "<div>A head may look at a word that the model doesn’t need: compare the lines with the "
        "bars below the words.</div>"
    )


def item_names(opening: Mapping) -> list[str]:
    """The decade and the quoted words of the first text, for sentences."""
    return ["the decade", *(f"“{token_label(text)}”" for text in opening["items"][1:])]


def legend(opening: Mapping) -> str:
    """Sentence: the word of the first text that matters most for the next token."""
    bits, word = max(zip(first_sides(opening)[0]["marks"], item_names(opening), strict=True))
    return (
        f"What matters most is {word}: cover it, and the prediction shifts by "
        f"{format_number(bits)} bits."
    )


def attention_summary(opening: Mapping) -> str:
    """Sentence: where the heads look from the last word of the first text."""
    start, *token_shares = first_sides(opening)[0]["looks"][0]
    words, pieces_by_word = item_names(opening), opening["parts"]
    remaining = iter(token_shares)
    by_word = [[*islice(remaining, len(pieces_of_word))] for pieces_of_word in pieces_by_word]
    targets = {"the start": start, **dict(zip(words, map(sum, by_word), strict=True))}
    target = max(targets, key=lambda name: targets[name])
    target_text = "itself" if target == words[-1] else target
    sentence = (
        f"From {words[-1]}, the heads together look most at {target_text}: "
        f"{format_number(targets[target])} of the weight."
    )
    if target_text != "itself" or len(pieces_by_word[-1]) == 1:
        return sentence
    pieces = (
        f"“{token_label(piece)}” {format_number(share)}"
        for piece, share in zip(pieces_by_word[-1], by_word[-1], strict=True)
    )
    return f"{sentence} Its tokens: {', '.join(pieces)}."


def head_row(index: int, name: str, role: str) -> str:
    """HTML of a head: a radio button to follow it, its role, and a checkbox to switch it off."""
    return (
        f'<div class="role"><label><input type="radio" name="head" value="{index}"> follow {name}'
        f'</label><span>{escape(role)}</span><label><input type="checkbox" name="on {index}" '
        f'checked aria-label="{name} is on"> on</label></div>'
    )


def game_html() -> str:
    """HTML of the game: guess the next word of a real address, against the model."""
    deals = "".join(
        f'<div class="deal"><label>word {i} <input type="text" name="guess {i}" spellcheck="false" '
        'autocapitalize="off"></label><label>points <input type="number" '
        f'name="points {i}" min="0" max="99" inputmode="numeric"></label></div>'
        for i in range(1, GUESSES + 1)
    )
    return (
        '<div class="guess"><div>A President really said this. Which word comes next? Share up to '
        "99 points among at most three words; the rest of the 100 goes to all other words. If "
        "the right word has half the points, it costs you 1 bit; if it has a quarter, 2. The "
        "fewest bits win.</div>"
        f'<div class="passage" data-show="passage"></div>{deals}'
        '<div>another word: <b data-show="left">100</b></div>'
        f'<div class="acts">{button("open", "show the word")}'
        f"{button('another', 'another text')}</div>"
        '<div data-show="verdict" aria-live="polite"></div>'
        '<div class="note">Half of what you leave for all other words is shared equally, as if '
        "there were 28,000 of them, and half goes by how common their tokens are. The model also "
        "has to allow for a comma or a full stop; you don’t.</div></div>"
    )


def training_html(training: Mapping) -> str:
    """HTML of the likeliest next tokens after a text, by training step."""
    steps = [state["step"] for state in training["steps"]]
    slider = Slider("step", steps, len(steps) - 1)
    sides = "".join(
        f'<section class="side"><div class="head"><b>{decade_name(decade)}</b></div>'
        + "".join(
            f'<div class="next" data-show="early" style="--share:{token["p"]:.3f}"><span>'
            f'<b data-show="begun">{escape(token_label(token["text"]) + token["rest"])}</b></span>'
            f"{number('chance', token['p'])}</div>"
            for token in next_tokens
        )
        + "</section>"
        for decade, next_tokens in zip(
            training["decades"], training["steps"][-1]["next"], strict=True
        )
    )
    return (
        f"<div>What the model expected after “{escape(training['text'])}” at this step of its "
        f'training:</div><div class="steps">{slider.html()}</div>'
        f'<div class="both">{sides}</div>'
    )


def examples_table(examples: Sequence[Mapping]) -> str:
    """HTML table of recorded outputs of the model."""
    rows = (
        row(decade_name(example["decade"]), escape(example["begun"]), escape(example["text"]))
        for example in examples
    )
    return f"<table>{columns('decade', 'begun with', 'the model goes on')}{''.join(rows)}</table>"
