"""The questions of the chapter today."""

import random
from math import log

import torch

from attncourse.course.question import Choice, Maps, Number, Order, Row, double, show
from attncourse.dot_product import causal_mask
from attncourse.efficient import cache_bytes
from attncourse.today import (
    choose_keys,
    delta_attention_step,
    index_scores,
    pool_rows,
    pooled_mask,
    selected_mask,
    sink_weights,
)

KIB = 2**10


def kib_of_groups(layers, groups, width, heads) -> float:
    return cache_bytes(1, layers, groups, width, torch.bfloat16) / KIB


cache_of_a_token = Number(
    aim="bytes-and-limit",
    asks=(
        "A model has <layers> layers with <heads> heads of width <width>, in <groups> groups that "
        "share keys and values. How many KiB (1,024 bytes) does its cache take for each token, if "
        "a number takes 2 bytes?"
    ),
    draw=lambda rng: {
        "layers": rng.choice([16, 32, 64]),
        "width": rng.choice([64, 128]),
        "groups": (groups := rng.choice([2, 4, 8])),
        "heads": groups * rng.choice([4, 8]),
    },
    right=kib_of_groups,
    steps=lambda layers, groups, width, heads: (
        f"A layer keeps a key and a value for each group: 2 · {groups} · {width} = "
        f"{2 * groups * width:,} numbers.",
        f"In {layers} layers that makes {2 * layers * groups * width:,} numbers, of 2 bytes each.",
        f"Divided by 1,024, it is {show(kib_of_groups(layers, groups, width, heads))}.",
    ),
    check="Which vectors are kept, of how many groups, in how many layers, and of how many bytes?",
    placement=True,
    mistakes={
        "You counted the keys alone. What else does a query need of a token?":
            lambda layers, groups, width, heads: kib_of_groups(layers, groups, width, 0) / 2,
        "You counted keys and values for each head. Which heads share them here?":
            lambda layers, groups, width, heads: kib_of_groups(layers, heads, width, 0),
        "You counted one layer. Do other layers read the same keys?":
            lambda layers, groups, width, heads: kib_of_groups(1, groups, width, 0),
        "You divided by 1,000. How many bytes has a KiB?":
            lambda layers, groups, width, heads: kib_of_groups(layers, groups, width, 0) * 1.024,
        "You counted one key and value for all heads. How many groups keep their own?":
            lambda layers, groups, width, heads: kib_of_groups(layers, 1, width, 0),
    },
)  # fmt: skip


which_limit = Choice(
    aim="bytes-and-limit",
    asks=(
        "A processor can perform 300 operations in the time in which it reads one byte. A model "
        "has one key and value for all its 64 heads, and a number takes 2 bytes. While it writes a "
        "long text, what is the limit of its attention?"
    ),
    right="memory: it performs 64 operations for each byte that it reads",
    steps=(
        "Each number of the cache is read once, for 64 heads. Each head multiplies and adds it, "
        "which makes 128 operations.",
        "The number has 2 bytes, so there are 64 operations for each byte.",
        "The processor could perform 300 in that time, so it waits for the memory. The length of "
        "the text cancels out.",
    ),
    check="Take a single number of the cache. How many bytes is it, and how often is it used?",
    minutes=2,
    mistakes={
        "Sharing makes the cache smaller, and the ratio larger. Is it larger than what the "
        "processor can do for a byte?":
            "the processor: the heads share one key, so there is hardly anything to read",
        "That would be the ratio if each head had keys of its own. How many heads use a number "
        "that has been read once?":
            "memory: it performs 1 operation for each byte that it reads",
        "A longer text has more operations, but how many more bytes?":
            "the processor, once the text is long enough",
    },
)  # fmt: skip


def drawn_absorption(rng: random.Random) -> dict:
    """A matrix from latent vectors to keys that is not its own transpose, and a query."""
    while True:
        first, second = ((rng.randint(0, 3), rng.randint(0, 3)) for _ in range(2))
        query = rng.choice([(1, 2), (2, 1), (1, 3), (3, 1)])
        if first[1] != second[0] and first[0] * second[1] != first[1] * second[0]:
            return {"first": first, "second": second, "query": query}


def absorbed(first, second, query) -> torch.Tensor:
    return double(*query) @ double(first, second).mT


