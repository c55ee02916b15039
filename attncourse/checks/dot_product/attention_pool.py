"""Exercise attention_pool: one vector for a whole sequence, by one learned query."""

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="attention_pool",
    chapter="dot_product",
    title="One vector for a sequence",
    kind="extend",
    difficulty=2,
    minutes=15,
    points=15,
    hints=(
        "This is attention with a single query, the same for every sequence; the positions are "
        "both keys and values. A mean over positions would be the case of equal weights.",
        "Scores x @ query / sqrt(d), of shape (batch, n). Compare the positions 0 to n-1 with "
        "lengths[:, None] to see what is a word; fill the rest with -inf; softmax over the "
        "positions; add up x times its weight. A length of 0 leaves no word, and the softmax NaN: "
        "set the weights of padding to zero before they meet x.",
        "words = torch.arange(n, device=x.device) < lengths[:, None], and "
        "scores.masked_fill(~words, -torch.inf).softmax(-1).masked_fill(~words, 0) are the weights",
    ),
)


@exercise.reference
def by_hand(x, query, lengths):
    rows = []
    for sentence, length in zip(x, lengths.tolist(), strict=True):
        words = sentence[:length]
        scores = (words * query).sum(-1) / len(query) ** 0.5
        parts = [(s - scores.max().detach()).exp() for s in scores]
        means = [part / sum(parts) * word for part, word in zip(parts, words, strict=True)]
        rows.append(sum(means, start=0 * sentence.sum(0)))
    return torch.stack(rows)


@exercise.cases
def cases(draw):
    n, d = draw.sizes(2, 4, 7)
    x, query = draw.normal(3, n, d), draw.normal(d)
    lengths = torch.tensor(draw.sizes(3, 1, n - 1))
    sizes = f"n={n}, d={d}, lengths={lengths.tolist()}"
    long = (x.repeat(8, 8, 1), query, lengths.repeat(8))
    yield Case(f"a batch of 3, {sizes}", (x, query, lengths), longer=long)
    yield Case("three sequences without padding", (x, query, torch.full((3,), n)))
    yield Case("scores 10000 times larger", (x, 1e4 * query, lengths))
    empty = lengths.clone()
    empty[1] = 0
    yield Case("a sequence of length 0", (x, query, empty))
    # a fill that is not small enough outweighs these words, and so does padding left to the softmax
    some = torch.cat([torch.tensor([n]), lengths[1:]])
    signs = torch.where(words_of(x, some), -1e3, 1e3)[..., None]
    opposite = signs * (1 + x.abs()), 1e3 * (1 + query.abs()), some
    yield Case("scores below -1000000 at the words, and above 1000000 at padding", opposite)
    # too many digits for float32; a gradient would lose some in float64, too
    common = torch.cat([x[..., :1] + 1e5, x[..., 1:]], dim=-1)
    about = "x with 100000 added to the first number of every position"
    yield Case(about, (common, query, lengths), gradient=False)
    yield Case("lengths as int32", (x, query, lengths.int()))
    yield Case("a batch of 1", (x[:1], query, lengths[:1]))
    yield Case("one position", (x[:, :1], query, torch.tensor([1, 0, 1])))


def words_of(x, lengths):
    """True where a position holds a word, False at padding."""
    return torch.arange(x.shape[1], device=x.device) < lengths[:, None]


def scores_of(x, query):
    return x @ query / query.shape[-1] ** 0.5


def pool(x, query, lengths, *, words=None, scores=None, fill=-torch.inf, empty=0.0):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    words = words_of(x, lengths) if words is None else words
    scores = scores_of(x, query) if scores is None else scores
    weights = scores.masked_fill(~words, fill).softmax(-1)
    if empty is not None:
        weights = weights.masked_fill(~words.any(-1, keepdim=True), empty)
    return (weights[:, None] @ x).squeeze(1)


