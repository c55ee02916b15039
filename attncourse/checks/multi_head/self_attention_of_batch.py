"""Exercise self_attention_of_batch: heads, and a padding mask that meets the wrong axis."""

import torch

from attncourse.checks.dot_product.shared.masked_softmax import softmax
from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.multi_head.shared import heads as ways
from attncourse.checks.multi_head.shared.heads import join, split

exercise = Exercise(
    name="self_attention_of_batch",
    chapter="multi_head",
    title="The padding that changes heads",
    kind="debug",
    difficulty=2,
    minutes=15,
    points=15,
    hints=(
        "Write down the shapes of the scores and of the mask, one above the other, aligned at the "
        "right. Which axis of the scores does the batch of the mask meet?",
        "The scores are (batch, heads, n, n), and the mask is the same for every head and every "
        "query: it needs an axis of size 1 for each of the two.",
        "lengths[:, None, None, None] compares to a mask of shape (batch, 1, 1, n)",
    ),
)


@exercise.stub
def self_attention_of_batch(x, w_q, w_k, w_v, lengths, heads):
    q, k, v = (
        (x @ w.T).unflatten(-1, (heads, -1)).transpose(-3, -2)  # (batch, heads, n, d / heads)
        for w in (w_q, w_k, w_v)
    )
    scores = q @ k.mT / q.shape[-1] ** 0.5
    words = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    mask = words[:, None, :]
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0.0)
    return (weights @ v).transpose(-3, -2).flatten(-2)


@exercise.reference
def sentence_by_sentence(x, w_q, w_k, w_v, lengths, heads):
    out = []
    for sentence, length in zip(x, lengths.tolist(), strict=True):
        q, k, v = ((sentence @ w.T).tensor_split(heads, dim=-1) for w in (w_q, w_k, w_v))
        joined = []
        for a, b, c in zip(q, k, v, strict=True):
            weights = (a @ b[:length].T / a.shape[-1] ** 0.5).softmax(-1)
            joined.append(weights @ c[:length])
        out.append(torch.cat(joined, dim=-1) + 0 * sentence)
    return torch.stack(out)


def drawn(draw, lengths, n, heads, d):
    """A batch of sentences of those lengths, filled up to n, and the weights of a layer."""
    weights = (draw.normal(d, d) / d**0.5 for _ in range(3))
    return draw.normal(len(lengths), n, d), *weights, torch.tensor(lengths), heads


@exercise.cases
def cases(draw):
    n, short = draw.integer(5, 6), draw.integer(2, 3)
    wide = drawn(draw, (5, 8, 2, 1) * 8, 8, 16, 48)
    few = drawn(draw, (n, short), n, 3, 15)
    yield Case(f"2 sentences, 3 heads, n={n}, d=15", few, longer=wide)
    yield Case("3 sentences, 3 heads", drawn(draw, (short, n, 4), n, 3, 15))
    yield Case("one sentence, 2 heads", drawn(draw, (short,), n, 2, 10))
    yield Case("4 sentences, 2 heads", drawn(draw, (1, 2, n, 4), n, 2, 6))
    yield Case("2 sentences without padding", drawn(draw, (n, n), n, 3, 15))
    x, w_q, w_k, w_v, lengths, heads = few
    yield Case("scores 3600 times larger", (x, 60 * w_q, 60 * w_k, w_v, lengths, heads))
    # every score is negative, and those of the words are far below those of the padding
    words = torch.arange(n)[:, None] < short
    far = torch.where(words, 1e5, 1.0) * (1 + x.abs())
    plus, minus = 1 + w_q.abs(), -1 - w_k.abs()
    both = lengths.new_full((2,), short)
    yield Case("padding with far higher scores", (far, plus, minus, w_v, both, heads))
    high = torch.where(words, 1.0, 1e3) * (1 + x.abs())
    yield Case("padding with high scores", (high, plus, -minus, w_v, both, heads))
    yield Case("2 sentences, one of length 0", (x, w_q, w_k, w_v, lengths - short, heads))
    yield Case("one word", (x[:, :1], w_q, w_k, w_v, lengths.clamp(max=1), heads))


