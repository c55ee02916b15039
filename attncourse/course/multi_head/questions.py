"""The questions of the chapter on multi-head attention."""

from functools import partial

import torch

from attncourse.course import exercise
from attncourse.course.multi_head.claims import layer_cost
from attncourse.course.question import (
    NAMES_ONLY,
    Line,
    Ln,
    Maps,
    Number,
    Row,
    double,
    mutant,
    show,
    texts,
)
from attncourse.dot_product import attention, attention_weights, causal_mask
from attncourse.multi_head import join_heads, split_heads

IN_HEADS, MATRICES = "attend_in_heads", "head_matrices"
attend_in_heads = exercise(IN_HEADS).valid_answers[0]
head_matrices = exercise(MATRICES).valid_answers[0]


def heads_of_a_query(scores, values) -> torch.Tensor:
    """The outputs of heads of width 1, side by side, for a query with these scores."""
    k, v = double(*scores)[..., None], double(*values)[..., None]
    return join_heads(attention(torch.ones_like(k[:, :1]), k, v))[0]


def weighted_by_the_scores(s_0, s_1, v_0, v_1, w_0, w_1):
    weights = [double(*scores) for scores in (s_0, s_1)]
    heads = [
        (w / w.sum().clamp(min=1)) @ double(*v) for w, v in zip(weights, (v_0, v_1), strict=True)
    ]
    return torch.stack(heads) @ double(w_0, w_1)


def weighted_by_the_exponentials(s_0, s_1, v_0, v_1, w_0, w_1):
    weights = (double(*scores).exp() for scores in (s_0, s_1))
    heads = [w @ double(*v) for w, v in zip(weights, (v_0, v_1), strict=True)]
    return torch.stack(heads) @ double(w_0, w_1)


layer_by_hand = Row(
    aim="build-layer",
    asks=(
        "A layer has two heads of width 1, and there are two tokens. A query's scores with them "
        "are <s_0> in head 0 and <s_1> in head 1, and their values are <v_0> in head 0 and <v_1> "
        "in head 1. $W_O$ has the rows <w_0> and <w_1>. What is the layer's output for this query?"
    ),
    draw=lambda rng: {
        "s_0": rng.sample([Ln(1), Ln(3)], 2),
        "s_1": rng.choice([(Ln(1), Ln(1)), (Ln(1), Ln(3)), (Ln(3), Ln(1))]),
        "v_0": tuple(4 * x for x in rng.sample(range(-2, 4), 2)),
        "v_1": tuple(4 * x for x in rng.sample(range(-2, 4), 2)),
        "w_0": rng.choice([(1, 1), (1, 2), (2, 0)]),
        "w_1": rng.choice([(-1, 1), (0, 1), (1, -1)]),
    },
    right=lambda s_0, s_1, v_0, v_1, w_0, w_1: (
        heads_of_a_query([s_0, s_1], [v_0, v_1]) @ double(w_0, w_1)
    ),
    steps=lambda s_0, s_1, v_0, v_1, w_0, w_1: (
        *(
            f"Head {i}: the exponentials are {s[0].number} and {s[1].number}, so the weighted mean "
            f"of the values is ({s[0].number} · {show(v[0])} + {s[1].number} · {show(v[1])}) / "
            f"{s[0].number + s[1].number} = {show(heads_of_a_query([s], [v]).item())}."
            for i, (s, v) in enumerate([(s_0, v_0), (s_1, v_1)])
        ),
        "Side by side, the outputs of the two heads make the row "
        f"{show(heads_of_a_query([s_0, s_1], [v_0, v_1]).tolist())}.",
        f"This row times $W_O$ is its first number times {show(w_0)} plus its second number times "
        f"{show(w_1)}.",
    ),
    check="Write down the two weights of each head, and the head's output, before you multiply by "
    "$W_O$.",
    minutes=3,
    placement=True,
    mistakes={
        "Those are the outputs of the two heads, side by side. What does the layer do with them at "
        "the end?":
            lambda s_0, s_1, v_0, v_1, w_0, w_1: heads_of_a_query(
                [s_0, s_1], [v_0, v_1]
            ),
        "You used the columns of $W_O$ as its rows. The joined heads are a row vector to the left "
        "of $W_O$.":
            lambda s_0, s_1, v_0, v_1, w_0, w_1: (
                double(w_0, w_1) @ heads_of_a_query([s_0, s_1], [v_0, v_1])
            ),
        "You used the weights of head 0 in both heads. What are the weights in head 1?":
            lambda s_0, s_1, v_0, v_1, w_0, w_1: layer_by_hand.right(
                s_0, s_0, v_0, v_1, w_0, w_1
            ),
        "You took the plain mean of the values in both heads. Where a head's scores differ, so "
        "do its weights.":
            lambda s_0, s_1, v_0, v_1, w_0, w_1: layer_by_hand.right(
                (0, 0), (0, 0), v_0, v_1, w_0, w_1
            ),
        "You gave the larger weight to the smaller score. Which token has the score ln 3 in head "
        "0?":
            lambda s_0, s_1, v_0, v_1, w_0, w_1: layer_by_hand.right(
                s_0[::-1], s_1[::-1], v_0, v_1, w_0, w_1
            ),
        "You used the scores as weights. What is exp(ln 3), and what is exp(0)?":
            weighted_by_the_scores,
        "You used the exponentials as weights. What should a head's weights sum to?":
            weighted_by_the_exponentials,
        "You took the two values of a token for the two values of a head. Which two numbers does "
        "head 0 average?":
            lambda s_0, s_1, v_0, v_1, w_0, w_1: layer_by_hand.right(
                s_0, s_1, *zip(v_0, v_1, strict=True), w_0, w_1
            ),
    },
)  # fmt: skip


