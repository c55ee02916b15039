"""Answers are checked in the page, by the Python that it loads."""

import pytest
from playwright.sync_api import Page, expect

from tests.needs import lacks
from tests.page.answers import (
    FAULTY,
    NAME,
    ODD_BUT_RIGHT,
    RIGHT,
    UPSIDE_DOWN,
    UPSIDE_DOWN_HINT,
    changed,
)
from tests.site.audit import axe_faults, set_scheme, width_faults
from tools import pyodide
from tools.extensions import editors

pytestmark = pytest.mark.skipif(not pyodide.is_fetched(), reason=lacks("Pyodide"))

PAGE = "exercises/dot_product.html"
# the exercise whose wrong answer is on the front page
GIVEN = "attention_pool"
SOLVED = "JSON.parse(localStorage.getItem('attncourse-progress'))"
# Python starts in seconds, but not on a busy machine
SLOWLY = 120_000
PHONE = {"width": 360, "height": 740}
WRONG_LINE_JS = """box => {
  const code = box.querySelector(".highlight");
  return code.hasAttribute("data-wrong") ? Number(code.style.getPropertyValue("--wrong")) : null;
}"""


class Editor:
    """The editor of an exercise on a page."""

    def __init__(self, page: Page, name: str = NAME):
        self.page, self.box = page, page.locator(f"[data-answer={name}]")
        self.said = self.box.get_by_role("status")

    def button(self, name: str):
        return self.box.get_by_role("button", name=name, exact=True)

    def check(self, source: str) -> str:
        """What is said of an answer."""
        self.box.locator("textarea").fill(source)
        self.button("Check").click()
        expect(self.box.locator("[data-wait]")).to_be_hidden(timeout=SLOWLY)
        return self.said.inner_text()


@pytest.fixture
def editor(tab, address) -> Editor:
    tab.goto(address + PAGE)
    return Editor(tab)


def test_a_wrong_answer_is_told_what_is_wrong_and_a_right_one_is_solved_in_the_page(editor):
    page = editor.page
    assert UPSIDE_DOWN_HINT in editor.check(UPSIDE_DOWN)
    editor.box.get_by_text("The inputs, the expected output and your output").click()
    assert editor.box.locator("th").all_inner_texts() == ["expected", "got", "scores", "mask"]
    assert page.evaluate(SOLVED) is None
    said = editor.check(changed("with_sink.softmax", "unknown.softmax"))
    assert "name 'unknown' is not defined" in said
    assert editor.box.evaluate(WRONG_LINE_JS) == RIGHT[: RIGHT.index("with_sink.")].count("\n") + 1
    assert editor.check(RIGHT).startswith(f"{NAME}: ok")
    assert editor.box.evaluate(WRONG_LINE_JS) is None
    assert page.evaluate(SOLVED) == {"read": [], "solved": [NAME], "inPage": [NAME]}
    assert page.locator(f"[data-solved={NAME}]").get_attribute("aria-pressed") == "true"


@pytest.mark.slow
def test_an_endless_loop_is_stopped_and_the_next_check_starts_anew(editor):
    editor.box.locator("textarea").fill(f"while True: pass\n{RIGHT}")
    editor.button("Check").click()
    expect(editor.box.locator("[data-wait]")).to_contain_text("Checking", timeout=SLOWLY)
    editor.button("Stop").click()
    expect(editor.said).to_have_text("Stopped. Your answer is as you left it.")
    assert editor.box.locator("textarea").input_value().endswith(RIGHT)
    assert editor.check(RIGHT).startswith(f"{NAME}: ok")


@pytest.mark.slow
def test_every_fault_is_told_in_a_sentence_and_the_page_lives_on(editor):
    told = {source: editor.check(source) for source in FAULTY}
    assert not {said: told[source] for source, (said, _) in FAULTY.items()
                if said.replace("`", "") not in told[source].replace("`", "")}  # fmt: skip
    for source, note in ODD_BUT_RIGHT.items():
        said = editor.check(source)
        assert said.startswith(f"{NAME}: ok") and note in said
    huge = editor.check(f"import numpy\nkept = [numpy.ones(2**27) for _ in range(9)]\n{RIGHT}")
    assert "MemoryError" in huge
    assert editor.check(RIGHT).startswith(f"{NAME}: ok")


