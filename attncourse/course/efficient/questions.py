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


def summed(parts, whole) -> str:
    """Exponentials relative to the largest score, as people add them up."""
    return " + ".join(show(Fraction(s.number, whole)) for s in parts)


def two_blocks(chance) -> dict:
    """Scores of four keys, the largest of them in the second block."""
    top, below = chance.choice([(4, [1, 2]), (6, [1, 2, 3]), (8, [1, 2, 4]), (12, [2, 3, 4, 6])])
    first = tuple(map(Ln, chance.sample(below, 2)))
    second = tuple(map(Ln, chance.sample([top, chance.choice(below)], 2)))
    return {"first": first, "second": second}


@Number(
    aim="never-all-scores",
    section="Three keys by hand",
    asks=(
        "A query reads four keys in two blocks, whose scores are <first> and <second>. After each "
        "block it keeps the largest score so far, $\\mu$, and the sum $\\ell$ of $e^{s - \\mu}$ "
        "over all scores $s$ so far. What is $\\ell$ after the second block?"
    ),
    draw=two_blocks,
    way=lambda first, second: (
        f"After the first block, $\\mu$ is {max(first)}, so $\\ell$ is "
        f"{summed(first, (old := max(first).number))} = {show(sum_of(first, old))}.",
        f"The second block has a larger score, {max(second)}. Multiply the old sum by "
        f"exp({max(first)} − {max(second)}) = {show(Fraction(old, (new := max(second).number)))}: "
        f"that gives {show(sum_of(first, new))}.",
        f"Its own scores add {summed(second, new)} = {show(sum_of(second, new))}.",
        f"Together, that is {show(sum_of((*first, *second), new))}.",
    ),
    check="The largest score so far adds exp(0) = 1 to the sum. What do the other three add?",
    placement=True,
)
def running_sum(first, second):
    mu, ell, z = double([-math.inf]), double([0]), double([0])
    for scores in (first, second):
        mu, ell, z = online_softmax_update(mu, ell, z, double(scores), double([0], [0]))
    return ell.squeeze()


def sum_of(scores, whole) -> Fraction:
    return sum((Fraction(s.number, whole) for s in scores), Fraction(0))


def last_sum(hint, first, second):
    return mutant(RUNNING, hint)(double(*first, *second), 2)[1][-1]


@running_sum.mistake(
    "You added to the old sum as it was. It was made with the old maximum: by which factor is it "
    "too large now?"
)
def old_scale(first, second):
    return last_sum("the old sum keeps its scale", first, second)


@running_sum.mistake(
    "You multiplied the old sum by a factor above 1. The maximum has grown: do exponentials taken "
    "relative to it become larger or smaller?"
)
def wrong_way(first, second):
    return last_sum("the old sum is rescaled the wrong way", first, second)


@running_sum.mistake(
    "That is the sum of the second block alone. What becomes of the keys that were read before?"
)
def block_alone(first, second):
    return last_sum("the sums start anew", first, second)


@running_sum.mistake(
    "You added up the exponentials of the scores themselves. What is taken away from each score "
    "first, so that no exponential overflows?"
)
def without_the_maximum(first, second):
    return last_sum("the sums are taken without the maximum", first, second)


@running_sum.mistake(
    "That is the sum after the first block. What does the second block change in it, and add to it?"
)
def first_block_only(first, second):
    return float(sum_of(first, max(first).number))


@running_sum.mistake(
    "That is the old sum, relative to the new maximum. What do the scores of the second block add "
    "to it?"
)
def nothing_added(first, second):
    return float(sum_of(first, max(second).number))


@running_sum.mistake(
    "Your exponentials are relative to the largest score of the first block. Is that still the "
    "largest so far?"
)
def the_old_maximum(first, second):
    return float(sum_of((*first, *second), max(first).number))


