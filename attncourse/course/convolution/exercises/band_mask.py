"""Exercise band_mask: which keys lie in the window of a query, with a cache."""

import torch

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the positions: compare all of them at once"
exercise = Exercise.read(__name__, differentiable=False, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(n, m, width, causal=False, device=None):
    mask = []
    for query in range(m - n, m):
        first = query - width + 1 if causal else query - width // 2
        window = range(first, first + width)
        mask.append([key in window for key in range(m)])
    return torch.tensor(mask, dtype=torch.bool, device=device)


@exercise.cases
def cases(draw):
    width = 2 * draw.integer(2, 3) + 1
    n = width + draw.integer(2, 4)
    m = n + draw.integer(2, 4)
    yield Case(f"n={n}, m={m}, width={width}", (n, m, width), longer=(50, 60, width))
    yield Case(f"n={n}, m={m}, width={width}, causal", (n, m, width, True))
    yield Case(f"no cache, n=m={n}, width={width}", (n, n, width))
    yield Case(f"no cache, n=m={n}, width={width}, causal", (n, n, width), {"causal": True})
    longer_even = Case("", (60, 66, 4, True))
    yield Case(f"n={n}, m={m}, an even width of 4, causal", (n, m, 4, True), longer=longer_even)
    yield Case(f"one query at the end of m={m}, width={width}, causal", (1, m, width, True))
    yield Case(f"n={n}, m={m}, width=1", (n, m, 1))
    yield Case(f"n={n}, m={m}, width=1, causal", (n, m, 1, True))
    yield Case(f"n={n}, m={m}, width={2 * m + 1}", (n, m, 2 * m + 1))
    yield Case(f"n={n}, m={m}, width={m + 2}, causal", (n, m, m + 2, True))
    yield Case("n=m=1, width=3", (1, 1, 3))
    yield Case("2 queries at the end of m=2060, width=5", (2, 2060, 5))
    yield Case("device='meta'", (n, m, width), {"device": "meta"})
    yield Case("causal, device='meta'", (n, m, width, True), {"device": "meta"})


@exercise.valid
def two_triangles(n, m, width, causal=False, device=None):
    after = 0 if causal else width // 2
    ones = torch.ones(n, m, dtype=torch.bool, device=device)
    return ones.tril(m - n + after).triu(m - n + after - width + 1)


@exercise.valid
def windows_of_one_line(n, m, width, causal=False, device=None):
    # query i sees m entries of the same line, each query from one place further to the left
    offset = torch.arange(1 - m, n, device=device)
    line = (offset > -width) & (offset <= 0) if causal else 2 * offset.abs() < width + 1
    return line.unfold(0, m, 1).flip(0)


variants.right(
    exercise,
    # the middle of the window lies between two positions where the width is even
    "if causal:\n    offset = offset + (width - 1) / 2\nreturn offset.abs() < width / 2",
    # the last rows of the mask without a cache
    "query = torch.arange(m, device=device).unsqueeze(-1)\n"
    "if causal:\n    return ((offset > -width) & (offset <= 0))[m - n :]\n"
    "return (offset.abs() <= width // 2)[m - n :]",
)  # fmt: skip
variants.wrong(exercise, {
    "the window loses a key at each end: one that is just half the width away should be in it":
        "return offset.abs() <= width // 2 - 1",
    "the window reaches too far: the width is for all of it, half on each side of the query": [
        "return offset.abs() <= width", "return offset.abs() < width",
        ("width // 2", "width", "> -width", ">= -width")],
    "a wide window shrinks: it may be wider than the sequence, so leave the width as it is":
        "return offset.abs() <= min(width, m) // 2",
    "the causal window holds one key too many: the query itself is one of the `width`": (
        "> -width", ">= -width"),
    "the causal window leaves out the query's own position: it should end there, and include it": (
        "<= 0", "< 0"),
    "the causal window is too short: half the width is for a symmetric one, on each of its sides": (
        "> -width", ">= -(width // 2)"),
    "the causal window looks ahead: earlier keys have a negative offset, key minus query":
        "if causal:\n    return (offset >= 0) & (offset < width)",
    "the causal window never ends: keys that lie `width` or more back should be out of it":
        "if causal:\n    return offset <= 0",
    "nothing stops the causal window at the query: its later side needs a bound, too":
        "if causal:\n    return offset > -width",
    "causal=True changes nothing: then no key after the query should be allowed": "if causal: pass",
    "it is always causal: by default the window should reach as far to the right as left":
        "return (offset > -width) & (offset <= 0)",
    "the cache is ignored: the n queries should be the last of the m positions":
        "query = torch.arange(n, device=device)[:, None]",
    "the queries come before the keys: after a cache of m - n keys, query i should be at m - n + i":
        "query = torch.arange(n - m, 2 * n - m, device=device)[:, None]",
    "positions are rounded, as float16 does not hold all whole numbers beyond 2048: keep integers":
        "offset = torch.arange(m, device=device).half() - query",
    "the window comes in again at the other end: nothing lies beyond an end":
        "if causal:\n    return (offset + width - 1) % m < width\n"
        "return (offset + width // 2) % m < width",
    "the mask is upside down: True means may attend":
        "if causal:\n    return (offset <= -width) | (offset > 0)\n"
        "return offset.abs() > width // 2",
    "these are numbers: a mask should be boolean":
        "if causal:\n    return ((offset > -width) & (offset <= 0)).int()\n"
        "return (offset.abs() <= width // 2).int()",
    "the argument device is not used: make every new tensor there": (every(", device=device"), ""),
    LOOP:
        "left, right = (width - 1, 0) if causal else (width // 2, width // 2)\n"
        "if causal: pass\n"
        "return torch.stack([(row >= -left) & (row <= right) for row in offset])",
})  # fmt: skip
