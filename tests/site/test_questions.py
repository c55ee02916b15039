"""A question in the page: answered by pointer and keys, judged, asked again, on other pages too."""

import json

from playwright.sync_api import expect

CHAPTER = "chapters/dot_product.html"
AGAIN, BEGIN = "reference/once_more.html", "reference/where_to_begin.html"
NUMBER_QUESTION = '[data-question="dot_product.weight_of_a_key"]'
CHOICE_QUESTION = '[data-question="dot_product.different_directions"]'
ORDER_QUESTION = '[data-question="dot_product.masked_attention"]'


def data(site):
    """What the page is told of the chapter's questions."""
    script = (site / "_static/questions/dot_product.js").read_text("utf-8")
    return json.loads(script[script.index(",") + 1 : script.rindex(")")])


def status(box):
    box.page.wait_for_function("box => box.dataset.status", arg=box.element_handle())
    return box.get_attribute("data-status")


def answer(box, text):
    box.evaluate("box => delete box.dataset.status")
    box.get_by_role("textbox").fill(text)
    box.page.keyboard.press("Enter")
    return status(box)


def test_a_mistake_is_named_twice_before_the_way_is_shown_step_by_step(tab, address, site):
    question = data(site)["weight_of_a_key"]
    answers, mistakes = (question["variants"][0][key] for key in ("right", "mistakes"))
    tab.goto(address + CHAPTER)
    box = tab.locator(NUMBER_QUESTION)
    output, steps = box.locator("output"), box.locator("details li")
    assert answer(box, "a third") == "unread"
    assert output.inner_text() == "I can’t read that as a number. Try 0.25, 1/4, 25% or 2^3."
    assert answer(box, str(mistakes[0][0])) == "mistake"
    assert output.inner_html() == question["says"][0] and not steps.first.is_visible()
    assert answer(box, "77") == "unknown" and output.inner_html() == question["check"]
    assert [step.is_visible() for step in steps.all()] == [True, False, False]
    box.get_by_role("button", name="Next step").click()
    assert [step.is_visible() for step in steps.all()] == [True, True, False]
    # what helped stays while another answer is typed, and "Right." does not
    box.get_by_role("textbox").fill("8")
    assert output.inner_html() == question["check"]
    assert answer(box, str(answers[0]).replace(".", ",")) == "right"
    box.get_by_role("textbox").fill("8")
    assert output.inner_html() == ""
    text_before = box.inner_text()
    box.get_by_role("button", name="Another one").click()
    tab.wait_for_function(
        "([box, text]) => box.innerText !== text", arg=[box.element_handle(), text_before]
    )
    assert answer(box, str(question["variants"][1]["right"][0])) == "right"
    assert not box.locator("details").get_attribute("open")


def test_keys_alone_choose_an_answer_and_put_lines_in_order(tab, address, site):
    tab.goto(address + CHAPTER)
    box, variant = tab.locator(CHOICE_QUESTION), data(site)["different_directions"]["variants"][0]
    box.get_by_role("radio").first.focus()
    tab.keyboard.press("Space")
    for _ in range(variant["right"]):
        tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    assert status(box) == "right"
    box = tab.locator(ORDER_QUESTION)
    check = box.get_by_role("button", name="Check")
    check.press("Enter")
    assert status(box) == "asked" and "5 of the 6 lines" in box.locator("output").inner_text()
    for line in range(5):
        box.locator(f'.lines [data-line="{line}"]').press("Enter")
    box.evaluate("box => delete box.dataset.status")
    check.press("Enter")
    assert status(box) == "right"
    box.locator('.program [data-line="0"]').press("Space")
    assert box.locator('.lines [data-line="0"]').is_visible()


def test_without_scripts_a_question_has_its_answer_and_no_field(new_tab, address):
    tab_without_scripts = new_tab(java_script_enabled=False)
    tab_without_scripts.goto(address + CHAPTER)
    box = tab_without_scripts.locator(NUMBER_QUESTION)
    assert not box.get_by_role("textbox").count() and box.locator("summary").is_visible()
    assert "So the answer is" in box.locator("details").text_content()


def test_nothing_of_a_question_is_loaded_before_it_is_touched(tab, address):
    requests = []
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(address + CHAPTER)
    tab.wait_for_load_state("networkidle")
    assert not [url for url in requests if "/questions/" in url]
    with tab.expect_request("**/questions/dot_product.js*"):
        tab.locator(NUMBER_QUESTION).get_by_role("textbox").focus()


def test_a_question_is_judged_in_a_folder_of_files(tab, site):
    tab.goto((site / CHAPTER).as_uri())
    assert answer(tab.locator(NUMBER_QUESTION), "77") == "unknown"


