"""Deadlines, late rules and points by hand: as an instructor writes them."""

from datetime import timedelta

import pytest

from judge.grading.policy import Policy, PolicyError, read_overrides
from judge.grading.students import People, Student

POLICY = """
time_zone = "Europe/Berlin"
deadline = 2026-10-24 23:59:00

[late]
grace_minutes = 15
percent_per_day = 10
most_days = 5

[extensions]
"jane@example.edu" = 2026-10-26 12:00:00

[times]
file = "times.csv"
student = "Email address"
time = "Last modified (submission)"
"""
EXPORT = "Full name,Email address,Last modified (submission)\n"
JANE = Student("4711", "Jane", row={"Email address": "Jane@example.edu"})
RICK = Student("12", "Rick", row={"Email address": "rick@example.edu"})


def policy(folder, times: dict[str, str], text: str = POLICY) -> Policy:
    lines = [f"{who},{who}@example.edu,{when}\n" for who, when in times.items()]
    (folder / "times.csv").write_text(EXPORT + "".join(lines), "utf-8")
    (folder / "policy.toml").write_text(text, "utf-8")
    return Policy.read(folder / "policy.toml")


# on 25 October 2026 the clocks in Berlin go back: that day has 25 hours
SHARES = {
    "2026-10-24 23:59:00": 1.0,
    "2026-10-25 00:14:00": 1.0,
    "2026-10-25 00:15:00": 0.9,
    "2026-10-24 22:15:00+00:00": 0.9,
    "2026-10-24 22:14:00 UTC": 1.0,
    "2026-10-25T22:58:59Z": 0.8,
    "2026-10-25 22:58:00": 0.9,
    "2026-10-25 22:59:30": 0.8,
    "2026-10-29 22:00:00": 0.5,
    "2026-10-30 22:00:00": 0.0,
    "-": 1.0,
}


@pytest.mark.parametrize("when", SHARES)
def test_each_day_that_begins_after_the_deadline_costs_its_part(when, tmp_path):
    share, said = policy(tmp_path, {"rick": when}).share(RICK)
    assert share == pytest.approx(SHARES[when])
    assert ("late by" in said) == (share < 1)


def test_an_extension_is_of_one_student(tmp_path):
    times = dict.fromkeys(("rick", "jane"), "2026-10-26 11:00:00")
    both = policy(tmp_path, times)
    own = both.extended(People([JANE, RICK]))
    assert both.share(JANE, own.get(JANE)) == (1.0, "")
    assert both.share(RICK, own.get(RICK))[0] == pytest.approx(0.8)


def test_an_extension_of_nobody_or_of_several_is_said(tmp_path):
    usual = policy(tmp_path, {})
    assert not [*usual.looks(People([JANE, RICK]))]
    assert [*usual.looks(People([RICK]))] == [
        "--policy: [extensions]: nobody is called 'jane@example.edu'"
    ]
    twin = Student("99", "Joan", row={"second address": "jane@example.edu"})
    assert [*usual.looks(People([JANE, RICK, twin]))] == [
        "--policy: [extensions]: 2 students are called by name 1"
    ]


def test_who_is_not_in_the_export_is_not_late_and_that_is_said(tmp_path):
    assert policy(tmp_path, {"jane": "2026-10-24"}).share(RICK) == (
        1.0,
        "no time of handing in is known",
    )


def test_a_platform_s_own_form_of_time_is_read(tmp_path):
    text = POLICY + 'format = "%A, %d %B %Y, %I:%M %p"\n'
    text = text.replace("times.csv", "moodle.csv")
    (tmp_path / "moodle.csv").write_text(
        EXPORT + 'Rick,rick@example.edu,"Sunday, 25 October 2026, 11:30 PM"\n'
    )
    assert policy(tmp_path, {}, text).share(RICK) == (
        pytest.approx(0.8),
        "late by 1 days 31 min: 20 % of the points are taken off",
    )


def test_without_rules_what_is_late_counts_nothing(tmp_path):
    text = POLICY.replace("grace_minutes = 15\npercent_per_day = 10\nmost_days = 5\n", "")
    strict = policy(tmp_path, {"rick": "2026-10-24 23:59:01"}, text)
    assert strict.grace == timedelta(0) and strict.share(RICK)[0] == 0


