"""Exercise attention_pool: one vector for a whole sequence, by one learned query."""

import torch

from attncourse.course.dot_product.exercises.shared.masked_softmax import row_by_row
from judge import messages, variants
from judge.exercise import FINITE, Case, Exercise

LOOP = "you loop over positions or sequences: compute all scores at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(x, query, lengths):
    words = torch.tensor([[i < length for i in range(x.shape[1])] for length in lengths.tolist()])
    weights = row_by_row((x * query).sum(-1) / len(query) ** 0.5, words)
    return (weights[..., None] * x).sum(1)


def word_mask(x, lengths):
    """True where a position holds a word, False at padding."""
    return torch.arange(x.shape[1], device=x.device) < lengths[:, None]


@exercise.unread(*FINITE)
def padding(x, query, lengths):
    return {"x": ~word_mask(x, lengths)[..., None]}


@exercise.cases
def cases(draw):
    n, d = draw.sizes(2, 4, 7)
    x, query = draw.normal(3, n, d), draw.normal(d)
    lengths = torch.tensor(draw.sizes(3, 1, n - 1))
    sizes = f"n={n}, d={d}, lengths={lengths.tolist()}"
    longer_inputs = (x.repeat(8, 8, 1), query, lengths.repeat(8))
    yield Case(f"a batch of 3, {sizes}", (x, query, lengths), longer=longer_inputs)
    yield Case("three sequences without padding", (x, query, torch.full((3,), n)))
    yield Case("scores 10^25 times larger", (x, 1e25 * query, lengths), gradient=False)
    high_padding = torch.where(word_mask(x, lengths), 1.0, 1e3)[..., None] * (1 + x.abs())
    yield Case("padding with high scores", (high_padding, 1 + query.abs(), lengths))
    empty = lengths.clone()
    empty[1] = 0
    yield Case("a sequence of length 0", (x, query, empty))
    yield Case("sequences of length 0 alone", (x, query, 0 * lengths))
    # a fill that is not small enough outweighs these words, and so does padding left to the softmax
    first_full = torch.cat([torch.tensor([n]), lengths[1:]])
    signs = torch.where(word_mask(x, first_full), -1.0, 1.0)[..., None]
    opposite = signs * (1 + x.abs()), 1e25 * (1 + query.abs()), first_full
    about = "scores below -10^25 at the words, and above 10^25 at padding"
    yield Case(about, opposite, gradient=False)
    # too many digits for float32; a gradient would lose some in float64, too
    shifted = torch.cat([x[..., :1] + 1e5, x[..., 1:]], dim=-1)
    about = "x with 100000 added to the first number of every position"
    yield Case(about, (shifted, query, lengths), gradient=False)
    yield Case("lengths as int32", (x, query, lengths.int()))
    yield Case("a batch of 1", (x[:1], query, lengths[:1]))
    yield Case("one position", (x[:, :1], query, torch.tensor([1, 0, 1])))


