"""The questions of the chapter on positions."""

import math

import torch

from attncourse.course import exercise
from attncourse.course.positional.claims import products
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
from attncourse.dot_product import attention, attention_weights, causal_mask
from attncourse.positional import ancestors, sinusoids, tree_depth, tree_distance

ANYWHERE, CHUNK, SHIFT = "sinusoids_at", "encode_chunk", "shift_matrix"
sinusoids_at = exercise(ANYWHERE).valid_answers[0]
shift_matrix = exercise(SHIFT).valid_answers[0]


def offsets(n: int) -> torch.Tensor:
    """j - i in row i and column j."""
    position = torch.arange(n)
    return position - position[:, None]


mask_without_order = Maps(
    aim="order-unseen",
    asks=(
        "Attention without positions gets a mask: the query of a row may attend to the keys whose "
        "columns have a square. Under which of these masks does every word still get the same "
        "output, whatever order the <n> words come in?"
    ),
    draw=lambda rng: {"n": rng.choice([4, 5]), "to_others": rng.choice([True, False])},
    right=lambda n, to_others: ((offsets(n) != 0) == to_others).double(),
    steps=lambda n, to_others: (
        "Exchange two words. If their outputs are to stay the same, the mask has to treat their "
        "two places alike, and this has to hold for any two places.",
        "A rule that says which places are earlier, near or first does not treat all places alike.",
        f'The rule "{"every word but itself" if to_others else "only itself"}" mentions no place: '
        "each word may attend to the same words in any order.",
    ),
    check="Exchange the first two words. May each of them still attend to the same words?",
    mistakes={
        "In this map, the first word attends to itself alone. What may it attend to when it moves "
        "to the end?":
            lambda n, to_others: causal_mask(n).double(),
        "In this map, a word attends to itself and its neighbours. Which words are its neighbours "
        "when the order changes?":
            lambda n, to_others: (offsets(n).abs() <= 1).double(),
        "In this map, no word attends to the first place. Does it matter which word stands there?":
            lambda n, to_others: torch.ones(n, n).double() * (torch.arange(n) > 0),
    },
)  # fmt: skip


# pairs whose frequency is a power of ten: width, pair, how many times slower than pair 0
SLOWER = [(4, 1, 100), (8, 1, 10), (8, 3, 1000), (16, 4, 100)]


def angle_by(encode, d: int, pair: int, position: int) -> float:
    """The angle of a pair, read from an encoding so near to 0 that no hand has come round."""
    sine, cosine = encode(double(position / 1e8), d)[0, 2 * pair : 2 * pair + 2]
    return 1e8 * math.atan2(sine, cosine)


angle_of_a_hand = Number(
    aim="sinusoids",
    asks=(
        "Take sinusoids of width <d>, with base 10000. By what angle, in radians, has the hand of "
        "pair <pair> turned at position <position>? Pairs and positions are counted from 0."
    ),
    draw=lambda rng: {
        "d": (dimension := rng.choice(SLOWER))[0],
        "pair": dimension[1],
        "position": round(rng.choice([0.5, 1.2, 1.5, 2, 2.5, 3]) * dimension[2]),
    },
    right=lambda d, pair, position: angle_by(sinusoids_at, d, pair, position),
    steps=lambda d, pair, position: (
        f"The frequency of pair {pair} is 10000 to the power of −2 · {pair}/{d}.",
        f"10000 is 10 to the power of 4, so the frequency is 10 to the power of −{8 * pair // d}, "
        f"or {10 ** (-8 * pair / d):g}.",
        f"The angle is {position} times the frequency.",
    ),
    check="At position 1, the hand of pair 0 has turned by 1 radian. How far has the hand of your "
          "pair turned at that position?",
    tolerance=0.0002,
    placement=True,
    mistakes={
        "Your exponent is half the right one. Each pair takes two columns: which column does this "
        "pair begin with?":
            lambda d, pair, position: angle_by(
                mutant(ANYWHERE, "the exponent is halved"), d, pair, position
            ),
        "Your exponent is twice the right one. What is divided by d in the exponent of pair i, if "
        "the first pair is pair 0?":
            lambda d, pair, position: angle_by(
                mutant(ANYWHERE, "the exponent is doubled"), d, pair, position
            ),
        "Your angle has the right size, but the wrong sign. It doesn't matter which way a hand is "
        "drawn: the question asks for the angle whose sine and cosine we take.":
            lambda d, pair, position: -angle_of_a_hand.right(d, pair, position),
        "You gave the angle in degrees. How many radians are there in a whole turn?":
            lambda d, pair, position: math.degrees(angle_of_a_hand.right(d, pair, position)),
        "Your hand turns faster than that of pair 0. Which pair's hand is the fastest of all?":
            lambda d, pair, position: angle_by(
                mutant(ANYWHERE, "the exponent has lost its minus"), d, pair, position
            ),
        "That's the angle of the previous pair. The first pair is pair 0: what's the frequency of "
        "the pair in the question?":
            lambda d, pair, position: angle_of_a_hand.right(d, pair - 1, position),
        "That's the angle at position 1. Which position does the question name?":
            lambda d, pair, position: angle_of_a_hand.right(d, pair, 1),
    },
)  # fmt: skip


