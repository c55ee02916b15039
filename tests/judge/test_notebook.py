"""A check in a notebook: its output, the state that it leaves alone, and what it refuses.

The inputs are new at each run; ATTNCOURSE_SEED=<number> draws those of an earlier one again.
"""

import importlib
import os
import random
import secrets
import sys
import textwrap

import pytest
import torch
import torch.nn.functional as F
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import attncourse.dot_product
import attncourse.recurrence
from attncourse import check, device, hint, status
from attncourse.course import COURSE, exercise, exercises, session
from judge import messages
from judge.call.values import decode, encode
from judge.compare.tolerance import close
from judge.course import OneLineError
from judge.notebook import report
from judge.verdict import SAME, Verdict, judge, local

# a right answer to effective_keys
ENTROPY = "torch.exp(-torch.special.xlogy(weights, weights).sum(-1)) * weights.any(-1)"
SEED = int(os.environ.get("ATTNCOURSE_SEED") or secrets.randbits(31))


@pytest.fixture
def shell():
    """IPython, which keeps nothing of what it runs."""
    return InteractiveShell(config=Config(HistoryManager={"enabled": False}))


@pytest.fixture
def right_answer():
    """A right answer to distance_attention."""

    def attend(q, k, v, mask=None):
        scores = -(q[..., :, None, :] - k[..., None, :, :]).square().sum(-1)
        scores = scores / (2 * q.shape[-1] ** 0.5)
        if mask is None:
            return scores.softmax(-1) @ v
        return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0) @ v

    return attend


def test_a_right_answer_prints_one_fixed_line(right_answer, capsys):
    check("distance_attention", right_answer)
    assert capsys.readouterr() == ("distance_attention: ok\n", "")


WARNINGS = {
    "a package": ("import psutil", "psutil.pid_exists(1)", "`psutil` may not be installed"),
    "a package in the function": ("", "import psutil", "`psutil` may not be installed"),
    "a package behind a helper": (
        "from psutil import pid_exists\ndef helper():\n    return pid_exists(1)",
        "helper()",
        "`psutil` may not be installed",
    ),
    "a module beside the notebook": (
        "import mine",
        "mine.one()",
        "`mine.py` is a file of your own",
    ),
    "what is taken from one": ("from mine import one", "one()", "`mine.py` is a file of your own"),
    "a module that a cell has written": ("import written", "written.one()", ""),
    "what a grader has": ("import math, numpy, einops, num2words", "math.log(numpy.e)", ""),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_what_a_grader_may_not_have_is_said_below_ok(shell, tmp_path, monkeypatch, capsys, case):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", shell.user_module)
    for name in ("mine", "written"):
        (tmp_path / f"{name}.py").write_text("def one():\n    return 1\n")
    top_line, body_line, warning = WARNINGS[case]
    source = textwrap.indent(body_line, "    ")
    cells = [
        f"%%writefile {tmp_path}/written.py\ndef one():\n    return 1",
        f"import torch\nfrom attncourse import check\n{top_line}",
        f"def effective_keys(weights):\n{source}\n    return {ENTROPY}",
        "check(effective_keys)",
    ]
    for cell in cells:
        shell.run_cell(cell, store_history=True).raise_error()
    lines = capsys.readouterr().out.splitlines()
    warnings = lines[lines.index("effective_keys: ok") + 1 :]
    assert len(warnings) == bool(warning) and all(warning in line for line in warnings), lines


def test_who_left_the_given_code_is_asked_whether_the_cell_was_run():
    assert report("toy", Verdict("not attempted", SAME), SEED) == (
        "toy: not attempted: your code still does what the given code does: any change you made "
        "makes no difference\n    Have you run the cell since you changed it?"
    )


def test_a_verdict_does_not_depend_on_the_device_in_use(right_answer, monkeypatch, capsys):
    def attend_on_cpu(q, k, v, mask=None):
        return right_answer(q, k, v, mask) + torch.zeros(v.shape[-1])

    printed = []
    for name in ("cpu", "meta"):
        monkeypatch.setenv("ATTNCOURSE_DEVICE", name)
        assert device().type == name
        check("distance_attention", attend_on_cpu)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] and messages.DEVICE in printed[0]


def test_an_error_is_reported_in_two_lines_whatever_its_text(capsys):
    def raise_error(q, k, v, mask=None):
        raise RuntimeError("first line\nsecond line\nthird line")

    check("distance_attention", raise_error)
    printed = capsys.readouterr().out
    assert printed.startswith(
        "distance_attention: error: your code raises RuntimeError: “first line"
    )
    assert printed.count("\n") <= 2


def test_a_check_leaves_the_global_random_state_alone(right_answer):
    state_before = torch.get_rng_state(), random.getstate()
    check("distance_attention", right_answer)
    assert torch.equal(torch.get_rng_state(), state_before[0])
    assert random.getstate() == state_before[1]


