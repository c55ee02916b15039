"""Names in an answer's text: those that it needs itself, not those of trials in its cell."""

import ast
import textwrap

import pytest

from attncourse.course import COURSE, chapters, exercises
from judge.grading.reach import Reached
from judge.grading.scan import around, forbidden_in
from judge.variants import source_of

HEAD = """\
import torch
import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention as sdpa
from torch import nn
other = sdpa
"""
OWN = "def attention(q, k, v):\n    return {}\n"
TRIAL = (
    "want = sdpa(q, k, v)\nassert attention(q, k, v).allclose(F.scaled_dot_product_attention(q))\n"
)


def forbidden_name(text: str) -> str:
    return forbidden_in(Reached([text], "attention"), COURSE.solved_by)


def hiding_name(*cells: str) -> str:
    return around(Reached(cells, "attention"))


def test_an_answer_may_be_compared_with_what_it_may_not_call():
    assert not forbidden_name(HEAD + OWN.format("torch.softmax(q @ k.mT, -1) @ v") + TRIAL)


@pytest.mark.parametrize(
    "call",
    [
        "sdpa(q, k, v)",
        "other(q, k, v)",
        "F.scaled_dot_product_attention(q, k, v)",
        "getattr(F, 'scaled_dot_product_attention')(q, k, v)",
        "nn.MultiheadAttention(8, 2)(q, k, v)",
    ],
)
def test_what_an_answer_needs_is_found_under_any_of_its_names(call):
    assert forbidden_name(HEAD + OWN.format(call)) in (
        "scaled_dot_product_attention",
        "MultiheadAttention",
    )


TORCH_NAME = "F.scaled_dot_product_attention"
TORCH_CALL = f"{TORCH_NAME}(q, k, v)"
FORBIDDEN = OWN.format(TORCH_CALL).replace("attention", "soft", 1)
SAFE = "def soft(q, k, v):\n    return torch.softmax(q @ k.mT, -1) @ v\n"


@pytest.mark.parametrize(
    "definitions",
    [
        FORBIDDEN + SAFE,
        FORBIDDEN + f"other = soft\n{SAFE}",
        f"soft = {TORCH_NAME}\n{SAFE}",
        f"soft = lambda q, k, v: {TORCH_CALL}\nsoft = lambda q, k, v: (q @ k.mT).softmax(-1) @ v\n",
    ],
)
def test_what_a_name_meant_before_it_was_defined_anew_costs_nothing(definitions):
    assert not forbidden_name(HEAD + definitions + OWN.format("soft(q, k, v)"))
    assert not forbidden_name(HEAD + definitions + "attention = soft")


@pytest.mark.parametrize(
    "definitions",
    [
        FORBIDDEN + "kept = soft\n" + SAFE,
        SAFE + FORBIDDEN + "kept = soft\n",
        f"{SAFE}kept = soft\nif True:\n    kept = {TORCH_NAME}\n",
        f"def late():\n    global kept\n    kept = {TORCH_NAME}\n{SAFE}kept = soft\nlate()\n",
        FORBIDDEN.replace("soft", "kept", 1) + "def wrap(f):\n    return f\n"
        "@wrap(kept)\n" + SAFE.replace("soft", "kept", 1),
        f"torch.soft = {TORCH_NAME}\nimport torch\n"
        "def kept(q, k, v):\n    return torch.soft(q, k, v)\n",
    ],
)
def test_what_a_name_means_in_the_end_is_looked_at_however_it_came_to_mean_it(definitions):
    assert forbidden_name(HEAD + definitions + OWN.format("kept(q, k, v)"))
    assert forbidden_name(
        HEAD + definitions + "attention = kept\n" + SAFE.replace("soft", "kept", 1)
    )


def test_a_name_that_is_bound_in_no_plain_way_is_looked_for_everywhere():
    assert forbidden_name(
        "import torch.nn.functional as F\nglobals()['attention'] = "
        + "F.scaled_dot_product_attention"
    )