def to_words(x, lengths):
    return torch.arange(x.shape[1], device=x.device) < lengths[:, None]


def attended(
    x, w_q, w_k, w_v, lengths, heads, *, mask=None, way=softmax, cut=split, merge=join, scale=None
):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    q, k, v = (cut(x @ w.T, heads) for w in (w_q, w_k, w_v))
    mask = to_words(x, lengths)[:, None, None, :] if mask is None else mask
    scores = q @ k.mT / (q.shape[-1] ** 0.5 if scale is None else scale)
    return merge(way(scores, mask) @ v)


@exercise.valid
def an_axis_for_the_heads(x, w_q, w_k, w_v, lengths, heads):
    return attended(x, w_q, w_k, w_v, lengths, heads)


@exercise.valid
def heads_before_the_batch(x, w_q, w_k, w_v, lengths, heads):
    # the mask of shape (batch, 1, n) then lacks the leading axis
    return attended(
        *(x, w_q, w_k, w_v, lengths, heads),
        mask=to_words(x, lengths)[:, None, :],
        cut=lambda x, heads: x.unflatten(-1, (heads, -1)).movedim(-2, 0),
        merge=lambda x: x.movedim(0, -2).flatten(-2),
    )


@exercise.valid
def sentences_and_heads_in_one_axis(x, w_q, w_k, w_v, lengths, heads):
    return attended(
        *(x, w_q, w_k, w_v, lengths, heads),
        mask=to_words(x, lengths)[:, None, :].repeat_interleave(heads, dim=0),
        cut=lambda x, heads: split(x, heads).flatten(0, 1),
        merge=lambda x: join(x.unflatten(0, (-1, heads))),
    )


@exercise.valid
def by_einsum_with_a_large_fill(x, w_q, w_k, w_v, lengths, heads):
    q, k, v = (
        torch.nn.functional.linear(x, w).view(*x.shape[:2], heads, -1) for w in (w_q, w_k, w_v)
    )
    mask = to_words(x, lengths)[:, None, None, :]
    scores = torch.einsum("bihc,bjhc->bhij", q, k) * q.size(-1) ** -0.5
    weights = torch.where(mask, scores, -1e30).softmax(-1) * mask
    return torch.einsum("bhij,bjhc->bihc", weights, v).reshape(x.shape)


@exercise.valid
def empty_sentences_at_the_end(x, w_q, w_k, w_v, lengths, heads):
    def way(scores, mask):
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)

    out = attended(x, w_q, w_k, w_v, lengths, heads, way=way)
    return out.where(lengths[:, None, None] > 0, 0.0)


ways.add_to(
    exercise,
    lambda cut, merge, *args: attended(*args, cut=cut, merge=merge),
)


@exercise.mutant("the mask covers queries: it is the keys that are words or padding")
def queries_masked(x, w_q, w_k, w_v, lengths, heads):
    mask = to_words(x, lengths)[:, None, :, None]
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=mask)


@exercise.mutant("padded queries are masked as well: only the keys are, and each query gets a mean")
def queries_masked_too(x, w_q, w_k, w_v, lengths, heads):
    words = to_words(x, lengths)[:, None]
    mask = words[..., None] & words[..., None, :]
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=mask)


@exercise.mutant("a head axis is there, but not where the heads are: it comes after the batch")
def repeated_in_front(x, w_q, w_k, w_v, lengths, heads):
    mask = to_words(x, lengths)[:, None, :].expand(heads, -1, 1, -1)
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=mask)


@exercise.mutant(
    "the masks are repeated in another order than the heads: those of one sentence come together"
)
def repeated_in_another_order(x, w_q, w_k, w_v, lengths, heads):
    mask = to_words(x, lengths).repeat(heads, 1).view(-1, heads, 1, x.shape[1])
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=mask)


