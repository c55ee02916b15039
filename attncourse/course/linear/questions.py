"""The questions of the chapter on linear attention."""

import random
from functools import partial

import torch

from attncourse.cost import count
from attncourse.course.question import (
    NAMES_ONLY,
    Choice,
    Line,
    Maps,
    Number,
    Row,
    double,
    mutant,
    show,
    texts,
)
from attncourse.linear import (
    delta_write,
    gated_write,
    linear_attention,
    linear_attention_parallel,
    linear_attention_step,
)

WEIGHTS, REORDERED, SUMS = "linear_weights", "reordered_attention", "causal_by_cumsum"
STEP, RECURRENCE = "decode_token", "linear_recurrence"


def as_they_are(x: torch.Tensor) -> torch.Tensor:
    """A feature map for what has its features already, or is to have none."""
    return x


def operations(product, n: int, d: int) -> int:
    return count(product, *(torch.empty(n, d, device="meta") for _ in "qkv")).flops


def ratio_of_operations(n, d):
    queries_first = operations(lambda q, k, v: (q @ k.mT) @ v, n, d)
    return queries_first / operations(lambda q, k, v: q @ (k.mT @ v), n, d)


dearer_order = Number(
    aim="reorder",
    asks=(
        "The queries and keys of <n> tokens have <d> features, and their values have width <d>. "
        "Count the operations of the two matrix products. How many times as many operations does "
        "it take to multiply queries and keys first as to multiply keys and values first?"
    ),
    # in this order the first numbers drawn are those with which the figure opens
    draw=lambda rng: {
        "n": rng.choice([1024, 512, 128, 256]),
        "d": rng.choice([8, 16, 64, 32]),
    },
    right=ratio_of_operations,
    steps=lambda n, d: (
        f"Queries and keys first: a product of {n} × {d} by {d} × {n}, then one of {n} × {n} by "
        f"{n} × {d}. Each has {n} · {n} · {d} terms.",
        f"Keys and values first: a product of {d} × {n} by {n} × {d}, then one of {n} × {d} by "
        f"{d} × {d}. Each has {n} · {d} · {d} terms.",
        f"The ratio is {n} / {d} = {n // d}. The figure in the chapter also counts the few "
        "operations of the sums of weights.",
    ),
    check="Write down the shapes of the two factors of each product. How many terms does each "
    "product have?",
    mistakes={
        "You compared the sizes of the matrices in between. How many terms does each of their "
        "numbers sum?":
            lambda n, d: (n / d) ** 2,
        "You counted the sums of the weights as well, as the figure does. Count the two matrix "
        "products only.":
            lambda n, d: 2 * n / (2 * d + 1),
        "You took the ratio the other way round. Which order's operations belong in the numerator?":
            lambda n, d: d / n,
        "With keys and values first, your count doesn't grow with the number of tokens. How many "
        "keys and values are summed?":
            lambda n, d: n * n / d,
        "With keys and values first, your count has one term for each feature of a token. What "
        "does a token add to the state: a vector, or a matrix?":
            lambda n, d: n,
    },
)  # fmt: skip


def drawn_products(rng: random.Random) -> dict:
    """Products that do not all have one sign, and values beyond which the output lies."""
    while True:
        products = rng.choice([[4, -1, -1], [3, 1, -2], [5, -2, -1], [1, 2, -4]])
        numbers = {
            "products": tuple(rng.sample(products, 3)),
            "values": tuple(rng.sample(range(6), 3)),
        }
        if not min(numbers["values"]) <= of_products(**numbers) <= max(numbers["values"]):
            return numbers


def of_products(products, values) -> torch.Tensor:
    q, k, v = alone(products, values)
    return linear_attention_parallel(q, k, v, causal=False, feature_map=as_they_are)[0, 0]


def as_a_sum(products, values) -> str:
    terms = " + ".join(f"{show(a)} · {b}" for a, b in zip(products, values, strict=True))
    return terms.replace("+ −", "− ")


def dot(first, second) -> int:
    return sum(a * b for a, b in zip(first, second, strict=True))


# a query of width 1 meets keys whose products with it are these
def alone(products, values):
    columns = (double(*[[x] for x in numbers]) for numbers in (products, values))
    return double([1]), *columns


def not_divided(products, values):
    undivided = mutant(REORDERED, "the normaliser is missing")
    return undivided(*alone(products, values))[0, 0]