variants.right(exercise,
    'scores = torch.einsum("bnd,d->bn", x, query) * x.size(-1) ** -0.5\n'
    "weights = torch.softmax(torch.where(words, scores, -1e30), dim=1) * words\n"
    'return torch.einsum("bn,bnd->bd", weights, x)',
    "top = scores.masked_fill(~words, torch.finfo(x.dtype).min).amax(-1, keepdim=True)\n"
    "weights = (scores - top).masked_fill(~words, -1e9).exp() * words\n"
    "return (weights[..., None] * x).sum(1) / weights.sum(-1, True).clamp(min=1e-9)",
    "scores = torch.nn.functional.linear(x, query[None]).squeeze(-1) / scale\n"
    "some = scores.masked_fill(~words, -1e30)\n"
    "weights = (some - some.logsumexp(1, keepdim=True)).exp()\n"
    "return torch.where(lengths[:, None] > 0, (weights.unsqueeze(-1) * x).sum(dim=1), 0.0)",
    # with a place for nothing
    "some = scores.masked_fill(~words, -torch.inf)\n"
    "nothing = torch.where(lengths > 0, -torch.inf, 0.0).to(x.dtype)[:, None]\n"
    "weights = torch.cat([some, nothing], dim=1).softmax(1)[:, :-1]",
    ("    words", "    x = x[:, : int(lengths.max())]\n    words"),
    ("    words", "    dtype, x, query = x.dtype, x.double(), query.double()\n    words",
     "squeeze(1)", "squeeze(1).to(dtype)"),
)  # fmt: skip
# what a poor fill leaves on padding stays
EMPTY = ".masked_fill(~words.any(-1, keepdim=True), 0.0)"
NORMED = "weights = parts / parts.sum(-1, keepdim=True).clamp(min=1e-9)"
variants.wrong(exercise, {
    "the scores are not scaled: divide them by sqrt(d)": "scale = 1",
    "you divide the scores by d: divide them by its square root instead": "scale = query.shape[0]",
    "the scale comes from the length: compute it from the width, d": [
        "scale = lengths.clamp(min=1)[:, None] ** 0.5", "scale = x.shape[1] ** 0.5"],
    "the scale is a fixed number: compute it from the width, d": "scale = 64**0.5",
    "all words get the same weight: the query should decide how much each counts":
        "scores = 0 * x @ query",
    "only the position with the highest score counts: average all of them, weighted by the softmax":
        "best = scores.masked_fill(~words, -torch.inf).amax(-1, keepdim=True)\n"
        "weights = (scores == best).to(x.dtype)",
    "you use the scores themselves as weights: take their softmax first":
        "weights = scores * words",
    "you return the weights: multiply each position by its weight, then sum": "return weights",
    "you weight the positions but don't sum them: return one vector for each sequence":
        "return weights[..., None] * x",
    "you average the weighted positions: sum them, because the weights already sum to 1": [
        ("squeeze(1)", "squeeze(1) / x.shape[1]"),
        ("squeeze(1)", "squeeze(1) / lengths.clamp(min=1)[:, None]")],
    "weights of shape (batch, n) need one more axis to multiply x: use weights[:, None] @ x, then "
    "drop that axis":
        "return weights @ x",
    "an axis of size 1 is lost: drop only the axis that you added, by its number": (
        "squeeze(1)", "squeeze()"),
    "the softmax runs over the batch: run it over the positions, so that the weights of each "
    "sequence sum to 1": (
        "dim=-1", "dim=0"),
    "exp overflows for high scores and leads to 0 / 0 for low ones: first subtract the largest "
    "score":
        "parts = scores.exp() * words\n"
        "weights = (parts / parts.sum(-1, keepdim=True)).masked_fill(~words, 0.0)",
    "you subtract the largest score of the whole batch, padding included: subtract the largest of "
    "each sequence's words":
        f"parts = (scores - scores.max()).exp() * words\n{NORMED}",
    "you ignore the lengths, so padding gets weight: it should get none":
        "words = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)",
    "the first padded position counts as a word: positions start at 0, so the last word is at "
    "length - 1": [
        ("< lengths", "<= lengths"), ("< lengths", "< (lengths + (lengths > 0))")],
    "the last word is cut off: every position below the length should count as a word": (
        "< lengths[:, None]", "< lengths[:, None] - 1"),
    "the mask is upside down: the words should count, not the padding": ("< lengths", ">= lengths"),
    "you take the last positions for the words: the words come first, and the padding after them": (
        "torch.arange", "(torch.arange", "lengths[:, None]", "lengths[:, None]).flip(-1)"),
    "you use one length for all sequences: use each sequence's own length": (
        "lengths[:,", "lengths[:1,"),
    "padding with a score of 0 still gets weight, since exp(0) = 1: set its scores to -inf": [
        f"weights = scores.masked_fill(~words, 0.0).softmax(dim=-1){EMPTY}",
        f"weights = (scores * words).softmax(dim=-1){EMPTY}",
        "weights = (scores * words).softmax(dim=-1)",
        "x = x * words[..., None]\nscores = x @ query / scale\n"
        f"weights = scores.softmax(dim=-1){EMPTY}"],
    "an allowed score may be lower than your fill value: fill with -inf instead": [
        *(f"weights = scores.masked_fill(~words, {fill}).softmax(dim=-1){EMPTY}"
          for fill in ("-10.0", "-1e4", "-1e9")),
        ("-torch.inf", "-1e4"), ("-torch.inf", "-1e9")],
    "an allowed score may be lower than your fill value: fill with -inf instead, and give zeros to "
    "a sequence of length 0":
        "weights = scores.masked_fill(~words, -1e4).softmax(dim=-1)",
    "you cut off large scores: to avoid overflow, subtract the largest score of each sequence's "
    "words":
        "scores = (x @ query).clamp(-1e6, 1e6) / scale",
    "you mask padding after the softmax, so the weights no longer sum to 1: mask it before the "
    "softmax":
        "weights = scores.softmax(dim=-1) * words",
    "padding with a large score leaves no weight for the words: mask the scores before the softmax":
        f"parts = scores.softmax(dim=-1) * words\n{NORMED}",
    "lengths needs a second axis before you compare it with the positions: use lengths[:, None]": (
        "lengths[:, None]", "lengths"),
    "a sequence of length 0 gets NaN: it should get zeros": (".masked_fill(~words, 0.0)", ""),
    "a sequence of length 0 gets the mean of its padding: it should get zeros":
        "weights = scores.masked_fill(~words, -1e30).softmax(dim=-1)",
    "a sequence of length 0 gets its first padded vector: it should get zeros": (
        "< lengths", "< lengths.clamp(min=1)"),
    "one sequence of length 0 turns the whole batch into zeros: only that sequence should get "
    "zeros": (
        "squeeze(1)", "squeeze(1) * (lengths > 0).all()"),
    "a sequence of length 0 gets a NaN gradient: replace NaN by 0 in the weights, before you "
    "multiply them by x, and replace masked scores instead of adding -inf to them": [
        "added = torch.where(words, 0.0, -torch.inf)\n"
        "weights = (scores + added).softmax(dim=-1).nan_to_num(0.0)",
        (".masked_fill(~words, 0.0)", "", "squeeze(1)", "squeeze(1).nan_to_num(0.0)")],
    messages.CUT_OFF:
        "if not lengths.any():\n    return x.new_zeros(x.shape[0], x.shape[-1])\n"
        "return (weights[:, None] @ x).squeeze(1)",
    messages.CHANGES: "scores = x.masked_fill_(~words[..., None], 0.0) @ query / scale",
    LOOP: "scores = torch.stack([one @ query for one in x.unbind(1)], dim=1) / scale",
    "no gradient reaches the scores: don't detach anything":
        "scores = x.detach() @ query.detach() / scale",
})  # fmt: skip
