"""The writer in the page: the tokens and the scores of Python, and a figure to write with."""

import json
import random
import re
from functools import partial
from math import log2

import pytest
import torch
from playwright.sync_api import expect

from attncourse import figures
from attncourse.data.addresses import SAMPLE
from attncourse.data.byte_pairs import PIECE, stored_pairs
from attncourse.data.windows import DECADES, Windower
from attncourse.figures.numbers import format_number
from attncourse.figures.writer import FOLDER, WEIGHTS
from attncourse.language_model import head_weights, language_model, without
from attncourse.stored import read_weights
from attncourse.transformer import generate, sample
from benchmarks.writer import COVERED, TRAINING_TEXT, record
from benchmarks.writer import DECADES as SHOWN
from benchmarks.writer import TEXT as FIRST_TEXT
from tests.site.audit import scheme_faults
from tools.extensions.late import LATE_SCRIPT

from .in_page import PHONE, bare_page, run_in_node

# as on the front page, and as in the chapter on language models
FIGURE, OPEN_FIGURE = figures.writer(), figures.writer(more=True)
REFUSED_WORDS = (FOLDER / "unsaid.txt").read_text("utf-8").split()
TEXTS = SAMPLE.read_text("utf-8").split("\n\n")
MAX_TOKENS, MAX_TEXT_TOKENS = 128, 126


def run(script: str, *names: str):
    """What a script gives back that has the weights as `held`, and some of the figure's scripts."""
    held = "const held = window.attncourseEnglish;"
    return run_in_node(WEIGHTS, FOLDER, f"{held} {script}", *names)


def load_shipped():
    """The model with the weights that the page loads, and what is said of them."""
    weights, stored = read_weights(WEIGHTS)
    model = language_model(len(weights["embedding.table.weight"])).eval()
    model.load_state_dict(weights)
    return model, stored


UNUSUAL_TEXTS = [
    "",
    "a  b\n\n c\t",
    " \u00a0x\x1c\x85y\ufeffz",
    "naïve café, £5 ½ ² Ⅻ ٣",
    "snake_case __ 12a3",
    "日本 🙂🙂 e\u0301",
    'don\'t--"stop"...',
]


def test_the_page_cuts_texts_as_python_does_and_joins_them_again():
    pairs = stored_pairs()
    texts = [*TEXTS, *(text.lower() for text in TEXTS), *UNUSUAL_TEXTS]
    got = run(
        f"const {{ encode, decode }} = pieces(held.pairs); return {json.dumps(texts)}"
        ".map((text) => [encode(text), decode(encode(text))]);",
        "pieces",
    )
    for text, (tokens, decoded) in zip(texts, got, strict=True):
        assert tokens == pairs.encode(text), text
        assert decoded == text
    # bytes that are no character
    invalid = [[195], [226, 130], [240, 159, 72], [169, 169]]
    script = f"const {{ decode }} = pieces(held.pairs); return {invalid}.map(decode);"
    assert run(script, "pieces") == [pairs.decode(tokens_) for tokens_ in invalid]


def test_the_words_of_the_page_are_the_pieces_of_python():
    # a text that Python cuts is one word a piece; tokens that were drawn need not be
    pairs = stored_pairs()
    line = "My fellow-citizens, in 1862 the Union's armies paid $5."
    script_text = f"words(encode({json.dumps(line)}))"
    script = f"const {{ encode, words }} = pieces(held.pairs); return {script_text};"
    tokens, starts = pairs.encode(line), run(script, "pieces")
    word_tokens = [tokens[i:j] for i, j in zip(starts, [*starts[1:], None], strict=True)]
    assert [pairs.decode(tokens_) for tokens_ in word_tokens] == PIECE.findall(line)


def random_prompts(count: int, seed: int):
    """Prompts of 1 to 128 tokens, each with keys that are hidden and heads that are off."""
    rng, windower = random.Random(seed), Windower(stored_pairs())
    texts = [windower.encode(text.partition("\n")[2]) for text in TEXTS]
    all_tokens = [token for text in texts for token in text]
    for i in range(count):
        length = rng.choice((1, 2, MAX_TEXT_TOKENS, rng.randrange(1, MAX_TEXT_TOKENS + 1)))
        start = rng.randrange(len(all_tokens) - length)
        decade = DECADES[i % len(DECADES)]
        tokens = [*windower.prefix(decade), *all_tokens[start : start + length]]
        tokens = tokens[: rng.choice((1, 2)) if i % 25 == 24 else None]
        keys = range(1, len(tokens))
        hidden_keys = rng.sample(keys, min(len(keys), rng.choice((0, 1, 3))))
        heads_off = rng.sample(range(16), rng.choice((0, 0, 1, 4)))
        yield tokens, sorted(hidden_keys), sorted(heads_off)


def torch_logits(model, tokens, hidden_keys, heads_off) -> torch.Tensor:
    """The scores of the last token; a hidden key is seen by its own query alone."""
    mask = torch.ones(len(tokens), len(tokens), dtype=torch.bool)
    mask[:, hidden_keys] = False
    mask |= torch.eye(len(tokens), dtype=torch.bool)
    with without(model, [divmod(head, 4) for head in heads_off]):
        return model(torch.tensor([tokens]), mask[None])[0]


