"""The questions of the chapter on relative positions."""

import math
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
from attncourse.dot_product import attention
from attncourse.relative import (
    alibi_bias,
    causal_skew,
    relative_attention,
    relative_attention_gather,
    relative_index,
    rope,
)

ROWS, SCORES, VALUES = "relative_rows", "relative_scores", "relative_values"
HALVES, CAUSAL = "rope_halves", "causal_scores"
WORDS = 10


def three_keys(rng) -> dict:
    """A query with a key far to its left, a near one, and one far to its right."""
    k, i = rng.choice([2, 3]), rng.choice([4, 5])
    near_offset = rng.choice([o for o in range(1 - k, k) if o])
    keys = [rng.randrange(i - k), i + near_offset, rng.randrange(i + k + 1, WORDS)]
    return {"k": k, "i": i, "keys": tuple(rng.sample(keys, 3))}


def rows_by(hint: str, k, i, keys):
    return mutant(ROWS, hint)(WORDS, WORDS, k)[i, [*keys]]


def distances(k, i, keys):
    return [min(abs(j - i), k) + k for j in keys]


rows_of_the_table = Row(
    aim="two-tables",
    asks=(
        "The offset of a pair says how far the key stands to the right of the query. A table has a "
        "row for each offset from −<k> to <k>, and an offset beyond these is clipped to the nearer "
        "of the two. The rows are counted from 0. Which rows does a query at position <i> read for "
        "the keys at positions <keys>?"
    ),
    draw=three_keys,
    right=lambda k, i, keys: relative_index(WORDS, k)[i, [*keys]],
    steps=lambda k, i, keys: (
        f"The offsets are key minus query: {', '.join(show(j - i) for j in keys)}.",
        f"Clipped to the range from −{k} to {k}, they are "
        f"{', '.join(show(max(-k, min(k, j - i))) for j in keys)}.",
        f"The row of offset −{k} is row 0, so add {k} to each.",
    ),
    check="Write down the three offsets, and what clipping turns each of them into. Which offset "
    "has row 0?",
    placement=True,
    mistakes={
        "You took the query's position minus the key's. On which side of the query does a key "
        "with a negative offset stand?":
            partial(rows_by, "the offset is taken the other way round"),
        "Those are the clipped offsets, but not yet the numbers of rows. Which offset does row 0 "
        "stand for?":
            partial(rows_by, "reach is not added"),
        "Some of your rows do not exist. What happens to an offset that lies beyond the table?":
            partial(rows_by, "row numbers leave the table"),
        "You turned the offsets into row numbers first and clipped afterwards. The bounds are "
        "those of the offset, so clip it before you add anything.":
            partial(rows_by, "it clips to -reach and reach"),
        "You counted the rows from 1. Which number does the first row have in the question?":
            lambda k, i, keys: rows_of_the_table.right(k, i, keys) + 1,
        "Those are the bare offsets. Which of them have to be clipped, and which offset does row 0 "
        "stand for?":
            lambda k, i, keys: [j - i for j in keys],
        "You took distances, so left and right share their rows. What sign does the offset of a "
        "key to the left of its query have?":
            distances,
    },
)  # fmt: skip


def two_tables(rng) -> dict:
    """Exponentials and numbers such that the mean is a whole number."""
    own_exponential, near_exponential, unread = (rng.choice([1, 2, 3]) for _ in range(3))
    end = rng.choice(["first", "last"])
    total = own_exponential + 2 * near_exponential
    exponentials = (
        (unread, own_exponential, near_exponential)
        if end == "first"
        else (near_exponential, own_exponential, unread)
    )
    return {
        "end": end,
        "exponentials": exponentials,
        "products": tuple(f"2 ln {e}" if e > 1 else "0" for e in exponentials),
        "values": tuple(total * x for x in rng.sample([1, 2, 3, 4], 3)),
        "table": tuple(total * x for x in rng.choice([(1, 0, -1), (-1, 0, 1), (2, 0, 1)])),
    }


def tables_and_rows(end, exponentials, values, table):
    """q, k, v, a_k and a_v, the place of the query, and the rows that it reads."""
    q, k = torch.zeros(2, 3, 4).double()
    q[:, 0] = 1
    a_k = torch.zeros(3, 4).double()
    a_k[:, 0] = 2 * double(*exponentials).log()
    i = 0 if end == "first" else 2
    return q, k, double(values).T, a_k, double(table).T, i, relative_index(3, 1)[i]


