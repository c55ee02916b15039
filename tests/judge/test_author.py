"""The output of `python -m attncourse.course NAME` for the author of an exercise."""

import re
from dataclasses import fields, replace
from importlib import import_module

import pytest
import torch

from attncourse.course import COURSE, exercise
from judge import author, course, mutation_score, variants
from judge.call.outcome import Outcome
from judge.compare.criteria import Record
from judge.compare.run import Trial
from judge.course import OneLineError
from judge.exercise import Case, Exercise
from judge.exercise_text import Task, emptied
from judge.verdict import Verdict
from tests import ROOT

CARD = ("name", "chapter", "title", "kind", "difficulty", "minutes", "points", "hints")


def doubled(x):
    twice = 2 * x
    return twice


def toy(reference=doubled, **answers) -> Exercise:
    """An exercise with a right answer and a wrong one."""
    exercise = Exercise(
        name="doubled",
        chapter="dot_product",
        title="Twice as much",
        kind="build",
        difficulty=1,
        minutes=1,
        points=1,
        hints=("idea", "shape", "line"),
        without={"loops": "it is short"},
    )
    exercise.reference(reference)
    exercise.cases(lambda draw: iter([Case("a vector", (draw.normal(4),))]))
    exercise.valid(doubled)
    variants.wrong(exercise, {"it is tripled: double it": ("2 * x", "3 * x")} | answers)
    return exercise


def test_each_answer_has_a_line_and_the_last_one_counts():
    lines = author.report(COURSE, toy(), seeds=(1,))
    assert "   wrong '2 * x -> 3 * x': it is tripled: double it" in lines
    assert "   right 'doubled': passed" in lines
    assert lines[-1] == (
        "doubled, seed 1: 10 of 10 wrong answers (1 of its own, 9 generic ones) refused with their "
        "hint, 1 of 1 right ones accepted"
    )
    assert not any(line.startswith("!!") for line in lines)


def test_a_wrong_answer_that_passes_is_marked():
    lines = author.report(COURSE, toy(harmless=("2 * x", "x + x")), seeds=(1,))
    assert "!! wrong '2 * x -> x + x': passed" in lines
    assert any("should hear: harmless" in line for line in lines)


def test_a_reference_that_every_right_answer_contradicts_is_named():
    lines = author.report(COURSE, toy(reference=lambda x: 4 * x), seeds=(1,))
    expected = "!! the reference agrees with 0 of 1 right answers: look at the reference first"
    assert lines[-2] == expected


def raise_error(x):
    raise RuntimeError("first line\nsecond line")


@pytest.mark.parametrize(
    ("reference", "oracle", "message", "suspect"),
    [
        (lambda x: 4 * x, doubled, "disagrees with the oracle: Tensor-likes are not", "reference"),
        (doubled, lambda x: 4 * x, "disagrees with the oracle: Tensor-likes are not", "oracle"),
        (doubled, lambda x: None, "disagrees with the oracle: ", "oracle"),
        (doubled, raise_error, "the oracle raises RuntimeError: first line second line", "oracle"),
    ],
)
def test_where_the_oracle_says_otherwise_right_answers_take_a_side(
    reference, oracle, message, suspect, monkeypatch
):
    monkeypatch.setattr(author, "oracle_of", lambda course, exercise: oracle)
    answer, *lines, _ = author.report(COURSE, toy(reference), seeds=(1,))
    lines = [line for line in lines if line.startswith("!!")]
    assert "right 'doubled'" in answer and len(lines) == 2
    assert lines[0].startswith("!! on a vector, ") and message in lines[0] and "\n" not in lines[0]
    expected = (
        f"agrees with {int(suspect == 'oracle')} of 1 right answers: look at the {suspect} first"
    )
    assert lines[1] == f"!! the reference {expected}"


@pytest.mark.parametrize("name", ["tests", "tests.judge.oracles.dot_product", "scipy", "tests.x"])
def test_without_the_tests_there_is_no_oracle_and_what_an_oracle_lacks_is_named(name, monkeypatch):
    def raise_missing(module):
        raise ModuleNotFoundError(f"no {name}", name=name)

    monkeypatch.setattr(author, "import_module", raise_missing)
    if "tests.judge.oracles.dot_product".startswith(name):
        assert author.oracle_of(COURSE, toy()) is None
    else:
        with pytest.raises(ModuleNotFoundError, match=f"no {name}"):
            author.oracle_of(COURSE, toy())


