"""Exercise relative_rows: which row of the table serves which pair, with a cache."""

import torch

from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.relative.shared.rows import add_to, offsets, rows

exercise = Exercise(
    name="relative_rows",
    chapter="relative",
    title="Which row for which pair?",
    kind="build",
    difficulty=1,
    minutes=15,
    points=10,
    hints=(
        "First find the offset of every pair, the position of the key minus that of the query. "
        "Then clip it, then make it a row: the row of offset -reach is 0.",
        "The keys stand at 0 to m - 1, the queries at m - n to m - 1. A row of key positions minus "
        "a column of query positions is an (n, m) matrix; clamp knows both bounds.",
        "torch.arange(m - n, m, device=device)[:, None] is the column of queries; after "
        ".clamp(-reach, reach) only the shift by reach is missing.",
    ),
    differentiable=False,
)


@exercise.reference
def by_hand(n, m, reach, device=None):
    table = [[max(-reach, min(reach, j - (m - n + i))) + reach for j in range(m)] for i in range(n)]
    return torch.tensor(table, dtype=torch.int64, device=device)


@exercise.cases
def cases(draw):
    reach = draw.integer(2, 3)
    n = 2 * reach + draw.integer(2, 3)
    m = n + draw.integer(2, 4)
    yield Case(f"n={n}, m={m}, reach={reach}", (n, m, reach), longer=(40, 50, reach))
    yield Case(f"no cache, n=m={n}, reach={reach}", (n, n, reach))
    yield Case("n=m=10, reach=3", (10, 10, 3))
    yield Case(f"one query at the end of m={m}, reach={reach}", (1, m, reach))
    yield Case(f"n={n}, m={m}, reach=1", (n, m, 1))
    yield Case(f"n={n}, m={m}, reach=0", (n, m, 0))
    yield Case(f"n={n}, m={m}, reach={m + 2}", (n, m, m + 2))
    yield Case(f"n={n}, m={m}, reach={m - 1}", (n, m, m - 1))
    yield Case("n=m=1, reach=4", (1, 1, 4))
    yield Case("n=2, m=320, reach=140", (2, 320, 140))
    yield Case("n=2, m=400, reach=300", (2, 400, 300))
    yield Case("device='meta'", (n, m, reach), {"device": "meta"})


@exercise.valid
def column_from_row(n, m, reach, device=None):
    return rows(n, m, reach, device)


@exercise.valid
def shifted_then_clipped_from_0(n, m, reach, device=None):
    j = torch.arange(m, device=device)
    return torch.clip(j.unsqueeze(0) - j[m - n :].unsqueeze(1) + reach, min=0, max=2 * reach)


@exercise.valid
def last_rows_of_the_square_table(n, m, reach, device=None):
    j = torch.arange(m, device=device)
    return (j[None, :] - j[:, None]).clamp(-reach, reach)[m - n :] + reach


@exercise.valid
def windows_of_one_line(n, m, reach, device=None):
    # query i sees m entries of the same line, each query from one place further to the left
    line = torch.arange(-(m - 1), n, device=device).clamp(-reach, reach) + reach
    return line.unfold(0, m, 1).flip(0)


@exercise.valid
def counted_by_steps(n, m, reach, device=None):
    # each key beyond the left border and up to the right one adds a step
    steps = torch.arange(1 - reach, reach + 1, device=device)
    return (offsets(n, m, device)[..., None] >= steps).sum(-1)


@exercise.valid
def by_bucketize(n, m, reach, device=None):
    j = torch.arange(m, device=device)
    borders = torch.arange(-reach, reach, device=device)
    return torch.bucketize(j - j[-n:, None], borders)


@exercise.valid
def two_minima(n, m, reach, device=None):
    offset = offsets(n, m, device)
    left = torch.where(offset < -reach, -reach, offset)
    return torch.where(left > reach, reach, left).add(reach).long()


add_to(exercise, lambda way: way, cached=True)


@exercise.mutant("the reach is a fixed number: it is an argument")
def reach_of_the_example(n, m, reach, device=None):
    return rows(n, m, 3, device)


@exercise.mutant("rows and columns are exchanged: a row is a query, a column a key")
def transposed(n, m, reach, device=None):
    return rows(n, m, reach, device).mT


@exercise.mutant("there is one row for each query and one column for each key: (n, m)")
def square(n, m, reach, device=None):
    return rows(m, m, reach, device)


@exercise.mutant("there is one row for each query and one column for each key: (n, m)")
def new_keys_only(n, m, reach, device=None):
    return rows(n, n, reach, device)


@exercise.mutant("these are floating numbers: a row number is an int64")
def floating(n, m, reach, device=None):
    return rows(n, m, reach, device).float()


@exercise.mutant("these are 32 bit numbers: some lookups ask for int64, torch.arange's own dtype")
def of_32_bits(n, m, reach, device=None):
    return rows(n, m, reach, device).int()


@exercise.mutant("8 bits do not hold the row numbers of a large table: keep int64 on the way, too")
def of_8_bits_inside(n, m, reach, device=None):
    return rows(n, m, reach, device).to(torch.int8).long()


@exercise.mutant("8 bits do not hold the row numbers of a large table: keep int64 on the way, too")
def of_8_bits_without_a_sign(n, m, reach, device=None):
    return rows(n, m, reach, device).to(torch.uint8).long()


@exercise.mutant("the rows are cut from a table of a fixed size: make them for the n and m at hand")
def table_of_a_fixed_size(n, m, reach, device=None):
    return rows(128, 128, reach, device)[m - n : m, :m]


@exercise.mutant("the argument device is not used: make every new tensor there")
def device_ignored(n, m, reach, device=None):
    return rows(n, m, reach)


@exercise.mutant("the argument device is not used everywhere: make every new tensor there")
def device_half_used(n, m, reach, device=None):
    j = torch.arange(m, device=device)
    return (j - torch.arange(m - n, m)[:, None]).clamp(-reach, reach) + reach


@exercise.mutant("a reach of 0 is a reach, with one row for all pairs: `or` takes it for none")
def reach_or_the_length(n, m, reach, device=None):
    return rows(n, m, reach or m, device)


@exercise.mutant("axes of length 1 are dropped: the result is always (n, m)")
def squeezed(n, m, reach, device=None):
    return rows(n, m, reach, device).squeeze()


LOOP = "it loops over the positions: subtract all of them at once"


@exercise.mutant(LOOP)
def loop_over_queries(n, m, reach, device=None):
    made = [torch.arange(m, device=device) - i for i in range(m - n, m)]
    return torch.stack(made).clamp(-reach, reach) + reach


@exercise.mutant(LOOP)
def loop_in_one_line(n, m, reach, device=None):
    made = torch.tensor([list(range(-i, m - i)) for i in range(m - n, m)], device=device)
    return made.clamp(-reach, reach) + reach


@exercise.mutant(LOOP)
def loop_over_pairs(n, m, reach, device=None):
    table = torch.zeros(n, m, dtype=torch.int64, device=device)
    for i in range(n):
        for j in range(m):
            table[i, j] = max(-reach, min(reach, j - i - m + n)) + reach
    return table