def page_texts(hint: str) -> dict[str, str]:
    """The two texts without the arguments dtype and device."""
    return {
        key: text.replace(", dtype=x.dtype, device=x.device", "")
        for key, text in texts(CHUNK, hint).items()
    }


wrong_line_of_a_chunk = Line(
    aim="sinusoids",
    asks=(
        "A cache holds the first `start` tokens of a text. This function adds the sinusoids to the "
        "chunk of tokens that comes next: `x` has the shape (…, n, d), and n and d may both be "
        "odd. Which line is wrong?"
    ),
    faults={
        "the positions are multiplied by start":
            "`start` tokens come before the chunk, so its positions are `start`, `start + 1` and "
            "so on: `start` should be added.",
        "the exponent has changed":
            "`even` holds 0, 2, 4 and so on, which is 2i already. Doubling it makes every hand but "
            "the first too slow.",
        "sines and cosines no longer alternate":
            "`cat` puts all the sines before all the cosines. The sine and the cosine of a pair "
            "should stand side by side.",
    },
    text_of=page_texts,
    steps=(
        "With `start` = 5, two tokens of width 3 should get the positions 5 and 6, and the first "
        "three columns of two pairs.",
    ),
    check="Follow a chunk of two tokens of width 3 through the lines, with `start` = 5. Which "
    "positions do the tokens get, which exponents do the pairs get, and in what order do the "
    "columns stand?",
    minutes=3,
    mistakes={
        "That line is right: the last axis is the width, and the one before it is the length.":
            "x.shape[-2:]",
        "That line is right: it gives 0, 2, 4 and so on, one number for each pair, even for a last "
        "pair with only one column.":
            "even = ",
        "That line is right: if d is odd, the last pair has one column too many, and that column "
        "is cut off.":
            "return ",
        NAMES_ONLY: "def ",
    },
)  # fmt: skip


# the sines and cosines of angles that one can compute with: 3, 4 and 5 make a right triangle
STEPS = [(0.6, 0.8), (0.8, 0.6)]
HANDS = [(a * x, b * y) for x, y in STEPS for a in (1, -1) for b in (1, -1)]


def parenthesize(x: float) -> str:
    """A number as it stands in the middle of a sum."""
    return f"({show(x)})" if x < 0 else show(x)


def turn_back(matrix, sine: float, cosine: float, pair: tuple[float, float]) -> torch.Tensor:
    """The pair after a step back, by a function for the matrix of a shift."""
    angle = double(-math.atan2(sine, cosine))
    return matrix(angle, 2)[0] @ double(*pair)


def subtracted(sine, cosine, pair):
    return pair[0] - sine, pair[1] - cosine


def multiplied(sine, cosine, pair):
    return pair[0] * sine, pair[1] * cosine


