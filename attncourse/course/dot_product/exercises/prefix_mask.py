"""Exercise prefix_mask: a causal mask whose first keys are open to every query."""

import torch

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the positions: compare all of them at once"
exercise = Exercise.read(__name__, differentiable=False, usual_hints={"loops": LOOP})


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
def plain(n, prefix, device=None):
    j = torch.arange(n, device=device)
    i = j[:, None]
    mask = (j < prefix) | (j <= i)
    return mask


@exercise.valid
def open_columns(n, prefix, device=None):
    mask = torch.ones(n, n, dtype=torch.bool, device=device).tril()
    mask[:, :prefix] = True
    return mask


MASK = "(j < prefix) | (j <= i)"
variants.right(exercise,
    (MASK, "j <= i.clamp(min=prefix - 1)"), (MASK, "torch.where(j > i, j < prefix, True)"),
    (MASK, "torch.vmap(lambda i: (j <= i) | (j < prefix))(j)"),
    # nothing is added there
    (MASK, "torch.full((n, n), -torch.inf, device=device).triu(1)\n    mask[:, :prefix] = 0",
     "return mask", "return mask == 0"),
)  # fmt: skip
variants.right(exercise,
    # later queries see the prefix by the causal rule
    ("[:, :prefix]", "[:prefix, :prefix]"),
    # two blocks
    ("mask[:, :prefix] = True", "prefix = min(prefix, n)",
     "return mask", "return torch.cat([mask[:, :prefix] | True, mask[:, prefix:]], dim=1)"),
    of=open_columns,
)  # fmt: skip

TOO_LONG = "it goes wrong where the prefix reaches the end or beyond: then all is allowed"
variants.wrong(exercise, {
    "the prefix is forgotten: every query sees all of it, the first query too": (MASK, "j <= i"),
    "beyond the prefix nothing is seen: a query sees the keys up to itself as well": (
        "j <= i", "i != i"),
    "both reasons are asked for: to be in the prefix, or not later, is enough": ("|", "&"),
    "keys with both reasons are lost: ^ asks for just one of the two, | for at least one": (
        "|", "^"),
    "a query does not see itself: beyond the prefix, its own position is allowed too": (
        "j <= i", "j < i"),
    "a query sees one position ahead: beyond the prefix it sees up to itself": (
        "j <= i", "j <= i + 1"),
    "the order is turned round: a query sees earlier keys, not later ones": ("j <= i", "j >= i"),
    "rows and columns are exchanged: a row is a query, and sees what is True in it": (
        "return mask", "return mask.T"),
    "triu keeps the later keys: tril keeps those up to the query itself": ("j <= i", "j > i"),
    "the prefix is one key too long: positions count from 0": ("j < prefix", "j <= prefix"),
    "the prefix is one key too short: positions count from 0": ("j < prefix", "j < prefix - 1"),
    "the first queries see everything: the prefix is about keys, which are the columns": (
        "j < prefix", "i < prefix"),
    "the prefix is put on the rows: it is about keys, the columns, and later queries see it too": (
        MASK, "(i < prefix) | ((j >= prefix) & (j <= i))"),
    "the prefix lies at the end: it is the first keys that all may see": (
        "j < prefix", "j >= n - prefix"),
    "every query sees as many keys ahead: the prefix stays where it is": [
        (MASK, "j <= i + prefix"), (MASK, "j <= i + prefix - 1"),
        (MASK, "j <= i + max(prefix - 1, 0)")],
    "later queries are cut off from the prefix: it stays visible to all of them": (
        MASK, "((j < prefix) & (i < prefix)) | ((j >= prefix) & (i >= prefix) & (j <= i))"),
    "the answer is lost: its queries see the prefix and the answer up to themselves": (
        MASK, "(j < prefix) & (i < prefix)"),
    "the answer sees all of itself: there a query sees the keys up to its own position": (
        "j <= i", "(i >= prefix) & (j >= prefix)"),
    "question and answer are exchanged: the question is open, the answer in order": (
        "j < prefix", "i >= prefix"),
    "the mask is upside down: True means may attend": ("return mask", "return ~mask"),
    TOO_LONG: [
        (MASK, f"torch.cat([(i == i).expand(-1, prefix), ({MASK})[:, prefix:]], dim=1)"),
        (MASK, "torch.cat([torch.ones(prefix, prefix), torch.zeros(prefix, n - prefix)], 1) > 0\n"
         "    mask = torch.cat([mask.to(j.device), (j <= i)[prefix:]])"),
        (MASK, "torch.ones(n, n, device=device) > 0\n    mask = torch.cat([mask[:, :1].expand("
         "n, prefix), mask.new_ones(n, n - prefix).tril(-prefix)], dim=1)"),
        (MASK, "(j < prefix) & (prefix < n) | (j <= i)"), ("j < prefix", "j < min(prefix, n - 1)")],
    "a prefix of 0 is taken for none given: it leaves the causal mask": (
        "< prefix", "< (prefix or n)"),
    "8 bits do not hold the positions of a long sequence: keep torch.arange's own dtype": [
        ("device=device)", "device=device).to(torch.uint8)"),
        ("device=device)", "device=device).to(torch.int8)")],
    "the mask is not boolean: True = may attend, False = may not": [
        ("return mask", "return mask.float()"), ("return mask", "return mask.long()")],
    "this is what is added to the scores: return the boolean mask, True = may attend": (
        "return mask", "return torch.where(mask, 0.0, -torch.inf)"),
    "the mask has an axis too many: it is one (n, n) matrix for any batch": (
        "return mask", "return mask[None]"),
    "the argument device is not used: make every new tensor there": (", device=device", ""),
    "the argument device is not used everywhere: make every new tensor there": (
        "(j < prefix)", "(torch.arange(n) < prefix)"),
    LOOP: [
        (MASK, "torch.stack([(j < prefix) | (j <= i) for i in range(n)])"),
        (MASK, "torch.tensor([[j < prefix or j <= i for j in range(n)] for i in range(n)], "
         "device=device)")],
})  # fmt: skip
variants.wrong(exercise, {
    TOO_LONG: ("[:, :prefix]", "[:, : prefix - n]"),
    "the mask is cut from a table of a fixed size: make it for the n at hand": (
        "n, n", "128, 128", "return mask", "return mask[:n, :n]"),
    LOOP: ("    mask[:, :prefix]", "    for j in range(min(prefix, n)):\n        mask[:, j]"),
}, of=open_columns)  # fmt: skip
