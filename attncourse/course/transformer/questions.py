"""The questions of the chapter on the Transformer."""

from functools import partial

import torch

from attncourse.cost import count
from attncourse.course import exercise
from attncourse.course.question import Choice, Line, Ln, Maps, Number, Row, mutant, show, texts
from attncourse.dot_product import padding_mask
from attncourse.transformer import (
    Decoding,
    Embedding,
    Encoder,
    EncoderBlock,
    FeedForward,
    PreNorm,
    generate,
)

RESIDUAL, MASKS, STEP, TOP_K = (
    "residual_block",
    "translation_masks",
    "cached_step",
    "top_k_probabilities",
)


without_attention = Choice(
    aim="read-gpt",
    asks=(
        "A GPT learns texts that count up in equal steps, modulo 11, such as 3, 5, 7, 9, 0, 2; the "
        "step of a text is a number from 1 to 5. Before training, you take the attention away, so "
        "that each row knows only its own number and its place. What will the model write after 3, "
        "5, 7, if it always appends the likeliest number?"
    ),
    right="numbers that are each 1 to 5 further on than the one before, in steps that may differ",
    steps=(
        "The row of 7 has read no other number, so nothing in it depends on the step.",
        "In the training texts, 7 is followed by a number that is 1 to 5 further on, and each of "
        "the five is as likely as the others. The row can learn this much.",
        "So every number is followed by one of its five possible successors. It is chance which of "
        "the five the row prefers, and it need not be the same step for another number or place.",
    ),
    check="List what the row of 7 knows, and what follows a 7 in the training texts.",
    minutes=1,
    mistakes={
        "To count on, the row of 7 needs to know the step. Which two numbers would tell it the "
        "step?":
            "9, 0, 2 and so on, in steps of 2",
        "The row is trained on what comes next. Does a 7 ever follow a 7 in the training texts?":
            "7 again and again",
        "A row still sees its own number. Can all 11 numbers follow it?":
            "any of the 11 numbers, whatever number came before",
    },
)  # fmt: skip


