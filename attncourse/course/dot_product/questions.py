"""The questions of the chapter on dot-product attention."""

import math
from functools import partial
from itertools import permutations

import torch

from attncourse.cost import count
from attncourse.course import exercise
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
from attncourse.dot_product import attention, attention_weights, causal_mask, padding_mask

SINK = "softmax_with_sink"
softmax_with_sink = exercise(SINK).valid_answers[0]


# a query of width 1 meets keys whose dot products with it are these scores
def weights_of(scores) -> torch.Tensor:
    return attention_weights(double([1]), double(*[[s] for s in scores]))[0]


def nothing_for_a_score_of_0(scores):
    parts = [s.number if s else 0 for s in scores]
    return parts[0] / sum(parts)


weight_of_a_key = Number(
    aim="compute-attention",
    asks="A query has the scores <scores> with three keys. What weight does the first key get?",
    draw=lambda rng: {
        "scores": rng.choice(
            [[a, Ln(1), b] for a, b in permutations(map(Ln, (2, 3, 4, 5, 6)), 2)]
        )
    },
    right=lambda scores: weights_of(scores)[0],
    steps=lambda scores: (
        f"The exponentials of the scores are {', '.join(str(s.number) for s in scores)}, because "
        "exp(ln $a$) is $a$, and exp(0) is 1.",
        f"Their sum is {sum(s.number for s in scores)}.",
        f"The first key gets {scores[0].number}/{sum(s.number for s in scores)} of the weight, "
        f"which is {show(weights_of(scores)[0].item())}.",
    ),
    check="Compute the other two weights in the same way: do the three sum to 1?",
    placement=True,
    mistakes={
        "You divided the score by the sum of the scores. A softmax first takes the exponential of "
        "each score: what are the three exponentials?":
            lambda scores: scores[0] / sum(scores),
        "You left out a key whose score is 0, as if it got no weight. What is exp(0)?":
            nothing_for_a_score_of_0,
        "You compared the first key with the other two. All three keys share the weight, "
        "including the first, so its own exponential belongs in the sum.":
            lambda scores: scores[0].number / sum(s.number for s in scores[1:]),
        "That's the weight of the second key. Which one does the question ask for?":
            lambda scores: weights_of(scores)[1],
        "That's the exponential of the first score. The weights have to sum to 1, so what do you "
        "divide it by?":
            lambda scores: scores[0].number,
        "That's the weight of the last key. Which one does the question ask for?":
            lambda scores: weights_of(scores)[2],
        "You gave all three keys the same weight, as if their scores were equal. What are the "
        "exponentials of the three scores?":
            1 / 3,
    },
)  # fmt: skip


def weighted_mean(scores, first, second):
    q, k, v = double([1]), double(*[[s] for s in scores]), double(first, second)
    return attention(q, k, v)[0]


def weighted_sum(scores, first, second):
    a, b = (s.number for s in scores)
    return [a * x + b * y for x, y in zip(first, second, strict=True)]


def in_thirds(scores, first, second):
    a, b = (2 if s.number == 3 else 1 for s in scores)
    return [(a * x + b * y) / 3 for x, y in zip(first, second, strict=True)]


