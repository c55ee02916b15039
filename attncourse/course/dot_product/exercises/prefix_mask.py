"""Exercise prefix_mask: a causal mask whose first keys are open to every query."""

import torch

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the positions: compare all of them at once"
exercise = Exercise.read(__name__, differentiable=False, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(n, prefix, device=None):
    rows = [[j < prefix or j <= i for j in range(n)] for i in range(n)]
    return torch.tensor(rows, dtype=torch.bool, device=device)


@exercise.cases
def cases(draw):
    n = draw.integer(6, 9)
    prefix = draw.integer(2, n - 3)
    yield Case(f"n={n}, prefix={prefix}", (n, prefix), longer=(16 * n, 16 * prefix))
    yield Case(f"n={n}, prefix=0", (n, 0))
    yield Case(f"n={n}, prefix=1", (n, 1))
    yield Case(f"n={n}, prefix={n - 1}", (n, n - 1))
    yield Case(f"n={n}, prefix={n}", (n, n))
    yield Case(f"n={n}, prefix={n + 3}", (n, n + 3))
    yield Case("one position, prefix=0", (1, 0))
    yield Case("one position, prefix=1", (1, 1))
    yield Case("n=300, prefix=40", (300, 40))
    yield Case("device='meta'", (n, prefix), {"device": "meta"})


@exercise.valid
def open_columns(n, prefix, device=None):
    mask = torch.ones(n, n, dtype=torch.bool, device=device).tril()
    mask[:, :prefix] = True
    return mask


variants.right(exercise,
    "return j <= j[:, None].clamp(min=prefix - 1)",
    "return torch.where(j > j[:, None], in_prefix, True)",
    "return torch.vmap(lambda i: (j <= i) | in_prefix)(j)",
    # nothing is added there
    "added = torch.full((n, n), -torch.inf, device=device).triu(1)\n"
    "added[:, :prefix] = 0\nreturn added == 0",
)  # fmt: skip
variants.right(exercise,
    # later queries see the prefix by the causal rule
    ("[:, :prefix]", "[:prefix, :prefix]"),
    # two blocks
    ("mask[:, :prefix] = True", "prefix = min(prefix, n)",
     "return mask", "return torch.cat([mask[:, :prefix] | True, mask[:, prefix:]], dim=1)"),
    of=open_columns,
)  # fmt: skip

TOO_LONG = "it goes wrong where the prefix reaches the end or beyond: there all should be allowed"
variants.wrong(exercise, {
    "the prefix is forgotten: every query should see all of it, even the first query":
        "return not_later",
    "beyond the prefix nothing is seen: a query should see the keys up to itself as well":
        "return in_prefix.expand(n, n)",
    "both reasons are required: to be in the prefix, or not later, should be enough":
        "return in_prefix & not_later",
    "keys with both reasons are lost: ^ asks for just one of the two, | for at least one":
        "return in_prefix ^ not_later",
    "a query does not see itself: beyond the prefix, its own position should be allowed too":
        "not_later = j < j[:, None]",
    "a query sees one position ahead: beyond the prefix it should see only up to itself":
        "not_later = j <= j[:, None] + 1",
    "the order is reversed: a query should see earlier keys, not later ones":
        "not_later = j >= j[:, None]",
    "rows and columns are swapped: a row is a query, and should be True at the keys it may see":
        "return (in_prefix | not_later).T",
    "the later keys are kept, as by triu: keep those up to the query itself, as tril does":
        "not_later = j > j[:, None]",
    "the prefix is one key too long: positions count from 0": "in_prefix = j <= prefix",
    "the prefix is one key too short: positions count from 0": "in_prefix = j < prefix - 1",
    "the first queries see everything: the prefix is about keys, which are the columns":
        "in_prefix = j[:, None] < prefix",
    "the prefix is on the rows: put it on the columns, the keys, where later queries see it, too":
        "return in_prefix[:, None] | (~in_prefix & not_later)",
    "the prefix lies at the end: it should be the first keys that all may see":
        "in_prefix = j >= n - prefix",
    "the prefix moves along with the query: it should stay where it is, at the first keys": [
        f"return j <= j[:, None] + {ahead}"
        for ahead in ("prefix", "prefix - 1", "max(prefix - 1, 0)")],
    "later queries are cut off from the prefix: it should stay visible to all of them":
        "return (in_prefix == in_prefix[:, None]) & (in_prefix | not_later)",
    "the answer is lost: its queries should see the prefix, and the answer up to themselves":
        "return in_prefix & in_prefix[:, None]",
    "the answer sees all of itself: there a query should see the keys only up to its own position":
        "not_later = (j >= prefix) & (j[:, None] >= prefix)",
    "question and answer are swapped: open the question, and keep the answer in order":
        "in_prefix = j[:, None] >= prefix",
    "the mask is upside down: True means may attend": "return ~(in_prefix | not_later)",
    TOO_LONG: [
        "first = torch.ones(n, prefix, dtype=torch.bool, device=device)\n"
        "return torch.cat([first, not_later[:, prefix:]], dim=1)",
        "first = torch.ones(prefix, prefix, dtype=torch.bool, device=device)\n"
        "rest = torch.zeros(prefix, n - prefix, dtype=torch.bool, device=device)\n"
        "return torch.cat([torch.cat([first, rest], dim=1), not_later[prefix:]])",
        "first = torch.ones(n, prefix, dtype=torch.bool, device=device)\n"
        "rest = torch.ones(n, n - prefix, dtype=torch.bool, device=device).tril(-prefix)\n"
        "return torch.cat([first, rest], dim=1)",
        "in_prefix = (j < prefix) & (prefix < n)", "in_prefix = j < min(prefix, n - 1)"],
    "a prefix of 0 is taken for a missing one: it should leave the causal mask":
        "in_prefix = j < (prefix or n)",
    "8 bits do not hold the positions of a long sequence: keep torch.arange's own dtype": [
        f"j = torch.arange(n, device=device).to(torch.{kind})" for kind in ("uint8", "int8")],
    "the mask is not boolean: True = may attend, False = may not": [
        "return (in_prefix | not_later).float()", "return (in_prefix | not_later).long()"],
    "this is what is added to the scores: return the boolean mask, True = may attend":
        "return torch.where(in_prefix | not_later, 0.0, -torch.inf)",
    "the mask has an axis too many: return one (n, n) matrix, which serves any batch":
        "return (in_prefix | not_later)[None]",
    "the argument device is not used: make every new tensor there": "j = torch.arange(n)",
    "the argument device is not used everywhere: make every new tensor there":
        "in_prefix = torch.arange(n) < prefix",
    LOOP: [
        "return torch.stack([in_prefix | (j <= i) for i in range(n)])",
        "rows = [[j < prefix or j <= i for j in range(n)] for i in range(n)]\n"
        "return torch.tensor(rows, device=device)"],
})  # fmt: skip
variants.wrong(exercise, {
    TOO_LONG: ("[:, :prefix]", "[:, : prefix - n]"),
    "the mask is cut from a table of a fixed size: make it for the n at hand": (
        "n, n", "128, 128", "return mask", "return mask[:n, :n]"),
    LOOP: ("    mask[:, :prefix]", "    for j in range(min(prefix, n)):\n        mask[:, j]"),
}, of=open_columns)  # fmt: skip
