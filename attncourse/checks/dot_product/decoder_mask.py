"""Exercise decoder_mask: the causal mask of a batch whose sentences differ in length."""

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="decoder_mask",
    chapter="dot_product",
    title="Neither the future nor the padding",
    kind="extend",
    difficulty=1,
    minutes=8,
    points=10,
    hints=(
        "A key must pass two tests: it is not later than the query, and it is a word of its "
        "sentence. The first is the same for all sentences, the second for all queries.",
        "Number the positions once. Compared with themselves as a column they give the first test, "
        "of shape (n, n). For the second, of shape (batch, 1, n), the lengths need two axes more. "
        "Broadcasting makes the three axes when you join the tests.",
        "With j = torch.arange(n, device=lengths.device), the queries are j[:, None] and the "
        "lengths lengths[:, None, None]; & asks for both tests.",
    ),
    differentiable=False,
)


@exercise.reference
def by_hand(lengths, n):
    mask = [
        [[j <= i and j < length for j in range(n)] for i in range(n)] for length in lengths.tolist()
    ]
    return torch.tensor(mask, dtype=torch.bool, device=lengths.device)


@exercise.cases
def cases(draw):
    n = draw.integer(6, 9)
    # a first length of at least 3, so that a length too short or too long by one always shows
    lengths = torch.tensor([draw.integer(3, 4), n, draw.integer(1, 2)])
    yield Case(
        f"lengths {lengths.tolist()}, n={n}",
        (lengths, n),
        longer=((16 * lengths).repeat(8), 16 * n),
    )
    yield Case(f"a sentence of length 0, n={n}", (torch.tensor([2, 0, n - 1]), n))
    short = torch.tensor([2, n - 2])
    yield Case(f"all sentences shorter than n={n}", (short, n))
    yield Case("as many sentences as positions", (torch.tensor([3, 1, 4, 2]), 4))
    yield Case("a batch of one sentence", (torch.tensor([n - 2]), n))
    yield Case("lengths as int32", (lengths.int(), n))
    yield Case("a batch of one sentence, n=140", (torch.tensor([135]), 140))
    yield Case("one position", (torch.tensor([1, 0]), 1))


def positions(lengths, n):
    """The lengths with axes for queries and keys, the queries as a column, the keys as a row."""
    j = torch.arange(n, device=lengths.device)
    return lengths[:, None, None], j[:, None], j


@exercise.valid
def both_tests(lengths, n):
    length, i, j = positions(lengths, n)
    return (j <= i) & (j < length)


@exercise.valid
def lower_triangle_of_the_words(lengths, n):
    words = torch.arange(n, device=lengths.device) < lengths[:, None]
    return words[:, None, :].expand(-1, n, -1).tril()


@exercise.valid
def before_the_sooner_of_two_ends(lengths, n):
    length, i, j = positions(lengths, n)
    return j < torch.minimum(i + 1, length)


@exercise.valid
def padding_taken_out(lengths, n):
    causal = torch.ones(len(lengths), n, n, dtype=torch.bool, device=lengths.device).tril()
    padding = torch.arange(n, device=lengths.device) >= lengths.unsqueeze(-1)
    return causal.masked_fill(padding.unsqueeze(1), False)


@exercise.valid
def product_of_two_masks(lengths, n):
    causal = torch.ones(n, n, device=lengths.device).tril()
    words = (torch.arange(n, device=lengths.device)[None, :] < lengths[:, None]).float()
    return torch.einsum("ij,bj->bij", causal, words).bool()


@exercise.valid
def rows_of_a_table(lengths, n):
    table = torch.ones(n + 1, n, dtype=torch.bool, device=lengths.device).tril(-1)
    return table[1:] & table[lengths.long()][:, None]


@exercise.valid
def one_sentence_mapped_to_all(lengths, n):
    j = torch.arange(n, device=lengths.device)
    return torch.vmap(lambda length: (j <= j[:, None]) & (j < length))(lengths)


@exercise.valid
def ends_summed_up(lengths, n):
    ends = torch.zeros(len(lengths), n + 1, device=lengths.device)
    ends = ends.scatter(1, lengths.long()[:, None], 1.0).cumsum(1)[:, None, :n]
    return (ends == 0).expand(-1, n, -1).tril()


