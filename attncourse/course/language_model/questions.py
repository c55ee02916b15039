"""The questions of the chapter on a language model of English."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise

import torch

from attncourse.course import exercise
from attncourse.course.question import Choice, Line, Maps, Number, Row, mutant, show, texts
from attncourse.data import BytePairs
from attncourse.data.byte_pairs import merge
from attncourse.language_model import BackOff, bits_per_character, perplexity

PERPLEXITY, COPIES = "padded_perplexity", "induction_weight"


# the bits of three tokens whose mean is a whole number, in any order
BITS = [(1, 1, 4), (1, 2, 3), (2, 2, 5), (1, 3, 5), (2, 3, 4), (1, 4, 4)]


def perplexity_at_bits(bits, p):
    scores = scores_of(bits)
    return perplexity(scores, torch.zeros(len(scores), dtype=torch.int64))


def scores_of(bits: Sequence[int]) -> torch.Tensor:
    """Scores with which token 0 costs so many bits, one row for each."""
    p = torch.tensor([2.0**-b for b in bits], dtype=torch.float64)
    return torch.stack([p, 1 - p], dim=-1).log()


def mistaken_perplexity(hint: str, bits: Sequence[int]) -> torch.Tensor:
    """What a known wrong answer makes of it; it predicts each token but the first."""
    scores = scores_of([*bits, 1])
    tokens = torch.zeros(len(scores), dtype=torch.int64)
    return mutant(PERPLEXITY, hint)(scores, tokens, torch.tensor(len(scores)))


perplexity_of_a_text = Number(
    aim="bits",
    asks=(
        "A text has three tokens, and a model gave them the probabilities <p>. What is the model's "
        "perplexity on this text?"
    ),
    draw=lambda rng: {
        "bits": (bits := rng.sample(rng.choice(BITS), 3)),
        "p": tuple(f"1/{2**b}" for b in bits),
    },
    right=perplexity_at_bits,
    steps=lambda bits, p: (
        f"The tokens cost {', '.join(map(str, bits))} bits, because {p[0]} is 2 to the power of "
        f"−{bits[0]}, and so on.",
        f"The mean of these is {sum(bits)}/3 = {sum(bits) // 3} bits.",
        f"The perplexity is 2 to the power of this mean: {2 ** (sum(bits) // 3)}.",
    ),
    check="Write down the bits of each token, and take their mean. Which power of 2 is that?",
    placement=True,
    mistakes={
        "That's the mean surprisal, in bits. How many equally likely tokens would each cost that "
        "much?":
            lambda bits, p: mistaken_perplexity("you return bits per token", bits),
        "You used the bits of the whole text as the exponent. A perplexity is a figure per token: "
        "what do you do with the bits first?":
            lambda bits, p: mistaken_perplexity("you take exp of the sum of the nats", bits),
        "Those are the bits of the whole text. What is their mean, and how many equally likely "
        "tokens would each cost that much?":
            lambda bits, p: sum(bits),
        "You raised e to a number of bits. Which base goes with an exponent in bits?":
            lambda bits, p: math.exp(sum(bits) / len(bits)),
        "That's the mean surprisal in nats. How do you turn it into a number of tokens?":
            lambda bits, p: math.log(2) * sum(bits) / len(bits),
        "You averaged the numbers 1/*p*. Turn each of them into bits first, then average the bits.":
            lambda bits, p: mistaken_perplexity("you average 1 / p", bits),
        "You averaged the probabilities, so the least likely token hardly counts. Which quantity "
        "adds up over a text?":
            lambda bits, p: mistaken_perplexity("you divide 1 by the mean probability", bits),
        "That's the geometric mean of the three probabilities. A perplexity is a number of tokens: "
        "how many equally likely ones would each have this probability?":
            lambda bits, p: 2 ** (-sum(bits) / len(bits)),
    },
)  # fmt: skip


WORDS = [
    "these", "other", "north", "heart", "earth", "state", "great", "world", "peace", "nation",
    "people", "father", "mother", "winter", "number", "public", "spirit", "future", "change",
    "market", "border", "island", "nature", "friend", "garden", "silver", "travel", "golden",
    "summer", "basket", "forest", "desert",
]  # fmt: skip


# what is cut, and its merges in the order in which they were learned
def word_and_merges(rng) -> dict:
    word = rng.choice(WORDS)
    merges = rng.sample([*pairwise(word)], 4)
    first, second = merges[0]
    index = word.index(first + second)
    longer = (first + second, word[index + 2 : index + 3]) if index < 3 else (
        word[index - 1], first + second)  # fmt: skip
    merges = [*merges[:3], longer]
    return {
        "word": word,
        "merges": merges,
        "rules": ", ".join(f"`{a}` + `{b}`" for a, b in merges),
    }


def with_merges(merges: Sequence[tuple[str, str]]) -> BytePairs:
    numbers = {chr(i): i for i in range(256)}
    for new, (a, b) in enumerate(merges, 256):
        numbers[a + b] = new
    return BytePairs([(numbers[a], numbers[b]) for a, b in merges])


def tokens_by(word: str, pairs: BytePairs, choose: Callable, limit: int = 9) -> str:
    """The tokens of a word if `choose` says, again and again, which of its pairs is merged."""
    tokens = [*word.encode()]
    while limit and (options := [pair for pair in pairwise(tokens) if pair in pairs.merges]):
        pair, limit = choose(options, pairs.merges.__getitem__), limit - 1
        tokens = merge(tokens, pair, pairs.merges[pair])
    return code_list(pairs.decode([token]) for token in tokens)


def code_list(tokens: Iterable[str]) -> str:
    return ", ".join(f"`{token}`" for token in tokens)


def token_texts(word, merges, rules):
    pairs = with_merges(merges)
    return code_list(pairs.decode([token]) for token in pairs.encode(word))


def one_merge(word, merges, rules):
    return tokens_by(
        word, with_merges(merges), lambda options, rank: min(options, key=rank), limit=1
    )


cut_into_tokens = Choice(
    aim="byte-pairs",
    asks=(
        "A byte-pair encoding has learned four merges, in this order: <rules>. Into which tokens "
        'does it cut "<word>"?'
    ),
    draw=word_and_merges,
    right=token_texts,
    steps=lambda word, merges, rules: (
        f"Begin with the letters: {code_list(word)}.",
        "Of the neighbouring pairs that are in the list, merge the one that comes first in it: "
        f"`{merges[0][0]}` + `{merges[0][1]}`. That gives {one_merge(word, merges, rules)}.",
        "Repeat this with the new neighbours until none of their pairs is in the list. That gives "
        f"{token_texts(word, merges, rules)}.",
    ),
    check="Write the word down letter by letter, and under it the tokens after each merge.",
    mistakes={
        "You merged from left to right, or took the longest token that fits. If two pairs share a "
        "letter, which of them does the encoding merge first?":
            lambda word, merges, rules: tokens_by(
                word, with_merges(merges), lambda options, rank: options[0]
            ),
        "You began at the end of the list. In which order does the encoding apply the merges that "
        "it has learned?":
            lambda word, merges, rules: tokens_by(
                word, with_merges(merges), lambda options, rank: max(options, key=rank)
            ),
        "You merged one pair and stopped. Are any neighbouring tokens still a pair in the list?":
            one_merge,
    },
)  # fmt: skip


TIMES = ("never", "once", "twice", "three times")
# how often two words followed, and how likely the two others are after "fellow" alone
COUNTS = [(1, 1), (3, 1), (1, 3), (2, 1), (1, 2), (2, 2)]
FEWER = [(0.3, 0.1), (0.1, 0.2), (0.2, 0.4)]


def probability_of_the_unseen(counts, men, people, **_):
    model = BackOff(order=3, vocabulary=4, discount=0.5)
    model.followed[0, 1] = Counter(dict(enumerate(counts)))
    share_of_others = (1 - men - people) / 2
    back_off = torch.tensor([share_of_others, share_of_others, men, people])
    model.after_fewer = lambda context: back_off  # pyright: ignore
    return model.after((0, 1))[2]


left_for_the_unseen = Number(
    aim="n-grams",
    asks=(
        'Only four words can follow "my fellow". In training, "citizens" followed it <first>, '
        '"Americans" <second>, and "men" and "people" never. A back-off model takes 1/2 off each '
        'count and shares out what it has taken among the words that never followed "my fellow", '
        'and no others. After "fellow" alone, it gives "men" a probability of <men> and "people" '
        'one of <people>. What probability does "men" get after "my fellow"?'
    ),
    draw=lambda rng: {
        "counts": (counts := rng.choice(COUNTS)),
        "first": TIMES[counts[0]],
        "second": TIMES[counts[1]],
        **dict(zip(("men", "people"), rng.choice(FEWER), strict=True)),
    },
    right=probability_of_the_unseen,
    steps=lambda counts, men, people, **_: (
        f"Two counts lose 1/2 each, which is 1 out of {sum(counts)}. So a probability of "
        f"1/{sum(counts)} is taken off in all.",
        'The words that never followed "my fellow" share it in the proportions that they have '
        f'after "fellow" alone, {show(men)} to {show(people)}: "men" gets '
        f"{show(men)}/{show(men + people)} of it.",
        f"That is {round(10 * men)}/{round(10 * (men + people))} · 1/{sum(counts)}.",
    ),
    check=(
        'What probabilities do "citizens" and "Americans" have after the discount? All four '
        "probabilities sum to 1."
    ),
    minutes=3,
    mistakes={
        "That's the probability of \"men\" after \"fellow\" alone. After \"my fellow\", how much "
        "probability is left for words that never followed it?":
            lambda men, **_: men,
        'You multiplied what was taken off by the probability after "fellow" alone. The words that '
        'never followed "my fellow" share all of it: do your two shares add up to the whole?':
            lambda counts, men, **_: men / sum(counts),
        "You gave both unseen words the same probability. Which of them is more likely after "
        '"fellow" alone?':
            lambda counts, **_: 1 / sum(counts) / 2,
        "That's all of the probability that is taken off the counts. Which words share it with "
        '"men"?':
            lambda counts, **_: 1 / sum(counts),
        "That's the probability of \"people\". How likely is \"men\" compared with \"people\"?":
            lambda counts, men, people, **_: people / (men + people) / sum(counts),
        "You took the discount off only one count. How many counts lose it?":
            lambda counts, men, people, **_: 0.5 / sum(counts) * men / (men + people),
        "That's the probability that counting alone gives. Which words share what is taken off the "
        "counts?":
            0,
    },
)  # fmt: skip


KINDS = {"bigram": 2, "4-gram": 4}


def seen_by(order: int, n: int) -> torch.Tensor:
    """A map of the tokens that have to change for the probability of a row's token to change."""
    model, g = BackOff(order, 3), torch.Generator().manual_seed(0)
    model.learn(torch.randint(3, (500, n), generator=g).tolist())
    text = torch.arange(n) % 3
    changed_text = torch.where(torch.eye(n).bool(), (text + 1) % 3, text)
    # row t of a model predicts token t + 1
    has_changed = (model(changed_text) - model(text)).abs().amax(-1) > 1e-6
    return torch.cat([has_changed.new_zeros(1, n), has_changed.mT[:-1]]).double()


