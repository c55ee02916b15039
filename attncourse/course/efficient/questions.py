"""The questions of the chapter on efficient attention."""

import math
from fractions import Fraction
from functools import partial

import torch

from attncourse.cost import count
from attncourse.course.efficient.claims.approximate import error
from attncourse.course.question import (
    NAMES_ONLY,
    Choice,
    Line,
    Ln,
    Maps,
    Number,
    Order,
    Row,
    double,
    mutant,
    show,
    texts,
)
from attncourse.efficient import (
    cache_bytes,
    grouped_query_attention,
    longformer_mask,
    online_softmax_update,
)

RUNNING, PATTERN, PROJECTED = "running_max_and_sum", "window_and_global", "projected_attention"


def sum_text(scores, largest) -> str:
    """Exponentials relative to the largest score, as people add them up."""
    return " + ".join(show(Fraction(s.number, largest)) for s in scores)


def two_blocks(rng) -> dict:
    """Scores of four keys, the largest of them in the second block."""
    top, smaller = rng.choice([(4, [1, 2]), (6, [1, 2, 3]), (8, [1, 2, 4]), (12, [2, 3, 4, 6])])
    first = tuple(map(Ln, rng.sample(smaller, 2)))
    second = tuple(map(Ln, rng.sample([top, rng.choice(smaller)], 2)))
    return {"first": first, "second": second}


def sum_of_two_blocks(first, second):
    mu, ell, z = double([-math.inf]), double([0]), double([0])
    for scores in (first, second):
        mu, ell, z = online_softmax_update(mu, ell, z, double(scores), double([0], [0]))
    return ell.squeeze()


def sum_of(scores, largest) -> Fraction:
    return sum((Fraction(s.number, largest) for s in scores), Fraction(0))


def last_sum(hint, first, second):
    return mutant(RUNNING, hint)(double(*first, *second), 2)[1][-1]


running_sum = Number(
    aim="never-all-scores",
    asks=(
        "A query reads four keys in two blocks, whose scores are <first> and <second>. After each "
        "block it keeps the largest score so far, $\\mu$, and the sum $\\ell$ of $e^{s - \\mu}$ "
        "over all scores $s$ so far. What is $\\ell$ after the second block?"
    ),
    draw=two_blocks,
    right=sum_of_two_blocks,
    steps=lambda first, second: (
        f"After the first block, $\\mu$ is {max(first)}, so $\\ell$ is "
        f"{sum_text(first, (old := max(first).number))} = {show(sum_of(first, old))}.",
        f"The second block has a larger score, {max(second)}. Multiply the old sum by "
        f"exp({max(first)} − {max(second)}) = {show(Fraction(old, (new := max(second).number)))}: "
        f"that gives {show(sum_of(first, new))}.",
        f"The scores of the second block add {sum_text(second, new)} = "
        f"{show(sum_of(second, new))}.",
        f"Together, that is {show(sum_of((*first, *second), new))}.",
    ),
    check="The largest score so far adds exp(0) = 1 to the sum. What do the other three add?",
    placement=True,
    mistakes={
        "You added to the old sum without changing it. It was computed with the old maximum: by "
        "what factor is it too large now?":
            partial(last_sum, "the old sum keeps its scale"),
        "You multiplied the old sum by a factor above 1. The maximum has grown: do exponentials "
        "taken relative to it become larger or smaller?":
            partial(last_sum, "the old sum is rescaled the wrong way"),
        "That's the sum of the second block alone. What becomes of the keys that were read before?":
            partial(last_sum, "the sums start anew"),
        "You added up the exponentials of the scores themselves. What is subtracted from each "
        "score first, so that no exponential overflows?":
            partial(last_sum, "the sums are taken without the maximum"),
        "That's the sum after the first block. What does the second block change in it, and add "
        "to it?":
            lambda first, second: float(sum_of(first, max(first).number)),
        "That's the old sum, relative to the new maximum. What do the scores of the second block "
        "add to it?":
            lambda first, second: float(sum_of(first, max(second).number)),
        "Your exponentials are relative to the largest score of the first block. Is that still "
        "the largest so far?":
            lambda first, second: float(sum_of((*first, *second), max(first).number)),
    },
)  # fmt: skip