@Order(
    aim="never-all-scores",
    section="Attention, block by block",
    asks=(
        "Put five of these six lines in an order that reads each score once and returns the sum of "
        "exp(s − m) over all scores s, where m is the largest of them. No exponential may be of a "
        "number above 0."
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
    way=lambda: (
        "Inside the loop, the new maximum comes first, because both exponentials need it.",
        "The old sum then shrinks by exp(mu − new), so `mu` must still be the old maximum here.",
        "Only after that does `mu` become the new maximum, ready for the next score.",
        "After the loop, the sum is complete.",
    ),
    check="The indented lines belong below the `for`. Run yours in your head with the scores 0 and "
    "ln 2: is `ell` 1/2 + 1 at the end?",
    minutes=3,
)
def one_pass(scores):
    mu, ell, z = double([-math.inf]), double([0]), double([0])
    for s in scores:
        mu, ell, z = online_softmax_update(mu, ell, z, double([s]), double([0]))
    return ell.squeeze()


@one_pass.mistake(
    "In your program, the old sum stays as it is when a larger score comes. Which line makes it "
    "smaller, and what is `mu` when that line runs?"
)
def never_rescaled(scores):
    return sum(math.exp(s - max(scores[: i + 1])) for i, s in enumerate(scores))


@one_pass.mistake(
    "Your program forgets the largest score from one turn of the loop to the next. Which line "
    "keeps it? And each score may be added once only."
)
def forgotten_and_added_twice(scores):
    return 2.0


@one_pass.mistake(
    "Your program forgets the largest score from one turn of the loop to the next, and the sum "
    "with it. Which line keeps it?"
)
def forgotten(scores):
    return 1.0


@one_pass.mistake("Your program returns before it has read a score.")
def returned_at_once(scores):
    return 0.0


@one_pass.mistake("Your program ends without returning anything.")
def returned_nothing(scores):
    return None


WIDTH, KEPT, HEADS, GROUPS = 128, 8192, 32, 8


def bytes_of_cache(groups: int) -> int:
    return cache_bytes(KEPT, 1, groups, WIDTH, torch.bfloat16)


def operations(heads: int, groups: int) -> int:
    """What one query in each head costs."""
    shapes = (heads, 1, WIDTH), (groups, KEPT, WIDTH), (groups, KEPT, WIDTH)
    return count(grouped_query_attention, *(torch.empty(x, device="meta") for x in shapes)).flops


@Number(
    aim="shared-keys",
    section="Decoding: the memory is the limit",
    asks=(
        "Each number of a cache takes 2 bytes, and each query that meets it does 2 operations with "
        f"it, a multiplication and an addition. The {HEADS} heads of a layer form {GROUPS} groups, "
        "each with its own keys and values in such a cache, and a number that has been read serves "
        "all the queries that need it. While the memory delivers one byte, the processor can do "
        "<power> operations. How many queries at once must each head have, so that the processor "
        "need not wait for the memory? (Count nothing else.)"
    ),
    # in this order the first number drawn is the one with which the figure opens
    draw=lambda chance: {"power": chance.choice([48, 200, *range(64, 257, 16)])},
    way=lambda power: (
        "A query spends two operations on each number of the cache that it meets, and the number "
        "takes 2 bytes: that is one operation for each byte.",
        f"Each number serves {HEADS} / {GROUPS} = {HEADS // GROUPS} heads, so one query in each "
        f"head makes it {HEADS // GROUPS} operations for each byte.",
        f"To reach {power}, each head needs {power} / {HEADS // GROUPS} queries.",
    ),
    check="How many operations does one number of the cache cause, if each head has one query?",
    tolerance=0.1,
    minutes=3,
    placement=True,
)
def queries_before_the_limit(power, groups=GROUPS):
    return power * bytes_of_cache(groups) / operations(HEADS, groups)


@queries_before_the_limit.mistake(
    "That is right where every head has keys and values of its own. Here, how many heads use a "
    "number that has been read once?"
)
def as_if_separate(power):
    return queries_before_the_limit.right(power, HEADS)


@queries_before_the_limit.mistake(
    "You let each number serve the heads of all groups. Which heads use it?"
)
def as_if_one_set(power):
    return queries_before_the_limit.right(power, 1)


@queries_before_the_limit.mistake(
    "That many queries are needed in all heads together. How many are there in each?"
)
def in_all_heads(power):
    return HEADS * queries_before_the_limit.right(power)


@queries_before_the_limit.mistake(
    "You have it the wrong way round: do shared keys cause more operations for each byte, or fewer?"
)
def sharing_costs(power):
    return power * HEADS / GROUPS


@queries_before_the_limit.mistake(
    "You counted one operation for each number that a query meets. It is multiplied, and then?"
)
def products_alone(power):
    return 2 * queries_before_the_limit.right(power)


@queries_before_the_limit.mistake(
    "So few queries leave the processor waiting. How many heads use a number of the cache, and how "
    "many bytes does the number take?"
)
def a_byte_each(power):
    return queries_before_the_limit.right(power) / 2


@Row(
    aim="shared-keys",
    section="Heads that share keys and values",
    asks=(
        "A model with <heads> heads writes token by token, and its attention spends nearly all of "
        "its time reading the cache. Now the heads share keys and values in <groups> groups; "
        "everything else stays as it was. By what factor do these change: the bytes of the cache, "
        "the operations in which queries meet keys and weights meet values, and the time that "
        "attention takes? (Half as much is a factor of 1/2.)"
    ),
    draw=lambda chance: {
        "heads": (heads := chance.choice([8, 12, 16, 24, 32, 64])),
        "groups": heads // chance.choice([2, 4, 8][: 2 + (heads > 12)]),
    },
    way=lambda heads, groups: (
        f"The cache holds keys and values for each group, so {groups} sets instead of {heads}: "
        f"that is a factor of 1/{heads // groups}.",
        f"There are still {heads} heads with queries of their own, and each query meets as many "
        "keys and values as before: a factor of 1.",
        "The time goes into reading the cache, so it falls with the bytes.",
    ),
    check="Ask of each of the three: does it go by the heads of queries, or by the sets of keys?",
)
def what_sharing_changes(heads, groups):
    smaller = bytes_of_cache(groups) / bytes_of_cache(heads)
    return [smaller, operations(heads, groups) / operations(heads, heads), smaller]


@what_sharing_changes.mistake(
    "Your operations fall with the keys. Every head still has a query: how many keys does it meet?"
)
def fewer_operations(heads, groups):
    return [groups / heads] * 3


@what_sharing_changes.mistake(
    "Your operations fall with the keys, and your time does not fall with the bytes. How many "
    "queries are there still, and what does this step spend its time on?"
)
def operations_for_time(heads, groups):
    return [groups / heads, groups / heads, 1]


@what_sharing_changes.mistake(
    "Your time follows the operations. What does this step spend its time on?"
)
def time_by_operations(heads, groups):
    return [groups / heads, 1, 1]


@what_sharing_changes.mistake(
    "Your factors lie above 1. Are there more sets of keys and values than before, or fewer?"
)
def upside_down(heads, groups):
    return [heads / groups, 1, heads / groups]


@what_sharing_changes.mistake(
    "Your factors lie above 1, so all three would grow. Ask of each by itself: does it grow, "
    "shrink or stay?"
)
def all_upside_down(heads, groups):
    return [heads / groups] * 3


@what_sharing_changes.mistake(
    "Your cache holds a copy for each head. Must a set be stored several times because several "
    "heads read it?"
)
def a_copy_for_each_head(heads, groups):
    return [1, 1, 1]


@what_sharing_changes.mistake(
    "You divided by the number of groups. How many sets of keys and values were there before, and "
    "how many are there now?"
)
def divided_by_groups(heads, groups):
    return [1 / groups, 1, 1 / groups]


@Maps(
    aim="choose-approximation",
    section="Fewer pairs: patterns",
    asks=(
        "A pattern for <n> tokens keeps a window of 3: each token, and one neighbour on either "
        "side. Token <token> (counted from 0) is a *global token*. Which map shows the pairs that "
        "are kept? (A row is a query, a column is a key.)"
    ),
    draw=lambda chance: {"n": (n := chance.choice([6, 7, 8])), "token": chance.randrange(2, n - 2)},
    way=lambda n, token: (
        "The window is a band of three along the diagonal.",
        f"Token {token} sees all tokens, so row {token} is full.",
        f"All tokens see token {token}, so column {token} is full as well.",
    ),
    check="Take two tokens that are far apart, one of them global. In which directions may they "
    "see each other?",
    minutes=1,
)
def pairs_kept(n, token):
    return longformer_mask(n, 3, [token]).double()


@pairs_kept.mistake(
    "There the global token sees all, but only its neighbours see it. What could a distant token "
    "learn from it?"
)
def not_seen(n, token):
    return pattern("the listed tokens see all, but not all", n, token)


@pairs_kept.mistake(
    "There all see the global token, but it sees only its neighbours. How would it learn what to "
    "pass on?"
)
def sees_little(n, token):
    return pattern("all see the listed tokens, but those", n, token)


@pairs_kept.mistake("That is the window alone. What does a global token add to it?")
def window_alone(n, token):
    return pattern("the listed tokens see only each other", n, token)


def pattern(hint, n, token):
    return mutant(PATTERN, hint)(n, 3, [token]).double()


def answers_of_a_method(chance) -> dict:
    """What attention and a method answer, at distances that are whole numbers."""
    size, mean = chance.choice([1, 2]), chance.randint(1, 9)
    away = [chance.choice([-1, 1]) * size * x for x in chance.sample([3, 4], 2)]
    off = chance.sample([chance.choice([-1, 1]) * size * chance.choice([1, 2, 3, 4]), 0], 2)
    exact = tuple(mean + x for x in away)
    got = tuple(map(sum, zip(exact, off, strict=True)))
    return {"exact": exact, "got": got, "mean": (mean, mean)}


@Number(
    aim="error-and-cost",
    section="Fewer pairs: similar tokens meet",
    asks=(
        "Values are single numbers here. Attention answers two queries with <exact>. A cheaper "
        "method, which should come close to that, answers with <got>, and the mean of all values "
        "would be <mean>. How large is the method's error, if that of the mean is 1? (The distance "
        "of two answers from two others is the root of the sum of the squared differences.)"
    ),
    draw=answers_of_a_method,
    way=lambda exact, got, mean: (
        f"The method differs from attention by {show(got[0] - exact[0])} and "
        f"{show(got[1] - exact[1])}: a distance of {math.dist(got, exact):g}.",
        f"The mean differs from attention by {show(mean[0] - exact[0])} and "
        f"{show(mean[1] - exact[1])}: a distance of {math.dist(exact, mean):g}.",
        f"The error is {math.dist(got, exact):g}/{math.dist(exact, mean):g}.",
    ),
    check="There are two distances, and both are distances from attention's answers.",
)
def error_of_a_method(exact, got, mean):
    z, best, v = (double(*([x] for x in rows)) for rows in (got, exact, mean))
    return error(z, best, v)


@error_of_a_method.mistake(
    "That is a distance, not yet an error. By what do you divide it, so that the mean of all "
    "values has an error of 1?"
)
def the_distance(exact, got, mean):
    return math.dist(got, exact)


@error_of_a_method.mistake(
    "You divided by the size of attention's answers. Answer with the mean instead of the method: "
    "does your formula give 1?"
)
def share_of_the_answers(exact, got, mean):
    return math.dist(got, exact) / math.hypot(*exact)


@error_of_a_method.mistake(
    "That is how many times as far off the mean is as the method. Suppose that a method answers as "
    "attention does: what should its error be, and what does your formula give?"
)
def upside_down_error(exact, got, mean):
    return 1 / error_of_a_method.right(exact, got, mean)


@error_of_a_method.mistake(
    "You compared sums of squares. What is still missing to make distances of them?"
)
def squared(exact, got, mean):
    return error_of_a_method.right(exact, got, mean) ** 2


@error_of_a_method.mistake(
    "You compared sums of differences. A distance is made of squares: what are the two distances?"
)
def sums_of_differences(exact, got, mean):
    return off_by(got, exact) / off_by(exact, mean)


@error_of_a_method.mistake(
    "You divided by the distance of the method from the mean. Answer with the mean instead of the "
    "method: by what do you divide then?"
)
def from_method_to_mean(exact, got, mean):
    return math.dist(got, exact) / math.dist(got, mean)


def off_by(some, others) -> float:
    return sum(abs(x - y) for x, y in zip(some, others, strict=True))


FAULTS = {
    "e projects the values as well": "`values` is made with `e`. The values have a matrix of their "
    "own, `f`.",
    "the values are not projected": "There are `r` weights for each query, but `values` still has "
    "`m` rows.",
    "the scale comes from the number of projections": "The scores are sums of as many products as "
    "a key is wide, so they are divided by the root of that width. `len(e)` is the number of "
    "mixtures.",
    "the softmax runs over the queries": "The last axis of the scores runs over the mixtures. "
    "With `-2`, the weights of a *mixture* sum to 1 over the queries.",
}


@Line(
    aim="choose-approximation",
    section="Linformer: learned mixtures",
    asks=(
        "This function should attend to `r` mixtures of the `m` keys instead of the keys "
        "themselves. `e` and `f` are learned and have the shape `(r, m)`; `e` is for the keys, `f` "
        "for the values. Which line is wrong?"
    ),
    faults=FAULTS,
    text_of=partial(texts, PROJECTED),
    way=lambda mutant, plain: (
        "Write down the shape that each line should give: `(r, d)` for the mixtures, `(n, r)` for "
        "the scores and the weights, `(n, d)` for the result.",
        "Then ask what each row of the weights stands for, and what it has to sum to.",
    ),
    check=(
        "Follow n = 5 queries, m = 7 keys and r = 2 mixtures of width 3. Where the shapes fit, ask "
        "which matrix each line should use, over how many numbers a score is summed, and along "
        "which axis the weights sum to 1."
    ),
)
def wrong_line_of_mixtures():
    return None


wrong_line_of_mixtures.right_line(
    "keys = ",
    "That line is right: it makes `r` keys out of `m`, with the matrix that is for the keys.",
)
wrong_line_of_mixtures.right_line(
    "return ",
    "That line is right: each query takes a mean of what it is given. Look at what it is given.",
)
wrong_line_of_mixtures.right_line("def ", NAMES_ONLY)


@Choice(
    aim="choose-approximation",
    section="Random features",
    asks=(
        "Suppose that in a trained model each token gives nearly all of its weight to one other "
        "token, whose vector is nearly a positive multiple of its own. That token may stand "
        "anywhere in the text, and is a different one for nearly every token. Which method assumes "
        "what is true of these weights?"
    ),
    way=lambda: (
        "The weights are sharp: they come from large scores, and they lie on many different keys. "
        "So they are not of low rank, and random features would need very many draws.",
        "The important key can be far away, so no pattern of positions finds it.",
        "But its direction is close to the token's own, and vectors with similar directions are "
        "likely to share a bucket.",
    ),
    check="For each method, ask what it decides by: the place of a key, its content, or neither.",
)
def method_for_sharp_weights():
    return "the Reformer, in which tokens meet if their directions fall into the same bucket"


@method_for_sharp_weights.mistake(
    "Its window and its keys at random are chosen without a look at the tokens. How likely is it "
    "that the one token that matters is among them?"
)
def by_position():
    return "BigBird, with a window, a global token and a few keys at random"


@method_for_sharp_weights.mistake(
    "A mixture blends many keys. How many keys have to be told apart here, and how many mixtures "
    "would that take?"
)
def by_mixtures():
    return "Linformer, with a few learned mixtures of keys"


@method_for_sharp_weights.mistake(
    "Weights as sharp as these come from large scores. Which draws make up most of the mean that "
    "estimates the exponential of a large score?"
)
def by_features():
    return "the Performer, with random features"


@Choice(
    aim="error-and-cost",
    section="Error against cost",
    asks=(
        "The tokens of a text change slowly from one to the next. Two methods spend an eighth of "
        "attention's operations: a window of neighbours, and mixtures that are the means of short "
        "stretches of tokens. Which has the smaller error where the weights are spread over much "
        "of the text, and which where they are sharp and lie on a token's neighbours?"
    ),
    way=lambda: (
        "Where the weights are spread out, most of them lie outside the window. Neighbours are "
        "alike, so the means lose little.",
        "Where the weights are sharp, most of them lie inside the window. A mean over a stretch "
        "blurs just the differences that matter.",
    ),
    check="For each method, ask what it leaves out, and how much weight lies there.",
    minutes=1,
)
def window_or_means():
    return "the means where the weights are spread out, the window where they are sharp"


@window_or_means.mistake(
    "Ask where the weight is. How much of a weight that is spread out does a window keep? And what "
    "does a mean make of a single large weight?"
)
def the_other_way_round():
    return "the window where the weights are spread out, the means where they are sharp"


@window_or_means.mistake(
    "A window drops whatever lies outside it. How much is that if the weights are spread over the "
    "whole text?"
)
def always_the_window():
    return "the window in both cases"


@window_or_means.mistake(
    "All the tokens of a stretch get the same share of a mean. What if the weight of one of them "
    "should be far above that of the next?"
)
def always_the_means():
    return "the means in both cases"