what_a_count_sees = Maps(
    aim="n-grams",
    asks=(
        "A <kind> model predicts each of the <n> tokens of a text. Which map marks, for each token "
        "(row), the tokens (columns) that the model looks at to predict it?"
    ),
    draw=lambda rng: {"kind": rng.choice([*KINDS]), "n": rng.choice([7, 8])},
    right=lambda kind, n: seen_by(KINDS[kind], n),
    steps=lambda kind, n: (
        f"A {kind} model counts runs of {KINDS[kind]} tokens, and predicts the last of a run from "
        "those before it.",
        f"So the marks of a row reach {KINDS[kind] - 1} to the left of the diagonal, or as far as "
        "the first token.",
        "The first token has no token before it, so its row is empty.",
    ),
    check="Take the last row. Which tokens does the model look at to predict that token?",
    mistakes={
        "In this map, a row marks one token too many. If the last token of a run is predicted, how "
        "many of its tokens are left to look at?":
            lambda kind, n: seen_by(KINDS[kind] + 1, n),
        "In this map, a token takes part in its own prediction. Is it known before it is "
        "predicted?":
            lambda kind, n: torch.ones(n, n, dtype=torch.float64).tril().triu(2 - KINDS[kind]),
        "In this map, a row marks the text from its beginning, as in a GPT. How far back do the "
        "runs go that this model has counted?":
            lambda kind, n: torch.ones(n, n, dtype=torch.float64).tril(-1),
    },
)  # fmt: skip