def sum_of_one_pass(scores):
    mu, ell, z = double([-math.inf]), double([0]), double([0])
    for s in scores:
        mu, ell, z = online_softmax_update(mu, ell, z, double([s]), double([0]))
    return ell.squeeze()


one_pass = Order(
    aim="never-all-scores",
    asks=(
        "Put five of these six lines in an order that reads each score once and returns the sum of "
        "exp(s − m) over all scores s, where m is the largest of them. The program must never take "
        "the exponential of a number above 0."
    ),
    head="def sum_in_one_pass(scores, mu=-math.inf, ell=0.0):",
    lines=(
        "for s in scores:",
        "    new = max(mu, s)",
        "    ell = ell * math.exp(mu - new) + math.exp(s - new)",
        "    mu = new",
        "return ell",
    ),
    spare="    ell = ell + math.exp(s - new)",
    cases=lambda: [([1.0, 3.0, 2.0, 4.5],), ([2.0, 0.5, 1.0],)],
    right=sum_of_one_pass,
    steps=(
        "Inside the loop, the new maximum comes first, because both exponentials need it.",
        "The old sum then shrinks by exp(mu − new), so `mu` must still be the old maximum here.",
        "Only after that does `mu` become the new maximum, ready for the next score.",
        "After the loop, the sum is complete.",
    ),
    check="The indented lines belong below the `for`. Run your program in your head with the "
    "scores 0 and ln 2: is `ell` 1/2 + 1 at the end?",
    minutes=3,
    mistakes={
        "In your program, the old sum stays as it is when a larger score comes. Which line makes "
        "it smaller, and what is `mu` when that line runs?":
            lambda scores: sum(math.exp(s - max(scores[: i + 1])) for i, s in enumerate(scores)),
        "Your program forgets the largest score from one turn of the loop to the next. Which line "
        "keeps it? And how many times does your program add each score?":
            lambda scores: 2.0,
        "Your program forgets the largest score from one turn of the loop to the next, and the "
        "sum with it. Which line keeps it?":
            lambda scores: 1.0,
        "Your program returns before it has read a score.": lambda scores: 0.0,
        "Your program ends without returning anything.": lambda scores: None,
    },
)  # fmt: skip


WIDTH, KEPT, HEADS, GROUPS = 128, 8192, 32, 8


def bytes_of_cache(groups: int) -> int:
    return cache_bytes(KEPT, 1, groups, WIDTH, torch.bfloat16)


def operations(heads: int, groups: int) -> int:
    """What one query in each head costs."""
    shapes = (heads, 1, WIDTH), (groups, KEPT, WIDTH), (groups, KEPT, WIDTH)
    return count(grouped_query_attention, *(torch.empty(x, device="meta") for x in shapes)).flops


queries_before_the_limit = Number(
    aim="shared-keys",
    asks=(
        "Each number of a cache takes 2 bytes, and each query that meets it does 2 operations with "
        f"it, a multiplication and an addition. The {HEADS} heads of a layer form {GROUPS} groups, "
        "each with its own keys and values in such a cache, and a number that has been read serves "
        "all the queries that need it. In the time in which the memory delivers one byte, the "
        "processor can do <power> operations. How many queries at once must each head have, so "
        "that the processor doesn't have to wait for the memory? (Count nothing else.)"
    ),
    # in this order the first number drawn is the one with which the figure opens
    draw=lambda rng: {"power": rng.choice([48, 200, *range(64, 257, 16)])},
    right=lambda power, groups=GROUPS: power * bytes_of_cache(groups) / operations(HEADS, groups),
    steps=lambda power: (
        "A query spends two operations on each number of the cache that it meets, and the number "
        "takes 2 bytes: that is one operation for each byte.",
        f"Each number serves {HEADS} / {GROUPS} = {HEADS // GROUPS} heads, so with one query in "
        f"each head, there are {HEADS // GROUPS} operations for each byte.",
        f"To reach {power} operations for each byte, each head needs {power} / {HEADS // GROUPS} "
        "queries.",
    ),
    check="How many operations are done with one number of the cache, if each head has one query?",
    tolerance=0.1,
    minutes=3,
    placement=True,
    mistakes={
        "That would be right if every head had keys and values of its own. In this layer, how many "
        "heads use a number that has been read once?":
            lambda power: queries_before_the_limit.right(power, HEADS),
        "You let each number serve the heads of all groups. Which heads use one and the same "
        "number?":
            lambda power: queries_before_the_limit.right(power, 1),
        "That's how many queries all heads need together. How many does each head need?":
            lambda power: HEADS * queries_before_the_limit.right(power),
        "You have it the wrong way round: do shared keys cause more operations for each byte, or "
        "fewer?":
            lambda power: power * HEADS / GROUPS,
        "You counted one operation for each number that a query meets. What comes after the "
        "multiplication?":
            lambda power: 2 * queries_before_the_limit.right(power),
        "With so few queries, the processor would still have to wait. How many heads use a number "
        "of the cache, and how many bytes does the number take?":
            lambda power: queries_before_the_limit.right(power) / 2,
    },
)  # fmt: skip