@pytest.mark.parametrize("count", [48, pytest.param(500, marks=pytest.mark.slow)])
@torch.no_grad()
def test_scores_in_the_page_are_those_of_torch(count):
    model, prompts = load_shipped()[0], list(random_prompts(count, seed=count))
    # in one go, in two, or token by token, and from a copy of what was read
    script = f"""const {{ begin, fork, read, scores }} = model(held);
      return {json.dumps(prompts)}.map(([tokens, hidden, off], i) => {{
        let run = begin(hidden, off);
        const cut = [0, 1, Math.floor(tokens.length / 2)][i % 3];
        read(run, tokens.slice(0, cut));
        run = fork(run);
        if (i % 6 < 5) read(run, tokens.slice(cut));
        else for (const token of tokens.slice(cut)) read(run, [token]);
        return [...scores(run)];
      }});"""
    for prompt, got in zip(prompts, run(script, "model"), strict=True):
        want = torch_logits(model, *prompt)[-1]
        assert (torch.tensor(got) - want).abs().max() <= 1e-3, prompt


@torch.no_grad()
def test_weights_in_the_page_are_those_of_torch():
    model, prompts = load_shipped()[0], [prompt for prompt, *_ in random_prompts(12, seed=3)]
    script = f"""const {{ begin, read }} = model(held);
      const weights = (tokens) => read(begin(), tokens).weights.map((of) => [...of]);
      return {json.dumps(prompts)}.map(weights);"""
    for tokens, rows in zip(prompts, run(script, "model"), strict=True):
        want = head_weights(model, torch.tensor([tokens]))[:, 0]
        for i, row in enumerate(rows):
            got = torch.tensor(row).view(4, 4, i + 1)
            assert (got - want[:, :, i, : i + 1]).abs().max() <= 1e-4


def run_in_session(script: str):
    """What a script gives back that has what the page keeps of the model, as `own`."""
    session = f"const own = session(held, {json.dumps(REFUSED_WORDS)}, model, pieces);"
    return run(f"{session} {script}", "model", "pieces", "session")


TEXT = "My fellow citizens, we must not fear the war"


def token_indices(text: str) -> list[list[int]]:
    """The places of the decade's token, and of those of each word."""
    pairs, indices = stored_pairs(), [[1]]
    for piece in PIECE.findall(text):
        start = indices[-1][-1] + 1
        indices.append([*range(start, start + len(pairs.encode(piece)))])
    return indices


def prompt_of(decade: int, text: str) -> list[int]:
    return [*Windower(stored_pairs()).prefix(decade), *stored_pairs().encode(text)]


def divergence(first_logits: torch.Tensor, second_logits: torch.Tensor) -> float:
    """How far the second scores are from the first ones: the Kullback-Leibler divergence."""
    p, q = first_logits.log_softmax(-1), second_logits.log_softmax(-1)
    return float((p.exp() * (p - q)).sum() / torch.tensor(2.0).log())


@torch.no_grad()
def test_what_covering_a_word_changes_is_the_divergence_that_torch_finds():
    model, decade, prompt = load_shipped()[0], 1860, prompt_of(1860, TEXT)
    tokens, indices = stored_pairs().encode(TEXT), token_indices(TEXT)
    for covered_words, heads_off in (([], []), ([2, 5], []), ([0], [3, 9])):
        state = {"decade": decade, "tokens": tokens, "covered": covered_words, "off": heads_off}
        script = (
            f"const of = own.marks({json.dumps(state)}); while (own.measure(of)); return of.bits;"
        )

        def scores(words, heads_off=heads_off):
            hidden = [index for word in words for index in indices[word]]
            return torch_logits(model, prompt, hidden, heads_off)[-1].double()

        logits = scores(covered_words)
        want = [divergence(logits, scores({*covered_words} ^ {i})) for i in range(len(indices))]
        assert run_in_session(script) == pytest.approx(want, abs=2e-3)


def test_what_is_kept_changes_nothing():
    """A text that goes on, is cut, or is covered otherwise has the scores that it has anew."""
    tokens = stored_pairs().encode(TEXT)
    rng, states = random.Random(0), []
    for _ in range(40):
        start = tokens[: rng.randrange(len(tokens) + 1)]
        added = [rng.randrange(2048) for _ in range(rng.choice((0, 0, 1, 3)))]
        hidden = rng.sample(range(1, 8), rng.choice((0, 0, 1, 2)))
        off = rng.choice(([], [], [2], [2, 7]))
        decade = rng.choice((0, 1860, 2010))
        states.append({"decade": decade, "tokens": [*start, *added], "hidden": hidden, "off": off})
    new_session = 'session(held, ["x"], model, pieces)'
    script = f"""const top = (found) => [...found.chances(found.runOf(of))];
      let of;
      return {json.dumps(states)}.map((state) => {{
        of = state;
        const [kept, fresh] = [top(own), top(EVERY())];
        return Math.max(...kept.map((p, i) => Math.abs(p - fresh[i])));
      }});"""
    # the weights are unpacked once
    script = script.replace("EVERY()", new_session.replace("model", "() => net"))
    assert max(run_in_session(f"const net = model(held); {script}")) < 1e-5


