"""Deadlines, late rules and points by hand: as an instructor writes them."""

from datetime import timedelta

import pytest

from judge.grading.policy import Policy, read_overrides
from judge.grading.students import People, PolicyError, Student

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


def kept(rules: Policy, student: Student) -> tuple[float, str]:
    """The share of the points that somebody in a class of two keeps, and why."""
    people = People([JANE, RICK])
    return rules.share(rules.handed_in(people).get(student), rules.extended(people).get(student))


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
    share, said = kept(policy(tmp_path, {"rick": when}), RICK)
    assert share == pytest.approx(SHARES[when])
    assert ("late by" in said) == (share < 1)


def test_an_extension_is_of_one_student(tmp_path):
    times = dict.fromkeys(("rick", "jane"), "2026-10-26 11:00:00")
    both = policy(tmp_path, times)
    assert kept(both, JANE) == (1.0, "")
    assert kept(both, RICK)[0] == pytest.approx(0.8)


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


MISTAKES = {
    "deadline = 2026-10-24 23:59:00": {
        'deadline = "2026-10-24 23:59"': "deadline is not a date with a time, .*without quotes",
        "deadline = 2026-10-24": "deadline is not a date with a time, .*: add the time",
        "deadline = 23:59:00": "deadline is not a date with a time, as 2026",
        "deadline = 5": "deadline is not a date with a time, as 2026-11-30 23:59:00, but 5",
        "deadline = 0001-01-01 00:00:00": "deadline is too near to the end of all dates",
    },
    'time_zone = "Europe/Berlin"': {
        "time_zone = 1": "time_zone is a text in quotes, and not 1",
        'time_zone = "Europe"': "No time zone found that is called 'Europe': name one as",
        'time_zone = "../x"': "No time zone found that is called",
        'time_zone = ""': "No time zone found that is called",
    },
    "grace_minutes = 15": {
        "grace_minutes = -1": "grace_minutes is a number from 0 to 1e.06, and not -1",
        'grace_minutes = "15"': "grace_minutes .* and not '15': write it without quotes",
        "grace_minutes = 1e300": "grace_minutes is a number from 0",
        "grace_minutes = true": "grace_minutes is a number from 0",
        "grace_minuts = 15": "'grace_minuts' is not one of .*: is it 'grace_minutes'",
    },
    "percent_per_day = 10": {
        "percent_per_day = -50": "percent_per_day is a number from 0 to 100, and not -50",
        "percent_per_day = 101": "percent_per_day is a number from 0 to 100, and not 101",
        "percent_per_day = nan": "percent_per_day is a number from 0 to 100, and not nan",
        "percent_per_day = [10]": "percent_per_day is a number from 0 to 100",
    },
    "most_days = 5": {
        'most_days = "5"': "most_days is a whole number .* and not '5': write it without quotes",
        "most_days = 1.5": "most_days is a whole number from 0",
        "most_days = -1": "most_days is a whole number from 0",
    },
    "[late]\ngrace_minutes = 15\npercent_per_day = 10\nmost_days = 5": {
        "late = 5": r"late is a table, written \[late\], and not 5",
    },
    '[extensions]\n"jane@example.edu" = 2026-10-26 12:00:00': {
        "extensions = 5": r"extensions is a table, written \[extensions\], and not 5",
        '[extensions]\nJane = "2026-12-24"': r"\[extensions\] 'Jane' .*without quotes",
        "[extensions]\nJane.x = 5": r"\[extensions\] 'Jane' is not a date",
    },
    'file = "times.csv"': {"file = 5": "file is a text in quotes, and not 5"},
    'student = "Email address"': {"student = []": "student is a text in quotes"},
    'time = "Last modified (submission)"': {
        "": "'time' is missing",
        'time = "Last modified (submission)"\nformat = 5': "format is a text in quotes",
    },
}


@pytest.mark.parametrize(
    ("key", "instead"), [(key, new) for key, mistakes in MISTAKES.items() for new in mistakes]
)
def test_every_mistake_in_a_policy_is_named_with_what_to_write(key, instead, tmp_path):
    text = POLICY
    if instead in ("late = 5", "extensions = 5"):
        text, instead = f"{instead}\n{POLICY}", ""
        why = MISTAKES[key][text.partition("\n")[0]]
    else:
        why = MISTAKES[key][instead]
    assert key in POLICY
    with pytest.raises(PolicyError, match=rf"^policy\.toml: .*{why}"):
        policy(tmp_path, {"rick": "2026-10-24 20:00"}, text.replace(key, instead))