def ratios_to_all_heads(heads, groups):
    smaller = bytes_of_cache(groups) / bytes_of_cache(heads)
    return [smaller, operations(heads, groups) / operations(heads, heads), smaller]


what_sharing_changes = Row(
    aim="shared-keys",
    asks=(
        "A model with <heads> heads writes token by token, and its attention spends nearly all of "
        "its time reading the cache. Now the heads share keys and values in <groups> groups; "
        "everything else stays as it was. By what factors do the following change: the bytes of "
        "the cache, the operations in which queries meet keys and weights meet values, and the "
        "time that attention takes? (Half as much is a factor of 1/2.)"
    ),
    draw=lambda rng: {
        "heads": (heads := rng.choice([8, 12, 16, 24, 32, 64])),
        "groups": heads // rng.choice([2, 4, 8][: 2 + (heads > 12)]),
    },
    right=ratios_to_all_heads,
    steps=lambda heads, groups: (
        f"The cache holds a set of keys and values for each group, so {groups} sets instead of "
        f"{heads}. That is a factor of 1/{heads // groups}.",
        f"There are still {heads} heads with queries of their own, and each query meets as many "
        "keys and values as before, so the factor is 1.",
        "The time goes into reading the cache, so it changes by the same factor as the bytes.",
    ),
    check="For each of the three, ask whether it depends on the number of heads or on the number "
    "of sets of keys.",
    mistakes={
        "In your answer, the operations fall with the sets of keys. Every head still has a query: "
        "how many keys does it meet?":
            lambda heads, groups: [groups / heads] * 3,
        "In your answer, the operations fall with the sets of keys, but the time doesn't fall with "
        "the bytes. How many queries are there still, and what does attention spend its time on?":
            lambda heads, groups: [groups / heads, groups / heads, 1],
        "In your answer, the time follows the operations. What does attention spend its time on?":
            lambda heads, groups: [groups / heads, 1, 1],
        "Two of your factors are above 1. Are there more sets of keys and values than before, or "
        "fewer?":
            lambda heads, groups: [heads / groups, 1, heads / groups],
        "All of your factors are above 1, as if all three grew. For each one, ask whether it "
        "grows, shrinks or stays the same.":
            lambda heads, groups: [heads / groups] * 3,
        "In your answer, the cache stays as large as before, with a copy for each head. Does a set "
        "have to be stored several times because several heads read it?":
            lambda heads, groups: [1, 1, 1],
        "You divided by the number of groups. How many sets of keys and values were there before, "
        "and how many are there now?":
            lambda heads, groups: [1 / groups, 1, 1 / groups],
    },
)  # fmt: skip


def pattern(hint, n, token):
    return mutant(PATTERN, hint)(n, 3, [token]).double()


