"""Exercise encode_chunk: the positions of a chunk that continues what a cache already holds."""

from functools import lru_cache

import torch

from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.positional.shared.waves import exponents, halves, interleaved, swapped, waves

exercise = Exercise(
    name="encode_chunk",
    chapter="positional",
    title="Every chunk begins at zero",
    kind="debug",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "Encode eight tokens at once, then the same tokens as two chunks of four, with start 0 and "
        "4. From which token on do the results differ?",
        "The table has a row for every position up to the end of the chunk, which is right. Then "
        "rows are cut from it, and they are not those of the chunk: the first is at `start`.",
        "table[start:] has exactly the n rows from start on; table[:n] has the first n",
    ),
)


@exercise.stub
def encode_chunk(x, start):
    n, d = x.shape[-2:]
    positions = torch.arange(start + n, dtype=x.dtype, device=x.device)
    rates = 10000 ** (-torch.arange(0, d, 2, dtype=x.dtype, device=x.device) / d)
    angles = positions[:, None] * rates
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d]
    return x + table[:n]


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


def chunk(x, start):
    """The positions of the chunk."""
    return torch.arange(x.shape[-2], dtype=x.dtype, device=x.device) + start


def encode(x, start=0, *, positions=None, **parts):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    positions = chunk(x, start) if positions is None else positions
    return x + waves(positions, x.shape[-1], **parts)


@exercise.valid
def positions_from_start_on(x, start):
    return encode(x, start)


@exercise.valid
def rows_cut_from_a_longer_table(x, start):
    n, d = x.shape[-2:]
    table = waves(torch.arange(start + n, dtype=x.dtype, device=x.device), d)
    return x + table[start : start + n]


@exercise.valid
def last_rows_of_the_table(x, start):
    n, d = x.shape[-2:]
    table = waves(torch.arange(start + n, dtype=x.dtype, device=x.device), d)
    return table[-n:] + x


@exercise.valid
def filled_up_in_front(x, start):
    behind = x.new_zeros(*x.shape[:-2], start, x.shape[-1])
    return encode(torch.cat([behind, x], dim=-2))[..., start:, :]


@exercise.valid
def table_turned_by_start(x, start):
    angles = chunk(x, 0)[:, None] * 10000 ** -exponents(x, x.shape[-1])
    moved = start * 10000 ** -exponents(x, x.shape[-1])
    sines = angles.sin() * moved.cos() + angles.cos() * moved.sin()
    cosines = angles.cos() * moved.cos() - angles.sin() * moved.sin()
    return x + interleaved(sines, cosines)[:, : x.shape[-1]]


@exercise.mutant("the chunk begins one position too late: its first token stands at start")
def one_too_late(x, start):
    return encode(x, start + 1)


@exercise.mutant("the chunk begins one position too early: its first token stands at start")
def one_too_early(x, start):
    return encode(x, start - 1)


@exercise.mutant("the chunk ends at start: it begins there")
def ends_at_start(x, start):
    return encode(x, start - x.shape[-2])


@exercise.mutant(
    "the table has too few rows there: let the positions begin at start, or cut the rows from "
    "start to start + n, not both"
)
def slice_to_n(x, start):
    n, d = x.shape[-2:]
    return x + waves(torch.arange(start + n, dtype=x.dtype, device=x.device), d)[start:n]


@exercise.mutant(
    "the positions run from start to n, and n is a number of tokens: they end at start + n"
)
def positions_to_n(x, start):
    positions = torch.arange(start, x.shape[-2], dtype=x.dtype, device=x.device)
    return encode(x, positions=positions)


@exercise.mutant("the positions reach start + n: the last is one less, in steps of 1")
def positions_up_to_start_plus_n(x, start):
    n = x.shape[-2]
    positions = torch.linspace(start, start + n, n, dtype=x.dtype, device=x.device)
    return encode(x, positions=positions)


@exercise.mutant("start is added twice: once is enough")
def start_added_twice(x, start):
    return encode(x, start + start)


@exercise.mutant("all rows of the table are added: only those of the chunk belong to x")
def whole_table_added(x, start):
    return encode(x, positions=torch.arange(start + x.shape[-2], dtype=x.dtype, device=x.device))


@exercise.mutant("start is counted in chunks: it is a position, counted in tokens")
def start_counted_in_chunks(x, start):
    return encode(x, start * x.shape[-2])


@exercise.mutant("the order of the positions is turned round: they go up from start")
def positions_going_down(x, start):
    return encode(x, positions=start - chunk(x, 0))