def times(name: str, factors: int) -> str:
    return " · ".join([f"*{name}*"] * factors)


# a perplexity and the number of characters that a token stands for
SIZES = [(2, 3), (2, 4), (2, 5), (4, 2), (4, 3), (8, 2), (3, 2), (3, 3), (3, 4), (5, 2), (5, 3),
         (9, 2), (10, 2), (10, 3)]  # fmt: skip


def perplexity_per_character(base, k, p):
    def model(tokens):
        """All tokens of A are equally likely."""
        return torch.zeros(*tokens.shape, p, dtype=torch.float64)

    token = torch.zeros(1, 1, dtype=torch.int64)
    return 2 ** bits_per_character(model, [(token, token)], characters=k)


perplexity_of_characters = Number(
    aim="bits",
    asks=(
        "Model A cuts a text into tokens of <k> characters each, and has a perplexity of <p> on "
        "it. Model B reads the same text character by character. What perplexity would B have if "
        "it needed as many bits for the text as A?"
    ),
    draw=lambda rng: {
        "base": (sizes := rng.choice(SIZES))[0],
        "k": sizes[1],
        "p": sizes[0] ** sizes[1],
    },
    right=perplexity_per_character,
    steps=lambda base, k, p: (
        f"A token costs A as many bits as a choice among {p} equally likely tokens.",
        f"In the same stretch of text, B predicts {k} characters. With a perplexity of *x*, these "
        f"cost as many bits as a choice among {times('x', k)} equally likely strings.",
        f"So {times('x', k)} = {p}, and *x* is {base}.",
    ),
    check=(
        "Suppose that B chooses among as many equally likely characters at each step as your "
        "answer says. How many strings as long as one of A's tokens are equally likely then?"
    ),
    placement=True,
    mistakes={
        "At that perplexity, each character would cost B as much as a whole token costs A. How "
        "many times does B pay while A pays once?":
            lambda base, k, p: p,
        "You split the perplexity among the characters. It's the bits that you can split: what "
        "happens to the perplexities of two steps in a row?":
            lambda base, k, p: p / k,
        "That's how many bits a character may cost. What perplexity is that?":
            lambda base, k, p: torch.tensor(p).double().log2() / k,
        "That's how many bits a token costs A. How many of B's characters have to share these "
        "bits?":
            lambda base, k, p: torch.tensor(p).double().log2(),
        "Your perplexity is larger than A's. Which of the two models pays more often for the same "
        "text, and so has to pay less each time?":
            lambda base, k, p: p * k,
    },
)  # fmt: skip