def test_a_check_leaves_torch_as_many_threads_as_it_had(right_answer):
    threads_before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        check("distance_attention", right_answer)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads_before)


def test_an_answer_that_writes_into_its_input_spoils_nothing_for_the_next(right_answer):
    def zero_inputs(q, k, v, mask=None):
        for x in (q, k, v):
            x.zero_()
        return right_answer(q, k, v, mask)

    task = exercise("distance_attention")
    assert judge(task, local(zero_inputs), SEED).status == "wrong"
    assert judge(task, local(right_answer), SEED).status == "passed"


@pytest.mark.parametrize("seed", [0, 7])
def test_a_seed_draws_the_same_inputs_again(seed, capsys):
    # of the right shape, so that the evidence is a number and not two sizes that may come twice
    for drawn_seed in (seed, seed, seed + 1):
        check("distance_attention", lambda q, k, v, mask=None: q @ k.mT @ v, seed=drawn_seed)
    first, second, other = capsys.readouterr().out.split("distance_attention: ")[1:]
    assert first == second != other
    assert f"(seed={seed})" in first and f"(seed={seed + 1})" in other


def attend_by_torch(q, k, v):
    mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device)
    mask = mask.tril(k.shape[-2] - q.shape[-2])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def attend_by_torch_module(q, k, v):
    module = torch.nn.MultiheadAttention(q.shape[-1], 1, batch_first=True, dtype=q.dtype)
    return module(q, k, k)[0][..., : v.shape[-1]]


def attend_by_course(q, k, v):
    return attncourse.dot_product.attention(q, k, v)


def attend_by_reference(q, k, v):
    return exercise("cached_attention").reference_answer(q, k, v)


@pytest.mark.parametrize(
    ("answer", "called_name"),
    [
        (attend_by_torch, "scaled_dot_product_attention"),
        (attend_by_torch_module, "torch.nn.modules.activation"),
        (attend_by_course, "attncourse.dot_product.attention"),
        (attend_by_reference, "attncourse.course"),
    ],
)
def test_an_answer_may_not_call_what_it_should_write(answer, called_name):
    task = exercise("cached_attention")
    verdict = judge(task, local(answer), SEED, forbidden=COURSE.forbidden(task))
    assert verdict.status == "wrong"
    assert verdict.hint.startswith(called_name)
    assert verdict.hint.endswith("may not be called here: write the steps yourself")


def pool(x, query, words):
    scores = (x @ query / query.shape[-1] ** 0.5).masked_fill(~words, -torch.inf)
    return (scores.softmax(-1).masked_fill(~words, 0.0)[..., None] * x).sum(-2)


def pool_with_item(x, query, lengths):
    longest = lengths.max().item()
    words = torch.arange(longest, device=x.device) < lengths[:, None]
    return pool(x[:, :longest], query, words)


def pool_with_any(x, query, lengths):
    words = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return pool(x, query, words) if words.any() else 0 * pool(x, query, words)


def pool_with_list(x, query, lengths):
    lengths = torch.tensor(lengths.tolist(), device=lengths.device)
    return pool(x, query, torch.arange(x.shape[1], device=x.device) < lengths[:, None])


def pool_with_numpy(x, query, lengths):
    words = torch.arange(x.shape[1]).numpy() < lengths.cpu().numpy()[:, None]
    return pool(x, query, torch.from_numpy(words).to(x.device))


@pytest.mark.parametrize("answer", [pool_with_item, pool_with_any, pool_with_list, pool_with_numpy])
def test_an_answer_that_reads_a_value_is_not_called_wrong_on_another_device(answer):
    verdict = judge(exercise("attention_pool"), local(answer), SEED)
    assert verdict == Verdict("passed")


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_hint_is_printed(level, capsys):
    hint("prefix_mask", level)
    assert capsys.readouterr().out == f"{exercise('prefix_mask').hints[level - 1]}\n"


def test_status_tells_what_is_solved(right_answer, capsys, monkeypatch):
    monkeypatch.setattr(session.session, "verdicts", {})
    check("distance_attention", right_answer)
    check("cached_attention", lambda q, k, v: 0 * v)
    capsys.readouterr()
    status()
    lines = capsys.readouterr().out.splitlines()
    exercise_lines = [line for line in lines if "points  " in line]
    states = {line.split()[1]: line.rpartition("points  ")[2] for line in exercise_lines}
    assert states["distance_attention"] == "passed"
    assert states["cached_attention"] == "wrong"
    assert set(states.values()) == {"passed", "wrong", "not checked"}
    assert lines[-2] == f"dot_product: 1 of {len(states)} solved, 15 of {sum_of_points()} points"
    assert lines[-1] == "solved: distance_attention"


def test_status_names_what_is_solved_in_one_line(capsys, monkeypatch):
    names = ["distance_attention", "prefix_mask"]
    monkeypatch.setattr(session.session, "verdicts", dict.fromkeys(names, Verdict("passed")))
    status()
    assert capsys.readouterr().out.splitlines()[-1] == "solved: distance_attention, prefix_mask"
    monkeypatch.setattr(session.session, "verdicts", {})
    status()
    assert "solved: " not in capsys.readouterr().out


