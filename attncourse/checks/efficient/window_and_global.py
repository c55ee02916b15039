"""Exercise window_and_global: a mask of a window, and of a few tokens that see everything."""

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="window_and_global",
    chapter="efficient",
    title="A window, and a few tokens that see everything",
    kind="build",
    difficulty=1,
    minutes=15,
    points=10,
    hints=(
        "There are three reasons to be allowed: the key is near, the query is a listed token, or "
        "the key is one. Any of them is enough.",
        "Number the positions once. The distance of key and query, compared with width // 2, is "
        "the window. A list serves as an index: it picks all of its rows of a mask at once, and "
        "likewise all of its columns.",
        "With i = torch.arange(n, device=device) the window is (i - i[:, None]).abs() <= width // "
        "2; assign True to its rows [global_tokens] and to its columns [:, global_tokens]",
    ),
    differentiable=False,
)


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
    long = 32 * n, 4, list(range(0, 32 * n, 8))
    yield Case(f"n={n}, width=4, tokens {tokens}", (n, 4, tokens), longer=long)
    yield Case(f"n={n}, width=7, token 6", (n, 7, [6]))
    yield Case(f"n={n}, width=2, tokens 0 and 1", (n, 2, [0, 1]))
    yield Case(f"n={n}, width=4, no token listed", (n, 4, []))
    yield Case(f"n={n}, width=0, tokens {tokens}", (n, 0, tokens))
    yield Case(f"n={n}, width={2 * n + 3}, tokens {tokens}", (n, 2 * n + 3, tokens))
    yield Case("n=4, every token listed", (4, 2, [3, 0, 2, 1]))
    yield Case("one token, listed", (1, 2, [0]))
    yield Case("one token, not listed", (1, 0, []))
    yield Case("n=300, width=8, token 280", (300, 8, [280]))
    yield Case("device='meta'", (n, 4, tokens), {"device": "meta"})


def window(n, reach, device=None):
    i = torch.arange(n, device=device)
    return (i - i[:, None]).abs() <= reach