def read_by(attend, n: int, head: int) -> torch.Tensor:
    """1 where a number of the values, n rows of width 4, reaches this one of two heads."""
    v = torch.ones(n, 4).double().requires_grad_()
    zeros = torch.zeros(n, 4).double()
    attend(zeros, zeros, v, 2).chunk(2, -1)[head].sum().backward()
    assert v.grad is not None
    return v.grad.sign()


numbers_of_a_view = Maps(
    aim="build-layer",
    asks=(
        "The matrix `x` holds <n> tokens of width 4, one in each row. Two heads are to share the "
        "width. Somebody splits it with `x.view(2, <n>, 2)`, which has the right shape: (heads, "
        "length, width). Which map marks the numbers of `x` that head <head> gets?"
    ),
    draw=lambda rng: {"n": rng.choice([3, 5]), "head": rng.choice([0, 1])},
    right=lambda n, head: read_by(mutant(IN_HEADS, "you split the sequence"), n, head),
    steps=lambda n, head: (
        "`view` keeps the order in which the numbers are stored: row by row.",
        f"So it deals the {4 * n} numbers out in that order: the first {2 * n} to head 0, the rest "
        "to head 1.",
        f"{2 * n} numbers are {n / 2} rows of four, so each head gets some of the tokens, and "
        "neither sees the whole sequence.",
    ),
    check="Number the entries of `x` row by row. Which of them come first in the result?",
    mistakes={
        "This map marks the numbers that the head is meant to get. In which order does `view` go "
        "through the numbers of `x`?":
            lambda n, head: read_by(attend_in_heads, n, head),
        "In this map, the heads take turns within each row. Which numbers stand next to each other "
        "in memory, and does `view` move any of them?":
            lambda n, head: read_by(mutant(IN_HEADS, "each head takes numbers"), n, head),
        "This map marks the numbers that the other head gets. Heads are counted from 0.":
            lambda n, head: numbers_of_a_view.right(n, 1 - head),
    },
)  # fmt: skip