output_of_two = Row(
    aim="compute-attention",
    asks=(
        "A query has the scores <scores> with two keys, whose values are <first> and <second>. "
        "What is the query's output?"
    ),
    draw=lambda rng: {
        "scores": rng.sample([Ln(1), Ln(3)], 2),
        "first": tuple(4 * x for x in rng.sample(range(-3, 4), 2)),
        "second": tuple(4 * x for x in rng.sample(range(-3, 4), 2)),
    },
    right=weighted_mean,
    steps=lambda scores, first, second: (
        f"The exponentials are {scores[0].number} and {scores[1].number}, so the weights are "
        f"{scores[0].number}/4 and {scores[1].number}/4.",
        f"First component: {scores[0].number}/4 · {show(first[0])} + {scores[1].number}/4 · "
        f"{show(second[0])}.",
        f"Second component: {scores[0].number}/4 · {show(first[1])} + {scores[1].number}/4 · "
        f"{show(second[1])}.",
    ),
    check="What weights did you give the two values? They have to sum to 1, so each component of "
    "the output lies between the same components of the values.",
    mistakes={
        "You gave both values the same weight. The scores differ, so the weights differ too: which "
        "value counts three times as much as the other?":
            lambda scores, first, second: [(a + b) / 2 for a, b in zip(first, second, strict=True)],
        "You used the exponentials as weights. Weights have to sum to 1: what do you divide the "
        "exponentials by?":
            weighted_sum,
        "You swapped the two weights. Which key has which score?":
            lambda scores, first, second: output_of_two.right(scores[::-1], first, second),
        "You multiplied the values by the scores. The scores have to go through the softmax first.":
            lambda scores, first, second: [
                scores[0] * x + scores[1] * y for x, y in zip(first, second, strict=True)
            ],
        "You gave one value all of the weight. What is the exponential of the other score?":
            lambda scores, first, second: first if scores[0] > scores[1] else second,
        "You divided by 3. A softmax divides by the sum of the exponentials: what do the two "
        "exponentials sum to?":
            lambda scores, first, second: [x / 3 for x in weighted_sum(scores, first, second)],
        "You gave one value twice the weight of the other. How many times as large is its "
        "exponential, and what do the two exponentials sum to?":
            in_thirds,
    },
)  # fmt: skip


def at_width(d_k: int, base: int, divisor: int) -> float:
    """The ratio of two weights whose dot products are sqrt(d_k) ln(base) and 0."""
    x = math.sqrt(d_k) * math.log(base)
    q, k = torch.zeros(1, divisor).double(), torch.zeros(2, divisor).double()
    q[0, 0], k[0, 0] = 1, x
    w = attention_weights(q, k)[0]
    return (w[0] / w[1]).item()


ratio_of_weights = Number(
    aim="scale",
    asks=(
        "Queries and keys have width <d_k>. A query's dot product with key A is <product>, and "
        "with key B it is 0. What is the ratio of A's weight to B's?"
    ),
    draw=lambda rng: {
        "d_k": (d := rng.choice([4, 16])),
        "base": (base := rng.choice([2, 3, 4, 5, 6])),
        "product": f"{round(d**0.5)} ln {base}",
    },
    right=lambda d_k, base, product: at_width(d_k, base, d_k),
    steps=lambda d_k, base, product: (
        f"The score of A is the dot product divided by $\\sqrt{{{d_k}}} = {round(d_k**0.5)}$: "
        f"ln {base}. The score of B is 0.",
        f"Their exponentials are {base} and 1, and every weight is an exponential divided by the "
        "same sum.",
        f"So A gets {base} times as much weight as B.",
    ),
    check="Write down both scores before you take any exponentials.",
    placement=True,
    mistakes={
        "You turned the dot products into weights without scaling them. What happens to them "
        "before the softmax?":
            lambda d_k, base, product: at_width(d_k, base, 1),
        "You divided by the width itself. What do we divide a dot product by, and why?":
            lambda d_k, base, product: at_width(d_k, base, d_k**2),
        "You divided B's weight by A's. Which of the two has the larger score?":
            lambda d_k, base, product: 1 / at_width(d_k, base, d_k),
        "That's the score of A. What is the ratio of the exponentials of the two scores?":
            lambda d_k, base, product: math.log(base),
        "That's A's share of the weight that A and B have together. How many times as large is it "
        "as B's share?":
            lambda d_k, base, product: base / (1 + base),
        "You took something like exp(2 ln 7) for 2 times 7, but it's 7 to the power of 2. And look "
        "at the step before: what happens to a dot product before you take its exponential?":
            lambda d_k, base, product: math.sqrt(d_k) * base,
    },
)  # fmt: skip


