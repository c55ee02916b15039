"""Exercise CrossAttention: a layer whose queries and keys come from two sequences."""

from attncourse.course.dot_product.exercises.shared.masked_softmax import softmax
from attncourse.course.multi_head.exercises.shared import heads as ways
from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "you loop over heads, sentences or words: they are axes, and one product handles all of them"
exercise = Exercise.read(
    __name__,
    generic_hints={
        "loops": LOOP,
        "loops_over_a_batch": LOOP,
        "axes_from_the_front": "the mask's new axis is counted from the front: count it from the "
        "end, with unsqueeze(-3)",
    },
)
Worked = variants.worked(exercise)


@exercise.reference
class HeadByHead(Worked):
    def forward(self, x, context, mask=None):
        q, k, v = self.w_q(x), self.w_k(context), self.w_v(context)
        return self.w_o(ways.head_by_head(q, k, v, self.heads, mask))


def draw_layer(draw, d_model, d_context, heads, scale=1.0):
    """The arguments that build the layer, and its weights."""
    sizes = {"w_q": d_model, "w_k": d_context, "w_v": d_context, "w_o": d_model}
    weights = {
        f"{name}.weight": draw.normal(d_model, size) / size**0.5 for name, size in sizes.items()
    }
    weights["w_q.weight"] *= scale
    return {"build": (d_model, d_context, heads), "weights": weights}


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 4, 6)
    # a head's width for which no wrong scale of those below is another one, or the right one
    d_model, d_context = 3 * (5 + 2 * draw.integer(0, 1)), 8
    x, context = draw.normal(2, n, d_model), draw.normal(2, m, d_context)
    layer = draw_layer(draw, d_model, d_context, 3)
    sizes = f"n={n}, m={m}, d_model={d_model}, d_context=8, 3 heads"
    longer_inputs = draw.normal(2, 20 + n, d_model), draw.normal(2, 20 + m, d_context)
    yield Case(f"a batch of 2, {sizes}", (x, context), longer=longer_inputs, **layer)
    yield Case(f"no batch, {sizes}", (x[0], context[0]), **layer)
    two_axes = draw.normal(2, 3, 4, 6), draw.normal(2, 3, 5, 7)
    yield Case("two leading axes, 2 heads", two_axes, **draw_layer(draw, 6, 7, 2))
    wide_context = draw_layer(draw, d_model, d_model, 3)
    yield Case("a context as wide as x", (x, draw.normal(2, m, d_model)), **wide_context)
    yield Case("a context of the shape of x", (x, draw.normal(2, n, d_model)), **wide_context)
    large_scores = draw_layer(draw, d_model, d_context, 3, scale=1e25)
    yield Case("scores 10^25 times larger", (x, context), gradient=False, **large_scores)
    mask = draw.mask(2, n, m)
    yield Case(f"a mask, {sizes}", (x, context, mask), **layer)
    mask_by_name = {"mask": mask[0]}
    yield Case("a mask by name, without a batch", (x[0], context[0]), kwargs=mask_by_name, **layer)
    yield Case("one mask for the whole batch", (x, context, mask[0]), **layer)
    batch_of_3 = draw.normal(3, n, d_model), draw.normal(3, m, d_context)
    many_heads_inputs = (
        draw.normal(64, 6 + n, 48),
        draw.normal(64, 6 + m, 8),
        draw.mask(64, 6 + n, 6 + m),
    )
    many_heads = Case("24 heads", many_heads_inputs, **draw_layer(draw, 48, 8, 24))
    masked_batch_of_3 = *batch_of_3, draw.mask(3, n, m)
    yield Case("a mask, a batch of 3 and 3 heads", masked_batch_of_3, longer=many_heads, **layer)
    two_heads = draw_layer(draw, 6, 7, 2)
    yield Case(
        "leading axes (2, 3), a mask of shape (3, n, m)",
        (*two_axes, draw.mask(3, 4, 5)),
        **two_heads,
    )
    yield Case("a mask of shape (2, 3, n, m)", (*two_axes, draw.mask(2, 3, 4, 5)), **two_heads)
    three_heads = draw_layer(draw, 6, 7, 3)
    yield Case("the first of these with 3 heads", (*two_axes, draw.mask(3, 4, 5)), **three_heads)
    # with positive weights a hidden key outweighs all others, or those are lower than any fill
    positive_layer = layer | {"weights": {name: w.abs() for name, w in layer["weights"].items()}}
    positive_x, high_context, low_context, not_first = ways.first_key_hidden(x, context)
    yield Case(
        "a masked key with a high score", (positive_x, high_context, not_first), **positive_layer
    )
    low_others = positive_x, low_context, not_first
    yield Case(
        "a masked key, the others far below zero", low_others, gradient=False, **positive_layer
    )
    mask_with_empty_row = mask.clone()
    mask_with_empty_row[1, 0] = False
    yield Case("a query that may attend nowhere", (x, context, mask_with_empty_row), **layer)
    yield Case("no query may attend anywhere", (x, context, mask & False), **layer)
    yield Case("one query and one key", (x[:, :1], context[:, :1]), **layer)


