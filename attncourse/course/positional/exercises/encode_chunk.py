"""Exercise encode_chunk: the positions of a chunk that continues what a cache already holds."""

import torch

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

CHANGES = "you change the input: x + table makes a new tensor, but x += table doesn't"
SINGLE = "you compute in float32: stay in the dtype of x"
DOUBLE = (
    "the result is always float64: give rates the dtype of x, even if you keep them from an "
    "earlier call"
)
exercise = Exercise.read(
    __name__,
    generic_hints={
        "always_float64": DOUBLE,
        "float32_inside": SINGLE,
        "changes_its_input": CHANGES,
        "loops": "you loop over the tokens: one table can serve all of them",
    },
)
exercise.stub(variants.stub(exercise))


@exercise.reference
def by_hand(x, start):
    n, d = x.shape[-2:]
    positions = torch.arange(start, start + n, dtype=x.dtype)
    columns = []
    for column in range(d):
        angle = positions * 10000 ** (-(column - column % 2) / d)
        columns.append(angle.cos() if column % 2 else angle.sin())
    return x + torch.stack(columns, dim=-1).to(x.device)


@exercise.cases
def cases(draw):
    n, d = draw.integer(3, 4), 2 * draw.integer(3, 4)
    # more than n behind it, and no multiple of n, so that no other reading of start fits
    start = 2 * n + 1
    x = draw.normal(2, n, d)
    # a table of all positions may be made, so the rows of the longer chunk are nearly all of it
    yield Case(f"{n} tokens from {start}, d={d}", (x, start), longer=(x.repeat(1, 16, 1), start))
    yield Case(f"one sequence without a batch, {n} tokens from {start}", (x[0], start))
    yield Case(f"two leading axes, {n} tokens from {start}", (draw.normal(3, 2, n, d), start))
    yield Case(f"the first chunk, {n} tokens from 0", (x, 0))
    yield Case(f"{n} tokens from 1", (x, 1))
    yield Case(f"{n} tokens from {n}, the second chunk", (x, n))
    yield Case(f"one token at {start}", (x[:, :1], start))
    yield Case(f"an odd width, {n} tokens from {start}", (x[..., 1:], start))
    yield Case(f"{n} tokens from 20000", (x, 20000))


@exercise.valid
def plain(x, start):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype, device=x.device) + start
    even = torch.arange(0, d, 2, dtype=x.dtype, device=x.device)
    angles = positions[:, None] * 10000 ** -(even / d)
    rows = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
    return x + rows[:, :d]


@exercise.valid
def filled_up_in_front(x, start):
    behind = x.new_zeros(*x.shape[:-2], start, x.shape[-1])
    return plain(torch.cat([behind, x], dim=-2), 0)[..., start:, :]


ALL = ("torch.arange(n,", "torch.arange(start + n,", " + start", "")
CUT, PAIR, JOIN = "rows[:, :d]", "[angles.sin(), angles.cos()]", ", -1).flatten(-2)"
variants.right(exercise,
    (*ALL, CUT, "rows[start : start + n, :d]"), (*ALL, CUT, "rows[-n:, :d]"),
    # the table turned by start
    (" + start", "", "    rows", "    turn = start * 10000 ** -(even / d)\n    rows",
     PAIR, "[angles.sin() * turn.cos() + angles.cos() * turn.sin(), "
     "angles.cos() * turn.cos() - angles.sin() * turn.sin()]"),
)  # fmt: skip

variants.wrong(exercise, {
    "start is subtracted: the positions should begin at start and go up": ("+ start", "- start"),
    "the chunk begins one position too late: its first token should be at position start": (
        "+ start", "+ start + 1"),
    "the chunk begins one position too early: its first token should be at position start": (
        "+ start", "+ start - 1"),
    "the chunk ends just before start: it should begin there": ("+ start", "+ start - n"),
    "you cut too few rows out of the table: take n of them, from row start on": (
        *ALL, CUT, "rows[start:n, :d]"),
    "the positions run from start to n, but n is the number of tokens: they should end before "
    "start + n": (
        "arange(n,", "arange(start, n,", " + start", ""),
    "the positions go up to start + n: the last one should be start + n - 1, in steps of 1": (
        "arange(n,", "linspace(0, n, n,"),
    "a chunk that starts at 0 gets no encoding: encode its positions as well": (
        "return x", "return x if start == 0 else x"),
    "start is added twice: add it once": ("+ start", "+ 2 * start"),
    "you add all rows of the table: add only those of the chunk": ALL,
    "start is multiplied by n, as if it counted chunks: it is a position, so it counts tokens": (
        "+ start", "+ start * n"),
    "the positions run backwards: they should go up from start": (
        "torch.arange(n,", "-torch.arange(n,"),
    "all tokens of the chunk get the same position: the positions should go up from start": (
        "torch.arange(n,", "0 * torch.arange(n,"),
    "the positions are multiplied by start: add start to them instead": ("+ start", "* start"),
    "start is added to the angles: add it to the positions, before you multiply them by the "
    "frequencies": (
        " + start", "", "-(even / d)", "-(even / d) + start"),
    "start is only a lower bound for the positions: the first token should be at position start, "
    "and the next at start + 1": (
        " + start", ".clamp(min=start)"),
    "start is added to the vectors: add it to the positions, before you take sines and cosines": (
        " + start", "", "return x", "return x + start"),
    "you return the encoding alone: add it to x": (
        "x + rows", "0 * x + rows"),
    "you scale x before you add the encoding: leave x as it is, as the given code does": (
        "x + rows", "x * d**0.5 + rows"),
    "the table has a fixed number of rows: make it work for a chunk that begins beyond them, too": (
        "arange(n,", "arange(4096,", " + start", "", CUT, "rows[start : start + n, :d]"),
    "the positions start again at 0 after a fixed number: let them go on, because a chunk may "
    "begin at any position": (
        "[:, None]", "[:, None] % 512"),
    "sine and cosine are now swapped: the given formula was right, so leave it as it was": (
        PAIR, "[angles.cos(), angles.sin()]"),
    "sines and cosines no longer alternate: the given formula was right, so leave it as it was": (
        f"torch.stack({PAIR}{JOIN}", f"torch.cat({PAIR}, -1)"),
    "the exponent has changed: the given formula was right, so leave it as it was": [
        ("even / d", "2 * even / d"), ("even / d", "even / (2 * d)")],
    "an odd width goes wrong: keep the step that cuts the table to d columns": (CUT, "rows"),
    "you take n from the second axis: take it from the last axis but one, shape[-2]": (
        "x.shape[-2:]", "x.shape[1], x.shape[-1]"),
    CHANGES: ("return x + rows[:, :d]", "x += rows[:, :d]\n    return x"),
    SINGLE: [(every("dtype=x.dtype"), "dtype=torch.float32"), (CUT, f"{CUT}.float()")],
    DOUBLE: ("even = torch.arange(0, d, 2, dtype=x.dtype, device=x.device)",
             "even = torch.arange(0, d, 2, dtype=torch.float64)"),
})  # fmt: skip
variants.wrong(
    exercise,
    {
        "you return the whole table: return only the rows of the chunk": (
            "[..., start:, :]",
            "",
        )
    },
    of=filled_up_in_front,
)
