"""An exercise notebook is its solution without the answers."""

import re
import subprocess
import sys

import nbformat
import pytest

import attncourse
from tools.book import Book
from tools.notebooks import exercise_notebook
from tools.stubs import stub_of

HERE = "https://github.com/someone/course"


def test_an_exercise_notebook_holds_card_answer_and_check(course, exercises):
    notebook = exercise_notebook("first", Book(HERE, course), exercises)
    cells = {cell.id: cell for cell in notebook.cells}
    assert [name for name in cells if name.partition("-")[0] in ("card", "answer", "check")] == [
        f"{part}-{name}" for name in exercises for part in ("card", "answer", "check")
    ]
    assert cells["card-twice"].source == (
        "*Build* · ★★☆ medium · about 5 minutes · 1 point. "
        'Stuck? Run `from attncourse import hint; hint("twice", 1)`; 2 and 3 say more.'
    )
    answer, check = cells["answer-twice"], cells["check-twice"]
    assert answer.metadata["tags"] == ["answer", "nbval-ignore-output"]
    assert answer.metadata["attncourse"] == {"exercise": "twice", "points": 1}
    assert answer.source.startswith("# exercise: twice\nimport math\n\n\ndef twice")
    assert check.source == 'from attncourse import check\n\ncheck("twice", twice)'
    assert check.metadata["tags"] == ["check", "nbval-ignore-output"]
    assert check.outputs == [] and check.execution_count is None
    assert notebook.cells[-1].source == "from attncourse import status\n\nstatus()"


def test_a_given_stub_is_where_the_learner_starts(course, exercises):
    book = Book(HERE, course)
    for solved, body in [(False, "return x - 1"), (True, "return x + 1")]:
        notebook = exercise_notebook("first", book, exercises, solved)
        (cell,) = [cell for cell in notebook.cells if cell.id == "answer-mended"]
        assert body in cell.source


def test_only_the_answers_tell_the_solved_notebook_from_the_empty_one(course, exercises):
    book = Book(HERE, course)
    empty, solved = (exercise_notebook("first", book, exercises, one) for one in (False, True))
    for a, b in zip(empty.cells, solved.cells, strict=True):
        assert (a == b) == (not a.id.startswith("answer-"))


CHECKER = f"""
__version__ = "{attncourse.__version__}"


def check(name, answer):
    if answer(4) not in (8, 5):
        raise AssertionError(name)


def status():
    pass
"""


def test_nbval_fails_every_empty_answer_and_passes_every_worked_one(course, exercises):
    # the notebook's folder is on the kernel's path: this checker stands before the course's own
    (course / "attncourse.py").write_text(CHECKER)
    book = Book(HERE, course)
    for name, solved in [("empty", False), ("solved", True)]:
        nbformat.write(
            exercise_notebook("first", book, exercises, solved), course / f"{name}.ipynb"
        )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval-lax",
        "-rA",
        "--noconftest",
        "-c",
        "none.ini",
    ]
    (course / "none.ini").touch()
    report = subprocess.run(
        [*command, "empty.ipynb", "solved.ipynb"], cwd=course, capture_output=True, text=True
    ).stdout
    code = [
        cell.id for cell in exercise_notebook("first", book, exercises).cells if "outputs" in cell
    ]
    outcomes = re.findall(r"^(PASSED|FAILED) (\w+)\.ipynb::Cell (\d+)", report, re.MULTILINE)
    assert len(outcomes) == 2 * len(code), report
    failed = {(name, code[int(number)]) for how, name, number in outcomes if how == "FAILED"}
    assert failed == {("empty", "check-twice"), ("empty", "check-mended")}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("# exercise: twice\n", ""), "solutions/first.md:14: the cell's first line is not"),
        (
            ("# exercise: twice", "# exercise: thrice"),
            "exercise thrice is not one of twice, mended",
        ),
        (("[answer]\n# exercise: twice", "[]\n# exercise: twice"), "no answer cell for twice"),
        (("[stub]", "[answer]"), "answered twice: mended"),
        (("def twice", "def thrice"), "0 functions or classes of that name"),
    ],
)
def test_a_slip_in_the_solutions_is_named(course, exercises, change, words):
    path = course / "solutions/first.md"
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(ValueError, match=re.escape(words)):
        exercise_notebook("first", Book(HERE, course), exercises)


@pytest.mark.parametrize(
    ("source", "stub"),
    [
        ("def f(x):\n    return x", "def f(x):"),
        ("def f(x): return 'é'", "def f(x):"),
        ("def f(\n    x,  # é\n):\n\n    # a hint\n    return x", "def f(\n    x,  # é\n):"),
        (
            'def f(x):\n    """Do.\n\n    It.\n    """\n    return x',
            'def f(x):\n    """Do.\n\n    It.\n    """',
        ),
        ("def g():\n    pass\n\n\n@wraps(g)\ndef f(x):\n    return x", "@wraps(g)\ndef f(x):"),
        ("import a\nK = 2\n\n\ndef f(x):\n    return K", "import a\n\n\ndef f(x):"),
    ],
)
def test_a_stub_keeps_what_says_what_to_write(source, stub):
    made = stub_of(f"# exercise: f\n{source}\n")
    assert made == f'# exercise: f\n{stub}\n    raise NotImplementedError("write f here")'
    compile(made, "stub", "exec")


def test_a_stub_of_a_class_keeps_its_methods_and_leaves_their_bodies():
    made = stub_of(
        "# exercise: F\nfrom torch import nn\n\n\nclass F(nn.Module):\n"
        '    """Maps."""\n\n    width = 3\n\n'
        "    def __init__(self, d):\n        super().__init__()\n\n"
        "    # a reason\n    def forward(\n        self,\n        x,  # (n, d)\n    ):\n"
        '        """Map x."""\n        return x\n'
    )
    assert made == (
        "# exercise: F\nfrom torch import nn\n\n\nclass F(nn.Module):\n"
        '    """Maps."""\n\n'
        '    def __init__(self, d):\n        raise NotImplementedError("write __init__ here")\n\n'
        "    def forward(\n        self,\n        x,  # (n, d)\n    ):\n"
        '        """Map x."""\n        raise NotImplementedError("write forward here")'
    )
