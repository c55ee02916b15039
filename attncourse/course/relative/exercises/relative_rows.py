"""Exercise relative_rows: which row of the table serves which pair, with a cache."""

import torch

from attncourse.course.relative.exercises.shared.rows import (
    OFFSET,
    ROUNDED,
    WRONG,
    WRONG_WITH_A_CACHE,
    rows,
)
from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the positions: subtract all of them at once"
exercise = Exercise.read(__name__, differentiable=False, usual_hints={"loops": LOOP})


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
    yield Case("n=2, m=5, reach=40000", (2, 5, 40000))
    # numbers that half precision rounds, as positions, as offsets and as rows
    yield Case("n=2, m=4200, reach=2100", (2, 4200, 2100))
    yield Case("device='meta'", (n, m, reach), {"device": "meta"})


exercise.valid(rows)


RESULT = "offset.clamp(-reach, reach) + reach"
variants.right(exercise,
    # query i sees m entries of the same line, each query from one place further to the left
    (RESULT, "torch.arange(1 - m, n, device=device).clamp(-reach, reach).unfold(0, m, 1).flip(0) "
     "+ reach"),
    # each key beyond the left border and up to the right one adds a step
    (RESULT, "(offset[..., None] >= torch.arange(1 - reach, reach + 1, device=device)).sum(-1)"),
    (RESULT, "torch.bucketize(offset, torch.arange(-reach, reach, device=device))"),
    (RESULT, "torch.clip(j.unsqueeze(0) - j[m - n :].unsqueeze(1) + reach, min=0, max=2 * reach)"),
    (RESULT, "(j[None, :] - j[:, None]).clamp(-reach, reach)[m - n :] + reach"),
    (RESULT,
     "offset.where(offset > -reach, -reach).minimum(j.new_tensor(reach)).add(reach).long()"),
)  # fmt: skip
variants.wrong(exercise, WRONG)
variants.wrong(exercise, WRONG_WITH_A_CACHE)
variants.wrong(exercise, {
    "the reach is a fixed number: it is an argument": (RESULT, RESULT.replace("reach", "3")),
    "rows and columns are exchanged: a row is a query, a column a key": (RESULT, f"({RESULT}).mT"),
    "there is one row for each query and one column for each key: (n, m)": [
        ("m - n, m", "m"), ("    j, i", "    m = n\n    j, i")],
    "these are floating numbers: a row number is an int64": (RESULT, f"({RESULT}).float()"),
    "these are 32 bit numbers: some lookups ask for int64, torch.arange's own dtype": (
        RESULT, f"({RESULT}).int()"),
    "8 or 16 bits do not hold the row numbers of a large table: keep int64 on the way, too": [
        *((RESULT, f"({RESULT}).to(torch.{small}).long()") for small in ("int8", "uint8", "int16")),
        *((OFFSET, f"({OFFSET}).short()", RESULT, f"({clipped} + r).long()",
           "    return", "    r = offset.new_tensor(reach, dtype=torch.int64).short()\n    return")
          for clipped in ("torch.maximum(torch.minimum(offset, r), -r)", "offset.clamp(-r, r)"))],
    ROUNDED: [
        (OFFSET, f"({OFFSET}).half().long()"), (RESULT, f"({RESULT}).half().long()"),
        (OFFSET, f"({OFFSET}).bfloat16().long()"), (RESULT, f"({RESULT}).bfloat16().long()")],
    "the rows are cut from a table of a fixed size: make them for the n and m at hand": (
        "(m - n, m, ", "(128, ", "(m, ", "(128, ", RESULT, f"({RESULT})[m - n : m, :m]"),
    "the argument device is not used: make every new tensor there": (every("=device)"), "=None)"),
    "the argument device is not used everywhere: make every new tensor there": (
        "m - n, m, device=device", "m - n, m"),
    "a reach of 0 is a reach, with one row for all pairs: `or` takes it for none": (
        "    offset =", "    reach = reach or m\n    offset ="),
    "axes of length 1 are dropped: the result is always (n, m)": (RESULT, f"({RESULT}).squeeze()"),
    LOOP: [
        (OFFSET, "torch.stack([j - one for one in i])"),
        (OFFSET, "torch.tensor([[j - i for j in range(m)] for i in i.tolist()], device=device)")],
})  # fmt: skip