@pytest.mark.parametrize(
    "code",
    [
        "import json\njson.dumps = lambda x: '{}'",
        "torch.Tensor.softmax = None",
        "import base64 as b\nsetattr(b, 'b64encode', bytes)",
        "del torch.nn.functional.softmax",
        "import os\nos.write(5, b'{}')",
        "import json\nj = json\nj.dumps = lambda x: '{}'",
        "globals()['__name__'] = 'numpy.x'",
        "import sys\ngetattr(sys, 'set' + 'trace')(None)",
        "files = !ls\nimport sys\nsys.settrace(None)",
        "torch.ones?\nimport sys\nsys.settrace(None)",
        "%time -q quiet = lambda: sys.settrace(None)",
        "get_ipython().run_cell('import sys')",
        "import inspect\ninspect.currentframe().f_trace_lines = False",
        "print('import sys', file=open('helper.py', 'w'))",
        # a name of one's own that is another's where it is used
        "if False:\n    exec = 0\nexec('import sys')",
        "mine = lambda exec: 0\nexec('import sys')",
        "def mine(eval):\n    return (lambda: 0)\nx = eval('1')",
        "def mine():\n    global exec\n    exec = 0\nexec('import sys')",
        "def mine(x=exec('import sys')):\n    exec = 0",
        "import sys as self\nself.settrace(None)",
        "import sys\ndef quiet(self):\n    self.settrace(None)\nquiet(sys)",
        "import sys as self\ngetattr(self, 'set' + 'trace')(None)",
        "import sys as self\nvars(self)",
        "class One:\n    def two(self):\n        import sys as self\n        self.settrace(None)",
    ],
)
def test_what_changes_another_s_module_or_writes_to_a_stream_is_seen(code):
    assert hiding_name(HEAD + code)


def test_what_an_answer_changes_of_its_own_hides_nothing():
    text = """
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner.weight = nn.Parameter(torch.ones(2))
            setattr(self, 'bias', None)

        def forward(self, x):
            getattr(self, 'of_' + 'one')
            x.requires_grad = False
            return x

    Layer.heads = 2
    """
    assert not hiding_name(HEAD + textwrap.dedent(text))


@pytest.mark.parametrize(
    "code",
    [
        "def answer(x):\n    vars = x.var(-1)\n    return vars.sqrt()",
        "def answer(x, open):\n    return lambda y: open + y",
        "__name__ = 'mine'",
        "class One:\n    def run(self):\n        self.write = self.open()\n"
        "        return [self.write for _ in self.modules]",
    ],
)
def test_a_name_that_is_the_answer_s_own_where_it_is_used_hides_nothing(code):
    assert not hiding_name(HEAD + code)


def test_names_are_looked_up_in_time_that_grows_as_the_text_does(monkeypatch):
    def visits(count: int) -> int:
        calls = []
        monkeypatch.setattr(
            ast,
            "iter_child_nodes",
            lambda node: calls.append(node) or original_iter_child_nodes(node),
        )
        hiding_name(f"x = {'lambda: ' * 20}[{'vars, ' * count}]")
        monkeypatch.undo()
        return len(calls)

    original_iter_child_nodes = ast.iter_child_nodes
    assert visits(800) < 2.1 * visits(400)


@pytest.mark.parametrize(
    "code",
    [
        "table = open('table.txt').read()",
        "with open('table.txt', 'rb') as file:\n    table = file.read()",
        "table = open('table.txt', encoding='utf-8').readlines()",
        "import sys\nsys.stdout.write('here')",
        "class One:\n    def shown(self):\n        return vars(self)",
    ],
)
def test_to_read_a_file_or_to_print_hides_nothing(code):
    assert not hiding_name(HEAD + code)


@pytest.mark.parametrize(
    "code",
    ["open('x', mode)", "open('x', 'r+b')", "open('x', mode='w')", "open('x', opener=f)", "vars()"],
)
def test_another_way_to_open_or_to_look_may_hide_something(code):
    assert hiding_name(HEAD + code) in ("open", "vars")


@pytest.mark.parametrize("chapter", chapters())
def test_no_right_answer_names_what_may_hide_a_call(chapter):
    for exercise in exercises(chapter).values():
        for answer in exercise.valid_answers:
            # it may call the page's own function, which a bank's answer imports
            source = source_of(answer).replace("attncourse.", "")
            reached = Reached([source], answer.__name__)
            names = around(reached), forbidden_in(reached, COURSE.solved_by)
            assert names == ("", ""), f"{exercise.name}: {source}"
