"""The steps of a call, and the forbidden functions that it calls."""

import functools
import importlib
import itertools
import random

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention as attend_by_another_name

from attncourse.course import COURSE, exercise
from judge.call.driver import drive
from judge.call.values import encode
from judge.compare.credit import NOTHING, credit
from judge.verdict import judge, local

SDPA = "scaled_dot_product_attention"


def double(number):
    return number * 2


doubled = numpy.frompyfunc(double, 1, 1)


def loop(numbers):
    for number in numbers:
        number * 2


def loop_in_a_helper(numbers):
    return loop(numbers)


def while_loop(numbers):
    place = 0
    while place < len(numbers):
        place += 1


# each calls something for every number of a list
LOOPS = {
    "for": loop,
    "for, in a helper": loop_in_a_helper,
    "while": while_loop,
    "list comprehension": lambda x: [number * 2 for number in x],
    "generator": lambda x: sum(number * 2 for number in x),
    "dictionary": lambda x: {number: 2 for number in x},
    "map": lambda x: list(map(double, x)),
    "map of a lambda": lambda x: list(map(lambda number: number * 2, x)),
    "map of torch's": lambda x: list(map(torch.exp, torch.tensor(x))),
    "filter": lambda x: list(filter(double, x)),
    "sorted": lambda x: sorted(x, key=double),
    "max": lambda x: max(x, key=double),
    "reduce": lambda x: functools.reduce(lambda a, b: a + b, x),
    "accumulate": lambda x: list(itertools.accumulate(x, lambda a, b: a + b)),
    "numpy.frompyfunc": lambda x: numpy.frompyfunc(double, 1, 1)(numpy.array(x)),
    "numpy.frompyfunc, made before": lambda x: doubled(numpy.array(x)),
    "numpy.vectorize": lambda x: numpy.vectorize(double)(numpy.array(x)),
    "numpy.apply_along_axis": lambda x: numpy.apply_along_axis(
        lambda row: row[0], 1, numpy.array([x]).T
    ),
    "Tensor.apply_": lambda x: torch.tensor(x).apply_(double),
    "torch.vmap in pieces": lambda x: torch.vmap(torch.exp, chunk_size=1)(torch.tensor(x)),
    "the numbers of a tensor": lambda x: sum(torch.tensor(x)),
    "a list of tensors": lambda x: torch._foreach_exp([*torch.tensor(x)]),
    "a partial function": functools.partial(loop),
    "a decorated function": functools.lru_cache(None)(lambda x: [number * 2 for number in x]),
}


def watch_call(function, *args, forbidden=(SDPA,)):
    """The driver's reply to one call, in which all steps are counted."""
    request = {
        "name": "answer", "args": [*map(encode, args)], "kwargs": {}, "weights": {},
        "build": None, "before": None, "training": False, "by_columns": False, "cotangents": None,
        "count_lines": True, "count_operations": True, "forbidden": list(forbidden),
        "max_steps": 1_000, "device": "cpu",
    }  # fmt: skip
    return drive({"answer": function}, request)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_takes_a_step_for_each_element(loop):
    numbers = tuple if "decorated" in loop else list
    # the first call of a kind may have torch load more
    _, short_reply, long_reply = (
        watch_call(LOOPS[loop], numbers(0.5 + i for i in range(n))) for n in (10, 11, 60)
    )
    for reply in (short_reply, long_reply):
        assert reply["outcome"] == "returned", reply["error"]
    assert long_reply["steps"] - short_reply["steps"] >= 49


def test_whole_tensors_take_as_many_steps_whatever_their_size():
    def answer(x):
        return (x @ x.mT).softmax(-1) @ x

    replies = [watch_call(answer, torch.ones(n, 4)) for n in (10, 11, 60)]
    assert replies[1]["steps"] == replies[2]["steps"]


def test_the_lines_of_a_library_and_of_a_module_that_is_loaded_do_not_count(tmp_path, monkeypatch):
    (tmp_path / "loaded_late.py").write_text("for number in range(500):\n    number\n")
    monkeypatch.syspath_prepend(tmp_path)

    def answer():
        importlib.import_module("loaded_late")
        return torch.nn.Linear(3, 3)(torch.ones(2, 3)).detach()

    reply = watch_call(answer)
    assert reply["outcome"] == "returned" and reply["steps"] < 50, reply


def attend_by_module(x):
    heads = torch.nn.MultiheadAttention(2, 1, batch_first=True).double()
    return heads(x[None], x[None], x[None])[0]


CALLS = {
    "by its module": lambda x: F.scaled_dot_product_attention(x, x, x),
    "by its full name": lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x),
    "by another name": lambda x: attend_by_another_name(x, x, x),
    "by map": lambda x: [*map(F.scaled_dot_product_attention, [x], [x], [x])],
    "by vmap": lambda x: torch.vmap(F.scaled_dot_product_attention)(x[None], x[None], x[None]),
    "by getattr": lambda x: getattr(F, SDPA)(x, x, x),
    "by torch's own module": attend_by_module,
    "by an encoder": lambda x: torch.nn.TransformerEncoderLayer(2, 1, batch_first=True)(
        x.float()[None]
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_of_torch_s_attention_is_stopped(call):
    forbidden = COURSE.forbidden(exercise("distance_attention"))
    reply = watch_call(CALLS[call], torch.eye(2, dtype=torch.float64), forbidden=forbidden)
    assert reply["outcome"] == "forbidden" and "ttention" in reply["called"], reply["error"]


def test_what_torch_s_linear_algebra_has_is_known_by_its_plain_name():
    reply = watch_call(lambda x: torch.linalg.svd(x), torch.eye(2), forbidden=("svd",))
    assert (reply["outcome"], reply["called"]) == ("forbidden", "linalg_svd")
    norm_reply = watch_call(
        lambda x: torch.linalg.matrix_norm(x, 2), torch.eye(2), forbidden=("svd",)
    )
    assert norm_reply["outcome"] == "returned"


def test_a_forbidden_call_that_is_caught_is_seen_and_earns_no_part_of_the_points():
    task = exercise("shared_heads_attention")

    def answer(q, k, v, mask=None):
        try:
            F.scaled_dot_product_attention(v, v, v)
        except BaseException:
            pass
        return task.valid_answers[0](q, k, v, mask).detach()

    forbidden = COURSE.solving(task)
    verdict = judge(task, local(answer), 3, forbidden)
    assert verdict.status == "wrong" and "may not be called" in verdict.hint, verdict
    assert credit(task, local(answer), 3, forbidden) == NOTHING
    assert credit(task, local(answer), 3).share > 0


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


def test_an_answer_that_runs_away_is_called_once():
    task, calls = exercise("shared_heads_attention"), []

    def answer(q, k, v, mask=None):
        calls.append(q.shape)
        while True:
            pass

    assert judge(task, local(answer), 3).status == "too slow"
    assert len(calls) == 1


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


class Anything:
    """An answer of whose attributes none can be asked for."""

    def __getattr__(self, name):
        raise LookupError(name)

    def __call__(self, x):
        return x


def test_an_answer_may_be_anything_that_can_be_called():
    for answer in (Anything(), torch.exp, functools.partial(torch.exp), print):
        assert watch_call(answer, torch.ones(2))["outcome"] == "returned"