def test_the_reference_of_the_course_agrees_with_its_oracle():
    assert author.disagreement(COURSE, exercise("distance_attention"), seed=2) == ""


def test_a_slip_in_an_exercise_s_file_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["checks", "decoder_mask"])
    monkeypatch.setattr(
        course.Course, "one_of", lambda *names: variants.edited(doubled, "x + x", "x")
    )
    with pytest.raises(SystemExit) as exit_info:
        author.main(COURSE)
    expected = f"{__name__}.doubled has no 'x + x' to replace\n"
    assert exit_info.value.code == 2 and capsys.readouterr().err == expected


def test_of_an_exercise_only_its_own_file_is_loaded(monkeypatch):
    loaded = []
    monkeypatch.setattr(course, "import_module", lambda m: loaded.append(m) or import_module(m))
    exercise("GatedCell")
    assert loaded[-1:] == ["attncourse.course.recurrence.exercises.GatedCell"]
    assert not [m for m in loaded[:-1] if ".exercises." in m]


@pytest.mark.parametrize(("name", "code"), [("decoder_mask", 0), ("decoder", 2)])
def test_the_command_ends_as_it_went(name, code, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["checks", name, "--seed", "3"])
    if code:
        with pytest.raises(SystemExit) as exit_info:
            author.main(COURSE)
        assert exit_info.value.code == code and "no exercise is called" in capsys.readouterr().err
    else:
        assert author.main(COURSE) == code
        assert "decoder_mask, seed 3: " in capsys.readouterr().out


def test_one_misjudged_answer_is_enough_for_the_command_to_end_badly(monkeypatch):
    lines = ["   right 'doubled': passed", "!! wrong 'x + x': passed", "doubled, seed 3: 1 of 2"]
    monkeypatch.setattr("sys.argv", ["checks", "decoder_mask", "--seed", "3"])
    monkeypatch.setattr(author, "report", lambda *arguments: lines)
    assert author.main(COURSE) == 1


def test_a_wrong_answer_counts_as_refused_if_every_seed_refuses_it(monkeypatch):
    task = toy()
    (mutant,) = task.own_mutants
    verdicts = [Verdict("wrong", mutant.hint), Verdict("passed")]
    monkeypatch.setattr(
        mutation_score,
        "tried",
        lambda course, exercise, seeds: [
            mutation_score.Tried(mutant.function, mutant.hint, seed, verdict)
            for seed, verdict in zip(seeds, verdicts, strict=True)
        ],
    )
    assert mutation_score.row(COURSE, task, (1, 2)).refused == 0
    verdicts.reverse()
    assert mutation_score.row(COURSE, task, (1, 2)).refused == 0
    verdicts[:] = [Verdict("wrong", mutant.hint)] * 2
    assert mutation_score.row(COURSE, task, (1, 2)).refused == 1


@pytest.mark.parametrize("name", ["softmax", "torch.nn.modules.rnn", "torch.softmax", "sorted"])
def test_what_there_is_may_be_forbidden(name):
    task = toy()
    task.forbidden = (name,)
    assert not [line for line in author.mistakes_in_files(task) if line.startswith("forbidden")]


@pytest.mark.parametrize("name", ["sofmax", "torch.sofmax", "no_such.module"])
def test_a_name_that_there_is_not_forbids_nothing_and_is_said_to(name):
    task = toy()
    task.forbidden = (name,)
    (line,) = author.mistakes_in_files(task)
    assert line.startswith(f"forbidden names {name}, which neither torch nor NumPy")


@pytest.mark.parametrize(
    ("forbidden", "message"),
    [("softmax", "'softmax' is no tuple"), ((torch.softmax,), 'holds names, as "softmax"')],
)
def test_what_is_forbidden_are_names(forbidden, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        replace(toy(), forbidden=forbidden)


def test_aims_are_a_tuple():
    with pytest.raises(ValueError, match="doubled: aims='scale' is no tuple: add a comma"):
        replace(toy(), aims="scale")


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"leading": 0.5}, "shares has no group leading; the groups are masks, leading axes"),
        ({"device and dtype": 50}, "together they should leave something to the values"),
        ({"device and dtype": -0.1}, "should be 0 at least"),
    ],
)
def test_shares_that_cannot_be_are_named(shares, message):
    exercise = toy()
    exercise.shares = shares
    (line,) = author.mistakes_in_files(exercise)
    assert message in line


