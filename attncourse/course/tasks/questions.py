"""The questions of the chapter on three tasks."""

from collections.abc import Sequence
from functools import partial
from math import comb

import torch

from attncourse.course import exercise
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
from attncourse.data.numbers import name
from attncourse.tasks import mean_of_tokens

POOLED, LOOKUP, CONFUSED = "max_and_mean", "lookup_labels", "most_confused"
PARENTS = "attachment_score"


def padded(first, second, pad) -> tuple[torch.Tensor, torch.Tensor]:
    """Two rows of words and one of padding, and which of them are words."""
    return double(first, second, pad), torch.tensor([True, True, False])


def mistaken_mean(hint: str, rows: dict) -> torch.Tensor:
    """What a known wrong answer takes for the mean; the maximum stands before it."""
    return mutant(POOLED, hint)(*padded(**rows))[2:]


scores_of_a_text = Row(
    aim="one-encoder",
    asks=(
        "For the two words of a text, an encoder outputs the rows <first> and <second>. Because "
        "the batch also has a longer text, a row for padding follows, <pad>. A classifier takes "
        "the mean of the text's rows, then applies a linear layer whose $W$ is the identity and "
        "whose $b$ is zero. What are the text's two scores?"
    ),
    draw=lambda rng: {
        "first": (six := rng.sample([x for x in range(-8, 9, 2) if x], 6))[:2],
        "second": six[2:4],
        "pad": six[4:],
    },
    right=lambda first, second, pad: mean_of_tokens(*padded(first, second, pad)),
    steps=lambda first, second, pad: (
        "The row of the padding belongs to no word, so it is left out of the mean.",
        f"First score: ({show(first[0])} + {show(second[0])}) / 2. The other one is computed in "
        "the same way.",
        "The identity leaves the mean as it is, and nothing is added.",
    ),
    check="Suppose the text were in a batch without padding. Would you get the same scores?",
    placement=True,
    mistakes={
        "You took the mean of all three rows. Which of them belongs to no word?":
            lambda **rows: mistaken_mean("padding takes part in both halves", rows),
        "You divided by the number of words, but you also added a row that belongs to none of "
        "them.":
            lambda **rows: mistaken_mean("padding takes part in the mean", rows),
        "You left the padding out of the sum, but not out of the number that you divided by.":
            lambda **rows: mistaken_mean("the mean divides by all n places", rows),
        "You added up the rows of the words. How do you turn a sum into a mean?":
            lambda **rows: mistaken_mean("this is the sum", rows),
        "You averaged the numbers of each word. The mean is taken over the words: which numbers "
        "belong to the same component?":
            lambda first, second, pad: [sum(first) / 2, sum(second) / 2],
    },
)  # fmt: skip


shuffled_words = Choice(
    aim="one-encoder",
    asks=(
        "A tagger and a classifier both have an encoder without positions, and no mask but that of "
        "the padding. You shuffle the words of a text. What happens to the scores of the two "
        "models?"
    ),
    right="the tagger's move with the words, and the classifier's stay as they are",
    steps=(
        "Without positions, a word's row depends on which words there are, and not on where they "
        "stand. So the rows are shuffled like the words, and nothing else changes in them.",
        "The tagger scores each row by itself, so its scores move with the words.",
        "The classifier takes the mean of the rows, which is the same in any order.",
    ),
    check="What happens to the encoder's rows? Then follow them to each of the two outputs.",
    minutes=1,
    mistakes={
        "A word keeps its own scores in the tagger. But in which row do they stand after the "
        "shuffle?":
            "both models' stay as they are, row by row",
        "For its scores to change, a word would have to know its neighbours. In such an encoder, "
        "what could tell a word which words are next to it?":
            "the tagger's become different numbers, and the classifier's stay as they are",
        "The tagger's scores do move with the words. Does a mean depend on the order of its rows?":
            "the tagger's move with the words, and the classifier's become different numbers",
    },
)  # fmt: skip


