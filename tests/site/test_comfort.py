"""What a learner has done is kept in the browser: marked, pasted, counted, forgotten."""

import json
import re
from html import unescape

import pytest

from attncourse import status
from attncourse.checks import chapters, exercises, notebook
from attncourse.checks.verdict import Verdict

CHAPTER, EXERCISES = "chapters/dot_product.html", "exercises/dot_product.html"
NAMES = list(exercises("dot_product"))
FORBIDDEN = (
    "Object.defineProperty(window, 'localStorage',"
    " {configurable: true, get() { throw new DOMException('no') }})"
)


def pressed(page, name: str) -> str:
    return page.locator(f'[data-solved="{name}"]').get_attribute("aria-pressed")


def solved(page) -> str:
    return page.locator("[data-exercises]").first.inner_text()


def said(page) -> str:
    return page.locator("[data-said]").inner_text()


def paste(page, text: str) -> None:
    page.get_by_text("Take over what you have solved").click()
    page.get_by_label("Run status()").fill(text)
    page.get_by_role("button", name="Take over").click()


def tick(page, link: str) -> str:
    ticks = page.locator(f'.bd-sidebar-primary a[href$="{link}"] .tick')
    return " ".join(ticks.text_content().split()) if ticks.count() else ""


def test_a_mark_outlives_the_page_and_is_counted_everywhere(tab, address):
    tab.goto(address + CHAPTER)
    button = tab.get_by_role("button", name="I have read this chapter")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    tab.goto(address + EXERCISES)
    for name in NAMES[:2]:
        tab.get_by_role("button", name=f"I have solved {name}").click()
    tab.get_by_role("button", name=f"I have solved {NAMES[0]}").click()
    assert said(tab) == "Taken back."
    tab.reload()
    assert [pressed(tab, name) for name in NAMES[:3]] == ["false", "true", "false"]
    assert solved(tab) == f"1 of {len(NAMES)} exercises solved"
    assert tick(tab, CHAPTER) == "✓ read"
    tab.goto(address)
    every = sum(len(exercises(chapter)) for chapter in chapters())
    total = f"Solved: 1 of {every} exercises. Read: 1 of {len(chapters())} chapters."
    assert tab.locator("[data-total]").inner_text() == total
    assert tick(tab, EXERCISES) == f"1/{len(NAMES)} solved"


def test_the_keyboard_alone_marks_and_takes_back(tab, address):
    tab.goto(address + EXERCISES)
    tab.locator(f'[data-solved="{NAMES[0]}"]').focus()
    tab.keyboard.press("Space")
    assert pressed(tab, NAMES[0]) == "true"
    tab.keyboard.press("Enter")
    assert pressed(tab, NAMES[0]) == "false"
    tab.get_by_text("Take over what you have solved").focus()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    tab.keyboard.type(f"solved: {NAMES[0]}")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    assert pressed(tab, NAMES[0]) == "true"


def test_what_status_prints_is_taken_over(tab, address, capsys, monkeypatch):
    monkeypatch.setattr(notebook, "verdicts", dict.fromkeys(NAMES[:3], Verdict("passed")))
    status()
    printed = capsys.readouterr().out
    for text in (printed, printed.splitlines()[-1]):
        tab.goto(address + EXERCISES)
        tab.evaluate("localStorage.clear()")
        tab.reload()
        tab.get_by_role("button", name=f"I have solved {NAMES[5]}").click()
        paste(tab, text)
        assert said(tab) == f"Taken over: {', '.join(NAMES[:3])}."
        assert solved(tab) == f"4 of {len(NAMES)} exercises solved"
    tab.goto(address)
    assert solved(tab) == f"4 of {len(NAMES)} exercises solved"


