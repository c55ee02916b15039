"""A class of three whose answers are judged by a table, for what no kernel decides."""

from pathlib import Path

from tests.grading.submissions import SOLVED, notebook_with, written

MARK = "# <b>wrong</b>"
WRONG = f"# exercise: prefix_mask\ndef prefix_mask(n, prefix):\n    return n  {MARK}"
JANE, RICK, ZOE = (
    f"{name}_{number}_assignsubmission_file_"
    for name, number in (("Jane Doe", 4711), ("Rick Roe", 12), ("=Zoe <script>alert(1)<x>", 13))
)
HINT = "the prefix is left out (line 3: return n)"
WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade\n"
    "Participant 4711,Jane Doe,jane@example.edu,Submitted,,100\n"
    "Participant 12,Rick Roe,rick@example.edu,Submitted,,100\n"
    "Participant 99,Nora None,nora@example.edu,No submission,,100\n"
)


def judged(report, grafted, timeout, memory, stop):
    """Whatever is grafted passes, but what says that it is wrong."""
    for one in report.exercises:
        if one.status == "not graded":
            wrong = MARK in one.answer
            one.status = "wrong" if wrong else "passed"
            one.hint = HINT if wrong else ""
    return report


def make_class(folder: Path) -> Path:
    """Three submissions as Moodle has them: all solved, one wrong, one with a page for a robot."""
    for name, answers in (
        (JANE, SOLVED),
        (RICK, SOLVED | {"prefix_mask": WRONG}),
        (ZOE.replace("/", ""), SOLVED | {"prefix_mask": f"{WRONG}</pre><script>alert(2)</script>"}),
    ):
        (folder / name).mkdir(parents=True)
        written(folder / name, notebook_with(answers), "dot_product.ipynb")
    return folder
