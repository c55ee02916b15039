"""Forms in which honest notebooks hold what an answer needs: all are ok in the notebook.

Each is a change of the notebook with one right answer, `bilinear_weights`, which takes its softmax
from elsewhere. `PARSED` are those that are also graded where no cell but the answers may be run.
"""

from collections.abc import Callable
from copy import deepcopy

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from judge.grading.notebook.pristine import chapters
from tests.grading.submissions import SLUG, SOLVED, make_notebook

NAME = "bilinear_weights"
IMPORT = "import torch.nn.functional as F"
SIGNATURE = "q, k, w, mask=None"
# a query that may attend nowhere has no weights
BODY = """
    s = q @ w @ k.mT
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf)
    return {softmax}.nan_to_num(0.0)
"""
ANSWER = f"# exercise: {NAME}\ndef {NAME}({SIGNATURE}):{BODY}"
STUB = chapters()[SLUG].stubs[NAME]
BY_F = ANSWER.format(softmax="F.softmax(s, dim=-1)")
BY_METHOD = ANSWER.format(softmax="s.soft()")
BY_HELPER = ANSWER.format(softmax="soft(s)")
HELPER = "def soft(s):\n    return torch.softmax(s, dim=-1)"
WRONG_HELPER = "def soft(s):\n    return torch.softmax(s, dim=0)"


def with_cells(*cells: str, answer: str = BY_F, at_end: tuple[str, ...] = ()) -> NotebookNode:
    """The notebook with this answer, cells below the given import, and cells at its end."""
    notebook = make_notebook({NAME: answer})
    index = 1 + next(i for i, cell in enumerate(notebook.cells) if cell.source.startswith("import"))
    notebook.cells[index:index] = map(new_code_cell, cells)
    notebook.cells += map(new_code_cell, at_end)
    return notebook


def cell_index(notebook: NotebookNode, id: str) -> int:
    return next(index for index, cell in enumerate(notebook.cells) if cell.id == id)


def with_source(notebook: NotebookNode, id: str, source: str) -> NotebookNode:
    notebook.cells[cell_index(notebook, id)].source = source
    return notebook


def with_moved_cell(notebook: NotebookNode, id: str, to: int) -> NotebookNode:
    notebook.cells.insert(to, notebook.cells.pop(cell_index(notebook, id)))
    return notebook


def split_answer() -> NotebookNode:
    """As JupyterLab splits a cell: both halves have its metadata."""
    notebook = with_cells(answer=f"# exercise: {NAME}\n{IMPORT}\n{HELPER}")
    second_half = deepcopy(notebook.cells[index := cell_index(notebook, f"answer-{NAME}")])
    second_half.id, second_half.source = "half", BY_HELPER.partition("\n")[2]
    notebook.cells.insert(index + 1, second_half)
    return notebook


def extend_import_cell(text: str) -> NotebookNode:
    """The notebook with a text added to the given import cell."""
    notebook = with_cells()
    index = next(i for i, cell in enumerate(notebook.cells) if cell.source.startswith("import"))
    notebook.cells[index].source += f"\n{text}"
    return notebook


def define_helper_twice() -> NotebookNode:
    """Two definitions of one helper, each of them for the answer below it."""
    notebook = with_cells(HELPER, answer=BY_HELPER)
    notebook.cells.insert(cell_index(notebook, f"check-{NAME}") + 1, new_code_cell(WRONG_HELPER))
    return notebook


def helper_in_another_answer() -> NotebookNode:
    notebook = with_cells(answer=BY_HELPER)
    return with_source(notebook, "answer-effective_keys", f"{SOLVED['effective_keys']}\n{HELPER}")