wrong_line_of_a_lookup = Line(
    aim="baselines",
    asks=(
        "A baseline labels the words of a new text. Each word gets the label that it had most "
        "often in training. A word that training does not have gets the label that its suffix had "
        "most often, and if training has neither, the commonest label of all. Words, suffixes and "
        "labels are given as numbers; `one_hot` makes a row for each label, with a 1 at its place. "
        "Which line is wrong?"
    ),
    faults={
        "new suffixes are compared":
            "A new suffix has to be compared with the suffixes of training, because the number of "
            "a word means something else.",
        "the new word is looked up":
            "The suffixes of training have to be compared with the new suffix, and not with the "
            "number of the new word.",
        "where neither is known, the label is 0":
            "If all labels have a count of 0, `argmax` gives label 0. The counts of all of "
            "training would give the commonest label.",
        "the larger count of word":
            "If the word is known, it should decide alone. This line lets a frequent suffix "
            "outvote it.",
        "the maximum runs over":
            "A row of `counts` belongs to a new word, and a column to a label. The maximum has to "
            "run over the labels, along the last axis.",
    },
    text_of=partial(texts, LOOKUP),
    steps=(
        "Take three words: one that training has, one of which training has only the suffix, and "
        "one of which it has neither. Follow each of them through the lines.",
    ),
    check="For each line, say what a row of its result stands for, and what a column stands for.",
    minutes=3,
    mistakes={
        "That line is right: it makes a row for the label of each training word, so that a product "
        "with these rows counts labels.":
            "rows = ",
        "That line is right: for each new word, it counts the labels of the same word in training.":
            "by_word = ",
        NAMES_ONLY: "def ",
    },
)  # fmt: skip


def matrix(rng) -> dict:
    """Counts for three labels: one has the most frequent mistake, another the most mistakes."""
    top = rng.choice([4, 5])
    others_ = [top, 1], [top - 1, 3], [rng.choice([1, 2]), rng.choice([0, 1])]
    rows = [rng.sample(row, 2) for row in others_]
    rng.shuffle(rows)
    for i, row in enumerate(rows):
        row.insert(i, rng.choice([12, 20, 25]) - sum(row))
    return dict(zip("abc", map(tuple, rows), strict=True))


def found_again(answer, a, b, c) -> float:
    """The fourth number that an answer gives for this confusion matrix: the recall."""
    pairs = [(i, j) for i, row in enumerate((a, b, c)) for j in range(3) for _ in range(row[j])]
    labels, predicted = torch.tensor(pairs).T
    # what the answer divides is whole: its float32 is rounded alike everywhere
    return answer(predicted, labels, 3)[3]


def most_frequent(*rows: Sequence[int]) -> tuple[int, int]:
    """The row of the most frequent mistake, and how often it was made."""
    errors = [(i, x) for i, row in enumerate(rows) for j, x in enumerate(row) if i != j]
    return max(errors, key=lambda mistake: mistake[1])


def the_most_mistakes(a, b, c):
    rows = (a, b, c)
    i = max(range(3), key=lambda i: sum(rows[i]) - rows[i][i])
    return rows[i][i] / sum(rows[i])


