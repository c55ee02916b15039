"""The picture of the whole model: the numbers of PyTorch, for any text, and parts to be touched."""

import random
import re
from functools import cache

import pytest
import torch
from playwright.sync_api import expect

from attncourse import english
from attncourse.course.whole import PARTS
from attncourse.data import stored_pairs
from attncourse.data.windows import DECADES, Windower
from attncourse.figures.whole import Entry, whole
from attncourse.figures.whole.places import COLUMNS
from attncourse.figures.whole.state import Focus, Text, numbers, slots
from attncourse.figures.writer import token_label
from attncourse.language_model.trace import trace
from tests.conftest import SEED
from tests.site.audit import scheme_faults

from .in_page import bare_page

PAIRS = stored_pairs()
VOCABULARY = [PAIRS.decode([token]) for token in range(len(PAIRS))]
FIRST, DECADE = "There is more work in this country today", 1930
NUMBER = re.compile(r"−?\d[\d,]*\.?\d*")
HREFS = "(all) => all.map((one) => one.getAttribute(`href`).slice(1))"
SIZES = """(all) => all.map((one) => one.getBoundingClientRect())
  .map(({ width, height }) => [width, height])"""
PHONE = {"width": 390, "height": 844}
# what each slot shows: its text, or the attributes that change
READ = """(all) => all.map((one) => ({
  slot: one.dataset.show,
  text: one.children.length ? "" : one.textContent,
  ...Object.fromEntries(["class", "x", "d", "height", "width", "transform", "stroke-width"]
    .map((name) => [name, one.getAttribute(name) ?? ""])),
}))"""
SET = """(form, values) => {
  for (const [name, value] of Object.entries(values)) {
    const inputs = [...form.querySelectorAll(`[name="${name}"]`)];
    if (inputs.length > 1) inputs[value].checked = true;
    else inputs[0].value = value;
  }
  form.dispatchEvent(new Event("input", { bubbles: true }));
}"""


def text_of(words: str, decade: int) -> Text:
    """A text as the figure reads it: within others, so with a space before its first word."""
    tokens = PAIRS.encode(f" {words}") if words else []
    names = [token_label(VOCABULARY[token]) for token in tokens]
    ids = [*Windower(PAIRS).prefix(decade), *tokens]
    return Text(words, decade, ["start", f"{decade}s", *names], ids)


@cache
def computed(words: str, decade: int) -> tuple[Text, dict[str, torch.Tensor]]:
    text = text_of(words, decade)
    return text, trace(english.model("english"), torch.tensor(text.ids))


@cache
def figure():
    entries = {
        name: Entry(part.name, part.says, f'<span><a href="#{name}">a chapter</a></span>')
        for name, part in PARTS.items()
    }
    text, values = computed(FIRST, DECADE)
    return whole(entries, values, text, VOCABULARY, DECADES, block=2, head=0)


def open_figure(tab):
    tab.set_content(bare_page(figure()))
    return tab.locator(".attncourse-figure")


def load_model(tab):
    """Touch the figure, so that the model runs."""
    tab.get_by_label("your words").focus()
    tab.wait_for_function("window.attncourseEnglish")


def said(tab) -> str:
    return tab.locator(".entry.on [data-show=says]").inner_text()


def part_link(tab, name: str):
    return tab.locator(f".sheet a[href='#part-{name}']:visible").first


def assert_alike(got: str, want: str) -> None:
    """The same words, and the same numbers but for rounding."""
    assert NUMBER.sub("#", got) == NUMBER.sub("#", want)
    for a, b in zip(NUMBER.findall(got), NUMBER.findall(want), strict=True):
        x, y = (float(one.replace(",", "").replace("−", "-")) for one in (a, b))
        # degrees and lengths of some hundreds are rounded as the others are
        assert x == pytest.approx(y, abs=0.0101), f"{got} / {want}"


def test_a_script_changes_nothing_at_first_and_loads_no_weights(new_tab):
    shown = []
    for page in (new_tab(java_script_enabled=False), new_tab()):
        open_figure(page)
        shown.append(page.locator("[data-show]:not(p)").evaluate_all(READ))
    assert shown[0] == shown[1]
    assert page.evaluate("window.attncourseEnglish") is None
    # a part of the first state is told before the model is loaded
    part_link(page, "rope").dispatch_event("click")
    assert said(page).startswith("“today” is at position 9.")


def random_states(count: int):
    """Texts of at most eight tokens, with a token, a block and a head of each."""
    rng = random.Random(int(SEED))
    texts = [FIRST, "", "We must", "The railroads of 1862", "é — $5"]
    assert all(len(text_of(words, DECADE).ids) <= COLUMNS for words in texts)
    for i in range(count):
        words, decade = texts[i % len(texts)], DECADE if i == 0 else rng.choice(DECADES)
        n = len(text_of(words, decade).ids)
        yield words, decade, {
            "at": rng.randrange(n), "block": rng.randrange(4), "head": rng.randrange(4)
        }  # fmt: skip


