"""Exercise relative_rows: which row of the table serves which pair, with a cache."""

import torch

from attncourse.course.relative.exercises.shared.rows import ROUNDED, WRONG, WRONG_WITH_A_CACHE
from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the positions: subtract all of them at once"
exercise = Exercise.read(__name__, differentiable=False, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


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


ROWS = "(offset.clamp(-reach, reach) + reach)"
variants.right(exercise,
    # query i sees m entries of the same line, each query from one place further to the left
    "line = torch.arange(1 - m, n, device=device).clamp(-reach, reach)\n"
    "return line.unfold(0, m, 1).flip(0) + reach",
    # each key beyond the left border and up to the right one adds a step
    "return (offset[..., None] >= torch.arange(1 - reach, reach + 1, device=device)).sum(-1)",
    "return torch.bucketize(offset, torch.arange(-reach, reach, device=device))",
    "offset = key.unsqueeze(0) - key[m - n :].unsqueeze(1)\n"
    "return torch.clip(offset + reach, min=0, max=2 * reach)",
    "return (key[None, :] - key[:, None]).clamp(-reach, reach)[m - n :] + reach",
    "clipped = offset.where(offset > -reach, -reach).minimum(key.new_tensor(reach))\n"
    "return clipped.add(reach).long()",
)  # fmt: skip
variants.wrong(exercise, WRONG)
variants.wrong(exercise, WRONG_WITH_A_CACHE)
variants.wrong(exercise, {
    "the reach is a fixed number: use the argument": "return offset.clamp(-3, 3) + 3",
    "rows and columns are swapped: a row is a query, a column a key": f"return {ROWS}.mT",
    "the shape is wrong: there should be a row for each query and a column for each key, (n, m)": [
        "query = torch.arange(m, device=device)", ("    key =", "    m = n\n    key =")],
    "these are floating-point numbers: a row number should be an int64": f"return {ROWS}.float()",
    "these are 32-bit integers: keep int64, torch.arange's own dtype, which some lookups ask for":
        f"return {ROWS}.int()",
    "8 or 16 bits do not hold the row numbers of a large table: keep int64 on the way, too": [
        *(f"return {ROWS}.to(torch.{small}).long()" for small in ("int8", "uint8", "int16")),
        *("offset = (key - query[:, None]).short()\n"
          "r = offset.new_tensor(reach, dtype=torch.int64).short()\n"
          f"return ({clipped} + r).long()"
          for clipped in ("torch.maximum(torch.minimum(offset, r), -r)", "offset.clamp(-r, r)"))],
    ROUNDED: [
        f"{step}.{half}().long()" for half in ("half", "bfloat16")
        for step in ("offset = (key - query[:, None])", f"return {ROWS}")],
    "the rows are cut from a table of a fixed size: make them for the n and m at hand":
        "key = query = torch.arange(128, device=device)\n"
        "offset = key - key[:, None]\n"
        f"return {ROWS}[m - n : m, :m]",
    "the argument device is not used: make every new tensor there": (every("=device)"), "=None)"),
    "the argument device is not used everywhere: make every new tensor there":
        "query = torch.arange(m - n, m)",
    "a reach of 0 is taken for none, as by `or`: it should give one row for all pairs":
        f"reach = reach or m\nreturn {ROWS}",
    "axes of length 1 are dropped: the result should always be (n, m)": f"return {ROWS}.squeeze()",
    LOOP: [
        "offset = torch.stack([key - one for one in query])",
        "table = [[j - i for j in range(m)] for i in query.tolist()]\n"
        "offset = torch.tensor(table, device=device)"],
})  # fmt: skip