def sum_of_points():
    return sum(exercise.points for exercise in exercises("dot_product").values())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check("prefix_maks", max), "'prefix_maks': the nearest name is 'prefix_mask'"),
        (lambda: hint("rnn_state"), "'rnn_state': the nearest name is 'rnn_states'"),
        (lambda: hint(max), "no exercise is called 'max': the nearest name is '"),
        (lambda: hint(3), "an int has no name: give the name of the exercise"),
        (lambda: check("prefix_mask"), "'prefix_mask', ...\\) needs your answer"),
        (lambda: hint("prefix_mask", 4), "level=4: choose hint 1, 2 or 3"),
        (lambda: status("poetry"), "no chapter 'poetry' has exercises"),
    ],
)
def test_what_there_is_not_is_answered_in_one_line(call, message, shell, capsys):
    with pytest.raises(OneLineError, match=message) as raised:
        call()
    shell.user_ns["call"] = call
    shell.run_cell("call()")
    assert capsys.readouterr().out == f"{raised.value}\n"


@pytest.mark.parametrize("name", ["check", "failed", "hint", "status", "device"])
@pytest.mark.parametrize("statically", [False, True])
def test_tab_offers_what_the_course_has(name, statically, shell):
    shell.Completer.use_jedi = statically
    shell.run_cell("import attncourse")
    text = f"attncourse.{name[:2]}"
    with provisionalcompleter():
        completions = {
            completion.text.rpartition(".")[2]
            for completion in shell.Completer.completions(text, len(text))
        }
    assert name in completions


def test_a_function_is_as_good_as_its_name(right_answer, capsys):
    right_answer.__name__ = "distance_attention"
    check(right_answer)
    hint(right_answer)
    printed = f"distance_attention: ok\n{exercise('distance_attention').hints[0]}\n"
    assert capsys.readouterr().out == printed


def test_what_torch_has_not_implemented_is_an_error_and_no_empty_cell(capsys):
    def raise_not_implemented(reads, layers):
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")

    check("path_lengths", raise_not_implemented)
    printed = capsys.readouterr().out
    assert printed.startswith("path_lengths: error: a function for floating-point numbers gets")
    assert "NotImplementedError" in printed


def test_an_answer_that_autograd_cannot_undo_is_told_torch_s_reason(right_answer):
    def attend_in_place(q, k, v, mask=None):
        out = right_answer(q, k, v, mask).exp()
        return out.log_()

    verdict = judge(exercise("distance_attention"), local(attend_in_place), SEED)
    assert verdict.hint == "the numbers are right, but autograd can't compute their gradients"
    assert "modified by an inplace operation" in verdict.evidence
    # torch's advice, which follows, is left out
    assert "Hint" not in verdict.evidence and verdict.evidence.endswith("instead.”")


def test_numbers_that_went_through_float32_are_told_so_however_few(right_answer):
    numbers = torch.tensor([1 / 3, 0.5], dtype=torch.float64)
    assert close(numbers * (1 + 1e-10), numbers, length=2)
    assert not close(numbers * (1 + 1e-8), numbers, length=2)
    assert not close(numbers.float().double(), numbers, length=2)
    assert close(torch.tensor([0.5], dtype=torch.float64), numbers[1:] * (1 + 1e-15), length=2)

    def attend_in_float32(q, k, v, mask=None):
        out = right_answer(q, k, v, mask)
        return out.float().to(out.dtype)

    task = exercise("distance_attention")
    assert "float32" in judge(task, local(attend_in_float32), SEED).hint

    def attend_with_epsilon(q, k, v, mask=None):
        return right_answer(q, k, v, mask) / (1 + 1e-7)

    assert judge(task, local(attend_with_epsilon), SEED).hint == messages.NEARLY


def test_a_module_of_the_course_may_not_be_imported_in_an_answer():
    def reload_module(reads, layers):
        return importlib.reload(attncourse.recurrence)

    task = exercise("path_lengths")
    verdict = judge(task, local(reload_module), SEED, forbidden=COURSE.forbidden(task))
    assert verdict.hint == (
        "attncourse.recurrence may not be imported here: write the steps yourself"
    )


def test_torch_s_own_recurrent_layers_are_no_answer(capsys):
    check("GatedCell", torch.nn.GRUCell)
    assert "may not be called here" in capsys.readouterr().out


@pytest.mark.parametrize(
    "value",
    [
        torch.zeros(1, 4)[:, :1],
        torch.arange(6.0).view(2, 3).T,
        torch.ones(5)[::2],
        torch.ones(2, 0),
    ],
    ids=["one element of a row", "transposed", "every second", "empty"],
)
def test_a_result_may_be_a_view_of_any_layout(value):
    assert decode(encode(value)).equal(value)
