"""The translator in the page: the names and the numbers of Python, and a figure to type into."""

import json
import random
import re
from functools import partial

import pytest
import torch
from playwright.sync_api import expect
from torch import nn

from attncourse import figures
from attncourse.data.batches import pad_rows
from attncourse.data.numbers import END, START, draw_number, name
from attncourse.relative import relative_attention
from attncourse.transformer import Causal
from benchmarks.live import (
    MAX_PARTS,
    RECORDED_NUMBERS,
    SPECIAL_TOKENS,
    WEIGHTS,
    load_shipped,
    record,
    translate,
)
from tests import ROOT
from tests.site.audit import scheme_faults

from .in_page import PHONE, bare_page, run_in_node

FOLDER = WEIGHTS.parent
FIGURE = figures.translator(head=1, part=2)
run = partial(run_in_node, WEIGHTS, FOLDER)


def of_all_lengths(count: int, seed: int) -> list[int]:
    """Numbers with all counts of digits, half of them as they are in training."""
    rng = random.Random(seed)
    digits = (10 ** rng.randrange(12) for _ in range(count))
    return [rng.choice((draw_number(rng) or 1, rng.randrange(low, 10 * low))) for low in digits]


def test_the_page_names_numbers_and_reads_their_names():
    numbers = [*range(1, 1300), 10**12 - 1, *of_all_lengths(3000, seed=0)]
    numbers += [first * 10**zeros for first in (1, 2, 11, 21, 101) for zeros in range(10)]
    spellings = "naming.english(n).join(' ')", "naming.english(n).join('-').toUpperCase()"
    readings = ", ".join(
        f"naming.read({argument}).n"
        for argument in ("`${n}`", "n.toLocaleString('en')", *spellings)
    )
    script = f"return {numbers}.map((n) => [naming.english(n), naming.german(n), {readings}]);"
    got = run(script, "naming")
    for n, (english, german, *numbers_read) in zip(numbers, got, strict=True):
        assert tuple(english) == name(n, "english") and tuple(german) == name(n, "german"), n
        assert numbers_read == [n] * 4


MESSAGES = {
    "": "Type a number",
    "0": "never saw zero in training",
    "1000000000000": "too large",
    "1,0000": "isn’t a whole number",
    "-5": "isn’t a whole number",
    "1.5": "isn’t a whole number",
    "٣": "isn’t a whole number",
    "<b>": "isn’t a whole number",
    "one trillion": "“trillion” isn’t a number word",
    "thousand hundred": "“thousand hundred” isn’t the name of a number",
    "one two": "isn’t the name of a number",
    "and": "isn’t the name of a number",
}


def test_what_is_no_number_is_refused_in_words():
    typed = json.dumps([*MESSAGES])
    got = run(f"return {typed}.map((one) => naming.read(one).wrong);", "naming")
    for texts, message, expected in zip(MESSAGES, got, MESSAGES.values(), strict=True):
        assert expected in message, texts
    # what people write between digits and words
    texts = ["7 016", " 007016 ", "7,016", "seven thousand sixteen", "Seven thousand, and sixteen"]
    script = f"return {json.dumps(texts)}.map((one) => naming.read(one).n);"
    assert run(script, "naming") == [7016] * 5


class RecordingAttention(nn.Module):
    """The decoder's self-attention, which also keeps the weights."""

    def __init__(self, causal: Causal):
        super().__init__()
        attend = causal.attend
        self.attend, self.weights_of_call = causal, torch.empty(0)
        self.weigh = Causal(partial(relative_attention, a_k=attend.a_k, a_v=None))

    def forward(self, q, k, v, mask=None):
        eye = torch.eye(k.shape[-2]).expand(*k.shape[:-1], -1)
        self.weights_of_call = self.weigh(q, k, eye, mask=mask)
        return self.attend(q, k, v, mask=mask)


@pytest.mark.parametrize("count", [50, pytest.param(500, marks=pytest.mark.slow)])
@torch.no_grad()
def test_scores_parts_and_weights_in_the_page_are_those_of_torch(count):
    (model, words, _), numbers = load_shipped(), of_all_lengths(count, seed=count)
    names = json.dumps([name(n, "english") for n in numbers])
    script = (
        f"const write = model(window.attncourseNumbers); return {names}.map((one) => write(one));"
    )
    got = run(script, "model")
    tokens = {word: i for i, word in enumerate(SPECIAL_TOKENS)} | words.target
    outputs = [[tokens[step["part"]] for step in steps] for steps in got]
    assert all(
        END not in output[:-1] and (output[-1] == END or len(output) == MAX_PARTS)
        for output in outputs
    )
    pairs = words.batch(numbers)
    translations, cross = translate(model, pairs)
    self_attention = model.decoder.blocks[0].attention.part
    self_attention.attend = recorder = RecordingAttention(self_attention.attend)
    target = pad_rows([[START, *output[:-1]] for output in outputs], END)
    logits = model(pairs.source, target, pairs.lengths)
    for b, steps in enumerate(got):
        n, m = len(steps), pairs.lengths[b]
        in_page = {key: [step[key] for step in steps] for key in ("scores", "cross", "self")}
        scores, best = logits[b, :n], logits[b, :n].topk(2)
        assert (scores - torch.tensor(in_page["scores"])).abs().max() <= 1e-3, numbers[b]
        clear = best.values[:, 0] - best.values[:, 1] > 2e-3
        assert torch.equal(best.indices[clear, 0], torch.tensor(outputs[b])[clear]), numbers[b]
        for i in range(n):
            assert_weights_close(in_page["self"][i], recorder.weights_of_call[b, :, i, : i + 1])
        if clear.all():
            assert translations[b, :n].tolist() == outputs[b]
            assert_weights_close(in_page["cross"], cross[b, :, :n, :m].transpose(0, 1))