def masked(n, width, global_tokens, device=None, *, near=None, rows=True, columns=True):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    mask = window(n, width // 2, device) if near is None else near
    tokens = torch.tensor(global_tokens, dtype=torch.long, device=device)
    if rows:
        mask[tokens] = True
    if columns:
        mask[:, tokens] = True
    return mask


@exercise.valid
def rows_and_columns_filled(n, width, global_tokens, device=None):
    return masked(n, width, global_tokens, device)


@exercise.valid
def three_reasons(n, width, global_tokens, device=None):
    listed = torch.zeros(n, dtype=torch.bool, device=device)
    listed[global_tokens] = True
    return window(n, width // 2, device) | listed | listed[:, None]


@exercise.valid
def by_comparing_with_every_listed_token(n, width, global_tokens, device=None):
    tokens = torch.tensor(global_tokens, dtype=torch.long, device=device)
    listed = (torch.arange(n, device=device)[:, None] == tokens).any(-1)
    return window(n, width // 2, device) | (listed[:, None] | listed[None])


@exercise.valid
def a_band_of_ones(n, width, global_tokens, device=None):
    ones = torch.ones(n, n, device=device)
    near = ones.triu(-(width // 2)).tril(width // 2)
    return masked(n, width, global_tokens, device, near=near).bool()


@exercise.valid
def by_index_fill(n, width, global_tokens, device=None):
    tokens = torch.tensor(global_tokens, dtype=torch.long, device=device)
    near = window(n, width // 2, device)
    return near.index_fill(0, tokens, True).index_fill(1, tokens, True)


@exercise.mutant("the listed tokens change nothing: they see all, and all see them")
def window_only(n, width, global_tokens, device=None):
    return window(n, width // 2, device)


@exercise.mutant("the listed tokens see all, but not all see them: their columns are True as well")
def rows_only(n, width, global_tokens, device=None):
    return masked(n, width, global_tokens, device, columns=False)


@exercise.mutant("all see the listed tokens, but those do not see all: their rows are True as well")
def columns_only(n, width, global_tokens, device=None):
    return masked(n, width, global_tokens, device, rows=False)


@exercise.mutant("the listed tokens see only each other: a pair with one of them is enough")
def listed_pairs_only(n, width, global_tokens, device=None):
    listed = torch.zeros(n, dtype=torch.bool, device=device)
    listed[global_tokens] = True
    return window(n, width // 2, device) | (listed & listed[:, None])


@exercise.mutant("the window is forgotten: every token also sees those near to it")
def listed_only(n, width, global_tokens, device=None):
    nothing = torch.zeros(n, n, dtype=torch.bool, device=device)
    return masked(n, width, global_tokens, device, near=nothing)


@exercise.mutant("of the reasons two are asked at once: any one of them is enough")
def near_and_listed(n, width, global_tokens, device=None):
    nothing = torch.zeros(n, n, dtype=torch.bool, device=device)
    listed = masked(n, width, global_tokens, device, near=nothing)
    return window(n, width // 2, device) & listed


@exercise.mutant(
    "the distance has a sign, so every key on one side counts as near: take it without"
)
def distance_with_its_sign(n, width, global_tokens, device=None):
    i = torch.arange(n, device=device)
    return masked(n, width, global_tokens, device, near=i - i[:, None] <= width // 2)


@exercise.mutant("the window is too wide: width counts both sides, so each has width // 2")
def width_to_each_side(n, width, global_tokens, device=None):
    return masked(n, width, global_tokens, device, near=window(n, width, device))


@exercise.mutant("the window ends one token early: a distance of width // 2 is still within it")
def strict_window(n, width, global_tokens, device=None):
    return masked(n, width, global_tokens, device, near=window(n, width // 2 - 1, device))


@exercise.mutant(
    "an even width loses a token on each side: (width - 1) // 2 is width // 2 for odd ones only"
)
def right_for_odd_widths(n, width, global_tokens, device=None):
    return masked(n, width, global_tokens, device, near=window(n, max(0, width - 1) // 2, device))


@exercise.mutant("later tokens are cut off: the window lies on both sides of the query")
def causal_window(n, width, global_tokens, device=None):
    near = window(n, width // 2, device).tril()
    return masked(n, width, global_tokens, device, near=near)


@exercise.mutant("nothing later is seen: this mask is for reading, a query sees both sides")
def causal_everywhere(n, width, global_tokens, device=None):
    return masked(n, width, global_tokens, device).tril()


@exercise.mutant("the first tokens are taken: the list holds positions, not how many there are")
def first_tokens(n, width, global_tokens, device=None):
    return masked(n, width, list(range(len(global_tokens))), device)


@exercise.mutant("the mask is upside down: True means may attend")
def inverted(n, width, global_tokens, device=None):
    return ~masked(n, width, global_tokens, device)


FLOATS = "an empty list fails: torch makes floats of it unless you name the dtype"


@exercise.mutant(FLOATS)
def index_of_floats_filled(n, width, global_tokens, device=None):
    mask = window(n, width // 2, device)
    tokens = torch.tensor(global_tokens, device=device)
    mask.index_fill_(0, tokens, True)
    return mask.index_fill(1, tokens, True)


@exercise.mutant(FLOATS)
def index_of_floats(n, width, global_tokens, device=None):
    mask = window(n, width // 2, device)
    mask[torch.tensor(global_tokens, device=device)] = True
    return mask | mask.mT


@exercise.mutant("the mask is not boolean: True = may attend, False = may not")
def of_ones_and_zeros(n, width, global_tokens, device=None):
    return masked(n, width, global_tokens, device).float()


@exercise.mutant("the argument device is not used: make every new tensor there")
def device_ignored(n, width, global_tokens, device=None):
    return masked(n, width, global_tokens)


LOOP = "it loops over tokens: compare all positions at once, and index with the whole list"


@exercise.mutant(LOOP)
def loop_over_the_list(n, width, global_tokens, device=None):
    mask = window(n, width // 2, device)
    for token in global_tokens:
        mask[token] = True
        mask[:, token] = True
    return mask


@exercise.mutant(LOOP)
def loop_over_queries(n, width, global_tokens, device=None):
    mask = torch.zeros(n, n, dtype=torch.bool, device=device)
    for i in range(n):
        mask[i, max(0, i - width // 2) : i + width // 2 + 1] = True
    return masked(n, width, global_tokens, device, near=mask)
