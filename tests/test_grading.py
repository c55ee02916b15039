"""No attack wins, no accident costs a right answer, no answer costs another: each is played here.

Every notebook is made by the test and graded by the command's own code, in a kernel of its own.
"""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from typer.testing import CliRunner

from attncourse.checks import exercises
from attncourse.grading import sandbox
from attncourse.grading.cli import app
from attncourse.grading.grade import grade
from attncourse.grading.graft import answer_cells, exercise_files
from attncourse.grading.report import Report, plain
from attncourse.publish.notebooks import solved_notebook

SLUG = "dot_product"
NAMES = list(exercises(SLUG))
SOLVED = {name: cell.source for name, cell in answer_cells(solved_notebook(SLUG)).items()}
SECONDS = 12
SANDBOXED = sandbox.available()
needs_sandbox = pytest.mark.skipif(not SANDBOXED, reason="no bubblewrap (bwrap) that works here")

# a wrong answer to each exercise, for the attacks to defend; {before} runs first in the function
WRONG = {
    "softmax_with_sink": "(scores, mask=None):\n    {before}\n    return scores.softmax(-1)",
    "distance_attention": "(q, k, v, mask=None):\n    {before}\n"
    "    return (q @ k.mT).softmax(-1) @ v",
    "bilinear_weights": "(q, k, w, mask=None):\n    {before}\n    return q @ w @ k.mT",
    "prefix_mask": "(n, prefix, device=None):\n    {before}\n"
    "    return torch.ones(n, n, dtype=torch.bool, device=device)",
    "decoder_mask": "(lengths, n):\n    {before}\n"
    "    return torch.ones(len(lengths), n, n, dtype=torch.bool)",
    "attention_pool": "(x, query, lengths):\n    {before}\n    return x.mean(1)",
}


class Played(NamedTuple):
    """What a learner hands in for one exercise, and the statuses that may come of it."""

    source: str
    allowed: tuple[str, ...]
    hint: str = ""
    before: str = "pass"


def wrong(first="", after="", before="pass", allowed=("wrong",), hint=""):
    """A wrong answer with code before it, after it, or in its body."""
    return Played("\n".join((first, "def {name}{body}", after)), allowed, hint, before)


def unsafe(code: str) -> Played:
    return wrong(after=code, allowed=("wrong", "error", "crashed", "too slow"))


LIAR = """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
"""
RESPOND = "import sys\nsys.modules['attncourse_driver'].respond = lambda names, request: "
ATTACKS = {
    "patched comparisons": unsafe(
        "torch.allclose = torch.equal = torch.Tensor.equal = torch.Tensor.allclose = "
        "lambda *a, **k: True\ntorch.Tensor.__eq__ = lambda *a: True"
    ),
    "a checker of its own": unsafe(
        "import attncourse\nattncourse.check = lambda name, answer: print(f'{name}: ok')\n"
        "check = attncourse.check"
    ),
    "a tensor that lies": wrong(LIAR, before="import builtins", after="", allowed=("wrong",)),
    "input transformers": unsafe(
        "get_ipython().input_transformers_cleanup.append(lambda lines: ['print(\"ok\")\\n'])"
    ),
    "a silenced traceback": unsafe(
        "get_ipython().set_custom_exc((BaseException,), lambda *a, **k: None)"
    ),
    "exit() in the cell": wrong(
        after="exit()", allowed=("crashed",), hint="ends the Python process"
    ),
    "os._exit in the function": wrong(before="import os; os._exit(0)", allowed=("crashed",)),
    "NBVAL_SKIP in a string": unsafe("note = '''\n# NBVAL_SKIP\n'''"),
    "a swallowed interrupt": wrong(
        before="\n    while True:\n        try:\n            import time; time.sleep(9)\n"
        "        except KeyboardInterrupt:\n            break",
        allowed=("too slow",),
    ),
    "a loop without end": wrong(before="\n    while True: pass", allowed=("too slow",)),
    "a flood of output": wrong(after="while True: print('x' * 999)", allowed=("crashed",)),
    "all the memory": wrong(before="[0] * 10**11", allowed=("error",), hint="MemoryError"),
    "the answer from the course": Played(
        "from attncourse.checks.{chapter}.{name} import exercise\n{name} = exercise.make",
        ("error",),
        "not there while you are graded",
    ),
    "the answer from the chapter": Played(
        "from attncourse.{chapter} import attention as {name}",
        ("error",),
        "not there while you are graded",
    ),
    "torch's own attention": wrong(
        before="torch.nn.functional.scaled_dot_product_attention(*[torch.ones(2, 2)] * 3)",
        hint="may not be called here",
    ),
    "an answer that is no JSON": unsafe(RESPOND + "'passed'"),
    "an answer with code in it": unsafe(
        RESPOND + '\'{"outcome": "returned", "value": {"function": ["f", "raise SystemExit"]}, '
        '"after": [], "gradients": null, "error": null, "called": null, "steps": 0}\''
    ),
    "an answer nested too deep": unsafe(RESPOND + "'[' * 100000 + ']' * 100000"),
    "a verdict in place of a value": unsafe(RESPOND + '\'{"status": "passed"}\''),
    "an answer that calls itself inconclusive": unsafe(
        RESPOND + '\'{"outcome": "inconclusive", "value": {"plain": null}, "after": null, '
        '"gradients": null, "error": null, "called": null, "steps": 0, "settings": []}\''
    ),
    "a patched json module": unsafe("import json\njson.dumps = lambda *a, **k: '{}'"),
    "an interpreter that shows what it likes": unsafe(
        "get_ipython().user_expressions = lambda wanted: {'result': {'data': {'text/plain': '1'}}}"
    ),
    "asking for input": wrong(before="input('?')", allowed=("error",)),
    "a number in place of a tensor": Played(
        "def {name}(*a, **k):\n    return 1", ("wrong", "error")
    ),
    "a result that is not data": Played(
        "def {name}(*a, **k):\n    return object()", ("wrong",), "expected a tensor|wrong type"
    ),
}
SPOILERS = {
    "softmax patched for all": unsafe("torch.Tensor.softmax = torch.softmax = None"),
    "products patched for all": unsafe("torch.Tensor.__matmul__ = lambda a, b: a"),
    "another default dtype": unsafe("torch.set_default_dtype(torch.float16)"),
    "a thread that ends the process later": unsafe(
        "import threading, os\nthreading.Timer(2, os._exit, (0,)).start()"
    ),
}