pairs_kept = Maps(
    aim="choose-approximation",
    asks=(
        "A pattern for <n> tokens keeps a window of 3, which is each token and one neighbour on "
        "either side. Token <token> (counted from 0) is a *global token*. Which map shows the "
        "pairs that are kept? (A row is a query, a column is a key.)"
    ),
    draw=lambda rng: {"n": (n := rng.choice([6, 7, 8])), "token": rng.randrange(2, n - 2)},
    right=lambda n, token: longformer_mask(n, 3, [token]).double(),
    steps=lambda n, token: (
        "The window is a band of three along the diagonal.",
        f"Token {token} sees all tokens, so row {token} is full.",
        f"All tokens see token {token}, so column {token} is full as well.",
    ),
    check="Take two tokens that are far apart, one of them global. In which directions may they "
    "see each other?",
    minutes=1,
    mistakes={
        "In this map, the global token sees all tokens, but only its neighbours see it. What could "
        "a distant token learn from it?":
            partial(pattern, "the listed tokens see all, but not all"),
        "In this map, all tokens see the global token, but it sees only its neighbours. How would "
        "it learn what to pass on?":
            partial(pattern, "all see the listed tokens, but those"),
        "This map shows the window alone. What does a global token add to it?":
            partial(pattern, "the listed tokens see only each other"),
    },
)  # fmt: skip


def answers_of_a_method(rng) -> dict:
    """What attention and a method answer, at distances that are whole numbers."""
    size, mean = rng.choice([1, 2]), rng.randint(1, 9)
    mean_errors = [rng.choice([-1, 1]) * size * x for x in rng.sample([3, 4], 2)]
    method_errors = rng.sample([rng.choice([-1, 1]) * size * rng.choice([1, 2, 3, 4]), 0], 2)
    exact = tuple(mean + x for x in mean_errors)
    approx = tuple(map(sum, zip(exact, method_errors, strict=True)))
    return {"exact": exact, "approx": approx, "mean": (mean, mean)}


def relative_error(exact, approx, mean):
    z, best, v = (double(*([x] for x in rows)) for rows in (approx, exact, mean))
    return error(z, best, v)


def squared(exact, approx, mean):
    return relative_error(exact, approx, mean) ** 2


def l1(first, second) -> float:
    return sum(abs(x - y) for x, y in zip(first, second, strict=True))


error_of_a_method = Number(
    aim="error-and-cost",
    asks=(
        "In this question, values are single numbers. Attention answers two queries with <exact>. "
        "A cheaper method, which should come close to that, answers with <approx>, and the mean of "
        "all values as the answer to both would give <mean>. How large is the method's error, if "
        "the error of the mean is 1? (The distance between two pairs of answers is the root of the "
        "sum of the squared differences.)"
    ),
    draw=answers_of_a_method,
    right=relative_error,
    steps=lambda exact, approx, mean: (
        f"The method differs from attention by {show(approx[0] - exact[0])} and "
        f"{show(approx[1] - exact[1])}, which is a distance of {math.dist(approx, exact):g}.",
        f"The mean differs from attention by {show(mean[0] - exact[0])} and "
        f"{show(mean[1] - exact[1])}, which is a distance of {math.dist(exact, mean):g}.",
        f"The error is {math.dist(approx, exact):g}/{math.dist(exact, mean):g}.",
    ),
    check="You need two distances, and both are distances from attention's answers.",
    mistakes={
        "That's a distance, not yet an error. What do you divide it by, so that the mean of all "
        "values has an error of 1?":
            lambda exact, approx, mean: math.dist(approx, exact),
        "You divided by the size of attention's answers. Put the mean in place of the method: does "
        "your formula give 1?":
            lambda exact, approx, mean: math.dist(approx, exact) / math.hypot(*exact),
        "You divided the mean's distance by the method's distance. Suppose a method answers just "
        "as attention does: what should its error be, and what does your formula give?":
            lambda exact, approx, mean: 1 / error_of_a_method.right(exact, approx, mean),
        "You compared sums of squares. What is still missing to make distances of them?": squared,
        "You compared sums of absolute differences. A distance is made of squares: what are the "
        "two distances?":
            lambda exact, approx, mean: l1(approx, exact) / l1(exact, mean),
        "You divided by the distance between the method and the mean. Put the mean in place of the "
        "method: what do you divide by then?":
            lambda exact, approx, mean: math.dist(approx, exact) / math.dist(approx, mean),
    },
)  # fmt: skip