def test_all_that_the_page_shows_is_what_pytorch_computes(tab):
    form = open_figure(tab).locator("form")
    load_model(tab)
    for words, decade, place in random_states(12):
        form.evaluate(SET, {"text": words, "decade": decade, **place})
        text, values = computed(words, decade)
        focus = Focus(**place)
        want = slots(values, text, VOCABULARY, focus)
        got = tab.locator("[data-show]").evaluate_all(READ)
        for slot, contents in want.items():
            elements = [element for element in got if element["slot"] == slot]
            for element, content in zip(elements, contents, strict=True):
                attributes = content if isinstance(content, dict) else {"text": content}
                for name, value in attributes.items():
                    assert_alike(element[name], value)
        names = numbers(values, text, VOCABULARY, focus)
        sentences = [part.says.format(**names) for part in PARTS.values()]
        for element, sentence in zip(
            (element for element in got if element["slot"] == "says"), sentences, strict=True
        ):
            assert_alike(element["text"], sentence)


def test_a_touch_tells_of_a_part_follows_a_word_and_opens_a_block(new_tab):
    tab = new_tab(viewport=PHONE, has_touch=True)
    open_figure(tab)
    part_link(tab, "feed_forward").tap()
    tab.wait_for_function("window.attncourseEnglish")
    assert "“today” in block 2" in said(tab)
    tab.locator("a.token").nth(4).tap()
    assert "“more” has number 516" in said(tab)
    assert tab.locator("[data-show=name]").first.text_content() == "than"
    tab.locator("a[data-show=closed]:visible").first.tap()
    assert "If block 3 were the last" in said(tab) or "If block 0 were the last" in said(tab)
    # another head leaves the part
    part_link(tab, "weights").tap()
    before = said(tab)
    tab.locator("a.tab").nth(1).tap()
    assert said(tab) != before and "In head 1 of block" in said(tab)


def test_what_is_touched_is_large_enough_on_a_phone(new_tab):
    tab = new_tab(viewport=PHONE)
    open_figure(tab)
    sizes = tab.locator(".sheet a:visible > rect").evaluate_all(SIZES)
    assert len(sizes) > 25 and all(min(size) >= 24 for size in sizes), min(map(min, sizes))
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_arrow_keys_lead_from_part_to_part_and_enter_opens_one(tab):
    open_figure(tab)
    load_model(tab)

    def focused() -> str:
        return tab.evaluate("document.activeElement.textContent.trim()")

    tab.locator(".sheet a[tabindex='0']").focus()
    assert tab.locator(".sheet a[tabindex='0']").count() == 1 and focused() == "start"
    tab.keyboard.press("ArrowRight")
    assert focused() == "1930s"
    tab.keyboard.press("Enter")
    assert "“1930s” has number 2,064" in said(tab) and focused() == "1930s"
    seen = []
    for _ in range(30):
        tab.keyboard.press("ArrowUp")
        seen.append(focused())
    in_order = [*dict.fromkeys(seen)]
    assert in_order[:5] == ["embedding", "stream", "block 0", "block 1", "block 2"]
    assert in_order[5:15] == [
        "norm", "q, k, v", "RoPE", "scores", "mask", "weights", "sum", "heads", "output",
        "feed-forward",
    ]  # fmt: skip
    assert in_order[15:] == ["block 3", "last norm", "logits", "next token"]
    for _ in range(3):
        tab.keyboard.press("ArrowDown")
    assert focused() == "block 3"
    tab.keyboard.press("Enter")
    # the opened block has the focus
    assert focused() == "block 3" and "If block 3 were the last" in said(tab)
    assert tab.locator("[name=block]:checked").input_value() == "3"


def test_of_a_longer_text_the_first_tokens_are_shown_and_stay_live(tab):
    open_figure(tab)
    room = tab.locator("[data-show=room]")
    expect(room).to_have_text("at most 8 tokens")
    load_model(tab)
    part_link(tab, "tokens").dispatch_event("click")
    field = tab.get_by_label("your words")
    field.fill(f"{FIRST} than there was")
    expect(room).to_have_text("Your text has 11 tokens. The picture shows the first 8.")
    assert "Your text is cut into 11 tokens" in said(tab)
    assert tab.locator("[data-show=word]").all_text_contents()[2:] == FIRST.split()
    part_link(tab, "logits").dispatch_event("click")
    assert tab.locator(".entry.on").get_attribute("id") == "part-logits"
    field.fill("We must")
    expect(room).to_have_text("at most 8 tokens")
    expect(tab.locator("a.token.on")).to_have_text("must")
    assert tab.locator("[data-show=inside]:visible").count() == 4


def test_without_scripts_every_part_has_its_sentence_and_its_links(new_tab):
    tab = open_figure(new_tab(java_script_enabled=False))
    assert tab.locator(".entry:visible").count() == len(PARTS)
    assert tab.locator(".entry a:visible").count() >= len(PARTS)
    targets = tab.locator(".sheet a").evaluate_all(HREFS)
    assert {*targets} == {f"part-{name}" for name in PARTS}
    assert not tab.get_by_role("button").filter(visible=True).count()


def test_the_picture_has_no_fault_that_axe_finds(new_tab):
    tab = new_tab(viewport=PHONE)
    open_figure(tab)
    load_model(tab)
    assert scheme_faults(tab) == []
