"""What a page says of its answers is what a grader says of the notebook that is taken from it."""

import pytest

from attncourse.course import exercises
from judge.exercise_text import with_first_line
from judge.grading.grade import grade
from tests.graders import grading  # noqa: F401
from tests.grading.submissions import SECONDS, statuses
from tests.needs import lacks
from tests.page.test_check import Editor
from tools import pyodide

pytestmark = pytest.mark.skipif(not pyodide.is_fetched(), reason=lacks("Pyodide"))


def answers(chapter: str) -> dict[str, str]:
    """The worked answers; but the first one is that of the stub, and the second one is wrong."""
    tasks = {name: one.task for name, one in exercises(chapter).items()}
    first, second, *_ = tasks
    worked = {name: with_first_line(name, task.code("answer")) for name, task in tasks.items()}
    wrong = worked[second].replace("return ", "return 2 * ")
    return worked | {first: tasks[first].start, second: wrong}


@pytest.mark.slow
@pytest.mark.parametrize("chapter", ["dot_product", "positional", "linear"])
def test_a_notebook_from_the_page_earns_what_the_page_has_promised(
    chapter, tab, address, tmp_path, grading  # noqa: F811
):  # fmt: skip
    tab.goto(f"{address}exercises/{chapter}.html")
    said = {}
    for name, source in answers(chapter).items():
        editor = Editor(tab, name)
        editor.check(source)
        said[name] = editor.box.get_attribute("data-status")
    tab.get_by_text("Take your answers into the notebook").click()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Download the notebook").click()
    download.value.save_as(path := tmp_path / "answers.ipynb")
    report = grade(path, seed=1, timeout=SECONDS, sandboxed=not grading)
    assert statuses(report) == said
    assert [*said.values()] == ["not attempted", "wrong", *["passed"] * (len(said) - 2)]