negative_products = Number(
    aim="features",
    asks=(
        "Suppose you leave out the feature map. A query's products with three keys are <products>, "
        "and linear attention uses them as they are. The values are <values>. What is the query's "
        "output?"
    ),
    draw=drawn_products,
    right=of_products,
    steps=lambda products, values: (
        f"The weighted sum of the values is {as_a_sum(products, values)} = "
        f"{show(dot(products, values))}.",
        f"The weights sum to {show(sum(products))}, so the query gets "
        f"{show(of_products(products, values).item())}.",
        "That is outside the range of the values, so it is not a mean of them. The nearer the "
        "negative weights come to cancelling the positive ones, the further outside it may be.",
    ),
    check="Linear attention divides a weighted sum by the sum of the weights. What are these two "
    "sums?",
    mistakes={
        "That's the weighted sum of the values. What does linear attention divide it by?":
            not_divided,
        "You divided by the number of keys. What do the weights sum to?":
            lambda products, values: not_divided(products, values) / 3,
        "You left out the negative products. Without a feature map, nothing removes them: they "
        "count in both sums.":
            lambda products, values: of_products([max(x, 0) for x in products], values),
        "You divided by the sum of the absolute values. The normaliser is the plain sum of the "
        "products, with their signs.":
            lambda products, values: not_divided(products, values) / sum(map(abs, products)),
        "You used the negative products as if they were positive. Without a feature map, they keep "
        "their signs, in both sums.":
            lambda products, values: of_products([*map(abs, products)], values),
    },
)  # fmt: skip


wrong_line_of_running_sums = Line(
    aim="four-forms",
    asks=(
        "These lines should compute causal linear attention by running sums. `phi_q` and `phi_k` "
        "are the features of queries and keys; in all three inputs, the tokens are the last axis "
        "but one. Which line is wrong?"
    ),
    faults={
        "the normaliser counts the later keys too":
            "All tokens share a single sum of the keys' features, so it contains later keys. It "
            "has to be a running sum, as the states are.",
        "the state leaves the token itself out":
            "Each token's own term is subtracted from its state, but the normaliser still counts "
            "it. A token should see itself.",
        "it is divided by the number of keys so far":
            "The sums are divided by the number of keys so far. They have to be divided by the "
            "sum of the weights so far.",
        "the sum runs over a width":
            "The running sum goes along the features. It should go along the tokens, which are the "
            "third axis from the end once each token has a matrix.",
        "a query is multiplied by its own key before the sum":
            "Each query meets its own key alone, and these products are summed. A query should "
            "meet the sum of all keys so far.",
    },
    text_of=partial(texts, SUMS),
    steps=(
        "For each line, ask which keys and values its result for token $i$ contains: they should "
        "be those up to $i$.",
    ),
    check="Follow three tokens of width 1 through the lines. What does each line give for the "
    "first of them?",
    minutes=3,
    mistakes={
        "That line is right: each key's features and its value make one matrix, and nothing is "
        "summed yet.":
            "outer = ",
        "That line is right: it multiplies each query's features by the state of its own token.":
            "sums = ",
        "That line is right: it divides the weighted sum by the total weight. Look at how the two "
        "are computed.":
            "return ",
        NAMES_ONLY: "def ",
    },
)  # fmt: skip


def drawn_step(rng: random.Random) -> dict:
    """A state of two features and one token, for which the output is a whole number."""
    while True:
        numbers = {name: tuple(rng.choices(range(1, 4), k=2)) for name in ("z", "key", "query")}
        numbers |= {"state": tuple(rng.choices(range(2, 9), k=2)), "value": rng.choice([2, 6])}
        output = next_output(**numbers)
        if output == output.round() and numbers["key"] != numbers["query"]:
            return numbers


def token(state, z, key, value, query):
    s, *tensors = double(*[[x] for x in state]), double(*z), double(*query), double(*key)
    return s, *tensors, double(value)


def next_output(**numbers):
    s, z, q, k, v = token(**numbers)
    return linear_attention_step((s, z), q, k, v, feature_map=as_they_are)[1][0]


def output_by_mutant(hint, **numbers):
    return mutant(STEP, hint)(*token(**numbers))[2][0]