def test_no_draw_ends_in_a_word_of_the_list_and_the_next_candidate_is_taken():
    pairs = stored_pairs()
    assert len(REFUSED_WORDS) == len({*REFUSED_WORDS}) <= 60 and REFUSED_WORDS == sorted(
        REFUSED_WORDS
    )
    assert all(word == word.lower() for word in REFUSED_WORDS)
    encoded = [pairs.encode(f"The {word}") for word in REFUSED_WORDS]
    assert {len(word) for word in encoded} > {3}
    script = f"return {encoded}.map((one) => own.refused(one.slice(0, -1), one.at(-1)));"
    assert run_in_session(script) == [True] * len(encoded)
    # not within a word, and not where the reader wrote it
    allowed = ["The whorl", "Massachusetts", "a niggard", "Japs then", "slut is"]
    script = f"""const last = (one) => own.refused(one.slice(0, -1), one.at(-1));
      return {json.dumps(allowed)}.map((text) => last(own.tokensOf(text)));"""
    assert run_in_session(script) == [False] * len(allowed)


@pytest.mark.slow
def test_of_300_texts_a_decade_each_word_of_the_list_is_refused():
    model, _ = load_shipped()
    pairs, windower = stored_pairs(), Windower(stored_pairs())
    words = re.compile(rf"(?<![^\W\d_])({'|'.join(REFUSED_WORDS)})(?![^\W\d_])")
    rows, expected = [], []
    for decade in DECADES:
        g = torch.Generator().manual_seed(decade)
        start = torch.tensor([windower.prefix(decade)]).expand(300, 2)
        choose = partial(sample, generator=g)
        with torch.no_grad():
            samples = generate(model.decode(), start, 60, choose=choose)[:, -60:]
        rows += [[token for token in row if token < len(pairs)] for row in samples.tolist()]
    for row in rows:
        texts = [pairs.decode(row[: i + 1]).lower() for i in range(len(row))]
        lengths = [0, *map(len, texts)]
        ends = ({match.end() for match in words.finditer(text)} for text in texts)
        expected.append(
            [i for i, match_ends in enumerate(ends) if any(end > lengths[i] for end in match_ends)]
        )
    # without the list the model does say such words
    assert any(expected)
    script = f"""return {json.dumps(rows)}.map((row) => row.map((token, i) => i)
      .filter((i) => own.refused(row.slice(0, i), row[i])));"""
    assert run_in_session(script) == expected


def test_what_is_refused_is_neither_shown_nor_drawn():
    # a list of its own: the likeliest word, in whatever letters
    script = """const of = { decade: 1900, tokens: own.tokensOf("We must") };
      const best = (some) => some.best(some.runOf(of), 6, false).map(({ tokens }) => tokens[0]);
      const word = best(own).find((token) => own.tokenizer.decode([token]).startsWith(" "));
      const listed = own.tokenizer.decode([word]).trim().toUpperCase();
      const strict = session(held, [listed], model, pieces);
      const p = own.chances(own.runOf(of)).slice(0, own.tokenizer.count);
      const sum = (some) => some.reduce((a, b) => a + b, 0);
      const aimed = () => (sum(p.slice(0, word)) + p[word] / 2) / sum(p);
      const drawn = [own, strict].map((some) => some.draw(some.runOf(of), aimed));
      return [word, best(own), best(strict), drawn];"""
    word, best, suggested, (draw_without_list, draw_with_list) = run_in_session(script)
    assert word in best and suggested[:5] == [token for token in best if token != word]
    assert draw_without_list == {"token": word, "passed": 0}
    assert draw_with_list["token"] != word and draw_with_list["passed"] == 1


def test_draws_follow_the_probabilities():
    script = """const run = own.runOf({ decade: 2010, tokens: own.tokensOf("My fellow") });
      const counts = new Array(2048).fill(0);
      let seed = 7;
      const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
      for (let i = 0; i < 4000; i++) counts[own.draw(run, random).token]++;
      return [counts, [...own.chances(run)].slice(0, 2048)];"""
    counts, chances = run_in_session(script)
    top = sorted(range(2048), key=lambda token: -chances[token])[:5]
    for token in top:
        p = chances[token] / sum(chances)
        assert counts[token] / 4000 == pytest.approx(p, abs=4 * (p * (1 - p) / 4000) ** 0.5 + 1e-3)


def test_bits_of_a_guess_are_those_of_its_points_or_of_what_was_left():
    script = """const { bits, common } = guess;
      const p = common([3, 0, 5], (text) => (text === " a" ? [0] : text === " b" ? [2] : [0, 2]));
      const deals = [{ guess: "a ", points: 50 }, { guess: "c", points: 25 }];
      return [...[" A", " C", " b"].map((word) => bits(deals, word, p)), bits([], " a", p)];"""
    # half of what is left is shared by 28,000 words, half by their tokens
    a, b, c = ((p + 1 / 28_000) / 2 for p in (4 / 11, 6 / 11, 4 / 11 * 6 / 11))
    want = [1, 2, -log2(0.25 * b / (1 - a - c)), -log2(a)]
    assert run(script, "guess") == pytest.approx(want)


