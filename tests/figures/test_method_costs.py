"""The figure of two methods: the page writes what Python would, and names the true limit."""

import random
import re

import pytest

from attncourse import figures
from attncourse.figures.method_costs import CONTEXTS
from attncourse.figures.method_costs.text import CELLS, cells_of, format_bytes, share
from attncourse.method_costs import ALL, Seen, delta, pooled, softmax
from tests.conftest import SEED

from .elements import slot_texts
from .in_page import (
    MACHINES,
    METHOD_COSTS,
    MODELS,
    SIZES,
    all_states,
    bare_page,
    control_options,
    figure_in,
    read_slots,
    read_states,
)

METHODS = [*SIZES[0].methods]


def test_the_page_shows_in_any_state_what_python_would_write_first(tab):
    tab.set_content(bare_page(METHOD_COSTS))
    figure = figure_in(tab)
    states = random.Random(int(SEED)).sample(all_states(**control_options(figure)), 30)
    for state, slots in zip(states, read_states(figure, states), strict=True):
        size, machine = SIZES[state["size"]], MACHINES[state["machine"]]
        written = figures.method_costs(
            [size], MODELS, [machine], alt="x",
            start=(state["first"], state["second"]), context=CONTEXTS[state["context"]],
        )  # fmt: skip
        want = slot_texts(written)
        got = {slot: [text for text, _ in pairs] for slot, pairs in slots.items()}
        for slot in ("said", "line", "also"):
            del want[slot], got[slot]
        assert got == want, state


@pytest.mark.parametrize("seen", [ALL, Seen(most=1000), Seen(128), Seen(4, 512, True)], ids=str)
def test_the_lit_part_of_the_row_is_to_scale(seen):
    for n in CONTEXTS:
        lit = sum(share(seen, n, cell) for cell in range(CELLS)) / CELLS
        assert lit == pytest.approx(seen.by_last(n) / (n // seen.pool))


def test_the_newest_tokens_stand_at_the_right_and_the_larger_part_of_a_cell_is_drawn():
    window = cells_of(softmax(2, 2, 4, Seen(most=1024)), 2**14)
    assert [lit for _, lit in window] == [0] * 30 + [1, 1]
    near = cells_of(pooled(2, 4, 128, 4, (2, 4), 16), 2**12)
    assert near[-1] == ("keys", 1) and {kind for kind, _ in near[:-1]} == {"pooled", "keys"}
    assert cells_of(delta(2, 4, 4, gates=1), 128) == [("state", 1)] * CELLS


def test_the_sentence_names_the_limit_whose_time_is_longer(tab):
    tab.set_content(bare_page(METHOD_COSTS))
    figure = figure_in(tab)
    for state in ({"first": METHODS.index("latents")}, {"size": 2, "machine": 1}, {"context": 0}):
        slots = read_slots(figure, **state)
        (sentence,) = slots["said"]
        arithmetic, memory = slots["arithmetic"], slots["memory"]
        said = re.findall(r"limited by (\w+) \(([\d.]+ \w+)\)", sentence)
        # for each of both methods, the token that is written and then the text that is read
        assert [{"arithmetic": arithmetic, "memory": memory}[limit][i] for (limit, _), i in zip(
            said, (2, 0, 3, 1), strict=True)] == [time for _, time in said]  # fmt: skip
        assert "larger than the machine" not in sentence
    # 128 heads of one latent take more operations for a byte than an H200 has time for
    first, second = SIZES[2].methods["8 groups of heads"], SIZES[2].methods["latents"]
    intensities = [
        2 * stack.quantity("write products", 2**20) / stack.quantity("write moved", 2**20) / 2
        for stack in (first, second)
    ]
    ridge = MACHINES[1].operations / MACHINES[1].bandwidth
    assert intensities[0] < ridge < intensities[1]
    (sentence,) = read_slots(
        figure,
        first=METHODS.index("8 groups of heads"),
        second=METHODS.index("latents"),
        context=13,
    )["said"]
    assert re.findall(r"next token is limited by (\w+)", sentence) == ["memory", "arithmetic"]
    assert "larger than the machine" in sentence.split("Second")[0]
    assert "larger than the machine" not in sentence.split("Second")[1]


def test_the_sentence_stands_below_the_controls_and_says_how_states_are_counted(tab):
    tab.set_content(bare_page(METHOD_COSTS))
    figure = figure_in(tab)
    sentence = figure.locator(".controls + p")
    select_methods(figure, "softmax, a key for each head", "3 delta rule : 1 latents")
    first, second = sentence.inner_text().split("\n")
    assert " does 1 operation for " in first and " operations for " in second
    assert "token by token" not in first and "token by token" in second
    assert figure.locator("[name=context] + b").inner_text() == "131,072"


def test_a_size_is_chosen_for_methods_alone_and_its_source_is_named_once(tab):
    tab.set_content(bare_page(METHOD_COSTS))
    figure = figure_in(tab)
    size = figure.locator("[name=size]")
    figure.locator("summary").click()
    sources = figure.locator("details div").last
    assert size.is_enabled()
    assert sources.inner_text() == "Sizes: Llama 3.1 8B. Peaks: H100."
    select_methods(figure, "latents", "Kimi K3")
    assert size.is_enabled()
    assert sources.inner_text() == "Sizes: Llama 3.1 8B, Kimi K3. Peaks: H100."
    select_methods(figure, "DeepSeek-V3", "Kimi K3")
    assert size.is_disabled()


def select_methods(figure, first, second):
    figure.locator("[name=first]").select_option(label=first)
    figure.locator("[name=second]").select_option(label=second)


def test_without_scripts_a_table_has_all_methods_and_models(new_tab):
    tab = new_tab(java_script_enabled=False)
    tab.set_content(bare_page(METHOD_COSTS))
    table = tab.locator("noscript table")
    names = table.locator("th[scope=row]").all_inner_texts()
    assert names == [*METHODS, *(model.name for model in MODELS)]
    for model, line in zip(reversed(MODELS), reversed(table.locator("tr").all()), strict=False):
        cache = format_bytes(2 * model.stack.quantity("cache", 2**17))
        assert line.locator("td").first.inner_text() == cache
