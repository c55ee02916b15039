"""Exercise self_attention_of_batch: heads, and a padding mask that meets the wrong axis."""

import torch

from attncourse.course.dot_product.exercises.shared import masked_softmax as masked
from attncourse.course.multi_head.exercises.shared import heads as ways
from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "you loop over sentences, heads or queries: the mask needs only another axis of size 1"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.stub(variants.stub(exercise))
exercise.valid(variants.worked(exercise))


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


def draw_batch(draw, lengths, n, heads, d):
    """A batch of sentences of those lengths, filled up to n, and the weights of a layer."""
    weights = (draw.normal(d, d) / d**0.5 for _ in range(3))
    return draw.normal(len(lengths), n, d), *weights, torch.tensor(lengths), heads


@exercise.cases
def cases(draw):
    n, short = draw.integer(5, 6), draw.integer(2, 3)
    longer_inputs = draw_batch(draw, (5, 32, 2, 1) * 8, 32, 16, 48)
    inputs = draw_batch(draw, (n, short), n, 3, 15)
    yield Case(f"2 sentences, 3 heads, n={n}, d=15", inputs, longer=longer_inputs)
    yield Case("3 sentences, 3 heads", draw_batch(draw, (short, n, 4), n, 3, 15))
    yield Case("one sentence, 2 heads", draw_batch(draw, (short,), n, 2, 10))
    yield Case("4 sentences, 2 heads", draw_batch(draw, (1, 2, n, 4), n, 2, 6))
    yield Case("2 sentences without padding", draw_batch(draw, (n, n), n, 3, 15))
    x, w_q, w_k, w_v, lengths, heads = inputs
    large = x, 1e12 * w_q, 1e13 * w_k, w_v, lengths, heads
    yield Case("scores 10^25 times larger", large, gradient=False)
    # every score is negative, and those of the words are far below those of the padding
    words = torch.arange(n)[:, None] < short
    far_words = torch.where(words, 1e5, 1.0) * (1 + x.abs())
    plus, minus = 1 + w_q.abs(), -1 - w_k.abs()
    short_lengths = lengths.new_full((2,), short)
    yield Case(
        "padding with far higher scores", (far_words, plus, minus, w_v, short_lengths, heads)
    )
    high_padding = torch.where(words, 1.0, 1e3) * (1 + x.abs())
    yield Case("padding with high scores", (high_padding, plus, -minus, w_v, short_lengths, heads))
    yield Case("2 sentences, one of length 0", (x, w_q, w_k, w_v, lengths - short, heads))
    yield Case("2 sentences of length 0", (x, w_q, w_k, w_v, 0 * lengths, heads))
    yield Case("one word", (x[:, :1], w_q, w_k, w_v, lengths.clamp(max=1), heads))


