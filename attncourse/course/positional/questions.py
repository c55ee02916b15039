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
    place = torch.arange(n)
    return place - place[:, None]


@Maps(
    aim="order-unseen",
    section="Attention does not see order",
    asks=(
        "Attention without positions gets a mask: the query of a row may attend to the keys whose "
        "columns have a square. Under which of these masks does every word still get the same "
        "output, in whatever order the <n> words come?"
    ),
    draw=lambda chance: {"n": chance.choice([4, 5]), "others": chance.choice([True, False])},
    way=lambda n, others: (
        "Exchange two words. If neither gets another output, the mask must treat their places "
        "alike, and this has to hold for any two.",
        "A rule that says which places are earlier, near, or first does not treat all places "
        "alike.",
        f'The rule "{"every word but itself" if others else "only itself"}" speaks of no place: '
        "the same words stay allowed in any order.",
    ),
    check="Exchange the first two words. May each of them still attend to the same words?",
)
def mask_without_order(n, others):
    return ((offsets(n) != 0) == others).double()


@mask_without_order.mistake(
    "There the first word attends to itself alone. What happens to it when it moves to the end?"
)
def only_earlier(n, others):
    return causal_mask(n).double()


@mask_without_order.mistake(
    "There a word attends to its neighbours. Which words are they when the order changes?"
)
def only_neighbours(n, others):
    return (offsets(n).abs() <= 1).double()


@mask_without_order.mistake(
    "There no word attends to the first place. Does it matter which word stands in it?"
)
def never_the_first(n, others):
    return torch.ones(n, n).double() * (torch.arange(n) > 0)


# pairs whose frequency is a power of ten: width, pair, how many times slower than pair 0
SLOWER = [(4, 1, 100), (8, 1, 10), (8, 3, 1000), (16, 4, 100)]


@Number(
    aim="sinusoids",
    section="Three positions by hand",
    asks=(
        "Take sinusoids of width <d>, with base 10000. By what angle, in radians, has the hand of "
        "pair <pair> turned at position <position>? Pairs and positions are counted from 0."
    ),
    draw=lambda chance: {
        "d": (one := chance.choice(SLOWER))[0],
        "pair": one[1],
        "position": round(chance.choice([0.5, 1.2, 1.5, 2, 2.5, 3]) * one[2]),
    },
    way=lambda d, pair, position: (
        f"The frequency of pair {pair} is 10000 to the power of −2 · {pair}/{d}.",
        f"10000 is 10 to the power of 4, so that is 10 to the power of −{8 * pair // d}, or "
        f"{10 ** (-8 * pair / d):g}.",
        f"The angle is {position} times that.",
    ),
    check="At position 1, the hand of pair 0 has turned by 1. By how much has that of this pair?",
    tolerance=0.0002,
    placement=True,
)
def angle_of_a_hand(d, pair, position):
    return angle_by(sinusoids_at, d, pair, position)


def angle_by(encode, d: int, pair: int, position: int) -> float:
    """The angle of a pair, read from an encoding so near to 0 that no hand has come round."""
    sine, cosine = encode(double(position / 1e8), d)[0, 2 * pair : 2 * pair + 2]
    return 1e8 * math.atan2(sine, cosine)


@angle_of_a_hand.mistake(
    "Your exponent is half of the right one. Each pair takes two columns: which column does this "
    "pair begin with?"
)
def exponent_halved(d, pair, position):
    return angle_by(mutant(ANYWHERE, "the exponent is halved"), d, pair, position)


@angle_of_a_hand.mistake(
    "Your exponent is twice the right one. What stands above d for pair i, where the first pair is "
    "pair 0?"
)
def exponent_doubled(d, pair, position):
    return angle_by(mutant(ANYWHERE, "the exponent is doubled"), d, pair, position)


@angle_of_a_hand.mistake(
    "The size is right. Which way a hand turns is not asked for: the angle is that of which the "
    "sine and the cosine are taken."
)
def clockwise(d, pair, position):
    return -angle_of_a_hand.right(d, pair, position)


@angle_of_a_hand.mistake("You gave the angle in degrees. How many radians has a whole turn?")
def in_degrees(d, pair, position):
    return math.degrees(angle_of_a_hand.right(d, pair, position))


@angle_of_a_hand.mistake(
    "Your hand is faster than that of pair 0. Which hand is the fastest of all?"
)
def without_the_minus(d, pair, position):
    return angle_by(mutant(ANYWHERE, "the exponent has lost its minus"), d, pair, position)


