"""Classes of three and of sixty, and a judge for tests that need no kernel."""

import csv
import zipfile
from pathlib import Path

import nbformat

from tests.grading.submissions import SOLVED, make_notebook, write_notebook

MARK = "# <b>wrong</b>"
WRONG = f"# exercise: prefix_mask\ndef prefix_mask(n, prefix):\n    return n  {MARK}"
JANE, RICK, ZOE = (
    f"{name}_{number}_assignsubmission_file_"
    for name, number in (("Jane Doe", 4711), ("Rick Roe", 12), ("=Zoe <script>alert(1)<x>", 13))
)
HINT = "the prefix is left out (line 3: “return n”)"
WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade\n"
    "Participant 4711,Jane Doe,jane@example.edu,Submitted,,100\n"
    "Participant 12,Rick Roe,rick@example.edu,Submitted,,100\n"
    "Participant 99,Nora None,nora@example.edu,No submission,,100\n"
)


def judge_by_mark(report, grafted, timeout, memory, stop):
    """Replaces `judge.grading.grade.judged`: each answer passes, unless it contains MARK."""
    for result in report.exercises:
        if result.status == "not graded":
            wrong = MARK in result.answer
            result.status = "wrong" if wrong else "passed"
            result.hint = HINT if wrong else ""
    return report


def make_class(folder: Path) -> Path:
    """Three submissions as Moodle has them: all solved, one wrong, one with a page for a robot."""
    for name, answers in (
        (JANE, SOLVED),
        (RICK, SOLVED | {"prefix_mask": WRONG}),
        (ZOE.replace("/", ""), SOLVED | {"prefix_mask": f"{WRONG}</pre><script>alert(2)</script>"}),
    ):
        (folder / name).mkdir(parents=True)
        write_notebook(folder / name, make_notebook(answers), "dot_product.ipynb")
    return folder


# how the students of the class of sixty have handed in, by the last figure of their numbers
LAYOUTS = (
    "doe{who}_{id}_99{id}_dot_product.ipynb",
    "doe{who}_LATE_{id}_99{id}_linear_2026_11_23.ipynb",
    "Jané {who}_{id}_assignsubmission_file_/linear_2026_11_23.ipynb",
    "Jané {who}_{id}_assignsubmission_file_linear_23_11_2026.ipynb",
    "dot_product-submissions/dot_product-{who}/deep/within/dot_product.ipynb",
    "submitted/{who}/dot_product/dot_product.ipynb",
    "{who}/linear_2026_11_23.ipynb",
    "{who}.zip",
    "{who}.ipynb",
    "x;=1+1 \x1b[31m\u202e{who}/ =1+1;=2.ipynb",
)
OVERRIDES = (
    "student;exercise;points;comment\ns36;prefix_mask;2,5;a broken file\n"
    "1048;prefix_mask;7;was ill\n=doe S07;prefix_mask;99;a prize\n"
)


def make_sixty(folder: Path) -> dict[str, str]:
    """Sixty students in all layouts, beside a roster and overrides; the points of each."""
    solved, wrong, untouched = (
        nbformat.writes(make_notebook(answers)).encode()
        for answers in (SOLVED, SOLVED | {"prefix_mask": WRONG}, {})
    )
    points, roster = {}, [("id", "login", "name")]
    for n in range(60):
        login, number = f"s{n:02}", 1000 + n
        layout_path = LAYOUTS[n % 10].format(who=login, id=number)
        roster.append(
            (number, Path(layout_path).parts[0] if n % 10 == 9 else login, f"=Doe {login}")
        )
        path = folder / "class" / layout_path
        path.parent.mkdir(parents=True, exist_ok=True)
        data, points[str(number)] = ((solved, "115"), (wrong, "105"), (untouched, "0"))[n % 3]
        if path.suffix == ".ipynb":
            path.write_bytes(data)
        else:
            write_zip(path, {"work/linear_2026_11_23.ipynb": data})
    class_folder = folder / "class"
    # two students put the paths of another into a zip of theirs
    stolen_paths = [
        layout_path.format(who="s06", id=1006)
        for layout_path in LAYOUTS
        if "zip" not in layout_path
    ]
    for name in ("s17.zip", "does20_1020_991020_work.zip"):
        write_zip(
            class_folder / name, {"own.ipynb": solved} | dict.fromkeys(stolen_paths, untouched)
        )
    # a second file in another layout, a broken one, another kind of file, and nothing
    (class_folder / "s25.ipynb").write_bytes(solved)
    (class_folder / "s36/linear_2026_11_23.ipynb").write_text("{")
    for name in ("s28.ipynb", "s48.ipynb"):
        (class_folder / name).unlink()
    (class_folder / "s28.pdf").write_text("a scan")
    (folder / "out").mkdir()
    (folder / "out/overrides.csv").write_text(OVERRIDES)
    with (folder / "roster.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(roster)
    return points | {
        "1017": "115", "1020": "115", "1025": "115", "1028": "", "1036": "2.5", "1048": "7",
        "1007": "204",
    }  # fmt: skip


def write_zip(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