@torch.no_grad()
def test_what_is_recorded_is_what_the_shipped_model_does_and_it_is_not_heavy():
    stored = load_shipped()[1]
    new_record = record(WEIGHTS)
    assert (
        new_record["opening"] == stored["opening"] and new_record["examples"] == stored["examples"]
    )
    training = stored["training"]
    assert (training["text"], tuple(training["decades"])) == (TRAINING_TEXT, SHOWN)
    steps = [state["step"] for state in training["steps"]]
    assert steps == sorted({*steps}) and training["steps"][-1]["next"] == new_record["next"]
    assert WEIGHTS.stat().st_size <= 2.3 * 2**20
    # what a figure carries besides
    assert len(FIGURE._repr_html_()) - WEIGHTS.stat().st_size < 70 * 1024


# --- the figure


def sentence(page):
    return page.locator("p[data-show=said]")


def field(page):
    return page.get_by_label("Begin a sentence")


def open_figure(tab, figure=FIGURE):
    tab.set_content(bare_page(figure))
    return tab


def load_model(tab):
    """Touch the figure, so that the model runs."""
    field(tab).focus()
    tab.wait_for_function("window.attncourseEnglish")


def open_and_load(tab, figure=OPEN_FIGURE):
    """The figure with all that it can show, when the model runs and each word is measured."""
    open_figure(tab, figure)
    load_model(tab)
    return tab


def open_with_text(tab, text: str, figure=OPEN_FIGURE):
    """The figure with this text, read by the model."""
    open_and_load(tab, figure)
    field(tab).fill(text)
    return tab


def shares(tab) -> list[list[str]]:
    texts = tab.locator("[data-show=share]").all_inner_texts()
    return [texts[:6], texts[6:]]


@torch.no_grad()
def torch_next(prompt: list[int], hidden_keys=(), heads_off=()) -> torch.Tensor:
    return torch_logits(load_shipped()[0], prompt, hidden_keys, heads_off)[-1].softmax(-1)


def best_shares(p: torch.Tensor) -> list[str]:
    return [format_number(value) for value in p[:2048].topk(6).values.tolist()]


def assert_texts_close(got: list[str], want: list[str]) -> None:
    """Numbers in two digits are the same but for rounding."""
    assert list(map(float, got)) == pytest.approx(list(map(float, want)), abs=0.0101)


def slots(page) -> list[list]:
    """What each slot of the figure shows, and how it looks."""
    look = """(all) => all.map((one) => {
      const size = (name) => Number(one.style.getPropertyValue(name));
      const sizes = one.localName === "data" ? [] : ["--share", "--bits"].map(size);
      const text = one.children.length ? "" : one.textContent;
      return [one.dataset.show, text, one.className, one.getAttribute("aria-label"), sizes];
    })"""
    # what a reader without scripts need not be told
    skipped = ("said",)
    return [
        element
        for element in page.locator("[data-show]").evaluate_all(look)
        if element[0] not in skipped
    ]


@pytest.mark.parametrize("figure", [FIGURE, OPEN_FIGURE])
def test_a_script_changes_nothing_at_first(figure, new_tab):
    tab_without_scripts, tab_with_scripts = new_tab(java_script_enabled=False), new_tab()
    for page in (tab_without_scripts, tab_with_scripts):
        open_figure(page, figure)
    slots_before, slots_after = slots(tab_without_scripts), slots(tab_with_scripts)
    for old, new in zip(slots_before, slots_after, strict=True):
        assert old[:4] == new[:4] and old[4] == pytest.approx(new[4], abs=1e-3)
    assert tab_with_scripts.evaluate("window.attncourseEnglish") is None
    assert sentence(tab_with_scripts).inner_text() == f"{figure!r}"
    # and the model, when it comes, finds what was recorded
    load_model(tab_with_scripts)
    assert_texts_close(
        [text for side in shares(tab_with_scripts) for text in side],
        [old[1] for old in slots_before if old[0] == "share"],
    )
    assert sentence(tab_with_scripts).inner_text() == f"{figure!r}"


def test_without_scripts_the_figure_shows_three_recorded_texts(new_tab):
    tab = open_figure(new_tab(java_script_enabled=False))
    text = tab.locator("main").inner_text()
    assert f"{FIGURE!r}" in text and "With scripts" in text and "nobody said it" in text
    assert tab.locator("table tr").count() == 4
    controls = tab.locator("input, button, select, textarea, summary").all()
    assert [control for control in controls if control.is_visible()] == []
    assert tab.locator(".sheet .next").count() == 12


CHECK_JS = """box => {
  box.checked = true;
  box.dispatchEvent(new Event("input", { bubbles: true }));
}"""


