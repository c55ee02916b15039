"""The questions of the chapter on convolution."""

from functools import cache, partial
from itertools import combinations, product

import torch
from torch import Tensor

from attncourse.convolution import (
    convolution_as_attention,
    dynamic_convolution,
    mask_of_blocks,
    sides,
    window_mask,
    windowed_attention,
)
from attncourse.course.convolution.claims import compose, convolution, footprint
from attncourse.course.question import (
    NAMES_ONLY,
    Choice,
    Line,
    Ln,
    Maps,
    Number,
    Row,
    mutant,
    show,
    texts,
)

FOOTPRINT, WINDOWS, HEADS = "footprint", "windows_of", "heads_as_kernel"
SHARP = 60.0


# a sequence of tokens of one number
def column(numbers) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)[:, None]


# a kernel with one channel in and one out
def kernel_of(taps) -> Tensor:
    return torch.tensor([[[*taps]]], dtype=torch.float64)


def bracketed(number) -> str:
    return f"({show(number)})" if number < 0 else show(number)


def draw_response(rng) -> dict:
    left, middle, right = rng.sample([-2, -1, 1, 2, 3, 4, 5], 3)
    first, place = rng.randrange(3, 6), rng.randrange(8, 12)
    return {
        "before": first - 1, "first": first, "after": first + 1,
        "left": left, "middle": middle, "right": right,
        "place": place, "next": place + 1,
        "a": rng.choice([2, 3, 4]), "b": rng.choice([-3, 5, 10]),
    }  # fmt: skip


output_of_two_inputs = Number(
    aim="equivariance",
    asks=(
        "A layer is linear and translation-equivariant, and its sequence has no ends. If the input "
        "is 1 at position <first> and 0 elsewhere, the output is <left>, <middle> and <right> at "
        "positions <before>, <first> and <after>, and 0 elsewhere. Now the input is <a> at "
        "position <place>, <b> at position <next>, and 0 elsewhere. What is the output at position "
        "<place>?"
    ),
    draw=draw_response,
    right=lambda a, b, left, middle, right, **_: convolution(
        column([0, a, b, 0]), kernel_of((right, middle, left))
    )[1, 0],
    steps=lambda a, b, left, middle, place, next, **_: (
        f"The {a} at position {place} gives {a} times what the 1 gave at its own position: "
        f"{a} · {bracketed(middle)}.",
        f"Seen from the {show(b)} at position {next}, position {place} is one place to the left, "
        f"where the 1 gave {show(left)}: {show(b)} · {bracketed(left)}.",
        f"The layer is linear, so the two add up to {show(a * middle + b * left)}.",
    ),
    check="Which of the two inputs reach this position, and from which side?",
    mistakes={
        "You took the wrong side of the second input. Seen from that input, on which side is the "
        "position in the question?":
            lambda a, b, left, middle, right, **_: a * middle + b * right,
        "That's the output at the position of the second input. Which of the two positions does "
        "the question ask about?":
            lambda a, b, middle, right, **_: a * right + b * middle,
        "You counted only the first input. Does the input at the next position reach this position "
        "as well?":
            lambda a, b, middle, **_: a * middle,
        "You treated both inputs as if they stood at this position. One of them is one place away.":
            lambda a, b, middle, **_: (a + b) * middle,
        "You treated both inputs as if they were 1. What do other inputs give, if the layer is "
        "linear?":
            lambda left, middle, **_: middle + left,
        "You multiplied the first input by what a 1 gives on its left. Where does the first input "
        "stand, seen from the position in the question?":
            lambda a, b, left, middle, **_: a * left + b * middle,
        "The outputs of an equivariant layer don't stay where they were. What happens to them when "
        "the input moves?":
            0,
    },
)  # fmt: skip


# the figure below the question shows what is drawn first
STACKS = [(3, 2), (3, 4), (3, 5), (5, 2), (5, 3), (5, 4), (3, 3), (5, 5), (7, 2), (7, 3), (7, 4),
          (9, 2), (9, 3)]  # fmt: skip