@angle_of_a_hand.mistake(
    "That is how far the hand of the pair before has turned, and the first pair is pair 0. What is "
    "the frequency of the pair that is asked for?"
)
def pairs_from_1(d, pair, position):
    return angle_of_a_hand.right(d, pair - 1, position)


@angle_of_a_hand.mistake("That is the angle at position 1. At which position is it asked for?")
def at_position_1(d, pair, position):
    return angle_of_a_hand.right(d, pair, 1)


FAULTS = {
    "start multiplies the positions": "`start` tokens come before the chunk, so its positions are "
    "`start`, `start + 1` and so on: a sum.",
    "the exponent has changed": "`even` holds 0, 2, 4, which is 2i already. Doubled, it makes "
    "every hand but the first too slow.",
    "sines and cosines no longer alternate": "`cat` puts all sines before all cosines. The two of "
    "a pair have to stand side by side.",
}


def for_the_page(hint: str) -> dict[str, str]:
    """The two texts under the name of the exercise, without what says dtype and device."""
    return {
        key: text.replace("plain", CHUNK).replace(", dtype=x.dtype, device=x.device", "")
        for key, text in texts(CHUNK, hint).items()
    }


@Line(
    aim="sinusoids",
    section="From two lines to a module",
    asks=(
        "A cache holds the first `start` tokens of a text. This function adds the sinusoids to a "
        "chunk of tokens that follow: `x` has the shape (…, n, d), and both n and d may be odd. "
        "Which line is wrong?"
    ),
    faults=FAULTS,
    text_of=for_the_page,
    way=lambda mutant, plain: (
        "With `start` = 5, two tokens of width 3 should get the positions 5 and 6, and the first "
        "three columns of two pairs.",
    ),
    check="Follow a chunk of two tokens of width 3 through the lines, with `start` = 5. Which "
    "positions do they get, which exponents, and in what order do the columns stand?",
    minutes=3,
)
def wrong_line_of_a_chunk():
    return None


wrong_line_of_a_chunk.right_line(
    "x.shape[-2:]",
    "That line is right: the last axis is the width, and the one before it the length.",
)
wrong_line_of_a_chunk.right_line(
    "even = ",
    "That line is right: it gives 0, 2, 4 and so on, a number for each pair, an unfinished one "
    "too.",
)
wrong_line_of_a_chunk.right_line(
    "return ",
    "That line is right: where d is odd, the last pair has one column too many, and it is cut off.",
)
wrong_line_of_a_chunk.right_line("def ", NAMES_ONLY)


# the sines and cosines of angles that one can compute with: 3, 4 and 5 make a right triangle
STEPS = [(0.6, 0.8), (0.8, 0.6)]
HANDS = [(a * x, b * y) for x, y in STEPS for a in (1, -1) for b in (1, -1)]


@Row(
    aim="previous-word-head",
    section="A shift is a rotation",
    asks=(
        "A pair of sinusoids turns from each word to the next by an angle whose sine is <sine> and "
        "whose cosine is <cosine>. At position $t$, the pair (sine, cosine) is <now>. What is it "
        "at position $t - 1$, for which a head that wants the previous word has to ask?"
    ),
    draw=lambda chance: {
        **dict(zip(("sine", "cosine"), chance.choice(STEPS), strict=True)),
        "now": chance.choice(HANDS),
    },
    way=lambda sine, cosine, now: (
        "Going back a word takes the angle of one step away from the angle at $t$.",
        "Sine: sin(a − b) = sin a cos b − cos a sin b = "
        f"{signed(now[0])} · {cosine} − {signed(now[1])} · {sine}.",
        "Cosine: cos(a − b) = cos a cos b + sin a sin b = "
        f"{signed(now[1])} · {cosine} + {signed(now[0])} · {sine}.",
    ),
    check="Square your two numbers: do the squares sum to 1, as those of a sine and a cosine do? "
    "If so, try your sums on the pair (0, 1): is the sine below 0 one step before?",
    minutes=3,
    placement=True,
)
def one_word_back(sine, cosine, now):
    return turned(shift_matrix, sine, cosine, now)


def signed(x: float) -> str:
    """A number as it stands in the middle of a sum."""
    return f"({show(x)})" if x < 0 else show(x)


def turned(matrix, sine: float, cosine: float, now: tuple[float, float]) -> torch.Tensor:
    """The pair after a step back, by what gives the matrix of a shift; pair 0 has frequency 1."""
    back = double(-math.atan2(sine, cosine))
    return matrix(back, 2)[0] @ double(*now)


@one_word_back.mistake(
    "That is the pair at the next word. In which direction is the previous one, and which of the "
    "two numbers of a pair is the sine?"
)
def one_word_on(sine, cosine, now):
    return turned(mutant(SHIFT, "it shifts the wrong way"), sine, cosine, now)