@torch.no_grad()
def test_the_word_to_cover_first_is_named_and_what_comes_without_it_is_shown_at_once(tab):
    open_figure(tab)
    word = tab.locator(".item").nth(COVERED)
    expect(tab.locator("[data-show=tip]")).to_contain_text(f"Tap “{word.inner_text().strip()}”")
    expect(tab.locator(".item.tipped")).to_have_text(word.inner_text())
    # without a touch, which would load the model
    tab.locator(f"[name='cover {COVERED}']").evaluate(CHECK_JS)
    assert tab.evaluate("window.attncourseEnglish") is None
    expect(tab.locator("[data-show=tip]")).to_contain_text("Tap it again to uncover it.")
    shown_at_once, recorded = shares(tab)[0], sentence(tab).inner_text()
    pairs, prompt = stored_pairs(), prompt_of(SHOWN[0], FIRST_TEXT)
    hidden_keys = token_indices(FIRST_TEXT)[COVERED]
    p, whole = (torch_next(prompt, keys)[:2048] for keys in (hidden_keys, []))
    assert_texts_close(shown_at_once, best_shares(p))
    # a token that goes on with the last word is shown with that word
    token, last = pairs.decode([int(p.argmax())]), FIRST_TEXT.split()[-1]
    assert not token.startswith(" ")
    joined, begun = (tab.locator(f"[data-show={name}]").first for name in ("joined", "word"))
    assert (joined.inner_text(), begun.inner_text()) == (last, token)
    expected = re.escape(f"covered, the model expects “{token}”")
    before = re.escape(f"Before, it expected “{pairs.decode([int(whole.argmax())]).strip()}")
    chances = [re.escape(format_number(float(one.max()))) for one in (p, whole)]
    whole_word = rf"as in “{last}{token}\w*”"
    assert re.search(
        rf"{expected} \({chances[0]}, {whole_word}\)\. {before}” \({chances[1]}\)\.$", recorded
    )
    # and the model, when it comes, finds the same
    load_model(tab)
    expect(sentence(tab)).to_have_text(recorded)
    assert shares(tab)[0] == shown_at_once


def test_what_is_more_to_try_is_folded_until_it_is_asked_for(tab):
    open_with_text(tab, "We must not", FIGURE)
    parts = [".side >> nth=1", "select[name=decade]", "[data-show=legend]", ".heads", ".guess"]
    assert [part for part in parts if tab.locator(part).is_visible()] == []
    expect(sentence(tab)).to_have_text(re.compile(r"^[^.]* expects “\w+” \(\d\.\d\d\)\.$"))
    assert tab.get_by_label("cover must", exact=True).count() == 1
    tab.get_by_text("More to try").click()
    expect(sentence(tab)).to_contain_text("in the 2010s")
    expect(tab.locator("[data-show=legend]")).to_contain_text("What matters most is “")
    tab.get_by_text("Guess first").click()
    assert [part for part in parts if not tab.locator(part).is_visible()] == []
    assert_texts_close(shares(tab)[1], best_shares(torch_next(prompt_of(2010, "We must not"))))
    # what is folded again is not counted
    tab.get_by_text("Look into its heads").click()
    tab.locator("input[name=side][value='1']").check()
    expect(tab.locator("[data-show=seen]").first).to_have_text("2010s")
    tab.get_by_text("More to try").click()
    expect(tab.locator("[data-show=seen]").first).to_have_text("1860s")
    assert [part for part in parts if tab.locator(part).is_visible()] == []


def test_what_may_come_next_is_shown_for_two_decades_as_the_reader_types(tab):
    open_with_text(tab, "We must not")
    assert_texts_close(shares(tab)[0], best_shares(torch_next(prompt_of(1860, "We must not"))))
    assert_texts_close(shares(tab)[1], best_shares(torch_next(prompt_of(2010, "We must not"))))
    tab.locator("select[name=beside]").select_option("1940")
    assert_texts_close(shares(tab)[1], best_shares(torch_next(prompt_of(1940, "We must not"))))
    tab.locator("select[name=decade]").select_option("1790")
    assert_texts_close(shares(tab)[0], best_shares(torch_next(prompt_of(1790, "We must not"))))
    expect(sentence(tab)).to_contain_text("After “We must not”, the model expects “")
    # a blank at the end is left to the next word, and quotes are those of the training
    for typed, normalised in (
        ("We must not ", "We must not"),
        ("He said “We", 'He said "We'),
        ("", ""),
    ):
        field(tab).fill(typed)
        assert_texts_close(shares(tab)[1], best_shares(torch_next(prompt_of(1940, normalised))))
    expect(sentence(tab)).to_contain_text("At the beginning")


def test_a_bar_is_taken_with_the_end_of_its_word(tab):
    open_with_text(tab, "We must not")
    row = tab.locator(".side").nth(1).locator(".next").first
    word, ending = (row.locator(f"[data-show={name}]").inner_text() for name in ("word", "rest"))
    row.locator("button").click()
    assert field(tab).input_value().endswith(f"{word}{ending}")
    assert field(tab).input_value().startswith("We must not")
    assert len(tab.locator(".item").all()) >= 4


def test_covering_a_word_says_by_how_much_the_prediction_shifts_and_lasts(tab):
    open_with_text(tab, TEXT)
    legend = tab.locator("[data-show=legend]")
    expect(legend).to_contain_text("What matters most is “")
    bits = "(one) => Number(one.style.getPropertyValue('--bits'))"
    measured = tab.locator("[data-show=mark]").nth(2).evaluate(bits)
    tab.get_by_label("cover fellow").check()
    match = re.search(
        r"With “fellow” covered, .*The prediction shifts by ([\d.]+) bits in the 1860s and [\d.]+",
        sentence(tab).inner_text(),
    )
    assert match and float(match[1]) == pytest.approx(measured, abs=0.006)
    expect(legend).to_contain_text("“fellow”: uncover it, and the prediction shifts by")
    # words that stay as they were stay covered, and others do not
    field(tab).fill(f"{TEXT} that")
    expect(tab.locator(".item.covered")).to_have_text("fellow")
    field(tab).fill("My friends")
    expect(tab.locator(".item.covered")).to_have_count(0)


