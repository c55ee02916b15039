"""One comment reaches the pages of all who made its mistake, and of nobody else."""

import csv
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner, Result

from judge.grading.cli import app
from tests.grading.classes import HINT, WORKSHEET, make_class
from tests.grading.submissions import notebook_with, written

REASON = HINT.partition(" (line")[0]
HEADER = "exercise,mistake,comment\n"


def graded(folder: Path, *options: str) -> Result:
    command = ["grade", str(folder / "class"), "--out", str(folder / "grades"), *options]
    return CliRunner().invoke(app, command, catch_exceptions=False)


def commented(folder: Path) -> dict[str, list[str]]:
    """The comments on each student's page, without the words before them."""
    found = {}
    for page in (folder / "grades/feedback").iterdir():
        parts = BeautifulSoup(page.read_text("utf-8"), "html.parser").find_all(class_="comment")
        found[page.stem] = [part.get_text().partition(":\n")[2] for part in parts]
    return found


def reasons(folder: Path) -> list[str]:
    with (folder / "grades/mistakes.csv").open(encoding="utf-8", newline="") as file:
        return [row["reason"] for row in csv.DictReader(file)]


@pytest.fixture
def folder(tmp_path, all_pass) -> Path:
    """A class of which 12 and 13 made a mistake and 4711 made none."""
    make_class(tmp_path / "class")
    (tmp_path / "grades").mkdir()
    return tmp_path


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "grades/comments.csv"
    path.write_bytes(text.encode(encoding))
    return path


ANSWER = """# exercise: prefix_mask
def prefix_mask(n, prefix, device=None):
    j = torch.arange(n, device=device)
    i = j[:, None]
    return {}
"""
MASKS = {
    "ben": "(j < prefix) | (j < i)",
    "cat": "(j <= prefix) | (j < i)",
    "dan": "(j < prefix) | (j <= i + [])",
}