variants.right(exercise,
    "q, k, v = (torch.nn.functional.linear(x, w).unflatten(-1, (heads, -1)) for w in (\n"
    "    w_q, w_k, w_v))\n"
    'scores = torch.einsum("bihc,bjhc->bhij", q, k) * q.size(-1) ** -0.5\n'
    "weights = torch.where(mask, scores, -1e30).softmax(-1) * mask\n"
    'return torch.einsum("bhij,bjhc->bihc", weights, v).reshape(x.shape)',
    # the mask of shape (batch, 1, n) then lacks the leading axis
    "q, k, v = ((x @ w.T).unflatten(-1, (heads, -1)).movedim(-2, 0) for w in (w_q, w_k, w_v))\n"
    "mask = words[:, None, :]\n"
    "return (weights @ v).movedim(0, -2).flatten(-2)",
    ("(-3, -2)  #", "(-3, -2).flatten(0, 1)  #",
     "[:, None, None, :]", "[:, None, :].repeat_interleave(heads, dim=0)",
     "(weights @ v)", "(weights @ v).unflatten(0, (-1, heads))"),
    ("-torch.inf", "torch.finfo(scores.dtype).min", ".masked_fill(~mask, 0.0)", "",
     "flatten(-2)", "flatten(-2).where(lengths[:, None, None] > 0, 0.0)"),
)  # fmt: skip
FILL = "an allowed score may be lower than your fill value: fill with -inf instead"
variants.calling(exercise, "softmax", dict.fromkeys((
    masked.fill_with_minus_thousand, masked.small_fill_and_zeros,
    masked.large_fill_and_zeros), FILL,
) | {way: masked.WAYS[way] for way in (
    masked.mask_after_the_softmax, masked.zero_fill, masked.large_fill_alone)
} | {
    masked.mask_ignored:
        "the mask is gone, so words attend to padding: keep it, and add the axis that is missing",
    masked.masked_late:
        "padding with a high score leaves no weight for the words: mask the scores before the "
        "softmax",
    masked.nan_for_an_empty_row:
        "a sentence of length 0 gets NaN: keep the second masked_fill, which gave it zeros",
    masked.uniform_for_an_empty_row:
        "a sentence of length 0 attends to padding: it should get zeros",
}, instead="weights = softmax(scores, mask)")  # fmt: skip
variants.calling(
    exercise, ("split", "join"), ways.CUTS,
    instead="q, k, v = (split(x @ w.T, heads) for w in (w_q, w_k, w_v))\n"
    "return join(weights @ v)",
)  # fmt: skip
WORDS = "(torch.arange(x.shape[1], device=x.device) < lengths[:, None])"
variants.wrong(exercise, {
    "the mask hides queries: it should hide the keys that are padding":
        "mask = words[:, None, :, None]",
    "you no longer transpose the weight matrices: their shape is (out, in), so keep x @ w.T": (
        "x @ w.T", "x @ w"),
    "you mask padded queries as well: mask only the keys, so that each query gets a mean":
        "mask = words[:, None, None, :] & words[:, None, :, None]",
    "the mask's axis for the heads is in the wrong place: put it after the batch axis":
        "mask = words[:, None, :].expand(heads, -1, 1, -1)",
    "with as many heads as sentences, the mask still lines up with the heads: add the axis in that "
    "case as well":
        "mask = words[:, None, None, :] if len(x) != heads else words[:, None, :]",
    "the copies of the masks are in the wrong order: keep the copies of each sentence's mask "
    "together": [
        "mask = words.repeat(heads, 1).view(-1, heads, 1, x.shape[1])",
        "by_heads = words.repeat_interleave(heads, 0).view(heads, -1, 1, x.shape[1])\n"
        "mask = by_heads.transpose(0, 1)"],
    "all sentences get the first one's mask: give each sentence a mask for its own length":
        "mask = words[0]",
    "you use one mask for all sentences: make one for each sentence from its length":
        "mask = words.any(0)",
    "only the first head is masked: apply the mask in every head":
        "others = torch.arange(heads, device=x.device) > 0\n"
        "mask = words[:, None, None, :] | others[:, None, None]",
    "a sentence of length 0 attends to its first position: it should get zeros": (
        "lengths[", "lengths.clamp(min=1)["),
    "a padded query attends to itself: no query should attend to padding, not even a padded one to "
    "itself":
        "itself = torch.eye(x.shape[1], dtype=torch.bool, device=x.device)\n"
        "mask = words[:, None, None, :] | itself",
    "a word may attend to padding: the key must be a word, whatever the query is":
        "mask = words[:, None, None, :] | words[:, None, :, None]",
    LOOP:
        "out = torch.cat([row @ v for row in weights.split(1, dim=-2)], dim=-2)\n"
        "return out.transpose(-3, -2).flatten(-2)",
    "the mask is upside down: True means that the query may attend to the key":
        "mask = ~words[:, None, None, :]",
    "the first padded position counts as a word: positions start at 0, so a word's position is "
    "below the length": (
        "<", "<="),
    "you set padding to zeros, but a score of 0 still gets weight: mask the scores instead": [
        "k, v = k * words[:, None, :, None], v * words[:, None, :, None]\n"
        "weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)",
        ("    q, k, v", f"    known = {WORDS}[..., None]\n    q, k, v",
         "x @ w.T", "x * known @ w.T",
         "    return", "    weights = scores.softmax(-1)\n    return")],
    "the heads are gone, which makes the mask fit: keep them, and give the mask another axis": (
        "(heads, -1)", "(1, -1)"),
    "the scale now comes from the whole width: keep the width of one head, d / heads":
        "scores = q @ k.mT / x.shape[-1] ** 0.5",
    "no gradient reaches the scores: don't detach anything": [
        ("q @ k.mT", "(q @ k.mT).detach()"),
        ("(w_q, w_k, w_v)", "(w_q.detach(), w_k.detach(), w_v)")],
    messages.CUT_OFF:
        "if not lengths.any():\n    return torch.zeros_like(x)\n"
        "scores = q @ k.mT / q.shape[-1] ** 0.5",
    "the input changes: work on a copy of x, not on x itself": (
        "    q, k, v", f"    x *= {WORDS}[..., None]\n    q, k, v"),
    messages.DEVICE: (", device=x.device", ""),
})  # fmt: skip