NO_LINE = "No line begins with “solved:”. Nothing has changed."
BAD = {
    "": NO_LINE,
    "dot_product: 1 of 9 solved, 10 of 115 points": NO_LINE,
    f"unsolved: {NAMES[1]}": NO_LINE,
    f"not solved: {NAMES[1]}": NO_LINE,
    "solved:": "No name stands after “solved:”. Nothing has changed.",
    "solved: poetry": "No exercise here is called poetry. Nothing has changed.",
    "solved: attention-pool": "No exercise here is called attention-pool. Nothing has changed.",
    'solved: <img src="x">': 'No exercise here is called <img, src="x">. Nothing has changed.',
}
GOOD = {
    f"SOLVED: {NAMES[1].upper()}": NAMES[1:2],
    f"solved: {NAMES[1]},\n{NAMES[2]}": NAMES[1:3],
    f"solved: {NAMES[1]},\r\n  {NAMES[2]},\r\n{NAMES[3]}\r\n": NAMES[1:4],
    f"solved: {NAMES[1]}\ndot_product: 1 of 9 solved\n  solved: {NAMES[2]}": NAMES[1:3],
}


@pytest.mark.parametrize("text", GOOD)
def test_a_wrapped_line_and_capitals_are_understood(tab, address, text):
    tab.goto(address + EXERCISES)
    paste(tab, text)
    assert said(tab) == f"Taken over: {', '.join(GOOD[text])}."
    assert solved(tab) == f"{len(GOOD[text])} of {len(NAMES)} exercises solved"


def test_a_bad_paste_is_answered_and_loses_nothing(tab, address):
    tab.goto(address + EXERCISES)
    tab.get_by_role("button", name=f"I have solved {NAMES[0]}").click()
    tab.get_by_text("Take over what you have solved").click()
    field = tab.get_by_label("Run status()")
    for text, answer in BAD.items():
        field.fill(text)
        tab.get_by_role("button", name="Take over").click()
        assert said(tab).startswith(answer)
        assert field.input_value() == text
        assert [pressed(tab, name) for name in NAMES[:2]] == ["true", "false"]
    field.fill(f"solved: poetry, {NAMES[1]}")
    tab.get_by_role("button", name="Take over").click()
    assert said(tab) == f"Taken over: {NAMES[1]}. No exercise here is called poetry."
    assert [pressed(tab, name) for name in NAMES[:2]] == ["true", "true"]


@pytest.mark.parametrize("sure", [False, True])
def test_progress_is_forgotten_after_one_question(tab, address, sure):
    tab.goto(address + EXERCISES)
    tab.get_by_role("button", name=f"I have solved {NAMES[0]}").click()
    tab.goto(address)
    asked = []

    def answer(dialog):
        asked.append(dialog.message)
        dialog.accept() if sure else dialog.dismiss()

    tab.on("dialog", answer)
    tab.get_by_role("button", name="Forget my progress").click()
    assert len(asked) == 1
    tab.reload()
    assert solved(tab) == f"{0 if sure else 1} of {len(NAMES)} exercises solved"


def test_where_storage_is_forbidden_marks_last_as_long_as_the_page(tab, address):
    tab.add_init_script(FORBIDDEN)
    tab.goto(address + EXERCISES)
    tab.get_by_role("button", name=f"I have solved {NAMES[0]}").click()
    assert pressed(tab, NAMES[0]) == "true"
    assert said(tab).startswith("Noted. Your browser keeps nothing")
    tab.reload()
    assert pressed(tab, NAMES[0]) == "false"


def test_what_is_kept_and_makes_no_sense_is_passed_over(tab, address):
    for kept in ("{", "null", "3", '{"read": 5, "solved": {}, "listed": []}'):
        tab.goto(address + EXERCISES)
        tab.evaluate("kept => localStorage.setItem('attncourse-progress', kept)", kept)
        tab.reload()
        assert solved(tab) == f"0 of {len(NAMES)} exercises solved"
        tab.get_by_role("button", name=f"I have solved {NAMES[0]}").click()
        assert pressed(tab, NAMES[0]) == "true"


def test_another_tab_is_told(tab, address):
    tab.goto(address + EXERCISES)
    other = tab.context.new_page()
    other.goto(address + EXERCISES)
    tab.get_by_role("button", name=f"I have solved {NAMES[0]}").click()
    other.wait_for_selector(f'[data-solved="{NAMES[0]}"][aria-pressed="true"]')