def test_what_matters_most_is_said_and_of_a_word_what_it_matters(tab):
    open_with_text(tab, TEXT)
    legend = tab.locator("[data-show=legend]")
    bits = "(all) => all.map((one) => Number(one.style.getPropertyValue('--bits')))"
    expect(legend).to_contain_text("What matters most is “")
    marks = tab.locator("[data-show=mark]").evaluate_all(bits)
    words = tab.locator("[data-show=seen]").all_inner_texts()
    expected = (
        "the decade" if not marks.index(max(marks)) else f"“{words[marks.index(max(marks))]}”"
    )
    expect(legend).to_contain_text(f"What matters most is {expected}: cover it, and")
    tab.locator(".item").nth(3).hover()
    expect(legend).to_have_text(re.compile(r"“citizens”: cover it, .* shifts by [\d.]+ bits\."))
    tab.locator(".item").last.hover()
    expect(legend).to_have_text("“war” is the last word, so no later word could look at it.")
    assert max(marks[:-1]) > 0.01 and marks[-1] < 0.005


def test_arcs_are_the_weights_of_the_pointed_word_and_few(tab):
    open_with_text(tab, TEXT)
    tab.get_by_text("Look into its heads").click()
    tab.get_by_text("no single target").click()
    prompt, indices = prompt_of(1860, TEXT), token_indices(TEXT)
    weights = head_weights(load_shipped()[0], torch.tensor([prompt]))[:, 0].flatten(0, 1)
    tab.locator(".item").nth(6).hover()
    for head in (-1, 0, 5, 15):
        tab.locator(f"input[name=head][value='{head}']").check()
        tab.locator(".item").nth(6).hover()
        expect(tab.locator(".item.on")).to_have_text("must")
        row = (weights.mean(0) if head < 0 else weights[head])[indices[6][-1]]
        want = [float(row[keys].sum()) for keys in indices[:7]]
        want = [share for share in want if share > 0.03]
        tab.wait_for_timeout(60)
        look = "(all) => all.map((one) => Number(one.style.getPropertyValue('--share')))"
        got = tab.locator(".arc").evaluate_all(look)
        assert sorted(got) == pytest.approx(sorted(want), abs=2e-3), head
        assert tab.locator(".stub").count() == int(row[0] > 0.03)
        max_share = max(float(row[0]), *(float(row[keys].sum()) for keys in indices[:7]))
        subject = "the heads together look" if head < 0 else f"head {head // 4}.{head % 4} looks"
        head_sentence = tab.locator("[data-show=looked]").inner_text()
        assert head_sentence.startswith(f"From “must”, {subject} most at ")
        (weight,) = re.findall(r": (\d\.\d\d) of the weight\.$", head_sentence)
        assert float(weight) == pytest.approx(max_share, abs=7e-3)
        strokes = "(all) => all.map((one) => getComputedStyle(one).stroke)"
        assert "none" not in tab.locator("path").evaluate_all(strokes)


@torch.no_grad()
def test_of_a_word_that_looks_at_itself_the_weights_of_its_pieces_are_said(tab):
    # one head looks at the token before, which is in the same word, and one at the token itself
    open_with_text(tab, "My fellow")
    tab.get_by_text("Look into its heads").click()
    prompt = prompt_of(1860, "My fellow")
    weights = head_weights(load_shipped()[0], torch.tensor([prompt]))[:, 0]
    for block, head in ((1, 0), (0, 3)):
        tab.locator(f"input[name=head][value='{4 * block + head}']").check()
        head_sentence = tab.locator("[data-show=looked]")
        expect(head_sentence).to_contain_text(
            f"From “fellow”, head {block}.{head} looks most at itself: "
        )
        match = re.search(
            r"\. Its tokens: “fe” ([\d.]+), “llow” ([\d.]+)\.$", head_sentence.inner_text()
        )
        want = weights[block, head, -1, -2:].tolist()
        assert match and [float(group) for group in match.groups()] == pytest.approx(
            want, abs=0.0101
        )
        # as its role says
        assert (want[0] > 0.9) == (block == 1) and max(want) > 0.9


def test_a_head_that_is_off_adds_nothing(tab):
    open_with_text(tab, "We must not")
    tab.get_by_text("Look into its heads").click()
    first = load_shipped()[1]["roles"][0]["head"]
    tab.get_by_label(f"{first[0]}.{first[1]} is on").uncheck()
    p = torch_next(prompt_of(1860, "We must not"), heads_off=[4 * first[0] + first[1]])
    assert_texts_close(shares(tab)[0], best_shares(p))
    expect(sentence(tab)).to_contain_text("With 1 head switched off, the model expects")


