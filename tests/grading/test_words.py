"""The texts of a report: a learner's words are quoted, and do no harm where they stand."""

import re
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from typer.testing import Result as CliResult

from judge.grading.grade import grade
from judge.grading.gradebook.feedback import MOST_CODE
from judge.grading.gradebook.grades import Grade
from judge.grading.report.formats import junit
from judge.grading.report.results import Report, Result
from judge.grading.report.tables import LONGEST_CELL, guarded
from judge.grading.report.text import LONGEST, readable
from judge.quotation import named, quoted
from judge.say.evidence import unfit
from tests.grading.classes import write_zip
from tests.grading.commands import call, rows
from tests.grading.submissions import (
    NAMES,
    SECONDS,
    SOLVED,
    make_notebook,
    result_of,
    write_notebook,
)

ALL_CHARACTERS = "".join(map(chr, range(0x110000)))
# what XML 1.0 allows (https://www.w3.org/TR/xml/#charsets)
XML_TEXT = re.compile(r"[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
# visible signs of the category of invisible ones
VISIBLE_SIGNS = (
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
BLANK_CHARACTERS = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180f\u3164\ufe00\ufe0f\uffa0\U000e0041\U000e01ef"
)
NOTEBOOK = nbformat.writes(make_notebook(SOLVED)).encode()
LIE = "the grader was too slow: 10 of 10 points by the teacher."


def test_what_is_left_of_any_text_xml_allows_and_a_reader_sees():
    text = readable(ALL_CHARACTERS)
    assert XML_TEXT.fullmatch(text) and not set(BLANK_CHARACTERS) & set(text)
    invisible = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs")}
    assert invisible == {*"\t\n", *VISIBLE_SIGNS}
    assert not any(ord(c) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(c) <= 0xFDEF for c in text)
    assert len(text) > 1_100_000


def test_a_joiner_stays_where_a_script_is_written_with_it():
    persian, malayalam = "علی\u200cرضا", "ജോണ്\u200d"
    assert readable(persian) == persian and readable(malayalam) == malayalam
    assert (
        readable("a\u200db\u200c") == "ab" and readable(f"{persian[:4]}\u200d\u200c") == "علی\u200c"
    )


@pytest.mark.parametrize("character", "\ufffe\uffff\ud800\x00\x1b\ufdd0\U0001ffff")
def test_no_character_breaks_the_junit_of_a_class(character):
    result = Result("x", "X", 1, "wrong", f"a{character}b", f"c{character}d")
    broken_report = Report("y", problem=f"e{character}f")
    root = ElementTree.fromstring(
        junit([("k", Report("a", exercises=[result])), ("l", broken_report)])
    )
    faults = [(element.get("message"), element.text) for element in root.findall(".//testcase/*")]
    assert faults == [("ab", "cd"), ("ef", None)]


@pytest.mark.parametrize("mark", '"“”„‟″❞＂ˮ')
def test_nothing_in_a_quotation_ends_it(mark):
    assert quoted(f"x{mark} {LIE}\n {mark}") == f"“x' {LIE} '”"


def test_a_name_is_shown_as_it_is_and_anything_else_in_quotation_marks():
    assert named("torch.AcceleratorError") == "torch.AcceleratorError" and named("Ошибка_1")
    for text in (f"nothing: {LIE}", "a b", "a-b", "x" * 81):
        assert named(text)[0] == "“" and named(text)[-1] == "”"


def test_only_the_driver_s_own_words_on_a_module_stand_without_quotation_marks():
    for message in (
        "w.weight, w.bias can't be trained: requires_grad is False",
        "the module has the wrong parameters. Not asked for: none, "
        "missing: w.weight (3, 4), b (4,), s ()",
        "the result is far too large: its shape is (10000, 1001)",
    ):
        assert unfit(message) == message
    for other in (LIE, f"{LIE} can't be trained: requires_grad is False"):
        assert unfit(other).endswith(f": “{other}”")
    long_message = "the module has the wrong parameters. Not asked for: " + ", ".join(
        f"layer.{i} (4, 4)" for i in range(99)
    )
    assert unfit(long_message[:300]) == long_message[:300]


# answers that speak in the grader's place, when they are called or when their cell runs
CALLED = "def NAME(*a, **k):\n    "
SPEAKERS = {
    "a closing mark": f"{CALLED}raise ValueError('x” — {LIE} “')",
    "the name of a class": f"{CALLED}raise type('nothing: {LIE}', (Exception,), {{}})()",
    "a comment in the line": f"{CALLED}raise ValueError('x')  # ) {LIE} (",
    "a class of the driver's": f"{CALLED}raise type('UnfitError', (Exception,), {{}})('{LIE}')",
    "a function's name": f"def NAME(): pass\nNAME.__qualname__ = '{LIE}'",
    "the type of what is returned": f"{CALLED}return type('tensor. {LIE}', (), {{}})()",
    "a cell's exception": f"raise type('nothing: {LIE}', (Exception,), {{}})('x” {LIE}')",
    "a cell that prints": f"raise type('OutputError', (Exception,), {{}})('{LIE}')",
}


@pytest.fixture(scope="module")
def speaker_results(tmp_path_factory, grading):
    """The results of answers that would speak in the grader's place, by answer."""
    speaker_by_exercise = dict(zip(NAMES, SPEAKERS, strict=False))
    answers = {
        name: f"# exercise: {name}\n" + SPEAKERS[speaker].replace("NAME", name)
        for name, speaker in speaker_by_exercise.items()
    }
    notebook = write_notebook(tmp_path_factory.mktemp("spoken"), make_notebook(answers))
    report = grade(notebook, seed=7, timeout=SECONDS)
    return {
        speaker_by_exercise[result.name]: result
        for result in report.exercises
        if result.name in speaker_by_exercise
    }


@pytest.mark.parametrize("speaker", SPEAKERS)
def test_no_answer_speaks_in_the_grader_s_place(speaker_results, speaker):
    result = speaker_results[speaker]
    text = "\n".join((result.hint, result.evidence, result.note))
    assert result.status in ("wrong", "error", "crashed"), result
    outside_quotes = re.sub("“[^”]*”", "", text)
    assert (
        "the teacher" not in outside_quotes
        and "nothing:" not in outside_quotes
        and not set("“”") & set(outside_quotes)
    ), text
    assert speaker == "a cell that prints" or "the grader was too slow" in text


def test_a_mistake_is_the_same_wherever_in_an_answer_it_happened():
    for location in (" (line 3: “return n”)", " (line 12)"):
        hint = "it raises ValueError: “x (line 3: y)”"
        assert Grade(Result("x", "X", 1, "error", hint + location)).mistake == hint


def run_grade(folder: Path, *options: str) -> CliResult:
    return call("grade", folder / "class", *options)


def test_no_name_of_a_file_has_a_line_of_its_own_in_the_terminal(tmp_path, all_pass):
    (tmp_path / "class").mkdir()
    fake_line = "60 notebooks, 60 of them already graded"
    data_by_ending = {".ipynb": NOTEBOOK, "2.ipynb": b"{", ".txt": b"x"}
    members = {
        f"b\n{fake_line}\r\x85\u2028{fake_line}\x1b[2J{end}": data
        for end, data in data_by_ending.items()
    }
    write_zip(tmp_path / "class/eve.zip", members)
    output = run_grade(tmp_path).stdout
    assert fake_line in output and "\x1b[2J" not in output
    assert not any(
        line.strip(" │┃").startswith("60") for line in re.split("[\r\n\x85\u2028]", output)
    )


def test_what_is_said_and_every_cell_has_an_end(tmp_path, all_pass):
    (tmp_path / "class").mkdir()
    names = [f"{'h' * 20}{i}" for i in range(1500)]
    answer = "# exercise: prefix_mask\ndef prefix_mask(n):\n    " + "\n    ".join(names)
    notebook = make_notebook({"prefix_mask": answer})
    notebook.cells.insert(0, nbformat.v4.new_code_cell(" = 1\n".join([*names, "x"])))
    data, name = nbformat.writes(notebook).encode(), "n" * 4_000
    write_zip(tmp_path / "class/eve.zip", {f"{name}.ipynb": data, f"{name}.txt": b"x"})
    run_grade(tmp_path, "--out", str(tmp_path / "grades"))
    for path in (tmp_path / "grades").glob("*.csv"):
        # a comment for Moodle has all hints
        max_length = 2_000 if path.name.startswith("moodle") else 700
        assert all(len(cell) <= max_length for row in rows(path) for cell in row.values()), path
    (page,) = (tmp_path / "grades/feedback").iterdir()
    (report,) = (Report.read(path) for path in (tmp_path / "grades/reports").iterdir())
    mask_result = result_of(report, "prefix_mask")
    assert (
        mask_result.note.startswith("taken from other cells") and len(mask_result.note) <= LONGEST
    )
    assert MOST_CODE < len(mask_result.answer)
    assert f"it has {len(mask_result.answer):,} characters" in page.read_text("utf-8")
    assert len(str(guarded("x" * 10**6))) == LONGEST_CELL