wrong_line_in_heads = Line(
    aim="build-layer",
    asks=(
        "This function attends in `heads` heads. `split` cuts the width into heads and puts the "
        "axis of the heads in front of the length; `join` undoes that. `softmax` fills the "
        "forbidden scores and runs over the last axis, unless `axis` is given. `mask` has the "
        "shape (batch, n, m). Which line is wrong?"
    ),
    faults={
        "the scale comes from the whole width":
            "After the split, `q.shape[-1]` is the width of one head. A score is a sum of that "
            "many products, so the scale should be the root of that width alone.",
        "you average the keys":
            "The third tensor to split should be `v`: the keys decide the weights, but it's the "
            "values that are averaged.",
        "the softmax runs over the heads":
            "The last three axes of the scores are (heads, n, m), so axis -3 is that of the heads. "
            "In each head, the weights have to sum to 1 over the keys.",
        "the mask's new axis is in the wrong place":
            "A mask of shape (batch, n, m) would become (batch, n, 1, m). To fit scores of shape "
            "(batch, heads, n, m), its new axis has to be the third from the end.",
    },
    text_of=partial(texts, IN_HEADS),
    steps=(
        "Write the shape of each result beside its line: q is (batch, heads, n, width of a head) "
        "after the split, and the scores are (batch, heads, n, m).",
    ),
    check="Write the shape of each result beside its line. What does each axis stand for?",
    minutes=3,
    mistakes={
        "That line is right: if there's no mask, nothing needs a new axis.":
            "is not None",
        "That line is right: the weights multiply the values, and the outputs of the heads are put "
        "side by side.":
            "return join",
        NAMES_ONLY: "def ",
    },
)  # fmt: skip


# the query of "told" in the chapter, here so long that the other words get next to nothing, and the
# keys of its sentence: subjects, and the object
QUERY = 99 * double([0, 0, 1, 0, 1, 0, 0, 0])
KEYS = torch.zeros(6, 8).double()
KEYS[0, 2] = KEYS[4, 2] = KEYS[2, 4] = 1


def anna_weights() -> torch.Tensor:
    """The weight of "Anna" in each of the four heads."""
    return attention_weights(split_heads(QUERY, 4), split_heads(KEYS, 4))[:, 0, 0]


all_in_one_head = Number(
    aim="two-products",
    asks=(
        'Four heads read *Anna told Paul her sister lied*, and "told" is the query. In head 1, '
        '"Anna" and "sister" have the same large score; in head 2, "Paul" has that score. All '
        "other scores are 0, in all four heads. Now a single head gets all of these queries and "
        "keys. Up to a factor, its scores are the sums of the four heads' scores, and the large "
        'ones are still large. About how much weight does "told" give to "Anna" now?'
    ),
    right=lambda: attention_weights(QUERY, KEYS)[0, 0],
    steps=(
        'The sums of the scores are equally large for "Anna", "Paul" and "sister", and 0 for the '
        "other three words.",
        "One softmax turns these sums into weights, so the three words share nearly all of the "
        "weight.",
        "So each of the three gets nearly a third, and the subjects look just like the object.",
    ),
    check='There are six words. Do the weights that you give to "Anna", "Paul", "sister" and the '
    "rest sum to 1?",
    tolerance=0.015,
    mistakes={
        "That's the weight of \"Anna\" in head 1 alone. The single head's scores contain those of "
        "head 2 too: which word has a large score there?":
            lambda: anna_weights()[1],
        "You gave half of the weight to what head 1 finds and half to what head 2 finds. But a "
        "single softmax knows nothing of the heads, only of their sums: which words have a large "
        "sum?":
            lambda: anna_weights()[1:3].mean(),
        "You averaged the weights of the four heads. In the single head, it's the scores that are "
        "added, and the softmax comes afterwards.":
            lambda: anna_weights().mean(),
        "You took a quarter of the weight that \"Anna\" has in head 1. In the single head, it's "
        "the scores that are added, and the softmax comes afterwards: which words have a large "
        "sum?":
            lambda: anna_weights()[1] / 4,
        "You shared the weight equally among all six words. How does exp of a large score compare "
        "with exp(0)?":
            lambda: 1 / len(KEYS),
    },
)  # fmt: skip


def head_output(v_first, v_second, o_first, o_second, head, token):
    matrices = head_matrices(double(v_first, v_second).T, double(o_first, o_second).T, 2)
    return (double(token) @ matrices[head])[0]


