"""Exercise encode_chunk: the positions of a chunk that continues what a cache already holds."""

import torch

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

CHANGES = "the input changes: x + table makes a new tensor, x += table does not"
SINGLE = "you compute in float32: stay in the dtype of x"
DOUBLE = "the result is always float64: rates, kept from an earlier call or not, follow x's dtype"
exercise = Exercise.read(
    __name__,
    usual_hints={
        "always_float64": DOUBLE,
        "float32_inside": SINGLE,
        "changes_its_input": CHANGES,
        "loops": "it loops over the tokens: one table serves all of them",
    },
    without={"axes_from_the_front": "the table has two axes, whatever x has in front"},
)
exercise.stub(variants.stub(exercise))
worked = exercise.valid(variants.worked(exercise))


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
def filled_up_in_front(x, start):
    behind = x.new_zeros(*x.shape[:-2], start, x.shape[-1])
    return worked(torch.cat([behind, x], dim=-2), 0)[..., start:, :]


variants.right(exercise,
    ("start, start + n", "start + n", "+ table", "+ table[start : start + n]"),
    ("start, start + n", "start + n", "+ table", "+ table[-n:]"),
    # the table turned by start
    "positions = torch.arange(n, dtype=x.dtype, device=x.device)\n"
    "turn = start * rates\n"
    "sine = angles.sin() * turn.cos() + angles.cos() * turn.sin()\n"
    "cosine = angles.cos() * turn.cos() - angles.sin() * turn.sin()\n"
    "table = torch.stack([sine, cosine], dim=-1).flatten(-2)[:, :d]",
)  # fmt: skip
variants.wrong(exercise, {
    "start is taken away: the positions begin at start, and grow": (
        "start, start + n", "-start, n - start"),
    "the chunk begins one position too late: its first token stands at start": (
        "start, start + n", "start + 1, start + n + 1"),
    "the chunk begins one position too early: its first token stands at start": (
        "start, start + n", "start - 1, start + n - 1"),
    "the chunk ends at start: it should begin there": ("start, start + n", "start - n, start"),
    "the table has too few rows there: it needs those from start to start + n, n of them": (
        "start, start + n", "start + n", "+ table", "+ table[start:n]"),
    "the positions run from start to n, and n is a number of tokens: they end at start + n": (
        "start, start + n", "start, n"),
    "the positions reach start + n: the last is one less, in steps of 1": (
        "arange(start, start + n,", "linspace(start, start + n, n,"),
    "a chunk that starts at 0 gets no encoding: position 0 has a row, too":
        "return x if start == 0 else x + table",
    "start is added twice: once is enough": ("start, start + n", "2 * start, 2 * start + n"),
    "all rows of the table are added: only those of the chunk belong to x": (
        "start, start + n", "start + n"),
    "start is counted in chunks: it is a position, counted in tokens": (
        "start, start + n", "start * n, start * n + n"),
    "the positions run backwards: they go up from start": (
        "start, start + n", "start, start - n, -1"),
    "all tokens of the chunk have the same position: they go up from start":
        "positions = torch.full((n,), start, dtype=x.dtype, device=x.device)",
    "start multiplies the positions: it is added to them":
        "positions = torch.arange(n, dtype=x.dtype, device=x.device) * start",
    "start is added to the angles: add it to the positions, before the frequencies multiply them": (
        "start, start + n", "n", "* rates", "* rates + start"),
    "start is a lower bound here: the first token stands at start, the next at start + 1":
        "positions = torch.arange(n, dtype=x.dtype, device=x.device).clamp(min=start)",
    "start is added to the vectors: it belongs to the positions, before the sines": (
        "start, start + n", "n", "+ table", "+ start + table"),
    "the vectors of the tokens are missing: the encoding is added to x": "return 0 * x + table",
    "x is scaled on the way: the given code adds the encoding to x as it is":
        "return x * d**0.5 + table",
    "the table has a fixed number of rows: a chunk may begin anywhere": (
        "start, start + n", "4096", "+ table", "+ table[start : start + n]"),
    "a position beyond a fixed number gets another's row: a chunk may begin anywhere":
        "angles = positions[:, None] % 512 * rates",
    "sine and cosine are exchanged now: they were right, leave the formula as it is": (
        "[angles.sin(), angles.cos()]", "[angles.cos(), angles.sin()]"),
    "sines and cosines no longer alternate: they did, leave the formula as it is":
        "table = torch.cat([angles.sin(), angles.cos()], dim=-1)[:, :d]",
    "the exponent has changed: it was right, leave the formula as it is": [
        ("/ d)", "* 2 / d)"), ("/ d)", "/ (2 * d))")],
    "an odd width goes wrong: keep the cut to d columns": ("[:, :d]", ""),
    "n is taken from the front: the length is the last axis but one, shape[-2]":
        "n, d = x.shape[1], x.shape[-1]",
    CHANGES: "x += table\nreturn x",
    SINGLE: [(every("dtype=x.dtype"), "dtype=torch.float32"), "return x + table.float()"],
    DOUBLE: ("2, dtype=x.dtype, device=x.device", "2, dtype=torch.float64"),
})  # fmt: skip
variants.wrong(exercise, {
    "the whole table comes back: only the rows of the chunk are asked for": (
        "[..., start:, :]", ""),
}, of=filled_up_in_front)  # fmt: skip