def relative_output(end, exponentials, products, values, table):
    q, k, v, a_k, a_v, i, _ = tables_and_rows(end, exponentials, values, table)
    return relative_attention(q, k, v, a_k, a_v)[i, 0]


def steps_with_tables(end, exponentials, values, table):
    *_, rows = tables_and_rows(end, exponentials, values, table)
    shares = [exponentials[r] for r in rows]
    sums = [
        f"{show(v)} {'+' if a >= 0 else '−'} {abs(a)}" for v, a in value_pairs(values, table, rows)
    ]
    return (
        f"The keys read rows {', '.join(map(str, rows.tolist()))}, because an offset of "
        f"{'2 is clipped to 1' if end == 'first' else '−2 is clipped to −1'}.",
        "The products divided by $\\sqrt{4} = 2$ are the scores. Their exponentials are "
        f"{', '.join(map(str, shares))}, which sum to {sum(shares)}.",
        f"With their rows added, the values are {', '.join(sums)}.",
        "Multiply each by its weight: "
        + " + ".join(
            f"{share}/{sum(shares)} · {v + a}"
            for share, (v, a) in zip(shares, value_pairs(values, table, rows), strict=True)
        )
        + ".",
    )


def value_pairs(values, table, rows):
    return [(v, table[r]) for v, r in zip(values, rows, strict=True)]


def mean_of(scores, v, a_v, i, rows):
    return scores[i].softmax(-1) @ (v + a_v[rows])[:, 0]


def divided_by_the_width(end, exponentials, products, values, table):
    q, k, v, a_k, a_v, i, rows = tables_and_rows(end, exponentials, values, table)
    return mean_of(q @ (k + a_k[rows]).T / 4, v, a_v, i, rows)


def without_the_values_table(end, exponentials, products, values, table):
    q, k, v, a_k, _, i, _ = tables_and_rows(end, exponentials, values, table)
    return relative_attention(q, k, v, a_k, None)[i, 0]


def not_scaled(end, exponentials, products, values, table):
    q, k, v, a_k, a_v, i, rows = tables_and_rows(end, exponentials, values, table)
    scores = mutant(SCORES, "the scores are not scaled")(q, k, a_k)
    return mean_of(scores, v, a_v, i, rows)


def mirrored(end, exponentials, products, values, table):
    q, k, v, a_k, a_v, i, rows = tables_and_rows(end, exponentials, values, table)
    scores = mutant(SCORES, "the offset is taken the other way round")(q, k, a_k)
    return mean_of(scores, v, a_v, i, 2 - rows)


def nothing_for_the_farthest(end, exponentials, products, values, table):
    q, k, v, a_k, a_v, i, rows = tables_and_rows(end, exponentials, values, table)
    scores = mutant(SCORES, "keys beyond the reach get no relative term")(q, k, a_k)
    is_near = (torch.arange(3) - i).abs() <= 1
    return scores[i].softmax(-1) @ (v + is_near[:, None] * a_v[rows])[:, 0]


def rows_in_order(end, exponentials, products, values, table):
    _, _, v, a_k, a_v, _, _ = tables_and_rows(end, exponentials, values, table)
    return (a_k[:, 0] / 2).softmax(-1) @ (v + a_v)[:, 0]


def without_the_keys_table(end, exponentials, products, values, table):
    *_, rows = tables_and_rows(end, exponentials, values, table)
    return sum(v + a for v, a in value_pairs(values, table, rows)) / 3


def not_divided(end, exponentials, products, values, table):
    *_, rows = tables_and_rows(end, exponentials, values, table)
    sums = [v + a for v, a in value_pairs(values, table, rows)]
    return sum(exponentials[r] * products for r, products in zip(rows, sums, strict=True))