head_on_itself = Choice(
    aim="head-role",
    asks=(
        "A head of a trained GPT gives nearly all of its weight to the very token that asks. You "
        "remove the head and measure how many more bits a character the model needs. What do you "
        "expect?"
    ),
    right="it may be few or many, because the weights do not show what is done with a value",
    steps=(
        "The head adds each token's own value: what $W_V$ and then $W_O$ make of the token's "
        "vector. The residual stream carries the vector on, but not what these two make of it.",
        "The weights do not show how much later blocks rely on that: it has to be measured.",
        "Without such a head, the course's GPT needs 0.88 more bits a character. No other head is "
        "worth so much.",
    ),
    check="What does such a head add to the residual stream? And what do its weights tell you "
    "about that?",
    minutes=1,
    mistakes={
        "The residual stream does carry the token's vector on. Is that the same as what the head "
        "adds, after its $W_V$ and $W_O$?":
            "nothing is lost, because the residual stream carries the token along anyway",
        "It's true that this head fetches nothing from other tokens. Is fetching all that a head "
        "can do for the blocks after it?":
            "little is lost, because the head fetches nothing from other tokens",
        "The last token does matter for the next one. But does the model lose sight of it if you "
        "remove this head?":
            "much is lost, because the model no longer knows which token it has just read",
    },
)  # fmt: skip


def draw_copied_text(rng) -> dict:
    """Eight letters, of which the last one stands at two places before."""
    positions = rng.choice([(1, 4), (1, 5), (2, 4), (2, 5), (1, 3)])
    letter, *other_letters = rng.sample("abcdefgh", 8)
    row = [letter if i in (*positions, 7) else other_letters.pop() for i in range(8)]
    return {"text": " ".join(row), "tokens": [*map(ord, row)]}


def keys_looked_at(answer: Callable, tokens: Sequence[int]) -> list[int]:
    """The keys that this answer takes for those of a head that copies, for the last query."""
    n = len(tokens)

    def counts(key: int) -> bool:
        weights = torch.zeros(n, n, dtype=torch.float64)
        weights[-1, key] = 1
        return answer(weights, torch.tensor(tokens)) > 0

    return [key for key in range(n) if counts(key)]


def at_the_same_token(text, tokens):
    hint = "you take the weight on the earlier occurrence itself"
    return keys_looked_at(mutant(COPIES, hint), tokens)