@exercise.valid
def by_einsum(x, query, lengths):
    scores = torch.einsum("bnd,d->bn", x, query) * x.size(-1) ** -0.5
    words = words_of(x, lengths)
    weights = torch.softmax(torch.where(words, scores, -1e30), dim=1) * words
    return torch.einsum("bn,bnd->bd", weights, x)


@exercise.valid
def masked_after_with_renormalisation(x, query, lengths):
    words = words_of(x, lengths)
    scores = scores_of(x, query)
    top = scores.masked_fill(~words, torch.finfo(x.dtype).min).amax(-1, keepdim=True)
    parts = (scores - top).masked_fill(~words, -1e9).exp() * words
    return (parts[..., None] * x).sum(1) / parts.sum(-1, keepdim=True).clamp(min=1e-9)


@exercise.valid
def in_log_space(x, query, lengths):
    words = words_of(x, lengths)
    scores = torch.nn.functional.linear(x, query[None]).squeeze(-1) / query.shape[0] ** 0.5
    scores = scores.masked_fill(~words, -1e20)
    weights = (scores - scores.logsumexp(1, keepdim=True)).exp()
    pooled = (weights.unsqueeze(-1) * x).sum(dim=1)
    return torch.where(lengths[:, None] > 0, pooled, 0.0)


@exercise.valid
def with_a_place_for_nothing(x, query, lengths):
    empty = (lengths == 0)[:, None]
    scores = scores_of(x, query).masked_fill(~words_of(x, lengths), -torch.inf)
    nothing = torch.zeros_like(scores[:, :1]).masked_fill(~empty, -torch.inf)
    weights = torch.cat([scores, nothing], dim=1).softmax(1)[:, :-1]
    return torch.einsum("bn,bnd->bd", weights, x)


@exercise.valid
def cut_to_the_longest(x, query, lengths):
    return pool(x[:, : int(lengths.max())], query, lengths)


@exercise.valid
def float64_inside(x, query, lengths):
    return pool(x.double(), query.double(), lengths).to(x.dtype)


@exercise.mutant("the scores are not scaled: divide by sqrt(d)")
def unscaled(x, query, lengths):
    return pool(x, query, lengths, scores=x @ query)


@exercise.mutant("the scores are divided by d, not by its square root")
def scaled_by_d(x, query, lengths):
    return pool(x, query, lengths, scores=x @ query / query.shape[0])


@exercise.mutant("the scale is taken from the length: it is that of the width, d")
def scaled_by_the_length(x, query, lengths):
    return pool(x, query, lengths, scores=x @ query / lengths.clamp(min=1)[:, None] ** 0.5)


@exercise.mutant("the scale is a fixed number: it follows the width d")
def hard_coded_scale(x, query, lengths):
    return pool(x, query, lengths, scores=x @ query / 64**0.5)


@exercise.mutant("all words weigh the same: the query should decide how much each counts")
def plain_mean(x, query, lengths):
    return pool(x, query, lengths, scores=0 * scores_of(x, query))


@exercise.mutant("only the best position is kept: take the mean of all, weighted by the softmax")
def best_position_only(x, query, lengths):
    words = words_of(x, lengths)
    best = scores_of(x, query).masked_fill(~words, -torch.inf).argmax(-1)
    return x[torch.arange(len(x), device=x.device), best] * words.any(-1, keepdim=True)


@exercise.mutant("the sum is weighted by the scores themselves: the softmax is missing")
def without_softmax(x, query, lengths):
    weights = scores_of(x, query) * words_of(x, lengths)
    return (weights[..., None] * x).sum(1)


@exercise.mutant("it returns the weights: multiply them with the positions and add up")
def weights_only(x, query, lengths):
    words = words_of(x, lengths)
    weights = scores_of(x, query).masked_fill(~words, -torch.inf).softmax(-1)
    return weights.masked_fill(~words, 0.0)


@exercise.mutant("the positions are weighted but not added up: one vector a sequence is asked for")
def not_added_up(x, query, lengths):
    words = words_of(x, lengths)
    weights = scores_of(x, query).masked_fill(~words, -torch.inf).softmax(-1)
    return weights.masked_fill(~words, 0.0)[..., None] * x


