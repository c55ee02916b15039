"""Answers of all kinds: any callable is judged, and everything else is told so in one line.

The inputs are new at each run; ATTNCOURSE_SEED=<number> draws those of an earlier one again.
"""

import functools
import os
import secrets

import pytest
import torch
from torch import Tensor, nn

from attncourse.course import exercise
from judge.notebook import report
from judge.verdict import judge, local

SEED = int(os.environ.get("ATTNCOURSE_SEED") or secrets.randbits(31))


def prefix_mask(n, prefix, place=None):
    position = torch.arange(n, device=place)
    return (position <= position[:, None]) | (position < prefix)


def pool(x: Tensor, query: Tensor, lengths: Tensor):
    """A right answer to attention_pool, which torch.jit can read."""
    scores = (x * query).sum(-1) / query.shape[-1] ** 0.5
    words = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    weights = scores.masked_fill(~words, -float("inf")).softmax(-1).masked_fill(~words, 0.0)
    return (weights[..., None] * x).sum(-2)


def pool_words(words, x, query, lengths):
    return pool(x, query, lengths)


class Pool:
    def method(self, x, query, lengths):
        return pool(x, query, lengths)

    @staticmethod
    def static(x, query, lengths):
        return pool(x, query, lengths)

    __call__ = method


class Layer(nn.Module):
    def forward(self, x, query, lengths):
        return pool(x, query, lengths)


class AsAClass:
    def __init__(self, x, query, lengths):
        self.result = pool(x, query, lengths)


def pool_generator(x, query, lengths):
    yield pool(x, query, lengths)


async def pool_async(x, query, lengths):
    return pool(x, query, lengths)


def yielding_test(attention):
    yield attention


def compile_late(x, query, lengths):
    return torch.compile(pool)(x, query, lengths)


def make_compiled_call():
    inner = torch.compile(pool)
    return lambda x, query, lengths: inner(x, query, lengths)


def script_pool():
    # torch says that it is deprecated, and learners use it
    with pytest.warns(DeprecationWarning):
        return torch.jit.script(pool)


CALLABLE = {
    "a function": lambda: pool,
    "a lambda": lambda: lambda x, query, lengths: pool(x, query, lengths),
    "other names": lambda: lambda a, b, c: pool(a, b, c),
    "any arguments": lambda: lambda *arguments: pool(*arguments),
    "a default more": lambda: lambda x, query, lengths, scale=1: pool(x, query, lengths),
    "a partial": lambda: functools.partial(pool_words, None),
    "a wrapped function": lambda: functools.wraps(pool)(lambda *arguments: pool(*arguments)),
    "a bound method": lambda: Pool().method,
    "a static method": lambda: Pool.static,
    "an object": Pool,
    "a module": Layer,
    "a compiled function": lambda: torch.compile(pool),
    "a compiled module": lambda: torch.compile(Layer()),
    "compiled when it is called": lambda: compile_late,
    "a call of a compiled function": make_compiled_call,
    "torch.jit": script_pool,
}


@pytest.mark.parametrize("make", CALLABLE.values(), ids=CALLABLE)
def test_whatever_can_be_called_as_asked_is_judged(make):
    answer = make()
    assert judge(exercise("attention_pool"), local(answer), SEED).status == "passed"


SHOULD_BE = (
    "error: `attention_pool` should be a function that is called with (x, query, lengths), but"
)
FUNCTION_CALL = "error: `attention_pool` is called with (x, query, lengths): "
SHOULD_BE_CLASS = "wrong: your answer should be a class that derives from torch.nn.Module"
CLASS_CALL = "error: `GatedCell` is made with (d, h): "
MODULE_CALL = "error: `GatedCell` is called with (x, state): "