unscaled_at_1024 = Choice(
    aim="scale",
    asks=(
        "One query meets eight keys of width $d_k = 1024$. All their numbers are drawn at random, "
        "with mean 0 and variance 1. Suppose you leave out the division by $\\sqrt{d_k}$. How much "
        "weight does the key with the largest score get, on average?"
    ),
    right="nearly all of it",
    steps=(
        "The dot products have a standard deviation of $\\sqrt{1024} = 32$.",
        "The largest of eight such scores is then typically more than ten ahead of the second.",
        "A lead of ten already makes an exponential more than 20,000 times as large, so the "
        "leading key takes nearly all of the weight. The third row under softmax(q·k) in the "
        "figure below shows this.",
    ),
    check="How far apart do two random numbers typically lie if their standard deviation is 32, "
    "and what is the exponential of that?",
    minutes=1,
    mistakes={
        "That would be true if the scores were all alike. How far apart are random numbers whose "
        "standard deviation is 32?":
            "about an eighth",
        "That's roughly right for scores with a standard deviation of 1, whatever the width. But "
        "these scores were not divided by 32.":
            "a little more than a third",
        "For a weight of about half, the two largest scores would have to be nearly equal. If "
        "eight scores have a standard deviation of 32, how likely are the two largest to lie "
        "within 1 of each other?":
            "about half",
    },
)  # fmt: skip


def uniform(mask: torch.Tensor) -> torch.Tensor:
    """The weights of equal scores."""
    return attention_weights(torch.zeros(4, 1).double(), torch.zeros(4, 1).double(), mask)


def decoder_mask(hint: str, words: int) -> torch.Tensor:
    """The mask that somebody makes whose answer to the exercise is told so."""
    return mutant("decoder_mask", hint)(torch.tensor([words]), 4)[0]


causal_and_padding = Maps(
    aim="mask",
    asks=(
        "A sentence of <words> words is padded to four tokens. All scores are equal. A token may "
        "attend to earlier words and to itself, but no token, not even a padding token, may attend "
        "to padding. Which map shows the weights? (A row is a query, a column is a key; a larger "
        "square means more weight.)"
    ),
    draw=lambda rng: {"words": rng.choice([2, 3])},
    right=lambda words: uniform(causal_mask(4) & padding_mask(torch.tensor(words), 4)),
    steps=lambda words: (
        "Row $i$ may attend to the columns up to $i$: the causal mask leaves a triangle.",
        f"The padding mask then takes away the columns of the padding: only {words} columns "
        "are left.",
        "All scores are equal, so the keys that are left in a row share its weight equally.",
    ),
    check="Take the last row. Which columns may it attend to, and how much weight does each of "
    "them get?",
    mistakes={
        "In this map, the last row attends to padding. Which columns are padding, and which rows "
        "may attend to them?":
            lambda words: uniform(decoder_mask("the padding is not masked", words)),
        "In this map, the first word attends to later words. In which direction does time run "
        "along a row?":
            lambda words: uniform(decoder_mask("the future is not masked", words)),
        "In this map, no word attends to itself, so the first one gets nothing at all. May a word "
        "attend to itself?":
            lambda words: uniform(decoder_mask("a query does not see itself", words)),
    },
)  # fmt: skip


def halved(scores):
    return mutant(SINK, "this halves")(double(scores))[0, 0]


weight_beside_a_sink = Number(
    aim="mask",
    asks=(
        "A softmax with a *sink* gives each query one more key, whose score is 0, and throws that "
        "key's weight away. A query has the scores <scores> with two keys. What weight does the "
        "first key get?"
    ),
    draw=lambda rng: {"scores": rng.sample([Ln(2), Ln(3), Ln(4), Ln(5), Ln(6), Ln(7)], 2)},
    right=lambda scores: softmax_with_sink(double(scores))[0, 0],
    steps=lambda scores: (
        f"The exponentials of the scores are {scores[0].number} and {scores[1].number}, and "
        "the sink's is exp(0) = 1.",
        "All three keys share the weight, so divide by the sum of the exponentials, "
        f"{scores[0].number + scores[1].number + 1}.",
        f"So the first key gets {scores[0].number}/{scores[0].number + scores[1].number + 1}.",
    ),
    check="The weights of the two keys and of the sink sum to 1. What weight does each of the "
    "three get?",
    mistakes={
        "That's the weight without a sink. What does a key whose score is 0 add to the sum of the "
        "exponentials?":
            lambda scores: mutant(SINK, "this is the plain softmax")(double(scores))[0, 0],
        "You used exp(1), which is e, for the sink. Its score is 0: what is exp(0)?":
            lambda scores: mutant(SINK, "the extra score is 1")(double(scores))[0, 0],
        "You compared the first key with the sink alone. The second key gets a share of the weight "
        "too.":
            lambda scores: mutant(SINK, "each score is weighed")(double(scores))[0, 0],
        "That's the weight of the second key. Which one does the question ask for?":
            lambda scores: softmax_with_sink(double(scores))[0, 1],
        "You halved the weight that the key would get without a sink. Instead, the sink's "
        "exponential has to join the sum that you divide by.":
            halved,
        "That's the weight of the sink, which is thrown away. Which key does the question ask "
        "about?":
            lambda scores: 1 - softmax_with_sink(double(scores))[0].sum(),
        "You divided the score by the sum of the scores. What does a softmax do to each score "
        "first?":
            lambda scores: scores[0] / sum(scores),
        "That's the exponential of the first score. What do you divide it by, so that all "
        "weights sum to 1?":
            lambda scores: scores[0].number,
    },
)  # fmt: skip


