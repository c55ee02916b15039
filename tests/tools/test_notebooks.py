"""A notebook says what its text says, and an exercise notebook is its solution without answers."""

import re
from pathlib import Path

import pytest

from tests.tools.conftest import EXERCISES
from tools.book import Book
from tools.notebooks import chapter_notebook, exercise_notebook
from tools.setup_cell import setup_cell
from tools.stubs import stub_of

HERE = "https://github.com/someone/course"
SITE = "https://someone.github.io/course"
FIRST = f"{SITE}/chapters/first.html"


def converted(course: Path, text: str) -> str:
    """What the second chapter's copy says when this is its text."""
    (course / "chapters/second.md").write_text(f"# Second\n\n{text}")
    copy = chapter_notebook("second", Book(HERE, course)).cells[2:]
    return "\n\n".join(cell.source for cell in copy).removeprefix("# 2. Second\n\n")


def test_a_chapter_s_copy_has_its_cells_numbered_and_its_hidden_code_hidden(course):
    notebook = chapter_notebook("first", Book(HERE, course))
    text = {cell.id: cell.source for cell in notebook.cells}
    badge = "https://colab.research.google.com/github/someone/course/blob/main/chapters/first.ipynb"
    assert badge in text.pop("about") and text.pop("setup") == setup_cell(HERE, course)
    assert text == {
        "the-first-chapter": "# 1. The first `chapter`\n\nA sentence.\n\n$$a \\tag{1.1}$$",
        "a-section": "## 1.1. A section",
        "a-section-2": "draw()",
        "a-section-3": "**Fig. 1.1.** What the cell *draws*.",
        "deeper": "### 1.1.1. Deeper",
        "last": "## 1.2. Last",
    }
    hidden = {"cellView": "form", "jupyter": {"source_hidden": True}}
    assert notebook.cells[4].metadata == {"tags": ["hide-input"], **hidden}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "{eq}`eq-one`, {numref}`fig-cell`, {doc}`/chapters/first`, {doc}`first`",
            f"[(1.1)]({FIRST}#equation-eq-one), [Fig. 1.1]({FIRST}#fig-cell), "
            f"[The first `chapter`]({FIRST}), [The first `chapter`]({FIRST})",
        ),
        (
            "{cite:t}`many` with {term}`keys <key>`{cite:p}`two,\none`",
            "[Vaswani et al. (2017)](https://arxiv.org/abs/1706.0) with keys"
            "([de la Cruz and Müller, 2001](https://doi.org/10.1/x); "
            "[Noether, 1918](https://example.org))",
        ),
        (
            "{eq}`two`\n\n```{math}\n:label: two\na % why\n\\\\ b\n```",
            "(2.1)\n\n$$\\begin{split}a \\\\ b\\end{split} \\tag{2.1}$$",
        ),
        ("$$\\query{Q} \\weight{w_i} \\keys$$", "$${Q} {w_i} \\keys$$"),
        (
            "````{admonition} A $q$\n:class: dropdown\n$$x$$\n```python\nx\n```\n````",
            "<details>\n<summary><b>A $q$</b></summary>\n\n$$x$$\n\n```python\nx\n```\n\n"
            "</details>",
        ),
        ("```{admonition} A $q$\n- $x$\n```", "**A $q$**\n\n- $x$"),
        (
            '```{include} ../package/code.py\n:start-after: "@property"\n:end-before: "(self"\n```',
            "def b",
        ),
        (
            "```{table} Sizes\n:name: tab\n\n| a |\n| --- |\n| {eq}`eq-one` |\n```",
            f"**Table 2.1.** Sizes\n\n| a |\n| --- |\n| [(1.1)]({FIRST}#equation-eq-one) |",
        ),
        (
            "[*a*](first.md#one) [b](https://example.org/a) ![c](../package/code.py)",
            f"[*a*]({FIRST}#one) [b](https://example.org/a) ![c]({HERE}/raw/main/package/code.py)",
        ),
        (
            "{claim}`a *sum* <linear.the_past_is_a_sum>` {claim}`linear.break_even_is_early`",
            f"[a *sum*]({SITE}/reference/claims.html#linear.the_past_is_a_sum) "
            f"[measured]({SITE}/reference/claims.html#linear.break_even_is_early)",
        ),
        ("`{eq}`x` and $a_{i}`b`$ and \\$", "`{eq}`x` and $a_{i}`b`$ and \\$"),
        ("```python\n# no heading\n{eq}`x`\n```", "```python\n# no heading\n{eq}`x`\n```"),
    ],
)
def test_each_thing_of_myst_becomes_plain_markdown(course, text, wanted):
    assert converted(course, text) == wanted


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("Text\n\n```{mermaid}\nx\n```", 5, "'include', 'table'], not mermaid"),
        ("````{admonition} A\n:class: x\n\n{plot}`x`\n````", 6, "'numref', 'term'], not plot"),
        ("- a list\n\n  ```{note}\n  x\n  ```", 5, "a notebook cannot show ```{note}"),
        ("{eq}`nowhere`", 3, "no page has the label nowhere"),
        ("{cite:p}`one, nobody`", 3, "references.bib lacks nobody"),
        ("{claim}`linear.nothing`", 3, "no claim is called linear.nothing"),
        ("{doc}`nowhere`", 3, "_toc.yml lacks chapters/nowhere"),
        ("[a](nowhere.md)", 3, "No such file or directory"),
        ("a[^note]", 3, "a notebook cannot show [^"),
        ("a\n\n(label)=\n## B", 5, "a notebook cannot show (label)="),
        ("```{literalinclude} ../package/code.py\n:pyobject: C\n```", 3, "code.py lacks C"),
        ("```{include} ../package/code.py\n:start-after: none\n```", 3, "code.py lacks none"),
    ],
)
def test_what_cannot_be_converted_is_refused_with_file_and_line(course, text, line, words):
    with pytest.raises(ValueError) as error:
        converted(course, text)
    assert f"chapters/second.md:{line}: " in str(error.value) and words in str(error.value)