class NoState(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        for name, shape in (("weight_ih", (3 * h, d)), ("weight_hh", (3 * h, h))):
            setattr(self, name, nn.Parameter(torch.zeros(shape)))
        for name in ("bias_ih", "bias_hh"):
            setattr(self, name, nn.Parameter(torch.zeros(3 * h)))

    def forward(self, x):
        return x


class NoSizes(nn.Module):
    def __init__(self):
        super().__init__()


MISFITS = {
    "None": ("attention_pool", None, f"{SHOULD_BE} is None"),
    "text": ("attention_pool", "pooled", f"{SHOULD_BE} is a str"),
    "a number": ("attention_pool", 3, f"{SHOULD_BE} is an int"),
    "a result": ("attention_pool", torch.ones(2), f"{SHOULD_BE} is a Tensor"),
    "a class of no arguments": ("attention_pool", Pool, f"{SHOULD_BE} is a class"),
    "a module's class": ("attention_pool", Layer, f"{SHOULD_BE} is a class"),
    "a class": (
        "attention_pool",
        type("attention_pool", (AsAClass,), {}),
        "error: `attention_pool` should be a function, but is a class",
    ),
    "a generator": (
        "attention_pool", pool_generator,
        "wrong: your function yields its result: return it instead",
    ),
    "async": ("attention_pool", pool_async, "wrong: your function is async: write a plain def"),
    "a function of none": (
        "attention_pool", lambda: pool,
        f"{FUNCTION_CALL}“<lambda>() takes 0 positional arguments but 3 were given”",
    ),
    "a function that makes one": (
        "attention_pool", lambda *arguments: lambda: pool(*arguments),
        "wrong: your code returns a function: call it, and return its result",
    ),
    "too few": (
        "attention_pool", lambda x, query: x,
        f"{FUNCTION_CALL}“<lambda>() takes 2 positional arguments but 3 were given”",
    ),
    "too many": (
        "attention_pool", pool_words,
        f"{FUNCTION_CALL}“pool_words() missing 1 required positional argument: 'lengths'”",
    ),
    "only by name": (
        "attention_pool", lambda *, x, query, lengths: x,
        f"{FUNCTION_CALL}“<lambda>() takes 0 positional arguments but 3 were given”",
    ),
    "a method that is not bound": (
        "attention_pool", Pool.method,
        f"{FUNCTION_CALL}“Pool.method() missing 1 required positional argument: 'lengths'”",
    ),
    "a partial that gives one twice": (
        "attention_pool", functools.partial(pool, x=None),
        f"{FUNCTION_CALL}“pool() got multiple values for argument 'x'”",
    ),
    "a name that is not known": (
        "prefix_mask", prefix_mask,
        "error: `prefix_mask` is called with (n, prefix, device=...): "
        "“prefix_mask() got an unexpected keyword argument 'device'”",
    ),
    "no test, but None": (
        "test_attention", None,
        "error: `test_attention` should be a function that is called with (attention), but is None",
    ),
    "no test, but a class": (
        "test_attention", Pool,
        "error: `test_attention` should be a function that is called with (attention), "
        "but is a class",
    ),
    "a test of two": (
        "test_attention", lambda attention, mask: None,
        "error: `test_attention` is called with (attention): "
        "“<lambda>() missing 1 required positional argument: 'mask'”",
    ),
    "a test that yields": (
        "test_attention", yielding_test,
        "wrong: your function yields its result: return it instead",
    ),
    "no class, but None": ("GatedCell", None, SHOULD_BE_CLASS),
    "no class, but text": ("GatedCell", "GatedCell", SHOULD_BE_CLASS),
    "no class, but a function": ("GatedCell", pool, SHOULD_BE_CLASS),
    "no class, but a partial": ("GatedCell", functools.partial(nn.GRUCell, 3), SHOULD_BE_CLASS),
    "a class, but no module": ("GatedCell", Pool, SHOULD_BE_CLASS),
    "a module, but no class": (
        "GatedCell", Layer(),
        "wrong: your answer should be the class itself, not a module made from it",
    ),
    "a class without sizes": (
        "GatedCell", NoSizes,
        f"{CLASS_CALL}“NoSizes.__init__() takes 1 positional argument but 3 were given”",
    ),
    "a call without the state": (
        "GatedCell", NoState,
        f"{MODULE_CALL}“NoState.forward() takes 2 positional arguments but 3 were given”",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "expected"), MISFITS.values(), ids=MISFITS)
def test_what_cannot_be_called_as_asked_is_told_so_in_one_line(name, answer, expected):
    printed = report(name, judge(exercise(name), local(answer), SEED), SEED)
    assert printed.splitlines()[0] == f"{name}: {expected}"
