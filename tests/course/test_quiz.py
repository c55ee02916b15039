"""A quiz to print, its key, and a class's mistakes, as a teacher gets them from the command."""

import csv
import json

import pytest
from typer.testing import CliRunner

from attncourse.__main__ import cli
from attncourse.course.question import questions

QUESTION = questions("dot_product")["weight_of_a_key"]


def run(*args):
    return CliRunner().invoke(cli.app, [*map(str, args)])


def test_a_quiz_has_the_same_numbers_for_a_seed_and_others_for_another(tmp_path):
    texts = {}
    for folder, seed in (("a", 7), ("b", 7), ("c", 8)):
        out = tmp_path / folder
        output = run("quiz", "--aims", "dot_product.scale", "--seed", seed, "--out", out)
        assert output.exit_code == 0, output.output
        texts[folder] = (out / "sheet.html").read_text("utf-8")
    assert texts["a"] == texts["b"] != texts["c"]


def test_the_key_has_the_answer_and_each_mistake_and_the_sheet_neither(tmp_path):
    run("quiz", "--aims", "dot_product", "--seed", 7, "--out", tmp_path)
    sheet, key = ((tmp_path / f"{name}.html").read_text("utf-8") for name in ("sheet", "key"))
    for question in questions("dot_product").values():
        for sentence in question.says:
            # the words before a formula or a word in code
            words = sentence.partition("$")[0].partition("`")[0].partition('"')[0][:40]
            assert words in key and (words not in sheet or not words)
    assert "Answer:" in key and "Answer:" not in sheet
    assert sheet.count('class="space"') == len(questions("dot_product"))
    assert "src=" not in sheet.replace('src="data:', "")


@pytest.mark.parametrize(
    ("aims", "message"),
    [("cooking", "'cooking' has no questions"), ("dot_product.cooking", "'cooking' is no aim of")],
)
def test_an_aim_that_is_none_is_named(aims, message, tmp_path):
    output = run("quiz", "--aims", aims, "--seed", 1, "--out", tmp_path)
    assert output.exit_code == 2 and message in output.output and not [*tmp_path.iterdir()]


def test_questions_are_asked_by_name_too_in_the_order_of_the_course(tmp_path):
    last_question, first_question = [*questions("linear").values()][-1], QUESTION
    names = "--questions", last_question.id, "--questions", first_question.id
    output = run("quiz", *names, "--seed", 7, "--out", tmp_path)
    assert output.exit_code == 0, output.output
    sheet = (tmp_path / "sheet.html").read_text("utf-8")
    assert sheet.count('class="space"') == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--questions", QUESTION.id[:-1]), f"is it '{QUESTION.id}'?"),
        ((), "which questions? Say --aims or --questions"),
    ],
)
def test_a_question_that_is_none_is_named(options, message, tmp_path):
    output = run("quiz", *options, "--seed", 1, "--out", tmp_path)
    assert output.exit_code == 2 and message in output.output and not [*tmp_path.iterdir()]


def test_a_seed_is_asked_for_once_the_questions_are_known(tmp_path):
    output = run("quiz", "--aims", "cooking", "--out", tmp_path)
    assert output.exit_code == 2 and "'cooking' has no questions" in output.output
    output = run("quiz", "--aims", "linear", "--out", tmp_path)
    assert output.exit_code == 2 and "Say --seed" in output.output and not [*tmp_path.iterdir()]


def write_marks(path, mistakes):
    data = {"course": "attncourse", "read": [], "solved": [], "questions": []}
    path.write_text(json.dumps(data | {"mistakes": mistakes}), "utf-8")
    return path


def test_a_mistake_counts_once_for_each_student_who_made_it(tmp_path):
    first_marks = write_marks(tmp_path / "one.json", {QUESTION.id: [0, 2], "dot_product.gone": [1]})
    second_marks = write_marks(tmp_path / "two.json", {QUESTION.id: [0]})
    out = tmp_path / "class.csv"
    assert run("marks", first_marks, second_marks, "--out", out).exit_code == 0
    with out.open(encoding="utf-8-sig", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert [(row["aim"], row["mistake"], row["students"]) for row in rows] == [
        (QUESTION.aim, QUESTION.says[0], "2"),
        (QUESTION.aim, QUESTION.says[2], "1"),
    ]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"course": "another"}', '{"course": "attncourse", "mistakes": 3}']
)
def test_a_file_that_holds_no_marks_is_named_and_nothing_is_written(text, tmp_path):
    (tmp_path / "bad.json").write_text(text, "utf-8")
    output = run("marks", tmp_path / "bad.json", "--out", tmp_path / "class.csv")
    assert output.exit_code == 2 and "bad.json holds no marks" in output.output
    assert not (tmp_path / "class.csv").exists()