@one_word_back.mistake(
    "You subtract in both sums. Write out sin(a − b) and cos(a − b) once more: how do they differ?"
)
def subtracted_twice(sine, cosine, now):
    return turned(mutant(SHIFT, "the sines have the same sign"), sine, cosine, now)


@one_word_back.mistake(
    "You add in both sums. Write out sin(a − b) and cos(a − b) once more: how do they differ?"
)
def added_twice(sine, cosine, now):
    return now[0] * cosine + now[1] * sine, now[1] * cosine + now[0] * sine


@one_word_back.mistake("Your sine has the sign of b − a. Which angle is taken from which?")
def from_the_step(sine, cosine, now):
    return now[1] * sine - now[0] * cosine, now[1] * cosine + now[0] * sine


@one_word_back.mistake(
    "You multiplied both numbers by the cosine of the step, and stopped there. Where does the sine "
    "of the step come in?"
)
def without_the_other(sine, cosine, now):
    return turned(mutant(SHIFT, "the off-diagonal is missing"), sine, cosine, now)


@one_word_back.mistake(
    "You subtracted the sines and the cosines. It is the angles that are subtracted: what is the "
    "sine of a difference of two angles?"
)
def subtracted(sine, cosine, now):
    return now[0] - sine, now[1] - cosine


@one_word_back.mistake(
    "You multiplied the sine by the sine and the cosine by the cosine. It is the angles that are "
    "subtracted: what is the sine of a difference of two angles?"
)
def multiplied(sine, cosine, now):
    return now[0] * sine, now[1] * cosine


@Maps(
    aim="previous-word-head",
    section="A shift is a rotation",
    asks=(
        "The key of each position consists of the first 16 columns of its sinusoids, of width 64. "
        "The query of position $t$ is 30 times those of position $t - 1$, and there is no mask. "
        "Which map shows the weights on <n> positions? (A row is a query, a column is a key; a "
        "larger square is more weight.)"
    ),
    draw=lambda chance: {"n": chance.choice([4, 5])},
    way=lambda n: (
        "A product of two positions is largest where they are the same, because then all hands "
        "point the same way.",
        "So the query of $t$ finds the key of $t - 1$, and the 30 leaves little for any other.",
        "The query of the first position asks for −1. Of the positions that are there, 0 is "
        "nearest to it, so its products are largest at its own place.",
    ),
    check="Take the query of position 2. With which position's sinusoids does it agree in each "
    "hand?",
)
def the_word_before(n):
    return looks(sinusoids(n, 64, start=-1, dtype=torch.float64))


def looks(asked: torch.Tensor) -> torch.Tensor:
    """The weights of queries that ask for these sinusoids."""
    keys = sinusoids(len(asked), 64, dtype=torch.float64)
    return attention_weights(30 * asked[:, :16], keys[:, :16])


def even(mask: torch.Tensor) -> torch.Tensor:
    """The weights of equal scores."""
    zeros = torch.zeros(len(mask), 1).double()
    return attention_weights(zeros, zeros, mask)


@the_word_before.mistake(
    "There each word asks for the next one. Whose sinusoids does the query of a position hold?"
)
def the_word_after(n):
    back = mutant(SHIFT, "it shifts the wrong way")(double(-1), 64)[0]
    return looks(sinusoids(n, 64, dtype=torch.float64) @ back.mT)


@the_word_before.mistake(
    "There both neighbours get half. It is true that a product of sinusoids does not tell before "
    "from after; but what has been done to this query?"
)
def both_neighbours(n):
    return even(offsets(n).abs() == 1)


@the_word_before.mistake(
    "There the first position treats all keys alike. Does its query, 30 times the sinusoids of "
    "position −1, agree with all of them equally?"
)
def nothing_for_the_first(n):
    mask = offsets(n) == -1
    mask[0] = True
    return even(mask)


@Choice(
    aim="longer-texts",
    section="Beyond the lengths of training",
    asks=(
        "One layer of attention gets its positions from sinusoids that are added to the words. On "
        "sentences of 16 words, it has learned to repeat the previous word, almost without a "
        "mistake. How well will it do so on sentences of 64 words?"
    ),
    way=lambda: (
        "Sinusoids go on after position 15, so the layer can be run.",
        "Their products depend on the offset alone, but in a score, the matrices of the layer "
        "stand between them, and the words count as well.",
        "Training has only asked that these matrices pick the neighbour out of 16 positions, so "
        "beyond that other words get weight as well, and the more words there are, the more.",
    ),
    check="What has training asked of the matrices that stand between two encodings?",
    minutes=1,
)
def sinusoids_at_64():
    return "clearly worse than at 16, but still better than without positions"