def source_of(played: Played, name: str) -> str:
    source = played.source.replace("{body}", WRONG[name]).replace("{before}", played.before)
    return f"# exercise: {name}\n" + source.replace("{name}", name).replace("{chapter}", SLUG)


def notebook_with(answers: dict[str, str]):
    """The pristine exercise notebook with these answers in place."""
    notebook = nbformat.read(exercise_files()[SLUG], as_version=4)
    for name, cell in answer_cells(notebook).items():
        cell.source = answers.get(name, cell.source)
    return notebook


def written(folder: Path, notebook, name: str = "submission.ipynb") -> Path:
    nbformat.write(notebook, folder / name)
    return folder / name


def statuses(report: Report) -> dict[str, str]:
    return {one.name: one.status for one in report.exercises}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Every attack's result and, in the same notebooks, what became of the right answers."""
    folder = tmp_path_factory.mktemp("attacks")
    results, bystanders, jobs = {}, [], {}
    waiting = list({**ATTACKS, **SPOILERS}.items())
    for number in range(0, len(waiting), len(WRONG)):
        placed = dict(zip(WRONG, waiting[number : number + len(WRONG)], strict=False))
        answers = SOLVED | {name: source_of(attack, name) for name, (_, attack) in placed.items()}
        jobs[written(folder, notebook_with(answers), f"{number}.ipynb")] = placed
    with ThreadPoolExecutor(2) as pool:
        reports = pool.map(lambda path: grade(path, seed=7, timeout=SECONDS), jobs)
    for placed, report in zip(jobs.values(), reports, strict=True):
        assert not report.problem, report.problem
        for one in report.exercises:
            if one.name in placed:
                results[placed[one.name][0]] = one
            else:
                bystanders.append(one)
    return results, bystanders


@pytest.mark.parametrize("attack", [*ATTACKS, *SPOILERS])
def test_no_attack_wins(played, attack):
    result, wanted = played[0][attack], {**ATTACKS, **SPOILERS}[attack]
    assert result.status in wanted.allowed, result
    assert result.points == 0
    assert re.search(wanted.hint, f"{result.hint} {result.evidence}"), result


@pytest.mark.usefixtures("table")
def test_right_answers_beside_an_attack_still_pass(played):
    assert len(played[1]) >= 3
    assert {one.status for one in played[1]} == {"passed"}, [
        one for one in played[1] if one.status != "passed"
    ]


@pytest.fixture(scope="module")
def table(played, request):
    """The attack table, for whoever reads the run."""
    yield
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("\n\nattack" + " " * 36 + "status")
        for attack, one in played[0].items():
            print(f"{attack:<42}{one.status:<12}{one.hint[:60]}")