@exercise.mutant("all tokens of the chunk have the same position: they go up from start")
def one_position_for_all(x, start):
    return encode(x, positions=0 * chunk(x, 0) + start)


@exercise.mutant("start multiplies the positions: it is added to them")
def start_as_a_step(x, start):
    return encode(x, positions=chunk(x, 0) * start)


@exercise.mutant("start is added to the vectors: it belongs to the positions, before the sines")
def start_added_to_the_vectors(x, start):
    return encode(x) + start


@exercise.mutant("the whole table comes back: only the rows of the chunk are asked for")
def whole_table(x, start):
    behind = x.new_zeros(*x.shape[:-2], start, x.shape[-1])
    return encode(torch.cat([behind, x], dim=-2))


@exercise.mutant("the vectors of the tokens are missing: the encoding is added to x")
def encoding_only(x, start):
    return encode(x, start) - x


@exercise.mutant("x is scaled on the way: the given code adds the encoding to x as it is")
def x_scaled_by_the_root(x, start):
    return encode(x * x.shape[-1] ** 0.5, start)


@exercise.mutant("the table has a fixed number of rows: a chunk may begin anywhere")
def table_of_a_fixed_size(x, start):
    n, d = x.shape[-2:]
    return x + waves(torch.arange(4096, dtype=x.dtype, device=x.device), d)[start : start + n]


@exercise.mutant("a position beyond a fixed number gets another's row: a chunk may begin anywhere")
def positions_wrapped_round(x, start):
    return encode(x, positions=chunk(x, start) % 512)


@exercise.mutant("sine and cosine are exchanged now: they were right, leave the formula as it is")
def sine_and_cosine_swapped(x, start):
    return encode(x, start, join=swapped)


@exercise.mutant("sines and cosines no longer alternate: they did, leave the formula as it is")
def sines_then_cosines(x, start):
    return encode(x, start, join=halves)


@exercise.mutant("the exponent is another one now: it was right, leave the formula as it is")
def exponent_doubled(x, start):
    return encode(x, start, powers=2 * exponents(x, x.shape[-1]))


@exercise.mutant("the exponent is another one now: it was right, leave the formula as it is")
def exponent_halved(x, start):
    return encode(x, start, powers=exponents(x, x.shape[-1]) / 2)


@exercise.mutant("an odd width goes wrong: keep the cut to d columns")
def cut_to_the_width_left_out(x, start):
    angles = chunk(x, start)[:, None] * 10000 ** -exponents(x, x.shape[-1])
    return x + interleaved(angles.sin(), angles.cos())


@exercise.mutant("it needs one batch axis: any leading axes, or none, should work")
def batch_axis_assumed(x, start):
    _, _, d = x.shape
    return x + waves(chunk(x, start), d)


@exercise.mutant("n is taken from the front: the length is the last axis but one, shape[-2]")
def length_counted_from_the_front(x, start):
    positions = torch.arange(x.shape[1], dtype=x.dtype, device=x.device) + start
    return encode(x, positions=positions)


@exercise.mutant("it loops over the tokens: one table serves all of them")
def loop_over_tokens(x, start):
    rows = []
    for i, row in enumerate(x.unbind(-2)):
        rows.append(encode(row[..., None, :], start + i))
    return torch.cat(rows, dim=-2)


@exercise.mutant("no gradient reaches x: nothing may be detached")
def detached(x, start):
    return encode(x.detach(), start)


@exercise.mutant("the input changes: x + table makes a new tensor, x += table does not")
def added_in_place(x, start):
    x += encode(x, start) - x
    return x


@exercise.mutant("you compute in float32: stay in the dtype of x")
def float32_inside(x, start):
    return x + waves(chunk(x, start).float(), x.shape[-1]).to(x.dtype)


DOUBLE = "the result is always float64: rates, kept from an earlier call or not, follow x's dtype"


@exercise.mutant(DOUBLE)
def always_float64(x, start):
    return encode(x, positions=chunk(x, start).double())


@lru_cache
def kept(d):
    return torch.arange(0, d, 2, dtype=torch.float64) / d


@exercise.mutant(DOUBLE)
def rates_kept_from_an_earlier_call(x, start):
    return encode(x, start, powers=kept(x.shape[-1]))


@exercise.mutant("the result is always float32: keep the dtype of x")
def always_float32(x, start):
    return encode(x.float(), start)


@exercise.mutant("a new tensor is made on the CPU: give it the device of x")
def positions_on_the_cpu(x, start):
    return encode(x, positions=torch.arange(start, start + x.shape[-2], dtype=x.dtype))