def part_weights(a: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The two matrices of a part that keeps what is positive, and multiplies it by a."""
    identity = torch.eye(2, dtype=torch.float64)
    return identity, a * identity


def one_token(rng) -> dict:
    mean, deviation = rng.randint(1, 6), rng.randint(2, 4)
    signs = rng.sample([-1, 1], 2)
    x = tuple(mean + deviation * sign for sign in signs)
    return {"x": x, "a": rng.randint(2, 5), "normed": tuple(signs)}


def pre_norm_output(x, a, normed):
    (up, down), zero = part_weights(a), torch.zeros(2)
    network = FeedForward(2, 2)
    network.load_state_dict(
        {"up.weight": up, "up.bias": zero, "down.weight": down, "down.bias": zero}
    )
    return PreNorm(2, network).double()(torch.tensor([x], dtype=torch.float64))[0].detach()


def residual(hint, x, a):
    token = torch.tensor(x, dtype=torch.float64)
    return mutant(RESIDUAL, hint)(token, token * 0 + 1, token * 0, *part_weights(a))


out_of_pre_norm = Row(
    aim="build-blocks",
    asks=(
        "The token <x> reaches a part of a *pre-norm* block. The norm subtracts the mean of the "
        "two numbers, then divides the result by the root of the mean of its squares. The part "
        "replaces negative numbers by 0, and multiplies the others by <a>. What is the token after "
        "this part and its skip connection?"
    ),
    draw=one_token,
    right=pre_norm_output,
    steps=lambda x, a, normed: (
        f"The mean of {show(x)} is {sum(x) // 2}, and each number is {abs(x[0] - x[1]) // 2} away "
        f"from it, so the norm gives {show(normed)}.",
        f"The part reads this, and its output is {show(tuple(a * max(y, 0) for y in normed))}.",
        f"The skip connection adds this to the original token, {show(x)}.",
    ),
    check="Write down three rows: the token, what the part reads, and the part's output.",
    placement=True,
    mistakes={
        "Your result is normalised, but nothing normalises the result of a part in a pre-norm "
        "block. What does the norm read, and what is added to the part's output?":
            lambda x, a, normed: residual("pre and post are exchanged", x, a),
        "You added the part's output to the normalised token. Which token travels on along the "
        "residual stream?":
            lambda x, a, normed: residual("pre-norm adds to the normalised x", x, a),
        "That's the output of the part. What does a skip connection do with it?":
            lambda x, a, normed: residual("pre-norm leaves x out", x, a),
        "Your part reads the token itself. What stands between the residual stream and the part?":
            lambda x, a, normed: residual("in pre-norm the part reads x itself", x, a),
        "Your part let a negative number through. What should it do with a negative number?":
            lambda x, a, normed: [t + a * y for t, y in zip(x, normed, strict=True)],
        "Your norm subtracts the mean and stops there. What does it divide the rest by?":
            lambda x, a, normed: [t + a * max(t - sum(x) / 2, 0) for t in x],
        "Your norm divides by the mean of the squares itself. Read the question again: what should "
        "it divide by?":
            lambda x, a, normed: [
                t + a * max(y, 0) / abs(x[0] - x[1]) * 2 for t, y in zip(x, normed, strict=True)
            ],
        "Your norm divides by the root of the sum of the squares. Read the question again: what "
        "should it take the root of?":
            lambda x, a, normed: [
                t + a * max(y, 0) / 2**0.5 for t, y in zip(x, normed, strict=True)
            ],
        "Your norm divides the token as it is. What should it subtract first, and what is the mean "
        "of the two numbers then?":
            lambda x, a, normed: [
                t + a * max(t, 0) / (sum(u * u for u in x) / 2) ** 0.5 for t in x
            ],
        "Your part turned a negative number into a positive one. What should it replace a negative "
        "number by?":
            lambda x, a, normed: [t + a * abs(y) for t, y in zip(x, normed, strict=True)],
        "Your part lets a positive number through as it is. What should it do with a positive "
        "number?":
            lambda x, a, normed: out_of_pre_norm.right(x, 1, normed),
        "Your part gives 0 for a negative number, which is right. Which number does the skip "
        "connection add that 0 to?":
            lambda x, a, normed: [
                t + a * y if y > 0 else 0 for t, y in zip(x, normed, strict=True)
            ],
    },
)  # fmt: skip


def two_texts(rng) -> dict:
    m, n = rng.choice([5, 6]), rng.choice([3, 4])
    source, target = rng.randint(3, m - 1), rng.randint(2, n - 1)
    return {"m": m, "n": n, "source": source, "target": target}


def cross(hint, m, n, source, target):
    return mutant(MASKS, hint)(torch.tensor(source), torch.tensor(target), m, n)[2].double()


def causal(m, n, source, target):
    return cross("the cross-attention is causal", m, n, source, target)


seen_of_the_source = Maps(
    aim="build-blocks",
    asks=(
        "In training, a source of <source> words is padded to <m> tokens, and its target of "
        "<target> words is padded to <n>. Which map shows what the decoder's cross-attention may "
        "see? (A row is a query, a column is a key.)"
    ),
    draw=two_texts,
    right=lambda m, n, source, target: padding_mask(torch.tensor(source), m).expand(n, m).double(),
    steps=lambda m, n, source, target: (
        f"The queries come from the target and the keys from the source, so there are {n} rows and "
        f"{m} columns.",
        f"The padding of the source is hidden from every query, so only the first {source} columns "
        "are left.",
        "The whole source is known before the first word of the target, so no query has to wait "
        "for a part of it.",
    ),
    check="Whose tokens are the columns? Which of them are padding?",
    mistakes={
        "In this map, the first word of the target sees only the first word of the source. Which "
        "of the two texts is not yet known while the decoder writes?":
            causal,
        "In this map, the number of columns that may be seen is the length of the target. Which "
        "text do the keys come from?":
            partial(cross, "the cross-attention hides by the target's lengths"),
        "In this map, the target attends to padding. Which columns hold words?":
            partial(cross, "the padding of the source is not hidden from the decoder"),
    },
)  # fmt: skip


def copier() -> Decoding:
    """A model that gives the highest score to what it has just read, since nothing comes between
    the two ends of its table."""
    table = Embedding(11, 11)
    torch.nn.init.eye_(table.table.weight)
    return Decoding(table, Encoder([]))


def count_up(start, step, first) -> list[int]:
    return [(start + i * step) % 11 for i in range(first, first + 3)]


written_without_the_shift = Row(
    aim="shifted-targets",
    asks=(
        "A GPT is trained on texts that count up in equal steps, modulo 11. By mistake, its "
        "targets are not shifted, and its loss falls to nearly 0. Now it gets the prompt <prompt>, "
        "and appends the likeliest token three times. Which three tokens does it append?"
    ),
    draw=lambda rng: {
        "start": (start := rng.randrange(11)),
        "step": (step := rng.randint(1, 5)),
        "prompt": ", ".join(str((start + i * step) % 11) for i in range(3)),
    },
    right=lambda start, step, prompt: generate(
        copier(), torch.tensor([count_up(start, step, 0)]), 3
    )[0],
    steps=lambda start, step, prompt: (
        "Without the shift, the target of each row is the token that this row has just read, so "
        "the model learns to pass its input on.",
        f"The last row has read {prompt.split(', ')[-1]}, so that is the likeliest token.",
        "That token is appended, the new last row reads it, and so on.",
    ),
    check="At each of the three steps, what has the last row read, and what was it trained to say?",
    minutes=1,
    mistakes={
        "That's how a model with shifted targets goes on. What was each row of this model trained "
        "to say?":
            lambda start, step, prompt: count_up(start, step, 3),
        "You copied the prompt from its beginning. Which row of scores decides on the next token?":
            lambda start, step, prompt: count_up(start, step, 0),
        "Your first token would be right with shifted targets. What did the last row of this model "
        "learn to say?":
            lambda start, step, prompt: count_up(start, step, 3)[:1] * 3,
        "You read the prompt backwards. Your first token becomes the input of the next step: what "
        "does the model do with it?":
            lambda start, step, prompt: count_up(start, step, 0)[::-1],
        "Your first token is right, but then your model counts. Has it ever been trained to count?":
            lambda start, step, prompt: count_up(start, step, 2),
    },
)  # fmt: skip


wrong_line_of_a_step = Line(
    aim="generate",
    asks=(
        "This function is a causal head with a cache. It is given `n` new tokens `x`, the `keys` "
        "and `values` of the `m` tokens before them, and a table with a row for each position. The "
        "new tokens should get the same output as if the head read the whole text at once. Which "
        "line is wrong?"
    ),
    faults={
        "the positions of every call start at 0":
            "`positions[:n]` starts at position 0 again, but `m` tokens stand before the new ones.",
        "the new values come in front":
            "The new values come before the old ones, but the new keys come after the old keys, so "
            "the weights would meet the wrong values.",
        "the mask starts at the corner":
            "The diagonal of the mask starts at the first key in the cache. It has to be shifted "
            "by `m`, because the first new token sees all the keys in the cache and its own.",
        "a new token sees one ahead": "`tril(m + 1)` lets each new token see the one after it.",
    },
    text_of=partial(texts, STEP),
    steps=(
        "Take one new token after three old ones: it stands at position 3 (counted from 0) and "
        "sees four keys.",
    ),
    check="Follow two new tokens after three old ones through the lines. Which positions do they "
    "stand at, and which keys do they see?",
    minutes=3,
    mistakes={
        "That line is right: it counts the new tokens and those in the cache. Look at how each "
        "number is used.":
            "n, m =",
        "That line is right: the queries come from the new tokens alone. Look at which keys and "
        "values they meet.":
            "q = ",
        "That line is right: the keys of the new tokens follow those in the cache.":
            "keys = torch.cat",
        "That line is right: each new query meets every key, and the scale is the root of the "
        "queries' width.":
            "scores = ",
        "That line is right: it turns the scores into weights under the mask. Look at what it's "
        "given.":
            "weights =",
        "That line is right: the new tokens get their weighted means, and the next step needs all "
        "keys and values.":
            "return",
    },
)  # fmt: skip


# the numbers whose logarithms are the scores, the largest first, by temperature
BASES = {
    "1/2": [(4, 2, 1), (6, 2, 1), (6, 3, 1), (6, 3, 2), (9, 3, 2), (8, 4, 3), (8, 6, 1)],
    "2": [(16, 4, 1), (9, 4, 1), (16, 9, 4), (36, 4, 1), (36, 9, 4), (64, 4, 1), (81, 9, 4)],
}


def scores_of_three(rng) -> dict:
    temperature = rng.choice([*BASES])
    *top_numbers, last = rng.choice(BASES[temperature])
    scores = [*map(Ln, rng.sample(top_numbers, 2))]
    # neither the first two are left nor the last two
    scores.insert(1, Ln(last))
    return {"scores": scores, "temperature": temperature}


def powers(scores, temperature) -> list[int]:
    """What the exponentials become when the scores are divided by the temperature."""
    return [s.number**2 if temperature == "1/2" else round(s.number**0.5) for s in scores]


def top_two_probability(scores, temperature):
    probabilities = exercise(TOP_K).valid_answers[0]
    return probabilities(row_of(scores), 2, tau(temperature))[0]


def top_two(scores, temperature) -> list[int]:
    pairs = zip(powers(scores, temperature), scores, strict=True)
    return [x for x, s in pairs if s > min(scores)]


def row_of(scores) -> torch.Tensor:
    return torch.tensor(scores, dtype=torch.float64)


def tau(temperature: str) -> float:
    return {"1/2": 0.5, "2": 2.0}[temperature]


def temperature_multiplies(scores, temperature):
    multiplied = mutant(TOP_K, "the scores are multiplied by the temperature")
    return multiplied(row_of(scores), 2, tau(temperature))[0]


def first_two_kept(scores, temperature):
    first, second, _ = powers(scores, temperature)
    return first / (first + second)


probability_of_the_first = Number(
    aim="generate",
    asks=(
        "Three tokens have the scores <scores>. A model samples with a temperature of "
        "<temperature> and with top-k, where k = 2. What is the probability of the first token?"
    ),
    draw=scores_of_three,
    right=top_two_probability,
    steps=lambda scores, temperature: (
        f"The token with the lowest score, {min(scores)}, cannot be drawn.",
        f"The others are divided by {temperature}: "
        + ("twice a logarithm is the logarithm of the square, " if temperature == "1/2" else "")
        + ("half a logarithm is the logarithm of the root, " if temperature == "2" else "")
        + "so their exponentials are "
        + " and ".join(str(x) for x in top_two(scores, temperature))
        + ".",
        f"So the probability of the first token is {top_two(scores, temperature)[0]}/"
        f"{sum(top_two(scores, temperature))}.",
    ),
    check="Write down the scores that are left, divide each by the temperature, then take exp.",
    mistakes={
        "You kept the right two tokens, but the temperature has changed nothing. What does it "
        "divide?":
            lambda scores, temperature: mutant(TOP_K, "the temperature is ignored")(
                row_of(scores), 2, tau(temperature)
            )[0],
        "You multiplied the scores by the temperature. A temperature above 1 should make tokens "
        "more alike: does yours?":
            temperature_multiplies,
        "In your answer, all three tokens can be drawn. How many of them does top-k keep?":
            lambda scores, temperature: mutant(TOP_K, "the k is ignored")(
                row_of(scores), 2, tau(temperature)
            )[0],
        "You kept the first two tokens. Which two does top-k keep?":
            first_two_kept,
        "That's the softmax of the scores as they are. What does the temperature do to them, and "
        "how many tokens can be drawn?":
            lambda scores, temperature: row_of(scores).softmax(0)[0],
        "That's the probability of the other token that can be drawn. Which one does the "
        "question ask for?":
            lambda scores, temperature: 1 - probability_of_the_first.right(scores, temperature),
        "You shared out the probability in proportion to the scores. What does a softmax take of "
        "each score first?":
            lambda scores, temperature: scores[0] / sum(s for s in scores if s > min(scores)),
    },
)  # fmt: skip


def equal_cost_length(d, times, hidden):
    with torch.device("meta"):
        block, one_row, two_rows = EncoderBlock(d, 1, hidden), torch.empty(1, d), torch.empty(2, d)
    network = count(block.feed_forward, one_row).flops
    # of n tokens, a n + b n^2 operations
    flops_1, flops_2 = (count(block.attention, x).flops for x in (one_row, two_rows))
    b = (flops_2 - 2 * flops_1) / 2
    return (network - (flops_1 - b)) / b


length_of_equal_cost = Number(
    aim="count-block",
    asks=(
        "A block of width <d> has a feed-forward network with a hidden width of <hidden>. Every "
        "token sees all tokens. Count one multiplication and one addition for each term of the "
        "matrix products, and nothing else. At how many tokens does the attention layer, with its "
        "four matrices, take as many operations as the feed-forward network?"
    ),
    draw=lambda rng: {
        "d": (d := rng.choice([10, 16, 20, 50, 64, 100])),
        "times": (times := rng.choice([5, 6, 7, 8])),
        "hidden": times * d,
    },
    right=equal_cost_length,
    steps=lambda d, times, hidden: (
        f"For each token, the two matrices of the feed-forward network take 2 · 2 · {d} · {hidden} "
        f"operations, which is {4 * times} times the square of {d}.",
        f"The four matrices of the attention layer take 4 · 2 · {d} · {d}, which is 8 times the "
        f"square. The scores and weighted sums take 2 · 2 · {d} for each of the n tokens that it "
        "sees.",
        f"So 4 · {d} · n has to make up for {4 * times} − 8 = {4 * times - 8} times the square of "
        f"{d}: n is {times - 2} · {d}.",
    ),
    check="Count the operations for one token: how many does it take in each matrix, and how many "
    "for each token that it sees?",
    tolerance=0.4,
    minutes=3,
    placement=True,
    mistakes={
        "At that length, the scores and weighted sums alone cost as much as the network. What else "
        "does the attention layer compute for each token?":
            lambda d, times, hidden: times * d,
        "You counted half of what the scores and weighted sums cost. How many products are there, "
        "and how many tokens does each token see?":
            lambda d, times, hidden: 2 * (times - 2) * d,
        "You counted half of what the network costs. How many matrices does it have, and what does "
        "each term of a product take besides a multiplication?":
            lambda d, times, hidden: (times / 2 - 2) * d,
        "You counted three matrices in the attention layer. Which one does the layer's output go "
        "through?":
            lambda d, times, hidden: (times - 1.5) * d,
        "You counted only one matrix in the attention layer. How many does it have?":
            lambda d, times, hidden: (times - 0.5) * d,
        "That would be right if the hidden width were four times the width of the block. How many "
        "times as large is it in this block?":
            lambda d, times, hidden: 2 * d,
    },
)  # fmt: skip


place_of_offsets = Choice(
    aim="choose-attention",
    asks=(
        "You build a model that translates, with an encoder and a decoder. In which of its "
        "attention layers does it make sense for the scores to depend on the offset between query "
        "and key, as with RoPE or ALiBi?"
    ),
    right="in the self-attention of the encoder and in that of the decoder",
    steps=(
        "In both self-attentions, queries and keys stand in the same text, so their positions have "
        "an offset. Neither a causal mask nor a cache changes this, because the positions of the "
        "tokens are known.",
        "In the cross-attention, the query stands in the target and the key in the source. These "
        "are two texts, each with its own order and length, so an offset between them means "
        "nothing.",
    ),
    check="For each attention layer, ask which text the query stands in, and which text the key "
    "stands in.",
    minutes=1,
    mistakes={
        "Think of the cross-attention: what would it mean for a word of the target to stand two "
        "places after a word of the source?":
            "in both self-attentions and in the cross-attention",
        "An offset may be negative as well as positive. Does the encoder's self-attention lack "
        "anything that an offset needs?":
            "in the self-attention of the decoder alone, because it is causal",
        "An offset is the difference between two positions. Which of the two would a decoder with "
        "a cache not know?":
            "in the self-attention of the encoder alone, because the decoder writes with a cache",
    },
)  # fmt: skip