def added_by(hint: str, v_first, v_second, o_first, o_second, head, token) -> torch.Tensor:
    """The same, by a wrong way to the matrices of the heads."""
    w_v, w_o = double(v_first, v_second).T, double(o_first, o_second).T
    return (double(token) @ mutant(MATRICES, hint)(w_v, w_o, 2)[head])[0]


def as_if_tokens_were_columns(v_first, v_second, o_first, o_second, head, token):
    value = mean_of(token, (v_first, v_second)[head])
    return value * o_first[head], value * o_second[head]


what_a_head_adds = Row(
    aim="two-products",
    asks=(
        "A layer of width 2 has two heads of width 1. Tokens are rows. $W_V$ has the rows "
        "<v_first> and <v_second>, and $W_O$ has the rows <o_first> and <o_second>. In head "
        "<head>, a query gives all of its weight to the token <token>. What does this head add to "
        "the query's output?"
    ),
    draw=lambda rng: {
        "v_first": tuple(rng.sample(range(4), 2)),
        "v_second": tuple(rng.sample(range(-1, 3), 2)),
        "o_first": tuple(rng.sample(range(1, 4), 2)),
        "o_second": tuple(rng.sample([-1, 1, 2, 3], 2)),
        "head": rng.choice([0, 1]),
        "token": tuple(rng.sample(range(1, 4), 2)),
    },
    right=head_output,
    steps=lambda v_first, v_second, o_first, o_second, head, token: (
        f"The value of the token in head {head} is its product with column {head} of $W_V$: "
        f"{token[0]} · {show(v_first[head])} + {token[1]} · {show(v_second[head])} = "
        f"{show(value := token[0] * v_first[head] + token[1] * v_second[head])}.",
        "All of the weight is on this token, so this value is the head's output.",
        f"In the joined row, this output multiplies row {head} of $W_O$: {show(value)} times "
        f"{show((o_first, o_second)[head])}.",
    ),
    check="How many numbers does a head of width 1 take from the token, and which part of $W_O$ "
    "turns them into two?",
    placement=True,
    mistakes={
        "You multiplied by both whole matrices, so both heads are in your numbers. Which part of "
        "each matrix belongs to this head?":
            partial(added_by, "every head gets the product"),
        "You took a row of $W_V$. Tokens are rows, and a token times the whole of $W_V$ has one "
        "number for each head: which part of $W_V$ does this head's number come from?":
            partial(added_by, "w_v is not transposed"),
        "You took a column of $W_O$. The joined heads are a row vector to the left of $W_O$: which "
        "numbers of $W_O$ does this head's number multiply?":
            partial(added_by, "you split the rows of w_o"),
        "You took a row of $W_V$ and a column of $W_O$, as if tokens were columns. But tokens are "
        "rows, and each matrix stands to their right.":
            as_if_tokens_were_columns,
        "Your value comes from one head, but your part of $W_O$ belongs to the other. Which head "
        "does the question ask about?":
            partial(added_by, "the heads of w_o are in reverse"),
        "That's what the other head would add. Heads are counted from 0.":
            lambda **numbers: what_a_head_adds.right(**numbers | {"head": 1 - numbers["head"]}),
    },
)  # fmt: skip


def two_layers(first: int, second: int, layers: int = 2, skip: float = 1) -> torch.Tensor:
    x, zeros = double([first], [second]), torch.zeros(2, 1).double()
    for _ in range(layers):
        x = skip * x + attention(zeros, zeros, x)
    return x[:, 0]


def replaced(first, second):
    return two_layers(first, second, skip=0)


def the_old_mean(first, second):
    mean = (first + second) / 2
    return first + 2 * mean, second + 2 * mean