output_with_both_tables = Number(
    aim="two-tables",
    asks=(
        "A head has width 4. Both of its tables have rows for the offsets −1, 0 and 1, and offsets "
        "beyond these are clipped. The <end> of three tokens is the query. Its dot products with "
        "the three keys are 0, and those with the rows of the keys' table are <products>. The "
        "first components of the values are <values>, and those of the rows of the values' table "
        "are <table>. What is the first component of the query's output?"
    ),
    draw=two_tables,
    right=relative_output,
    steps=lambda end, exponentials, products, values, table: steps_with_tables(
        end, exponentials, values, table
    ),
    check="Write down which row each of the three keys reads. One row is read twice.",
    minutes=3,
    placement=True,
    mistakes={
        "You divided the products by the width itself. What does a head of this width divide them "
        "by?":
            divided_by_the_width,
        "You left both tables out. Which of them changes the weights, and which changes the "
        "values?":
            lambda end, exponentials, products, values, table: double(*values).mean(),
        "You averaged the values alone. What does the second table add to each value before the "
        "mean is taken?":
            without_the_values_table,
        "You took the exponentials of the products as they are. What does a head of this width "
        "divide the products by first?":
            not_scaled,
        "You mixed up left and right. On which side of this query do the other two tokens stand, "
        "and what sign do their offsets have?":
            mirrored,
        "In your answer, the farthest key gets nothing from the tables. Its offset is clipped: "
        "which row does it share with a nearer key?":
            nothing_for_the_farthest,
        "You gave the three keys the three rows in order, as if the query stood in the middle. "
        "What offset does the query's own key have?":
            rows_in_order,
        "You gave the three keys equal weights. The keys' table contributes to their scores: what "
        "are the three scores?":
            without_the_keys_table,
        "You used the exponentials as weights. What do you divide them by, so that the weights sum "
        "to 1?":
            not_divided,
    },
)  # fmt: skip


weights_of_alibi = Maps(
    aim="family",
    asks=(
        "All the dot products of <n> tokens are equal, so only ALiBi tells the tokens apart: from "
        "each score, it subtracts a penalty in proportion to the distance, 1/2 for each place. "
        "Nothing is masked. Which map shows the weights? (A row is a query, a column is a key; a "
        "larger square means more weight.)"
    ),
    draw=lambda rng: {"n": rng.choice([4, 5])},
    right=lambda n: alibi_bias(8, n, dtype=torch.float64)[0].softmax(-1),
    steps=lambda n: (
        "A query is at distance 0 from its own position, so the diagonal has no penalty.",
        "On both sides, the penalty grows by 1/2 from place to place, so the exponentials fall by "
        "the same factor each time.",
        "So each row has its largest square on the diagonal, and the squares get smaller with the "
        "distance from it.",
    ),
    check="Take the second row. Which two keys are equally far from the query?",
    mistakes={
        "In this map, the first query looks most at the last key. Does a penalty raise a score or "
        "lower it?":
            lambda n: (-alibi_bias(8, n, dtype=torch.float64)[0]).softmax(-1),
        "In this map, all rows are the same, as if every query stood in the first place. How far "
        "is each key from the query of the last row?":
            lambda n: alibi_bias(8, n, dtype=torch.float64)[0, :1].softmax(-1).expand(n, n),
        "In this map, a query gives every later key as much weight as its own key. Are the later "
        "keys not at a distance too?":
            lambda n: alibi_bias(8, n, dtype=torch.float64)[0].tril().softmax(-1),
    },
)  # fmt: skip


# the figure below the question opens at the positions that are drawn first
VECTORS = [((2, 1), (0, 3)), ((1, 2), (3, 0)), ((1, 3), (2, 0)), ((2, -1), (1, 3))]
# at these, turning the wrong way, or one vector alone, shows in the dot product
POSITIONS = [(1, 6), (3, 2), (5, 2), (5, 6), (7, 2), (7, 6), (3, 6)]


def to_quarters(rng) -> dict:
    (query, key), (i, j) = rng.choice(VECTORS), rng.choice(POSITIONS)
    return {"query": query, "key": key, "i": i, "j": j}


def quarter_turns(x, times: int) -> torch.Tensor:
    # at scale 1, the first pair turns by one radian for each position
    return rope(double(x), torch.tensor([times]), scale=2 / math.pi)[0]


def quarters(times: int) -> str:
    side, plural = "left" if times > 0 else "right", "s" * (abs(times) > 1)
    return f"{abs(times)} quarter turn{plural} to the {side}"


def same_as(times: int) -> str:
    if 0 < times < 4:
        return ""
    return f"Four quarter turns change nothing, so that is the same as {quarters(times % 4)}. "


def turned_by(x, times: int) -> tuple[int, ...]:
    return tuple(round(turn) for turn in quarter_turns(x, times).tolist())


