"""The editor of an exercise: typed into, kept, and taken along, before any Python is loaded."""

import json

import pytest
from playwright.sync_api import expect

from attncourse.course import exercise, exercises
from tests.page.answers import NAME, RIGHT, STUB

PAGE = "exercises/dot_product.html"
KEPT = "JSON.parse(localStorage.getItem('attncourse-answers'))"
BACKGROUND_JS = "element => getComputedStyle(element).backgroundColor"
CODE_JS = "box => box.querySelector('pre').textContent"
COLOURED_JS = """sources => sources.map((source) => {
  const one = document.createElement("pre");
  one.innerHTML = attncoursePython.highlight(source);
  return [one.textContent, [...one.children].map((part) => [part.className, part.textContent])];
})"""
REQUESTS_JS = "performance.getEntriesByType('resource').map((one) => one.name)"


@pytest.fixture
def box(tab, address):
    """The editor of an exercise, whose script has been loaded."""
    tab.goto(address + PAGE)
    box = tab.locator(f"[data-answer={NAME}]")
    box.locator("textarea").focus()
    tab.wait_for_function("'attncourseEditors' in globalThis")
    return box


def text(box) -> str:
    return box.locator("textarea").input_value()


def press(box, *keys: str) -> None:
    for key in keys:
        box.page.keyboard.press(key)


def test_nothing_is_loaded_before_an_editor_is_touched_and_no_python_before_it_is_used(
    tab, address
):
    tab.goto(address + PAGE)
    assert text(tab.locator(f"[data-answer={NAME}]")) == STUB
    assert not [name for name in tab.evaluate(REQUESTS_JS) if "/editor/" in name]
    tab.locator(f"[data-answer={NAME}] textarea").focus()
    tab.wait_for_function("'attncourseEditors' in globalThis")
    assert not [name for name in tab.evaluate(REQUESTS_JS) if "/python/" in name]


def test_tab_indents_what_is_typed_and_leaves_what_is_only_passed(box):
    help_text = box.locator("small")
    expect(help_text).to_be_visible()
    # the button that copies is the first that follows
    press(box, "Tab", "Tab")
    assert box.get_by_role("button", name="Check").evaluate("one => one.matches(':focus')")
    press(box, "Shift+Tab", "Shift+Tab", "Control+Home", "Tab")
    assert text(box) == f"    {STUB}"
    press(box, "Shift+Tab")
    assert text(box) == STUB
    press(box, "Control+a", "Tab")
    assert text(box) == "\n".join(f"    {line}" for line in STUB.split("\n"))
    # each step can be undone
    press(box, "Control+z")
    assert text(box) == STUB
    press(box, "Escape", "Tab")
    assert not box.locator("textarea").evaluate("one => one.matches(':focus')")
    expect(help_text).to_be_hidden()


def test_a_new_line_is_indented_as_the_one_before_or_more_below_a_colon(box):
    press(box, "Control+End")
    box.page.keyboard.type("\nif True:\nx = (\n1)\npass\ny")
    assert text(box) == f"{STUB}\n    if True:\n        x = (\n        1)\n        pass\n    y"
    assert box.evaluate(CODE_JS) == f"{text(box)}\n"
    lines = len(text(box).split("\n"))
    numbers = box.locator("[data-lines]").inner_text().split()
    assert numbers == [str(number) for number in range(1, lines + 1)]


def test_backspace_takes_an_indentation_away_where_only_blanks_stand_before(box):
    box.locator("textarea").fill("x = 1\n       y")
    press(box, "Control+End", "ArrowLeft", "Backspace")
    assert text(box) == "x = 1\n    y"
    press(box, "Backspace", "Backspace")
    assert text(box) == "x = 1y"
    press(box, "Backspace")
    assert text(box) == "x = y"


def test_line_numbers_hide_what_scrolls_below_them_and_a_short_line_scrolls_back(box):
    box.locator("textarea").fill(f"{'x' * 300}\n")
    press(box, "Control+Home", "End")
    scrolled = "box => box.querySelector('.highlight').scrollLeft"
    assert box.evaluate(scrolled) > 0
    transparent = "rgba(0, 0, 0, 0)"
    assert box.locator("[data-lines]").evaluate(BACKGROUND_JS) != transparent
    press(box, "ArrowDown")
    box.page.wait_for_function(
        "name => !document.querySelector(`[data-answer=${name}] .highlight`).scrollLeft", arg=NAME
    )


def test_what_was_said_of_an_answer_is_old_once_that_is_changed(box):
    box.evaluate("box => { box.dataset.status = 'passed'; }")
    expect(box).not_to_have_attribute("data-stale", "")
    press(box, "x")
    expect(box).to_have_attribute("data-stale", "")