absorbed_query = Row(
    aim="absorb",
    asks=(
        "Latent vectors (rows of width 2) become keys by a matrix with the rows <first> and "
        "<second>: k = c W. A query is <query>. Which vector has the same dot product with each "
        "latent vector as the query has with its key?"
    ),
    draw=drawn_absorption,
    right=absorbed,
    steps=lambda first, second, query: (
        "The dot product of the query with c W is the product of c with W and the query.",
        f"So each number of the new query is the dot product of a row of W with the query: "
        f"{show(first)} gives {show(absorbed(first, second, query)[0].item())}, {show(second)} "
        f"gives {show(absorbed(first, second, query)[1].item())}.",
    ),
    check="Try the latent vector (1, 0). Its key is the first row of W.",
    mistakes={
        "You mapped the query as if it were a latent vector. Which way does the matrix go once it "
        "is on the other side of the dot product?":
            lambda first, second, query: double(*query) @ double(first, second),
        "That's the query itself. It meets keys, and not latent vectors.":
            lambda first, second, query: query,
        "You multiplied each row of W by one number of the query and added up the row. A dot "
        "product pairs the numbers of both.":
            lambda first, second, query: double(first, second).sum(-1) * double(*query),
        "That's the sum of the right numbers, in both places. Each place belongs to one number of "
        "the latent vector.":
            lambda first, second, query: absorbed(first, second, query).sum().expand(2),
    },
)  # fmt: skip


def drawn_index(rng: random.Random) -> dict:
    """Products of two heads of which one is negative, and weights."""
    first, second = rng.choice([2, 3, 4]), -rng.choice([1, 2, 3])
    if rng.random() < 0.5:
        first, second = second, first
    return {
        "first": first,
        "second": second,
        "weights": rng.choice([(0.5, 2), (2, 0.5), (3, 0.5), (0.5, 3)]),
    }


def scored(first, second, weights) -> torch.Tensor:
    queries, weights = double([[first]], [[second]]), double(*weights)[:, None]
    return index_scores(queries, double([1]), weights)[0, 0]


index_score = Number(
    aim="choose-keys",
    asks=(
        "An indexer has two heads. The products of their queries with one key are <first> and "
        "<second>, and the heads have the weights <weights>. What is the score of the key?"
    ),
    draw=drawn_index,
    right=scored,
    steps=lambda first, second, weights: (
        f"ReLU leaves {max(first, 0)} and {max(second, 0)}.",
        f"With the weights, the sum is {show(scored(first, second, weights).item())}.",
    ),
    check="In which order: ReLU, the weights, the sum?",
    minutes=1,
    placement=True,
    mistakes={
        "You left out ReLU. What does it do to a negative product?":
            lambda first, second, weights: first * weights[0] + second * weights[1],
        "You applied ReLU to the sum of the products. It comes before the sum, in each head.":
            lambda first, second, weights: max(first + second, 0) * sum(weights),
        "You left out the heads' weights.":
            lambda first, second, weights: max(first, 0) + max(second, 0),
        "You exchanged the weights of the two heads.":
            lambda first, second, weights: scored(first, second, weights[::-1]),
        "You took the absolute value of the negative product. ReLU doesn't turn it round.":
            lambda first, second, weights: scored(abs(first), abs(second), weights),
    },
)  # fmt: skip


# the score of a key is its number in this order, so that no two are equal
def chosen(order, count, mask) -> torch.Tensor:
    scores = double(order).expand(len(order), -1)
    return selected_mask(choose_keys(scores, count, mask), len(order)).double()


map_of_choice = Maps(
    aim="choose-keys",
    asks=(
        "An indexer gives six keys the scores <order>, the same for each query. Each query may see "
        "itself and earlier keys, and attends to the <count> of them with the highest scores. "
        "Which map shows the pairs that are kept? (A row is a query, a column is a key.)"
    ),
    draw=lambda rng: {
        "order": tuple(rng.sample(range(1, 7), 6)),
        "count": rng.choice([2, 3]),
    },
    right=lambda order, count: chosen(order, count, causal_mask(6)),
    steps=lambda order, count: (
        f"The first {count} queries have no more than {count} keys to choose from, so they keep "
        "all of them.",
        "Each later query takes the best of the keys up to its own. A key drops out once enough "
        "better ones have come.",
    ),
    check="Take the third query. Which three keys may it see, and which of them are best?",
    mistakes={
        "In this map, queries choose among later keys, too, and the causal mask comes afterwards. "
        "How many keys are then left to the first queries?":
            lambda order, count: chosen(order, count, None) * causal_mask(6),
        "In this map, the last keys are kept, whatever their scores: a window.":
            lambda order, count: causal_mask(6).triu(1 - count).double(),
        "In this map, the keys with the lowest scores are kept.":
            lambda order, count: chosen([-x for x in order], count, causal_mask(6)),
    },
)  # fmt: skip