@exercise.mutant("all sentences get the mask of the first: each has a length of its own")
def mask_of_the_first(x, w_q, w_k, w_v, lengths, heads):
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=to_words(x, lengths)[0])


@exercise.mutant("one mask serves all sentences: each has a length of its own")
def mask_of_the_longest(x, w_q, w_k, w_v, lengths, heads):
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=to_words(x, lengths).any(0))


@exercise.mutant("the mask is gone, so words attend to padding: give it the axis that it lacks")
def mask_removed(x, w_q, w_k, w_v, lengths, heads):
    return attended(x, w_q, w_k, w_v, lengths, heads, way=lambda scores, mask: softmax(scores))


@exercise.mutant("only the first head is masked: the mask holds in every head")
def mask_in_the_first_head(x, w_q, w_k, w_v, lengths, heads):
    later = torch.arange(heads, device=x.device)[:, None, None] > 0
    mask = to_words(x, lengths)[:, None, None, :] | later
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=mask)


@exercise.mutant("a sentence of length 0 keeps a word: it should get zeros")
def one_word_at_least(x, w_q, w_k, w_v, lengths, heads):
    mask = to_words(x, lengths.clamp(min=1))[:, None, None, :]
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=mask)


@exercise.mutant("a padded query attends to itself: no query attends to padding, its own neither")
def diagonal_allowed(x, w_q, w_k, w_v, lengths, heads):
    own = torch.eye(x.shape[1], dtype=torch.bool, device=x.device)
    mask = to_words(x, lengths)[:, None, None, :] | own
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=mask)


@exercise.mutant("a word may attend to padding: the key must be a word, whatever the query is")
def words_or_words(x, w_q, w_k, w_v, lengths, heads):
    words = to_words(x, lengths)[:, None]
    mask = words[..., None] | words[..., None, :]
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=mask)


@exercise.mutant("the mask is upside down: True means may attend")
def mask_inverted(x, w_q, w_k, w_v, lengths, heads):
    mask = ~to_words(x, lengths)[:, None, None, :]
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=mask)


@exercise.mutant("one padding is taken for a word: positions count from 0, so they stay below")
def one_too_many(x, w_q, w_k, w_v, lengths, heads):
    mask = to_words(x, lengths + 1)[:, None, None, :]
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=mask)


@exercise.mutant("the mask comes after the softmax, so the rows no longer sum to one")
def mask_after_the_softmax(x, w_q, w_k, w_v, lengths, heads):
    def way(scores, mask):
        return scores.softmax(-1) * mask

    return attended(x, w_q, w_k, w_v, lengths, heads, way=way)


@exercise.mutant("padding with a high score leaves nothing to the words: mask before the softmax")
def renormalised_after_the_softmax(x, w_q, w_k, w_v, lengths, heads):
    def way(scores, mask):
        weights = scores.softmax(-1) * mask
        return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)

    return attended(x, w_q, w_k, w_v, lengths, heads, way=way)


@exercise.mutant("a masked score of 0 still gets weight, since exp(0) = 1: fill with -inf")
def zero_fill(x, w_q, w_k, w_v, lengths, heads):
    def way(scores, mask):
        return softmax(scores, mask, fill=0.0)

    return attended(x, w_q, w_k, w_v, lengths, heads, way=way)


@exercise.mutant("padding is set to zeros, and a score of 0 still gets weight: mask the scores")
def padding_set_to_zeros(x, w_q, w_k, w_v, lengths, heads):
    words = to_words(x, lengths)[:, None, :, None]
    q, k, v = (split(x @ w.T, heads) for w in (w_q, w_k, w_v))
    scores = q @ (k * words).mT / q.shape[-1] ** 0.5
    return join(scores.softmax(-1) @ (v * words))


FILL = "scores may be smaller than the number you fill with: fill with -inf"