def test_progress_works_from_a_folder_of_files(tab, site):
    tab.goto((site / EXERCISES).as_uri())
    tab.get_by_role("button", name=f"I have solved {NAMES[0]}").click()
    tab.goto((site / "index.html").as_uri())
    assert solved(tab) == f"1 of {len(NAMES)} exercises solved"


def test_without_scripts_no_button_stands_there_and_hints_open(new_tab, address):
    tab = new_tab(java_script_enabled=False)
    for page in ("index.html", CHAPTER, EXERCISES):
        tab.goto(address + page)
        assert tab.locator(".learner").count()
        assert not any(one.is_visible() for one in tab.locator(".learner").all())
    hint = tab.get_by_text(exercises("dot_product")[NAMES[0]].hints[0])
    assert not hint.is_visible()
    tab.get_by_text(f"Hint 1 for {NAMES[0]}: the idea").click()
    assert hint.is_visible()


def test_minutes_and_ways_between_chapter_and_exercises(tab, address):
    cards = exercises("dot_product").values()
    minutes = sum(card.minutes for card in cards)
    tab.goto(address + CHAPTER)
    time = tab.locator(".page-time").inner_text()
    assert re.fullmatch(
        r"About (\d+ minutes|\d+ h.*) to read; 9 exercises, about 2 h 10 min\.", time
    )
    assert minutes == 128
    assert tab.locator("a.right-next").get_attribute("href").endswith(EXERCISES)
    tab.locator(".page-time a").click()
    assert tab.url == address + EXERCISES
    assert tab.locator("a.left-prev").get_attribute("href").endswith(CHAPTER)
    assert f"{sum(card.points for card in cards)} points" in tab.locator(".page-time").inner_text()
    tab.locator(".page-time a").click()
    assert tab.url == address + CHAPTER


def test_the_lines_to_type_can_be_copied(new_tab, address):
    tab = new_tab(permissions=["clipboard-read", "clipboard-write"])
    tab.goto(address + EXERCISES)
    tab.get_by_text("Run this page in").click()
    box = tab.locator("details[open]")
    box.locator("pre").first.hover()
    box.locator("button.copybtn").first.click()
    lines = tab.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[0].startswith("git clone https://github.com/")
    assert lines[-1] == ".venv/bin/jupyter lab exercises/dot_product.ipynb"


def test_an_exercise_page_holds_each_exercise_and_folds_what_helps(site):
    page = (site / EXERCISES).read_text("utf-8")
    folded = [unescape(one) for one in re.findall(r"<summary>(.+?)</summary>", page)]
    for number, name in enumerate(NAMES, start=1):
        assert re.search(rf"Exercise \d+\.{number} .+?>{name}<", page)
        starts = [f"Hint {level} for {name}: " for level in (1, 2, 3)]
        for start in [*starts, f"Worked solution of {name}"]:
            assert len([one for one in folded if one.startswith(start)]) == 1
    assert len(set(folded)) == len(folded)
    assert "raise NotImplementedError" in re.sub("<.+?>", "", page)
    assert re.search(r'href="https://github.com/[^"]+/edit/\w+/solutions/dot_product.md"', page)
    assert len(re.findall(r'href="https://colab[^"]+/exercises/dot_product.ipynb"', page)) == 2


def test_nothing_but_marks_is_kept(tab, address):
    tab.goto(address + EXERCISES)
    kept = json.loads(tab.evaluate("localStorage.getItem('attncourse-progress')"))
    assert kept == {"read": [], "solved": [], "listed": {"dot_product": NAMES}}


def results(page, address: str, query: str):
    """What is found, once the excerpts are there."""
    page.goto(f"{address}search.html?q={query}")
    page.locator("#search-results .context").first.wait_for()
    page.wait_for_load_state("networkidle")
    return page.locator("#search-results li")