def state_after(state, z, key, value):
    return [s + value * k for s, k in zip(state, key, strict=True)], [
        a + b for a, b in zip(z, key, strict=True)
    ]


def value_in_z(state, z, key, value, query):
    s, _ = state_after(state, z, key, value)
    return dot(query, s) / dot(query, state_after(z, z, key, value)[0])


output_of_a_step = Number(
    aim="four-forms",
    asks=(
        "Causal linear attention with two features and values of width 1 has read some tokens. Its "
        "state is S = <state>, with a number for each feature, and z = <z>. The next token's key "
        "has the features <key>, its value is <value>, and its query has the features <query>. "
        "What is the output for this token?"
    ),
    draw=drawn_step,
    right=next_output,
    steps=lambda state, z, key, value, query: (
        f"The token joins the state first: S becomes {show(state)} + {value} · {show(key)} = "
        f"{show(state_after(state, z, key, value)[0])}, and z becomes {show(z)} + {show(key)} = "
        f"{show(state_after(state, z, key, value)[1])}.",
        f"The query reads both: its dot product with S is "
        f"{dot(query, state_after(state, z, key, value)[0])}, and that with z is "
        f"{dot(query, state_after(state, z, key, value)[1])}.",
        "The output is the first divided by the second.",
    ),
    check="Write down the new S and the new z before the query reads either.",
    minutes=3,
    placement=True,
    mistakes={
        "Your token reads a state that it isn't part of. In causal attention, does a token see "
        "itself?":
            partial(output_by_mutant, "the state is read before it is updated"),
        "That's the weighted sum of the values. What do you divide it by, so that it becomes a "
        "mean?":
            partial(output_by_mutant, "the output is not normalised"),
        "You divided by the sum of the numbers in z. Each weight is a product with this query, and "
        "so is the sum of the weights.":
            partial(output_by_mutant, "it is divided by the sum of z"),
        "You added the value to S without its key. What does the key decide about where the value "
        "goes?":
            partial(output_by_mutant, "the value is added without its key"),
        "You added the key to S without its value. What is S a sum of?":
            lambda state, z, key, value, query: (
                dot(query, state_after(state, z, key, 1)[0])
                / dot(query, state_after(state, z, key, 1)[1])
            ),
        "You added the value to z as well. What is z a sum of?": value_in_z,
        "You added the token to z, but not to S. What should S hold of it?":
            lambda state, z, key, value, query: (
                dot(query, state) / dot(query, state_after(state, z, key, value)[1])
            ),
        "You swapped the key and the query. Which of the two is written, and which one reads?":
            lambda state, z, key, value, query: output_of_a_step.right(
                state=state, z=z, key=query, value=value, query=key
            ),
        "You added the token to S, but not to z. What should z hold of it?":
            lambda state, z, key, value, query: (
                dot(query, state_after(state, z, key, value)[0]) / dot(query, z)
            ),
    },
)  # fmt: skip


after_an_exchange = Choice(
    aim="four-forms",
    asks=(
        "Five tokens go through causal linear attention without positions. You exchange the first "
        "two of them, each with its query, key and value. Which tokens get a different output than "
        "before?"
    ),
    right="the two that are exchanged, because they alone read a different sum",
    steps=(
        "The state after the first two tokens is a sum of two terms, which does not depend on "
        "their order. So the three later tokens read the same states as before.",
        "The token that stood first saw only itself, and now sees the other one as well. For the "
        "other token, it's the opposite.",
        "In the figure in the chapter, shuffle the tokens before the chosen one: its output stays "
        "the same.",
    ),
    check="Write down the sum of terms that each of the five tokens reads, before and after.",
    minutes=1,
    mistakes={
        "A complete sum doesn't depend on the order of its terms. But do the first two tokens "
        "read a complete sum?":
            "none, because a sum does not depend on the order of its terms",
        "The later states do contain both tokens. Does it matter to a sum which of the two was "
        "added first?":
            "all five, because every later state contains the two",
        "The later tokens read a sum that contains both of them. Which of its terms has changed?":
            "the three later ones, because what they read was written in another order",
    },
)  # fmt: skip