WRONG = {
    'time_zone = "Europe/Berlin"\n': "'time_zone' is missing",
    "deadline = 2026-10-24 23:59:00\n": "'deadline' is missing",
    "Europe/Berlin": "No time zone found",
    "2026-10-24 23:59:00": "is not a date with a time",
    "percent_per_day": "is not one of",
    "times.csv": "No such file",
    '"Email address"': "has no column",
    "[extensions]": "Invalid",
}


@pytest.mark.parametrize("part", WRONG)
def test_a_policy_that_is_not_understood_is_named(part, tmp_path):
    instead = "2026-10-24" if part[0] == "2" else '"x"' if part[0] == '"' else "x"
    instead = "" if part.endswith("\n") else "[" if part[0] == "[" else instead
    with pytest.raises(PolicyError, match=r"^(policy\.toml|times\.csv).*" + WRONG[part]):
        policy(tmp_path, {"rick": "2026-10-24 20:00"}, POLICY.replace(part, instead))


def test_a_policy_may_name_the_exercises_alone(tmp_path):
    rules = policy(tmp_path, {}, 'exercises = ["prefix_mask", "decoder_mask"]\n')
    assert rules.exercises == {"prefix_mask", "decoder_mask"} and rules.share(RICK) == (1.0, "")
    assert rules.counts("prefix_mask") and not rules.counts("attention_pool")
    assert Policy().counts("attention_pool")


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ('["prefix_masks"]', "no exercise is called 'prefix_masks': is it 'prefix_mask'?"),
        ('["zzz"]', "no exercise is called 'zzz'$"),
        ("[]", r"a list of names, and not \[\]"),
        ('"prefix_mask"', "a list of names, and not 'prefix_mask'"),
    ],
)
def test_exercises_that_are_none_are_named(written, why, tmp_path):
    with pytest.raises(PolicyError, match=rf"^policy\.toml: .*{why}"):
        policy(tmp_path, {}, f"exercises = {written}\n")


HEADER = "student,exercise,points,comment\n"
READ = {
    "a comma": (HEADER + "Jane,prefix_mask,7.5,by hand\n", 7.5),
    "a decimal comma in quotes": (HEADER + 'Jane,prefix_mask,"7,5",by hand\n', 7.5),
    "a semicolon": ("Student;Exercise;Points;Comment\r\nJane;prefix_mask;7,5;by hand\r\n", 7.5),
    "empty cells and lines": (HEADER.strip() + ",,\n,,,,,\n\nJane,prefix_mask, 0 ,by hand,,\n", 0),
    "a tab": (HEADER.replace(",", "\t") + "Jane\tprefix_mask\t12\tby hand\n", 12),
    "no comment": (HEADER + "Jane,prefix_mask,8\n", 8),
}


@pytest.mark.parametrize("form", READ)
def test_points_by_hand_are_read_as_a_spreadsheet_writes_them(form, tmp_path):
    text, points = READ[form]
    (tmp_path / "overrides.csv").write_text(text, "utf-8-sig")
    (one,) = read_overrides(tmp_path / "overrides.csv")
    comment = "" if form == "no comment" else "by hand"
    assert (one.student, one.exercise, one.points, one.comment) == (
        "Jane",
        "prefix_mask",
        points,
        comment,
    )


REFUSED = {
    "-5": "points are 0 or more, as 8 or 8.5, and not '-5'",
    "nan": "and not 'nan'",
    "inf": "and not 'inf'",
    "1e3": "and not '1e3'",
    "9" * 400: "points are 0 or more",
    "": "and not ''",
    "many": "and not 'many'",
    '"1,000"': "and not '1,000'",
    "8,5": "too many columns: put quotes around a cell with a comma",
}


@pytest.mark.parametrize("points", REFUSED)
def test_points_that_are_none_are_refused_with_their_line(points, tmp_path):
    path = tmp_path / "overrides.csv"
    path.write_text(f"{HEADER}rick,prefix_mask,1,fine\njane,prefix_mask,{points},why\n")
    with pytest.raises(PolicyError, match=r"^overrides\.csv, line 3: .*" + REFUSED[points]):
        read_overrides(path)


def test_overrides_with_other_columns_or_none_are_named(tmp_path):
    path = tmp_path / "overrides.csv"
    assert read_overrides(path) == []
    for text in ("", "a,b\n", "student,exercise,points\n", HEADER.strip() + ",more\n"):
        path.write_text(text)
        with pytest.raises(PolicyError, match=r"overrides\.csv: its columns are not student"):
            read_overrides(path)