wrong_line_of_a_sink = Line(
    aim="mask",
    asks=(
        "This softmax should let a query attend to nothing: it adds a key whose score is 0, a "
        "*sink*, and throws that key's weight away. `mask` is True where a query may attend. Which "
        "line is wrong?"
    ),
    faults={
        "the mask is upside down":
            "`mask` is True where a query may attend, so the scores to fill are those that `~mask` "
            "selects.",
        "the extra score is 1":
            "The sink's score should be 0, so that it adds exp(0) = 1 to the sum of each row.",
        "a masked score of 0 still gets weight":
            "exp(0) is 1, so a forbidden key would still get weight: a forbidden score has to be "
            "minus infinity.",
    },
    text_of=partial(texts, SINK),
    steps=("Ask what each line does to a row of two scores, one of which is forbidden.",),
    check=(
        "That line does what it should. Take one row with the scores (0, ln 2), the second of "
        "which is forbidden. What does each line turn it into?"
    ),
    minutes=3,
    mistakes={
        "That line is right: without a mask, every key may be attended to, so no score has to be "
        "filled.":
            "is not None",
        "That line is right: the sink's score joins the others, and all of them share the weight.":
            "weights = ",
        "That line is right: the sink is the last key, and its weight is thrown away.": "return ",
        NAMES_ONLY: "def ",
    },
)  # fmt: skip


def over_the_queries(q, k, v, mask):
    s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
    return s.softmax(-2).masked_fill(~mask, 0.0) @ v


def masked_late(q, k, v, mask):
    w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return w.masked_fill(~mask, 0.0) @ v


def left_nan(q, k, v, mask):
    s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
    return s.softmax(-1) @ v


masked_attention = Order(
    aim="mask",
    asks=(
        "Put five of these six lines in an order that computes attention under a mask. A query "
        "that may attend nowhere must get zeros."
    ),
    head="def attend(q, k, v, mask):",
    lines=(
        "s = q @ k.mT / q.shape[-1] ** 0.5",
        "s = s.masked_fill(~mask, -torch.inf)",
        "w = s.softmax(-1)",
        "w = w.masked_fill(~mask, 0.0)",
        "return w @ v",
    ),
    spare="w = s.softmax(-2)",
    cases=lambda: [
        (double([1, 2], [0, 1]), double([1, 0], [2, 1], [0, 3]), double([1], [2], [4]), mask)
        for mask in (
            torch.tensor([[1, 1, 0], [1, 0, 1]]).bool(),
            torch.tensor([[0, 0, 0], [0, 1, 1]]).bool(),
        )
    ],
    right=attention,
    steps=(
        "The scores come first, since everything else is made from them.",
        "The forbidden scores become minus infinity before the softmax, so that the allowed keys "
        "share all of the weight.",
        "The softmax runs over the keys, the last axis. A row without any allowed key is now NaN, "
        "and the second fill turns it into zeros.",
        "The weighted mean comes last.",
    ),
    check="Is the last line of your program the `return`? If so, run the program in your head, "
    "with a mask that allows a single key: what weight does that key get?",
    minutes=3,
    mistakes={
        "Your softmax runs over the queries. The weights of one query have to sum to 1 over the "
        "keys.":
            over_the_queries,
        "You mask the weights only after the softmax, so those of the allowed keys no longer sum "
        "to 1. Which line has to come before the softmax?":
            masked_late,
        "A query that may attend nowhere gets NaN from your program, because its softmax divides 0 "
        "by 0. Which line turns NaN into zeros, and does it run before you take the mean?":
            left_nan,
    },
)  # fmt: skip