recall_of_the_most_confused = Number(
    aim="read-errors",
    asks=(
        "In a confusion matrix, rows stand for the right label and columns for the predicted one. "
        "The row of label A is <a>, that of B is <b>, and that of C is <c>. Find the label that "
        "loses the most words to a single other label. What proportion of its words does the model "
        "label correctly?"
    ),
    draw=matrix,
    right=lambda a, b, c: found_again(exercise(CONFUSED).valid_answers[0], a, b, c),
    steps=lambda a, b, c: (
        f"The largest number off the diagonal is {most_frequent(a, b, c)[1]}, in the row of "
        f"{'ABC'[most_frequent(a, b, c)[0]]}: this is the label.",
        f"Its words are those of this row: {sum((a, b, c)[most_frequent(a, b, c)[0]])} in all.",
        "The words that it labels correctly are on the diagonal: "
        f"{(a, b, c)[most_frequent(a, b, c)[0]][most_frequent(a, b, c)[0]]} of them.",
    ),
    check="Write the three rows under each other, and mark the diagonal before you look for the "
    "label.",
    mistakes={
        "You divided by the sum of the column, which counts all the words that were given this "
        "label. Where do you find the words whose right label it is?":
            lambda a, b, c: found_again(mutant(CONFUSED, "this is the precision"), a, b, c),
        "That's the proportion of its words that the model gets wrong. The question asks for those "
        "that it gets right.":
            lambda a, b, c: found_again(
                mutant(CONFUSED, "this is the share that was missed"), a, b, c
            ),
        "That's the proportion of its words that went to the other label. Which number in the row "
        "counts the correct ones?":
            lambda a, b, c: found_again(
                mutant(CONFUSED, "this is how much of the label went"), a, b, c
            ),
        "You read the matrix by columns, as if each column stood for a right label. Which label "
        "does a row stand for: the right one, or the predicted one?":
            lambda a, b, c: found_again(
                mutant(CONFUSED, "rows and columns are swapped"), a, b, c
            ),
        "Your label has the most mistakes in all, but they go to two labels. Which number off the "
        "diagonal is the largest by itself?":
            the_most_mistakes,
        "That's the accuracy over all three labels. Which label's words does the question ask "
        "about?":
            lambda a, b, c: (a[0] + b[1] + c[2]) / sum((*a, *b, *c)),
    },
)  # fmt: skip


def drawn_parents(rng) -> dict:
    """Five parents: of those that are not the root, the next word is some, but not all."""
    while True:
        parents = tuple(rng.randint(i + 1, 5) for i in range(5))
        if 1 < next_to(parents) <= sum(parent < 5 for parent in parents):
            return {"parents": parents}


def next_to(parents: Sequence[int]) -> int:
    return sum(parent == i + 1 for i, parent in enumerate(parents))


def attached(answer, parents: Sequence[int]) -> torch.Tensor:
    """What this answer says of a head that looks at the next word, and from the last one back."""
    weights = torch.eye(6, dtype=torch.float64).roll(1, -1)
    weights[-1] = weights[-1].roll(4)
    return answer(weights[None], torch.tensor([*parents, -1]), torch.tensor(6))[0]


def elsewhere(parents):
    return 1 - attached(exercise(PARENTS).valid_answers[0], parents)


def without_the_root(parents):
    last = len(parents)
    return (next_to(parents) - 1) / sum(parent != last for parent in parents)


parents_next_door = Number(
    aim="test-guess",
    asks=(
        "A sentence has six words, numbered from 0 to 5. Word 5 is the root, and the parents of "
        "words 0 to 4 are <parents>. A head gives nearly all of its weight to the next word. Of "
        "the words that have a parent, for what proportion is that parent the next word?"
    ),
    draw=drawn_parents,
    right=lambda parents: attached(exercise(PARENTS).valid_answers[0], parents),
    steps=lambda parents: (
        f"The words that follow words 0 to 4 are {show((1, 2, 3, 4, 5))}, and the parents of words "
        f"0 to 4 are {show(parents)}.",
        f"The two agree for {next_to(parents)} of the 5 words, which is a proportion of "
        f"{show(next_to(parents) / 5)}.",
        "A head that knows nothing of trees but looks at the next word finds as many parents. Only "
        "the other words can tell it from a head that follows the tree.",
    ),
    check="Write the next word under each word, and its parent under that. Where do they agree?",
    mistakes={
        "You divided by all the words of the sentence. How many of them have a parent?":
            lambda parents: attached(
                mutant(PARENTS, "the roots count as words that miss their parent"), parents
            ),
        "That's the number of words whose parent is the next word. Out of how many words do you "
        "have to take the proportion?":
            lambda parents: attached(mutant(PARENTS, "this is the number of words"), parents),
        "That's the proportion of the words whose parent is elsewhere. They would show whether the "
        "head knows the tree, but the question asks for the others.":
            elsewhere,
        "You left out the words whose parent is the root. The root has no parent, but can it be "
        "one?":
            without_the_root,
    },
)  # fmt: skip