@sinusoids_at_64.mistake(
    "That would be so if the products of sinusoids were the scores. What stands between query and "
    "key, and on which positions was it trained?"
)
def just_as_well():
    return "as well as at 16, because only offsets count in the products of sinusoids"


@sinusoids_at_64.mistake(
    "That is what a table would do. Where do sinusoids get the row of a position from?"
)
def an_error():
    return "not at all: there is no row for position 16, so it stops with an error"


@sinusoids_at_64.mistake(
    "Without positions it would have to guess among the words that occur. Do two neighbours beyond "
    "position 16 look just as two distant words do?"
)
def no_better_than_none():
    return "no better than a layer without positions, because it has not seen these positions"


@Number(
    aim="causal-positions",
    section="What a causal mask tells about position",
    asks=(
        "A layer with a causal mask gets no positions. With every query, the first token has the "
        "score ln <base>, and all other tokens have the score 0. The value of the first token is "
        "1, all other values are 0. At which position, counted from 0, is the output 1/<parts>?"
    ),
    # with 2, two of the mistakes come to the same, and with 3 nearly
    draw=lambda chance: {
        "base": chance.choice([4, 5, 6, 7, 8]),
        "parts": chance.choice([2, 3, 4, 5]),
    },
    way=lambda base, parts: (
        f"At position $t$, the exponentials are {base} for the first token and 1 for each of the "
        "$t$ others that the mask allows, the token itself among them.",
        f"The output is the weight of the first token, {base}/({base} + $t$).",
        f"It is 1/{parts} where {base} + $t$ = {base} · {parts}, so $t$ = {base * (parts - 1)}.",
    ),
    check="Write down the output at positions 0, 1 and 2. How does it go on?",
    tolerance=0.2,
)
def position_of_an_output(base, parts):
    n = base * parts + 1
    q, k, v = torch.ones(n, 1).double(), math.log(base) * torch.eye(n, 1).double(), torch.eye(n, 1)
    outputs = attention(q, k, v.double(), causal_mask(n))[:, 0]
    return (outputs - 1 / parts).abs().argmin()


@position_of_an_output.mistake(
    "You counted positions from 1. Here the first token stands at position 0."
)
def counted_from_1(base, parts):
    return position_of_an_output.right(base, parts) + 1


@position_of_an_output.mistake(
    "You took all scores for equal. What is the exponential of the first token's score?"
)
def equal_scores(base, parts):
    return parts - 1


@position_of_an_output.mistake(
    "You compared the first token with the others alone. Its own exponential is part of the sum by "
    "which you divide."
)
def not_in_the_sum(base, parts):
    return base * parts


@position_of_an_output.mistake(
    "You divided by the number of tokens that are seen. What do their exponentials sum to?"
)
def by_the_number_of_tokens(base, parts):
    return base * parts - 1


@position_of_an_output.mistake(
    "You took the score of the first token for its part of the weights. What does a softmax take "
    "of a score first?"
)
def score_for_its_exponential(base, parts):
    return math.log(base) * (parts - 1)


@position_of_an_output.mistake(
    "You have the first token's exponential below the line, and not above it. What is the output "
    "at position 0, where there is only this token?"
)
def one_above_the_line(base, parts):
    return parts - base


@position_of_an_output.mistake(
    "You gave the sum one term too many. How many tokens does the mask allow at position 0, and "
    "how many at position 1?"
)
def one_term_too_many(base, parts):
    return position_of_an_output.right(base, parts) - 1


SHARES = {1 / 2: "half", 1 / 3: "a third", 2 / 3: "two thirds"}


@Choice(
    aim="sinusoids",
    section="Why the base is 10000",
    asks=(
        "The product of two positions, divided by d/2, is 1 where they are the same. Call 1 minus "
        "that their distance. At width 512, the base of the sinusoids is raised from <base> to "
        "<larger>. What happens to the distance of positions that are about ten words apart?"
    ),
    draw=lambda chance: {
        "base": (base := chance.choice(["100", "10,000"])),
        "larger": "1,000,000" if base == "10,000" else chance.choice(["10,000", "1,000,000"]),
    },
    way=lambda base, larger: (
        "A pair takes part in the distance as soon as its hands have turned noticeably, which "
        "takes more words the longer its wavelength is.",
        "The wavelengths are spread evenly on a logarithmic scale, from 6 words up to about 6 "
        "times the base.",
        f"From {base} to {larger}, the scale grows from {decades(base)} to {decades(larger)} "
        "powers of ten. So fewer of the 256 pairs turn within ten words, in the proportion of "
        "these two numbers.",
    ),
    check="Which share of the pairs has turned noticeably within ten words, for each base?",
)
def distance_at_a_larger_base(base, larger):
    offset = torch.tensor([10.0], dtype=torch.float64)
    small, large = (1 - products(10 ** decades(one), offset, 512).item() for one in (base, larger))
    share = min(SHARES, key=lambda one: abs(one - large / small))
    return f"it shrinks to about {SHARES[share]}"