def test_a_test_that_is_given_nothing_right_is_said_to():
    trial = Trial(toy(), 0)
    trial.of_reference = dict.fromkeys(range(len(trial.probes)), Record(Outcome.RAISED))
    trial.exercise.kind = "test"
    with pytest.raises(ValueError, match="doubled: none of what the test is given is right"):
        _ = trial.last_counted_place


def test_a_case_that_the_reference_cannot_take_is_named():
    (line,) = author.report(COURSE, toy(reference=lambda x: x[7]), seeds=(1,))
    assert line.startswith("!! on a vector, the reference raises IndexError: ")


def test_where_loops_are_not_refused_and_no_reason_is_given_a_line_says_so():
    task = toy()
    task.without.clear()
    (line,) = author.mistakes_in_files(task)
    assert line.startswith("no case is `longer`, so an answer that loops is not refused")
    assert f"!! {line}" in author.report(COURSE, task, seeds=(1,))
    assert [*author.mistakes_in_files(toy())] == []


def test_an_exercise_that_judges_itself_has_a_line_for_each_answer_too():
    task = exercise("NumberTranslator")
    # trained models take long to judge, and one that is not trained does not
    reduced_task = replace(task, own_mutants=task.own_mutants[:1], valid_answers=[])
    hint = "at least 0.70 of the names must be right in every part"
    assert author.report(COURSE, reduced_task, seeds=(3,)) == [
        f"   wrong 'Untrained': {hint}",
        "NumberTranslator, seed 3: 1 of 1 wrong answers (1 of its own, 0 generic ones) refused "
        "with their hint, 0 of 0 right ones accepted",
    ]


def flaky(x):
    return doubled(x) if x[0] < 0 else 3 * x


def test_a_mutant_that_passes_at_some_seed_is_marked_with_that_seed():
    exercise = toy()
    exercise.mutant("it is tripled where the first is above 0: double it")(flaky)
    lines = author.report(COURSE, exercise, seeds=tuple(range(1, 9)))
    passed = [line for line in lines if re.match(r"!! wrong 'flaky', seed \d: passed", line)]
    assert 0 < len(passed) < 8
    assert "doubled, seeds 1 to 8: 10 of 11 wrong answers" in lines[-1]


ATTEMPTS = {
    "import torch\ndef {}(q, k, v, mask=None):\n    return q": (
        1,
        r"wrong: the shape isn't right \(seed 3, and 1 more\)\n +On .* expected \(2, ",
    ),
    "{} = 5": (1, r"error: `distance_attention` should be a function that is called with"),
}


@pytest.mark.parametrize("text", ATTEMPTS)
def test_an_answer_that_is_not_in_the_bank_is_tried(text, tmp_path, monkeypatch, capsys):
    code, message = ATTEMPTS[text]
    (tmp_path / "mine.py").write_text(text.format("distance_attention"))
    command = ["checks", "distance_attention", "--try", str(tmp_path / "mine.py")]
    monkeypatch.setattr("sys.argv", [*command, "--seed", "3", "--seeds", "2"])
    assert author.main(COURSE) == code
    assert re.match(message, capsys.readouterr().out)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "mine.py cannot be read: No such file"),
        ("1 / 0", "mine.py raises ZeroDivisionError: division by zero"),
        ("def another(): ...", "mine.py defines no distance_attention"),
    ],
)
def test_a_file_that_holds_no_answer_is_said_to(text, message, tmp_path, monkeypatch, capsys):
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    command = ["checks", "distance_attention", "--try", str(tmp_path / "mine.py")]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit):
        author.main(COURSE)
    assert message in capsys.readouterr().err


def test_the_parameters_of_the_text_are_those_of_the_reference():
    copy = replace(exercise("decoder_mask"))
    copy.reference(lambda n, prefix: None)
    copy.cases(exercise("decoder_mask").draw_cases)
    first_slip = next(iter(author.mistakes_in_files(copy)))
    assert first_slip.startswith("the notebook asks for decoder_mask(") and "prefix" in first_slip


TEXT = """---
kind: {kind}
difficulty: 1
points: 10
---

# Twice as much

{words}

```{{code-cell}} python3
:tags: [answer]
def doubled(x):
    \"\"\"Twice.\"\"\"
    # why
{lines}
    return 2 * x
```

## Hints

1. the idea

2. the shape

3. the line
"""


