"""The steps of a call: its lines, and the functions that C calls for it, in all its threads."""

import builtins
import functools
import gc
import importlib
import itertools
import math
import operator
import random
import threading
from functools import reduce
from itertools import starmap as stars
from types import ModuleType

import numpy
import pytest
import torch
from torch.utils._pytree import tree_map

from attncourse.course import COURSE, chapters, exercise, exercises
from judge import driver
from judge.credit import NOTHING, credit, in_parts
from judge.driver import drive
from judge.trial import BUSY
from judge.values import encode
from judge.verdict import judge, local
from judge.watch import CALLING, OURS
from tests.collecting import Garbage, frequent_collections
from tests.conftest import SEED

SDPA = "scaled_dot_product_attention"
# another name of map, and functions of NumPy that were made before the call
map_alias = map
negate, floor = numpy.frompyfunc(operator.neg, 1, 1), numpy.vectorize(math.floor, otypes=[int])
# each calls a function that is not Python's for every number of a list
LOOPS = {
    "map": lambda x: list(map(abs, x)),
    "map, under another name": lambda x: list(map_alias(abs, x)),
    "filter": lambda x: list(filter(math.isfinite, x)),
    "sorted": lambda x: sorted(range(len(x)), key=x.__getitem__),
    "list.sort": lambda x: list(range(len(x))).sort(key=x.__getitem__),
    "min": lambda x: min(x, key=abs),
    "max": lambda x: max(x, key=abs),
    "sum of a map": lambda x: sum(map(abs, x)),
    "reduce": lambda x: functools.reduce(operator.add, x),
    "reduce, imported by name": lambda x: reduce(operator.add, x),
    "starmap": lambda x: list(stars(math.hypot, zip(x, x, strict=True))),
    "accumulate": lambda x: list(itertools.accumulate(x, operator.mul)),
    "accumulate, by name": lambda x: list(itertools.accumulate(x, func=operator.mul)),
    "takewhile": lambda x: list(itertools.takewhile(math.isfinite, x)),
    "dropwhile": lambda x: list(itertools.dropwhile(math.isfinite, x)),
    "filterfalse": lambda x: list(itertools.filterfalse(math.isnan, x)),
    "groupby": lambda x: list(itertools.groupby(x, key=abs)),
    "numpy.frompyfunc": lambda x: numpy.frompyfunc(operator.neg, 1, 1)(numpy.array(x)),
    "numpy.frompyfunc, made before": lambda x: negate(numpy.array(x)),
    "numpy.vectorize": lambda x: numpy.vectorize(math.floor)(numpy.array(x)),
    "numpy.vectorize, made before": lambda x: floor(numpy.array(x)),
    "numpy.apply_along_axis": lambda x: vars(numpy)["apply_along_axis"](
        max, 1, numpy.array([x, x]).T
    ),
    "Tensor.apply_": lambda x: torch.tensor(x).apply_(math.floor),
    "torch.vmap in pieces": lambda x: torch.vmap(torch.exp, chunk_size=1)(torch.tensor(x)),
    "a tree of torch's": lambda x: tree_map(abs, x),
    "the numbers of a tensor": lambda x: sum(torch.tensor(x)),
    "a list of tensors": lambda x: vars(torch)["_foreach_exp"]([*torch.tensor(x)]),
}


def watch_call(function, *args, forbidden=(SDPA,)):
    """The driver's reply to one call, in which all steps are counted."""
    request = {
        "name": "answer", "args": [*map(encode, args)], "kwargs": {}, "weights": {},
        "build": None, "before": None, "training": False, "by_columns": False, "cotangents": None,
        "watch": "everything", "counted": True, "forbidden": list(forbidden), "max_steps": 1_000,
        "device": "cpu",
    }  # fmt: skip
    return drive({"answer": function}, request)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_that_no_line_shows_takes_a_step_for_each_element(loop):
    # the first call of a kind may have torch load more
    _, short_reply, long_reply = (
        watch_call(LOOPS[loop], [0.5 + i for i in range(n)]) for n in (10, 10, 60)
    )
    assert short_reply["outcome"] == long_reply["outcome"] == "returned", (
        short_reply["error"],
        long_reply["error"],
    )
    assert long_reply["steps"] - short_reply["steps"] >= 50


def test_what_takes_the_names_of_python_s_loops_gives_them_back():
    def named_functions():
        return [getattr(*path) for path in CALLING] + [map_alias, reduce, negate, floor]

    functions_before = named_functions()
    assert watch_call(LOOPS["map"], [1.0])["outcome"] == "returned"
    assert watch_call(lambda x: 1 / 0, [1.0])["outcome"] == "raised"
    assert all(old is new for old, new in zip(functions_before, named_functions(), strict=True))