two_tokens_of_a_stream = Row(
    aim="residual-stream",
    asks=(
        "Two tokens of width 1 are <first> and <second>. They pass through two attention layers "
        "with one head each, in which every score is 0 and $W_V$ and $W_O$ are both 1. Each layer "
        "has a skip connection. What are the two tokens after the second layer?"
    ),
    draw=lambda rng: {
        "first": (first := rng.choice([-6, -4, -2, 0, 2, 4, 6])),
        "second": first + rng.choice([-6, -4, -2, 2, 4, 6]),
    },
    right=two_layers,
    steps=lambda first, second: (
        "All scores are equal, so in the first layer each token takes the mean of the two, "
        f"{show((first + second) // 2)}.",
        "The skip connection adds this mean to each token, which gives "
        f"{show(two_layers(first, second, layers=1).int().tolist())}.",
        f"The mean of these is {show(first + second)}, and the second layer adds that to both.",
    ),
    check="What does the first layer add to each of the two tokens? What is the mean of the two "
    "afterwards?",
    mistakes={
        "You replaced each token by the mean. What does a skip connection do with the old token?":
            replaced,
        "You added only one mean. There are two layers, and the second reads the output of the "
        "first.":
            lambda first, second: two_layers(first, second, layers=1),
        "You added the mean of the two original tokens twice. What does the second layer read?":
            the_old_mean,
        "You doubled each token in each layer. If all scores are equal, how much does a token take "
        "from the other one?":
            lambda first, second: (4 * first, 4 * second),
        "You added the sum of the tokens in each layer. What do the weights of a query sum to?":
            lambda first, second: (first + 4 * (first + second), second + 4 * (first + second)),
        "Your layers add nothing. What weights does a softmax give to two scores of 0?":
            lambda first, second: (first, second),
    },
)  # fmt: skip


# the words of "Anna told Paul . Anna", and what stands where there is none
STORY, NOTHING = torch.eye(4).double()[[0, 1, 2, 3, 0]], torch.zeros(1, 4).double()
SHIFTED_STORY = torch.cat([NOTHING, STORY[:-1]])