one_word_back = Row(
    aim="previous-word-head",
    asks=(
        "From each word to the next, a pair of sinusoids turns by an angle whose sine is <sine> "
        "and whose cosine is <cosine>. At position $t$, the pair (sine, cosine) is <pair>. A head "
        "that looks for the previous word has to ask for the pair at position $t - 1$. What is "
        "that pair?"
    ),
    draw=lambda rng: {
        **dict(zip(("sine", "cosine"), rng.choice(STEPS), strict=True)),
        "pair": rng.choice(HANDS),
    },
    right=lambda sine, cosine, pair: turn_back(shift_matrix, sine, cosine, pair),
    steps=lambda sine, cosine, pair: (
        "Going back one word subtracts the angle of one step from the angle at $t$.",
        "Sine: sin(a − b) = sin a cos b − cos a sin b = "
        f"{parenthesize(pair[0])} · {cosine} − {parenthesize(pair[1])} · {sine}.",
        "Cosine: cos(a − b) = cos a cos b + sin a sin b = "
        f"{parenthesize(pair[1])} · {cosine} + {parenthesize(pair[0])} · {sine}.",
    ),
    check="Square your two numbers: do the squares sum to 1, as those of a sine and a cosine do? "
          "If so, try your two formulas on the pair (0, 1): is the sine negative one step earlier?",
    minutes=3,
    placement=True,
    mistakes={
        "That's the pair at the next word. In which direction is the previous word, and which of "
        "the two numbers in a pair is the sine?":
            lambda sine, cosine, pair: turn_back(
                mutant(SHIFT, "your matrix shifts the wrong way"), sine, cosine, pair
            ),
        "You subtract in both formulas. Write out sin(a − b) and cos(a − b) again: how do they "
        "differ?":
            lambda sine, cosine, pair: turn_back(
                mutant(SHIFT, "both sines have the same sign"), sine, cosine, pair
            ),
        "You add in both formulas. Write out sin(a − b) and cos(a − b) again: how do they differ?":
            lambda sine, cosine, pair: (
                pair[0] * cosine + pair[1] * sine,
                pair[1] * cosine + pair[0] * sine,
            ),
        "Your sine is sin(b − a). Which angle do you subtract from which?":
            lambda sine, cosine, pair: (
                pair[1] * sine - pair[0] * cosine,
                pair[1] * cosine + pair[0] * sine,
            ),
        "You multiplied both numbers by the cosine of the step, and stopped there. Where does the "
        "sine of the step come in?":
            lambda sine, cosine, pair: turn_back(
                mutant(SHIFT, "the entries beside the diagonal"), sine, cosine, pair
            ),
        "You subtracted the sines and the cosines. It's the angles that are subtracted: what is "
        "the sine of a difference of two angles?":
            subtracted,
        "You multiplied the sine by the sine and the cosine by the cosine. It's the angles that "
        "are subtracted: what is the sine of a difference of two angles?":
            multiplied,
    },
)  # fmt: skip


def attend(wanted: torch.Tensor) -> torch.Tensor:
    """The weights of queries that ask for these sinusoids."""
    keys = sinusoids(len(wanted), 64, dtype=torch.float64)
    return attention_weights(30 * wanted[:, :16], keys[:, :16])


def uniform_weights(mask: torch.Tensor) -> torch.Tensor:
    """The weights of equal scores."""
    zeros = torch.zeros(len(mask), 1).double()
    return attention_weights(zeros, zeros, mask)


def the_word_after(n):
    back = mutant(SHIFT, "your matrix shifts the wrong way")(double(-1), 64)[0]
    return attend(sinusoids(n, 64, dtype=torch.float64) @ back.mT)


def nothing_for_the_first(n):
    mask = offsets(n) == -1
    mask[0] = True
    return uniform_weights(mask)


the_word_before = Maps(
    aim="previous-word-head",
    asks=(
        "The key of each position consists of the first 16 columns of its sinusoids, which have "
        "width 64. The query of position $t$ is 30 times the same columns of position $t - 1$, and "
        "there is no mask. Which map shows the weights for <n> positions? (A row is a query, a "
        "column is a key; a larger square means more weight.)"
    ),
    draw=lambda rng: {"n": rng.choice([4, 5])},
    right=lambda n: attend(sinusoids(n, 64, start=-1, dtype=torch.float64)),
    steps=lambda n: (
        "The product of two positions' sinusoids is largest if the positions are the same, because "
        "then all hands point the same way.",
        "So the query of $t$ finds the key of $t - 1$, and the factor of 30 leaves little weight "
        "for any other key.",
        "The query of the first position asks for position −1. Of the positions that exist, 0 is "
        "the nearest to that, so the first query has its largest product with its own key.",
    ),
    check="Take the query of position 2. Which position's sinusoids does it agree with, hand by "
    "hand?",
    mistakes={
        "In this map, each word asks for the next one. Which position's sinusoids does the query "
        "of a word hold?":
            the_word_after,
        "In this map, each neighbour gets half of the weight. It's true that a product of "
        "sinusoids doesn't tell before from after. But which position's sinusoids was this query "
        "made from?":
            lambda n: uniform_weights(offsets(n).abs() == 1),
        "In this map, the first position treats all keys alike. Does its query, 30 times the "
        "sinusoids of position −1, agree with all of them equally?":
            nothing_for_the_first,
    },
)  # fmt: skip