def test_a_module_that_a_call_loads_meets_python_s_own_functions(tmp_path, monkeypatch):
    (tmp_path / "loaded_late.py").write_text("found = map, __import__('functools').reduce\n")
    monkeypatch.syspath_prepend(tmp_path)
    loaded = []

    def answer(x):
        loaded.extend(importlib.import_module("loaded_late").found)
        return [*map(abs, x)]

    assert watch_call(answer, [1.0, 2.0])["outcome"] == "returned"
    assert loaded == [builtins.map, functools.reduce]


def threaded_answer(work):
    def answer(x):
        thread = threading.Thread(target=work, args=(x,))
        thread.start()
        thread.join()
        return x

    return answer


def test_what_torch_s_linear_algebra_has_is_known_by_its_plain_name():
    reply = watch_call(lambda x: torch.linalg.svd(x), torch.eye(2), forbidden=("svd",))
    assert (reply["outcome"], reply["called"]) == ("forbidden", "linalg_svd")
    norm_reply = watch_call(
        lambda x: torch.linalg.matrix_norm(x, 2), torch.eye(2), forbidden=("svd",)
    )
    assert norm_reply["outcome"] == "returned"


def two_halves():
    yield 1
    yield 2


def test_a_generator_that_was_left_half_way_before_the_call_may_end_within_it():
    forbidden = (f"{__name__}.two_halves",)
    generators = [two_halves()]
    next(generators[0])
    assert watch_call(lambda: generators.clear(), forbidden=forbidden)["outcome"] == "returned"
    reply = watch_call(lambda: next(two_halves()), forbidden=forbidden)
    assert reply["outcome"] == "forbidden" and reply["called"].endswith("two_halves"), reply


def test_what_python_collects_during_a_call_is_not_counted():
    def leave_garbage(x):
        return [Garbage() and None for _ in range(50)]

    gc.disable()
    try:
        # the first call of a kind may have torch load more
        _, steps_alone = (watch_call(leave_garbage, 1.0)["steps"] for _ in range(2))
    finally:
        gc.enable()
    with frequent_collections(10):
        assert {watch_call(leave_garbage, 1.0)["steps"] for _ in range(9)} == {steps_alone}
    assert gc.isenabled()


def test_a_thread_that_a_call_starts_is_watched():
    def loop(x):
        for _ in x:
            pass

    def attend(x):
        getattr(torch.nn.functional, SDPA)(*[torch.ones(2, 2)] * 3)

    short_reply, long_reply = (watch_call(threaded_answer(loop), [1.0] * n) for n in (10, 60))
    assert long_reply["steps"] - short_reply["steps"] >= 100
    assert watch_call(threaded_answer(attend), [1.0])["outcome"] == "forbidden"
    # a call that waits for it ends
    assert watch_call(threaded_answer(loop), [1.0] * 2_000)["steps"] > 1_000
    assert threading.gettrace() is None and threading.getprofile() is None


def test_a_forbidden_function_that_python_s_own_loop_calls_is_seen_where_torch_s_modes_are_not():
    from torch.utils._python_dispatch import _disable_current_modes

    def answer(x):
        with _disable_current_modes():
            return list(map(torch.nn.functional.scaled_dot_product_attention, *[[x[None]]] * 3))

    assert watch_call(answer, torch.ones(2, 2))["called"] == SDPA

    def attend_fused(x):
        with _disable_current_modes():
            return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*[x[None, None]] * 3)

    assert watch_call(attend_fused, torch.ones(2, 2))["outcome"] == "forbidden"


def test_taking_torch_s_modes_away_is_told_and_nothing_else_is():
    from torch.utils._python_dispatch import _disable_current_modes

    def hide_modes(x):
        with _disable_current_modes():
            return sum(x)

    assert watch_call(hide_modes, torch.ones(3))["blinded"]
    usual_answers = (
        lambda x: torch.vmap(lambda row: row.exp().sum())(x),
        lambda x: torch.func.jacrev(lambda row: (row * row).sum(-1))(x),
        lambda x: torch.autograd.functional.jacobian(lambda row: row.exp(), x),
        lambda x: torch.nn.Linear(3, 2).double()(x).detach(),
    )
    for answer in usual_answers:
        reply = watch_call(answer, torch.ones(3, 3, dtype=torch.float64))
        assert reply["outcome"] == "returned" and not reply["blinded"], reply["error"]


def test_an_answer_s_own_function_of_such_a_name_is_its_own():
    module = ModuleType("own")
    exec(
        "def map(f, x):\n    return f(x)\n\n\ndef answer(x):\n    return map(len, x)", vars(module)
    )
    short_reply, long_reply = (watch_call(vars(module)["answer"], [1.0] * n) for n in (10, 60))
    assert short_reply["value"] == {"plain": 10} and short_reply["steps"] == long_reply["steps"]


# the batch of the last tensor, a mask, is walked through before a right answer is called
WALKED_EXERCISES = (
    "softmax_with_sink",
    "distance_attention",
    "bilinear_weights",
    "attend_in_heads",
)


