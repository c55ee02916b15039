"""Exercise EncoderBlock: self-attention in heads and a feed-forward part, each in a residual."""

import torch

from attncourse.course.dot_product.exercises.shared import masked_softmax as masked
from attncourse.course.multi_head.exercises.shared import heads as ways
from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    forbidden=("torch.nn.modules.transformer",),
    generic_hints={
        "axes_from_the_front": "an axis of words is counted from the front: count from the end, "
        "because there may be no batch, or two leading axes",
    },
)
Worked = variants.worked(exercise)


@exercise.reference
class HeadByHead(Worked):
    def forward(self, x, words=None):
        y = self.norm_1(x)
        q, k, v = self.w_q(y), self.w_k(y), self.w_v(y)
        mask = None if words is None else words.unsqueeze(-2).expand(*x.shape[:-1], x.shape[-2])
        x = x + self.w_o(ways.head_by_head(q, k, v, self.heads, mask))
        return x + self.down(self.up(self.norm_2(x)).relu())


def draw_block(draw, d_model, heads, d_ff, scale=1.0):
    """The arguments of the block, and random weights for it."""
    weights = {}
    for name in ("norm_1", "norm_2"):
        weights[f"{name}.weight"] = 1 + draw.normal(d_model) / 4
        weights[f"{name}.bias"] = draw.normal(d_model)
    for name in ("w_q", "w_k", "w_v", "w_o"):
        weights[f"{name}.weight"] = draw.normal(d_model, d_model) / d_model**0.5
    weights["w_q.weight"] *= scale
    for name, shape in {"up": (d_ff, d_model), "down": (d_model, d_ff)}.items():
        weights[f"{name}.weight"] = draw.normal(*shape) / shape[1] ** 0.5
        weights[f"{name}.bias"] = draw.normal(shape[0])
    return {"build": (d_model, heads, d_ff), "weights": weights}


@exercise.cases
def cases(draw):
    n, d_ff = draw.sizes(2, 4, 7)
    d_model = 3 * (5 + 2 * draw.integer(0, 1))
    block_args = draw_block(draw, d_model, 3, d_ff)
    x = draw.normal(2, n, d_model)
    words = torch.arange(n) < torch.tensor([[n - 1], [n - 2]])
    sizes = f"n={n}, d_model={d_model}, 3 heads, d_ff={d_ff}"
    longer = (draw.normal(2, 6 * n, d_model),)
    yield Case(f"a batch of 2, {sizes}", (x,), longer=longer, **block_args)
    yield Case(f"words and padding, a batch of 2, {sizes}", (x, words), **block_args)
    yield Case(f"no batch, {sizes}", (x[0],), **block_args)
    yield Case("words and padding by name, no batch", (x[0],), {"words": words[0]}, **block_args)
    three_texts = draw.normal(3, n, d_model), torch.arange(n) < torch.tensor([[2], [n], [n - 1]])
    longer = three_texts[0].repeat(8, 4, 1), three_texts[1].repeat(8, 4)
    yield Case("words and padding, 3 texts and 3 heads", three_texts, longer=longer, **block_args)
    axes = draw.normal(2, 3, 4, 6), draw.mask(2, 3, 4)
    two_heads = draw_block(draw, 6, 2, 5)
    many_heads = Case(
        "24 heads", (draw.normal(3, 4, 48), axes[1][0]), **draw_block(draw, 48, 24, 5)
    )
    yield Case("two leading axes, 2 heads", axes, longer=many_heads, **two_heads)
    yield Case("padding in front and between", (x, draw.mask(2, n)), **block_args)
    yield Case("one head", (x, words), **draw_block(draw, d_model, 1, d_ff))
    large = draw_block(draw, d_model, 3, d_ff, scale=1e25)
    # a single word, which has a score far below 0 for some queries
    few_words = torch.arange(n) < torch.tensor([[n - 1], [1]])
    yield Case("scores 10^25 times larger", (x, few_words), gradient=False, **large)
    yield Case("a text without a word", (x, words & torch.tensor([[True], [False]])), **block_args)
    yield Case("one word", (x[:, :1], words[:, :1]), **block_args)