one_of_two_heads = Choice(
    aim="test-guess",
    asks=(
        "With one seed, one head of a tagger looks mostly at the next word, and the tagger loses "
        "11 points of accuracy without this head. With another seed, two heads look mostly there, "
        "and the tagger loses 6 points if you remove either one of them. What does that suggest?"
    ),
    right="each of the two can do a part of the other's work",
    steps=(
        "The tagger needs to know the next word, because it loses much without the single head "
        "that looks there.",
        "If two heads look there, one is left when the other is gone, so the tagger loses less: 6 "
        "points instead of 11.",
        "So each of the two seems to do a part of the other's work.",
    ),
    check="What does the tagger still know when one of the two heads is gone?",
    minutes=1,
    mistakes={
        "All three heads look mostly at the next word. Does the tagger lose as much without each "
        "of them?":
            "a head's weights tell you how much is lost without it",
        "Only one of the two heads was removed. What does the other one still tell the tagger?":
            "the second tagger needs the next word less than the first does",
        "If one head were as good as two, the second tagger would lose nothing without one of "
        "them. How much does it lose?":
            "one head that looks at the next word is as good as two",
    },
)  # fmt: skip


# the tweets that only one of two models gets right
SPLITS = [(1, 3), (1, 4), (1, 5), (1, 6), (2, 4), (2, 5)]


def way_count(a: int, b: int) -> int:
    """The number of ways in which coins favour the first model at least as clearly."""
    return sum(comb(a + b, i) for i in range(max(a, b), a + b + 1))


def split_probability(a, b, n):
    return 2 * comb(a + b, a) / 2 ** (a + b)


coins_alone = Number(
    aim="baselines",
    asks=(
        "Two models are tested on the same <n> tweets. On <a> of them only the first is right, "
        "on <b> only the second, and on the rest both are right or both are wrong. If the two "
        "were equally good, each tweet on which they differ would be like the toss of a coin. "
        "With what probability would coins split these tweets at least as unevenly, in favour of "
        "either model?"
    ),
    draw=lambda rng: (
        dict(zip(("a", "b"), rng.sample(rng.choice(SPLITS), 2), strict=True))
        | {"n": rng.choice([20, 40, 50, 100, 200])}
    ),
    right=lambda a, b, n: 2 * way_count(a, b) / 2 ** (a + b),
    steps=lambda a, b, n: (
        f"The models differ on {a + b} tweets, and {a + b} coins can fall in "
        f"{2 ** (a + b)} equally likely ways.",
        f"The first model gets {max(a, b)} or more of them in "
        f"{' + '.join(str(comb(a + b, i)) for i in range(max(a, b), a + b + 1))}"
        f" = {way_count(a, b)} of these ways, and the second model in as many.",
        f"That is {2 * way_count(a, b)}/{2 ** (a + b)}.",
    ),
    check=(
        "List the splits that are at least as uneven as this one. In how many ways can the coins "
        "fall for each?"
    ),
    minutes=3,
    placement=True,
    mistakes={
        "You looked at only one direction. Coins may favour the first model as well as the second.":
            lambda a, b, n: way_count(a, b) / 2 ** (a + b),
        "You counted only the splits that are exactly as uneven as this one. Are there any that "
        "are more uneven?":
            split_probability,
        "You counted only the splits that are more uneven than this one. Does this one count as "
        "well?":
            lambda a, b, n: coins_alone.right(a, b, n) - split_probability(a, b, n),
        "That's the probability of a split that is less uneven than this one. Which splits does "
        "the question ask about?":
            lambda a, b, n: 1 - coins_alone.right(a, b, n),
        "That's the probability of exactly this split. Which other splits are at least as uneven, "
        "in either direction?":
            lambda a, b, n: comb(a + b, a) / 2 ** (a + b),
        "That's the difference between the two accuracies. Could equally good models be so far "
        "apart by luck? Look only at the tweets on which they differ.":
            lambda a, b, n: abs(a - b) / n,
        "That's the larger share of the tweets on which the models differ. How likely is a split "
        "as uneven as this one, if each of these tweets is the toss of a coin?":
            lambda a, b, n: max(a, b) / (a + b),
    },
)  # fmt: skip