first_failure = Choice(
    aim="fixed-state",
    asks=(
        "Linear attention with the 16 features elu(x) + 1 stores random keys of width 16 and norm "
        "1 with random values. Then each key, multiplied by as large a number as you like, asks "
        "for its own value. With how many stored keys do the answers begin to be wrong?"
    ),
    right="with two, because each query gives weight to both",
    steps=(
        "The value of a single key is recalled exactly, because the sum of the weights is that "
        "key's own weight.",
        "With two keys, the weight of each is the product of its features and those of the query. "
        "All features are positive, so the other key gets some weight as well, and some of its "
        "value is in the answer.",
        "The rank says only that recall has to fail beyond 16 keys. The figure in the chapter "
        "shows the error from one key on.",
    ),
    check="What weight does a query give to a key that is not its own? Can it be 0?",
    minutes=1,
    mistakes={
        "The rank only says beyond how many keys recall has to fail. Can it fail before that?":
            "with 17, because the rank is at most 16",
        "A large number makes a softmax sharp. What does it do to weights that are products of "
        "features, divided by their sum?":
            "with no number of keys, if they are multiplied by enough",
        "A single key gets all of the weight, whatever its product with the query is. What is that "
        "product divided by?":
            "with one, because its features are not the key itself",
    },
)  # fmt: skip


def of_two_keys(size: int, first: int, second: int):
    k = double([size, 0], [0, size])
    return k[:1], k, double([first], [second])


def weighed(hint: str, size: int, first: int, second: int):
    q, k, v = of_two_keys(size, first, second)
    return (mutant(WEIGHTS, hint)(q, k) @ v)[0, 0]


recalled_by_the_first = Number(
    aim="fixed-state",
    asks=(
        "Linear attention has the features elu(x) + 1, which is x + 1 for positive x and exp(x) "
        "for all others. It stores two keys, (<size>, 0) and (0, <size>), with the values <first> "
        "and <second>. A query equal to the first key asks for its value. What is the query's "
        "output?"
    ),
    draw=lambda rng: {
        "size": (size := rng.choice([1, 2, 3])),
        "first": (size + 2) ** 2 * rng.choice([1, 2, 3]),
        "second": (size + 2) ** 2 * rng.choice([-1, 1, 2]),
    },
    right=lambda size, first, second: linear_attention(*of_two_keys(size, first, second))[0, 0],
    steps=lambda size, first, second: (
        f"The features of the query and of the first key are ({size + 1}, 1), and those of the "
        f"second key are (1, {size + 1}).",
        f"The products are {size + 1} · {size + 1} + 1 = {(size + 1) ** 2 + 1} and "
        f"2 · {size + 1} = {2 * size + 2}, and their sum is {(size + 2) ** 2}.",
        f"So the query gets {(size + 1) ** 2 + 1}/{(size + 2) ** 2} of {show(first)} and "
        f"{2 * size + 2}/{(size + 2) ** 2} of {show(second)}, although the "
        "keys are orthogonal.",
    ),
    check="The two weights are positive and sum to 1. What are they?",
    placement=True,
    mistakes={
        "In your answer, the second key has no weight. What does the feature map turn a 0 into?":
            partial(weighed, "q and k have no features yet"),
        "You took the features on one side only. What goes through the feature map: the query, the "
        "keys, or both?":
            partial(weighed, "the keys have no features"),
        "That's the weighted sum of the values. Divide it by the sum of the two weights.":
            partial(weighed, "the rows do not sum to 1"),
        "You swapped the weights of the two keys. Which key is equal to the query?":
            lambda size, first, second: recalled_by_the_first.right(size, second, first),
        "You gave both values the same weight. Is the query as close to the second key as to the "
        "first?":
            lambda size, first, second: (first + second) / 2,
        "That's the first value's part of the mean. What does the second key's weight add to it?":
            lambda size, first, second: recalled_by_the_first.right(size, first, 0),
    },
)  # fmt: skip


ORDINALS = ("first", "second", "third", "fourth", "fifth")


def gated_weights(n, t, nth, gate):
    state, rows = double([0] * n), []
    for value, gates_of in zip(torch.eye(n).double(), gates(n, t, gate), strict=True):
        state = gated_write(state, double(1), value, gates_of)
        rows.append(state[0])
    return torch.stack(rows)


def gates(n, t, gate) -> torch.Tensor:
    """A gate of width 1 for each token."""
    column = torch.ones(n, 1).double()
    column[t] = gate
    return column


def gates_by_mutant(hint, n, t, nth, gate):
    return mutant(RECURRENCE, hint)(gates(n, t, gate).expand(n, n), torch.eye(n).double())


