"""The cache in the page: PyTorch's keys, values and predictions, and the bytes of each layout."""

import base64
import io
import json
import random
import re
from functools import cache

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import expect

from attncourse import english, figures
from attncourse.cost import count
from attncourse.course.language_model.live import linear_weights, traced
from attncourse.efficient import cache_bytes
from attncourse.figures.kv_cache import COLUMNS, NEXT, PROMPT
from attncourse.figures.kv_cache.ways import WINDOW, size_text, ways_to_keep
from attncourse.figures.numbers import format_number
from attncourse.figures.writer import token_label
from attncourse.language_model.trace import trace
from attncourse.relative import rope
from attncourse.today import latent_cache_bytes, state_bytes
from tests.conftest import SEED
from tests.site.audit import ALL_BUT_COLOURS, ONLY_COLOURS, axe_faults

from .in_page import bare_page
from .test_writer import run

FIRST = "There is more work in this country today"
BLOCKS, HEADS, D = 4, 4, 32
PHONE = {"width": 390, "height": 844}
WAYS = ways_to_keep(BLOCKS, HEADS, D)
READ, WRITE, EMPTY = "read the prompt", "write a token", "empty"
# what a slot shows: its text, and the attributes that change
READ_JS = """(all) => all.map((one) => [
  one.dataset.show,
  one.children.length ? "" : one.textContent,
  ...["class", "style", "value", "aria-label", "data-kept"].map((name) => one.getAttribute(name)),
])"""
SIZES_JS = """(all) => all.map((one) => one.getBoundingClientRect())
  .map(({ width, height }) => [width, height])"""


@cache
def figure(words: str = FIRST):
    return figures.kv_cache(*traced(words), linear_weights())


def open_figure(tab):
    tab.set_content(bare_page(figure()))
    return tab


def press(tab, name: str, times: int = 1):
    """Press a button, and wait for the model."""
    for _ in range(times):
        tab.get_by_role("button", name=name, exact=True).click()
        tab.wait_for_function("window.attncourseEnglish")


def read_prompt(tab, words: str):
    tab.get_by_role("textbox").fill(words)
    press(tab, READ)


def said(tab) -> str:
    return tab.locator("p[data-show=said]").inner_text()


def texts(tab, slot: str) -> list[str]:
    return tab.locator(f"[data-show={slot}]").all_inner_texts()


def values(tab, slot: str) -> torch.Tensor:
    script = "(all) => all.map((one) => Number(one.getAttribute('value')))"
    return torch.tensor(tab.locator(f"[data-show={slot}]").evaluate_all(script))


@cache
def written_ids(words: str, written: int) -> list[int]:
    """The ids of a prompt and of the tokens that greedy decoding adds, with PyTorch."""
    # a space alone would be a token
    ids: list[int] = english.tokens(words)[0, : PROMPT + 2 if words else 2].tolist()
    for _ in range(written):
        with torch.no_grad():
            logits = english.model("english")(torch.tensor([ids]))[0, -1]
        ids.append(int(logits[:2048].argmax()))
    return ids


def strips(tab, slot: str) -> torch.Tensor:
    """The numbers of each head's strip, read from the opacities of its masks: (heads, n, d)."""
    script = "(all) => all.map((one) => one.getAttribute('style'))"
    heads = []
    for style in tab.locator(f"[data-show={slot}]").evaluate_all(script):
        above, below = (
            np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA"))[:, :, 3]
            for png in re.findall(r"base64,([^)]*)\)", style)
        )
        assert not (above * (below > 0)).any()
        heads.append(torch.from_numpy(above.astype("f8") - below).mT / 255)
    return torch.stack(heads)


def test_a_script_changes_nothing_at_first_and_loads_no_weights(new_tab):
    shown = []
    for page in (new_tab(java_script_enabled=False), new_tab()):
        slots = open_figure(page).locator("[data-show]").evaluate_all(READ_JS)
        # a browser writes a style's numbers in its own way
        shown.append([[re.sub(r"\s|\.0+\b", "", f"{x}") for x in slot] for slot in slots])
    before, after = shown
    assert [slot[:3] + slot[4:] for slot in before] == [slot[:3] + slot[4:] for slot in after]
    assert page.evaluate("window.attncourseEnglish") is None
    # the layouts can be compared before the model is loaded, and it finds what was recorded
    sentence = said(page)
    assert sentence == repr(figure())
    press(page, READ)
    assert said(page) == sentence