HARMLESS = {
    "a print and a plot left in": lambda s: (
        s + "\nprint('here')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()"
    ),
    "a warning on stderr": lambda s: (
        s + "\nimport sys, warnings\nprint('w', file=sys.stderr)\nwarnings.warn('w')"
    ),
    "the check left in": lambda s: (
        s + "\nfrom attncourse import check, hint, status\ncheck('x', 1)\nstatus()"
    ),
    "a magic on top": lambda s: "%matplotlib inline\n" + s,
    "a magic that there is not": lambda s: s + "\n%no_such_magic",
    "a cell that fails after the function": lambda s: s + "\nleftover_of_another_cell + 1",
    "a print in the function": lambda s: s.replace("    return", "    print('x')\n    return", 1),
    "timed by a cell magic": lambda s: "%%time\n" + s,
    "a seed and a trial": lambda s: s + "\ntorch.manual_seed(0)\nx = torch.randn(3)",
}


def test_what_is_left_in_a_cell_costs_no_right_answer(tmp_path):
    left_in = dict(zip(NAMES, HARMLESS.values(), strict=True))
    answers = {name: change(SOLVED[name]) for name, change in left_in.items()}
    report = grade(written(tmp_path, notebook_with(answers)), seed=1, timeout=SECONDS)
    assert set(statuses(report).values()) == {"passed"}, report.exercises
    assert report.passed and report.points == report.worth


def test_each_accident_gets_its_own_status(tmp_path):
    good = SOLVED["attention_pool"]
    accidents = {
        "softmax_with_sink": ("", "not attempted", "empty"),
        "distance_attention": ("# exercise: distance_attention\n# later", "not attempted", "empty"),
        "bilinear_weights": (
            "# exercise: bilinear_weights\ndef bilinear_weights(q, k, w\n    return q",
            "error",
            "SyntaxError",
        ),
        "prefix_mask": (
            "# exercise: prefix_mask\ndef prefix_mask(n, prefix, device=None): return helper(n)",
            "error",
            "NameError.*only this cell is graded",
        ),
        "decoder_mask": ("# exercise: decoder_mask\nx = 1", "error", "nothing is called"),
        "attention_pool": (
            good.replace("    return", "    1 / 0\n    return", 1),
            "error",
            r"ZeroDivisionError.*line \d+: 1 / 0",
        ),
        "effective_keys": (
            "# exercise: effective_keys\ndef effective_keys(weights):\n    weights.sum()",
            "wrong",
            "None.*return",
        ),
    }
    notebook = notebook_with({name: source for name, (source, *_) in accidents.items()})
    notebook.cells = [c for c in notebook.cells if c.id != "answer-test_attention"]
    report = grade(written(tmp_path, notebook), seed=1, timeout=SECONDS)
    rows = {one.name: one for one in report.exercises}
    for name, (_, status, hint) in accidents.items():
        assert rows[name].status == status, rows[name]
        assert re.search(hint, f"{rows[name].hint} {rows[name].evidence}"), rows[name]
    assert rows["cached_attention"].status == "not attempted"
    assert rows["test_attention"].status == "not found"
    assert report.graded and not report.passed and report.points == 0


def test_the_same_seed_gives_the_same_verdicts_and_another_other_inputs(tmp_path):
    fix = SOLVED["distance_attention"].replace("2 *", "1 *")
    path = written(tmp_path, notebook_with({"distance_attention": fix}))
    first, again, other = (grade(path, seed=s, timeout=SECONDS).as_data() for s in (5, 5, 6))
    for report in (first, again, other):
        for row in report["exercises"]:
            del row["seconds"]
    assert first == again
    evidence = [r["exercises"][1]["evidence"] for r in (first, other)]
    assert all("expected" in one for one in evidence) and evidence[0] != evidence[1]
    assert "the 2 is missing" in first["exercises"][1]["hint"]


def test_files_beside_the_submission_have_no_say(tmp_path):
    (tmp_path / "attncourse.py").write_text("raise SystemExit('shadowed')")
    (tmp_path / "conftest.py").write_text("raise SystemExit('conftest')")
    (tmp_path / "torch.py").write_text("raise SystemExit('shadowed')")
    report = grade(written(tmp_path, notebook_with(SOLVED), "ä name.ipynb"), 1, timeout=SECONDS)
    assert report.passed, report