why_no_gradient = Choice(
    aim="choose-keys",
    asks=(
        "An indexer is trained by the loss of the language model alone, and keys are chosen by its "
        "scores as in the chapter. What happens to its weights?"
    ),
    right="nothing: their gradient is 0, because a small change chooses the same keys",
    steps=(
        "The output depends on the scores only through the choice.",
        "A small change of a score leaves the order of the keys as it is, so the output stays "
        "exactly the same, and the gradient is 0.",
        "So the indexer has a loss of its own, in which its softmax is compared with the heads' "
        "weights.",
    ),
    check="Change one score by a millionth. Which number of the output changes?",
    minutes=1,
    mistakes={
        "The chosen keys get a gradient, as keys of the attention. Does it go on to the scores "
        "that chose them?":
            "they learn from the keys that are chosen, but not from the others",
        "Attention's own scores get such a gradient. Are the indexer's scores in its softmax?":
            "they learn slowly, because the softmax has small gradients",
        "To raise a score, somebody has to tell it that this would help. What does the loss know "
        "of a key that was not read?":
            "they learn to score those keys higher that would have helped",
    },
)  # fmt: skip


def drawn_block(rng: random.Random) -> dict:
    """Two rows, and how many times as much the first weighs, in each of two columns."""
    share = rng.choice([3, 4])
    parts = share + 1
    numbers = rng.sample(range(5), 4)
    first, second = ((2 * parts * a, 2 * parts * b) for a, b in (numbers[:2], numbers[2:]))
    return {"first": first, "second": second, "share": share}


def pooled_block(first, second, share) -> torch.Tensor:
    scores = double([0, log(share)], [0, 0])
    return pool_rows(double(first, second), scores, torch.zeros(2, 2).double())[0]


def pooled_with(first, second, *shares):
    shares = double(*shares)
    return shares * double(*first) + (1 - shares) * double(*second)


pooled_row = Row(
    aim="pool",
    asks=(
        "A block has two tokens with the rows <first> and <second>. The first token's scores are "
        "0 and ln <share>, the second token's are 0 and 0, and the biases are 0. What is the "
        "pooled row?"
    ),
    draw=drawn_block,
    right=pooled_block,
    steps=lambda first, second, share: (
        "In column 0 the scores are equal, so both tokens weigh one half.",
        f"In column 1 the first token weighs {share} times as much as the second: {share}/"
        f"{share + 1} and 1/{share + 1}.",
        f"The row is {show(pooled_block(first, second, share).tolist())}.",
    ),
    check="The softmax runs over the two tokens, in each column by itself.",
    mistakes={
        "You took the plain mean in both columns. What do the scores do?":
            lambda first, second, share: pooled_with(first, second, 0.5, 0.5),
        "You gave column 0 the weights of column 1. Each column has its own.":
            lambda first, second, share: pooled_with(
                first, second, share / (share + 1), share / (share + 1)
            ),
        "You exchanged the two tokens in column 1. Which of them has the higher score?":
            lambda first, second, share: pooled_with(first, second, 0.5, 1 / (share + 1)),
        "You added the rows with weights that don't sum to 1. The exponentials are divided by "
        "their sum over the block.":
            lambda first, second, share: double(
                first[0] + second[0], share * first[1] + second[1]
            ),
    },
)  # fmt: skip


def over_columns(x, scores, bias):
    blocks, size, width = len(x) // len(bias), len(bias), x.shape[-1]
    rows, scores = (t.reshape(blocks, size, width) for t in (x, scores))
    return ((scores + bias).softmax(-1) * rows).sum(1)


line_order_of_pooling = Order(
    aim="pool",
    asks=(
        "Put four of these five lines in an order that pools the rows of `x` in blocks. `x` and "
        "`scores` are (n, d), and `bias` has a row for each place in a block; n is a multiple of "
        "its length."
    ),
    head="def pooled_rows(x, scores, bias):",
    lines=(
        "rows = x.unflatten(0, (-1, len(bias)))",
        "scores = scores.unflatten(0, (-1, len(bias))) + bias",
        "weights = scores.softmax(dim=1)",
        "return (weights * rows).sum(dim=1)",
    ),
    spare="weights = scores.softmax(dim=2)",
    cases=lambda: [
        (
            double(*[[i * j % 5, i + j] for i in range(6)]),
            double(*[[i * i % 4, j * i % 3] for i in range(6)]),
            double([0, 1], [1, 0], [2, 1]),
        )
        for j in (2, 3)
    ],
    right=lambda x, scores, bias: pool_rows(x, scores, bias),
    steps=(
        "Both the rows and the scores are cut into blocks, in any order: (blocks, size, d).",
        "The softmax runs over the tokens of a block, which are now axis 1.",
        "The weighted rows are summed over the same axis.",
    ),
    check="After the cut, which axis has the tokens of a block?",
    minutes=3,
    mistakes={
        "In your program, the softmax runs over the columns. Which axis has the tokens of a block?":
            over_columns,
        "Your program ends without returning anything.": lambda x, scores, bias: None,
    },
)  # fmt: skip