@pytest.mark.parametrize("words", [FIRST, "We must", "", "The railroads of 1862 — é"])
def test_keys_values_weights_and_predictions_are_those_of_pytorch(words, tab):
    rng = random.Random(f"{SEED}{words}")
    open_figure(tab)
    read_prompt(tab, words)
    for written in range(3):
        block = rng.randrange(BLOCKS)
        tab.get_by_label(f"{block}", exact=True).check()
        ids = written_ids(words, written)
        n, want = len(ids), trace(english.model("english"), torch.tensor(ids))
        scales = json.loads(re.search(r'"scales":(\[\[.*?\]\])', figure()._repr_html_())[1])[block]
        for slot, name, scale in zip(
            ("key", "value"), ("turned_key", "value"), scales, strict=True
        ):
            shares = (want[name][block] / scale).clamp(-1, 1)
            assert (strips(tab, slot) - shares).abs().max() <= 1.6 / 255, (slot, written)
        weights = values(tab, "weight").view(HEADS, COLUMNS)
        assert (weights[:, :n] - want["weight"][block, :, -1]).abs().max() <= 1e-3
        assert not weights[:, n:].any()
        best = want["logits"][-1].softmax(-1)[:2048].topk(NEXT)
        names = [token_label(english.stored_pairs().decode([i])) for i in best.indices.tolist()]
        assert texts(tab, "name") == names
        assert torch.allclose(values(tab, "share"), best.values, atol=0.002)
        assert len([word for word in texts(tab, "word") if word]) == n
        assert f"The likeliest next token is “{names[0]}”" in said(tab)
        press(tab, WRITE)


def test_the_numbers_that_are_drawn_are_those_in_the_caches_of_the_model():
    ids = torch.tensor(written_ids(FIRST, 3))
    decoding, want = english.model("english").decode(), trace(english.model("english"), ids)
    with torch.no_grad():
        decoding.step(ids[None, :10])
        for i in range(10, len(ids)):
            decoding.step(ids[None, i : i + 1])
    for layer, k, v in zip(decoding.caches, want["turned_key"], want["value"], strict=True):
        # PyTorch's layers rotate what they have kept, and those of the page keep what is rotated
        torch.testing.assert_close(rope(layer.k[0], torch.arange(len(ids))), k)
        torch.testing.assert_close(layer.v[0], v)
    kept = [(layer.k, layer.v) for layer in decoding.caches]
    assert WAYS[0].size(len(ids)) == sum(map(state_bytes, kept))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, COLUMNS])