AVERAGED = "the weights already sum to one: sum, do not average"


@exercise.mutant(AVERAGED)
def averaged_over_the_positions(x, query, lengths):
    return pool(x, query, lengths) / x.shape[1]


@exercise.mutant(AVERAGED)
def divided_by_the_length(x, query, lengths):
    return pool(x, query, lengths) / lengths.clamp(min=1)[:, None]


@exercise.mutant(
    "weights (batch, n) need one more axis to meet x (batch, n, d): weights[:, None] @ x, and "
    "then without that axis again"
)
def weights_without_an_axis(x, query, lengths):
    words = words_of(x, lengths)
    weights = scores_of(x, query).masked_fill(~words, -torch.inf).softmax(-1)
    return weights.masked_fill(~words, 0.0) @ x


@exercise.mutant("an axis of size 1 goes missing: drop the axis you added by its place, not all")
def squeezed_everywhere(x, query, lengths):
    return pool(x, query, lengths).squeeze()


@exercise.mutant(
    "the softmax runs over the batch: each sequence, over its positions, must sum to one"
)
def softmax_over_the_batch(x, query, lengths):
    words = words_of(x, lengths)
    weights = scores_of(x, query).masked_fill(~words, -torch.inf).softmax(0)
    return (weights.masked_fill(~words, 0.0)[:, None] @ x)[:, 0]


@exercise.mutant("the softmax overflows or divides 0 by 0: take the largest score away first")
def unstable_softmax(x, query, lengths):
    words = words_of(x, lengths)
    parts = scores_of(x, query).exp() * words
    weights = parts / parts.sum(-1, keepdim=True)
    return (weights.masked_fill(~words, 0.0)[:, None] @ x)[:, 0]


@exercise.mutant(
    "the largest score of all is taken away, padding included: take away that of a sequence's words"
)
def largest_score_of_all(x, query, lengths):
    scores = scores_of(x, query)
    parts = (scores - scores.max()).exp() * words_of(x, lengths)
    weights = parts / parts.sum(-1, keepdim=True).clamp(min=1e-9)
    return (weights[:, None] @ x)[:, 0]


@exercise.mutant("the lengths are ignored: padding gets weight")
def lengths_ignored(x, query, lengths):
    return pool(x, query, lengths, words=torch.ones_like(words_of(x, lengths)))


@exercise.mutant(
    "the first padding counts as a word: positions start at 0, so the last is length - 1"
)
def one_position_too_many(x, query, lengths):
    return pool(x, query, lengths, words=words_of(x, lengths + 1))


@exercise.mutant("the last word is cut off: the words are the positions below the length")
def one_position_too_few(x, query, lengths):
    return pool(x, query, lengths, words=words_of(x, lengths - 1))


@exercise.mutant("the mask is upside down: the words count, the padding does not")
def mask_inverted(x, query, lengths):
    return pool(x, query, lengths, words=~words_of(x, lengths))


@exercise.mutant("the words are looked for at the wrong end: padding comes after them")
def padding_on_the_left(x, query, lengths):
    return pool(x, query, lengths, words=words_of(x, lengths).flip(-1))


@exercise.mutant("one length is used for all: every sequence has its own")
def first_length_for_all(x, query, lengths):
    return pool(x, query, lengths[:1].expand(len(x)))


@exercise.mutant("a score of 0 still gets weight, since exp(0) = 1: fill padding with -inf")
def zero_fill(x, query, lengths):
    return pool(x, query, lengths, fill=0.0)


@exercise.mutant("zeroed padding has a score of 0 and still gets weight: mask the scores, not x")
def padding_zeroed(x, query, lengths):
    x = x * words_of(x, lengths)[..., None]
    return (scores_of(x, query).softmax(-1)[:, None] @ x)[:, 0]


FINITE_FILL = "scores may be smaller than the number you fill with: fill with -inf"