operations = Number(
    aim="count-cost",
    asks=(
        "Let <n> queries meet <m> keys of width <d_k>, with values of width <d_v>. Count one "
        "multiplication and one addition for each term of the two matrix products. How many "
        "operations is that?"
    ),
    draw=lambda rng: {
        "n": rng.choice([2, 3, 5]),
        "m": rng.choice([4, 10]),
        "d_k": rng.choice([4, 16]),
        "d_v": rng.choice([2, 6, 8]),
    },
    right=lambda n, m, d_k, d_v: (
        count(attention, torch.ones(n, d_k), torch.ones(m, d_k), torch.ones(m, d_v)).flops
    ),
    steps=lambda n, m, d_k, d_v: (
        f"Each of the {n} · {m} = {n * m} scores is a sum of {d_k} products: {n * m * d_k} "
        "terms in all.",
        f"Each of the {n} · {d_v} numbers of the output is a sum of {m} products: {n * m * d_v} "
        "terms in all.",
        f"Two operations for each of these {n * m * (d_k + d_v)} terms make "
        f"{2 * n * m * (d_k + d_v)}.",
    ),
    check="What shape does the result of each product have, and how many terms does each of its "
    "numbers sum?",
    tolerance=0.4,
    mistakes={
        "You counted one operation for each term. A term takes two: a multiplication and an "
        "addition.":
            lambda n, m, d_k, d_v: n * m * (d_k + d_v),
        "You counted only the first product. In the second one, the weights meet the values.":
            lambda n, m, d_k, d_v: 2 * n * m * d_k,
        "You multiplied the two widths. The two products come one after the other: add their "
        "costs.":
            lambda n, m, d_k, d_v: 2 * n * m * d_k * d_v,
        "It's true that a sum needs one addition fewer than it has terms. But the question counts "
        "an addition for each term, including the first.":
            lambda n, m, d_k, d_v: n * m * (2 * d_k - 1) + n * d_v * (2 * m - 1),
        "You counted as many terms in the second product as in the first. Each number of the "
        "output is a sum over the keys: how many such numbers are there?":
            lambda n, m, d_k, d_v: 2 * n * m * 2 * d_k,
        "Those are the terms of the first product alone. Which product comes after the softmax, "
        "and how many operations does a term take?":
            lambda n, m, d_k, d_v: n * m * d_k,
        "In the second product, you counted one term for each number of the output. How many terms "
        "does each of these numbers sum?":
            lambda n, m, d_k, d_v: 2 * (n * m * d_k + n * d_v),
    },
)  # fmt: skip


different_directions = Choice(
    aim="query-and-key",
    asks=(
        'In *the river bank*, the query of "bank" should have a large dot product with the key of '
        '"river", but the query of "river" a small one with the key of "bank". Every word has one '
        "vector $x$. What makes this possible?"
    ),
    right="the queries are $x\\,W_Q$, and the keys are the vectors $x$",
    steps=(
        "If queries and keys are the vectors themselves, the dot product of two words is the same "
        "whichever of them asks.",
        "If the queries alone go through $W_Q$, the two directions multiply different pairs of "
        "vectors, so the two dot products can differ.",
    ),
    check="Write down the dot product for each direction. What would have to be different in the "
    "two?",
    minutes=1,
    mistakes={
        "If queries and keys go through the same matrix, so do both vectors of each dot product. "
        "What changes if you swap the two words?":
            "queries and keys are both $x\\,W$, with the same matrix",
        "The values are what a query takes from the words. Do they play any part in how much "
        "weight a word gets?":
            "the values are $x\\,W_V$, while queries and keys are $x$",
        "Two equal numbers stay equal when you divide both by the same number. What would have "
        "to differ in the two dot products?":
            "all dot products are divided by the same number",
    },
)  # fmt: skip