@exercise.mutant(
    "it loops over heads: take one attention for all of them, with an axis for the heads"
)
class InALoop(HeadByHead):
    """The weights of torch's linear layers cut by hand, head by head."""


# the right answer that is edited: the page's attention has its own words for shapes that do not fit
WrittenOut = exercise.valid(variants.made(
    Worked, "scores = q @ k.mT / q.shape[-1] ** 0.5\nout = softmax(scores, mask) @ v",
    softmax=masked.softmax,
))  # fmt: skip
exercise.valid(Worked)
variants.right(exercise,
    "q, k, v = (w(y).unflatten(-1, (self.heads, -1)).movedim(-2, 0) for w in (\n"
    "    self.w_q, self.w_k, self.w_v))\n"
    "mask = None if words is None else words[..., None, :]\n"
    "x = x + self.w_o(out.movedim(0, -2).flatten(-2))",
    "read = torch.relu(self.norm_2(x) @ self.up.weight.mT + self.up.bias)\n"
    "return self.down(read).add(x)",
)  # fmt: skip
variants.calling(
    exercise, ("split", "join"), ways.CUTS,
    instead="q, k, v = (split(w(y), self.heads) for w in (self.w_q, self.w_k, self.w_v))\n"
    "x = x + self.w_o(join(out))",
)  # fmt: skip
variants.calling(exercise, "softmax", {way: masked.WAYS[way] for way in (
    masked.by_its_formula, masked.scores_only, masked.softmax_over_queries, masked.unstable,
    masked.mask_after_the_softmax, masked.mask_ignored, masked.mask_inverted,
    masked.mask_is_not_optional, masked.zero_fill, masked.large_fill_and_zeros,
    masked.nan_for_an_empty_row, masked.uniform_for_an_empty_row,
    masked.nan_gradient_for_an_empty_row, masked.fill_with_minus_billion,
    masked.large_fill_alone, masked.large_number_added,
)})  # fmt: skip
variants.wrong(exercise, {
    "its parameters are not those asked for: w_q, w_k, w_v and w_o should have no bias, up and "
    "down should have one, and there should be two norms": [
        (every(", bias=False"), ""),
        "self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model, bias=False)",
        ("self.norm_1, self.norm_2 = nn.LayerNorm(d_model), ", "self.norm_1 = self.norm_2 = ")],
    "super().__init__() is missing: call it first, because nothing can be put on a module before": (
        "super().__init__()", ""),
    "attention reads x itself: normalise what it reads, as this is pre-norm": "y = x",
    "the feed-forward part reads x itself: normalise what it reads, as this is pre-norm": (
        "self.norm_2(x)", "x"),
    "the norms are exchanged: put norm_1 before attention, norm_2 before the feed-forward part":
        "y = self.norm_2(x)\nreturn x + self.down(self.up(self.norm_1(x)).relu())",
    "norm_1 is used for both parts: give each a norm of its own":
        ("self.norm_2(x)", "self.norm_1(x)"),
    "this is post-norm: let a part read the normalised stream, and leave the sum alone":
        "y = x\nx = self.norm_1(x + self.w_o(out.transpose(-3, -2).flatten(-2)))\n"
        "return self.norm_2(x + self.down(self.up(x).relu()))",
    "attention is added to the normalised x: add it to the stream as it came":
        ("x + self.w_o", "y + self.w_o"),
    "x is not added to what attention gives: each part should be in a residual": (
        "x + self.w_o", "self.w_o"),
    "x is not added to what the feed-forward part gives: each part should be in a residual": (
        "x + self.down", "self.down"),
    "the feed-forward part reads what was normalised for attention: let it read the new x, "
    "normalised": (
        "self.norm_2(x)", "y"),
    "the two parts stand side by side: let the second read what the first has added":
        "z = self.norm_2(x)\ny = self.norm_1(x)\nreturn x + self.down(self.up(z).relu())",
    "the second residual begins at x: let it begin at the sum of x and what attention gave": (
        "x = x + self.w_o", "z = x + self.w_o", "self.norm_2(x)", "self.norm_2(z)"),
    "w_o is not used: multiply the joined heads by it": "x = x + out.transpose(-3, -2).flatten(-2)",
    "the feed-forward part comes first: put attention first":
        "y = self.norm_1(x := x + self.down(self.up(self.norm_2(x)).relu()))\nreturn x",
    "the feed-forward part is missing: add it as the second half of the block": "return x",
    "the relu is missing: between up and down, negative numbers should become 0": (".relu()", ""),
    "the relu comes last: put it between up and down":
        "return x + self.down(self.up(self.norm_2(x))).relu()",
    "the attention is causal: in an encoder, words should attend to later ones as well":
        "causal = torch.ones_like(scores, dtype=torch.bool).tril()\n"
        "out = softmax(scores, causal if mask is None else causal & mask) @ v",
    "the norm has another epsilon: leave nn.LayerNorm its own, 1e-5": [
        (every("nn.LayerNorm(d_model)"), f"nn.LayerNorm(d_model, eps={epsilon})")
        for epsilon in ("1e-6", "1e-8", "1e-12", "1e-3")],
    "another activation stands between up and down: take a relu":
        "return x + self.down(nn.functional.gelu(self.up(self.norm_2(x))))",
    **{f"{what} made of x: make queries, keys and values of the normalised x": (
        "w(y)", "w(z)", "w in (self.w_q, self.w_k, self.w_v)",
        f"w, z in zip((self.w_q, self.w_k, self.w_v), ({read}))") for what, read in {
        "keys and values are": "y, x, x", "the keys are": "y, x, y", "the queries are": "x, y, y",
        "the values are": "y, y, x"}.items()},
    "the heads of a token attend to each other: swap the axes of heads and tokens before the "
    "scores are taken": [
        (every(".transpose(-3, -2)"), ""),
        (every(".transpose(-3, -2)"), "", "None, None, :]", "None, None]")],
    "w_k and w_v are exchanged: make keys with w_k, and values with w_v": (
        "(self.w_q, self.w_k, self.w_v)", "(self.w_q, self.w_v, self.w_k)"),
    "the scale is that of the whole width: take that of a head, whose scores have d_model / heads "
    "terms":
        "scores = q @ k.mT / x.shape[-1] ** 0.5",
    "the scores are not scaled: divide by the root of a head's width": "scores = q @ k.mT",
    "padded queries are masked instead of keys: let no query attend to padding": (
        "None, None, :]", "None, :, None]"),
    "padded queries are masked as well: mask only keys, what padding gets is nobody's business": (
        "None, None, :]", "None, None, :] & words[..., None, :, None]"),
    "the words meet the heads instead of the batch: give them an axis for heads and queries": [
        "mask = words", ("None, None, :]", "None, :]")],
    "padding is set to 0 at the end: leave it, nobody reads it":
        "last = x + self.down(self.up(self.norm_2(x)).relu())\n"
        "return last if words is None else last * words[..., None]",
    "there's only one head: split q, k and v before you take the scores": (
        "(self.heads, -1)", "(1, -1)"),
    "numbers are dropped: leave dropout out, in training, too": [
        *("return nn.functional.dropout("
          f"x + self.down(self.up(self.norm_2(x)).relu()), {rate})"
          for rate in ("0.5", "0.1, training=self.training")),
        "self.drop = nn.Dropout(0.1)\nself.heads = heads\n"
        "return x + self.drop(self.down(self.up(self.norm_2(x)).relu()))"],
})  # fmt: skip