@exercise.mutant("the padding is not masked: keys from the length on are no words")
def only_causal(lengths, n):
    length, i, j = positions(lengths, n)
    return (j <= i) & (length == length)


@exercise.mutant("the future is not masked: a query sees keys up to itself only")
def only_padding(lengths, n):
    length, i, j = positions(lengths, n)
    return (j < length) & (i == i)


@exercise.mutant("one test is enough for this mask: a key must pass both")
def one_test_is_enough(lengths, n):
    length, i, j = positions(lengths, n)
    return (j <= i) | (j < length)


QUERIES = (
    "the rows of padded queries are emptied: ask of the key, not of the query, if it is a word"
)


@exercise.mutant(QUERIES)
def padded_queries(lengths, n):
    length, i, j = positions(lengths, n)
    return (j <= i) & (i < length)


@exercise.mutant(QUERIES)
def padded_queries_and_keys(lengths, n):
    length, i, j = positions(lengths, n)
    return (j <= i) & (j < length) & (i < length)


@exercise.mutant(
    "the rows of padded queries are opened: the rule holds for them as it does for words"
)
def padded_queries_see_all(lengths, n):
    length, i, j = positions(lengths, n)
    return (j <= i) & (j < length) | (i >= length)


@exercise.mutant("padding sees itself: such a key is no word, not even for its own query")
def diagonal_always(lengths, n):
    return both_tests(lengths, n) | torch.eye(n, dtype=torch.bool, device=lengths.device)


@exercise.mutant("a query does not see itself: its own position is allowed too")
def strictly_earlier(lengths, n):
    length, i, j = positions(lengths, n)
    return (j < i) & (j < length)


@exercise.mutant("a query sees one position ahead: it sees up to itself")
def one_ahead(lengths, n):
    length, i, j = positions(lengths, n)
    return (j <= i + 1) & (j < length)


@exercise.mutant("the order is turned round: a query sees earlier keys, not later ones")
def later_keys(lengths, n):
    length, i, j = positions(lengths, n)
    return (j >= i) & (j < length)


@exercise.mutant("the causal test is upside down: a query sees earlier keys, not later ones")
def only_the_future(lengths, n):
    length, i, j = positions(lengths, n)
    return (j > i) & (j < length)


@exercise.mutant("rows and columns are exchanged: a row is a query, and sees what is True in it")
def transposed(lengths, n):
    return both_tests(lengths, n).mT


@exercise.mutant("one key of padding is let in: a length is a count, positions start at 0")
def one_key_of_padding(lengths, n):
    length, i, j = positions(lengths, n)
    return (j <= i) & (j <= length)


@exercise.mutant("the last word is lost: a length is a count, positions start at 0")
def last_word_lost(lengths, n):
    length, i, j = positions(lengths, n)
    return (j <= i) & (j < length - 1)


@exercise.mutant("the words are looked for at the end: padding comes after them")
def padding_on_the_left(lengths, n):
    length, i, j = positions(lengths, n)
    return (j <= i) & (j >= n - length)


@exercise.mutant("the mask is upside down: True means may attend")
def inverted(lengths, n):
    return ~both_tests(lengths, n)


@exercise.mutant("the padding half is upside down: it lets the padding in and the words out")
def padding_inverted(lengths, n):
    length, i, j = positions(lengths, n)
    return (j <= i) & (j >= length)


@exercise.mutant("a sentence of length 0 has no key at all: its rows are all False")
def first_key_always(lengths, n):
    return both_tests(lengths.clamp(min=1), n)


@exercise.mutant("one length serves the whole batch: every sentence has its own")
def first_length_for_all(lengths, n):
    return both_tests(lengths[:1].expand_as(lengths), n)


@exercise.mutant("one length serves the whole batch: every sentence has its own")
def longest_for_all(lengths, n):
    return both_tests(lengths.max().expand_as(lengths), n)


AXES = "the lengths meet the wrong axis: give them axes of their own for the queries and the keys"


@exercise.mutant(AXES)
def lengths_along_the_keys(lengths, n):
    _, i, j = positions(lengths, n)
    return (j <= i) & (j < lengths)