def assert_weights_close(got: list, want: torch.Tensor) -> None:
    torch.testing.assert_close(torch.tensor(got, dtype=want.dtype), want, rtol=0, atol=1e-4)


def test_what_is_recorded_is_what_the_shipped_model_writes_and_it_is_not_heavy():
    model, words, stored = load_shipped()
    assert [record(model, words, number) for number in RECORDED_NUMBERS] == stored["recorded"]
    lengths = [len(example["english"]) for example in stored["recorded"]]
    assert lengths == sorted(lengths) and lengths[0] <= stored["longest"] < lengths[1]
    assert {example["right"] for example in stored["recorded"]} == {True, False}
    assert WEIGHTS.stat().st_size <= 600 * 1024
    # what a figure carries besides
    assert len(FIGURE._repr_html_()) - WEIGHTS.stat().st_size < 40 * 1024


def test_the_chapter_says_what_was_measured_and_which_number_breaks_it():
    first_line = WEIGHTS.read_text("utf-8").partition("\n")[0]
    page = (ROOT / "chapters" / "tasks.md").read_text("utf-8")
    longest, *_ = re.findall(r"0\.\d+ \(up to (\d+) words", first_line)
    longer_share, longest_share = (
        float(share) for share in re.findall(r"(0\.\d+) \(1", first_line)
    )
    assert load_shipped()[2]["longest"] == int(longest)
    assert f"gets {longer_share:.2f} of 1,000 names of 11 to 14 words right" in page
    assert f"and {longest_share:.2f} of the longest" in page
    example = load_shipped()[2]["recorded"][-1]
    assert not example["right"]
    words = len(example["english"])
    assert f"Type {example['number']}, whose name has {words} English words" in page


def test_without_scripts_the_figure_shows_three_recorded_names(new_tab):
    tab = new_tab(java_script_enabled=False)
    tab.set_content(bare_page(FIGURE))
    page_text = tab.locator("main").inner_text()
    assert f"{FIGURE!r}\n\nWith scripts" in page_text
    assert tab.locator("table tr").count() == 4 and "123,456,789" in page_text
    assert [element for element in tab.locator("input, button").all() if element.is_visible()] == []
    assert tab.locator("path.on").count() == 5


def slots(page) -> list[list[str]]:
    """What each slot of the figure shows, and how it looks."""
    look = """(all) => all.map((one) => {
      const [look, share] = [one.getAttribute("class"), one.style.getPropertyValue("--share")];
      return [one.dataset.show, one.children.length ? "" : one.textContent, look, share];
    })"""
    return [
        element
        for element in page.locator("[data-show]").evaluate_all(look)
        if element[0] != "said"
    ]


def test_a_script_changes_nothing_at_first(new_tab):
    tab_without_scripts, tab_with_scripts = new_tab(java_script_enabled=False), new_tab()
    for page in (tab_without_scripts, tab_with_scripts):
        page.set_content(bare_page(FIGURE))
    slots_before, slots_after = slots(tab_without_scripts), slots(tab_with_scripts)
    rounded = [[*row[:3], f"{float(row[3]):.3f}" if row[3] else ""] for row in slots_after]
    assert rounded == slots_before
    assert tab_with_scripts.evaluate("window.attncourseNumbers") is None


def sentence(page):
    return page.locator("[data-show=said]")