def test_the_minutes_follow_from_the_task_and_its_answer(tmp_path):
    words, lines = "word " * 300, "\n".join(f"    x{i} = x" for i in range(9))
    # 8 for a star, 5 for ten lines, 3 for 300 words
    for kind, minutes in (("build", 15), ("warm-up", 5)):
        (tmp_path / "doubled.md").write_text(TEXT.format(kind=kind, words=words, lines=lines))
        task = Task.read(tmp_path / "doubled.md")
        assert task.minutes == minutes and task.hints == ("the idea", "the shape", "the line")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("points: 10\n", "", r"doubled.md lacks \['points'\] above its title"),
        ("points", "marks: 1\npoints", r"doubled.md says {'marks'}: known are"),
        ("## Hints", "## Help", "doubled.md is not: settings between two lines ---"),
    ],
)
def test_a_text_without_its_form_is_refused(old, new, message, tmp_path):
    text = TEXT.format(kind="build", words="", lines="    pass").replace(old, new)
    (tmp_path / "doubled.md").write_text(text)
    with pytest.raises(ValueError, match=message):
        Task.read(tmp_path / "doubled.md")


@pytest.mark.parametrize(
    ("source", "start"),
    [
        ("def f(\n    x,  # é\n):\n\n    # a hint\n    return x", "def f(\n    x,  # é\n):"),
        ("def g():\n    pass\n\n\n@wraps(g)\ndef f(x):\n    return x", "@wraps(g)\ndef f(x):"),
        ("import a\nfrom b import c\ndef f():\n    c", "import a\nfrom b import c\n\n\ndef f():"),
    ],
)
def test_a_learner_starts_from_what_says_what_to_write(source, start):
    assert emptied(source, "f") == f'{start}\n    raise NotImplementedError("write f here")'


def test_an_answer_without_its_name_makes_no_start():
    with pytest.raises(ValueError, match="exercise f: 0 functions or classes of that name"):
        emptied("def g():\n    pass", "f")


def test_an_exercise_whose_file_is_not_listed_is_said_to(tmp_path, monkeypatch):
    folder = tmp_path / "fresh/course/first/exercises"
    folder.mkdir(parents=True)
    (tmp_path / "fresh/__init__.py").touch()
    (folder / "forget_gate.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    fresh = replace(COURSE, package="fresh", content="fresh.course")
    with pytest.raises(OneLineError, match=r"fresh\.course has no exercises yet"):
        fresh.exercise("forget_gate")
    (folder / "index.md").write_text("- other\n")
    with pytest.raises(OneLineError, match=r"index.md does not list 'forget_gate', whose file is"):
        fresh.exercise("forget_gate")
    message = r"first lists 'other', and there is no module fresh\.course\.first\.exercises\.other"
    with pytest.raises(ValueError, match=message):
        fresh.exercise("other")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"args": torch.ones(2)}, "case 'a vector': args is a tuple, and not a Tensor"),
        ({"args": (), "longer": [1]}, "case 'a vector': longer is a tuple, and not a list"),
    ],
)
def test_a_case_whose_arguments_are_no_tuple_is_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Case("a vector", **arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"difficulty": 4}, "doubled: difficulty 4 is not 1, 2 or 3"),
        ({"hints": ("idea", "shape")}, "doubled has 2 hints: there are three"),
        ({"kind": "write"}, "doubled: kind 'write' is not one of"),
    ],
)
def test_a_card_that_says_what_it_may_not_is_refused(change, message):
    card = {name: getattr(toy(), name) for name in CARD}
    with pytest.raises(ValueError, match=re.escape(message)):
        Exercise(**card | change)


# the fields that decorators fill
DECORATOR_FIELDS = {
    "unread_places", "unread_numbers", "stub_answer", "describe_difference", "valid_answers",
    "own_mutants",
}  # fmt: skip


@pytest.mark.parametrize("kind", [Exercise, Case])
def test_the_page_for_authors_has_a_row_for_all_that_may_be_said(kind):
    page = (ROOT / "reference" / "judge.md").read_text("utf-8")
    heading = {Exercise: "| of `Exercise.read` |", Case: "| of a `Case` |"}[kind]
    table = page.partition(heading)[2]
    cells = {line.split("|")[1] for line in table.partition("\n\n")[0].splitlines()[1:]}
    page_names = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    text_names = {*CARD, "aims", "task", "module"} if kind is Exercise else set()
    assert (
        page_names
        == {field.name for field in fields(kind) if field.init} - DECORATOR_FIELDS - text_names
    )
