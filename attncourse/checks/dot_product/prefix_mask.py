"""Exercise prefix_mask: a causal mask whose first keys are open to every query."""

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="prefix_mask",
    chapter="dot_product",
    title="Read the question whole, write the answer in order",
    kind="extend",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "There are two reasons to be allowed: the key is in the prefix, or it is not later than "
        "the query. One of them is enough.",
        "Number the positions once. Compare them with the prefix: that is a row. Compare them with "
        "themselves as a column: that is the causal mask. Join the two.",
        "With j = torch.arange(n, device=device) the queries are j[:, None] and the keys j; | says "
        "that one of two conditions is enough.",
    ),
    differentiable=False,
)


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


def positions(n, device=None):
    """The queries as a column and the keys as a row."""
    j = torch.arange(n, device=device)
    return j[:, None], j


def causal(n, device=None, diagonal=0):
    return torch.ones(n, n, dtype=torch.bool, device=device).tril(diagonal)


@exercise.valid
def either_reason(n, prefix, device=None):
    i, j = positions(n, device)
    return (j < prefix) | (j <= i)


@exercise.valid
def open_columns(n, prefix, device=None):
    mask = causal(n, device)
    mask[:, :prefix] = True
    return mask


@exercise.valid
def open_corner(n, prefix, device=None):
    # later queries see the prefix by the causal rule
    mask = causal(n, device)
    mask[:prefix, :prefix] = True
    return mask


@exercise.valid
def every_query_moved_into_the_prefix(n, prefix, device=None):
    i, j = positions(n, device)
    return j <= i.clamp(min=prefix - 1)


@exercise.valid
def two_blocks(n, prefix, device=None):
    prefix = min(prefix, n)
    return torch.cat([causal(n, device)[:, :prefix] | True, causal(n, device)[:, prefix:]], dim=1)


@exercise.valid
def all_but_the_future_of_the_answer(n, prefix, device=None):
    i, j = positions(n, device)
    return torch.where(j > i, j < prefix, True)


@exercise.valid
def one_query_mapped_to_all(n, prefix, device=None):
    j = torch.arange(n, device=device)
    return torch.vmap(lambda i: (j <= i) | (j < prefix))(j)


@exercise.valid
def where_nothing_is_added(n, prefix, device=None):
    added = torch.full((n, n), -torch.inf, device=device).triu(1)
    added[:, :prefix] = 0
    return added == 0


@exercise.mutant("the prefix is forgotten: every query sees all of it, the first query too")
def only_causal(n, prefix, device=None):
    return causal(n, device)


@exercise.mutant("beyond the prefix nothing is seen: a query sees the keys up to itself as well")
def only_the_prefix(n, prefix, device=None):
    i, j = positions(n, device)
    return (j < prefix) & (i == i)


@exercise.mutant("both reasons are asked for: to be in the prefix, or not later, is enough")
def both_reasons(n, prefix, device=None):
    i, j = positions(n, device)
    return (j < prefix) & (j <= i)


@exercise.mutant(
    "keys with both reasons are lost: ^ asks for just one of the two, | for at least one"
)
def either_but_not_both(n, prefix, device=None):
    i, j = positions(n, device)
    return (j < prefix) ^ (j <= i)


@exercise.mutant("a query does not see itself: beyond the prefix, its own position is allowed too")
def strictly_earlier(n, prefix, device=None):
    i, j = positions(n, device)
    return (j < prefix) | (j < i)


@exercise.mutant("a query sees one position ahead: beyond the prefix it sees up to itself")
def one_ahead(n, prefix, device=None):
    i, j = positions(n, device)
    return (j < prefix) | (j <= i + 1)


@exercise.mutant("the order is turned round: a query sees earlier keys, not later ones")
def later_keys(n, prefix, device=None):
    i, j = positions(n, device)
    return (j < prefix) | (j >= i)


@exercise.mutant("rows and columns are exchanged: a row is a query, and sees what is True in it")
def transposed(n, prefix, device=None):
    return either_reason(n, prefix, device).T


@exercise.mutant("triu keeps the later keys: tril keeps those up to the query itself")
def upper_triangle(n, prefix, device=None):
    i, j = positions(n, device)
    return (j < prefix) | (j > i)


@exercise.mutant("the prefix is one key too long: positions count from 0")
def prefix_one_longer(n, prefix, device=None):
    i, j = positions(n, device)
    return (j <= prefix) | (j <= i)


@exercise.mutant("the prefix is one key too short: positions count from 0")
def prefix_one_shorter(n, prefix, device=None):
    i, j = positions(n, device)
    return (j < prefix - 1) | (j <= i)


@exercise.mutant(
    "the first queries see everything: the prefix is about keys, which are the columns"
)
def rows_for_columns(n, prefix, device=None):
    i, j = positions(n, device)
    return (i < prefix) | (j <= i)


@exercise.mutant("the prefix lies at the end: it is the first keys that all may see")
def prefix_at_the_end(n, prefix, device=None):
    i, j = positions(n, device)
    return (j >= n - prefix) | (j <= i)