def test_what_was_wrong_is_asked_once_more_until_it_is_right_at_once(tab, address, site):
    tab.goto(address + CHAPTER)
    assert answer(tab.locator(NUMBER_QUESTION), "77") == "unknown"
    tab.goto(address + AGAIN)
    box = tab.locator(NUMBER_QUESTION)
    box.wait_for()
    variant = data(site)["weight_of_a_key"]["variants"][int(box.get_attribute("data-variant"))]
    assert answer(box, str(variant["right"][0])) == "right"
    tab.reload()
    tab.get_by_text("There’s nothing left").wait_for()


def test_what_is_asked_once_more_comes_first_and_is_explained_while_there_is_nothing(tab, address):
    tab.goto(address + AGAIN)
    page = tab.locator("[data-out]")
    link = page.get_by_role("link", name="the first question")
    assert "haven’t answered a question in this browser" in page.inner_text()
    link.click()
    assert answer(tab.locator(NUMBER_QUESTION), "1/3") == "mistake"
    assert tab.locator(":target").get_attribute("data-question") in NUMBER_QUESTION
    tab.goto(address + AGAIN)
    box = tab.locator(NUMBER_QUESTION)
    expect(box.get_by_role("textbox")).to_be_in_viewport()
    heading = tab.get_by_role("heading", name="Your marks")
    assert heading.bounding_box()["y"] > box.bounding_box()["y"]
    # until the scripts of the site have come, the place of what is asked is empty and large
    tab.route("**/site.js*", lambda route: route.fulfill(body=""))
    tab.reload()
    assert page.inner_html() == "" and page.bounding_box()["height"] > 500


def test_a_question_whose_steps_were_looked_at_is_asked_once_more(tab, address, site):
    variants = data(site)["weight_of_a_key"]["variants"]
    tab.goto(address + CHAPTER)
    box = tab.locator(NUMBER_QUESTION)
    summary = box.locator("summary")
    # to look after a right answer is no help
    assert answer(box, str(variants[0]["right"][0])) == "right"
    summary.click()
    tab.goto(address + AGAIN)
    tab.get_by_text("There’s nothing left").wait_for()
    # without an answer, and with the steps closed again before one
    tab.goto(address + CHAPTER)
    summary.press("Enter")
    tab.goto(address + AGAIN)
    box.wait_for()
    tab.goto(address + CHAPTER)
    for _ in range(2):
        summary.click()
    assert answer(box, str(variants[0]["right"][0])) == "right"
    tab.goto(address + AGAIN)
    box.wait_for()


def test_what_is_said_of_a_map_names_the_map(tab, address, site):
    question = data(site)["causal_and_padding"]
    variant = question["variants"][0]
    tab.goto(address + CHAPTER)
    box = tab.locator('[data-question="dot_product.causal_and_padding"]')
    for mistake, sentence in zip(variant["mistakes"], question["says"], strict=True):
        box.get_by_role("radio").nth(mistake).check()
        box.get_by_role("button", name="Check").click()
        named_sentence = sentence.replace("this map", f"map {mistake + 1}")
        expect(box.locator("output")).to_have_text(named_sentence)


def test_marks_go_to_another_device_as_a_file(tab, new_tab, address):
    tab.goto(address + CHAPTER)
    tab.get_by_role("button", name="I have read this chapter").click()
    answer(tab.locator(NUMBER_QUESTION), "77")
    tab.goto(address + AGAIN)
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Save my marks").click()
    other_tab = new_tab()
    other_tab.goto(address + AGAIN)
    other_tab.get_by_text("There’s nothing here yet").wait_for()
    field, message = other_tab.get_by_label("Load marks"), other_tab.locator("[data-marks] output")
    field.set_input_files({"name": "<b>.json", "mimeType": "", "buffer": b"{"})
    other_tab.get_by_text("<b>.json holds no marks from this course").wait_for()
    field.set_input_files(download.value.path())
    other_tab.locator(NUMBER_QUESTION).wait_for()
    assert (
        message.inner_text()
        == "You’ve now read 1 chapter and solved 0 exercises, with 1 question to ask again."
    )


def test_the_first_wrong_answer_places_a_reader(tab, address, site):
    tab.goto(address + BEGIN)
    tab.get_by_role("button", name="Begin").click()
    box = tab.locator(NUMBER_QUESTION)
    box.wait_for()
    variant = data(site)["weight_of_a_key"]["variants"][int(box.get_attribute("data-variant"))]
    answer(box, str(variant["right"][0]))
    tab.locator(".question").nth(1).get_by_role("button", name="I don’t know").click()
    result = tab.locator("[data-placed]")
    assert result.get_by_role("link").first.inner_text() == "Dot-product attention"
    result.get_by_role("button").click()
    assert tab.locator(".question").count() <= 1