def test_writing_goes_on_to_the_end_of_what_the_model_reads(new_tab):
    tab = open_with_text(new_tab(), TEXT)
    write = tab.locator("[data-do=write]").first
    write.click()
    expect(tab.locator("form")).to_have_attribute("aria-busy", "true")
    expect(write).to_have_text("stop")
    write.click()
    expect(tab.locator("form")).not_to_have_attribute("aria-busy", "true")
    first_text = field(tab).input_value()
    assert first_text.startswith(TEXT) and write.inner_text() == "write on"
    continue_button = tab.get_by_role("button", name="go on from the last 64 tokens")
    expect(continue_button).to_be_hidden()
    write.click()
    expect(sentence(tab)).to_contain_text("reads at most 126 tokens, so the text ends here.")
    assert field(tab).input_value().startswith(first_text)
    assert tab.locator(".strip svg *").count() <= 250
    full_text = field(tab).input_value()
    continue_button.click()
    assert full_text.endswith(field(tab).input_value()) and len(field(tab).input_value()) < len(
        full_text
    )
    expect(continue_button).to_be_hidden()
    tab.locator("[data-do=draw]").nth(1).click()
    expect(sentence(tab)).to_contain_text("the model expects")
    # a text that is too long is refused in words
    field(tab).fill("We must not fear. " * 60)
    expect(sentence(tab)).to_contain_text("and the model reads at most 126.")
    continue_button.click()
    expect(sentence(tab)).to_contain_text("the model expects")


def test_the_page_says_when_a_draw_took_the_next_candidate(tab):
    # a list of its own, of words that would else be drawn
    refused = ["the", "of", "and", "to", "in"]
    html = FIGURE._repr_html_()
    changed_html = re.sub(r'"unsaid":\[[^]]*\]', f'"unsaid":{json.dumps(refused)}', html)
    assert changed_html != html
    tab.set_content(bare_page(changed_html))
    load_model(tab)
    field(tab).fill(TEXT)
    tab.locator("[data-do=write]").first.click()
    expect(sentence(tab)).to_contain_text("so the text ends here.")
    expect(sentence(tab)).to_contain_text(
        re.compile(r"\d+ draws? would have ended in a word that this page doesn’t print")
    )
    continuation = field(tab).input_value().removeprefix(TEXT).lower()
    assert not {*refused} & {*re.findall(r"[a-z]+", continuation)}


def test_for_those_who_want_nothing_to_move_a_sentence_comes_at_once(new_tab):
    tab = open_with_text(new_tab(reduced_motion="reduce"), TEXT)
    tab.locator("[data-do=write]").first.click()
    expect(tab.locator("form")).not_to_have_attribute("aria-busy", "true")
    continuation = field(tab).input_value().removeprefix(TEXT)
    assert re.search(r"[.?!]$", continuation) or "the text ends here" in sentence(tab).inner_text()


def write_page(folder):
    """A page with the figure, and beside it the weights, as on the site."""
    html, page = bare_page(FIGURE), folder / "page.html"
    late = LATE_SCRIPT.search(html)
    assert late
    (folder / late[2]).write_text(late[3], "utf-8")
    page.write_text(html.replace(late[3], ""), "utf-8")
    return page


@pytest.mark.parametrize("with_draws", [False, True])
def test_what_is_set_stands_in_the_address_and_comes_back(with_draws, new_tab, tmp_path):
    page = write_page(tmp_path)
    tab, other_tab = new_tab(), new_tab()
    tab.goto(page.as_uri())
    assert "#" not in tab.url
    load_model(tab)
    field(tab).fill("Our enemies & friends, 100% ¶")
    tab.get_by_label("cover enemies").check()
    expect(sentence(tab)).to_contain_text("Before, it expected “")
    tab.wait_for_url("**#write=*more=0&covered=*")
    other_tab.goto(tab.url)
    expect(sentence(other_tab)).to_have_text(sentence(tab).inner_text())
    # an address from before there was that fold
    other_tab.goto(tab.url.replace("&more=0", ""))
    expect(sentence(other_tab)).to_contain_text("in the 2010s")
    tab.get_by_label("cover enemies").uncheck()
    tab.get_by_text("More to try").click()
    for _ in range(4 * with_draws):
        tab.locator("[data-do=draw]").first.click()
    tab.locator("select[name=beside]").select_option("1940")
    tab.get_by_label("cover enemies").check()
    tab.get_by_text("Look into its heads").click()
    first = load_shipped()[1]["roles"][0]["head"]
    tab.get_by_label(f"{first[0]}.{first[1]} is on").uncheck()
    expect(sentence(tab)).to_contain_text(
        "With “enemies” covered and 1 head switched off, the model"
    )
    tab.wait_for_url("**#write=*off=*")
    other_tab.goto(tab.url)
    expect(sentence(other_tab)).to_have_text(sentence(tab).inner_text())
    assert field(other_tab).input_value() == field(tab).input_value()
    assert shares(other_tab) == shares(tab)