def one_row_only(n, t, nth, gate):
    weights = torch.ones(n, n).double().tril()
    weights[t, :t] = gate
    return weights


weights_with_a_gate = Maps(
    aim="fixed-state",
    asks=(
        "Before each of <n> tokens is added to a state, a gate multiplies the whole state. The "
        "gate is 1 at every token but the <nth>, where it is <gate>. All products of queries and "
        "keys are 1, and nothing is normalised. Which map shows the weight of each key (column) "
        "for each query (row)?"
    ),
    draw=lambda rng: {
        "n": (n := rng.choice([5, 6])),
        "t": (t := rng.randrange(1, n - 1)),
        "nth": ORDINALS[t],
        "gate": rng.choice([0.0, 0.25, 0.5]),
    },
    right=gated_weights,
    steps=lambda n, t, nth, gate: (
        f"Before the {nth} token, nothing fades: each query gives weight 1 to every key so far.",
        f"At the {nth} token, all that the state holds is multiplied by {show(gate)}: the keys "
        "before it. The token's own key is added afterwards, in full.",
        "No later token brings back what was lost, so in all the rows from there on, the earlier "
        f"keys have weight {show(gate)}.",
    ),
    check="Write down the state after each token, as a sum of keys with factors in front.",
    minutes=2,
    mistakes={
        "In this map, the gate also multiplies the key of its own token. Is that key in the state "
        "already when the gate acts?":
            partial(gates_by_mutant, "a_t multiplies b_t, too"),
        "In this map, the gate acts one token late. Does it act before its own token is added, or "
        "after?":
            partial(gates_by_mutant, "the factor of the step before is used"),
        "In this map, only one query reads a faded state. Which state do the later tokens add "
        "their keys to?":
            one_row_only,
    },
)  # fmt: skip


def recall_by_each_rule(old, new, beta):
    key, value = double(0.6, 0.8), double(new)
    state = key[:, None] * old
    sum_state = gated_write(state, key, value, torch.ones(1).double())
    delta_state = delta_write(state, key, value, torch.tensor(beta).double())
    return (key @ sum_state)[0], (key @ delta_state)[0]


def replaced(old, new, beta):
    return new, old + beta * (new - old)


recalled_afterwards = Row(
    aim="fixed-state",
    asks=(
        "For a key of norm 1, a state recalls the value <old>. Now the same key comes again, with "
        "the value <new>. What does the state recall for this key afterwards: first, if the token "
        "is simply added; second, with the delta rule and β = <beta>? Nothing is normalised."
    ),
    draw=lambda rng: {
        **dict(zip(("old", "new"), rng.sample([-12, -8, 4, 16, 20], 2), strict=True)),
        "beta": rng.choice([0.25, 0.75]),
    },
    right=recall_by_each_rule,
    steps=lambda old, new, beta: (
        f"A sum holds both: {show(old)} + {show(new)} = {show(old + new)}.".replace("+ −", "− "),
        f"The delta rule reads {show(old)} first. What is missing is {show(new)} − {show(old)} = "
        f"{show(new - old)}.".replace("− −", "+ "),
        f"It adds {show(beta)} of that, {show(beta * (new - old))}, so the state recalls "
        f"{show(old + beta * (new - old))}.",
    ),
    check="With β = 1, the delta rule would recall the new value, and with β = 0 the old one.",
    mistakes={
        "With the delta rule, you added a share of the new value. The rule adds a share of what is "
        "missing, so read the state first.":
            lambda old, new, beta: (old + new, old + beta * new),
        "You corrected the whole error. How much of it does β correct?":
            lambda old, new, beta: (old + new, new),
        "In your sum, the new value has replaced the old one. Does adding a value remove the one "
        "before it?":
            replaced,
        "You gave the old value the weight β, and the new one the rest. Which of the two values "
        "does the rule end up with if β is 1?":
            lambda old, new, beta: (old + new, new + beta * (old - new)),
        "Your second number is what the delta rule adds to the state. What does the state recall "
        "afterwards?":
            lambda old, new, beta: (old + new, beta * (new - old)),
        "You moved away from the new value. What is missing: new − old, or old − new?":
            lambda old, new, beta: (old + new, old - beta * (new - old)),
    },
)  # fmt: skip