where_a_copy_looks = Row(
    aim="head-role",
    asks=(
        "A head helps the model to copy: it lets each token look where the text shows what may "
        "come next. At which two places does the last token of *<text>* look? (Count the places "
        "from 0, and give the smaller one first.)"
    ),
    draw=draw_copied_text,
    right=lambda text, tokens: keys_looked_at(exercise(COPIES).valid_answers[0], tokens),
    steps=lambda text, tokens: (
        f"The last token is *{text[-1]}*, which also stands at places "
        f"{' and '.join(str(i) for i in range(7) if tokens[i] == tokens[7])}.",
        "What followed it there may follow it now. So the head looks one place after each of "
        f"these, at the tokens whose keys say that the token before them was *{text[-1]}*.",
    ),
    check="Which token would the model write next if it copied? At which places does that token "
    "stand?",
    mistakes={
        "The token at your places is the same as the last one. If the head looked there, what "
        "would the model learn about the next token?":
            at_the_same_token,
        "Your places are just before those of the earlier occurrences. In which direction does the "
        "copied text go on?":
            lambda text, tokens: [i - 2 for i in where_a_copy_looks.right(text, tokens)],
        "Your places are one too far to the right, perhaps because you counted them from 1. Which "
        "token directly followed each earlier occurrence?":
            lambda text, tokens: keys_looked_at(
                mutant(COPIES, "you take the weight on the key two places after"), tokens
            ),
    },
)  # fmt: skip


costliest_change = Choice(
    aim="bits-worth",
    asks=(
        "A small GPT has three blocks with four heads each, rotary positions, and a token that "
        "names the decade before each text. You train it anew with one part changed. Which change "
        "costs the most bits a character?"
    ),
    right="its heads get no positions",
    steps=(
        "With one head, with a short window or without the decade, the model can still tell which "
        "token came just before.",
        "Without positions, only the causal mask tells one place from another.",
        "In our measurement, the model loses a tenth of a bit without positions, and less than a "
        "hundredth with any of the other changes.",
    ),
    check="After each change, can the model still tell which token came just before?",
    minutes=1,
    mistakes={
        "A single head per block, as wide as the four together, still reaches all tokens. What can "
        "the model no longer tell apart, and is there a change that takes away more?":
            "each block has one head",
        "A trigram model, which sees only two tokens, is about as good as this small GPT. How much "
        "can tokens far back be worth to the GPT?":
            "in each block, a token sees only the last 16 tokens",
        "Without that token, the model still reads the text, whose words may give its age away. "
        "How much can the name of the decade add to them?":
            "no token names the decade",
    },
)  # fmt: skip


wrong_line_of_a_perplexity = Line(
    aim="bits",
    asks=(
        "This function should give the perplexity of each text in a batch. `scores` has the shape "
        "(batch, n, vocabulary), and row *t* scores token *t* + 1. Each text has at least two "
        "tokens; `lengths` says how many, and what comes after them is padding. Which line is "
        "wrong?"
    ),
    faults={
        "you shorten rows and tokens at the same end":
            "Row *t* scores token *t* + 1. The scores have lost their last row, so the tokens have "
            "to lose the first one.",
        "you divide by the padded length":
            "The sum should be divided by the number of predicted tokens, which is one fewer than "
            "the text has. `n` counts the padding too, so it's the same for a short text as for a "
            "long one.",
        "you raise 2 to a number of nats":
            "`log_softmax` gives natural logarithms, so `exp` has to undo them. 2 is the base for "
            "bits.",
        "log_softmax runs over the positions":
            "The probabilities have to sum to 1 over the tokens of the vocabulary, and the "
            "vocabulary is the last axis.",
    },
    text_of=partial(texts, PERPLEXITY),
    steps=(
        "Follow a text of two tokens that is padded to four. Only its second token is predicted, "
        "by row 0.",
    ),
    check="Take a text of two tokens, padded to four. What should each line give for it?",
    minutes=3,
    mistakes={
        "That line is right. Nothing predicts token 0, so the line marks the places from 1 to the "
        "end of each text.":
            "torch.arange(1, n",
        "That line is right. The last row has nothing to predict, and the rows that would predict "
        "padding are filled with zeros.":
            "scores[..., :-1, :]",
        "That line is right. It leaves out what padding would cost, and adds up the costs of the "
        "other tokens of each text.":
            "nats = ",
        "That line only says how many places a row of tokens has. Look at what's done with that "
        "number.":
            "n = tokens.shape[-1]",
    },
)  # fmt: skip