def test_a_function_of_the_package_is_a_cell_that_stands_alone(course):
    include = "```{{literalinclude}} ../package/sums.py\n:pyobject: {}\n:class: dropdown\n```"
    text = "\n".join([include.format("outer"), "A", *map(include.format, ("inner", "outer"))])
    (course / "chapters/second.md").write_text(f"# Second\n\n{text}")
    cells = chapter_notebook("second", Book(HERE, course)).cells[3:]
    assert [cell.cell_type for cell in cells] == ["code", "markdown", "code", "code"]
    assert cells[0].metadata["jupyter"] == {"source_hidden": True}
    first, _, inner, last = (cell.source.partition("\n")[2] for cell in cells)
    code = "\n\n\ndef outer():\n    return inner(math.pi, LIMIT)"
    assert first == f"import math\nfrom package.sums import LIMIT, inner{code}"
    assert inner.startswith("from torch import Tensor\nfrom package.sums import LIMIT\n\n\n@LIMIT")
    # what the notebook has by now is the reader's
    assert last == f"import math\nfrom package.sums import LIMIT{code}"


def test_an_exercise_notebook_holds_card_answer_and_check(course):
    book = Book(HERE, course)
    empty = exercise_notebook("first", book)
    cells = {cell.id: cell for cell in empty.cells}
    assert [name for name in cells if name.partition("-")[0] in ("card", "answer", "check")] == [
        f"{part}-{name}" for name in EXERCISES for part in ("card", "answer", "check")
    ]
    assert cells["card-twice"].source == (
        "*Build* · ★★☆ medium · about 5 minutes · 1 point. "
        'Stuck? Run `from attncourse import hint; hint("twice", 1)`; 2 and 3 say more.'
    )
    assert "x - 1" in cells["answer-fixed"].source
    solved = exercise_notebook("first", book, solved=True)
    for a, b in zip(empty.cells, solved.cells, strict=True):
        assert (a == b) == (not a.id.startswith("answer-"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("# exercise: twice", "# exercise: thrice"), "answers to ['thrice', 'fixed']"),
        (("[stub]", "[answer]"), "answers to ['twice', 'fixed', 'fixed']"),
        (("[stub]\n# exercise: f", "[stub]\n# exercise: unf"), "stubs of ['unfixed']"),
        (("def twice", "def thrice"), "0 functions or classes of that name"),
    ],
)
def test_a_slip_in_the_solutions_is_named(course, change, words):
    path = course / "solutions/first.md"
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(ValueError, match=re.escape(words)):
        exercise_notebook("first", Book(HERE, course))


@pytest.mark.parametrize(
    ("source", "stub"),
    [
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
        "# exercise: F\nclass F(nn.Module):\n"
        '    """Maps."""\n\n    width = 3\n\n'
        "    def __init__(self, d):\n        super().__init__()\n\n"
        '    # a reason\n    def forward(self, x):\n        """Map x."""\n        return x\n'
    )
    assert made == (
        "# exercise: F\nclass F(nn.Module):\n"
        '    """Maps."""\n\n'
        '    def __init__(self, d):\n        raise NotImplementedError("write __init__ here")\n\n'
        '    def forward(self, x):\n        """Map x."""\n'
        '        raise NotImplementedError("write forward here")'
    )