def drawn_delta(rng: random.Random) -> dict:
    """A state of two rows, gates that leave whole numbers, and what comes under the second key."""
    while True:
        state = tuple(rng.sample([4, 8, 12, 16], 2))
        gates = rng.choice([(0.5, 0.25), (0.25, 0.5), (0.5, 1.0), (1.0, 0.5)])
        value = rng.choice([2, 6, 10, 14])
        if value != gates[1] * state[1]:
            return {"state": state, "gates": gates, "value": value}


def delta_step(state, gates, value, beta=0.5) -> torch.Tensor:
    key = double(0, 1)
    S, _ = delta_attention_step(
        double(*[[x] for x in state]), key, key, double(value), double(*gates), double(beta)[0]
    )
    return S[:, 0]


delta_with_gates = Row(
    aim="channel-gates",
    asks=(
        "A state has two rows with values of width 1: <state>. A token comes with the gates "
        "<gates>, the key (0, 1), the value <value> and β = ½. What is the state afterwards?"
    ),
    draw=drawn_delta,
    right=delta_step,
    steps=lambda state, gates, value: (
        f"The state fades to {show([g * s for g, s in zip(gates, state, strict=True)])}.",
        f"The key recalls {show(gates[1] * state[1])}. What is missing is "
        f"{show(value - gates[1] * state[1])}, and half of that is added to the second row.",
        f"The state is {show(delta_step(state, gates, value).tolist())}.",
    ),
    check="First the gates, then what the key recalls, then the correction.",
    mistakes={
        "You read the state before it faded. What does the key recall after the gates?":
            lambda state, gates, value: (
                gates[0] * state[0], gates[1] * state[1] + 0.5 * (value - state[1]),
            ),
        "You added half of the value. The rule adds half of what is missing.":
            lambda state, gates, value: (
                gates[0] * state[0], gates[1] * state[1] + 0.5 * value,
            ),
        "You corrected the whole error. How much of it does β correct?":
            lambda state, gates, value: (gates[0] * state[0], value),
        "You left out the gates.":
            lambda state, gates, value: delta_step(state, (1, 1), value),
        "You let only the row that the key reaches fade. Does a gate wait for a key?":
            lambda state, gates, value: delta_step(state, (1, gates[1]), value),
    },
)  # fmt: skip


def with_sink(shares, sink, values) -> torch.Tensor:
    scores, b = double(list(shares)).log(), double(sink)[0].log()
    return (sink_weights(scores, b) @ double(*values))[0]


def drawn_sink(rng: random.Random) -> dict:
    """Exponentials that sum to few numbers, and values for which the output is whole."""
    while True:
        numbers = {
            "shares": tuple(rng.sample([1, 2, 3, 4, 5], 3)),
            "sink": rng.choice([2, 3, 4]),
            "values": tuple(rng.sample([0, 6, 12, 18, 24, 36], 3)),
        }
        output = with_sink(**numbers)
        if (output - output.round()).abs() < 1e-9:
            return numbers


def plain_sum(shares, sink, values) -> int:
    return sum(a * x for a, x in zip(shares, values, strict=True))


output_with_a_sink = Number(
    aim="say-nothing",
    asks=(
        "The exponentials of a query's three scores are <shares>, and that of its head's sink is "
        "<sink>. The values are <values>. What is the output?"
    ),
    draw=drawn_sink,
    right=with_sink,
    steps=lambda shares, sink, values: (
        f"The sum of the exponentials is {sum(shares)} for the keys, and {sum(shares) + sink} with "
        "the sink.",
        f"The weighted sum of the values is {plain_sum(shares, sink, values)}.",
        f"Divided by {sum(shares) + sink}, it is {show(with_sink(shares, sink, values).item())}. "
        "The sink has no value, so its share is lost.",
    ),
    check="Which of the two sums does the sink join: that of the exponentials, or that of the "
    "values?",
    mistakes={
        "That's the output without the sink. By what are the exponentials divided?":
            lambda shares, sink, values: plain_sum(shares, sink, values) / sum(shares),
        "You divided by the sink alone. It joins the sum of the exponentials.":
            lambda shares, sink, values: plain_sum(shares, sink, values) / sink,
        "You took the sink off the sum of the exponentials. It takes a share of its own.":
            lambda shares, sink, values: plain_sum(shares, sink, values) / (sum(shares) - sink),
        "That's the weighted sum of the values. By what is it divided?": plain_sum,
    },
)  # fmt: skip