# the right answer that is edited: the page's attention has its own words for shapes that do not fit
WrittenOut = exercise.valid(variants.made(
    Worked, "shared = mask if mask is None else mask.unsqueeze(-3)\n"
    "scores = q @ k.mT / q.shape[-1] ** 0.5\nout = softmax(scores, shared) @ v",
    softmax=softmax,
))  # fmt: skip
exercise.valid(Worked)
PARTS = "(self.w_q(x), self.w_k(context), self.w_v(context))"
variants.right(exercise,
    "q, k, v = (\n    part.unflatten(-1, (self.heads, -1)).movedim(-2, 0)\n"
    f"    for part in {PARTS})\n"
    "shared = mask\n"
    "return self.w_o(out.movedim(0, -2).flatten(-2))",
    # joining and w_o in one: each head meets its own columns of w_o
    "columns = self.w_o.weight.unflatten(1, (self.heads, -1))\n"
    'return torch.einsum("...hic,ohc->...io", out, columns)',
    ("self.w_q(x)", "x @ self.w_q.weight.T", "self.w_v(context)",
     'torch.einsum("...jc,dc->...jd", context, self.w_v.weight)'),
)  # fmt: skip
variants.calling(exercise, "softmax", ways.SOFTMAXES)
variants.calling(
    exercise, ("split", "join"), ways.CUTS,
    instead=f"q, k, v = (split(part, self.heads) for part in {PARTS})\n"
    "return self.w_o(join(out))",
)  # fmt: skip
variants.wrong(exercise, {
    "the module doesn't have the right parameters: w_q, w_k, w_v and w_o should be nn.Linear "
    "without a bias, all with d_model outputs, and w_k and w_v with d_context inputs": (
        every(", bias=False"), ""),
    "super().__init__() is missing: call it before you assign anything to the module": (
        "super().__init__()", ""),
    "w_o is not used: send the joined heads through it": "return out.transpose(-3, -2).flatten(-2)",
    "the context isn't used: make the keys and the values from it": (every("(context)"), "(x)"),
    "x and the context are swapped: make the queries from x, and the keys and values from the "
    "context": (
        PARTS, "(self.w_q(context), self.w_k(x), self.w_v(x))"),
    "you make the values from x: like the keys, they should come from the context": [
        ("self.w_v(context)", "self.w_v(x)"),
        ("self.w_v(context)", "self.w_v(x if x.shape == context.shape else context)")],
    "you make the keys with w_v, and the values with w_k: swap the two matrices": (
        PARTS, "(self.w_q(x), self.w_v(context), self.w_k(context))"),
    "you make both the keys and the values with w_v: use w_k for the keys": (
        "self.w_k(context)", "self.w_v(context)"),
    "you reuse the keys and values of an earlier call: compute them anew, because the context may "
    "differ": (
        PARTS, '(self.w_q(x), *self.__dict__.setdefault("kept", '
        "(self.w_k(context), self.w_v(context))))"),
    LOOP: [
        ("part.unflatten(-1, (self.heads, -1)).transpose(-3, -2)",
         "torch.stack([one for one in part.chunk(self.heads, dim=-1)], dim=-3)"),
        ("else mask", "else torch.stack([one[None] for one in mask]) "
         "if mask.dim() == x.dim() == 3 else mask")],
    "you add x to the result: leave that to the caller": (
        "return ", "return x + "),
    "the scale comes from the whole width: use the width of one head, d_model / heads":
        "scores = q @ k.mT / x.shape[-1] ** 0.5",
    "the scale comes from d_context: use the width of a head's queries, d_model / heads":
        "scores = q @ k.mT / context.shape[-1] ** 0.5",
    "the scores are not scaled: divide them by the square root of a head's width":
        "scores = q @ k.mT",
    "you divide the scores by a head's width: divide them by its square root instead":
        "scores = q @ k.mT / q.shape[-1]",
    "there's only one head: split q, k and v before you compute the scores": (
        "(self.heads, -1)", "(1, -1)"),
    "the mask lines up with the heads instead of the batch: give it an axis for the heads":
        "shared = mask",
    "a mask that lacks leading axes gets no axis for the heads: always add one, third from the end":
        "shared = mask.unsqueeze(-3) if mask is not None and mask.dim() == x.dim() else mask",
    "the mask has no axis for the heads: give it one of size 1, third from the end":
        "out = attention(q, k, v, mask)",
    messages.CUT_OFF:
        "if mask is not None and not mask.any():\n    return torch.zeros_like(x)\n"
        "scores = q @ k.mT / q.shape[-1] ** 0.5",
    "it draws random numbers: the same input must give the same result":
        "joined = out.transpose(-3, -2).flatten(-2)\n"
        "return nn.functional.dropout(self.w_o(joined), 0.1, self.training)",
    "no gradient reaches w_q and w_k: don't detach anything": ("q @ k.mT", "(q @ k.mT).detach()"),
})  # fmt: skip