@exercise.mutant(FINITE_FILL)
def fill_with_minus_ten(x, query, lengths):
    return pool(x, query, lengths, fill=-10.0)


@exercise.mutant(FINITE_FILL)
def fill_with_minus_ten_thousand(x, query, lengths):
    return pool(x, query, lengths, fill=-1e4)


@exercise.mutant("padding is taken out after the softmax, so the weights no longer sum to one")
def mask_after_the_softmax(x, query, lengths):
    weights = scores_of(x, query).softmax(-1) * words_of(x, lengths)
    return (weights[:, None] @ x)[:, 0]


@exercise.mutant(
    "padding with a large score leaves nothing to the words: mask the scores before the softmax"
)
def renormalised_after_the_softmax(x, query, lengths):
    weights = scores_of(x, query).softmax(-1) * words_of(x, lengths)
    weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)
    return (weights[:, None] @ x)[:, 0]


@exercise.mutant("lengths needs a second axis to be compared with positions: lengths[:, None]")
def lengths_without_an_axis(x, query, lengths):
    words = torch.arange(x.shape[1], device=x.device) < lengths
    return pool(x, query, lengths, words=words)


@exercise.mutant("a sequence of length 0 gets NaN: it should get zeros")
def nan_for_length_zero(x, query, lengths):
    return pool(x, query, lengths, empty=None)


@exercise.mutant("a sequence of length 0 gets the mean of its padding: it should get zeros")
def padding_for_length_zero(x, query, lengths):
    return pool(x, query, lengths, fill=-1e30, empty=None)


@exercise.mutant("a sequence of length 0 gets its first padding: it should get zeros")
def length_of_at_least_one(x, query, lengths):
    return pool(x, query, lengths.clamp(min=1))


@exercise.mutant("one sequence of length 0 makes all of them zeros: it alone should be")
def all_zeros_for_one(x, query, lengths):
    return pool(x, query, lengths) * (lengths > 0).all()


NAN_GRADIENT = (
    "a length of 0 has a NaN gradient: put zeros in place of NaN in the weights, before they meet "
    "x, and replace a masked score instead of adding -inf to it"
)


@exercise.mutant(NAN_GRADIENT)
def nan_gradient_for_length_zero(x, query, lengths):
    scores = scores_of(x, query) + torch.where(words_of(x, lengths), 0.0, -torch.inf)
    return (scores.softmax(-1).nan_to_num(0.0)[:, None] @ x)[:, 0]


@exercise.mutant(NAN_GRADIENT)
def nan_replaced_at_the_end(x, query, lengths):
    return pool(x, query, lengths, empty=None).nan_to_num(0.0)


@exercise.mutant("it loops over positions or sequences: compute all scores at once")
def loop_over_positions(x, query, lengths):
    scores = []
    for position in x.unbind(1):
        scores.append(scores_of(position, query))
    return pool(x, query, lengths, scores=torch.stack(scores, dim=1))


@exercise.mutant("no gradient reaches the scores: nothing may be detached")
def scores_detached(x, query, lengths):
    return pool(x, query, lengths, scores=scores_of(x.detach(), query.detach()))


@exercise.mutant("the input changes: mask a copy, not x itself")
def padding_zeroed_in_place(x, query, lengths):
    x[~words_of(x, lengths)] = 0
    return pool(x, query, lengths)


@exercise.mutant("you compute in float32: stay in the dtype of x")
def float32_inside(x, query, lengths):
    return pool(x.float(), query.float(), lengths).to(x.dtype)


@exercise.mutant("the result is always float32: keep the dtype of x")
def always_float32(x, query, lengths):
    return pool(x.float(), query.float(), lengths)


@exercise.mutant("the result is always float64: keep the dtype of x")
def always_float64(x, query, lengths):
    return pool(x.double(), query.double(), lengths)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def positions_on_the_cpu(x, query, lengths):
    return pool(x, query, lengths, words=torch.arange(x.shape[1]) < lengths[:, None])