longer_names = Number(
    aim="read-errors",
    asks=(
        "Of the names of <n> tokens that a model writes, <percent> are right in every token. "
        "Suppose that all tokens are right with the same probability, independently of one "
        "another. What proportion of the names of <m> tokens is right in every token then?"
    ),
    draw=lambda rng: {
        "share": (share := rng.choice([0.9, 0.8, 0.7, 0.6])),
        "percent": f"{share:.0%}",
        "times": (times := 3 if share >= 0.8 else 2),
        "n": (n := rng.choice([4, 5, 6, 8, 10])),
        "m": times * n,
    },
    right=lambda share, times, **_: share**times,
    steps=lambda share, times, n, m, percent: (
        f"A name of {m} tokens is right in every token if each of its {times} stretches of {n} is.",
        f"Each stretch is right with probability {show(share)}, independently of the others, so "
        "these probabilities multiply.",
        f"So the proportion is {' · '.join([show(share)] * times)} = {show(share**times)}.",
    ),
    check="How many stretches as long as a short name fit into a long one? All of them have to be "
    "right.",
    mistakes={
        "You gave the long names the same proportion as the short ones. A longer name has more "
        "tokens that may be wrong, and a single one makes the whole name wrong.":
            lambda share, **_: share,
        "You divided the proportion by how many times as long the names are. What is the "
        "probability that two independent stretches are both right?":
            lambda share, times, **_: share / times,
        "You multiplied the proportion of wrong names. A name with several mistakes is wrong only "
        "once, so begin with the proportion that is right.":
            lambda share, times, **_: max(0.0, 1 - times * (1 - share)),
        "That's the proportion of long names with at least one mistake. The question asks for the "
        "others.":
            lambda share, times, **_: 1 - share**times,
    },
)  # fmt: skip


# each digit another one, and a name in which German says the tens as it says the ones
NUMBERS = [
    100 * a + 10 * b + c for a in range(2, 10) for b in (4, 5, 8, 9) for c in range(2, 10)
    if len({a, b, c}) == 3
]  # fmt: skip


def numbered(number: int) -> dict:
    english, german = (name(number, language) for language in ("english", "german"))
    return {
        "number": number,
        "english": " ".join(english),
        "german": " ".join(german),
        "a": german[0],
    }


def weight_map(number: int, word_of_row: Sequence[int | None]) -> torch.Tensor:
    """The map that has all of a row's weight on one English word, or spreads it over all."""
    count = len(name(number, "english"))
    uniform = torch.full((count,), 1 / count, dtype=torch.float64)
    one_hot = torch.eye(count, dtype=torch.float64)
    return torch.stack([uniform if word is None else one_hot[word] for word in word_of_row])


looks_ahead = Maps(
    aim="test-guess",
    asks=(
        "A decoder translates *<english>* into *<german>*, token by token. In which map does it "
        "always look at the English word that it needs for the *next* German token? (A row stands "
        "for the last token written so far: the start, *<a>*, *hundert* and *und*. A column stands "
        "for an English word.)"
    ),
    draw=lambda rng: numbered(rng.choice(NUMBERS)),
    right=lambda number, **_: weight_map(number, (0, 1, 4, 3)),
    steps=lambda number, english, german, a: (
        f"After the start comes *{a}*, and after *{a}* comes *hundert*: the words that are needed "
        "are the first two.",
        f"After *hundert* comes *{german.split()[2]}*, for which the decoder needs the last word.",
        f"After *und* comes *{german.split()[4]}*, for which it needs the word for the tens.",
    ),
    check="Write down the German token that follows each of the four. What is its English word?",
    mistakes={
        "In this map, each row looks at the word for the token that has just been written. Which "
        "token does the decoder have to write next?":
            lambda number, **_: weight_map(number, (None, 0, 1, 2)),
        "In this map, the decoder goes through the English words one by one. In which order do the "
        "tens and the ones come in German?":
            lambda number, **_: weight_map(number, (0, 1, 2, 3)),
        "In this map, the tens come before the ones, as in English. Which of the two does German "
        "say first?":
            lambda number, **_: weight_map(number, (0, 1, 3, 4)),
    },
)  # fmt: skip