FORMS: dict[str, Callable[[], NotebookNode]] = {
    # public.md, first section
    "!pip under if": lambda: extend_import_cell(f"if False:\n    !pip install einops\n{IMPORT}"),
    "!echo under if": lambda: extend_import_cell(f"{IMPORT}\nif False:\n    !echo hello"),
    "%pip under try": lambda: with_cells(
        f"try:\n    %pip install -q einops\nexcept Exception:\n    pass\n{IMPORT}"
    ),
    "a shell command under with": lambda: with_cells(
        f"import contextlib\nwith contextlib.suppress(Exception):\n    !ls\n{IMPORT}"
    ),
    "what a command prints": lambda: with_cells(f"files = !ls\n{IMPORT}"),
    "what a magic returns": lambda: with_cells(f"here = %pwd\n{IMPORT}"),
    "a question behind a name": lambda: with_cells(f"{IMPORT}\nF.softmax?"),
    "a question before a name": lambda: with_cells(f"{IMPORT}\n?F"),
    "two questions": lambda: with_cells(f"{IMPORT}\nF.softmax??"),
    "an import under try": lambda: with_cells(
        f"try:\n    {IMPORT}\nexcept ImportError:\n    raise"
    ),
    "an import under if": lambda: with_cells(f"if True:\n    {IMPORT}"),
    "an import under with": lambda: with_cells(
        f"import warnings\nwith warnings.catch_warnings():\n    {IMPORT}"
    ),
    "an import in a loop": lambda: with_cells(f"for _ in range(1):\n    {IMPORT}"),
    "the second choice of an import": lambda: with_cells(
        f"try:\n    import no_such_package as F\nexcept ImportError:\n    {IMPORT}"
    ),
    "a star import": lambda: with_cells(
        "from torch.nn.functional import *", answer=ANSWER.format(softmax="softmax(s, dim=-1)")
    ),
    "a method set on a class": lambda: with_cells(
        f"{HELPER}\ntorch.Tensor.soft = soft", answer=BY_METHOD
    ),
    "a method set by setattr": lambda: with_cells(
        f"{HELPER}\nsetattr(torch.Tensor, 'soft', soft)", answer=BY_METHOD
    ),
    "a split answer cell": split_answer,
    "a module that is written": lambda: with_cells(
        f"%%writefile mine.py\nimport torch\n{HELPER}", "from mine import soft", answer=BY_HELPER
    ),
    "a module of stars that is written": lambda: with_cells(
        f"%%writefile mine.py\nimport torch\n{HELPER}", "from mine import *", answer=BY_HELPER
    ),
    "a file that is written and run": lambda: with_cells(
        f"%%writefile mine.py\nimport torch\n{HELPER}", "%run mine.py", answer=BY_HELPER
    ),
    "a package that the notebook installs": lambda: with_cells(
        "!pip install einops", "from einops import rearrange", IMPORT,
        answer=BY_F.replace("F.softmax(s, dim=-1)", "rearrange(F.softmax(s, -1), '... -> ...')"),
    ),
    "the earlier of two definitions": define_helper_twice,
    "%%time above an answer": lambda: with_cells(IMPORT, answer=f"%%time\n{BY_F}"),
    # of the same kind
    "an import in a function that is called": lambda: with_cells(
        f"def setup():\n    global F\n    {IMPORT}\n\nsetup()"
    ),
    "a loop that makes helpers": lambda: with_cells(
        "soft = None\nfor f in [torch.softmax]:\n    soft = lambda s, f=f: f(s, dim=-1)",
        answer=BY_HELPER,
    ),
    "a helper under if": lambda: with_cells(
        f"if torch.__version__ > '1':\n    {HELPER.replace(chr(10), chr(10) + '    ')}",
        answer=BY_HELPER,
    ),
    "a helper under try": lambda: with_cells(
        f"try:\n    soft\nexcept NameError:\n    {HELPER.replace(chr(10), chr(10) + '    ')}",
        answer=BY_HELPER,
    ),
    "a helper from exec": lambda: with_cells(f"exec('''{HELPER}''')", answer=BY_HELPER),
    "a helper put among the globals": lambda: with_cells(
        "globals()['soft'] = lambda s: torch.softmax(s, dim=-1)", answer=BY_HELPER
    ),
    "a helper from a text with percent signs": lambda: with_cells(
        f"note = '''\n%s of it\n!not run\n'''\n{HELPER}", answer=BY_HELPER
    ),
    "a helper that a walrus names": lambda: with_cells(
        "print(soft := lambda s: torch.softmax(s, dim=-1))", answer=BY_HELPER
    ),
    "a helper from with as": lambda: with_cells(
        "import contextlib\nwith contextlib.nullcontext(torch.softmax) as f:\n"
        "    soft = lambda s: f(s, dim=-1)",
        answer=BY_HELPER,
    ),
    "a table that is filled in place": lambda: with_cells(
        "known = {}", "known['soft'] = lambda s: torch.softmax(s, dim=-1)",
        answer=ANSWER.format(softmax="known['soft'](s)"),
    ),
    "a table that is updated": lambda: with_cells(
        "known = {}\nknown.update(soft=lambda s: torch.softmax(s, dim=-1))",
        answer=ANSWER.format(softmax="known['soft'](s)"),
    ),
    "a number that is counted up": lambda: with_cells(
        "axis = -3\naxis += 1", "axis += 1", IMPORT,
        answer=ANSWER.format(softmax="F.softmax(s, dim=axis)"),
    ),
    "a helper that is decorated below": lambda: with_cells(
        HELPER, "soft = torch.no_grad()(soft) if False else soft", answer=BY_HELPER
    ),
    "a helper of another answer's cell": helper_in_another_answer,
    "a helper in the check cell": lambda: with_source(
        with_cells(answer=BY_HELPER), f"check-{NAME}",
        f"{HELPER}\nfrom attncourse import check\ncheck('{NAME}', {NAME})",
    ),
    "a helper at the end of the notebook": lambda: with_cells(answer=BY_HELPER, at_end=(HELPER,)),
    "an answer under another name": lambda: with_source(
        with_cells(IMPORT, answer=BY_F.replace(f"def {NAME}", "def mine")),
        f"check-{NAME}", f"from attncourse import check\ncheck('{NAME}', mine)",
    ),
    "an answer as a lambda in the check": lambda: with_source(
        with_cells(answer=BY_HELPER.replace(f"def {NAME}", "def mine")), f"check-{NAME}",
        f"{HELPER}\nfrom attncourse import check\n"
        f"check('{NAME}', lambda {SIGNATURE}: mine(q, k, w, mask))",
    ),
    "an answer in a cell of its own, the stub left": lambda: with_source(
        with_cells(IMPORT, BY_F.replace(f"def {NAME}", "def mine").partition("\n")[2], answer=STUB),
        f"check-{NAME}", f"from attncourse import check\ncheck('{NAME}', mine)",
    ),
    "an answer as a partial": lambda: with_cells(
        HELPER,
        answer=f"# exercise: {NAME}\nfrom functools import partial\n"
        + BY_HELPER.partition("\n")[2].replace(f"def {NAME}(q", "def general(soft, q")
        + f"\n{NAME} = partial(general, soft)",
    ),
    "an import of what is hidden, for comparison": lambda: with_cells(
        f"from attncourse.dot_product import attention, attention_weights\n{IMPORT}"
    ),
    "a comparison with torch's own": lambda: with_cells(
        f"{IMPORT}\nwant = F.scaled_dot_product_attention(*[torch.ones(2, 2)] * 3)"
    ),
    "failed and hint before an import": lambda: with_cells(
        "from attncourse import check, failed, hint, status\nprint(failed().args[0])\n"
        f"hint('{NAME}')\n{IMPORT}"
    ),
    "a cell that raises after an import": lambda: with_cells(f"{IMPORT}\n1 / 0"),
    "a cell that exits": lambda: with_cells("exit()", IMPORT),
    "a cell that ends Python": lambda: with_cells("import sys\nsys.exit(1)", IMPORT),
    "a cell without end": lambda: with_cells("while True: pass", IMPORT),
    "a question to the user": lambda: with_cells(
        "try:\n    name = input('name? ')\nexcept Exception:\n    name = ''", IMPORT
    ),
    "a captured cell": lambda: with_cells(f"%%capture out\n{IMPORT}"),
    "a timed import": lambda: with_cells(f"%time {IMPORT}"),
    "a script of bash": lambda: with_cells("%%bash\npip install x\nls", IMPORT),
    "a repository that is cloned": lambda: with_cells(
        "!git clone https://example.org/a/b && cd b", "%cd b", IMPORT
    ),
    "Colab's drive under if": lambda: with_cells(
        "import sys\nIN_COLAB = 'google.colab' in sys.modules\nif IN_COLAB:\n"
        f"    from google.colab import drive\n    drive.mount('/content/drive')\n{IMPORT}"
    ),
    "packages that a program installs": lambda: with_cells(
        "import subprocess, sys\n"
        "subprocess.check_call([sys.executable, '-m', 'pip', 'install', '-q', 'einops'])\n" + IMPORT
    ),
    "an autoreload": lambda: with_cells(f"%load_ext autoreload\n%autoreload 2\n{IMPORT}"),
    "a plot": lambda: with_cells(
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()", IMPORT
    ),
    "an await": lambda: with_cells(f"import asyncio\nawait asyncio.sleep(0)\n{IMPORT}"),
    "no-break spaces in a helper's cell": lambda: with_cells(
        HELPER.replace("    ", "\u00a0   "), answer=BY_HELPER
    ),
    "a check above and one below": lambda: with_cells(
        IMPORT, at_end=(f"from attncourse import check\ncheck('{NAME}', {NAME})",)
    ),
    "a sketch below the check": lambda: with_cells(
        IMPORT, at_end=(f"def {NAME}({SIGNATURE}):\n    return 'a sketch'",)
    ),
    "the answer above the import cell": lambda: with_moved_cell(
        with_cells(IMPORT), f"answer-{NAME}", 1
    ),
    "a heading as a text cell between": lambda: (
        (notebook := with_cells(IMPORT)).cells.insert(3, new_markdown_cell("# mine")) or notebook
    ),
}  # fmt: skip

# the forms of public reports, tested at every push
PUBLIC_FORMS = tuple(FORMS)[: 1 + list(FORMS).index("%%time above an answer")]
# the forms in which the text alone tells what the answer needs
PARSED_FORMS = [
    "!pip under if", "!echo under if", "%pip under try", "a shell command under with",
    "what a command prints", "what a magic returns", "a question behind a name",
    "a question before a name", "two questions", "an import under try", "an import under if",
    "an import under with", "an import in a loop", "the second choice of an import",
    "a star import", "a method set on a class", "a split answer cell", "%%time above an answer",
    "a helper at the end of the notebook", "a helper in the check cell", "a captured cell",
    "a comparison with torch's own", "a cell that raises after an import",
    "no-break spaces in a helper's cell", "a check above and one below",
]  # fmt: skip