def to_the_right(query, key, i, j):
    turn_wrong, turn = mutant(HALVES, "it turns the wrong way"), torch.pi / 2
    rotated = [turn_wrong(double(x), double(turn * t))[0] for x, t in ((query, i), (key, j))]
    return rotated[0] @ rotated[1]


score_after_turning = Number(
    aim="rotate",
    asks=(
        "A vector at position $m$ is rotated by $m$ quarter turns to the left, each of which takes "
        "$(x, y)$ to $(-y, x)$. A query <query> stands at position <i>, and a key <key> at "
        "position <j>. What is the dot product of the two after both have been rotated?"
    ),
    draw=to_quarters,
    right=lambda query, key, i, j: quarter_turns(query, i) @ quarter_turns(key, j),
    steps=lambda query, key, i, j: (
        "Only the offset counts, so leave the query as it is, and rotate the key by "
        f"{quarters(j - i)}.",
        f"{same_as(j - i)}The key becomes {show(turned_by(key, j - i))}.",
        f"The dot product of {show(query)} and {show(turned_by(key, j - i))} is "
        f"{show(round((double(*query) @ quarter_turns(key, j - i)).item()))}.",
    ),
    check="Four quarter turns change nothing. How many quarter turns does that leave for each of "
    "the two vectors?",
    mistakes={
        "You get this number if both vectors are turned by the same angle, or if neither is "
        "turned. A quarter turn too many or too few in one of them can lead to it as well. How "
        "many quarter turns does the query get, and how many does the key get?":
            lambda query, key, i, j: double(*query) @ double(*key),
        "You turned the wrong way, took the query's position minus the key's, added the two "
        "positions, or turned the query alone. Where does a quarter turn to the left take (1, 0), "
        "and which of the two vectors should be turned?":
            to_the_right,
        "You get this number if only the key is turned, by its own position, or if one of the two "
        "gets a quarter turn too many or too few. How many quarter turns does the query get, and "
        "how many does the key get?":
            lambda query, key, i, j: double(*query) @ quarter_turns(key, j),
    },
)  # fmt: skip