def decades(base: str) -> int:
    """The logarithm of a base, which is a power of ten."""
    return base.count("0")


@distance_at_a_larger_base.mistake(
    "The positions reach further because the hands turn more slowly. What do slower hands do to "
    "the distance of two words that are ten apart?"
)
def it_grows(base, larger):
    return "it grows, because the positions reach further"


@distance_at_a_larger_base.mistake(
    "The base stands in the frequency of every pair but the first. What do the hands in the middle "
    "do when it is raised?"
)
def it_stays(base, larger):
    return "it stays as it is, because only positions further apart than the old base change"


@distance_at_a_larger_base.mistake(
    "That is the proportion of the bases. The wavelengths are spread evenly on a logarithmic "
    "scale: what is the proportion of the logarithms?"
)
def as_the_bases(base, larger):
    return f"it shrinks to 1/{10 ** (decades(larger) - decades(base)):,}"


@Row(
    aim="tree-position",
    section="Positions in a tree",
    asks=(
        "In a sentence of four words, counted from 0, the parents of the words are <parents>, "
        "where −1 marks the root. What is the signed tree distance from word <word> to each of the "
        "four, in order? (It counts edges, and has the sign of the offset, which is the place of "
        "the other word minus that of word <word>.)"
    ),
    draw=lambda chance: {"parents": tree_of_four(chance), "word": chance.choice([1, 2, 3])},
    way=lambda parents, word: (
        "The edges are "
        f"{', '.join(f'{child}–{parent}' for child, parent in enumerate(parents) if parent >= 0)}.",
        f"Counted along the paths from word {word}, the words are "
        f"{', '.join(map(str, row_of(parents, word).abs().tolist()))} edges away.",
        f"Those before word {word} get a minus.",
    ),
    check="Draw the tree. Along which edges do you get from this word to each of the others?",
    minutes=3,
)
def distances_in_a_tree(parents, word):
    return row_of(parents, word)


def tree_of_four(chance) -> list[int]:
    """The parents of a random tree."""
    order, parents = chance.sample(range(4), 4), [-1] * 4
    for place in range(1, 4):
        parents[order[place]] = order[chance.randrange(place)]
    return parents


def row_of(parents: list[int], word: int) -> torch.Tensor:
    return tree_distance(torch.tensor(parents))[word]


@distances_in_a_tree.mistake(
    "You left out the sign: how does one see which words come before this one?"
)
def without_signs(parents, word):
    return row_of(parents, word).abs()


@distances_in_a_tree.mistake(
    "The signs are the wrong way round. Which offset does a later word have?"
)
def signs_turned(parents, word):
    return -row_of(parents, word)


@distances_in_a_tree.mistake(
    "Your distances are right, and not all of the signs. A sign goes by the sentence, not by the "
    "tree: which words come before this one?"
)
def minus_on_the_way_up(parents, word):
    row = row_of(parents, word).abs()
    below = ancestors(torch.tensor(parents))[:, word]
    return torch.where(below, row, -row)


@distances_in_a_tree.mistake(
    "Those are the offsets in the sentence. How many edges of the tree lie between the words?"
)
def offsets_in_the_sentence(parents, word):
    return offsets(4)[word]


@distances_in_a_tree.mistake(
    "You compared depths. Two words can be at the same depth without being the same word: follow "
    "the path between them."
)
def differences_of_depth(parents, word):
    depth = tree_depth(torch.tensor(parents))
    return (depth - depth[word]).abs() * offsets(4)[word].sign()


@distances_in_a_tree.mistake(
    "You counted the words along each path. The distance counts the edges between them."
)
def words_of_the_path(parents, word):
    row = row_of(parents, word)
    return row + row.sign()


@distances_in_a_tree.mistake(
    "You counted the words between the two. How far apart are two words that share an edge?"
)
def words_between(parents, word):
    row = row_of(parents, word)
    return row - row.sign()


@distances_in_a_tree.mistake(
    "You counted from the root. Each path begins at the word that the question names."
)
def from_the_root(parents, word):
    return tree_depth(torch.tensor(parents)) * offsets(4)[word].sign()