def test_ten_words_are_guessed_and_both_have_their_bits(tab):
    open_and_load(tab)
    tab.get_by_text("Guess first").click()
    stored = load_shipped()[1]
    year, text = stored["excerpts"][0]["year"], stored["excerpts"][0]["text"]
    passage, verdict = tab.locator("[data-show=passage]"), tab.locator("[data-show=verdict]")
    words = [element for element in PIECE.findall(text) if re.search(r"\w", element)]
    button = tab.locator("[data-do=open]")
    expect(passage).to_contain_text(f"{year}: “")
    guess_field, points_field = tab.locator("[name='guess 1']"), tab.locator("[name='points 1']")
    guess_field.fill(words[6])
    points_field.fill("100")
    expect(tab.locator("[data-show=left]")).to_have_text("0")
    button.click()
    expect(verdict).to_contain_text("keep at least 1 of the 100")
    points_field.fill("50")
    expect(tab.locator("[data-show=left]")).to_have_text("50")
    button.click()
    said = f"The word is “{words[6].strip()}”. It costs you 1.00 bits and the model "
    expect(verdict).to_contain_text(said)
    pairs = stored_pairs()
    pieces = PIECE.findall(text)
    index = [i for i, piece in enumerate(pieces) if re.search(r"\w", piece)][6]
    earlier = prompt_of(year // 10 * 10, "".join(pieces[:index]))
    tokens = pairs.encode(pieces[index])
    cost = sum(-log2(torch_next([*earlier, *tokens[:i]])[token]) for i, token in enumerate(tokens))
    match = re.search(r"and the model ([\d.]+\d)\. The", verdict.inner_text())
    assert match and float(match[1]) == pytest.approx(cost, abs=0.02)
    for _ in range(9):
        button.click()
        expect(verdict).to_have_text("")
        button.click()
        expect(verdict).to_contain_text("It costs you")
        assert "“”" not in verdict.inner_text()
    expect(verdict).to_contain_text(
        re.compile(r"After 10 words, you’ve paid [\d.]+ bits and the model [\d.]+\.")
    )


MOVE_SLIDER_JS = """(one, i) => {
  one.value = i;
  one.dispatchEvent(new Event("input", { bubbles: true }));
}"""


def test_the_slider_shows_what_came_next_when_it_had_learned_less(tab):
    open_and_load(tab)
    tab.get_by_text("How it learned this").click()
    training = load_shipped()[1]["training"]["steps"]
    slider = tab.locator("input[name=step]")
    for i, checkpoint in enumerate(training):
        slider.evaluate(MOVE_SLIDER_JS, i)
        assert slider.get_attribute("aria-valuetext") == f"{checkpoint['step']:,}"
        want = [format_number(guess["p"]) for side in checkpoint["next"] for guess in side]
        assert tab.locator("[data-show=chance]").all_inner_texts() == want


def test_the_figure_is_used_by_keyboard_alone(new_tab):
    tab = open_figure(new_tab(reduced_motion="reduce"))

    def press(*keys: str) -> str:
        for key in keys:
            tab.keyboard.press(key)
        return tab.evaluate("(({ name, dataset }) => name || dataset.do)(document.activeElement)")

    assert press("Tab") == "cover 0"
    tab.wait_for_function("window.attncourseEnglish")
    assert press("Tab", "Tab", "Space") == "cover 2"
    expect(sentence(tab)).to_contain_text("With “war” covered, the model expects “")
    assert press("Space", "Tab", "Tab") == "take"
    assert press(*["Tab"] * 6) == "draw"
    assert press("Tab", "Tab") == "text"
    tab.keyboard.press("Control+A")
    tab.keyboard.type("We must")
    expect(sentence(tab)).to_contain_text("After “We must”")
    assert press("Tab") == "try"
    # the fold, and in it that of the heads
    press("Tab", "Tab", "Tab", "Tab", "Enter")
    expect(sentence(tab)).to_contain_text("in the 2010s")
    press("Tab", "Enter")
    assert press("Tab", "ArrowDown") == "head"
    head_sentence = tab.locator("[data-show=looked]")
    expect(head_sentence).to_contain_text(re.compile(r"“must”, head \d\.\d looks"))
    # past the switches of the heads that have a role, and the fold of the others
    heads = len(load_shipped()[1]["roles"])
    assert press(*["Tab"] * (heads + 2), "ArrowRight") == "side"
    tab.locator(".item input").last.focus()
    assert press("Tab", "ArrowUp") == "decade"
    expect(sentence(tab)).to_contain_text("in the 1850s")
    assert press("Tab") == "take"
    press("Enter")
    expect(sentence(tab)).not_to_contain_text("After “We must”,")


@pytest.mark.parametrize("state", ["first", "covered", "open", "full"])
def test_axe_finds_nothing_and_the_figure_fits_a_phone(state, new_tab):
    tab = open_figure(new_tab(viewport=PHONE, reduced_motion="reduce"))
    if state != "first":
        open_with_text(tab, "Incomprehensibilities " * (1 if state != "full" else 12), FIGURE)
        tab.get_by_label("cover Incomprehensibilities").first.check()
    if state == "open":
        for fold in tab.locator("summary").all():
            fold.click()
        tab.locator("[data-do=open]").click()
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    boxes = tab.locator("button, .item, select, textarea, summary").all()
    small = [box.bounding_box() for box in boxes if box.is_visible()]
    assert [box for box in small if box["height"] < 24 or box["width"] < 24] == []
    assert scheme_faults(tab) == []