@pytest.mark.slow
def test_what_the_page_has_not_of_torch_is_named_with_the_way_to_the_notebook(editor):
    said = editor.check(changed("with_sink.softmax(dim=-1)", "torch.compile(with_sink)"))
    assert "torch.compile works in the notebook, not in the page" in said
    link = editor.said.get_by_role("link", name="Open the notebook in Colab")
    assert link.get_attribute("href").endswith("exercises/dot_product.ipynb")


@pytest.mark.slow
def test_python_is_kept_for_the_next_visit(editor):
    editor.check(RIGHT)
    asked = []
    editor.page.on("request", lambda request: asked.append(request.url))
    editor.page.reload()
    editor.check(RIGHT)
    assert asked and not [url for url in asked if ".zlib" in url or ".zip" in url]


@pytest.mark.slow
def test_a_file_that_is_not_what_it_should_be_is_not_run(tab, address):
    tab.context.route("**/pyodide.asm.js.zlib*", lambda route: route.fulfill(body=b"x"))
    tab.goto(address + PAGE)
    editor = Editor(tab)
    assert "Python couldn’t be loaded" in editor.check(RIGHT)
    tab.context.unroute("**/pyodide.asm.js.zlib*")
    assert editor.check(RIGHT).startswith(f"{NAME}: ok")


@pytest.mark.slow
def test_python_that_the_site_has_not_is_asked_of_its_cdn(browser, address, monkeypatch):
    monkeypatch.setattr(pyodide, "is_fetched", lambda: False)
    monkeypatch.setattr(editors, "pyodide_files", editors.pyodide_files.__wrapped__)
    script = editors.editor_script.__wrapped__(("dot_product",))
    context = browser.new_context()
    context.route("**/editor/editor.js*", lambda route: route.fulfill(body=script))
    asked = []

    def from_cdn(route):
        name = route.request.url.removeprefix(pyodide.CDN)
        asked.append(name)
        headers = {"Access-Control-Allow-Origin": "*"}
        route.fulfill(body=(pyodide.FOLDER / name).read_bytes(), headers=headers)

    context.route(f"{pyodide.CDN}*", from_cdn)
    page = context.new_page()
    page.goto(address + PAGE)
    assert Editor(page).check(RIGHT).startswith(f"{NAME}: ok")
    assert {*asked} == {*pyodide.FILES}
    context.close()


@pytest.mark.slow
def test_the_front_page_s_answer_is_judged_as_it_was_when_the_site_was_built(tab, address):
    tab.goto(address)
    editor = Editor(tab, GIVEN)
    source = editor.box.locator("textarea").input_value()
    hint = editor.said.inner_text().splitlines()[0]
    assert editor.check(source).splitlines()[0] == hint
    assert editor.check(source.replace("dim=0", "dim=1")).startswith(f"{GIVEN}: ok")
    # it was given, not solved
    assert tab.evaluate(SOLVED) is None


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 800}], ids=["phone", "desk"])
def test_an_editor_and_what_it_says_break_no_rule(viewport, new_tab, address):
    tab = new_tab(viewport=viewport, reduced_motion="reduce")
    tab.goto(address + PAGE)
    editor = Editor(tab)
    editor.check(UPSIDE_DOWN)
    assert not width_faults(tab)
    for scheme in ("light", "dark"):
        set_scheme(tab, scheme)
        assert not axe_faults(tab, {}), scheme


@pytest.mark.slow
def test_keys_alone_write_check_and_leave(editor):
    page, field = editor.page, editor.box.locator("textarea")
    field.focus()
    page.wait_for_function("'attncourseEditors' in globalThis")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(UPSIDE_DOWN)
    page.keyboard.press("Control+Enter")
    expect(editor.said).to_contain_text(UPSIDE_DOWN_HINT, timeout=SLOWLY)
    for key in ("Escape", "Tab", "Tab"):
        page.keyboard.press(key)
    assert editor.button("Check").evaluate("one => one.matches(':focus')")
