"""The figure of the chapter linear: every state against the package, by number."""

import re
from itertools import product

import pytest
import torch

from attncourse import plot
from attncourse.linear import (
    feature_map,
    linear_attention_parallel,
    linear_attention_state,
)

from .test_figures import AXE, figure_in, page_of, read, visit

N, WORDS = 5, ["the", "dog", "bites", "the", "man"]
g = torch.Generator().manual_seed(1)
Q, K, V = (torch.randn(N, 2, generator=g, dtype=torch.float64) for _ in "qkv")
GROWING = plot.growing(feature_map(Q), feature_map(K), V, WORDS, chunk=2, alt="The state grows.")


def numbers(slots):
    return torch.tensor([float(value) for _, value in slots], dtype=torch.float64)


def test_every_state_of_the_figure_equals_the_package(tab):
    tab.set_content(page_of(GROWING))
    states = [{"token": t, "chunk": c} for t, c in product(range(N), range(N))]
    want = linear_attention_parallel(Q, K, V)
    weights = feature_map(Q) @ feature_map(K).mT
    for state, got in zip(states, visit(figure_in(tab), states), strict=True):
        t, chunk = state["token"], state["chunk"] + 1
        S, z = linear_attention_state(K[: t + 1], V[: t + 1])
        torch.testing.assert_close(numbers(got["S"]), S.flatten())
        torch.testing.assert_close(numbers(got["z"]), z)
        for form in ("masked", "recurrent", "chunks"):
            torch.testing.assert_close(numbers(got[form]), want[t])
        total = weights[t, : t + 1].sum()
        torch.testing.assert_close(numbers(got["total"]), total.expand(3))
        shares = numbers(got["weight"])
        torch.testing.assert_close(shares[: t + 1], weights[t, : t + 1] / total)
        assert [text == "" for text, _ in got["weight"]] == [j > t for j in range(N)]
        assert [text == "" for text, _ in got["key"]] == [j > t for j in range(N) for _ in "kk"]
        ways = [text for text, _ in got["way"]]
        start = t // chunk * chunk
        assert ways == ["state"] * start + ["pair"] * (t + 1 - start) + [""] * (N - 1 - t)
        ((said, _),) = got["said"]
        assert said.startswith(f"{WORDS[t]} is token {t + 1}. Masked: {t + 1} pair")
        assert re.search(rf"state of 6 numbers.*: {start} tokens? by the state, ", said), said


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_fits_a_phone_and_axe_finds_nothing(scheme, new_tab):
    tab = new_tab(color_scheme=scheme, viewport={"width": 360, "height": 700})
    tab.set_content(page_of(GROWING, scheme=scheme))
    tab.add_script_tag(path=AXE)
    figure = figure_in(tab)
    for token, chunk in ((0, 1), (2, 1), (4, 4)):
        read(figure, token=token, chunk=chunk)
        assert figure.locator(".scroll").evaluate("box => box.scrollWidth <= box.clientWidth")
        found = tab.evaluate("axe.run().then(found => found.violations.map(one => one.id))")
        assert found == []


def test_arrow_keys_walk_through_the_tokens(tab):
    tab.set_content(page_of(GROWING))
    figure = figure_in(tab)
    figure.locator('input[name="token"]').first.focus()
    tab.keyboard.press("ArrowRight")
    assert figure.locator('[data-show="said"]').inner_text().startswith("dog is token 2.")


def test_a_script_finds_what_python_wrote(new_tab):
    without, live = new_tab(java_script_enabled=False), new_tab()
    for page in (without, live):
        page.set_content(page_of(GROWING))
    before, after = (page.locator("data").all_inner_texts() for page in (without, live))
    assert before == after and len(before) > 12


def test_what_the_chapter_says_of_its_figure_is_so(tab, address):
    tab.goto(address + "chapters/linear.html")
    figure = tab.locator("#fig-growing .attncourse-figure")
    outputs = [read(figure, token=4, chunk=c) for c in range(N)]
    for one in outputs[1:]:
        changed = {slot for slot in one if one[slot] != outputs[0][slot]}
        assert changed <= {"way", "said"}
    assert outputs[-1]["way"] == ["pair"] * N
    assert outputs[0]["way"] == ["state"] * (N - 1) + ["pair"]