def inputs_read(width, layers):
    n, taps = layers * (width - 1) + 3, torch.ones(1, 1, width).double()
    stack = compose([partial(convolution, weight=taps)] * layers)
    return footprint(lambda x: stack(x)[n // 2 :][:1], column([1.0] * n)).count_nonzero()


inputs_of_a_stack = Number(
    aim="measure-reach",
    asks=(
        "In one layer with a kernel of <width> neighbouring taps, an output sees <width> inputs. "
        "You stack <layers> such layers. How many inputs does an output far from the ends see then?"
    ),
    draw=lambda rng: dict(zip(("width", "layers"), rng.choice(STACKS), strict=True)),
    right=inputs_read,
    steps=lambda width, layers: (
        f"A kernel of {width} taps reaches {width // 2} "
        f"{'place' if width == 3 else 'places'} to each side.",
        f"Each layer starts where the one above it ended, so {layers} layers reach {layers} · "
        f"{width // 2} = {layers * (width // 2)} places to each side.",
        f"With the place in the middle, that makes 2 · {layers * (width // 2)} + 1 inputs.",
    ),
    check="Draw two layers of three taps each, and mark all the inputs from which a line leads to "
    "one output.",
    tolerance=0.4,
    placement=True,
    mistakes={
        "You added the widths of the layers. The fields of neighbouring taps overlap: how many "
        "more inputs does another layer let an output see?":
            lambda width, layers: width * layers,
        "You multiplied the widths. That's the number of paths, and many of them lead to the "
        "same input.":
            lambda width, layers: width**layers,
        "You counted only one side and the output's own place, or only one layer. A kernel reaches "
        "both ways in every layer.":
            lambda width, layers: layers * (width // 2) + 1,
        "Those are the inputs on the two sides. Does the output also see the input at its own "
        "place?":
            lambda width, layers: layers * (width - 1),
    },
)  # fmt: skip


def causal(x: Tensor, width: int) -> Tensor:
    return windowed_attention(x, x, x, width, causal=True)


def two_windows(width: int):
    return compose([partial(causal, width=width)] * 2)


def point(n: int) -> Tensor:
    return torch.randn(n, 2, generator=torch.Generator().manual_seed(0)).double()


# a gradient for each pair: once for each size, not for each variant
@cache
def positions_seen(n: int, width: int) -> Tensor:
    return (footprint(two_windows(width), point(n)) > 0).double()


@cache
def seen_the_other_way(n: int, width: int) -> Tensor:
    return mutant(FOOTPRINT, "row and column are exchanged")(two_windows(width), n, 2).double()


seen_through_two_windows = Maps(
    aim="measure-reach",
    asks=(
        "A causal window of <width> positions ends at the query's own position. You stack two "
        "layers of attention in such windows, over <n> tokens. Which map shows which inputs "
        "(columns) each output (row) sees?"
    ),
    draw=lambda rng: dict(zip(("n", "width"), rng.choice([(6, 2), (8, 3)]), strict=True)),
    right=positions_seen,
    steps=lambda n, width: (
        "One layer does not look ahead, so two layers don't either: nothing lies to the right of "
        "the diagonal.",
        f"In the upper layer, an output reads its own position and {width - 1} before it. The "
        "farthest of these has read just as far back again in the lower layer.",
        f"So an output sees its own position and {2 * (width - 1)} before it.",
    ),
    check="Take the last row. What is the farthest position that it reads in the upper layer, and "
    "what has that position read in the lower one?",
    mistakes={
        "In this map, the outputs see what comes after them. Is a row an output or an input?":
            seen_the_other_way,
        "This map shows what one layer sees. In the second layer, an output reads tokens that have "
        "already read others.":
            lambda n, width: window_mask(n, width, causal=True).double(),
        "In this map, an output sees one position too many. Each window includes the position that "
        "it starts from: how far back does one layer reach?":
            lambda n, width: window_mask(n, 2 * width, causal=True).double(),
    },
)  # fmt: skip


wrong_line_of_the_windows = Line(
    aim="window",
    asks=(
        "For each position of `x`, which has the shape `(n, d)`, this function should give the "
        "`width` vectors around it, in the shape `(n, width, d)`, with zeros beyond the ends; "
        "`width` is odd. `pad` takes the amounts for the last axis first, then for the one before "
        "it; `unfold(-2, width, 1)` cuts out all stretches of `width` positions and puts the new "
        "axis last. Which line is wrong?"
    ),
    faults={
        "positions near the ends get no window":
            "The windows are cut from `x` itself, so the zeros are never used, and the positions "
            "near the ends get no window.",
        "it adds zeros to every vector":
            "`pad` counts axes from the last one, so a single pair of numbers makes every vector "
            "wider and adds no position.",
        "the last two axes are swapped":
            "`unfold` puts the positions of a window last, after the width of the vectors, so "
            "these two axes still have to be swapped.",
        "the windows lie before their position":
            "All the zeros are in front, so a window ends at its position. Half of it should come "
            "after.",
    },
    text_of=partial(texts, WINDOWS),
    steps=(
        "Take three positions of two numbers and a width of 3, and write down the shape after each "
        "line. If all the shapes are right, ask which positions are in the first window.",
    ),
    check="Write down the shape after each line, for three positions, vectors of two numbers and a "
    "width of 3. If all shapes are right, which positions are in the first window?",
    minutes=3,
    mistakes={
        "That line is right: a window of odd width reaches as far to the left as to the right.":
            "width // 2",
        "That line is right: it does what the question says about the function that it calls.":
            lambda mutant, **_: "padded.unfold" if "padded.unfold" in mutant else "pad(x",
        NAMES_ONLY: "def ",
    },
)  # fmt: skip


def without_the_zeros(n, size, width):
    side = width // 2
    blocks = range(0, n, size)
    return sum(size * (min(n, start + size + side) - max(0, start - side)) for start in blocks)


scores_in_blocks = Number(
    aim="window",
    asks=(
        "<n> queries are cut into blocks of <size>. A query's window holds <width> positions, with "
        "the query's own in the middle. Each block is multiplied, in one product, by all the keys "
        "that any of its queries reaches; beyond the ends, zeros stand in for the keys. How many "
        "scores are computed in all?"
    ),
    draw=lambda rng: {
        "size": (size := rng.choice([2, 3, 4, 6])),
        "n": size * rng.choice([4, 5, 10]),
        "width": rng.choice([3, 5, 7]),
    },
    right=lambda n, size, width: mask_of_blocks(
        torch.empty(n // size, size, 1), n, *sides(width)
    ).numel(),
    steps=lambda n, size, width: (
        f"A block of {size} neighbouring queries reaches its own {size} positions and "
        f"{width // 2} more on each side: {size + width - 1} keys.",
        f"That makes {size} · {size + width - 1} = {size * (size + width - 1)} scores for a block.",
        f"There are {n // size} blocks, so there are {n * (size + width - 1)} scores.",
    ),
    check="Draw one block. What is the first key that its first query reaches, and what is the "
    "last key that its last query reaches?",
    tolerance=0.4,
    mistakes={
        "Those are the scores inside the windows. A block is multiplied as a whole: does its first "
        "query also meet the keys of its last one?":
            lambda n, size, width: n * width,
        "You added a whole window to the block, but a part of a window lies inside the block. How "
        "many keys does the block reach beyond its own positions, on each side?":
            lambda n, size, width: n * (size + width),
        "You extended the block on one side only. A window has its query in the middle.":
            lambda n, size, width: n * (size + width // 2),
        "You left out the keys beyond the ends. They are zeros, but are their scores computed "
        "anyway?":
            without_the_zeros,
        "Those are the scores of one block. How many blocks are there?":
            lambda n, size, width: size * (size + width - 1),
        "You counted all the pairs of a query and a key. Which keys does a block not meet, because "
        "none of its queries reaches them?":
            lambda n, size, width: n * n,
        "You let the queries of a block meet only the keys of that block. Which keys beyond it "
        "does the first query reach, and which does the last query reach?":
            lambda n, size, width: n * size,
        "You added a whole window on each side. A window has its query in the middle: how far "
        "does it reach to one side?":
            lambda n, size, width: n * (size + 2 * width),
    },
)  # fmt: skip


TAPS = -2, -1, 1, 2, 3, 4


def blunt(rng) -> dict:
    # the mean of the five is a whole number
    tokens = rng.choice([five for five in combinations(range(8), 5) if sum(five) % 5 == 0])
    return {"tokens": tuple(rng.sample(tokens, 5)), "taps": tuple(rng.sample(TAPS, 3))}


heads_at_zero = Number(
    aim="convolution-by-heads",
    asks=(
        "The kernel <taps> becomes three heads, for the offsets −1, 0 and 1. In each, a key's "
        "score is $-\\alpha$ times the squared distance from the place that the head looks at. "
        "Each head's output is multiplied by its tap, and the three results are added up. You set "
        "$\\alpha$ to 0. What is the output for the token in the middle of <tokens>?"
    ),
    draw=blunt,
    right=lambda tokens, taps: convolution_as_attention(kernel_of(taps), 0.0)(column(tokens))[2, 0],
    steps=lambda tokens, taps: (
        "With $\\alpha = 0$, all the scores are 0, so each head gives each of the five tokens a "
        "weight of 1/5.",
        f"Every head returns the mean of the five, {sum(tokens) // 5}, whatever place it looks at.",
        f"The taps add up to {show(sum(taps))}, so the three heads together give "
        f"{show(sum(taps))} · {sum(tokens) // 5}.",
    ),
    check="What are the scores of one head when $\\alpha$ is 0, and which weights does a softmax "
    "turn them into?",
    mistakes={
        "All the scores are 0, but the weights are not. What does a softmax turn equal scores "
        "into?":
            0,
        "That's the output of the kernel itself, which very sharp heads come close to. Does a head "
        "still know its place when all its scores are equal?":
            lambda tokens, taps: convolution(column(tokens), kernel_of(taps))[2, 0],
        "You gave each token the weight exp(0) = 1. The weights of a head have to sum to 1: what "
        "do you divide by?":
            lambda tokens, taps: sum(taps) * sum(tokens),
        "You averaged the three tokens in the middle. If all the scores of a head are equal, "
        "which keys get a weight?":
            lambda tokens, taps: sum(taps) * sum(tokens[1:4]) / 3,
        "That's the output of one head. Each output is multiplied by the head's tap before the "
        "three are added up.":
            lambda tokens, taps: sum(tokens) / len(tokens),
        "You took the mean of the heads. What should be done with their outputs once each has been "
        "multiplied by its tap?":
            lambda tokens, taps: sum(taps) / len(taps) * sum(tokens) / len(tokens),
        "Each of your heads looks only at the token in the middle. What scores do the other tokens "
        "get?":
            lambda tokens, taps: sum(taps) * tokens[2],
    },
)  # fmt: skip


def seen_by(tokens) -> list[tuple]:
    """What the three heads look at, for each token."""
    first, second, third = tokens
    return [(first, first, second), tokens, (second, third, third)]


def flipped(taps, tokens):
    return outputs_of_sharp_heads.right(taps[::-1], tokens)


def mirrored(taps, tokens):
    _, inner, _ = tokens
    return convolution(column([inner, *tokens, inner]), kernel_of(taps))[1:-1, 0]


outputs_of_sharp_heads = Row(
    aim="convolution-by-heads",
    asks=(
        "Three heads stand in for a kernel with the taps <taps> at the offsets −1, 0 and 1. A "
        "head's place is the query's position plus the head's offset, and each key's score is "
        "$-\\alpha$ times its squared distance from that place, with a very large $\\alpha$. Each "
        "head's output is multiplied by its tap, and the three results are added up. What are the "
        "outputs for the tokens of the sequence <tokens>?"
    ),
    draw=lambda rng: {
        "taps": tuple(rng.sample(range(1, 6), 3)),
        "tokens": tuple(rng.sample([0, 1, 2, 3, 10], 3)),
    },
    right=lambda taps, tokens: convolution_as_attention(kernel_of(taps), SHARP)(column(tokens))[
        :, 0
    ],
    steps=lambda taps, tokens: (
        "With a large $\\alpha$, a head looks only at the key nearest to its place.",
        "At each end, one head's place lies outside. The nearest key is the end token's own, so "
        "this token counts twice.",
        *(
            f"The {ordinal} token gets "
            + " + ".join(f"{tap} · {x}" for tap, x in zip(taps, inputs, strict=True))
            + "."
            for ordinal, inputs in zip(("first", "second", "third"), seen_by(tokens), strict=True)
        ),
    ),
    check="For every token, the weights of each head sum to 1. Where does the head for offset −1 "
    "put its weight for the first token?",
    minutes=3,
    placement=True,
    mistakes={
        "That's what the kernel gives, because it finds zeros outside. A softmax has to put its "
        "weight somewhere: which key is nearest to a place outside?":
            lambda taps, tokens: convolution(column(tokens), kernel_of(taps))[:, 0],
        "You joined the two ends. A head whose place lies outside looks at the key nearest to that "
        "place: at which end is this key?":
            lambda taps, tokens: mutant(HEADS, "the two ends are joined")(
                column(tokens), kernel_of(taps)
            )[:, 0],
        "You flipped the kernel. Which neighbour is at offset −1, and which tap goes with it?":
            flipped,
        "You flipped the kernel, and let the heads find zeros outside. Which tap goes with offset "
        "−1? And where does a softmax put its weight when a head's place lies outside?":
            lambda taps, tokens: mutant(HEADS, "the kernel is flipped")(
                column(tokens), kernel_of(taps)
            )[:, 0],
        "At the ends, you used the inner neighbour in place of the one outside. Which key is "
        "nearest to a place just outside?":
            mirrored,
    },
)  # fmt: skip


def is_whole(x, left, right, y) -> bool:
    """Whether the first token's output is a whole number, and the two taps beside it differ."""
    return left != right and (x + right**x * y) % (left**x + 1 + right**x) == 0


# a first token of 1 would leave the factors as they are, and twice 2 is 2 squared
FIRST_TOKENS = [
    case
    for case in product((2,), (1, 2, 3, 4), (1, 2, 3, 4), range(2, 24))
    if is_whole(*case) and max(case[1:3]) > 2
]


def draw_token(rng) -> dict:
    x, left, right, y = rng.choice(FIRST_TOKENS)
    factors = tuple(Ln(number) for number in (left, 1, right))
    return {"x": x, "y": y, "factors": factors, "left": left, "right": right}


def rows_of_factors(left, right) -> Tensor:
    return torch.tensor([[[left, 1, right]]], dtype=torch.float64).log()


def nothing_for_a_score_of_0(x, y, left, right, factors):
    exponentials = [base**x if base > 1 else 0 for base in (left, 1, right)]
    return exponentials[2] * y / sum(exponentials)


def times_the_number(x, y, left, right, factors):
    exponentials = [x * base if base > 1 else 1 for base in (left, 1, right)]
    return (exponentials[1] * x + exponentials[2] * y) / sum(exponentials)


output_of_a_dynamic_convolution = Number(
    aim="between-layers",
    asks=(
        "A dynamic convolution has one head and three taps, at the offsets −1, 0 and 1. A token of "
        "one number $x$ gives the taps the scores $x$ times <factors>, which go through a softmax. "
        "Beyond the ends, there are zeros. The first token of a sequence is <x>, and the second is "
        "<y>. What is the output for the first token?"
    ),
    draw=draw_token,
    right=lambda x, y, left, right, factors: dynamic_convolution(
        column([x, y]), rows_of_factors(left, right)
    )[0, 0],
    steps=lambda x, y, left, right, factors: (
        f"The first token makes the weights. The exponentials of its scores are {left**x}, 1 and "
        f"{right**x}, which sum to {left**x + 1 + right**x}.",
        "The tap at offset −1 finds 0 outside, but its weight still counts in that sum.",
        f"So the output is ({left**x} · 0 + 1 · {x} + {right**x} · {y}) / "
        f"{left**x + 1 + right**x}.",
    ),
    check="Write down the weights of all three taps: do they sum to 1?",
    mistakes={
        "You left the tap that looks outside out of the softmax, as attention would. In a dynamic "
        "convolution, each tap has a score, whatever it finds: does the tap at offset −1 take "
        "part?":
            lambda x, y, left, right, factors: (x + right**x * y) / (1 + right**x),
        "You used the exponentials as weights. What do you divide them by, so that the weights sum "
        "to 1?":
            lambda x, y, left, right, factors: x + right**x * y,
        "You took the factors themselves for the scores. What are they multiplied by?":
            lambda x, y, left, right, factors: (x + right * y) / (left + 1 + right),
        "You gave the second token the weight of the wrong tap. At which offset does this token "
        "stand, seen from the first?":
            lambda x, y, left, right, factors: dynamic_convolution(
                column([x, y]), rows_of_factors(right, left)
            )[0, 0],
        "You left out the tap whose score is 0, as if it got no weight. What is exp(0)?":
            nothing_for_a_score_of_0,
        "You took something like exp(2 ln 7) for 2 times 7. What is $x$ ln $a$ the logarithm of?":
            times_the_number,
    },
)  # fmt: skip


weight_that_may_change = Choice(
    aim="between-layers",
    asks=(
        "Four layers each give token 5 a weighted sum of tokens 4, 5 and 6. Now token 6 changes, "
        "and the other two stay the same. In which of these layers may the weight of token 4 in "
        "the sum change?"
    ),
    right="attention in a window of three",
    steps=(
        "In a depthwise and in a lightweight convolution, the weights are learned numbers, which "
        "stay the same whatever the input is.",
        "In a dynamic convolution, the weights are computed from the token in the middle, and that "
        "is token 5.",
        "In attention, the score of token 6 changes, and the softmax shares out the weight among "
        "all three, so the weight of token 4 changes as well.",
    ),
    check="For each layer, ask which tokens its weights are computed from.",
    minutes=1,
    mistakes={
        "A dynamic convolution computes its weights from a token, but from only one. Which of the "
        "three is it?":
            "a dynamic convolution with three taps",
        "The weights of a lightweight convolution have been through a softmax, but a softmax of "
        "what? Does it contain anything from a token?":
            "a lightweight convolution with three taps",
        "A depthwise convolution has a number of its own for each tap and channel. Does it look at "
        "any token to get these numbers?":
            "a depthwise convolution with three taps",
    },
)  # fmt: skip