def story_weights(keys: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """The weights of the words of the story on these keys."""
    return attention_weights(9 * STORY, keys, mask)


after_the_same_word = Maps(
    aim="read-map",
    asks=(
        "The tokens are *Anna told Paul . Anna*. In a head of the second layer, a query is made "
        "from the token itself, and a key from the token before it (the first key is 0). A score "
        "is large where both come from the same word, and 0 elsewhere; the mask is causal. Which "
        "map shows the weights? (A row is a query, a column is a key; a larger square means more "
        "weight.)"
    ),
    right=lambda: story_weights(SHIFTED_STORY, causal_mask(5)),
    steps=(
        'From left to right, the keys come from nothing, "Anna", "told", "Paul" and the full stop.',
        'A query made from "Anna" matches the second key, which stands at "told".',
        'The first "Anna" may not look ahead, so it sees only its own key. The second "Anna" may '
        "attend to the matching key.",
        "The other queries may attend to no key that comes from their own word, so they spread "
        "their weight evenly.",
    ),
    check="Below each token, write the word that its key comes from. Which key does the last query "
    "match?",
    mistakes={
        "In this map, a query finds the keys that stand at its own word. Which token does each key "
        "come from?":
            lambda: story_weights(STORY, causal_mask(5)),
        "In this map, each query looks one token back. But it's the keys that come from the token "
        "before: which token's key comes from the first word?":
            lambda: story_weights(torch.cat([STORY[1:], NOTHING]), causal_mask(5)),
        "In this map, the first word looks ahead. What does a causal mask let it see?":
            lambda: story_weights(SHIFTED_STORY),
    },
)  # fmt: skip


def mean_of(weights, values) -> float:
    return sum(w * v for w, v in zip(weights, values, strict=True))


other_weights = Number(
    aim="read-map",
    asks=(
        "Three tokens have values of width 1: 0, <second> and <third>. A query gives them the "
        "weights <weights>. Another query gives no weight to the second token, and yet it gets the "
        "same output. What weight does it give to the third token?"
    ),
    draw=lambda rng: {
        "third": 10,
        "second": rng.choice([1, 2, 4, 6, 8]),
        "weights": rng.choice(
            [(0.1, 0.4, 0.5), (0.3, 0.5, 0.2), (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)]
        ),
    },
    right=lambda third, second, weights: mean_of(weights, (0, second, third)) / third,
    steps=lambda third, second, weights: (
        f"The output of the first query is {show(weights[1])} · {second} + {show(weights[2])} · "
        f"{third} = {show(output := weights[1] * second + weights[2] * third)}.",
        "The second query can get that output from the third token alone, because the first has "
        "the value 0.",
        f"So the third token gets the weight {show(output)}/{third}, and the first token gets the "
        "rest. The weights differ, although the output is the same.",
    ),
    check="Multiply the values by your weights. Is the sum the same as the first query's output?",
    mistakes={
        "You split the second token's weight equally between the other two. What output does the "
        "query get then, and what should it be?":
            lambda third, second, weights: weights[2] + weights[1] / 2,
        "You gave the third token all of the weight that the second had. What output does the "
        "query get then, and what should it be?":
            lambda third, second, weights: weights[1] + weights[2],
        "You masked the second token and divided by the weight that was left. Does that leave the "
        "output unchanged?":
            lambda third, second, weights: weights[2] / (weights[0] + weights[2]),
        "That's the output of the first query. Which weight on the third value gives the same "
        "output?":
            lambda third, second, weights: mean_of(weights, (0, second, third)),
        "You left the third token's weight as it was. The second token no longer contributes to "
        "the output: what has to make up for that?":
            lambda third, second, weights: weights[2],
        "That's only the extra weight that makes up for the second token. How much weight did the "
        "third token have already?":
            lambda third, second, weights: weights[1] * second / third,
    },
)  # fmt: skip


share_of_the_maps = Number(
    aim="count-layer",
    asks=(
        "A layer of self-attention has $d_\\text{model}$ = <d> and <heads> heads, and reads <n> "
        "tokens. Count the operations of its matrix products only. What share of them do the four "
        "maps $W_Q$, $W_K$, $W_V$ and $W_O$ take?"
    ),
    draw=lambda rng: {
        "d": (d := rng.choice([16, 32, 64])),
        "n": d * rng.choice([1, 3, 6, 8, 10]),
        "heads": rng.choice([8, 16]),
    },
    right=lambda d, n, heads: 8 * n * d * d / layer_cost(n, d, heads).flops,
    steps=lambda d, n, heads: (
        f"Each map takes 2 · {n} · {d} · {d} operations, so the four take 8 · {n} · {d} · {d}.",
        f"In all heads together, the scores take 2 · {n} · {n} · {d} operations, and so do the "
        f"weighted means of the values. Together, that is 4 · {n} · {n} · {d}.",
        f"Divide both by 4 · {n} · {d}: the ratio of maps to attention is 2 · {d} to {n}, or 2 to "
        f"{n // d}.",
        f"So the maps take 2 out of every {2 + n // d} operations.",
    ),
    check="Count again for a single head. Does the number of heads change anything?",
    minutes=3,
    mistakes={
        "That's the share that attention itself takes. What share is left for the maps?":
            lambda d, n, heads: 1 - share_of_the_maps.right(d, n, heads),
        "You counted the scores, but not the product of the weights and the values.":
            lambda d, n, heads: 8 * n * d * d / (8 * n * d * d + 2 * n * n * d),
        "You counted attention at the full width in every head. How wide are the queries, keys "
        "and values of one head?":
            lambda d, n, heads: 8 * n * d * d / (8 * n * d * d + 4 * n * n * d * heads),
        "You counted three maps. What happens to the heads after they have been joined?":
            lambda d, n, heads: 6 * n * d * d / (6 * n * d * d + 4 * n * n * d),
        "You counted only one map. How many does the layer have?":
            lambda d, n, heads: d / (d + 2 * n),
        "You counted the additions in attention, but not those in the maps. Count them in both or "
        "in neither.":
            lambda d, n, heads: d / (d + n),
        "You divided the operations of the maps by those of attention. A share is a part of all "
        "the operations together.":
            lambda d, n, heads: 2 * d / n,
        "You counted the maps for all heads, but the scores and the means for only one. How many "
        "heads are there?":
            lambda d, n, heads: 2 * d / (2 * d + n / heads),
    },
)  # fmt: skip