@needs_sandbox
def test_the_sandbox_hides_the_answers_the_network_and_the_report(tmp_path):
    probe = (
        "import pathlib, socket, glob\n"
        "import attncourse\n"
        "root = pathlib.Path(attncourse.__file__).parent\n"
        "found = [str(p) for p in root.glob('checks/**/*.py')]\n"
        "found += [p.name for p in [root / 'dot_product.py'] if p.read_text()]\n"
        "for report in glob.glob('/tmp/attncourse-grade-*/report.json'):\n"
        "    try:\n"
        "        open(report, 'w').write('{}')\n"
        "        found.append('report')\n"
        "    except OSError: pass\n"
        "try:\n"
        "    socket.create_connection(('127.0.0.1', 22), 1)\n"
        "    found.append('network')\n"
        "except OSError as error:\n"
        "    if error.errno != 101 and 'refused' not in str(error): found.append(str(error))\n"
        "interfaces = [name for _, name in socket.if_nameindex() if name != 'lo']\n"
        "assert not found and not interfaces, (found, interfaces)\n"
    )
    answer = {"prefix_mask": f"{SOLVED['prefix_mask']}\n{probe}\ndone = 1"}
    # the answer is made wrong unless the probe came to its end
    answer["prefix_mask"] += "\nright = prefix_mask\ndef prefix_mask(n, prefix, device=None):\n"
    answer["prefix_mask"] += "    return right(n, prefix, device)[: n * done]"
    answer["prefix_mask"] = answer["prefix_mask"].replace(
        "# exercise: prefix_mask",
        "# exercise: prefix_mask\ndone = 0\ndef prefix_mask(*a): return 0\n",
    )
    path = written(tmp_path, notebook_with(answer))
    report = grade(path, seed=1, timeout=SECONDS, sandboxed=True)
    assert report.sandboxed
    assert statuses(report)["prefix_mask"] == "passed", report.exercises[3]


BROKEN = {
    "there is no such file": None,
    "the file is empty": b"",
    "not complete JSON": b'{"cells": [',
    "it is not a notebook": b"[1, 2]",
    "not a notebook": b'{"cells": [{"cell_type": "code"}], "nbformat": 4, "nbformat_minor": 5}',
    "no exercise of the course": nbformat.writes(nbformat.v4.new_notebook()).encode(),
    "more than 20,000,000": b" " * 20_000_001,
}


@pytest.mark.parametrize("says", BROKEN)
def test_a_file_that_holds_no_answers_gets_a_clear_line(tmp_path, says):
    path = tmp_path / "broken.ipynb"
    if BROKEN[says] is not None:
        path.write_bytes(BROKEN[says])
    report = grade(path, seed=1)
    assert says in report.problem and not report.graded
    assert CliRunner().invoke(app, ["grade", str(path)]).exit_code == 2


def test_the_command_grades_a_folder_and_exits_as_a_script_wants(tmp_path):
    written(tmp_path, notebook_with({}), "stub.ipynb")
    solved = written(tmp_path, notebook_with(SOLVED), "solved.ipynb")
    (tmp_path / "old").mkdir()
    (tmp_path / "old/broken.ipynb").write_text("{")
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints/solved.ipynb").write_text("{")
    out = tmp_path / "out.json"
    done = CliRunner().invoke(app, ["grade", str(solved), "--seed", "4", "--json", str(out)])
    assert done.exit_code == 0 and "seed 4" in done.output, done.output
    every = ["grade", str(tmp_path), "--jobs", "2", "--json", str(out)]
    done = CliRunner().invoke(app, every)
    assert done.exit_code == 2 and "not complete JSON" in done.output, done.output
    reports = {Path(one["file"]).name: one for one in json.loads(out.read_text())}
    assert set(reports) == {"stub.ipynb", "solved.ipynb", "broken.ipynb"}
    assert reports["solved.ipynb"]["points"] == reports["solved.ipynb"]["worth"] > 0
    assert {one["status"] for one in reports["stub.ipynb"]["exercises"]} == {"not attempted"}
    (tmp_path / "old/broken.ipynb").unlink()
    assert CliRunner().invoke(app, ["grade", str(tmp_path / "stub.ipynb")]).exit_code == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--device", "quantum"], "not on this machine"),
        (["--json", "no/such/folder/x.json"], "there is no folder"),
        (["--timeout", "0"], "--timeout"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_a_bad_option_is_named_before_anything_runs(tmp_path, options, says):
    path = written(tmp_path, notebook_with({}))
    done = CliRunner().invoke(app, ["grade", str(path), *options])
    assert done.exit_code == 2 and says in done.output and "Traceback" not in done.output


def test_a_folder_without_notebooks_is_named(tmp_path):
    done = CliRunner().invoke(app, ["grade", str(tmp_path)])
    assert done.exit_code == 2 and "no notebook" in done.output


def test_text_of_a_learner_cannot_write_to_the_terminal():
    assert plain("\x1b[31mred\x1b[0m\x07 \u202eback") == "red back"
    assert len(plain("x" * 10_000)) == 600