def test_a_number_is_written_part_by_part_and_judged(tab):
    tab.set_content(bare_page(FIGURE))
    form, observed_texts = tab.locator("form"), []
    tab.expose_function("wrote", lambda name: observed_texts.append(name.replace("\u00ad", "")))
    tab.evaluate("""() => new MutationObserver((changes) => wrote(changes[0].target.textContent))
      .observe(document.querySelector("[data-show=done]"), { childList: true })""")
    tab.get_by_label("number").fill("7,016")
    expect(form).to_have_attribute("aria-busy", "true")
    expect(sentence(tab)).to_be_hidden()
    expect(form).not_to_have_attribute("aria-busy", "true")
    expect(sentence(tab)).to_contain_text(
        "7,016 in German: “siebentausendsechzehn”, which is right."
    )
    assert tab.locator("[data-show=key]").all_inner_texts() == "seven thousand and sixteen".split()
    assert tab.locator("[data-show=part]").all_inner_texts() == [
        *name(7016, "german"),
        SPECIAL_TOKENS[END],
    ]
    assert tab.locator("[data-show=arc]").count() == 4 * 5
    prefixes = ["sieben", "siebentausend", "siebentausendsech", "siebentausendsechzehn"]
    # they may be heard of in another order
    assert {*prefixes} <= {*observed_texts} <= {"siebenhundertvier", *prefixes}
    # the arcs of a part are those of its weights
    tab.locator("[data-show=ask]").nth(1).hover()
    widths = "(all) => all.map((one) => parseFloat(getComputedStyle(one).strokeWidth))"
    shares = [float(text) for text in tab.locator("[data-show=found]").all_inner_texts()]
    widths_drawn = tab.locator("path.on").evaluate_all(widths)
    assert widths_drawn == pytest.approx([12 * share for share in shares], abs=0.07)
    assert tab.locator("[data-show=done]").inner_text() == "sieben\u00adtausend"
    expect(sentence(tab)).to_contain_text("For “tausend”, head 1 gives its largest weight")


def test_a_name_that_is_wrong_or_longer_than_in_training_is_called_so(new_tab):
    tab = new_tab(reduced_motion="reduce")
    tab.set_content(bare_page(FIGURE))
    _, long_example, wrong_example = load_shipped()[2]["recorded"]
    field = tab.get_by_label("number")
    for example, verdict in (
        (long_example, "which is right."),
        (wrong_example, "which is wrong: it is “"),
    ):
        # as a name, too
        for spelling in (f"{example['number']}", " ".join(example["english"])):
            field.fill(spelling)
            field.press("Enter")
            expect(sentence(tab)).to_contain_text(f"{example['number']:,} in German: “")
            expect(sentence(tab)).to_contain_text(verdict)
            words = len(example["english"])
            expect(sentence(tab)).to_contain_text(
                f"more than 10 English words; this one has {words}."
            )
            parts = [*example["parts"], SPECIAL_TOKENS[END]]
            expect(tab.locator("[data-show=part]")).to_have_text(parts, use_inner_text=True)
            field.fill("12")
            expect(sentence(tab)).to_contain_text("“zwölf”, which is right. For")
    field.fill("twelv")
    expect(sentence(tab)).to_contain_text("“twelv” isn’t a number word that the model knows.")
    expect(tab.locator(".sides")).to_be_hidden()
    field.fill("twelve")
    expect(tab.locator(".sides")).to_be_visible()


def test_each_head_looks_at_words_or_at_the_parts_before(tab):
    tab.set_content(bare_page(FIGURE))
    tab.get_by_label("German so far").check()
    expect(sentence(tab)).to_contain_text("For “vier”, head 1 gives its largest weight")
    keys = ["(start)", *name(754, "german")]
    assert tab.locator("[data-show=key]").all_inner_texts() == keys
    for head in range(4):
        tab.get_by_label(f"{head}", exact=True).check()
        expect(sentence(tab)).to_contain_text(f"head {head} gives its largest weight")
        shares = [float(text) for text in tab.locator("[data-show=found]").all_inner_texts()]
        # none on what is not written yet
        assert sum(shares) == pytest.approx(1, abs=0.03) and shares[3:] == [0] * 4


def test_the_figure_is_used_by_keyboard_alone(new_tab):
    tab = new_tab(reduced_motion="reduce")
    tab.set_content(bare_page(FIGURE))

    def press(*keys: str) -> str:
        for key in keys:
            tab.keyboard.press(key)
        return tab.evaluate("document.activeElement.name || document.activeElement.textContent")

    assert press("Tab", "Control+A", "4", "2", "Enter") == "number"
    expect(sentence(tab)).to_contain_text("“zweiundvierzig”, which is right. For “(end)”")
    assert press("Tab") == "write"
    assert press("Tab", "ArrowRight") == "looks at"
    expect(tab.locator("[data-show=from]")).to_have_text("German so far")
    assert press("ArrowLeft", "Tab", "ArrowRight") == "head"
    expect(sentence(tab)).to_contain_text("head 2")
    assert press("Tab", "ArrowUp", "ArrowUp") == "part"
    expect(sentence(tab)).to_contain_text("For “vier”, head 2")
    assert tab.locator("label:has(:focus-visible) [data-show=part]").inner_text() == "vier"


@pytest.mark.parametrize("text", ["754", "777777777777", "-1"])
def test_axe_finds_nothing_and_the_figure_fits_a_phone(text, new_tab):
    tab = new_tab(viewport=PHONE, reduced_motion="reduce")
    tab.set_content(bare_page(FIGURE))
    tab.get_by_label("number").fill(text)
    expect(sentence(tab)).to_contain_text("isn’t a whole" if text == "-1" else "For “(end)”")
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    fits = "(box) => box.scrollWidth <= box.clientWidth"
    assert tab.locator(".scroll").evaluate(fits)
    assert scheme_faults(tab) == []