@exercise.mutant("every query sees as many keys ahead: the prefix stays where it is")
def diagonal_moved(n, prefix, device=None):
    return causal(n, device, diagonal=prefix)


@exercise.mutant("every query sees as many keys ahead: the prefix stays where it is")
def diagonal_moved_less_one(n, prefix, device=None):
    return causal(n, device, diagonal=prefix - 1)


@exercise.mutant("later queries are cut off from the prefix: it stays visible to all of them")
def two_separate_blocks(n, prefix, device=None):
    i, j = positions(n, device)
    return ((j < prefix) & (i < prefix)) | ((j >= prefix) & (i >= prefix) & (j <= i))


@exercise.mutant("the answer is lost: its queries see the prefix and the answer up to themselves")
def only_the_block_of_the_prefix(n, prefix, device=None):
    i, j = positions(n, device)
    return (j < prefix) & (i < prefix)


@exercise.mutant(
    "the answer sees all of itself: there a query sees the keys up to its own position"
)
def answer_fully_visible(n, prefix, device=None):
    i, j = positions(n, device)
    return (j < prefix) | ((i >= prefix) & (j >= prefix))


@exercise.mutant("question and answer are exchanged: the question is open, the answer in order")
def answer_open_and_question_causal(n, prefix, device=None):
    i, j = positions(n, device)
    return (i >= prefix) | (j <= i)


@exercise.mutant("the mask is upside down: True means may attend")
def inverted(n, prefix, device=None):
    return ~open_columns(n, prefix, device)


TOO_LONG = "it goes wrong where the prefix reaches the end or beyond: then all is allowed"


@exercise.mutant(TOO_LONG)
def wider_than_the_sequence(n, prefix, device=None):
    opened = torch.ones(n, prefix, dtype=torch.bool, device=device)
    return torch.cat([opened, causal(n, device)[:, prefix:]], dim=1)


@exercise.mutant(TOO_LONG)
def counted_from_the_end(n, prefix, device=None):
    mask = causal(n, device)
    mask[:, : prefix - n] = True
    return mask


@exercise.mutant(TOO_LONG)
def causal_beyond_the_sequence(n, prefix, device=None):
    return open_columns(n, prefix if prefix < n else 0, device)


@exercise.mutant(TOO_LONG)
def cut_before_the_last_key(n, prefix, device=None):
    return open_columns(n, min(prefix, n - 1), device)


@exercise.mutant("a prefix of 0 is taken for none given: it leaves the causal mask")
def zero_opens_everything(n, prefix, device=None):
    return open_columns(n, prefix or n, device)


@exercise.mutant("the mask is cut from a table of a fixed size: make it for the n at hand")
def table_of_a_fixed_size(n, prefix, device=None):
    return open_columns(128, prefix, device)[:n, :n]


@exercise.mutant(
    "8 bits do not hold the positions of a long sequence: keep torch.arange's own dtype"
)
def positions_of_eight_bits(n, prefix, device=None):
    j = torch.arange(n, device=device).to(torch.uint8)
    return (j < prefix) | (j <= j[:, None])


@exercise.mutant(
    "8 bits do not hold the positions of a long sequence: keep torch.arange's own dtype"
)
def positions_of_seven_bits(n, prefix, device=None):
    j = torch.arange(n, device=device).to(torch.int8)
    return (j < prefix) | (j <= j[:, None])


@exercise.mutant("the mask is not boolean: True = may attend, False = may not")
def of_ones_and_zeros(n, prefix, device=None):
    return open_columns(n, prefix, device).float()


@exercise.mutant("the mask is not boolean: True = may attend, False = may not")
def of_integers(n, prefix, device=None):
    return open_columns(n, prefix, device).long()


@exercise.mutant("this is what is added to the scores: return the boolean mask, True = may attend")
def to_be_added(n, prefix, device=None):
    mask = open_columns(n, prefix, device)
    return torch.zeros(n, n, device=device).masked_fill(~mask, -torch.inf)


@exercise.mutant("the mask has an axis too many: it is one (n, n) matrix for any batch")
def with_a_batch_axis(n, prefix, device=None):
    return open_columns(n, prefix, device)[None]


@exercise.mutant("the argument device is not used: make every new tensor there")
def device_ignored(n, prefix, device=None):
    return open_columns(n, prefix)


@exercise.mutant("the argument device is not used everywhere: make every new tensor there")
def device_half_used(n, prefix, device=None):
    return causal(n, device) | (torch.arange(n) < prefix)


LOOP = "it loops over the positions: compare all of them at once"


@exercise.mutant(LOOP)
def loop_over_queries(n, prefix, device=None):
    mask = torch.zeros(n, n, dtype=torch.bool, device=device)
    for i in range(n):
        mask[i, : max(prefix, i + 1)] = True
    return mask


@exercise.mutant(LOOP)
def loop_in_a_list(n, prefix, device=None):
    return torch.tensor([[j < prefix or j <= i for j in range(n)] for i in range(n)], device=device)


@exercise.mutant(LOOP)
def loop_over_the_prefix(n, prefix, device=None):
    mask = causal(n, device)
    for j in range(min(prefix, n)):
        mask[:, j] = True
    return mask
