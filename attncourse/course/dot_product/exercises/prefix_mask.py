"""Exercise prefix_mask: a causal mask whose first keys are open to every query."""

import torch

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "you loop over the positions: compare all of them at once"
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

TOO_LONG = (
    "your code goes wrong if the prefix is as long as the sequence or longer: the whole mask "
    "should then be True"
)
variants.wrong(exercise, {
    "the prefix is missing: every query, even the first, should see all of it":
        "return not_later",
    "a query sees only the prefix: it should also see the keys up to its own position":
        "return in_prefix.expand(n, n)",
    "your mask asks for both conditions: it should be enough for a key to be in the prefix, or not "
    "to come later":
        "return in_prefix & not_later",
    "keys that pass both tests are left out: ^ asks for exactly one of the two, and | for at least "
    "one":
        "return in_prefix ^ not_later",
    "a query beyond the prefix does not see itself: it should see its own position as well":
        "not_later = j < j[:, None]",
    "a query sees one position ahead: beyond the prefix, it should see only the keys up to itself":
        "not_later = j <= j[:, None] + 1",
    "the order is reversed: a query should see earlier keys, not later ones":
        "not_later = j >= j[:, None]",
    "rows and columns are swapped: each row should be True at the keys that its query may see":
        "return (in_prefix | not_later).T",
    "you keep the later keys, as triu does: keep those up to the query itself, as tril does":
        "not_later = j > j[:, None]",
    "the prefix is one key too long: remember that positions start at 0": "in_prefix = j <= prefix",
    "the prefix is one key too short: remember that positions start at 0":
        "in_prefix = j < prefix - 1",
    "the first queries see everything: apply the prefix to the keys, which are the columns":
        "in_prefix = j[:, None] < prefix",
    "you apply the prefix to the rows: apply it to the columns, so that later queries see it as "
    "well":
        "return in_prefix[:, None] | (~in_prefix & not_later)",
    "your prefix is at the end: every query should see the first keys, not the last":
        "in_prefix = j >= n - prefix",
    "the prefix moves along with the query: it should consist of the same first keys for every "
    "query": [
        f"return j <= j[:, None] + {ahead}"
        for ahead in ("prefix", "prefix - 1", "max(prefix - 1, 0)")],
    "later queries don't see the prefix: every query should see it":
        "return (in_prefix == in_prefix[:, None]) & (in_prefix | not_later)",
    "the queries of the answer see nothing: they should see the prefix, and the answer up to "
    "themselves":
        "return in_prefix & in_prefix[:, None]",
    "each query of the answer sees the whole answer: it should see only the part up to its own "
    "position":
        "not_later = (j >= prefix) & (j[:, None] >= prefix)",
    "question and answer are swapped: every query should see all of the question, but the answer "
    "only up to itself":
        "in_prefix = j[:, None] >= prefix",
    "the mask is upside down: True means that the query may attend to the key":
        "return ~(in_prefix | not_later)",
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
    "a prefix of 0 makes the whole mask True: it should give the causal mask":
        "in_prefix = j < (prefix or n)",
    "8-bit integers can't hold the positions of a long sequence: keep torch.arange's own dtype": [
        f"j = torch.arange(n, device=device).to(torch.{kind})" for kind in ("uint8", "int8")],
    "the mask is not boolean: make it True where a query may attend, and False where it may not": [
        "return (in_prefix | not_later).float()", "return (in_prefix | not_later).long()"],
    "you return numbers to add to the scores: return a boolean mask, True where a query may attend":
        "return torch.where(in_prefix | not_later, 0.0, -torch.inf)",
    "the mask has an axis too many: return an (n, n) matrix, which broadcasts over any batch":
        "return (in_prefix | not_later)[None]",
    "the device argument is not used: create every new tensor on that device":
        "j = torch.arange(n)",
    "the device argument is not used everywhere: create every new tensor on that device":
        "in_prefix = torch.arange(n) < prefix",
    LOOP: [
        "return torch.stack([in_prefix | (j <= i) for i in range(n)])",
        "rows = [[j < prefix or j <= i for j in range(n)] for i in range(n)]\n"
        "return torch.tensor(rows, device=device)"],
})  # fmt: skip
variants.wrong(exercise, {
    TOO_LONG: ("[:, :prefix]", "[:, : prefix - n]"),
    "the mask is cut from a table of fixed size, and n may be larger: build the mask from n": (
        "n, n", "128, 128", "return mask", "return mask[:n, :n]"),
    LOOP: ("    mask[:, :prefix]", "    for j in range(min(prefix, n)):\n        mask[:, j]"),
}, of=open_columns)  # fmt: skip