GERMAN = "Dienstag, 1. Dezember 2026, 23:59"
UNREAD = {
    ("02.12.2026 01:00", None): r"is no date as 2026-11-30 23:59:00: say in \[times\] how dates",
    (GERMAN, "%A, %d. %B %Y, %H:%M"): "read in English, .*set your platform to English",
    ("2026-12-01 1:00", "%d.%m.%Y %H:%M"): "is not written as format = '%d.%m.%Y %H:%M' says$",
    ("2026-12-01", "%Q"): r"format in \[times\]: 'Q' is a bad directive",
    ("2026-12-01", "%"): r"format in \[times\]: stray %",
    ("1 December, 23:59", "%d %B, %H:%M"): "has no year, or a wrong one: look at format",
    ("0001-01-01 00:00:00", None): "has no year, or a wrong one",
    ("9999-12-31 23:59:00-12:00", None): "too near to the end of all dates",
}


@pytest.mark.parametrize(("when", "form"), UNREAD)
def test_a_time_that_is_not_read_is_named_with_its_line_and_the_remedy(when, form, tmp_path):
    (tmp_path / "times.csv").write_text(f'{EXPORT}Jane,jane@x,-\nRick,rick@x,"{when}"\n', "utf-8")
    text = POLICY + (f"format = '{form}'\n" if form else "")
    (tmp_path / "policy.toml").write_text(text, "utf-8")
    with pytest.raises(PolicyError, match=rf"^times\.csv, line 3: .*{UNREAD[when, form]}"):
        Policy.read(tmp_path / "policy.toml")


@pytest.mark.parametrize("name", ["times.csv", "policy.toml"])
def test_a_file_in_another_encoding_is_named(name, tmp_path):
    policy(tmp_path, {"rick": "2026-10-24 20:00"})
    path = tmp_path / name
    path.write_bytes(path.read_bytes() + b"\xe4\n")
    with pytest.raises(PolicyError, match=rf"^{name}.*UTF-8"):
        Policy.read(tmp_path / "policy.toml")


def test_a_time_of_nobody_or_of_several_is_named_by_its_line(tmp_path):
    when = "2026-10-26 11:00:00"
    rules = policy(tmp_path, {"jane": when, "noira": when, "rick": when})
    said = [*rules.looks(People([JANE, RICK]))]
    assert said == [
        "times.csv, line 3: a time of nobody who has a row, or of several: it is not used"
    ]
    many = policy(tmp_path, {f"s{n}": when for n in range(9)} | {"jane": when})
    (said,) = many.looks(People([JANE, RICK]))
    assert said.startswith("times.csv, lines 2, 3, 4, 5, 6 and 4 more: ")


def test_a_stranger_with_the_user_name_of_another_gets_neither_their_time_nor_longer(tmp_path):
    rules = policy(tmp_path, {"rick": "2026-11-26 11:00:00"})
    stranger = Student("rick@example.edu", platform="github")
    people = People([JANE, RICK, stranger])
    assert not rules.handed_in(people)
    assert [*rules.looks(people)] == [
        "times.csv, line 2: a time of nobody who has a row, or of several: it is not used"
    ]
    stranger = Student("jane@example.edu", platform="github")
    people = People([JANE, RICK, stranger])
    assert not rules.extended(people)
    assert "counts for neither" in next(iter(rules.looks(people)))


def test_who_is_not_in_the_export_is_not_late_and_that_is_said(tmp_path):
    assert kept(policy(tmp_path, {"jane": "2026-10-24"}), RICK) == (
        1.0,
        "no time of handing in is known",
    )


def test_a_platform_s_own_form_of_time_is_read(tmp_path):
    text = POLICY + 'format = "%A, %d %B %Y, %I:%M %p"\n'
    text = text.replace("times.csv", "moodle.csv")
    (tmp_path / "moodle.csv").write_text(
        EXPORT + 'Rick,rick@example.edu,"Sunday, 25 October 2026, 11:30 PM"\n'
    )
    assert kept(policy(tmp_path, {}, text), RICK) == (
        pytest.approx(0.8),
        "late by 1 day 31 min: 20 % of the points are taken off",
    )


def test_without_rules_what_is_late_counts_nothing(tmp_path):
    text = POLICY.replace("grace_minutes = 15\npercent_per_day = 10\nmost_days = 5\n", "")
    strict = policy(tmp_path, {"rick": "2026-10-24 23:59:01"}, text)
    assert strict.grace == timedelta(0) and kept(strict, RICK)[0] == 0


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
    assert rules.exercises == {"prefix_mask", "decoder_mask"} and kept(rules, RICK) == (1.0, "")
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