def pair_and_base(rng) -> dict:
    d, factor = rng.choice([(12, 64), (8, 81), (8, 256), (16, 256)])
    # were it the last pair, counting from 1 would give the whole factor
    return {"d": d, "factor": factor, "c": rng.randrange(1, d // 2 - 1)}


def angle(d: int, base: float, c: int) -> torch.Tensor:
    """The angle between a pair at one position and at the next."""
    x = torch.zeros(1, d).double()
    x[0, 2 * c] = 1
    cosine, sine = rope(x, torch.tensor([1]), base=base)[0, 2 * c : 2 * c + 2]
    return torch.atan2(sine, cosine)


slower_by_the_base = Number(
    aim="rotate",
    asks=(
        "In RoPE, pair $c = 0, 1, \\ldots$ turns by $\\beta^{-2c/d}$ from one position to the "
        "next, where $\\beta$ is the base and $d$ the width. At a width of <d>, you make the base "
        "<factor> times as large. How many times as many positions does pair <c> then need for a "
        "full turn?"
    ),
    draw=pair_and_base,
    right=lambda d, factor, c: angle(d, 1e4, c) / angle(d, factor * 1e4, c),
    steps=lambda d, factor, c: (
        f"The exponent of pair {c} is −{2 * c}/{d}, so its angle is multiplied by {factor} to the "
        f"power of −{2 * c}/{d}.",
        f"That is 1/{(times := round(factor ** (2 * c / d)))}. If the angle is {times} times "
        f"smaller, a full turn takes {times} times as many positions.",
    ),
    check="For pair 0, whose exponent is 0, the answer is 1. To what power is the factor raised "
    "for your pair?",
    mistakes={
        "That's the factor by which the angle changes. If a pair turns by less each time, does a "
        "full turn take more positions or fewer?":
            lambda d, factor, c: factor ** (-2 * c / d),
        "You counted the pairs from 1. The first pair is number 0, and turns as fast as before.":
            lambda d, factor, c: factor ** (2 * (c + 1) / d),
        "Your exponent is half the right one. A pair takes two components, so there are half as "
        "many pairs as components. What is the number of the pair multiplied by in the exponent?":
            lambda d, factor, c: factor ** (c / d),
        "You took the factor itself. The base is raised to a power: which power is it for this "
        "pair?":
            lambda d, factor, c: factor,
        "You multiplied the factor by the exponent. The base is raised to a power, so what happens "
        "to the factor?":
            lambda d, factor, c: factor * 2 * c / d,
    },
)  # fmt: skip


line_of_shaw = Choice(
    aim="family",
    asks=(
        "Thirteen tokens have the same content. Their keys use Shaw's table, with random numbers "
        "and a maximum distance of 4. You plot the score of every pair against its offset, from "
        "−12 to 12. What does the line look like to the left of −4 and to the right of 4?"
    ),
    right="flat on both sides, at two heights",
    steps=(
        "Every offset from 4 on reads the last row of the table, so from there on the score stays "
        "the same.",
        "Every offset up to −4 reads the first row, so the line is flat on the left as well.",
        "The two rows hold different numbers, so their products with the query differ. The figure "
        "below begins with this line.",
    ),
    check="Which row of the table does offset 7 read, and which does offset −7?",
    minutes=1,
    mistakes={
        "For a single height, left and right would have to share a row. How many rows does a table "
        "with a maximum distance of 4 have?":
            "flat on both sides, at one height",
        "To be at that height, distant keys would have to read the row of offset 0. Which offset "
        "does clipping turn 7 into?":
            "flat on both sides, at the height of offset 0",
        "A penalty that grows with the distance would give such a line. Do two keys that read the "
        "same row of the table get different scores?":
            "falling further and further on both sides",
        "For a repetition, the row numbers would have to start again from 0 beyond offset 4. "
        "Clipping doesn't do that: which offset does it turn 7 into?":
            "a repetition of what lies between −4 and 4",
    },
)  # fmt: skip


wrong_line_of_the_values = Line(
    aim="three-forms",
    asks=(
        "From the weights and the values' table, this function should compute, for each query, "
        "the weighted sum of the vectors that its keys read in the table. The table has a row for "
        "each offset from `-reach` to `reach`; offsets beyond use the first or the last row. Which "
        "line is wrong?"
    ),
    faults={
        "keys that share a row overwrite each other":
            "Several keys share a row when their offsets are clipped, and `scatter` keeps the "
            "weight of only one of them. Their weights have to be added up.",
        "it divides by sqrt(d)":
            "The scale is for scores, before the softmax. These are weights already, so their sums "
            "are multiplied by the table as it is.",
        "the number of rows is taken for reach":
            "A table of three rows reaches one place to each side, so `reach` is half its length, "
            "rounded down.",
    },
    text_of=partial(texts, VALUES),
    steps=(
        "Take the last query of three tokens and a table of three rows, and follow its weights "
        "through the lines.",
    ),
    check="Take a table of three rows, and a query with two keys far to its left. What is `reach`, "
    "what becomes of the weights of these two keys, and what is done with the sums?",
    minutes=3,
    mistakes={
        "That line is right: it makes room for one sum for each query and each row of the table.":
            "new_zeros",
        "That line is right: the row numbers are the same in each head and each sentence, so it "
        "only repeats them.":
            ".expand(",
        "That line is right: it clips the offset of each pair to the reach, and turns it into a "
        "row number, counted from 0.":
            "rows = ",
        NAMES_ONLY: "def ",
    },
)  # fmt: skip


def draw_sizes(rng) -> dict:
    k, times = rng.choice([2, 4, 5, 7, 12]), rng.choice([2, 3, 4, 5])
    return {"d": rng.choice([16, 64]), "k": k, "n": times * (2 * k + 1)}


def extra_cost(d, k, n):
    x, table = torch.empty(n, d, device="meta"), torch.empty(2 * k + 1, d, device="meta")
    plain = count(attention, x, x, x).flops
    return count(relative_attention_gather, x, x, x, table, table).flops / plain - 1


cost_of_the_tables = Number(
    aim="three-forms",
    asks=(
        "One head of width <d> reads <n> tokens with a table for the keys and one for the values, "
        "both with a maximum distance of <k>. Each query is multiplied by each row of the keys' "
        "table, and its weights, added up for each row, are multiplied by the values' table. How "
        "many operations do these two products take, as a fraction of those of attention's own two "
        "matrix products?"
    ),
    draw=draw_sizes,
    right=extra_cost,
    steps=lambda d, k, n: (
        f"In attention, each query meets {n} keys and then {n} values.",
        f"In the tables, it meets 2 · {k} + 1 = {2 * k + 1} rows, and then as many rows again.",
        f"All of these vectors have the same width, so the fraction is {2 * k + 1}/{n}.",
    ),
    check="How many vectors does one query meet in attention, and how many in the tables?",
    mistakes={
        "That's the fraction for the dense form, which has a vector for each pair. In this form, a "
        "query meets each row of a table once: how many rows are there?":
            1,
        "Your number includes the cost of attention itself. How many operations do the tables take "
        "on their own?":
            lambda d, k, n: 1 + (2 * k + 1) / n,
        "You counted the offsets on one side only. How many rows does such a table have in all?":
            lambda d, k, n: (k + 1) / n,
        "You counted the offsets to the left and to the right. Which offset is on neither side?":
            lambda d, k, n: 2 * k / n,
        "You compared one table with both of attention's products. There are two tables as well.":
            lambda d, k, n: (2 * k + 1) / (2 * n),
        "You divided the operations of attention by those of the tables. Which of the two belongs "
        "in the denominator?":
            lambda d, k, n: n / (2 * k + 1),
        "You counted the offsets on one side only, and left out offset 0. How many rows does such "
        "a table have in all?":
            lambda d, k, n: k / n,
        "You divided by the operations of the tables and attention together. What does the "
        "question ask for a fraction of?":
            lambda d, k, n: (2 * k + 1) / (n + 2 * k + 1),
    },
)  # fmt: skip


def products_of_four(rng) -> dict:
    numbers = rng.sample(range(1, 20), 12)
    return {"a": (*numbers[:4],), "b": (*numbers[4:8],), "c": (*numbers[8:],)}


def products(a, b, c) -> torch.Tensor:
    return double(a, b, c, (0, 0, 0, 0))


def skewed_by(hint: str, a, b, c):
    return mutant(CAUSAL, hint)(products(a, b, c), torch.eye(4).double())[1]


second_row_of_the_skew = Row(
    aim="three-forms",
    asks=(
        "In a causal model, four queries are multiplied by the vectors for the offsets −3, −2, −1 "
        "and 0, in this order. The first three rows of the result are <a>, <b> and <c>. A causal "
        "skew moves the numbers so that column $j$ belongs to key $j$, and puts 0 in the columns "
        "of later keys. What does the second row become?"
    ),
    draw=products_of_four,
    right=lambda a, b, c: causal_skew(products(a, b, c))[1],
    steps=lambda a, b, c: (
        f"The second row, {show(b)}, belongs to the query at position 1.",
        f"Its own key has offset 0, so the last number, {b[3]}, belongs on the diagonal, in column "
        "1.",
        f"The key before it has offset −1, so its number is {b[2]}. The first two numbers have no "
        "key, and the keys at positions 2 and 3 come later, so they get 0.",
    ),
    check="The second query stands at position 1. Which offsets do keys 0 and 1 have?",
    mistakes={
        "One of the third query's numbers got into your row. What belongs in the columns of the "
        "keys that come later?":
            partial(skewed_by, "above the diagonal the skew leaves"),
        "You didn't move the row far enough. Which key does its last number belong to?":
            lambda a, b, c: double(0, b[2], b[3], 0),
        "You left the numbers in their old columns. The first of them is for offset −3: does this "
        "query have a key there?":
            partial(skewed_by, "nothing is moved"),
        "You kept the right numbers, but left them in their old columns. Which column belongs to "
        "key 0?":
            lambda a, b, c: [0, 0, *b[2:]],
        "You have the right two numbers in the wrong order. Which of the two belongs to the "
        "query's own key, and which column does that key have?":
            lambda a, b, c: [b[3], b[2], 0, 0],
        "Your row has no number for the query's own key. In a causal model, a query sees itself as "
        "well.":
            partial(skewed_by, "the diagonal is lost"),
        "Those are the numbers as they came out of the product. For the query at position 1, which "
        "key does the last of them belong to?":
            lambda a, b, c: b,
        "You moved the row by one place. Its last number is for offset 0: in which column does the "
        "key with offset 0 stand?":
            lambda a, b, c: [*b[1:], 0],
    },
)  # fmt: skip