def test_an_excerpt_is_from_the_text_where_the_word_stands(tab, address):
    found = results(tab, address, "entropy")
    excerpts = found.locator(".context").all_inner_texts()
    assert len(excerpts) > 2
    for excerpt in excerpts:
        assert "Colab" not in excerpt and "Repository" not in excerpt
        # a formula stands once in it: neither as TeX nor for screen readers
        assert "\\" not in excerpt
        assert "log" in excerpt


def test_a_term_of_the_glossary_and_its_page_are_told_apart(tab, address):
    titles = results(tab, address, "entropy").locator("a").all_inner_texts()
    assert {"Glossary > entropy", "Glossary"} <= {*titles}
    assert len({*titles}) == len(titles)


def test_a_search_without_a_result_says_so(tab, address):
    tab.goto(f"{address}search.html?q=zzzz")
    summary = tab.locator("#search-results .search-summary")
    tab.get_by_text("Nothing was found.").wait_for()
    assert "categories" not in summary.inner_text()


@pytest.mark.parametrize(("words", "marked"), [("entropy", True), ("zzzz", False)])
def test_marks_can_be_hidden_where_there_are_some(tab, address, words, marked):
    tab.goto(address + CHAPTER)
    tab.evaluate("words => localStorage.setItem('sphinx_highlight_terms', words)", words)
    tab.reload()
    link = tab.get_by_text("Hide Search Matches")
    tab.wait_for_timeout(100)
    assert link.count() == 1
    assert link.is_visible() == marked


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_scripts_a_page_has_the_colours_of_the_preferred_scheme(new_tab, address, scheme):
    colours = """() => ["body", "article a", "article pre", ".bd-header-article", "article .k"]
      .map((name) => document.querySelector(name)).filter(Boolean).map((one) => {
        const { color, backgroundColor } = getComputedStyle(one);
        return [one.tagName, color, backgroundColor];
      })"""
    shown = []
    for scripts in (True, False):
        tab = new_tab(color_scheme=scheme, java_script_enabled=scripts, reduced_motion="reduce")
        tab.goto(address + CHAPTER)
        shown.append(tab.evaluate(colours))
    assert shown[0] == shown[1]


def test_without_scripts_a_phone_shows_the_contents_and_no_dead_button(new_tab, address):
    tab = new_tab(java_script_enabled=False, viewport={"width": 360, "height": 740})
    tab.goto(address + CHAPTER)
    assert not [one for one in tab.locator(".bd-header-article button").all() if one.is_visible()]
    contents = tab.locator(".bd-sidebar-primary a[href]").filter(has_text="Glossary")
    assert contents.is_visible()
    below = tab.locator("article").bounding_box()
    assert contents.bounding_box()["y"] > below["y"] + below["height"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_line_of_code_has_room(new_tab, address):
    tab = new_tab(viewport={"width": 1280, "height": 800})
    tab.goto(address + EXERCISES)
    tab.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    code = tab.locator("article div.highlight pre").last
    code.evaluate("one => (one.textContent = 'm'.repeat(88))")
    assert code.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_on_a_phone_what_scrolls_shows_it_and_words_are_not_squeezed(new_tab, address):
    tab = new_tab(viewport={"width": 360, "height": 740})
    tab.goto(address + CHAPTER)
    for selector in ("article pre", ".formula", ".pst-scrollable-table-container"):
        attached = "one => getComputedStyle(one).backgroundAttachment"
        assert "local" in tab.locator(selector).first.evaluate(attached), selector
    numbered = tab.locator("div.math:has(.eqno)").first
    formula, number = (numbered.locator(one).bounding_box() for one in (".formula", ".eqno"))
    assert number["y"] >= formula["y"] + formula["height"]
    cells = tab.locator("article table.table:has(td:nth-child(4)) td:nth-child(2)").all()
    assert min(cell.bounding_box()["width"] for cell in cells) >= 140


def test_an_answer_under_a_figure_is_folded(tab, address):
    tab.goto(address + CHAPTER)
    answer = tab.get_by_text("is nothing but a temperature of 8")
    assert answer.is_hidden()
    tab.get_by_text("The temperature that gives the scaled weights back").click()
    assert answer.is_visible()