def test_a_comment_reaches_who_made_its_mistake_and_who_made_it_with_another(tmp_path, grading):
    (tmp_path / "class").mkdir()
    for who, mask in MASKS.items():
        answers = {"prefix_mask": ANSWER.format(mask)}
        written(tmp_path / "class", notebook_with(answers), f"{who}.ipynb")
    graded(tmp_path, *grading)
    # a cell of mistakes.csv is copied
    itself, raises = (
        next(cell for cell in reasons(tmp_path) if cell.startswith(begin))
        for begin in ("a query does not see itself", "it raises TypeError")
    )
    with (tmp_path / "grades/comments.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [("prefix_mask", itself, "of Tuesday"), ("prefix_mask", raises, "a list")]
        csv.writer(file).writerows([("exercise", "mistake", "comment"), *rows])
    said = graded(tmp_path, *grading).output
    assert "3 of them graded before" in said and "comments.csv" not in said
    found = {"ben": ["of Tuesday"], "cat": ["of Tuesday"], "dan": ["a list"]}
    assert commented(tmp_path) == found


def test_a_changed_comment_is_on_the_pages_without_grading_again(folder):
    graded(folder)
    for text in ("before", "after"):
        path = write(folder, f"{HEADER}prefix_mask,{REASON},{text}\n")
        before = path.read_bytes()
        assert "3 of them graded before" in graded(folder).output
        assert commented(folder) == {"4711": [], "12": [text], "13": [text]}
        assert path.read_bytes() == before
    path.unlink()
    graded(folder)
    assert commented(folder) == {"4711": [], "12": [], "13": []} and not path.exists()


def test_a_comment_keeps_its_lines_and_cannot_change_a_page(folder):
    lines = ["<b>see</b> & try:", "", "    1 <2; =1</p><script>alert(3)</script>", "“ok”"]
    text = "\r\n".join(lines)
    write(folder, f'{HEADER}prefix_mask,{REASON},"{text}"\r\n')
    (folder / "roster.csv").write_text(WORKSHEET)
    graded(folder, "--roster", str(folder / "roster.csv"))
    assert commented(folder) == {"4711": [], "12": ["\n".join(lines)], "13": ["\n".join(lines)]}
    soup = BeautifulSoup((folder / "grades/feedback/12.html").read_text("utf-8"), "html.parser")
    assert not soup.find_all(["b", "script"])
    # who reads it in Moodle sees the same
    with (folder / "grades/moodle-dot_product.csv").open(encoding="utf-8", newline="") as file:
        told = {row["Identifier"]: row["Feedback comments"] for row in csv.DictReader(file)}
    assert "<b>" not in told["Participant 12"] and "see" not in told["Participant 4711"]
    moodle = BeautifulSoup(told["Participant 12"].replace("<br>", "\n"), "html.parser").get_text()
    assert "\n".join(lines) in moodle.replace("\u200b", "")


def test_two_comments_on_a_mistake_are_shown_and_the_same_text_once(folder):
    row = f"prefix_mask,{REASON},"
    write(folder, f"{HEADER}{row}one\n{row}two\n{row}one\n")
    graded(folder)
    assert commented(folder)["12"] == ["one", "two"]


def as_ansi(text: str) -> str:
    """A text in UTF-8 as a program reads it that takes it for Windows' encoding."""
    return "".join(bytes([b]).decode("cp1252", "ignore") or chr(b) for b in text.encode())


# a reason; how the cell reads in a spreadsheet; and how that writes the table
QUOTED = "it raises ValueError: “n is −1”"
WRITTEN = {
    "with commas": (REASON, REASON, ",", "\n", "utf-8"),
    "with semicolons and a mark of UTF-8": (REASON, REASON, ";", "\r\n", "utf-8-sig"),
    "with tabs": (REASON, REASON, "\t", "\r", "utf-8"),
    "with other blanks": (REASON, f" the  prefix\u00a0{REASON[11:]} ", ",", "\n", "utf-8"),
    "no ASCII": (QUOTED, QUOTED, ",", "\r\n", "utf-8-sig"),
    "another encoding": (QUOTED, as_ansi(QUOTED), ";", "\r\n", "utf-8-sig"),
    "what looks like a formula": ("-inf is low; =1", "'-inf is low;' =1", ",", "\n", "utf-8"),
    "a formula, unguarded": ("-inf is low; =1", "-inf is low; =1", ",", "\n", "utf-8"),
}


@pytest.mark.parametrize("form", WRITTEN)
def test_a_mistake_is_known_as_spreadsheets_write_it(form, folder, monkeypatch):
    reason, cell, separator, end, encoding = WRITTEN[form]
    monkeypatch.setattr("tests.grading.classes.HINT", f"{reason} (line 3: “return n”)")
    rows = (
        ("Exercise", " Mistake", "COMMENT"),
        ("prefix_mask", f'"{cell}"', "found"),
        ("", "", ""),
    )
    write(folder, end.join(map(separator.join, rows)) + end, encoding)
    assert "comments.csv" not in graded(folder).output
    assert commented(folder) == {"4711": [], "12": ["found"], "13": ["found"]}


def test_mistakes_that_differ_outside_ascii_are_two(folder, monkeypatch):
    monkeypatch.setattr("tests.grading.classes.HINT", "it raises ValueError: “é”")
    rows = [f"prefix_mask,it raises ValueError: “{letter}”,{letter}\n" for letter in "éü"]
    write(folder, HEADER + "".join(rows))
    graded(folder)
    assert commented(folder)["12"] == ["é"]


def test_a_comment_on_a_mistake_that_nobody_made_is_said_with_its_line(folder):
    rows = f'prefix_mask,{REASON},"two\nlines"\n\nprefix_mask,{REASON},\n'
    path = write(
        folder, f"{HEADER}{rows}prefix_mask,it is upside down,swap\ndecoder_mask,{REASON},x\n"
    )
    before = path.read_bytes()
    done = graded(folder)
    assert done.exit_code == 1 and path.read_bytes() == before
    assert [line for line in done.output.splitlines() if "comments.csv" in line] == [
        f"comments.csv, line {line}: on no page, since no answer to {name} has the mistake {cell!r}"
        for line, name, cell in (
            (6, "prefix_mask", "it is upside down"),
            (7, "decoder_mask", REASON),
        )
    ]
    assert commented(folder)["12"] == ["two\nlines"]


def test_what_is_not_wrong_gets_no_comment(folder):
    written(folder / "class", notebook_with({}), "nobody.ipynb")
    write(folder, f"{HEADER}prefix_mask,its cell is as it was given,begin\n")
    assert "comments.csv, line 2: on no page" in graded(folder).output
    assert commented(folder)["nobody"] == []


REFUSED = {
    "exercise,comment\nprefix_mask,x\n": ": its columns are not exercise, mistake, comment, but",
    "exercise,reason,comment\n": "comment, but exercise, reason, comment",
    "": "comment, but none",
    f"{HEADER}\nprefix_masks,x,y\n": ", line 3: no exercise is called 'prefix_masks'",
    f"{HEADER}prefix_mask,,y\n": ", line 2: it names no mistake: copy a reason from mistakes.csv",
    f"{HEADER}prefix_mask,x,a, b\n": ", line 2: it has too many columns: put quotes around a cell",
    'exercise;mistake;comment\na;b;"c;d"\na;b;c;d\n': ", line 2: no exercise is called 'a'",
    "exercise;mistake;comment\nprefix_mask;b;c;d\n": "put quotes around a cell with a semicolon",
    # the lines below would else be a part of the comment
    f'{HEADER}prefix_mask,x,"y\nprefix_mask,z,w\n': ", line 2: unexpected end of data: look at",
    f"{HEADER}prefix_mask,x,y\nprefix_mask,x,Größe\n": ", line 3: it is not in UTF-8: save it as",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_a_table_that_cannot_be_used_is_refused_before_anything_is_graded(text, folder):
    path = write(folder, text, "latin-1")
    done = graded(folder)
    assert done.exit_code == 2 and done.output.startswith("comments.csv") and path.exists()
    assert REFUSED[text] in done.output
    assert [one.name for one in (folder / "grades").iterdir()] == ["comments.csv"]