gate_or_sink = Choice(
    aim="say-nothing",
    asks=(
        "A head should give out nothing for the word *the*, whatever stands before it. For another "
        "word, it should give out nothing unless a key matches. Which of these can a gate on the "
        "output do, and which a learned sink?"
    ),
    right="the gate can do the first, and the sink can do both if the queries of the word allow it",
    steps=(
        "A gate is computed from the query's own token, so it can close for a word. It doesn't "
        "know whether a key matches.",
        "A sink takes most of the weight where all scores are low. A query can make them low for "
        "all keys, or for those that don't match.",
    ),
    check="From what is each of the two computed?",
    minutes=2,
    mistakes={
        "The gate is computed from the token alone. What does it know of the keys?":
            "the gate can do both, and the sink neither, because it is one number for all tokens",
        "The sink is one number, but it competes with scores, and these depend on the query.":
            "the gate can do the first, and the sink neither of the two",
        "The gate can close for a token. What in its formula depends on the keys?":
            "both can do both, because both multiply the output by a number",
    },
)  # fmt: skip


kept_of_a_text = Number(
    aim="pool",
    asks=(
        "Each layer keeps a pooled row for <size> tokens, and the last <width> tokens one by one. "
        "It has read <n> tokens. How many rows may the next query see, if its own token, the "
        "window's last, is already among the <n>?"
    ),
    draw=lambda rng: {
        "size": (size := rng.choice([4, 8])),
        "width": rng.choice([16, 32]),
        "n": size * rng.randint(20, 40) + rng.randint(1, size - 1),
    },
    right=lambda size, width, n: pooled_mask(n, size, width)[-1].sum().item(),
    steps=lambda size, width, n: (
        f"{n} tokens have {n // size} complete blocks of {size}. The tokens left over have no row "
        "yet.",
        f"The window adds {width}, whether or not they are in a block as well.",
    ),
    check="Which blocks are complete?",
    minutes=1,
    mistakes={
        "You counted the unfinished block, too. May a query see it?":
            lambda size, width, n: n // size + 1 + width,
        "You counted the pooled rows alone. What does the window add?":
            lambda size, width, n: n // size,
        "You took the tokens of the window out of the blocks. They are seen both ways.":
            lambda size, width, n: (n - width) // size + width,
        "You counted each token by itself.": lambda size, width, n: n,
    },
)  # fmt: skip


def drawn_chunk(rng: random.Random) -> dict:
    """Two tokens of a chunk, and the product of their keys."""
    return {
        "product": rng.choice([0.25, 0.5, 0.75]),
        "first": rng.choice([4, 8, 12]),
        "second": rng.choice([2, 6, 10, 14]),
    }


def second_write(product, first, second, beta=0.5) -> float:
    return beta * (second - product * beta * first)


correction_in_a_chunk = Number(
    aim="channel-gates",
    asks=(
        "A chunk begins with an empty state, and there are no gates. Its first two tokens have the "
        "values <first> and <second>, of width 1, β = ½ each, and keys of norm 1 whose product is "
        "<product>. What does the second token add under its key?"
    ),
    draw=drawn_chunk,
    right=second_write,
    steps=lambda product, first, second: (
        f"The first token adds half of its value: {show(first / 2)}.",
        f"Under the second key, the state recalls {show(product)} · {show(first / 2)} = "
        f"{show(product * first / 2)}. What is missing is {show(second - product * first / 2)}.",
        f"Half of that is added: {show(second_write(product, first, second))}.",
    ),
    check="First what token 0 has added, then what the second key recalls of it.",
    mistakes={
        "You took the whole first value for what was added under the first key. What is its β?":
            lambda product, first, second: 0.5 * (second - product * first),
        "You left out the first token. What does the second key recall of it?":
            lambda product, first, second: 0.5 * second,
        "You corrected the whole error.":
            lambda product, first, second: second - product * first / 2,
        "You took the two keys for one and the same. How much of what is stored under one does "
        "the other recall?":
            lambda product, first, second: second_write(1, first, second),
        "You added what the second key recalls. The rule takes it off.":
            lambda product, first, second: second_write(-product, first, second),
    },
)  # fmt: skip
