"""What a learner has done is kept in the browser: marked, counted, forgotten."""

from attncourse.course import chapters, exercises

CHAPTER, EXERCISES = "chapters/dot_product.html", "exercises/dot_product.html"
NAMES = list(exercises("dot_product"))
STORED = "JSON.parse(localStorage.getItem('attncourse-progress'))"
FORBIDDEN = (
    "Object.defineProperty(window, 'localStorage',"
    " {configurable: true, get() { throw new DOMException('no') }})"
)


def pressed_state(page, name: str) -> str:
    return page.locator(f'[data-solved="{name}"]').get_attribute("aria-pressed")


def await_pressed(page, name: str) -> None:
    """Wait for a mark: another page's storage event may arrive after loading."""
    page.wait_for_selector(f'[data-solved="{name}"][aria-pressed="true"]')


def mark_solved(page, name: str) -> None:
    page.get_by_role("button", name=f"I have solved {name}").click()


def solved_text(page) -> str:
    return page.locator("[data-exercises]").first.inner_text()


def test_a_mark_outlives_the_page_and_is_counted_everywhere(tab, address):
    tab.goto(address + CHAPTER)
    button = tab.get_by_role("button", name="I have read this chapter")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    tab.goto(address + EXERCISES)
    second_tab = tab.context.new_page()
    second_tab.goto(tab.url)
    mark_solved(tab, NAMES[0])
    await_pressed(second_tab, NAMES[0])
    # by keyboard: marked and taken back
    tab.locator(f'[data-solved="{NAMES[1]}"]').focus()
    for key, state in (("Space", "true"), ("Enter", "false"), ("Space", "true")):
        tab.keyboard.press(key)
        assert pressed_state(tab, NAMES[1]) == state
    mark_solved(tab, NAMES[0])
    tab.reload()
    await_pressed(tab, NAMES[1])
    assert [pressed_state(tab, name) for name in NAMES[:3]] == ["false", "true", "false"]
    assert solved_text(tab) == f"1 of {len(NAMES)} exercises solved"
    tick = tab.locator(f'.bd-sidebar-primary a[href$="{CHAPTER}"] .tick')
    assert " ".join(tick.text_content().split()) == "✓ read"
    assert tab.evaluate(STORED) == {"read": ["dot_product"], "solved": NAMES[1:2]}
    tab.goto(address)
    first_count, *other_counts = tab.locator("[data-exercises]").all_inner_texts()
    assert first_count == f"1 of {len(NAMES)} exercises solved"
    other_chapters = {*chapters()} - {"dot_product"}
    assert sorted(other_counts) == sorted(
        f"0 of {len(exercises(x))} exercises solved" for x in other_chapters
    )
    for confirm, solved_count in ((False, 1), (True, 0)):
        tab.once(
            "dialog",
            lambda dialog, confirm=confirm: dialog.accept() if confirm else dialog.dismiss(),
        )
        tab.get_by_role("button", name="Forget my progress").click()
        assert solved_text(tab) == f"{solved_count} of {len(NAMES)} exercises solved"
    assert tab.evaluate(STORED) == {"read": [], "solved": []}


def test_a_mark_is_kept_in_a_folder_of_files(tab, site):
    tab.goto((site / EXERCISES).as_uri())
    mark_solved(tab, NAMES[0])
    tab.reload()
    await_pressed(tab, NAMES[0])


def test_where_storage_is_forbidden_marks_last_as_long_as_the_page(tab, address):
    tab.add_init_script(FORBIDDEN)
    tab.goto(address + EXERCISES)
    mark_solved(tab, NAMES[0])
    assert pressed_state(tab, NAMES[0]) == "true"
    tab.reload()
    assert pressed_state(tab, NAMES[0]) == "false"


def test_what_is_kept_and_makes_no_sense_is_passed_over(tab, address):
    tab.goto(address + EXERCISES)
    for stored in ("{", "null", "3", '{"read": 5, "solved": {}}'):
        tab.evaluate("kept => localStorage.setItem('attncourse-progress', kept)", stored)
        tab.reload()
        assert solved_text(tab) == f"0 of {len(NAMES)} exercises solved"
        mark_solved(tab, NAMES[0])
        assert pressed_state(tab, NAMES[0]) == "true"
