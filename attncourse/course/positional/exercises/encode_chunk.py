"""Exercise encode_chunk: the positions of a chunk that continues what a cache already holds."""

import torch

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

CHANGES = "the input changes: x + table makes a new tensor, x += table does not"
SINGLE = "you compute in float32: stay in the dtype of x"
DOUBLE = "the result is always float64: give rates, even kept from an earlier call, the dtype of x"
exercise = Exercise.read(
    __name__,
    generic_hints={
        "always_float64": DOUBLE,
        "float32_inside": SINGLE,
        "changes_its_input": CHANGES,
        "loops": "it loops over the tokens: one table serves all of them",
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
    "start is subtracted: the positions should begin at start, and grow": ("+ start", "- start"),
    "the chunk begins one position too late: its first token should stand at start": (
        "+ start", "+ start + 1"),
    "the chunk begins one position too early: its first token should stand at start": (
        "+ start", "+ start - 1"),
    "the chunk ends at start: it should begin there": ("+ start", "+ start - n"),
    "too few rows are cut out: take those from start to start + n, n of them": (
        *ALL, CUT, "rows[start:n, :d]"),
    "the positions run from start to n, which counts tokens: they should end at start + n": (
        "arange(n,", "arange(start, n,", " + start", ""),
    "the positions reach start + n: the last should be one less, in steps of 1": (
        "arange(n,", "linspace(0, n, n,"),
    "a chunk that starts at 0 gets no encoding: position 0 should get one, too": (
        "return x", "return x if start == 0 else x"),
    "start is added twice: once is enough": ("+ start", "+ 2 * start"),
    "all rows of the table are added: add only those of the chunk": ALL,
    "start is taken to count chunks: it is a position, so it counts tokens": (
        "+ start", "+ start * n"),
    "the positions run backwards: they should go up from start": (
        "torch.arange(n,", "-torch.arange(n,"),
    "all tokens of the chunk have the same position: they should go up from start": (
        "torch.arange(n,", "0 * torch.arange(n,"),
    "start multiplies the positions: add it to them": ("+ start", "* start"),
    "start is added to the angles: add it to the positions, before the frequencies multiply them": (
        " + start", "", "-(even / d)", "-(even / d) + start"),
    "start is a lower bound here: the first token should stand at start, the next at start + 1": (
        " + start", ".clamp(min=start)"),
    "start is added to the vectors: add it to the positions, before the sines": (
        " + start", "", "return x", "return x + start"),
    "the vectors of the tokens are missing: add the encoding to x": (
        "x + rows", "0 * x + rows"),
    "x is scaled on the way: add the encoding to x as it is, as the given code does": (
        "x + rows", "x * d**0.5 + rows"),
    "the table has a fixed number of rows: a chunk may begin anywhere": (
        "arange(n,", "arange(4096,", " + start", "", CUT, "rows[start : start + n, :d]"),
    "a position beyond a fixed number gets another's row: a chunk may begin anywhere": (
        "[:, None]", "[:, None] % 512"),
    "sine and cosine are swapped now: they were right, leave the formula as it is": (
        PAIR, "[angles.cos(), angles.sin()]"),
    "sines and cosines no longer alternate: they did, leave the formula as it is": (
        f"torch.stack({PAIR}{JOIN}", f"torch.cat({PAIR}, -1)"),
    "the exponent has changed: it was right, leave the formula as it is": [
        ("even / d", "2 * even / d"), ("even / d", "even / (2 * d)")],
    "an odd width goes wrong: keep the cut to d columns": (CUT, "rows"),
    "n is taken from the front: the length is the last axis but one, shape[-2]": (
        "x.shape[-2:]", "x.shape[1], x.shape[-1]"),
    CHANGES: ("return x + rows[:, :d]", "x += rows[:, :d]\n    return x"),
    SINGLE: [(every("dtype=x.dtype"), "dtype=torch.float32"), (CUT, f"{CUT}.float()")],
    DOUBLE: ("even = torch.arange(0, d, 2, dtype=x.dtype, device=x.device)",
             "even = torch.arange(0, d, 2, dtype=torch.float64)"),
})  # fmt: skip
variants.wrong(
    exercise,
    {
        "the whole table comes back: return only the rows of the chunk": (
            "[..., start:, :]",
            "",
        )
    },
    of=filled_up_in_front,
)