def test_the_bytes_are_those_of_the_functions_of_the_course(n):
    assert [way.size(n) for way in WAYS] == [
        cache_bytes(n, BLOCKS, HEADS, D, torch.float32),
        cache_bytes(n, BLOCKS, HEADS // 2, D, torch.float32),
        latent_cache_bytes(n, BLOCKS, 4 * D, D // 2, torch.float32),
        cache_bytes(min(n, WINDOW), BLOCKS, HEADS, D, torch.float32),
    ]
    assert WAYS[3].dropped(n) == max(n - WINDOW, 0)


def test_the_multiply_adds_are_those_that_are_counted_in_pytorch(tab):
    model, ids = english.model("english"), torch.tensor([written_ids(FIRST, 4)])
    data = figure().data
    decoding = model.decode()
    with torch.no_grad():
        decoding.step(ids[:, :10])
        for n in range(11, ids.shape[1] + 1):
            assert 2 * data["last"][n] == count(decoding.step, ids[:, n - 1 : n]).flops
    # without a cache, PyTorch computes all pairs of tokens and the scores of each
    n, scores = ids.shape[1], len(model.embedding.table.weight) * HEADS * D
    masked = 2 * BLOCKS * HEADS * D * (n * n - n * (n + 1) // 2)
    with torch.no_grad():
        assert 2 * (data["all"][n] + masked + (n - 1) * scores) == count(model, ids).flops
    open_figure(tab)
    press(tab, WRITE, 4)
    want = [f"{format_number(data[name][n] / 1e6)} million" for name in ("last", "all")]
    assert texts(tab, "products") == want and texts(tab, "tokens") == ["1", f"{n}"]


def test_a_step_computes_its_new_tokens_alone():
    script = """const net = model(held), counts = [];
      const counting = (run, tokens, watch) => {
        counts.push(tokens.length);
        return net.read(run, tokens, watch);
      };
      const own = session(held, ["x"], () => ({ ...net, read: counting }), pieces);
      const tokens = own.tokensOf(" We must work");
      for (let i = 0; i < 3; i++) {
        const run = own.runOf({ decade: 1930, tokens });
        tokens.push(own.best(run, 1, false)[0].tokens[0]);
      }
      return [counts, tokens.length];"""
    counts, length = run(script, "model", "pieces", "session")
    assert counts == [length - 1, 1, 1]


def test_another_layout_changes_the_bytes_and_the_drawing_and_no_prediction(tab):
    open_figure(tab)
    press(tab, WRITE, 3)
    n = len(written_ids(FIRST, 3))
    predictions = texts(tab, "name"), texts(tab, "share"), values(tab, "weight").tolist(), said(tab)
    looks = []
    for way in WAYS:
        tab.get_by_label(way.name).check()
        assert texts(tab, "size") == [size_text(way.size(n))]
        assert texts(tab, "says") == [way.says]
        assert ("predictions stay the same" in way.says) == (way is not WAYS[0])
        now = texts(tab, "name"), texts(tab, "share"), values(tab, "weight").tolist(), said(tab)
        assert now == predictions
        clear = """(all) => all.filter((one) => one.getBoundingClientRect().width > 1
          && getComputedStyle(one).opacity === "1").length"""
        dropped = tab.locator(".board").evaluate("(one) => one.style.getPropertyValue('--dropped')")
        parts = (tab.locator(part).evaluate_all(clear) for part in (".strip", ".latent"))
        looks.append((*parts, int(dropped)))
    assert looks == [(8, 0, 0), (4, 0, 0), (0, 1, 0), (8, 0, n - WINDOW)]
    # a layout is to scale: a pixel for each number of a token
    heights = [
        tab.locator(part).first.evaluate("(one) => parseFloat(getComputedStyle(one).height)")
        for part in (".strip", ".latent")
    ]
    assert heights == [D, WAYS[2].stack.quantity("cache", 1) / BLOCKS]


def test_a_frame_stands_around_what_the_step_has_added(tab):
    open_figure(tab)

    def columns() -> tuple[float, float]:
        frame, weights = (tab.locator(part).first.bounding_box() for part in (".frame", ".weights"))
        step = weights["width"] / COLUMNS
        return (frame["x"] - weights["x"]) / step, frame["width"] / step

    assert columns() == pytest.approx((0, 10), abs=0.05)
    press(tab, WRITE, 2)
    assert columns() == pytest.approx((11, 1), abs=0.05)
    assert tab.locator("[data-show=word].new").all_inner_texts() == texts(tab, "word")[11:12]


def test_the_cache_is_emptied_filled_and_written_until_it_is_full(tab):
    open_figure(tab)
    press(tab, EMPTY)
    assert said(tab) == "The cache is empty. Read the prompt to fill it."
    assert texts(tab, "size") == ["0 KiB"] and not any(texts(tab, "word"))
    assert not values(tab, "weight").any()
    write = tab.get_by_role("button", name=WRITE)
    assert write.is_disabled() and tab.get_by_role("button", name=EMPTY).is_disabled()
    # what has no effect any more cannot keep the focus
    expect(tab.get_by_role("button", name=READ)).to_be_focused()
    press(tab, READ)
    assert "10 tokens go through the model at once" in said(tab)
    press(tab, WRITE, 10)
    assert "one more key and value. The token’s queries read those of all 20 tokens." in said(tab)
    assert said(tab).endswith("The picture has no room for more.")
    assert write.is_disabled()
    expect(tab.get_by_role("button", name=READ)).to_be_focused()
    press(tab, READ)
    assert write.is_enabled() and len([word for word in texts(tab, "word") if word]) == 10


def test_another_prompt_empties_the_cache_and_the_beginning_of_a_long_one_is_read(tab):
    open_figure(tab)
    tab.get_by_role("textbox").fill(f"{FIRST} than there was a year ago, and more")
    tab.wait_for_function("window.attncourseEnglish")
    assert "empty" in said(tab)
    press(tab, READ)
    assert texts(tab, "room") == ["Your prompt has 17 tokens. The figure reads the first 12."]
    assert "14 tokens go through the model at once" in said(tab)
    read_prompt(tab, "")
    assert texts(tab, "room") == [f"at most {PROMPT} tokens"]
    assert "2 tokens go through the model at once" in said(tab)


def test_a_finger_is_enough_on_a_phone_and_nothing_is_too_small_for_it(new_tab):
    tab = open_figure(new_tab(viewport=PHONE, has_touch=True))
    tab.get_by_role("button", name=WRITE).tap()
    tab.wait_for_function("window.attncourseEnglish")
    assert said(tab).startswith("“than” is written, and reading it is one step (decode)")
    tab.get_by_text("groups of two").tap()
    assert texts(tab, "size") == ["22 KiB"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    sizes = tab.locator("button, label:has([type=radio]), [type=text]").evaluate_all(SIZES_JS)
    assert len(sizes) == 12 and all(min(size) >= 24 for size in sizes), sizes


def test_the_keyboard_is_enough(tab):
    open_figure(tab)

    def focused(*keys: str) -> str:
        for key in keys:
            tab.keyboard.press(key)
        return tab.evaluate("document.activeElement.name")

    assert focused("Tab") == "text"
    tab.wait_for_function("window.attncourseEnglish")
    assert focused("Tab", "Tab", "Enter", "Space") == WRITE
    assert "all 12 tokens" in said(tab)
    assert focused("Tab", "Tab", "ArrowRight") == "block"
    assert "block 1" in tab.locator(".board").get_attribute("aria-label")
    assert focused("Tab", "ArrowRight") == "kept"
    assert texts(tab, "size") == ["24 KiB"]
    assert focused("Shift+Tab", "Shift+Tab", "Enter") == READ
    assert "empty" in said(tab)
    assert focused("Enter") == READ and "10 keys and 10 values" in said(tab)


def test_without_scripts_the_prompt_is_in_the_cache_and_a_table_has_the_bytes(new_tab):
    tab = open_figure(new_tab(java_script_enabled=False))
    assert tab.locator("button, input:not([type=hidden])").filter(visible=True).count() == 0
    assert texts(tab, "word")[:3] == ["start", "1930s", "There"]
    assert tab.locator(".strip").first.is_visible() and said(tab) == repr(figure())
    table = tab.locator("noscript table")
    assert table.locator("th[scope=row]").all_inner_texts() == [way.name for way in WAYS]
    sizes = [[size_text(way.size(n)) for n in (1, 10, 20, 128)] for way in WAYS]
    assert table.locator("td").all_inner_texts() == [size for row in sizes for size in row]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_before_and_after_steps(scheme, new_tab):
    tab = new_tab(viewport=PHONE, color_scheme=scheme, reduced_motion="reduce")
    open_figure(tab)
    tab.add_style_tag(content="body { background: Canvas; color: CanvasText }")
    assert axe_faults(tab, ALL_BUT_COLOURS) == [] == axe_faults(tab, ONLY_COLOURS)
    for way in WAYS[1:]:
        press(tab, WRITE)
        tab.get_by_label(way.name).check()
        assert axe_faults(tab, ALL_BUT_COLOURS) == [] == axe_faults(tab, ONLY_COLOURS), way.name


def test_a_prompt_without_room_is_refused_with_the_numbers():
    with pytest.raises(ValueError, match="16 tokens, but 2 to 14 have room"):
        figure(f"{FIRST} than there was a year ago")
