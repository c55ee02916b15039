"""Honest work that an editor, a browser or a habit has bent gets what is due, with a note."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from judge.cell_syntax import LONGEST
from judge.grading.grade import grade
from judge.grading.notebook.graft import graft
from judge.grading.notebook.repair import definitions, names_read, repaired, with_helpers
from judge.grading.notebook.submitted_cells import read
from tests.grading.submissions import (
    NAMES,
    SECONDS,
    SOLVED,
    make_notebook,
    statuses,
    write_notebook,
)

FIRST, SECOND = "prefix_mask", "decoder_mask"


def grafted_answers(notebook) -> tuple[dict[str, str], dict[str, str]]:
    """The answers that would be judged, and their notes, by name."""
    result = graft(nbformat.writes(notebook).encode())
    return {name: result.answers()[name] for name in result.found}, result.notes


def body(source: str) -> str:
    return source.partition("\n")[2]


def bare_notebook(*sources: str):
    """A notebook of these cells, without metadata and ids."""
    return nbformat.v4.new_notebook(cells=[new_code_cell(source) for source in sources])


def test_several_answers_in_one_cell_all_count():
    empty_answers = {name: "" for name in NAMES}
    notebook = make_notebook(empty_answers | {FIRST: f"{SOLVED[FIRST]}\n\n{SOLVED[SECOND]}"})
    answers, notes = grafted_answers(notebook)
    assert answers[FIRST].strip() == SOLVED[FIRST].strip()
    assert answers[SECOND].strip() == SOLVED[SECOND].strip()
    assert "2 answers" in notes[FIRST] and "2 answers" in notes[SECOND]


def test_a_second_answer_without_its_first_line_is_found_by_its_name():
    stubs = {FIRST: f"{SOLVED[FIRST]}\n\n{body(SOLVED[SECOND])}"}
    answers, notes = grafted_answers(make_notebook(stubs))
    assert body(SOLVED[SECOND]) in answers[SECOND]
    assert "found by its name" in notes[SECOND] and FIRST not in notes


def test_lost_first_lines_are_made_good_by_the_functions_names():
    answers, notes = grafted_answers(bare_notebook(*map(body, SOLVED.values())))
    assert answers == {name: body(source) for name, source in SOLVED.items()}
    assert all("found by its name" in notes[name] for name in NAMES)


def test_a_sketch_elsewhere_does_not_replace_an_answer():
    notebook = make_notebook(SOLVED)
    notebook.cells.append(new_code_cell(f"def {FIRST}(n, prefix): return 'a sketch'"))
    answers, notes = grafted_answers(notebook)
    assert answers == SOLVED and not notes


def test_an_answer_typed_into_a_copied_cell_counts_for_both():
    notebook = make_notebook({FIRST: SOLVED[FIRST]})
    answer_cell = next(c for c in notebook.cells if c.id == f"answer-{FIRST}")
    notebook.cells.append(new_code_cell(SOLVED[SECOND], metadata=answer_cell.metadata))
    answers, _ = grafted_answers(notebook)
    assert answers[FIRST] == SOLVED[FIRST] and answers[SECOND] == SOLVED[SECOND]


def test_a_helper_in_a_cell_of_its_own_comes_along():
    answer = f"# exercise: {FIRST}\ndef {FIRST}(n, prefix):\n    return later(n) | early(n, prefix)"
    notebook = make_notebook({FIRST: answer})
    for source in (
        "import math as m\nprint('a trial')\nunused = 1",
        "@torch.no_grad()\ndef later(n):\n    return m.inf * torch.arange(n)",
        "def early(n, prefix): return 'a first version'",
        "early = lambda n, prefix: later(n)",
        "%timeit later(3)\n!ls",
    ):
        notebook.cells.append(new_code_cell(source))
    answers, notes = grafted_answers(notebook)
    assert answers[FIRST] == (
        "import math as m\n@torch.no_grad()\ndef later(n):\n    return m.inf * torch.arange(n)\n"
        f"early = lambda n, prefix: later(n)\n{answer}"
    )
    assert "from other cells" in notes[FIRST] and "early, later, m" in notes[FIRST]


def test_what_the_notebook_has_recorded_of_a_cell_counts_before_its_first_line():
    notebook = make_notebook({FIRST: f"# exercise: {SECOND}\n{FIRST} = 1"})
    data = nbformat.writes(notebook).encode()
    (cell,) = (cell for cell in read(data) if f"{FIRST} = 1" in cell.source)
    assert cell.answers({*NAMES}) == FIRST
    assert read(nbformat.writes(bare_notebook(cell.source)).encode())[0].answers({*NAMES}) == SECOND


def test_what_one_student_wrote_is_not_in_the_next_one_s_notebook():
    first, second = (
        graft(nbformat.writes(make_notebook({name: f"# exercise: {name}\n{name} = 1"})).encode())
        for name in (FIRST, SECOND)
    )
    assert f"{FIRST} = 1" in first.answers()[FIRST]
    assert f"{FIRST} = 1" not in second.answers()[FIRST]


def test_what_an_answer_or_the_course_makes_is_taken_from_no_other_cell():
    notebook = make_notebook(SOLVED)
    notebook.cells.append(new_code_cell("import torch\nn = k = q = scores = weights = 3"))
    answers, notes = grafted_answers(notebook)
    assert answers == SOLVED and not notes


def test_bent_work_passes_in_a_kernel(tmp_path, grading):
    bent_name, colab = (
        "softmax_with_sink",
        "from google.colab import drive\ndrive.mount('/content')\n",
    )
    helped_answer = SOLVED[FIRST].replace("    j = torch.arange", "    j = numbered")
    assert helped_answer != SOLVED[FIRST]
    notebook = make_notebook(
        {
            FIRST: helped_answer,
            bent_name: SOLVED[bent_name].replace("    ", "\u00a0   "),
            SECOND: "",
            "attention_pool": f"{colab}{SOLVED['attention_pool']}\n\n{SOLVED[SECOND]}",
        }
    )
    notebook.cells.append(
        new_code_cell("def numbered(n, device):\n    return torch.arange(n, device=device)")
    )
    report = grade(write_notebook(tmp_path, notebook), seed=1, timeout=SECONDS)
    passed = {name for name, status in statuses(report).items() if status == "passed"}
    assert passed == {FIRST, SECOND, bent_name, "attention_pool"}, report.exercises
    assert all(result.note for result in report.exercises if result.status == "passed")


REPAIRS = {
    "no-break spaces": ("def f(x):\n\u00a0\u00a0 return\u202fx", "def f(x):\n   return x"),
    "a zero-width space": ("def f(x):\n    return\u200b x", "def f(x):\n    return x"),
    "a soft hyphen": ("def f(atten\u00adtion):\n    return 1", "def f(attention):\n    return 1"),
    "google.colab": (
        "from google.colab import drive\ndrive.mount('/content/drive')\nx = 1",
        "# left out: it works only in Colab\n# left out: it works only in Colab\nx = 1",
    ),
    "an incomplete character": ("x = 1  # \ud83d", "x = 1  # \ufffd"),
}


@pytest.mark.parametrize("case", REPAIRS)
def test_what_an_editor_did_is_repaired_with_a_note(case):
    source, expected = REPAIRS[case]
    (note,) = repaired(source)[1]
    assert repaired(source)[0] == expected and repaired(expected) == (expected, [])
    assert note


def test_a_no_break_space_within_a_text_stays():
    assert repaired("x = '\u00a0'") == ("x = '\u00a0'", [])


DEEP_SOURCES = (
    "(" * 90_000,
    "-" * 90_000 + "1",
    "[" * 3000 + "]" * 3000,
    "x" + ".x" * 40_000,
    "a\0b",
)


@pytest.mark.parametrize(
    "source", [*DEEP_SOURCES, "1+" * (LONGEST // 2) + "1", "lambda: " * 9000 + "1"]
)
def test_no_text_of_a_cell_is_too_much(source):
    assert repaired(source) == (source, []) and names_read(source) == set()
    definitions([source])
    assert with_helpers(f"f(x)\n{source}", definitions(["x = 1"]), set())[0].endswith(source)