sinusoids_at_64 = Choice(
    aim="longer-texts",
    asks=(
        "One layer of attention gets its positions from sinusoids that are added to the words. On "
        "sentences of 16 words, it has learned to repeat the previous word, almost without a "
        "mistake. How well will it do on sentences of 64 words?"
    ),
    right="clearly worse than at 16, but still better than without positions",
    steps=(
        "Sinusoids go on beyond position 15, so the layer does run.",
        "Their products depend on the offset alone. But in a score, the matrices of the layer "
        "stand between the two encodings, and the words count as well.",
        "Training only required these matrices to pick the neighbour out of 16 positions. In a "
        "longer sentence, other words get weight as well, and the more words there are, the more "
        "weight they get.",
    ),
    check="What did training require of the matrices that stand between two encodings?",
    minutes=1,
    mistakes={
        "That would be true if the products of sinusoids were the scores. What stands between two "
        "encodings in a score, and which positions was it trained on?":
            "as well as at 16, because only offsets count in the products of sinusoids",
        "That's what a learned table would do. How do sinusoids make the row of a position?":
            "not at all: there is no row for position 16, so it stops with an error",
        "Without positions, the layer would have to guess among the words that occur. Beyond "
        "position 16, do two neighbours look just like two distant words to this layer?":
            "no better than a layer without positions, because it has not seen these positions",
    },
)  # fmt: skip


def nearest_position(base, m):
    n = base * m + 1
    q, k, v = torch.ones(n, 1).double(), math.log(base) * torch.eye(n, 1).double(), torch.eye(n, 1)
    outputs = attention(q, k, v.double(), causal_mask(n))[:, 0]
    return (outputs - 1 / m).abs().argmin()


position_of_an_output = Number(
    aim="causal-positions",
    asks=(
        "A layer with a causal mask gets no positions. For every query, the first token has the "
        "score ln <base>, and all other tokens have the score 0. The value of the first token is "
        "1, and all other values are 0. At which position, counted from 0, is the output 1/<m>?"
    ),
    # with a base of 2, two of the mistakes come to the same, and with 3 nearly; at 1/2, the base
    # itself is right
    draw=lambda rng: {
        "base": rng.choice([4, 5, 6, 7, 8, 9, 10]),
        "m": rng.choice([3, 4, 5]),
    },
    right=nearest_position,
    steps=lambda base, m: (
        f"At position $t$, the exponentials are {base} for the first token and 1 for each of the "
        "$t$ other tokens that the mask allows.",
        f"The output is the weight of the first token, {base}/({base} + $t$).",
        f"It is 1/{m} where {base} + $t$ = {base} · {m}, so $t$ = {base * (m - 1)}.",
    ),
    check="Write down the output at positions 0, 1 and 2. How does the sequence continue?",
    tolerance=0.2,
    mistakes={
        "You counted positions from 1. The question counts from 0, so the first token stands at "
        "position 0.":
            lambda base, m: position_of_an_output.right(base, m) + 1,
        "You treated all scores as equal. What is the exponential of the first token's score?":
            lambda base, m: m - 1,
        "You divided by the exponentials of the other tokens alone. The first token's own "
        "exponential belongs to that sum too.":
            lambda base, m: base * m,
        "You divided by the number of tokens that the query sees. What do their exponentials sum "
        "to?":
            lambda base, m: base * m - 1,
        "You used the first token's score as it is. What does a softmax do to a score first?":
            lambda base, m: math.log(base) * (m - 1),
        "Your fraction has the first token's exponential in the denominator, but not in the "
        "numerator. What is the output at position 0, where this token is the only one?":
            lambda base, m: m - base,
        "Your sum has one term too many. How many tokens does the mask allow at position 0, and "
        "how many at position 1?":
            lambda base, m: position_of_an_output.right(base, m) - 1,
        "That's how many tokens would share the weight if all scores were equal. What is the "
        "exponential of the first token's score?":
            lambda base, m: m,
        "At that position, the first token has as much weight as all the others together, so the "
        "output is a half. How much of the weight should the others have?":
            lambda base, m: base,
        "You added the first token's exponential again, but it's already in the sum. How much of "
        "the sum is left for the others?":
            lambda base, m: base * (m + 1),
    },
)  # fmt: skip


SHARES = {1 / 2: "half", 1 / 3: "a third", 2 / 3: "two thirds"}


def distance_ratio(base, larger):
    offset = torch.tensor([10.0], dtype=torch.float64)
    small, large = (
        1 - products(10 ** decades(base_), offset, 512).item() for base_ in (base, larger)
    )
    share = min(SHARES, key=lambda known_share: abs(known_share - large / small))
    return f"it shrinks to about {SHARES[share]}"


def decades(base: str) -> int:
    """The logarithm of a base, which is a power of ten."""
    return base.count("0")