@exercise.mutant(FILL)
def large_number_alone(x, w_q, w_k, w_v, lengths, heads):
    return attended(x, w_q, w_k, w_v, lengths, heads, way=ways.large_number_alone)


@exercise.mutant(FILL)
def large_number_and_zeros(x, w_q, w_k, w_v, lengths, heads):
    return attended(x, w_q, w_k, w_v, lengths, heads, way=ways.large_number_and_zeros)


@exercise.mutant(FILL)
def fill_with_minus_thousand(x, w_q, w_k, w_v, lengths, heads):
    def way(scores, mask):
        return softmax(scores, mask, fill=-1e3)

    return attended(x, w_q, w_k, w_v, lengths, heads, way=way)


@exercise.mutant("a sentence of length 0 gets NaN: the second fill made it zeros")
def nan_for_an_empty_sentence(x, w_q, w_k, w_v, lengths, heads):
    def way(scores, mask):
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)

    return attended(x, w_q, w_k, w_v, lengths, heads, way=way)


@exercise.mutant("a sentence of length 0 attends to padding: it should get zeros")
def uniform_for_an_empty_sentence(x, w_q, w_k, w_v, lengths, heads):
    def way(scores, mask):
        return scores.masked_fill(~mask, -1e30).softmax(-1)

    return attended(x, w_q, w_k, w_v, lengths, heads, way=way)


@exercise.mutant("the heads are gone, so the mask fits: keep them, and give the mask an axis")
def a_single_head(x, w_q, w_k, w_v, lengths, heads):
    return attended(x, w_q, w_k, w_v, lengths, 1)


@exercise.mutant("the scale is now that of the whole width: a head's score has d / heads terms")
def scaled_by_the_whole_width(x, w_q, w_k, w_v, lengths, heads):
    return attended(x, w_q, w_k, w_v, lengths, heads, scale=x.shape[-1] ** 0.5)


LOOP = "it loops over sentences or heads: an axis of size 1 is all that the mask lacks"


@exercise.mutant(LOOP)
def loop_over_sentences(x, w_q, w_k, w_v, lengths, heads):
    rows = []
    for i in range(len(x)):
        rows.append(attended(x[i : i + 1], w_q, w_k, w_v, lengths[i : i + 1], heads))
    return torch.cat(rows)


@exercise.mutant(LOOP)
def mask_filled_in_a_loop(x, w_q, w_k, w_v, lengths, heads):
    mask = torch.zeros(x.shape[:2], dtype=torch.bool, device=x.device)
    for i in range(len(lengths)):
        mask[i] = torch.arange(x.shape[1], device=x.device) < lengths[i]
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=mask[:, None, None])


@exercise.mutant(LOOP)
def loop_over_heads(x, w_q, w_k, w_v, lengths, heads):
    parts = []
    for one in zip(*(w.chunk(heads) for w in (w_q, w_k, w_v)), strict=True):
        parts.append(attended(x, *one, lengths, 1))
    return torch.cat(parts, dim=-1)


@exercise.mutant("no gradient reaches the scores: nothing may be detached")
def weights_detached(x, w_q, w_k, w_v, lengths, heads):
    return attended(x, w_q.detach(), w_k.detach(), w_v, lengths, heads)


@exercise.mutant("the input changes: work on a copy of x, not on x itself")
def padding_zeroed_in_place(x, w_q, w_k, w_v, lengths, heads):
    x *= to_words(x, lengths)[..., None]
    return attended(x, w_q, w_k, w_v, lengths, heads)


@exercise.mutant("the result is always float32: keep the dtype of x")
def always_float32(x, w_q, w_k, w_v, lengths, heads):
    return attended(*(y.float() for y in (x, w_q, w_k, w_v)), lengths, heads)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def positions_on_the_cpu(x, w_q, w_k, w_v, lengths, heads):
    words = torch.arange(x.shape[1]) < lengths[:, None]
    return attended(x, w_q, w_k, w_v, lengths, heads, mask=words[:, None, None, :])
