"""Points by hand: as an instructor writes them."""

import pytest

from judge.grading.gradebook.overrides import read_overrides
from judge.grading.report.tables import TableError

HEADER = "student,exercise,points,comment\n"
READABLE_TABLES = {
    "a comma": (HEADER + "Jane,prefix_mask,7.5,by hand\n", 7.5),
    "a decimal comma in quotes": (HEADER + 'Jane,prefix_mask,"7,5",by hand\n', 7.5),
    "a semicolon": ("Student;Exercise;Points;Comment\r\nJane;prefix_mask;7,5;by hand\r\n", 7.5),
    "empty cells and lines": (HEADER.strip() + ",,\n,,,,,\n\nJane,prefix_mask, 0 ,by hand,,\n", 0),
    "a tab": (HEADER.replace(",", "\t") + "Jane\tprefix_mask\t12\tby hand\n", 12),
    "no comment": (HEADER + "Jane,prefix_mask,8\n", 8),
}


@pytest.mark.parametrize("form", READABLE_TABLES)
def test_points_by_hand_are_read_as_a_spreadsheet_writes_them(form, tmp_path):
    text, points = READABLE_TABLES[form]
    (tmp_path / "overrides.csv").write_text(text, "utf-8-sig")
    (override,) = read_overrides(tmp_path / "overrides.csv")
    comment = "" if form == "no comment" else "by hand"
    assert (override.student, override.exercise, override.points, override.comment) == (
        "Jane",
        "prefix_mask",
        points,
        comment,
    )


REFUSED_POINTS = {
    "-5": "points must be 0 or more, such as 8 or 8.5, not '-5'",
    "nan": "not 'nan'",
    "inf": "not 'inf'",
    "1e3": "not '1e3'",
    "9" * 400: "points must be 0 or more",
    "": "not ''",
    "many": "not 'many'",
    '"1,000"': "not '1,000'",
    "8,5": "too many columns: put quotes around a cell that has a comma",
}


@pytest.mark.parametrize("points", REFUSED_POINTS)
def test_points_that_are_none_are_refused_with_their_line(points, tmp_path):
    path = tmp_path / "overrides.csv"
    path.write_text(f"{HEADER}rick,prefix_mask,1,fine\njane,prefix_mask,{points},why\n")
    with pytest.raises(TableError, match=r"^overrides\.csv, line 3: .*" + REFUSED_POINTS[points]):
        read_overrides(path)


def test_overrides_with_other_columns_or_none_are_named(tmp_path):
    path = tmp_path / "overrides.csv"
    assert read_overrides(path) == []
    for text in ("", "a,b\n", "student,exercise,points\n", HEADER.strip() + ",more\n"):
        path.write_text(text)
        with pytest.raises(TableError, match=r"overrides\.csv: its columns should be student"):
            read_overrides(path)


UNREADABLE_ROWS = {
    "a quote that is not closed": ('jane,prefix_mask,8,"why\nrick,x,8,\n', "line 2: .*its quotes"),
    "another encoding": ("jane,prefix_mask,8,why\nzoë,prefix_mask,8,\n", "line 3: .*UTF-8"),
}


@pytest.mark.parametrize("case", UNREADABLE_ROWS)
def test_a_table_that_cannot_be_read_is_named_with_its_line(case, tmp_path):
    rows, reason = UNREADABLE_ROWS[case]
    path = tmp_path / "overrides.csv"
    path.write_text(HEADER + rows, "latin-1")
    with pytest.raises(TableError, match=rf"^overrides\.csv, {reason}"):
        read_overrides(path)