distance_at_a_larger_base = Choice(
    aim="sinusoids",
    asks=(
        "The product of two positions' sinusoids, divided by d/2, is 1 if the positions are the "
        "same. Call 1 minus this quotient the distance between the positions. At width 512, the "
        "base of the sinusoids is raised from <base> to <larger>. What happens to the distance "
        "between positions that are about ten words apart?"
    ),
    draw=lambda rng: {
        "base": (base := rng.choice(["100", "10,000"])),
        "larger": "1,000,000" if base == "10,000" else rng.choice(["10,000", "1,000,000"]),
    },
    right=distance_ratio,
    steps=lambda base, larger: (
        "A pair contributes to the distance once its hands have turned noticeably, and the longer "
        "its wavelength is, the more words that takes.",
        "The wavelengths are spread evenly on a logarithmic scale, from 6 words up to about 6 "
        "times the base.",
        f"From {base} to {larger}, that scale grows from {decades(base)} to {decades(larger)} "
        "powers of ten. So the number of pairs that turn noticeably within ten words shrinks in "
        "the proportion of these two numbers.",
    ),
    check="For each base, what share of the pairs has turned noticeably within ten words?",
    mistakes={
        "The sinusoids do reach further, because the hands turn more slowly. What do slower hands "
        "do to the distance between two words that are ten apart?":
            "it grows, because the sinusoids reach further",
        "The base is in the frequency of every pair but the first. What do the hands of the middle "
        "pairs do when you raise the base?":
            lambda base, larger: (
                "it stays as it is, because only pairs of words further apart than the old base "
                "are affected"
            ),
        "That's the ratio of the bases. The wavelengths are spread evenly on a logarithmic "
        "scale: what's the ratio of the logarithms?":
            lambda base, larger: f"it shrinks to 1/{10 ** (decades(larger) - decades(base)):,}",
    },
)  # fmt: skip


def tree_of_four(rng) -> list[int]:
    """The parents of a random tree."""
    order, parents = rng.sample(range(4), 4), [-1] * 4
    for i in range(1, 4):
        parents[order[i]] = order[rng.randrange(i)]
    return parents


def row_of(parents: list[int], word: int) -> torch.Tensor:
    return tree_distance(torch.tensor(parents))[word]


def minus_on_the_way_up(parents, word):
    row = row_of(parents, word).abs()
    is_descendant = ancestors(torch.tensor(parents))[:, word]
    return torch.where(is_descendant, row, -row)


def differences_of_depth(parents, word):
    depth = tree_depth(torch.tensor(parents))
    return (depth - depth[word]).abs() * offsets(4)[word].sign()


def words_of_the_path(parents, word):
    row = row_of(parents, word)
    return row + row.sign()


def words_between(parents, word):
    row = row_of(parents, word)
    return row - row.sign()


distances_in_a_tree = Row(
    aim="tree-position",
    asks=(
        "In a sentence of four words, counted from 0, the parents of the words are <parents>, "
        "where −1 marks the root. What is the signed tree distance from word <word> to each of the "
        "four, in order? (The distance counts edges. Its sign is that of the offset, which is the "
        "place of the other word minus that of word <word>.)"
    ),
    draw=lambda rng: {"parents": tree_of_four(rng), "word": rng.choice([1, 2, 3])},
    right=row_of,
    steps=lambda parents, word: (
        "The edges are "
        f"{', '.join(f'{child}–{parent}' for child, parent in enumerate(parents) if parent >= 0)}.",
        f"Counted along the paths from word {word}, the words are "
        f"{', '.join(map(str, row_of(parents, word).abs().tolist()))} edges away.",
        f"The words before word {word} get a minus sign.",
    ),
    check="Draw the tree. Which edges lead from this word to each of the others?",
    minutes=3,
    mistakes={
        "You left out the signs. How do you see which words come before this one?":
            lambda parents, word: row_of(parents, word).abs(),
        "Your signs are the wrong way round. What sign does the offset of a later word have?":
            lambda parents, word: -row_of(parents, word),
        "Your distances are right, but some of your signs are not. A sign depends on the order of "
        "the sentence, not on the tree: which words come before this one?":
            minus_on_the_way_up,
        "Those are the offsets in the sentence. How many edges of the tree lie between the words?":
            lambda parents, word: offsets(4)[word],
        "You compared depths. Two different words can have the same depth: follow the path between "
        "them.":
            differences_of_depth,
        "You counted the words along each path. The distance counts the edges between them.":
            words_of_the_path,
        "You counted the words that lie between the two. How far apart are two words that share an "
        "edge?":
            words_between,
        "You counted from the root. Each path begins at the word that the question names.":
            lambda parents, word: tree_depth(torch.tensor(parents)) * offsets(4)[word].sign(),
    },
)  # fmt: skip