@pytest.mark.parametrize("name", WALKED_EXERCISES)
def test_a_loop_over_a_batch_is_refused_however_little_it_does_in_each_turn(name):
    def answer(*args, **kwargs):
        *_, last = (x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor))
        if last.dim() > 2:
            [row.mT for row in last]
        return exercise(name).valid_answers[0](*args, **kwargs)

    verdict = judge(exercise(name), local(answer), 3, forbidden=())
    assert verdict.status == "too slow" and "loops" in verdict.hint


@pytest.mark.slow
@pytest.mark.parametrize("chapter", chapters())
def test_no_right_answer_takes_the_watching_away(chapter, monkeypatch):
    replies, drive = [], driver.drive
    monkeypatch.setattr(
        driver, "drive", lambda *arguments: replies.append(drive(*arguments)) or replies[-1]
    )
    for task in filter(in_parts, exercises(chapter).values()):
        forbidden = COURSE.solving(task)
        for answer in task.valid_answers:
            replies.clear()
            verdict = judge(task, local(answer), int(SEED), forbidden=forbidden)
            assert verdict.status == "passed", f"{task.name}: {answer.__name__}: {verdict}"
            assert not any(reply["blinded"] for reply in replies), f"{task.name}: {answer.__name__}"


def hiding_answer(lines):
    """A right answer that runs as many lines, and hides a call where gradients are taken.

    Not in its first call, in which everything is watched, as where loops are looked for.
    """
    task, calls = exercise("shared_heads_attention"), []

    def answer(q, k, v, mask=None):
        calls.append(q.shape)
        for _ in range(lines):
            pass
        if len(calls) > 1 and q.requires_grad:
            with torch.DisableTorchFunction():
                getattr(torch.nn.functional, "scaled_dot_" + "product_attention")(v, v, v)
        return task.valid_answers[0](q, k, v, mask)

    return task, answer


def test_an_answer_that_runs_away_is_called_once():
    task, calls = exercise("shared_heads_attention"), []

    def answer(q, k, v, mask=None):
        calls.append(q.shape)
        while True:
            pass

    assert judge(task, local(answer), 3).status == "too slow"
    assert len(calls) == 1


@pytest.mark.parametrize("lines", [0, BUSY])
@pytest.mark.parametrize("seed", range(5))
def test_an_answer_does_not_know_where_it_is_wholly_watched(seed, lines):
    task, answer = hiding_answer(lines)
    verdict = judge(task, local(answer), seed, forbidden=COURSE.solving(task))
    assert verdict.status == "wrong" and "may not be called" in verdict.hint, verdict


def test_no_part_of_the_points_is_for_an_answer_that_hides_a_forbidden_call():
    task, answer = hiding_answer(lines=0)

    def detached_answer(*args):
        return answer(*args).detach()

    assert credit(task, local(detached_answer), 3, forbidden=COURSE.solving(task)) == NOTHING
    assert credit(task, local(detached_answer), 3).share > 0


DRAWS = {
    "Python": random.random,
    "NumPy": numpy.random.random,
    "torch": lambda: torch.rand(()).item(),
}


@pytest.mark.parametrize("source", DRAWS)
def test_what_is_drawn_next_does_not_depend_on_an_answer_that_draws(source):
    draw = DRAWS[source]

    def seed_all():
        for seed in (random.seed, numpy.random.seed, torch.manual_seed):
            seed(1)

    seed_all()
    expected = [draw() for _ in range(3)]
    seed_all()
    reply = watch_call(lambda: [draw() for _ in range(5)])
    assert reply["outcome"] == "returned" and reply["settings"] == ["the global random numbers"]
    assert [draw() for _ in range(3)] == expected


def answer_of_cell(text: str):
    """The function `answer` of a cell, which has a namespace of its own, as a notebook's."""
    exec(text, cell := {"__name__": "__main__"})
    return cell["answer"]


LOOP = """
def answer(x):
    for number in x:
        number + 1
    return x
"""


@pytest.mark.parametrize(
    "name",
    [
        "from torch import __name__",
        "match 'torch.x':\n    case __name__: pass",
        "__name__ = 'importlib._bootstrap'\n_find_and_load = 0",
        *(f"__name__ = {name!r}" for name in sorted(OURS)),
    ],
)
def test_a_cell_that_is_called_like_a_library_is_counted_all_the_same(name):
    answer = answer_of_cell(f"{name}\n{LOOP}")
    # the first call of a kind may have torch load more
    _, short_reply, long_reply = (watch_call(answer, [0.5] * n) for n in (10, 10, 60))
    # a line for each turn, and one for what it does
    assert long_reply["steps"] - short_reply["steps"] == 100


def test_a_function_that_is_called_like_an_import_is_counted_all_the_same():
    renamed = LOOP.replace("def answer", "def _find_and_load") + "answer = _find_and_load"
    answer = answer_of_cell(f"from importlib._bootstrap import __name__\n{renamed}")
    assert watch_call(answer, [0.5] * 60)["steps"] > 120