@exercise.mutant(AXES)
def lengths_along_the_queries(lengths, n):
    _, i, j = positions(lengths, n)
    return (j <= i) & (j < lengths[:, None])


@exercise.mutant("this is the causal mask alone: every sentence has its own, (batch, n, n)")
def causal_without_a_batch(lengths, n):
    _, i, j = positions(lengths, n)
    return j <= i


@exercise.mutant(
    "this says which tokens are words, (batch, n): each query has a row, (batch, n, n)"
)
def words_without_queries(lengths, n):
    return torch.arange(n, device=lengths.device) < lengths[:, None]


@exercise.mutant("this is the padding mask alone, (batch, 1, n): join it with the causal one")
def padding_for_all_queries(lengths, n):
    length, _, j = positions(lengths, n)
    return j < length


@exercise.mutant("squeeze drops a batch of one: keep the three axes")
def batch_of_one_squeezed(lengths, n):
    return both_tests(lengths, n).squeeze()


@exercise.mutant("squeeze drops a batch of one: keep the three axes")
def first_axis_squeezed(lengths, n):
    return both_tests(lengths, n).squeeze(0)


@exercise.mutant("the mask is cut from a table of a fixed size: make it for the n at hand")
def table_of_a_fixed_size(lengths, n):
    table = torch.ones(64, 64, dtype=torch.bool, device=lengths.device).tril()[:n, :n]
    return table & (torch.arange(n, device=lengths.device) < lengths[:, None, None])


@exercise.mutant(
    "8 bits do not hold the positions of a long sequence: keep torch.arange's own dtype"
)
def positions_of_eight_bits(lengths, n):
    length, i, j = positions(lengths.to(torch.int8), n)
    return (j.to(torch.int8) <= i.to(torch.int8)) & (j.to(torch.int8) < length)


@exercise.mutant("the mask is as wide as the longest sentence: it is n wide")
def width_of_the_longest(lengths, n):
    return both_tests(lengths, int(lengths.max()))


@exercise.mutant("there is an axis for the heads: the shape is (batch, n, n)")
def with_an_axis_for_heads(lengths, n):
    return both_tests(lengths, n)[:, None]


@exercise.mutant("the batch is folded into one mask: each sentence has its own (n, n)")
def one_mask_for_all(lengths, n):
    return both_tests(lengths, n).all(dim=0)


@exercise.mutant("the mask is not boolean: True = may attend, False = may not")
def of_ones_and_zeros(lengths, n):
    return both_tests(lengths, n).float()


@exercise.mutant("the mask is not boolean: True = may attend, False = may not")
def of_integers(lengths, n):
    return both_tests(lengths, n).long()


@exercise.mutant("this is what is added to the scores: return the boolean mask, True = may attend")
def to_be_added(lengths, n):
    mask = both_tests(lengths, n)
    return torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -torch.inf)


CPU = "a new tensor is made on the CPU: give it the device of lengths"


@exercise.mutant(CPU)
def positions_on_the_cpu(lengths, n):
    j = torch.arange(n, device="cpu")
    return (j <= j[:, None]) & (j < lengths[:, None, None])


@exercise.mutant(CPU)
def mask_on_the_cpu(lengths, n):
    return both_tests(lengths, n) & torch.ones(n, n, dtype=torch.bool, device="cpu").tril()


@exercise.mutant("lengths changes: work on a new tensor")
def lengths_changed(lengths, n):
    lengths -= 1
    length, i, j = positions(lengths, n)
    return (j <= i) & (j <= length)


LOOP = "it loops over positions or sentences: compare all of them at once"


@exercise.mutant(LOOP)
def loop_over_queries(lengths, n):
    length, _, j = positions(lengths, n)
    return torch.cat([(j <= i) & (j < length) for i in range(n)], dim=1)


@exercise.mutant(LOOP)
def loop_over_sentences(lengths, n):
    _, i, j = positions(lengths, n)
    return torch.stack([(j <= i) & (j < length) for length in lengths])


@exercise.mutant(LOOP)
def loop_over_slices(lengths, n):
    mask = torch.ones(len(lengths), n, n, dtype=torch.bool, device=lengths.device).tril()
    for one, length in zip(mask, lengths, strict=True):
        one[:, length:] = False
    return mask
