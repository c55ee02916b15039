"""Exercise path_lengths: through how many layers one position reaches another."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the positions: take all of them at once, with a product of matrices"
exercise = Exercise.read(__name__, differentiable=False, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_breadth(reads, layers):
    rows, sources = [], [row.nonzero().flatten().tolist() for row in reads]
    for i in range(len(reads)):
        steps, front = {i: 0}, [i]
        for step in range(1, layers + 1):
            reached = {j for position in front for j in sources[position]}
            front = sorted(reached - steps.keys())
            steps |= dict.fromkeys(front, step)
        rows.append([steps.get(j, -1) for j in range(len(reads))])
    return torch.tensor(rows)


def window(n, *offsets):
    """Each position reads those at these offsets from its own."""
    j = torch.arange(n)
    distance = j - j[:, None]
    return sum((distance == offset) for offset in offsets) > 0


@exercise.cases
def cases(draw):
    n = draw.integer(8, 9)
    mask = window(n, 0, -1)
    # leaps, so that the shortest way is not straight; the last position is never read
    mask[torch.arange(n), torch.randperm(n, generator=draw.generator)] = True
    mask[:, -1] = False
    yield Case(f"a network with leaps, n={n}, 3 layers", (mask, 3), longer=(window(40, 0, -1), 3))
    yield Case(f"a convolution of width 3, n={n}, 4 layers", (window(n, -1, 0, 1), 4))
    yield Case(f"each reads the two before it, n={n}, 3 layers", (window(n, -1, -2), 3))
    yield Case(f"each reads the one before it, n={n}, {n} layers", (window(n, -1), n))
    yield Case(f"a ring, n={n}, {2 * n} layers", (window(n, -1, n - 1), 2 * n))
    yield Case("attention, n=5, 2 layers", (torch.ones(5, 5, dtype=torch.bool), 2))
    yield Case("causal attention, n=5, 2 layers", (torch.ones(5, 5, dtype=torch.bool).tril(), 2))
    # so many ways among the first that float32 cannot hold their number, and a long way to them
    crowd = window(55, -1, 0)
    crowd[:20, :20] = True
    yield Case("a crowd of 20 at the end of a chain, 36 layers", (crowd, 36))
    # each step is one of 41 that lead on: as a share of the ways, the longest is below 1e-60
    fan = torch.zeros(80, 80, dtype=torch.bool)
    fan[:40, 40:] = True
    fan[:40, :40] = window(40, -1)
    yield Case("a chain of 40, each reads 40 that read nothing, 39 layers", (fan, 39))
    # 256 ways, of which 8 bits count none
    ways = torch.zeros(258, 258, dtype=torch.bool)
    ways[0, 1:-1] = ways[1:-1, -1] = True
    yield Case("256 paths from the last position to the first, 2 layers", (ways, 2))
    # 4^32 ways, of which 64 bits count none
    level = torch.arange(4 * 34) // 4
    ladder = level[:, None] == level + 1
    yield Case("34 times 4 positions, each reads the 4 before, 33 layers", (ladder, 33))
    yield Case(f"no layer at all, n={n}", (mask, 0))
    yield Case("nothing is read, n=4, 3 layers", (torch.zeros(4, 4, dtype=torch.bool), 3))
    yield Case("one position that reads itself, 2 layers", (torch.ones(1, 1, dtype=torch.bool), 2))


@exercise.valid
def shortest_ways_joined(reads, layers):
    # a loop over the layers again, over whole tables of lengths
    far, eye = layers + 1, torch.eye(len(reads), dtype=torch.bool, device=reads.device)
    once = torch.where(reads, 1, far).masked_fill(eye, 0)
    steps = torch.where(eye, 0, far)
    for _ in range(layers):
        steps = (once[:, :, None] + steps[None]).amin(dim=1).clamp(max=far)
    return torch.where(steps < far, steps, -1)


@exercise.valid
def powers_noted_from_the_last_to_the_first(reads, layers):
    powers = [torch.eye(len(reads), dtype=torch.float64, device=reads.device)]
    for _ in range(layers):
        powers.append((reads.to(torch.float64) @ powers[-1]).clamp(max=1))
    steps = torch.full_like(reads, -1, dtype=torch.int64)
    for k in range(layers, -1, -1):
        steps[powers[k] > 0] = k
    return steps


UP, NOTED = "(reads.float() @ known.float()) > 0", "known & (lengths < 0)"
COUNTED = "(1, layers + 1)"
# the layers counted in which a position is unknown
UNKNOWN = (
    "known.long() - 1", "0 * known.long()",
    "        known =", "        lengths = lengths + ~known\n        known =",
    f"        lengths = torch.where({NOTED}, layer, lengths)\n", "",
)  # fmt: skip
variants.right(exercise,
    (*UNKNOWN, UP, f"({UP}) | known", "return lengths", "return lengths.masked_fill(~known, -1)"),
)  # fmt: skip
variants.wrong(exercise, {
    "rows and columns are swapped: entry (i, j) should be the path from j to i":
        "return lengths.T",
    "paths are also followed backwards: reads[i, j] only says that i reads j, not that j reads i":
        "reads = reads | reads.T\nlengths = known.long() - 1",
    "a later layer overwrites the first: note k only where the result is still -1": [
        (NOTED, "known"), (NOTED, "known & (lengths != 0)"),
        ("    lengths = known", "    reads = reads | known\n    lengths = known", NOTED, "known")],
    "the first layer is counted as 0: after it, what a position reads should be 1 layer away": (
        COUNTED, "(layers)"),
    "one layer is missing: apply `layers` of them": (COUNTED, "(1, layers)"),
    "the first layer is taken even where `layers` is 0: then each position should reach itself "
    "alone": (
        COUNTED, "(1, max(layers, 1) + 1)"),
    "the layers without a path are counted, and a longer path may come without a shorter one: note "
    "the first layer that has one": (
        "known.long() - 1", "(~known).long()",
        f"torch.where({NOTED}, layer, lengths)", "lengths + ~known",
        "return lengths", "return lengths.masked_fill(lengths > layers, -1)"),
    "`layers` is ignored: give -1 to what takes more layers": (
        COUNTED, "(1, len(reads) + 1)"),
    "each turn doubles the path: multiply by reads, not by what is known": [
        (UP, "((reads | known).float() @ (reads | known).float()) > 0"),
        (UP, "(known.float() @ known.float()) > 0 if layer > 1 else reads | known"),
        (UP, "(known.float() @ known.float()) > 0 if layer > 1 else reads | known",
         f"range{COUNTED}", "(2**e for e in range(layers.bit_length()))")],
    "reads is squared in each turn: a turn adds one layer, so leave reads as it is": (
        UP, f"({UP}) | known\n        reads = (reads.float() @ reads.float()) > 0"),
    "the diagonal is not 0 everywhere: it should be, because before any layer each position has "
    "itself": [
        "lengths = torch.full_like(known.long(), -1)",
        ("lengths = known.long() - 1", "known, lengths = reads, 2 * reads.long() - 1",
         COUNTED, "(2, layers + 1)"),
        "lengths = (known & reads).long() - 1"],
    "what it reads through fewer layers is forgotten: keep what is known, or note it at once": (
        *UNKNOWN, "return lengths", "return lengths.masked_fill(~known, -1).fill_diagonal_(0)"),
    "what is not reached gets 0, as if it were there already: give it -1":
        "return lengths.clamp(min=0)",
    "the result is boolean or floating: count layers in int64": "return lengths.double()",
    "the number of paths overflows: to inf, and times 0 to NaN, or in integers to 0. After each "
    "layer keep only whether there is one": [
        (UP, f"reads.{kind}() @ known.{kind}()", NOTED, f"(known {asked} 0) & (lengths < 0)")
        for kind in ("float", "half", "long") for asked in (">", "!=")],
    "shares of the ways become too small to hold, and end as 0: after each layer keep only "
    "whether there is one": [
        (UP, f"(reads / {all_ways}).float() @ known.float()",
         NOTED, "(known > 0) & (lengths < 0)")
        for all_ways in ("reads.sum(-1, keepdim=True).clamp(min=1)", "len(reads)")],
    "8 bits do not hold the number of paths: count them in floating-point numbers": (
        every("float()"), "to(torch.uint8)"),
    messages.CHANGES: "reads.fill_diagonal_(True)\nreturn lengths",
})  # fmt: skip