def test_an_answer_outlives_the_page_starts_again_and_comes_back(box, address):
    restart = box.get_by_role("button", name="Start again")
    bring = box.get_by_role("button", name="Bring my answer back")
    expect(restart).to_be_hidden()
    expect(bring).to_be_hidden()
    box.locator("textarea").fill(RIGHT)
    assert box.page.evaluate(KEPT) == {NAME: RIGHT}
    box.page.reload()
    expect(box.locator("textarea")).to_have_value(RIGHT)
    restart.click()
    assert text(box) == STUB and box.page.evaluate(KEPT) == {}
    # what is typed then takes nothing away, nor does another visit
    box.locator("textarea").fill(f"{STUB}# x")
    restart.click()
    box.page.reload()
    expect(bring).to_be_visible()
    bring.click()
    assert text(box) == f"{STUB}# x"
    bring.click()
    assert text(box) == RIGHT and box.page.evaluate(KEPT) == {NAME: RIGHT}
    bring.click()
    assert text(box) == f"{STUB}# x"
    # another tab shows it, too
    other = box.page.context.new_page()
    other.goto(box.page.url)
    other.locator(f"[data-answer={NAME}] textarea").fill(STUB)
    expect(box.locator("textarea")).to_have_value(STUB)


def test_what_is_kept_and_makes_no_sense_is_passed_over(box):
    for kept in ("{", "3", "null", json.dumps({NAME: 5})):
        box.page.evaluate("kept => localStorage.setItem('attncourse-answers', kept)", kept)
        box.page.reload()
        box.locator("textarea").focus()
        box.page.wait_for_function("'attncourseEditors' in globalThis")
        assert text(box) == STUB


def test_hints_open_one_after_another(box):
    hints = exercise(NAME).hints
    shown = box.page.locator(f"section:has(> [data-answer={NAME}]) > details")
    for level in range(1, len(hints) + 1):
        box.locator("[data-do=hint]").click()
        assert box.locator("[data-do=hint]").is_visible() == (level < len(hints))
        opened = [one.get_attribute("open") is not None for one in shown.all()]
        assert opened == [True] * level + [False] * (len(opened) - level)


def test_answers_go_into_the_notebook_and_come_back_from_it(box, tmp_path):
    box.locator("textarea").fill(RIGHT)
    box.page.get_by_text("Take your answers into the notebook").click()
    with box.page.expect_download() as download:
        box.page.get_by_role("button", name="Download the notebook").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == "dot_product.ipynb"
    cells = {cell["id"]: cell for cell in json.loads(path.read_text("utf-8"))["cells"]}
    answers = {
        name: "".join(cells[f"answer-{name}"]["source"]) for name in exercises("dot_product")
    }
    assert answers.pop(NAME) == RIGHT
    assert answers == {name: exercise(name).task.start for name in answers}
    box.page.evaluate("localStorage.clear()")
    box.page.reload()
    box.page.get_by_text("Take your answers into the notebook").click()
    box.page.wait_for_function("'attncourseEditors' in globalThis")
    field, output = (box.page.locator(f"[data-answers] {one}") for one in ("input", "output"))
    field.set_input_files(path)
    expect(box.locator("textarea")).to_have_value(RIGHT)
    expect(output).to_contain_text("1 of 9 answers on this page differed")
    field.set_input_files(path)
    expect(output).to_contain_text("the answers on this page already match it")
    # what stood there before is not lost
    box.locator("textarea").fill("x")
    field.set_input_files(path)
    box.get_by_role("button", name="Bring my answer back").click()
    assert text(box) == "x"
    box.get_by_role("button", name="Bring my answer back").click()
    assert text(box) == RIGHT
    path.write_text("no notebook", "utf-8")
    field.set_input_files(path)
    expect(output).to_contain_text("isn’t a notebook, so nothing was changed.")


def test_colours_change_no_letter(box):
    strange = [
        "",
        "\n",
        "'",
        '"""open',
        "f'{x!r:>3}' + rb'' # <b>&amp;</b>",
        "λ_1 = 1e-3j@x",
        "\t.5",
    ]
    sources = [one.task.start for one in exercises("dot_product").values()] + strange
    results = box.page.evaluate(COLOURED_JS, [*sources, RIGHT])
    assert [shown for shown, _ in results] == [*sources, RIGHT]
    parts = [tuple(part) for part in results[-1][1]]
    wanted = {("k", "def"), ("nf", NAME), ("kc", "None"), ("ow", "is"), ("mi", "1")}
    assert wanted <= {*parts}


def test_in_a_folder_of_files_an_answer_is_kept_and_a_check_says_where_it_can_be_made(tab, site):
    tab.goto((site / PAGE).as_uri())
    box = tab.locator(f"[data-answer={NAME}]")
    box.locator("textarea").fill(RIGHT)
    box.get_by_role("button", name="Check").click()
    expect(box.get_by_role("status")).to_contain_text("A copy on your disk can’t check answers")
    tab.reload()
    expect(box.locator("textarea")).to_have_value(RIGHT)


def test_without_scripts_it_is_the_code_alone(new_tab, address):
    tab = new_tab(java_script_enabled=False)
    tab.goto(address + PAGE)
    box = tab.locator(f"[data-answer={NAME}]")
    assert box.inner_text().split() == STUB.split()
