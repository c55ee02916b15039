"""Exercise window_and_global: a mask of a window, and of a few tokens that see everything."""

import torch

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over tokens: compare all positions at once, and index with the whole list"
exercise = Exercise.read(__name__, differentiable=False, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(n, width, global_tokens, device=None):
    rows = [
        [abs(i - j) <= width // 2 or i in global_tokens or j in global_tokens for j in range(n)]
        for i in range(n)
    ]
    return torch.tensor(rows, dtype=torch.bool, device=device)


@exercise.cases
def cases(draw):
    n = draw.integer(11, 13)
    # neither the first tokens nor the last, nor in order
    tokens = [n - 3, 2]
    longer_inputs = 32 * n, 4, list(range(0, 32 * n, 8))
    yield Case(f"n={n}, width=4, tokens {tokens}", (n, 4, tokens), longer=longer_inputs)
    yield Case(f"n={n}, width=7, token 6", (n, 7, [6]))
    yield Case(f"n={n}, width=2, tokens 0 and 1", (n, 2, [0, 1]))
    yield Case(f"n={n}, width=4, no token listed", (n, 4, []))
    yield Case(f"n={n}, width=1, tokens {tokens}", (n, 1, tokens))
    # as wide as the text, or nearly twice: its ends are still too far apart
    for width in (n - 1, n, 2 * n - 3):
        yield Case(f"n={n}, width={width}, no token listed", (n, width, []))
    yield Case(f"n={n}, width={2 * n + 3}, tokens {tokens}", (n, 2 * n + 3, tokens))
    yield Case("n=4, every token listed", (4, 2, [3, 0, 2, 1]))
    yield Case("one token, listed", (1, 2, [0]))
    yield Case("one token, not listed", (1, 1, []))
    yield Case("n=300, width=8, token 280", (300, 8, [280]))
    yield Case("device='meta'", (n, 4, tokens), {"device": "meta"})


@exercise.valid
def three_reasons(n, width, global_tokens, device=None):
    i = torch.arange(n, device=device)
    near = (i - i[:, None]).abs() <= width // 2
    listed = torch.zeros(n, dtype=torch.bool, device=device)
    listed[global_tokens] = True
    return near | listed | listed[:, None]


ROWS, COLUMNS = "    mask[global_tokens] = True\n", "    mask[:, global_tokens] = True\n"
TOKENS = "    tokens = torch.tensor(global_tokens, dtype=torch.long, device=device)\n"
FILLED = "    mask = mask.index_fill(0, tokens, True).index_fill(1, tokens, True)\n"
variants.right(
    exercise,
    "mask = torch.ones(n, n, device=device).triu(-(width // 2)).tril(width // 2)\n"
    "return mask.bool()",
    (ROWS, TOKENS, COLUMNS, FILLED),
    (ROWS, TOKENS, COLUMNS, "    listed = (i[:, None] == tokens).any(-1)\n",
     "return mask", "return mask | (listed[:, None] | listed[None])"),
)  # fmt: skip
variants.wrong(exercise, {
    "the listed tokens change nothing: they should see all, and all should see them":
        (ROWS, "", COLUMNS, ""),
    "the listed tokens see all, but not all see them: their columns should be True as well": (
        COLUMNS, ""),
    "all see the listed tokens, but those do not see all: their rows should be True as well":
        (ROWS, ""),
    "the window is forgotten: every token should also see those near to it":
        "mask = torch.zeros(n, n, dtype=torch.bool, device=device)",
    "the distance has a sign, so every key on one side counts as near: take it without": [
        "mask = i - i[:, None] <= width // 2", "mask = i[:, None] - i <= width // 2"],
    "the window is too wide: width counts both sides, so give each width // 2":
        "mask = (i - i[:, None]).abs() <= width",
    "the window ends one token early: a distance of width // 2 should still be within it":
        "mask = (i - i[:, None]).abs() < width // 2",
    "a width of n or nearly lets every token see all: give each side only half of it": [
        (ROWS, f"    if width >= {least}:\n        mask[:] = True\n{ROWS}")
        for least in ("n", "n - 1")],
    "an even width loses a token on each side: take width // 2, since (width - 1) // 2 fits odd "
    "ones only":
        "mask = (i - i[:, None]).abs() <= max(0, width - 1) // 2",
    "an even width has one key fewer on one side: let the window reach equally far to both": [
        ("width // 2", f"width // 2\n    mask = mask & ({ahead} <= (width - 1) // 2)")
        for ahead in ("i - i[:, None]", "i[:, None] - i")],
    "the window goes round from the last token to the first: end it there, as these two are far "
    "apart": (
        "width // 2", "width // 2\n    mask = mask | ((i - i[:, None]).abs() >= n - width // 2)"),
    "later tokens are cut off: the window should lie on both sides of the query":
        "mask = ((i - i[:, None]).abs() <= width // 2).tril()",
    "nothing later is seen: this mask is for reading, so let a query see both sides":
        "return mask.tril()",
    "the first tokens are taken: take the positions that the list holds": (
        every("global_tokens]"), ": len(global_tokens)]"),
    "the mask is upside down: True means may attend": "return ~mask",
    "an empty list fails: torch makes floats of it unless you name the dtype": [
        (ROWS, TOKENS.replace("dtype=torch.long, ", ""), COLUMNS, FILLED),
        (ROWS, "    mask[torch.tensor(global_tokens, device=device)] = True\n",
         COLUMNS, "    mask = mask | mask.mT\n")],
    "the mask is not boolean: return True for may attend, False for may not": "return mask.float()",
    "the argument device is not used: make every new tensor there": "i = torch.arange(n)",
    LOOP: [
        (ROWS, "    for token in global_tokens:\n        mask[token] = True\n",
         COLUMNS, "        mask[:, token] = True\n"),
        "mask = torch.stack([(i - one).abs() <= width // 2 for one in i])"],
})  # fmt: skip
variants.wrong(exercise, {
    "the listed tokens see only each other: let one of them in a pair be enough":
        "return near | listed & listed[:, None]",
    "a pair with two reasons is left out: ^ is true for one alone, | for one or both": [
        "return near ^ listed ^ listed[:, None]", "return near | (listed ^ listed[:, None])",
        "return near ^ (listed | listed[:, None])"],
    "two of the reasons are wanted at once: let any one of them be enough":
        "return near & (listed | listed[:, None])",
}, of=three_reasons)  # fmt: skip