wrong_line_of_mixtures = Line(
    aim="choose-approximation",
    asks=(
        "This function should attend to `r` mixtures of the `m` keys instead of the keys "
        "themselves. `e` and `f` are learned and have the shape `(r, m)`; `e` is for the keys, and "
        "`f` is for the values. Which line is wrong?"
    ),
    faults={
        "e projects the values as well":
            "`values` is made with `e`, but the values have a matrix of their own, `f`.",
        "the values are not projected":
            "There are `r` weights for each query, but `values` still has `m` rows.",
        "the scale comes from the number of projections":
            "Each score is a sum of as many products as a key is wide, so it should be divided by "
            "the root of that width. `len(e)` is the number of mixtures.",
        "the softmax runs over the queries":
            "The softmax should run over the mixtures, the last axis of the scores. With `-2`, the "
            "weights of a *mixture* sum to 1 over the queries.",
    },
    text_of=partial(texts, PROJECTED),
    steps=(
        "Write down the shape that each line should give: `(r, d)` for the mixtures, `(n, r)` for "
        "the scores and the weights, `(n, d)` for the result.",
        "Then ask what each row of the weights stands for, and what it has to sum to.",
    ),
    check=(
        "Follow n = 5 queries, m = 7 keys and r = 2 mixtures of width 3. If the shapes fit, ask "
        "which matrix each line should use, how many products each score sums, and along which "
        "axis the weights sum to 1."
    ),
    mistakes={
        "That line is right: it makes `r` keys out of `m`, with the matrix for the keys.":
            "keys = ",
        "That line is right: each query takes a weighted mean of the values. Look at how the "
        "weights and the values are made.":
            "return ",
        NAMES_ONLY: "def ",
    },
)  # fmt: skip


method_for_sharp_weights = Choice(
    aim="choose-approximation",
    asks=(
        "Suppose that in a trained model, each token gives nearly all of its weight to one other "
        "token, whose vector is nearly a positive multiple of its own. That token may stand "
        "anywhere in the text, and it is a different one for nearly every token. Which method "
        "makes an assumption that is true of these weights?"
    ),
    right="the Reformer, in which tokens meet if their directions fall into the same bucket",
    steps=(
        "The weights are sharp: they come from large scores, and they lie on many different keys. "
        "So they are not of low rank, and random features would need very many draws.",
        "The important key can be far away, so no pattern of positions finds it.",
        "But its direction is close to the token's own, and vectors with similar directions are "
        "likely to share a bucket.",
    ),
    check="For each method, ask what decides whether a key gets weight: its place, its content, or "
    "neither.",
    mistakes={
        "BigBird chooses its window and its random keys without looking at the tokens. How likely "
        "is the one token that matters to be among them?":
            "BigBird, with a window, a global token and a few keys at random",
        "A mixture blends many keys. How many keys do these weights have to tell apart, and how "
        "many mixtures would that take?":
            "Linformer, with a few learned mixtures of keys",
        "Weights as sharp as these come from large scores. Which draws contribute most to the mean "
        "that estimates the exponential of a large score?":
            "the Performer, with random features",
    },
)  # fmt: skip


window_or_means = Choice(
    aim="error-and-cost",
    asks=(
        "The tokens of a text change slowly from one to the next. Two methods each spend an eighth "
        "of attention's operations: a window of neighbours, and mixtures that are the means of "
        "short stretches of tokens. Which of them has the smaller error where the weights are "
        "spread over much of the text, and which where they are sharp and lie on a token's "
        "neighbours?"
    ),
    right="the means where the weights are spread out, the window where they are sharp",
    steps=(
        "Where the weights are spread out, most of them lie outside the window. Neighbours are "
        "alike, so the means lose little.",
        "Where the weights are sharp, most of them lie inside the window. A mean over a stretch "
        "blurs exactly the differences that matter.",
    ),
    check="For each method, ask what it leaves out, and how much weight lies there.",
    minutes=1,
    mistakes={
        "If the weight is spread out, how much of it does a window keep? And what happens to a "
        "single large weight in a mean?":
            "the window where the weights are spread out, the means where they are sharp",
        "A window drops whatever lies outside it. How much is that if the weights are spread over "
        "the whole text?":
            "the window in both cases",
        "All the tokens of a stretch get the same share of a mean. What if the weight of one of "
        "them should be far above that of the next?":
            "the means in both cases",
    },
)  # fmt: skip
